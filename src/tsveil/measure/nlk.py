"""What an (n,l,k)-anonymous table lost, and how many of its series a few known values still single out.

    IL      = sum |x - y|                           information loss, x original and y published
    NormDiv = 100 IL / sum x                        the loss against the values, in percent
    shift   = 100 |S(X) - S(Y)| / S(X)              S the standard deviation of all values of the table

and the pointwise divergence 100 |x - y| / |x| in classes up to 2, 5, 10, 20, 30, 50 percent and above [1]_.

**Identification.** (n,l,k)-anonymity bounds what can be inferred, not who can be found: a published series is a combination of
clusters, and few combinations occur twice. `identification` measures the share of series that n known values single out: n
random ones, averaged over many draws, and n chosen by an intruder who always takes the point that leaves the fewest series. The
greedy choice is a lower bound of the worst case; the true worst case is a set cover problem.

References
----------
.. [1] S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, Pattern-sensitive time-series anonymization and its application to
   energy-consumption data, Open Journal of Information Systems 1 (2014) 3-22, section 5.

Examples
--------
>>> X = [[1.0, 2.0], [2.0, 5.0]]
>>> Y = [[1.5, 2.0], [1.5, 5.0]]
>>> euclidean_loss(X, Y), normalised_divergence(X, Y)
(1.0, 10.0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsveil._types import Array, ArrayLike, Indices, Mask
from tsveil.errors import InputError, ParameterError
from tsveil.guarantee.nlk import clusters_of

#: upper ends of the classes of divergence, in percent; the last class is open
CLASSES = (2, 5, 10, 20, 30, 50)

#: random sets of known points for one table
DRAWS = 1000
#: for larger tables there are fewer draws, so that draws times series stay below this, and no fewer than FEWEST
DRAWN_SERIES = 20_000_000
FEWEST = 50
#: the greedy intruder is tried on a random sample of this many series when there are more
SAMPLE = 2000


def _both(X: ArrayLike, Y: ArrayLike) -> tuple[Array, Array]:
    x, y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    if x.shape != y.shape or not x.size:
        raise InputError(f"the original values have the shape {x.shape}, the published ones {y.shape}: both must agree")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(
            "the loss is not defined for missing or infinite values\n  options: drop or fill these records"
        )
    return x, y


def euclidean_loss(X: ArrayLike, Y: ArrayLike) -> float:
    """The information loss: all absolute differences, summed.

    Examples
    --------
    >>> euclidean_loss([[1.0, 3.0]], [[2.0, 1.0]])
    3.0
    """
    x, y = _both(X, Y)
    return float(np.abs(x - y).sum())


def normalised_divergence(X: ArrayLike, Y: ArrayLike) -> float:
    """The information loss in percent of the sum of the original values, which must be positive.

    Examples
    --------
    >>> normalised_divergence([[1.0, 3.0]], [[1.0, 2.0]])
    25.0
    >>> normalised_divergence([[1.0, -3.0]], [[1.0, 2.0]])
    Traceback (most recent call last):
    tsveil.errors.InputError: the normalised divergence needs original values with a positive sum. Got -2.
    """
    x, y = _both(X, Y)
    total = float(x.sum())
    if total <= 0:
        raise InputError(f"the normalised divergence needs original values with a positive sum. Got {total:g}.")
    return 100 * float(np.abs(x - y).sum()) / total


def std_shift(X: ArrayLike, Y: ArrayLike) -> float:
    """How much the standard deviation of all values changed, in percent; 0 for a constant table that stays constant.

    Examples
    --------
    >>> std_shift([[0.0, 4.0]], [[1.0, 3.0]])
    50.0
    """
    x, y = _both(X, Y)
    before, after = float(x.std()), float(y.std())
    if before == after:
        return 0.0
    if before == 0:
        raise InputError("the shift of the standard deviation is not defined: the original values are all equal")
    return 100 * abs(before - after) / before


def divergence_classes() -> tuple[str, ...]:
    """The names of the classes of divergence.

    Examples
    --------
    >>> divergence_classes()
    ('0-2', '2-5', '5-10', '10-20', '20-30', '30-50', '>50')
    """
    return (*(f"{low}-{high}" for low, high in zip((0, *CLASSES), CLASSES, strict=False)), f">{CLASSES[-1]}")


def divergence_histogram(X: ArrayLike, Y: ArrayLike) -> dict[str, float]:
    """The share of values, in percent, whose divergence 100 |x - y| / |x| lies in each class; a class includes its upper end.

    A value of 0 that was changed diverges without bound.

    Examples
    --------
    >>> divergence_histogram([[100.0, 100.0, 0.0, 0.0]], [[98.0, 60.0, 0.0, 1.0]])
    {'0-2': 50.0, '2-5': 0.0, '5-10': 0.0, '10-20': 0.0, '20-30': 0.0, '30-50': 25.0, '>50': 25.0}
    """
    x, y = _both(X, Y)
    change, size = 100 * np.abs(x - y), np.abs(x)
    # Compared without dividing: no value is too small for it.
    beyond = np.array([(change > limit * size).sum() for limit in CLASSES])
    counts = np.diff(np.concatenate([[x.size], beyond, [0]])) * -1
    return dict(zip(divergence_classes(), (100 * counts / x.size).tolist(), strict=True))


def clusters_per_point(Y: ArrayLike) -> Indices:
    """The number of different published values at each time point.

    Examples
    --------
    >>> clusters_per_point([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    array([1, 3])
    """
    codes, _ = clusters_of(np.asarray(Y, dtype=np.float64))
    counts: Indices = codes.max(axis=1).astype(np.int64) + 1
    return counts


@dataclass(frozen=True, eq=False)
class Identification:
    """How many series n known values single out, in percent."""

    n: int
    #: by n random points, averaged over draws and series
    random: float
    #: by n points chosen for the series, greedily or among the draws: a lower bound of the worst case
    chosen: float
    #: for each series the share of draws that single it out
    per_series: Array
    draws: int

    def __str__(self) -> str:
        return f"{self.n} random known values single out {self.random:.1f} % of the series, {self.n} chosen ones at least {self.chosen:.1f} %"


def identification(Y: ArrayLike, n: int, *, seed: int = 0) -> Identification:
    """The share of published series that n known values single out.

    The same random points are drawn for all series. `seed` makes the draws repeatable; nothing secret depends on it.

    Examples
    --------
    >>> print(identification([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 5.0]], n=2))
    2 random known values single out 50.0 % of the series, 2 chosen ones at least 50.0 %
    """
    codes, sizes = clusters_of(np.asarray(Y, dtype=np.float64))
    T, N = codes.shape
    if not 1 <= n <= T:
        raise ParameterError(
            f"The 'n' parameter of identification must be at least 1 and at most the number of time points ({T}). Got {n}."
        )
    rng = np.random.default_rng(seed)
    draws = int(np.clip(DRAWN_SERIES // N, FEWEST, DRAWS))
    # Every cluster gets a random word of 64 bits and a combination of clusters the sum of its words: two combinations have the
    # same sum with a probability of 2^-64 only, and a sum that occurs once is a series that is singled out.
    words = np.take_along_axis(rng.integers(0, 2**64, size=(T, N), dtype=np.uint64), codes.astype(np.int64), axis=1)
    alone = np.zeros(N, dtype=np.int64)
    for _ in range(draws):
        sums = words[rng.choice(T, size=n, replace=False)].sum(axis=0)
        order = np.argsort(sums)
        differs = np.concatenate([[True], np.diff(sums[order]) != 0, [True]])
        alone[order] += differs[1:] & differs[:-1]

    who = np.arange(N) if N <= SAMPLE else np.sort(rng.choice(N, size=SAMPLE, replace=False))
    # A set of points that was drawn and worked is a choice, too.
    chosen = float(np.mean(_singled_out(codes, sizes, n, who) | (alone[who] > 0)))
    share = 100 * alone / draws
    return Identification(n, float(share.mean()), 100 * chosen, share, draws)


def _singled_out(codes: Indices, sizes: Indices, n: int, who: Indices) -> Mask:
    """Whether an intruder who always takes the point that leaves the fewest series is left with one."""
    from tsveil._kernels.nlk_verify import narrow_down

    known, left = np.empty(n, dtype=np.int64), np.empty(codes.shape[1], dtype=np.int64)
    return np.array([narrow_down(codes, sizes, f, n, 0, known, left)[1] == 1 for f in who.tolist()])


def nlk_figures(X: ArrayLike, Y: ArrayLike, n: int, *, seed: int = 0) -> dict[str, float]:
    """All figures of a published table by name: losses, histogram, clusters, identification.

    Examples
    --------
    >>> figures = nlk_figures([[1.0, 2.0], [2.0, 5.0]], [[1.5, 2.0], [1.5, 5.0]], n=1)
    >>> figures["NormDiv"], figures["clusters per point"], figures["identified by chosen values"]
    (10.0, 1.5, 100.0)
    """
    found = identification(Y, n, seed=seed)
    return {
        "IL": euclidean_loss(X, Y),
        "NormDiv": normalised_divergence(X, Y),
        "std shift": std_shift(X, Y),
        **{f"divergence {name} %": share for name, share in divergence_histogram(X, Y).items()},
        "clusters per point": float(clusters_per_point(Y).mean()),
        "identified by random values": found.random,
        "identified by chosen values": found.chosen,
    }
