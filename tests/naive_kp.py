"""Slow and obvious versions of SAX and (k,P)-anonymity: the definitions, nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np

from tsveil.core.types import Array

Row = Sequence[float]


def segment_means(row: Row, w: int) -> list[float]:
    """Every point repeated w times, cut into w runs of T: fractional weights without fractions."""
    mean = math.fsum(row) / len(row)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in row) / len(row))
    if deviation <= 1e-12 * max(abs(v) for v in row):
        return [0.0] * w
    repeated = [(v - mean) / deviation for v in row for _ in range(w)]
    T = len(row)
    return [math.fsum(repeated[s * T : (s + 1) * T]) / T for s in range(w)]


def letter(mean: float, level: int) -> str:
    """Count the breakpoints at or below."""
    borders = [NormalDist().inv_cdf(i / level) for i in range(1, level)]
    return "abcdefghijklmnopqrstuvwxyz"[sum(mean >= border - 1e-9 for border in borders)]


def middle(mean: float, level: int) -> float:
    """Walk from cell to cell until the mean is in one."""
    if level == 1:
        return 0.0
    width, low = 4 / level, 0.0
    while mean < low - 1e-9:
        low -= width
    while mean >= low + width - 1e-9:
        low += width
    return low + width / 2


def word(row: Row, w: int, level: int, pattern: str = "sax") -> str:
    means = segment_means(row, w)
    if pattern == "paa":
        return "[" + " ".join(str(middle(mean, level)).removesuffix(".0") for mean in means) + "]"
    return "".join(letter(mean, level) for mean in means)


def known_word(row: Row, published: str, level: int) -> str:
    """The word of a series, of the kind and length of a published one."""
    numbers = published.startswith("[")
    return word(row, len(published.split()) if numbers else len(published), level, "paa" if numbers else "sax")


def square_distance(x: Row, y: Row) -> float:
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) ** 2
    return total


def envelope(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    columns = list(zip(*rows, strict=True))
    return [min(c) for c in columns], [max(c) for c in columns]


def value_loss(rows: Sequence[Row]) -> float:
    lo, hi = envelope(rows)
    return math.sqrt(square_distance(hi, lo) / len(lo))


def by_word(records: Sequence[int], words: dict[int, str]) -> list[list[int]]:
    found: dict[str, list[int]] = {}
    for i in sorted(records):
        found.setdefault(words[i], []).append(i)
    return list(found.values())


def divided(x: Sequence[Row], records: list[int], smallest: int) -> list[list[int]]:
    """Top-down by value loss, from the farthest pair."""
    if len(records) < 2 * smallest:
        return [records]
    a, b = max(combinations(records, 2), key=lambda pair: (square_distance(x[pair[0]], x[pair[1]]), -pair[0], -pair[1]))
    if square_distance(x[a], x[b]) == 0:
        return [records]
    sides = [[a], [b]]
    others = [i for i in records if i not in (a, b)]
    others.sort(key=lambda i: (min(square_distance(x[a], x[i]), square_distance(x[b], x[i])), i))
    for at, i in enumerate(others):
        left = len(others) - at
        short = [side for side in sides if len(side) + left <= smallest]
        if short:
            short[0].append(i)
            continue
        grows = [value_loss([x[j] for j in [*side, i]]) - value_loss([x[j] for j in side]) for side in sides]
        nearer = square_distance(x[a], x[i]) <= square_distance(x[b], x[i])
        first = grows[0] < grows[1] or (grows[0] == grows[1] and nearer)
        sides[0 if first else 1].append(i)
    return [part for side in sides for part in divided(x, sorted(side), smallest)]


def protected(
    x: Sequence[Row], k: int, P: int, w: int, levels: Sequence[int], kind: str = "sax"
) -> tuple[list[tuple[frozenset[int], set[tuple[frozenset[int], str, int]]]], set[int]]:
    """The groups, each with its subgroups, words and levels; and the suppressed records."""
    words = [{i: word(row, w, level, kind) for i, row in enumerate(x)} for level in levels]
    good: list[tuple[list[int], int]] = []
    bad: list[tuple[list[int], int]] = []

    def split(node: list[int], level: int) -> None:
        if len(node) < P:
            bad.append((node, level))
            return
        if len(node) < 2 * P or level == len(levels) - 1:
            good.append((node, level))
            return
        children = by_word(node, words[level + 1])
        large = [child for child in children if len(child) >= P]
        small = [child for child in children if len(child) < P]
        if not large:
            good.append((node, level))
            return
        together = sorted(i for child in small for i in child)
        if len(together) >= P:
            good.append((together, level))
        else:
            bad.extend((child, level + 1) for child in small)
        for child in large:
            split(child, level + 1)

    split(list(range(len(x))), 0)
    left = {i for node, _ in bad for i in node}
    for level in range(max((level for _, level in bad), default=-1), -1, -1):
        if len(left) < P:
            break
        for alike in by_word(sorted(left), words[level]):
            if len(alike) >= P:
                good.append((alike, level))
                left -= set(alike)
    if len(x) - len(left) < k:
        return [], set(range(len(x)))

    subgroups = sorted((part, level) for node, level in good for part in divided(x, node, P))
    waiting = list(range(len(subgroups)))
    groups: list[list[int]] = []  # numbers of subgroups

    def records(numbers: Sequence[int]) -> list[int]:
        return [i for number in numbers for i in subgroups[number][0]]

    def squares(numbers: Sequence[int]) -> float:
        lo, hi = envelope([x[i] for i in records(numbers)])
        return square_distance(hi, lo)

    def loss(numbers: Sequence[int]) -> float:
        return math.sqrt(squares(numbers) / len(x[0]))

    for number in list(waiting):
        if len(subgroups[number][0]) >= k:
            groups.append([number])
            waiting.remove(number)
    while len(records(waiting)) >= k:
        group = [min(waiting, key=lambda number: (squares([number]), number))]
        waiting.remove(group[0])
        while len(records(group)) < k:
            best = min(waiting, key=lambda number: (squares([*group, number]), number))
            group.append(best)
            waiting.remove(best)
        groups.append(group)
    for number in sorted(waiting, key=lambda number: (squares([number]), number)):
        size = len(subgroups[number][0])
        rises = [
            loss([*group, number]) * (len(records(group)) + size) - loss(group) * len(records(group))
            for group in groups
        ]
        groups[rises.index(min(rises))].append(number)

    result = []
    for group in groups:
        shown = set()
        for number in group:
            members, level = subgroups[number]
            while level + 1 < len(levels) and len({words[level + 1][i] for i in members}) == 1:
                level += 1
            shown.add((frozenset(members), words[level][members[0]], levels[level]))
        result.append((frozenset(records(group)), shown))
    return result, left


def holds(rows: Sequence[tuple[tuple[float, ...], str, int]], k: int, P: int) -> bool:
    """(k,P)-anonymity of rows of (envelope, word, level)."""
    envelopes = Counter(envelope for envelope, _, _ in rows)
    patterns = Counter(rows)
    return all(count >= k for count in envelopes.values()) and all(count >= P for count in patterns.values())


def cosine_loss(p: Row, q: Row) -> float:
    lengths = [math.sqrt(math.fsum(v * v for v in vector)) for vector in (p, q)]
    zero = [length < 1e-9 for length in lengths]
    if any(zero):
        return 0.0 if all(zero) else 1.0
    return 1.0 - math.fsum(a * b for a, b in zip(p, q, strict=True)) / lengths[0] / lengths[1]


def fitting(x: Row, lo: Array, hi: Array, words: Sequence[str], levels: Sequence[int]) -> dict[str, set[int]]:
    """The published rows that an intruder who knows x cannot exclude, by each of the three attacks; and those that he prefers by their bounds."""
    rows = range(len(lo))
    values = {r for r in rows if all(a <= v <= b for a, v, b in zip(lo[r], x, hi[r], strict=True))}
    pattern = {r for r in rows if known_word(x, words[r], levels[r]) == words[r]}
    both = values & pattern
    finest = {r for r in both if levels[r] == max(levels[other] for other in both)}
    touched = {r for r in finest if any(v in (a, b) for a, v, b in zip(lo[r], x, hi[r], strict=True))}
    width = {r: sum(float(b) - float(a) for a, b in zip(lo[r], hi[r], strict=True)) for r in both}
    narrowest = min((width[r] for r in touched or finest), default=0.0)
    bounds = {r for r in touched or finest if width[r] == narrowest}
    return {"values": values, "pattern": pattern, "both": both, "bounds": bounds}


def cell_mean(level: int, at: int) -> float:
    """The mean of a standard normal variable between two breakpoints, by adding up thin slices."""
    normal = NormalDist()
    share = (np.arange(20_000) + 0.5) / 20_000
    return float(np.mean([normal.inv_cdf((at + s) / level) for s in share]))
