"""Local suppression against brute force, and what its releases promise as they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tsveil as tv
from cases import cases
from naive_suppression import Row, kept, least_cells, least_cells_by_partitions, least_cells_by_patterns
from tsveil.assess.assessment import Outcome
from tsveil.core.errors import InputError, ParameterError
from tsveil.data.examples import households
from tsveil.protect._suppression import EMPTY, Problem, classes_of, emptied
from tsveil.protect.local_suppression import LocalSuppression
from tsveil.release.reopen import judge_release, reopen_release


def as_rows(codes: Any, cells: Any = False) -> list[Row]:
    """Codes as rows of a table: None is an empty cell."""
    shown = np.where(cells, EMPTY, codes).tolist()
    return [tuple(None if code == EMPTY else code for code in row) for row in shown]


@st.composite
def problems(draw: Any, *, records: int = 7, keys: int = 3) -> Problem:
    """Small problems with ties, cells that are empty in the original, and persons with several records."""
    n, width = draw(st.integers(1, records)), draw(st.integers(1, keys))
    levels = draw(st.integers(1, 3))
    cell = st.integers(-1 if draw(st.integers(0, 3)) == 0 else 0, levels - 1)
    codes = np.array([[draw(cell) for _ in range(width)] for _ in range(n)], dtype=np.int64)
    persons = list(range(n))
    if draw(st.integers(0, 2)) == 0:
        persons = np.unique([draw(st.integers(0, n)) for _ in range(n)], return_inverse=True)[1].tolist()
    k = draw(st.integers(1, min(4, len(set(persons)))))
    return Problem(codes, np.array(persons, dtype=np.int64), k, draw(st.integers(1, width)), draw(st.booleans()))


def is_kept(problem: Problem, cells: Any) -> bool:
    """Whether the promise is kept, by its definition."""
    persons = problem.persons.tolist()
    shown = as_rows(problem.codes, cells)
    return kept(as_rows(problem.codes), shown, persons, problem.k, problem.size, problem.wildcard)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_it_empties_as_few_cells_as_any_suppression(problem: Problem) -> None:
    persons = problem.persons.tolist()
    least = least_cells_by_patterns(as_rows(problem.codes), persons, problem.k, problem.size, problem.wildcard)
    for search in ("auto", "exact"):
        found = emptied(problem, search)
        assert is_kept(problem, found.cells)
        assert (found.count, found.needed) == (least, least)
        assert not (found.cells & (problem.codes == EMPTY)).any()
    greedy = emptied(problem, "greedy")
    assert is_kept(problem, greedy.cells)
    assert greedy.needed <= least <= greedy.count


@given(problems(records=4, keys=2))
@settings(max_examples=30, deadline=None)
def test_the_twin_tries_all_suppressions(problem: Problem) -> None:
    given_rows, persons = as_rows(problem.codes), problem.persons.tolist()
    plain = least_cells(given_rows, persons, problem.k, problem.size, problem.wildcard)
    assert least_cells_by_patterns(given_rows, persons, problem.k, problem.size, problem.wildcard) == plain
    if not (problem.several or problem.wildcard) and problem.size == problem.codes.shape[1]:
        assert least_cells_by_partitions(given_rows, problem.k) == plain


@pytest.mark.parametrize("seed", range(cases(8, 100)))
def test_nine_records_with_three_keys(seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, (2, 2, 3), (9, 3))
    for k in (2, 3, 4, 9):
        found = emptied(Problem(codes, np.arange(9), k, 3, False))
        assert found.count == found.needed == least_cells_by_partitions(as_rows(codes), k)


@pytest.mark.parametrize("seed", range(cases(3, 20)))
def test_nine_records_with_three_keys_as_wildcards(seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, (2, 2, 3), (9, 3))
    found = emptied(Problem(codes, np.arange(9), 2, 3, True))
    # No suppression with fewer cells keeps the promise.
    assert (
        found.count == found.needed == least_cells_by_patterns(as_rows(codes), range(9), 2, 3, True, below=found.count)
    )


def skewed(n: int, levels: Sequence[int], seed: int = 0) -> Any:
    """Keys whose labels are common and rare."""
    rng = np.random.default_rng(seed)
    shares = [1 / np.arange(1, many + 1) ** 1.2 for many in levels]
    return np.column_stack([rng.choice(len(one), n, p=one / one.sum()) for one in shares]).astype(np.int64)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("wildcard", [False, True])
def test_larger_files_keep_the_promise_and_the_bound(size: int, wildcard: bool) -> None:
    codes = skewed(400, (2, 9, 6))
    problem = Problem(codes, np.arange(400), 5, size, wildcard)
    best, greedy = emptied(problem), emptied(problem, "greedy")
    assert best.count == best.needed
    assert greedy.needed <= best.count <= greedy.count
    for found in (best, greedy):
        assert is_kept(problem, found.cells)
    if not wildcard:
        assert greedy.count <= 2 * best.count


def test_persons_are_counted_in_larger_files() -> None:
    codes, persons = skewed(900, (2, 9, 6)), np.random.default_rng(1).integers(0, 300, 900)
    persons = np.unique(persons, return_inverse=True)[1].astype(np.int64)
    problem = Problem(codes, persons, 5, 3, False)
    for search in ("auto", "greedy"):
        found = emptied(problem, search)
        assert is_kept(problem, found.cells)
        assert found.needed <= found.count


def test_ten_thousand_labels() -> None:
    codes = np.column_stack([np.arange(20_000) % 10_000, np.arange(20_000) % 3])
    problem = Problem(codes, np.arange(20_000), 5, 2, False)
    found = emptied(problem)
    assert problem.kept(found.cells)
    # Two records share a label, so each of them loses it, and the other key is common.
    assert (found.count, found.needed) == (20_000, 20_000)


def test_nothing_is_emptied_where_nothing_must_be() -> None:
    for codes in (np.zeros((5, 2), dtype=np.int64), np.repeat([[0, 1], [1, 0]], 5, axis=0)):
        found = emptied(Problem(codes, np.arange(len(codes)), 5, 2, False))
        assert (found.count, found.needed) == (0, 0)


def test_k_of_all_records_leaves_only_what_is_common() -> None:
    codes = np.column_stack([np.zeros(6, dtype=np.int64), np.arange(6)])
    found = emptied(Problem(codes, np.arange(6), 6, 2, False))
    assert found.cells.sum(axis=0).tolist() == [0, 6]


# -- who knows the method ---------------------------------------------------------------------------------------------


@given(problems(records=9))
@settings(max_examples=60, deadline=None)
def test_an_emptied_column_hides_at_least_two_labels(problem: Problem) -> None:
    problem = Problem(problem.codes, problem.persons, problem.k, problem.codes.shape[1], False)
    for search in ("auto", "greedy"):
        cells = emptied(problem, search).cells
        of_row = classes_of(np.where(cells, EMPTY, problem.codes))
        for row, at in np.argwhere(cells).tolist():
            assert len(np.unique(problem.codes[of_row == of_row[row], at])) > 1


@pytest.mark.parametrize("search", ["auto", "greedy"])
def test_no_emptied_cell_follows_from_the_file_and_the_method(search: Any) -> None:
    """All files of four records with two keys of two labels: what is published of each, whoever may carry which row."""
    possible: dict[Any, dict[int, set[Any]]] = {}
    files = [np.array(one, dtype=np.int64).reshape(4, 2) for one in product(range(2), repeat=8)]
    for codes in files:
        shown = np.where(emptied(Problem(codes, np.arange(4), 2, 2, False), search).cells, EMPTY, codes)
        # The intruder does not know the order of the records: he sees rows, which carried values may tell apart.
        order = np.lexsort(shown.T)
        found = possible.setdefault(tuple(map(tuple, shown[order].tolist())), {})
        for place, row in enumerate(codes[order].tolist()):
            found.setdefault(place, set()).add(tuple(row))
    assert any(EMPTY in row for published in possible for row in published)
    for published, originals in possible.items():
        for place, row in enumerate(published):
            same = [other for other, one in enumerate(published) if one == row]
            # Records of a class may be exchanged: who is at one place may be at any other of the class.
            choices = set().union(*(originals[other] for other in same))
            for at, cell in enumerate(row):
                assert cell != EMPTY or len({one[at] for one in choices}) == 2
            assert place in same


# -- releases ---------------------------------------------------------------------------------------------------------


def wages(n: int = 400, seed: int = 0, **more: Any) -> tv.Dataset:
    """Keys as a file may have them, with a carried column."""
    codes = skewed(n, (2, 5, 12), seed)
    frame = pl.DataFrame(
        {
            "id": [f"p{at}" for at in range(n)],
            "sex": np.array(["f", "m"])[codes[:, 0]],
            "region": np.array(["N", "S", "NA", "null", "0"])[codes[:, 1]],
            "education": codes[:, 2],
            "wage": np.random.default_rng(seed).gamma(5, 3, n).round(1),
        }
    )
    keys = {"sex": "nominal", "region": "nominal", "education": "ordinal"}
    return tv.Dataset.from_frame(frame, id="id", categories=keys, confidential=["wage"], **more)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("empty", ["strict", "wildcard"])
@pytest.mark.parametrize("subsets", [None, 2])
def test_a_release_of_keys_is_verified_as_it_is_written(form: Any, empty: Any, subsets: Any, tmp_path: Path) -> None:
    data = wages()
    release = LocalSuppression(k=5, empty=empty, subsets=subsets).protect(data, seed=1)
    assert release.verify().holds
    folder = release.write(tmp_path / "release", format=form)
    again = judge_release(folder)
    checks = {check.name: check.status for check in again.checks}
    assert checks["promise"] is Outcome.HOLDS
    strict = empty == "strict" and subsets is None
    assert checks["whole-record"] is (Outcome.HOLDS if strict else Outcome.WARNS)
    assert checks["accepted-risk"] is (Outcome.HOLDS if strict else Outcome.WARNS)
    opened = reopen_release(folder, data)
    assert np.array_equal(opened.data.values, release.data.values)
    assert opened.verify().holds
    facts = next(iter(release.facts.values()))
    assert facts["emptied cells"] == facts["emptied cells needed at least"]
    table = (
        pl.read_csv(folder / "published/data.csv", infer_schema=False)
        if form == "csv"
        else pl.read_parquet(folder / "published/data.parquet")
    )
    assert table.select("sex", "region", "education").null_count().sum_horizontal().item() == facts["emptied cells"]
    if form == "parquet":
        assert table.schema["education"] == pl.Int64


def test_a_changed_cell_is_found_in_the_file(tmp_path: Path) -> None:
    for empty in ("strict", "wildcard"):
        folder = LocalSuppression(k=5, empty=empty).protect(wages(), seed=1).write(tmp_path / empty)
        file = folder / "published/data.csv"
        table = pl.read_csv(file, infer_schema=False)
        row = table.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_max()
        first = pl.int_range(pl.len()) == row
        other = {"sex": "m", "region": "N", "education": "11"}
        table.with_columns(
            pl.when(first).then(pl.col(n).fill_null(v)).otherwise(n).alias(n) for n, v in other.items()
        ).write_csv(file)
        found = {check.name: check for check in judge_release(folder).checks}["promise"]
        assert found.status is Outcome.FAILS
        assert "row" in found.message


@pytest.mark.parametrize("settings", [{}, {"empty": "wildcard"}, {"subsets": 1}, {"search": "greedy"}])
def test_chunks_change_nothing(settings: Any) -> None:
    data = wages(150)
    made = LocalSuppression(k=3, **settings)
    whole, cut = made.protect(data, seed=5), made.protect(data, seed=5, engine="local", chunk=31)
    assert np.array_equal(cut.data.values, whole.data.values)
    assert (cut.facts, cut.warnings, cut.verify()) == (whole.facts, whole.warnings, whole.verify())


def test_large_files_stay_where_they_are(tmp_path: Path) -> None:
    data = wages(300)
    frame = pl.DataFrame(
        [
            data.others["id"],
            *(c.column(n, v) for (n, c), v in zip(data.labels.items(), data.values.T, strict=True)),
            data.others["wage"],
        ]
    )
    frame.write_parquet(tmp_path / "wages.parquet")
    keys = {"sex": "nominal", "region": "nominal", "education": "ordinal"}
    kept_there = tv.read(
        tmp_path / "wages.parquet", categories=keys, confidential=["wage"], numbers=["wage"], chunks=True
    )
    assert kept_there.source is not None
    one, two = (LocalSuppression(k=5).protect(some, seed=3) for some in (kept_there, data))
    assert np.array_equal(one.data.values, two.data.values)
    assert one.verify() == two.verify()
    folder = one.write(tmp_path / "release")
    assert judge_release(folder).checks[0].status is Outcome.HOLDS


def test_cells_that_are_empty_in_the_original(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"id": range(9), "sex": ["f", "f", None, None, "m", "m", "", "f", "f"], "region": ["N"] * 8 + ["S"]}
    )
    empty = {"kind": "nominal", "empty": True}
    data = tv.Dataset.from_frame(frame, id="id", categories={"sex": empty, "region": empty})
    release = LocalSuppression(k=2).protect(data, seed=1)
    shown = [c.texts(v).to_list() for c, v in zip(release.data.labels.values(), release.data.values.T, strict=True)]
    assert shown[0][2:4] == [None, None]
    assert next(iter(release.facts.values()))["emptied cells"] == 2
    folder = release.write(tmp_path / "release")
    assert judge_release(folder).checks[0].status is Outcome.HOLDS
    for method in (tv.MDAV(k=2), tv.VMDAV(k=2)):
        with pytest.raises(InputError, match="labels with empty cells \\('sex', 'region'\\)"):
            method.protect(data)
    with pytest.raises(InputError, match="value is missing"):
        tv.Dataset.from_frame(frame, id="id", categories={"sex": "nominal", "region": "nominal"})


def test_an_empty_cell_stands_above_all_labels_for_measures_and_attacks(tmp_path: Path) -> None:
    data = wages()
    release = LocalSuppression(k=5).protect(data, seed=1)
    share = 100 * next(iter(release.facts.values()))["emptied cells"] / (3 * data.n)
    cards = [tv.evaluate(data, release)]
    folder = release.write(tmp_path / "release")
    cards.append(tv.evaluate(data, reopen_release(folder, data)))
    for card in cards:
        assert card["LL1"] == pytest.approx(share)
        assert card["LU"] == pytest.approx(100 - share)
        assert card["KU2"] == 0
    assert "(empty)" in (folder / "published/report.html").read_text()
    ladder = {one.attack: one.rate for one in judge_release(folder).ladder}
    assert 0 < ladder["mixed-distance"] <= ladder["replay"] <= 20


def test_suppressed_records_are_reported() -> None:
    frame = pl.DataFrame({"id": range(8), "a": [*"xxxxpqrs"], "b": [*"yyyytuvw"]})
    data = tv.Dataset.from_frame(frame, id="id", categories={"a": "nominal", "b": "nominal"})
    release = LocalSuppression(k=4).protect(data, seed=1)
    assert next(iter(release.facts.values()))["records without any key"] == 4
    assert any("4 records have no key left" in warning for warning in release.warnings)
    assert len(release.suppressed) == 0


def test_a_bound_is_said_where_fewer_cells_may_do() -> None:
    release = LocalSuppression(k=5, search="greedy").protect(wages(600), seed=1)
    facts = next(iter(release.facts.values()))
    if facts["emptied cells"] > facts["emptied cells needed at least"]:
        assert (
            f"greedy: {facts['emptied cells']} cells of keys are emptied, and at least {facts['emptied cells needed at least']} are needed"
            in release.warnings[0]
        )
    best = LocalSuppression(k=5).protect(wages(600), seed=1)
    assert not [warning for warning in best.warnings if "greedy" in warning]


def test_keys_beside_a_load_curve(tmp_path: Path) -> None:
    data = households(120, 2)
    release = LocalSuppression(k=5).protect(data, seed=1)
    assert release.verify().holds
    columns = [data.columns.index(name) for name in ("dwelling", "postcode", "tariff")]
    rows = Counter(map(tuple, release.data.values.tolist()))
    assert min(rows.values()) >= 5
    keys = Counter(map(tuple, release.data.values[:, columns].tolist()))
    assert len(keys) > 3
    assert len(rows) >= len(keys)
    assert release.guarantee.intruder == "file"
    # Within a class of keys curves are those of MDAV.
    groups = release.groups["load"]
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        assert np.allclose(release.data.block("load")[own], data.block("load")[own].mean(axis=0))
    folder = release.write(tmp_path / "release")
    checks = {check.name: check.status for check in judge_release(folder).checks}
    assert {name for name, status in checks.items() if status is not Outcome.HOLDS} <= {"attribute-disclosure"}


def test_persons_with_several_records(tmp_path: Path) -> None:
    data = households(150, 1)
    who = [f"person {at}" for at in np.random.default_rng(0).integers(0, 60, 150)]
    frame = pl.DataFrame({"id": data.ids, "who": who}).hstack(
        [c.column(n, data.values[:, data.columns.index(n)]) for n, c in data.labels.items()]
    )
    keys = dict.fromkeys(data.labels, "nominal")
    only = tv.Dataset.from_frame(frame, id="id", person="who", categories=keys)
    release = LocalSuppression(k=4).protect(only, seed=1)
    assert release.guarantee.settings()["counts"] == "persons"
    for row in {tuple(one) for one in release.data.values.tolist()}:
        own = (release.data.values == row).all(axis=1)
        assert len(set(np.array(who)[own])) >= 4
    folder = release.write(tmp_path / "keys")
    found = {check.name: check for check in judge_release(folder).checks}
    assert found["promise"].status is Outcome.HOLDS
    assert found["accepted-risk"].status is Outcome.WARNS  # it does not bound who owns most of a class
    loads = pl.DataFrame(data.block("load"), schema=list(data.block_named("load").columns), orient="row")
    both = tv.Dataset.from_frame(
        frame.hstack(loads), id="id", person="who", categories=keys, blocks={"load": loads.columns}
    )
    release = LocalSuppression(k=4).protect(both, seed=1)
    assert release.guarantee.settings()["counts"] == "share"
    assert release.verify().holds


def test_what_it_refuses() -> None:
    data, numbers = wages(40), tv.Dataset.from_arrays({"load": np.ones((6, 2))})
    with pytest.raises(ParameterError, match="names 'age', which is no column of labels"):
        LocalSuppression(keys="sex, age").protect(data)
    with pytest.raises(InputError, match="holds keys and columns that are no keys \\('region', 'education'\\)"):
        LocalSuppression(keys="sex").protect(data)
    with pytest.raises(ParameterError, match="at most the number of records \\(40\\)"):
        LocalSuppression(k=41).protect(data)
    for more in ({"subsets": 2}, {"empty": "wildcard"}):
        with pytest.raises(ParameterError, match="more to protect than keys"):
            LocalSuppression(**more).protect(households(40, 1))
    many = pl.DataFrame({f"key {at}": ["a", "b"] * 10 for at in range(13)})
    with pytest.raises(InputError, match="at most 12 keys, and these are 13"):
        LocalSuppression().protect(tv.Dataset.from_frame(many, categories=dict.fromkeys(many.columns, "nominal")))
    without = LocalSuppression(k=2).protect(numbers, seed=1)
    assert "no column holds labels" in without.warnings[0]
    assert without.guarantee.name == "k-anonymity"
