"""MDAV in parts, for more records than exact MDAV can bear: exact within each part, no group across two parts."""

from __future__ import annotations

import numpy as np

from tsveil._types import Array, Indices
from tsveil.engine.local import map_chunks
from tsveil.protect._mdav_exact import exact_groups
from tsveil.transform.parts import principal_parts


def partitioned_groups(
    space: Array, k: int, part: int, *, variant: str = "standard", counter: Indices | None = None
) -> tuple[Indices, int]:
    """The group of each record, numbered part after part, and the number of parts.

    Examples
    --------
    >>> import numpy as np
    >>> partitioned_groups(np.array([[0.0], [9.0], [1.0], [8.0], [0.5], [7.0]]), 2, 3)
    (array([0, 2, 1, 2, 0, 1]), 2)
    """
    parts = principal_parts(space, max(part, 2 * k - 1), multiple=k)
    done = np.zeros(1, dtype=np.int64) if counter is None else counter

    def work(start: int, stop: int) -> list[Indices]:
        found = []
        for rows in parts[start:stop]:
            found.append(exact_groups(space[rows], k, variant=variant))
            done[0] += len(rows)
        return found

    groups = np.empty(len(space), dtype=np.int64)
    label = 0
    for rows, labels in zip(parts, (one for some in map_chunks(work, len(parts), 1) for one in some), strict=True):
        groups[rows] = label + labels
        label += int(labels.max()) + 1
    return groups, len(parts)
