"""When a figure counts as reproduced, and how often a wrong figure would: the one place with the rules, which every page states.

Each cell has two answers that do not depend on each other: the verdict, from the figures alone, and the reason, if the paper or its data
give one, why a difference is to be expected. Reasons stand beside the printed figures (published/*.toml), before anything is compared.

    equal          our figure, rounded to the printed digits, is the printed one
    near           within 5 % of the printed figure, or, where it is a percentage, within 0.2 points
    trend          neither, but our line follows the printed one. A line is a column of the rows that differ in one parameter, or a row. It has
                   at least 4 cells; Spearman's rank correlation is at least 0.8; in the median neither figure is more than twice the other;
                   and our line is nearer to its own printed line than to any other line of the same table. A statement of the text (a range,
                   a bound, "about" = within a fifth) that our figure meets is a trend, never more
    differs        none of these
    not compared   there is nothing to compare: a figure is wrong, lost or impossible in print, or its data are missing

**False rates.** Every line is judged a second time with our figures of each other line of the table that has as many cells and whose printed
figures are another size (more than 20 % away in the median). The share of these wrong lines that a verdict would have accepted is its
false rate. Where more than 10 % of the wrong lines of a table would pass as trends, or no other line is there to try, no trend is claimed.

Where other data stand for those of the paper nothing can be equal or near.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from tsveil.core.types import Array
from tsveil.reproduce.printed import Figure, Kind, Row, Table, calculate

Verdict = Literal["equal", "near", "trend", "differs", "not compared"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: the verdicts that say our figure agrees with the printed one
AGREEING: tuple[Verdict, ...] = ("equal", "near", "trend")

#: what the verdicts mean, for a reader of a page
MEANINGS: dict[Verdict, str] = {
    "equal": "our figure, rounded to the printed digits, is the printed one",
    "near": "within 5 % of the printed figure or, where it is a percentage, within 0.2 points",
    "trend": "neither, but along a line of at least 4 cells our figures rank as the printed ones do (Spearman at least 0.8), are of their size "
    "(in the median neither is more than twice the other) and nearer to this printed line than to any other of the table; or a statement of the "
    "text holds. No trend is claimed in a table where more than 10 % of the wrong lines would pass as one",
    "differs": "none of these",
    "not compared": "the printed figure is wrong, lost or impossible, or the data of the paper are not there",
}

#: relative, and in points of a percentage
NEAR, POINTS = 0.05, 0.2
#: rank correlation, the least number of cells, and how many times larger one figure may be in the median
TREND, LEAST, SIZE = 0.8, 4, 2.0
#: lines are told apart when one is this many times as large as the other in the median
APART = 1.2
#: the largest share of wrong lines that may pass as trends in a table
TOLERATED = 0.1

Place = tuple[Row, str]
Ours = Mapping[Place, float]


@dataclass(frozen=True)
class Cell:
    """A published figure, ours, and what they say."""

    row: Row
    column: str
    printed: str
    ours: float | None
    verdict: Verdict
    #: the kind of reason that was known before the comparison; None: none
    reason: Kind | None = None
    why: str = ""
    #: the same figure is printed in an earlier table, and counted there
    printed_before: bool = False
    #: with the figures of the wrong lines: the share of each verdict; None: there is no other line to try
    wrong: Mapping[Verdict, float] | None = None


@dataclass(frozen=True)
class Tally:
    """How many cells got which verdict, and how many would with a wrong line's figures."""

    cells: int
    verdicts: Mapping[Verdict, int]
    #: the cells for which there are wrong lines to try, their verdicts, and the expected number with wrong figures
    tested: int
    right: Mapping[Verdict, int]
    wrong: Mapping[Verdict, float]

    @property
    def agreeing(self) -> float:
        """The share of all cells that are equal, near or a trend."""
        return _share(sum(self.verdicts[verdict] for verdict in AGREEING), self.cells)

    @property
    def agreeing_wrongly(self) -> float:
        """The share of the tested cells that a wrong line's figures would make equal, near or a trend."""
        return _share(sum(self.wrong[verdict] for verdict in AGREEING), self.tested)

    def false_rate(self, verdict: Verdict) -> float:
        """The share of the tested cells that would have this verdict with a wrong line's figures."""
        return _share(self.wrong[verdict], self.tested)


def _share(part: float, whole: int) -> float:
    return part / whole if whole else math.nan


def tally(cells: Iterable[Cell]) -> Tally:
    """Count cells.

    Examples
    --------
    >>> counted = tally([Cell(("1",), "x", "2.0", 2.0, "equal", wrong={"equal": 0.25})])
    >>> counted.verdicts["equal"], counted.agreeing_wrongly
    (1, 0.25)
    """
    every = list(cells)
    tested = [(cell, cell.wrong) for cell in every if cell.wrong is not None]
    return Tally(
        cells=len(every),
        verdicts={verdict: sum(cell.verdict == verdict for cell in every) for verdict in VERDICTS},
        tested=len(tested),
        right={verdict: sum(cell.verdict == verdict for cell, _ in tested) for verdict in VERDICTS},
        wrong={verdict: math.fsum(wrong.get(verdict, 0.0) for _, wrong in tested) for verdict in VERDICTS},
    )


def judge_table(table: Table, ours: Ours) -> list[Cell]:
    """The verdict on each cell of a table; our figures by row and column."""
    lines = _lines(table, ours)
    judged: dict[Place, Cell] = {}
    for line in lines:
        judged |= _judge_line(table, line, [other for other in lines if line.is_apart(other)])
    judged = _without_cheap_trends(judged)
    return [
        judged.get((row, column)) or _left_out(table, row, column, ours.get((row, column))) for row, column in table
    ]


def unavailable(table: Table, why: str) -> list[Cell]:
    """All cells of a table whose data are missing."""
    return [replace(_cell(table, place, None), verdict="not compared", why=why) for place in table]


def _cell(table: Table, place: Place, ours: float | None) -> Cell:
    note = table.reason(*place)
    reason = note.kind if note is not None and note.kind != "remark" else "data" if table.substitute else None
    why = note.reason if note is not None else table.substitute or table.remark(*place)
    return Cell(*place, table.cells[place].text, ours, "differs", reason, why, table.printed_before(*place))


def _left_out(table: Table, row: Row, column: str, ours: float | None) -> Cell:
    """A cell that is in no line: there is nothing to compare, or we have no figure."""
    cell = _cell(table, (row, column), ours)
    note = table.reason(row, column)
    if note is not None and note.kind == "arithmetic":
        value = calculate(note.value)
        if agrees(table.cell(row, column), value):
            raise ValueError(
                f"{table.name} {row} {column}: the arithmetic gives {value:g}, which is the printed figure"
            )
        cell = replace(cell, why=f"{note.value} = {value:.4g}: {note.reason}")
    if _is_comparable(table, (row, column)):
        return replace(cell, ours=None, why=cell.why or "no figure was computed")
    return replace(cell, verdict="not compared")


def _is_comparable(table: Table, place: Place) -> bool:
    note = table.reason(*place)
    return note is None or note.kind == "definition"


# -- single figures ---------------------------------------------------------------------------------------------------


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


# -- lines ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Cells that belong together: a trend is tested along them, and whole lines are exchanged to find false rates."""

    places: tuple[Place, ...]
    figures: tuple[Figure, ...]
    ours: tuple[float, ...]

    @property
    def numbers(self) -> list[float]:
        """The printed figures."""
        return [figure.number for figure in self.figures]

    def is_apart(self, other: Line) -> bool:
        """Whether the other line has as many cells, and its printed figures another size; a statement, another meaning."""
        if len(other.places) != len(self.places):
            return False
        if any(figure.is_statement for figure in (*self.figures, *other.figures)):
            return self.figures != other.figures
        return median_ratio(self.numbers, other.numbers) > APART


def _judge_line(table: Table, line: Line, others: Sequence[Line]) -> dict[Place, Cell]:
    """The verdicts on the cells of a line, and those with the figures of the other lines."""
    right = _verdicts(table, line, line.ours, others)
    wrong = [_verdicts(table, line, other.ours, others) for other in others]
    judged = {}
    for i, (place, verdict) in enumerate(zip(line.places, right, strict=True)):
        cell = _cell(table, place, line.ours[i])
        if verdict == "trend" and not line.figures[i].is_statement:
            cell = replace(cell, why="; ".join(filter(None, [_describe(line), cell.why])))
        shares: dict[Verdict, float] = (
            {v: sum(w[i] == v for w in wrong) / len(wrong) for v in VERDICTS} if wrong else {}
        )
        judged[place] = replace(cell, verdict=verdict, wrong=shares or None)
    return judged


def _verdicts(table: Table, line: Line, ours: Sequence[float], others: Sequence[Line]) -> list[Verdict]:
    """What these figures, right or wrong, would be called in the place of a line."""
    follows = _follows(line, ours, others)

    def verdict(place: Place, figure: Figure, value: float) -> Verdict:
        if not table.substitute:
            if agrees(figure, value):
                return "equal"
            if is_near(figure, value, percent=place[1] in table.percent):
                return "near"
        low, high = figure.bounds if figure.is_statement else (math.inf, -math.inf)
        return "trend" if follows or low <= value <= high else "differs"

    return [verdict(*each) for each in zip(line.places, line.figures, ours, strict=True)]


def _follows(line: Line, ours: Sequence[float], others: Sequence[Line]) -> bool:
    """Whether these figures follow the printed ones of a line, and no other line better."""
    if len(ours) < LEAST:
        return False
    printed = line.numbers
    if not rank_correlation(printed, ours) >= TREND or median_ratio(printed, ours) > SIZE:
        return False
    own = distance_of(printed, ours)
    return all(own < distance_of(other.numbers, ours) for other in others)


def _without_cheap_trends(judged: Mapping[Place, Cell]) -> dict[Place, Cell]:
    """No trend in a table where wrong lines pass as trends too often, and none where no wrong line was tried."""
    counted = tally(judged.values())
    cheap = counted.false_rate("trend") > TOLERATED

    def cell(found: Cell) -> Cell:
        follows = "the statement holds" if Figure(found.printed).is_statement else "our line follows the printed one"
        if found.verdict == "trend" and found.wrong is None:
            return replace(
                found, verdict="differs", why=_also(f"{follows}, but there is no other line to test this by", found.why)
            )
        if not cheap:
            return found
        wrong = found.wrong
        if wrong is not None:
            wrong = {**wrong, "trend": 0.0, "differs": wrong["differs"] + wrong["trend"]}
        if found.verdict != "trend":
            return replace(found, wrong=wrong)
        why = f"{follows}, but this says nothing: in this table {100 * counted.false_rate('trend'):.0f} % of the wrong lines would do so too"
        return replace(found, verdict="differs", why=_also(why, found.why), wrong=wrong)

    return {place: cell(found) for place, found in judged.items()}


def _also(why: str, more: str) -> str:
    return f"{why}; {more}" if more else why


def _describe(line: Line) -> str:
    rank, ratio = rank_correlation(line.numbers, line.ours), median_ratio(line.numbers, line.ours)
    return f"rank correlation {rank:.2f} over {len(line.ours)} cells, {ratio:.2f} times as large or small in the median"


def _lines(table: Table, ours: Ours) -> list[Line]:
    """The lines of a table; a statement is one by itself, and cells that cannot be compared are in none."""
    groups: dict[tuple[Row, str], list[Place]] = {}
    for row, column in table:
        figure, value = table.cell(row, column), ours.get((row, column), math.nan)
        if math.isnan(value) or not _is_comparable(table, (row, column)):
            continue
        name = (row, column) if figure.is_statement else (row, "") if table.across else (row[: table.line], column)
        groups.setdefault(name, []).append((row, column))
    return [
        Line(tuple(places), tuple(table.cells[place] for place in places), tuple(ours[place] for place in places))
        for places in groups.values()
    ]


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


def median_ratio(x: Sequence[float], y: Sequence[float]) -> float:
    """How many times the larger of two figures is the smaller, in the median of two lines.

    Figures of different sign, or a zero and another one, are infinitely apart.

    Examples
    --------
    >>> median_ratio([10.0, 20.0, 30.0, 40.0], [5.0, 15.0, 24.0, 30.0])
    1.3333333333333333
    """
    ratios = sorted(_ratio(a, b) for a, b in zip(x, y, strict=True))
    return ratios[len(ratios) // 2]


def _ratio(a: float, b: float) -> float:
    if a == b:
        return 1.0
    return max(a / b, b / a) if a * b > 0 else math.inf


def distance_of(x: Sequence[float], y: Sequence[float]) -> float:
    r"""How far two lines are apart: the mean of |a - b| / (|a| + |b|), 0 for a pair of zeros.

    Examples
    --------
    >>> distance_of([1.0, 0.0], [3.0, 0.0])
    0.25
    """
    return math.fsum(abs(a - b) / (abs(a) + abs(b)) if a or b else 0.0 for a, b in zip(x, y, strict=True)) / len(x)
