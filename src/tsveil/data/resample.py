"""Series of one length: resampling, filling gaps, splitting.

Methods compare series point by point, so all records need the same points. `resample` brings a series of any length to
m points, `fill_gaps` puts values where some are missing, and `split` cuts long series into several shorter ones of the
same record, by which users trade information loss for disclosure risk.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tsveil.core.errors import InputError, ParameterError, Problems
from tsveil.core.types import Array, ArrayLike
from tsveil.data.dataset import Block, Dataset


def resample(series: ArrayLike, m: int) -> Array:
    """The series at m evenly spaced places between its first and its last point, by linear interpolation.

    With T points x_0, ..., x_{T-1} the places are q_j = j (T-1)/(m-1) for j = 0, ..., m-1, and the result is

        y_j = x_i + (q_j - i) (x_{i+1} - x_i)    with i = floor(q_j).

    Both ends are kept, a constant series stays as it is, and so does every series when m = T. Takes one series or an
    array of (records, points).

    Examples
    --------
    >>> resample([0.0, 10.0, 20.0], 5)
    array([ 0.,  5., 10., 15., 20.])
    >>> resample([[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 5.0, 5.0]], 2)
    array([[1., 4.],
           [5., 5.]])
    """
    if isinstance(m, bool) or not isinstance(m, (int, np.integer)) or m < 2:
        raise ParameterError(f"The 'm' parameter of resample must be an integer of at least 2. Got {m!r}.")
    values = np.asarray(series, dtype=np.float64)
    length = values.shape[-1] if values.ndim else 0
    if length == 0:
        raise InputError("a series without points cannot be resampled")
    places = np.linspace(0.0, length - 1, int(m))
    before = places.astype(np.int64)
    after = np.minimum(before + 1, length - 1)
    low = values[..., before]
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # a result that is not finite is refused by whoever makes a Dataset
        return np.asarray(low + (places - before) * (values[..., after] - low), dtype=np.float64)


def fill_gaps(values: ArrayLike, times: ArrayLike) -> Array:
    """The values with NaN replaced by linear interpolation in time.

    Gaps at either end take the nearest value. A series without any value stays as it is. Takes one series or an array
    of (records, points).

    Examples
    --------
    >>> fill_gaps([np.nan, 1.0, np.nan, 4.0, np.nan], [0, 1, 2, 4, 5])
    array([1., 1., 2., 4., 4.])
    """
    filled = np.array(values, dtype=np.float64)
    places = np.asarray(times, dtype=np.float64)
    rows = filled.reshape(-1, filled.shape[-1])
    gaps = np.isnan(rows)
    for row in np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1)):
        gap = gaps[row]
        rows[row, gap] = np.interp(places[gap], places[~gap], rows[row, ~gap])
    return filled


def split(data: Dataset, parts: int) -> Dataset:
    """Every series cut into equally long, consecutive series of the same record; attributes stay as they are.

    The parts of 'load' are the series 'load/1', 'load/2', ...; the columns keep their names and times.

    Examples
    --------
    >>> import tsveil as tv
    >>> tv.Dataset.from_arrays({"load": [[1.0, 2.0, 3.0, 4.0]]})
    Dataset: 1 records; series 'load' (4 points)
    >>> split(_, 2)
    Dataset: 1 records; series 'load/1' (2 points), 'load/2' (2 points)
    """
    if isinstance(parts, bool) or not isinstance(parts, (int, np.integer)) or parts < 1:
        raise ParameterError(f"The 'parts' parameter of split must be an integer of at least 1. Got {parts!r}.")
    problems = Problems(f"the series cannot be split into {parts} parts")
    if not data.series:
        problems.add("there is no series in the data")
    for block in data.series:
        if len(block) % parts:
            fitting = [str(i) for i in range(2, len(block) + 1) if len(block) % i == 0]
            problems.add(f"series {block.name!r} has {len(block)} points, and {len(block) % parts} would be left over")
            problems.hint(f"{len(block)} points can be split into {', '.join(fitting[:12])} parts")
    problems.raise_if_any()
    blocks = [part for block in data.blocks for part in (_parts(block, parts) if block.is_series else [block])]
    note = f"each series was split into {parts} consecutive series of equal length"
    layout = data.layout
    if layout.shape == "long" and layout.variable is None:
        # The parts have different times, so in a long file they need a column that names them.
        layout = replace(layout, variable="part", values=("value",))
    return replace(data, blocks=tuple(blocks), layout=layout, notes=(*data.notes, note), origin=None)


def _parts(block: Block, parts: int) -> list[Block]:
    size = len(block) // parts
    assert block.times is not None
    return [
        Block(
            f"{block.name}/{part + 1}",
            block.columns[part * size : (part + 1) * size],
            block.times[part * size : (part + 1) * size],
            block.labels[part * size : (part + 1) * size],
            block.form,
        )
        for part in range(parts)
    ]
