"""How groups of an earlier release are continued, as it is written: lists of persons, one step after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tsveil.core.types import Array


def mean(Z: Array, rows: list[int]) -> Array:
    return np.asarray(Z[sorted(rows)].mean(axis=0))


def distance(a: Array, b: Array) -> float:
    return float(((a - b) ** 2).sum())


def continued(
    Z: Array, old: list[int], histories: list[int] | None, k: int, make: Callable[[list[int]], list[list[int]]]
) -> list[set[int]]:
    """The groups where every person has one record."""
    groups = [[row for row in range(len(old)) if old[row] == name] for name in sorted({*old} - {-1})]
    new = [row for row in range(len(old)) if old[row] == -1]
    never_shown = [row for row in new if histories is None or histories[row] == -1]
    for pool in (never_shown, [row for row in new if row not in never_shown]):
        if len(pool) >= k:
            groups += make(pool)
            new = [row for row in new if row not in pool]
    means = [mean(Z, group) for group in groups]
    # Which groups have been joined; the lowest number stands for all of them.
    joined = [{at} for at in range(len(groups))]

    def together(at: int) -> set[int]:
        return next(one for one in joined if at in one)

    for at in range(len(groups)):
        if len(groups[at]) >= k:
            continue
        for other in sorted(range(len(groups)), key=lambda o: (distance(means[o], means[at]), o)):
            own = together(at)
            if sum(len(groups[one]) for one in own) >= k:
                break
            if other not in own:
                host = together(other)
                joined = [one for one in joined if one is not own and one is not host] + [own | host]
    merged = [[row for at in one for row in groups[at]] for one in sorted(joined, key=min)]
    if not merged:
        return [set(new)]
    centres = [mean(Z, group) for group in merged]
    for row in new:
        nearest = min(range(len(merged)), key=lambda g: (distance(centres[g], Z[row]), g))
        merged[nearest] = [*merged[nearest], row]
    return [piece for group in merged for piece in pieces(Z, sorted(group), histories, k, make)]


def pieces(
    Z: Array, group: list[int], histories: list[int] | None, k: int, make: Callable[[list[int]], list[list[int]]]
) -> list[set[int]]:
    """A group of 2k persons or more, parted."""
    if len(group) < 2 * k:
        return [set(group)]
    cells: dict[int, list[int]] = {}
    for row in group:
        cells.setdefault(0 if histories is None else histories[row], []).append(row)
    found: list[list[int]] = []
    for name in sorted(cells):
        if len(cells[name]) >= k:
            found += make(cells[name]) if len(cells[name]) >= 2 * k else [cells[name]]
    rest = [row for row in group if len(cells[0 if histories is None else histories[row]]) < k]
    if len(rest) >= k:
        found += make(rest) if len(rest) >= 2 * k else [rest]
    elif rest:
        if not found:
            return [set(group)]
        centres = [mean(Z, piece) for piece in found]
        for row in rest:
            nearest = min(range(len(centres)), key=lambda p: (distance(centres[p], Z[row]), p))
            found[nearest] = [*found[nearest], row]
    return [set(piece) for piece in found]
