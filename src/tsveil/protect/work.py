"""Protecting a data set, step by step: the same steps for one chunk in memory and for many chunks on any engine.

    look       every chunk: least and greatest values, marks of carried values, records for the sample
    scale      every chunk, twice: the sums behind the scales that the method asks for
    (here)     the units, their cuts from the sample, the secret order of the published rows
    scatter    every chunk: its records sorted by part, where a unit has several
    protect    every part: protected, in the order of the published rows

In the store, `read-3` has the values of chunk 3, columns by rows, and `others-3` its identifiers and confidential columns; `part-1-2` is
what part 2 of unit 1 becomes. What a step writes depends on its task alone, so any task can be done again at any time. What the process that runs
the steps holds itself is the sample and a few numbers per record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tsveil.core import progress
from tsveil.core.errors import InputError
from tsveil.core.places import check_importable, place_of
from tsveil.core.randomness import derived_seed, generator, secret_numbers, secret_order, sub_seed
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data import pieces
from tsveil.data.categories import Categories
from tsveil.data.dataset import Dataset, person_numbers
from tsveil.data.pieces import Contents, file_rows
from tsveil.data.source import Source
from tsveil.data.store import Memory, Store
from tsveil.data.write import words_as_text
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.here import Here
from tsveil.protect.base import (
    Method,
    Part,
    Protected,
    ProtectionSummary,
    fitting_decimals,
    linking_warnings,
    merged_facts,
    round_columns,
)
from tsveil.protect.continuing import Earlier
from tsveil.protect.job import Job, PlainSurvey, at_store, marks, tasks
from tsveil.protect.over_time import Past, begin, check, conclude, groups_of, recorded_units, settle
from tsveil.protect.partition import Tree, Unit, join_leaves, sample_mask
from tsveil.protect.reading import read_chunks
from tsveil.protect.survey import Scale, Survey, of_columns, of_squares, with_deviations, with_means

#: values that are read at a time, and the fewest records: wide records come in pieces that are worth a task
CHUNK_VALUES, CHUNK_ROWS = 2**22, 4096
#: records, and values, of the sample that the cuts are found from
SAMPLE_ROWS, SAMPLE_VALUES = 2**17, 2**27
#: the number of the random stream that chooses the records of persons who have too many; units have the numbers from 0 on
LEFT_OUT = 2**31


def new_job(source: Source, method: Method, chunk_ends: Sequence[int], **more: Any) -> Job:
    """The job before anything was looked at; refused if the method does not protect labels, and there are some."""
    if any(role.categories is not None for role in source.blocks):
        method.check_kinds([role.block() for role in source.blocks])
    width = len(source.columns)
    return Job(
        source=source,
        method=method.name,
        settings=method.settings(),
        maker=place_of(method),
        chunk_ends=tuple(chunk_ends),
        file_rows=file_rows(source.n, width),
        units=units_of(method, source),
        sample=max(2, min(SAMPLE_ROWS, SAMPLE_VALUES // width)),
        out_width=method.width(width),
        **more,
    )


def chunk_rows(asked: int | None, columns: int) -> int:
    """The records of a chunk, unless somebody asks for another number.

    Examples
    --------
    >>> chunk_rows(None, 24), chunk_rows(None, 8760), chunk_rows(500, 24)
    (174762, 4096, 500)
    """
    return asked or max(CHUNK_ROWS, CHUNK_VALUES // columns)


def units_of(method: Method, source: Source) -> tuple[Unit, ...]:
    """What the method protects by itself; nothing is known of the values yet."""
    unknown = np.full(len(source.columns), np.nan)
    blocks = tuple(role.block() for role in source.blocks)
    return method.units(Survey(source.n, blocks, unknown, unknown, source.confidential))


def protect(store: Store, job: Job, seed: int, engine: Engine, past: Past | None = None) -> ProtectionSummary:
    """Protect the records of all chunks, which are in the store; with a past they continue earlier releases."""
    method = job.make_method()
    if past is not None:
        # The same seed makes other identifiers and another order in each release.
        seed = derived_seed(seed, f"release {past.ledger.facts.number + 1}")
    looks = engine.map(look, tasks(store, job.chunks), "Looking through the records")
    job = _add_survey(store, job, looks, engine)
    survey = job.survey()
    with progress.step("Finding the parts"):
        leaves = _cut(store, job, method)
        order = secret_order(seed, job.n)
        rows = np.empty_like(order)
        rows[order] = np.arange(job.n)
        store.put("records", order)
        store.put("rows", rows)
        store.put("names", secret_numbers(seed, job.n))
        left_out = _left_out(store, job, method, seed)
        persons = begin(store, job, past) if method.continues else None
    runs = _scatter_records(store, job, method, leaves, engine)
    todo = [
        {"store": store.handle, "unit": number, "at": at, "leaves": leaves[number], "first": first, "last": last, "seed": str(sub_seed(seed, number, at))}
        for number, parts in enumerate(runs)
        for at, (first, last) in enumerate(parts)
    ]  # fmt: skip
    done = _in_runs(engine.map(protect_part, todo, "Protecting the parts"), runs)
    remarks: list[str] = []
    if persons is not None:
        recorded = recorded_units(job.units, survey.blocks)
        groups = [groups_of(store, job, number, [int(one["groups"]) for one in done[number]]) for number in recorded]
        groups_of_records = np.stack(groups, axis=1) if groups else np.empty((job.n, 0), dtype=np.int64)
        settled = settle(store, job, method, persons, past, groups_of_records)
        if store.has("withheld"):
            again = engine.map(protect_part, [{**task, "settled": True} for task in todo], "Leaving records out")
            done = _in_runs(again, runs)
        remarks = conclude(store, job, method, persons, past, settled, seed)
        store.remove("old-")
        store.remove("histories-")
        store.remove("leaves-")
    store.remove("chunk-")
    homes = dict.fromkeys(unit.home for unit in job.units)
    facts: dict[str, dict[str, Any]] = {}
    for home in homes:
        own = [parts for unit, parts in zip(job.units, done, strict=True) if unit.home == home]
        cut = {"parts": max(map(len, own))} if max(map(len, own)) > 1 else {}
        facts[home] = (
            merged_facts([one["facts"] for parts in own for one in parts]) | cut | method.constants(survey, home)
        )
    of_parts = [warning for parts in done for one in parts for warning in one["warnings"]]
    if left_out:
        of_parts.append(
            f"{left_out} records were left out by chance: no person has more than max_records = {method.most_records()}"
        )
    warnings = dict.fromkeys([*remarks, *of_parts, *method.remarks(survey, facts), *linking_warnings(survey)])
    withheld = int(np.asarray(store.get("withheld")).sum()) if store.has("withheld") else 0
    store.put_plain("contents", _contents(job, method, done, left_out, withheld))
    store.remove("read-")
    return ProtectionSummary({home: own for home, own in facts.items() if own}, tuple(warnings))


def _in_runs(found: Sequence[Result], runs: Sequence[Sequence[tuple[int, int]]]) -> list[list[Result]]:
    """What was found of all parts, for each unit."""
    every = iter(found)
    return [[next(every) for _ in parts] for parts in runs]


def _contents(job: Job, method: Method, done: Sequence[Sequence[Result]], left_out: int, withheld: int) -> Contents:
    """What lies in the store when all parts are protected; `withheld` records are left out of all units."""
    units = tuple(
        pieces.Unit(unit.name, unit.columns, tuple(int(one["groups"]) for one in parts))
        for unit, parts in zip(job.units, done, strict=True)
    )
    whole, columns = {*job.source.integers, *job.source.labels}, job.source.columns
    for unit, parts in zip(job.units, done, strict=True):
        for at, place in enumerate(unit.columns):
            if not all(one["whole"][at] for one in parts):
                whole.discard(columns[place])
    kept = tuple(name for name in columns if name in whole)
    suppressed = sum(int(one["suppressed"]) for parts in done for one in parts)
    if withheld and len(units) > 1 and suppressed == withheld * len(units):
        suppressed = withheld
    elif suppressed and len(units) > 1:
        raise InputError(
            f"{suppressed} records find no group, and leaving them out of one block would leave "
            "groups of another with too few persons\n"
            '  options: grouping = "joint", max_records (fewer records of each person), or share = "told"'
        )
    source = method.published_source(job.source)
    empty = tuple(name for name, categories in job.source.labels.items() if categories.empty)
    return Contents(source, units, job.chunk_ends, job.file_rows, job.out_width, kept, suppressed + left_out, empty)


# -- look and scale ---------------------------------------------------------------------------------------------------


def look(task: Task) -> Result:
    """Bounds of one chunk, its share of the sample, and marks of what it carries."""
    store, job, at = at_store(task)
    start, stop = job.chunk_range(at)
    columns = store.get(f"read-{at}")
    others = store.get_frame(f"others-{at}")
    for number, name in enumerate(job.source.confidential):
        store.put(f"marks-{number}-{at}", marks(others[name]))
    if any(unit.size is not None for unit in job.units):
        store.put(f"sample-{at}", np.ascontiguousarray(columns[:, sample_mask(start, stop, job.n, job.sample)].T))
    rounding = job.settings.get("rounding") == "input"
    columns = np.asarray(columns)
    found: Result = {"decimals": [], "present": []}
    if job.source.masked:
        there = ~np.isnan(columns)
        found |= {name: each.tolist() for name, each in bounds_beside_gaps(columns.T).items()}
        found["present"] = there.sum(axis=1).tolist()
    else:
        found |= {"low": columns.min(axis=1).tolist(), "high": columns.max(axis=1).tolist()}
    if rounding:
        found["decimals"] = [fitting_decimals(column[~np.isnan(column)]) for column in columns]
    counts = label_counts(job.source.labels, job.source.columns, columns)
    found["uses"] = {name: uses.tolist() for name, uses in counts.items()}
    return found


def bounds_beside_gaps(values: Array) -> dict[str, Array]:
    """The least and the greatest value of each column; infinite where it has none.

    Examples
    --------
    >>> bounds_beside_gaps(np.array([[1.0, np.nan], [3.0, np.nan]]))
    {'low': array([ 1., inf]), 'high': array([  3., -inf])}
    """
    return {
        "low": np.fmin.reduce(np.where(np.isnan(values), np.inf, values), axis=0, initial=np.inf),
        "high": np.fmax.reduce(np.where(np.isnan(values), -np.inf, values), axis=0, initial=-np.inf),
    }


def label_counts(labels: Mapping[str, Categories], names: Sequence[str], columns: AnyArray) -> dict[str, Indices]:
    """How often each label occurs in each column of labels; `columns` holds codes, one row for each of the `names`."""
    return {
        name: np.bincount(
            np.nan_to_num(np.asarray(columns[at])).astype(np.int64),
            minlength=labels[name].empty_code + 1 if labels[name].empty else labels[name].leaves,
        )
        for at, name in enumerate(names)
        if name in labels
    }


def _with_bounds(survey: Survey, low: Array, high: Array, present: Indices | None) -> Survey:
    """The survey with the bounds of all columns; a column without any value has the bounds 0 and 0."""
    if present is not None:
        low, high = np.where(present > 0, low, 0.0), np.where(present > 0, high, 0.0)
    return replace(survey, low=low, high=high, present=present)


def survey_of(data: Dataset) -> Survey:
    """What is known of data in memory before anything is scaled."""
    low, high, present = data.values.min(axis=0), data.values.max(axis=0), None
    if data.masked:
        low, high = bounds_beside_gaps(data.values).values()
        present = (~np.isnan(data.values)).sum(axis=0)
    persons = int(data.persons.max()) + 1 if data.person else None
    uses = label_counts(data.labels, data.columns, data.values.T)
    survey = Survey(data.n, data.blocks, low, high, person=data.person, persons=persons, uses=uses)
    survey = _with_bounds(survey, low, high, present)
    return _with_confidential_counts(survey, {name: marks(data.others[name]) for name in data.confidential})


def _with_confidential_counts(survey: Survey, carried: Mapping[str, AnyArray]) -> Survey:
    """The survey with what the marks of confidential columns say: different values, and records with a value of their own."""
    counts = {name: np.unique(every, return_counts=True)[1] for name, every in carried.items()}
    return replace(
        survey,
        confidential=tuple(counts),
        different={name: len(each) for name, each in counts.items()},
        alone={name: int((each == 1).sum()) for name, each in counts.items()},
    )


def scale(task: Task) -> Result:
    """The sums of one chunk behind the scales, in the second or third pass."""
    store, job, at = at_store(task)
    survey = job.survey()
    scales = wanted_scales(job.make_method(), survey)
    sums = of_squares if task["squares"] else of_columns
    found = sums(scales, survey, np.asarray(store.get(f"read-{at}")).T)
    return {"sums": [[half.tolist() for half in pair] for pair in found]}


def wanted_scales(method: Method, survey: Survey) -> tuple[Scale, ...]:
    """The scales that the method asks for; and of records with gaps those of all columns, whose means stand for gaps where parts are cut."""
    own = method.scales(survey)
    more: list[Scale] = [(block.name, "component") for block in survey.blocks] if survey.gaps else []
    return tuple(dict.fromkeys([*own, *more]))


def _add_survey(store: Store, job: Job, looks: Sequence[Result], engine: Engine) -> Job:
    """The job with the figures of the whole data set, which the method accepts."""
    method = job.make_method()
    carried = {
        name: np.concatenate([store.get(f"marks-{number}-{at}", whole=True) for at in range(job.chunks)])
        for number, name in enumerate(job.source.confidential)
    }
    store.remove("marks-")
    low, high = np.min([one["low"] for one in looks], axis=0), np.max([one["high"] for one in looks], axis=0)
    survey = Survey(
        job.n,
        tuple(role.block() for role in job.source.blocks),
        low,
        high,
        person=job.source.person,
        persons=_persons(store, job),
        uses={name: np.sum([one["uses"][name] for one in looks], axis=0) for name in looks[0]["uses"]},
    )
    present = np.sum([one["present"] for one in looks], axis=0).astype(np.int64) if job.source.masked else None
    survey = _with_confidential_counts(_with_bounds(survey, low, high, present), carried)
    method.check_persons(survey)
    method.check_gaps(survey)
    method.check_all(survey)
    decimals = None
    if job.settings.get("rounding") == "input":
        columns = zip(*(one["decimals"] for one in looks), strict=True)
        decimals = tuple(min(set.intersection(*map(set, column)), default=None) for column in columns)
    job = msgspec.structs.replace(job, decimals=decimals)
    if scales := wanted_scales(method, survey):
        for squares, merge in ((False, with_means), (True, with_deviations)):
            msgspec.structs.replace(job, figures=PlainSurvey.of(survey)).save(store)
            found = engine.map(scale, tasks(store, job.chunks, squares=squares), "Finding the scales")
            sums = [
                tuple(np.sum([one["sums"][number][half] for one in found], axis=0) for half in (0, 1))
                for number in range(len(scales))
            ]
            survey = merge(survey, scales, sums)
    job = msgspec.structs.replace(job, figures=PlainSurvey.of(survey))
    job.save(store)
    return job


def _persons(store: Store, job: Job) -> int | None:
    """Number the persons of all records, and keep the numbers; gives how many there are, if they are declared."""
    if not job.source.person:
        return None
    own = list(job.source.person)
    names = pl.concat([store.get_frame(f"others-{at}").select(own) for at in range(job.chunks)])
    numbers = person_numbers(names, own)
    store.put("persons", numbers)
    return int(numbers.max()) + 1


def _left_out(store: Store, job: Job, method: Method, seed: int) -> int:
    """Choose the records of each person that are used, where the method limits them; gives the number of the others."""
    most = method.most_records()
    if most is None or not job.source.person:
        return 0
    persons = np.asarray(store.get("persons"))
    # Persons in their order, and the records of each person in a random order: the first `most` of each person are used.
    order = np.lexsort((generator(sub_seed(seed, LEFT_OUT, 0)).random(job.n), persons))
    starts = np.searchsorted(persons[order], np.arange(int(persons.max()) + 1))
    used = np.empty(job.n, dtype=np.bool_)
    used[order] = np.arange(job.n) - starts[persons[order]] < most
    store.put("used", used)
    return int(job.n - used.sum())


# -- parts ------------------------------------------------------------------------------------------------------------


def _cut(store: Store, job: Job, method: Method) -> list[int]:
    """The number of leaves of each unit; the cuts are kept in the store."""
    survey = job.survey()
    leaves = []
    sample: Array | None = None
    for number, unit in enumerate(job.units):
        if unit.size is None:
            leaves.append(1)
            continue
        if sample is None:
            sample = np.concatenate([store.get(f"sample-{at}", whole=True) for at in range(job.chunks)])
        tree = method.tree(np.ascontiguousarray(sample[:, unit.columns]), unit, survey)
        tree.save(store, number)
        leaves.append(method.leaves(unit, survey, tree))
    store.remove("sample-")
    return leaves


def _scatter_records(
    store: Store, job: Job, method: Method, leaves: Sequence[int], engine: Engine
) -> list[list[tuple[int, int]]]:
    """For each unit the leaves of its parts."""
    cut = [number for number, count in enumerate(leaves) if count > 1]
    runs = [[(0, 1)] for _ in leaves]
    if cut:
        for number in cut:
            if store.has(f"old-{number}"):
                _keep_together(store, job, number, engine)
        todo = tasks(store, job.chunks, units=cut, leaves=[leaves[number] for number in cut])
        found = engine.map(scatter, todo, "Sorting the records into parts")
        for place, number in enumerate(cut):
            counts = np.sum([one["counts"][place] for one in found], axis=0)
            runs[number] = join_leaves(counts, method.least(job.units[number]))
    return runs


def _keep_together(store: Store, job: Job, number: int, engine: Engine) -> None:
    """Send the records of each old group to the leaf of the first of them."""
    engine.map(find_leaves, tasks(store, job.chunks, unit=number), "Keeping groups together")
    leaf = np.concatenate([store.get(f"leaf-{number}-{at}", whole=True) for at in range(job.chunks)])
    old = np.asarray(store.get(f"old-{number}"))
    member = np.flatnonzero(old >= 0)
    _, first, group = np.unique(old[member], return_index=True, return_inverse=True)
    leaf[member] = leaf[member][first][group]
    store.put(f"leaves-{number}", leaf)
    store.remove(f"leaf-{number}-")


def find_leaves(task: Task) -> Result:
    """The leaf of each record of one chunk, by itself."""
    store, job, at = at_store(task)
    number, (start, stop) = int(task["unit"]), job.chunk_range(at)
    unit = job.units[number]
    values = np.ascontiguousarray(store.get(f"read-{at}")[list(unit.columns)].T)
    records = np.arange(start, stop)
    leaf = job.make_method().leaf(values, records, unit, job.survey(), Tree.load(store, number))
    store.put(f"leaf-{number}-{at}", leaf)
    return {}


def scatter(task: Task) -> Result:
    """Sort one chunk by part, for every unit that has several."""
    store, job, at = at_store(task)
    start, stop = job.chunk_range(at)
    method, survey, columns = job.make_method(), job.survey(), store.get(f"read-{at}")
    counts = []
    for number, leaves in zip(task["units"], task["leaves"], strict=True):
        unit = job.units[number]
        values = np.ascontiguousarray(columns[list(unit.columns)].T)
        if store.has(f"leaves-{number}"):
            leaf = np.asarray(store.get(f"leaves-{number}")[start:stop])
        else:
            leaf = method.leaf(values, np.arange(start, stop), unit, survey, Tree.load(store, number))
        # A stable sort: the records of a part stay in the order of the file.
        order = np.argsort(leaf, kind="stable")
        ends = np.searchsorted(leaf[order], np.arange(leaves + 1))
        store.put(f"chunk-{number}-{at}", values[order])
        store.put(f"chunk-{number}-{at}.records", start + order)
        store.put(f"chunk-{number}-{at}.ends", ends)
        usable = method.usable(values, unit, survey)
        counts.append(np.bincount(leaf[usable], minlength=leaves).tolist())
    return {"counts": counts}


def _gather(store: Store, job: Job, number: int, task: Task) -> tuple[Array, Indices]:
    """Values and record numbers of some leaves of a unit, in the order of the records."""
    first, last = int(task["first"]), int(task["last"])
    if task["leaves"] == 1:
        columns = list(job.units[number].columns)
        found = [np.asarray(store.get(f"read-{at}")[columns]).T for at in range(job.chunks)]
        return np.ascontiguousarray(np.concatenate(found) if len(found) > 1 else found[0]), np.arange(job.n)
    values, records = [], []
    for at in range(job.chunks):
        ends = store.get(f"chunk-{number}-{at}.ends")
        low, high = int(ends[first]), int(ends[last])
        if low < high:
            values.append(np.array(store.get(f"chunk-{number}-{at}")[low:high]))
            records.append(np.array(store.get(f"chunk-{number}-{at}.records")[low:high]))
    every = np.concatenate(records)
    # Several leaves of one part lie one after the other in each chunk.
    order = np.argsort(every, kind="stable")
    return np.ascontiguousarray(np.concatenate(values)[order]), every[order]


def protect_part(task: Task) -> Result:
    """Protect one part of one unit."""
    store, job, at = at_store(task)
    number = int(task["unit"])
    method, unit = job.make_method(), job.units[number]
    values, records = _gather(store, job, number, task)
    whole = task["leaves"] == 1
    rows = np.asarray(store.get("rows")) if whole else np.asarray(store.get("rows"))[records]
    carried = _confidential_columns(store, job)[records] if method.looks_at_carried else pl.DataFrame()
    persons = np.asarray(store.get("persons"))[records] if job.source.person else records
    order = np.asarray(store.get("records")) if whole else np.argsort(rows)
    stem = f"part-{number}-{at}"
    earlier = _earlier(store, number, stem, records, order, settled=bool(task.get("settled")))
    part = Part(values, unit, job.survey(), records, rows, generator(int(task["seed"])), persons, carried, earlier)
    used = np.asarray(store.get("used"))[records] if method.most_records() and job.source.person else None
    done = method.protect_part(part) if used is None else _protect_used_records(method, part, used)
    out = done.values
    if job.decimals is not None:
        out = round_columns(out, [job.decimals[place] for place in unit.columns])
    # Adding zero turns -0.0 into 0.0: the two are equal numbers, but would be published as different bits.
    out = out + 0.0
    store.put(stem, out[order])
    store.put(f"{stem}.known", values[order])
    store.put(f"{stem}.rows", rows[order])
    groups = np.full(len(rows), -1, dtype=np.int64) if done.groups is None else done.groups
    store.put(f"{stem}.groups", groups[order])
    # Of an envelope both bounds of a column; what stands beside them in a row is no column of the input.
    bounds = out[:, : len(unit.columns) * (2 if out.shape[1] > len(unit.columns) else 1)]
    empty = np.isnan(bounds)
    suppressed = empty.all(axis=1) if job.source.masked else empty.any(axis=1)
    rounded_off = (
        ((bounds == np.rint(bounds)) | empty)[~suppressed].all(axis=0).reshape(-1, len(unit.columns)).all(axis=0)
    )
    for at, place in enumerate(unit.columns):
        if (own := job.source.labels.get(job.source.columns[place])) is not None:
            rounded_off[at] = bool((bounds[~suppressed, at] < own.leaves).all())
    return {
        "suppressed": int((suppressed if used is None else suppressed & used).sum()),
        "groups": int(groups.max(initial=-1)) + 1,
        "whole": rounded_off.tolist(),
        "facts": done.facts,
        "warnings": list(done.warnings),
    }


def _earlier(
    store: Store, number: int, stem: str, records: Indices, order: Indices, *, settled: bool
) -> Earlier | None:
    """What a part has to go by where a release continues another one; `settled`: its groups are known, and some records are left out."""
    none = np.full(len(records), -1, dtype=np.int64)
    if settled:
        groups = none.copy()
        groups[order] = store.get(f"{stem}.groups", whole=True)
        return Earlier(none, settled=np.where(np.asarray(store.get("withheld"))[records], -1, groups))
    if not store.has(f"old-{number}"):
        return None
    histories = np.asarray(store.get(f"histories-{number}"))[records] if store.has(f"histories-{number}") else None
    return Earlier(np.asarray(store.get(f"old-{number}"))[records], histories)


def _protect_used_records(method: Method, part: Part, used: Mask) -> Protected:
    """Protect some records of a part; the others are suppressed."""
    rows = np.flatnonzero(used)
    some = replace(
        part, values=part.values[rows], records=part.records[rows], rows=part.rows[rows], persons=part.persons[rows],
        carried=part.carried[rows.tolist()] if part.carried.width else part.carried,
        earlier=None if part.earlier is None else part.earlier.take(rows),
    )  # fmt: skip
    done = method.protect_part(some)
    values = np.full((len(used), done.values.shape[1]), np.nan)
    values[rows] = done.values
    groups = np.full(len(used), -1, dtype=np.int64)
    if done.groups is not None:
        groups[rows] = done.groups
    return replace(done, values=values, groups=groups)


def _confidential_columns(store: Store, job: Job) -> pl.DataFrame:
    """The confidential columns of all records."""
    names = list(job.source.confidential)
    return pl.concat([store.get_frame(f"others-{at}").select(names) for at in range(job.chunks)])


# -- in memory, and in chunks -----------------------------------------------------------------------------------------


def protect_in_memory(
    method: Method, data: Dataset, seed: int, past: Past | None = None
) -> tuple[Memory, ProtectionSummary]:
    """One chunk, a store in memory, and tasks that are done here."""
    store = Memory()
    job = new_job(Source.of(data), method, [data.n])
    check(method, job.source, job.units, past)
    job.save(store)
    store.put("read-0", data.values.T)
    store.put_frame("others-0", data.others)
    return store, protect(store, job, seed, Here(), past)


def protect_in_chunks(
    method: Method,
    data: Dataset,
    seed: int,
    store: Store,
    engine: Engine,
    chunk: int | None = None,
    past: Past | None = None,
) -> ProtectionSummary:
    """Work in chunks of `chunk` records, with a store that all workers reach and tasks on an engine."""
    if engine.name != "local":
        check_importable(method, engine.name)
    source = Source.of(data) if data.source is None else data.source
    size = chunk_rows(chunk, len(source.columns))
    job = new_job(source, method, [*range(size, source.n, size), source.n])
    check(method, source, job.units, past)
    job.save(store)
    if data.source is not None:
        read_chunks(store, job, engine)
    else:
        for at in range(job.chunks):
            start, stop = job.chunk_range(at)
            store.put(f"read-{at}", np.ascontiguousarray(data.values[start:stop].T))
            store.put_frame(f"others-{at}", words_as_text(data.others[start:stop]))
    return protect(store, job, seed, engine, past)
