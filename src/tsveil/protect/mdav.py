"""MDAV microaggregation: groups of at least k similar records, every value replaced by its group's mean.

While at least 3k records remain: c is the mean of the remaining records, r the record farthest from c; r and its k-1 nearest
records form a group; s is the record farthest from r among the rest; s and its k-1 nearest form another. If at least 2k
remain, one more group forms around the farthest from the new mean; the rest is the last group. Sizes run from k to 2k-1.

The distance decides what the groups have in common:

    Euclidean   d(x, v)^2 = sum_t (x_t - v_t)^2                                                 similar values
    STS         d(x, v)^2 = sum_t ((x_{t+1}-x_t)/(s_{t+1}-s_t) - (v_{t+1}-v_t)/(s_{t+1}-s_t))^2     similar shapes

with the time stamps s. STS works on slopes, and the mean commutes with taking slopes; so one algorithm serves both, on
values or on slopes, and the published values are means of the raw values in either case.

The printed loop of [2] and [3] (`variant="paper"`) goes on while more than k records remain; its last group may then hold
fewer than k records. It is offered to reproduce published figures, warns, and its releases fail verification when that happens.

Exact MDAV compares records with records, and its time grows with the square of their number. The **partitioned** mode is for more
than that can bear: it cuts the records into parts of some thousand along their principal directions (`protect.partition`) and runs exact
MDAV in each part. Groups still have at least k members; they are a little less tight, because a group cannot cross the border of a part.
`mode="auto"` takes it for more than 200,000 records or 2^27 values (1 GB) of a block, and the release says which mode was used.

MDAV is greedy: later groups get what earlier ones left. With `refine` the same promise costs less; `refine="none"` is MDAV as it was published. Let SSE be the sum of the squared
distances of all records to their group's mean, in the space of the distance (standardised columns for attributes, slopes for STS):

    swap      the default: records move to near groups, or are swapped with records of near groups, and groups are dissolved or formed anew, as long
              as the SSE falls and every group keeps at least k: a local optimum, 7 to 50 % below MDAV on what we measured
    search    goes on from there with trials at random places, each kept if the SSE fell, for a number of `iterations` or of `seconds`

Equal seeds and iterations give equal groups, whatever the number of threads; with `seconds` the speed of the machine decides. Tighter
groups are nearer to the originals, for users and for intruders: k bounds what linkage can achieve as before, but the share of right
links within that bound can rise. `docs/less-loss.md` has both figures for the usual reference data.

Where several records may belong to one person (`person=` when reading), k counts persons: a group holds at most one record of each
(`protect.mdav_persons`). A person with more records than there are groups cannot have them all published: the records that find no group are
suppressed, `max_records` leaves out a random choice of them beforehand, and `share = "told"` lets them join groups in which their person is already.

Records with gaps take part where the data were read with `missing="mask"` (`protect.mdav_masked`): distances are over the points that both records have, and a group publishes
a value where enough of its members have one, else an empty cell.

Records may hold labels beside numbers (`categories=` when reading): nominal, ordinal, or with a hierarchy. They are compared by the distance of
`tsveil.transform.mixed`, in which each column, and each series as a whole, weighs the same unless `weights` say otherwise (`scale = "gower"`: by ranges). What is published
of a group are means, the middle of ordinals, the commonest nominal label, and of a hierarchy the label that is nearest to all; with
`representative = "generalise"` the lowest common ancestor of labels that are not ordinal (`tsveil.protect.mixed`).

Guarantee: k-anonymity of whole records, or of each block by itself with `grouping="per-block"`: then who knows several blocks of a person can
combine them.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data Mining
   and Knowledge Discovery 11 (2005) 195-212.
.. [2] J. Nin, V. Torra, Extending microaggregation procedures for time series protection, LNAI 4259 (2006) 899-908.
.. [3] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009) 1663-1677.
.. [4] R. Mortazavi, S. Jalili, H. Gohargazi, Multivariate microaggregation by iterative optimization, Applied Intelligence 39 (2013)
   529-544: another way to improve groups by moving records.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.array([[1.0, 2.0], [1.2, 2.2], [5.0, 4.0], [5.0, 4.4]])
>>> release = tv.MDAV(k=2).protect(tv.Dataset.from_arrays({"load": curves}))
>>> release.data.block("load")
array([[1.1, 2.1],
       [1.1, 2.1],
       [5. , 4.2],
       [5. , 4.2]])
>>> print(release.verify())
HOLDS: 2-anonymity: in each block, every published row of values is shared by at least 2 records.
  the smallest group has 2 records

Plain MDAV puts 6 with 9, because 10 and 11 are taken; refined groups follow the data:

>>> line = tv.Dataset.from_arrays({"x": np.array([[0.0], [1.0], [4.0], [5.0], [6.0], [9.0], [10.0], [11.0]])})
>>> tv.MDAV(k=2, refine="none").protect(line).groups["x"]
array([0, 0, 3, 3, 2, 2, 1, 1])
>>> tv.MDAV(k=2).protect(line).groups["x"]
array([0, 0, 2, 2, 2, 1, 1, 1])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.params import at_least, number, one_of, optional, param
from tsveil.core.registry import DISTANCES
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.engine.local import cores
from tsveil.protect._mdav_exact import exact_groups
from tsveil.protect._refine import LARGE, Budget, Refine, refined_groups, sse_saving
from tsveil.protect.base import EXACT_RECORDS, EXACT_VALUES, PART, SIZES, Part
from tsveil.protect.mdav_masked import masked_groups
from tsveil.protect.mdav_persons import Share, person_groups
from tsveil.protect.mdav_persons import refined_groups as refined_person_groups
from tsveil.protect.microaggregation import Microaggregation
from tsveil.protect.mixed import Mixed, join_nearest, mdav_groups
from tsveil.protect.survey import Survey


@dataclass(frozen=True, kw_only=True)
class MDAV(Microaggregation):
    """Groups of at least k similar records by maximum distance to the average vector."""

    name: ClassVar[str] = "mdav"
    plain: ClassVar[str] = "hide each record among at least k similar ones"
    starting: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True
    continues: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "groups of at least k similar records (by value or by shape), each value replaced by the group's mean; "
        "refined, so that they lose less at the same k"
    )
    reference: ClassVar[str] = "Domingo-Ferrer and Torra 2005; for time series Nin and Torra 2006, 2009"

    variant: Literal["standard", "paper"] = param(
        "standard", one_of("standard", "paper"), "paper follows the printed loop, whose last group may be too small"
    )
    mode: Literal["auto", "exact", "partitioned"] = param(
        "auto",
        one_of("auto", "exact", "partitioned"),
        "partitioned: MDAV in parts along principal directions, for very many records",
    )
    refine: Refine = param(
        "swap",
        one_of("none", "swap", "search"),
        "make MDAV's groups tighter: swap records between near groups, or search on for longer; none with variant = paper",
        depends=True,
    )
    iterations: int | None = param(
        None, optional(at_least(1)), "refine = search: how many trials; 50 per group unless said otherwise"
    )
    seconds: float | None = param(
        None,
        optional(number(0, 1e6, open_low=True)),
        "refine = search: stop after this time, in each block; results then depend on the machine",
    )
    part: int = param(PART, at_least(100), "partitioned mode: about how many records a part holds")
    share: Share = param(
        "bounded",
        one_of("bounded", "told"),
        "persons with several records: no group holds two of them (bounded), or the largest share of a person is only reported (told)",
    )
    max_records: int | None = param(
        None,
        optional(at_least(1)),
        "persons with several records: how many of them are used, chosen at random; all unless given",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "paper" and self.refine != "none":
            raise ParameterError(
                "The 'refine' parameter of MDAV must be 'none' with variant='paper', which reproduces published figures. "
                f"Got {self.refine!r}."
            )
        if self.refine != "search" and (self.iterations is not None or self.seconds is not None):
            raise ParameterError(
                "The 'iterations' and 'seconds' parameters of MDAV are the budget of refine='search'. "
                f"Got refine={self.refine!r}."
            )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes, refined and not; shapes for series."""
        grids: list[dict[str, list[Any]]] = [{"k": [3, 5, 7, 10, 15, 20, 30], "refine": ["none", "swap"]}]
        for name, distance in DISTANCES.items():
            if distance.in_sweeps and all(block.is_series and len(block) >= distance.fewest for block in data.blocks):
                grids.append({"k": list(SIZES), "distance": [name]})
        return grids

    @classmethod
    def with_defaults(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Groups are refined unless the printed loop is asked for, which is there to reproduce published figures."""
        found = super().with_defaults(given)
        return found if "refine" in given or found["variant"] != "paper" else found | {"refine": "none"}

    def most_records(self) -> int | None:
        """As many as were asked for."""
        return self.max_records

    def counting_unit(self) -> Literal["persons", "share"]:
        """With `share="told"` one person may have more than 1/k of a class, but k persons are in it all the same."""
        return "share" if self.share == "bounded" else "persons"

    def check(self, survey: Survey) -> None:
        """With persons, or gaps, there is neither the printed loop nor the long search."""
        super().check(survey)
        if survey.gaps and (self.variant == "paper" or self.refine == "search"):
            raise ParameterError(
                "With gaps (missing='mask'), MDAV takes variant='standard' and refine='none' or 'swap'. "
                f"Got variant={self.variant!r} and refine={self.refine!r}."
            )
        if survey.gaps and self.grouping == "per-block" and len(survey.blocks) > 1:
            raise ParameterError(
                "With gaps (missing='mask'), MDAV takes grouping='joint': a record that has too few points of one block would have to be left out of all of them."
            )
        if survey.gaps and self._is_mixed(survey.blocks):
            raise InputError(
                "MDAV cannot protect records with gaps (missing='mask') beside labels or weights\n  options: read the data with missing='drop' or missing='interpolate'"
            )
        if self.variant == "paper" and self._is_mixed(survey.blocks):
            raise ParameterError(
                "The 'variant' parameter of MDAV must be 'standard' where columns hold labels or weights."
            )
        if survey.persons is None and (self.share != "bounded" or self.max_records is not None):
            raise ParameterError(
                "The 'share' and 'max_records' parameters of MDAV are for data whose persons are declared (person=), and these are not."
            )
        if survey.persons is not None and (self.variant == "paper" or self.refine == "search"):
            raise ParameterError(
                "With persons (person=), MDAV takes variant='standard' and refine='none' or 'swap'. "
                f"Got variant={self.variant!r} and refine={self.refine!r}."
            )

    def part_size(self, n: int, columns: int) -> int | None:
        """Exact MDAV takes all records as one part as long as their number and that of their values allow it."""
        exact = n <= EXACT_RECORDS and n * columns <= EXACT_VALUES
        return None if self.mode == "exact" or (self.mode == "auto" and exact) else max(self.part, 2 * self.k - 1)

    def group(self, space: Array, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """Exact MDAV of a part, refined or not."""
        size, n = part.unit.size, part.survey.n
        mode = {"mode": "exact" if size is None else "partitioned"}
        if part.survey.gaps:
            return self._masked_groups(space, part, counter), mode
        if part.survey.persons is not None:
            return self._person_groups(space, part, counter), mode
        budget = Budget(self.seconds, self.iterations)
        if size is not None and len(space) > 3 * size:
            # A part is that large where records are equal, which can be grouped in any order, or where the sample was far off.
            return equal_records(len(space), self.k), mode
        plain = exact_groups(space, self.k, variant=self.variant, counter=counter)
        if self.refine == "none":
            return plain, mode
        if size is not None:
            share = budget.share(len(space), n, min(cores(), -(-n // size)))
            return refined_groups(space, plain, self.k, self.refine, part.rng, share, hurried=n > LARGE), mode
        groups = refined_groups(space, plain, self.k, self.refine, part.rng, budget)
        return groups, mode | sse_saving(space, plain, groups)

    def mixed_part_size(self, n: int, columns: int) -> int | None:
        """As for numbers, with parts from fewer records on."""
        if self.mode != "auto":
            return self.part_size(n, columns)
        return super().mixed_part_size(n, columns) and max(self.part, 2 * self.k - 1)

    def group_mixed(self, mixed: Mixed, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """MDAV by mixed distances, refined or not."""
        size, n, persons = part.unit.size, len(mixed.values), part.persons
        facts: dict[str, Any] = {"mode": "exact" if size is None else "partitioned"}
        several = part.survey.persons is not None and len(np.unique(persons)) < n
        if size is not None and n > 3 * size and not several:
            return equal_records(n, self.k), facts
        plain = join_nearest(mixed, persons, mdav_groups(mixed, persons, self.k, counter), "bounded")
        grouped = np.flatnonzero(plain >= 0)
        groups = plain.copy()
        if self.refine != "none" and len(grouped):
            some = Mixed(mixed.values[grouped], mixed.features, mixed.uses)
            groups[grouped], more = self._refined(some, persons[grouped], plain[grouped], part, several=several)
            facts |= more if size is None else {}
        return join_nearest(mixed, persons, groups, self.share), facts

    def _refined(
        self, mixed: Mixed, persons: Indices, plain: Indices, part: Part, *, several: bool
    ) -> tuple[Indices, dict[str, Any]]:
        """Groups with a smaller sum of squared distances within them, and the fact for the report."""
        Z = mixed.embedding()
        if Z is None:
            return plain, {"refined": "no, there are too many labels"}
        if several:
            own = np.unique(persons, return_inverse=True)[1].astype(np.int64)
            found = refined_person_groups(Z, own, plain, self.k)
        else:
            n, size = part.survey.n, part.unit.size
            budget = Budget(self.seconds, self.iterations)
            budget = budget if size is None else budget.share(len(Z), n, min(cores(), -(-n // size)))
            found = refined_groups(
                Z, plain, self.k, self.refine, part.rng, budget, hurried=size is not None and n > LARGE
            )
        before, after = mixed.space.spread_within(plain), mixed.space.spread_within(found)
        if not after < before:
            return plain, {}
        return found, {"SSE below plain MDAV": f"{100 * (1 - after / before):.1f} %"}

    def _person_groups(self, space: Array, part: Part, counter: Indices) -> Indices:
        """The same with at most one record of each person in a group."""
        return person_groups(
            space, part.persons, self.k, share=self.share, refine=self.refine == "swap", counter=counter
        )

    def _masked_groups(self, space: Array, part: Part, counter: Indices) -> Indices:
        """The same of records with gaps; persons are counted, declared or not."""
        return masked_groups(
            space, part.persons, self.k, share=self.share, refine=self.refine == "swap", counter=counter
        )

    def warnings(self, sizes: Indices) -> tuple[str, ...]:
        """The printed loop may leave a group too small."""
        small = np.flatnonzero(sizes < self.k)
        return tuple(
            f"the printed loop (variant='paper') left group {group} with {sizes[group]} of the {self.k} records that k-anonymity needs"
            for group in small[:5].tolist()
        )


def equal_records(n: int, k: int) -> Indices:
    """Groups of k records in their order, the last ones joined.

    Examples
    --------
    >>> equal_records(5, 2)
    array([0, 0, 1, 1, 1])
    """
    found: Indices = np.minimum(np.arange(n) // k, n // k - 1)
    return found
