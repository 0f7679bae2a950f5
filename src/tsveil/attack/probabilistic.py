"""Probabilistic record linkage (P-RL): which attributes of two records agree, weighed by how much their agreement tells.

Each pair of an original and a released record has a pattern of agreements over the c known attributes. In the model of Fellegi
and Sunter [1]_ attribute j agrees with probability m_j if both records belong to one person and u_j otherwise, independently of
the other attributes, and a pair is weighed by the log-ratio

    weight = sum_j log(m_j / u_j) where j agrees, log((1 - m_j) / (1 - u_j)) where not.

Each original record is linked to the released one of the largest weight. m, u and the share of matching pairs are estimated by
the EM algorithm [2]_ from the counts of the 2^c patterns among all pairs, which are counted without looking at the pairs.

When do two numbers agree? By default if the released value is the nearest released one to the original (the lower of two
equally near): every record then has a label per attribute, and equal labels agree. With `agree="within"`, if they
differ by at most `tolerance` standard deviations. With a `window`, if they are at most that many ranks apart (see `tsveil.attack.rank_swap`): this is
the rule on releases whose method moves values by a few ranks, where equal values tell nothing.

Given bounds on the probabilities of a false match and of a false non-match, pairs are linked, not linked or left undecided
as the theory has it; then only records whose best pair is linked have a link.

References
----------
.. [1] I. P. Fellegi, A. B. Sunter, A theory for record linkage, Journal of the American Statistical Association 64 (1969)
   1183-1210.
.. [2] W. E. Winkler, Advanced methods for record linkage, Proceedings of the Section on Survey Research Methods, American
   Statistical Association (1994).

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rng = np.random.default_rng(0)
>>> x = rng.integers(0, 20, (1000, 4)).astype(float)
>>> noisy = np.where(rng.random(x.shape) < 0.9, x, rng.integers(0, 20, x.shape))
>>> data = tv.Dataset.from_arrays({"a": x})
>>> found = tv.attack.probabilistic(data, data.with_values(noisy))
>>> found
Links: probabilistic linkage, 4 attributes known: 904.8 of 1000 records re-identified (90.5 %)
>>> {name: round(m, 2) for name, m in found.facts["m"].items()}
{'0': 0.91, '1': 0.91, '2': 0.9, '3': 0.89}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tsveil.attack.agreement import Agree, heaviest_links, plain_model
from tsveil.attack.by_agreement import ByAgreement
from tsveil.attack.files import HasData, Ties, files
from tsveil.attack.links import Links
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset


def probabilistic(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    false_matches: float | None = None,
    false_non_matches: float | None = None,
    ties: Ties = "expected",
    window: int | None = None,
) -> Links:
    """Link originals to the released records of the largest weight, over known attributes.

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
    false_matches, false_non_matches
        The largest probabilities of a false match and of a false non-match that are accepted: pairs between are left undecided. Without them each record has its best pair.
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.
    window
        The number of ranks within which values agree, in the place of `agree`.

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
    return heaviest_links(pair, agree, tolerance, false_matches, false_non_matches, ties, window)


# -- files in pieces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Probabilistic(ByAgreement):
    """Linkage to the released record whose agreements weigh most, each by itself."""

    name: ClassVar[str] = "probabilistic"
    figure: ClassVar[str] = "PLD"
    plain: ClassVar[str] = "linkage by probability"
    summary: ClassVar[str] = "Share linked right by which attributes agree, weighed by how much each agreement tells."
    reference: ClassVar[str] = "Fellegi and Sunter 1969"
    on_files: ClassVar[Callable[..., Links] | None] = partial(probabilistic)

    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """Those of the model of independent agreements."""
        return plain_model(counts).weights, None
