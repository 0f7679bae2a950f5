"""What the linkages by profile have in common: persons are known by features of their series at other times, and looked for among the features of what is published.

Features are taken record by record and piece by piece, and the scale of each follows from all published records, so nothing depends on the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import AT_ONCE, Attack, Knowledge, OtherPeriod, Rung, Settings, Situation, Trial
from tsveil.attack.files import HasData, mean_and_deviation, own_rows, released_data
from tsveil.attack.links import Links
from tsveil.attack.periods import Periods, periods_of
from tsveil.attack.pieces import Pieces, Targets, opened_files
from tsveil.attack.run import VALUES, links_in_memory, links_of_files
from tsveil.attack.targets import border_of
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.data.store import Memory, Store
from tsveil.engine.base import Result, Task

#: what the names of everything that linkages by profile keep begin with: all use the same features
KEPT = "habits"
#: pairs of a person and a distinct published record that are compared
PAIRS = 4 * 10**8
#: what a feature must vary by, in shares of the largest feature of its series
LEAST = 1e-9
#: tasks that at least go through the release, if it has as many pieces
TASKS = 8


@dataclass(frozen=True, kw_only=True)
class Habits(Attack):
    """Base of the attacks on persons whose values at other times are known."""

    rung: ClassVar[Rung] = Rung.OTHER_PERIOD
    of_series: ClassVar[bool | None] = True
    options: ClassVar[tuple[str, ...]] = ("other",)
    twice: ClassVar[bool] = True

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """For each original record, or with `other` for each record of the other period; where these stand for the originals, the truth is about them."""
        other: Dataset | None = given.pop("other", None)
        if other is not None:
            return self._links_of(other, original, released_data(released), given.get("truth"))
        return links_in_memory(self, original, released, **given)

    def _links_of(self, other: Dataset, original: Dataset, released: Dataset, truth: Truth) -> Links:
        """The links of the records of another period."""
        if original is other:
            own = own_rows(other, released, truth)
        else:
            known = OtherPeriod.of(original.ids.to_list(), other).rows
            own = np.full(other.n, -1, dtype=np.int64)
            own[known[known >= 0]] = own_rows(original, released, truth)[known >= 0]
        # A file that was read like the original has its times as numbers.
        blocks = [block for block in (released if original is other else original).blocks if block.is_series]
        shown = np.hstack([released.block(block.name) for block in blocks])
        store = Memory()
        files = Pieces.of(store, blocks, np.empty((other.n, 0)), shown, own)
        columns = list(range(shown.shape[1]))
        everything = Knowledge(columns, [len(columns)], [columns], [1])
        settings = Settings(targets=0, other=OtherPeriod(other, np.arange(other.n)))
        return links_of_files(self, store, files, everything, settings, lambda words: f"{words}, another period known")

    # -- the steps ----------------------------------------------------------------------------------------------------

    def plan(self, situation: Situation) -> list[Trial]:
        """Everybody whose values at other times are known, or a sample of them; nothing where there are no other times."""
        files, store, other = situation.files, situation.store, situation.settings.other
        periods = periods_of(files, other)
        if isinstance(periods, str):
            return []
        store.remove(KEPT)  # of an evaluation before this one
        store.put_plain(f"{KEPT}.periods", periods)
        people = files.people
        task: dict[str, Any] = {"other": other is not None}
        if other is not None:
            numbers = files.numbers(store)
            numbers = numbers[other.rows[numbers] >= 0]
            people = len(numbers)
            table = np.hstack([other.data.block(block.name) for block in other.data.series])
            store.put("other.rows", other.rows)
            store.put(f"{KEPT}.known", periods.known(table))
            store.put(f"{KEPT}.sizes", periods.known_sizes(table))
        self.check(people)
        asked = situation.settings.targets
        most = max(1, int(PAIRS / situation.distinct * files.people / files.n)) if asked is None else asked or people
        targets = min(people, most)
        if other is not None:
            task["border"] = None if targets == people else border_of(numbers, targets)
        tasks = min(len(files.original), max(TASKS, -(-situation.records(targets) // AT_ONCE)))
        return [Trial(targets, {**task, "tasks": tasks}, tasks=tasks, rungs=(Rung.OTHER_PERIOD,), known=people)]

    def check(self, people: int) -> None:
        """Refuse too few known persons; here one is enough."""

    def targets(self, task: Task) -> Targets:
        """Those of the task's pieces of the original that are in the sample, and known."""
        store, files = opened_files(task)
        first, last = _share(task, len(files.original))
        found = Targets.among(
            task, store, files, files.range("original", first)[0], files.range("original", last - 1)[1]
        )
        return found.subset(self.rows_of(found) >= 0) if task["other"] else found

    def known(self, targets: Targets, task: Task) -> Array:
        """The features of what is known of some records."""
        if task["other"]:
            return np.asarray(targets.store.get(f"{KEPT}.known")[self.rows_of(targets)])
        store, at = targets.store, task["at"]
        if store.has(f"{KEPT}.known-{at}"):
            place = np.searchsorted(store.get(f"{KEPT}.rows-{at}"), targets.rows)
            return np.asarray(store.get(f"{KEPT}.known-{at}"))[place]
        return self.periods(store).known(targets.values())

    def rows_of(self, targets: Targets) -> Indices:
        """The rows of some records in the file of another period; -1: none."""
        numbers = targets.files.numbers(targets.store)[targets.rows]
        return np.asarray(targets.store.get("other.rows")[numbers])

    def periods(self, store: Store) -> Periods:
        """The two periods."""
        return store.get_plain(f"{KEPT}.periods", Periods)

    def count(self, targets: Targets, task: Task) -> Result:
        """Keep the features of the distinct rows in the task's pieces of the release."""
        store, periods = targets.store, self.periods(targets.store)
        for at in self.pieces(targets, task):
            if not store.has(f"{KEPT}-{at}"):
                store.put(f"{KEPT}-{at}", periods.shown(store.get(f"distinct-{at}", whole=True)))
        return {}

    def pieces(self, targets: Targets, task: Task) -> range:
        """The pieces of the release that are the task's."""
        return range(*_share(task, len(targets.files.released)))

    def weigh(self, counted: Sequence[Result], trial: Trial, situation: Situation) -> None:
        """Keep the mean of each feature over the published records, and one over its deviation (0: it does not count)."""
        store = situation.store
        if store.has(f"{KEPT}.scale"):
            return
        pieces = [store.get(f"{KEPT}-{at}") for at in range(len(situation.files.released))]
        copies = np.asarray(store.get("distinct.copies"))
        width = pieces[0].shape[1]
        mean, deviation, largest = np.zeros(width), np.zeros(width), np.zeros(width)
        together = max(1, VALUES // situation.files.m)
        for start in range(0, width, together):
            some = slice(start, start + together)
            table = np.concatenate([piece[:, some] for piece in pieces])
            mean[some], deviation[some] = mean_and_deviation(np.repeat(table, copies, axis=0))
            largest[some] = np.abs(table).max(axis=0)
        widths = self.periods(store).widths
        starts = np.cumsum([0, *widths[:-1]])
        least = LEAST * np.repeat(np.maximum.reduceat(largest, starts), widths)
        factor = np.zeros(width)
        np.divide(1.0, deviation, out=factor, where=deviation > least)
        store.put(f"{KEPT}.scale", np.stack([mean, factor]))


def _share(task: Task, pieces: int) -> tuple[int, int]:
    """The pieces from..to of a task among all tasks."""
    at, tasks = int(task["at"]), int(task["tasks"])
    return at * pieces // tasks, (at + 1) * pieces // tasks
