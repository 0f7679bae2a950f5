"""Time series record linkage: each original record is linked to the nearest protected one.

The intruder knows the first j series of every record and compares them with the release by

    d_j(a, b) = sum_{i <= j} d(a_i, b_i)

with the Euclidean or the STS distance d, after normalising each series. A tie among t protected records counts 1/t right link if
the own record is among them (`ties="first"` takes the lowest row, as the source papers do, and then the result depends on the
order of the file).

References
----------
.. [1] J. Nin, V. Torra, Distance based re-identification for time series, analysis of distances, LNCS 4302 (2006) 205-216.
.. [2] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009), Algorithm 2.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.array([[1.0, 2.0], [1.2, 2.2], [5.0, 4.0], [5.0, 4.4]])
>>> data = tv.Dataset.from_arrays({"load": curves})
>>> tv.attack.series(data, tv.MDAV(k=2).protect(data))
Links: euclidean linkage, 1 of 1 series known: 2.0 of 4 records re-identified (50.0 %)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from tsveil._types import Array
from tsveil.attack._nearest import distinct_rows as distinct_rows
from tsveil.attack._nearest import nearest
from tsveil.attack.links import Links
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError, ParameterError
from tsveil.transform.normalise import How, Scaling, normalise
from tsveil.transform.statistics import slopes

Distance = Literal["euclidean", "sts"]
Ties = Literal["expected", "first"]


class HasData(Protocol):
    """A release: something that holds the protected data set."""

    @property
    def data(self) -> Dataset:
        """The protected data, row by row aligned with the original."""


def released_data(released: Dataset | HasData) -> Dataset:
    """The data set of a release, or the data set itself."""
    return released if isinstance(released, Dataset) else released.data


def series(
    original: Dataset,
    released: Dataset | HasData,
    *,
    distance: Distance = "euclidean",
    known: Sequence[str] | None = None,
    normalise: How = "global",
    scaling: Scaling = "original",
    ties: Ties = "expected",
) -> Links:
    """Link originals to protected records by the series that the intruder knows (all by default)."""
    return series_prefixes(
        original, released, distance=distance, known=known, normalise=normalise, scaling=scaling, ties=ties
    )[-1]


def series_prefixes(
    original: Dataset,
    released: Dataset | HasData,
    *,
    distance: Distance = "euclidean",
    known: Sequence[str] | None = None,
    normalise: How = "global",
    scaling: Scaling = "original",
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first 1, 2, ..., all of the known series, in one pass."""
    protected = released_data(released)
    names = [block.name for block in original.series] if known is None else list(known)
    if not names:
        raise InputError("time series linkage needs at least one series; these data have none")
    if distance not in ("euclidean", "sts"):
        raise ParameterError(
            f"The 'distance' parameter of the series attack must be 'euclidean' or 'sts'. Got {distance!r}."
        )
    if ties not in ("expected", "first"):
        raise ParameterError(f"The 'ties' parameter of the series attack must be 'expected' or 'first'. Got {ties!r}.")
    if original.n != protected.n:
        raise InputError(f"the original has {original.n} records and the release {protected.n}: rows must be aligned")
    pairs = [
        _compared(original.block(name), protected.block(name), original.block_named(name), distance, normalise, scaling)
        for name in names
    ]
    a = np.ascontiguousarray(np.hstack([pair[0] for pair in pairs]))
    b = np.ascontiguousarray(np.hstack([pair[1] for pair in pairs]))
    starts = np.cumsum([0] + [pair[0].shape[1] for pair in pairs]).astype(np.int64)
    tied, link, hit = nearest(a, b, starts)
    return [
        Links(
            attack=f"{distance} linkage, {j + 1} of {len(names)} series known",
            candidates=tied[:, j],
            link=link[:, j],
            hit=hit[:, j].astype(np.bool_),
            ties=ties,
        )
        for j in range(len(names))
    ]


def _compared(a: Array, b: Array, block: Block, distance: Distance, how: How, scaling: Scaling) -> tuple[Array, Array]:
    """Both files of one series in the space where the distance is Euclidean."""
    if block.times is None:
        raise InputError(f"block {block.name!r} is not a time series")
    a, b = normalise(a, b, how, scaling)
    if distance == "sts":
        return slopes(a, block.times), slopes(b, block.times)
    return a, b
