"""Noise: a random number is added to every value; the baseline that other methods are compared with.

With the share a (`sd`), column j's standard deviation s_j and the block's covariance matrix S (both of the original, divisor
n - 1):

    independent    x'_ij = x_ij + a s_j e_ij,    e_ij independent standard normal
    correlated     x'_i  = x_i  + a e_i,         e_i independent normal vectors with covariance S

Noise adds a^2 s_j^2 to every variance. Independent noise weakens correlations by the factor 1/(1 + a^2); correlated noise
multiplies the whole covariance matrix by 1 + a^2, so correlations are kept within a block. Means are kept in expectation.
Published values may leave the range of the original ones (a negative age), and whole numbers do not stay whole.

A draw with covariance S comes from the triangular factor R of the centred values, R'R = (n-1) S: e = z R / sqrt(n-1) with
standard normal z. This needs no inverse and no full rank.

Guarantee: none. A value lies within two of the added deviations for 19 of 20 records, so who knows several attributes finds the
nearest record to be the right one unless the noise is as large as the data's own spread; outliers stay outliers.

References
----------
.. [1] J. J. Kim, A method for limiting disclosure in microdata based on random noise and transformation, Proceedings of the
   Section on Survey Research Methods, American Statistical Association (1986) 370-374.
.. [2] R. Brand, Microdata protection through noise addition, in: Inference Control in Statistical Databases, LNCS 2316 (2002)
   97-116.

Examples
--------
>>> import numpy as np
>>> from tsveil.data.dataset import Dataset
>>> curves = np.random.default_rng(1).normal(50, 10, (5000, 3)).cumsum(axis=1)
>>> release = Noise(sd=0.3, correlated=True).protect(Dataset.from_arrays({"load": curves}), seed=2)
>>> (np.cov(release.data.block("load").T) / np.cov(curves.T)).round(1)
array([[1.1, 1.1, 1.1],
       [1.1, 1.1, 1.1],
       [1.1, 1.1, 1.1]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil._types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError, Problems
from tsveil.guarantee.base import NoGuarantee
from tsveil.params import number, param, true_or_false
from tsveil.protect.base import Method, Protected
from tsveil.randomness import secret_normals
from tsveil.technique import Technique


@dataclass(frozen=True, kw_only=True)
class Noise(Method):
    """Normal noise added to every value, in proportion to the spread of its column."""

    name: ClassVar[str] = "noise"
    summary: ClassVar[str] = "normal noise is added to every value, in proportion to the spread of its column"
    reference: ClassVar[str] = "Kim 1986; Brand 2002"
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.NOISE_ADDITION,)

    sd: float = param(
        0.1,
        number(0, 100, open_low=True),
        "the noise's standard deviation, as a share of the column's: 0.1 means a tenth",
    )
    correlated: bool = param(False, true_or_false(), "noise with the correlations of the block, which are then kept")

    def check(self, data: Dataset) -> None:
        """Refuse data without a spread to measure noise by."""
        problems = Problems(f"{self._label()} cannot protect this data", InputError)
        if data.n < 2:
            problems.add("one record has no standard deviation: at least 2 records are needed")
        problems.raise_if_any()

    def protect_block(self, values: Array, block: Block, rng: np.random.Generator) -> Protected:
        """Add noise to all columns of a block."""
        # Counted from the first record and in units of the widest distance to it: neither a large offset nor huge or tiny
        # values cost digits, and equal values have no spread at all.
        shifted = values - values[0]
        widest = np.abs(shifted).max(axis=0)
        unit = shifted / np.where(widest > 0, widest, 1.0)
        centred = unit - unit.mean(axis=0)
        if self.correlated:
            factor = _triangle(centred) / np.sqrt(len(values) - 1)
            noise = secret_normals(rng, len(values) * len(factor)).reshape(len(values), -1) @ factor
        else:
            noise = secret_normals(rng, values.size).reshape(values.shape) * centred.std(axis=0, ddof=1)
        return Protected(
            values=values + self.sd * noise * widest,
            facts={
                "values": values.size,
                "constant columns, published as they are": int(np.count_nonzero(widest == 0)),
            },
        )

    def guarantee(self, data: Dataset) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee(
            f"Every published value is the true one plus a random number of about {100 * self.sd:g} % of its column's standard "
            "deviation. The record that is nearest to what is known of a person often is the right one, and outliers remain "
            "visible; attacks measure how often records are found."
        )


def _triangle(centred: Array) -> Array:
    """R with R'R = X'X, upper triangular, with a diagonal of at least zero so that it does not depend on the linear algebra library."""
    factor = np.asarray(np.linalg.qr(centred, mode="r"))
    signs = np.where(np.diagonal(factor) < 0, -1.0, 1.0)
    out: Array = factor * signs[:, None]
    return out
