"""(n,l,k)-anonymity: at each time point clusters of at least k series, and smaller ones where that gives nothing away.

All series of a cluster get the same value at that time, the mean (or median) of the cluster. If every cluster has k members,
nothing can be inferred below k. Smaller clusters lose less, and an intruder who knows n values may infer up to l-n-1 others; the
heuristics spend that allowance where it saves most.

**Stage 1**: the series are sorted at each time point; gaps are cut in descending order wherever both sides keep k members. `stage1`
publishes that: nothing can be inferred below k, whatever is known.

**Stage 2** cuts these clusters further, each cut only if the table stays (n,l,k)-anonymous, which is checked exactly:

    mth    clusters by (max - min) * size, the widest and largest first; inside by gap (the paper's better heuristic)
    mil    time points by their loss, clusters by their loss; inside by gap
    gpe    always the cut that saves most loss per cell that becomes small

**peel** goes another way. A value of f can be inferred only where f's cluster has fewer than k members, so if no series has more
than l-n-1 such cells the table is anonymous without any search. Each series may spend l-n-1 cells; they are published exactly
where that lowers the loss most, and the other cells of each column are grouped with the least possible loss

    min over groups of k to 2k-1 neighbours of   sum |x - representative|

by dynamic programming. Which cells? First every series puts a price on its allowance, what its last cell is worth elsewhere, and
in each column those cells are peeled that save more than they cost, whole groups of them if need be. What is left of the
allowances is spent greedily, one cell after the other, and cells are moved to other times while that lowers the loss.

`auto` takes the best of mth, gpe and peel. Every result is verified before it is used. If the verifier cannot decide one, the cuts
are made again without those that need a search.

Time grows faster than the records. Above about two million values the series are clustered in pieces of time, and single time points of very many
records in ranges of values. Each series may spend a share of its allowance in each piece, and cuts are made only where the count of small clusters
allows them; `auto` peels. This loses more than clustering whole series at once (45,000 walks of 24 points: 34 and 92 % more).

**Series with values at different times** (`missing="mask"`) are clustered as they are: at each time those that have a value there. A time at which fewer
than k series have one is published for nobody. What is published of a series has its times, and these count as known (`tsveil.guarantee.nlk` has the
definition), so a series whose times nobody shares is safe only by counting: with at most l-n-1 small cells. `stage1` and `peel` need nothing else, and
`auto` is `peel` here. The cuts of mth, mil and gpe, whose search supposes the same times for all, several series in one release, and tables that would be
clustered in parts are refused. How many series their times alone, and n values beside them, single out is measured and told.

Guarantee: (n,l,k)-anonymity of points of several dimensions, or of each series by itself with `grouping="per-block"`. It does not stop
re-identification; how many series n known values single out is measured and told with every release.

References
----------
.. [1] S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, Pattern-sensitive time-series anonymization and its application to
   energy-consumption data, Open Journal of Information Systems 1 (2014) 3-22.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> from tsveil.protect.nlk import NLK
>>> loads = np.array([[1.0, 5, 2], [2, 5, 9], [3, 6, 2], [10, 6, 2], [11, 7, 3], [30, 7, 2]])
>>> release = NLK(n=1, l=3, k=3).protect(tv.Dataset.from_arrays({"load": loads}))
>>> release.data.block("load")
array([[ 2. ,  5. ,  2. ],
       [ 2. ,  5. ,  9. ],
       [ 2. ,  6.5,  2. ],
       [10. ,  6.5,  2. ],
       [11. ,  6.5,  3. ],
       [30. ,  6.5,  2. ]])
>>> release.verify().holds
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from tsveil.attack.base import RunsOfColumns, Shape, Traces
from tsveil.core import progress
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.params import at_least, one_of, param
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.data.pieces import piece
from tsveil.data.store import open_store
from tsveil.engine.base import Result, Task
from tsveil.guarantee.base import Status
from tsveil.guarantee.nlk import NLKAnonymity, check_nlk, find_violation
from tsveil.measure.nlk import clusters_per_point, nlk_figures, singled_out
from tsveil.protect.base import Described, Part, Protected, Rates, ValueMethod, whole_records
from tsveil.protect.microaggregation import TOGETHER
from tsveil.protect.partition import Unit
from tsveil.protect.representative import Representative
from tsveil.protect.survey import Scale, Survey
from tsveil.release.release import Release
from tsveil.transform.normalise import normalise, normalise_one

if TYPE_CHECKING:
    from tsveil._kernels.nlk_protect import Columns

Heuristic = Literal["auto", "stage1", "mth", "mil", "gpe", "peel"]
PEEL = "peel"
#: those that spend the allowance of small clusters
HEURISTICS = ("mth", "mil", "gpe", PEEL)

#: values of a unit that are clustered at once; where there are more, values of a part, and of a part where small clusters are made, which
#: takes time that grows faster than the records
WHOLE, CELLS, SPENT = 2**21, 2**22, 2**16
#: sums of larger values could leave the range of float64
LARGEST = 1e150
#: nodes of the search tree for one cut
NODES_PER_CUT = 2000
#: nodes for all cuts, times the cells of the table; a node looks at all cells at worst
SEARCH_WORK = 2 * 10**10
#: how often prices are found anew before cells are peeled
PRICES = 6
#: how often the peeled cells are gone through to move them
ROUNDS = 4
#: of the largest value times the number of records: what rounding may feign as a gain
NOISE = 1e-13


@dataclass(frozen=True, kw_only=True)
class NLK(ValueMethod):
    """Clusters at each time point such that who knows n values of a series infers fewer than l-n others."""

    name: ClassVar[str] = "nlk"
    plain: ClassVar[str] = "keep who knows a few values of a series from inferring many others"
    summary: ClassVar[str] = (
        "at each time clusters of series with one value, so that who knows n values of a series can infer fewer than l-n others"
    )
    reference: ClassVar[str] = "Kessler, Buchmann, Burghardt and Böhm 2014"
    rates: ClassVar[Rates] = Rates(value=5e-5)
    representatives: ClassVar[bool] = True
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)
    takes: ClassVar[frozenset[str]] = frozenset({"series"})
    takes_gaps: ClassVar[bool] = True
    headline: ClassVar[tuple[str, ...]] = ("n", "l", "k")

    n: int = param(7, at_least(1), "how many values of a series an intruder may know")
    l: int = param(10, at_least(2), "how many values an intruder must not reach, the known ones included; above n")
    k: int = param(10, at_least(2), "a value counts as inferred when fewer than k series remain possible for it")
    heuristic: Heuristic = param(
        "auto",
        one_of("auto", "stage1", *HEURISTICS),
        "how small clusters are chosen; auto takes the least loss, stage1 makes none",
    )
    representative: Representative = param("mean", one_of("mean", "median"), "what replaces the values of a cluster")
    smallest_cluster: int = param(1, at_least(1), "smallest cluster published; with 2 no value is published exactly")
    grouping: Literal["per-block", "joint"] = param(
        "joint",
        one_of("per-block", "joint"),
        "all series at a time as one point of several dimensions, or each series by itself",
    )

    @property
    def means(self) -> bool:
        """Unless medians are published."""
        return self.representative == "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.l <= self.n:
            raise ParameterError(f"The 'l' parameter of NLK must be above n ({self.n}). Got {self.l}.")
        if self.smallest_cluster > self.k:
            raise ParameterError(
                f"The 'smallest_cluster' parameter of NLK must be at most k ({self.k}). Got {self.smallest_cluster}."
            )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Two pairs of n and l."""
        return [{"n": [n], "l": [l], "k": [5, 10, 20]} for n, l in ((3, 6), (7, 14))]

    def guarantee(self, data: Described) -> NLKAnonymity:
        """(n,l,k)-anonymity of each series, or of points of several dimensions."""
        return NLKAnonymity(self.n, self.l, self.k, scope="record" if whole_records(self.grouping, data) else "block")

    def traces(self, release: Shape) -> Traces:
        """Clusters at a time point are neighbours there, unless several series make points of several dimensions; these stay near the original ones, which the attacks that every release gets find."""
        return () if self.grouping == "joint" and len(release.blocks) > 1 else (RunsOfColumns(),)

    def check(self, survey: Survey) -> None:
        """There must be k records and l time points."""
        lengths = [len(block) for block in survey.blocks]
        check_nlk("NLK", self.n, self.l, self.k, records=survey.n, points=min(lengths))
        if whole_records(self.grouping, survey) and len(set(lengths)) > 1:
            raise InputError(
                f"grouping='joint' needs series of the same length. Got {', '.join(map(str, lengths))} points\n"
                "  options: grouping='per-block', or resample the series"
            )
        if survey.gaps:
            self._check_gaps(survey)
        if survey.largest > LARGEST:
            raise InputError(f"values beyond {LARGEST:g} cannot be averaged safely\n  options: rescale the data first")

    def _check_gaps(self, survey: Survey) -> None:
        """Refuse what cannot be done where series have values at different times."""
        if self.heuristic in ("mth", "mil", "gpe"):
            raise ParameterError(
                "With gaps (missing='mask'), the 'heuristic' parameter of NLK must be 'auto', 'peel' or 'stage1': the others search for attacks "
                f"among series with the same times. Got {self.heuristic!r}."
            )
        if len(survey.blocks) > 1:
            raise InputError(
                f"NLK protects one series with gaps (missing='mask') at a time; this data set has {len(survey.blocks)}\n"
                "  options: a release of each series (--block NAME=FIRST..LAST, blocks=...), or read the data with missing='drop' or missing='interpolate'"
            )
        if any(unit.size is not None for unit in self.units(survey)):
            raise InputError(
                f"NLK clusters series with gaps (missing='mask') all at once, and {survey.n:,} records of {survey.width:,} points are more than "
                f"{WHOLE:,} values\n  options: fewer series or a shorter time, or read the data with missing='drop' or missing='interpolate'"
            )
        assert survey.present is not None
        for block in survey.blocks:
            there = survey.present[survey.span(block.name)]
            enough = int((there >= self.k).sum())
            if enough < self.l:
                raise InputError(
                    f"series {block.name!r} has {enough} time points at which {self.k} records have a value, and l = {self.l} are needed\n"
                    "  options: a smaller k or l, or resample the series to common times"
                )

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each series, or all of them together; in pieces of time, and single points in ranges of values, above about two million values."""
        if whole_records(self.grouping, survey):
            return self._pieces(TOGETHER, [survey.span(b.name) for b in survey.blocks], survey.n)
        return tuple(unit for b in survey.blocks for unit in self._pieces(b.name, [survey.span(b.name)], survey.n))

    def _pieces(self, home: str, spans: Sequence[range], n: int) -> tuple[Unit, ...]:
        """The pieces of time of some series that are clustered together; the columns of the first series come first."""
        T = len(spans[0])
        if n * T * len(spans) <= WHOLE:
            return (Unit(home, home, tuple(at for span in spans for at in span)),)
        cells = CELLS if self.heuristic == "stage1" else SPENT
        points = min(T, max(1, cells // (n * len(spans))))
        borders = [(start, min(T, start + points)) for start in range(0, T, points)]
        size = max(2 * self.k, cells // (points * len(spans)))
        return tuple(
            Unit(
                f"{home}, points {start + 1} to {stop}",
                home,
                tuple(at for span in spans for at in span[start:stop]),
                size,
                number,
                len(borders),
            )
            for number, (start, stop) in enumerate(borders)
        )

    def least(self, unit: Unit) -> int:
        """A part holds at least one cluster."""
        return self.k

    def scales(self, survey: Survey) -> tuple[Scale, ...]:
        """Points of several dimensions are compared on one scale for each series."""
        return tuple((b.name, "global") for b in survey.blocks) if whole_records(self.grouping, survey) else ()

    def space(self, values: Array, unit: Unit, survey: Survey) -> Array:
        """Values, or for several dimensions standardised ones."""
        if not whole_records(self.grouping, survey):
            return values
        width = values.shape[1] // len(survey.blocks)
        own = [values[:, at * width : (at + 1) * width] for at in range(len(survey.blocks))]
        return np.hstack([survey.scale(x, b.name, "global") for x, b in zip(own, survey.blocks, strict=True)])

    def protect_part(self, part: Part) -> Protected:
        """Cluster a series, or all of them as points of several dimensions."""
        dimensions = len(part.survey.blocks) if whole_records(self.grouping, part.survey) else 1

        def cube(table: Array) -> Array:
            return np.ascontiguousarray(table.reshape(len(table), dimensions, -1).transpose(0, 2, 1))

        compared = cube(self.space(part.values, part.unit, part.survey)) if dimensions > 1 else None
        gaps = part.survey.gaps
        points = sorted_beside_gaps(part.values, self.k) if gaps else sorted_points(cube(part.values), compared)
        what = "points" if dimensions > 1 else f"series {part.unit.name!r}"
        if part.unit.size is None:
            chosen, remarks = self._best(points, what)
        else:
            chosen, remarks = self._run_by_count(points, part, dimensions), []
        facts: dict[str, Any] = {
            "heuristic": chosen.heuristic,
            "loss": chosen.loss,
            "loss of stage 1": self._stage1(points).loss,
            "cuts accepted": chosen.accepted,
            "cuts refused": chosen.refused,
            "cuts undecided": chosen.undecided,
            "cells peeled": chosen.peeled,
            "clusters": int(clusters_per_point(chosen.published).sum()),
        }  # fmt: skip
        if gaps:
            few = points.counts == 0
            unpublished = int((~np.isnan(part.values[:, few])).sum())
            facts |= {"times without k values": int(few.sum()), "values not published": unpublished}
            if unpublished:
                remarks = [
                    *remarks,
                    f"{what}: at {few.sum()} of {len(few)} times fewer than {self.k} series have a value; these {unpublished} values are not published",
                ]
        values = np.ascontiguousarray(chosen.published.transpose(0, 2, 1)).reshape(part.values.shape)
        return Protected(values, warnings=tuple(remarks), facts=facts)

    def _run_by_count(self, points: SortedPoints, part: Part, dimensions: int) -> Candidate:
        """A piece of time, in which each series may have a share of its allowance of small cells.

        Pieces whose allowances add up to l-n-1 or less make an anonymous table together, by the count of small cells: no search for attacks
        is needed. The cuts of mth, mil and gpe are made as long as the count allows them; auto peels.
        """
        heuristic = PEEL if self.heuristic == "auto" else self.heuristic
        # What a piece may spend it cannot compare with the others, so at most half of a series stays as it is.
        points_of_all = len(part.survey.blocks[0])
        allowance = min(self.l - self.n - 1, points_of_all // 2)
        if heuristic == PEEL:
            return self._peel(points, "points", shares(part.unit, allowance, part.rows))
        even = int(shares(part.unit, allowance, np.zeros(1, dtype=np.int64))[0])
        even = min(even, len(part.unit.columns) // dimensions // 2)
        # What is known decides nothing here, and one point of it takes the least memory.
        return replace(self, n=1, l=2 + even)._run_heuristic(points, heuristic, "points", search=False)

    def _best(self, points: SortedPoints, what: str) -> tuple[Candidate, list[str]]:
        """The table of the least loss that can be verified, and what is to be said of it."""
        every = (PEEL,) if points.has_gaps else (PEEL, "gpe", "mth")
        heuristics = every if self.heuristic == "auto" else (self.heuristic,)
        candidates = sorted(
            (self._run_heuristic(points, heuristic, what) for heuristic in heuristics), key=lambda made: made.loss
        )
        chosen = next((made for made in candidates if self._holds(made)), None)
        if chosen is not None:
            return chosen, []
        # Without cuts that need a search the table is anonymous by counting alone, and the verifier needs none either.
        chosen = self._run_heuristic(points, candidates[0].heuristic, what, search=False)
        remark = (
            f"{what}: the table made by {chosen.heuristic} could not be verified within the search limit; it was made again without "
            "the cuts that need a search, and loses a little more for it"
        )
        return chosen, [remark]

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What the parameters cost."""
        if self.heuristic == "stage1":
            return []
        found: list[str] = []
        if survey.n * survey.width > WHOLE and any(unit.pieces > 1 for unit in self.units(survey)):
            found.append(
                "the allowance of each series was divided over pieces of time beforehand, so that they could be protected one by one; "
                "a whole series at once would lose less"
            )
        for home, own in facts.items():
            what = "points" if home == TOGETHER else f"series {home!r}"
            accepted, refused, undecided = (own[f"cuts {word}"] for word in ("accepted", "refused", "undecided"))
            if undecided:
                found.append(
                    f"{what}: {undecided} cuts could not be decided within the search limit and were refused, which costs a little loss"
                )
            if self.l - self.n == 1 and self.smallest_cluster < self.k:
                done = (
                    f"only {accepted} of {accepted + refused} cuts could be made"
                    if accepted
                    else "no cut could be made"
                )
                found.append(
                    f"{what}: l - n = 1 leaves no value that an intruder may infer, so clusters smaller than {self.k} series are hardly "
                    f"ever possible ({done}); a larger l or a smaller n would lose less"
                )
            elif accepted + own["cells peeled"] == 0 and self.smallest_cluster < self.k:
                found.append(
                    f"{what}: no cluster could be made smaller than {self.k} series, because n = {self.n}, l = {self.l} and k = {self.k} "
                    "leave no room; a larger l or a smaller n would lose less"
                )
        return found

    def conclude(self, release: Release) -> Release:
        """Measure how many series a few known values single out."""
        facts, warnings = {home: dict(own) for home, own in release.facts.items()}, list(release.warnings)
        kept, original = release.contents, release.original
        todo = [{"store": release.store.handle, "at": at} for at in range(kept.files)]
        sizes = [
            int(one["records"])
            for one in release.engine.map(keep_published_values, todo, "Looking at what is published")
        ]
        order = np.asarray(release.store.get("records"))
        for home, own in facts.items():
            names = [b.name for b in original.blocks] if home == TOGETHER else [home]
            spans = [range(*original.span(name).indices(len(original.columns))) for name in names]
            points = list(zip(*spans, strict=True))
            found = singled_out(
                release.store, release.engine, sizes, points, self.n, rows=np.argsort(order), gaps=original.masked
            )
            own |= {
                "identified by random known values, %": round(found.random, 2),
                "identified by chosen known values, %": round(found.chosen, 2),
            }
            what = "points" if home == TOGETHER else f"series {home!r}"
            warnings.append(found.warning(what))
        return replace(release, facts=facts, warnings=tuple(warnings))

    def _holds(self, made: Candidate) -> bool:
        return find_violation(made.published, self.n, self.l, self.k).status is Status.HOLDS

    # -- the heuristics ------------------------------------------------------------------------------------------------

    def _run_heuristic(self, points: SortedPoints, heuristic: str, what: str, *, search: bool = True) -> Candidate:
        """The table by one heuristic."""
        if heuristic == "stage1":
            return replace(self._stage1(points), heuristic=heuristic)
        if heuristic == PEEL:
            return self._peel(points, what)
        return self._cut(points, heuristic, what, search=search)

    def _stage1(self, points: SortedPoints) -> Candidate:
        label, _ = first_clusters(points, self.k)
        return self._make_candidate(points, np.take_along_axis(label, points.order, axis=1), "stage 1")

    def _cut(self, points: SortedPoints, heuristic: str, what: str, *, search: bool) -> Candidate:
        """Stage 1, and then the cuts of stage 2 in the order of a heuristic."""
        from tsveil._kernels.nlk_protect import ACCEPTED, REFUSED, UNDECIDED, Table, make_cuts

        T, N = points.order.shape
        label, stop = first_clusters(points, self.k)
        table = Table(
            order=points.order,
            label=label,
            stop=stop,
            small=np.zeros(N, dtype=np.int64),
            hints=np.zeros((N, self.n), dtype=np.int64),
            hinted=np.zeros(N, dtype=np.int64),
            certain=np.zeros(N, dtype=np.bool_),
            stale=np.ones(N, dtype=np.bool_),
            n=self.n,
            m=self.l - self.n,
            k=self.k,
            smallest=self.smallest_cluster,
            node_limit=NODES_PER_CUT,
            nodes_left=np.array([SEARCH_WORK // (N * T) if search else 0], dtype=np.int64),
            who=np.zeros((self.n + 1, N), dtype=np.int64),
            branch=np.zeros((self.n + 1, T), dtype=np.int64),
            stamp=np.zeros(N + 1, dtype=np.int64),
            rows=np.zeros((9, max(T, self.n + 1)), dtype=np.int64),
        )
        median = self.representative == "median"
        cells = self._cuts_in_order(points, label, heuristic)
        outcomes = np.zeros(3, dtype=np.int64)
        if heuristic == "gpe" or len(cells):
            with progress.step(f"Cutting clusters of {what}", total=len(cells)) as counter:
                make_cuts(table, cells, points.S, points.gaps, median, outcomes, counter)
        made = self._make_candidate(points, np.take_along_axis(label, points.order, axis=1), heuristic)
        return replace(
            made,
            accepted=int(outcomes[ACCEPTED]),
            refused=int(outcomes[REFUSED]),
            undecided=int(outcomes[UNDECIDED]),
        )

    def _cuts_in_order(self, points: SortedPoints, label: Indices, heuristic: str) -> Indices:
        """The cuts of stage 2 in the order in which they are tried: time * N + position. GPE finds its own order."""
        if heuristic == "gpe":
            return np.empty(0, dtype=np.int64)
        T, N = points.order.shape
        group = np.take_along_axis(label, points.order, axis=1)
        name = (group + N * np.arange(T)[:, None]).ravel()
        starts = np.flatnonzero(name == np.arange(T * N))
        cluster = np.cumsum(name == np.arange(T * N)) - 1
        sizes = np.diff(np.append(starts, T * N))
        flat = points.S.reshape(T * N, -1)
        if heuristic == "mth":
            height = (np.maximum.reduceat(flat, starts) - np.minimum.reduceat(flat, starts)).sum(axis=1)
            ranked = np.argsort(-height * sizes, kind="stable")
        else:
            centre = group_representatives(points.S, group, self.representative).reshape(T * N, -1)
            loss = np.add.reduceat(np.abs(flat - centre).sum(axis=1), starts)
            time = starts // N
            of_time = np.bincount(time, weights=loss, minlength=T)
            ranked = np.lexsort((starts, -loss, time, -of_time[time]))
        rank = np.empty_like(ranked)
        rank[ranked] = np.arange(len(ranked))
        gap = np.concatenate([np.zeros((T, 1)), points.gaps], axis=1).ravel()
        cells = np.flatnonzero((gap > 0) & (name != np.arange(T * N)))
        listed: Indices = cells[np.lexsort((cells, -gap[cells], rank[cluster[cells]]))]
        return listed

    def _peel(self, points: SortedPoints, what: str, allowance: Indices | None = None) -> Candidate:
        """The allowance of every series, l-n-1 cells unless given, spent on small clusters, and the rest of each column grouped optimally."""
        from tsveil._kernels.nlk_protect import HUGE, Columns, group_columns, peel

        T, N = points.order.shape
        dimensions, most = points.S.shape[2], 2 * self.k + self.smallest_cluster
        # Sums of values around their middle keep the digits that sums of large values would lose.
        middle = (points.counts // 2)[:, None, None]
        left = np.arange(N) < points.counts[:, None]
        S = np.where(left[:, :, None], points.S - np.take_along_axis(points.S, middle, axis=1), 0.0)
        together = self.smallest_cluster
        cols = Columns(
            S=S,
            order=points.order,
            left=left,
            budget=np.minimum(np.full(N, self.l - self.n - 1) if allowance is None else allowance, T)
            * (together < self.k),
            gain=np.zeros((T, N)),
            before=np.zeros((T, N + 1)),
            after=np.zeros((T, N + 1)),
            least=np.zeros(T),
            counted=np.full(T, -1, dtype=np.int64),
            noise=NOISE * N * np.abs(S).sum(axis=2).max(axis=1),
            k=self.k,
            together=together,
            median=self.representative == "median",
            x=np.zeros((dimensions, N)),
            sums=np.zeros(N + 1),
            position=np.zeros(N, dtype=np.int64),
            gains=np.zeros(N),
            earlier=np.zeros(N + 2),
            in_order=np.zeros((dimensions, most)),
            closed=np.full(N, HUGE),
        )
        owner = np.where(left, 0, -1)
        cells = int(points.counts.sum())
        with progress.step(f"Peeling {what}", total=int(cols.budget.sum())) as counter:
            if together == 1 and cols.budget.any():
                _peel_by_price(cols, owner)
            peel(cols, np.argsort(points.order, axis=1), owner, ROUNDS, counter)
        group = np.zeros((T, N), dtype=np.int64)
        group_columns(cols, owner, group)
        return replace(self._make_candidate(points, group, PEEL), peeled=cells - int(cols.left.sum()))

    def _make_candidate(self, points: SortedPoints, group: Indices, heuristic: str) -> Candidate:
        """The table with these clusters."""
        N, T, dimensions = points.cube.shape
        place = points.order[:, :, None]
        raw = np.take_along_axis(points.cube.transpose(1, 0, 2), place, axis=1)
        if points.has_gaps:  # each is a cluster of its own, and nothing is published for it
            absent = np.arange(N) >= points.counts[:, None]
            raw, group = np.where(absent[:, :, None], np.nan, raw), np.where(absent, np.arange(N), group)
        out = np.empty((T, N, dimensions))
        np.put_along_axis(
            out, np.broadcast_to(place, out.shape), group_representatives(raw, group, self.representative), axis=1
        )
        published = np.ascontiguousarray(out.transpose(1, 0, 2))
        return Candidate(heuristic, published, points.loss(published))


def shares(unit: Unit, allowance: int, rows: Indices) -> Indices:
    """How many small cells the records at some published rows may have in a piece of time.

        floor((j+1) a / P) - floor(j a / P)     for allowance a, pieces P, j = number of the piece + row

    Over all pieces, P consecutive j, they add up to the allowance. Records begin at different places, so that no time point is published as it is; the
    place depends on the published row alone, for what is seen of it must not tell where a record stood in the input.

    Examples
    --------
    >>> pieces = [Unit("load", "load", (at,), 100, at, 3) for at in range(3)]
    >>> np.stack([shares(piece, 2, np.arange(4)) for piece in pieces])
    array([[0, 1, 1, 0],
           [1, 1, 0, 1],
           [1, 0, 1, 1]])
    """
    at = unit.piece + rows % unit.pieces
    found: Indices = (at + 1) * allowance // unit.pieces - at * allowance // unit.pieces
    return found


def keep_published_values(task: Task) -> Result:
    """Keep the published values of one piece, columns by records."""
    store, at = open_store(task["store"]), int(task["at"])
    made = piece(store, at).made
    store.put(f"released-{at}", np.ascontiguousarray(made.T))
    return {"records": len(made)}


def _peel_by_price(cols: Columns, owner: Indices) -> None:
    """A good start: find the price at which each series sells its allowance, and peel where cells are worth more than that.

    One peeled cell may gain nothing where k of them would do away with a whole group; prices see that. Each series gets the price
    between its last affordable and its first unaffordable cell, a few times over. In the end its best cells are allowed, and in
    each column those of them are peeled that save most together.
    """
    from tsveil._kernels.nlk_protect import HUGE, peel_allowed, worth

    T, N = cols.order.shape
    # A cell without a value is worth nothing, so that it takes nothing of the allowance.
    absent = owner < 0
    values = np.zeros((T, N))
    values[np.nonzero(absent)[0], cols.order[absent]] = -HUGE
    # The places of the last cell that a series cannot afford and of the first that it can, among its cells by rising worth.
    first, every = T - cols.budget, np.arange(N)
    last, first = np.maximum(first - 1, 0), np.minimum(first, T - 1)
    none, all_of_them = cols.budget == 0, cols.budget == T
    prices = np.where(none, HUGE, float(np.abs(cols.S).mean()))
    for turn in range(PRICES):
        worth(cols, prices, values)
        ranked = np.partition(values, np.unique([last, first]), axis=0)
        fair = np.maximum(0.0, (ranked[last, every] + ranked[first, every]) / 2)
        fair[none], fair[all_of_them] = HUGE, 0.0
        prices = fair if turn == 0 else (prices + fair) / 2
    allowed = np.zeros((T, N), dtype=np.bool_)
    best = np.argsort(-values, axis=0, kind="stable")
    np.put_along_axis(allowed, best, np.arange(T)[:, None] < cols.budget, axis=0)
    peel_allowed(cols, np.take_along_axis(allowed, cols.order, axis=1), owner)


@dataclass(frozen=True)
class Candidate:
    """A table as it would be published, and how it came about."""

    heuristic: str
    #: (records, times, dimensions)
    published: Array
    loss: float
    accepted: int = 0
    refused: int = 0
    undecided: int = 0
    peeled: int = 0


@dataclass(frozen=True)
class SortedPoints:
    """The series in the order of their values at each time."""

    #: (records, times, dimensions) as given
    cube: Array
    #: (times, records) the series by position
    order: Indices
    #: (times, records, dimensions) the values by position; of several dimensions standardised
    S: Array
    #: (times, records - 1) the distance of neighbours, summed over the dimensions
    gaps: Array
    #: (times,) how many series have a value to publish: those at the first positions
    counts: Indices

    @property
    def has_gaps(self) -> bool:
        """Whether some series have nothing to publish at some time."""
        return bool((self.counts < self.order.shape[1]).any())

    def loss(self, published: Array) -> float:
        """The sum of all absolute differences of what is published; dimensions are made comparable first."""
        if self.has_gaps:
            return float(np.nansum(np.abs(self.cube - published)))
        if self.cube.shape[2] == 1:
            return float(np.abs(self.cube - published).sum())
        total = 0.0
        for d in range(self.cube.shape[2]):
            x, y = normalise(self.cube[:, :, d], published[:, :, d], "global")
            total += float(np.abs(x - y).sum())
        return total


def sorted_points(cube: Array, comparable: Array | None = None) -> SortedPoints:
    """Sort the series at each time: by value, or points of several dimensions by the sum of their standardised values.

    `comparable` (records, times, dimensions) are the standardised values, where the cube is a part of the data only.

    Examples
    --------
    >>> import numpy as np
    >>> points = sorted_points(np.array([[[3.0]], [[1.0]], [[7.0]]]))
    >>> points.order, points.gaps
    (array([[1, 0, 2]]), array([[2., 4.]]))
    """
    dimensions = cube.shape[2]
    if dimensions == 1:
        by_time = cube.transpose(1, 0, 2)
        order = np.argsort(by_time[:, :, 0], axis=1, kind="stable")
    else:
        if comparable is None:
            comparable = np.stack([normalise_one(cube[:, :, d], "global") for d in range(dimensions)], axis=2)
        by_time = comparable.transpose(1, 0, 2)
        # Equal sums: by the dimensions, the first one first, so that equal points are neighbours.
        keys = [by_time[:, :, d] for d in reversed(range(dimensions))]
        order = np.lexsort((*keys, by_time.sum(axis=2)), axis=1)
    S = np.ascontiguousarray(np.take_along_axis(by_time, order[:, :, None], axis=1))
    gaps = np.ascontiguousarray(np.abs(np.diff(S, axis=1)).sum(axis=2))
    counts = np.full(len(order), len(cube), dtype=np.int64)
    return SortedPoints(cube, order.astype(np.int64), S, gaps, counts)


def sorted_beside_gaps(values: Array, k: int) -> SortedPoints:
    """The same for series with values at different times; those without one stand at the end, and so do all where fewer than k have one.

    Examples
    --------
    >>> import numpy as np
    >>> points = sorted_beside_gaps(np.array([[3.0, np.nan], [np.nan, 5.0], [1.0, np.nan]]), k=2)
    >>> points.order, points.counts
    (array([[2, 0, 1],
           [0, 1, 2]]), array([2, 0]))
    """
    there = ~np.isnan(values.T)
    there[there.sum(axis=1) < k] = False
    order = np.argsort(np.where(there, values.T, np.inf), axis=1, kind="stable")
    S = np.take_along_axis(np.where(there, values.T, 0.0), order, axis=1)
    return SortedPoints(
        np.ascontiguousarray(values)[:, :, None],
        order.astype(np.int64),
        np.ascontiguousarray(S)[:, :, None],
        np.ascontiguousarray(np.abs(np.diff(S, axis=1))),
        there.sum(axis=1).astype(np.int64),
    )


def first_clusters(points: SortedPoints, k: int) -> tuple[Indices, Indices]:
    """Stage 1: for each time and series the first position of its cluster, and for each such position the one after the last.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 2, 3, 10, 11, 12, 13, 30, 31, 50])
    >>> label, stop = first_clusters(sorted_points(x[:, None, None]), k=3)
    >>> label
    array([[0, 0, 0, 3, 3, 3, 3, 7, 7, 7]])
    """
    from tsveil._kernels.nlk_protect import first_clusters as fill

    label, stop = np.zeros_like(points.order), np.zeros_like(points.order)
    if not points.has_gaps:
        fill(points.gaps, np.argsort(-points.gaps, axis=1, kind="stable"), k, label, stop, points.order)
        return label, stop
    for t in np.flatnonzero(points.counts).tolist():
        own, gaps = slice(t, t + 1), np.ascontiguousarray(points.gaps[t : t + 1, : points.counts[t] - 1])
        order = np.ascontiguousarray(points.order[own, : points.counts[t]])
        fill(gaps, np.argsort(-gaps, axis=1, kind="stable"), k, label[own], stop[own], order)
    return label, stop


def group_representatives(values: Array, group: Indices, how: Representative) -> Array:
    """Every value (time, position, dimension) replaced by the mean or median of its group at that time; members get the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> group_representatives(np.array([[[1.0], [2.0], [6.0]]]), np.array([[0, 1, 0]]), "mean").ravel()
    array([3.5, 2. , 3.5])
    """
    T, N, dimensions = values.shape
    name = (group + N * np.arange(T)[:, None]).ravel()
    out = np.empty((T * N, dimensions))
    for d in range(dimensions):
        x = values[:, :, d].ravel()
        order = np.lexsort((x, name))
        x, sorted_name = x[order], name[order]
        starts = np.flatnonzero(np.concatenate([[True], sorted_name[1:] != sorted_name[:-1]]))
        sizes = np.diff(np.append(starts, T * N))
        if how == "mean":
            # Shifted by a member: the mean of equal values is that value, and an offset costs no digits.
            centre = x[starts] + np.add.reduceat(x - np.repeat(x[starts], sizes), starts) / sizes
        else:
            low, high = x[starts + (sizes - 1) // 2], x[starts + sizes // 2]
            centre = low + (high - low) / 2
        out[order, d] = np.repeat(centre, sizes)
    return out.reshape(T, N, dimensions)


# -- the paper's experiments -----------------------------------------------------------------------------------------------


def nlk_study(
    data: Dataset,
    *,
    pairs: Iterable[tuple[int, int]] = ((7, 8), (7, 10), (10, 11), (10, 12), (10, 15), (10, 20)),
    ks: Iterable[int] = (4, 6, 8, 10, 12, 14, 16, 18, 20),
    heuristics: Iterable[str] = ("mil", "mth", "gpe", "peel"),
    representative: Representative = "mean",
) -> pl.DataFrame:
    """Protect every series of a data set with many parameters, and measure: the experiments of the paper, figures 7 to 11.

    A row per series, k, (n, l) and heuristic: the figures of `tsveil.measure.nlk.nlk_figures`, the loss saved after stage 1 in
    percent ("reduction"), and what the verifier says. "stage 1" has a row per k, with n and l left empty and the identification
    measured for the first pair.

    Examples
    --------
    >>> from tsveil.data.synthetic import random_series
    >>> study = nlk_study(random_series(40, 12), pairs=[(2, 5)], ks=[4], heuristics=["mth", "peel"])
    >>> study.select("heuristic", "status").rows()
    [('stage 1', 'holds'), ('mth', 'holds'), ('peel', 'holds')]
    """
    pairs, ks, heuristics = list(pairs), list(ks), list(heuristics)
    rows = []
    with progress.step("Comparing parameters", total=len(data.blocks) * len(ks) * len(pairs)) as counter:
        for block in data.blocks:
            x = data.block(block.name)
            points = sorted_points(x[:, :, None])
            for k in ks:
                for at, (n, l) in enumerate(pairs):
                    check_nlk("nlk_study", n, l, k, records=data.n, points=len(block))
                    method = NLK(n=n, l=l, k=k, representative=representative)
                    first = method._stage1(points)
                    made = [
                        method._run_heuristic(points, heuristic, f"series {block.name!r}") for heuristic in heuristics
                    ]
                    for table in [first, *made] if at == 0 else made:
                        staged = table is first
                        y = table.published[:, :, 0]
                        rows.append(
                            {
                                "series": block.name,
                                "n": None if staged else n,
                                "l": None if staged else l,
                                "k": k,
                                "heuristic": table.heuristic,
                                "status": str(find_violation(y, n, l, k).status),
                                "reduction": 100 * (first.loss - table.loss) / first.loss if first.loss else 0.0,
                                **nlk_figures(x, y, n),
                            }
                        )
                    counter[0] += 1
    return pl.DataFrame(rows, schema_overrides={"n": pl.Int64, "l": pl.Int64})
