"""What stands for a group: every member gets the same bits."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tsveil.core.types import Array, Indices

Representative = Literal["mean", "median"]
#: of records that hold labels, too: numbers by their mean, labels by the lowest common ancestor
WithLabels = Literal["mean", "median", "generalise"]


def represent(values: Array, groups: Indices, how: Representative) -> Array:
    """Every value replaced by the mean or the median of its group in that column.

    Examples
    --------
    >>> import numpy as np
    >>> represent(np.array([[1.0], [2.0], [9.0], [4.0]]), np.array([0, 0, 0, 1]), "median").ravel()
    array([2., 2., 2., 4.])
    """
    if how == "mean":
        from tsveil._kernels.groups import group_means

        return group_means(np.ascontiguousarray(values), groups, int(groups.max()) + 1)
    out = np.empty_like(values)
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        out[members] = np.median(values[members], axis=0)
    return out
