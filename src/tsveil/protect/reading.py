"""Reading the records of files into the store of a run, chunk by chunk, checked on the way.

    attempt    some chunks: can they be parsed at all, tried in a process that may end
    read       one chunk: are its cells fit; its values and other columns go into the store

All that is wrong is said at once, with the file and the row.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tsveil.core.errors import Problems, some
from tsveil.core.types import Array
from tsveil.data.dataset import visible_text
from tsveil.data.source import EXACT, MOST, SHARED, unreadable
from tsveil.data.store import Store
from tsveil.data.trial import parsing_problems
from tsveil.data.write import words_as_text
from tsveil.engine.base import Engine, Result, Task
from tsveil.protect.job import Job, at_store, marks, tasks

#: chunks that are tried in one process, whose start takes as long as parsing a few
TRIED = 16


def attempt(task: Task) -> Result:
    """Parse what other steps will parse, where it does no harm; a problem for each file that cannot be parsed."""
    _, job, at = at_store(task)
    columns = [*job.source.columns, *job.source.others]
    chunks = range(at * TRIED, min(job.chunks, (at + 1) * TRIED))
    pieces = [
        (file, columns, first, count)
        for chunk in chunks
        for file, first, count in job.source.pieces(*job.chunk_range(chunk))
    ]
    problems = zip(pieces, parsing_problems(pieces), strict=True)
    return {"problems": {file: unreadable(file, problem) for (file, *_), problem in problems if problem}}


def read_chunks(store: Store, job: Job, engine: Engine) -> None:
    """Read all chunks into the store, or refuse the files with all that is wrong."""
    if job.source.in_parts:
        _try(store, job, engine)
    found = engine.map(read, tasks(store, job.chunks), "Reading the records")
    problems = Problems("the input cannot be used")
    count = sum(int(one["count"]) for one in found)
    first = [problem for one in found for problem in one["problems"]][: 2 * MOST]
    for problem in first:
        problems.add(problem)
    if count > len(first):
        problems.add(f"... and {count - len(first)} more such cells")
    if count:
        problems.hint("options: drop or fill them before; rows are counted from 1 in each file")
    elif job.source.id is not None:
        _check_ids(store, job, problems)
    problems.raise_if_any()


def _try(store: Store, job: Job, engine: Engine) -> None:
    """Refuse files whose parsing would end a worker, by name."""
    todo = tasks(store, -(-job.chunks // TRIED))
    found = engine.map(attempt, todo, "Trying to parse the files")
    problems = Problems("the input cannot be used")
    by_file = {file: problem for one in found for file, problem in one["problems"].items()}
    for _, problem in sorted(by_file.items()):
        problems.add(problem)
    problems.hint(SHARED)
    problems.raise_if_any()


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
        elif isinstance(names[0], str) and visible_text(names[0]) == visible_text(names[1]):
            problems.add(
                f"column {job.source.id!r}: two ids look the same ({visible_text(names[0])!r}) but are written differently ({where})"
            )


def read(task: Task) -> Result:
    """Read one chunk, check it, and keep it."""
    store, job, at = at_store(task)
    source = job.source
    start, stop = job.chunk_range(at)
    frame = source.frame(start, stop, [*source.columns, *source.others])
    numbers = frame.select(source.columns)
    values = source.coded(numbers)
    problems, count = _unfit(job, values, numbers, start)
    if source.id is not None:
        ids = frame[source.id]
        if ids.null_count():
            row = int(ids.is_null().arg_max() or 0)
            problems.append(f"{source.place(start + row)}, column {source.id!r}: the id is missing")
            count += ids.null_count()
        store.put(f"ids-{at}", marks(_visible_ids(ids)))
    if count:
        return {"problems": problems, "count": count}
    store.put(f"read-{at}", np.ascontiguousarray(values.T))
    store.put_frame(f"others-{at}", words_as_text(frame.select(source.others)))
    return {"problems": [], "count": 0}


def _visible_ids(ids: pl.Series) -> pl.Series:
    """Identifiers as a reader sees them: those that cannot be told apart are equal."""
    if ids.dtype != pl.String:
        return ids
    odd = ids.str.contains(r"[^\x21-\x7e]").fill_null(False)
    return ids.zip_with(~odd, ids.map_elements(visible_text, return_dtype=pl.String)) if odd.any() else ids


def _unfit(job: Job, values: Array, numbers: pl.DataFrame, start: int) -> tuple[list[str], int]:
    """What is wrong with the cells of a chunk: the first few in words, and how many."""
    names = job.source.columns
    problems: list[str] = []
    bad = np.isinf(values) if job.source.masked else ~np.isfinite(values)
    count = int(bad.sum())
    for row, column in np.argwhere(bad)[:MOST].tolist() if count else []:
        what = "missing" if np.isnan(values[row, column]) else "infinite"
        problems.append(f"{job.source.place(start + row)}, column {names[column]!r}: the value is {what}")
    for name, kind in numbers.schema.items():
        if kind.is_integer() and name not in job.source.labels:
            large = np.abs(values[:, names.index(name)]) > EXACT
            if large.any():
                row = int(large.argmax())
                problems.append(
                    f"{job.source.place(start + row)}, column {name!r}: the number is beyond 2^53 and would not be kept exactly"
                )
                count += int(large.sum())
    return problems, count
