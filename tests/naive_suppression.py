"""Local suppression by its definition: all ways to empty cells are tried, and classes are counted record by record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, product

Row = tuple[int | str | None, ...]


def fits(shown: Row, wanted: Row) -> bool:
    """Whether a published combination is compatible with an original one: each cell empty or equal."""
    return all(a is None or a == b for a, b in zip(shown, wanted, strict=True))


def kept(
    original: Sequence[Row], shown: Sequence[Row], persons: Sequence[int], k: int, size: int, wildcard: bool
) -> bool:
    """Whether every combination of up to `size` keys is shared by at least k persons."""
    for width in range(1, size + 1):
        for own in combinations(range(len(original[0])), width):
            some = [tuple(row[at] for at in own) for row in shown]
            wanted = [tuple(row[at] for at in own) for row in original] if wildcard else some
            for one in wanted:
                who = {p for row, p in zip(some, persons, strict=True) if (fits(row, one) if wildcard else row == one)}
                if len(who) < k:
                    return False
    return True


def least_cells(original: Sequence[Row], persons: Sequence[int], k: int, size: int, wildcard: bool) -> int:
    """The least number of cells over all suppressions, by the number of cells."""
    places = [(row, at) for row, keys in enumerate(original) for at, key in enumerate(keys) if key is not None]
    for count in range(len(places) + 1):
        for chosen in combinations(places, count):
            gone = set(chosen)
            shown = [
                tuple(None if (row, at) in gone else key for at, key in enumerate(keys))
                for row, keys in enumerate(original)
            ]
            if kept(original, shown, persons, k, size, wildcard):
                return count
    raise AssertionError("not even empty records are shared by k persons")


def least_cells_by_patterns(
    original: Sequence[Row], persons: Sequence[int], k: int, size: int, wildcard: bool, below: int | None = None
) -> int:
    """The same sooner: of equal records (of equal persons) it plays no part which one empties what. With `below`, that number if no suppression has fewer cells."""
    kinds: dict[tuple[Row, int | None], int] = {}
    several = len(set(persons)) < len(persons)
    for row, person in zip(original, persons, strict=True):
        key = (row, person if several else None)
        kinds[key] = kinds.get(key, 0) + 1
    everyone = sorted(kinds.items(), key=lambda kind: -kind[1])
    before = [row for (row, _), count in everyone for _ in range(count)]
    owners = [person for (_, person), count in everyone for _ in range(count) if person is not None]
    owners = owners if several else list(range(len(before)))
    best = sum(key is not None for row in original for key in row) if below is None else below

    def search(at: int, shown: list[Row], cells: int) -> None:
        nonlocal best
        if at == len(everyone):
            if kept(before, shown, owners, k, size, wildcard):
                best = cells
            return
        (row, _), count = everyone[at]
        options = [tuple(one) for one in product(*[(None,) if key is None else (key, None) for key in row])]
        prices = [sum(a is None and b is not None for a, b in zip(one, row, strict=True)) for one in options]
        for chosen in multisets(range(len(options)), count):
            more = cells + sum(prices[one] for one in chosen)
            if more < best:
                search(at + 1, shown + [options[one] for one in chosen], more)

    search(0, [], 0)
    return best


@cache
def multisets(options: range, count: int) -> list[list[int]]:
    """All choices of so many of the options, in which their order plays no part."""
    if count == 0:
        return [[]]
    return [[option, *rest] for option in options for rest in multisets(range(option, options.stop), count - 1)]


def least_cells_by_partitions(original: Sequence[Row], k: int) -> int:
    """The least number of cells in the strict reading of all keys, over all ways to put the records into classes of k or more: each column in which a class differs is emptied."""

    def price(group: Sequence[Row]) -> int:
        return sum(key is not None for keys in zip(*group, strict=True) if len(set(keys)) > 1 for key in keys)

    def search(left: Sequence[Row]) -> float:
        if not left:
            return 0
        first, others = left[0], left[1:]
        best = float("inf")
        for size in range(k - 1, len(others) + 1):
            if 0 < len(others) - size < k:
                continue
            for chosen in combinations(range(len(others)), size):
                group = [first, *(others[at] for at in chosen)]
                rest = [row for at, row in enumerate(others) if at not in chosen]
                best = min(best, price(group) + search(rest))
        return best

    return int(search(list(original)))
