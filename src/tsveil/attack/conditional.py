"""Conditional probabilistic record linkage: like P-RL, but what agrees may depend on what else agrees.

Agreements are seldom independent: who earns much pays much tax, and where noise moved one of two related values far, it often moved the other. So the probabilities of a pattern g of
agreements, for pairs of one person (m) and of two (u), are products over a tree of attributes each [1]_,

    m(g) = prod_j m(g_j | g_parent(j)),      u(g) = prod_j u(g_j | g_parent(j)),      weight(g) = log m(g) / u(g)

and each original record is linked to the released one of the largest weight. Trees and probabilities are estimated by EM [2]_: given the probability of each pair to belong to one
person, the best tree of either kind is the spanning tree of the largest mutual information (MI) of its edges [3]_, found anew in each step. An edge must be worth its price: it is kept only if

    2 N MI > ln(number of targets),      N the number of pairs of that kind

so a tree can fall apart into branches, down to single attributes. If both are left without edges, the attack is P-RL (`tsveil.attack.probabilistic`), and so it is with fewer than four known attributes.
The share of matches is fixed: the targets that were released, divided by all pairs. Of edges of equal MI that of the lowest attributes is taken.

EM begins with the weights of P-RL. As an edge has a price, what never falls from step to step is the log-likelihood less ln(targets) / 2 for each edge; EM stops when it changes by less than 1e-8 of
itself, or after 1000 steps, which is said then. Probabilities stay off 0 and 1 by a few made-up pairs, one in a million, that are spread evenly over all patterns.

It is not always better than P-RL, so both are tried and the larger rate counts. Values agree by the same rules.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de Barcelona (2008), section 7.3.
.. [2] M. Meila, M. I. Jordan, Learning with mixtures of trees, Journal of Machine Learning Research 1 (2000) 1-48.
.. [3] C. K. Chow, C. N. Liu, Approximating discrete probability distributions with dependence trees, IEEE Transactions on Information Theory 14 (1968) 462-467.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rng = np.random.default_rng(0)
>>> x = rng.integers(0, 12, (500, 6)).astype(float)
>>> noisy = x.copy()
>>> for pair in ([0, 1], [2, 3], [4, 5]):  # related values change together
...     changed = rng.random(500) < 0.5
...     noisy[np.ix_(changed, pair)] = rng.integers(0, 12, (changed.sum(), 2))
>>> data = tv.Dataset.from_arrays({"a": x})
>>> tv.attack.probabilistic(data, data.with_values(noisy))
Links: probabilistic linkage, 6 attributes known: 195.0 of 500 records re-identified (39.0 %)
>>> found = tv.attack.conditional(data, data.with_values(noisy))
>>> found
Links: conditional probabilistic linkage, 6 attributes known: 236.2 of 500 records re-identified (47.2 %)
>>> found.facts["same"]
[('0', '1'), ('2', '3'), ('4', '5')]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tsveil.attack.agreement import EDGE, Agree, check_agreement, heaviest_pairs, patterns, plain_model, table_of
from tsveil.attack.by_agreement import ByAgreement
from tsveil.attack.files import HasData, Ties, files
from tsveil.attack.links import Links
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset

#: with fewer known attributes it is P-RL
FEWEST = 4
#: steps of EM at most, and the relative change of the likelihood that is small enough
ROUNDS, CHANGE = 1000, 1e-8

Edges = tuple[tuple[int, int], ...]


def conditional(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    window: int | None = None,
    ties: Ties = "expected",
) -> Links:
    """Link originals to the released records of the largest weight, over at most 12 known attributes whose agreements depend on each other; a `window` of ranks takes the place of `agree`."""
    pair = files(original, released, known, truth)
    names, count = pair.names, len(pair.names)
    check_agreement("conditional", count, agree, tolerance, window, ties)
    table = table_of(pair, agree, tolerance, window)
    model = conditional_model(table.total(), len(pair.own), int((pair.own >= 0).sum()))
    _, tied, link, hit = (each[0] for each in heaviest_pairs(table, {count: model.weights}, lowest=True))
    facts = {
        "same": [(names[i], names[j]) for i, j in model.same],
        "apart": [(names[i], names[j]) for i, j in model.apart],
        "rounds": len(model.likelihoods),
        "settled": model.settled,
    }
    words = pair.describe(
        f"conditional probabilistic linkage{'' if model.settled else f' (stopped after {ROUNDS} steps)'}"
    )
    return Links.of(words, (tied, link, hit), ties, pair.own, len(pair.b), persons=pair.persons, facts=facts)


# -- the model --------------------------------------------------------------------------------------------------------


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


# -- files in pieces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Conditional(ByAgreement):
    """Linkage to the released record whose agreements weigh most, with the dependences between them."""

    name: ClassVar[str] = "conditional"
    figure: ClassVar[str] = "CPLD"
    plain: ClassVar[str] = "linkage by conditional probability"
    summary: ClassVar[str] = (
        "Share linked right by which attributes agree, weighed by how much each agreement tells where another one is known."
    )
    reference: ClassVar[str] = "Nin 2008; Chow and Liu 1968; Meila and Jordan 2000"
    on_files: ClassVar[Callable[..., Links] | None] = partial(conditional)

    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """Those of the model of trees."""
        model = conditional_model(counts, targets, released)
        return model.weights, None if model.settled else f"{self.plain} was stopped after {ROUNDS} steps of EM"
