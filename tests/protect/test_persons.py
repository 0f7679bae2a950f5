"""MDAV where several records may belong to one person: its definition, its promise, and what is written.

300 cases of the definition run here and 10,000 with `make exhaustive`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive
import naive_persons
import tsveil as tv
from cases import cases
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import METHODS
from tsveil.core.types import Array, Indices
from tsveil.protect.mdav_persons import person_groups

CASES = cases(300, 10_000)
SHAPES = ("normal", "ties", "constant", "offset", "tiny", "huge", "copies")


def a_case(number: int) -> tuple[Array, Indices, int]:
    """Records of some persons, random and nasty, and a k."""
    rng = np.random.default_rng(number)
    k = int(rng.integers(2, 5))
    many = int(rng.integers(k, 14))
    persons = np.append(np.arange(many), rng.integers(0, many, int(rng.integers(0, 30))))
    if number % 3 == 0:  # one person owns most records
        persons = np.append(persons, np.zeros(20, np.int64))
    rng.shuffle(persons)
    n, d, shape = len(persons), int(rng.integers(1, 4)), SHAPES[number % len(SHAPES)]
    if shape == "ties":
        return rng.integers(0, 3, (n, d)).astype(np.float64), persons, k
    if shape == "constant":
        return np.full((n, d), 0.1), persons, k
    if shape == "copies":
        return rng.normal(size=(3, d))[rng.integers(0, 3, n)], persons, k
    scale = {"tiny": 1e-140, "huge": 1e140}.get(shape, 1.0)
    return rng.normal(size=(n, d)) * scale + (1e9 if shape == "offset" else 0.0), persons, k


@pytest.mark.parametrize("block", range(10))
def test_the_groups_are_those_of_the_definition(block: int) -> None:
    for number in range(block, CASES, 10):
        Z, persons, k = a_case(number)
        for share in ("bounded", "told"):
            made = person_groups(Z, persons, k, share=share)
            assert np.array_equal(made, naive_persons.mdav(Z, persons, k, share=share)), (number, share)
        one_each = person_groups(Z, np.random.default_rng(number).permutation(len(Z)), k)
        assert np.array_equal(one_each, naive.mdav(Z, k)), number


@pytest.mark.parametrize("refine", [False, True])
def test_no_group_holds_a_person_twice_or_has_fewer_than_k(refine: bool) -> None:
    for number in range(60):
        Z, persons, k = a_case(number)
        made = person_groups(Z, persons, k, refine=refine)
        for group in range(int(made.max()) + 1):
            own = persons[made == group]
            assert len(own) >= k
            assert len(set(own.tolist())) == len(own)


def test_refinement_never_loses_more() -> None:
    def sse(Z: Array, groups: Indices) -> float:
        return sum(float(((Z[groups == g] - Z[groups == g].mean(0)) ** 2).sum()) for g in range(int(groups.max()) + 1))

    better = 0
    for number in range(0, 70, 7):
        Z, persons, k = a_case(number)
        plain, refined = person_groups(Z, persons, k), person_groups(Z, persons, k, refine=True)
        assert np.array_equal(plain < 0, refined < 0)
        assert sse(Z, refined) <= sse(Z, plain) * (1 + 1e-9)
        better += sse(Z, refined) < 0.99 * sse(Z, plain)
    assert better >= 3


def days(persons: int = 33, seed: int = 1) -> pl.DataFrame:
    """A row per day of each person, as a fitness tracker exports them."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(persons):
        usual = rng.gamma(2, 1, 6)
        for day in range(int(rng.integers(25, 32))):
            rows.append((f"user {person}", f"2016-04-{day + 1:02d}", *np.round(usual * rng.gamma(5, 0.2, 6), 3)))
    return pl.DataFrame(rows, schema=["Id", "Day", *"abcdef"], orient="row")


def read_days(tmp_path: Path, frame: pl.DataFrame | None = None) -> tv.Dataset:
    (days() if frame is None else frame).write_csv(tmp_path / "days.csv")
    return tv.read(tmp_path / "days.csv", layout="wide", blocks={"v": list("abcdef")}, person="Id")


def classes(folder: Path) -> dict[str, list[int]]:
    """For each class of published rows its records, its persons, and the records of the person who owns most; by the files alone."""
    published = pl.read_csv(folder / "published" / "data.csv").with_row_index("published_row", offset=1)
    owners = pl.read_csv(folder / "private" / "id_map.csv").with_columns(pl.col("published_row").cast(pl.UInt32))
    joined = published.join(owners, on="published_row", how="left")
    assert not joined["person"].null_count()
    count = pl.col("person").value_counts(sort=True).first().struct.field("count")
    found = joined.group_by(list("abcdef")).agg(records=pl.len(), persons=pl.col("person").n_unique(), most=count)
    return {name: found[name].to_list() for name in ("records", "persons", "most")}


@pytest.mark.parametrize("settings", [{}, {"refine": "swap"}, {"max_records": 10}])
def test_classes_of_a_written_release_have_k_persons(tmp_path: Path, settings: dict[str, Any]) -> None:
    data = read_days(tmp_path)
    release = tv.MDAV(k=5, **settings).protect(data, seed=3)
    folder = release.write(tmp_path / "out")
    found = classes(folder)
    assert min(found["persons"]) == 5
    assert set(found["most"]) == {1}
    left = 10 * 33 if "max_records" in settings else data.n
    assert sum(found["records"]) == left
    assert (folder / "private" / "suppressed.csv").exists() is (left < data.n)
    assert "user" not in (folder / "published" / "data.csv").read_text()
    if left < data.n:
        assert pl.read_csv(folder / "private" / "suppressed.csv").height == data.n - left
        assert any("max_records = 10" in warning for warning in release.warnings)


def test_who_owns_too_much_is_suppressed_or_only_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    own = ["heavy"] * 60 + [f"p{i}" for i in range(30)]
    frame = pl.DataFrame({"Id": own, **{name: rng.normal(size=90) for name in "abcdef"}})
    data = read_days(tmp_path, frame)
    bounded = tv.MDAV(k=3).protect(data, seed=1)
    groups = bounded.groups["v"].max() + 1
    assert len(bounded.suppressed) == 60 - groups
    found = classes(bounded.write(tmp_path / "bounded"))
    assert min(found["persons"]) >= 3
    assert set(found["most"]) == {1}
    told = tv.MDAV(k=3, share="told").protect(data, seed=1)
    assert not len(told.suppressed)
    assert max(classes(told.write(tmp_path / "told"))["most"]) > 1


def test_with_one_record_each_it_is_plain_mdav() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (60, 3)).astype(np.float64)
    plain = tv.MDAV(k=4, refine="none").protect(tv.Dataset.from_arrays({"x": values}), seed=2)
    persons = tv.Dataset.from_arrays({"x": values}, persons=[f"p{i}" for i in range(60)])
    own = tv.MDAV(k=4, refine="none").protect(persons, seed=2)
    assert np.array_equal(plain.data.values, own.data.values)


def test_persons_in_chunks_are_those_in_memory(tmp_path: Path) -> None:
    data = read_days(tmp_path)
    every: list[dict[str, Any]] = [{}, {"max_records": 7}]
    for settings in every:
        here = tv.MDAV(k=5, **settings).protect(data, seed=4)
        chunks = tv.MDAV(k=5, **settings).protect(data, seed=4, chunk=100)
        assert np.array_equal(here.data.values, chunks.data.values, equal_nan=True)


def test_persons_are_asked_of_every_method() -> None:
    rng = np.random.default_rng(2)
    data = tv.Dataset.from_arrays(
        {"x": rng.normal(size=(40, 8))}, times=range(8), persons=[f"p{i % 20}" for i in range(40)]
    )
    for name, kind in METHODS.items():
        if kind.counts_persons:
            assert len(set(kind(k=3).protect(data).original.persons.tolist())) == 20
        else:
            with pytest.raises(
                InputError,
                match="takes every record for a person of its own, and here several records may belong to one person",
            ):
                METHODS.make(name).protect(data)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    values = {"x": np.random.default_rng(1).normal(size=(9, 4))}
    three = tv.Dataset.from_arrays(values, persons=["a", "b", "c"] * 3)
    with pytest.raises(ParameterError, match=r"must be at most the number of persons \(3\). Got 4"):
        tv.MDAV(k=4).protect(three)
    with pytest.raises(ParameterError, match="refine='none' or 'swap'"):
        tv.MDAV(k=2, refine="search").protect(three)
    with pytest.raises(ParameterError, match="persons are declared"):
        tv.MDAV(k=2, max_records=1).protect(tv.Dataset.from_arrays(values))
    with pytest.raises(InputError, match="the person is missing in 3 records"):
        tv.Dataset.from_arrays(values, persons=["a", None, "c"] * 3)
    frame = days(4).with_columns(
        Id=pl.when(pl.col("Day") == "2016-04-01").then(pl.col("Id") + " ").otherwise(pl.col("Id"))
    )
    with pytest.raises(InputError, match="look the same"):
        read_days(tmp_path, frame)


def test_several_columns_may_name_the_person(tmp_path: Path) -> None:
    frame = days(8).with_columns(
        home=pl.col("Id").str.slice(-1).cast(pl.Int64) // 2, flat=pl.col("Id").str.slice(-1).cast(pl.Int64) % 2
    )
    frame.write_csv(tmp_path / "x.csv")
    data = tv.read(tmp_path / "x.csv", layout="wide", blocks={"v": list("abcdef")}, person=["home", "flat"])
    assert data.persons.max() == 7
    folder = tv.MDAV(k=3).protect(data).write(tmp_path / "out")
    assert min(classes(folder)["persons"]) >= 3


def test_the_list_of_methods_says_which_count_persons() -> None:
    for kind in METHODS.values():
        assert kind.description()["counts_persons"] is kind.counts_persons
        assert ("; counts persons where these have several records" in kind.origin()) is kind.counts_persons
