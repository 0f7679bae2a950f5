"""The published figures: facts copied from the papers, one readable TOML file for each paper in published/.

A table is text with a header line; its first columns (`keys`) name the row, the others are the cells. A cell is kept as it is
printed, because its digits say how exactly it was printed:

    12.30       a number: ours is equal when it rounds to it
    15..18      a statement of the text: our figure lies in this range
    >50  <=11   a statement: it is above, or at most
    ~10         a statement: about this

`notes` name cells by patterns and say why they are special: `misprint` (the printed figure itself is wrong or lost: it is
not judged), `data` (what it was computed from is not to be had), `open` (the paper does not define it well enough: a
difference is expected) or `remark` (no excuse, something to know).

Examples
--------
>>> table = printed_tables()["004-4.7"]
>>> table.cell(("Census", "5"), "MDAV").text
'11.10'
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Row = tuple[str, ...]

#: the papers whose experiments can be run again; a table's name begins with its paper's
PAPERS = ("000", "001", "003", "004")


@dataclass(frozen=True)
class Figure:
    """A printed cell.

    Examples
    --------
    >>> Figure("9.4723E-28").half_digit
    5e-33
    >>> Figure("15..18").bounds, Figure(">50").bounds, Figure("12.3").is_statement
    ((15.0, 18.0), (50.0, inf), False)
    """

    text: str

    @property
    def is_statement(self) -> bool:
        """Whether it is a sentence of the paper (a range, a bound, about) and not a figure."""
        return self.text[0] in "<>~" or ".." in self.text

    @property
    def number(self) -> float:
        """The figure; of a statement the number in it (of a range its middle)."""
        low, dots, high = self.text.partition("..")
        return (float(low) + float(high)) / 2 if dots else float(self.text.lstrip("<>=~"))

    @property
    def half_digit(self) -> float:
        """Half a unit of the last printed digit."""
        mantissa, _, exponent = self.text.upper().partition("E")
        decimals = len(mantissa.partition(".")[2])
        return float(f"5e{int(exponent or 0) - decimals - 1}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of a statement; 'about' leaves a fifth on either side."""
        inf = float("inf")
        if self.text.startswith("~"):
            return 0.8 * self.number, 1.2 * self.number
        if ".." in self.text:
            low, _, high = self.text.partition("..")
            return float(low), float(high)
        return (self.number, inf) if self.text.startswith(">") else (-inf, self.number)


@dataclass(frozen=True)
class Note:
    """Why some cells are special; rows and columns are patterns with * for anything."""

    kind: Literal["misprint", "data", "open", "remark"]
    rows: str
    columns: str
    reason: str

    def covers(self, row: Row, column: str) -> bool:
        """Whether the note is about this cell."""
        return fnmatchcase(" ".join(row), self.rows) and any(fnmatchcase(column, p) for p in self.columns.split())


@dataclass(frozen=True)
class Table:
    """A published table, or the statements about a figure."""

    #: paper and number, as in 004-4.7
    name: str
    title: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    cells: Mapping[tuple[Row, str], Figure]
    #: the columns that are percentages
    percent: frozenset[str]
    #: the number of keys by which rows are parted into lines; a trend is tested along a line, in each column
    line: int
    #: a trend is tested across the columns of each row instead
    across: bool
    #: other data that stand for those of the paper, which nobody has; empty: the paper's own
    substitute: str
    notes: tuple[Note, ...]

    def cell(self, row: Row, column: str) -> Figure:
        """The printed cell."""
        return self.cells[row, column]

    def __iter__(self) -> Iterator[tuple[Row, str]]:
        return ((row, column) for row in self.rows for column in self.columns)

    def note(self, row: Row, column: str) -> Note | None:
        """The first note about a cell."""
        return next((note for note in self.notes if note.covers(row, column)), None)


@cache
def printed_tables() -> Mapping[str, Table]:
    """All published tables by name, in the order of the papers."""
    return {table.name: table for paper in PAPERS for table in _paper(paper)}


@cache
def paper_titles() -> Mapping[str, str]:
    """What each paper is."""
    return {paper: _content(paper)["paper"] for paper in PAPERS}


@cache
def example_table(name: str) -> tuple[tuple[float, ...], ...]:
    """A small data set that a paper prints as the input of an example, row by row.

    Examples
    --------
    >>> example_table("004-toy")[0]
    (1.0, 4.0)
    """
    paper, _, rest = name.partition("-")
    lines = _content(paper)["inputs"][rest].strip().splitlines()
    return tuple(tuple(float(value) for value in line.split()) for line in lines)


@cache
def _content(paper: str) -> dict[str, Any]:
    place = files("tsveil.reproduce") / "published" / f"{paper}.toml"
    return tomllib.loads(place.read_text(encoding="utf-8"))


def _paper(paper: str) -> Iterator[Table]:
    for number, table in _content(paper)["tables"].items():
        header, *lines = (line.split() for line in table["cells"].strip().splitlines())
        keys = int(table.get("keys", 1))
        wrong = [line for line in lines if len(line) != len(header)]
        if wrong:
            raise ValueError(f"table {paper}-{number}: {len(header)} columns, but {wrong[0]} has {len(wrong[0])} cells")
        rows = tuple(tuple(line[:keys]) for line in lines)
        columns = tuple(header[keys:])
        percent = table.get("percent", [])
        yield Table(
            name=f"{paper}-{number}",
            title=table["title"],
            keys=tuple(header[:keys]),
            columns=columns,
            rows=rows,
            cells={
                (row, column): Figure(text)
                for row, line in zip(rows, lines, strict=True)
                for column, text in zip(columns, line[keys:], strict=True)
            },
            percent=frozenset(columns if percent == "all" else percent),
            line=int(table.get("line", keys - 1)),
            across=bool(table.get("across", False)),
            substitute=table.get("substitute", ""),
            notes=tuple(Note(**note) for note in table.get("notes", ())),
        )
