"""MDAV's groups made better: `_kernels.refine` has the changes, this file the order in which they are tried.

`swap` moves and swaps records until all pairs of near groups are at rest, by lists of near groups that are made anew while that brings a
thousandth. Then it tries to dissolve each group and to form one around each group's outermost record, brings all to rest again, and goes
on in this way until a round brings less than a thousandth (one round for very many records). `search` goes on from there with trials
of up to three such steps at random places near each other. A trial is kept if the sum of squared errors fell.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tsveil.core.types import Array, Indices
from tsveil.engine.crew import Crew
from tsveil.protect._mdav_exact import draw, in_range
from tsveil.protect.representative import represent

if TYPE_CHECKING:
    from tsveil._kernels.refine import State

Refine = Literal["none", "swap", "search"]

#: how many near groups each group is compared with
NEAR = 10
#: a round of `swap` that lowers the SSE by a smaller share is the last one; the most rounds there are
ENOUGH, ROUNDS = 1e-3, 30
#: with more records there is one round of trials
LARGE = 20_000
#: trials per group that `search` makes without a budget
TRIALS = 50
#: trials between two looks at the clock; the lists of near groups are made anew when as many have been made as there are groups
BATCH = 256
#: trials that each thread makes ahead
AHEAD = 32
#: the arrays that a thread needs for itself
OWN = ("labels", "groups", "near", "centres", "slots", "reach", "counts")
#: steps of a trial of `search`
STEPS = 3
#: with more groups the lists of near ones come from a picture of their means
MANY = 2000


@dataclass(frozen=True)
class Budget:
    """How long `search` may go on; what ends first counts, and without either a number of trials per group."""

    seconds: float | None = None
    iterations: int | None = None

    def share(self, records: int, total: int, workers: int) -> Budget:
        """The budget of a part of the records, when as many parts as there are workers are under way at once."""
        return Budget(
            None if self.seconds is None else self.seconds * min(1.0, records * workers / total),
            None if self.iterations is None else -(-self.iterations * records // total),
        )


def refined_groups(
    Z: Array,
    groups: Indices,
    k: int,
    how: Refine,
    rng: np.random.Generator,
    budget: Budget | None = None,
    *,
    hurried: bool = False,
) -> Indices:
    """Groups of at least k records (and fewer than 2k) whose SSE is at most that of the given ones, numbered from 0.

    The given groups must have k to 2k-1 records. `hurried` is for parts of something large: one round of trials.

    Examples
    --------
    >>> Z = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> refined_groups(Z, np.array([0, 1, 0, 1, 2, 2]), 2, "swap", np.random.default_rng())
    array([0, 0, 1, 1, 2, 2])
    """
    from tsveil._kernels import refine

    many = int(groups.max()) + 1
    if how == "none" or many < 2:
        return groups
    Z = in_range(np.ascontiguousarray(Z, dtype=np.float64))
    state = make_state(Z, groups, k)
    total, latest = np.inf, at_rest(state, k)
    while latest < total * (1 - ENOUGH):
        total, latest = latest, at_rest(state, k)
    since = -1
    for _ in range(ROUNDS if len(Z) <= LARGE and not hurried else 1):
        total, now = latest, int(state.counts[refine.CLOCK])
        for kind in (refine.DISSOLVE, refine.FORM):
            # A trial whose neighbourhood is as it was would end as it did.
            records = refine.outermost(state, since)
            refine.attempt(state, k, records, np.full((len(records), 1), kind), np.zeros((0, 0)), False)
        since, latest = now, at_rest(state, k)
        if not latest < total * (1 - ENOUGH):
            break
    if how == "search":
        search(state, k, rng, budget or Budget())
    found = np.unique(state.labels, return_inverse=True)[1].astype(np.int64)
    return found if sse_of(Z, found) <= sse_of(Z, groups) else groups


def sse_saving(Z: Array, plain: Indices, refined: Indices) -> dict[str, Any]:
    """The fact for the report: by how much the SSE fell, where there was any.

    Examples
    --------
    >>> sse_saving(np.array([[0.0], [2.0], [1.0], [3.0]]), np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1]))
    {'SSE below plain MDAV': '80.0 %'}
    """
    Z = in_range(Z)
    before = sse_of(Z, plain)
    return {"SSE below plain MDAV": f"{100 * (1 - sse_of(Z, refined) / before):.1f} %"} if before > 0 else {}


def make_state(Z: Array, groups: Indices, k: int) -> State:
    """The state that the kernels work on."""
    from tsveil._kernels import refine

    n, columns = Z.shape
    many = int(groups.max()) + 1
    width = min(NEAR, many - 1)
    # A trial may hold groups that are too small for a while: at most one for each near one, and the new one.
    slots = n // k + width + 2
    room = 2 * k  # a group is split as soon as it has 2k
    rows = np.zeros((2 * slots, refine.MEMBERS + room), dtype=np.int64)
    state = refine.State(
        Z=Z, labels=groups.copy(), groups=rows, near=np.zeros((2 * slots, 2 * width), dtype=np.int64),
        centres=np.zeros((2 * slots, columns + 1)), slots=np.zeros((6, slots), dtype=np.int64),
        reach=np.zeros((4, room)), counts=np.zeros(5, dtype=np.int64),
    )  # fmt: skip
    state.sizes[:many] = np.bincount(groups)
    order = np.argsort(groups, kind="stable")
    starts = np.cumsum(state.sizes[:many]) - state.sizes[:many]
    state.members[groups[order], np.arange(n) - starts[groups[order]]] = order
    state.slots[refine.EMPTY, : slots - many] = np.arange(slots - 1, many - 1, -1)
    state.counts[refine.FREE] = slots - many
    for group in range(many):
        refine.compute(state, group)
    return state


def list_near(state: State) -> None:
    """Make the lists of near groups anew, and queue all groups."""
    from tsveil._kernels import refine

    live = np.flatnonzero(state.sizes)
    near = near_rows(np.ascontiguousarray(state.means[live]), state.near_slots.shape[1])
    state.near.fill(-1)
    state.near_slots[live] = np.where(near < 0, -1, live[near])
    state.slots[refine.QUEUE, : len(live)] = live
    state.slots[refine.WAITS, live] = 1
    state.counts[refine.HEAD], state.counts[refine.QUEUED] = 0, len(live)


def at_rest(state: State, k: int) -> float:
    """Bring all groups to rest among their near ones, by fresh lists; gives the SSE."""
    from tsveil._kernels import refine

    list_near(state)
    refine.descend(state, k, 0.0)
    refine.settle(state)
    return float(state.sse[state.sizes > 0].sum())


def near_rows(C: Array, width: int) -> Indices:
    """The nearest other rows of each row, nearest first; -1 where there are no more.

    Examples
    --------
    >>> near_rows(np.array([[0.0], [1.0], [3.0]]), 1).ravel()
    array([1, 0, 1])
    """
    from tsveil._kernels import mdav_lists as lists
    from tsveil._kernels.refine import near_centres

    n = len(C)
    near = np.full((n, width), -1, dtype=np.int64)
    picture = draw(C) if n > MANY else None
    with Crew() as crew:
        if picture is None:
            crew.share(lambda start, stop: near_centres(C, start, stop, near), n)
            return near
        T, ids, where, lead = picture.T, picture.ids, picture.where, picture.lead
        alive = np.zeros(len(T), dtype=np.int64)
        boxes = np.empty((2, lead + 1, len(T)), dtype=np.float32)
        tiles = lists.compact(T, ids, where, alive, boxes, lead)
        key, name = np.empty((n, width + 4)), np.empty((n, width + 4), dtype=np.int64)
        far_key, far_name = np.empty((n, 1)), np.empty((n, 1), dtype=np.int64)
        size = np.zeros((n, 3), dtype=np.int64)

        def make(rows: Indices, exact: bool) -> None:
            def work(start: int, stop: int) -> None:
                for at in range(start, stop, 16):  # few at a time: they share what is in the cache
                    some = rows[at : min(at + 16, stop)]
                    lists.make_lists(
                        C, T, ids, where, alive, boxes, tiles, lead, picture.bound, some, some,
                        False, exact, key, name, far_key, far_name, size,
                    )  # fmt: skip

            crew.share(work, len(rows))

        make(np.arange(n), False)
        short = np.flatnonzero(size[:, 0] < width)
        if len(short):
            make(short, True)
    return name[:, :width].copy()


def search(state: State, k: int, rng: np.random.Generator, budget: Budget) -> None:
    """Make trials at random places until the budget is used up.

    Few of them are worth while, and those that are not leave no trace: so several threads make trials ahead, each on groups of its own, until
    one is worth while; what others have made beyond it is made again. The result is that of one thread.
    """
    from tsveil._kernels import refine

    begun = time.monotonic()
    many = int(np.count_nonzero(state.sizes))
    left = budget.iterations
    if left is None:
        left = TRIALS * many if budget.seconds is None else np.iinfo(np.int64).max
    listed = 0
    with Crew() as crew:
        copies = ({name: getattr(state, name).copy() for name in OWN} for _ in range(crew.size - 1))
        states = [state, *(state._replace(**own) for own in copies)]
        while left > 0 and (budget.seconds is None or time.monotonic() - begun < budget.seconds):
            if listed >= max(many, BATCH):
                at_rest(state, k)
                for other in states[1:]:
                    take_over(state, other)
                listed = 0
            # The draws do not depend on how many are left, so a longer search goes the way of a shorter one first.
            records = rng.integers(len(state.labels), size=BATCH)
            steps = rng.integers(1, STEPS + 1, size=(BATCH, 1))
            kinds = np.where(
                np.arange(STEPS) < steps, rng.integers(refine.DISSOLVE, refine.FORM + 1, (BATCH, STEPS)), 0
            )
            picks = rng.random((BATCH, 2 * STEPS - 2))
            batch = min(BATCH, left)
            make_trials(states, k, records[:batch], kinds[:batch], picks[:batch], crew)
            left -= batch
            listed += batch


def make_trials(states: list[State], k: int, records: Indices, kinds: Indices, picks: Array, crew: Crew) -> None:
    """Make trials one after another, as many at a time as there are states, which are equal before and after."""
    from tsveil._kernels import refine

    ahead = AHEAD if len(states) > 1 else len(records)
    worth = np.empty(len(states), dtype=np.int64)

    def attempt(which: int, start: int, stop: int) -> int:
        return int(refine.attempt(states[which], k, records[start:stop], kinds[start:stop], picks[start:stop], True))

    done = 0
    while done < len(records):
        starts = np.minimum(done + ahead * np.arange(len(states) + 1), len(records))

        def work(low: int, high: int, starts: Indices = starts) -> None:
            for which in range(low, high):
                worth[which] = attempt(which, int(starts[which]), int(starts[which + 1]))

        crew.share(work, len(states))
        found = np.flatnonzero(worth >= 0)
        if not len(found):
            done = int(starts[-1])
            continue
        first = int(found[0])
        row = int(starts[first] + worth[first])
        for which in range(len(states)):
            if which in found[1:]:
                take_over(states[first], states[which])
            elif which != first:
                attempt(which, row, row + 1)
        done = row + 1


def take_over(source: State, target: State) -> None:
    """Make the groups of a state those of another one."""
    for name in OWN:
        np.copyto(getattr(target, name), getattr(source, name))


def sse_of(Z: Array, groups: Indices) -> float:
    """The sum of squared errors of groups, from their definition."""
    return float(((Z - represent(Z, groups, "mean")) ** 2).sum())
