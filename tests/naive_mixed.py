"""Mixed records as SPEC-2 section 16 defines them, slow and obvious: distances, scales, centres, MDAV-generic, generalisation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from tsveil.core.types import Indices

#: a column: "number", ("ordinal", labels), ("nominal", labels), or ("hierarchy", {label: ancestors up to the root})
Kind = Any
#: a squared distance of two records, and what stands for some of them
Apart = Callable[[Any, Any], float]
Middle = Callable[[Sequence[int]], Any]


def ways(tree: dict[str, Sequence[str]]) -> dict[str, list[str]]:
    """From the root down to each leaf, filled up with the leaf to equal length."""
    found = {leaf: [*reversed(above), leaf] for leaf, above in tree.items()}
    depth = max(map(len, found.values()))
    return {leaf: way + [leaf] * (depth - len(way)) for leaf, way in found.items()}


def below_common(kind: Kind, a: Any, b: Any) -> int:
    """The height of the lowest common ancestor of two labels."""
    if kind[0] == "nominal":
        return int(a != b)
    one, two = ways(kind[1])[a], ways(kind[1])[b]
    common = sum(x == y for x, y in zip(one, two, strict=True))
    return len(one) - common


def height(kind: Kind) -> int:
    """The height of a tree; 1 for labels without one."""
    return 1 if kind[0] == "nominal" else len(next(iter(ways(kind[1]).values()))) - 1


def distance(kind: Kind, a: Any, b: Any) -> float:
    """Of two values of one column."""
    if kind == "number":
        return abs(float(a) - float(b))
    if kind[0] == "ordinal":
        return float(abs(kind[1].index(a) - kind[1].index(b)) / max(len(kind[1]) - 1, 1))
    return float(below_common(kind, a, b) / height(kind))


def mean_square(
    kinds: Sequence[Kind], rows: Sequence[Sequence[Any]], columns: Sequence[int], scale: str = "pairs"
) -> float:
    """Over all pairs of records, summed over the columns of a series; or the square of the range."""
    total = 0.0
    for c in columns:
        squares = [distance(kinds[c], a[c], b[c]) ** 2 for a, b in product(rows, rows)]
        total += max(squares) if scale == "gower" else sum(squares) / len(squares)
    return total


def labels_of(kind: Kind) -> list[Any]:
    """All labels that records may have, in the declared order."""
    return list(kind[1])


def centre(kind: Kind, values: Sequence[Any], file: Sequence[Any]) -> Any:
    """What stands for some values of one column; `file` has all values of the file."""
    if kind == "number":
        return sum(map(float, values)) / len(values)
    if kind[0] == "ordinal":
        return sorted(values, key=kind[1].index)[(len(values) - 1) // 2]
    often = Counter(file)

    def preference(label: Any) -> tuple[int, int, int]:
        if kind[0] == "nominal":
            far = -sum(value == label for value in values)
        else:
            far = sum(below_common(kind, label, value) for value in values)
        return far, -often[label], labels_of(kind).index(label)

    return min((label for label in labels_of(kind) if often[label]), key=preference)


def generalised(kind: Kind, values: Sequence[Any], file: Sequence[Any]) -> Any:
    """The lowest common ancestor of some labels; '*' stands above labels without a tree. Numbers and ordinals have none."""
    if kind == "number" or kind[0] == "ordinal":
        return centre(kind, values, file)
    if len(set(values)) == 1:
        return values[0]
    if kind[0] != "hierarchy":
        return "*"
    paths = [ways(kind[1])[value] for value in values]
    common = 0
    while len({path[common] for path in paths}) == 1:
        common += 1
    return paths[0][common - 1]


def mdav(
    rows: Sequence[Sequence[Any]], persons: Indices, k: int, apart: Apart, middle: Middle, share: str = "bounded",
) -> Indices:  # fmt: skip
    """MDAV with persons (SPEC-2 section 12) by any squared distance and any centre of records."""
    labels = np.full(len(rows), -1)

    def left(without: Sequence[int] = ()) -> list[int]:
        return [i for i in range(len(rows)) if labels[i] < 0 and i not in set(without)]

    def number(chosen: Sequence[int]) -> int:
        return len({int(persons[i]) for i in chosen})

    def farthest(chosen: Sequence[int], point: Any) -> int:
        return max(chosen, key=lambda i: (apart(rows[i], point), -i))

    def around(seed: int, chosen: Sequence[int], most: int) -> list[int]:
        found: list[int] = []
        for i in sorted(chosen, key=lambda i: (apart(rows[i], rows[seed]), i)):
            if persons[i] not in [persons[j] for j in found] and len(found) < most:
                found.append(i)
        return found

    def take(members: Sequence[int]) -> None:
        labels[list(members)] = labels.max() + 1

    while number(left()) >= k:
        r = farthest(left(), middle(left()))
        one = around(r, left(), k)
        if number(left(one)) < k:
            break
        two = around(farthest(left(one), rows[r]), left(one), k)
        if number(left([*one, *two])) < k:
            break
        take(one)
        take(two)
    while number(left()) >= k:
        one = around(farthest(left(), middle(left())), left(), k)
        if number(left(one)) < k:
            break
        take(one)
    while number(left()) >= k:
        take(around(farthest(left(), middle(left())), left(), number(left())))
    centres = [middle(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)]
    for i in left():
        free = [g for g in range(len(centres)) if persons[i] not in persons[labels == g]]
        if not free and share == "told":
            free = list(range(len(centres)))
        if free:
            labels[i] = min(free, key=lambda g: (apart(rows[i], centres[g]), g))
    return labels


def vmdav(rows: Sequence[Any], k: int, gamma: float, apart: Apart, middle: Middle) -> Indices:
    """V-MDAV by any squared distance and any centre of records."""
    labels = np.full(len(rows), -1)
    away = [apart(row, middle(range(len(rows)))) for row in rows]

    def left() -> list[int]:
        return np.flatnonzero(labels < 0).tolist()

    while len(left()) >= k:
        seed = max(left(), key=lambda i: (away[i], -i))
        near = sorted(left(), key=lambda i: (i != seed, apart(rows[i], rows[seed]), i))[:k]
        label = labels.max() + 1
        labels[near] = label
        while len(near) < 2 * k - 1 and left():
            inside = {i: min(apart(rows[i], rows[m]) for m in near) for i in left()}
            x = min(inside, key=lambda i: (inside[i], i))
            outside = min((apart(rows[i], rows[x]) for i in left() if i != x), default=np.inf)
            if not np.sqrt(inside[x]) < gamma * np.sqrt(outside):
                break
            labels[x] = label
            near.append(x)
    found = labels.copy()
    for x in left():
        found[x] = labels[min(np.flatnonzero(labels >= 0).tolist(), key=lambda i: (apart(rows[i], rows[x]), i))]
    return found


def sensitive(rows: Sequence[Any], k: int, various: Callable[[Sequence[int]], bool], apart: Apart, middle: Middle) -> Indices:  # fmt: skip
    """p-sensitive MDAV by any squared distance and any centre of records."""
    labels = np.full(len(rows), -1)

    def left() -> list[int]:
        return np.flatnonzero(labels < 0).tolist()

    def form(point: Any) -> Any:
        seed = max(left(), key=lambda i: (apart(rows[i], point), -i))
        order = sorted(left(), key=lambda i: (i != seed, apart(rows[i], rows[seed]), i))
        size = k
        while not various(order[:size]):
            size += 1
        labels[order[:size]] = labels.max() + 1
        return rows[seed]

    while len(left()) >= 3 * k and various(left()):
        r = form(middle(left()))
        if len(left()) >= k and various(left()):
            form(r)
    if 2 * k <= len(left()) < 3 * k and various(left()):
        form(middle(left()))
    rest = left()
    if len(rest) >= k and various(rest):
        labels[rest] = labels.max() + 1
        return labels
    centres = [middle(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)]
    for x in rest:
        labels[x] = min(range(len(centres)), key=lambda g: (apart(rows[x], centres[g]), g))
    return labels
