"""Measures run over files in pieces: pass by pass, all measures of a pass on one piece together, on any engine.

A task carries the importable place of each measure with its settings, so that a worker makes the very same one; in memory it carries the
measures themselves. Plain values come back with the result of a task, arrays through the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from tsveil.attack.pieces import Columns, Pieces
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import object_at
from tsveil.core.types import Array, ArrayLike
from tsveil.data.store import Memory, Store, open_store
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.here import Here
from tsveil.measure.base import RECORDS, Chunk, Measure, Schema

#: how a result says that a value is an array in the store
ARRAY = "array "


@dataclass
class Measurements:
    """What all measures found."""

    figures: dict[str, float] = field(default_factory=dict)
    #: series -> its own figures
    per_series: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    #: the columns that are kept of each record
    columns: list[str] = field(default_factory=list)
    #: what the last pass of each measure found and knew
    sums: list[Result] = field(default_factory=list)


def run(store: Store, schema: Schema, engine: Engine, measures: Sequence[Measure]) -> Measurements:
    """Run measures over all pieces, in as many passes as they ask for."""
    store.put_plain("schema", schema)
    known: dict[int, Result] = {number: {} for number in range(len(measures))}
    sums: dict[int, Result] = {}
    carried = [_pack_measure(measure, engine) for measure in measures]
    columns: list[list[str]] = [[] for _ in measures]
    turn = 0
    while known:
        todo = [[number, carried[number], _put(store, f"known-of-measure-{number}", known[number])] for number in known]
        tasks = [{"store": store.handle, "at": at, "turn": turn, "measures": todo} for at in range(schema.pieces)]
        done = engine.map(measure_piece, tasks, "Measuring the loss")
        further: dict[int, Result] = {}
        for place, number in enumerate(known):
            chunks = [_get(store, one["found"][place]) for one in done]
            columns[number] += done[0]["columns"][place]
            sums[number] = {**known[number], **measures[number].merge(chunks)}
            if (more := measures[number].next_pass(sums[number])) is not None:
                further[number] = more
        known, turn = further, turn + 1
    found = Measurements(columns=[column for own in columns for column in own])
    for number, measure in enumerate(measures):
        found.sums.append(sums[number])
        found.figures |= measure.figures(sums[number], schema)
        found.notes |= measure.notes(schema)
        for series, own in measure.of_series(sums[number], schema).items():
            shown = {figure: value for figure, value in own.items() if figure not in measure.details}
            found.per_series.setdefault(series, {}).update(shown)
    return found


def of_arrays(
    measure: Measure, X: ArrayLike, X2: ArrayLike, *, times: bool = True
) -> tuple[Measurements, dict[str, Array]]:
    """What a measure finds of two tables in memory, row by row the same records, and what it keeps of each of them.

    `times` says whether the columns are points of a series.

    Examples
    --------
    >>> from tsveil.measure.attribute_loss import AttributeLoss
    >>> of_arrays(AttributeLoss(), [[1.0], [3.0]], [[2.0], [3.0]], times=False)[0].figures["IL1"]
    50.0
    """
    a, b = np.asarray(X, dtype=np.float64), np.asarray(X2, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape:
        raise InputError(f"the original values have the shape {a.shape}, the published ones {b.shape}: both must agree")
    store, columns = Memory(), tuple(map(str, range(a.shape[1])))
    store.put("original-0", a.T)
    store.put("released-0", b.T)
    block = Columns("values", columns, tuple(map(float, columns)) if times else None)
    found = run(store, Schema(Pieces((block,), (len(a),), (len(a),))), Here(), [measure])
    return found, kept_of_records(store, found.columns, 0)


def measure_piece(task: Task) -> Result:
    """What some measures find in one piece; what they keep of each record is NaN for those that were not released."""
    store, at = open_store(task["store"]), int(task["at"])
    chunk = Chunk.load(store, store.get_plain("schema", Schema), at)
    answers, columns = [], []
    for number, carried, known in task["measures"]:
        measure = carried if isinstance(carried, Measure) else object_at(carried[0]).from_settings(carried[1])
        found = dict(measure.of_chunk(chunk, _get(store, known)))
        records = found.pop(RECORDS, {})
        for column, values in records.items():
            kept = np.full(chunk.size, np.nan)
            kept[chunk.places] = values
            store.put(f"record-{column}-{at}", kept)
        columns.append(list(records))
        answers.append(_put(store, f"measured-{task['turn']}-{number}-{at}", found))
    return {"found": answers, "columns": columns}


def kept_of_records(store: Store, columns: Sequence[str], at: int) -> dict[str, Array]:
    """What measures kept of each record of a piece."""
    return {column: store.get(f"record-{column}-{at}", whole=True) for column in columns}


def _pack_measure(measure: Measure, engine: Engine) -> Any:
    """A measure as a task carries it."""
    if engine.name == Here.name:
        return measure
    for name, value in measure.settings().items():
        try:
            msgspec.msgpack.encode(value)
        except TypeError:
            raise ParameterError(
                f"The {name!r} parameter of evaluate must be plain values, such as names, for data in chunks: "
                "a function of your own runs on data in memory only."
            ) from None
    place = f"{type(measure).__module__}:{type(measure).__qualname__}"
    if "<locals>" in place or place.startswith("__main__:"):
        raise ParameterError(
            f"the workers of {engine.name} cannot import the measure {measure.name!r}\n"
            "  options: put its class into a module that is installed on all workers"
        )
    return [place, measure.settings()]


def _put(store: Store, stem: str, values: Mapping[str, Any]) -> Result:
    """Plain values as they are, and arrays by the names under which they are kept."""
    found = dict(values)
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            store.put(f"{stem}-{name}", value)
            found[name] = ARRAY + f"{stem}-{name}"
    return found


def _get(store: Store, values: Mapping[str, Any]) -> Result:
    """The same again with the arrays."""
    return {
        name: store.get(value.removeprefix(ARRAY)) if isinstance(value, str) and value.startswith(ARRAY) else value
        for name, value in values.items()
    }
