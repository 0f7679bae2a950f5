"""What is in a file, for programs: the document that `tsveil inspect --json` prints.

    {"version": 1, "file": name, "format": "csv", "separator": ",", "decimal": ".", "layout": "wide" | "long", "rows": n,
     "ready": true | false, "records": n | null, "persons": n | null,
     "series": [{"name": ..., "kind": ..., "points": n, "from": label, "to": label}],
     "attributes": [{"name": ..., "kind": ..., "columns": n}],
     "columns": [{"name": ..., "type": ..., "role": ..., "block": name | null, "reason": sentence}],
     "options": {what `tsveil.read` takes to read it so again},
     "reasons": [sentence], "notes": [sentence], "questions": [{"seen": ..., "answers": [{"means": ..., "options": ...}]}],
     "problems": [sentence], "hints": [sentence]}

Records and persons are counted when the file can be used as it is, and null otherwise. docs/reading.md says what the words mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from tsveil.core.errors import InputError, QuestionError
from tsveil.data.dataset import Dataset
from tsveil.data.frames import BlockSpec
from tsveil.data.guess import Reason
from tsveil.data.read import columns_of
from tsveil.data.table import as_list

if TYPE_CHECKING:
    from tsveil.data.read import Look

VERSION = 1


def describe(look: Look, found: Dataset | InputError) -> dict[str, Any]:
    """The document about a file that was looked at; `found` are its records, or why they cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsveil.data.read import look_at
    >>> path = Path(tempfile.mkdtemp()) / "meters.csv"
    >>> _ = path.write_text("meter,2024-01-01,2024-01-02,town\\na,1,2,Rome\\nb,3,4,Lyon\\n")
    >>> look = look_at(path)
    >>> found = describe(look, look.dataset())
    >>> found["records"], found["series"]
    (2, [{'name': 'series', 'kind': 'series', 'points': 2, 'from': '2024-01-01', 'to': '2024-01-02'}])
    >>> [(column["name"], column["type"], column["role"]) for column in found["columns"]]
    [('meter', 'text', 'identifier'), ('2024-01-01', 'whole number', 'series'), ('2024-01-02', 'whole number', 'series'), ('town', 'text', 'left out')]
    """
    data = found if isinstance(found, Dataset) else None
    refused = found if isinstance(found, InputError) and not isinstance(found, QuestionError) else None
    return {
        "version": VERSION,
        "file": look.path.name,
        "format": look.source.format,
        "separator": look.source.separator,
        "decimal": look.source.decimal,
        "layout": look.guess.layout,
        "rows": look.rows,
        "ready": data is not None,
        "records": data.n if data else None,
        "persons": int(data.persons.max()) + 1 if data else None,
        "series": _series(data) if data else [],
        "attributes": [{"name": b.name, "kind": b.kind, "columns": len(b)} for b in data.blocks if not b.is_series]
        if data
        else [],
        "columns": list(_columns(look, data)),
        "options": look.options(),
        "reasons": [str(reason) for reason in look.guess.reasons],
        "notes": list(data.notes) if data else [],
        "questions": [
            {"seen": q.seen, "answers": [{"means": means, "options": options} for means, options in q.answers]}
            for q in look.guess.questions
        ],
        "problems": list(refused.problems) if refused else [],
        "hints": [text.strip() for text in str(refused).split("\n") if text.strip().startswith("options: ")]
        if refused
        else [],
    }


def _series(data: Dataset) -> list[dict[str, Any]]:
    return [
        {"name": b.name, "kind": b.kind, "points": len(b), "from": labels[0], "to": labels[-1]}
        for b in data.series
        for labels in [b.labels or b.columns]
    ]


def _columns(look: Look, data: Dataset | None) -> Iterable[dict[str, Any]]:
    """Each column of the file: its type, its role, the block that it is part of, and why."""
    guess, options = look.guess, look.options()
    roles: dict[str, tuple[str, str | None]] = dict.fromkeys(look.columns, ("left out", None))
    roles |= dict.fromkeys(guess.confidential, ("confidential", None))
    roles |= dict.fromkeys(guess.values, ("value", None))
    roles |= {name: ("label", None) for name in look.answers.get("categories", {}) if name in roles}
    found: list[tuple[str, str, Iterable[str]]]  # name, kind and columns of each block
    if data is not None:
        found = [(block.name, block.kind, block.columns) for block in data.blocks]
    else:
        blocks: Mapping[str, BlockSpec] = look.blocks or guess.blocks
        found = [
            (name, guess.kinds.get(name, ""), columns_of({name: own}, look.columns)) for name, own in blocks.items()
        ]
    for name, kind, columns in found:
        role = "series" if kind.endswith("series") else "label" if kind == "categories" else "attribute"
        roles |= {column: (role, name) for column in columns if column in roles}
    ids, times = options.get("id"), options.get("time")
    for names, part in ((ids, "identifier"), (times, "time"), (guess.variable, "variable")):
        roles |= dict.fromkeys(as_list(names), (part, None))
    roles |= {name: ("person" if roles[name][0] == "left out" else roles[name][0], None) for name in guess.person}
    because = {name: str(reason) for reason in guess.reasons if isinstance(reason, Reason) for name in reason.columns}
    types = look.source.frame.schema
    for name in look.columns:
        role, block = roles[name]
        yield {
            "name": name,
            "type": _words(types.get(name, pl.String())),
            "role": role,
            "block": block,
            "reason": because.get(name) or ("nothing was said of it" if role == "left out" else "an option says so"),
        }


def _words(kind: pl.DataType) -> str:
    """A type of polars in words."""
    if kind.is_integer():
        return "whole number"
    if kind.is_numeric():
        return "number"
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return "category"
    if kind == pl.Boolean:
        return "yes or no"
    return {pl.Date: "date", pl.Datetime: "date and time", pl.Time: "time of day", pl.Duration: "duration"}.get(
        kind.base_type(), "text"
    )
