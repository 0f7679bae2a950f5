"""Projected microaggregation: records sorted by one number, cut into groups of at least k, every value replaced by its group's mean.

Each block is reduced to one number per record by a projection: the first principal component, the sum of z-scores, or an aggregation
function such as the Sugeno integral (formulas in `transform.projection` and `transform.aggregation`). The records are sorted by
it and cut into consecutive groups:

    optimal   the cut into groups of k to 2k-1 records with the least sum of squared errors of the standardised block,

                  SSE = sum over groups g, records i in g and columns j of (z_ij - mean_gj)^2,

              by dynamic programming in O(n k d) for d columns
    fixed     groups of exactly k from both ends in turn; when fewer than 3k but at least 2k records are left, one more group of k from the
              end that is farther from their mean; the rest is the last group. This is MDAV on the projection and what the tables of [1]_
              were computed with

Sorting takes the place of comparing records with records, so this is far faster than MDAV, at the price of a larger loss when the
attributes of a block are not correlated. Records with equal projections are taken in the order of the file.

Guarantee: k-anonymity of each block by itself. An intruder who projects the original the same way links better than by distances
(projected record linkage, [1]_ section 4.3): measure that attack before releasing.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), sections 2.4.2, 3.2 and 4.3.
.. [2] J. M. Mateo-Sanz, J. Domingo-Ferrer, A method for data-oriented multivariate microaggregation, in: Statistical Data
   Protection (1999) 89-99.

Examples
--------
>>> import polars as pl, tsveil as tv
>>> from tsveil.protect.projected import Projected
>>> frame = pl.DataFrame({"a": [1.0, 2, 3, 6, 7, 8, 9], "b": [4.0, 15, 5, 17, 6, 18, 16]})
>>> data = tv.Dataset.from_frame(frame, blocks={"both": ["a", "b"]})
>>> release = Projected(k=2, projection="zscores").protect(data)
>>> release.data.block("both").round(2)
array([[ 2.  ,  4.5 ],
       [ 4.5 , 10.5 ],
       [ 2.  ,  4.5 ],
       [ 7.67, 17.  ],
       [ 4.5 , 10.5 ],
       [ 7.67, 17.  ],
       [ 7.67, 17.  ]])
>>> release.verify().holds
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.attack.base import OrderOfColumns, ProjectionsOfBlocks, RunsOfColumns, RunsOfProjections, Shape, Traces
from tsveil.core.errors import ParameterError
from tsveil.core.params import at_least, number, one_of, param
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.protect.base import SIZES, Described, Part, Protected, Rates, ValueMethod, check_k, sizes_of
from tsveil.protect.partition import Unit
from tsveil.protect.representative import represent
from tsveil.protect.survey import Scale as BlockScale
from tsveil.protect.survey import Survey
from tsveil.transform.aggregation import QUANTIFIERS
from tsveil.transform.normalise import Ruler
from tsveil.transform.projection import Projection, Scale, loadings_of, project_comparable

#: values of a block that are grouped as one part
VALUES = 2**24


@dataclass(frozen=True, kw_only=True)
class Projected(ValueMethod):
    """Records sorted by a projection and cut into groups of at least k, each value replaced by its group's mean."""

    name: ClassVar[str] = "projected"
    plain: ClassVar[str] = "hide each record among neighbours in one number"
    summary: ClassVar[str] = (
        "records sorted by one number (principal component, z-scores, ...), in groups of at least k neighbours"
    )
    reference: ClassVar[str] = "Nin 2008; Mateo-Sanz and Domingo-Ferrer 1999"
    rates: ClassVar[Rates] = Rates()
    representatives: ClassVar[bool] = True
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)

    k: int = param(5, at_least(2), "smallest group: every published row of a block is shared by at least k records")
    projection: Projection = param(
        "pcp",
        one_of("pcp", "zscores", "sugeno", "owa", "choquet", "twofold"),
        "the number that sorts the records: principal component, sum of z-scores, or an aggregation function",
    )
    grouping: Literal["optimal", "fixed"] = param(
        "optimal",
        one_of("optimal", "fixed"),
        "how the sorted records are cut: with the least squared error, or k from both ends",
    )
    scale: Scale = param(
        "auto",
        one_of("auto", "standardise", "range"),
        "how attributes are made comparable before projecting; auto: standardised for pcp and zscores, ranged to 0..1 otherwise",
    )
    quantifier: Literal["exponent", "sigmoid", "threshold"] = param(
        "exponent",
        one_of("exponent", "sigmoid", "threshold"),
        "family of the quantifier Q of the aggregation functions",
    )
    alpha: float = param(1.0, number(0, 100), "parameter of the quantifier; 1 with the exponent family is Q(x) = x")

    def __post_init__(self) -> None:
        super().__post_init__()
        QUANTIFIERS[self.quantifier](self.alpha)  # refuses an alpha that does not fit
        if self.projection == "zscores" and self.scale == "range":
            raise ParameterError(
                "The 'scale' parameter of Projected must be 'auto' or 'standardise' for projection='zscores'. Got 'range'."
            )

    @property
    def means(self) -> bool:
        """Groups are published as their means."""
        return True

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes, by two projections."""
        return [{"k": list(SIZES), "projection": ["pcp", "zscores"]}]

    def guarantee(self, data: Described) -> KAnonymity:
        """k-anonymity of blocks."""
        return KAnonymity(self.k, scope="block", blocks=len(data.blocks))

    def traces(self, release: Shape) -> Traces:
        """Groups are neighbours in the projection, which is the column itself where there is only one."""
        if release.single:
            return OrderOfColumns(), RunsOfColumns(), ProjectionsOfBlocks()
        if self.projection in ("pcp", "zscores") and self.scale != "range":
            return ProjectionsOfBlocks(), RunsOfProjections(self.projection)
        return (ProjectionsOfBlocks(),)

    def check(self, survey: Survey) -> None:
        """There must be k records."""
        check_k(self._label(), self.k, survey.n)

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each block, in ranges of its projection where there are more than about 16 million values."""
        return tuple(
            Unit(b.name, b.name, tuple(survey.span(b.name)), None if survey.n * len(b) <= VALUES else max(1, VALUES // len(b)))
            for b in survey.blocks
        )  # fmt: skip

    def least(self, unit: Unit) -> int:
        """A range holds at least one group."""
        return self.k

    def scales(self, survey: Survey) -> tuple[BlockScale, ...]:
        """Columns are standardised for cutting, and ranged or standardised for projecting; pcp needs their products."""
        return tuple((block.name, "products" if self.projection == "pcp" else "component") for block in survey.blocks)

    def space(self, values: Array, unit: Unit, survey: Survey) -> Array:
        """The projection of each record."""
        (scale,) = (scale for scale in self.scales(survey) if scale[0] == unit.name)
        ruler = survey.rulers[scale]
        standardised = self.scale == "standardise" or (self.scale == "auto" and self.projection in ("pcp", "zscores"))
        z = (ruler if standardised else Ruler(ruler.low, ruler.width)).measure(np.ascontiguousarray(values))
        loadings = None
        if self.projection == "pcp":
            products = survey.products[unit.name]
            spread = np.ravel(ruler.deviation) if standardised else np.ones(len(products))
            loadings = loadings_of(products / np.outer(spread, spread))
        return project_comparable(z, self.projection, QUANTIFIERS[self.quantifier](self.alpha), loadings)[:, None]

    def protect_part(self, part: Part) -> Protected:
        """Project, sort, cut, and replace values by those of their group."""
        along = self.space(part.values, part.unit, part.survey)[:, 0]
        order = np.argsort(along, kind="stable")
        groups = np.empty(len(along), dtype=np.int64)
        if self.grouping == "optimal":
            from tsveil._kernels.partition import least_sse_runs

            (scale,) = (scale for scale in self.scales(part.survey) if scale[0] == part.unit.name)
            groups[order] = least_sse_runs(part.survey.rulers[scale].measure(part.values)[order], self.k)
        else:
            groups[order] = fixed_groups(along[order], order, self.k)
        return Protected(represent(part.values, groups, "mean"), groups, facts=sizes_of(groups))


def fixed_groups(along: Array, order: Indices, k: int) -> Indices:
    """The group of each place of a sorted projection: k from both ends in turn, the rest in between; numbered by rising values.

    `order` gives the record at each place: when both ends are equally far from the mean, the end with the lower record is taken.

    Examples
    --------
    >>> import numpy as np
    >>> fixed_groups(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0]), np.arange(7), 2)
    array([0, 0, 1, 1, 1, 2, 2])
    """
    n = len(along)
    pairs = max(0, n // k - 1) // 2  # pairs of groups taken while at least 3k records are left
    low, high = pairs * k, n - pairs * k
    cuts = [*range(0, low, k), low, *range(high, n, k)]
    if high - low >= 2 * k:
        left = along[low:high] - along[low]
        mean = float(left.sum()) / len(left)
        below, above = mean, float(left[-1]) - mean
        from_below = below > above or (below == above and order[low] < order[high - 1])
        cuts.append(low + k if from_below else high - k)
    starts = np.zeros(n, dtype=np.int64)
    starts[cuts] = 1
    return np.cumsum(starts) - 1
