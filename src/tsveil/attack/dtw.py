"""Time series linkage by dynamic time warping: for an intruder whose series run a little ahead or behind.

Each original record is linked to the released one with the least

    d(a, b) = sum over the known series i of DTW(a_i, b_i)

after normalising each series (see `attack.series`, which compares point by point). A tie among t released records counts 1/t
right link if the own one is among them. `radius` keeps the warping path within so many points of the diagonal (a Sakoe-Chiba
band); a tenth of the length, rounded up, by default: no band at all makes most series alike.

Every pair costs O(T radius), so this is for some thousand records; bounds (LB_Keogh [1]_, early abandoning) spare most pairs and
change no result.

References
----------
.. [1] E. Keogh, C. A. Ratanamahatana, Exact indexing of dynamic time warping, Knowledge and Information Systems 7 (2005)
   358-386.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> day = np.array([[0, 1, 6, 1, 0, 0, 0, 0], [0, 0, 0, 0, 3, 3, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]])
>>> late = np.roll(day, 1, axis=1)
>>> original, released = tv.Dataset.from_arrays({"load": day}), tv.Dataset.from_arrays({"load": late})
>>> tv.attack.series(original, released).correct, tv.attack.dtw(original, released).correct
(1.5, 3.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from tsveil import progress
from tsveil.attack._columns import own_candidate
from tsveil.attack._files import own_rows
from tsveil.attack.links import Links
from tsveil.attack.series import HasData, Ties, distinct_rows, released_data
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.local import map_chunks
from tsveil.errors import InputError, ParameterError
from tsveil.transform.normalise import How, Scaling
from tsveil.transform.normalise import normalise as on_one_scale


def dtw(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    radius: int | None = None,
    normalise: How = "global",
    scaling: Scaling = "original",
    ties: Ties = "expected",
) -> Links:
    """Link originals to the released records that are nearest by time warping over the known series (all by default)."""
    from tsveil._kernels.warped import nearest_warped

    protected = released_data(released)
    names = [block.name for block in original.series] if known is None else list(known)
    if not names:
        raise InputError("time series linkage needs at least one series; these data have none")
    if ties not in get_args(Ties):
        raise ParameterError(f"The 'ties' parameter of the dtw attack must be 'expected' or 'first'. Got {ties!r}.")
    if radius is not None and radius < 0:
        raise ParameterError(f"The 'radius' parameter of the dtw attack must be at least 0. Got {radius}.")
    pairs = []
    for name in names:
        if not original.block_named(name).is_series:
            raise InputError(f"block {name!r} is not a time series")
        a, b = original.block(name), protected.block(name)
        if a.shape[1] != b.shape[1]:
            raise InputError(f"series {name!r} has {a.shape[1]} points in the original and {b.shape[1]} in the release")
        if np.isnan(a).any() or np.isnan(b).any():
            raise InputError(f"series {name!r} has missing values\n  options: read the data with missing='interpolate'")
        pairs.append(on_one_scale(a, b, normalise, scaling))
    lengths = [a.shape[1] for a, _ in pairs]
    band = -(-max(lengths) // 10) if radius is None else radius
    own = own_rows(original, protected, truth)
    rows, first, label, copies = distinct_rows(np.hstack([b for _, b in pairs]))
    known_values = np.ascontiguousarray(np.hstack([a for a, _ in pairs]))
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    candidates, person = np.ascontiguousarray(rows), own_candidate(own, label)
    with progress.step("Linking records by time warping", total=original.n) as counter:
        parts = map_chunks(
            lambda i, j: nearest_warped(
                known_values[i:j], candidates, starts, band, copies, first, person[i:j], counter
            ),
            original.n,
            64,
        )
    tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return Links(
        attack=f"time warping linkage within {band} point{'s' * (band != 1)}, {len(names)} of {len(original.series)} series known",
        candidates=tied,
        link=link,
        hit=hit.astype(np.bool_),
        ties=ties,
        own=own,
        released=protected.n,
    )
