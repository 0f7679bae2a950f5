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

from tsveil.core.types import AnyArray, Array, Indices
from tsveil.engine.blas import one_blas_thread
from tsveil.engine.crew import Crew

#: with fewer records left than this the fused loop is as fast
FEW = 4000
#: the fewest and the most seeds for which lists are made at once
LEAST_AHEAD, MOST_AHEAD = 4, 16
#: leading coordinates: those of the tiles' boxes; and of data with 64 columns and more
LEAD, WIDE_LEAD = 8, 24
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
        with fewer records left the fused loop takes over; 0 forces the fast version. The groups do not depend on it.

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
    worth_while = few == 0 or len(Z) > least_for_lists(k, Z.shape[1])
    if len(Z) >= stop and k > 1 and worth_while:
        picture = draw(Z)
        if picture is not None:
            with Crew() as crew:
                label = groups_from_lists(Z, k, stop, picture, total, labels, counter, crew)
    fused_groups(Z, k, variant == "paper", np.flatnonzero(labels < 0), total, label, labels, counter)
    return labels


def least_for_lists(k: int, columns: int) -> int:
    """The number of records up to which the fused loop takes less CPU time than lists do (measured: benchmarks/small.py).

    The loop measures about 1.5 n/k distances per record, lists cost about as much as a number of distances that does not depend on n.
    """
    return (10_000 if columns < 64 else 6_000) + 400 * k


def running_sum(Z: Array) -> Array:
    """All rows added in the order of their index, which numpy does not promise."""
    from tsveil._kernels.mdav import add_rows

    total: Array = np.zeros(Z.shape[1])
    add_rows(np.ascontiguousarray(Z), total)
    return total


def in_range(Z: Array) -> Array:
    """Z, multiplied by a power of two if its squares could overflow or vanish; distances keep their order."""
    largest = max(float(np.max(Z, initial=0.0)), -float(np.min(Z, initial=0.0)))
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
    #: scale, error, stretch, slack
    bound: Array


@one_blas_thread()
def draw(Z: Array) -> Picture | None:
    """The picture of the records; None if all are equal.

    The error of a place z: let u = 2^-53. Subtracting the middle errs by u |x|, a product with the rotation of d columns by
    at most d u |x| per coordinate (a cosine transform by less), rounding to float32 by 2^-24 |z|, the norm of the coordinates
    that are not leading by 2^-24 |z| more. The rotation is orthogonal up to the measured `skew`. All of it is doubled or so:
    it does not matter how generous the bounds are, they are far below the distances of neighbours.
    """
    from tsveil._kernels.mdav_lists import nearby_order

    n, d = Z.shape
    sample = Z[:: max(1, n // max(4000, 10 * d))]
    middle = np.median(sample, axis=0)  # not the mean: it would take all places far from zero for one outlier's sake
    largest = float(np.max(np.maximum(Z.max(axis=0) - middle, middle - Z.min(axis=0))))
    if largest == 0.0:
        return None
    scale = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
    sample = (sample - middle) * scale
    if d <= WIDEST:
        rotation = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
        skew = float(np.linalg.norm(rotation.T @ rotation - np.eye(d))) + d**2 * 2.0**-53
    else:
        skew = 0.0
        leading = np.argsort(-cosines(sample).var(axis=0), kind="stable")
    rows = -(-d // 4) * 4
    lead = min(LEAD if d < 64 else WIDE_LEAD, rows)

    Y = np.zeros((n, rows + 1), dtype=np.float32)
    few = 1024 if d < 64 else 4096  # at a time: they stay in the cache, and small products start no threads
    for start in range(0, n, few):
        X = (Z[start : start + few] - middle) * scale
        rotated = X @ rotation if d <= WIDEST else cosines(X)[:, leading]
        part = Y[start : start + few]
        part[:, :d] = rotated
        part[:, rows] = np.sqrt(np.einsum("ij,ij->i", rotated[:, lead:], rotated[:, lead:]))
    u = 2.0**-53
    error = 4 * 2.0**-24 + 2 * (d + 1) ** 1.5 * u
    stretch = 3 * error + 2 * skew + 8 * (d + 8) * u
    slack = 4 * (rows + 8) * 2.0**-24

    order = np.arange(n)
    nearby_order(np.ascontiguousarray(Y[:, :lead]), order)
    tiles = -(-n // 64)
    ids = np.full(tiles * 64, -1, dtype=np.int64)
    ids[:n] = order
    where = np.empty(n, dtype=np.int64)
    where[order] = np.arange(n)
    T = np.zeros((tiles, rows + 1, 64), dtype=np.float32)
    for tile in range(tiles):
        chosen = order[tile * 64 : (tile + 1) * 64]
        T[tile, :, : len(chosen)] = Y[chosen].T
    return Picture(T, ids, where, lead, np.array([scale, error, stretch, slack]))


def cosines(X: Array) -> Array:
    """The cosine transform of each record: a rotation that puts what is smooth first."""
    from scipy.fft import dct

    return np.asarray(dct(X, norm="ortho", axis=1))


def groups_from_lists(
    Z: Array, k: int, stop: int, picture: Picture, total: Array, labels: Indices, counter: Indices, crew: Crew
) -> int:
    """Form pairs of groups while at least `stop` records are left and it is worth while; gives the number of groups."""
    from tsveil._kernels import mdav_lists as lists

    n = len(Z)
    T, ids, where, lead = picture.T, picture.ids, picture.where, picture.lead
    alive = np.zeros(len(T), dtype=np.int64)
    boxes = np.empty((2, lead + 1, len(T)), dtype=np.float32)
    # A fresh seed needs k-1 near records and a far one outside its group; more make up for those taken before it is used.
    near, far = (k - 1) + 8, k + 6
    ring = max(8, min(64 * MOST_AHEAD, 4_000_000 // far))
    most_ahead = min(MOST_AHEAD, ring // 4)
    near_key, near_id = np.empty((ring, near)), np.empty((ring, near), dtype=np.int64)
    far_key, far_id = np.empty((ring, far)), np.empty((ring, far), dtype=np.int64)
    size = np.zeros((ring, 3), dtype=np.int64)
    slot_of = np.full(n, -1, dtype=np.int64)
    owner = np.zeros(ring, dtype=np.int64)
    state = np.zeros(8, dtype=np.int64)
    state[lists.LEFT], state[lists.OTHER_SEED] = n, -1
    radius = np.zeros(1)
    seeds = np.empty(most_ahead, dtype=np.int64)
    ahead, made = min(2 * LEAST_AHEAD, most_ahead), 0
    tiles = lists.compact(T, ids, where, alive, boxes, lead)
    state[lists.STORED] = n
    outer, outer_distance, outside, centre = outermost(Z, np.arange(n), total / n, max(1024, n // 6), crew)
    listed_at = n
    rounding = 8 * (Z.shape[1] + 8) * 2.0**-53  # a bound of the relative error of a distance

    turn, measure = 0, False
    measured = np.zeros(2)  # lists made from distances; distances in them, in shares of the records left

    def make(records: Indices, with_far: bool) -> None:
        nonlocal turn, made, measure
        slots = (turn + np.arange(len(records))) % ring
        turn += len(records)
        made += len(records)
        past = owner[slots]
        slot_of[past[slot_of[past] == slots]] = -1
        owner[slots] = records
        slot_of[records] = slots

        def share(slots: Indices, exact: bool) -> None:
            records = owner[slots]

            def work(start: int, stop: int) -> None:
                lists.make_lists(
                    Z, T, ids, where, alive, boxes, tiles, lead, picture.bound, records[start:stop], slots[start:stop],
                    with_far, exact, near_key, near_id, far_key, far_id, size,
                )  # fmt: skip

            crew.share(work, len(slots))

        if not measure:
            share(slots, False)
        short = slots if measure else slots[(size[slots, 0] < k - 1) | (with_far & (size[slots, 1] < k))]
        # Where float32 cannot tell enough records apart (ties, above all) the lists are made from the defined distances.
        if len(short):
            share(short, True)
            measured[:] += len(short), size[short, 2].sum() / state[lists.LEFT]
            measure = 2 * len(short) > len(slots)

    while True:
        need = lists.form_groups(
            Z, k, stop, T, ids, where, alive, boxes, lead, slot_of, near_key, near_id, far_id, size,
            outer, outer_distance, outside, centre, rounding, total, labels, state, radius, counter,
        )  # fmt: skip
        in_vain = measured[0] > 50 and measured[1] > measured[0] / 4
        if need == lists.DONE or (in_vain and state[lists.OTHER_SEED] < 0):
            return int(state[lists.LABEL])
        if need == lists.COMPACTION:
            tiles = lists.compact(T, ids, where, alive, boxes, lead)
            state[lists.STORED] = state[lists.LEFT]
            measure = False
        elif need == lists.CENTRE:
            left = np.flatnonzero(labels < 0)
            # If no group has come of the last list, its end is as good as tied: all records are listed.
            most = len(left) if len(left) == listed_at else max(1024, len(left) // 6)
            outer, outer_distance, outside, centre = outermost(Z, left, total / len(left), most, crew)
            listed_at = len(left)
            state[lists.FIRST] = state[lists.EVALUATED] = 0
        elif need == lists.NEAR_LIST:
            make(state[lists.WANTED : lists.WANTED + 1].copy(), False)
        else:
            # As far ahead as most lists are still of use: more of them at once go faster, but seeds may join other groups.
            used, state[lists.USED] = int(state[lists.USED]), 0
            if used < 0.85 * made:
                ahead = min(max(LEAST_AHEAD, ahead // 2), most_ahead)
            elif used > 0.95 * made:
                ahead = min(ahead * 2, most_ahead)
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


def outermost(Z: Array, left: Indices, centre: Array, most: int, crew: Crew) -> tuple[Indices, Array, float, Array]:
    """The `most` records that are farthest from a centre and their distances, descending; a bound of all others' (-1: none).

    Gives the centre as well, as a matrix of one row.
    """
    from tsveil._kernels.mdav_lists import distances

    away = np.empty(len(left))
    row = centre.reshape(1, -1)
    crew.share(lambda start, stop: distances(Z, left[start:stop], row, away[start:stop]), len(left))
    if most >= len(left):
        chosen = np.arange(len(left))
        outside = -1.0
    else:
        inside = np.argpartition(away, -most)
        outside = float(away[inside[:-most]].max())
        chosen = inside[-most:]
    chosen = chosen[np.argsort(-away[chosen], kind="stable")]
    return left[chosen], away[chosen], outside, row
