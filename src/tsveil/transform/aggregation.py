"""Aggregation functions: the values of a record in one number, between the smallest and the largest of them.

With N values a_1 .. a_N, their ascending order f_1 <= ... <= f_N, and a **fuzzy measure** mu that says how much a set of attributes
weighs (mu of no attribute is 0, of all of them 1, and more attributes never weigh less), A_i being the attributes of f_i .. f_N:

    weighted mean   sum_i w_i a_i
    OWA             sum_i (Q(i/N) - Q((i-1)/N)) a_(i),              a_(1) >= a_(2) >= ...
    Choquet         sum_i (f_i - f_{i-1}) mu(A_i),                  f_0 = 0
    Sugeno          max_i min(f_i, mu(A_i))
    twofold         sum_i (max_{j<=i} min(f_j, mu_S(A_j))) (mu_C(A_i) - mu_C(A_{i+1})),    A_{N+1} empty

A **quantifier** Q gives the symmetric measure mu(A) = Q(|A|/N), which treats all attributes alike and works for any N. Three families:

    exponent    Q(x) = x^alpha
    sigmoid     Q(x) = 1 / (1 + exp(10 (alpha - x)))
    threshold   Q(x) = 1 for x > alpha, else 0

The sigmoid is used as printed in [1]: it misses 0 at x = 0 and 1 at x = 1, so it is no fuzzy measure, and laws that need one (OWA is
the Choquet integral of the symmetric measure; the result lies between the smallest and the largest value) hold for the other two only.
Sugeno and twofold integrals compare values with weights and are meant for values in 0..1; others are taken as they are.

Missing values (NaN): a record is aggregated over the values present, with quantifiers and weights; its result is NaN when none is. An
explicit or a sized measure is defined for all its attributes and refuses gaps.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), definitions 1 to 6 and section 5.2.2.
.. [2] V. Torra, Y. Narukawa, Modeling decisions: information fusion and aggregation operators, Springer (2007).

Examples
--------
>>> import numpy as np
>>> record = np.array([[0.2, 0.4, 0.2, 0.4]])
>>> owa(record, exponent(2.0)).round(3)
array([0.25])
>>> sugeno(record, exponent(1.0))
array([0.4])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tsveil.core.errors import InputError, ParameterError, Problems, some
from tsveil.core.types import Array, ArrayLike, Indices

#: a non-decreasing function of 0..1
Quantifier = Callable[[Array], Array]

#: weights are sums of decimal fractions: what rounding may have added
SLACK = 1e-9


def exponent(alpha: float) -> Quantifier:
    """Q(x) = x^alpha: near 0 the maximum weighs most, for large alpha the minimum.

    Examples
    --------
    >>> import numpy as np
    >>> exponent(2.0)(np.array([0.0, 0.5, 1.0]))
    array([0.  , 0.25, 1.  ])
    """
    if not 0 < alpha < np.inf:
        raise ParameterError(
            f"The 'alpha' parameter of the exponent quantifier must be a number above 0. Got {alpha!r}."
        )
    return lambda x: np.power(x, alpha)


def sigmoid(alpha: float) -> Quantifier:
    """Q(x) = 1 / (1 + exp(10 (alpha - x))), as printed: not quite 0 at 0 and not quite 1 at 1.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(0.5)(np.array([0.0, 0.5, 1.0])).round(4)
    array([0.0067, 0.5   , 0.9933])
    """
    if not -np.inf < alpha < np.inf:
        raise ParameterError(f"The 'alpha' parameter of the sigmoid quantifier must be a finite number. Got {alpha!r}.")
    return lambda x: 1.0 / (1.0 + np.exp(np.minimum(10.0 * (alpha - x), 700.0)))  # beyond 709 there is no exponential


def threshold(alpha: float) -> Quantifier:
    """Q(x) = 1 for x > alpha, else 0: the OWA of it is one of the sorted values.

    Examples
    --------
    >>> import numpy as np
    >>> threshold(0.5)(np.array([0.25, 0.5, 0.75]))
    array([0., 0., 1.])
    """
    if not 0 <= alpha < 1:
        raise ParameterError(
            f"The 'alpha' parameter of the threshold quantifier must be at least 0 and below 1. Got {alpha!r}."
        )
    return lambda x: np.where(x > alpha, 1.0, 0.0)


#: the families of quantifiers by name
QUANTIFIERS: dict[str, Callable[[float], Quantifier]] = {
    "exponent": exponent,
    "sigmoid": sigmoid,
    "threshold": threshold,
}


@dataclass(frozen=True, eq=False)
class SymmetricMeasure:
    """A fuzzy measure of N attributes that depends on their number only; checked when it is made.

    Examples
    --------
    >>> import numpy as np
    >>> SymmetricMeasure(np.array([0.0, 0.5, 0.8, 1.0])).attributes
    3
    >>> SymmetricMeasure.of(exponent(2.0), 2).values
    array([0.  , 0.25, 1.  ])
    >>> SymmetricMeasure.of(sigmoid(0.5), 2)
    Traceback (most recent call last):
    tsveil.core.errors.InputError: the symmetric measure cannot be used: 2 problems
      1. no attribute must weigh 0. Got 0.00669285.
      2. all attributes must weigh 1. Got 0.993307.
    """

    #: the measure of 0, 1, ..., N attributes
    values: Array

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        problems = Problems("the symmetric measure cannot be used")
        if values.ndim != 1 or len(values) < 2:
            problems.add(
                f"it needs a weight for each number of attributes, from none to all. Got the shape {values.shape}."
            )
            problems.raise_if_any()
        _check_ends(values[0], values[-1], problems)
        for size in np.flatnonzero(~(np.diff(values) >= 0)).tolist():
            problems.add(
                f"{size + 1} attributes must not weigh less than {size}. Got {values[size + 1]:g} and {values[size]:g}."
            )
        problems.raise_if_any()
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, quantifier: Quantifier, N: int) -> SymmetricMeasure:
        """mu(A) = Q(|A|/N)."""
        return cls(quantifier(np.arange(N + 1) / N))

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return len(self.values) - 1

    def of_chain(self, order: Indices) -> Array:
        """mu(A_1), ..., mu(A_N), mu(no attribute), the same for every record."""
        return np.broadcast_to(self.values[::-1], (len(order), self.attributes + 1))


@dataclass(frozen=True, eq=False)
class ExplicitMeasure:
    """A fuzzy measure with a weight of its own for every set of attributes; checked when it is made.

    `values[m]` is the weight of the attributes whose bits are set in m (attribute j has the bit 2^j); `from_sets` takes them by name.

    Examples
    --------
    >>> measure = ExplicitMeasure.from_sets({(): 0, (0,): 0.3, (1,): 0.6, (0, 1): 1})
    >>> import numpy as np
    >>> choquet(np.array([[0.5, 0.1], [0.1, 0.5]]), measure).round(2)
    array([0.22, 0.34])
    >>> ExplicitMeasure.from_sets({(): 0, (0,): 0.3, (1,): 1.6, (0, 1): 1})
    Traceback (most recent call last):
    tsveil.core.errors.InputError: the fuzzy measure cannot be used: the attributes (0, 1) must not weigh less than (1,). Got 1 and 1.6.
    """

    values: Array

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        problems = Problems("the fuzzy measure cannot be used")
        if values.ndim != 1 or len(values) < 2 or len(values) & (len(values) - 1):
            problems.add(f"it needs a weight for each of the 2^N sets of N attributes. Got the shape {values.shape}.")
            problems.raise_if_any()
        _check_ends(values[0], values[-1], problems)
        masks = np.arange(len(values))
        for j in range(len(values).bit_length() - 1):
            without = masks[masks & (1 << j) == 0]
            for mask in without[~(values[without | (1 << j)] >= values[without])].tolist():
                more, less = values[mask | (1 << j)], values[mask]
                problems.add(
                    f"the attributes {_members(mask | (1 << j))} must not weigh less than {_members(mask)}. Got {more:g} and {less:g}."
                )
        problems.raise_if_any()
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @classmethod
    def from_sets(cls, weights: Mapping[Iterable[int], float]) -> ExplicitMeasure:
        """From a weight for each set of attribute numbers 0 .. N-1, the empty one included."""
        given = {frozenset(attributes): float(weight) for attributes, weight in weights.items()}
        N = 1 + max((attribute for attributes in given for attribute in attributes), default=-1)
        wanted = [frozenset(chosen) for size in range(N + 1) for chosen in combinations(range(N), size)]
        problems = Problems("the fuzzy measure cannot be used")
        if missing := [str(tuple(sorted(s))) for s in wanted if s not in given]:
            problems.add(f"{len(missing)} sets of the {N} attributes have no weight: {', '.join(missing[:5])}")
        if strange := [str(tuple(sorted(s))) for s in given if s not in set(wanted)]:
            problems.add(f"attributes are numbered from 0, but there is {', '.join(strange[:5])}")
        problems.raise_if_any()
        values = np.empty(1 << N)
        for attributes in wanted:
            values[sum(1 << j for j in attributes)] = given[attributes]
        return cls(values)

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return len(self.values).bit_length() - 1

    def of_chain(self, order: Indices) -> Array:
        """mu(A_1), ..., mu(A_N), mu(no attribute) for each record, whose attributes stand in ascending order of their values."""
        masks = np.zeros((len(order), self.attributes + 1), dtype=np.int64)
        masks[:, :-1] = np.cumsum(np.left_shift(1, order[:, ::-1]), axis=1)[:, ::-1]
        found: Array = self.values[masks]
        return found


#: what the integrals weigh sets of attributes by
Measure = Quantifier | SymmetricMeasure | ExplicitMeasure


def weighted_mean(x: ArrayLike, weights: ArrayLike) -> Array:
    """sum_i w_i a_i of each record, with weights of at least 0 that sum to 1; over the values present, relative to their weights.

    Examples
    --------
    >>> weighted_mean([[1.0, 5.0], [float("nan"), 5.0]], [0.25, 0.75])
    array([4., 5.])
    """
    x = _records(x)
    w = np.asarray(weights, dtype=np.float64)
    problems = Problems("the weights cannot be used", ParameterError)
    if w.shape != (x.shape[1],):
        problems.add(f"there are {x.shape[1]} attributes, but the weights have the shape {w.shape}")
    if not (w >= 0).all():
        problems.add(f"weights must be at least 0. Got {some(w[~(w >= 0)].tolist())}.")
    elif abs(w.sum() - 1) > SLACK:
        problems.add(f"weights must sum to 1. Their sum is {w.sum():g}.")
    problems.raise_if_any()
    present = ~np.isnan(x)
    share = np.where(present, w, 0.0)
    total = share.sum(axis=1)
    with np.errstate(invalid="ignore"):
        # 0/0, and so NaN, where nothing that counts is present; a record without gaps is not divided, its weights sum to 1
        mean: Array = (np.where(present, x, 0.0) * share).sum(axis=1) / np.where(present.all(axis=1), 1.0, total)
    return mean


def owa(x: ArrayLike, quantifier: Quantifier) -> Array:
    """Ordered weighted average of each record.

    Examples
    --------
    >>> owa([[0.9, 0.2, 0.0, 0.0]], exponent(0.4)).round(2)
    array([0.55])
    """
    f, count, _ = _ascending(_records(x))
    # The i-th largest of the values present stands at the place count - i.
    place = np.arange(f.shape[1])
    rank = count[:, None] - place
    with np.errstate(invalid="ignore"):
        weight = quantifier(np.maximum(rank, 0) / count[:, None]) - quantifier(np.maximum(rank - 1, 0) / count[:, None])
    return _clear_empty_records((np.where(rank > 0, weight, 0.0) * f).sum(axis=1), count)


def choquet(x: ArrayLike, measure: Measure) -> Array:
    """Choquet integral of each record.

    Examples
    --------
    >>> choquet([[0.9, 0.2, 0.0, 0.0]], exponent(0.4)).round(2)
    array([0.55])
    """
    f, count, order = _ascending(_records(x))
    weight = _chain(measure, order, count)[:, :-1]
    steps = np.diff(f, axis=1, prepend=0.0)
    steps[np.arange(f.shape[1]) >= count[:, None]] = 0.0
    return _clear_empty_records((steps * weight).sum(axis=1), count)


def sugeno(x: ArrayLike, measure: Measure) -> Array:
    """Sugeno integral of each record.

    Examples
    --------
    >>> sugeno([[0.9, 0.2, 0.0, 0.0], [0.9, 0.6, 0.0, 0.0]], exponent(1.0))
    array([0.25, 0.5 ])
    """
    f, count, order = _ascending(_records(x))
    lower = np.minimum(f, _chain(measure, order, count)[:, :-1])
    lower[np.arange(f.shape[1]) >= count[:, None]] = -np.inf
    return _clear_empty_records(lower.max(axis=1), count)


def twofold(x: ArrayLike, fuzzy: Measure, probabilistic: Measure) -> Array:
    """Twofold integral of each record: `fuzzy` is the Sugeno measure mu_S, `probabilistic` the Choquet measure mu_C.

    Examples
    --------
    >>> twofold([[0.9, 0.2, 0.0, 0.0]], exponent(1.0), exponent(1.0)).round(4)
    array([0.1125])
    """
    f, count, order = _ascending(_records(x))
    height = np.maximum.accumulate(np.minimum(f, _chain(fuzzy, order, count)[:, :-1]), axis=1)
    weight = -np.diff(_chain(probabilistic, order, count), axis=1)
    beyond = np.arange(f.shape[1]) >= count[:, None]
    height[beyond] = 0.0
    weight[beyond] = 0.0
    return _clear_empty_records((height * weight).sum(axis=1), count)


def _records(x: ArrayLike) -> Array:
    table = np.asarray(x, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(f"aggregation needs a table of records by attributes. Got the shape {table.shape}.")
    return table


def _ascending(x: Array) -> tuple[Array, Indices, Indices]:
    """The values of each record in ascending order with zeros for the missing ones at the end, their number, and the order."""
    order = np.argsort(x, axis=1, kind="stable")
    f = np.take_along_axis(x, order, axis=1)
    missing = np.isnan(f)
    f[missing] = 0.0
    return f, x.shape[1] - missing.sum(axis=1), order


def _chain(measure: Measure, order: Indices, count: Indices) -> Array:
    """mu(A_1), ..., mu(A_count), mu(no attribute), the last repeated for missing values."""
    if isinstance(measure, SymmetricMeasure | ExplicitMeasure):
        if measure.attributes != order.shape[1]:
            raise InputError(
                f"the measure weighs {measure.attributes} attributes, but the records have {order.shape[1]}"
            )
        if (count < order.shape[1]).any():
            raise InputError(
                "the measure weighs all attributes of a record, but some values are missing\n"
                "  options: a quantifier (exponent, sigmoid, threshold), which works for any number of values"
            )
        return measure.of_chain(order)
    left = np.maximum(count[:, None] - np.arange(order.shape[1] + 1), 0)
    with np.errstate(invalid="ignore"):
        return measure(left / count[:, None])


def _clear_empty_records(result: Array, count: Indices) -> Array:
    """NaN for records without any value."""
    result[count == 0] = np.nan
    return result


def _check_ends(none: float, everything: float, problems: Problems) -> None:
    if not abs(none) <= SLACK:
        problems.add(f"no attribute must weigh 0. Got {none:g}.")
    if not abs(everything - 1) <= SLACK:
        problems.add(f"all attributes must weigh 1. Got {everything:g}.")


def _members(mask: int) -> tuple[int, ...]:
    return tuple(j for j in range(mask.bit_length()) if mask & (1 << j))
