"""Links from the release to the original are those of the two files in exchanged roles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack.distance import distance
from tsveil.attack.series import series
from tsveil.cli import main
from tsveil.core.errors import ParameterError

Attack = Callable[..., Any]


def two_files(seed: int, n: int, m: int, columns: int, *, curves: bool, coarse: bool) -> tuple[tv.Dataset, tv.Dataset]:
    """Some records that are in both, and others; identifiers say which."""
    rng = np.random.default_rng(seed)
    a, b = (
        rng.integers(0, 4, (rows, columns)).astype(float) if coarse else rng.normal(size=(rows, columns))
        for rows in (n, m)
    )
    both = min(n, m) // 2
    b[:both] = a[:both] + rng.integers(-1, 2, (both, columns))
    return tuple(_dataset(table, curves) for table in (a, b))  # type: ignore[return-value]


def _dataset(table: Any, curves: bool) -> tv.Dataset:
    names = [str(at) if curves else f"x{at}" for at in range(table.shape[1])]
    frame = pl.DataFrame(table, schema=names).insert_column(0, pl.Series("id", [f"p{at}" for at in range(len(table))]))
    return tv.Dataset.from_frame(
        frame, id="id", blocks={"x": names}, times={"x": list(range(len(names)))} if curves else None
    )


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 30), st.integers(2, 4), st.booleans(), st.booleans())
def test_the_roles_are_exchanged(seed: int, n: int, m: int, columns: int, curves: bool, coarse: bool) -> None:
    original, released = two_files(seed, n, m, columns, curves=curves, coarse=coarse)
    attack: Attack = series if curves else distance
    # Scaled by the file that is the original in both calls; with values as they are there is nothing to scale.
    how: dict[str, Any] = {"normalise": "none"} if curves else {"weights": None, "scaling": "own"}
    found = attack(original, released, truth="id", direction="released", **how)
    other = attack(released, original, truth="id", **how)
    for name in ("candidates", "link", "hit", "certain"):
        assert np.array_equal(getattr(found, name), getattr(other, name)), name
    assert len(found.link) == m
    assert "from the release" in found.attack


def test_scales_are_those_of_the_original_in_both_directions() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 2)) * [1, 100]
    original = _dataset(x, False)
    released = _dataset(np.column_stack([x[:, 0] * 50, x[:, 1]]), False)
    found = distance(original, released, direction="released")
    scaled = np.abs((released.values[:, None] - original.values[None]) / original.values.std(axis=0))
    assert found.link.tolist() == np.square(scaled).sum(axis=2).argmin(axis=1).tolist()


def test_persons_are_found_from_the_release() -> None:
    x = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [9.0, 9.0]])
    frame = pl.DataFrame({"id": ["a", "b", "c", "d"], "who": ["p", "p", "q", "r"], "x": x[:, 0], "y": x[:, 1]})
    data = tv.Dataset.from_frame(frame, id="id", person="who", blocks={"x": ["x", "y"]})
    found = distance(data, data.with_values(x[[1, 0, 2, 3]]), direction="released")
    assert found.rate == 100
    assert found.people == 3


@pytest.mark.parametrize("attack", [series, distance])
def test_options_that_exclude_each_other(attack: Attack) -> None:
    data = _dataset(np.arange(20.0).reshape(5, 4), attack is series)
    for options in ({"one_to_one": True}, {"blocking": 2}):
        with pytest.raises(ParameterError, match="without 'one_to_one' and 'blocking'"):
            attack(data, data, direction="released", **options)
    with pytest.raises(ParameterError, match="direction"):
        attack(data, data, direction="both")


def test_the_command_line(tmp_path: Path) -> None:
    original, released = two_files(5, 20, 30, 3, curves=False, coarse=False)
    for name, data in (("a", original), ("b", released)):
        frame = pl.DataFrame(data.values, schema=list(data.columns)).insert_column(0, data.ids.alias("id"))
        frame.write_csv(tmp_path / f"{name}.csv")
    words = ["attack", tmp_path / "a.csv", tmp_path / "b.csv", "--id", "id", "--truth", "id", "--json"]

    def rates(*more: str) -> dict[str, float]:
        shown = CliRunner().invoke(main, [str(word) for word in (*words, *more)], catch_exceptions=False)
        assert shown.exit_code == 0, shown.output
        return {name: found["rate"] for name, found in json.loads(shown.output)["attacks"].items()}

    both = tuple(tv.read(tmp_path / f"{name}.csv", id="id") for name in "ab")
    expected = tv.attack.distance(*both, truth="id", direction="released").rate
    assert rates("--direction", "released")["distance"] == pytest.approx(expected)
    assert set(rates("--direction", "released")) < set(rates())
    refused = CliRunner().invoke(main, [str(word) for word in (*words, "--direction", "released", "--one-to-one")])
    assert refused.exit_code == 2
