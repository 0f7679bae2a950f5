"""Protecting a folder of Parquet files: the steps in order, on any engine.

    attempt    every chunk: can it be parsed without ending a process
    look       every chunk: are the values fit; bounds, moments, a sample
    (here)     cuts from the sample; the secret order and names of the published rows
    scatter    every chunk: its records sorted by part
    protect    every part
    assemble   every published file: written and measured
    verify     every published file, read again: the promise over all of them
    link       the attacks
    (here)     README, figures, reports; the folder takes its name

What this process itself holds is the sample and a few numbers per record (its published row, name and mark of its identifier): 40 bytes
each, 400 MB for ten million records.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from tsveil import progress
from tsveil._types import Array
from tsveil.data.dataset import as_seen
from tsveil.data.store import Folder, Store
from tsveil.data.write import complete_folder
from tsveil.engine.base import Engine, Result
from tsveil.engine.choose import chosen_engine
from tsveil.errors import GuaranteeError, InputError, ParameterError, Problems, some
from tsveil.guarantee.base import Guarantee, Verdict
from tsveil.large import measure, steps
from tsveil.large.intervals import interval_readme, letters_of, made_width
from tsveil.large.job import Job, Unit
from tsveil.large.parts import Tree, grown, joined
from tsveil.large.people import checked_people
from tsveil.large.source import MOST, SHARED, Source
from tsveil.large.verify import class_words, verify_files
from tsveil.large.ways import least_part, leaves_of, promise, sized, space, units_of, warnings_of
from tsveil.measure.kp import IntervalCard, interval_card
from tsveil.measure.nlk import Identification, singled_out
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.base import RARE, Method, linking_warning
from tsveil.protect.intervals import IntervalMethod, disclosed_warning
from tsveil.protect.kp import KP
from tsveil.protect.nlk import NLK
from tsveil.protect.rank_swap import RankSwap
from tsveil.randomness import fresh_seed, secret_numbers, secret_order, sub_seed
from tsveil.release import MARKER, free_name, readme, refuse_unverified
from tsveil.report.large import large_report

#: values that are read at a time, and the fewest records: wide records come in pieces that are worth a task
CHUNK_VALUES, CHUNK_ROWS = 2**22, 4096
#: records, and values, of the sample that the cuts are found from
SAMPLE_ROWS, SAMPLE_VALUES = 2**17, 2**27
#: columns with values, or differences, beyond these are refused
LARGEST, CLOSEST = 1e150, 1e-140


@dataclass(frozen=True, eq=False)
class LargeRelease:
    """A release that was written from files too large to be read at once."""

    folder: Path
    source: Source
    method: Method | IntervalMethod
    guarantee: Guarantee
    verdict: Verdict
    card: Scorecard | IntervalCard
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: carried column -> number of records whose value their group of equal records gives away; envelopes: not counted
    given_away: Mapping[str, int] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """The published files."""
        return sorted((self.folder / "published" / "data").glob("*.parquet"))

    def __repr__(self) -> str:
        return (
            f"LargeRelease: {self.method}; {self.source.n} records in {len(self.files)} files; {self.guarantee.short}"
        )


def protect_folder(
    source: Source,
    method: Method | IntervalMethod,
    out: str | Path,
    *,
    engine: Any = "local",
    scheduler: str | None = None,
    master: str | None = None,
    seed: int | None = None,
    overwrite: bool = False,
    allow_unverified: bool = False,
    part: int | None = None,
    chunk: int | None = None,
    people: int | Literal["all"] | None = None,
    title: str = "",
    extra: Mapping[str, str] | None = None,
) -> LargeRelease:
    """Protect a data set that need not fit into memory, and write the release into a folder, all or nothing.

    `engine` is "local", "dask" or "spark" (with `scheduler` or `master`, the address of a running one, or a local one is started), or the caller's
    Dask client or Spark session, which is left open; workers must see the input and the output under the
    same paths. `part` is about how many records are protected together (the method's own by default), `chunk` how many are read at a time.
    `people` is how many records an intruder knows who is then looked for in the whole release: "all", a number, or as many as cost no more than the rest.
    The other parameters are those of `Method.protect` and `Release.write`.

    Examples
    --------
    >>> import tempfile, polars as pl, tsveil as tv
    >>> folder = Path(tempfile.mkdtemp())
    >>> curves = np.random.default_rng(1).normal(size=(60, 3)).cumsum(axis=1)
    >>> for at in (0, 1):
    ...     pl.DataFrame(curves[at::2], schema=["1", "2", "3"]).write_parquet(folder / f"{at}.parquet")
    >>> release = tv.protect_folder(tv.source(folder), tv.MDAV(k=3), folder / "release")
    >>> release.verdict.holds, [file.name for file in release.files]
    (True, ['part-00000.parquet'])
    """
    for name, value in (("part", part), ("chunk", chunk)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ParameterError(
                f"The {name!r} parameter of protect_folder must be an integer of at least 1. Got {value!r}."
            )
    folder = Path(out).absolute()
    width = len(source.columns)
    chunk = chunk or max(CHUNK_ROWS, CHUNK_VALUES // width)
    job = Job(
        source=source,
        method=method.name,
        settings=method.settings(),
        units=units_of(source, method, part),
        chunk=chunk,
        file_rows=chunk,
        sample=max(2, min(SAMPLE_ROWS, SAMPLE_VALUES // width)),
        people=checked_people(people),
        out_width=made_width(method, width),
    )
    seed = fresh_seed() if seed is None else seed
    with (
        complete_folder(folder, overwrite=overwrite, marker=MARKER) as place,
        chosen_engine(engine, scheduler=scheduler, master=master) as running,
    ):
        for name in ("spool", "private"):
            (place / name).mkdir(mode=0o700)  # for their owner only
        for name in ("published/data", "private/id_map"):
            (place / name).mkdir(parents=True)
        store = Folder(place / "spool")
        job = _looked(store, msgspec.structs.replace(job, place=str(place)), running)
        guarantee = promise(job, method)
        warnings = (*warnings_of(job, method), *_linking(store, job))
        with progress.step("Shuffling"):
            _shuffle(store, job, seed)
        parts = _scattered(store, job, running)
        done = _protected(store, job, parts, seed, running)
        files = _assembled(store, job, done, running)
        published = sorted((place / "published" / "data").glob("*.parquet"))
        blocks = [(block.name, block.columns) for block in source.blocks]
        records = sum(int(one["records"]) for one in files)
        if not records:
            raise GuaranteeError(
                f"nothing can be published: all {source.n} records would be suppressed\n  options: a smaller k or P"
            )
        checked = verify_files(
            guarantee, published, blocks, running, store, records=records, carried=source.confidential
        )
        verdict = checked.verdict
        refuse_unverified(verdict, allow_unverified)
        card: Scorecard | IntervalCard
        given_away: dict[str, int]
        if isinstance(method, IntervalMethod):
            points = len(source.columns)
            card, given_away = (
                interval_card(
                    store,
                    running,
                    job.files,
                    source.n,
                    points,
                    words=letters_of(method, points) > 0,
                    targets=job.people,
                    homogeneous=checked.homogeneous,
                ),
                {},
            )
            warnings += method.warnings(source.n - records) if isinstance(method, KP) else ()
            warnings += tuple(
                disclosed_warning(name, class_words(guarantee), disclosed, records)
                for name, (_, disclosed) in checked.homogeneous.items()
                if disclosed
            )
        else:
            card, given_away = measure.scorecard(store, job, files, running)
        alone = _identified(store, job, method.n, running) if isinstance(method, NLK) else {}
        warnings += tuple(found.warning(f"series {name!r}") for name, found in alone.items())
        with progress.step("Writing the reports"):
            facts = _facts(job, done, files, running)
            for name, found in alone.items():
                facts[f"identified by random known values, {name}, %"] = round(found.random, 2)
                facts[f"identified by chosen known values, {name}, %"] = round(found.chosen, 2)
            if given_away:
                facts["records whose carried value is given away"] = given_away
            release = LargeRelease(folder, source, method, guarantee, verdict, card, warnings, facts, given_away)
            _write_texts(place, release, seed, title, extra or {})
        shutil.rmtree(store.path)
    return release


# -- the steps, as seen from here -------------------------------------------------------------------------------------


def _looked(store: Store, job: Job, engine: Engine) -> Job:
    """The job with the bounds and moments of the data, which are fit to be protected."""
    method = job.chosen()
    job.save(store)
    _tried(store, job, engine)
    found = engine.map(steps.look, steps.tasks(store, job.chunks), "Looking through the records")
    problems = Problems("the input cannot be used")
    count = sum(int(one["count"]) for one in found)
    told = [problem for one in found for problem in one["problems"]][: 2 * MOST]
    for problem in told:
        problems.add(problem)
    if count > len(told):
        problems.add(f"... and {count - len(told)} more such cells")
    if count:
        problems.hint("options: drop or fill them before; rows are counted from 1 in each file")
    elif job.source.id is not None:
        _check_ids(store, job, problems)
    problems.raise_if_any()
    total: Array | None = None
    for at in range(job.chunks):
        moments = store.get(f"moments-{at}", whole=True)
        total = moments if total is None else steps.merged_moments(total, moments)
    assert total is not None
    _check_range(job, total, problems)
    problems.raise_if_any()
    decimals = None
    if job.settings.get("rounding") == "input":
        columns = zip(*(one["decimals"] for one in found), strict=True)
        decimals = tuple(None if None in column else max(column) for column in columns)
    job = msgspec.structs.replace(
        job,
        low=tuple(total[1].tolist()),
        high=tuple(total[2].tolist()),
        mean=tuple(total[3].tolist()),
        squares=tuple(total[4].tolist()),
        decimals=decimals,
    )
    method.check(sized(job)) if isinstance(method, IntervalMethod) else method.check_all(sized(job))
    sample = np.concatenate([store.get(f"sample-{at}", whole=True) for at in range(job.chunks)])
    if not len(sample):
        raise InputError(
            "no record is in the sample that parts are found from\n  options: tsveil.read and Method.protect for so few records"
        )
    with progress.step("Finding the parts"):
        for number, unit in enumerate(job.units):
            where = space(job, unit, method, np.ascontiguousarray(sample[:, unit.columns]))
            grown(where, job.n, unit.size).save(store, number)
    job.save(store)
    return job


def _tried(store: Store, job: Job, engine: Engine) -> None:
    """Refuse files whose parsing would end a worker, by name."""
    tasks = steps.tasks(store, -(-job.chunks // steps.TRIED))
    found = engine.map(steps.attempt, tasks, "Trying to parse the files")
    problems = Problems("the input cannot be used")
    told = {file: problem for one in found for file, problem in one["problems"].items()}
    for _, problem in sorted(told.items()):
        problems.add(problem)
    problems.hint(SHARED)
    problems.raise_if_any()


def _check_range(job: Job, moments: Array, problems: Problems) -> None:
    """Squares of what is refused here leave the range of numbers, and parts would be cut anywhere."""
    low, high = moments[1], moments[2]
    large = np.maximum(-low, high) > LARGEST
    small = ~large & (high > low) & (high / 2 - low / 2 < CLOSEST)
    for which, what in ((large, f"are beyond {LARGEST:g}"), (small, f"differ by less than {CLOSEST:g}")):
        columns = [name for name, bad in zip(job.source.columns, which.tolist(), strict=True) if bad]
        if columns:
            problems.add(f"the values of {some(columns)} {what}: their squares leave the range of numbers")
            problems.hint("options: multiply them by a power of ten first")


def _check_ids(store: Store, job: Job, problems: Problems) -> None:
    """An identifier names one record; told by marks of 64 bits, and looked up where two are equal."""
    marks = np.concatenate([store.get(f"ids-{at}", whole=True) for at in range(job.chunks)])
    order = np.argsort(marks, kind="stable")
    equal = np.flatnonzero(marks[order][1:] == marks[order][:-1])
    assert job.source.id is not None
    for at in equal[:MOST].tolist():
        rows = [int(order[at]), int(order[at + 1])]
        names = [job.source.frame(row, row + 1, [job.source.id]).item() for row in rows]
        where = some([job.source.place(row) for row in rows])
        if names[0] == names[1]:
            problems.add(f"column {job.source.id!r}: the id {names[0]!r} occurs more than once ({where})")
        elif isinstance(names[0], str) and as_seen(names[0]) == as_seen(names[1]):
            problems.add(
                f"column {job.source.id!r}: two ids look the same ({as_seen(names[0])!r}) but are written differently ({where})"
            )


def _linking(store: Store, job: Job) -> list[str]:
    """A warning for each carried column whose values are so rare that they identify records by themselves."""
    found = []
    for number, name in enumerate(job.source.confidential):
        marks = [store.get(f"carried-{number}-{at}", whole=True) for at in range(job.chunks)]
        alone = int((np.unique(np.concatenate(marks), return_counts=True)[1] == 1).sum())
        if alone > job.n * RARE:
            found.append(linking_warning(name, alone, job.n))
    return found


def _shuffle(store: Store, job: Job, seed: int) -> None:
    """Where each record is published, which record each published row is, and its name."""
    order = secret_order(seed, job.n)
    rows = np.empty_like(order)
    rows[order] = np.arange(job.n)
    store.put("records", order)
    store.put("rows", rows)
    store.put("names", secret_numbers(seed, job.n))


def _scattered(store: Store, job: Job, engine: Engine) -> list[list[tuple[int, int]]]:
    """For each unit the leaves of its parts."""
    method = job.chosen()
    leaves = [leaves_of(job, unit, method, Tree.load(store, number)) for number, unit in enumerate(job.units)]
    found = engine.map(
        steps.scatter, steps.tasks(store, job.chunks, leaves=max(leaves)), "Sorting the records into parts"
    )
    return [
        joined(np.sum([one["counts"][number] for one in found], axis=0)[:count], least_part(method, job.units[number]))
        for number, count in enumerate(leaves)
    ]


def _protected(
    store: Store, job: Job, parts: list[list[tuple[int, int]]], seed: int, engine: Engine
) -> list[tuple[Unit, list[Result]]]:
    """What was done with the parts of each unit."""
    todo = [
        {
            "store": store.handle,
            "unit": number,
            "at": at,
            "first": first,
            "last": last,
            "seed": str(sub_seed(seed, number, at)),
        }
        for number, runs in enumerate(parts)
        for at, (first, last) in enumerate(runs)
    ]
    found = engine.map(steps.protect, todo, "Protecting the parts")
    store.remove("chunk-")
    ends = np.cumsum([0, *(len(runs) for runs in parts)]).tolist()
    return [(unit, found[a:b]) for unit, (a, b) in zip(job.units, pairwise(ends), strict=True)]


def _assembled(store: Store, job: Job, done: list[tuple[Unit, list[Result]]], engine: Engine) -> list[Result]:
    """The published files, and what was measured in each."""
    name = job.source.id or free_name({*job.source.columns, *job.source.confidential})
    parts = [[one["groups"] for one in found] for _, found in done]
    todo = steps.tasks(store, job.files, parts=parts, id=name, whole=isinstance(job.chosen(), RankSwap))
    found = engine.map(steps.assemble, todo, "Writing and measuring")
    store.remove("part-")
    return found


def _identified(store: Store, job: Job, n: int, engine: Engine) -> dict[str, Identification]:
    """Who n known values single out: for each series, or for points of several dimensions."""
    source = job.source
    own = {role.name: [[at] for at in range(len(source.columns))[source.span(role.name)]] for role in source.series}
    if job.settings.get("grouping") == "joint":
        own = {
            "all series together": [[at for one in point for at in one] for point in zip(*own.values(), strict=True)]
        }
    ranges = [job.file_range(at) for at in range(job.files)]
    sizes, rows = [stop - start for start, stop in ranges], store.get("rows")
    return {name: singled_out(store, engine, sizes, points, n, rows=rows) for name, points in own.items()}


# -- what is told -----------------------------------------------------------------------------------------------------


def _facts(job: Job, done: list[tuple[Unit, list[Result]]], files: list[Result], engine: Engine) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "engine": engine.name,
        "input files": len(job.source.files),
        "records read at a time": job.chunk,
        "published files": job.files,
    }
    if isinstance(method := job.chosen(), NLK):
        facts["heuristic"] = "peel" if method.heuristic == "auto" else method.heuristic
    if "sse" in files[0]:
        facts["sum of squared errors"] = float(np.sum([one["sse"] for one in files]))
    for unit, found in done:
        own: dict[str, Any] = {
            "parts": len(found),
            "records in the smallest part": min(one["records"] for one in found),
        }
        own["records in the largest part"] = max(one["records"] for one in found)
        if groups := sum(one["groups"] for one in found):
            own |= {
                "groups": groups,
                "smallest group": min(one["smallest"] for one in found),
                "largest group": max(one["largest"] for one in found),
            }
        for name in found[0]["counts"]:
            own[name] = sum(one["counts"][name] for one in found)
        facts[unit.name] = own
    return facts


def _write_texts(place: Path, release: LargeRelease, seed: int, title: str, extra: Mapping[str, str]) -> None:
    source, method = release.source, release.method
    blocks = [role.block() for role in source.blocks]
    published = source.n - int(release.card.to_dict().get("suppressed", 0))
    if isinstance(method, IntervalMethod):
        letters = letters_of(method, len(source.columns))
        about = interval_readme(source, published, method, release.guarantee, release.verdict, letters)
    else:
        about = readme("data/", published, blocks, source.confidential, method, release.guarantee, release.verdict)
    (place / "published" / "README.md").write_text(about, encoding="utf-8")
    told = {
        "method": method.name,
        "settings": method.settings(),
        "guarantee": release.verdict.guarantee,
        "verdict": release.verdict.status,
        "witness": release.verdict.witness,
        "seed": str(seed),
        "warnings": list(release.warnings),
        "facts": dict(release.facts),
        "scores": release.card.to_dict(),
        "attribute_disclosure": dict(release.given_away),
        "measured": dict(release.card.options),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if isinstance(release.card, IntervalCard):
        told["homogeneous"] = {
            name: {"classes": classes, "records": records}
            for name, (classes, records) in release.card.homogeneous.items()
        }
    (place / MARKER).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    told_in_both: dict[str, Any] = {
        "method": method, "guarantee": release.guarantee, "verdict": release.verdict, "card": release.card, "n": published,
        "blocks": blocks, "confidential": source.confidential, "title": title, "files": release.facts["published files"],
    }  # fmt: skip
    origin = f"{Path(source.files[0]).parent.name}, {len(source.files)} file{'s' * (len(source.files) > 1)}"
    owners: dict[str, Any] = {"source": origin, "warnings": release.warnings, "facts": release.facts}
    pages = {
        "published/report.html": large_report(public=True, **told_in_both),
        "private/report.html": large_report(public=False, **told_in_both, **owners),
    }
    for name, text in (pages | dict(extra)).items():
        (place / name).write_text(text, encoding="utf-8")
