"""Time series record linkage: each original record is linked to the nearest released one.

The intruder knows the first j series of every record and compares them with the release by

    d_j(a, b) = sum_{i <= j} d(a_i, b_i)

after normalising each series. The distance d is

    euclidean   point by point
    sts         of the slopes between points: short time series distance
    dtw         of the best alignment in time (dynamic time warping): for series that run a little ahead or behind. `radius`
                is how many points the path may leave the diagonal (a Sakoe-Chiba band); a tenth of the length, rounded
                up, by default: no band at all makes most series alike. Every pair costs O(T radius), so this is for some
                thousand records; bounds (LB_Keogh [3]_, early abandoning) spare most pairs and change no result.

A tie among t released records counts 1/t right link if the own record is among them (`ties="first"` takes the lowest row, as the
source papers do, and then the result depends on the order of the file). The files need not hold the same people or have the same
order if the `truth` says who is who.

`one_to_one=True` gives every released record to at most one person, so that the sum of the distances is the least.
`direction="released"` links every released record to an original one instead; the rows of the result are then those of the release.
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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import Attack, NotMeasuredError, OnRequest, Situation, Trial
from tsveil.attack.candidates import Best, Found, nearest_in_pieces
from tsveil.attack.exact_ties import ExactTies, of_series
from tsveil.attack.files import (
    FROM_RELEASE,
    Direction,
    HasData,
    Ties,
    in_steps,
    own_rows,
    persons_of,
    refuse_persons,
    refuse_together,
    released_data,
    reversed_own,
    wrong_choices,
)
from tsveil.attack.links import Linked, Links
from tsveil.attack.nearest import Near, Rows, nearest, nearest_distinct
from tsveil.attack.neighbourhood import Neighbourhood, nearest_around, neighbourhood
from tsveil.attack.one_to_one import distances
from tsveil.attack.one_to_one import one_to_one as assigned
from tsveil.attack.pieces import Columns, Side, Targets
from tsveil.attack.series_scales import decimals, merge_decimals
from tsveil.core import progress
from tsveil.core.errors import InputError, ParameterError, Problems, some
from tsveil.core.params import at_least, optional, param
from tsveil.core.registry import DISTANCES
from tsveil.core.types import Array, ArrayLike, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.distance.base import USUAL, Distance
from tsveil.engine.base import Task
from tsveil.engine.local import map_chunks
from tsveil.transform.normalise import How, Ruler, Scaling, ruler_of
from tsveil.transform.normalise import normalise as on_one_scale


def series(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    distance: str = USUAL,
    radius: int | None = None,
    normalise: How = "global",
    scaling: Scaling = "original",
    ties: Ties = "expected",
    one_to_one: bool = False,
    blocking: int | None = None,
    direction: Direction = "original",
) -> Links:
    """Link originals to released records by the series that the intruder knows.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The series that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    distance
        "euclidean", "sts", "dtw", or another name of the registry.
    radius
        Of "dtw": how many points the alignment may stray; a tenth of the length unless given.
    normalise
        How series are normalised before they are compared.
    scaling
        By which file's mean and deviation values are scaled: "original", or each file by its "own".
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.
    one_to_one
        Each released record is linked to one person at most, so that the sum of all distances is the least.
    blocking
        For very large files: compare each original record only with this many distinct released ones, those nearest to it in the sum of their standardised values. The result may miss the nearest one.
    direction
        "original": every original record is linked to a released one. "released": the other way round, as in the literature; the rows of the result are then those of the release.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    refuse_together("series", one_to_one=one_to_one, blocking=blocking, direction=direction)
    curves = _curves(original, released, known, truth, distance, radius, normalise, scaling, ties)
    if direction == "released":
        own, persons = reversed_own(curves.own, curves.persons, len(curves.b))
        written = curves.written and replace(curves.written, a=curves.written.b, b=curves.written.a)
        curves = replace(curves, a=curves.b, b=curves.a, own=own, persons=persons, words=FROM_RELEASE, written=written)
    if one_to_one:
        return assigned(curves.a, curves.b, curves.own, curves.persons, curves.distances, ties, curves.describe())
    embeds = curves.distance.embeds()
    if blocking is None and embeds:
        if curves.written is None:
            found = nearest(curves.a, curves.b, curves.starts, curves.own, curves.persons)
        else:
            found = curves.nearest_as_written(curves.written)
        tied, link, hit = (each[:, -1] for each in found)
        return Links.of(curves.describe(), (tied, link, hit), ties, curves.own, len(curves.b), persons=curves.persons)
    way = f"distance={distance!r}" if blocking is None else "the option 'blocking'"
    refuse_persons(curves.persons, f"{way} of the series attack")
    factor = np.ones(curves.a.shape[1])
    around = neighbourhood(curves.a, curves.b, curves.own, factor, blocking)
    if embeds:
        linked = nearest_around(curves.a, around, factor, curves.starts, metric="norms", text="Linking records")
    else:
        linked = _one_by_one(curves, around)
    words = curves.describe() + ("" if blocking is None else f" among the {blocking} records nearest in sum")
    return Links.of(words, linked, ties, curves.own, len(curves.b), approximate=blocking is not None)


@dataclass(frozen=True, eq=False)
class _Written:
    """One series in both files as it is written, where it has long fractions, and its scale."""

    a: Array
    b: Array
    ruler: Ruler
    times: ArrayLike | None


@dataclass(frozen=True, eq=False)
class _Curves:
    """Both files in the space where they are compared, series after series."""

    names: tuple[str, ...]
    a: Array
    b: Array
    #: series i has the columns starts[i]..starts[i+1]
    starts: Indices
    #: the released row that was made of each original record; -1: not released
    own: Indices
    #: whose each original record is, where persons may have several
    persons: Indices | None
    distance: Distance
    #: what is to be said besides
    words: str = ""
    #: what near ties are decided by
    written: _Written | None = None

    def describe(self) -> str:
        """The attack and what was known, in words."""
        return f"{self.distance.words} linkage{self.words}, {len(self.names)} of {len(self.names)} series known"

    def nearest_as_written(self, written: _Written) -> tuple[Indices, Indices, Indices]:
        """The nearest, with near ties decided exactly."""

        def embedding(values: Array) -> Array:
            placed = self.distance.embedding(values, written.times)
            assert placed is not None
            return placed

        times = _moments(written.times, written.a.shape[1]) if self.distance.name == Shapes.distance else None
        exact = of_series(written.a, self.a, written.ruler, times, embedding)
        rows, best = Rows.of(written.b, self.own, self.persons), Best(len(self.a), 1)
        placed = replace(rows, values=np.ascontiguousarray(self.b[rows.first]))
        exact.add(best, nearest_distinct(self.a, placed, self.starts, close=exact.fresh(), slack=exact.slack))
        exact.settle(best, [rows])
        return best.tied, best.link, best.hit

    def distances(self, a: Array, b: Array) -> Array:
        """The distances between all records of two files like these."""
        if not self.distance.embeds():
            return self.distance.all_pairs(a, b, self.starts)
        return distances(a, b, np.ones(a.shape[1]), self.starts)


def _curves(
    original: Dataset, released: Dataset | HasData, known: Sequence[str] | None, truth: Truth,
    distance: str, radius: int | None, how: How, scaling: Scaling, ties: Ties,
) -> _Curves:  # fmt: skip
    problems = Problems("the series attack cannot run", ParameterError)
    if distance not in DISTANCES:
        allowed = ", ".join(map(repr, DISTANCES))
        problems.add(f"The 'distance' parameter must be one of {allowed}. Got {distance!r}.")
    problems.found += wrong_choices(ties=(ties, Ties))
    if isinstance(known, str):
        problems.add(f"The 'known' parameter must be a list of names. Got {known!r}.")
    banded = [name for name, kind in DISTANCES.items() if "radius" in {p.name for p in kind.parameters()}]
    if radius is not None and distance not in banded:
        problems.add(f"The 'radius' parameter is for distance={' or '.join(map(repr, banded))} only. Got {radius}.")
    if radius is not None and radius < 0:
        problems.add(f"The 'radius' parameter must be at least 0. Got {radius}.")
    problems.raise_if_any()
    protected = released_data(released)
    names = tuple(block.name for block in original.series) if known is None else tuple(known)
    _check(original, protected, names)
    own = own_rows(original, protected, truth)
    measure = DISTANCES.make(distance, {} if radius is None else {"radius": radius})
    pairs, written = [], None
    for name in names:
        x, y, times = original.block(name), protected.block(name), original.block_named(name).times
        alone = len(names) == 1 and _only_ratios(distance, how, scaling)
        steps = _steps(x, y) if alone else None
        if alone and steps is None:
            ruler = ruler_of(x, "global")
            written = _Written(x, y, ruler, times)
            pair = ruler.measure(x), ruler.measure(y)
        else:
            pair = on_one_scale(x, y, how, scaling) if steps is None else (in_steps(x, steps), in_steps(y, steps))
        pairs.append([measure.embedding(side, times) for side in pair] if measure.embeds() else pair)
    a, b = (np.ascontiguousarray(np.hstack([pair[side] for pair in pairs])) for side in (0, 1))
    lengths = [pair[0].shape[1] for pair in pairs]
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    return _Curves(names, a, b, starts, own, persons_of(original), measure.at_length(max(lengths)), written=written)


def _moments(times: ArrayLike | None, points: int) -> Array:
    """The times of a series; 0, 1, 2, ... where it has none."""
    return np.arange(float(points)) if times is None else np.asarray(times, dtype=np.float64)


def _only_ratios(distance: str, how: How, scaling: Scaling) -> bool:
    """Whether only ratios of differences count where one series is compared: then decimals can be compared as whole numbers."""
    return distance in (Values.distance, Shapes.distance) and how == "global" and scaling == "original"


def _steps(x: Array, y: Array) -> int | None:
    """The steps of a series in both files; None where it has no short decimals."""
    return merge_decimals([decimals(x), decimals(y)])


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


def _one_by_one(curves: _Curves, near: Neighbourhood) -> Linked:
    """The nearest by a distance that compares two series at a time, one record after the other."""
    with progress.step("Linking records", total=len(curves.a)) as counter:
        parts = map_chunks(
            lambda low, high: curves.distance.nearest(
                curves.a[low:high], near.candidates, curves.starts, near.copies, near.first, near.own[low:high],
                near.start[low:high], near.width, counter,
            ),
            len(curves.a),
            64,
        )  # fmt: skip
    tied, link, hit = (np.concatenate(each) for each in zip(*parts, strict=True))
    return tied, link, hit


# -- files in pieces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _SeriesLinkage(Attack):
    """Linkage to the nearest released record by a distance that is Euclidean in each series."""

    of_series: ClassVar[bool] = True
    by_block: ClassVar[bool] = True
    needs_series_scales: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("one_to_one", "blocking", "direction")
    reference: ClassVar[str] = "Nin and Torra 2006; Nin and Torra 2009"

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows."""
        return [Trial(situation.affordable(situation.distinct), {"scales": situation.series_scales})]

    def place(self, table: Array, block: Columns) -> Array:
        """The values of a series on their scale, in the space where the distance is Euclidean."""
        points: Array = DISTANCES.make(self.distance or USUAL).embedding(table, block.times)
        return points

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by the first 1, 2, ... series."""
        files = targets.files

        def place(table: Array, side: Side) -> list[Array]:
            return [
                self.place(_on_scale(table[:, files.span(block.name)], scale), block)
                for block, scale in zip(files.series, task["scales"][side], strict=True)
            ]

        parts = place(targets.values(), "original")
        known, borders = np.ascontiguousarray(np.hstack(parts)), np.cumsum([0, *(part.shape[1] for part in parts)])
        rounds, exact = np.array(task["counts"]) - 1, self._exact(targets, known, task["scales"])
        marks: dict[str, Any] = {}

        def search(some: Rows) -> Near:
            values = np.ascontiguousarray(np.hstack(place(some.values, "released")))
            if exact is not None:
                marks.update(close=exact.fresh(), slack=exact.slack)
            near = nearest_distinct(known, replace(some, values=values), borders.astype(np.int64), **marks)
            return Near(near.best[:, rounds], near.tied[:, rounds], near.link[:, rounds], near.hit[:, rounds])

        return nearest_in_pieces(targets, len(rounds), search, exact=exact)

    def _exact(self, targets: Targets, placed: Array, scales: Mapping[Side, Sequence[Any]]) -> ExactTies | None:
        """What decides near ties: of one series that is on one scale, the original's, and has long fractions."""
        series, scale = targets.files.series, scales["original"][0]
        if (
            len(series) > 1
            or not isinstance(scale, Sequence)
            or isinstance(scale, str)
            or scale != scales["released"][0]
        ):
            return None
        if np.size(scale[0]) > 1 or self.distance not in (Values.distance, Shapes.distance):
            return None
        block, span = series[0], targets.files.span(series[0].name)
        times = _moments(block.times, len(block)) if self.distance == Shapes.distance else None
        known = np.ascontiguousarray(targets.values()[:, span])
        ruler = Ruler(*(np.asarray(each) for each in scale))
        return of_series(known, placed, ruler, times, lambda values: self.place(values, block), span)


def _on_scale(values: Array, scale: Any) -> Array:
    """The values of a series on their scale: one of all records, of each record by itself, none, or the steps of their last decimal."""
    values = np.ascontiguousarray(values)
    if isinstance(scale, int):
        return in_steps(values, scale)
    if scale == "per-record":
        return ruler_of(values, "per-record").measure(values)
    return values if scale is None else Ruler(*(np.asarray(each) for each in scale)).measure(values)


@dataclass(frozen=True, kw_only=True)
class Values(_SeriesLinkage):
    """Linkage of series by their values."""

    name: ClassVar[str] = "values"
    figure: ClassVar[str] = "EULD"
    plain: ClassVar[str] = "linkage by values"
    summary: ClassVar[str] = (
        "Share of records that an intruder who knows the true values links to the right published record."
    )
    distance: ClassVar[str | None] = "euclidean"
    on_files: ClassVar[Callable[..., Links] | None] = partial(series, distance="euclidean")


@dataclass(frozen=True, kw_only=True)
class Shapes(_SeriesLinkage):
    """Linkage of series by their slopes."""

    name: ClassVar[str] = "shape"
    figure: ClassVar[str] = "STSLD"
    plain: ClassVar[str] = "linkage by shape"
    summary: ClassVar[str] = "Share that an intruder links right who compares the ups and downs of the curves."
    distance: ClassVar[str | None] = "sts"
    on_files: ClassVar[Callable[..., Links] | None] = partial(series, distance="sts")

    def plan(self, situation: Situation) -> list[Trial]:
        """A slope takes two points."""
        if min(map(len, situation.files.series)) < 2:
            raise NotMeasuredError("STSLD: a series of one point has no shape")
        return super().plan(situation)


@dataclass(frozen=True, kw_only=True)
class Warping(OnRequest):
    """Linkage of series by time warping, which compares every pair at length and so is run only when asked for."""

    name: ClassVar[str] = "warping"
    figure: ClassVar[str] = "DTWLD"
    plain: ClassVar[str] = "linkage by time warping"
    summary: ClassVar[str] = "Share that an intruder links right who allows the curves to run a little ahead or behind."
    reference: ClassVar[str] = "Keogh and Ratanamahatana 2005"
    of_series: ClassVar[bool] = True
    distance: ClassVar[str | None] = "dtw"
    on_files: ClassVar[Callable[..., Links] | None] = partial(series, distance="dtw")
    options: ClassVar[tuple[str, ...]] = ("one_to_one", "blocking", "direction")

    radius: int | None = param(
        None, optional(at_least(0)), "points that the alignment may stray; a tenth of the length"
    )
