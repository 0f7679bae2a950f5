"""Slow, obvious versions of the attacks on microdata and of their measures: the definitions, nothing else."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import tsveil as tv
from tsveil.attack.links import Links
from tsveil.core.types import Array

Record = Sequence[float]


# -- linkage ----------------------------------------------------------------------------------------------------------


def apart(x: Record, y: Record, factor: Record, metric: str = "euclidean") -> float:
    """The sum of squared (or absolute) scaled differences, in the order of the columns."""
    total = 0.0
    for p, q, f in zip(x, y, factor, strict=True):
        difference = (p - q) * f
        total += abs(p - q) * f if metric == "l1" else difference * difference
    return total


def nearest(x: Record, released: Array, among: Sequence[int], factor: Record, metric: str = "euclidean") -> list[int]:
    """The rows of the nearest among some released records; all of them in a tie."""
    if not among:
        return []
    distances = {row: apart(x, released[row].tolist(), factor, metric) for row in among}
    least = min(distances.values())
    return [row for row in among if distances[row] == least]


def _inverted(shown: Array, blocks: list[int]) -> Array:
    """The inverse of the published covariance, block by block (of lower rank: in the space where it has one)."""
    inverted = np.zeros((shown.shape[1],) * 2)
    for low, high in itertools.pairwise(np.cumsum([0, *blocks]).tolist()):
        own = slice(low, high)
        inverted[own, own] = np.linalg.pinv(np.atleast_2d(np.cov(shown[:, own].T)), rcond=1e-9, hermitian=True)
    return inverted


def likelihoods(a: Array, b: Array, blocks: list[int], deviations: float, correlated: bool, density: str) -> Array:
    """-2 log of the likelihood of each pair: the noise that it takes, less that of a record of somebody else."""
    spread = np.where(np.ptp(b, axis=0) > 0, b.std(axis=0), 1.0)
    a, b = a / spread, b / spread
    m, columns = b.shape
    whole = _inverted(b, blocks)
    noise = whole if correlated else np.diag([1 / v if v > 0 else 0.0 for v in b.var(axis=0, ddof=1)])
    noise = noise * (1 + deviations**2) / deviations**2

    def apart(x: Array, y: Array, by: Array) -> float:
        return float((x - y) @ by @ (x - y))

    found = np.array([[apart(x, y, noise) for y in b] for x in a])
    for row, y in enumerate(b):
        if density == "normal":
            far = columns + 10 * math.sqrt(2 * columns)
            found[:, row] -= min(apart(y, b.mean(axis=0), whole), far)
        if density == "kernel":
            silverman = (4 / ((columns + 2) * m)) ** (1 / (columns + 4))
            width = max(1.0, math.sqrt(1 + deviations**2) / deviations * silverman)
            bells = [math.exp(-apart(y, z, noise) / (2 * width**2)) for at, z in enumerate(b) if at != row]
            found[:, row] += 2 * math.log(math.fsum(bells) + math.exp(-3))
    return found


def rank_interval(column: Sequence[float], x: float) -> tuple[int, int]:
    """The first and the last place where x stands, or would stand, in the sorted column."""
    below = sum(value < x for value in column)
    return below, below + sum(value == x for value in column) - 1


def rank_gap(column: Sequence[float], x: float, y: float) -> int:
    first, last = rank_interval(column, x)
    their_first, their_last = rank_interval(column, y)
    return max(0, first - their_last, their_first - last)


def rank_sets(original: Array, released: Array, row: int, window: int) -> list[set[int]]:
    """For each attribute the released records within some ranks of an original one."""
    rulers = original if len(original) == len(released) else released
    return [
        {
            other
            for other in range(len(released))
            if rank_gap(rulers[:, j].tolist(), original[row, j], released[other, j]) <= window
        }
        for j in range(original.shape[1])
    ]


def in_most(sets: Sequence[set[int]]) -> list[int]:
    """The annotated union: what is in as many sets as anything is."""
    count = Counter(row for found in sets for row in found)
    return sorted(row for row, number in count.items() if number == max(count.values()))


def aligned_sets(original: Array, released: Array, row: int) -> list[set[int]]:
    """For each attribute the released records with a value that stands where the original value stands when both are sorted."""
    found = []
    for j in range(original.shape[1]):
        values, centroids = sorted(original[:, j].tolist()), sorted(released[:, j].tolist())
        touched = {c for v, c in zip(values, centroids, strict=True) if v == original[row, j]}
        # Between two centroids that a value touches it touches all.
        found.append({other for other in range(len(released)) if min(touched) <= released[other, j] <= max(touched)})
    return found


# -- probabilistic linkage --------------------------------------------------------------------------------------------


def agrees(x: float, y: float, column: Sequence[float]) -> bool:
    """Whether y is the nearest value of the released column to x, the lower of two equally near."""
    return min(set(column), key=lambda value: (abs(value - x), value)) == y


def agreement(original: Array, released: Array) -> list[list[tuple[bool, ...]]]:
    """The pattern of every pair."""
    columns = [released[:, j].tolist() for j in range(released.shape[1])]
    return [
        [tuple(agrees(p, q, column) for p, q, column in zip(x, y, columns, strict=True)) for y in released.tolist()]
        for x in original.tolist()
    ]


def em(pairs: Sequence[tuple[bool, ...]], share: float) -> tuple[list[float], list[float], float]:
    """m, u and the share of matches, with every pair looked at in every round."""
    columns = len(pairs[0])
    m, u = [0.9] * columns, [0.1] * columns

    def clipped(value: float) -> float:
        return min(max(value, 1e-6), 1 - 1e-6)

    def likelihood(pattern: tuple[bool, ...], p: list[float]) -> float:
        return math.prod(q if agreed else 1 - q for agreed, q in zip(pattern, p, strict=True))

    for _ in range(1000):
        matching = []
        for pattern in pairs:
            same, different = share * likelihood(pattern, m), (1 - share) * likelihood(pattern, u)
            matching.append(same / (same + different))
        matches = math.fsum(matching)
        rest = len(pairs) - matches
        new_m = [
            clipped(math.fsum(g for g, p in zip(matching, pairs, strict=True) if p[j]) / matches)
            for j in range(columns)
        ]
        new_u = [
            clipped(math.fsum(1 - g for g, p in zip(matching, pairs, strict=True) if p[j]) / rest)
            for j in range(columns)
        ]
        new_share = matches / len(pairs)
        change = max(abs(p - q) for p, q in zip([*m, *u, share], [*new_m, *new_u, new_share], strict=True))
        m, u, share = new_m, new_u, new_share
        if change < 1e-8:
            break
    return m, u, share


class NaiveTree:
    """The probabilities of patterns by a tree of columns, each with its parent, from pairs that count more or less."""

    def __init__(
        self, pairs: Sequence[tuple[bool, ...]], counts: Sequence[float], made_up: float, price: float
    ) -> None:
        self.columns = len(pairs[0])
        self.edges: list[tuple[int, int]] = []
        every = list(itertools.product([False, True], repeat=self.columns))
        known = [*zip(pairs, counts, strict=True), *((pattern, made_up / len(every)) for pattern in every)]
        self.total = math.fsum(count for _, count in known)
        self.known = known
        gains = {
            (i, j): 2 * self.total * self._information(i, j) for i, j in itertools.combinations(range(self.columns), 2)
        }
        connected = {at: {at} for at in range(self.columns)}
        for i, j in sorted(gains, key=lambda pair: (-round(gains[pair], 9), pair)):
            if gains[i, j] > price and j not in connected[i]:
                self.edges.append((i, j))
                together = connected[i] | connected[j]
                connected |= dict.fromkeys(together, together)
        self.edges.sort()
        self.parent: dict[int, int | None] = {}
        for root in range(self.columns):
            todo: list[tuple[int, int | None]] = [(root, None)]
            while todo:
                at, parent = todo.pop()
                if at not in self.parent:
                    self.parent[at] = parent
                    todo += [(i + j - at, at) for i, j in self.edges if at in (i, j)]
        self._tables = {
            (at, parent, own, of_parent): self._chance({at: own} | ({} if parent is None else {parent: of_parent}))
            / (1 if parent is None else self._chance({parent: of_parent}))
            for at, parent in self.parent.items()
            for own in (False, True)
            for of_parent in (False, True)
        }

    def _chance(self, agreed: dict[int, bool]) -> float:
        return math.fsum(n for pattern, n in self.known if all(pattern[j] == a for j, a in agreed.items())) / self.total

    def _information(self, i: int, j: int) -> float:
        terms = []
        for a, b in itertools.product([False, True], repeat=2):
            both = self._chance({i: a, j: b})
            terms.append(both * math.log(both / (self._chance({i: a}) * self._chance({j: b}))))
        return math.fsum(terms)

    def __call__(self, pattern: tuple[bool, ...]) -> float:
        return math.prod(
            self._tables[at, parent, pattern[at], parent is not None and pattern[parent]]
            for at, parent in self.parent.items()
        )


def conditional_em(
    counts: dict[tuple[bool, ...], int], start: dict[tuple[bool, ...], float], targets: int, released: int
) -> tuple[NaiveTree, NaiveTree, int]:
    """Both trees and the number of steps, from first weights."""
    pairs, total = list(counts), sum(counts.values())
    share, price = released / total, math.log(targets)
    ratio = {pattern: math.exp(start[pattern]) for pattern in pairs}
    last = likelihood = -math.inf
    steps = 0
    while steps < 2 or (likelihood - last >= 1e-8 * abs(likelihood) and steps < 1000):
        last, steps = likelihood, steps + 1
        matching = [counts[g] * share * ratio[g] / (share * ratio[g] + 1 - share) for g in pairs]
        rest = [counts[g] - part for g, part in zip(pairs, matching, strict=True)]
        same = NaiveTree(pairs, matching, 2e-6 * total * share, price)
        apart = NaiveTree(pairs, rest, 2e-6 * total * (1 - share), price)
        ratio = {g: same(g) / apart(g) for g in pairs}
        every = list(itertools.product([False, True], repeat=same.columns))
        likelihood = math.fsum(counts[g] * math.log(share * same(g) + (1 - share) * apart(g)) for g in pairs)
        for tree, part in ((same, share), (apart, 1 - share)):
            likelihood += 2e-6 * total * part * math.fsum(math.log(tree(g)) for g in every) / len(every)
            likelihood -= price / 2 * len(tree.edges)
    return same, apart, steps


def weight(pattern: tuple[bool, ...], m: Sequence[float], u: Sequence[float]) -> float:
    return sum(
        math.log(p / q) if agreed else math.log((1 - p) / (1 - q)) for agreed, p, q in zip(pattern, m, u, strict=True)
    )


# -- measures ---------------------------------------------------------------------------------------------------------


def interval_disclosure(original: Array, released: Array, percents: Sequence[float]) -> list[float]:
    n, columns = original.shape
    shares = []
    for percent in percents:
        hits = sum(
            100 * rank_gap(original[:, j].tolist(), original[i, j], released[i, j]) <= percent * n
            for i in range(n)
            for j in range(columns)
        )
        shares.append(100 * hits / (n * columns))
    return shares


def covariance(x: Record, y: Record) -> float:
    return statistics.covariance(x, y) if len(x) > 1 else 0.0


def losses(X: Array, X2: Array) -> list[float]:
    """IL1 to IL5 in percent; terms with a zero denominator are left out."""
    columns, columns2 = X.T.tolist(), X2.T.tolist()
    p = len(columns)

    def mean_of(terms: list[tuple[float, float]]) -> float:
        shares = [difference / base for difference, base in terms if base != 0]
        return 100 * statistics.fmean(shares) if shares else 0.0

    def rel(a: float, b: float) -> tuple[float, float]:
        return abs(a - b), abs(a)

    values = [rel(a, b) for x, y in zip(columns, columns2, strict=True) for a, b in zip(x, y, strict=True)]
    means = [rel(statistics.mean(x), statistics.mean(y)) for x, y in zip(columns, columns2, strict=True)]
    covariances = [
        rel(covariance(columns[i], columns[j]), covariance(columns2[i], columns2[j]))
        for i, j in itertools.combinations_with_replacement(range(p), 2)
    ]
    variances = [rel(covariance(x, x), covariance(y, y)) for x, y in zip(columns, columns2, strict=True)]
    correlations = [
        abs(statistics.correlation(columns[i], columns[j]) - statistics.correlation(columns2[i], columns2[j]))
        for i, j in itertools.combinations(range(p), 2)
        if all(len(set(column)) > 1 for column in (columns[i], columns[j], columns2[i], columns2[j]))
    ]
    return [
        mean_of(values),
        mean_of(means),
        mean_of(covariances),
        mean_of(variances),
        100 * statistics.fmean(correlations) if correlations else 0.0,
    ]


def guessing(n: int, m: int) -> dict[int, float]:
    """The distribution of right links, by going through every way to link."""
    if n == m:
        ways = list(itertools.permutations(range(n)))
        count = Counter(sum(i == j for i, j in enumerate(way)) for way in ways)
    else:
        ways = list(itertools.product(range(m), repeat=n))
        count = Counter(sum(j == 0 for j in way) for way in ways)
    return {r: number / len(ways) for r, number in count.items()}


# -- data for the tests -----------------------------------------------------------------------------------------------


def rounds(
    attack: Callable[..., Links], original: tv.Dataset, released: Any, counts: Sequence[int] | None = None, **more: Any
) -> list[Links]:
    """The links with the first 1, 2, ..., all known attributes, or these numbers of them."""
    every = range(1, len(original.columns) + 1) if counts is None else counts
    return [attack(original, released, known=original.columns[:count], **more) for count in every]


def block_rounds(
    original: tv.Dataset, released: Any, counts: Sequence[int] | None = None, projection: str = "best", **more: Any
) -> list[Links]:
    """The projected linkage with the first 1, 2, ... blocks known, by the projection that is best over all rounds."""
    ends = np.cumsum([len(block) for block in original.blocks]).tolist()
    wanted = ends if counts is None else [ends[count - 1] for count in counts]
    tried = [
        rounds(tv.attack.projected, original, released, wanted, projection=how, **more)
        for how in (("pcp", "zscores") if projection == "best" else (projection,))
    ]
    return max(tried, key=lambda found: sum(links.correct for links in found))


def dataset(x: Array, ids: Sequence[str] | None = None, blocks: Sequence[int] | None = None) -> tv.Dataset:
    """A data set of attributes x0, x1, ... in blocks of the given widths (one block by default)."""
    names = [f"x{j}" for j in range(x.shape[1])]
    frame = pl.DataFrame(np.asarray(x, dtype=np.float64), schema=names, orient="row")
    ends = np.cumsum([0, *(blocks or [len(names)])]).tolist()
    parts = {f"b{i}": names[low:high] for i, (low, high) in enumerate(itertools.pairwise(ends))}
    plain: dict[str, None] = dict.fromkeys(parts)
    if ids is None:
        return tv.Dataset.from_frame(frame, blocks=parts, times=plain)
    return tv.Dataset.from_frame(frame.with_columns(id=pl.Series(list(ids))), id="id", blocks=parts, times=plain)


def pair_of_files(
    a: Array, b: Array, own: Sequence[int], blocks: Sequence[int] | None = None
) -> tuple[tv.Dataset, tv.Dataset, dict[str, str]]:
    """Two files and the truth: original i is released row own[i], or none where that is negative."""
    original = dataset(a, [f"a{i}" for i in range(len(a))], blocks)
    released = dataset(b, [f"b{i}" for i in range(len(b))], blocks)
    return original, released, {f"a{i}": f"b{row}" for i, row in enumerate(own) if row >= 0}


class NoisyFiles(NamedTuple):
    """A file and what noise made of it, without its last two records: values, the row of each record, and the same as data sets."""

    a: Array
    b: Array
    own: list[int]
    files: tuple[tv.Dataset, tv.Dataset, dict[str, str]]


def noise(rng: np.random.Generator, a: Array, deviations: float, correlated: bool) -> Array:
    """A file with noise added, with so many deviations of each column and, if asked, their correlations."""
    covariance = np.atleast_2d(np.cov(a.T))
    root = np.linalg.cholesky(covariance).T if correlated else np.diag(np.sqrt(np.diag(covariance)))
    found: Array = a + deviations * rng.normal(size=a.shape) @ root
    return found


def correlated(rng: np.random.Generator, n: int, columns: int) -> Array:
    """A file whose columns have something in common."""
    x: Array = rng.normal(size=(n, columns)) @ rng.normal(size=(columns, columns)) + 1000
    return x


def noisy_files(
    seed: int, n: int, blocks: list[int], deviations: float, with_covariance: bool, total: bool
) -> NoisyFiles:
    """Five columns of very different sizes in blocks; if asked, one of them follows from others, and one is constant."""
    rng = np.random.default_rng(seed)
    a = correlated(rng, n, 5)
    b = noise(rng, a, deviations, with_covariance)
    if total:
        for x in (a, b):
            x[:, 4] = x[:, 2] - 2 * x[:, 3] if blocks != [1, 4] else x[:, 1] + x[:, 3]
            x[:, 0] = 7.0
    scale = np.array([1e-6, 1.0, 1e6, 3.0, 1e3])
    a, b = a * scale, b[: n - 2] * scale
    own = [i if i < n - 2 else -1 for i in range(n)]
    return NoisyFiles(a, b, own, pair_of_files(a, b, own, blocks))


def known_of_blocks(blocks: list[int], count: int) -> list[int]:
    """How many columns of each block are among the first ones."""
    return [
        min(high, count) - low for low, high in itertools.pairwise([0, *itertools.accumulate(blocks)]) if low < count
    ]


def swapped(x: Array, window: int, rng: np.random.Generator) -> Array:
    """Rank swapping: every value exchanged once, within the window."""
    out = x.copy()
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        free = set(range(len(x)))
        for i in range(len(x)):
            near = [place for place in range(i + 1, min(i + window, len(x) - 1) + 1) if place in free]
            if i in free and near:
                partner = int(rng.choice(near))
                free -= {i, partner}
                one, two = order[i], order[partner]
                out[one, j], out[two, j] = x[two, j], x[one, j]
    return out


def grouped(x: Array, k: int, rng: np.random.Generator) -> Array:
    """Microaggregation column by column: runs of k to 2k-1 sorted values, cut anywhere, replaced by their means."""
    out = np.empty_like(x)
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        start = 0
        while start < len(x):
            left = len(x) - start
            size = left if left < 2 * k else int(rng.integers(k, min(2 * k - 1, left - k) + 1))
            members = order[start : start + size]
            low = x[members, j].min()
            out[members, j] = low + (x[members, j] - low).mean()
            start += size
    return out


def traded(a: Array, window: int, rng: np.random.Generator) -> Array:
    """A file whose values traded places in pairs at most `window` ranks apart, column by column."""
    b = a.copy()
    for j in range(a.shape[1]):
        order = np.argsort(a[:, j], kind="stable").tolist()
        free = set(range(len(a)))
        for rank in range(len(a)):
            others = [other for other in range(rank + 1, min(rank + window + 1, len(a))) if other in free]
            if rank in free and others:
                other = int(rng.choice(others))
                free -= {rank, other}
                one, two = order[rank], order[other]
                b[one, j], b[two, j] = a[two, j], a[one, j]
    return b
