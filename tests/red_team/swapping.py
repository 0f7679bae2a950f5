"""Attacks on rank swapping: how likely a trade is, and what one trade says of the next."""

from __future__ import annotations

from functools import cache
from math import floor

import numpy as np

from red_team.common import Knowledge, Published, log_mean
from tsveil.core.types import Array, Indices

#: how often the intruder draws trades himself to learn how far values move
DRAWS = 300
#: how unlikely the likeliest move is that never came up in these draws, as a share of a random one
NEVER = 1e-3
#: links that a chain of trades has at most, and rows that are tried for each person
LINKS, TRIED = 30, 120
#: a chain whose evidence is below this is given up: a right one seldom gets there
HOPELESS = -25.0


def partners(method: str, n: int, setting: float, rng: np.random.Generator) -> Indices:
    """One draw of the trades of a column of n ranks, written from the definition of each kind of rank swapping."""
    partner = np.full(n, -1)
    width = max(1, floor(n * setting / 100 + 0.5))
    size = int(setting) if method == "rank-swap-buckets" else 1
    bounds = [n * at // size for at in range(size + 1)]
    bucket = np.searchsorted(bounds, np.arange(n), side="right") - 1
    for rank in range(n):
        if partner[rank] >= 0:
            continue
        free = rank + 1 + np.flatnonzero(partner[rank + 1 :] < 0)
        if not len(free):
            partner[rank] = rank
            continue
        if method == "rank-swap":
            free = free[free <= rank + width]
            other = int(rng.choice(free)) if len(free) else rank
        elif method == "rank-swap-distribution":
            # A draw that misses is repeated: among the free ranks the chance of each is that of its distance.
            away = (free - rank - width / 2) / (width / 2)
            chance = np.exp(-0.5 * away**2)
            other = int(rng.choice(free, p=chance / chance.sum())) if chance.sum() > 1e-30 else int(free[0])
        else:
            chance = (
                2.0 ** -(bucket[free] - bucket[rank] + 1.0) / np.bincount(bucket[free], minlength=size)[bucket[free]]
            )
            other = int(rng.choice(free, p=chance / chance.sum()))
        partner[rank], partner[other] = other, rank
    return partner


@cache
def moves(method: str, n: int, setting: float) -> Array:
    """The chance that the value of a rank is published where another rank was: (ranks, ranks).

    Neighbouring ranks move alike, so the counts of a few are added up along the diagonal.
    """
    rng = np.random.default_rng(77)
    counts = np.zeros((n, n))
    for _ in range(DRAWS):
        counts[np.arange(n), partners(method, n, setting, rng)] += 1
    reach = max(1, n // 60)
    smooth = np.zeros_like(counts)
    for step in range(-reach, reach + 1):
        start, stop = max(0, step), n + min(0, step)
        smooth[start:stop, start:stop] += counts[start - step : stop - step, start - step : stop - step]
    smooth /= smooth.sum(axis=1, keepdims=True)
    floor_ = NEVER / n
    found: Array = (smooth + floor_) / (1 + floor_ * n)
    return found


def setting_of(published: Published) -> float:
    """The one parameter of each kind of rank swapping."""
    return float(published.settings["buckets" if published.method == "rank-swap-buckets" else "p"])


def column_evidence(published: Published, known: Knowledge) -> Array:
    """For each known column, person and row: log of the chance of the move over the chance of the value at random.

    A swapped column is a permutation of itself, so the published file says at which rank a known value was.
    """
    n = len(published.values)
    chance = moves(published.method, n, setting_of(published))
    found = np.empty((len(known.columns), len(known.values), n))
    for at, column in enumerate(known.columns):
        shown = published.values[:, column]
        values, place, counts = np.unique(shown, return_inverse=True, return_counts=True)
        starts = np.cumsum(counts) - counts
        by_value = np.add.reduceat(np.add.reduceat(chance, starts, axis=0), starts, axis=1)
        ratio = np.log(by_value / counts[:, None] / (counts / n))
        mine = np.searchsorted(values, known.values[:, at]).clip(0, len(values) - 1)
        found[at] = ratio[mine][:, place]
    return found


def likeliest_move(published: Published, known: Knowledge) -> Array:
    """The row to which the person's values are likeliest to have moved: the product over columns of the chances of the moves.

    The chances come from trades that the intruder draws himself, which is more than a window: near moves and far ones are not alike.
    """
    found: Array = column_evidence(published, known).sum(axis=0)
    return found


def likeliest_move_rare_row(published: Published, known: Knowledge) -> Array:
    """As `likeliest_move`, over the chance that somebody else comes out as that row, which the published rows around it tell.

    By the rule of Bayes a row in an empty region is the person's rather than one in a crowd at the same distance.
    """
    others = column_evidence(published, Knowledge(published.values[:, list(known.columns)], known.columns)).sum(axis=0)
    np.fill_diagonal(others, -np.inf)
    return likeliest_move(published, known) - log_mean(others, axis=0, floor=-5.0)


def chain_of_trades(published: Published, known: Knowledge) -> Array:
    """Each hypothesis (person, row) implies others: who owned the row's value in a column got the person's value in return.

    The log-likelihood ratios of the links of the chain are added up, and a chain that gives one person two rows or one row two persons is
    dropped; a right one gathers evidence with each link, a wrong one soon implies unlikely moves.
    """
    evidence = column_evidence(published, known).sum(axis=0)
    n, persons = len(published.values), len(known.values)
    owner, holder = [], []
    for at, column in enumerate(known.columns):
        shown = published.values[:, column]
        values, place, counts = np.unique(shown, return_inverse=True, return_counts=True)
        of_value = np.full(len(values), -1)
        mine = np.searchsorted(values, known.values[:, at]).clip(0, len(values) - 1)
        single = (counts[mine] == 1) & (values[mine] == known.values[:, at])
        of_value[mine[single]] = np.flatnonzero(single)
        owner.append(of_value[place])
        rows = np.full(len(values), -1)
        rows[place] = np.arange(n)
        holder.append(np.where(single, rows[mine], -1))
    owners, holders = np.array(owner), np.array(holder)
    found: Array = evidence - 1e6
    for person in range(persons):
        for row in np.argsort(-evidence[person], kind="stable")[:TRIED].tolist():
            found[person, row] = _chained(person, row, owners, holders, evidence)
    return found


def _chained(person: int, row: int, owners: Indices, holders: Indices, evidence: Array) -> float:
    row_of, person_of, queue = {person: row}, {row: person}, [(person, row)]
    total = 0.0
    for at, (one, place) in enumerate(queue):
        total += float(evidence[one, place])
        if at >= LINKS or total < HOPELESS:
            break
        for column in range(len(owners)):
            other, theirs = int(owners[column, place]), int(holders[column, one])
            if other < 0 or theirs < 0:
                continue
            if row_of.get(other, theirs) != theirs or person_of.get(theirs, other) != other:
                return -1e5 + total
            if other not in row_of:
                row_of[other], person_of[theirs] = theirs, other
                queue.append((other, theirs))
    return total
