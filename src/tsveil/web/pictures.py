"""Small pictures of the answers to a question of reading: what a few cells of the file become with each of them.

A picture is a table of a few rows. Rows of one colour belong to one person. It is drawn with the cells of the file, so that somebody who knows the data
sees which answer is right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from tsveil.core.errors import TsveilError
from tsveil.data.time_forms import MONTHS, moment

#: rows of the file that are looked at, and rows and columns of a picture
LOOKED_AT, ROWS, COLUMNS = 10_000, 3, 3
#: an option that one of the answers gives -> what the question is called
TITLES = {
    "independent_rows": "Who is the person?",
    "transpose": "Is this table turned?",
    "time_format": "Which date order?",
    "numbers": "Codes or quantities?",
    "sheet": "Which sheet?",
    "table": "Which table?",
    "header": "Is the first line a record?",
    "decimal": "Where do the decimals begin?",
}

Picture = dict[str, Any]
#: the first rows of the file, read with some options
Reader = Callable[[Mapping[str, Any]], pl.DataFrame]


def with_pictures(
    questions: Sequence[dict[str, Any]], frame: pl.DataFrame, read: Reader | None = None
) -> list[dict[str, Any]]:
    """The questions with a title each, and with a picture for each answer; None where there is nothing to draw.

    `read` reads the file again, for answers that say how it is opened; without it these have no pictures.

    Examples
    --------
    >>> frame = pl.DataFrame({"sex": [0, 1, 1]})
    >>> answers = [("Leave them out?", {"leave_out": ["sex"]}), ("Or are they quantities?", {"numbers": ["sex"]})]
    >>> (found,) = with_pictures([{"seen": "has codes", "subjects": [{"name": "", "answers": answers}]}], frame)
    >>> found["title"], [row["cells"] for row in found["subjects"][0]["pictures"][1]["rows"]]
    ('Codes or quantities?', [['0', '0.67'], ['1', '0.67'], ['1', '0.67']])
    """
    rows = frame.head(LOOKED_AT)
    found = []
    for question in questions:
        options = [own for subject in question["subjects"] for _, own in subject["answers"]]
        title = next((words for name, words in TITLES.items() if any(name in own for own in options)), "What is right?")
        subjects = [
            {
                **subject,
                "pictures": [_picture(own, options, question["seen"], rows, read) for _, own in subject["answers"]],
            }
            for subject in question["subjects"]
        ]
        found.append({**question, "title": title, "subjects": subjects})
    return found


def _picture(
    own: Mapping[str, Any],
    all_options: Sequence[Mapping[str, Any]],
    seen: str,
    frame: pl.DataFrame,
    read: Reader | None,
) -> Picture | None:
    """The picture of one answer."""
    if "time_format" in own:
        return _dates(seen, own["time_format"])
    if "transpose" in own:
        return _turned(frame) if own["transpose"] else _as_it_is(frame, "each row is a record")
    if any(name in own for name in ("confidential", "leave_out", "numbers", "nominal", "ordinal")):
        return _published(own, frame)
    if any(name in own for name in ("sheet", "table", "header", "decimal")):
        return None if read is None else _read_again(own, read)
    return _whose(own, all_options, frame)


def _dates(seen: str, form: str) -> Picture | None:
    """How a time is read."""
    quoted = re.search(r"such as (.+)\.$", seen)
    label = ast.literal_eval(quoted[1]) if quoted else ""
    found = moment(label, form)
    if found is None:
        return None
    day, month = ("" if form == "month-year" else f"{found.day} "), MONTHS[found.month - 1]
    words = f"{day}{month}" + ("" if form == "month-day" else f" {found.year}")
    return _table(["in the file", "read as"], [[str(label), words]], "")


def _turned(frame: pl.DataFrame) -> Picture | None:
    """Columns that become records."""
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()][:ROWS]
    time = next((name for name in frame.columns if name not in numeric), frame.columns[0])
    numeric = [name for name in numeric if name != time]
    times = [_text(cell) for cell in frame[time].head(COLUMNS - 1)]
    rows = [[name, *(_text(cell) for cell in frame[name].head(COLUMNS - 1))] for name in numeric]
    return _table(["", *times], rows, "each column is a person, and becomes a row", range(len(rows)))


def _as_it_is(frame: pl.DataFrame, caption: str) -> Picture:
    """The first cells of the file."""
    shown = frame.select(frame.columns[:COLUMNS]).head(ROWS)
    rows = [[_text(cell) for cell in row] for row in shown.iter_rows()]
    return _table(shown.columns, rows, caption, range(len(rows)))


def _published(own: Mapping[str, Any], frame: pl.DataFrame) -> Picture | None:
    """What is published of codes, by a method that puts three records into a group."""
    role = next(iter(own))
    name = own[role][0]
    if name not in frame.columns:
        return None
    column = frame[name].drop_nulls()
    # Records that differ: a group of equal ones would show nothing.
    differing = pl.concat([column.unique(maintain_order=True).head(2), column.tail(1)]) if len(column) else column
    cells = differing.sort().to_list()[:ROWS]
    if not cells:
        return None
    common = max(cells, key=cells.count)
    after: dict[str, Callable[[Any], str]] = {
        "confidential": _text,
        "leave_out": lambda cell: "",
        "numbers": lambda cell: f"{sum(map(float, cells)) / len(cells):.2g}",
        "nominal": lambda cell: _text(common),
        "ordinal": lambda cell: _text(cells[len(cells) // 2]),
    }
    caption = {
        "confidential": "as it is in the file",
        "leave_out": "not published",
        "numbers": "the mean of a group of three",
        "nominal": "the most frequent label of a group of three",
        "ordinal": "the label in the middle of a group of three",
    }
    rows = [[_text(cell), after[role](cell)] for cell in cells]
    return _table([name, "published"], rows, caption[role])


def _read_again(own: Mapping[str, Any], read: Reader) -> Picture | None:
    """The first rows as they are with this answer."""
    try:
        frame = read(own)
    except TsveilError:
        return None  # the error after this answer was chosen says why it cannot be read
    shown = frame.select(frame.columns[:COLUMNS]).head(ROWS)
    return _table(shown.columns, [[_text(cell) for cell in row] for row in shown.iter_rows()], "")


def _whose(own: Mapping[str, Any], all_options: Sequence[Mapping[str, Any]], frame: pl.DataFrame) -> Picture | None:
    """Rows that share a value: one record over time, several records of one person, or persons of their own."""
    owners = [name for options in all_options for name in options.get("person", [])]
    column = owners[0] if owners else None
    if column is None or column not in frame.columns:
        return None
    repeated = frame.filter(frame[column].is_duplicated() & frame[column].is_not_null())
    if not repeated.height:
        return None
    first = repeated[column][0]
    same = repeated.filter(repeated[column] == first).head(2)
    other = frame.filter(frame[column].is_not_null() & (frame[column] != first)).head(1)
    few = pl.concat([same, other])
    values = [name for name, kind in frame.schema.items() if kind.is_numeric() and name != column]
    value = values[-1] if values else frame.columns[-1]
    if own.get("layout") == "long":
        rows = [
            [_text(first), *(_text(cell) for cell in same[value])],
            *([_text(one), _text(cell), "…"] for one, cell in zip(other[column], other[value], strict=True)),
        ]
        return _table(
            [column, "first time", "next time"], rows, "one record for each, with its times", range(len(rows))
        )
    beside = [name for name in frame.columns if name not in (column, value)][:1]
    names = list(dict.fromkeys([column, *beside, value]))
    rows = [[_text(cell) for cell in row] for row in few.select(names).iter_rows()]
    alike = "person" in own
    colours = [0, 0, 1][: len(rows)] if alike else range(len(rows))
    return _table(names, rows, "rows of one colour are one person" if alike else "each row is another person", colours)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, colours: Sequence[int] = ()) -> Picture:
    shown = [{"cells": list(cells), "colour": colours[at] % 3 if colours else None} for at, cells in enumerate(rows)]
    return {"head": list(head), "rows": shown, "caption": caption}


def _text(cell: object) -> str:
    """A cell as a picture shows it."""
    text = "" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= 16 else f"{text[:15]}…"
