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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tsveil.attack.agreement import Agree, check_agreement, heaviest_pairs, table_of
from tsveil.attack.agreement_trees import conditional_model
from tsveil.attack.by_agreement import ByAgreement
from tsveil.attack.files import HasData, Ties, files
from tsveil.attack.links import Links
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset


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
    """Link originals to the released records of the largest weight, over known attributes whose agreements depend on each other.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        At most 12 attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    agree
        When two values agree: "nearest", if the released one is the nearest to the original one, or "within", if they differ by at most `tolerance`.
    tolerance
        The difference, in standard deviations, up to which values agree within it.
    window
        The number of ranks within which values agree, in the place of `agree`.
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
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
        f"conditional probabilistic linkage{'' if model.settled else f' (stopped after {len(model.likelihoods)} steps)'}"
    )
    return Links.of(words, (tied, link, hit), ties, pair.own, len(pair.b), persons=pair.persons, facts=facts)


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
        return (
            model.weights,
            None if model.settled else f"{self.plain} was stopped after {len(model.likelihoods)} steps of EM",
        )
