"""Near ties among numbers with long fractions, decided by the numbers as they are written.

An unrounded mean such as 4.333333333333333 is no number of a computer, and neither is its distance from 5. The searches compare distances in
floating point, and mark the targets beside whose nearest row another one is as near but for rounding:

    d <= (d_best + 2 slack) (1 + 2^-40)

where `slack` bounds what the rounded values can move a distance by, and the last factor what the rounding of its sum can. For these targets alone the rows
within that bound are compared once more, in whole numbers of the last decimal and fractions: what is equal is a tie, and nothing else.

The spreads of columns are fractions as well. Distances with absolute differences have roots of them as weights; they are compared to 50 digits.
Columns of short decimals need none of this, for their differences are whole numbers already (`files.in_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsveil.attack.files import DECIMAL, TENS, decimals_of
from tsveil.attack.nearest import Near, Rows
from tsveil.core.types import Array, Indices, Mask
from tsveil.transform.normalise import Ruler

if TYPE_CHECKING:
    from tsveil.attack.candidates import Best

#: what a value between -1 and 1 may be off by after it was scaled, with room
ROUNDED = 2.0**-49
#: digits to which sums of roots are compared, and with which they are computed
DIGITS, PRECISION = 50, 70


@lru_cache(maxsize=2**16)
def _written(value: float) -> tuple[int, int]:
    """Whole number and power of ten of a number as it is written: 0.25 is (25, -2)."""
    mantissa, _, power = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction), int(power or 0) - len(fraction)


def in_last_decimals(values: Sequence[float]) -> tuple[list[int], int]:
    """Numbers as whole numbers of the last decimal that any of them has, and that decimal.

    Examples
    --------
    >>> in_last_decimals([0.3, 1.25, 2e22])
    ([30, 125, 2000000000000000000000000], 2)
    """
    pairs = [_written(value) for value in values]
    last = -min((power for _, power in pairs), default=0)
    return [whole * 10 ** (last + power) for whole, power in pairs], last


def exact_weight(column: Array) -> Fraction:
    """One over the sum of squared deviations of a column as it is written, times its length; 0 for a constant.

    Examples
    --------
    >>> exact_weight(np.array([0.1, 0.2, 0.3]))
    Fraction(50, 3)
    >>> exact_weight(np.array([1e300, 2e300, 3e300])) == Fraction(1, 6) / 10**600
    True
    """
    last = int(decimals_of(column[:, None])[0])
    whole = [int(value) for value in np.rint(column * TENS[last]).tolist()] if last >= 0 else []
    if last < 0:
        whole, last = in_last_decimals(column.tolist())
    spread = len(whole) * sum(value * value for value in whole) - sum(whole) ** 2
    # The last decimal of huge numbers stands before the point.
    return Fraction(10) ** (2 * last) / spread if spread else Fraction(0)


class _NearRows(NamedTuple):
    """The rows of one piece that may be nearest: their values, copies and first records; whose they are, and whose every target is, as `Rows.whose` has it."""

    values: Array
    copies: Indices
    first: Indices
    owner: Indices
    records: Indices
    mine: Indices


@dataclass(eq=False)
class ExactTies:
    """The targets as they are written, how records are placed where distances are measured, and what their differences weigh."""

    #: targets by columns, as they are written, and placed
    known: Array
    placed: Array
    #: what the differences in each placed column are multiplied by
    factor: Array
    #: released records as they are written -> placed
    place: Callable[[Array], Array]
    #: how many of the placed columns count in each round, and what the distance may be off by
    counts: Sequence[int]
    slack: Array
    #: what the squared (or absolute) difference in each placed column weighs, asked for when it is needed: the square of the weight of absolute ones
    weights: Callable[[], Sequence[Fraction]]
    absolute: bool = False
    #: the columns of the released records that are compared
    columns: slice | Sequence[int] | None = None
    #: the square root of the sum is the distance that is searched for
    rooted: bool = False
    #: slopes between neighbouring columns are compared, not values
    slopes: bool = False
    close: Mask = field(init=False)
    _found: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.close = np.zeros((len(self.known), len(self.counts)), dtype=np.bool_)
        self._found = self.close

    def fresh(self) -> Mask:
        """Where a search in one piece marks the targets with near ties."""
        self._found = np.zeros_like(self.close)
        return self._found

    def add(self, best: Best, near: Near) -> None:
        """Take what was found in one piece, and mark the targets with near ties among all so far."""
        upto = self._widened(np.minimum(best.best, near.best))
        old, new = (best.best <= upto) & (best.link >= 0), (near.best <= upto) & (near.link >= 0)
        self.close = (old & self.close) | (new & self._found) | (old & new)
        best.add(near)

    def settle(self, best: Best, pieces: Iterable[Rows]) -> None:
        """Decide the marked ties; `pieces` has all distinct rows as they are written.

        Targets that are alike in the known columns are decided together: few known columns have few different values.
        """
        if not self.close.any():
            return
        upto = self._widened(best.best)
        alike = [self._alike(round_) for round_ in range(len(self.counts))]
        found: dict[tuple[int, int], list[_NearRows]] = {}
        for rows in pieces:
            placed, whose = self.place(rows.values), rows.whose
            for round_, groups in enumerate(alike):
                count = self.counts[round_]
                for number, targets in enumerate(groups):
                    sums = self._sums(self.placed[targets[0], :count], placed[:, :count], self.factor[:count])
                    near = np.flatnonzero(sums <= upto[targets[0], round_])
                    if len(near):
                        values = rows.values[near] if self.columns is None else rows.values[near][:, self.columns]
                        own = whose.owner[near], whose.records[near], whose.mine
                        found.setdefault((round_, number), []).append(
                            _NearRows(values, rows.copies[near], rows.first[near], *own)
                        )
        weights = list(self.weights())
        for (round_, number), parts in found.items():
            targets = alike[round_][number]
            values = np.concatenate([part.values for part in parts])
            tied = self._tied(self.known[targets[0]], values, self.counts[round_], weights)
            best.tied[targets, round_] = np.concatenate([part.copies for part in parts])[tied].sum()
            best.link[targets, round_] = np.concatenate([part.first for part in parts])[tied].min()
            best.hit[targets, round_] = 0
            start = 0
            for part in parts:
                here = tied[start : start + len(part.values)]
                start += len(part.values)
                right = part.mine[targets][:, None] == part.owner[here]
                best.hit[targets, round_] += (right * part.records[here]).sum(axis=1)

    def _width(self, round_: int) -> int:
        """The columns that are known in a round, as they are written."""
        return self.known.shape[1] if self.slopes else self.counts[round_]

    def _alike(self, round_: int) -> list[Indices]:
        """The marked targets of a round, those with equal known columns together."""
        targets = np.flatnonzero(self.close[:, round_])
        _, number = np.unique(self.known[targets, : self._width(round_)], axis=0, return_inverse=True)
        order = np.argsort(number.ravel(), kind="stable")
        return np.split(targets[order], np.flatnonzero(np.diff(number.ravel()[order])) + 1) if len(targets) else []

    def _tied(self, target: Array, rows: Array, count: int, weights: Sequence[Fraction]) -> Mask:
        """Which of some rows are nearest."""
        width = len(target) if self.slopes else count
        distinct, number = np.unique(rows[:, :width], axis=0, return_inverse=True)
        apart = self._exact(target, distinct, width, weights) if len(distinct) > 1 else [0]
        least = min(apart)
        return np.array([one == least for one in apart])[number.ravel()]

    def _widened(self, best: Array) -> Array:
        """Up to where candidates count as near ties, as in the kernels, with a little more room."""
        if self.absolute or self.rooted:
            return np.asarray((best + 2 * self.slack) * (1 + 2.0**-39))
        return np.asarray(np.square((np.sqrt(best) + 2 * self.slack) * (1 + 2.0**-39)))

    def _sums(self, target: Array, rows: Array, factor: Array) -> Array:
        """The distances of one target to some rows, as they are searched for."""
        steps = np.abs(target - rows) * factor
        sums: Array = steps.sum(axis=1) if self.absolute else np.square(steps).sum(axis=1)
        return np.sqrt(sums) if self.rooted else sums

    def _exact(self, target: Array, rows: Array, width: int, weights: Sequence[Fraction]) -> list[Any]:
        """A number for each row that is the less the nearer it is, and equal for equally near ones."""
        whole, _ = in_last_decimals([*target[:width].tolist(), *rows[:, :width].ravel().tolist()])
        mine, theirs = whole[:width], [whole[at : at + width] for at in range(width, len(whole), width)]
        found = []
        for row in theirs:
            steps = [p - q for p, q in zip(mine, row, strict=True)]
            if self.slopes:
                steps = [q - p for p, q in pairwise(steps)]
            sums: dict[Fraction, int] = {}
            for step, weight in zip(steps, weights, strict=False):
                sums[weight] = sums.get(weight, 0) + (abs(step) if self.absolute else step * step)
            found.append(_rooted_sum(sums) if self.absolute else sum((w * s for w, s in sums.items()), Fraction(0)))
        return found


def _rooted_sum(sums: dict[Fraction, int]) -> Decimal:
    """The sum of these numbers times the roots of their weights, to 50 digits."""
    with localcontext() as context:
        context.prec = PRECISION
        total = sum(
            (Decimal(number) * (Decimal(w.numerator) / Decimal(w.denominator)).sqrt() for w, number in sums.items()),
            Decimal(0),
        )
        context.prec = DIGITS
        return +total


def of_series(
    known: Array,
    placed: Array,
    ruler: Ruler,
    times: Array | None,
    embedding: Callable[[Array], Array],
    columns: slice | None = None,
) -> ExactTies:
    """What decides near ties of one series, compared by values on a scale, or by slopes between `times`."""

    def place(values: Array) -> Array:
        return embedding(ruler.measure(np.ascontiguousarray(values if columns is None else values[:, columns])))

    points = known.shape[1]
    low, width = (float(np.ravel(side)[0]) for side in (ruler.low, ruler.width))
    unit, largest = width * float(np.ravel(ruler.deviation)[0]) or 1.0, max(abs(low), abs(low + width))
    # Values of the release that are larger than that are so far away that the share by which distances may differ covers them.
    each = ROUNDED * (16 * largest + width) / unit
    weights, off = [Fraction(1)] * points, np.full(points, each)
    if times is not None:
        steps = np.diff(times)
        weights, off = [1 / Fraction(step) ** 2 for step in steps.tolist()], 2 * each / steps
    slack = np.array([float(np.sqrt(np.square(off).sum()))])
    return ExactTies(
        known, placed, np.ones(placed.shape[1]), place, [placed.shape[1]], slack, lambda: weights, columns=columns, rooted=True, slopes=times is not None
    )  # fmt: skip


def slack_of(power: Indices, factor: Array, counts: Sequence[int], *, absolute: bool) -> Array | None:
    """What distances by the first columns may be off by, in the steps and with the factors of `files.scale_of`; None where all columns are short decimals."""
    if (power >= DECIMAL).all():
        return None
    each = np.where(power >= DECIMAL, 0.0, factor * ROUNDED)
    sums = np.cumsum(each) if absolute else np.sqrt(np.cumsum(np.square(each)))
    return np.asarray(sums[np.array(counts) - 1])
