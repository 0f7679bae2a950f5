"""Linkage over releases, against counting by the definition; and what it finds agrees with the check earlier-releases."""

from __future__ import annotations

import random

import numpy as np
import pytest

import naive_releases as naive
import tsveil as tv
from guarantee.test_composed import random_releases
from naive_releases import Row
from tsveil.attack.base import DoesNotFitError
from tsveil.data.dataset import Dataset


def month(rows: list[Row], at: int) -> Dataset:
    return tv.Dataset.from_arrays(
        {"load": [[float(row.cell)] for row in rows]},
        times=[f"2026-0{at + 1}-01"],
        ids=[f"r{row.id}" for row in rows],
        confidential={"value": [f"v{row.person}" for row in rows]},
    )


@pytest.mark.parametrize("case", range(60))
def test_it_counts_who_is_left(case: int) -> None:
    chance = random.Random(case)
    n = chance.randint(3, 10)
    releases = [
        [row._replace(shown=True) for row in one] for one in random_releases(chance, n, chance.randint(1, 3), 2, most=1)
    ]
    if not all(releases):
        return
    names = [f"p{person}" for person in range(n)]
    original = tv.Dataset.from_arrays({"load": np.zeros((n, 1))}, ids=names)
    every = [(month(rows, at), {f"p{row.person}": f"r{row.id}" for row in rows}) for at, rows in enumerate(releases)]
    found = tv.attack.releases(original, every[-1][0], truth=every[-1][1], earlier=every[:-1])
    last = {row.person: row.cell for row in releases[-1]}
    sizes = [list(last.values()).count(last[person]) if person in last else 0 for person in range(n)]
    for own in (naive.history_sizes(releases, n), naive.sequence_sizes(releases, n)):
        if len(releases) > 1 and own is not None:
            sizes = [min(a, b) if a and b else a for a, b in zip(sizes, own, strict=True)]
    assert found.candidates.tolist() == sizes
    assert found.probability.tolist() == pytest.approx([1 / size if size else 0 for size in sizes])
    assert [row in last for row in range(n)] == found.hit.tolist()
    for person, row in enumerate(found.link.tolist()):
        assert row == (
            min(at for at, one in enumerate(releases[-1]) if one.cell == last[person]) if person in last else -1
        )


def test_persons_with_several_records() -> None:
    """Two records each in one class, and then in other ones: who has both in the first is told from who has them apart."""
    data = tv.Dataset.from_arrays(
        {"load": [[0.0]] * 4}, persons=["a", "a", "b", "b"], confidential={"value": ["x", "x", "y", "y"]}
    )
    first = tv.Dataset.from_arrays(
        {"load": [[1.0], [1.0], [1.0], [2.0]]}, times=["2026-01"], confidential={"value": ["x", "x", "y", "y"]}
    )
    second = tv.Dataset.from_arrays(
        {"load": [[3.0]] * 4}, times=["2026-02"], confidential={"value": ["x", "x", "y", "y"]}
    )
    assert tv.attack.releases(data, second).rate == 50
    assert tv.attack.releases(data, second, earlier=[(first, None)]).rate == 100


def test_known_values_are_refused() -> None:
    data = tv.example("food-prices")
    with pytest.raises(DoesNotFitError, match="knows the classes of a person"):
        tv.attack.releases(data, tv.MDAV(k=2).protect(data), known=["1"])
