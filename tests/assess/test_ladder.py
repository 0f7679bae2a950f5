"""The ladder of releases: replay is a real second run, nothing finds more, and whole-record k-anonymity bounds every rung."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.assess.assessment import Assessment
from tsveil.core.registry import METHODS
from tsveil.core.types import Array
from tsveil.protect.base import Part, Protected
from tsveil.release.publish import judge_unwritten_release

#: methods that publish representatives of groups, with settings under which groups do not depend on the seed
REPRESENTATIVES: list[tuple[str, dict[str, Any]]] = [
    ("mdav", {"k": 4, "refine": "none"}),
    ("mdav", {"k": 4, "refine": "swap", "grouping": "joint"}),
    ("mdav", {"k": 4, "representative": "median"}),
    ("v-mdav", {"k": 4}),
    ("nlk", {"n": 2, "l": 4, "k": 4}),
    ("optimal-univariate", {"k": 4}),
    ("projected", {"k": 4}),
    ("mic1d", {"kappa": 6}),
    ("kp", {"k": 3, "P": 2}),
    ("k-envelopes", {"k": 4}),
    ("local-suppression", {"k": 4}),
]


def walks(n: int = 60, points: int = 12) -> tv.Dataset:
    return tv.Dataset.from_arrays({"load": np.random.default_rng(8).normal(size=(n, points)).cumsum(axis=1).round(1)})


def attributes(n: int = 80, columns: int = 4) -> tv.Dataset:
    return attributes_of(np.random.default_rng(9).normal(size=(n, columns)).round(2))


def attributes_of(x: Array) -> tv.Dataset:
    names = [f"x{at}" for at in range(x.shape[1])]
    return tv.Dataset.from_frame(pl.DataFrame(x, schema=names), blocks={"all": names}, times={"all": None})


def verdict_on(release: tv.Release) -> Assessment:
    return judge_unwritten_release(release, release.verify())[1]


def rows_of(release: tv.Release) -> list[bytes]:
    """What is published of each original record, in the order of the original; empty: suppressed."""
    if not release.envelopes:
        return [row.tobytes() for row in release.data.values]
    table = release.table.to_frame()
    rows = [repr(row).encode() for row in table.drop("id", strict=False).rows()]
    return [rows[row] if row >= 0 else b"" for row in release.own.tolist()]


def test_all_methods_with_representatives_are_here() -> None:
    there = {name for name, kind in METHODS.items() if kind.representatives}
    assert {name for name, _ in REPRESENTATIVES} | {"p-sensitive"} == there  # which is MDAV with further conditions


@pytest.mark.parametrize(
    ("name", "settings", "kind"),
    [(*case, kind) for case in REPRESENTATIVES for kind in ("series", "attributes") if kind in METHODS[case[0]].takes],
    ids=str,
)
def test_replay_is_a_second_run(name: str, settings: dict[str, Any], kind: str) -> None:
    method, data = METHODS.make(name, settings), walks() if kind == "series" else attributes()
    release, again = (method.protect(data, seed=seed) for seed in (1, 2))
    published, replayed = rows_of(release), rows_of(again)
    found = verdict_on(release)
    # The intruder runs the method, and looks for the row that came out for the person among the published ones.
    chances = [(mine == row) / published.count(mine) for mine, row in zip(replayed, published, strict=True) if row]
    (replay,) = (one for one in found.ladder if one.attack == "replay")
    assert replay.rate == pytest.approx(100 * np.mean(chances))
    assert replay.rate == pytest.approx(100 * len({row for row in published if row}) / len(chances))
    assert replay.low == replay.high == replay.rate
    for one in found.ladder:
        assert one.rate <= replay.rate * (1 + 1e-12), one
    assert found.risk.rate == replay.rate


def test_replay_is_a_second_run_of_local_suppression() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.integers(0, 4, 80).astype(str) for name in ("a", "b", "c")} | {"id": range(80)})
    data = tv.Dataset.from_frame(frame, id="id", categories=dict.fromkeys("abc", "nominal"))
    for settings, bounded in (({}, True), ({"empty": "wildcard"}, False), ({"subsets": 1}, False)):
        release, again = (METHODS.make("local-suppression", {"k": 4, **settings}).protect(data, seed=s) for s in (1, 2))
        assert rows_of(release) == rows_of(again)
        found = verdict_on(release)
        (replay,) = (one for one in found.ladder if one.attack == "replay")
        assert replay.rate == pytest.approx(100 * len(set(rows_of(release))) / 80)
        assert (replay.rate <= 25) == bounded


def test_projected_microaggregation_of_census_is_told_as_it_is(shared_data: Path) -> None:
    frame = pl.read_csv(shared_data / "census.csv")
    names = frame.columns
    data = tv.Dataset.from_frame(frame, blocks={"a": names[:4], "b": names[4:8], "c": names[8:12]})
    found = verdict_on(METHODS.make("projected", {"k": 25}).protect(data, seed=1))
    assert found.risk.attack == "replay"
    assert found.risk.rate == pytest.approx(89, abs=0.5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["series", "attributes", "persons", "ties"])
def test_whole_record_anonymity_bounds_every_rung(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 7)), int(rng.integers(20, 70))
    x = rng.integers(0, 4, (n, 4)).astype(float) if kind == "ties" else rng.normal(size=(n, 4))
    data = attributes_of(x) if kind in ("attributes", "ties") else tv.Dataset.from_arrays({"load": x})
    if kind == "persons":
        data = tv.Dataset.from_arrays({"load": x}, persons=[f"p{at}" for at in rng.integers(0, n // 2, n)])
    release = METHODS.make("mdav", {"k": k, "grouping": "joint"}).protect(data, seed=seed)
    found = verdict_on(release)
    assert {"part", "person", "share", "file"} <= {one.rung for one in found.ladder}
    assert within(found, k)


def within(found: Assessment, k: int) -> bool:
    """Whether no attack at any rung finds more than 1 in k."""
    return all(one.high <= 100 / k * (1 + 1e-12) for one in found.ladder)


@dataclass(frozen=True, kw_only=True)
class Careless(tv.MDAV):
    """MDAV that publishes the first quarter of the records as they are."""

    def protect_part(self, part: Part) -> Protected:
        found = super().protect_part(part)
        values = found.values.copy()
        values[: len(values) // 4] = part.values[: len(values) // 4]
        return replace(found, values=values)


def test_a_method_that_breaks_its_promise_is_noticed() -> None:
    """The test above would notice: of a broken release every rung is beyond the promise."""
    found = verdict_on(Careless(k=4).protect(walks(), seed=1))
    assert not within(found, 4)
    assert {one.rung for one in found.ladder if one.high > 25} == {"part", "person", "share", "file"}
