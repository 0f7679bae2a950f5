"""The same release on every engine and from any number of input files, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from engine_files import as_protected, assert_same, private, protect_files, published, walks, write_files
from tsveil.data.intervals import IntervalTable
from tsveil.engine.base import Engine
from tsveil.engine.threads import LocalEngine
from tsveil.large import ways
from tsveil.large.protect import LargeRelease
from tsveil.measure.kp import pattern_loss, value_loss
from tsveil.measure.nlk import identification
from tsveil.protect.base import Method
from tsveil.protect.intervals import IntervalMethod
from tsveil.transform.sax import sax

#: name -> method and data; small enough to run on three engines
METHODS: dict[str, tuple[Method | IntervalMethod, str]] = {
    "mdav": (tv.MDAV(k=5), "curves"),
    "joint shapes": (tv.MDAV(k=4, distance="sts", grouping="joint", rounding="input"), "curves"),
    "attributes": (tv.MDAV(k=5), "people"),
    "v-mdav": (tv.VMDAV(k=4), "curves"),
    "univariate": (tv.OptimalUnivariate(k=4), "people"),
    "rank swapping": (tv.RankSwap(p=3), "people"),
    "swapped series": (tv.RankSwap(p=3), "curves"),
    "(n,l,k)": (tv.NLK(n=1, l=4, k=4), "curves"),
    "(k,P)": (tv.KP(k=6, P=2), "curves"),
    "envelopes": (tv.KAnonymousEnvelopes(k=5, round_to=0.1), "curves"),
}
#: those that publish values, so that the measures and verifiers of whole data sets apply
VALUES = [name for name, (method, _) in METHODS.items() if isinstance(method, Method)]


def run(
    method: Method | IntervalMethod, frame: pl.DataFrame, folder: Path, engine: Engine, files: int = 1
) -> LargeRelease:
    source = tv.source(
        write_files(folder / f"in{files}", frame, files), confidential=["town"] if "town" in frame.columns else []
    )
    return protect_files(source, method, folder / f"out{files}", engine=engine, seed=7, part=220, chunk=250)


def the_data(kind: str, request: pytest.FixtureRequest) -> pl.DataFrame:
    frame: pl.DataFrame = request.getfixturevalue(kind)
    return frame


@pytest.fixture(scope="session")
def references(
    tmp_path_factory: pytest.TempPathFactory, curves: pl.DataFrame, people: pl.DataFrame
) -> dict[str, LargeRelease]:
    """Each method on one machine from one file."""
    data = {"curves": curves, "people": people}
    return {
        name: run(method, data[kind], tmp_path_factory.mktemp("reference"), LocalEngine())
        for name, (method, kind) in METHODS.items()
    }


@pytest.mark.parametrize("files", [1, 2, 7])
def test_every_engine_gives_the_same_for_any_number_of_files(
    files: int, engine: Engine, tmp_path: Path, curves: pl.DataFrame, references: dict[str, LargeRelease]
) -> None:
    release = run(METHODS["mdav"][0], curves, tmp_path, engine, files)
    assert release.verdict.holds
    assert release.facts["engine"] == engine.name
    assert release.facts["series"]["parts"] > 1
    assert len(release.files) == 3
    assert_same(release, references["mdav"])


@pytest.mark.parametrize("name", [name for name in METHODS if name != "mdav"])
def test_every_method_does_so(
    name: str, engine: Engine, tmp_path: Path, request: pytest.FixtureRequest, references: dict[str, LargeRelease]
) -> None:
    method, kind = METHODS[name]
    assert_same(run(method, the_data(kind, request), tmp_path, engine, 2), references[name])


# -- what a release holds, on one machine -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_the_figures_are_those_of_the_whole_release(
    name: str, request: pytest.FixtureRequest, references: dict[str, LargeRelease]
) -> None:
    """What was summed over files is what the measures find when they see everything at once."""
    method, kind = METHODS[name]
    release = references[name]
    original, protected = as_protected(release, the_data(kind, request))

    class Whole:
        data = protected

    whole = Whole()
    whole.method = method  # type: ignore[attr-defined]
    card = tv.evaluate(original, whole, models="fitting" if original.series else None)
    for figure, value in release.card.to_dict().items():
        assert value == pytest.approx(card[figure], rel=1e-9, abs=1e-9), figure
    assert set(release.card) == set(card)


@pytest.mark.parametrize("name", VALUES)
def test_the_verdict_is_that_of_the_whole_release(
    name: str, request: pytest.FixtureRequest, references: dict[str, LargeRelease]
) -> None:
    method, kind = METHODS[name]
    assert isinstance(method, Method)
    release = references[name]
    _, protected = as_protected(release, the_data(kind, request))
    assert method.guarantee(protected).verify(protected).status == release.verdict.status


def test_what_is_published_and_what_is_not(references: dict[str, LargeRelease], curves: pl.DataFrame) -> None:
    release = references["mdav"]
    rows, known = published(release.folder), private(release.folder)
    assert rows.columns == ["meter", "town", *[f"2018-01-{day:02d}" for day in range(1, 7)]]
    assert rows["meter"].n_unique() == 700
    assert rows["meter"].str.contains("^r[0-9a-f]{16}$").all()
    assert known["released"].equals(rows["meter"].alias("released"))
    assert known["published_row"].to_list() == list(range(1, 701))
    assert sorted(known["original"]) == curves["meter"].to_list()
    assert known["original"].to_list() != curves["meter"].to_list()
    town = dict(zip(curves["meter"], curves["town"], strict=True))
    assert [town[name] for name in known["original"]] == rows["town"].to_list()
    assert {path.name for path in release.folder.iterdir()} == {"published", "private"}
    told = json.loads((release.folder / "private" / "release.json").read_text())
    assert told["seed"] == "7"
    assert told["scores"] == release.card.to_dict()
    assert "seed" not in (release.folder / "published" / "README.md").read_text()


def test_carried_columns_that_identify_are_warned_of(tmp_path: Path, curves: pl.DataFrame) -> None:
    frame = curves.with_columns(phone=pl.Series([f"{at // 2 if at < 20 else at}" for at in range(700)]))
    source = tv.source(write_files(tmp_path / "in", frame, 2), confidential=["town", "phone"])
    release = protect_files(source, tv.MDAV(k=5), tmp_path / "out", chunk=300)
    assert release.warnings == (
        "the carried column 'phone' has a value of its own in 680 of 700 records: whoever knows it can link by it",
    )


def test_groups_never_cross_parts_and_have_k_members(references: dict[str, LargeRelease]) -> None:
    release = references["mdav"]
    groups = private(release.folder)["group of series"]
    sizes = groups.value_counts()["count"]
    assert sizes.min() == release.facts["series"]["smallest group"] >= 5
    assert groups.n_unique() == release.facts["series"]["groups"]


def test_rank_swapping_permutes_each_column_within_its_window(
    references: dict[str, LargeRelease], people: pl.DataFrame
) -> None:
    release = references["rank swapping"]
    original, protected = as_protected(release, people)
    width = 18  # 3 % of 600
    for column in range(len(original.columns)):
        x, y = original.values[:, column], protected.values[:, column]
        assert np.array_equal(np.sort(x), np.sort(y))
        ordered = np.sort(x)
        low, high = np.searchsorted(ordered, y), np.searchsorted(ordered, y, side="right") - 1
        at_low, at_high = np.searchsorted(ordered, x), np.searchsorted(ordered, x, side="right") - 1
        assert (np.maximum(low - at_high, at_low - high) <= width).all()
    assert published(release.folder)["age"].dtype == pl.Int64


@pytest.mark.parametrize("name", ["(k,P)", "envelopes"])
def test_intervals_hold_their_series_and_keep_their_promise(
    name: str, references: dict[str, LargeRelease], curves: pl.DataFrame
) -> None:
    release = references[name]
    assert release.facts["series"]["parts"] > 1
    known, rows = private(release.folder), published(release.folder)
    kept = known.filter(pl.col("row").is_not_null())
    assert rows.height == kept.height == 700 - release.card["suppressed"]
    assert known.height == 700
    assert "meter" not in rows.columns
    original = kept.select(meter="original").join(curves, on="meter", maintain_order="left")
    x = original.select(release.source.columns).to_numpy()
    lo, hi = (rows.select([f"{side}_{c}" for c in release.source.columns]).to_numpy() for side in ("lo", "hi"))
    assert ((lo <= x) & (x <= hi)).all()
    assert original["town"].to_list() == rows["town"].to_list()
    method = METHODS[name][0]
    assert isinstance(method, IntervalMethod)
    table = IntervalTable.from_frame(rows)
    assert method.guarantee().verify(table).holds
    assert release.card["value_loss"] == pytest.approx(value_loss(lo, hi).sum())
    assert release.card["pattern_loss"] == pytest.approx(pattern_loss(x, table).sum())
    if table.words is not None:
        assert sax(x, 6, 16) != list(table.words)  # coarser, where it must be
        assert {len(word) for word in table.words} == {6}
    assert (
        "Rows are in random order and have no identifiers" in (release.folder / "published" / "README.md").read_text()
    )
    assert "value loss" in (release.folder / "published" / "report.html").read_text()


def test_a_broken_envelope_is_refused(tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    protected = ways.protected

    def breaking(*given: Any) -> ways.Done:
        done = protected(*given)
        done.values[np.flatnonzero(done.values[:, -1])[0], -2] = 20.0  # another level for the same word
        return done

    monkeypatch.setattr("tsveil.large.steps.protected", breaking)
    with pytest.raises(tv.errors.GuaranteeError, match=r"inside its envelope only 1 record has the pattern"):
        run(METHODS["(k,P)"][0], curves, tmp_path, LocalEngine())


def test_a_part_alone_is_what_the_method_does_with_all(tmp_path: Path, curves: pl.DataFrame) -> None:
    """When one part holds everything, the groups are those of exact MDAV."""
    source = tv.source(write_files(tmp_path / "in", curves, 2), confidential=["town"])
    release = protect_files(source, tv.MDAV(k=5), tmp_path / "out", seed=1, part=10_000)
    original, protected = as_protected(release, curves)
    assert np.array_equal(tv.MDAV(k=5).protect(original, seed=1).data.values, protected.values)


def test_seeds_decide_order_and_names_like_those_of_a_small_release(tmp_path: Path, curves: pl.DataFrame) -> None:
    source = tv.source(write_files(tmp_path / "in", curves, 2), confidential=["town"])
    release = protect_files(source, tv.MDAV(k=5), tmp_path / "out", seed=1, part=10_000, chunk=99)
    data = tv.Dataset.from_frame(
        curves,
        id="meter",
        blocks={"series": {"from": curves.columns[2], "to": curves.columns[-1]}},
        confidential=["town"],
    )
    small, _ = tv.MDAV(k=5).protect(data, seed=1).published()
    assert small.ids.to_list() == published(release.folder)["meter"].to_list()


def test_allowances_of_all_pieces_of_time_add_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PEEL with two time points in a piece: the count lemma still holds for whole series."""
    monkeypatch.setattr(ways, "CELLS", 2 * 300)
    frame = pl.DataFrame(walks(300, 9), schema=[str(at) for at in range(9)])
    source = tv.source(write_files(tmp_path / "in", frame, 3))
    method = tv.NLK(n=1, l=6, k=4)
    units = ways.units_of(source, method, None)
    assert [len(unit.columns) for unit in units] == [2, 2, 2, 2, 1]
    spent = np.stack([ways.shares(unit, np.arange(300)) for unit in units])
    assert (spent.sum(axis=0) == 4).all()
    assert spent.mean(axis=1).tolist() == [4 / 5] * 5  # nowhere may everybody spend
    release = protect_files(source, method, tmp_path / "out", seed=1, chunk=100)
    assert release.verdict.holds
    assert "0 were searched" in release.verdict.details[0]
    _, protected = as_protected(release, frame)
    assert method.guarantee(protected).verify(protected).holds
    assert any("divided" in warning for warning in release.warnings)


def test_who_is_singled_out_is_counted_over_all_files(references: dict[str, LargeRelease]) -> None:
    release = references["(n,l,k)"]
    rows = published(release.folder).select(release.source.columns).to_numpy()
    found = identification(rows, 1)
    assert 0 < release.facts["identified by random known values, series, %"] == round(found.random, 2)
    assert any("does not stop re-identification" in warning for warning in release.warnings)


# -- what is refused ----------------------------------------------------------------------------------------------------


def test_a_release_whose_last_groups_are_too_small_is_refused(
    engine: Engine, tmp_path: Path, curves: pl.DataFrame
) -> None:
    """The printed loop of MDAV leaves too small a group in some part: found by counting over all files, on every engine."""
    with pytest.raises(tv.errors.GuaranteeError, match="fewer than 9 records; the smallest group has"):
        run(tv.MDAV(k=9, variant="paper"), curves, tmp_path, engine)
    assert [path.name for path in tmp_path.iterdir()] == ["in1"]


def test_one_broken_part_is_refused(tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value of one record in one part, changed in its last bit."""
    protected = ways.protected
    broken: list[int] = []

    def breaking(*given: Any) -> ways.Done:
        done = protected(*given)
        if not broken:
            broken.append(1)
            done.values[3, 2] = np.nextafter(done.values[3, 2], np.inf)
        return done

    monkeypatch.setattr("tsveil.large.steps.protected", breaking)
    with pytest.raises(tv.errors.GuaranteeError, match=r"block 'series'.*the smallest group has 1 \(row \d"):
        run(tv.MDAV(k=5), curves, tmp_path, LocalEngine())
    assert [path.name for path in tmp_path.iterdir()] == ["in1"]
    broken.clear()
    source = tv.source(tmp_path / "in1", confidential=["town"])
    release = protect_files(source, tv.MDAV(k=5), tmp_path / "out", allow_unverified=True, part=200)
    assert release.verdict.status == "violated"
    assert "NOT VERIFIED" in (release.folder / "published" / "README.md").read_text()


def test_a_broken_series_is_refused_with_an_attack_on_it(
    tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    protected = ways.protected

    def breaking(*given: Any) -> ways.Done:
        done = protected(*given)
        done.values[0] += 1e-3
        return done

    monkeypatch.setattr("tsveil.large.steps.protected", breaking)
    with pytest.raises(tv.errors.GuaranteeError, match=r"row \d+: who knows point 2018-01-01 infers points 2018-01-02"):
        run(METHODS["(n,l,k)"][0], curves, tmp_path, LocalEngine())


def test_bad_cells_are_told_all_at_once_with_their_place(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(9), "1": [1.0] * 9, "2": [1.0, None, 3, 4, 5, float("inf"), 7, 8, 9]})
    with pytest.raises(tv.errors.InputError, match="missing"):
        tv.source(write_files(tmp_path / "a", frame, 2), id="id")
    long = pl.DataFrame({"id": np.arange(3000), "1": np.ones(3000), "2": np.ones(3000)})
    bad = long.with_columns(
        pl.when(pl.col("id") == 2500)
        .then(None)
        .when(pl.col("id") == 2999)
        .then(float("inf"))
        .otherwise(pl.col("2"))
        .alias("2")
    )
    source = tv.source(write_files(tmp_path / "b", bad, 2), id="id", blocks={"x": ["1", "2"]})
    with pytest.raises(tv.errors.InputError, match="2 problems") as caught:
        protect_files(source, tv.MDAV(k=3), tmp_path / "out", chunk=1000)
    assert "001.parquet, row" in str(caught.value)
    assert "is missing" in str(caught.value)
    assert "is infinite" in str(caught.value)
    twice = long.with_columns(pl.when(pl.col("id") == 2999).then(17).otherwise(pl.col("id")).alias("id"))
    source = tv.source(write_files(tmp_path / "c", twice, 2), id="id", blocks={"x": ["1", "2"]})
    with pytest.raises(
        tv.errors.InputError, match=r"the id 17 occurs more than once \('000.parquet, row 18', '001.parquet, row"
    ):
        protect_files(source, tv.MDAV(k=3), tmp_path / "out", chunk=1000)
    assert not (tmp_path / "out").exists()


def test_folders_that_are_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(tv.errors.InputError, match="no such file or folder"):
        tv.source(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(tv.errors.InputError, match=r"no file that ends with \.parquet"):
        tv.source(tmp_path / "empty")
    folder = write_files(tmp_path / "mixed", pl.DataFrame({"1": [1.0, 2.0], "2": [1.0, 2.0]}), 1)
    pl.DataFrame({"1": ["a"], "3": [1.0]}).write_parquet(folder / "other.parquet")
    (folder / "text.parquet").write_text("no")
    with pytest.raises(tv.errors.InputError, match=r"text\.parquet cannot be read as Parquet"):
        tv.source(folder)
    (folder / "text.parquet").unlink()
    with pytest.raises(tv.errors.InputError, match="3 problems"):
        tv.source(folder)


def test_methods_and_parameters_that_do_not_fit(tmp_path: Path, curves: pl.DataFrame) -> None:
    source = tv.source(write_files(tmp_path / "in", curves, 1), confidential=["town"])
    with pytest.raises(tv.errors.InputError, match="does not work in parts\n  methods that do: mdav"):
        protect_files(source, tv.Noise(), tmp_path / "out")
    with pytest.raises(tv.errors.ParameterError, match="at most the number of records"):
        protect_files(source, tv.MDAV(k=701), tmp_path / "out")
    with pytest.raises(tv.errors.ParameterError, match="'chunk' parameter"):
        protect_files(source, tv.MDAV(), tmp_path / "out", chunk=0)
    with pytest.raises(tv.errors.ParameterError, match="'engine' parameter must be"):
        protect_files(source, tv.MDAV(), tmp_path / "out", engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
