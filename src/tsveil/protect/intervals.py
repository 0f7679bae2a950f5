"""What methods that publish envelopes have in common: what they take, and how groups become intervals.

A method says which records form a group and which pattern each record gets (`group`); this class takes the least and
the greatest value of each group at every time point for its envelope, rounds the bounds outwards if asked, and makes
the release.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.attribute import disclosed_warning
from tsveil.core import progress
from tsveil.core.errors import Problems, some
from tsveil.core.params import at_least, number, optional, param
from tsveil.core.types import Array, Indices
from tsveil.data.intervals import IntervalTable, clashes
from tsveil.data.table import EXACT
from tsveil.guarantee.base import Promise
from tsveil.guarantee.counting import classes_of, homogeneous
from tsveil.protect.base import Described, Method, Part, Protected, check_k, sizes_of
from tsveil.protect.microaggregation import LARGEST
from tsveil.protect.survey import Survey
from tsveil.release.release import Release
from tsveil.transform.pattern import as_symbols
from tsveil.transform.scale import lift

#: the word length unless asked otherwise, for series that are long enough
WORD_LENGTH = 8
#: up to this many records the farthest pair of a set is exact; beyond, it is found by walking from far to farther
REACH = 1000
#: the most decimals that numbers are rounded to: 10 to the power of a few more leaves the range
MOST_DIGITS = 300


@dataclass(frozen=True)
class Grouping:
    """Which records are published, and how."""

    #: the published records, ascending
    rows: Indices
    #: the group of each of them, numbered from 0
    groups: Indices
    words: tuple[str, ...] | None = None
    levels: Indices | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class IntervalMethod(Method):
    """Base of the methods that publish intervals instead of values."""

    representatives: ClassVar[bool] = True

    takes: ClassVar[frozenset[str]] = frozenset({"series"})

    k: int = param(10, at_least(2), "smallest group: every published envelope is shared by at least k records")
    round_to: float | None = param(
        None,
        optional(number(0, 1e300, open_low=True)),
        "round the bounds outwards to multiples of this, so that they are no member's exact values",
    )

    @abstractmethod
    def guarantee(self, data: Described | None = None) -> Promise:
        """What a release promises, of any data."""

    @abstractmethod
    def group(self, x: Array) -> Grouping:
        """Groups and patterns of these series."""

    def check_all(self, survey: Survey) -> None:
        """Refuse data that cannot be published as envelopes of one series."""
        problems = Problems(f"{self._label()} cannot protect these data")
        if np.isnan(survey.low).any():
            problems.add("there are missing values")
            problems.hint("options: read the data with missing='drop' or missing='interpolate'")
        elif survey.largest > LARGEST:
            problems.add(f"values beyond {LARGEST:g} cannot be compared by squared distances")
        if len(survey.blocks) != 1 or not survey.blocks[0].is_series:
            has = some([f"{b.name} ({'series' if b.is_series else 'attributes'})" for b in survey.blocks])
            problems.add(f"it publishes one time series per record; this data set has {has}")
            problems.hint(
                'options: name the one series that is published (--block NAME=FIRST..LAST, blocks=...; kind = "series" if its times were not recognised)'
            )
            if len(survey.series) > 1:
                problems.hint(
                    "several series: make a release of each, which keeps its promise by itself but not together with the others, or take them "
                    "one after the other as a single block, whose envelopes and patterns then run through all of them"
                )
        if taken := clashes(survey.confidential):
            problems.add(f"the carried columns {some(taken)} would be taken for envelopes or patterns; rename them")
        problems.raise_if_any()
        check_k(self._label(), self.k, survey.n)
        self.check(survey)

    def letters(self, points: int) -> int:
        """The letters of a pattern; 0 without patterns."""
        return 0

    def width(self, columns: int) -> int:
        """Lower and upper bounds, letters, level, and whether the record is published."""
        return 2 * columns + self.letters(columns) + 2

    def protect_part(self, part: Part) -> Protected:
        """Bounds, letters, level and whether it is published for each series, as numbers."""
        x, points = part.values, part.values.shape[1]
        out = np.zeros((len(x), self.width(points)))
        groups = np.full(len(x), -1, dtype=np.int64)
        with progress.step("Grouping series"):
            made = self.group(lift(x))
        if len(made.rows):
            lo, hi = envelopes(x[made.rows], made.groups)
            if self.round_to is not None:
                lo, hi = rounded_outwards(lo, hi, self.round_to)
            out[made.rows, :points], out[made.rows, points : 2 * points] = lo[made.groups], hi[made.groups]
            if made.words is not None and made.levels is not None:
                out[made.rows, 2 * points : -2] = as_symbols(made.words)
                out[made.rows, -2] = made.levels
            out[made.rows, -1] = 1.0
            groups[made.rows] = made.groups
        return Protected(out, groups, facts={**sizes_of(groups), **made.facts})

    def conclude(self, release: Release) -> Release:
        """Warn of carried columns that all records of an envelope have in common; of many records that is found when they are verified."""
        if release.contents.files > 1:
            return release
        return replace(release, warnings=(*release.warnings, *_disclosure_warnings(release.table)))


def envelopes(x: Array, groups: Indices) -> tuple[Array, Array]:
    """The least and the greatest value of each group in each column.

    Examples
    --------
    >>> envelopes(np.array([[1.0, 4.0], [7.0, 7.0], [3.0, 2.0]]), np.array([0, 1, 0]))[0]
    array([[1., 2.],
           [7., 7.]])
    """
    if not len(x):
        return x, x
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.minimum.reduceat(x[order], starts), np.maximum.reduceat(x[order], starts)


def rounded_outwards(lo: Array, hi: Array, step: float) -> tuple[Array, Array]:
    """Bounds that are multiples of a step, no narrower than before.

    Examples
    --------
    >>> rounded_outwards(np.array([0.31, -0.3]), np.array([0.31, 0.1]), 0.1)
    (array([ 0.3, -0.3]), array([0.4, 0.1]))
    """
    digits = max(0, -int(Decimal(repr(float(step))).normalize().as_tuple().exponent))

    def multiples(quotient: Array) -> Array:
        # 3 * 0.1 is 0.30000000000000004: what is written should look like a multiple. Of tiny steps no multiple does.
        return (np.round(quotient * step, digits) if digits <= MOST_DIGITS else quotient * step) + 0.0

    def outwards(bounds: Array, sign: int) -> Array:
        with np.errstate(over="ignore"):
            quotient = np.round(bounds / step)
        coarse = np.abs(quotient) > EXACT  # the bound has no digit as fine as the step
        quotient[coarse] = 0.0
        quotient += sign * (sign * multiples(quotient) < sign * bounds)
        return np.where(coarse, bounds, multiples(quotient))

    return outwards(lo, -1), outwards(hi, 1)


def _disclosure_warnings(table: IntervalTable) -> list[str]:
    """A warning for each carried column that some groups have in common."""
    if not table.n or not table.others.width:
        return []
    classes = classes_of(table)[1]
    what = "envelope" if table.words is None else "envelope and pattern"
    warnings = []
    for name in table.others.columns:
        same = homogeneous(classes, table.others[name])
        if same.any():
            warnings.append(disclosed_warning(name, what, int(same.sum()), table.n))
    return warnings
