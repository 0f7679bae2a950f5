"""(n,l,k)-anonymity of series with values at different times: the verifier is the definition, and releases keep the promise."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_nlk as naive
import tsveil as tv
from cases import cases
from tsveil.assess.file import judge_file
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.guarantee.base import Status
from tsveil.guarantee.nlk import NLKAnonymity, find_violation
from tsveil.measure import nlk as measure
from tsveil.measure.nlk import clusters_per_point, identification
from tsveil.protect.nlk import NLK, sorted_beside_gaps
from tsveil.report.nlk import model_section


def data_of(x: Array, **blocks: Any) -> tv.Dataset:
    days = [f"2024-03-{at + 1:02d}" for at in range(x.shape[1])]
    frame = pl.DataFrame({"id": [f"p{at}" for at in range(len(x))]} | dict(zip(days, x.T, strict=True)))
    return tv.Dataset.from_frame(frame.fill_nan(None), id="id", blocks=blocks or {"load": days}, missing="mask")


def table(rng: np.random.Generator, n: int, T: int, share: float, kinds: int = 0) -> Array:
    x = rng.integers(0, kinds, (n, T)).astype(float) if kinds else rng.normal(size=(n, T)).cumsum(axis=1)
    x[rng.random(x.shape) < share] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 1.0
    return x


# -- the promise ------------------------------------------------------------------------------------------------------


def test_the_verifier_is_the_definition() -> None:
    rng = np.random.default_rng(3)
    seen = []
    for _ in range(cases(250, 2000)):
        N, T = int(rng.integers(2, 9)), int(rng.integers(2, 6))
        # Few sets of times, so that some series share theirs, and some do not.
        Y = rng.integers(0, 3, (N, T)).astype(float)
        sets = rng.random((int(rng.integers(1, 4)), T)) < 0.3
        Y[sets[rng.integers(0, len(sets), N)]] = np.nan
        n = int(rng.integers(1, T))
        l, k = int(rng.integers(n + 1, T + 1)), int(rng.integers(2, N + 1))
        expected, found = naive.attack_at_times(Y, n, l, k), find_violation(Y, n, l, k)
        seen.append(expected is None)
        assert (found.status is Status.HOLDS) == (expected is None), (Y.tolist(), n, l, k)
        by_file = NLKAnonymity(n, l, k).verify(data_of(Y)) if np.isnan(Y).any() else None
        assert by_file is None or by_file.holds == (expected is None)
        if found.attack is not None:
            attack = found.attack
            assert len(attack.known) <= n
            assert not np.isnan(Y[attack.series, [*attack.known, *attack.inferred]]).any()
            twins = [g for g in range(N) if (np.isnan(Y[g]) == np.isnan(Y[attack.series])).all()]
            left = [g for g in twins if all(Y[g, t] == Y[attack.series, t] for t in attack.known)]
            for t in attack.inferred:
                assert len({h for g in left for h in range(N) if Y[h, t] == Y[g, t]}) < k
            assert len(attack.inferred) >= l - n
    assert 0.2 < np.mean(seen) < 0.8


@given(st.integers(0, 10**6))
def test_without_gaps_it_is_the_other_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (int(rng.integers(2, 8)), 4)).astype(float)
    for n, l in ((1, 2), (1, 4), (2, 3), (3, 4)):
        assert (naive.attack_at_times(Y, n, l, 3) is None) == (naive.attack(Y, n, l, 3) is None)


def test_by_hand() -> None:
    gap = np.nan
    # The first alone has the times 1 and 2: they tell who it is, and its value at 2 is nobody else's.
    Y = np.array([[1.0, 5.0, gap], [1.0, 6.0, 2.0], [1.0, 6.0, 2.0]])
    found = NLKAnonymity(1, 2, 2).verify(data_of(Y))
    assert found.status is Status.VIOLATED
    assert (
        found.witness
        == "block 'load', row 1: who knows point 2024-03-01 infers point 2024-03-02, where fewer than 2 series remain possible"
    )
    # Without the times the value 1 would leave all three: an empty cell must not hide the first among the others.
    assert find_violation(np.nan_to_num(Y, nan=9.0)[:, :1].repeat(2, axis=1), 1, 2, 2).status is Status.HOLDS
    # An empty cell is no value: five that lack it do not make a cluster, and one that lacks it infers nothing there.
    Y = np.array([[1.0, gap]] + [[1.0, 2.0]] * 3)
    assert NLKAnonymity(1, 2, 3).verify(data_of(Y)).holds
    assert NLKAnonymity(1, 2, 4).verify(data_of(Y)).status is Status.VIOLATED


def test_points_of_several_dimensions_are_not_judged() -> None:
    x = table(np.random.default_rng(0), 9, 4, 0.2)
    data = data_of(x, a=["2024-03-01", "2024-03-02"], b=["2024-03-03", "2024-03-04"])
    with pytest.raises(InputError, match="points of several dimensions with empty cells"):
        NLKAnonymity(1, 2, 3, "record").verify(data)
    assert NLKAnonymity(1, 2, 9).verify(data).status is Status.VIOLATED


# -- the method -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heuristic", ["auto", "peel", "stage1"])
def test_every_release_keeps_the_promise(heuristic: Any) -> None:
    rng = np.random.default_rng(8)
    for case in range(cases(40, 300)):
        N, T = int(rng.integers(6, 30)), int(rng.integers(4, 9))
        x = table(rng, N, T, rng.choice([0.05, 0.2, 0.5]), kinds=int(rng.choice([0, 0, 4])))
        n, k = int(rng.integers(1, 3)), int(rng.integers(2, 5))
        l = int(rng.integers(n + 1, T + 1))
        enough = ((~np.isnan(x)).sum(axis=0) >= k).sum()
        method = NLK(n=n, l=l, k=k, heuristic=heuristic, smallest_cluster=int(rng.integers(1, 3)), representative=rng.choice(["mean", "median"]).item())  # fmt: skip
        if enough < l:
            with pytest.raises(InputError, match=f"time points at which {k} records have a value"):
                method.protect(data_of(x))
            continue
        release = method.protect(data_of(x), seed=case)
        y = release.data.values
        dropped = (~np.isnan(x)).sum(axis=0) < k
        assert (np.isnan(y) == (np.isnan(x) | dropped)).all()
        assert not np.isnan(x).any() or release.verify().holds
        assert naive.attack_at_times(y, n, l, k) is None
        # Whatever is known besides: nobody has more small cells than may be inferred.
        small = [sum(0 < (y[:, t] == row[t]).sum() < k for t in range(T)) for row in y]
        assert max(small) <= l - n - 1 or not np.isnan(x).any()  # else auto may cut further
        assert release.facts["load"]["clusters"] == clusters_per_point(y).sum()
        assert release.facts["load"]["values not published"] == (~np.isnan(x[:, dropped])).sum()
        assert release.facts["load"]["cells peeled"] <= (l - n - 1) * N
        assert release.facts["load"]["loss"] == pytest.approx(np.nansum(np.abs(x - y)), abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["mean", "median"]))
def test_without_an_allowance_each_time_is_grouped_optimally(seed: int, k: int, how: Any) -> None:
    rng = np.random.default_rng(seed)
    x = table(rng, int(rng.integers(k, 15)), 3, 0.3, kinds=int(rng.choice([0, 5])))
    method = NLK(n=1, l=2, k=k, heuristic="peel", representative=how)
    made = method._run_heuristic(sorted_beside_gaps(x, k), "peel", "x")
    there = [column[~np.isnan(column)] for column in x.T]
    expected = sum(naive.least_loss_groups(own, k, how) for own in there if len(own) >= k)
    assert made.loss == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert made.peeled == 0


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_stage_1_at_each_time_is_that_of_those_who_have_a_value(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = table(rng, int(rng.integers(k, 20)), 3, 0.3, kinds=int(rng.choice([0, 5])))
    y = NLK(n=1, l=2, k=k)._run_heuristic(sorted_beside_gaps(x, k), "stage1", "x").published[:, :, 0]
    for t in range(3):
        rows = np.flatnonzero(~np.isnan(x[:, t]))
        if len(rows) < k:
            assert np.isnan(y[:, t]).all()
            continue
        for group in naive.stage1(x[rows, t], k):
            assert y[rows[group], t] == pytest.approx(np.full(len(group), x[rows[group], t].mean()), abs=1e-9)


@pytest.mark.parametrize("heuristic", ["peel", "stage1"])
def test_without_gaps_nothing_changes(heuristic: Any) -> None:
    x = table(np.random.default_rng(1), 60, 12, 0.0)
    method = NLK(n=2, l=6, k=5, heuristic=heuristic)
    plain = method.protect(tv.Dataset.from_arrays({"load": x}), seed=1).data.values
    points = sorted_beside_gaps(x, 5)
    assert not points.has_gaps
    assert np.array_equal(method._run_heuristic(points, heuristic, "x").published[:, :, 0], plain)


def test_peeling_lowers_the_loss() -> None:
    x = table(np.random.default_rng(4), 80, 14, 0.15)
    losses = [NLK(n=2, l=l, k=6).protect(data_of(x)).facts["load"]["loss"] for l in (3, 5, 8)]
    assert losses[0] > 1.1 * losses[1] > 1.2 * losses[2]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_it_is_written_read_back_and_judged(tmp_path: Path, form: Any) -> None:
    x = table(np.random.default_rng(5), 60, 12, 0.1)
    x[:56, 3] = np.nan
    release = NLK(n=2, l=6, k=5).protect(data_of(x), seed=1)
    assert any("at 1 of 12 times fewer than 5 series have a value; these" in text for text in release.warnings)
    folder = release.write(tmp_path / "out", format=form)
    again = tv.read(folder / "published" / f"data.{form}", id="id", missing="mask")
    assert NLKAnonymity(2, 6, 5).verify(again).holds
    assert NLKAnonymity(2, 5, 5).verify(again).status is Status.VIOLATED
    section = model_section(release)
    assert section is not None
    row = dict(zip(section.columns, section.rows[0][1], strict=True))
    y = release.data.values
    assert row["loss, sum of |x - y|"] == f"{np.nansum(np.abs(x - y)):,.6g}"
    assert row["steps that are still shown (by another's series)"] == "–"
    assert "GPLD" in tv.evaluate(release.original, release, models="fitting")


def test_cells_that_are_written_in_two_ways_are_two_values_and_empty_ones_none(tmp_path: Path) -> None:
    rows = ["id,2024-03-01,2024-03-02,2024-03-03"]
    rows += [f"a{at},1.5,2.5,3.5" for at in range(4)] + [f"b{at},1.50,2.5,3.50" for at in range(3)] + ["c,1.5,2.5,"]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(rows) + "\n")
    data = tv.read(path, id="id", missing="mask")

    def judged(n: int, l: int, k: int) -> str:
        options = {"id": "id", "missing": "mask"}
        return next(
            str(one.status) for one in judge_file(path, NLKAnonymity(n, l, k), options).checks if one.name == "promise"
        )

    # As written, b has clusters of three on two days; the empty cell of c is in none.
    assert judged(1, 2, 3) == "holds"
    assert judged(1, 2, 4) == "fails"
    assert NLKAnonymity(1, 2, 4).verify(data).holds  # of numbers


def test_a_record_that_has_values_nowhere_else_is_suppressed() -> None:
    x = table(np.random.default_rng(6), 30, 8, 0.1)
    x[:, 7] = np.nan
    x[0] = np.nan
    x[0, 7] = 3.0
    release = NLK(n=1, l=3, k=4).protect(data_of(x), seed=1)
    assert release.suppressed.tolist() == [0]
    assert release.verify().holds


def test_what_cannot_be_done_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = table(np.random.default_rng(7), 20, 8, 0.2)
    for heuristic in ("mth", "mil", "gpe"):
        with pytest.raises(ParameterError, match="must be 'auto', 'peel' or 'stage1'"):
            NLK(n=1, l=3, k=3, heuristic=heuristic).protect(data_of(x))
    days = [f"2024-03-{at + 1:02d}" for at in range(8)]
    two = data_of(x, a=days[:4], b=days[4:])
    for grouping in ("joint", "per-block"):
        with pytest.raises(InputError, match=r"one series with gaps .* at a time; this data set has 2"):
            NLK(n=1, l=3, k=3, grouping=grouping).protect(two)
    monkeypatch.setattr("tsveil.protect.nlk.WHOLE", 100)
    with pytest.raises(InputError, match="all at once, and 20 records of 8 points are more than 100 values"):
        NLK(n=1, l=3, k=3).protect(data_of(x))


# -- who is singled out -----------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_who_is_singled_out_is_counted_as_defined(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 2, (25, 7)).astype(float)
    Y[(rng.random((3, 7)) < 0.3)[rng.integers(0, 3, 25)]] = np.nan
    if not np.isnan(Y).any():
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "DRAWS", 3)
        patch.setattr(measure, "FEWEST", 3)
        found = identification(Y, n, seed=seed)
    draws = np.random.default_rng(seed)
    orders = [draws.choice(7, size=7, replace=False).tolist() for _ in range(3)]
    known = [[tuple([t for t in order if not np.isnan(row[t])][:n]) for order in orders] for row in Y]
    alone = [[naive.singled_out_at_times(Y, f, drawn) for drawn in known[f]] for f in range(25)]
    assert found.per_series == pytest.approx(100 * np.mean(alone, axis=1))
    worst = [
        any(
            naive.singled_out_at_times(Y, f, some)
            for some in combinations(np.flatnonzero(~np.isnan(Y[f])).tolist(), min(n, int((~np.isnan(Y[f])).sum())))
        )
        for f in range(25)
    ]
    assert found.random <= found.chosen <= 100 * np.mean(worst) + 1e-9


def test_times_that_nobody_shares_single_out() -> None:
    Y = np.ones((6, 4))
    Y[0, 2] = np.nan
    found = identification(Y, 1)
    assert found.per_series.tolist() == [100.0, 0, 0, 0, 0, 0]
    assert found.chosen == pytest.approx(100 / 6)
