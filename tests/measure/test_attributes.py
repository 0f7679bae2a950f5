"""Loss, risk and score of protected microdata."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.base import Shape
from tsveil.attack.choose import fitting
from tsveil.attack.distance import distance
from tsveil.attack.pieces import Columns, Pieces
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import METHODS
from tsveil.data.store import Memory
from tsveil.engine.here import Here
from tsveil.measure.attribute_loss import AttributeLoss, Sums
from tsveil.measure.base import Schema
from tsveil.measure.evaluate import scorecard
from tsveil.measure.passes import of_arrays, run


class Found(NamedTuple):
    figures: dict[str, float]
    records: dict[str, np.ndarray]


def microdata_loss(X: np.ndarray, X2: np.ndarray) -> Found:
    found, records = of_arrays(AttributeLoss(), X, X2, times=False)
    return Found(found.figures, records)


def probabilistic_losses(X: np.ndarray, X2: np.ndarray) -> dict[str, float]:
    """Those of each statistic, and their mean."""
    found, _ = of_arrays(AttributeLoss(), X, X2, times=False)
    return {**Sums.of(found.sums[0]).probabilistic_losses(), "mean": found.figures["PIL"]}


@given(st.integers(0, 10**6), st.integers(2, 20), st.integers(1, 4), st.booleans())
def test_losses_are_those_of_the_definition(seed: int, n: int, columns: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 4, (n, columns)).astype(float) if coarse else rng.normal(3, 1, (n, columns))
    X2 = X + (rng.integers(-1, 2, X.shape) if coarse else rng.normal(0, 0.3, X.shape))
    # A covariance that is zero but for rounding is zero for us and not for the sums of the plain definition.
    if coarse:
        cov = np.atleast_2d(np.cov(X.T))
        assume(not ((np.abs(cov) > 0) & (np.abs(cov) < 1e-9)).any())
    loss = microdata_loss(X, X2)
    ours = [loss.figures[f"IL{i}"] for i in range(1, 6)]
    assert ours == pytest.approx(naive.losses(X, X2), rel=1e-7, abs=1e-9)
    assert loss.figures["IL"] == pytest.approx(sum(ours) / 5)
    cells = np.where(X == 0, np.nan, np.abs(X - X2) / np.where(X == 0, 1, np.abs(X)))
    expected = [100 * np.nanmean(row) if not np.isnan(row).all() else 0.0 for row in cells]
    assert loss.records["loss"].tolist() == pytest.approx(expected)


@given(
    st.integers(0, 10**6), st.integers(2, 20), st.integers(1, 4), st.booleans(), st.sampled_from([1.0, 1e180, 1e-180])
)
def test_il1_by_the_nearest_published_record(seed: int, n: int, columns: int, coarse: bool, size: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 4, (n, columns)).astype(float) if coarse else rng.normal(3, 1, (n, columns))
    X2 = X[rng.permutation(n)] + (rng.integers(-1, 2, X.shape) if coarse else rng.normal(0, 0.3, X.shape))
    terms = []
    for x in X.tolist():
        distances = [sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in X2.tolist()]
        nearest = X2[distances.index(min(distances))].tolist()
        terms += [abs(a - b) / abs(a) for a, b in zip(x, nearest, strict=True) if a]
    found = of_arrays(AttributeLoss(matched="nearest"), X * size, X2 * size, times=False)[0].figures
    assert found["IL1"] == pytest.approx(100 * sum(terms) / max(len(terms), 1), rel=1e-9, abs=1e-9)
    own = of_arrays(AttributeLoss(), X * size, X2 * size, times=False)[0].figures
    assert {name: found[name] for name in ("IL2", "IL3", "IL4", "IL5")} == {
        name: own[name] for name in ("IL2", "IL3", "IL4", "IL5")
    }


def test_the_nearest_is_looked_for_in_all_pieces() -> None:
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(60, 3)) * 4)
    X2 = np.round(X[rng.permutation(60)] + rng.normal(size=X.shape))
    names = tuple("abc")
    found = []
    for cuts in ([], [7, 31], [20, 40, 59]):
        store = Memory()
        for at, rows in enumerate(np.split(np.arange(60), cuts)):
            store.put(f"original-{at}", np.ascontiguousarray(X[rows].T))
            store.put(f"released-{at}", np.ascontiguousarray(X2[rows].T))
        sizes = tuple(len(rows) for rows in np.split(np.arange(60), cuts))
        schema = Schema(Pieces((Columns("x", names, None),), sizes, sizes))
        found.append(run(store, schema, Here(), [AttributeLoss(matched="nearest")]).figures)
    assert found[0] == found[1] == found[2]


def test_the_nearest_of_records_with_gaps_is_refused() -> None:
    frame = pl.DataFrame({"id": range(12), "a": [None, *range(11)], "b": [float(i**2) for i in range(12)]})
    data = tv.Dataset.from_frame(frame, id="id", blocks={"x": ["a", "b"]}, missing="mask")
    release = tv.MDAV(k=3).protect(data, seed=1)
    with pytest.raises(ParameterError, match="whole records"):
        tv.evaluate(data, release, matched="nearest")


def test_zero_denominators_are_left_out() -> None:
    X = np.array([[0.0, 1.0, 5.0], [2.0, -1.0, 5.0], [0.0, 0.0, 5.0]])
    loss = microdata_loss(X, X + 1).figures
    # Three cells are zero, one mean, three covariances and one variance of a constant, and its two correlations.
    assert loss["IL1"] == pytest.approx(100 * (1 + 1 / 5 + 1 / 2 + 1 + 1 / 5 + 1 / 5) / 6)
    assert loss["IL2"] == pytest.approx(100 * (3 / 2 + 1 / 5) / 2)
    assert loss["IL4"] == loss["IL5"] == 0.0


def test_a_large_offset_costs_no_digits() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1000, (200, 3)) / 16
    X2 = X + rng.integers(-3, 4, X.shape) / 16
    far, near = microdata_loss(X + 2**40, X2 + 2**40).figures, microdata_loss(X, X2).figures
    for figure in ("IL3", "IL4", "IL5"):
        assert far[figure] == pytest.approx(near[figure], rel=1e-9)


@given(st.integers(0, 10**6), st.integers(3, 30), st.integers(1, 3))
def test_the_probabilistic_loss_is_that_of_the_definition(seed: int, n: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(n, columns))
    X2 = X * np.exp(0.2 * rng.normal(size=X.shape))
    found = probabilistic_losses(X, X2)

    def chance(t: float, t2: float, se: float) -> float:
        return 100 * (2 * statistics.NormalDist().cdf(abs(t - t2) / se) - 1)

    def central(x: np.ndarray, y: np.ndarray, power: int) -> float:
        return float((((x - x.mean()) * (y - y.mean())) ** power).mean())

    means = [chance(x.mean(), y.mean(), x.std() / math.sqrt(n)) for x, y in zip(X.T, X2.T, strict=True)]
    variances = [
        chance(central(x, x, 1), central(y, y, 1), math.sqrt((central(x, x, 2) - central(x, x, 1) ** 2) / n))
        for x, y in zip(X.T, X2.T, strict=True)
    ]
    assert found["means"] == pytest.approx(np.mean(means))
    assert found["variances"] == pytest.approx(np.mean(variances))
    covariances, correlations = [], []
    for i in range(columns):
        for j in range(i + 1, columns):
            x, y, x2, y2 = X[:, i], X[:, j], X2[:, i], X2[:, j]
            se = math.sqrt((central(x, y, 2) - central(x, y, 1) ** 2) / n)
            covariances.append(chance(central(x, y, 1), central(x2, y2, 1), se))
            r, r2 = np.corrcoef(x, y)[0, 1], np.corrcoef(x2, y2)[0, 1]
            correlations.append(chance(r, r2, (1 - r * r) / math.sqrt(n)))
    kinds = [np.mean(means), np.mean(variances)]
    if columns > 1:
        assert found["covariances"] == pytest.approx(np.mean(covariances))
        assert found["correlations"] == pytest.approx(np.mean(correlations))
        kinds += [np.mean(covariances), np.mean(correlations)]
    assert found["mean"] == pytest.approx(np.mean(kinds))
    assert 0 <= found["mean"] <= 100


@pytest.mark.parametrize("power", [-200, -20, 0, 20, 150])
def test_the_probabilistic_loss_has_no_unit(power: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.lognormal(size=(50, 3))
    X2 = X + rng.normal(0, 0.1, X.shape)
    scale = 10.0**power
    assert probabilistic_losses(X * scale, X2 * scale)["mean"] == pytest.approx(
        probabilistic_losses(X, X2)["mean"], rel=1e-6
    )


def test_the_probabilistic_loss_of_degenerate_data() -> None:
    X = np.column_stack([np.arange(9.0), 2 * np.arange(9.0), np.full(9, 4.0)])
    assert probabilistic_losses(X, X)["mean"] == 0.0
    moved = X + np.array([0, 0, 1])  # nothing but chance would leave a constant where it was
    assert probabilistic_losses(X, moved)["means"] == pytest.approx(100 / 3)


# -- the score card ---------------------------------------------------------------------------------------------------


def files(seed: int = 0, n: int = 120, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.lognormal(size=(n, columns)) + rng.lognormal(size=(n, 1))
    return x, naive.swapped(x, 8, rng)


def test_the_raw_file_scores_fifty() -> None:
    x, _ = files()
    data = naive.dataset(x, blocks=[3, 3])
    card = scorecard(data, data)
    assert card["IL"] == card["PIL"] == 0
    assert card["DLD"] == card["ID"] == card["DR1"] == card["DR"] == 100
    assert card["score"] == 50
    assert set(card) == {*(f"IL{i}" for i in range(1, 6)), "IL", "PIL", "DLD", "PLD", "CPLD", "RSLD", "ARLD", "ProjLD", "MALD", "DR1", "ID", "DR", "score"}  # fmt: skip
    assert set(card) <= set(card.meanings)


def test_the_scores() -> None:
    x, y = files()
    a, b = naive.dataset(x, blocks=[3, 3]), naive.dataset(y, blocks=[3, 3])
    cards = {
        score: scorecard(a, b, method=METHODS.make("rank-swap", {"p": 7.0}), score=score)
        for score in ("max", "classic", "rank-swap", "new")
    }
    best = cards["max"]
    assert best["DR1"] == max(best["DLD"], best["PLD"], best["CPLD"], best["RSLD"], best["LMLD"])
    assert "ProjLD" not in best
    new = cards["new"]
    assert new["DR"] == pytest.approx((new["DLD"] + new["PLD"] + new["ProjLD"]) / 6 + new["ID"] / 2)
    classic = cards["classic"]
    assert classic["DR"] == pytest.approx((classic["DLD"] + classic["PLD"]) / 4 + classic["ID"] / 2)
    rank = cards["rank-swap"]
    assert rank["DR"] == pytest.approx((rank["RSLD"] + rank["DLD"] + rank["PLD"]) / 6 + rank["ID"] / 2)
    for card in cards.values():
        assert card["score"] == pytest.approx((card["IL"] + card["DR"]) / 2)
        assert card["RSLD"] >= card["DLD"]
    assert best.options["strongest"] == "linkage by likely moves"


def test_what_is_known() -> None:
    x, y = files()
    a, b = naive.dataset(x, blocks=[2, 4]), naive.dataset(y, blocks=[2, 4])
    card = scorecard(a, b, method=METHODS.make("noise"), known=["x3", "x0", "x5"], counts=[2, 3])
    expected = [distance(a, b, known=known).rate for known in (["x3", "x0"], ["x3", "x0", "x5"])]
    assert card["DLD"] == pytest.approx(np.mean(expected))
    assert card.by_known["DLD"] == pytest.approx(expected)
    assert card.options["known"] == "2 to 3 attributes"
    blocks = scorecard(a, b, method=METHODS.make("projected"), by="blocks", known=["b1", "b0"])
    expected = [distance(a, b, known=known).rate for known in (["b1"], ["b1", "b0"])]
    assert blocks["DLD"] == pytest.approx(np.mean(expected))
    assert blocks.options["known"] == "1 to 2 blocks"
    assert len(blocks.by_known["ProjLD"]) == 2


def test_a_row_per_record() -> None:
    x, y = files()
    a, b = naive.dataset(x, ids=[f"p{i}" for i in range(120)]), naive.dataset(y)
    card = scorecard(a, b, method=METHODS.make("rank-swap", {"p": 7.0}))
    frame = card.per_record
    assert frame["original"].to_list() == [f"p{i}" for i in range(120)]
    for figure in ("DLD", "PLD", "RSLD"):
        assert frame[f"linked_by_{figure}"].mean() == pytest.approx(card[figure])
    assert frame["values_disclosed"].mean() == pytest.approx(card["ID"])
    chances = frame.select("linked_by_DLD", "linked_by_PLD", "linked_by_RSLD", "linked_by_LMLD").to_numpy()
    assert np.array_equal(frame["risk"].to_numpy(), chances.max(axis=1))
    assert frame["loss"].mean() == pytest.approx(card["IL1"], rel=1e-9)


def test_more_than_twelve_attributes() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 14))
    data, noisy = naive.dataset(x), naive.dataset(x + rng.normal(0, 0.1, x.shape))
    card = scorecard(data, noisy, method=METHODS.make("noise"))
    assert len(card.by_known["PLD"]) == 12
    assert "at most 12 known attributes and was left out" in card.options["skipped"]
    with pytest.raises(InputError, match="'classic' score needs PLD"):
        scorecard(data, noisy, method=METHODS.make("noise"), score="classic", counts=[13, 14])


def test_bad_requests() -> None:
    import tsveil as tv

    data = naive.dataset(np.eye(4))
    with pytest.raises(ParameterError, match="'score' parameter of evaluate"):
        scorecard(data, data, score="best")
    series = tv.Dataset.from_arrays({"load": np.eye(4)})
    with pytest.raises(ParameterError, match="'score' parameter of evaluate is not for time series"):
        scorecard(series, series, score="max")


# -- which attacks fit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "settings", "blocks", "expected"),
    [
        (None, {}, [4], ["DLD", "PLD", "CPLD", "RSLD", "ARLD", "ProjLD", "MALD", "SCLD", "OOLD"]),
        ("noise", {}, [4], ["DLD", "PLD", "CPLD", "LKLD", "OOLD"]),
        ("noise", {"correlated": True}, [4], ["DLD", "PLD", "CPLD", "MALD", "LKLD", "OOLD"]),
        ("mdav", {"k": 3}, [2, 2], ["DLD", "PLD", "CPLD", "ProjLD", "OOLD"]),
        ("mdav", {"k": 3}, [1, 1, 1, 1], ["DLD", "PLD", "CPLD", "ARLD", "ProjLD", "OOLD"]),
        ("projected", {"k": 3}, [4], ["DLD", "PLD", "CPLD", "ProjLD", "PSLD", "OOLD"]),
        ("optimal-univariate", {"k": 3}, [4], ["DLD", "PLD", "CPLD", "ARLD", "SDLD", "OOLD"]),
        ("mic1d", {"kappa": 3}, [4], ["DLD", "PLD", "CPLD", "SDLD", "ProjLD", "OOLD"]),
        ("rank-swap", {"p": 5.0}, [4], ["DLD", "PLD", "CPLD", "RSLD", "LMLD", "SCLD", "OOLD"]),
        (
            "rank-swap-distribution",
            {"p": 5.0},
            [4],
            ["DLD", "PLD", "CPLD", "RSLD", "RULD", "RULD2", "LMLD", "SCLD", "OOLD"],
        ),
        (
            "rank-swap-buckets",
            {"buckets": 20},
            [4],
            ["DLD", "PLD", "CPLD", "RSLD", "RULD", "RULD2", "LMLD", "SCLD", "OOLD"],
        ),
    ],
)
def test_attacks_that_fit(
    method: str | None, settings: dict[str, object], blocks: list[int], expected: list[str]
) -> None:
    data = naive.dataset(np.random.default_rng(0).normal(size=(200, 4)), blocks=blocks)
    made = None if method is None else METHODS.make(method, settings)
    assert [attack.figure for attack in fitting(Shape(data.n, data.blocks), made)] == expected


def test_windows_that_fit() -> None:
    data = naive.dataset(np.random.default_rng(0).normal(size=(200, 4)))

    def windows(method: str, **settings: object) -> list[str]:
        attacks = fitting(Shape(data.n, data.blocks), METHODS.make(method, settings))
        return [attack.describe() for attack in attacks[3:-1]]

    assert windows("rank-swap", p=5.0) == [
        "linkage by ranks, within 10", "linkage by likely moves", "linkage by swap chase, within 10",
    ]  # fmt: skip
    assert windows("rank-swap-distribution", p=5.0) == [
        "linkage by ranks, within 20", "linkage by most ranks, within 5", "linkage by most ranks, within 10",
        "linkage by likely moves", "linkage by swap chase",
    ]  # fmt: skip
    assert windows("rank-swap-buckets", buckets=20) == [
        "linkage by ranks, within 20", "linkage by most ranks, within 10", "linkage by most ranks, within 20",
        "linkage by likely moves", "linkage by swap chase",
    ]  # fmt: skip
