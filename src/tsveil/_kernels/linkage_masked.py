"""Nearest published rows of known records with gaps, and rows whose gaps agree best; ties are counted.

Every pair is compared: the distance over the points that both have is no metric.
"""

from __future__ import annotations

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices


@kernel
def offer(
    i: int, r: int, d: float, c: int, copies: Indices, first: Indices, owner: Indices, records: Indices, mine: Indices,
    best: Array, tied: Indices, link: Indices, hit: Indices,
) -> None:  # fmt: skip
    """Take a candidate into account for a known record in one round."""
    if d > best[i, r]:
        return
    if d < best[i, r] or link[i, r] < 0:
        best[i, r], tied[i, r], link[i, r], hit[i, r] = d, 0, first[c], 0
    tied[i, r] += copies[c]
    link[i, r] = min(link[i, r], first[c])
    if owner[c] == mine[i]:
        hit[i, r] += records[c]


@kernel
def nearest_with_gaps(
    known: Array, rows: Array, counts: Indices, apart: Array, copies: Indices, first: Indices, owner: Indices, records: Indices, mine: Indices,
    best: Array, tied: Indices, link: Indices, hit: Indices, counter: Indices,
) -> None:  # fmt: skip
    """By d = (columns known / columns that both have) * sum of squared differences, with the first `counts[r]` columns known; `apart[r]` where both have none."""
    for i in range(known.shape[0]):
        for c in range(rows.shape[0]):
            total, both, at = 0.0, 0, 0
            for r in range(counts.shape[0]):
                while at < counts[r]:
                    d = known[i, at] - rows[c, at]
                    if d == d:
                        total += d * d
                        both += 1
                    at += 1
                away = total * (at / both) if both else apart[r]
                offer(i, r, away, c, copies, first, owner, records, mine, best, tied, link, hit)
    counter[0] += known.shape[0]


@kernel
def agreeing_gaps(
    known: Array, rows: Array, counts: Indices, full: Array, empty: Array, copies: Indices, first: Indices, owner: Indices, records: Indices,
    mine: Indices, best: Array, tied: Indices, link: Indices, hit: Indices, counter: Indices,
) -> None:  # fmt: skip
    """By the sum of weights of the columns in which both have a value (`full`) or neither has (`empty`), the largest first."""
    for i in range(known.shape[0]):
        for c in range(rows.shape[0]):
            total, at = 0.0, 0
            for r in range(counts.shape[0]):
                while at < counts[r]:
                    gap = known[i, at] != known[i, at]
                    if gap == (rows[c, at] != rows[c, at]):
                        total += empty[at] if gap else full[at]
                    at += 1
                offer(i, r, -total, c, copies, first, owner, records, mine, best, tied, link, hit)
    counter[0] += known.shape[0]
