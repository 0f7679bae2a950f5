"""Publishing a release: files, verification, attacks and measures, reports; the folder appears whole or not at all.

write      every piece: its published file
verify     the files, read again: the promise over all of them
measure    attacks and losses, on the records in their published order
keep       who is who, groups, risk of each record, attribute disclosure, figures: private
report     the public page and the private one
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from tsveil import progress
from tsveil._types import Indices
from tsveil.attack.attribute import AttributeDisclosure
from tsveil.data.dataset import Dataset
from tsveil.data.formulas import harmless_dataset, harmless_frame, with_names_of
from tsveil.data.intervals import IntervalTable, read_intervals
from tsveil.data.published import read_like
from tsveil.data.store import Store, opened
from tsveil.data.write import complete_folder, write_frame, write_table
from tsveil.engine.base import Result, Task
from tsveil.errors import OutputError
from tsveil.guarantee.base import Verdict
from tsveil.measure.kp import IntervalCard
from tsveil.measure.scorecard import Scorecard
from tsveil.release import MARKER, Formulas, Release, published_piece, refuse_unverified
from tsveil.report.context import Context
from tsveil.report.release import report


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release in its folder, and what was found on the way."""

    release: Release
    verdict: Verdict
    card: Scorecard | IntervalCard
    folder: Path
    #: confidential column -> number of records whose value their class discloses
    disclosed: Mapping[str, int] = field(default_factory=dict)
    #: how the work was done, in a sentence
    run: str = ""

    @property
    def report(self) -> Path:
        """The full report, which is private."""
        return self.folder / "private" / "report.html"


def publish(release: Release, folder: str | Path, *, overwrite: bool = False, **options: Any) -> Outcome:
    """Write a release into a folder, all or nothing; the options are those of `fill`."""
    with complete_folder(Path(folder), overwrite=overwrite, marker=MARKER) as place:
        found = fill(release, place, **options)
    return replace(found, folder=Path(folder))


def fill(
    release: Release,
    place: Path,
    *,
    format: Literal["csv", "parquet"] | None = None,
    allow_unverified: bool = False,
    formulas: Formulas = "keep",
    measures: Mapping[str, Any] | None = None,
    title: str = "",
    context: Context | None = None,
    source: str = "",
    digest: str = "",
    extra: Mapping[str, str] | None = None,
    run: str = "",
) -> Outcome:
    """Write a release into an empty folder.

    `measures` are options of `tsveil.evaluate`; `title` and `context` are shown in both reports, `source` and `digest` (the name of the
    input and its SHA-256) in the private one; `extra` holds further text files by their path in the folder; `run` says how the work was done.
    """
    form = format or release.contents.source.layout.format
    (place / "published").mkdir()
    (place / "private").mkdir(mode=0o700)  # for its owner only
    with progress.step("Writing and checking the release"):
        files = _write(release, place, form, formulas)
        verdict = _verified(release, files, formulas)
        refuse_unverified(verdict, allow_unverified)
    shown = release.in_published_order()
    card = shown.evaluate(**_options(shown, measures or {}))
    disclosure = shown.attribute_disclosure()
    with progress.step("Writing the reports"):
        _keep(release, shown, place / "private", card, disclosure)
        told: dict[str, Any] = {"title": title, "context": context or Context()}
        texts = {
            "published/README.md": readme(release, shown, verdict, files[0].name),
            "published/report.html": report(shown, card, verdict, public=True, **told),
            "private/report.html": report(shown, card, verdict, public=False, source=source, digest=digest, **told),
            MARKER: _facts(release, verdict, card, disclosure, run),
            **(extra or {}),
        }
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8")
    return Outcome(release, verdict, card, place, disclosure.counts, run)


def _options(release: Release, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of measuring; forecasts that series are too short for are left out, and the card says so."""
    return {**({"models": "fitting"} if release.original.series and not release.envelopes else {}), **given}


# -- the published files ----------------------------------------------------------------------------------------------


def _write(release: Release, place: Path, form: str, formulas: Formulas) -> list[Path]:
    """Write all pieces; a release in which everybody is suppressed is refused."""
    kept = release.contents
    if kept.files > 1:
        (place / "published" / "data").mkdir()
    task = {"store": release.store.handle, "place": str(place / "published"), "form": form, "formulas": formulas}
    todo = [{**task, "at": at} for at in range(kept.files)]
    found = release.engine.map(write_piece, todo, "Writing the published files")
    files = [Path(one["file"]) for one in found if one["file"]]
    if not files:
        raise OutputError(
            f"there is nothing to publish: all {kept.n} records were suppressed\n  options: a smaller k or P, a shorter word"
        )
    return files


def write_piece(task: Task) -> Result:
    """Write one published file."""
    store, at, form = opened(task["store"]), int(task["at"]), str(task["form"])
    table = published_piece(store, at)
    if not table.n:
        return {"file": ""}
    several = (Path(task["place"]) / "data").is_dir()
    folder, stem = Path(task["place"]) / ("data" if several else ""), f"part-{at:05d}" if several else "data"
    harmless = task["formulas"] == "neutralise" and form == "csv"
    if isinstance(table, IntervalTable):
        frame = table.to_frame(whole=_whole(store))
        path = folder / f"{stem}.{form}"
        write_frame(harmless_frame(frame) if harmless else frame, path, _layout(store))
    else:
        path = write_table(harmless_dataset(table) if harmless else table, folder, stem, form)
    return {"file": str(path)}


def _whole(store: Store) -> tuple[str, ...]:
    from tsveil.data.pieces import contents

    return contents(store).whole


def _layout(store: Store) -> Any:
    from tsveil.data.pieces import contents

    return contents(store).source.layout


def _verified(release: Release, files: list[Path], formulas: Formulas) -> Verdict:
    """The promise is about the files, so the files are what is checked; it speaks of columns by their own names."""
    table, path = published_piece(release.store, 0), files[0]
    published: Any
    if isinstance(table, IntervalTable):
        layout = _layout(release.store)
        published = read_intervals(path, separator=layout.separator, decimal=layout.decimal)
    else:
        harmless = formulas == "neutralise" and path.suffix == ".csv"
        content: Dataset = harmless_dataset(table) if harmless else table
        published = with_names_of(table, read_like(path, content, own=True))
    return release.guarantee.verify(published)


# -- the private side -------------------------------------------------------------------------------------------------


def _keep(
    release: Release, shown: Release, private: Path, card: Scorecard | IntervalCard, disclosure: AttributeDisclosure
) -> None:
    """Who is who, groups, the risk of each record, and attribute disclosure, in the order of the original."""
    order = np.asarray(release.store.get("records")[: shown.original.n])
    back = np.argsort(order).tolist()
    ids = _ids(release, shown, order)
    rows = shown.own + 1
    known: dict[str, Any] = {"original": ids}
    if not release.envelopes:
        known["released"] = published_piece(release.store, 0).ids  # type: ignore[union-attr]
    known["published_row"] = rows
    frame = pl.DataFrame(known)[back]
    frame.filter(pl.col("published_row") > 0).write_csv(private / "id_map.csv")
    groups = {
        f"group of {unit.name}": labels
        for unit, labels in zip(release.contents.units, _labels(shown), strict=True)
        if sum(unit.groups)
    }
    if groups:
        pl.DataFrame({"original": ids, **groups})[back].filter(frame["published_row"] > 0).write_csv(
            private / "groups.csv"
        )
    if release.envelopes:
        frame.filter(pl.col("published_row") == 0).select("original").write_csv(private / "suppressed.csv")
    card.per_record.with_columns(ids.alias("original"))[back].write_csv(private / "risk.csv")
    if shown.contents.source.confidential:
        listed = disclosure.listed(ids.filter(pl.Series(rows > 0)))
        listed.write_csv(private / "attribute_disclosure.csv")


def _labels(shown: Release) -> list[Indices]:
    return list(shown._whole.groups.T)


def _ids(release: Release, shown: Release, order: Indices) -> pl.Series:
    """The identifiers of the records, or their numbers."""
    source = release.contents.source
    return shown.original.others[source.id].alias("original") if source.id else pl.Series("original", order)


def _facts(
    release: Release, verdict: Verdict, card: Scorecard | IntervalCard, disclosure: AttributeDisclosure, run: str
) -> str:  # fmt: skip
    """What the release is, for machines."""
    facts: dict[str, Any] = {
        "method": release.method.name,
        "settings": release.method.settings(),
        "guarantee": verdict.guarantee,
        "verdict": verdict.status,
        "witness": verdict.witness,
        "seed": str(release.seed),
        "warnings": list(release.warnings),
        "facts": {block: dict(own) for block, own in release.facts.items()},
        "scores": card.to_dict(),
        "attribute_disclosure": disclosure.counts,
        "run": run,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if isinstance(card, IntervalCard):
        facts["homogeneous"] = {name: {"classes": c, "records": r} for name, (c, r) in card.homogeneous.items()}
    return json.dumps(facts, indent=2) + "\n"


# -- what users of the data should know ---------------------------------------------------------------------------------


def readme(release: Release, shown: Release, verdict: Verdict, file: str) -> str:
    """What the users of the data should know; nothing private."""
    method, guarantee = release.method, release.guarantee
    settings = ", ".join(f"{name} = {value}" for name, value in method.settings().items() if value is not None)
    # The witness stays private: it names rows.
    unverified = (
        f"\n**WARNING: THE GUARANTEE WAS NOT VERIFIED: {verdict.status.upper()}.**\n" if verdict.blocks_release else ""
    )
    title, about, columns = _envelopes_in_words(shown, file) if release.envelopes else _values_in_words(shown, file)
    columns += "".join(f"- `{name}`: carried unchanged\n" for name in release.contents.source.confidential)
    return (
        f"# {title}\n\n{about}\n{unverified}\n"
        f"## Method\n\n{method.name} ({settings}): {method.summary}.\n\nReference: {method.reference}.\n\n"
        f"## Guarantee\n\n{guarantee.words} {guarantee.limits}\n\nVerification of this file: {verdict.status}.\n\n"
        f"## Columns\n\n{columns}\nMade with tsveil.\n"
    )


def _values_in_words(shown: Release, file: str) -> tuple[str, str, str]:
    about = (
        f"`{file}` holds {shown.n} records whose values were protected before publication. The values are not the "
        "original ones, rows are in random order, and identifiers were replaced by random ones."
    )
    columns = "".join(
        f"- {block.name}: {'time series of ' + str(len(block)) + ' points' if block.is_series else str(len(block)) + ' attributes'}"
        f" ({block.columns[0]} to {block.columns[-1]}), protected\n"
        for block in shown.original.blocks
    )
    return "Protected data", about, columns


def _envelopes_in_words(shown: Release, file: str) -> tuple[str, str, str]:
    table = shown.table
    first, last = table.labels[0], table.labels[-1]
    about = (
        f"`{file}` holds {shown.n} records. Instead of values it holds intervals, which a group of records has in common. "
        "Rows are in random order and have no identifiers."
    )
    columns = (
        f"- `lo_{first}`, `hi_{first}` to `lo_{last}`, `hi_{last}`: at each of the {len(table.labels)} time points, the record's value lies "
        "between the two, both included\n"
    )
    if table.words is not None:
        columns += (
            f"- `pattern`: the shape of the record's series as a SAX word. The series is scaled to mean 0 and standard deviation 1, cut into "
            f"{len(table.words[0])} segments of equal length, and the mean of each becomes a letter\n"
            "- `level`: how many letters the word chooses from, with the same chance for each under the normal distribution: at level 4 the letters "
            "a to d mean below -0.674, -0.674 to 0, 0 to 0.674, above 0.674\n"
        )
    return "Protected time series", about, columns
