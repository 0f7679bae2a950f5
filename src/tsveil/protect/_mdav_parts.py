"""MDAV in parts, for more records than exact MDAV can bear: exact within each part, no group across two parts."""

from __future__ import annotations

import numpy as np

from tsveil._types import Array, Indices
from tsveil.engine.local import cores, map_chunks
from tsveil.protect._mdav_exact import exact_groups
from tsveil.protect._refine import LARGE, Budget, Refine, refined_groups
from tsveil.transform.parts import principal_parts


def partitioned_groups(
    space: Array,
    k: int,
    part: int,
    *,
    variant: str = "standard",
    counter: Indices | None = None,
    refine: Refine = "none",
    rng: np.random.Generator | None = None,
    budget: Budget | None = None,
) -> tuple[Indices, int]:
    """The group of each record, numbered part after part, and the number of parts.

    Each part is refined by itself, with random numbers and a share of the budget of its own: the number of threads changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> partitioned_groups(np.array([[0.0], [9.0], [1.0], [8.0], [0.5], [7.0]]), 2, 3)
    (array([0, 2, 1, 2, 0, 1]), 2)
    """
    parts = principal_parts(space, max(part, 2 * k - 1), multiple=k)
    done = np.zeros(1, dtype=np.int64) if counter is None else counter

    draws = (rng or np.random.default_rng(0)).spawn(len(parts))
    workers = min(cores(), len(parts))

    def work(start: int, stop: int) -> list[Indices]:
        found = []
        for rows, draw in zip(parts[start:stop], draws[start:stop], strict=True):
            labels = exact_groups(space[rows], k, variant=variant)
            share = (budget or Budget()).share(len(rows), len(space), workers)
            found.append(refined_groups(space[rows], labels, k, refine, draw, share, hurried=len(space) > LARGE))
            done[0] += len(rows)
        return found

    groups = np.empty(len(space), dtype=np.int64)
    label = 0
    for rows, labels in zip(parts, (one for some in map_chunks(work, len(parts), 1) for one in some), strict=True):
        groups[rows] = label + labels
        label += int(labels.max()) + 1
    return groups, len(parts)
