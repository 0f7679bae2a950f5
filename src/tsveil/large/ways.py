"""What each method does in parts: what it protects by itself, how large the parts are, and how one part is protected.

    microaggregation     a unit is a block (or the whole record); parts of near records, from a sample; the method itself in each part
    optimal univariate   a unit is a column; ranges of its values; the least squared error in each range
    rank swapping        a unit is a column; ranges of ranks, at least eight windows long; the window is that of the whole file, and ends
                         at the border of its range
    (k,P), k-envelopes   the whole series; parts of records whose patterns begin alike, or of near records: see `intervals`
    (n,l,k)              a unit is some time points of a series (or of all series, taken as points of several dimensions), as many as
                         fit into memory with all records, and one time point of very many records in ranges of values; stage 1 needs no
                         more; small clusters are made within an allowance of small cells of each series that is divided over the units
                         beforehand, so that the count holds for all of them together

Scales come from the whole data set, never from a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tsveil._types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.errors import InputError
from tsveil.guarantee.base import Guarantee
from tsveil.large.intervals import letters_of, made_intervals, prefix_leaf, prefix_of
from tsveil.large.job import Job, Unit
from tsveil.large.parts import Tree
from tsveil.large.source import BlockRole, Source
from tsveil.protect.base import Method
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.intervals import IntervalMethod
from tsveil.protect.kp import KP
from tsveil.protect.mdav import MDAV
from tsveil.protect.microaggregation import Microaggregation
from tsveil.protect.nlk import NLK, made_by_counting
from tsveil.protect.rank_swap import RankSwap, swapped_within, window, window_warnings
from tsveil.protect.representative import represent
from tsveil.protect.univariate import OptimalUnivariate, least_sse_groups
from tsveil.protect.vmdav import VMDAV
from tsveil.randomness import generator
from tsveil.transform.statistics import slopes

#: records of a part of near records, and of a range of a column's values
PART, RANGE = 8000, 2**20
#: a range of ranks is at least this many windows long: few values meet its border
WINDOWS = 8
#: cells of a part of an (n,l,k) release, and where small clusters are made, which takes time that grows faster than the records
CELLS, SPENT = 2**22, 2**16
#: the heuristics of (n,l,k) that peel here
PEELING = ("auto", "peel")

#: the methods that run in parts
METHODS: tuple[type[Method] | type[IntervalMethod], ...] = (
    MDAV, VMDAV, OptimalUnivariate, RankSwap, NLK, KP, KAnonymousEnvelopes,
)  # fmt: skip


@dataclass(frozen=True)
class Done:
    """A part after protection."""

    values: Array
    #: the group of each record, (n,), numbered from 0; None without groups
    groups: Indices | None = None
    #: figures that add up over the parts
    counts: dict[str, int] = field(default_factory=dict)


def units_of(source: Source, method: Method | IntervalMethod, part: int | None) -> tuple[Unit, ...]:
    """What is protected by itself, or a refusal of methods that do not work in parts."""
    columns = {name: at for at, name in enumerate(source.columns)}
    if isinstance(method, (MDAV, VMDAV)):
        size = part or (method.part if isinstance(method, MDAV) else PART)
        if method.grouping == "joint":
            return (Unit("all blocks together", tuple(columns.values()), size),)
        return tuple(Unit(b.name, tuple(columns[c] for c in b.columns), size) for b in source.blocks)
    if isinstance(method, OptimalUnivariate):
        return tuple(Unit(name, (at,), part or RANGE) for name, at in columns.items())
    if isinstance(method, RankSwap):
        size = max(part or RANGE, WINDOWS * window(source.n, method.p))
        return tuple(Unit(name, (at,), size) for name, at in columns.items())
    if isinstance(method, NLK):
        if method.grouping == "joint":
            method.check_lengths([len(block.columns) for block in source.blocks])
            return tuple(_time_units(source, method, source.blocks))
        return tuple(unit for block in source.blocks for unit in _time_units(source, method, (block,)))
    if isinstance(method, KP) or (isinstance(method, KAnonymousEnvelopes) and method.words == "none"):
        return (Unit(source.blocks[0].name, tuple(columns.values()), part or PART),)
    raise InputError(
        f"{type(method).__name__} does not work in parts\n  methods that do: {', '.join(m.name for m in METHODS)}"
    )


def _time_units(source: Source, method: NLK, blocks: Sequence[BlockRole]) -> list[Unit]:
    """Pieces of time of a series, or of several of them together; the columns of the first series come first."""
    T = len(blocks[0].columns)
    cells = CELLS if method.heuristic == "stage1" else min(CELLS, SPENT)
    points = min(T, max(1, cells // (source.n * len(blocks))))
    pieces = [(start, min(T, start + points)) for start in range(0, T, points)]
    allowance = 0 if method.heuristic == "stage1" else method.l - method.n - 1
    if (
        len(pieces) > 1
    ):  # what a piece may spend it cannot compare with the others, so at most half of a series stays as it is
        allowance = min(allowance, T // 2)
    name = blocks[0].name if len(blocks) == 1 else "all series together"
    firsts = [source.span(block.name).start for block in blocks]
    return [
        Unit(
            f"{name}, points {start + 1} to {stop}",
            tuple(first + point for first in firsts for point in range(start, stop)),
            max(2 * method.k, cells // (points * len(blocks))),
            allowance,
            at,
            len(pieces),
        )
        for at, (start, stop) in enumerate(pieces)
    ]


def shares(unit: Unit, rows: Indices) -> Indices:
    """(n,l,k): how many small cells the records at some published rows may have in a piece of time.

        floor((j+1) a / P) - floor(j a / P)     for allowance a, pieces P, j = number of the piece + row

    Over all pieces, P consecutive j, they add up to the allowance. Records begin at different places, so that no time point is published as it is; the
    place depends on the published row alone, for what is seen of it must not tell where a record stood in the input.

    Examples
    --------
    >>> pieces = [Unit("load", (at,), 100, 2, at, 3) for at in range(3)]
    >>> np.stack([shares(piece, np.arange(4)) for piece in pieces])
    array([[0, 1, 1, 0],
           [1, 1, 0, 1],
           [1, 0, 1, 1]])
    """
    at = unit.piece + rows % unit.pieces
    found: Indices = (at + 1) * unit.allowance // unit.pieces - at * unit.allowance // unit.pieces
    return found


def even_share(unit: Unit, dimensions: int = 1) -> int:
    """The same for heuristics that allow every series the same: at most half the points of a piece, or whole time points were published as they are."""
    share = int(shares(unit, np.zeros(1, dtype=np.int64))[0])
    return share if unit.pieces == 1 else min(share, len(unit.columns) // dimensions // 2)


def least_part(method: Method | IntervalMethod, unit: Unit) -> int:
    """The fewest records that can be a part."""
    if isinstance(method, KP):
        # Some beginnings of words are rare, and a part suppresses what it cannot publish: half-full parts are joined.
        return max(method.k, unit.size // 2)
    return int(getattr(method, "k", 2))


def promise(job: Job, method: Method | IntervalMethod) -> Guarantee:
    """What the release promises."""
    return method.guarantee() if isinstance(method, IntervalMethod) else method.guarantee(sized(job))


def leaves_of(job: Job, unit: Unit, method: Method | IntervalMethod, tree: Tree) -> int:
    """The number of leaves of a unit."""
    if isinstance(method, KP):
        level, count = prefix_of(job.n, unit.size, letters_of(method, len(unit.columns)))
        return int(level**count)
    return tree.leaves


def leaf_of(job: Job, unit: Unit, method: Method | IntervalMethod, tree: Tree, values: Array) -> Indices:
    """The leaf of each record: by the beginning of its pattern, or by the cuts."""
    if isinstance(method, KP):
        letters = letters_of(method, len(unit.columns))
        return prefix_leaf(values, letters, *prefix_of(job.n, unit.size, letters))
    return tree.leaf(space(job, unit, method, values))


def sized(job: Job) -> Dataset:
    """A stand-in for the whole data set: its blocks, its bounds and its number of records."""
    bounds = job.source.dataset(np.array([job.low, job.high]))

    class Sized(Dataset):
        n = job.n

    return Sized(bounds.values, bounds.blocks, bounds.others, layout=bounds.layout)


def warnings_of(job: Job, method: Method | IntervalMethod) -> list[str]:
    """What the owner should know, as far as it does not depend on the parts."""
    found: list[str] = []
    if isinstance(method, RankSwap):
        for block in job.source.blocks:
            found += window_warnings(method.p, job.n, block.block())
    if isinstance(method, NLK):
        found += _nlk_warnings(job, method)
    return list(dict.fromkeys(found))


def _nlk_warnings(job: Job, method: NLK) -> list[str]:
    if method.heuristic == "stage1" or method.smallest_cluster == method.k:
        return []
    if method.l - method.n == 1:
        return [
            "l - n = 1 leaves no value that an intruder may infer, so no cluster is smaller than k series; a larger l or a smaller n would "
            "lose less"
        ]
    found = []
    if len(job.units) > (1 if method.grouping == "joint" else len(job.source.blocks)):
        found.append(
            "the allowance of each series was divided over pieces of time beforehand, so that they could be protected one by one; "
            "a whole series at once would lose a little less"
            if method.heuristic in PEELING or any(even_share(unit, _dimensions(job, method)) for unit in job.units)
            else "every time point was protected by itself, so that no series spends any of its allowance of small clusters"
        )
    if method.heuristic in ("mth", "mil", "gpe"):
        found.append(
            f"{method.heuristic} in parts makes those cuts only that the count of small cells allows; a search for attacks over all records, "
            "which allows some more, would need all of them at once"
        )
    return found


# -- one part ---------------------------------------------------------------------------------------------------------


def space(job: Job, unit: Unit, method: Method | IntervalMethod, values: Array) -> Array:
    """Where records of a unit are compared: standardised or taken as slopes like the method does, by the scale of the whole."""
    if isinstance(method, NLK) and method.grouping == "joint":
        return _comparable_points(job, values)
    if not isinstance(method, Microaggregation):
        return values
    parts, at = [], 0
    joint = method.grouping == "joint"
    for block in _blocks(job.source, unit):
        width = len(block.columns)
        part = values[:, at : at + width]
        series = block.times is not None
        if joint or method.scale == "standardise" or (method.scale == "auto" and not series):
            mean, deviation = scale_of(job, block, whole=joint and series)
            part = np.divide(part - mean, deviation, out=np.zeros_like(part), where=deviation > 0)
        if method.distance == "sts" and block.times is not None:
            part = slopes(part, block.times)
        parts.append(part)
        at += width
    return np.ascontiguousarray(np.hstack(parts))


def _comparable_points(job: Job, values: Array) -> Array:
    """Time points of all series, each standardised by the mean and deviation of all values of its series."""
    scales = [scale_of(job, block, whole=True) for block in job.source.blocks]
    mean, deviation = (np.repeat([scale[at][0] for scale in scales], values.shape[1] // len(scales)) for at in (0, 1))
    found: Array = np.divide(values - mean, deviation, out=np.zeros_like(values), where=deviation > 0)
    return found


def _blocks(source: Source, unit: Unit) -> Sequence[BlockRole]:
    return [block for block in source.blocks if source.span(block.name).start in unit.columns]


def scale_of(job: Job, block: BlockRole, *, whole: bool) -> tuple[Array, Array]:
    """Mean and deviation (divisor n - 1) of each column of a block, or of all its values together."""
    span = job.source.span(block.name)
    mean, squares, n = np.array(job.mean[span]), np.array(job.squares[span]), job.n
    if whole:
        total = float(mean.mean())
        squares = np.full(len(mean), float((squares + n * (mean - total) ** 2).sum()))
        mean, n = np.full(len(mean), total), n * len(mean)
    return mean, np.sqrt(squares / max(1, n - 1))


def protected(job: Job, unit: Unit, method: Method | IntervalMethod, values: Array, rows: Indices, seed: int) -> Done:
    """One part of a unit, protected, in the order of the records, which are published at `rows`."""
    if isinstance(method, Microaggregation):
        if isinstance(method, MDAV):
            method = replace(method, mode="exact" if len(values) <= 3 * unit.size else "partitioned")
        where = space(job, unit, method, values)
        nobody = job.source.dataset(np.zeros((1, len(job.low))))
        groups, _ = method.group(where, nobody, np.zeros(1, dtype=np.int64), generator(seed))
        return Done(represent(values, groups, method.representative), groups)
    if isinstance(method, OptimalUnivariate):
        groups = least_sse_groups(np.ascontiguousarray(values[:, 0]), method.k)
        return Done(represent(values, groups, "mean"), groups)
    if isinstance(method, RankSwap):
        done = swapped_within(values, window(job.n, method.p), generator(seed))
        return Done(
            done.values, counts={name: done.facts[name] for name in ("kept their place", "same value as before")}
        )
    if isinstance(method, IntervalMethod):
        made, groups, suppressed = made_intervals(method, values)
        return Done(made, groups, {"suppressed": suppressed})
    assert isinstance(method, NLK)
    return _pieces_of_time(job, unit, method, values, rows)


def _dimensions(job: Job, method: NLK) -> int:
    return len(job.source.blocks) if method.grouping == "joint" else 1


def _pieces_of_time(job: Job, unit: Unit, method: NLK, values: Array, rows: Indices) -> Done:
    dimensions = _dimensions(job, method)

    def cube(table: Array) -> Array:
        return np.ascontiguousarray(table.reshape(len(table), dimensions, -1).transpose(0, 2, 1))

    compared = cube(space(job, unit, method, values)) if dimensions > 1 else None
    allowance = shares(unit, rows) if method.heuristic in PEELING else even_share(unit, dimensions)
    made = made_by_counting(cube(values), method, allowance, compared)
    counts = {
        "stage1": {},
        "peel": {"cells peeled": made.peeled},
    }.get(made.heuristic, {"cuts accepted": made.accepted, "cuts refused": made.refused + made.undecided})
    return Done(np.ascontiguousarray(made.published.transpose(0, 2, 1)).reshape(values.shape), counts=counts)
