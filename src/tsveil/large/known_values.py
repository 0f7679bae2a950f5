"""Who is singled out by known values in an (n,l,k)-anonymous release of many files: a few people, looked for in all of it.

**Random values**: for each person n time points are drawn, a few times, and the records that agree with the person there are counted in every file.

**Chosen values**: an intruder who always takes the point that leaves the fewest records. The first point follows from how many records share each
value of the person. Of the records that share it every file then hands over at which points they agree with the person (equal ones once,
with their number), and the other points are chosen from these. It is a lower bound of the worst case, as in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Indices
from tsveil.data.source import as_values
from tsveil.data.store import Store, opened
from tsveil.engine.base import Engine, Result, Task
from tsveil.protect.job import Job, load

#: people of whom is asked whether known values single them out, and how often with other values
SINGLED, DRAWS = 200, 5
#: of so many different ways to agree with a person the intruder loses track, and the person counts as not found
WAYS = 20_000


@dataclass(frozen=True)
class SingledOut:
    """The share of people, in percent, whom n known values single out in the whole release."""

    #: by n random points, and by n points chosen for the person: a lower bound of the worst case
    random: float
    chosen: float
    people: int

    def warning(self, name: str, n: int) -> str:
        """What the owner should know."""
        return (
            f"series {name!r}: (n,l,k)-anonymity does not stop re-identification: {n} random known values single out {self.random:.1f} % of "
            f"the series, {n} chosen ones at least {self.chosen:.1f} % (of a sample of {self.people})"
        )


def known_points(T: int, n: int, person: int, draw: int) -> Indices:
    """The n of T time points that an intruder happens to know of a person; no secret."""
    return np.random.default_rng([person, draw]).choice(T, n, replace=False)


def singled_out(store: Store, job: Job, engine: Engine) -> dict[str, SingledOut]:
    """Who is singled out: for each series, or for points of several dimensions."""
    n = int(job.settings["n"])
    todo = [{"store": store.handle, "at": at} for at in range(job.files)]
    found = engine.map(agreeing, todo, "Counting who is singled out")
    names = list(_points(job))
    first = [np.sum([one["shared"][at] for one in found], axis=0).argmin(axis=0).tolist() for at in range(len(names))]
    engine.map(ways_to_agree, [{**task, "first": first} for task in todo], "Choosing values that single out")
    shares = {}
    for number, name in enumerate(names):
        random = np.sum([one["random"][number] for one in found], axis=0) == 1
        chosen = [
            alone_after(*ways, point, n) or bool(drawn.any())
            for ways, point, drawn in zip(_all_ways(store, job, number), first[number], random, strict=True)
        ]
        shares[name] = SingledOut(100 * float(random.mean()), 100 * float(np.mean(chosen)), len(chosen))
    return shares


def _points(job: Job) -> dict[str, list[list[int]]]:
    """The columns of each time point: one, of every series by itself, or those of all series together."""
    own = {
        role.name: [[at] for at in range(len(job.source.columns))[job.source.span(role.name)]]
        for role in job.source.series
    }
    if job.settings.get("grouping") != "joint":
        return own
    return {"all series together": [[at for one in point for at in one] for point in zip(*own.values(), strict=True)]}


# -- the steps --------------------------------------------------------------------------------------------------------


def _against(column: AnyArray, own: AnyArray) -> tuple[Indices, Indices]:
    """A column as numbers of the people's values, and these of the people themselves; a value that nobody of them has gets one more."""
    values, numbers = np.unique(own, return_inverse=True)
    place = np.searchsorted(values, column).clip(max=len(values) - 1)
    return np.where(values[place] == column, place, len(values)), numbers.ravel()


def _compared(task: Task) -> Iterator[tuple[AnyArray, AnyArray]]:
    """For each series of one published file: numbers that agree where the values do, (points, records), and those of the people."""
    store, at = opened(task["store"]), int(task["at"])
    job = load(store)
    outs = [store.get(f"people-{one}.out", whole=True) for one in range(job.files)]
    people = np.concatenate(outs)[:SINGLED]
    path = job.published_file(at)
    released = as_values(pl.read_parquet(path, columns=list(job.source.columns), glob=False).select(job.source.columns))
    for points in _points(job).values():
        codes = np.empty((len(points), len(released)), dtype=np.int32)
        own = np.empty((len(points), len(people)), dtype=np.int32)
        for number, (column, *others) in enumerate(points):
            code, mine = _against(released[:, column], people[:, column])
            for other in others:
                one, two = _against(released[:, other], people[:, other])
                code, mine = _against(code * (SINGLED + 1) + one, mine * (SINGLED + 1) + two)
            codes[number], own[number] = code, mine
        yield codes, own


def agreeing(task: Task) -> Result:
    """How many records of one published file agree with each person, for every series: at points drawn at random, and at each point."""
    n = int(load(opened(task["store"])).settings["n"])
    random, shared = [], []
    for codes, own in _compared(task):
        sizes = [np.bincount(code, minlength=SINGLED + 1)[mine] for code, mine in zip(codes, own, strict=True)]
        shared.append(np.array(sizes).tolist())
        random.append(
            [
                [
                    int(np.logical_and.reduce([codes[at] == mine[at] for at in known_points(len(codes), n, person, draw)]).sum())
                    for draw in range(DRAWS)
                ]
                for person, mine in enumerate(own.T)
            ]
        )  # fmt: skip
    return {"random": random, "shared": shared}


def ways_to_agree(task: Task) -> Result:
    """In what ways the records of one published file that have a person's first value agree with the person at the other points."""
    store = opened(task["store"])
    for number, (codes, own) in enumerate(_compared(task)):
        bits, counts = [], []
        for mine, point in zip(own.T, task["first"][number], strict=True):
            near = codes[:, codes[point] == mine[point]]
            ways, copies = np.unique(np.packbits(mine == near.T, axis=1), axis=0, return_counts=True)
            bits.append(ways[:WAYS])
            counts.append(copies[:WAYS])
        stem = f"ways-{number}-{task['at']}"
        store.put(stem, np.concatenate(bits))
        store.put(f"{stem}.counts", np.concatenate(counts))
        store.put(f"{stem}.ends", np.cumsum([0, *map(len, bits)]))
    return {}


def _all_ways(store: Store, job: Job, number: int) -> Iterator[tuple[AnyArray, Indices]]:
    """For each person the ways of all files, and how many records there are of each."""
    stems = [f"ways-{number}-{at}" for at in range(job.files)]
    ways, counts, ends = ([store.get(f"{stem}{part}") for stem in stems] for part in ("", ".counts", ".ends"))
    for person in range(len(ends[0]) - 1):
        own = [slice(*end[person : person + 2].tolist()) for end in ends]
        bits, copies = ([part[one] for part, one in zip(parts, own, strict=True)] for parts in (ways, counts))
        yield np.concatenate(bits), np.concatenate(copies)


def alone_after(ways: AnyArray, counts: Indices, first: int, n: int) -> bool:
    """Whether a person is alone after n points, the first of them given and each other the one that leaves the fewest.

    `ways` are the points at which records agree with the person, as bits, and `counts` how many records do so.

    Examples
    --------
    >>> ways = np.packbits(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0]]), axis=1)
    >>> alone_after(ways, np.array([1, 4, 2]), 0, 2), alone_after(ways, np.array([1, 4, 2]), 0, 3)
    (False, True)
    """
    if len(ways) >= WAYS:
        return False
    agree = np.unpackbits(ways, axis=1).astype(np.bool_)
    left = agree[:, first]
    for _ in range(n - 1):
        if int(counts[left].sum()) == 1:
            break
        remaining = (agree[left] * counts[left, None]).sum(axis=0)
        # Beyond the last point the bits are padding, where nobody agrees.
        point = int(np.where(remaining > 0, remaining, remaining.max() + 1).argmin())
        left = left & agree[:, point]
    return int(counts[left].sum()) == 1
