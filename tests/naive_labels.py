"""Measures of labels and linkage of records with labels, slow and obvious: labels are texts, tables are dictionaries, every pair is compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, groupby, product
from math import log2
from typing import Any

from naive_mixed import Kind, labels_of, mean_square, ways

Rows = Sequence[Sequence[Any]]


def way(kind: Kind, node: str) -> list[str]:
    """From the root down to a node, filled up with itself."""
    if kind[0] == "nominal":
        return ["*", node]
    every = ways(kind[1])
    path = next(path[: path.index(node) + 1] for path in every.values() if node in path)
    return path + [node] * (len(next(iter(every.values()))) - len(path))


def below(kind: Kind, node: str) -> list[str]:
    """The labels that a node stands above, or the label itself."""
    if kind[0] == "nominal":
        return list(kind[1]) if node == "*" else [node]
    if kind[0] == "ordinal":
        return [node]
    return [label for label, path in ways(kind[1]).items() if node in path]


def distance(kind: Kind, label: Any, node: Any) -> float:
    """Between an original value and a published one."""
    if kind == "number":
        return abs(float(label) - float(node))
    if kind[0] == "ordinal":
        order = list(kind[1])
        return abs(order.index(label) - order.index(node)) / max(len(order) - 1, 1)
    one, two = way(kind, label), way(kind, node)
    return sum(a != b for a, b in zip(one, two, strict=True)) / (len(one) - 1)


def possible(kind: Kind, label: Any, node: Any) -> float:
    """The same where a published node may be any label below it."""
    if kind == "number" or kind[0] == "ordinal":
        return distance(kind, label, node)
    one, two = way(kind, label), way(kind, node)
    inner = node not in labels_of(kind)
    known = two.index(node) + 1 if inner else len(two)
    return sum(a != b for a, b in zip(one[:known], two[:known], strict=True)) / (len(one) - 1)


def spread(kinds: Sequence[Kind], nodes: Rows) -> dict[tuple[str, ...], float]:
    """How often each combination of labels occurs, a node as equal shares of the labels below it."""
    found: dict[tuple[str, ...], float] = defaultdict(float)
    for row in nodes:
        every = [below(kind, node) for kind, node in zip(kinds, row, strict=True)]
        for labels in product(*every):
            share = 1.0
            for one in every:
                share /= len(one)
            found[labels] += share
    return found


def variation(before: dict[Any, float], after: dict[Any, float]) -> float:
    """Half the sum of absolute differences, each table divided by its sum."""
    one, two = sum(before.values()), sum(after.values())
    return sum(abs(before.get(key, 0) / one - after.get(key, 0) / two) for key in {*before, *after}) / 2


def entropy(values: Sequence[Any]) -> float:
    """In bits."""
    return -sum(count / len(values) * log2(count / len(values)) for count in Counter(values).values())


def uncertainty(before: Sequence[Any], after: Sequence[Any]) -> float:
    """What is left of the entropy of the original labels for who sees the published ones."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for label, node in zip(before, after, strict=True):
        groups[node].append(label)
    left = sum(len(group) * entropy(group) for group in groups.values())
    whole = len(before) * entropy(before)
    return left / whole if whole > 1e-12 else 0.0


def label_loss(features: Sequence[tuple[Kind, Sequence[int]]], before: Rows, after: Rows) -> dict[str, float]:
    """LL1 to LL4 and LU; a feature is a kind and its columns, and several columns are a series."""
    found: dict[str, list[float]] = defaultdict(list)
    for kind, columns in features:
        pairs = [(x[c], y[c]) for x, y in zip(before, after, strict=True) for c in columns]
        found["LL1"].append(sum(distance(kind, x, y) for x, y in pairs) / len(pairs))
        found["LU"].append(sum(x == y for x, y in pairs) / len(pairs))
        found["LL4"].append(uncertainty([x for x, _ in pairs], [y for _, y in pairs]))
        if len(columns) == 1:
            found["LL2"].append(
                variation(*(spread([kind], [[row[columns[0]]] for row in rows]) for rows in (before, after)))
            )
    alone = [(kind, columns[0]) for kind, columns in features if len(columns) == 1]
    for (one, a), (two, b) in combinations(alone, 2):
        found["LL3"].append(
            variation(*(spread([one, two], [[row[a], row[b]] for row in rows]) for rows in (before, after)))
        )
    return {figure: 100 * sum(values) / len(values) for figure, values in found.items()}


def state_loss(kind: Kind, before: Rows, after: Rows) -> dict[str, float]:
    """SL1 to SL4, SH and SH2 of one series."""
    points = len(before[0])
    times = [
        variation(*(spread([kind], [[row[t]] for row in rows]) for rows in (before, after))) for t in range(points)
    ]
    cut = points - max(points // 5, 1)
    whole, later = (followers(kind, rows, range(1, points)) for rows in (before, after))
    lost = total = 0.0
    for state, own in whole.items():
        often = sum(own.values())
        total += often
        lost += often * (variation(own, later[state]) if later.get(state) else 1.0)
    learnt, learnt2 = (followers(kind, rows, range(1, cut)) for rows in (before, after))
    last = [(row[t - 1], row[t]) for row in before for t in range(max(cut, 1), points)]
    hits, hits2 = (sum(forecast(kind, rule, a) == b for a, b in last) for rule in (learnt, learnt2))
    right, right2 = (100 * each / len(last) if last else 0.0 for each in (hits, hits2))
    return {
        "SL1": 100 * sum(times) / points,
        "SL2": 100 * lost / total if total else 0.0,
        "SL3": 100 * stays(kind, before, after),
        "SL4": max(0.0, right - right2),
        "SH": right,
        "SH2": right2,
    }


def followers(kind: Kind, rows: Rows, points: range) -> dict[str, dict[str, float]]:
    """How often each state follows each state, at some points."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    pairs = [[row[t - 1], row[t]] for row in rows for t in points]
    for (one, two), share in spread([kind, kind], pairs).items():
        found[one][two] += share
    return found


def forecast(kind: Kind, rule: dict[str, dict[str, float]], state: str) -> str:
    """The state that follows most often, the first of equals; the same state where none was seen."""
    own = rule.get(state)
    if not own:
        return state
    most = max(own.values())
    return str(next(label for label in labels_of(kind) if own.get(label, 0) >= most * (1 - 1e-9)))


def stays(kind: Kind, before: Rows, after: Rows) -> float:
    """The distance of the lengths of stay."""
    lengths: list[dict[str, list[int]]] = []
    for rows in (before, after):
        found: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            for state, run in groupby(row):
                found[state].append(len(list(run)))
        lengths.append(found)
    lost = total = 0.0
    for state, own in lengths[0].items():
        total += sum(own)
        other = lengths[1].get(state)
        if not other:
            lost += sum(own)
            continue
        area = sum(
            abs(sum(x <= t for x in own) / len(own) - sum(x <= t for x in other) / len(other))
            for t in range(max(*own, *other) + 1)
        )
        lost += sum(own) * area / (sum(own) / len(own) + sum(other) / len(other))
    return lost / total


def unique(rows: Rows, persons: Sequence[Any]) -> float:
    """The share of the persons with a record that no record of another person is equal to."""
    alone = {
        person
        for row, person in zip(rows, persons, strict=True)
        if all(other == person for twin, other in zip(rows, persons, strict=True) if list(twin) == list(row))
    }
    return 100 * len(alone) / len(set(persons))


def scales(kinds: Sequence[Kind], features: Sequence[Sequence[int]], rows: Rows) -> list[float]:
    """The mean squared distance of each feature over all pairs of originals."""
    return [mean_square(kinds, rows, columns) for columns in features]


def nearest(
    kinds: Sequence[Kind],
    features: Sequence[Sequence[int]],
    before: Rows,
    after: Rows,
    known: int,
    *,
    wild: bool = False,
) -> list[list[int]]:
    """The published rows that are nearest to each original one by its first features; equal up to rounding is equal."""
    apart = possible if wild else distance
    squares = scales(kinds, features, before)
    found = []
    for x in before:
        far = [
            sum(
                sum(apart(kinds[c], x[c], y[c]) ** 2 for c in columns) / square
                for columns, square in zip(features[:known], squares[:known], strict=True)
                if square > 1e-12
            )
            for y in after
        ]
        least = min(far)
        found.append([at for at, one in enumerate(far) if one <= least + 1e-9 * max(1.0, least)])
    return found


def agreements(
    kinds: Sequence[Kind], label: Sequence[Any], node: Sequence[Any], column_values: Sequence[Sequence[float]]
) -> int:
    """The pattern of columns in which a published row agrees with an original one; `column_values` are all published numbers of each column."""
    pattern = 0
    for c, kind in enumerate(kinds):
        if kind == "number":
            near = min(sorted(set(column_values[c])), key=lambda value: abs(value - label[c]))
            agrees = node[c] == near
        else:
            agrees = label[c] in below(kind, node[c])
        pattern |= agrees << c
    return pattern


def fullest(kinds: Sequence[Kind], known: Sequence[Any], published: Rows) -> list[int]:
    """The published rows that contradict the fewest of the known labels (those of the first columns), of these the ones with the fewest nodes that stand above several, and of these those with the fewest equal rows."""
    copies = Counter(map(tuple, published))

    def order(row: Sequence[Any]) -> tuple[int, int, int]:
        every = [below(kind, node) for kind, node in zip(kinds, row, strict=True)][: len(known)]
        fits = [label in some for label, some in zip(known, every, strict=True)]
        above = sum(fit and len(some) > 1 for fit, some in zip(fits, every, strict=True))
        return fits.count(False), above, copies[tuple(row)]

    orders = [order(row) for row in published]
    return [at for at, one in enumerate(orders) if one == min(orders)]
