"""Time series record linkage: each original record is linked to the nearest released one.

The intruder knows the first j series of every record and compares them with the release by

    d_j(a, b) = sum_{i <= j} d(a_i, b_i)

after normalising each series. The distance d is

    euclidean   point by point
    sts         of the slopes between points: short time series distance
    dtw         of the best alignment in time (dynamic time warping): for series that run a little ahead or behind. `radius`
                keeps the path within so many points of the diagonal (a Sakoe-Chiba band); a tenth of the length, rounded
                up, by default: no band at all makes most series alike. Every pair costs O(T radius), so this is for some
                thousand records; bounds (LB_Keogh [3]_, early abandoning) spare most pairs and change no result.

A tie among t released records counts 1/t right link if the own record is among them (`ties="first"` takes the lowest row, as the
source papers do, and then the result depends on the order of the file). The files need not hold the same people or have the same
order if the `truth` says who is who.

`one_to_one=True` gives every released record to at most one person, so that the sum of the distances is the least.
`blocking=b` compares each original only with the b distinct released records around it in the order of the sum of the
normalised values: for very large files. The result may then miss the nearest record and is marked as approximate.

References
----------
.. [1] J. Nin, V. Torra, Distance based re-identification for time series, analysis of distances, LNCS 4302 (2006) 205-216.
.. [2] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009), Algorithm 2.
.. [3] E. Keogh, C. A. Ratanamahatana, Exact indexing of dynamic time warping, Knowledge and Information Systems 7 (2005)
   358-386.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.array([[1.0, 2.0], [1.2, 2.2], [5.0, 4.0], [5.0, 4.4]])
>>> data = tv.Dataset.from_arrays({"load": curves})
>>> tv.attack.series(data, tv.MDAV(k=2).protect(data))
Links: euclidean linkage, 1 of 1 series known: 2.0 of 4 records re-identified (50.0 %)

An hour of delay hides a record from the eye, but not from time warping:

>>> day = np.array([[0, 1, 6, 1, 0, 0, 0, 0], [0, 0, 0, 0, 3, 3, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]])
>>> original, released = (tv.Dataset.from_arrays({"load": x}) for x in (day, np.roll(day, 1, axis=1)))
>>> tv.attack.series(original, released).correct, tv.attack.series(original, released, distance="dtw").correct
(1.5, 3.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack._files import HasData, Ties, own_rows, released_data
from tsveil.attack._nearest import nearest, nearest_distinct
from tsveil.attack._neighbourhood import neighbourhood
from tsveil.attack._one_to_one import one_to_one as assigned
from tsveil.attack.candidates import Candidates, Found, nearest_in_pieces
from tsveil.attack.links import Links
from tsveil.attack.pieces import Pieces, Side, Targets
from tsveil.data.align import Truth
from tsveil.data.dataset import Block, Dataset
from tsveil.engine.base import Task
from tsveil.engine.local import map_chunks
from tsveil.errors import InputError, ParameterError, Problems, some
from tsveil.transform.normalise import How, Ruler, Scaling, ruler_of
from tsveil.transform.normalise import normalise as on_one_scale
from tsveil.transform.statistics import slopes

Distance = Literal["euclidean", "sts", "dtw"]


def series(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    distance: Distance = "euclidean",
    radius: int | None = None,
    normalise: How = "global",
    scaling: Scaling = "original",
    ties: Ties = "expected",
    one_to_one: bool = False,
    blocking: int | None = None,
) -> Links:
    """Link originals to released records by the series that the intruder knows (all by default)."""
    if one_to_one and blocking is not None:
        raise ParameterError("The series attack takes either 'one_to_one' or 'blocking', not both.")
    curves = _curves(original, released, known, truth, distance, radius, normalise, scaling, ties)
    every = len(curves.names)
    if one_to_one:
        return assigned(curves.a, curves.b, curves.own, curves.distances, ties, curves.told(every))
    if blocking is None and distance != "dtw":
        return _in_one_pass(curves, ties)[-1]
    return _round(curves, every, ties, blocking)


def series_prefixes(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    distance: Distance = "euclidean",
    radius: int | None = None,
    normalise: How = "global",
    scaling: Scaling = "original",
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first 1, 2, ..., all of the known series."""
    curves = _curves(original, released, known, truth, distance, radius, normalise, scaling, ties)
    if distance != "dtw":
        return _in_one_pass(curves, ties)
    return [_round(curves, count, ties, None) for count in range(1, len(curves.names) + 1)]


@dataclass(frozen=True, eq=False)
class _Curves:
    """Both files in the space where they are compared, series after series."""

    names: tuple[str, ...]
    a: Array
    b: Array
    #: series i has the columns starts[i]..starts[i+1]
    starts: Indices
    #: the released row of each original record's person; -1: not released
    own: Indices
    distance: Distance
    #: points that a path may stray from the diagonal
    band: int

    def told(self, count: int) -> str:
        """The attack and what was known, in words."""
        how = self.distance if self.distance != "dtw" else f"dtw within {self.band} point{'s' * (self.band != 1)}"
        return f"{how} linkage, {count} of {len(self.names)} series known"

    def distances(self, a: Array, b: Array) -> Array:
        """The distances between all records of two files like these."""
        if self.distance == "dtw":
            from tsveil._kernels.warped import warped_distances

            def work(low: int, high: int) -> Array:
                return warped_distances(a[low:high], b, self.starts, self.band, counter)

            with progress.step("Comparing records by time warping", total=len(a)) as counter:
                return np.concatenate(map_chunks(work, len(a), 64))
        total = np.zeros((len(a), len(b)))
        for low, high in zip(self.starts[:-1], self.starts[1:], strict=True):
            squares = np.zeros_like(total)
            for j in range(low, high):
                squares += np.square(a[:, j, None] - b[None, :, j])
            total += np.sqrt(squares)
        return total


def _curves(
    original: Dataset, released: Dataset | HasData, known: Sequence[str] | None, truth: Truth,
    distance: Distance, radius: int | None, how: How, scaling: Scaling, ties: Ties,
) -> _Curves:  # fmt: skip
    problems = Problems("the series attack cannot run", ParameterError)
    for name, value, allowed in (("distance", distance, get_args(Distance)), ("ties", ties, get_args(Ties))):
        if value not in allowed:
            problems.add(f"The {name!r} parameter must be one of {', '.join(map(repr, allowed))}. Got {value!r}.")
    if isinstance(known, str):
        problems.add(f"The 'known' parameter must be a list of names. Got {known!r}.")
    if radius is not None and distance != "dtw":
        problems.add(f"The 'radius' parameter is for distance='dtw' only. Got {radius}.")
    if radius is not None and radius < 0:
        problems.add(f"The 'radius' parameter must be at least 0. Got {radius}.")
    problems.raise_if_any()
    protected = released_data(released)
    names = tuple(block.name for block in original.series) if known is None else tuple(known)
    _check(original, protected, names)
    own = own_rows(original, protected, truth)
    pairs = []
    for name in names:
        pair = on_one_scale(original.block(name), protected.block(name), how, scaling)
        pairs.append(pair if distance != "sts" else _slopes(pair, original.block_named(name)))
    a, b = (np.ascontiguousarray(np.hstack([pair[side] for pair in pairs])) for side in (0, 1))
    lengths = [pair[0].shape[1] for pair in pairs]
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    band = -(-max(lengths) // 10) if radius is None else radius
    return _Curves(names, a, b, starts, own, distance, band)


def _check(original: Dataset, protected: Dataset, names: Sequence[str]) -> None:
    """Everything that is wrong with the two files, at once."""
    if not names:
        raise InputError("time series linkage needs at least one series; these data have none")
    problems = Problems("the series attack cannot run")
    ours, theirs = ({block.name: block for block in data.blocks} for data in (original, protected))
    for name in names:
        if name not in ours:
            problems.add(f"there is no series {name!r} in the original")
            problems.hint(f"series available: {some([block.name for block in original.series], 20)}")
        elif not ours[name].is_series:
            problems.add(f"block {name!r} is not a time series")
        elif name not in theirs:
            problems.add(f"there is no series {name!r} in the release")
        elif len(ours[name]) != len(theirs[name]):
            problems.add(
                f"series {name!r} has {len(ours[name])} points in the original and {len(theirs[name])} in the release"
            )
            problems.hint("options: read both files with resample=...")
        elif any(np.isnan(data.block(name)).any() for data in (original, protected)):
            problems.add(f"series {name!r} has missing values")
            problems.hint("options: read the data with missing='interpolate'")
    if twice := sorted({name for name in names if list(names).count(name) > 1}):
        problems.add(f"known more than once: {some(twice)}")
    problems.raise_if_any()


def _slopes(pair: tuple[Array, Array], block: Block) -> tuple[Array, Array]:
    assert block.times is not None
    return slopes(pair[0], block.times), slopes(pair[1], block.times)


def _in_one_pass(curves: _Curves, ties: Ties) -> list[Links]:
    """The links for 1, 2, ..., all series, by a distance that is Euclidean in each series."""
    tied, link, hit = nearest(curves.a, curves.b, curves.starts, curves.own)
    return [
        Links(
            attack=curves.told(j + 1),
            candidates=tied[:, j],
            link=link[:, j],
            hit=hit[:, j].astype(np.bool_),
            ties=ties,
            own=curves.own,
            released=len(curves.b),
        )
        for j in range(len(curves.names))
    ]


def _round(curves: _Curves, count: int, ties: Ties, blocking: int | None) -> Links:
    """The links by the first so many series, one record after the other: by time warping, or in a neighbourhood."""
    from tsveil._kernels.attributes import nearest_in_window
    from tsveil._kernels.warped import nearest_warped

    starts = curves.starts[: count + 1]
    a, b = (np.ascontiguousarray(table[:, : starts[-1]]) for table in (curves.a, curves.b))
    factor = np.ones(a.shape[1])
    near = neighbourhood(a, b, curves.own, factor, blocking)

    def work(low: int, high: int) -> tuple[Indices, Indices, Indices]:
        own, start = near.own[low:high], near.start[low:high]
        if curves.distance == "dtw":
            return nearest_warped(
                a[low:high], near.candidates, starts, curves.band, near.copies, near.first, own, start, near.width, counter
            )  # fmt: skip
        return nearest_in_window(
            a[low:high], near.candidates, factor, starts, False, True, start, near.width, near.copies, near.first, own, counter
        )  # fmt: skip

    with progress.step("Linking records", total=len(a)) as counter:
        parts = map_chunks(work, len(a), 64 if curves.distance == "dtw" else 4096)
    tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(3))
    among = "" if blocking is None else f" among the {blocking} records nearest in sum"
    return Links(
        attack=curves.told(count) + among,
        candidates=tied,
        link=link,
        hit=hit.astype(np.bool_),
        ties=ties,
        own=curves.own,
        released=len(b),
        approximate=blocking is not None,
    )


# -- files in pieces --------------------------------------------------------------------------------------------------


def link_by_series(targets: Targets, task: Task) -> Array:
    """The chances that some targets are linked right, with the first 1, 2, ..., all series known; by values or by slopes."""
    files, starts = targets.files, [0]
    for block in files.series:
        starts.append(starts[-1] + len(block) - (task["distance"] == "sts"))
    known = _placed(targets.values(), files, task, "original")
    borders = np.array(starts, dtype=np.int64)

    def search(some: Candidates, own: Indices) -> Found:
        rows = _placed(some.values, files, task, "released")
        return nearest_distinct(known, rows, some.lowest, some.copies, own, borders)

    return nearest_in_pieces(targets, len(files.series), task["ties"], search)


def _placed(table: Array, files: Pieces, task: Task, side: Side) -> Array:
    """Records where they are compared: each series on its scale, as values or as slopes."""
    parts = []
    for block, scale in zip(files.series, task["scales"][side], strict=True):
        part = np.ascontiguousarray(table[:, files.span(block.name)])
        if scale == "per-record":
            part = ruler_of(part, "per-record").measure(part)
        elif scale is not None:
            part = Ruler(*(np.asarray(each) for each in scale)).measure(part)
        parts.append(slopes(part, block.times) if task["distance"] == "sts" else part)
    return np.ascontiguousarray(np.hstack(parts))
