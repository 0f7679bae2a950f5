"""What whoever waits is told: bars of known length end where they should."""

from __future__ import annotations

import numpy as np
import pytest

import tsveil as tv
from tsveil.core import progress
from tsveil.core.types import Indices
from tsveil.data.synthetic import random_series
from tsveil.protect.base import Method
from tsveil.protect.nlk import nlk_study

#: what comes before the work of a method without scales and cuts
BEFORE = [("Looking through the records", 1, 1), ("Finding the parts", 0, 0)]


class Heard:
    """Notes every step: its text, its length, and how far it came."""

    def __init__(self) -> None:
        self.open: list[tuple[str, int, Indices]] = []
        self.steps: list[tuple[str, int, int]] = []

    def begin(self, text: str, total: int, counter: Indices) -> None:
        assert counter[0] == 0
        self.open.append((text, total, counter))

    def end(self) -> None:
        text, total, counter = self.open.pop()
        self.steps.append((text, total, int(counter[0])))


def steps_of(made: Method, data: tv.Dataset) -> list[tuple[str, int, int]]:
    heard = Heard()
    with progress.listening(heard):
        made.protect(data, seed=1)
    assert heard.open == []
    return heard.steps


def some_data(n: int = 60, T: int = 6) -> tv.Dataset:
    values = np.random.default_rng(3).normal(size=(n, T))
    return tv.Dataset.from_arrays({"load": values, "gas": values**2}, confidential={"ill": ["no", "yes"] * (n // 2)})


@pytest.mark.parametrize(
    "made",
    [
        tv.MDAV(k=4, grouping="per-block"),
        tv.MDAV(k=4, grouping="per-block", mode="partitioned", part=100),
        tv.MDAV(k=4, grouping="per-block", refine="none"),
        tv.VMDAV(k=4, grouping="per-block"),
        tv.SensitiveMDAV(k=4, grouping="per-block"),
    ],
    ids=str,
)
def test_grouping_counts_the_records_of_each_block(made: Method) -> None:
    assert steps_of(made, some_data()) == [
        *BEFORE,
        ("Grouping load", 60, 60),
        ("Grouping gas", 60, 60),
        ("Protecting the parts", 2, 2),
    ]


def test_records_are_counted_part_by_part() -> None:
    steps = steps_of(tv.MDAV(k=4, grouping="per-block", mode="partitioned", part=100), some_data(300))
    assert steps[:3] == [*BEFORE, ("Sorting the records into parts", 1, 1)]
    for name in ("load", "gas"):
        own = [step for step in steps if step[0] == f"Grouping {name}"]
        assert len(own) == 3
        assert sum(total for _, total, _ in own) == 300
        assert all(done == total for _, total, done in own)
    assert steps[-1] == ("Protecting the parts", 6, 6)


def test_joint_grouping_is_one_step() -> None:
    assert steps_of(tv.MDAV(k=4), some_data()) == [
        BEFORE[0],
        ("Finding the scales", 1, 1),
        ("Finding the scales", 1, 1),
        BEFORE[1],
        ("Grouping all blocks together", 60, 60),
        ("Protecting the parts", 1, 1),
    ]


def test_columns_are_counted_where_they_are_grouped_one_by_one() -> None:
    for made in (tv.OptimalUnivariate(k=4), tv.RankSwap(p=10)):
        assert steps_of(made, some_data()) == [*BEFORE, ("Protecting the parts", 12, 12)]


def test_the_heuristics_of_nlk_tell_how_far_they_are() -> None:
    data = random_series(40, 8, seed=1)
    text, total, done = steps_of(tv.NLK(n=2, l=4, k=4, heuristic="mth"), data)[len(BEFORE)]
    assert text == "Cutting clusters of series 'random'"
    assert done == total > 0
    peeling = steps_of(tv.NLK(n=2, l=4, k=4, heuristic="peel"), data)[len(BEFORE)]
    assert peeling[0] == "Peeling series 'random'"
    assert peeling[1] == 40  # l - n - 1 cells for each series
    assert 0 < peeling[2] <= 40


def test_a_study_counts_its_settings() -> None:
    heard = Heard()
    data = tv.Dataset.from_arrays({name: random_series(20, 6).values for name in ("a", "b")})
    with progress.listening(heard):
        nlk_study(data, pairs=[(1, 2), (1, 3), (2, 4)], ks=[3, 4], heuristics=["mth"])
    assert heard.steps[-1] == ("Comparing parameters", 12, 12)
