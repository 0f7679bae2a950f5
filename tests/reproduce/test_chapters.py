"""What each chapter computes, on made-up files of a few records: held against the definitions, which need not be quick here.

The real files are large and not everybody has them; whether their figures agree with the printed ones is asked in test_experiments.py.
"""

from __future__ import annotations

import gzip
import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

import naive
import naive_attacks
import naive_micro
from tsveil.core.errors import InputError
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.data.synthetic import random_series, sine_series
from tsveil.protect.rank_swap import RankSwap
from tsveil.release.release import Release
from tsveil.reproduce import chapter2, chapter3, chapter4, chapter5, pattern, series
from tsveil.reproduce.microdata import CENSUS, EIA, EIA_NINE, WATER_NINE
from tsveil.reproduce.printed import Row
from tsveil.reproduce.source import FILES, Source

N = 24


def families(rng: np.random.Generator, columns: Sequence[str], n: int = N) -> pl.DataFrame:
    """Positive attributes, neighbours of which are correlated."""
    base = rng.lognormal(3, 0.5, size=(n, 1))
    return pl.DataFrame(
        np.round(base * rng.lognormal(0, 0.4, size=(n, len(columns))) + 1, 3), schema=list(columns), orient="row"
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A folder with all files that the experiments ask for, each with the right columns and few rows."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    families(rng, CENSUS).write_csv(folder / "census.csv")
    families(rng, EIA, N + 1).write_csv(folder / "eia.csv")
    for file, one, other in chapter5.PARTS.values():
        if file not in ("census.csv", "wdbc.csv"):
            same_in_all(rng, [*one.split(), *other.split()]).write_csv(folder / file)
    # One record of the water plant is not complete, and one attribute is none of the nine.
    columns = list(dict.fromkeys([*WATER_NINE, *" ".join(chapter5.PARTS["Water-Treatment"][1:]).split()]))
    water = families(rng, columns, N + 1).with_row_index("row")
    gap = pl.when(pl.col("row") == 3).then(None).otherwise(pl.col("DBO-E")).alias("DBO-E")
    water.with_columns(gap).drop("row").write_csv(folder / "water_treatment.csv")
    tumours = same_in_all(rng, [f"x{j}" for j in range(30)])
    malignant = pl.Series("diagnosis", ["M" if high else "B" for high in tumours["x0"] > tumours["x0"].median()])
    tumours.insert_column(0, malignant).write_csv(folder / "wdbc.csv")
    with gzip.open(folder / "m3_long.csv.gz", "wb") as packed:
        packed.write(competition(rng).write_csv().encode())
    families(rng, [f"2018-01-{t + 1:02d}" for t in range(28)]).insert_column(
        0, pl.Series("meter", [f"m{i}" for i in range(N)])
    ).write_csv(folder / "smart_meter.csv")
    seasons(rng).write_csv(folder / "football.csv")
    days = [f"2020-01-{t + 1:02d}" for t in range(24)]
    families(rng, days, 12).insert_column(0, pl.Series("company", [f"c{i}" for i in range(12)])).write_csv(
        folder / "stocks.csv"
    )
    found = Source(folder)
    assert found.lacks(list(FILES)) == []
    return found


def same_in_all(rng: np.random.Generator, columns: Sequence[str]) -> pl.DataFrame:
    """All attributes say the same on other scales, so that two files with none in common can be linked without a fault."""
    base = rng.permutation(np.arange(N) ** 1.5)
    return pl.DataFrame({name: 10 * j + (j + 1) * base for j, name in enumerate(columns)})


def competition(rng: np.random.Generator) -> pl.DataFrame:
    """Twelve series of different lengths, the last two points of which are to be forecast."""
    rows = []
    for i in range(12):
        values = 100 + rng.normal(size=14 + i).cumsum()
        for t, value in enumerate(values):
            rows.append((f"N{i:04d}", "future" if t >= len(values) - 2 else "in", t, round(float(value), 3)))
    return pl.DataFrame(rows, schema=["series_id", "part", "t", "value"], orient="row")


def seasons(rng: np.random.Generator) -> pl.DataFrame:
    """Two leagues with teams of the same names, two variables, eight seasons."""
    rows = [
        (league, f"team{team}", 2000 + season, variable, int(rng.integers(10, 90)))
        for league in ("north", "south")
        for team in range(5)
        for variable in ("goals", "points")
        for season in range(8)
    ]
    return pl.DataFrame(rows, schema=["league", "team", "season", "variable", "value"], orient="row")


def rows_are(monkeypatch: pytest.MonkeyPatch, module: ModuleType, rows: Sequence[Row]) -> None:
    """Have the tables of a chapter ask for these rows only, with groups that fit a few records."""

    def keyed(table: str) -> Iterator[Row]:
        yield from rows

    monkeypatch.setattr(module, "row_keys", keyed)


def approx(figures: dict[str, float]) -> object:
    return pytest.approx(figures, rel=1e-9, abs=1e-9)


def classic(data: Dataset, release: Release, counts: Sequence[int]) -> dict[str, float]:
    """IL, DLD and ID of the thesis by the slow versions; the intruder knows the first c attributes, for each c of `counts`."""
    X, Y = data.values, release.data.values
    right = [float((naive_micro.own_links(X[:, :c], Y[:, :c])[0] == np.arange(data.n)).mean()) for c in counts]
    return {
        "IL": statistics.fmean(naive_attacks.losses(X, Y)),
        "DLD": 100 * statistics.fmean(right),
        "ID": statistics.fmean(naive_attacks.interval_disclosure(X, Y, range(1, 11))),
    }


def some_of(figures: dict[str, float], names: Sequence[str]) -> dict[str, float]:
    return {name: figures[name] for name in names}


# -- chapter 2 --------------------------------------------------------------------------------------------------------


def test_records_are_counted(source: Source) -> None:
    counted = {row[0]: cells["records"] for row, cells in chapter2_sizes(source).items()}
    assert counted["Census"] == N
    assert counted["EIA"] == N + 1
    assert counted["Iris"] == N


def chapter2_sizes(source: Source) -> dict[Row, dict[str, float]]:
    (experiment,) = (one for one in chapter2.EXPERIMENTS if one.name == "004-2.6")
    return {row: dict(cells) for row, cells in experiment.run(source).items()}


# -- chapter 3 --------------------------------------------------------------------------------------------------------

KINDS = [("correlated", "MDAV", "3"), ("scattered", "Zscores", "3"), ("correlated", "Mic1D", "4")]


@pytest.mark.parametrize("name", ["EIA", "Water"])
def test_nine_attributes_in_three_blocks(name: str, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_are(monkeypatch, chapter3, KINDS)
    found = chapter3.scores("any", name, source)
    nine = EIA_NINE if name == "EIA" else WATER_NINE
    for row in KINDS:
        data, release = chapter3.protect_nine(source, name, row)
        assert sorted(data.columns) == sorted(nine)
        first = nine[:3] if row[0] == "correlated" else nine[::3]
        assert tuple(data.columns[:3]) == first
        counts = list(range(1, 10)) if row[1] == "Mic1D" else [6, 9]
        figures = dict(found[row])
        assert some_of(figures, ["IL", "DLD", "ID"]) == approx(classic(data, release, counts))
        assert figures["DR"] == pytest.approx((figures["DLD"] + figures["PLD"]) / 4 + figures["ID"] / 2)
        assert figures["Score"] == pytest.approx((figures["IL"] + figures["DR"]) / 2)
    complete, _ = chapter3.nine(source, name)
    assert complete.null_count().to_numpy().sum() == 0
    assert complete.height == (N + 1 if name == "EIA" else N)


def distinct(release: Release, known: Sequence[str]) -> float:
    """Records per distinct published row."""
    places = [release.data.columns.index(column) for column in known]
    return release.data.n / naive_micro.distinct_rows(release.data.values[:, places])


def test_real_anonymity_of_one_two_and_three_blocks(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_are(monkeypatch, chapter3, KINDS[:2])
    found = chapter3.anonymity("any", "EIA", source)
    for row in KINDS[:2]:
        data, release = chapter3.protect_nine(source, "EIA", row)
        expected = {f"{g}G": distinct(release, data.columns[: 3 * g]) for g in (1, 2, 3)}
        expected["SSE"] = naive_micro.sse(data.values, release.data.values, "printed")
        assert dict(found[row]) == approx(expected)
        assert expected["1G"] >= 3  # the groups of the first block


def test_mean_real_anonymity_over_known_sets(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_are(monkeypatch, chapter3, KINDS)
    found = chapter3.mean_anonymity("any", "EIA", source)
    for row in KINDS:
        _, release = chapter3.protect_nine(source, "EIA", row)
        for case, sets in chapter3.KNOWN[row[0]].items():
            each = [distinct(release, [EIA_NINE[int(a) - 1] for a in known]) for known in sets.split()]
            assert found[row][case] == pytest.approx(statistics.fmean(each))


def test_known_sets_come_from_as_many_blocks_as_they_say() -> None:
    for kind, cases in chapter3.KNOWN.items():
        for case, sets in cases.items():
            for known in sets.split():
                numbers = [int(a) - 1 for a in known]
                blocks = {a // 3 if kind == "correlated" else a % 3 for a in numbers}
                assert len(blocks) == int(case[0]), (kind, case, known)


def test_blocks_of_so_many_attributes(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("EIA", "PCP", "4", "3"), ("Census", "MDAV", "5", "3")]
    rows_are(monkeypatch, chapter3, rows)
    found = chapter3.blockwise_scores(source)
    for row, blocks in zip(rows, (2, 2), strict=True):
        name, method, a, k = row[0], row[1], int(row[2]), int(row[3])
        data, release = chapter3.blockwise(source, name, method, a, k)
        assert [len(block.columns) for block in data.blocks] == [a] * blocks  # what is left over is dropped
        counts = [a * known for known in range(2, blocks + 1)]
        assert some_of(dict(found[row]), ["IL", "DLD", "ID"]) == approx(classic(data, release, counts))


# -- chapter 4 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "p"), [("004-4.3", "20"), ("004-4.4", "10"), ("004-4.5", "6")])
def test_rank_swapping_is_the_mean_of_its_seeds(
    table: str, p: str, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_are(monkeypatch, chapter4, [("EIA", p)])
    monkeypatch.setattr(chapter4, "SEEDS", range(2))
    (figures,) = (dict(cells) for cells in chapter4.swapping(table, source).values())
    data = chapter4.whole(source, "EIA")
    releases = [chapter4.swapped_release(source, table, "EIA", float(p), seed) for seed in range(2)]
    assert not np.array_equal(releases[0].data.values, releases[1].data.values)
    each = [statistics.fmean(naive_attacks.losses(data.values, release.data.values)) for release in releases]
    disclosed = [
        statistics.fmean(naive_attacks.interval_disclosure(data.values, release.data.values, range(1, 11)))
        for release in releases
    ]
    assert figures["IL"] == pytest.approx(statistics.fmean(each))
    assert figures["ID"] == pytest.approx(statistics.fmean(disclosed))
    risk = (2 * figures["RSLD"] + figures["DLD"] + figures["PLD"] + 2 * figures["ID"]) / 6
    assert figures["Score"] == pytest.approx((figures["IL"] + risk) / 2)
    # Only values change places.
    for release in releases:
        assert np.array_equal(np.sort(release.data.values, axis=0), np.sort(data.values, axis=0))


def right_links(X: Array, Y: Array, among: Callable[[int], Iterable[int]]) -> float:
    """Originals linked to the nearest of their candidates, standardised by the original; a tie of t counts 1/t."""
    factor = [1 / float(column.std()) for column in X.T]
    right = 0.0
    for i in range(len(X)):
        near = naive_attacks.nearest(X[i].tolist(), Y, sorted(among(i)), factor)
        right += i in near and 1 / len(near)
    return right


def test_links_by_ranks_with_half_all_and_the_best_number_of_attributes(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("4.3", "EIA", "20", known) for known in ("half", "all", "best")]
    rows_are(monkeypatch, chapter4, rows)
    found = chapter4.curves(source)
    data = chapter4.whole(source, "EIA")
    released = chapter4.swapped_release(source, "004-4.3", "EIA", 20.0, 0)
    assert np.array_equal(released.data.values, RankSwap(p=20, taken="skip").protect(data, seed=0).data.values)
    window = 20 * data.n // 100

    def rate(c: int) -> float:
        X, Y = data.values[:, :c], released.data.values[:, :c]
        right = right_links(X, Y, lambda i: set.intersection(*naive_attacks.rank_sets(X, Y, i, window)))
        return 100 * right / data.n

    rates = [rate(c) for c in range(1, 11)]
    half, every, best = (found[row]["links"] for row in rows)
    assert half == pytest.approx(rates[4])
    assert every == pytest.approx(rates[9])
    assert best == pytest.approx(max(rates))


def test_annotated_unions_of_two_widths(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_are(monkeypatch, chapter4, [("EIA", "8")])
    monkeypatch.setattr(chapter4, "SEEDS", range(2))
    (figures,) = (dict(cells) for cells in chapter4.unions(source).values())
    data = chapter4.whole(source, "EIA")
    expected: dict[str, list[float]] = {"DB-RL": [], "half": [], "whole": []}
    for seed in range(2):
        X, Y = data.values[:, :5], chapter4.swapped_release(source, "004-4.4", "EIA", 8.0, seed).data.values[:, :5]
        expected["DB-RL"].append(right_links(X, Y, lambda i: range(data.n)))
        for name, percent in (("half", 4), ("whole", 8)):
            window = percent * data.n // 100
            sets = [naive_attacks.rank_sets(X, Y, i, window) for i in range(data.n)]
            found = right_links(X, Y, lambda i, sets=sets: naive_attacks.in_most(sets[i]) if any(sets[i]) else [])  # type: ignore[misc]
            expected[name].append(found)
    assert figures == approx({name: statistics.fmean(each) for name, each in expected.items()})


def test_univariate_microaggregation(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_are(monkeypatch, chapter4, [("Census", "3")])
    ((_, figures),) = chapter4.univariate(source).items()
    frame = source.frame("census.csv").select(CENSUS).to_numpy()
    optimal, heuristic = np.empty_like(frame), np.empty_like(frame)
    for j, column in enumerate(frame.T):
        order = np.argsort(column)
        # All ways to cut the sorted values into runs of 3 to 5.
        costs: list[tuple[float, list[int]]] = [(0.0, [])]
        for end in range(1, N + 1):
            ways = [
                (costs[start][0] + float(column[order[start:end]].var() * (end - start)), [*costs[start][1], end])
                for start in range(max(0, end - 5), end - 2)
            ]
            costs.append(min(ways, default=(np.inf, [])))
        for start, end in itertools.pairwise([0, *costs[N][1]]):
            optimal[order[start:end], j] = column[order[start:end]].mean()
        labels = naive.mdav(column[:, None], 3, "paper")
        for label in set(labels.tolist()):
            heuristic[labels == label, j] = column[labels == label].mean()
    assert figures["Optimal"] == pytest.approx(naive_micro.sse(frame, optimal, "printed"))
    assert figures["MDAV"] == pytest.approx(naive_micro.sse(frame, heuristic, "printed"))


def test_attacks_on_optimal_groups(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    from tsveil.protect.univariate import OptimalUnivariate

    # The 50 of the thesis is more than there are records here.
    monkeypatch.setattr(chapter4, "OptimalUnivariate", lambda k: OptimalUnivariate(k=3))
    found = chapter4.alignment_links(source)
    assert set(found) == set(itertools.product(("Census", "EIA"), ("A-RL", "P-RL", "DB-RL")))
    for name in ("Census", "EIA"):
        data = chapter4.whole(source, name)
        released = OptimalUnivariate(k=3).protect(data, seed=1).data.values
        for c in (2, 5):
            first, _ = naive_micro.own_links(data.values[:, :c], released[:, :c])
            assert found[name, "DB-RL"][str(c)] == (first == np.arange(data.n)).sum()
            assert 0 <= found[name, "P-RL"][str(c)] <= data.n
            # Who knows how the groups were made links at least one in three of each group.
            assert found[name, "A-RL"][str(c)] >= data.n / 5


@pytest.mark.parametrize(("table", "name"), [("004-4.10", "Census"), ("004-4.11", "EIA")])
def test_scores_that_count_the_attack_by_projections(
    table: str, name: str, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ("Zscores", "3", "3")
    rows_are(monkeypatch, chapter4, [row])
    figures = dict(chapter4.scores_with_projections(table, name, source)[row])
    plain = dict(chapter4.traditional("any", name, source)[row])
    assert figures["ScoreOld"] == plain["Score"] == pytest.approx((plain["IL"] + plain["DR"]) / 2)
    distance, chance, projection = figures["DLD"], figures["PLD"], figures["ProjLD"]
    mean = (distance + chance + projection) / 3 if table == "004-4.10" else (chance + projection) / 2
    most = max(distance, chance, projection)
    for figure, linkage in (("ScoreNew", mean), ("ScoreMax", most)):
        assert figures[figure] == pytest.approx((figures["IL"] + (linkage + figures["ID"]) / 2) / 2)
    assert figures["ScoreMax"] >= figures["ScoreNew"]


# -- chapter 5 --------------------------------------------------------------------------------------------------------


def test_files_that_say_the_same_are_linked_without_a_fault(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter5, "DRAWS", 2)
    monkeypatch.setattr(chapter5, "RECORDS", 10)
    rows_are(monkeypatch, chapter5, [("N1", "DB-RL"), ("N2", "DB-RL")])
    found = chapter5.links_without_common_attributes("004-5.4", "Abalone", source)
    # Aggregates of values that are all the same are this value; a Sugeno integral of values beyond 0..1 is not.
    for row, cells in found.items():
        assert set(cells) == {"OWA-e", "OWA-s", "OWA-t", "SI-e", "SI-s", "SI-t", "TI-et", "TI-st", "TI-tt"}
        assert {cells[name] for name in ("OWA-e", "OWA-s", "OWA-t")} == {10.0}
        if row[0] == "N1":
            assert set(cells.values()) == {10.0}


def test_columns_with_unknown_quantifiers_are_left_out(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter5, "DRAWS", 1)
    monkeypatch.setattr(chapter5, "RECORDS", 10)
    rows_are(monkeypatch, chapter5, [("N1", "P-RL")])
    ((_, cells),) = chapter5.links_without_common_attributes("004-5.7", "WDBC", source).items()
    assert set(cells) == {"OWA-e", "OWA-s", "OWA-t", "SI-e", "SI-s", "SI-t"}
    assert all(0 <= links <= 10 for links in cells.values())


def test_the_diagnosis_is_the_first_of_the_numbered_attributes(source: Source) -> None:
    one, other = chapter5.two_parts(source, "WDBC")
    frame = source.frame("wdbc.csv")
    assert one[:, 0].tolist() == (frame["diagnosis"] == "M").cast(pl.Float64).to_list()
    assert one[:, 1].tolist() == frame["x1"].to_list()  # V4
    assert other[:, -1].tolist() == frame["x27"].to_list()  # V30


def test_the_best_of_all_ways_for_files_without_a_table(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter5, "DRAWS", 1)
    monkeypatch.setattr(chapter5, "RECORDS", 10)
    rows_are(monkeypatch, chapter5, [("Iris",), ("Water-Treatment",)])
    found = chapter5.remarks(source)
    assert found["Iris",]["links"] == 10.0
    assert 0 <= found["Water-Treatment",]["links"] <= 10  # in which a value is missing


# -- series -----------------------------------------------------------------------------------------------------------


def test_forecasters_are_the_known_parts_at_ten_points(source: Source) -> None:
    data = series.forecasters(source)
    assert (data.n, len(data.columns)) == (12, 10)
    known = source.frame("m3_long.csv.gz").filter(pl.col("part") == "in", pl.col("series_id") == "N0003")["value"]
    row = data.values[list(data.ids).index("N0003")]
    assert row[0] == pytest.approx(known[0])
    assert row[-1] == pytest.approx(known[-1])
    sizes = series.sizes("any", source)
    assert sizes["Forecasters",] == {"records": 12, "series": 1, "length": 10, "elements": 10}


def test_a_club_is_a_team_of_a_league(source: Source) -> None:
    data = series.football(source)
    assert data.n == 10
    assert {block.name for block in data.series} == {"goals", "points"}
    assert "north/team0" in data.ids
    assert "south/team0" in data.ids


def test_days_beyond_those_of_the_paper_are_left_out(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(series.prices(source).columns) == 24
    monkeypatch.setattr(series, "DAYS", 20)
    assert len(series.prices(source).columns) == 20


@pytest.mark.parametrize(
    ("read", "row"),
    [("forecasters", ("eu", "1", "3")), ("football", ("sts", "8", "2")), ("prices", ("eu", "2", "3"))],
)
def test_loss_and_risk_of_series(read: str, row: Row, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_are(monkeypatch, series, [row])
    highest, mean = (dict(series.scores("any", read, dr1, source)[row]) for dr1 in ("max", "mean"))
    data = {"forecasters": series.forecasters, "football": series.football, "prices": series.prices}[read](source)
    blocks = 2 if read != "forecasters" else 1
    width = len(data.columns) // blocks
    for figures, best in ((highest, max), (mean, lambda *both: sum(both) / 2)):
        assert figures["DR1"] == pytest.approx(best(figures["EULD"], figures["STSLD"]))
        assert figures["DR"] == pytest.approx((figures["DR1"] + figures["ID"]) / 2)
        assert figures["Score"] == figures["score"] == pytest.approx((figures["IL"] + figures["DR"]) / 2)
    if read == "forecasters":
        # The release again, by the slow version.
        labels = naive.mdav(data.values, 3, "paper")
        released = np.array([data.values[labels == label].mean(axis=0) for label in labels])
        for figure, distance in (("EULD", "euclidean"), ("STSLD", "sts")):
            parts = [data.values[:, i * width : (i + 1) * width] for i in range(blocks)]
            _, link, _ = naive.series_links(parts, [released], distance)
            assert highest[figure] == pytest.approx(100 * (link == np.arange(data.n)).mean())


# -- (n,l,k)-anonymity ------------------------------------------------------------------------------------------------


@pytest.fixture
def few_households(monkeypatch: pytest.MonkeyPatch, source: Source) -> Source:
    """Only 16 of the 24 households and groups of 3 to 5; nothing is kept from another test."""
    monkeypatch.setattr(pattern, "HOUSEHOLDS", 16)
    return Source(source.folder)


def test_as_many_households_as_the_paper_has(few_households: Source) -> None:
    data = pattern.households(few_households)
    assert data.values.shape == (16, 28)
    assert list(data.ids) == [f"m{i}" for i in range(16)]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "football.csv").write_text("league,team\na,b\n")
    with pytest.raises(InputError, match=r"football\.csv has no column 'season'"):
        series.football(Source(tmp_path))


def test_figures_seven_and_nine(few_households: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    study = pl.DataFrame(
        [
            {
                "heuristic": how,
                "l": l,
                "k": k,
                "NormDiv": 100.0 * (how == "stage 1") + l + k / 100,
                "std shift": k - l / 100,
            }
            for how in ("stage 1", "mth")
            for l in pattern.LS
            for k in pattern.KS
        ]
    ).filter((pl.col("heuristic") == "mth") | (pl.col("l") == 11))
    asked: list[object] = []

    def studied(data: Dataset, **options: object) -> pl.DataFrame:
        asked.append((data.n, options))
        return study

    monkeypatch.setattr(pattern, "nlk_study", studied)
    found = pattern.divergence(few_households)
    assert found["k=20,stage-1",]["figure"] == pytest.approx(111.2)
    assert found["k=20,(10,20,k)",]["figure"] == pytest.approx(20.2)
    assert found["k=10,(10,20,k)",]["figure"] == pytest.approx(20.1)
    assert found["rank-correlation-with-k",]["figure"] == 1.0
    assert found["rank-correlation-with-l",]["figure"] == 1.0
    found = pattern.spread(few_households)
    assert found["largest",]["figure"] == pytest.approx(20 - 0.11)
    assert found["k=10,(10,20,k)",]["figure"] == pytest.approx(9.8)
    assert found["rank-correlation-with-k",]["figure"] == 1.0
    pairs = [(10, l) for l in pattern.LS]
    assert asked == [(16, {"pairs": pairs, "ks": pattern.KS, "heuristics": ("mth",)})]  # once for both figures


def test_how_far_single_values_move(few_households: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    from tsveil.protect.nlk import NLK

    used: dict[int, Release] = {}

    class Smaller:
        """A third of the groups that are asked for, which fit 16 households."""

        def __init__(self, n: int, l: int, k: int, heuristic: str, grouping: str) -> None:
            self.method, self.k = NLK(n=2, l=3, k=k // 3, heuristic="mth"), k

        def protect(self, data: Dataset, seed: int) -> Release:
            used[self.k] = self.method.protect(data, seed=seed)
            return used[self.k]

    monkeypatch.setattr(pattern, "NLK", Smaller)
    found = pattern.classes(few_households)
    assert sorted(used) == list(range(10, 16))
    data = pattern.households(few_households).values

    def moved(k: int) -> Array:
        away: Array = 100 * np.abs(used[k].data.values - data) / np.abs(data)
        return away

    assert found["k=10,below-2",]["figure"] == pytest.approx(100 * (moved(10) <= 2).mean())
    assert found["k=15,below-20",]["figure"] == pytest.approx(100 * (moved(15) <= 20).mean())


def test_series_of_either_kind(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "random_series", lambda seed: random_series(24, 18, seed=seed))
    monkeypatch.setattr(pattern, "sine_series", lambda seed: sine_series(24, 18, seed=seed))
    found = pattern.synthetic(source)
    assert set(found) == {("random",), ("sine",)}
    for cells in found.values():
        assert set(cells) == {f"{what},k={k}" for what in ("divergence", "shift") for k in (10, 20)}
        # Of 24 series 20 or more must be one group, which cannot lose less than groups of 10.
        assert 0 < cells["divergence,k=10"] < cells["divergence,k=20"]


def test_loss_saved_by_either_heuristic(few_households: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = {"mth": {k: 10.0 + k for k in range(3, 9)}, "mil": dict.fromkeys(range(3, 9), 10.0)}

    def studied(data: Dataset, **options: object) -> pl.DataFrame:
        assert options["heuristics"] == ("mth", "mil")
        rows = [
            {"heuristic": name, "k": k, "n": n, "l": l, "reduction": saved[name][k] + sign}
            for name in saved
            for k in range(3, 9)
            for (n, l), sign in zip(options["pairs"], itertools.cycle((1, -1)))  # type: ignore[call-overload]
        ]
        return pl.DataFrame(rows)

    monkeypatch.setattr(pattern, "nlk_study", studied)
    found = pattern.heuristics(few_households)
    assert found["MTH/MIL,mean-of-k=3..8",]["figure"] == pytest.approx((60 + 33) / 60)
    assert found["MTH/MIL,least-over-k",]["figure"] == pytest.approx(1.3)


def test_nothing_is_held_against_another_clock(source: Source) -> None:
    assert pattern.run_times(source) == {}
