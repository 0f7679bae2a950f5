"""Publishing a release: files, verification, attacks and measures, reports; the folder appears whole or not at all.

    write      every piece: its published file, what later steps need of it, and privately who is who
    verify     the files, read again with the id map: the promise over all of them
    measure    attacks and losses, on the records in their published order
    keep       groups, risk of each record, attribute disclosure, figures: private
    report     the public page and the private one

One published file is `data.csv`, `data.parquet` and so on, and its private twins are `id_map.csv` and so on, in the order of the original. Several files
are parts in folders of these names, and their twins follow the published rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from tsveil.assess.assessment import CHECKS, Assessment, Check, promise_check
from tsveil.assess.classes import largest_share
from tsveil.assess.judge import Evidence, judge
from tsveil.assess.limits import Intruder, Limits
from tsveil.assess.order import said_by_order
from tsveil.assess.over_time import EarlierReleases, NamedRelease, with_earlier_releases
from tsveil.assess.protected import ProtectedRecords
from tsveil.assess.subtraction import share_with_gaps
from tsveil.attack.attribute import AttributeDisclosure, disclosed_warning, disclosure
from tsveil.attack.base import OtherPeriod
from tsveil.attack.candidates import joined_marks, number_marks
from tsveil.attack.gaps import with_gaps
from tsveil.attack.kp import Piece as EnvelopePiece
from tsveil.attack.labels import PART as LABELS
from tsveil.attack.labels import blocks_with_nodes, columns_with_empty_cells, has_labels, values_with_nodes
from tsveil.attack.pieces import Columns, Pieces, measurable
from tsveil.attack.targets import checked_targets
from tsveil.core import progress
from tsveil.core.errors import GuaranteeError, OutputError, ParameterError
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.dataset import Dataset, block_in_words, person_numbers
from tsveil.data.files import digest_of
from tsveil.data.formats.known import runs_formulas, written_format
from tsveil.data.formats.written import Written
from tsveil.data.formulas import harmless_dataset, harmless_frame, with_names_of
from tsveil.data.gaps import in_public
from tsveil.data.intervals import IntervalTable, read_intervals
from tsveil.data.pieces import contents
from tsveil.data.published import read_like, roles_of
from tsveil.data.records import Records, in_published_order, published_layout
from tsveil.data.store import Memory, open_store
from tsveil.data.write import complete_folder, words_as_text, write_frame, write_table
from tsveil.engine.base import Result, Task
from tsveil.guarantee.base import Verdict, Verification
from tsveil.guarantee.chunks import Chunk, Chunks, schema_of
from tsveil.measure.base import Schema
from tsveil.measure.evaluate import blocks_left_out, measure_pieces
from tsveil.measure.scorecard import Scorecard
from tsveil.release import record
from tsveil.release.ledger import (
    Entry,
    has_ledger,
    ledger_facts,
    ledger_in,
    named_persons,
    published_digest,
    write_ledger,
)
from tsveil.release.metadata import metadata_files
from tsveil.report.context import Context
from tsveil.report.counts import CARRIED, EVERYTHING, Counts, Crowd, disclosed_columns, scopes
from tsveil.report.release import report
from tsveil.transform.pattern import segments

#: what happens to texts that a spreadsheet would take for formulas
Formulas = Literal["keep", "neutralise"]
#: the options of measuring that envelopes know
OF_ENVELOPES = ("targets", "features", "seed")
#: marks of values that are looked at together
TOGETHER = 2**27
#: the file by which a folder is known as a release
MARKER = "private/release.json"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release in its folder, and what was found on the way."""

    release: ProtectedRecords
    verdict: Verdict
    card: Scorecard
    folder: Path
    #: confidential column -> number of records whose value their class discloses
    disclosed: Mapping[str, int] = field(default_factory=dict)
    #: how the work was done, in a sentence
    run: str = ""
    #: the verdict on the release as a whole
    assessment: Assessment | None = None
    #: what the reports say of all records: who shares what is published
    counts: Counts | None = None

    @property
    def report(self) -> Path:
        """The full report, which is private."""
        return self.folder / "private" / "report.html"


def publish(release: ProtectedRecords, folder: str | Path, *, overwrite: bool = False, **options: Any) -> Outcome:
    """Write a release into a folder, all or nothing; the options are those of `fill`."""
    with complete_folder(Path(folder), overwrite=overwrite, marker=MARKER) as place:
        found = fill(release, place, earlier=record.earlier(Path(folder)), **options)
    return replace(found, folder=Path(folder))


def fill(
    release: ProtectedRecords,
    place: Path,
    *,
    format: Written | None = None,
    allow: Collection[str] = (),
    strict: bool = False,
    allow_unverified: bool = False,
    limits: Limits | None = None,
    intruder: Intruder | None = None,
    formulas: Formulas = "neutralise",
    measures: Mapping[str, Any] | None = None,
    title: str = "",
    context: Context | None = None,
    source: str = "",
    digest: str = "",
    extra: Mapping[str, str] | None = None,
    earlier: str = "",
    after: Path | None = None,
    together_with: EarlierReleases | None = None,
) -> Outcome:
    """Write a release into an empty folder.

    A release whose verdict is FAILS or NOT DECIDED is refused, unless `allow` names the checks that stop it (`allow_unverified` stands for
    "promise"); `strict` treats warnings like failures. `limits` and `intruder` are what the verdict goes by (`tsveil.assess.limits`).
    `measures` are options of `tsveil.evaluate`; `title` and `context` are shown in both reports, `source` and `digest` (the name of the
    input and its SHA-256) in the private one; `extra` holds further text files by their path in the folder; `earlier` is the record of the release that is replaced; `after` is the folder of the one that
    this one continues, and `together_with` are the earlier releases of the same persons with which it is judged.
    """
    options, run = _options(release, measures or {}), how_it_was_run(release)
    limits, intruder = limits or Limits(), intruder or Intruder()
    (place / "published").mkdir()
    (place / "private").mkdir(mode=0o700)  # for its owner only
    with progress.step("Writing and checking the release"):
        pieces = _write(release, place, format, formulas)
        _keep_ids(release, pieces, place / "private")
        persons = _owners(release, pieces, place / "private")
        originals = _keep_originals(release, pieces, place / "private")
        checked = _verify_files(release, pieces, persons, originals)
        verdict = checked.verdict
        allowed = {*allow, *(["promise"] if allow_unverified else [])}
        _check_names(allowed)
        refuse([promise_check(verdict)] if verdict.blocks_release else [], allowed)
    if release.contents.files > 1:
        release = replace(release, warnings=(*release.warnings, *_shared_values(checked, pieces.published)))
    card = _card(release, pieces, checked, options)
    of_row = _classes(release, pieces, _protected_scope(pieces))
    disclosed = _disclosure(release, pieces, of_row)
    with progress.step("Judging the release"):
        assessment = _assess(release, pieces, verdict, card, of_row, persons, allowed, limits, intruder)
        if together_with is not None:
            over = together_with.followed_by(_named(release, pieces, place / "private"))
            assessment = with_earlier_releases(assessment, over, limits, release.guarantee)
        refuse(assessment.stopped_by(allowed, strict=strict), allowed, assessment)
    with progress.step("Writing the reports"):
        # Who has the originals can run the method again; then only the place inside the best class of a person is left to guess.
        replayed = 100 * largest_share(of_row, persons) if release.method.representatives else None
        card = _keep(release, pieces, place / "private", card, disclosed, replayed)
        releases: list[Entry] = []
        if has_ledger(release.store):
            ledger = ledger_in(release.store, _identifiers(release, pieces))
            releases = write_ledger(place, ledger, published_digest(place), _loss(card), after)
        shown = release.sample(of_row) if release.contents.files > 1 else release.in_published_order()
        both: dict[str, Any] = {
            "title": title,
            "context": context or Context(),
            "counts": _counts(release, pieces, of_row, disclosed),
            "assessment": assessment,
            "releases": releases,
        }
        texts = {
            "published/README.md": readme(shown, verdict, pieces, _about_earlier_releases(release, after)),
            "published/report.html": report(shown, card, verdict, public=True, **both),
            "private/report.html": report(shown, card, verdict, public=False, source=source, digest=digest, **both),
            MARKER: _facts(release, pieces, checked, card, disclosed, run, assessment, limits, intruder),
            "private/assessment.json": json.dumps(assessment.to_dict(), indent=2) + "\n",
            **_metadata(release, pieces, place / "published", title, after),
            **(extra or {}),
        }
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8")
        own = record.line(place, assessment, input=source, digest=digest, plan=texts.get("private/plan.toml", ""))
        (place / record.RECORD).write_text(earlier + own, encoding="utf-8")
    return Outcome(release, verdict, card, place, disclosed.counts, run, assessment, both["counts"])


def _identifiers(release: ProtectedRecords, pieces: WrittenPieces) -> pl.DataFrame:
    """The number of each published record, and the identifier that it was published with."""
    twins = [release.store.get_frame(f"twin-{at}").filter(pl.col("row") > 0) for at in range(len(pieces.sizes))]
    return pl.concat([twin.select(number="record", identifier=pl.col("released").cast(pl.String)) for twin in twins])


def _withheld(release: ProtectedRecords) -> int:
    """The number of persons for whom something is left out because of earlier releases."""
    return int(ledger_facts(release.store).figures.get("withheld") or 0) if has_ledger(release.store) else 0


def _loss(card: Scorecard) -> dict[str, float | int | None]:
    """The loss that the list of releases names."""
    return {"loss": next((float(card[name]) for name in ("IL", "IL1") if name in card), None)}


def judge_unwritten_release(
    release: ProtectedRecords,
    verdict: Verdict,
    measures: Mapping[str, Any] | None = None,
    intruder: Intruder | None = None,
) -> tuple[Scorecard, Assessment]:
    """A release that is not written, measured and judged as if it were, without limits: a study has the figures that its winner gets when it is published.

    `measures` may be meant for releases of many methods: envelopes leave out what is for values.
    """
    given = {name: value for name, value in (measures or {}).items() if not release.envelopes or name in OF_ENVELOPES}
    pieces = _write(release, None, None, "keep")
    card = _card(release, pieces, Verification(verdict), _options(release, given))
    persons = None
    if release.contents.source.person:
        persons = person_numbers(_published_twins(release, pieces, "person").to_frame(), ["person"])
    of_row = _classes(release, pieces, _protected_scope(pieces))
    return card, _assess(release, pieces, verdict, card, of_row, persons, (), Limits(), intruder or Intruder())


def refuse(stopped_by: Sequence[Check], allowed: Collection[str], assessment: Assessment | None = None) -> None:
    """Stop a release that did not pass, unless somebody allowed it by name."""
    if stops := [check for check in stopped_by if check.name not in allowed]:
        lines = [f"  {check.name}: {check.status.words}: {check.message}" for check in stops]
        names = " ".join(f"--allow {check.name}" for check in stops)
        raise GuaranteeError(
            "\n".join(
                [
                    "the release was not written:",
                    *lines,
                    f"  options: other parameters, or {names} to write it all the same",
                ]
            ),
            assessment.to_dict() if assessment else None,
        )


def _check_names(allowed: Collection[str]) -> None:
    if wrong := sorted(set(allowed) - set(CHECKS)):
        raise ParameterError(f"there is no check {wrong[0]!r} that could be allowed\n  checks: {', '.join(CHECKS)}")


def _assess(
    release: ProtectedRecords,
    pieces: WrittenPieces,
    verdict: Verdict,
    card: Scorecard,
    of_row: Indices,
    persons: Indices | None,
    allowed: Collection[str],
    limits: Limits,
    intruder: Intruder,
) -> Assessment:
    """The verdict on what was written."""
    names = release.contents.source.confidential
    intruder.check(names)
    carried = [release.store.get_frame(f"confidential-{at}") for at in range(len(pieces.sizes))] if names else []
    records = _published_twins(release, pieces, "record").to_numpy()
    evidence = Evidence(
        promise=release.guarantee,
        verdict=verdict,
        of_row=of_row,
        carried=pl.concat(carried) if carried else pl.DataFrame(),
        card=card,
        representatives=release.method.representatives,
        means=_publishes_means(release),
        persons=persons,
        subtraction=_subtraction_with_gaps(release, pieces, of_row, persons),
        suppressed=release.contents.n - pieces.published,
        withheld=_withheld(release) > 0,
        labels=[block.name for block in release.original.blocks if block.categories is not None],
        order=said_by_order(of_row, records, persons),
        allowed=tuple(sorted(allowed)),
    )
    return judge(evidence, limits, intruder)


def _publishes_means(release: ProtectedRecords) -> bool:
    """Whether means of groups are published: of labels there are none."""
    return release.method.means and bool(release.envelopes or measurable(release.original.blocks))


def _named(release: ProtectedRecords, pieces: WrittenPieces, private: Path) -> NamedRelease:
    """What was written, as releases are judged together: the files and the id map."""
    source, table = release.contents.source, published_layout(release.store)
    if not source.id and not source.person:
        raise ParameterError(
            "the records have no identifiers, so nothing says who is in an earlier release as well\n  options: id=..., person=..."
        )
    chunks = Chunks(schema_of(table), list(pieces.places), release.engine, release.store, pieces.published)
    id = None if isinstance(table, IntervalTable) else table.id
    return NamedRelease.of("this release", chunks, release.guarantee, id, source.confidential, read_id_map(private))


def _subtraction_with_gaps(
    release: ProtectedRecords, pieces: WrittenPieces, of_row: Indices, persons: Indices | None
) -> float | None:
    """What subtraction finds where records have gaps: those who have a value are counted at each point."""
    if not release.contents.source.masked or not release.method.means:
        return None
    return share_with_gaps(of_row, _values_behind(release, pieces), persons)


def _values_behind(release: ProtectedRecords, pieces: WrittenPieces) -> Iterator[Mask]:
    """For each column the published rows whose records had a value in it, where a value is published; some columns at a time."""
    width = len(release.original.columns)
    step = max(1, TOGETHER // max(1, pieces.published))
    for start in range(0, width, step):
        every = []
        for at in range(len(pieces.sizes)):
            one = in_published_order(release.store, at)
            rows, own = one.rows, slice(start, start + step)
            every.append(~np.isnan(one.original.values[rows, own]) & ~np.isnan(one.made[rows, own]))
        yield from np.concatenate(every).T


def _classes(release: ProtectedRecords, pieces: WrittenPieces, scope: int) -> Indices:
    """The class of each published row over the columns of a scope."""
    return number_marks(joined_marks(release.store, f"scope-{scope}", len(pieces.sizes)))[0]


def _protected_scope(pieces: WrittenPieces) -> int:
    """The number of the scope of all protected columns."""
    return [at for at, name in enumerate(pieces.scopes) if name not in (CARRIED, EVERYTHING)][-1]


def how_it_was_run(release: ProtectedRecords) -> str:
    """How the work was done, in a sentence."""
    ends = release.contents.chunk_ends
    if isinstance(release.store, Memory):
        return "The work was done in memory."
    many = f"{len(ends)} chunks of {ends[0]:,} records" if len(ends) > 1 else f"one chunk of {ends[0]:,} records"
    return f"The work was done in {many} on the engine {release.engine.name}."


def _options(release: ProtectedRecords, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of measuring; forecasts that series are too short for are left out, and the card says so."""
    if not release.envelopes:
        return {**({"models": "fitting"} if release.original.series else {}), **given}
    if foreign := [name for name in given if name not in OF_ENVELOPES]:
        raise ParameterError(f"The {foreign[0]!r} parameter of evaluate is for releases of values, not of envelopes.")
    checked_targets(given.get("targets"))
    return dict(given)


# -- the published files ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrittenPieces:
    """The pieces of a release, as they were written."""

    #: for each piece the description of its file by which it is read again, and the number of its published records
    places: list[Task]
    sizes: list[int]
    #: the words for what is published whose rows were marked
    scopes: list[str]
    #: the name of the file, or of the folder with its parts
    file: str
    #: whether texts were changed that a spreadsheet would run
    neutralised: bool

    @property
    def published(self) -> int:
        """The number of published records."""
        return sum(self.sizes)

    @property
    def starts(self) -> list[int]:
        """The published rows before each piece."""
        return [0, *accumulate(self.sizes)][:-1]


def _write(release: ProtectedRecords, place: Path | None, form: str | None, formulas: Formulas) -> WrittenPieces:
    """Write all pieces, or without a place only keep what is needed of them; a release in which everybody is suppressed is refused."""
    kept = release.contents
    form = form or written_format(kept.source.layout.format).name
    several = kept.files > 1
    if several and place:
        (place / "published" / "data").mkdir()
    names = [f"data/part-{at:05d}.{form}" if several else f"data.{form}" for at in range(kept.files)]
    places: list[Task] = [
        {
            "reader": "tsveil.release.publish:read_piece",
            "store": release.store.handle,
            "at": at,
            "path": str(place / "published" / name) if place else "",
            "formulas": formulas,
        }
        for at, name in enumerate(names)
    ]
    found = release.engine.map(
        write_piece, places, "Writing the published files" if place else "Gathering what is published"
    )
    sizes = [int(one["records"]) for one in found]
    if not sum(sizes):
        raise OutputError(
            f"there is nothing to publish: all {kept.n} records were suppressed\n  options: a smaller k or P, a shorter word"
        )
    neutralised = any(one["neutralised"] for one in found)
    return WrittenPieces(places, sizes, found[0]["scopes"], "data/" if several else names[0], neutralised)


def write_piece(task: Task) -> Result:
    """Write one published file, if it has a path, and keep what verifying, measuring and reporting need of its records."""
    store, at, path = open_store(task["store"]), int(task["at"]), Path(task["path"])
    shown, kept = in_published_order(store, at), contents(store)
    table = shown.published
    harmless = task["formulas"] == "neutralise" and runs_formulas(path)
    if isinstance(table, IntervalTable):
        frame = words_as_text(table.to_frame(whole=kept.whole))
        ready = harmless_frame(frame) if harmless else frame
        changed = not ready.equals(frame)
        if table.n and task["path"]:
            write_frame(ready, path, kept.source.layout, alone=kept.files == 1)
        EnvelopePiece.of(shown.original.values, table, shown.own, shown.numbers).save(store, at)
        names: dict[str, Any] = {}
    else:
        made = harmless_dataset(table) if harmless else table
        changed = made.layout != table.layout or made.columns != table.columns or not made.others.equals(table.others)
        if task["path"]:
            write_table(made, path.parent, path.stem, path.suffix[1:], alone=kept.files == 1)
        if has_labels(shown.original.blocks) and not kept.source.masked:
            whole = store.part(LABELS)
            own = shown.original.columns, kept.source.labels, kept.empty_before
            original = values_with_nodes(shown.original.values, *own, published=False)
            published = values_with_nodes(shown.made[shown.rows], *own, published=True)
            whole.put(f"original-{at}", np.ascontiguousarray(original.T))
            whole.put(f"released-{at}", np.ascontiguousarray(published.T))
        places = [place for block in measurable(shown.original.blocks) for place in _places(shown, block.name)]
        store.put(f"original-{at}", np.ascontiguousarray(shown.original.values[:, places].T))
        store.put(f"released-{at}", np.ascontiguousarray(shown.made[shown.rows][:, places].T))
        names = {"released": table.ids if table.n == shown.original.n else _spread(table.ids, shown.own)}
    store.put_frame(f"confidential-{at}", shown.confidential)
    marked = scopes(shown)
    for number, rows in enumerate(marked.values()):
        store.put(f"scope-{number}-{at}", rows)
    ids = shown.original.others[kept.source.id] if kept.source.id else pl.Series(shown.numbers + 1)
    persons = {"person": named_persons(shown.original.others, shown.original.person)} if kept.source.person else {}
    groups = {f"group of {unit.name}": labels for unit, labels in shown.labels if sum(unit.groups)}
    store.put_frame(
        f"twin-{at}",
        pl.DataFrame({"record": shown.numbers, "row": shown.own + 1, "original": ids, **names, **persons, **groups}),
    )
    return {"records": table.n, "scopes": list(marked), "neutralised": changed}


def _spread(published: pl.Series, own: Indices) -> pl.Series:
    """Values of the published records for all records: nothing for those that are suppressed."""
    return pl.Series([published[row] if row >= 0 else None for row in own.tolist()], dtype=published.dtype)


def _places(release: Records, name: str) -> range:
    return range(*release.original.span(name).indices(len(release.original.columns)))


def read_piece(place: Task) -> Chunk:
    """One published file as it stands on the disk, with the names that its columns had before formulas were made harmless."""
    path, table = Path(place["path"]), published_layout(open_store(place["store"]))
    harmless = place["formulas"] == "neutralise" and runs_formulas(path)
    if isinstance(table, IntervalTable):
        if not path.exists():  # everybody in it is suppressed
            return Chunk.of(table)
        layout = contents(open_store(place["store"])).source.layout
        found = read_intervals(path, separator=layout.separator, decimal=layout.decimal)
        names = dict(zip(found.others.columns, table.others.columns, strict=True))
        return Chunk.of(replace(found, others=found.others.rename(names)))
    content = harmless_dataset(table) if harmless else table
    return Chunk.of(with_names_of(table, read_like(path, content, own=True)))


def _verify_files(
    release: ProtectedRecords, pieces: WrittenPieces, persons: Indices | None, originals: pl.DataFrame | None
) -> Verification:
    """The promise is about the files, so the files are what is checked; it speaks of columns by their own names."""
    schema = schema_of(published_layout(release.store))
    return release.guarantee.verify_chunks(
        Chunks(schema, list(pieces.places), release.engine, release.store, pieces.published, persons, originals)
    )


def _keep_originals(release: ProtectedRecords, pieces: WrittenPieces, private: Path) -> pl.DataFrame | None:
    """Write the original labels of the published rows where the promise speaks of them, and read them again."""
    if not release.guarantee.reads_originals:
        return None
    for at, before in enumerate(pieces.starts):
        one = in_published_order(release.store, at)
        labels = release.original.labels
        columns = [
            labels[name].texts(one.original.values[one.rows, place]).alias(name)
            for place, name in enumerate(release.original.columns)
            if name in labels
        ]
        rows = pl.Series("published_row", np.arange(before + 1, before + 1 + len(one.rows)))
        _write_twin(pieces, private, "original_labels", at, pl.DataFrame([rows, *columns]))
    return read_original_labels(private)


def read_original_labels(private: Path) -> pl.DataFrame | None:
    """The original labels of each published row in their order, if the private side of a release has them; null where a cell was empty."""
    if (private / "original_labels.csv").is_file():
        found = pl.read_csv(private / "original_labels.csv", infer_schema=False)
    elif parts := sorted((private / "original_labels").glob("part-*.parquet")):
        found = pl.concat([pl.read_parquet(path) for path in parts]).select(pl.all().cast(pl.String))
    else:
        return None
    return found.sort(pl.col("published_row").cast(pl.Int64)).drop("published_row")


def _owners(release: ProtectedRecords, pieces: WrittenPieces, private: Path) -> Indices | None:
    """The person of each published row, as the id map says that was written."""
    if not release.contents.source.person:
        return None
    named = read_id_map(private).select("person", pl.col("published_row").cast(pl.Int64)).sort("published_row")
    if named["published_row"].to_list() != list(range(1, pieces.published + 1)) or named["person"].null_count():
        raise OutputError("the id map that was written does not name the person of every published row")
    return person_numbers(named, ["person"])


def read_id_map(private: Path) -> pl.DataFrame:
    """Who is who: the original, the published row and, where there are any, the released identifier and the person of each published record, as texts."""
    if (private / "id_map.csv").is_file():
        return pl.read_csv(private / "id_map.csv", infer_schema=False)
    parts = [pl.read_parquet(path) for path in sorted((private / "id_map").glob("part-*.parquet"))]
    return pl.concat(parts).select(pl.all().cast(pl.String))


def _published_twins(release: ProtectedRecords, pieces: WrittenPieces, column: str) -> pl.Series:
    """A column of the private twins of all published rows, in their order."""
    found = []
    for at in range(len(pieces.sizes)):
        twin = release.store.get_frame(f"twin-{at}", columns=["row", column])
        found.append(twin.filter(pl.col("row") > 0).sort("row")[column])
    return pl.concat(found)


def _shared_values(checked: Verification, published: int) -> list[str]:
    """A warning for each carried column that all records of some envelopes have in common."""
    return [
        disclosed_warning(name, checked.shared, records, published)
        for name, (_, records) in checked.homogeneous.items()
        if records
    ]


# -- measuring --------------------------------------------------------------------------------------------------------


def _card(
    release: ProtectedRecords, pieces: WrittenPieces, checked: Verification, options: Mapping[str, Any]
) -> Scorecard:
    """Loss and risk of all records, in the order of the published files."""
    kept, store = release.contents, release.store
    blocks = tuple(Columns.of(block) for block in measurable(release.original.blocks))
    labels = None
    if kept.envelopes:
        words = "envelope and pattern" in pieces.scopes
        schema = Schema.of_envelopes(store, blocks[0], kept.files, words=words)
    else:
        if kept.suppressed:
            rows = [store.get_frame(f"twin-{at}", columns=["row"])["row"].to_numpy() for at in range(kept.files)]
            own = [np.where(row > 0, row - 1 + start, -1) for row, start in zip(rows, pieces.starts, strict=True)]
            store.put("own", np.concatenate(own))
        sizes = tuple(len(kept.rows(at)) for at in range(kept.files))
        both = Pieces(blocks, sizes, tuple(pieces.sizes), aligned=not kept.suppressed, numbered=True)
        both = both.of_persons(store) if kept.source.person else both
        schema = Schema(with_gaps(store, both) if kept.source.masked else both)
        labels = _with_labels(release, both)
    if options.get("other_period") is not None:
        twins = pl.concat([store.get_frame(f"twin-{at}").select("record", "original") for at in range(kept.files)])
        names = twins.sort("record")["original"].to_list()
        options = {**options, "other_period": OtherPeriod.of(names, options["other_period"])}
    return measure_pieces(
        store, schema, release.engine, method=release.method,
        left_out=blocks_left_out(release.original, measured=labels is not None),
        homogeneous=checked.homogeneous, labels=labels, **options,
    )  # fmt: skip


def _with_labels(release: ProtectedRecords, files: Pieces) -> Schema | None:
    """The same files with all columns, in a part of the store, where some hold labels; None where there are none, or gaps beside them."""
    kept, blocks = release.contents, release.original.blocks
    if not has_labels(blocks) or kept.source.masked:
        return None
    part = release.store.part(LABELS)
    for name in ("own", "records", "persons"):
        if release.store.has(name):
            part.put(name, release.store.get(name, whole=True))
    seen = blocks_with_nodes(blocks, columns_with_empty_cells(kept.source.labels), kept.empty_before)
    whole = msgspec.structs.replace(files, blocks=tuple(map(Columns.of_any, seen)), persons=0)
    return Schema(whole.of_persons(part) if release.contents.source.person else whole)


def _disclosure(release: ProtectedRecords, pieces: WrittenPieces, of_row: Indices) -> AttributeDisclosure:
    """The carried values that classes of equal published rows have in common."""
    columns = list(release.contents.source.confidential)
    withheld = _withheld(release) > 0
    return disclosure(release.store, release.engine, of_row, pieces.starts, columns, withheld=withheld)


def _counts(
    release: ProtectedRecords, pieces: WrittenPieces, of_row: Indices, disclosed: AttributeDisclosure
) -> Counts:
    """What the reports say of all records; `of_row` are the classes over all protected columns."""
    protected = _protected_scope(pieces)
    crowds = [
        Crowd.of(name, of_row if number == protected else _classes(release, pieces, number))
        for number, name in enumerate(pieces.scopes)
    ]
    return Counts(crowds, disclosed_columns(disclosed))


# -- the private side -------------------------------------------------------------------------------------------------


def _keep_ids(release: ProtectedRecords, pieces: WrittenPieces, private: Path) -> None:
    """Write who is who."""
    for at, before in enumerate(pieces.starts):
        twin = release.store.get_frame(f"twin-{at}").filter(pl.col("row") > 0)
        names = [name for name in ("original", "released", "person") if name in twin.columns]
        ordered = twin if len(pieces.sizes) > 1 else twin.sort("record")
        _write_twin(pieces, private, "id_map", at, ordered.select(*names, published_row=pl.col("row") + before))


def _write_twin(pieces: WrittenPieces, private: Path, name: str, at: int, frame: pl.DataFrame) -> None:
    """Write a private file, or one of its parts."""
    if len(pieces.sizes) > 1:
        (private / name).mkdir(exist_ok=True)
        frame.write_parquet(private / name / f"part-{at:05d}.parquet")
    else:
        frame.write_csv(private / f"{name}.csv")


def _keep(
    release: ProtectedRecords,
    pieces: WrittenPieces,
    private: Path,
    card: Scorecard,
    disclosed: AttributeDisclosure,
    replayed: Array | None,
) -> Scorecard:
    """Write groups, the risk of each record and attribute disclosure; gives the card with the identifiers of the records.

    `replayed` is the chance of each published row when the method is run again, if that tells anything.
    """
    every, start = [], 0
    for at, before in enumerate(pieces.starts):
        twin = release.store.get_frame(f"twin-{at}")
        own = pl.DataFrame([twin["original"], *card.per_record.slice(start, twin.height)])
        if replayed is not None:
            rows = twin["row"].to_numpy()
            chance = np.full(len(rows), np.nan)
            chance[rows > 0] = replayed[before + rows[rows > 0] - 1]
            own = own.with_columns(pl.Series("risk_file", chance))
        every.append(own)
        start += twin.height
        listed = disclosed.rows_for_owner(twin["original"].filter(twin["row"] > 0), before)
        risks = every[-1]
        if len(pieces.sizes) == 1:
            order = twin["record"].arg_sort()
            twin, risks = twin[order], risks[order]
        for name, frame in _private(release, twin, risks, listed):
            _write_twin(pieces, private, name, at, frame)
    return replace(card, per_record=pl.concat(every))


def _private(
    release: ProtectedRecords, twin: pl.DataFrame, risks: pl.DataFrame, listed: pl.DataFrame
) -> Iterator[tuple[str, pl.DataFrame]]:
    """The private files of a piece beside the id map: `twin` has a row for each record, and `row` says where it is published, counted from 1 in its piece."""
    if groups := [name for name in twin.columns if name.startswith("group of ")]:
        yield "groups", twin.filter(pl.col("row") > 0).select("original", *groups)
    if release.envelopes or release.contents.suppressed:
        yield "suppressed", twin.filter(pl.col("row") == 0).select("original")
    yield "risk", risks
    if release.contents.source.confidential:
        yield "attribute_disclosure", listed


def _facts(
    release: ProtectedRecords,
    pieces: WrittenPieces,
    checked: Verification,
    card: Scorecard,
    disclosed: AttributeDisclosure,
    run: str,
    assessment: Assessment,
    limits: Limits,
    intruder: Intruder,
) -> str:
    """What the release is, for machines."""
    verdict = checked.verdict
    facts: dict[str, Any] = {
        "method": release.method.name,
        "settings": release.method.settings(),
        "guarantee": verdict.guarantee,
        "promise": {"name": release.guarantee.name, **asdict(release.guarantee)},
        "verdict": verdict.status,
        "witness": verdict.witness,
        "seed": str(release.seed),
        "warnings": list(release.warnings),
        "facts": {block: dict(own) for block, own in release.facts.items()},
        "scores": card.to_dict(),
        "measured": dict(card.options),
        "attribute_disclosure": disclosed.counts,
        "run": run,
        "records": assessment.records,
        "rows_from": 1,
        "named": bool(release.contents.source.id or release.contents.source.person),
        **({"persons": assessment.persons} if release.contents.source.person else {}),
        "limits": msgspec.to_builtins(limits),
        "intruder": msgspec.to_builtins(intruder),
        "columns": _columns(pieces.places[0]),
        "means": _publishes_means(release),
        **({"withheld": count} if (count := _withheld(release)) else {}),
        "sha256": digest_of([path for place in pieces.places if (path := Path(place["path"])).exists()]),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if release.envelopes:
        facts["homogeneous"] = {name: {"classes": c, "records": r} for name, (c, r) in checked.homogeneous.items()}
    return json.dumps(facts, indent=2) + "\n"


def _published_table(place: Task) -> Dataset | IntervalTable:
    """A table with the columns of a published file, named as they are there."""
    table = published_layout(open_store(place["store"]))
    if place["formulas"] != "neutralise" or not runs_formulas(Path(place["path"])):
        return table
    if isinstance(table, IntervalTable):
        return replace(table, others=harmless_frame(table.others))
    return harmless_dataset(table)


def _columns(place: Task) -> dict[str, Any]:
    """The options by which a published file is read."""
    table = _published_table(place)
    layout = contents(open_store(place["store"])).source.layout
    text = {"separator": layout.separator, "decimal": layout.decimal}
    if isinstance(table, IntervalTable):
        return {"confidential": table.others.columns, **text}
    return {**roles_of(table), **text, "header": True}


# -- what users of the data should know ---------------------------------------------------------------------------------


def _metadata(
    release: ProtectedRecords, pieces: WrittenPieces, folder: Path, title: str, after: Path | None
) -> dict[str, str]:
    """The files that describe the release for programs, by their path in its folder."""
    files = [path for place in pieces.places if (path := Path(place["path"])).exists()]
    ids = ledger_facts(release.store).ids if after is not None else "fresh"
    found = metadata_files(release, _published_table(pieces.places[0]), folder, files, title=title, ids=ids)
    return {f"published/{name}": text for name, text in found.items()}


def _about_earlier_releases(release: ProtectedRecords, after: Path | None) -> str:
    """What the users of the data should know where a release continues earlier ones; nothing private."""
    if after is None:
        return ""
    ids = ledger_facts(release.store).ids
    words = ["These data continue earlier releases of the same collection."]
    if ids == "stable":
        words.append(
            "An identifier stays the same from release to release until the group of its record changes, and is then replaced by a new one."
        )
    else:
        words.append("Identifiers are new in each release.")
    if release.contents.source.confidential:
        words.append(
            "A cell of a carried column may be empty although there is a value: where several releases together would narrow down whose value it is, it is withheld. "
            "Which cells these are was decided without looking at any value, so an empty cell says nothing about what it would hold."
        )
    if any(block.times is None for block in release.original.blocks):
        words.append(
            "Records may be left out for the same reason: where several releases together would narrow down whose values they are. Which ones was decided without looking at any value."
        )
    return " ".join(words)


def readme(shown: ProtectedRecords, verdict: Verdict, pieces: WrittenPieces, about_earlier_releases: str = "") -> str:
    """What the users of the data should know; nothing private."""
    method, guarantee = shown.method, shown.guarantee
    settings = ", ".join(f"{name} = {value}" for name, value in method.settings().items() if value is not None)
    # The witness stays private: it names rows.
    unverified = (
        f"\n**WARNING: THE GUARANTEE WAS NOT VERIFIED: {verdict.status.upper()}.**\n" if verdict.blocks_release else ""
    )
    title, about, columns = _envelopes_in_words(shown) if shown.envelopes else _values_in_words(shown)
    columns += "".join(f"- `{name}`: carried unchanged\n" for name in shown.contents.source.confidential)
    if pieces.neutralised:
        columns += "\nTexts that a spreadsheet would run as formulas have an apostrophe in front.\n"
    if prepared := "".join(f"- {in_public(note)}\n" for note in shown.original.notes):
        prepared = f"## Before protection\n\n{prepared}\n"
    if shown.about_gaps:
        prepared += f"## Gaps\n\n{shown.about_gaps}\n\n"
    if about_earlier_releases:
        prepared += f"## Earlier releases\n\n{about_earlier_releases}\n\n"
    holds = f"`{pieces.file}` holds {shown.released} records"
    return (
        f"# {title}\n\n{holds}{about}\n{unverified}\n{prepared}"
        f"## Method\n\n{method.name} ({settings}): {method.summary}.\n\nReference: {method.reference}.\n\n"
        f"## Guarantee\n\n{guarantee.words} {guarantee.limits}\n\nVerification of this file: {verdict.status}.\n\n"
        f"## Columns\n\n{columns}\nMade with tsveil.\n"
    )


def _values_in_words(shown: ProtectedRecords) -> tuple[str, str, str]:
    about = (
        " whose values were protected before publication. The values are not the original ones, rows are in random order, and "
        "identifiers were replaced by random ones."
    )
    columns = "".join(
        f"- {block.name}: {block_in_words(block)} ({block.columns[0]} to {block.columns[-1]}), protected\n"
        for block in shown.original.blocks
    )
    return "Protected data", about, columns


def _envelopes_in_words(shown: ProtectedRecords) -> tuple[str, str, str]:
    table = shown.table
    first, last = table.labels[0], table.labels[-1]
    about = (
        ". Instead of values it holds intervals, which a group of records has in common. Rows are in random order and have no "
        "identifiers."
    )
    columns = (
        f"- `lo_{first}`, `hi_{first}` to `lo_{last}`, `hi_{last}`: at each of the {len(table.labels)} time points, the record's value lies "
        "between the two, both included\n"
    )
    if table.words is not None:
        scaled = (
            f"The series is scaled to mean 0 and standard deviation 1, cut into {segments(table.words[0])} segments of equal length, and the "
            "mean of each becomes"
        )
        columns += (
            f"- `pattern`: the shape of the record's series as values of PAA. {scaled} the middle of the interval that holds it\n"
            "- `level`: how fine these intervals are: at level 2, 4, 8, ... they are 4 divided by the level wide, and 0 is a border; at level 1 there "
            "is one, and its middle is written 0\n"
            if table.words[0].startswith("[")
            else f"- `pattern`: the shape of the record's series as a SAX word. {scaled} a letter\n"
            "- `level`: how many letters the word chooses from, with the same chance for each under the normal distribution: at level 4 the letters "
            "a to d mean below -0.674, -0.674 to 0, 0 to 0.674, above 0.674\n"
        )
    return "Protected time series", about, columns
