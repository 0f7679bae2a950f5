"""The rows at the least distance from one record, with all that are tied at it; for kernels that find the distances row by row."""

from __future__ import annotations

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Indices


@kernel
def best_rows(
    distance: Indices, copies: Indices, number: Indices, owner: Indices, records: Indices, mine: int
) -> tuple[int, int, int, int]:
    """The least distance, how many records are at it, the lowest of them, and how many are the person's.

    All arrays have an item for each row, as in `tsveil.attack.nearest.Rows`; `mine` is the person.
    """
    least = distance[0]
    for row in range(1, len(distance)):
        least = min(least, distance[row])
    tied, link, hit = 0, -1, 0
    for row in range(len(distance)):
        if distance[row] == least:
            tied += copies[row]
            if link < 0 or number[row] < link:
                link = number[row]
            if owner[row] == mine:
                hit += records[row]
    return least, tied, link, hit
