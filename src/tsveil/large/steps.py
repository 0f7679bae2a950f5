"""The steps of a run, each a function of one small task; `protect` puts them in order.

    attempt    some chunks of records: can they be parsed at all, tried in a process that may end
    look       one chunk of records: are the values fit, their bounds and moments, records for the sample
    scatter    one chunk: its records sorted by the part that they belong to, for every unit
    protect    one part of one unit, gathered from all chunks: protected, sorted by the published file that each record goes to
    assemble   one published file, gathered from all parts: written, and measured against its originals

Between the steps lie files in the store. A step's files depend on its task alone and appear complete or not at all, so any task can be
done again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Array, Indices
from tsveil.attack.kp import Piece
from tsveil.data._trial import parsing_problems
from tsveil.data.dataset import as_seen
from tsveil.data.store import Store, opened, put_file
from tsveil.data.write import words_as_text
from tsveil.engine.base import Result, Task
from tsveil.errors import EngineError
from tsveil.large.intervals import table_of
from tsveil.large.job import Job, load
from tsveil.large.parts import Tree, sampled
from tsveil.large.source import EXACT, MOST, as_values, unreadable
from tsveil.large.ways import leaf_of, protected
from tsveil.protect.base import decimals_of
from tsveil.randomness import secret_name

#: the column with a record's published row in the private files
ROW = "published_row"


def at_store(task: Task) -> tuple[Store, Job, int]:
    """The store, the job and the number of a task."""
    store = opened(task["store"])
    return store, load(store), int(task["at"])


# -- attempt ----------------------------------------------------------------------------------------------------------

#: chunks that are tried in one process, whose start takes as long as parsing a few
TRIED = 16


def attempt(task: Task) -> Result:
    """Parse what other steps will parse, where it does no harm; a problem for each file that cannot be parsed."""
    _, job, at = at_store(task)
    columns = read_columns(job)
    chunks = range(at * TRIED, min(job.chunks, (at + 1) * TRIED))
    pieces = [
        (file, columns, first, count)
        for chunk in chunks
        for file, first, count in job.source.pieces(*job.chunk_range(chunk))
    ]
    problems = zip(pieces, parsing_problems(pieces), strict=True)
    return {"problems": {file: unreadable(file, problem) for (file, *_), problem in problems if problem}}


def read_columns(job: Job) -> list[str]:
    """All columns that are read."""
    source = job.source
    return [*source.columns, *([source.id] if source.id else []), *source.confidential]


# -- look -------------------------------------------------------------------------------------------------------------


def look(task: Task) -> Result:
    """Check one chunk, and write its moments, its share of the sample and a mark for each identifier."""
    store, job, at = at_store(task)
    source = job.source
    start, stop = job.chunk_range(at)
    frame = source.frame(start, stop, read_columns(job))
    numbers = frame.select(source.columns)
    values = as_values(numbers)
    problems, count = _unfit(job, values, numbers, start)
    if source.id is not None:
        ids = frame[source.id]
        if ids.null_count():
            row = int(ids.is_null().arg_max() or 0)
            problems.append(f"{source.place(start + row)}, column {source.id!r}: the id is missing")
            count += ids.null_count()
        store.put(f"ids-{at}", _marks(_as_seen(ids)))
    for number, name in enumerate(source.confidential):
        store.put(f"carried-{number}-{at}", _marks(frame[name]))
    if count:
        return {"problems": problems, "count": count}
    store.put(f"moments-{at}", moments(values))
    store.put(f"sample-{at}", values[sampled(start, stop, job.n, job.sample)])
    decimals = [decimals_of(column) for column in values.T] if job.settings.get("rounding") == "input" else []
    return {"problems": [], "count": 0, "decimals": decimals}


def _as_seen(ids: pl.Series) -> pl.Series:
    """Identifiers as a reader sees them: those that cannot be told apart are equal."""
    if ids.dtype != pl.String:
        return ids
    odd = ids.str.contains(r"[^\x21-\x7e]").fill_null(False)
    return ids.zip_with(~odd, ids.map_elements(as_seen, return_dtype=pl.String)) if odd.any() else ids


def _marks(column: pl.Series) -> AnyArray:
    """A mark of 64 bits for each value, equal for equal ones."""
    return column.cast(pl.String).hash(seed=0).to_numpy()


def _unfit(job: Job, values: Array, numbers: pl.DataFrame, start: int) -> tuple[list[str], int]:
    """What is wrong with the cells of a chunk: the first few in words, and how many."""
    names = job.source.columns
    problems: list[str] = []
    bad = ~np.isfinite(values)
    count = int(bad.sum())
    for row, column in np.argwhere(bad)[:MOST].tolist() if count else []:
        what = "missing" if np.isnan(values[row, column]) else "infinite"
        problems.append(f"{job.source.place(start + row)}, column {names[column]!r}: the value is {what}")
    for name, kind in numbers.schema.items():
        if kind.is_integer():
            large = np.abs(values[:, names.index(name)]) > EXACT
            if large.any():
                row = int(large.argmax())
                problems.append(
                    f"{job.source.place(start + row)}, column {name!r}: the number is beyond 2^53 and would not be kept exactly"
                )
                count += int(large.sum())
    return problems, count


def moments(values: Array) -> Array:
    """Count, lowest, highest, mean and sum of squared differences to the mean of each column, a row each."""
    low, high = values.min(axis=0), values.max(axis=0)
    from_low = values - low
    mean = from_low.sum(axis=0) / len(values)
    from_low -= mean
    with np.errstate(over="ignore"):  # such values are refused
        squares = np.square(from_low, out=from_low).sum(axis=0)
    return np.stack([np.full(len(low), float(len(values))), low, high, low + mean, squares])


def merged_moments(a: Array, b: Array) -> Array:
    """The moments of two sets of records together (Chan, Golub and LeVeque 1983).

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [6.0], [11.0]])
    >>> np.allclose(merged_moments(moments(x[:1]), moments(x[1:])), moments(x))
    True
    """
    n = a[0] + b[0]
    apart = b[3] - a[3]
    with np.errstate(over="ignore"):  # such values are refused
        squares = a[4] + b[4] + apart**2 * (a[0] * b[0] / n)
    return np.stack([n, np.minimum(a[1], b[1]), np.maximum(a[2], b[2]), a[3] + apart * (b[0] / n), squares])


# -- scatter ----------------------------------------------------------------------------------------------------------


def scatter(task: Task) -> Result:
    """Sort one chunk by part, for every unit, and its carried columns by published row."""
    store, job, at = at_store(task)
    start, stop = job.chunk_range(at)
    source = job.source
    others = [*([source.id] if source.id else []), *source.confidential]
    frame = source.frame(start, stop, [*source.columns, *others])
    values = as_values(frame.select(source.columns))
    chosen = job.chosen()
    flat, records, ends = [], [], []
    for number, unit in enumerate(job.units):
        part = values[:, unit.columns]
        leaf = leaf_of(job, unit, chosen, Tree.load(store, number), np.ascontiguousarray(part))
        # A stable sort: the records of a part stay in the order of the file.
        order = np.argsort(leaf, kind="stable")
        flat.append(part[order].ravel())
        records.append(start + order)
        ends.append(np.searchsorted(leaf[order], np.arange(int(task["leaves"]) + 1)))
    store.put(f"chunk-{at}", np.concatenate(flat))
    store.put(f"chunk-{at}.rows", np.array(records))
    store.put(f"chunk-{at}.ends", np.array(ends))
    if others:
        rows = np.asarray(store.get("rows")[start:stop])
        order = np.argsort(rows)
        carried = words_as_text(frame.select(others))[order].with_columns(pl.Series(ROW, rows[order]))
        store.put_frame(f"carried-{at}", carried)
        store.put(f"carried-{at}.ends", _by_file(job, rows[order]))
    return {"counts": [np.diff(each).tolist() for each in ends]}


def _by_file(job: Job, rows: Indices) -> Indices:
    """Where the records of each published file begin among sorted published rows, and the end."""
    return np.searchsorted(rows, np.arange(job.files + 1) * job.file_rows).astype(np.int64)


# -- protect ----------------------------------------------------------------------------------------------------------


def gathered(store: Store, job: Job, number: int, first: int, last: int) -> tuple[Array, Indices]:
    """Values and record numbers of a unit's leaves first..last, in the order of the records."""
    widths = [len(unit.columns) for unit in job.units]
    values, records = [], []
    for at in range(job.chunks):
        ends = store.get(f"chunk-{at}.ends")[number]
        low, high = int(ends[first]), int(ends[last])
        if low == high:
            continue
        start, stop = job.chunk_range(at)
        begin = (stop - start) * sum(widths[:number])
        flat = store.get(f"chunk-{at}")
        width = widths[number]
        values.append(np.array(flat[begin + low * width : begin + high * width]).reshape(-1, width))
        records.append(np.array(store.get(f"chunk-{at}.rows")[number, low:high]))
    rows = np.concatenate(records)
    # Several leaves of one part lie one after the other in each chunk.
    order = np.argsort(rows, kind="stable")
    return np.ascontiguousarray(np.concatenate(values)[order]), rows[order]


def protect(task: Task) -> Result:
    """Protect one part of one unit."""
    store, job, at = at_store(task)
    number = int(task["unit"])
    unit = job.units[number]
    values, records = gathered(store, job, number, int(task["first"]), int(task["last"]))
    rows = np.asarray(store.get("rows")[records])
    done = protected(job, unit, job.chosen(), values, rows, int(task["seed"]))
    out = done.values
    if job.decimals is not None:
        out = out.copy()
        for column, place in enumerate(unit.columns):
            if (decimals := job.decimals[place]) is not None:
                out[:, column] = np.round(out[:, column], decimals)
    # Adding zero turns -0.0 into 0.0: the two are equal numbers, but would be published as different bits.
    out = out + 0.0
    order = np.argsort(rows)
    stem = f"part-{number}-{at}"
    store.put(f"{stem}", np.hstack([values[order], out[order]]))
    labels = np.full(len(order), -1, dtype=np.int64) if done.groups is None else done.groups[order]
    store.put(f"{stem}.rows", np.stack([rows[order], labels]))
    store.put(f"{stem}.ends", _by_file(job, rows[order]))
    sizes = np.zeros(0, dtype=np.int64) if done.groups is None else np.bincount(done.groups[done.groups >= 0])
    return {
        "records": len(records),
        "groups": len(sizes),
        "smallest": int(sizes.min()) if len(sizes) else 0,
        "largest": int(sizes.max()) if len(sizes) else 0,
        "counts": done.counts,
    }


# -- assemble ---------------------------------------------------------------------------------------------------------


def assemble(task: Task) -> Result:
    """Write one published file with its private twin, and measure it."""
    from tsveil.large.linkage import column_attacks
    from tsveil.large.losses import file_figures

    store, job, at = at_store(task)
    start, stop = job.file_range(at)
    X, Y, groups = file_values(store, job, task["parts"], at)
    carried = carried_of(store, job, at)
    place = Path(job.place)
    source = job.source
    if source.confidential:
        store.put_frame(f"confidential-{at}", carried.select(source.confidential))
    if job.intervals:
        return _assemble_intervals(store, job, at, X, Y, groups, carried)
    names = pl.Series([secret_name(int(name)) for name in store.get("names")[start:stop]])
    columns: list[pl.Series] = [names.alias(str(task["id"]))]
    whole = set(source.integers) if task["whole"] else set()
    columns += [carried[name] for name in source.confidential]
    columns += [
        pl.Series(name, Y[:, column]).cast(pl.Int64 if name in whole else pl.Float64)
        for column, name in enumerate(source.columns)
    ]
    stem = f"part-{at:05d}.parquet"
    put_file(place / "published" / "data" / stem, lambda path: pl.DataFrame(columns).write_parquet(path))
    originals = carried[source.id] if source.id else pl.Series("record", store.get("records")[start:stop] + 1)
    known = {"original": originals, "released": names, ROW: np.arange(start + 1, stop + 1)}
    labels = {
        f"group of {unit.name}": groups[:, number] for number, unit in enumerate(job.units) if groups[0, number] >= 0
    }
    put_file(place / "private" / "id_map" / stem, lambda path: pl.DataFrame({**known, **labels}).write_parquet(path))
    return file_figures(store, job, at, X, Y, by_columns=bool(column_attacks(job)))


def _assemble_intervals(
    store: Store, job: Job, at: int, X: Array, Y: Array, groups: Indices, carried: pl.DataFrame
) -> Result:
    """The same for envelopes: rows have no names, and suppressed records are in the private file only."""
    start, stop = job.file_range(at)
    source, place, stem = job.source, Path(job.place), f"part-{at:05d}.parquet"
    kept = Y[:, -1] > 0
    others = carried.select(source.confidential).filter(kept) if source.confidential else pl.DataFrame()
    table = table_of(job, Y[kept], others)
    if kept.any():
        put_file(place / "published" / "data" / stem, lambda path: table.to_frame().write_parquet(path))
    originals = carried[source.id] if source.id else pl.Series("record", store.get("records")[start:stop] + 1)
    row = pl.Series(np.cumsum(kept)).set(pl.Series(~kept), None)
    known = {"original": originals, "file": [stem] * len(X), "row": row, "group": groups[:, 0]}
    put_file(place / "private" / "id_map" / stem, lambda path: pl.DataFrame(known).write_parquet(path))
    own = np.where(kept, np.cumsum(kept) - 1, -1)
    Piece.of(X, table, own, np.array(store.get("records")[start:stop])).save(store, at)
    return {"at": at, "records": table.n}


def file_values(store: Store, job: Job, parts: Any, at: int) -> tuple[Array, Array, Indices]:
    """Originals, protected values and groups of one published file, in the order of its rows."""
    start, stop = job.file_range(at)
    width = len(job.source.columns)
    X, Y = np.empty((stop - start, width)), np.empty((stop - start, job.out_width))
    groups = np.full((stop - start, len(job.units)), -1, dtype=np.int64)
    filled = np.zeros((stop - start, len(job.units)), dtype=np.int64)
    for number, unit in enumerate(job.units):
        columns = np.array(unit.columns)
        places = np.arange(job.out_width) if job.intervals else columns
        label = 0
        for part, groups_of_part in enumerate(parts[number]):
            stem = f"part-{number}-{part}"
            low, high = store.get(f"{stem}.ends")[at : at + 2].tolist()
            if low < high:
                rows, labels = np.asarray(store.get(f"{stem}.rows")[:, low:high])
                rows = rows - start
                both = np.asarray(store.get(f"{stem}")[low:high])
                X[np.ix_(rows, columns)] = both[:, : len(columns)]
                Y[np.ix_(rows, places)] = both[:, len(columns) :]
                groups[rows, number] = np.where(labels >= 0, labels + label, -1)
                filled[rows, number] += 1
            label += int(groups_of_part)
    if not (filled == 1).all():
        raise EngineError(
            f"{int((filled != 1).any(axis=1).sum())} records of published file {at} were not protected exactly once"
        )
    return X, Y, groups


def carried_of(store: Store, job: Job, at: int) -> pl.DataFrame:
    """The identifiers and confidential columns of one published file, in the order of its rows."""
    if job.source.id is None and not job.source.confidential:
        return pl.DataFrame()
    parts = []
    for chunk in range(job.chunks):
        low, high = store.get(f"carried-{chunk}.ends")[at : at + 2].tolist()
        if low < high:
            parts.append(store.get_frame(f"carried-{chunk}", low, high - low))
    return pl.concat(parts).sort(ROW)


def tasks(store: Store, count: int, **more: Any) -> list[Mapping[str, Any]]:
    """A task for each number below `count`."""
    return [{"store": store.handle, "at": at, **more} for at in range(count)]
