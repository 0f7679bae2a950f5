"""The model of linkage by conditional probability: agreements that depend on each other along trees.

The formulas and references stand in `tsveil.attack.conditional`. The model is a file of its own because linkage of records with labels uses it as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsveil.attack.agreement import EDGE, patterns, plain_model
from tsveil.core.types import Array, Indices

#: with fewer known attributes it is P-RL
FEWEST = 4
#: steps of EM at most, and the relative change of the likelihood that is small enough
ROUNDS, CHANGE = 1000, 1e-8

Edges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class ConditionalModel:
    """The estimated model: its weights, and the edges of the trees of pairs of one person and of two."""

    weights: Array
    same: Edges = ()
    apart: Edges = ()
    #: the log-likelihood less the price of the edges, after each step
    likelihoods: tuple[float, ...] = ()
    #: whether EM came to an end by itself
    settled: bool = True


@dataclass(frozen=True, eq=False)
class Tree:
    """The probabilities of patterns over a forest of attributes."""

    #: the probability of disagreement and of agreement of each attribute, as logarithms
    single: Array
    edges: Edges
    #: for each edge the logarithms by which the four outcomes are likelier than by themselves
    bonds: Array

    @classmethod
    def of(cls, weights: Array, bits: Array, made_up: float, price: float) -> Tree:
        """The best tree for some patterns with weights and made-up pairs; an edge is kept if twice its gain exceeds the price."""
        columns, sum_of = bits.shape[1], weights.sum()
        total = sum_of + made_up
        i, j = np.triu_indices(columns, 1)
        agreed = weights @ bits
        both = (bits.T @ (weights[:, None] * bits))[i, j]
        # Sums of weights: what rounding leaves below zero is nothing.
        one, other = agreed[i] - both, agreed[j] - both
        cells = (np.maximum([sum_of - agreed[i] - other, other, one, both], 0) + made_up / 4) / total
        single = np.log((np.maximum([sum_of - agreed, agreed], 0) + made_up / 2) / total)
        bonds = np.log(cells) - (single[:, None, i] + single[None, :, j]).reshape(4, -1)
        gains = 2 * total * (cells * bonds).sum(axis=0)
        # In nanonats, so that equal gains are equal however they were summed; pairs are in their order.
        order = np.argsort(-np.rint(gains * 1e9), kind="stable")
        pairs = list(zip(i.tolist(), j.tolist(), strict=True))
        chosen = _forest(columns, [pairs[at] for at in order if gains[at] > price])
        return cls(single, chosen, bonds[:, [pairs.index(edge) for edge in chosen]])

    def logarithms(self, bits: Indices) -> Array:
        """The log-probability of each pattern."""
        found: Array = self.single[0].sum() + bits @ (self.single[1] - self.single[0])
        for at, (i, j) in enumerate(self.edges):
            found += self.bonds[2 * bits[:, i] + bits[:, j], at]
        return found

    @property
    def mean(self) -> float:
        """The mean log-probability of all patterns."""
        return float(self.single.mean(axis=0).sum() + self.bonds.mean(axis=0).sum())


def _forest(columns: int, pairs: Sequence[tuple[int, int]]) -> Edges:
    """The pairs, from the best on, that connect what is not yet connected."""
    branch = list(range(columns))
    chosen = []
    for i, j in pairs:
        if branch[i] != branch[j]:
            chosen.append((i, j))
            old, new = branch[j], branch[i]
            branch = [new if at == old else at for at in branch]
    return tuple(sorted(chosen))


def conditional_model(counts: Indices, targets: int, released: int) -> ConditionalModel:
    """The model that fits the counts of the 2^c patterns best, where `released` of the `targets` are in the release.

    Examples
    --------
    >>> bits = patterns(4)
    >>> together = np.where(bits[:, 0] == bits[:, 1], 0.4, 0.1) * np.where(bits[:, 2:], 0.9, 0.1).prod(axis=1)
    >>> apart = np.where(bits, 0.01, 0.99).prod(axis=1)
    >>> conditional_model(np.rint(1e3 * together + 1e6 * apart).astype(int), 1000, 1000).same
    ((0, 1),)
    """
    columns = len(counts).bit_length() - 1
    plain = plain_model(counts).weights
    if columns < FEWEST:
        return ConditionalModel(plain)
    seen = np.flatnonzero(counts)
    every = patterns(columns).astype(np.int64)
    numbers, pairs = every[seen], counts[seen].astype(np.float64)
    bits, total, price = numbers.astype(np.float64), float(counts.sum()), math.log(max(targets, 1))
    share = min(max(released / total, EDGE * EDGE), 1 - EDGE)
    made_up = 2 * EDGE * total * share, 2 * EDGE * total * (1 - share)
    odds = math.log(share / (1 - share))
    ratio = plain[seen] + odds
    likelihoods: list[float] = []
    settled = False
    while not settled and len(likelihoods) < ROUNDS:
        matching = pairs / (1 + np.exp(-np.clip(ratio, -700, 700)))
        same, apart = Tree.of(matching, bits, made_up[0], price), Tree.of(pairs - matching, bits, made_up[1], price)
        of_one, of_two = same.logarithms(numbers) + math.log(share), apart.logarithms(numbers) + math.log(1 - share)
        ratio = of_one - of_two
        likelihood = float(pairs @ np.logaddexp(of_one, of_two)) + made_up[0] * same.mean + made_up[1] * apart.mean
        likelihoods.append(likelihood - price / 2 * (len(same.edges) + len(apart.edges)))
        if len(likelihoods) > 1:
            settled = likelihoods[-1] - likelihoods[-2] < CHANGE * abs(likelihoods[-1])
    if not same.edges and not apart.edges:
        return ConditionalModel(plain, likelihoods=tuple(likelihoods), settled=settled)
    weights = same.logarithms(every) - apart.logarithms(every)
    return ConditionalModel(weights, same.edges, apart.edges, tuple(likelihoods), settled)
