"""The score of files that do not hold the same people: attacks see both files whole, losses are of those in both."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import naive_attacks as naive
import tsveil as tv
from tsveil.core.errors import InputError


def series_files() -> tuple[tv.Dataset, tv.Dataset, dict[str, str]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 8)).cumsum(axis=1)
    original = tv.Dataset.from_arrays({"a": x, "b": x[:, ::-1] + 1}, ids=[f"p{i}" for i in range(60)])
    released = tv.MDAV(k=3).protect(original).data
    renamed = tv.Dataset.from_arrays(
        {name: released.block(name) for name in ("a", "b")}, ids=[f"r{i}" for i in range(60)]
    )
    return original, renamed, {f"p{i}": f"r{i}" for i in range(60)}


def attribute_files() -> tuple[tv.Dataset, tv.Dataset, dict[str, str]]:
    rng = np.random.default_rng(1)
    x = rng.lognormal(size=(60, 4))
    return naive.pair_of_files(x, naive.grouped(x, 3, rng), range(60), blocks=[2, 2])


@pytest.mark.parametrize("files", [series_files, attribute_files])
def test_the_order_of_the_files_does_not_matter(files: object) -> None:
    original, released, truth = files()  # type: ignore[operator]
    rng = np.random.default_rng(2)
    whole = tv.evaluate(original, released)
    shuffled = tv.evaluate(original.take(rng.permutation(60)), released.take(rng.permutation(60)), truth=truth)
    assert shuffled.to_dict() == pytest.approx(whole.to_dict(), rel=1e-9)
    assert shuffled.options["targets"] == "60 known, 60 released, 60 in both"


@pytest.mark.parametrize("files", [series_files, attribute_files])
def test_files_of_different_people(files: object) -> None:
    original, released, truth = files()  # type: ignore[operator]
    known, sample = original.take(np.arange(0, 25)), released.take(np.arange(10, 60))
    card = tv.evaluate(known, sample, truth=truth)
    assert card.options["targets"] == "25 known, 50 released, 15 in both"
    both = tv.evaluate(original.take(np.arange(10, 25)), released.take(np.arange(10, 25)))
    assert card["IL"] == pytest.approx(both["IL"])
    # The other records of the release hide people: with these alone the intruder would find more.
    linked = "EULD" if original.series else "DLD"
    assert 25 * card[linked] < 15 * both[linked]
    attack = tv.attack.series if original.series else tv.attack.distance
    every = attack(known, sample, truth=truth)
    assert card.by_known[linked][-1] == pytest.approx(every.rate)
    assert card.per_record["loss"].is_nan().to_list() == [True] * 10 + [False] * 15
    assert (card.per_record["risk"].to_numpy()[:10] == 0).all()


def test_a_truth_of_other_files_is_told() -> None:
    original, released, _ = attribute_files()
    with pytest.raises(InputError, match="none of the original records"):
        tv.evaluate(original, released, truth=pl.DataFrame({"original": ["x"], "released": ["y"]}))
    with pytest.raises(InputError, match="rows cannot be aligned by position"):
        tv.evaluate(original.take(np.arange(5)), released)
