"""How exposed the records of a release in many files are: which attacks are run, on whom, and what they find.

    (here)     the distinct rows of the release
    prepare    every published file: its distinct rows, and what the scale of the series needs; every column: ranks, labels, scale
    attack     people of some published files, or neighbours in a column, against the whole release
    agree      linkage by probability weighs agreements by how often they occur, so its people are gone through twice

Scales and ranks are always those of all records, also when the people are a sample of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tsveil.attack._columns import DEEPEST
from tsveil.attack.attribute import disclosure
from tsveil.attack.fits import Run, fitting, made_for_series
from tsveil.attack.probabilistic import CELLS, fellegi_sunter
from tsveil.data.store import Store, opened
from tsveil.engine.base import Engine, Result, Task
from tsveil.large import attacks
from tsveil.large.columns import look_at_column
from tsveil.large.distinct import collect, tell_apart
from tsveil.large.job import Job, load
from tsveil.large.losses import released_products
from tsveil.large.people import AT_ONCE, border_of, file_runs, wanted
from tsveil.large.ways import sized
from tsveil.transform.normalise import Ruler, exact_sums, exact_total
from tsveil.transform.projection import loadings_of

#: cells of the sorted release that an attack in ranges may hold: 12 bytes each
SLICE = 2**27
#: what one comparison of values in a tree, without a tree, inside a range, and one look at an agreement cost, in comparisons of series
TREE, UNAIDED, RANGE, LOOK = 4, 10, 3, 150
#: so many people are always asked for agreements: fewer would cost as much
ASKED = 4096
#: agreements that are kept for the second pass: 4 bytes each
KEPT = 2**28


@dataclass
class Attacked:
    """What the attacks found."""

    #: figure -> rate with 1, 2, ... series or attributes known, in percent
    by_known: dict[str, tuple[float, ...]] = field(default_factory=dict)
    #: figure -> number of people
    people: dict[str, int] = field(default_factory=dict)
    #: figure -> name of the files with the chances of each person, and their number
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    #: attributes: number of values inside the intervals of all widths
    hits: int = 0
    #: carried column -> number of records whose value is disclosed
    disclosed: dict[str, int] = field(default_factory=dict)
    #: what was left out, in words
    skipped: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)

    def add(self, figure: str, found: Sequence[Result], stem: str) -> None:
        """The results of an attack's tasks."""
        people = sum(int(one["people"]) for one in found)
        right = [math.fsum(round) for round in zip(*(one["right"] for one in found), strict=True)]
        self.by_known[figure] = tuple(100 * each / people for each in right)
        self.people[figure] = people
        self.files[figure] = stem, len(found)


def column_attacks(job: Job) -> list[Run]:
    """The attacks by columns that fit the method: all of them on attributes, those made for the method on series."""
    chosen = made_for_series if job.source.series else fitting
    return chosen(job.method, job.settings, sized(job))


def attacked(store: Store, job: Job, files: Sequence[Result], engine: Engine) -> Attacked:
    """Run all attacks that fit."""
    return _Attacks(store, job, engine).run(files)


def work(task: Task) -> Result:
    """One task of any kind."""
    return KINDS[task["do"]](task)


def prepare(task: Task) -> Result:
    """The distinct rows of one published file, and squares of its originals around the means of the series, for their scale."""
    store, at = opened(task["store"]), int(task["at"])
    job = load(store)
    collect(store, job, at)
    X = store.get(f"original-{at}")
    sums = []
    for role, ruler in zip(job.source.series, task["rulers"], strict=True):
        unit = Ruler(*ruler).measure(np.asarray(X[job.source.span(role.name)]))
        sums.append([int(half.item()) for half in exact_sums(np.square(unit), None)])
    return {"squares": sums}


KINDS: dict[str, Callable[[Task], Result]] = {
    "prepare": prepare,
    "column": look_at_column,
    "by_series": attacks.by_series,
    "by_distance": attacks.by_distance,
    "by_projection": attacks.by_distance,
    "agreements": attacks.agreements,
    "by_agreement": attacks.by_agreement,
    "in_ranges": attacks.in_ranges,
}


class _Attacks:
    """The attacks of one job, planned."""

    def __init__(self, store: Store, job: Job, engine: Engine) -> None:
        self.store, self.job, self.engine = store, job, engine
        self.runs = column_attacks(job)
        blocks = job.source.series or job.source.blocks
        self.columns = [place for b in blocks for place in range(*job.source.span(b.name).indices(len(job.low)))]
        widths = [len(b.columns) for b in blocks]
        #: numbers of known columns: one more each time, or those of a whole series
        self.counts = np.cumsum(widths).tolist() if job.source.series else list(range(1, len(self.columns) + 1))
        self.distinct = tell_apart(store, job)
        self.found = Attacked()
        #: figure -> tasks
        self.tasks: dict[str, list[dict[str, Any]]] = {}
        #: figure -> people
        self.people: dict[str, int] = {}

    def run(self, files: Sequence[Result]) -> Attacked:
        """Prepare, attack, and put together what was found."""
        rulers = self._prepared(files)
        if self.job.source.series:
            self._plan_series(rulers)
        for run in self.runs:
            self._plan(run)
        keep = all(people == self.job.n for people in self.people.values())
        todo = [{**task, "keep": keep} for tasks in self.tasks.values() for task in tasks]
        results = iter(self.engine.map(work, todo, "Attacking the release"))
        done = {figure: [next(results) for _ in tasks] for figure, tasks in self.tasks.items()}
        starts = [self.job.file_range(at)[0] for at in range(self.job.files)]
        of_row = self.store.get("distinct.of_row", whole=True)
        self.found.disclosed = disclosure(self.store, self.engine, of_row, starts, self.job.source.confidential).counts
        if "PLD" in done:
            done["PLD"] = self._weighed(done["PLD"], keep)
        for figure in self.people:
            found = {name: done[name] for name in done if name.split(" ")[0] == figure}
            best = max(found, key=lambda name: sum(sum(one["right"]) for one in found[name]))
            self.found.add(figure, found[best], best)
        return self.found

    # -- what must be known before ------------------------------------------------------------------------------------

    def _prepared(self, files: Sequence[Result]) -> list[list[float]]:
        """The scale of each series; what was found out about the columns is kept."""
        job = self.job
        bounds, counts = [], []
        for at, role in enumerate(job.source.series):
            span = job.source.span(role.name)
            low, high, count = min(job.low[span]), max(job.high[span]), job.n * len(role.columns)
            sums = [sum(one["units"][at][half] for one in files) for half in (0, 1)]
            bounds.append([low, high - low, float(_total(sums)) / count])
            counts.append(count)
        every = {"store": self.store.handle}
        todo: list[dict[str, Any]] = [{"do": "prepare", "at": at, "rulers": bounds, **every} for at in range(job.files)]
        figures = [run.figure for run in self.runs] + ([] if job.source.series else ["ID"])
        window = next((run.window for run in self.runs if run.window is not None), 0)
        if figures:
            todo += [{"do": "column", "at": at, "figures": figures, "window": window, **every} for at in self.columns]
        done = self.engine.map(work, todo, "Preparing the attacks")
        self.of_column = dict(zip(self.columns, done[job.files :], strict=False))
        self.found.hits = sum(int(one.get("hits", 0)) for one in done[job.files :])
        rulers = []
        for at, (bound, count) in enumerate(zip(bounds, counts, strict=True)):
            sums = [sum(one["squares"][at][half] for one in done[: job.files]) for half in (0, 1)]
            deviation = math.sqrt(_total(sums) / max(count - 1, 1))
            rulers.append([*bound, deviation if deviation > 0 else 1.0])
        return rulers

    def _all(self, what: str) -> list[Any]:
        """A figure of all columns."""
        return [self.of_column[column][what] for column in self.columns]

    # -- what is to be done -------------------------------------------------------------------------------------------

    def _file_tasks(self, name: str, do: str, people: int, **more: Any) -> None:
        """Tasks for the people of some published files each."""
        border = border_of(self.job.n, people)
        self.tasks[name] = [
            {"do": do, "store": self.store.handle, "figure": name, "at": at, "first": first, "last": last, "border": border, **more}
            for at, (first, last) in enumerate(file_runs(self.job, people))
        ]  # fmt: skip
        self.people[name.split(" ")[0]] = people

    def _plan_series(self, rulers: list[list[float]]) -> None:
        people = wanted(self.job, self.distinct)
        self._file_tasks("EULD", "by_series", people, rulers=rulers)
        if min(len(role.columns) for role in self.job.source.series) < 2:
            self.found.not_measured.append("STSLD: a series of one point has no shape")
        else:
            self._file_tasks("STSLD", "by_series", people, rulers=rulers)

    def _plan(self, run: Run) -> None:
        counts = [count for count in self.counts if run.most is None or count <= run.most]
        if run.most is not None and len(counts) < len(self.counts):
            self.found.skipped.append(
                f"{run.title} takes at most {run.most} known attributes and was left out where more are known"
            )
        shared = {"columns": self.columns, "counts": counts, "power": self._all("power"), "factor": self._all("factor")}
        match run.figure:
            case "DLD":
                self._file_tasks("DLD", "by_distance", self._near(counts), **shared)
            case "ProjLD":
                self._plan_projections()
            case "PLD":
                # All patterns are gone through for each table of people, and then those of each person.
                most = max(counts)
                people = wanted(self.job, LOOK * (self.distinct * 4**most / CELLS + 2**most))
                if self.job.people is None:
                    people = min(self.job.n, max(people, ASKED))
                self._file_tasks(
                    "PLD", "agreements", people, sizes=self._all("size"), stored=people << most <= KEPT, **shared
                )
            case _:
                self._plan_ranges(run, shared)

    def _near(self, counts: Sequence[int]) -> int:
        """How many people an attack by the nearest rows knows."""
        return wanted(self.job, self.distinct * (TREE if max(counts) <= DEEPEST else UNAIDED))

    def _plan_projections(self) -> None:
        """Both projections: the intruder tries both, and takes the better."""
        job = self.job
        constant = np.array([self.of_column[column]["ruler"][1] == 0 for column in self.columns])
        products, counts = released_products(self.store, job, constant), list(range(1, len(job.source.blocks) + 1))
        for how in ("pcp", "zscores"):
            blocks = []
            for role in job.source.blocks:
                places = list(range(*job.source.span(role.name).indices(len(job.low))))
                rulers = [self.of_column[place]["ruler"] for place in places]
                weights = loadings_of(products[np.ix_(places, places)]) if how == "pcp" else np.ones(len(places))
                blocks.append([places, rulers, weights.tolist()])
            self._file_tasks(
                f"ProjLD {how}", "by_projection", self._near(counts), blocks=blocks, columns=self.columns, counts=counts
            )

    def _plan_ranges(self, run: Run, shared: dict[str, Any]) -> None:
        width = self.of_column[self.columns[0]][f"{run.figure} width"]
        if width * len(self.columns) > SLICE:
            self.found.not_measured.append(f"{run.title}, which is made for {self.job.method} and may find more")
            return
        people = wanted(self.job, RANGE * width)
        tasks, border = -(-people // AT_ONCE), border_of(self.job.n, people)
        self.tasks[run.figure] = [
            {"do": "in_ranges", "store": self.store.handle, "figure": run.figure, "at": at, "tasks": tasks, "border": border, **shared}
            for at in range(tasks)
        ]  # fmt: skip
        self.people[run.figure] = people

    # -- linkage by probability ---------------------------------------------------------------------------------------

    def _weighed(self, counted: Sequence[Result], keep: bool) -> list[Result]:
        """The second pass of linkage by probability, with the weights that the first one gave."""
        tasks = self.tasks["PLD"]
        total = np.sum([one["total"] for one in counted], axis=0, dtype=np.int64)
        for count in tasks[0]["counts"]:
            known = total.reshape(-1, 1 << count).sum(axis=0)
            model = fellegi_sunter(known, 1 / math.sqrt(self.people["PLD"] * self.job.n))
            self.store.put(f"weights-{count}", model.weights)
        todo = [{**task, "do": "by_agreement", "keep": keep} for task in tasks]
        return self.engine.map(work, todo, "Weighing agreements")


def _total(sums: Sequence[int]) -> float:
    high, low = (np.array(half) for half in sums)
    return float(exact_total(high, low))
