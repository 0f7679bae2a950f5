"""Several releases by their definition: lists of published records, compared person by person, and an intruder who tries every assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple


class Row(NamedTuple):
    """A published record: whose it is, its identifier, the class of its protected row, and whether its carried value is shown."""

    person: int
    id: int
    cell: int
    shown: bool = True


Release = Sequence[Row]


def history(releases: Sequence[Release], person: int) -> tuple[tuple[tuple[int, bool] | None, ...], ...]:
    """Of each identifier of a person that shows the carried value in some release: for each release the class of its row, and whether the value is shown there."""
    found: list[tuple[tuple[int, bool] | None, ...]] = []
    for own in {row.id for one in releases for row in one if row.person == person}:
        rows = [[row for row in one if (row.id, row.person) == (own, person)] for one in releases]
        if any(row.shown for one in rows for row in one):
            found.append(tuple((one[0].cell, one[0].shown) if one else None for one in rows))
    return tuple(sorted(found, key=str))


def plain_history(releases: Sequence[Release], person: int) -> tuple[tuple[int, ...], ...]:
    """For each release the classes in which the carried value of a person is shown, as often as it is; empty: "-"."""
    return tuple(tuple(sorted(row.cell for row in one if row.person == person and row.shown)) for one in releases)


def history_sizes(releases: Sequence[Release], n: int) -> list[int]:
    """How many persons share the history of each; 0 where nothing of a person is shown."""
    every = [history(releases, person) for person in range(n)]
    return [every.count(one) if one else 0 for one in every]


def sequence_sizes(releases: Sequence[Release], n: int) -> list[int] | None:
    """The fewest persons who share the sequence of rows of an identifier of each person; None where no identifier is in two releases."""
    found: dict[tuple[int, int], tuple[int | None, ...]] = {}
    for row in [row for one in releases for row in one]:
        cells = [[other.cell for other in one if (other.id, other.person) == (row.id, row.person)] for one in releases]
        found[row.id, row.person] = tuple(own[0] if own else None for own in cells)
    if all(sum(cell is not None for cell in one) < 2 for one in found.values()):
        return None
    sizes = {one: len({person for (_, person), own in found.items() if own == one}) for one in found.values()}
    return [min((sizes[one] for (_, own), one in found.items() if own == person), default=0) for person in range(n)]


def candidates(releases: Sequence[Release], n: int) -> list[int]:
    """How many carried values each person may have, all of which differ, for an intruder who knows everything but which value is whose; 0 where nothing of a person is shown.

    He tries every assignment of the values that are shown; one is possible if the identifiers can be assigned so that every release shows the same rows with it: those of each identifier, with their classes and values.
    """
    segments: dict[tuple[int, int], list[tuple[int, Row]]] = {}
    for at, one in enumerate(releases):
        for row in one:
            segments.setdefault((row.id, row.person), []).append((at, row))

    def published(values: Sequence[int]) -> Counter[tuple[tuple[int, int, int | None], ...]]:
        return Counter(
            tuple((at, row.cell, values[row.person] if row.shown else None) for at, row in rows)
            for rows in segments.values()
        )

    seen = sorted({row.person for one in releases for row in one if row.shown})
    truth, possible = published(range(n)), [set[int]() for _ in range(n)]
    for order in permutations(seen):
        values = list(range(n))
        for person, value in zip(seen, order, strict=True):
            values[person] = value
        if published(values) == truth:
            for person in seen:
                possible[person].add(values[person])
    return [len(one) for one in possible]


def published_again(before: Release, values_before: Sequence[float], now: Release, values: Sequence[float]) -> set[int]:
    """The persons in classes of a later release that a subtraction may take apart: someone in them was published before, and no class then had the same members and the same value.

    The values are those of the rows.
    """

    def classes(release: Release, shown: Sequence[float]) -> list[tuple[Counter[int], float]]:
        cells = dict.fromkeys(row.cell for row in release)
        return [
            (Counter(row.person for row in release if row.cell == cell), next(v for row, v in zip(release, shown, strict=True) if row.cell == cell))
            for cell in cells
        ]  # fmt: skip

    earlier, known = classes(before, values_before), {row.person for row in before}
    return {
        person
        for members, value in classes(now, values)
        for person in members
        if known & set(members) and (members, value) not in earlier
    }
