"""What an (n,l,k)-anonymous table lost, and whom it still identifies."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_nlk as naive
from tsveil._kernels.nlk_verify import narrow_down
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.data.store import Folder, Memory
from tsveil.data.synthetic import random_series, sine_series
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.guarantee.counting import clusters_of
from tsveil.measure import nlk as module
from tsveil.measure.nlk import (
    Identification,
    clusters_per_point,
    divergence_classes,
    divergence_histogram,
    euclidean_loss,
    identification,
    nlk_figures,
    normalised_divergence,
    singled_out,
    std_shift,
)
from tsveil.protect.nlk import NLK, sorted_points

values = st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6).map(lambda v: np.array(v).reshape(2, 3))


@given(values, values)
def test_losses_are_those_of_the_formulas(X: Array, Y: Array) -> None:
    pairs = list(zip(X.ravel().tolist(), Y.ravel().tolist(), strict=True))
    assert euclidean_loss(X, Y) == pytest.approx(sum(abs(x - y) for x, y in pairs))
    if X.sum() > 1e-3:
        assert normalised_divergence(X, Y) == pytest.approx(100 * sum(abs(x - y) for x, y in pairs) / X.sum())
    if X.std() > 1e-3:
        assert std_shift(X, Y) == pytest.approx(100 * abs(np.std(X) - np.std(Y)) / np.std(X))
    assert euclidean_loss(X, X) == 0
    assert std_shift(X, X) == 0


@given(values, values)
def test_every_value_is_in_one_class(X: Array, Y: Array) -> None:
    histogram = divergence_histogram(X, Y)
    assert tuple(histogram) == divergence_classes()
    assert sum(histogram.values()) == pytest.approx(100)
    far = sum(abs(x - y) > 0.5000001 * abs(x) for x, y in zip(X.flat, Y.flat, strict=True))
    near = sum(abs(x - y) <= 0.0199999 * abs(x) for x, y in zip(X.flat, Y.flat, strict=True))
    assert histogram[">50"] >= 100 * far / 6 - 1e-9
    assert histogram["0-2"] >= 100 * near / 6 - 1e-9


def test_a_class_includes_its_upper_end() -> None:
    x = np.full(7, 100.0)
    assert list(divergence_histogram(x, 100 + np.array([0, 2, 5, 10, 20, 30, 50.0])).values()) == pytest.approx(
        [200 / 7, *[100 / 7] * 5, 0]
    )


def test_what_is_not_defined_is_refused() -> None:
    with pytest.raises(InputError, match="positive sum"):
        normalised_divergence([[-1.0]], [[1.0]])
    with pytest.raises(InputError, match="all equal"):
        std_shift([[1.0, 1.0]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="both must agree"):
        euclidean_loss([[1.0]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="missing or infinite"):
        euclidean_loss([[np.nan]], [[1.0]])
    with pytest.raises(ParameterError, match=r"The 'n' parameter of identification .* \(2\). Got 3."):
        identification([[1.0, 2.0], [2.0, 3.0]], 3)


def test_clusters_are_counted_by_published_value() -> None:
    assert clusters_per_point([[1.0, 5.0, 1.0], [1.0, 6.0, 2.0], [2.0, 6.0, 3.0]]).tolist() == [2, 2, 3]


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_identification_is_near_that_of_all_sets_of_points(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (12, 6))
    found = identification(Y, n, seed=seed)
    every = list(combinations(range(6), n))
    exact = np.array([np.mean([naive.singled_out(Y, f, known) for known in every]) for f in range(12)])
    worst = np.array([any(naive.singled_out(Y, f, known) for known in every) for f in range(12)])
    assert np.abs(found.per_series - 100 * exact).max() < 8  # 1000 draws: five standard deviations
    assert found.random == pytest.approx(found.per_series.mean())
    assert found.random <= found.chosen <= 100 * worst.mean() + 1e-9
    if n == 1:
        assert found.chosen == pytest.approx(100 * worst.mean())
    assert identification(Y, n, seed=seed).random == found.random


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 20)
    monkeypatch.setattr(module, "DRAWN_SERIES", 100)
    found = identification(random_series(60, 10).values, 1)
    assert found.draws == module.FEWEST
    assert found.chosen == 100.0


def assert_same(found: Identification, other: Identification) -> None:
    assert (found.random, found.chosen, found.draws, found.series) == (
        other.random, other.chosen, other.draws, other.series,
    )  # fmt: skip
    assert np.array_equal(found.per_series, other.per_series)


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("ends", [[30], [0, 1, 40, 40, 149]])
@pytest.mark.parametrize("sample", [20, 150])
def test_pieces_change_nothing(
    dimensions: int, n: int, ends: list[int], sample: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAMPLE", sample)
    monkeypatch.setattr(module, "DRAWS", 60)
    rng = np.random.default_rng(n)
    Y = rng.integers(0, 4, (150, 6, dimensions)).astype(float)
    Y[:10], Y[:, 2] = Y[0], 7.0  # equal series, a point that says nothing
    Y[20, 3] = -0.0
    whole = identification(Y, n)
    assert len(whole.per_series) == sample
    assert ("of a sample of 20" in str(whole)) == (sample == 20)
    order = rng.permutation(150)
    rows = np.argsort(order)
    points = np.arange(6 * dimensions).reshape(6, -1).tolist()
    for store, engine in ((Memory(), Here()), (Folder(tmp_path), LocalEngine())):
        pieces = np.split(Y[order].reshape(150, -1), ends)
        for at, piece in enumerate(pieces):
            store.put(f"released-{at}", np.ascontiguousarray(piece.T))
        assert_same(singled_out(store, engine, [len(piece) for piece in pieces], points, n, rows=rows), whole)


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_who_is_singled_out_is_counted_as_defined(seed: int, n: int) -> None:
    """Random points as they are drawn, and the choice of the greedy intruder that searches for attacks."""
    Y = np.random.default_rng(seed).integers(0, 3, (25, 7)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DRAWS", 3)
        patch.setattr(module, "FEWEST", 3)
        found = identification(Y, n, seed=seed)
    rng = np.random.default_rng(seed)
    drawn = [tuple(rng.choice(7, size=n, replace=False).tolist()) for _ in range(3)]
    alone = np.array([[naive.singled_out(Y, f, known) for known in drawn] for f in range(25)])
    assert found.per_series == pytest.approx(100 * alone.mean(axis=1))
    codes, sizes = clusters_of(Y)
    known, left = np.empty(n, dtype=np.int64), np.empty(25, dtype=np.int64)
    chosen = [narrow_down(codes, sizes, f, n, 0, known, left)[1] == 1 or alone[f].any() for f in range(25)]
    assert found.chosen == pytest.approx(100 * np.mean(chosen))


def test_of_too_many_suspects_the_intruder_loses_track(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second point leaves the first series alone; the others have equals."""
    Y = np.array([[0.0, 1], [0, 2], [0, 2], [1, 1], [1, 1]])
    monkeypatch.setattr(module, "DRAWS", 1)
    monkeypatch.setattr(module, "FEWEST", 1)
    monkeypatch.setattr(np.random, "default_rng", lambda _: np.random.Generator(np.random.PCG64(1)))
    drawn = identification(np.column_stack([np.zeros((5, 20)), Y]), 2)
    assert drawn.random == 0
    assert drawn.chosen == 20
    monkeypatch.setattr(module, "AGREEMENTS", 22)
    assert identification(np.column_stack([np.zeros((5, 20)), Y]), 2).chosen == 0


@pytest.mark.parametrize(("households", "k", "share"), [(180, 10, 82), (526, 10, 93), (180, 20, 43), (526, 20, 80)])
def test_three_known_values_identify_most_households(households: int, k: int, share: float, shared_data: Path) -> None:
    X = pl.read_csv(shared_data / "smart_meter.csv").drop("household").to_numpy()[:households].astype(np.float64)
    Y = NLK(n=3, l=5, k=k)._stage1(sorted_points(X[:, :, None])).published
    found = identification(Y, 3)
    assert found.random == pytest.approx(share, abs=2)
    assert found.chosen > 95


def test_all_figures_have_names() -> None:
    X = sine_series(30, 12).values
    figures = nlk_figures(X, np.round(X), 2)
    assert {"IL", "NormDiv", "std shift", "clusters per point", "divergence 0-2 %"} < set(figures)
    assert all(np.isfinite(list(figures.values())))


def test_the_papers_generators() -> None:
    uniform, sine = random_series(200, 50).values, sine_series(200, 50).values
    assert 10 <= uniform.min() < 11
    assert 29 < uniform.max() <= 30
    assert np.corrcoef(uniform[:, 0], uniform[:, 1])[0, 1] < 0.3
    assert sine.min() >= 25
    assert sine.max() <= 55
    assert np.array_equal(random_series(5, 4, seed=3).values, random_series(5, 4, seed=3).values)
    assert not np.array_equal(random_series(5, 4, seed=3).values, random_series(5, 4, seed=4).values)
    assert sine[:, 0] == pytest.approx(sine_series(200, 50, b=(0, 0)).values[:, 0])
