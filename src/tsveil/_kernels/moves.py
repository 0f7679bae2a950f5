"""How likely values moved from one rank to another, summed over columns; see `tsveil.attack.moves`.

A known value has the blocks of ranks first..last of its column, and so has a published one. `logs` is the table for two single blocks, `sums` has the sums of the
chances over the first blocks of either kind, both in fixed point: sums of them are exact, in any order.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.best_rows import best_rows
from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices

#: logarithms are whole numbers of 1 / SCALE, and chances of 1 / PARTS of a random one
SCALE, PARTS = 1 << 16, 1 << 20
#: below this logarithm what somebody else adds to the crowd around a row is left out
FAR = -8 * SCALE


@kernel
def log_ratio(i: int, j: int, k: int, m: int, logs: AnyArray, sums: Indices) -> int:
    """The logarithm for the mean chance that a value of the blocks i..j moved to one of k..m, both ends included, over that of a random value."""
    if i == j and k == m:
        return int(logs[i, k])
    total = sums[j + 1, m + 1] - sums[i, m + 1] - sums[j + 1, k] + sums[i, k]
    return int(np.rint(SCALE * np.log(total / (PARTS * (j - i + 1.0) * (m - k + 1.0)))))


@kernel
def ratio_tables(begins: Indices, first: Indices, last: Indices, logs: AnyArray, sums: Indices) -> AnyArray:
    """For each column the logarithms of all pairs of its kinds of values, one table after the other; kinds begins[c].. of column c have the blocks first..last."""
    size = 0
    for c in range(len(begins) - 1):
        size += (begins[c + 1] - begins[c]) ** 2
    tables = np.empty(size, np.int32)
    at = 0
    for c in range(len(begins) - 1):
        one, many = begins[c], begins[c + 1] - begins[c]
        for i in range(many):
            for k in range(i + 1):
                # Trades are mutual, so a move is as likely as the one back.
                found = log_ratio(first[one + i], last[one + i], first[one + k], last[one + k], logs, sums)
                tables[at + i * many + k] = found
                tables[at + k * many + i] = found
        at += many * many
    return tables


@kernel
def _add_round(
    score: AnyArray, own: AnyArray, kind: AnyArray, tables: AnyArray, begins: Indices, rounds: Indices, at: int, place: int
) -> int:  # fmt: skip
    """Add the logarithms of the columns that round `at` knows beyond those before it to the scores of all rows, for a record with these kinds of values.

    Scores begin with the first round. `place` is where the tables of these columns begin; that of the next round is given.
    """
    start = 0
    if at == 0:
        score[:] = 0
    else:
        start = rounds[at - 1]
    for c in range(start, rounds[at]):
        many = begins[c + 1] - begins[c]
        ratios = tables[place + own[c] * many : place + (own[c] + 1) * many]
        of_row = kind[c]
        for row in range(len(score)):
            score[row] += ratios[of_row[row]]
        place += many * many
    return place


@kernel
def crowd_of_rows(others: AnyArray, kind: AnyArray, tables: AnyArray, begins: Indices, rounds: Indices) -> Array:
    """For each round and row: the mean over some published rows of the chance that such a person becomes the row, over that of a random row.

    `others` has the kinds of the values of these rows, a row for each. One of them that equals the row in all columns of the round counts as the row itself, and is left out.
    """
    rows = kind.shape[1]
    crowd = np.zeros((len(rounds), rows))
    left_out = np.zeros((len(rounds), rows), np.bool_)
    score = np.empty(rows, np.int32)
    for s in range(len(others)):
        place = 0
        for at in range(len(rounds)):
            place = _add_round(score, others[s], kind, tables, begins, rounds, at, place)
            for row in range(rows):
                if score[row] <= FAR:
                    continue
                if not left_out[at, row]:
                    equal = True
                    for c in range(rounds[at]):
                        if kind[c, row] != others[s, c]:
                            equal = False
                            break
                    if equal:
                        left_out[at, row] = True
                        continue
                crowd[at, row] += np.exp(score[row] / SCALE)
    return crowd / max(len(others), 1)


@kernel
def likeliest_rows(
    known: AnyArray,
    kind: AnyArray,
    tables: AnyArray,
    begins: Indices,
    rounds: Indices,
    crowd: AnyArray,
    copies: Indices,
    number: Indices,
    owner: Indices,
    records: Indices,
    mine: Indices,
    counter: Indices,
) -> tuple[Array, Indices, Indices, Indices]:
    """For each known record and round: the least distance (the logarithm of the crowd less that of the chances), how many records are at it, the lowest, and how many are the person's.

    The values of record a are of the kinds known[a], those of row r of the kinds kind[:, r]. A round knows the first rounds[at] columns. `crowd` has the logarithm for each
    round and row; the rest is as in `tsveil.attack.nearest.Rows`.
    """
    rows = kind.shape[1]
    shape = (len(known), len(rounds))
    best = np.empty(shape)
    tied = np.empty(shape, np.int64)
    link = np.empty(shape, np.int64)
    hit = np.empty(shape, np.int64)
    score = np.empty(rows, np.int32)
    distance = np.empty(rows, np.int64)
    for a in range(len(known)):
        place = 0
        for at in range(len(rounds)):
            place = _add_round(score, known[a], kind, tables, begins, rounds, at, place)
            for row in range(rows):
                distance[row] = crowd[at, row] - score[row]
            best[a, at], tied[a, at], link[a, at], hit[a, at] = best_rows(
                distance, copies, number, owner, records, mine[a]
            )
        counter[0] += 1
    return best, tied, link, hit
