"""The published figures: facts copied from the papers, one readable TOML file for each paper in published/.

A table is text with a header line; its first columns (`keys`) name the row, the others are the cells. A cell is kept as it is
printed, because its digits say how exactly it was printed:

    12.30       a number: ours is equal when it rounds to it
    15..18      a statement of the text: our figure lies in this range
    >50  <=11   a statement: it is above, or at most
    ~10         a statement: about this

`notes` name cells by patterns and give the reason why a difference is to be expected, before any figure of ours is compared: `arithmetic`
(the printed figure is impossible, and `value` is the expression that shows it), `misprint` (it is wrong, lost, or a copy of another), `data`
(what it was computed from is not public) or `definition` (the paper does not define it to the digit). A `remark` is no excuse, but
something to know. `repeats` names an earlier table that prints the same figures: they are counted there, once.

Examples
--------
>>> table = printed_tables()["004-4.7"]
>>> table.cell(("Census", "5"), "MDAV").text
'11.10'
"""

from __future__ import annotations

import ast
import operator
import tomllib
from collections.abc import Callable, Iterator, Mapping
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


Kind = Literal["arithmetic", "misprint", "data", "definition"]
#: the kinds of reasons for a difference, and what they mean to a reader
KINDS: dict[Kind, str] = {
    "arithmetic": "the printed figure is impossible: the arithmetic that shows it stands beside the figure and is run",
    "misprint": "the printed figure is wrong, lost, or a copy of another one",
    "data": "the data of the paper are not public; where others stand for them, only a trend can show",
    "definition": "the paper does not define the figure to the digit",
}


@dataclass(frozen=True)
class Note:
    """Why some cells are special; rows and columns are patterns with * for anything."""

    kind: Kind | Literal["remark"]
    rows: str
    columns: str
    reason: str
    #: of the kind arithmetic: the expression whose value the cell should have
    value: str = ""

    def covers(self, row: Row, column: str) -> bool:
        """Whether the note is about this cell."""
        return fnmatchcase(" ".join(row), self.rows) and any(fnmatchcase(column, p) for p in self.columns.split())


def calculate(expression: str) -> float:
    """The value of an expression of numbers, + - * / ** and brackets.

    Examples
    --------
    >>> calculate("(0.8 + 0.7) * 2 ** -1")
    0.75
    >>> calculate("len('a')")
    Traceback (most recent call last):
    ValueError: not arithmetic: len('a')
    """

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return float(_OPERATIONS[type(operation)](value(left), value(right)))
            case _:
                raise ValueError(f"not arithmetic: {expression}")

    return value(ast.parse(expression, mode="eval").body)


_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


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
    #: the table that prints the same figures before; empty: none
    repeats: str
    notes: tuple[Note, ...]

    def cell(self, row: Row, column: str) -> Figure:
        """The printed cell."""
        return self.cells[row, column]

    def __iter__(self) -> Iterator[tuple[Row, str]]:
        return ((row, column) for row in self.rows for column in self.columns)

    def reason(self, row: Row, column: str) -> Note | None:
        """The first note about a cell that says why a difference is to be expected."""
        return next((note for note in self.notes if note.kind != "remark" and note.covers(row, column)), None)

    def remark(self, row: Row, column: str) -> str:
        """What is to be known about a cell besides; empty: nothing."""
        return next((note.reason for note in self.notes if note.kind == "remark" and note.covers(row, column)), "")

    def printed_before(self, row: Row, column: str) -> bool:
        """Whether the table that this one repeats has the cell with the same digits."""
        if not self.repeats:
            return False
        before = printed_tables()[self.repeats].cells.get((row, column))
        return before is not None and before.text == self.cells[row, column].text


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
            repeats=table.get("repeats", ""),
            notes=tuple(Note(**note) for note in table.get("notes", ())),
        )
