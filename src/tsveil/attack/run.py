"""Run all attacks that fit a release, on files in pieces: in memory with one piece, on any engine with many.

    look      every piece: marks of its released rows, bounds of its series
    (here)    the distinct rows of the release
    prepare   every piece: its distinct rows, sums for the scales of the series; some columns: what the attacks need of them
    complete  every piece: sums of squares for the scales of the series, products of columns
    count     an attack that asks for it goes through its targets twice: what it counts first is weighed here
    attack    some targets against the whole release

Scales and ranks are always those of all records, also when the targets are a sample of them. A target's chance of being linked right
depends on the target and on the whole release alone, and chances are summed exactly, so no figure depends on the pieces.

Where persons may have several records, a link to any of them is right, the chances of a person's records count by their mean, and rates are means over persons.

How each attack links is written in its own file (`attack.base.Attack`). A task names the class by its importable place, with its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tsveil.attack import base, series_scales
from tsveil.attack.base import (
    Attack,
    Column,
    DoesNotFitError,
    Finding,
    Knowledge,
    NotMeasuredError,
    Rung,
    Scales,
    Settings,
    Situation,
    Trial,
    centre_columns,
)
from tsveil.attack.candidates import Found, keep_distinct, marks, tell_apart
from tsveil.attack.covariance import KEPT as WHITENING
from tsveil.attack.files import HasData, files, known_columns
from tsveil.attack.gaps import pieces_with_gaps, present
from tsveil.attack.interval import disclosed_widths
from tsveil.attack.links import Links
from tsveil.attack.pieces import Pieces, Side, opened_files
from tsveil.attack.sorted_column import SortedColumn
from tsveil.attack.targets import border_of
from tsveil.core.places import check_importable, class_at, place_of
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Block, Dataset
from tsveil.data.store import Memory, Store
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.blas import one_blas_thread
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.transform import exact

#: values of some columns of a file that are looked at together
VALUES = 2**18


@dataclass
class AttackResults:
    """What the attacks found."""

    #: figure -> rate with 1, 2, ... series or attributes known, in percent
    by_known: dict[str, tuple[float, ...]] = field(default_factory=dict)
    #: figure -> number of targets; of persons, where they may have several records
    targets: dict[str, int] = field(default_factory=dict)
    #: what each attack found at each rung
    ladder: list[Finding] = field(default_factory=list)
    #: figure -> name and number of the arrays with the chances of each target
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    #: rung above part -> the same of its attacks on all persons that are known, with the row of the arrays
    by_rung: dict[Rung, list[tuple[str, int, int]]] = field(default_factory=dict)
    #: column -> number of widths of intervals that disclose a value, summed over its values
    disclosed: dict[int, int] = field(default_factory=dict)
    #: the number of distinct released rows
    distinct: int = 0
    #: what was left out, in words
    skipped: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)

    def add(self, other: AttackResults) -> None:
        """What was found by other attacks on the same records; who was the target of all of them has a risk."""
        whole = not self.by_known or bool(self.places)
        self.by_known |= other.by_known
        self.targets |= other.targets
        self.ladder += other.ladder
        self.places = {**self.places, **other.places} if whole and (other.places or not other.by_known) else {}
        for rung, places in other.by_rung.items():
            self.by_rung.setdefault(rung, []).extend(places)
        self.disclosed |= other.disclosed
        self.distinct = other.distinct
        self.skipped += other.skipped
        self.not_measured += other.not_measured

    @property
    def risks(self) -> dict[str, float]:
        """Figure -> its mean over what is known."""
        return {figure: float(np.mean(rates)) for figure, rates in self.by_known.items()}


def chances_of(store: Store, places: Mapping[str, tuple[str, int]], start: int, stop: int) -> dict[str, Array]:
    """For each attack the chances, in percent, that the original records start..stop are linked right; all that were released were targets."""
    return {figure: _chances(store, *place, 0, np.zeros(stop - start), start) for figure, place in places.items()}


def risks_of(store: Store, found: AttackResults, start: int, stop: int) -> dict[str, Array]:
    """For each rung the highest chance, in percent, that the original records start..stop are linked right; not a number where the intruder does not know them."""
    risks = {}
    for rung, places in found.by_rung.items():
        each = [_chances(store, *place, np.full(stop - start, np.nan), start) for place in places]
        risks[f"risk_{rung}"] = np.max(each, axis=0)
    return risks


def _chances(store: Store, name: str, tasks: int, row: int, chance: Array, start: int) -> Array:
    """Fill in the chances of the records from `start` on that were targets."""
    for at in range(tasks):
        rows = store.get(f"chance-{name}-{at}.rows")
        low, high = np.searchsorted(rows, [start, start + len(chance)])
        chance[rows[low:high] - start] = store.get(f"chance-{name}-{at}")[row, low:high]
    return chance


def scores_of(store: Store, files: Pieces, name: str, tasks: int) -> Array:
    """The chance of finding each person attacked, in the order of the input: on average over what is known, and with everything known."""
    rows = np.concatenate([store.get(f"chance-{name}-{at}.rows") for at in range(tasks)])
    order = np.argsort(files.numbers(store)[rows])
    chances: Array = np.concatenate([store.get(f"chance-{name}-{at}") for at in range(tasks)], axis=1)[:, order] / 100
    if not files.persons:
        return chances
    person = np.unique(files.owners(store)[files.own(store, rows[order])], return_inverse=True)[1]
    return np.stack([np.bincount(person, weights=each) for each in chances]) / np.bincount(person)


def run_attacks(
    store: Store,
    files: Pieces,
    engine: Engine,
    attacks: Sequence[Attack],
    known: Knowledge,
    settings: Settings,
    *,
    intervals: Sequence[int] = (),
) -> AttackResults:
    """Run attacks on the columns of files in pieces.

    `intervals` are the columns of which is found out whether their values are disclosed to within intervals of ranks (see
    `attack.interval`).
    """
    return _Attacks(store, files, engine, attacks, known, settings, intervals).run()


def links_in_memory(
    attack: Attack,
    original: Dataset,
    released: Dataset | HasData,
    known: Sequence[str] | None = None,
    truth: Truth = None,
) -> Links:
    """What an intruder concludes for each record of two files in memory, who knows some columns or blocks (all by default)."""
    names = known_columns(original, known)
    parts = [(block, [name for name in block.columns if name in names]) for block in original.blocks]
    blocks = [part_of(block, own) for block, own in parts if own]
    columns = [name for block in blocks for name in block.columns]
    pair = files(original, released, columns, truth, gaps=attack.takes_gaps)
    store = Memory()
    if attack.takes_gaps:
        table = pieces_with_gaps(store, blocks, pair.a, pair.b, pair.own, pair.persons)
    else:
        table = Pieces.of(store, blocks, pair.a, pair.b, pair.own, pair.persons)
    ends = np.cumsum([0, *map(len, blocks)]).tolist()
    places = [list(range(low, high)) for low, high in pairwise(ends)]
    knowledge = Knowledge(range(ends[-1]), ends[-1:], places, [len(blocks)])
    return links_of_files(attack, store, table, knowledge, Settings(targets=0), pair.describe, pair.persons)


def links_of_files(
    attack: Attack, store: Store, files: Pieces, known: Knowledge, settings: Settings, described: Callable[[str], str], persons: Indices | None = None
) -> Links:  # fmt: skip
    """What an intruder concludes for each record of files in one piece; `described` says what was known, beside the words for the attack, `persons` whose the originals are."""
    found, trial = _Attacks(store, files, Here(), [attack], known, settings, ()).best_links()
    words = f"{attack.describe()}{f' ({trial.way})' if trial.way and not trial.rungs else ''}"
    own = files.own(store, np.arange(files.n))
    given = {
        "candidates": found.candidates,
        "link": found.link,
        "right": found.hit,
        "tied": found.tied,
        "certain": found.certain,
        "probability": found.chance,
    }
    arrays = {name: each[0] for name, each in given.items() if each is not None}
    if persons is not None:
        # Of persons with several records, those that were not released are no targets.
        there = np.flatnonzero(own >= 0)
        for name, each in arrays.items():
            every = np.full(len(own), -1 if name == "link" else 0, dtype=each.dtype)
            every[there] = each
            arrays[name] = every
    best = arrays.pop("candidates"), arrays.pop("link"), arrays.pop("right")
    return Links.of(described(words), best, "expected", own, files.m, persons=persons, **arrays)


def part_of(block: Block, columns: Sequence[str]) -> Block:
    """Some columns of a block, with their times."""
    chosen = np.flatnonzero(np.isin(block.columns, columns))
    labels = tuple(block.labels[at] for at in chosen) if block.labels else ()
    return Block(block.name, tuple(columns), None if block.times is None else block.times[chosen], labels, block.form)


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
    found: Result = {"bounds": [series_scales.bounds(x, how) for x in _series(store, files, task)]}
    if task["alone"]:
        table = files.table(store, side, at, files.span(files.series[0].name))
        found["decimals"] = [series_scales.decimals(table)]
    return found


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
    for number, (places, scales) in enumerate(task.get("blocks", ())):
        table = files.table(store, "released", at, places)
        store.put(f"products-{number}-{at}", exact.products(centre_columns(table, scales)))
    pairs = zip(_series(store, files, task), task.get("scales", ()), strict=True)
    return {"sums": [series_scales.sums(x, scale, task["how"]) for x, scale in pairs]}


def _series(store: Store, files: Pieces, task: Task) -> list[Array]:
    """The series of a piece, if their scale is to be found."""
    if not task["scaled"]:
        return []
    return [files.table(store, task["side"], int(task["at"]), files.span(block.name)) for block in files.series]


def look_at_columns(task: Task) -> Result:
    """What the attacks need of some columns, which fit into a worker; written in the order of the rows."""
    store, files = opened_files(task)
    scales = Scales(store, files, task["columns"])
    attacks = [_attack_of(plain) for plain in task["attacks"]]
    every = []
    for at in task["columns"]:
        column = Column(store, files, at, scales)
        found: Result = {"of": {}}
        if at in task["disclosed"]:
            hits = _disclosed(store, files, column)
            column.keep("disclosed", hits)
            found["disclosed"] = int(hits.sum(dtype=np.int64))
        if at in task["known"]:
            if task["products"]:
                found["scale"] = column.released_scale
            found["of"] = {one.figure: one.of_column(column) for one in attacks}
        every.append(found)
    return {"columns": every}


def _disclosed(store: Store, files: Pieces, column: Column) -> AnyArray:
    """How many widths of intervals disclose each value of a column; none discloses a gap."""
    if not files.values:
        return disclosed_widths(column.x, column.y, None if files.aligned else store.get("own"))
    x, y, there = present(store, files, column.at)
    hits = np.zeros(len(there), dtype=np.uint8)
    hits[there] = disclosed_widths(SortedColumn(x), SortedColumn(y))
    return hits


def attack(task: Task) -> Result:
    """Link some targets: the sums of their chances in each round, a person's by their mean; the chances of each are kept."""
    one = _attack_of(task["attack"])
    targets = one.targets(task)
    if task["step"] == "count":
        return one.count(targets, task)
    if len(targets):
        chance = one.link(targets, task).chances(targets, task["ties"])
    else:
        chance = np.zeros((len(task["counts"]), 0))
    _keep(targets.store, f"chance-{task['name']}-{task['at']}", targets.rows, chance)
    return {"right": [exact.parts(each / targets.records()) for each in chance]}


def _keep(store: Store, name: str, rows: Indices, chance: Array) -> None:
    """Keep the mean over the rounds and the last of them, in percent."""
    order = np.argsort(rows)
    total = np.zeros(len(rows))
    for one in chance:
        total += one
    store.put(f"{name}.rows", rows[order])
    store.put(name, np.stack([100 * total / len(chance), 100 * chance[-1]])[:, order])


STEPS: dict[str, Callable[[Task], Result]] = {
    "look": look,
    "prepare": prepare,
    "complete": complete,
    "columns": look_at_columns,
    "count": attack,
    "attack": attack,
}


def _as_plain(one: Attack) -> list[Any]:
    """An attack in plain values: its place and its settings."""
    return [place_of(one), one.settings()]


def _attack_of(plain: Sequence[Any]) -> Attack:
    made: Attack = class_at(plain[0]).from_settings(plain[1])
    return made


# -- the driver -------------------------------------------------------------------------------------------------------


@dataclass
class _Way:
    """An attack that is tried in one way: its tasks, and what came of them."""

    attack: Attack
    situation: Situation
    trial: Trial
    name: str
    tasks: list[dict[str, Any]]
    done: Sequence[Result] = ()

    @property
    def rates(self) -> tuple[float, ...]:
        """The share of right links in each round, in percent."""
        each = zip(*(one["right"] for one in self.done), strict=True)
        return tuple(100 * exact.total(*parts) / self.trial.targets for parts in each)


class _Attacks:
    """The attacks on two files, planned."""

    def __init__(
        self, store: Store, files: Pieces, engine: Engine, attacks: Sequence[Attack], known: Knowledge, settings: Settings, intervals: Sequence[int]
    ) -> None:  # fmt: skip
        self.store, self.files, self.engine = store, files, engine
        self.attacks, self.known, self.settings, self.intervals = attacks, known, settings, intervals
        self.found = AttackResults()
        #: column -> what is known of it
        self.columns: dict[int, Result] = {}
        self.scales: dict[Side, list[Any]] = {}
        #: those of a single series of decimals
        self.steps: int | None = None
        self.products: list[Indices] = []
        store.put_plain("files", files)
        if engine.name not in (Here.name, LocalEngine.name):
            for one in attacks:
                check_importable(one, engine.name)

    def run(self) -> AttackResults:
        """Prepare, attack, and put together what was found."""
        self._prepare()
        planned = [one for each in self.attacks for one in self._ways(each)]
        by_parts = [one for one in planned if not one.trial.rungs]
        self.found.targets = {one.attack.figure: one.trial.targets for one in by_parts}
        self._map_tasks(planned, "Attacking the release")
        again = [one for one in planned if one.attack.twice]
        for one in again:
            with one_blas_thread():
                said = one.attack.weigh(one.done, one.trial, one.situation)
            if said:
                self.found.skipped.append(said)
            one.tasks = [{**task, "step": "attack"} for task in one.tasks]
        if again:
            self._map_tasks(again, "Weighing what was counted")
        for figure in self.found.targets:
            ways = [one for one in by_parts if one.attack.figure == figure]
            best = max(ways, key=lambda one: sum(one.rates))
            self.found.by_known[figure] = best.rates
            self.found.places[figure] = best.name, len(best.done)
            self.found.ladder.append(self._finding(Rung.PART, best, float(np.mean(best.rates)), 0))
            # Who knows everything takes the way that is best then, whatever is best on average.
            best = max(ways, key=lambda one: one.rates[-1])
            self.found.ladder.append(self._finding(Rung.PERSON, best, best.rates[-1], 1))
        jointly: dict[tuple[str, Rung], list[_Way]] = {}
        for one in planned:
            for rung in one.trial.rungs:
                jointly.setdefault((one.attack.figure, rung), []).append(one)
        for (_, rung), ways in jointly.items():
            best = max(ways, key=lambda one: one.rates[-1])
            self.found.ladder.append(self._finding(rung, best, best.rates[-1], 1))
        if any(count < self.files.people for count in self.found.targets.values()):
            self.found.places.clear()
        return self.found

    def _finding(self, rung: Rung, planned: _Way, rate: float, row: int) -> Finding:
        """What an attack that was tried in one way found at a rung; `row`: of the chances on average over what is known, or with everything known."""
        scores = scores_of(self.store, self.files, planned.name, len(planned.done))[row]
        attack, targets = planned.attack, planned.trial.targets
        everybody = targets >= (planned.trial.known or self.files.people)
        if everybody and rung is not Rung.PART:
            self.found.by_rung.setdefault(rung, []).append((planned.name, len(planned.done), row))
        return Finding(rung, attack.name, attack.figure, rate, targets, scores, complete=everybody)

    def best_links(self) -> tuple[Found, Trial]:
        """What the only attack finds for all records of files in one piece, in the best of its ways."""
        self._prepare()
        attempts = []
        for one in self._ways(self.attacks[0]):
            if len(one.tasks) > 1 or one.trial.targets < self.files.people:
                continue  # who knows both files knows everybody at once
            task = one.tasks[0]
            targets = one.attack.targets(task)
            with one_blas_thread():
                if one.attack.twice:
                    one.attack.weigh([one.attack.count(targets, task)], one.trial, one.situation)
                found = one.attack.link(targets, task)
            chances = found.chances(targets, self.settings.ties) / targets.records()
            attempts.append((float(chances.sum()), found, one.trial))
        if not attempts:
            reasons = [*self.found.skipped, *self.found.not_measured] or ["it does not fit these files"]
            raise DoesNotFitError(f"the attack cannot run: {'; '.join(reasons)}")
        return max(attempts, key=lambda each: each[0])[1:]

    def _map_tasks(self, planned: Sequence[_Way], text: str) -> None:
        todo = [task for one in planned for task in one.tasks]
        results = iter(self.engine.map(work, todo, text))
        for one in planned:
            one.done = [next(results) for _ in one.tasks]

    # -- what must be known before ------------------------------------------------------------------------------------

    def _map(self, step: str, text: str, more: Sequence[Mapping[str, Any]] = (), **shared: Any) -> list[Result]:
        """A step for every piece of both files, and other tasks."""
        how = self.settings.normalise
        sides: tuple[tuple[Side, int], ...] = (
            ("original", len(self.files.original)),
            ("released", len(self.files.released)),
        )
        wanted = bool(self.files.series) and any(one.needs_series_scales for one in self.attacks)
        # Of a single series on one scale only ratios of differences count: decimals are then compared as whole numbers.
        alone = wanted and len(self.files.series) == 1 and how == "global" and self.settings.scaling == "original"
        todo: list[Mapping[str, Any]] = []
        for side, pieces in sides:
            scaled = wanted and how in series_scales.SHARED and (side == "original" or self.settings.scaling == "own")
            if step == "complete" and how == "ranging":
                scaled = False
            own = {"scales": self.scales[side]} if scaled and side in self.scales else {}
            if scaled or side == "released":
                todo += [
                    {"step": step, "side": side, "at": at, "how": how, "scaled": scaled, "alone": alone, **own, **(shared if side == "released" else {})}
                    for at in range(pieces)
                ]  # fmt: skip
        self.asked = [str(task["side"]) for task in todo]
        every = {"store": self.store.handle}
        return self.engine.map(work, [{**task, **every} for task in [*todo, *more]], text)

    def _of(self, side: Side, found: Sequence[Result], what: str) -> list[Sequence[Any]]:
        """For each series what was found in the pieces of a file."""
        pieces = [one[what] for one, its in zip(found, self.asked, strict=False) if its == side and what in one]
        return list(zip(*pieces, strict=True))

    def _prepare(self) -> None:
        found = self._map("look", "Looking at the release")
        for side in ("original", "released"):
            if bounds := self._of(side, found, "bounds"):
                self.scales[side] = [series_scales.merge_bounds(each) for each in bounds]
        both = [*self._of("original", found, "decimals"), *self._of("released", found, "decimals")]
        self.steps = series_scales.merge_decimals([one for pieces in both for one in pieces]) if both else None
        self.found.distinct = tell_apart(self.store, self.files, self.settings.ties)
        plain = [_as_plain(one) for one in self.attacks if one.looks_at_columns()]
        products = any(one.needs_products(self.known.blocks) for one in self.attacks)
        known = set(self.known.columns) if plain or products else set()
        used = sorted({*self.intervals, *known})
        together = max(1, VALUES // max(self.files.n, self.files.m))
        groups = [used[start : start + together] for start in range(0, len(used), together)]
        columns = [
            {
                "step": "columns",
                "columns": group,
                "disclosed": [at for at in group if at in self.intervals],
                "known": [at for at in group if at in known],
                "products": products,
                "attacks": plain,
            }
            for group in groups
        ]
        found = self._map("prepare", "Preparing the attacks", columns)
        each = [of_column for task in found[len(self.asked) :] for of_column in task["columns"]]
        self.columns = dict(zip(used, each, strict=True))
        self.found.disclosed = {at: int(self.columns[at]["disclosed"]) for at in self.intervals}
        self._complete_scales(found)
        shared: dict[str, Any] = {}
        self.store.remove(f"{WHITENING}-")  # of an evaluation before this one
        if products:
            blocks = [[list(places), [self.columns[at]["scale"] for at in places]] for places in self.known.blocks]
            shared["blocks"] = blocks
        if shared or (self.scales and self.settings.normalise != "ranging"):
            self._complete_scales(self._map("complete", "Preparing the attacks", **shared))
        pieces = range(len(self.files.released))
        self.products = [
            exact.merged_products(self.store.get(f"products-{number}-{at}") for at in pieces)
            for number in range(len(shared.get("blocks", ())))
        ]

    def _complete_scales(self, found: Sequence[Result]) -> None:
        for side, scales in self.scales.items():
            n = self.files.n if side == "original" else self.files.m
            counts = [n * len(block) if self.settings.normalise == "global" else n for block in self.files.series]
            sums = self._of(side, found, "sums")
            if sums and self.settings.normalise != "ranging":
                self.scales[side] = [
                    series_scales.complete_scale(*each) for each in zip(scales, sums, counts, strict=True)
                ]

    # -- what is to be done -------------------------------------------------------------------------------------------

    def _ways(self, one: Attack) -> list[_Way]:
        """The ways in which an attack is tried, with their tasks."""
        every = self.known.block_counts if one.by_block else self.known.counts
        if one.rung not in (Rung.PART, Rung.PERSON):
            every = every[-1:]
        counts = [count for count in every if one.most is None or count <= one.most]
        if len(counts) < len(every):
            self.found.skipped.append(
                f"{one.plain} takes at most {one.most} known attributes and was left out where more are known"
            )
        if not counts:
            return []
        situation = self._situation(one, counts)
        try:
            trials = one.plan(situation)
        except NotMeasuredError as reason:
            self.found.not_measured.append(str(reason))
            return []
        found = []
        for trial in trials:
            name = f"{one.figure} {trial.way}".strip()
            border = (
                None if trial.targets == self.files.people else border_of(self.files.who(self.store), trial.targets)
            )
            shared = {
                "step": "count" if one.twice else "attack", "attack": _as_plain(one), "store": self.store.handle, "name": name,
                "border": border, "ties": self.settings.ties, "scaling": self.settings.scaling, "counts": counts,
                "columns": situation.columns, **trial.task,
            }  # fmt: skip
            parts = self._in_pieces(trial.targets) if trial.tasks is None else [{}] * trial.tasks
            found.append(
                _Way(one, situation, trial, name, [{**shared, **part, "at": at} for at, part in enumerate(parts)])
            )
        return found

    def _situation(self, one: Attack, counts: Sequence[int]) -> Situation:
        how = self.settings.normalise
        ours = self.scales.get("original", [how if how == "per-record" else None] * len(self.files.series))
        if self.steps is not None:
            ours = [self.steps]
        return Situation(
            store=self.store,
            files=self.files,
            settings=self.settings,
            counts=counts,
            columns=list(self.known.columns if one.by_block else self.known.columns[: max(counts)]),
            blocks=self.known.blocks,
            of_columns={at: found["of"].get(one.figure, {}) for at, found in self.columns.items()},
            distinct=self.found.distinct,
            series_scales={"original": ours, "released": self.scales.get("released", ours)},
            products=self.products,
        )

    def _in_pieces(self, targets: int) -> list[dict[str, Any]]:
        """Tasks for the targets of some pieces of the original each."""
        found = []
        begin, together = 0, 0.0
        for at, size in enumerate(self.files.original):
            together += size * targets / self.files.people
            if together >= base.AT_ONCE or at + 1 == len(self.files.original):
                found.append({"first": begin, "last": at + 1})
                begin, together = at + 1, 0.0
        return found
