"""The verdict on a published file made by any tool: everything that is in it is judged, or named as not judged.

Columns that somebody names as identifier or confidential are taken on trust, and the verdict says so. A column of which nobody said anything may be a name or an income: then
nothing can be decided. In text files numbers are compared as they are written: 1.5 and 1.50 are equal numbers, but whoever reads the file can tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.assess.assessment import Assessment
from tsveil.assess.judge import Evidence, judge
from tsveil.attack.candidates import marks, numbered
from tsveil.core.errors import InputError, some
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset, person_numbers
from tsveil.data.intervals import IntervalTable
from tsveil.data.read import Look, looked_at
from tsveil.guarantee.base import Promise, Status, Verdict
from tsveil.measure.scorecard import Scorecard

#: identifiers as tsveil makes them: random, and so no column that could name anybody
FRESH = re.compile(r"r[0-9a-f]{16}")
#: with fewer rows or classes, rows may stand together by chance
ROWS, CLASSES = 20, 3


def judge_file(path: Path, promise: Promise, given: Mapping[str, Any], persons: Path | None = None) -> Assessment:
    """The verdict on a file; `given` are the options by which it is read, `persons` a map from its identifiers to persons."""
    # What would be asked before data are protected does not matter here: each row is one published record, and a column without a role is named.
    given = {"independent_rows": True, "transpose": False, **given}
    look = looked_at(path, **given)
    table = promise.read(path, **given, numbers=list(look.columns))
    if isinstance(table, IntervalTable):
        verdict = promise.verify(table)
        trusted = [name for name in table.others.columns if name in given.get("confidential", ())]
        unjudged = [name for name in table.others.columns if name not in trusted]
        bounds = np.ascontiguousarray(np.hstack([table.lo, table.hi]))
        words = pl.Series(table.words or [""] * table.n).hash(seed=0).to_numpy()
        of_row = numbered(marks(np.column_stack([bounds.view(np.uint64), words]).view(np.float64)))[0]
        return _judged(promise, verdict, of_row, table.others.select(trusted), unjudged)
    data: Dataset = table
    if persons is not None:
        data = with_persons(data, persons)
    verdict = promise.verify(data)
    if verdict.holds and (written := _as_written(look, data)) is not None:
        verdict = _stricter(verdict, promise.verify(written))
        data_rows = written
    else:
        data_rows = data
    of_row = numbered(marks(data_rows.values + 0.0))[0]
    unjudged = [name for name in data.dropped if name not in data.person]
    if data.id is not None and not given.get("id") and not _is_fresh(data.ids):
        unjudged.append(data.id)
    return _judged(
        promise,
        verdict,
        of_row,
        data.others.select(list(data.confidential)),
        unjudged,
        data.persons if data.person else None,
    )


def _judged(
    promise: Promise,
    verdict: Verdict,
    of_row: Indices,
    carried: pl.DataFrame,
    unjudged: Sequence[str],
    persons: Indices | None = None,
) -> Assessment:
    classes = int(of_row.max(initial=0)) + 1
    together = int((np.diff(of_row) != 0).sum()) == classes - 1
    sorted_rows = together and len(of_row) >= ROWS and CLASSES <= classes <= len(of_row) // 2
    return judge(
        Evidence(
            promise=promise,
            verdict=verdict,
            of_row=of_row,
            carried=carried,
            card=Scorecard({}, {}, pl.DataFrame(), {}, {}),
            representatives=True,
            persons=persons,
            unjudged=unjudged,
            order="rows that are alike stand together, in an order that may come from the original"
            if sorted_rows
            else "",
        )
    )


def with_persons(data: Dataset, path: Path) -> Dataset:
    """The data with the person of each row, from a map: a table with the column `person` and one with the identifiers of the file, or `published_row`."""
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read as a map of persons: {error}") from error
    key = next((name for name in (data.id, "released", "published_row") if name in table.columns), None)
    if key is None or "person" not in table.columns:
        raise InputError(
            f"{path} is no map of persons: it needs the column 'person', and {data.id or 'published_row'!r} or 'published_row'\n"
            f"  columns available: {some(table.columns, 20)}"
        )
    rows = np.arange(1, data.n + 1).astype(str).tolist()
    own = pl.DataFrame({key: rows if key == "published_row" else data.ids.cast(pl.String)})
    found = own.join(table.unique(key, keep="first").select(key, "person"), on=key, how="left", maintain_order="left")
    if found["person"].null_count():
        raise InputError(f"{path} does not name the person of {found['person'].null_count()} of {data.n} rows")
    others = pl.DataFrame([*data.others.get_columns(), found["person"].alias("person of the row")])
    return replace(data, others=others, person=("person of the row",))


def _as_written(look: Look, data: Dataset) -> Dataset | None:
    """The data with a number for each different text of a column in place of its values, in the order of the values; None where values are not text."""
    texts = look.source.texts
    if texts is None or look.guess.layout != "wide" or any(name not in look.columns for name in data.columns):
        return None
    cells = texts(list(data.columns))
    if len(cells) != data.n:
        return None
    codes = [person_numbers(cells.select(pl.nth(at)), [name]) for at, name in enumerate(data.columns)]
    pairs = (np.column_stack(both) for both in zip(data.values.T, codes, strict=True))
    ranks = [np.unique(pair, axis=0, return_inverse=True)[1].ravel() for pair in pairs]
    return data.with_values(np.column_stack(ranks).astype(np.float64))


def _stricter(verdict: Verdict, written: Verdict) -> Verdict:
    """What holds of numbers must also hold of the texts that stand for them."""
    if written.status is not Status.VIOLATED:
        return verdict
    return replace(written, witness=f"equal numbers are written differently, such as 1.5 and 1.50: {written.witness}")


def _is_fresh(ids: pl.Series) -> bool:
    """Whether identifiers are random ones that tsveil made."""
    return ids.dtype == pl.String and all(FRESH.fullmatch(text or "") for text in ids.to_list())
