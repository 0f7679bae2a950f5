"""Exact MDAV: the groups of the definition, computed as fast as we know how.

Most of the time of MDAV goes into finding the k-1 nearest records of each seed. The fast version makes these lists ahead of
time for the seeds that are likely to come next, on all cores, with a float32 picture of the records that excludes almost
everything (`_kernels.mdav_lists` says how and why that is exact), and keeps the outermost records by their distance to an
earlier centroid, so that the farthest from the present one is found among a few. Few records, or data that float32 cannot
tell apart, go through the fused loop (`_kernels.mdav`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsveil._types import AnyArray, Array, Indices
from tsveil.engine.crew import Crew

#: with fewer records left than this the fused loop is as fast
FEW = 3000
#: lists are made for so many seeds at once
LEAST_AHEAD, MOST_AHEAD = 4, 32
#: leading coordinates: those of the tiles' boxes
LEAD = 8
#: wider data are rotated by a cosine transform instead of their principal directions, whose cost grows with the cube
WIDEST = 512


def exact_groups(
    Z: Array, k: int, *, variant: str = "standard", counter: Indices | None = None, few: int = FEW
) -> Indices:
    """The groups of MDAV (maximum distance to the average vector), numbered in the order in which they are formed.

    While at least 3k records remain: the record r farthest from the mean of the remaining ones and its k-1 nearest become
    a group, then the record s farthest from r among the others and its k-1 nearest. If at least 2k remain: one more group
    around the farthest from the new mean. The rest is the last group.

    Parameters
    ----------
    Z
        n records by d columns, the space of the distances; n is at least k.
    variant
        "standard", or "paper" for the printed loop, which goes on while more than k remain and whose last group may be
        smaller than k.
    counter
        its first element is raised to the number of assigned records while the work goes on.
    few
        with fewer records left the fused loop takes over; the groups do not depend on it.

    Examples
    --------
    >>> exact_groups(np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [30.0]]), 2)
    array([1, 1, 2, 2, 0, 0])
    """
    from tsveil._kernels.mdav import fused_groups

    Z = in_range(np.ascontiguousarray(Z, dtype=np.float64))
    labels = np.full(len(Z), -1, dtype=np.int64)
    counter = np.zeros(1, dtype=np.int64) if counter is None else counter
    total = running_sum(Z)
    label = 0
    stop = max(3 * k, few)
    if len(Z) >= stop and k > 1:
        picture = draw(Z)
        if picture is not None:
            with Crew() as crew:
                label = groups_from_lists(Z, k, stop, picture, total, labels, counter, crew)
    fused_groups(Z, k, variant == "paper", np.flatnonzero(labels < 0), total, label, labels, counter)
    return labels


def running_sum(Z: Array) -> Array:
    """All rows added in the order of their index."""
    # accumulate adds one row after the other; np.sum may add pairs of partial sums
    total: Array = np.zeros(Z.shape[1])
    for start in range(0, len(Z), 4096):
        total = np.add.accumulate(np.vstack([total, Z[start : start + 4096]]), axis=0)[-1]
    return total


def in_range(Z: Array) -> Array:
    """Z, multiplied by a power of two if its squares could overflow or vanish; distances keep their order."""
    largest = float(np.max(np.abs(Z), initial=0.0))
    exponent = int(np.frexp(largest)[1])
    if largest == 0.0 or -400 <= exponent <= 500:
        return Z
    return np.ldexp(Z, -exponent)


@dataclass(frozen=True)
class Picture:
    """The records in float32: see `_kernels.mdav_lists`."""

    #: tiles x (coordinates, norm of those that are not leading) x 64 records
    T: AnyArray
    #: the record in each place of the tiles, or -1
    ids: Indices
    #: the place of each record
    where: Indices
    #: leading coordinates
    lead: int
    #: scale, margin, stretch, slack
    bound: Array


def draw(Z: Array) -> Picture | None:
    """The picture of the records; None if float32 cannot tell them apart.

    The bounds: let u = 2^-53. Subtracting the mean errs by at most 2u max|Z| per coordinate; a product with the rotation V
    of d columns by at most d u |x| per coordinate (a cosine transform by less); rounding to float32 by 2^-24 |z| in all, and
    so do the norms of the coordinates that are not leading, twice. V is orthogonal up to the measured `skew`. All of it is
    doubled or more: it does not matter how generous these bounds are, they are far below the distances of neighbours.
    """
    from scipy.fft import dct

    n, d = Z.shape
    X = Z - Z.mean(axis=0)
    largest = float(np.abs(X).max())
    if largest == 0.0:
        return None
    scale = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
    X *= scale
    skew = 0.0
    if d <= WIDEST:
        sample = X[:: max(1, n // 20_000)]
        V = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
        skew = float(np.linalg.norm(V.T @ V - np.eye(d)))
        Y = X @ V
    else:
        Y = dct(X, norm="ortho", axis=1)
        Y = Y[:, np.argsort(-Y.var(axis=0), kind="stable")]
    norm = float(np.sqrt(np.max(np.einsum("ij,ij->i", Y, Y))))
    u = 2.0**-53
    margin = 2 * norm * (4 * 2.0**-24 + 2 * d**1.5 * u) + 8 * np.sqrt(d) * u * float(np.abs(Z).max()) * scale
    if not margin < 1e-4 * norm:
        return None
    stretch = 2 * skew + 8 * (d + 8) * u
    rows = -(-d // 4) * 4
    slack = 4 * (rows + 8) * 2.0**-24

    lead = min(LEAD, rows)
    order = nearby_order(Y[:, : min(lead, d)].astype(np.float32))
    tiles = -(-n // 64)
    ids = np.full(tiles * 64, -1, dtype=np.int64)
    ids[:n] = order
    where = np.empty(n, dtype=np.int64)
    where[order] = np.arange(n)
    T = np.zeros((tiles, rows + 1, 64), dtype=np.float32)
    for start in range(0, tiles, 256):  # some tiles at a time: no second copy of all the records
        chosen = order[start * 64 : (start + 256) * 64]
        rotated = np.zeros((-(-len(chosen) // 64) * 64, rows + 1), dtype=np.float32)
        rotated[: len(chosen), :d] = Y[chosen]
        rest = rotated[:, lead:rows].astype(np.float64)
        rotated[:, rows] = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        T[start : start + 256] = rotated.reshape(-1, 64, rows + 1).transpose(0, 2, 1)
    return Picture(T, ids, where, lead, np.array([scale, margin, stretch, slack]))


def nearby_order(Y: AnyArray) -> Indices:
    """The records in an order in which each run of 64 is close together: halves of halves along the widest direction."""
    order = np.arange(len(Y), dtype=np.int64)
    parts = [(0, len(Y))]
    while parts:
        start, stop = parts.pop()
        if stop - start <= 64:
            continue
        inside = Y[order[start:stop]]
        widest = int(np.argmax(inside.max(axis=0) - inside.min(axis=0)))
        half = (stop - start + 64) // 128 * 64
        order[start:stop] = order[start:stop][np.argpartition(inside[:, widest], half)]
        parts += [(start, start + half), (start + half, stop)]
    return order


def groups_from_lists(
    Z: Array, k: int, stop: int, picture: Picture, total: Array, labels: Indices, counter: Indices, crew: Crew
) -> int:
    """Form pairs of groups while at least `stop` records are left; gives the number of groups."""
    from tsveil._kernels import mdav_lists as lists

    n = len(Z)
    T, ids, where, lead = picture.T, picture.ids, picture.where, picture.lead
    alive = np.zeros(len(T), dtype=np.int64)
    boxes = np.empty((2, lead + 1, len(T)), dtype=np.float32)
    # A list of k entries serves a fresh seed; the others make up for records that are taken before it is used.
    near, far = (k - 1) + 16, k + 16
    ring = 32 * MOST_AHEAD
    near_key, near_id = np.empty((ring, near)), np.empty((ring, near), dtype=np.int64)
    far_key, far_id = np.empty((ring, far)), np.empty((ring, far), dtype=np.int64)
    size = np.zeros((ring, 2), dtype=np.int64)
    slot_of = np.full(n, -1, dtype=np.int64)
    owner = np.full(ring, -1, dtype=np.int64)
    state = np.zeros(8, dtype=np.int64)
    state[lists.LEFT], state[lists.OTHER_SEED] = n, -1
    radius = np.zeros(1)
    seeds = np.empty(MOST_AHEAD, dtype=np.int64)
    ahead, made = 2 * LEAST_AHEAD, 0
    tiles = lists.compact(T, ids, where, alive, boxes, lead)
    state[lists.STORED] = n
    outer, outer_distance, outside, centre = outermost(Z, np.arange(n), total / n, crew)

    turn = 0

    def make(records: Indices, with_far: bool) -> None:
        nonlocal turn, made
        slots = (turn + np.arange(len(records))) % ring
        turn += len(records)
        made += len(records)
        past = owner[slots]
        past = past[past >= 0]
        slot_of[past[np.isin(slot_of[past], slots)]] = -1
        owner[slots] = records
        slot_of[records] = slots

        def work(start: int, stop: int, exact: bool = False) -> None:
            lists.make_lists(
                Z, T, ids, where, alive, boxes, tiles, lead, picture.bound, records[start:stop], slots[start:stop], with_far,
                exact, near_key, near_id, far_key, far_id, size,
            )  # fmt: skip

        crew.share(work, len(records))
        # The list of the seed that is wanted now must last: where ties make it too short, all its distances are measured.
        if size[slots[0], 0] < k - 1 or (with_far and size[slots[0], 1] < k):
            work(0, 1, exact=True)

    while True:
        need = lists.form_groups(
            Z, k, stop, T, ids, where, alive, boxes, lead, slot_of, near_key, near_id, far_id, size, outer, outer_distance, outside, centre,
            picture.bound[2], total, labels, state, radius, counter,
        )  # fmt: skip
        if need == lists.DONE:
            return int(state[lists.LABEL])
        if need == lists.COMPACTION:
            tiles = lists.compact(T, ids, where, alive, boxes, lead)
            state[lists.STORED] = state[lists.LEFT]
        elif need == lists.CENTRE:
            left = np.flatnonzero(labels < 0)
            outer, outer_distance, outside, centre = outermost(Z, left, total / len(left), crew)
            state[lists.FIRST] = state[lists.EVALUATED] = 0
        elif need == lists.NEAR_LIST:
            make(state[lists.WANTED : lists.WANTED + 1].copy(), False)
        else:
            # As far ahead as most lists are still of use: more of them at once go faster, but seeds may join other groups.
            used, state[lists.USED] = int(state[lists.USED]), 0
            if used < 0.75 * made:
                ahead = max(LEAST_AHEAD, ahead // 2)
            elif used > 0.9 * made:
                ahead = min(MOST_AHEAD, ahead * 2)
            made = 0
            found = lists.next_seeds(
                Z, outer, state[lists.FIRST], state[lists.WANTED], radius[0], slot_of, labels, seeds[:ahead]
            )
            chosen = seeds[:found].copy()
            make(chosen, True)
            others = np.empty(found, dtype=np.int64)
            found = lists.next_other_seeds(Z, radius[0], chosen, slot_of, labels, far_id, size, others)
            if found:
                make(others[:found], False)


def outermost(Z: Array, left: Indices, centre: Array, crew: Crew) -> tuple[Indices, Array, float, Array]:
    """The records left that are farthest from a centre and their distances, descending; what bounds all others' (-1: none)."""
    from tsveil._kernels.mdav_lists import distances

    away = np.empty(len(left))
    row = centre.reshape(1, -1)
    crew.share(lambda a, b: distances(Z, left[a:b], row, away[a:b]), len(left))
    most = max(1024, len(left) // 16)
    cut = 0.0 if most >= len(left) else float(np.partition(away, -most)[-most])
    # Those just below the cut belong in as well: the first of the list must be clearly farther than all that are not in it.
    inside = away >= cut * (1 - 1e-9)
    chosen = np.flatnonzero(inside)
    chosen = chosen[np.argsort(-away[chosen], kind="stable")]
    outside = float(np.max(away[~inside], initial=-1.0))
    return left[chosen], away[chosen], outside, row
