"""Run all attacks that fit a release, on files in pieces: in memory with one piece, on any engine with many.

    look      every piece: marks of its released rows, bounds of its series
    (here)    the distinct rows of the release
    prepare   every piece: its distinct rows, sums for the scales of the series; every column: its scale, ranks and labels
    complete  every piece: sums of squares for the scales of the series, products of columns for projections
    attack    targets of some pieces, or neighbours in a column, against the whole release
    weigh     linkage by agreements weighs them by how often they occur, so its targets are gone through twice

Scales and ranks are always those of all records, also when the targets are a sample of them. A target's chance of being linked right
depends on the target and on the whole release alone, and chances are summed exactly, so no figure depends on the pieces.

How each attack links is written in its own file: `link_by_...` gives the chances of some targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tsveil._types import Array, Indices
from tsveil.attack import _scales
from tsveil.attack._columns import DEEPEST
from tsveil.attack._files import Ties, mean_and_deviation, scale_of
from tsveil.attack._ranges import keep_places, link_in_all, link_in_most, neighbours
from tsveil.attack._sorted import Sorted
from tsveil.attack.alignment import ranges_of
from tsveil.attack.candidates import keep_distinct, marks, tell_apart
from tsveil.attack.distance import link_by_distance
from tsveil.attack.fits import Run
from tsveil.attack.interval import disclosed_widths
from tsveil.attack.pieces import Pieces, Side, Targets, opened_files
from tsveil.attack.probabilistic import CELLS, KEPT, count_agreements, keep_labels, link_by_agreement, models_by_count
from tsveil.attack.projected import centred, link_by_projection, scale_of_column, weights_of
from tsveil.attack.rank_swap import within_ranks
from tsveil.attack.series import link_by_series
from tsveil.attack.targets import affordable, border_of
from tsveil.data.store import Store
from tsveil.engine.base import Engine, Result, Task
from tsveil.transform import exact
from tsveil.transform.normalise import How, Scaling

#: targets of one task, about: what is made ready for them is worth making
AT_ONCE = 2**15
#: cells of the sorted release that an attack in ranges may hold: 12 bytes each. The attacks by ranks and by alignment run up to this size
SLICE = 2**27
#: what one comparison of values in a tree, without a tree, inside a range, and one look at an agreement cost, in comparisons of series
TREE, UNAIDED, RANGE, LOOK = 4, 10, 3, 150
#: the smallest sample for agreements; smaller ones cost the same
ASKED = 4096

LINKS: dict[str, Callable[[Targets, Task], Array]] = {
    "series": link_by_series,
    "distance": link_by_distance,
    "projection": link_by_projection,
    "agreement": link_by_agreement,
    "ranks": link_in_all,
    "alignment": link_in_all,
    "most ranks": link_in_most,
}
RANGES = ("ranks", "alignment", "most ranks")


@dataclass(frozen=True)
class Knowledge:
    """What the intruder knows, round by round: the first columns of all known ones, and the first blocks of them."""

    columns: Sequence[int]
    counts: Sequence[int]
    #: the known columns of each block
    blocks: Sequence[Sequence[int]]
    block_counts: Sequence[int]


@dataclass(frozen=True)
class Settings:
    """How attacks are run; see `tsveil.evaluate`."""

    ties: Ties = "expected"
    scaling: Scaling = "original"
    normalise: How = "global"
    #: the number of targets; 0: all, None: as many as are affordable
    targets: int | None = None


@dataclass
class Attacked:
    """What the attacks found."""

    #: figure -> rate with 1, 2, ... series or attributes known, in percent
    by_known: dict[str, tuple[float, ...]] = field(default_factory=dict)
    #: figure -> number of targets
    targets: dict[str, int] = field(default_factory=dict)
    #: figure -> name and number of the arrays with the chances of each target
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    #: column -> number of widths of intervals that disclose a value, summed over its values
    disclosed: dict[int, int] = field(default_factory=dict)
    #: the number of distinct released rows
    distinct: int = 0
    #: what was left out, in words
    skipped: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)

    @property
    def risks(self) -> dict[str, float]:
        """Figure -> its mean over what is known."""
        return {figure: float(np.mean(rates)) for figure, rates in self.by_known.items()}


def chances_of(store: Store, places: Mapping[str, tuple[str, int]], start: int, stop: int) -> dict[str, Array]:
    """For each attack the chances, in percent, that the original records start..stop are linked right; all of them were targets."""
    found = {}
    for figure, (name, tasks) in places.items():
        chance = np.full(stop - start, np.nan)
        for at in range(tasks):
            rows = store.get(f"chance-{name}-{at}.rows")
            low, high = np.searchsorted(rows, [start, stop])
            chance[rows[low:high] - start] = store.get(f"chance-{name}-{at}")[low:high]
        found[figure] = chance
    return found


def attacked(
    store: Store,
    files: Pieces,
    engine: Engine,
    runs: Sequence[Run],
    known: Knowledge,
    settings: Settings,
    *,
    intervals: Sequence[int] = (),
) -> Attacked:
    """Run attacks on the columns of files in pieces, and the two linkages of series if there are any.

    `intervals` are the columns of which is found out whether their values are disclosed to within intervals of ranks (see
    `attack.interval`).
    """
    store.put_plain("files", files)
    return _Attacks(store, files, engine, runs, known, settings, intervals).run()


# -- the steps, each a function of one task ---------------------------------------------------------------------------


def work(task: Task) -> Result:
    """One task of any kind."""
    return STEPS[task["step"]](task)


def look(task: Task) -> Result:
    """Mark the rows of a piece of the release, and find the bounds of the series of a piece of either file."""
    store, files = opened_files(task)
    side, at, how = task["side"], int(task["at"]), task["how"]
    if side == "released":
        store.put(f"marks-{at}", marks(files.table(store, side, at)))
    return {"bounds": [_scales.bounds(x, how) for x in _series(store, files, task)]}


def prepare(task: Task) -> Result:
    """Keep the distinct rows of a piece of the release, and sum the series of a piece of either file."""
    store, files = opened_files(task)
    if task["side"] == "released":
        keep_distinct(store, files, int(task["at"]))
    return complete(task)


def complete(task: Task) -> Result:
    """Sum the series of a piece of either file, and the products of released columns."""
    store, files = opened_files(task)
    at = int(task["at"])
    for number, (places, scales) in enumerate(task.get("projected", ())):
        table = files.table(store, "released", at, places)
        store.put(f"products-{number}-{at}", exact.products(centred(table, range(len(places)), scales)))
    pairs = zip(_series(store, files, task), task.get("scales", ()), strict=True)
    return {"sums": [_scales.sums(x, scale, task["how"]) for x, scale in pairs]}


def _series(store: Store, files: Pieces, task: Task) -> list[Array]:
    """The series of a piece, if their scale is to be found."""
    if not task["scaled"]:
        return []
    return [files.table(store, task["side"], int(task["at"]), files.span(block.name)) for block in files.series]


def look_at_column(task: Task) -> Result:
    """The scale of one column, which fits into a worker, and what the attacks need of it; written in the order of the rows."""
    store, files = opened_files(task)
    at = int(task["at"])
    x, y = (Sorted(files.column(store, side, at)) for side in ("original", "released"))
    found: Result = {}
    if task["disclosed"]:
        hits = disclosed_widths(x, y, None if files.aligned else store.get("own"))
        store.put(f"disclosed-{at}", hits)
        found["disclosed"] = int(hits.sum(dtype=np.int64))
    kinds = {kind for _, kind, _ in task["runs"]}
    if kinds & {"distance", *RANGES}:
        power, factor = scale_of(x.ordered[:, None], y.ordered[:, None])
        own = [[float(each[0]) for each in mean_and_deviation(one.ordered[:, None])] for one in (x, y)]
        found["scale"] = [int(power[0]), float(factor[0]), *own]
    if "agreement" in kinds:
        found["labels"] = keep_labels(store, at, x, y)
    if "projection" in kinds:
        found["projection"] = list(scale_of_column(y.values))
    if kinds & {*RANGES}:
        keep_places(store, at, y)
    for figure, kind, window in task["runs"]:
        if kind in RANGES:
            low, high = (
                ranges_of(x.ordered, y.ordered) if kind == "alignment" else within_ranks(x.ordered, y.ordered, window)
            )
            store.put(f"{figure}-{at}", x.back(np.stack([low, high], axis=1).astype(np.int32)).T)
            found[f"{figure} width"] = int(np.maximum(high - low, 0).sum())
    return found


def attack(task: Task) -> Result:
    """Link some targets: their number, and the sums of their chances in each round; the chances of each are kept if asked for."""
    targets = neighbours(task) if task["by"] in RANGES else Targets.of(task)
    if task["step"] == "count agreements":
        return count_agreements(targets, task)
    chance = LINKS[task["by"]](targets, task) if len(targets) else np.zeros((int(task["rounds"]), 0))
    if task["keep"]:
        _keep(targets.store, f"chance-{task['name']}-{task['at']}", targets.rows, chance)
    return {"targets": len(targets), "right": [exact.parts(one) for one in chance]}


def _keep(store: Store, name: str, rows: Indices, chance: Array) -> None:
    """Keep the mean over the rounds, in percent."""
    order = np.argsort(rows)
    total = np.zeros(len(rows))
    for one in chance:
        total += one
    store.put(f"{name}.rows", rows[order])
    store.put(name, (100 * total / len(chance))[order])


STEPS: dict[str, Callable[[Task], Result]] = {
    "look": look,
    "prepare": prepare,
    "complete": complete,
    "column": look_at_column,
    "attack": attack,
    "count agreements": attack,
}


# -- the driver -------------------------------------------------------------------------------------------------------


class _Attacks:
    """The attacks on two files, planned."""

    def __init__(
        self, store: Store, files: Pieces, engine: Engine, runs: Sequence[Run], known: Knowledge, settings: Settings, intervals: Sequence[int]
    ) -> None:  # fmt: skip
        self.store, self.files, self.engine = store, files, engine
        self.runs, self.known, self.settings, self.intervals = runs, known, settings, intervals
        self.found = Attacked()
        #: name -> tasks; an attack that is tried in several ways has several names
        self.tasks: dict[str, list[dict[str, Any]]] = {}
        self.names: dict[str, list[str]] = {}
        #: column -> what is known of it
        self.columns: dict[int, Result] = {}
        self.scales: dict[Side, list[Any]] = {}

    def run(self) -> Attacked:
        """Prepare, attack, and put together what was found."""
        self._prepare()
        if self.files.series:
            self._plan_series()
        for run in self.runs:
            self._plan(run)
        keep = all(count == self.files.n for count in self.found.targets.values())
        for name, tasks in self.tasks.items():
            self.tasks[name] = [{**task, "keep": keep} for task in tasks]
        todo = [task for tasks in self.tasks.values() for task in tasks]
        results = iter(self.engine.map(work, todo, "Attacking the release"))
        done = {name: [next(results) for _ in tasks] for name, tasks in self.tasks.items()}
        if "PLD" in done:
            done["PLD"] = self._weighed(done["PLD"])
        for figure, names in self.names.items():
            rates = {name: self._rates(done[name]) for name in names}
            best = max(names, key=lambda name: sum(rates[name]))
            self.found.by_known[figure] = rates[best]
            if keep:
                self.found.places[figure] = best, len(done[best])
        return self.found

    @staticmethod
    def _rates(done: Sequence[Result]) -> tuple[float, ...]:
        targets = sum(int(one["targets"]) for one in done)
        return tuple(100 * exact.total(*parts) / targets for parts in zip(*(one["right"] for one in done), strict=True))

    # -- what must be known before ------------------------------------------------------------------------------------

    def _map(self, step: str, text: str, more: Sequence[Mapping[str, Any]] = (), **shared: Any) -> list[Result]:
        """A step for every piece of both files, and other tasks."""
        how = self.settings.normalise
        sides: tuple[tuple[Side, int], ...] = (
            ("original", len(self.files.original)),
            ("released", len(self.files.released)),
        )
        todo: list[Mapping[str, Any]] = []
        for side, pieces in sides:
            scaled = (
                bool(self.files.series)
                and how in _scales.SHARED
                and (side == "original" or self.settings.scaling == "own")
            )
            if step == "complete" and how == "ranging":
                scaled = False
            own = {"scales": self.scales[side]} if scaled and side in self.scales else {}
            if scaled or side == "released":
                todo += [
                    {"step": step, "side": side, "at": at, "how": how, "scaled": scaled, **own, **(shared if side == "released" else {})}
                    for at in range(pieces)
                ]  # fmt: skip
        self.asked = [str(task["side"]) for task in todo]
        every = {"store": self.store.handle}
        return self.engine.map(work, [{**task, **every} for task in [*todo, *more]], text)

    def _of(self, side: Side, found: Sequence[Result], what: str) -> list[Sequence[Any]]:
        """For each series what was found in the pieces of a file."""
        pieces = [one[what] for one, its in zip(found, self.asked, strict=False) if its == side]
        return list(zip(*pieces, strict=True))

    def _prepare(self) -> None:
        files, runs = self.files, [(run.figure, run.by, run.window) for run in self.runs]
        found = self._map("look", "Looking at the release")
        for side in ("original", "released"):
            if bounds := self._of(side, found, "bounds"):
                self.scales[side] = [_scales.bounded(each) for each in bounds]
        self.found.distinct = tell_apart(self.store, files, self.settings.ties)
        used = {*self.intervals, *(self.known.columns if runs else ())}
        columns = [
            {
                "step": "column",
                "at": at,
                "disclosed": at in self.intervals,
                "runs": runs if at in self.known.columns else [],
            }
            for at in sorted(used)
        ]
        found = self._map("prepare", "Preparing the attacks", columns)
        self.columns = dict(zip(sorted(used), found[len(self.asked) :], strict=True))
        self.found.disclosed = {at: int(self.columns[at]["disclosed"]) for at in self.intervals}
        self._complete_scales(found)
        shared: dict[str, Any] = {}
        if any(run.by == "projection" for run in self.runs):
            shared["projected"] = [
                [list(places), [self.columns[at]["projection"] for at in places]] for places in self.known.blocks
            ]
        if shared or (self.scales and self.settings.normalise != "ranging"):
            self._complete_scales(self._map("complete", "Preparing the attacks", **shared))

    def _complete_scales(self, found: Sequence[Result]) -> None:
        for side, scales in self.scales.items():
            n = self.files.n if side == "original" else self.files.m
            counts = [n * len(block) if self.settings.normalise == "global" else n for block in self.files.series]
            sums = self._of(side, found, "sums")
            if sums and self.settings.normalise != "ranging":
                self.scales[side] = [_scales.completed(*each) for each in zip(scales, sums, counts, strict=True)]

    # -- what is to be done -------------------------------------------------------------------------------------------

    def _add(
        self,
        figure: str,
        name: str,
        by: str,
        targets: int,
        rounds: int,
        tasks: Sequence[Mapping[str, Any]],
        **more: Any,
    ) -> None:
        """Tasks of an attack."""
        border = None if targets == self.files.n else border_of(self.files.n, targets)
        shared = {
            "step": "count agreements" if by == "agreement" else "attack", "store": self.store.handle, "figure": figure, "name": name, "by": by,
            "border": border, "rounds": rounds, "ties": self.settings.ties, "scaling": self.settings.scaling, **more,
        }  # fmt: skip
        self.tasks[name] = [{**shared, **task, "at": at} for at, task in enumerate(tasks)]
        self.names.setdefault(figure, []).append(name)
        self.found.targets[figure] = targets

    def _in_pieces(self, targets: int) -> list[Mapping[str, Any]]:
        """Tasks for the targets of some pieces of the original each."""
        found: list[Mapping[str, Any]] = []
        begin, together = 0, 0.0
        for at, size in enumerate(self.files.original):
            together += size * targets / self.files.n
            if together >= AT_ONCE or at + 1 == len(self.files.original):
                found.append({"first": begin, "last": at + 1})
                begin, together = at + 1, 0.0
        return found

    def _affordable(self, compared: float, least: int = 1) -> int:
        return affordable(self.files.n, compared, self.settings.targets, least)

    def _plan_series(self) -> None:
        how, blocks = self.settings.normalise, self.files.series
        targets = self._affordable(self.found.distinct)
        alone = [how if how == "per-record" else None] * len(blocks)
        ours = self.scales.get("original", alone)
        scales = {"original": ours, "released": self.scales.get("released", ours)}
        for figure, distance in (("EULD", "euclidean"), ("STSLD", "sts")):
            if distance == "sts" and min(map(len, blocks)) < 2:
                self.found.not_measured.append("STSLD: a series of one point has no shape")
            else:
                tasks = self._in_pieces(targets)
                self._add(figure, figure, "series", targets, len(blocks), tasks, distance=distance, scales=scales)

    def _plan(self, run: Run) -> None:
        every = self.known.block_counts if run.by_block else self.known.counts
        counts = [count for count in every if run.most is None or count <= run.most]
        if len(counts) < len(every):
            self.found.skipped.append(
                f"{run.title} takes at most {run.most} known attributes and was left out where more are known"
            )
        if not counts:
            return
        most = max(counts)
        columns = list(self.known.columns if run.by_block else self.known.columns[:most])
        shared: dict[str, Any] = {"columns": columns, "counts": counts}
        if run.by in ("distance", *RANGES):
            shared["scales"] = [self.columns[at]["scale"] for at in columns]
        near = self.found.distinct * (TREE if most <= DEEPEST else UNAIDED)
        match run.by:
            case "projection":
                self._plan_projections(run, counts, self._affordable(near))
            case "distance":
                targets = self._affordable(near)
                self._add(run.figure, run.figure, run.by, targets, len(counts), self._in_pieces(targets), **shared)
            case "agreement":
                # All patterns are gone through for each table of targets, and then those of each target.
                targets = self._affordable(LOOK * (self.found.distinct * 4**most / CELLS + 2**most), ASKED)
                shared["sizes"] = [self.columns[at]["labels"] for at in columns]
                shared["stored"] = targets << most <= KEPT
                self._add(run.figure, run.figure, run.by, targets, len(counts), self._in_pieces(targets), **shared)
            case _:
                self._plan_ranges(run, shared)

    def _plan_projections(self, run: Run, counts: Sequence[int], targets: int) -> None:
        """Both projections: the intruder tries both, and takes the better."""
        pieces = range(len(self.files.released))
        blocks = [(list(places), [self.columns[at]["projection"] for at in places]) for places in self.known.blocks]
        digits = [
            exact.merged_products(self.store.get(f"products-{number}-{at}") for at in pieces)
            for number in range(len(blocks))
        ]
        for how in ("pcp", "zscores"):
            directions = [
                [places, scales, weights_of(how, sums, scales)]
                for (places, scales), sums in zip(blocks, digits, strict=True)
            ]
            tasks = self._in_pieces(targets)
            self._add(
                run.figure,
                f"{run.figure} {how}",
                run.by,
                targets,
                len(counts),
                tasks,
                directions=directions,
                counts=counts,
            )

    def _plan_ranges(self, run: Run, shared: Mapping[str, Any]) -> None:
        columns = shared["columns"]
        widths = [self.columns[at][f"{run.figure} width"] / self.files.n for at in columns]
        if run.by != "most ranks" and widths[0] * len(columns) > SLICE:
            self.found.not_measured.append(
                f"{run.title}, whose ranges are too wide for files of this size and which may find more"
            )
            return
        looked = widths[0] if run.by != "most ranks" else sum(widths) * len(columns)
        targets = self._affordable(RANGE * looked)
        tasks = 1 if len(self.files.original) == 1 else -(-targets // AT_ONCE)
        self._add(run.figure, run.figure, run.by, targets, len(shared["counts"]), [{"tasks": tasks}] * tasks, **shared)

    # -- linkage by agreements ----------------------------------------------------------------------------------------

    def _weighed(self, counted: Sequence[Result]) -> list[Result]:
        """The second pass of linkage by agreements, with the weights that the first one gave."""
        tasks = self.tasks["PLD"]
        total = np.array([one["total"] for one in counted], dtype=np.int64).sum(axis=0)
        pairs = self.found.targets["PLD"] * self.files.m
        for count, model in models_by_count(total, tasks[0]["counts"], pairs).items():
            self.store.put(f"weights-{count}", model.weights)
        return self.engine.map(work, [{**task, "step": "attack"} for task in tasks], "Weighing agreements")
