"""Exact MDAV: the groups of the definition, computed as fast as we know how."""

from __future__ import annotations

import numpy as np

from tsveil._types import Array, Indices


def exact_groups(Z: Array, k: int, *, variant: str = "standard", counter: Indices | None = None) -> Indices:
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

    Examples
    --------
    >>> exact_groups(np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [30.0]]), 2)
    array([1, 1, 2, 2, 0, 0])
    """
    from tsveil._kernels.mdav import fused_groups

    Z = in_range(np.ascontiguousarray(Z, dtype=np.float64))
    n = len(Z)
    labels = np.full(n, -1, dtype=np.int64)
    done = np.zeros(1, dtype=np.int64) if counter is None else counter
    fused_groups(Z, k, variant == "paper", np.arange(n), running_sum(Z), 0, labels, done)
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
