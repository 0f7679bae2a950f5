"""What methods that publish envelopes have in common: what they take, and how groups become intervals.

A method says which records form a group and which pattern each record gets (`group`); this class takes the least and
the greatest value of each group at every time point for its envelope, rounds the bounds outwards if asked, and makes
the release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable, clashes
from tsveil.data.table import EXACT
from tsveil.errors import Problems, some
from tsveil.guarantee.kp import EnvelopeAnonymity, KPAnonymity, classes_of, homogeneous
from tsveil.interval_release import IntervalRelease
from tsveil.params import Parameters, at_least, number, optional, param
from tsveil.protect.base import check_k, linking_columns
from tsveil.protect.microaggregation import LARGEST
from tsveil.randomness import fresh_seed
from tsveil.technique import Technique
from tsveil.transform.scale import lifted

#: the word length unless asked otherwise, for series that are long enough
WORD_LENGTH = 8
#: up to this many records the farthest pair of a set is exact; beyond, it is found by walking from far to farther
REACH = 1000
#: numbers are rounded to at most so many decimals: 10 to the power of a few more leaves the range
MOST_DIGITS = 300


@dataclass(frozen=True)
class Grouped:
    """Which records are published, and how."""

    #: the published records, ascending
    rows: Indices
    #: the group of each of them, numbered from 0
    groups: Indices
    words: tuple[str, ...] | None = None
    levels: Indices | None = None
    warnings: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class IntervalMethod(Parameters, ABC):
    """Base of the methods that publish intervals instead of values."""

    #: the key in the registry, plans and on the command line
    name: ClassVar[str]
    #: one line that says what it does
    summary: ClassVar[str]
    #: where it was published
    reference: ClassVar[str]
    #: what ISO/IEC 20889 calls it, the main technique first
    techniques: ClassVar[tuple[Technique, ...]]
    takes: ClassVar[frozenset[str]] = frozenset({"series"})

    k: int = param(10, at_least(2), "smallest group: every published envelope is shared by at least k records")
    round_to: float | None = param(
        None,
        optional(number(0, 1e300, open_low=True)),
        "round the bounds outwards to multiples of this, so that they are no member's exact values",
    )

    @abstractmethod
    def guarantee(self) -> KPAnonymity | EnvelopeAnonymity:
        """What a release promises."""

    @abstractmethod
    def group(self, x: Array) -> Grouped:
        """Groups and patterns of these series."""

    def check(self, data: Dataset) -> None:
        """Refuse data that cannot be published as envelopes of one series."""
        problems = Problems(f"{self._label()} cannot protect these data")
        if data.missing and bool(np.isnan(data.values).any()):
            problems.add("there are missing values")
            problems.hint("options: read the data with missing='drop' or missing='interpolate'")
        elif float(np.abs(data.values).max()) > LARGEST:
            problems.add(f"values beyond {LARGEST:g} cannot be compared by squared distances")
        if len(data.blocks) != 1 or not data.blocks[0].is_series:
            has = some([f"{b.name} ({'series' if b.is_series else 'attributes'})" for b in data.blocks])
            problems.add(f"it publishes one time series per record; this data set has {has}")
            problems.hint(
                'options: name the one series that is published (--block NAME=FIRST..LAST, blocks=...; kind = "series" if its times were not recognised)'
            )
            if len(data.series) > 1:
                problems.hint(
                    "several series: make a release of each, which keeps its promise by itself but not together with the others, or take them "
                    "one after the other as a single block, whose envelopes and patterns then run through all of them"
                )
        if taken := clashes(data.confidential):
            problems.add(f"the carried columns {some(taken)} would be taken for envelopes or patterns; rename them")
        problems.raise_if_any()
        check_k(self._label(), self.k, data.n)

    def protect(self, data: Dataset, *, seed: int | None = None) -> IntervalRelease:
        """Protect a data set.

        The seed decides the order of the published rows and nothing else. Leave it out except in tests: it is then
        drawn from the operating system and kept on the private side.
        """
        self.check(data)
        x = np.ascontiguousarray(data.block(data.blocks[0].name))
        with progress.step("Grouping series"):
            made = self.group(lifted(x))
        lo, hi = envelopes(x[made.rows], made.groups)
        if self.round_to is not None:
            lo, hi = rounded_outwards(lo, hi, self.round_to)
        others = data.others.select(list(data.confidential))
        table = IntervalTable(
            data.blocks[0].columns,
            lo[made.groups] + 0.0,
            hi[made.groups] + 0.0,
            made.words,
            made.levels,
            others[made.rows.tolist()] if others.width else pl.DataFrame(),
        )
        return IntervalRelease(
            original=data,
            table=table,
            rows=made.rows,
            groups=made.groups,
            method=self,
            guarantee=self.guarantee(),
            seed=fresh_seed() if seed is None else seed,
            warnings=(*made.warnings, *linking_columns(data), *_disclosed(table)),
            facts=made.facts,
        )


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


def _disclosed(table: IntervalTable) -> list[str]:
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


def disclosed_warning(name: str, what: str, records: int, n: int) -> str:
    """What to tell of a carried column that whole groups have in common."""
    return (
        f"the carried column {name!r} has one value only among all records of one {what} for {records} of {n} records: "
        "whoever finds their group learns it"
    )
