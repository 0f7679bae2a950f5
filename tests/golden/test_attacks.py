"""Published and independently computed figures of the attacks on Census, EIA and the thesis' own examples.

SPEC section 11. Where a published table cannot be reproduced to the digit, its findings are tested: which attack wins on which
method, and how clearly.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.alignment import alignment
from tsveil.attack.distance import distance
from tsveil.attack.fuzzy import Aggregation, Family, fuzzy
from tsveil.attack.links import chance_of_links
from tsveil.attack.probabilistic import probabilistic
from tsveil.attack.rank_swap import rank_swap
from tsveil.core.types import Array
from tsveil.measure.evaluate import scorecard
from tsveil.protect.projected import Projected
from tsveil.protect.rank_swap import RankSwap
from tsveil.protect.rank_swap_buckets import RankSwapBuckets
from tsveil.protect.rank_swap_distribution import RankSwapDistribution
from tsveil.protect.univariate import OptimalUnivariate

#: the order of the Census attributes in the reference file, which the published tables follow
CENSUS = [
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL", "FICA",
    "WSALVAL", "ERNVAL",
]  # fmt: skip


def attributes(frame: pl.DataFrame, names: list[str], size: int | None = None) -> tv.Dataset:
    """One block, or blocks of some attributes each (those left over are dropped)."""
    size = size or len(names)
    count = len(names) // size
    blocks = {f"b{i}": names[i * size : (i + 1) * size] for i in range(count)}
    return tv.Dataset.from_frame(frame.select(names[: count * size]), blocks=blocks, times=dict.fromkeys(blocks))


@pytest.fixture(scope="module")
def census(shared_data: Path) -> pl.DataFrame:
    return pl.read_csv(shared_data / "census.csv").select(CENSUS)


@pytest.fixture(scope="module")
def eia(shared_data: Path) -> pl.DataFrame:
    frame = pl.read_csv(shared_data / "eia.csv")
    return frame.select(frame.columns[5:])


def mean_rate(rounds: list[Any]) -> float:
    return float(np.mean([links.rate for links in rounds]))


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("r", "exactly", "at_least"),
    [
        (0, 0.36787944, 1.0), (1, 0.36787944, 0.63212056), (2, 0.18393972, 0.26424112), (3, 0.06131324, 0.08030140),
        (5, 0.00306566, 0.00365985), (10, 1.0138e-7, 1.1143e-7), (15, 2.8132e-13, 3.0000e-13), (20, 1.5121e-19, 1.5875e-19),
        (25, 2.3717e-26, 2.4664e-26), (26, 9.1219e-28, 9.4723e-28), (28, 1.2066e-30, 1.2496e-30),
        (30, 1.3869e-33, 1.4331e-33), (50, 1.2096e-65, 1.2338e-65), (100, 1.071e-158, 1.071e-158),
    ],
)  # fmt: skip
def test_links_by_guessing(r: int, exactly: float, at_least: float) -> None:
    """Table 5.3."""
    assert chance_of_links(r, 100, exactly=True) == pytest.approx(exactly, rel=1e-4)
    assert chance_of_links(r, 100) == pytest.approx(at_least, rel=1e-4)


def test_alignment_of_census(census: pl.DataFrame) -> None:
    data = attributes(census, CENSUS)
    release = OptimalUnivariate(k=50).protect(data, seed=1)
    for more in ({}, {"align": "runs", "k": 50}):
        found = naive.rounds(alignment, data, release, counts=[2, 3, 4, 5], direction="released", **more)
        assert [links.correct for links in found] == pytest.approx([405, 1004, 1065, 1077])
    distinct = [len(np.unique(release.data.values[:, :c], axis=0)) for c in (2, 3, 4, 5)]
    assert distinct == [405, 1004, 1065, 1077]
    found = naive.rounds(alignment, data, release, counts=[2, 3, 4, 5])
    assert [links.correct for links in found] == pytest.approx(distinct)
    assert all(links.hit[links.certain].all() for links in found)
    assert found[-1].certain.sum() > 1050


def test_alignment_of_eia(eia: pl.DataFrame) -> None:
    data = attributes(eia, eia.columns)
    release = OptimalUnivariate(k=50).protect(data, seed=1)
    for more in ({}, {"align": "runs", "k": 50}):
        found = naive.rounds(alignment, data, release, counts=[2, 3, 4, 5], direction="released", **more)
        assert [links.correct for links in found] == pytest.approx([1078, 3200, 3546, 3802])
    assert all(links.hit[links.certain].all() for links in found)


def test_distance_of_univariate_eia(eia: pl.DataFrame) -> None:
    data = attributes(eia, eia.columns)
    release = OptimalUnivariate(k=50).protect(data, seed=1)
    found = naive.rounds(distance, data, release, counts=[2, 3, 4, 5], scaling="own", ties="first")
    assert [links.correct for links in found] == [462, 1489, 1847, 2337]


def test_distance_of_mdav(census: pl.DataFrame, eia: pl.DataFrame) -> None:
    for frame, k, expected in ((census, 3, 0.2932), (census, 10, 0.0729), (eia, 3, 0.2792)):
        data = attributes(frame, frame.columns)
        assert distance(
            data, tv.MDAV(k=k, refine="none", grouping="per-block").protect(data, seed=1)
        ).rate == pytest.approx(100 * expected, abs=0.0051)


def test_projections_of_zscores_microaggregation(census: pl.DataFrame) -> None:
    data = attributes(census, CENSUS, 2)
    release = Projected(k=25, projection="zscores", grouping="fixed").protect(data, seed=1)
    found = naive.block_rounds(data, release, counts=range(2, 7), ties="first")
    assert mean_rate(found) == pytest.approx(90.65, abs=0.005)


@pytest.mark.parametrize(("p", "dld", "rsld"), [(2, 67.8, 72.0), (10, 14.5, 22.4), (20, 2.1, 2.5)])
def test_rank_swapping_of_census(census: pl.DataFrame, p: int, dld: float, rsld: float) -> None:
    data = attributes(census, CENSUS[:6])
    rates = []
    for seed in range(8):
        release = RankSwap(p=float(p)).protect(data, seed=seed)
        ranks = naive.rounds(rank_swap, data, release, p=p)
        assert all(links.hit[links.certain].all() for links in ranks)
        rates.append((mean_rate(naive.rounds(distance, data, release)), mean_rate(ranks)))
        assert rates[-1][1] >= rates[-1][0]
    assert np.mean(rates, axis=0) == pytest.approx([dld, rsld], rel=0.15)


def circle() -> Array:
    """Two attributes without correlation, each twice (thesis 3.1.3)."""
    angles = [math.pi * i / 20 for i in (1, 3, 5, 7, 9)]
    points = [
        (s * math.cos(t), r * math.sin(t)) for t in angles for s, r in itertools.product((1, -1), repeat=2)
    ]  # fmt: skip
    return np.array([point * 2 for point in points])


def sphere() -> Array:
    """Three attributes without correlation, each three times."""
    angles = [math.pi * i / 20 for i in (1, 3, 5, 7, 9)]
    points = [
        (q * math.cos(f) * math.cos(t), r * math.cos(f) * math.sin(t), s * math.sin(f))
        for t in angles
        for f in angles
        for q, r, s in itertools.product((1, -1), repeat=3)
    ]
    return np.array([point * 3 for point in points])


@pytest.mark.parametrize(("points", "k", "linked", "score"), [(circle(), 2, 75, 43.75), (sphere(), 4, 55, 38.75)])
def test_circle_and_sphere(points: Array, k: int, linked: float, score: float) -> None:
    different = points.shape[1] // (2 if len(points) == 20 else 3)
    names = [f"a{j}" for j in range(points.shape[1])]
    frame = pl.DataFrame(points, schema=names, orient="row")
    blocks = {f"b{i}": names[i::different] for i in range(different)}
    data = tv.Dataset.from_frame(frame, blocks=blocks, times=dict.fromkeys(blocks))
    release = tv.MDAV(k=k, refine="none", grouping="per-block").protect(data, seed=1)
    card = scorecard(data, release.data, method=release.method, by="blocks", score="classic", scaling="own")
    assert card["IL"] == pytest.approx(0, abs=1e-9)
    assert card["DLD"] == pytest.approx(linked)
    assert card["PLD"] == pytest.approx(linked)
    assert card["ID"] == 100
    assert card["score"] == pytest.approx(score)


# -- findings ---------------------------------------------------------------------------------------------------------


def test_alignment_beats_the_generic_attacks_on_univariate_microaggregation(
    census: pl.DataFrame, eia: pl.DataFrame
) -> None:
    """Thesis 4.2.2: alignment first, then probability, then distance by the files' own scales."""
    for frame in (census, eia):
        data = attributes(frame, frame.columns)
        release = OptimalUnivariate(k=50).protect(data, seed=1)
        counts = [2, 3, 4, 5]
        ours = mean_rate(naive.rounds(alignment, data, release, counts=counts))
        assert ours > mean_rate(naive.rounds(probabilistic, data, release, counts=counts))
        assert ours > mean_rate(naive.rounds(distance, data, release, counts=counts))


def test_projections_beat_distance_on_projected_microaggregation(census: pl.DataFrame, eia: pl.DataFrame) -> None:
    """Thesis 4.3.3: by a wide margin on zscores microaggregation, and also on MDAV."""
    for frame, size in ((census, 3), (census, 4), (eia, 3)):
        data = attributes(frame, frame.columns, size)
        blocks = len(data.blocks)
        for k in (5, 25):
            release = Projected(k=k, projection="zscores", grouping="fixed").protect(data, seed=1)
            ours = mean_rate(naive.block_rounds(data, release, counts=range(2, blocks + 1)))
            theirs = mean_rate(naive.rounds(distance, data, release, counts=[size * b for b in range(2, blocks + 1)]))
            assert ours > 2 * theirs


def test_p_distribution_and_p_buckets_resist_the_attack_by_ranks(census: pl.DataFrame, eia: pl.DataFrame) -> None:
    """Thesis 4.1.3: far fewer links than on plain swapping of the same strength, and what seems certain may be wrong."""
    for frame, p, buckets in ((census, 10.0, 25), (census, 20.0, 10), (eia, 4.0, 50)):
        data = attributes(frame, frame.columns)
        plain = RankSwap(p=p).protect(data, seed=1)
        on_plain = naive.rounds(rank_swap, data, plain, p=p)
        assert mean_rate(on_plain) > 1.5 * mean_rate(naive.rounds(distance, data, plain))
        spread = RankSwapDistribution(p=p).protect(data, seed=1)
        by_ranks = naive.rounds(rank_swap, data, spread, p=2 * p)
        assert mean_rate(by_ranks) < 0.6 * mean_rate(on_plain)
        in_buckets = RankSwapBuckets(buckets=buckets).protect(data, seed=1)
        bucket = -(-data.n // buckets)
        by_ranks = naive.rounds(rank_swap, data, in_buckets, window=2 * bucket)
        by_distance = naive.rounds(distance, data, in_buckets)
        assert mean_rate(by_ranks) < mean_rate(by_distance)
        # Knowing all attributes does not help: the right record drops out of one of the sets.
        assert by_ranks[-1].rate < 0.75 * by_distance[-1].rate
        assert not by_ranks[-1].hit[by_ranks[-1].certain].all()
        # The annotated union is about as good as distance (Table 4.6).
        union = naive.rounds(rank_swap, data, in_buckets, window=2 * bucket, rule="union")
        assert mean_rate(union) > mean_rate(by_ranks)
        assert mean_rate(union) == pytest.approx(mean_rate(by_distance), rel=0.3)


def _pair(one: Array, other: Array, rows: Any) -> tuple[tv.Dataset, tv.Dataset]:
    def dataset(name: str, table: Array) -> tv.Dataset:
        columns = [f"{name}{j}" for j in range(table.shape[1])]
        frame = pl.DataFrame(table[rows], schema=columns, orient="row", nan_to_null=True)
        return tv.Dataset.from_frame(frame, blocks={name: columns}, times={name: None}, missing="keep")

    return dataset("a", one), dataset("b", other)


@pytest.fixture(scope="module")
def uncommon(shared_data: Path) -> dict[str, tuple[Array, Array]]:
    """The two attribute sets of some files (thesis 5.2.1); V numbers count the columns of the UCI files from 1."""
    wdbc = pl.read_csv(shared_data / "wdbc.csv")
    numeric = [name for name in wdbc.columns if wdbc[name].dtype.is_numeric()]
    malignant = (wdbc[next(n for n in wdbc.columns if n not in numeric)] == "M").cast(pl.Float64)
    cells = {2: malignant.to_numpy()} | {i + 3: wdbc[name].to_numpy() for i, name in enumerate(numeric)}
    ionosphere = pl.read_csv(shared_data / "ionosphere.csv")
    abalone = pl.read_csv(shared_data / "abalone.csv").drop("Sex").to_numpy().astype(float)
    census = pl.read_csv(shared_data / "census.csv").to_numpy().astype(float)
    iris, boston, dermatology, water = (
        pl.read_csv(shared_data / f"{name}.csv") for name in ("iris", "boston", "dermatology", "water_treatment")
    )

    def named(frame: pl.DataFrame, *sets: str) -> tuple[Array, Array]:
        one, other = (frame.select(names.split()).cast(pl.Float64).to_numpy() for names in sets)
        return one, other

    def stack(columns: Any) -> Array:
        return np.stack(list(columns), axis=1).astype(np.float64)

    return {
        "wdbc": (
            stack(cells[v] for v in (2, 4, 6, 8, 10, 12, 13, 18, 20, 26, 29, 32)),
            stack(cells[v] for v in (5, 9, 15, 16, 19, 22, 25, 27, 28, 30)),
        ),
        "ionosphere": (
            stack(ionosphere[f"V{v}"].to_numpy() for v in (5, 7, 9, 11, 13, 20)),
            stack(ionosphere[f"V{v}"].to_numpy() for v in (15, 17, 19, 21, 23, 30)),
        ),
        "abalone": (abalone[:, [2, 3, 5]], abalone[:, [0, 1, 4, 6]]),
        "census": (census[:, [0, 2, 7, 8, 9, 11, 12]], census[:, [1, 3, 4, 5, 6, 10]]),
        # All 527 days: 147 of them have gaps.
        "water": named(
            water,
            "PH-E DBO-E SS-E SSV-E SED-E COND-E DBO-D SSV-D DBO-S RD-DBO-S RD-DQO-S",
            "PH-P DBO-P SS-P SSV-P SED-P COND-P PH-D DQO-D COND-D SS-S SED-S COND-S RD-DBO-G RD-DQO-G",
        ),
        "iris": named(iris, "sepal_length petal_length", "sepal_width petal_width"),
        "housing": named(boston, "INDUS RM AGE RAD", "NOX TAX MEDV"),
        "dermatology": named(
            dermatology,
            "polygonal_papules follicular_papules oral_mucosal_involvement knee_and_elbow_involvement scalp_involvement "
            "melanin_incontinence exocytosis focal_hypergranulosis follicular_horn_plug",
            "clubbing_of_the_rete_ridges elongation_of_the_rete_ridges thinning_of_the_suprapapillary_epidermis "
            "vacuolisation_and_damage_of_basal_layer saw_tooth_appearance_of_retes perifollicular_parakeratosis "
            "band_like_infiltrate",
        ),
    }


def test_files_without_common_attributes(uncommon: dict[str, tuple[Array, Array]]) -> None:
    """Thesis 5.2: 5 to 20 of 100 random records, far more than by guessing; OWA and twofold beat Sugeno, Q^t and Q^s Q^e.

    True of the files with many attributes (Tables 5.4 to 5.7, and water treatment "around 10"). The thesis reports poor results
    for iris, housing and dermatology, and so it is here: 3 and 5 with few attributes, and guessing with the coarse
    marks from 0 to 3 of dermatology.
    """

    def right(name: str, aggregation: Aggregation, quantifier: Family, **more: Any) -> float:
        found = []
        for seed in range(10):
            one, other = uncommon[name]
            rows = np.random.default_rng(seed).choice(len(one), 100, replace=False)
            a, b = _pair(one, other, rows)
            found.append(fuzzy(a, b, aggregation=aggregation, quantifier=quantifier, **more).correct)
        return float(np.mean(found))

    names = ["wdbc", "ionosphere", "abalone", "census", "water"]
    for name in names:
        links = right(name, "owa", "threshold")
        assert 5 < links < 25
        assert chance_of_links(int(links), 100) < 1e-2
    assert right("water", "owa", "threshold") == pytest.approx(10, abs=2)
    assert np.isnan(np.hstack(uncommon["water"])).any()
    assert 2 < right("iris", "owa", "threshold") < 5 < 1 + right("housing", "owa", "threshold") < 8
    assert right("dermatology", "owa", "threshold") < 2
    by_kind: dict[Aggregation, float] = {
        kind: sum(right(name, kind, "threshold") for name in names) for kind in ("owa", "twofold", "sugeno")
    }
    assert min(by_kind["owa"], by_kind["twofold"]) > 1.3 * by_kind["sugeno"]
    by_quantifier: dict[Family, float] = {
        Q: sum(right(name, "owa", Q) for name in names) for Q in ("exponent", "sigmoid", "threshold")
    }
    assert by_quantifier["threshold"] > by_quantifier["sigmoid"] > 1.2 * by_quantifier["exponent"]
    # The published averages of ten runs for ionosphere, ranging, distance: 14.4, 21.8 and 21.9.
    for quantifier, published in (("exponent", 14.4), ("sigmoid", 21.8), ("threshold", 21.9)):
        assert right("ionosphere", "owa", quantifier, normalise="ranging") == pytest.approx(published, rel=0.2)  # type: ignore[arg-type]
