"""Cutting many records into parts of near ones, in time near linear in their number.

Each part that is too large is cut across its direction of largest spread, at a multiple of `multiple` records near the middle, until
all parts are small enough. Directions come from a sample of the part, by power iteration from a fixed start, so that the result repeats.
"""

from __future__ import annotations

import numpy as np

from tsveil._types import Array, Indices

#: records that a direction is computed from
SAMPLE = 4096


def principal_parts(Z: Array, size: int, multiple: int = 1) -> list[Indices]:
    """Row numbers of the parts, each of at most `size + multiple` records and at least a quarter of `size` (or all records, if they are few).

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in principal_parts(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)]
    [[0, 2], [1, 3]]
    """
    waiting = [np.arange(len(Z), dtype=np.int64)]
    parts: list[Indices] = []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= size + multiple:
            parts.append(rows)
            continue
        along = Z[rows] @ principal_direction(Z[rows[:: max(1, len(rows) // SAMPLE)]])
        # A whole number of final parts goes to either side, so that parts come out full instead of half empty; the slack of
        # `multiple` absorbs what rounding the cut moves across.
        pieces = max(2, -(-(len(rows) - multiple) // size))
        cut = len(rows) * (pieces // 2) // pieces
        cut = max(multiple, cut - cut % multiple)
        order = np.argsort(along, kind="stable")
        waiting += [np.sort(rows[order[cut:]]), np.sort(rows[order[:cut]])]
    return parts


def principal_direction(sample: Array) -> Array:
    """The first principal direction of a sample; its sign is fixed by the largest loading."""
    centred = sample - sample.mean(axis=0)
    covariance = centred.T @ centred
    if covariance.shape[0] <= 256:
        direction: Array = np.linalg.eigh(covariance)[1][:, -1]
    else:
        direction = covariance[:, int(np.argmax(np.diag(covariance)))].copy()
        for _ in range(30):
            length = float(np.linalg.norm(direction))
            if length == 0.0:
                break
            direction = covariance @ (direction / length)
        direction /= float(np.linalg.norm(direction)) or 1.0
    return direction * (1.0 if direction[int(np.argmax(np.abs(direction)))] >= 0 else -1.0)
