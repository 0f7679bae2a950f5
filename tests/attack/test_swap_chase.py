"""The swap chase against a slow twin, against all assignments of tiny files, and on the files that showed what it can do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import naive_attacks
import naive_moves
import tsveil as tv
from cases import cases
from tsveil.attack.base import Rung
from tsveil.attack.files import on_one_scale
from tsveil.attack.links import Links
from tsveil.attack.moves import in_words
from tsveil.core.errors import InputError
from tsveil.core.types import Array, Indices


class Chased(NamedTuple):
    """For each person the rows that fit best, and whether the link is certain."""

    best: list[set[int]]
    certain: list[bool]


class ContradictionError(Exception):
    """Raised where a link cannot be right."""


def chased(a: Array, b: Array, window: int | None, method: str | None = None) -> Chased:
    """The definition, with dictionaries: links that follow from a hypothesis, until it contradicts itself or nothing follows any more."""
    persons, rows, columns = range(len(a)), range(len(b)), range(a.shape[1])
    owner = [{value: [i for i in persons if a[i, c] == value] for value in b[:, c]} for c in columns]
    holder = [{value: [r for r in rows if b[r, c] == value] for value in {*a[:, c], *b[:, c]}} for c in columns]

    def near(i: int, r: int) -> bool:
        if window is None:
            return True
        for c in columns:
            column = np.sort(b[:, c])
            ours = np.searchsorted(column, a[i, c]), np.searchsorted(column, a[i, c], "right") - 1
            theirs = np.searchsorted(column, b[r, c]), np.searchsorted(column, b[r, c], "right") - 1
            if ours[0] - theirs[1] > window or theirs[0] - ours[1] > window:
                return False
        return True

    def follow(i: int, r: int, links: dict[int, int], strangers: set[int]) -> tuple[dict[int, int], set[int]]:
        found: dict[int, int] = {}
        foreign: set[int] = set()
        todo = [(i, r)]
        while todo:
            i, r = todo.pop()
            all_links = {**links, **found}
            if (
                all_links.get(i, r) != r
                or any(s == r and p != i for p, s in all_links.items())
                or r in strangers | foreign
            ):
                raise ContradictionError
            if i in all_links:
                continue
            if not near(i, r):
                raise ContradictionError
            found[i] = r
            for c in columns:
                if len(holder[c][b[r, c]]) > 1 or len(holder[c][a[i, c]]) != 1:
                    continue
                (row,) = holder[c][a[i, c]]
                if others := owner[c][b[r, c]]:
                    todo.append((others[0], row))
                elif row in {**links, **found}.values():
                    raise ContradictionError
                else:
                    foreign.add(row)
        if foreign & set(found.values()):
            raise ContradictionError
        return found, foreign

    links: dict[int, int] = {}
    strangers: set[int] = set()

    def survivors(i: int) -> dict[int, tuple[dict[int, int], set[int]]]:
        found = {}
        for r in rows:
            if near(i, r) and r not in links.values() and r not in strangers:
                try:
                    found[r] = follow(i, r, links, strangers)
                except ContradictionError:
                    continue
        return found

    changed = True
    while changed:
        changed = False
        for i in persons:
            if i not in links and len(left := survivors(i)) == 1:
                ((new, foreign),) = left.values()
                links |= new
                strangers |= foreign
                changed = True
    slow = None if method is None else naive_moves.Slow(b, method)

    def weight(new: dict[int, int]) -> int:
        if slow is None:
            return len(new)
        return sum(slow.evidence(slow.blocks(a[i]), slow.blocks(b[r])) for i, r in new.items())

    x, y, factor = on_one_scale(a, b)
    x, y = x * factor, y * factor
    best = []
    for i in persons:
        if i in links:
            best.append({links[i]})
            continue
        left = survivors(i)
        rank = {r: (-weight(new), float(((x[i] - y[r]) ** 2).sum())) for r, (new, _) in left.items()}
        best.append({r for r in rank if rank[r] == min(rank.values())})
    return Chased(best, [i in links for i in persons])


def swaps(many: int) -> Iterator[tuple[Array, Array, Indices, int | None]]:
    """Originals of known persons, the whole release, the row of each known person, the window that the intruder assumes."""
    for seed in range(many):
        rng = np.random.default_rng(seed)
        n, columns, window = int(rng.integers(2, 26)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
        x = rng.normal(size=(n, columns)) if seed % 3 else rng.integers(0, n, (n, columns)).astype(float)
        if seed % 7 == 0:
            x[:, 0] = 4.0
        if seed % 11 == 0:
            x *= 10.0 ** rng.integers(-200, 200, columns)
        y = naive_attacks.traded(x, window, rng)
        order = rng.permutation(n)
        share = np.sort(rng.choice(n, max(1, n // 2), replace=False)) if seed % 2 else np.arange(n)
        yield x[share], y[order], np.argsort(order)[share], (window, window + 1, None)[seed % 3]


def data(values: Array, names: list[str]) -> tv.Dataset:
    return tv.Dataset.from_arrays({f"x{at}": values[:, [at]] for at in range(values.shape[1])}, ids=names)


def chase(a: Array, b: Array, own: Indices, window: int | None, method: Any = None) -> Links:
    people, rows = [f"p{i}" for i in range(len(a))], [f"r{i}" for i in range(len(b))]
    truth = {people[i]: rows[row] for i, row in enumerate(own)}
    return tv.attack.swap_chase(data(a, people), data(b, rows), truth=truth, window=window, method=method)


@pytest.mark.parametrize("method", [None, tv.RankSwap(p=20)], ids=["most links", "likeliest links"])
def test_it_is_its_slow_twin(method: tv.RankSwap | None) -> None:
    many = cases(100, 400)
    seen = np.zeros(3, dtype=np.int64)
    for a, b, own, window in swaps(many):
        expected, found = chased(a, b, window, in_words(method)), chase(a, b, own, window, method)
        assert found.certain.tolist() == expected.certain
        assert found.tied.tolist() == [len(best) for best in expected.best]
        assert found.hit.tolist() == [own[i] in best for i, best in enumerate(expected.best)]
        assert found.link.tolist() == [min(best, default=-1) for best in expected.best]
        seen += [sum(expected.certain), sum(len(best) > 1 for best in expected.best), len(a)]
    assert seen[0] > 1.25 * many  # certain links, ties and others are all among the cases
    assert seen[1] > many / 8
    assert seen[0] + seen[1] < seen[2]


def test_certain_links_are_in_every_assignment_that_the_release_allows() -> None:
    """All assignments of tiny files are tried: those in which values can have traded places in pairs within the window."""
    certain = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n, columns = int(rng.integers(3, 7)), int(rng.integers(1, 4))
        x = rng.normal(size=(n, columns)) if seed % 2 else rng.integers(0, 2 * n, (n, columns)).astype(float)
        y = naive_attacks.traded(x, 2, rng)
        first, last = (
            [np.searchsorted(np.sort(x[:, c]), x[:, c], side) - (side == "right") for c in range(columns)]
            for side in ("left", "right")
        )

        def possible(
            rows: tuple[int, ...], c: int, x: Array = x, y: Array = y, first: Any = first, last: Any = last
        ) -> bool:
            """Whether persons with these rows can have traded their values of a column in pairs, within two ranks."""
            at = {value: (int(low), int(high)) for value, low, high in zip(x[:, c], first[c], last[c], strict=True)}
            pairs = [(x[i, c], y[row, c]) for i, row in enumerate(rows)]
            near = all(at[one][0] - at[two][1] <= 2 and at[two][0] - at[one][1] <= 2 for one, two in pairs)
            return near and sorted(pairs) == sorted((two, one) for one, two in pairs)

        allowed = [rows for rows in permutations(range(n)) if all(possible(rows, c) for c in range(columns))]
        assert tuple(range(n)) in allowed
        found = chase(x, y, np.arange(n), 2)
        for i in np.flatnonzero(found.certain):
            assert {rows[i] for rows in allowed} == {found.link[i]}
            certain += 1
    assert certain > 100


@pytest.mark.parametrize("seed", range(20))
def test_census_is_found_as_a_whole(shared_data: Path, seed: int) -> None:
    frame = pl.read_csv(shared_data / "census.csv")
    some = tv.Dataset.from_frame(frame.select(frame.columns[:4]), blocks={name: [name] for name in frame.columns[:4]})
    card = tv.evaluate(some, tv.RankSwap(p=10).protect(some, seed=seed))
    rates = {one.rung: one.rate for one in card.ladder if one.attack == "swap_chase"}
    assert rates[Rung.FILE] >= 99
    assert rates[Rung.SHARE] >= 80
    found = tv.attack.swap_chase(some, tv.RankSwap(p=10).protect(some, seed=seed), window=108)
    assert found.certain.mean() > 0.9
    assert found.hit[found.certain].all()


@pytest.mark.parametrize(
    "method", [tv.RankSwapDistribution(p=10), tv.RankSwapBuckets(buckets=10)], ids=lambda m: m.name
)
def test_swapping_at_any_distance_is_undone_where_everybody_is_known(shared_data: Path, method: tv.Method) -> None:
    frame = pl.read_csv(shared_data / "census.csv")
    whole = tv.Dataset.from_frame(frame, blocks={name: [name] for name in frame.columns})
    card = tv.evaluate(whole, method.protect(whole, seed=1))
    (rate,) = (one.rate for one in card.ladder if (one.rung, one.attack) == (Rung.FILE, "swap_chase"))
    assert rate >= 99


@pytest.mark.parametrize(
    "method", [tv.RankSwapDistribution(p=10), tv.RankSwapBuckets(buckets=20)], ids=lambda m: m.name
)
def test_likely_links_lead_on_where_half_are_known_and_nothing_is_certain(method: tv.Method) -> None:
    rng = np.random.default_rng(0)
    x: Array = np.exp(0.6 * rng.normal(size=(300, 1)) + 0.6 * rng.normal(size=(300, 4)))
    y = method.protect(naive_attacks.dataset(x), seed=1).data.values
    half = np.sort(rng.permutation(300)[:150])
    by_number, by_chance = (chase(x[half], y, half, None, given).rate for given in (None, method))
    assert by_chance > 95
    assert by_chance > by_number + 8


def test_values_that_were_changed_leave_nothing_to_chase() -> None:
    rng = np.random.default_rng(1)
    x = naive_attacks.dataset(rng.normal(size=(50, 3)))
    noisy = tv.Noise(sd=0.1).protect(x)
    assert not [one for one in tv.evaluate(x, noisy.data).ladder if one.attack == "swap_chase"]
    with pytest.raises(InputError, match="does not fit these files"):
        tv.attack.swap_chase(x, noisy)
