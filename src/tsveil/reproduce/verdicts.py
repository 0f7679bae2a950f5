"""When a figure counts as reproduced: the one place with the rules, which every page states.

A cell is judged by the first rule that fits:

    data not available   the file that the paper used is not there
    not reproducible     the printed figure is known to be wrong or lost (a misprint): no figure of ours is held against it
    equal                our figure, rounded to the printed digits, is the printed one
    near                 within 5 % of the printed figure, or, where it is a percentage, within 0.2 points
    trend only           along its line of at least 4 cells (a column of the rows that differ in one parameter, or a row) our figures
                         rank as the printed ones do, Spearman's rank correlation is at least 0.8, and are of their size: in the
                         median of the line neither is more than twice the other. Ranks alone would be too cheap, for nearly every
                         figure rises or falls with k. A statement of the text (a range, a bound, "about" = within a fifth) that our
                         figure meets is a trend, never more
    not reproducible     none of these, and the paper does not define the figure well enough; the reason is given
    differs              none of these, and no reason is known

Where other data stand for those of the paper nothing can be equal or near: the verdict is `trend only` or `data not available`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tsveil.core.types import Array
from tsveil.reproduce.printed import Figure, Row, Table

Verdict = Literal["equal", "near", "trend only", "differs", "not reproducible", "data not available"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: what the verdicts mean, for a reader of a page
MEANINGS: dict[Verdict, str] = {
    "equal": "our figure, rounded to the printed digits, is the printed one",
    "near": "within 5 % of the printed figure or, where it is a percentage, within 0.2 points",
    "trend only": "along its line of at least 4 cells our figures rank as the printed ones do (Spearman at least 0.8) and are of their size "
    "(in the median neither is more than twice the other), or a statement of the text holds; the figure itself differs",
    "differs": "none of these, and no reason is known",
    "not reproducible": "the printed figure is a misprint or was lost, or the paper does not define it well enough; the reason is given",
    "data not available": "the data of the paper are not there",
}

#: relative, and in points of a percentage
NEAR, POINTS = 0.05, 0.2
#: rank correlation, the least number of cells, and how many times larger one figure may be in the median
TREND, LEAST, SIZE = 0.8, 4, 2.0

Ours = Mapping[tuple[Row, str], float]


@dataclass(frozen=True)
class Cell:
    """A published figure, ours, and the verdict."""

    row: Row
    column: str
    printed: str
    ours: float | None
    verdict: Verdict
    why: str = ""


def judge_table(table: Table, ours: Ours) -> list[Cell]:
    """The verdict on each cell of a table; our figures by row and column."""
    lines = _lines(table, ours)
    return [_judge_cell(table, row, column, ours.get((row, column)), lines) for row, column in table]


def unavailable(table: Table, why: str) -> list[Cell]:
    """All cells of a table whose data are missing."""
    return [Cell(row, column, table.cell(row, column).text, None, "data not available", why) for row, column in table]


def _judge_cell(table: Table, row: Row, column: str, ours: float | None, lines: Mapping[tuple[Row, str], Line]) -> Cell:
    figure, note = table.cell(row, column), table.note(row, column)

    def cell(verdict: Verdict, why: str = "") -> Cell:
        return Cell(row, column, figure.text, ours, verdict, why)

    if note is not None and note.kind == "data":
        return cell("data not available", note.reason)
    if note is not None and note.kind == "misprint":
        return cell("not reproducible", note.reason)
    if ours is None or math.isnan(ours):
        return cell("not reproducible", note.reason) if note else cell("differs", "no figure was computed")
    if not table.substitute:
        if agrees(figure, ours):
            return cell("equal")
        if is_near(figure, ours, percent=column in table.percent):
            return cell("near")
    if figure.is_statement:
        low, high = figure.bounds
        if low <= ours <= high:
            return cell("trend only", table.substitute or "the statement holds")
    elif (line := lines.get((row, column))) is not None and line.holds:
        return cell("trend only", f"{line}; {table.substitute}" if table.substitute else str(line))
    if table.substitute:
        return cell("data not available", f"{table.substitute}; there the trend does not hold")
    if note is None:
        return cell("differs")
    return cell("not reproducible" if note.kind == "open" else "differs", note.reason)


def agrees(figure: Figure, ours: float) -> bool:
    """Whether our figure rounds to the printed one.

    Examples
    --------
    >>> agrees(Figure("0.25"), 0.2549), agrees(Figure("0.25"), 0.256), agrees(Figure("15..18"), 16.0)
    (True, False, False)
    """
    # A figure that lies half way between two digits may have been rounded either way, so a hair is added.
    return not figure.is_statement and abs(ours - figure.number) <= figure.half_digit * (1 + 1e-6)


def is_near(figure: Figure, ours: float, *, percent: bool) -> bool:
    """Whether our figure is near the printed one.

    Examples
    --------
    >>> is_near(Figure("40.0"), 41.9, percent=False), is_near(Figure("0.50"), 0.69, percent=True)
    (True, True)
    >>> is_near(Figure("40.0"), 42.1, percent=True), is_near(Figure("0.50"), 0.69, percent=False)
    (False, False)
    """
    if figure.is_statement:
        return False
    away = abs(ours - figure.number)
    return away <= NEAR * abs(figure.number) or (percent and away <= POINTS)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation with mean ranks for ties; NaN when a side is constant.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    >>> rank_correlation([1, 2, 3, 4], [5, 5, 5, 5])
    nan
    """
    a, b = _ranks(x), _ranks(y)
    a, b = a - a.mean(), b - b.mean()
    spread = math.sqrt(float(a @ a) * float(b @ b))
    return round(float(a @ b) / spread, 12) if spread > 0 else math.nan


def _ranks(x: Sequence[float]) -> Array:
    # Rounded first: what differs by rounding alone is a tie.
    values = np.array([float(f"{value:.9g}") for value in x])
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    ranks: Array = (ends - (count - 1) / 2)[place]
    return ranks


@dataclass(frozen=True)
class Line:
    """How our figures along a line compare with the printed ones."""

    #: Spearman's
    rank: float
    #: in the median, how many times the larger of two figures is the smaller
    ratio: float
    cells: int

    @property
    def holds(self) -> bool:
        """Whether it is a trend."""
        return self.cells >= LEAST and self.rank >= TREND and self.ratio <= SIZE

    def __str__(self) -> str:
        return f"rank correlation {self.rank:.2f} over {self.cells} cells, {self.ratio:.2f} times as large or small in the median"

    @classmethod
    def of(cls, printed: Sequence[float], ours: Sequence[float]) -> Line:
        """Compare two lines; figures of different sign, or a zero and another one, are infinitely apart.

        Examples
        --------
        >>> Line.of([10.0, 20.0, 30.0, 40.0], [5.0, 15.0, 24.0, 30.0]).ratio
        1.3333333333333333
        """
        ratios = [_ratio(a, b) for a, b in zip(printed, ours, strict=True)]
        return cls(rank_correlation(printed, ours), sorted(ratios)[len(ratios) // 2], len(ratios))


def _ratio(a: float, b: float) -> float:
    if a == b:
        return 1.0
    return max(a / b, b / a) if a * b > 0 else math.inf


def _lines(table: Table, ours: Ours) -> dict[tuple[Row, str], Line]:
    """For each cell its line; cells that are misprints or that we have no figure for do not count."""
    lines: dict[tuple[Row, str], list[tuple[Row, str]]] = {}
    for row, column in table:
        note, figure = table.note(row, column), table.cell(row, column)
        if (row, column) not in ours or figure.is_statement or (note is not None and note.kind == "misprint"):
            continue
        line = (row, "") if table.across else (row[: table.line], column)
        lines.setdefault(line, []).append((row, column))
    found: dict[tuple[Row, str], Line] = {}
    for cells in lines.values():
        compared = Line.of([table.cells[cell].number for cell in cells], [ours[cell] for cell in cells])
        found |= dict.fromkeys(cells, compared)
    return found
