"""Noise: a random number is added to every value; the baseline that other methods are compared with.

With the share a (`sd`), column j's standard deviation s_j and the block's covariance matrix S (both of the original, divisor
n - 1):

    independent    x'_ij = x_ij + a s_j e_ij,    e_ij independent standard normal
    correlated     x'_i  = x_i  + a e_i,         e_i independent normal vectors with covariance S

Noise adds a^2 s_j^2 to every variance. Independent noise weakens correlations by the factor 1/(1 + a^2); correlated noise
multiplies the whole covariance matrix by 1 + a^2, so correlations are kept within a block. Means are kept in expectation.
Published values may leave the range of the original ones (a negative age), and whole numbers do not stay whole.

A draw with covariance S comes from its triangular factor R, R'R = S: e = z R with standard normal z. This needs no inverse and no full
rank.

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
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import BlockCovariance, DrawnAtRandom, NoiseOnValues, Shape, Traces
from tsveil.core.errors import InputError
from tsveil.core.params import number, param, true_or_false
from tsveil.core.randomness import secret_normals
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import Described, Part, Protected, Rates, ValueMethod
from tsveil.protect.partition import Tree, Unit
from tsveil.protect.survey import Scale, Survey
from tsveil.transform.ordered import rows_times
from tsveil.transform.triangle import triangle

#: records that are drawn for together
RUN = 2**16


@dataclass(frozen=True, kw_only=True)
class Noise(ValueMethod):
    """Normal noise added to every value, in proportion to the spread of its column."""

    name: ClassVar[str] = "noise"
    plain: ClassVar[str] = "add random noise to every value"
    summary: ClassVar[str] = "normal noise is added to every value, in proportion to the spread of its column"
    reference: ClassVar[str] = "Kim 1986; Brand 2002"
    rates: ClassVar[Rates] = Rates()
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.NOISE_ADDITION,)

    sd: float = param(
        0.1,
        number(0, 100, open_low=True),
        "the noise's standard deviation, as a share of the column's: 0.1 means a tenth",
    )
    correlated: bool = param(False, true_or_false(), "noise with the correlations of the block, which are then kept")

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Shares of the standard deviation."""
        return [{"sd": [0.05, 0.1, 0.25, 0.5, 1.0]}]

    def traces(self, release: Shape) -> Traces:
        """Values that are near the original ones, which the usual attacks find; with the correlations of the block, another distance finds more."""
        moved = NoiseOnValues(self.sd), DrawnAtRandom()
        return (BlockCovariance(), *moved) if self.correlated else moved

    def check(self, survey: Survey) -> None:
        """Refuse data without a spread to measure noise by."""
        if survey.n < 2:
            raise InputError(
                f"{self._label()} cannot protect this data: one record has no standard deviation, at least 2 records are needed"
            )

    def guarantee(self, data: Described) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee(
            f"Every published value is the true one plus a random number of about {100 * self.sd:g} % of its column's standard "
            "deviation. The record that is nearest to what is known of a person often is the right one, and outliers remain "
            "visible; attacks measure how often records are found."
        )

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each block, in runs of records: a record's noise depends on its place in the data set, not on its neighbours."""
        return tuple(
            Unit(b.name, b.name, tuple(survey.span(b.name)), None if survey.n <= RUN else RUN) for b in survey.blocks
        )

    def tree(self, sample: Array, unit: Unit, survey: Survey) -> Tree:
        """No cuts: parts are runs of records."""
        return Tree.uncut(sample.shape[1])

    def leaves(self, unit: Unit, survey: Survey, tree: Tree) -> int:
        """The number of runs."""
        assert unit.size is not None
        return -(-survey.n // unit.size)

    def leaf(self, values: Array, records: Indices, unit: Unit, survey: Survey, tree: Tree) -> Indices:
        """The run of each record."""
        assert unit.size is not None
        return records // unit.size

    def scales(self, survey: Survey) -> tuple[Scale, ...]:
        """The spread of each column, and of all pairs for correlated noise."""
        return tuple((block.name, "products" if self.correlated else "component") for block in survey.blocks)

    def protect_part(self, part: Part) -> Protected:
        """Add noise to all columns of a block."""
        (scale,) = (scale for scale in self.scales(part.survey) if scale[0] == part.unit.name)
        ruler = part.survey.rulers[scale]
        width = np.ravel(ruler.width)
        normals = secret_normals(part.rng, part.values.size).reshape(part.values.shape)
        if self.correlated:
            noise = rows_times(normals, triangle(part.survey.products[part.unit.name] / (part.survey.n - 1)))
        else:
            noise = normals * np.where(width > 0, ruler.deviation, 0.0)
        return Protected(
            values=part.values + self.sd * noise * width,
            facts={"values": part.values.size},
        )

    def constants(self, survey: Survey, home: str) -> dict[str, Any]:
        """How many columns have no spread."""
        own = list(survey.span(home))
        return {"constant columns, published as they are": int(np.count_nonzero(survey.low[own] == survey.high[own]))}
