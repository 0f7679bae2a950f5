"""The same release in memory and in chunks, on every engine and from any number of input files, and what is in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from cases import cases
from engine_files import TINY, again, assert_same, private, protect_files, published, write_files
from release_folders import contents
from tsveil.data.intervals import IntervalTable
from tsveil.engine.base import Engine
from tsveil.engine.threads import LocalEngine
from tsveil.measure.envelope_loss import pattern_loss, value_loss
from tsveil.measure.nlk import identification
from tsveil.plan.plan import Input, Output, Plan, Running
from tsveil.protect.base import Method, Part, Protected
from tsveil.protect.intervals import IntervalMethod
from tsveil.release.publish import Outcome
from tsveil.transform.sax import sax

#: name -> method and data; small enough to run on three engines
METHODS: dict[str, tuple[Method, str]] = {
    "mdav": (tv.MDAV(k=5), "curves"),
    "joint shapes": (tv.MDAV(k=4, distance="sts", grouping="joint", rounding="input"), "curves"),
    "attributes": (tv.MDAV(k=5), "people"),
    "v-mdav": (tv.VMDAV(k=4), "curves"),
    "p-sensitive": (tv.SensitiveMDAV(k=5, p=2), "curves"),
    "univariate": (tv.OptimalUnivariate(k=4), "people"),
    "projected": (tv.Projected(k=4), "people"),
    "rank swapping": (tv.RankSwap(p=3), "people"),
    "swapped series": (tv.RankSwap(p=3), "curves"),
    "noise": (tv.Noise(sd=0.1, correlated=True), "people"),
    "(n,l,k)": (tv.NLK(n=1, l=4, k=4), "curves"),
    "(k,P)": (tv.KP(k=6, P=2), "curves"),
    "(k,P), PAA": (tv.KP(k=6, P=2, pattern="paa"), "curves"),
    "envelopes": (tv.KAnonymousEnvelopes(k=5, round_to=0.1), "curves"),
}
#: each engine, and with several numbers of files the one that is cheap; in `make exhaustive` each with each
FILES = cases(
    [("local", 1), ("local", 2), ("local", 7), ("dask", 7), ("spark", 2)],
    [(engine, files) for engine in ("local", "dask", "spark") for files in (1, 2, 7)],
)
#: each method but the first, which is above, in pieces on this machine and on one of the clusters in turn; in `make exhaustive` on both
PLACES = [
    (engine, name)
    for at, name in enumerate(METHODS)
    if name != "mdav"
    for engine in cases(("local", ("dask", "spark")[at % 2]), ("local", "dask", "spark"))
]
#: those that publish values
VALUES = [name for name, (method, _) in METHODS.items() if not isinstance(method, IntervalMethod)]


class Made(NamedTuple):
    """A release, and the files that it was made from."""

    outcome: Outcome
    files: Path
    roles: dict[str, Any]

    @property
    def folder(self) -> Path:
        return self.outcome.folder


def run(method: Method, frame: pl.DataFrame, folder: Path, engine: Engine | None, files: int = 1, **more: Any) -> Made:
    """Several parts and three published files, in chunks on an engine or in memory."""
    roles: dict[str, Any] = {"layout": "wide", "confidential": ["town"] if "town" in frame.columns else []}
    place = write_files(folder / str(files) / "in", frame, files)
    work: dict[str, Any] = {"engine": engine, "part": 220, "chunk": 230, "file": 250, **more, **roles}
    return Made(protect_files(place, method, folder / f"out{files}", **work), place, roles)


def the_data(kind: str, request: pytest.FixtureRequest) -> pl.DataFrame:
    frame: pl.DataFrame = request.getfixturevalue(kind)
    return frame


@pytest.fixture(scope="session")
def references(tmp_path_factory: pytest.TempPathFactory, curves: pl.DataFrame, people: pl.DataFrame) -> dict[str, Made]:
    """Each method in memory, from one file."""
    data = {"curves": curves, "people": people}
    return {
        name: run(method, data[kind], tmp_path_factory.mktemp("reference"), None)
        for name, (method, kind) in METHODS.items()
    }


@pytest.mark.parametrize(("engine", "files"), FILES, indirect=["engine"])
def test_every_engine_gives_the_same_for_any_number_of_files(
    files: int, engine: Engine, tmp_path: Path, curves: pl.DataFrame, references: dict[str, Made]
) -> None:
    made = run(METHODS["mdav"][0], curves, tmp_path, engine, files)
    assert made.outcome.verdict.holds
    told = f"The work was done in 4 chunks of 230 records on the engine {engine.name}."
    assert made.outcome.run == json.loads((made.folder / "private" / "release.json").read_text())["run"] == told
    assert references["mdav"].outcome.run == "The work was done in memory."
    assert made.outcome.release.facts["series"]["parts"] > 1
    assert len(list((made.folder / "published" / "data").iterdir())) == 3
    assert_same(made.folder, references["mdav"].folder)


@pytest.mark.parametrize(("engine", "name"), PLACES, indirect=["engine"])
def test_every_method_does_so(
    name: str, engine: Engine, tmp_path: Path, request: pytest.FixtureRequest, references: dict[str, Made]
) -> None:
    method, kind = METHODS[name]
    assert_same(run(method, the_data(kind, request), tmp_path, engine, 2).folder, references[name].folder)


# -- what a release holds, on one machine -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_figures_and_verdict_are_those_of_the_whole_release(name: str, references: dict[str, Made]) -> None:
    """What was found file by file is what the measures find when they see everything at once."""
    made = references[name]
    data, release = again(made.outcome, made.files, **made.roles)
    card = release.evaluate(**({"models": "fitting"} if data.series else {}))
    assert made.outcome.card.to_dict() == card.to_dict()
    assert release.verify().status == made.outcome.verdict.status


def test_what_is_published_and_what_is_not(references: dict[str, Made], curves: pl.DataFrame) -> None:
    made = references["mdav"]
    rows, known = published(made.folder), private(made.folder)
    assert rows.columns == ["meter", "town", *[f"2018-01-{day:02d}" for day in range(1, 7)]]
    assert rows["meter"].n_unique() == 700
    assert rows["meter"].str.contains("^r[0-9a-f]{16}$").all()
    assert known["released"].equals(rows["meter"].alias("released"))
    assert known["published_row"].to_list() == list(range(1, 701))
    assert sorted(known["original"]) == curves["meter"].to_list()
    assert known["original"].to_list() != curves["meter"].to_list()
    town = dict(zip(curves["meter"], curves["town"], strict=True))
    assert [town[name] for name in known["original"]] == rows["town"].to_list()
    assert {path.name for path in made.folder.iterdir()} == {"published", "private"}
    told = json.loads((made.folder / "private" / "release.json").read_text())
    assert told["seed"] == "7"
    assert told["scores"] == made.outcome.card.to_dict()
    assert "seed" not in (made.folder / "published" / "README.md").read_text()


def test_carried_columns_that_identify_are_warned_of(tmp_path: Path, curves: pl.DataFrame) -> None:
    frame = curves.with_columns(phone=pl.Series([f"{at // 2 if at < 20 else at}" for at in range(700)]))
    data = tv.read(write_files(tmp_path / "in", frame, 2), confidential=["town", "phone"], memory=TINY)
    assert tv.MDAV(k=5).protect(data, chunk=300).warnings == (
        "the carried column 'phone' has a value of its own in 680 of 700 records: whoever knows it can link by it",
    )


def test_groups_never_cross_parts_and_have_k_members(references: dict[str, Made]) -> None:
    made = references["mdav"]
    groups = private(made.folder, "groups")["group of series"]
    facts = made.outcome.release.facts["series"]
    assert groups.value_counts()["count"].min() == facts["smallest group"] >= 5
    assert groups.n_unique() == facts["groups"]


def test_rank_swapping_permutes_each_column_within_its_window(references: dict[str, Made]) -> None:
    made = references["rank swapping"]
    original, release = again(made.outcome, made.files, **made.roles)
    width = 18  # 3 % of 600
    for column in range(len(original.columns)):
        x, y = original.values[:, column], release.data.values[:, column]
        assert np.array_equal(np.sort(x), np.sort(y))
        ordered = np.sort(x)
        low, high = np.searchsorted(ordered, y), np.searchsorted(ordered, y, side="right") - 1
        at_low, at_high = np.searchsorted(ordered, x), np.searchsorted(ordered, x, side="right") - 1
        assert (np.maximum(low - at_high, at_low - high) <= width).all()
    assert published(made.folder)["age"].dtype == pl.Int64


@pytest.mark.parametrize("name", ["(k,P)", "envelopes"])
def test_intervals_hold_their_series_and_keep_their_promise(
    name: str, references: dict[str, Made], curves: pl.DataFrame
) -> None:
    made = references[name]
    card, columns = made.outcome.card, curves.columns[2:]
    assert made.outcome.release.facts["series"]["parts"] > 1
    known, rows = private(made.folder), published(made.folder)
    gone = private(made.folder, "suppressed")
    assert rows.height == known.height == 700 - gone.height == 700 - card["suppressed"]
    assert sorted([*known["original"], *gone["original"]]) == curves["meter"].to_list()
    assert known["published_row"].to_list() == list(range(1, rows.height + 1))
    assert "meter" not in rows.columns
    original = known.select(meter="original").join(curves, on="meter", maintain_order="left")
    x = original.select(columns).to_numpy()
    lo, hi = (rows.select([f"{side}_{c}" for c in columns]).to_numpy() for side in ("lo", "hi"))
    assert ((lo <= x) & (x <= hi)).all()
    assert original["town"].to_list() == rows["town"].to_list()
    method = METHODS[name][0]
    assert isinstance(method, IntervalMethod)
    table = IntervalTable.from_frame(rows)
    assert method.guarantee().verify(table).holds
    assert card["value_loss"] == pytest.approx(value_loss(lo, hi).sum())
    assert card["pattern_loss"] == pytest.approx(pattern_loss(x, table).sum())
    if table.words is not None:
        assert sax(x, 6, 16) != list(table.words)  # coarser, where it must be
        assert {len(word) for word in table.words} == {6}
    assert "Rows are in random order and have no identifiers" in (made.folder / "published" / "README.md").read_text()
    assert "value loss" in (made.folder / "published" / "report.html").read_text()


def test_who_is_singled_out_is_counted_over_all_files(references: dict[str, Made], curves: pl.DataFrame) -> None:
    made = references["(n,l,k)"]
    found = identification(published(made.folder).select(curves.columns[2:]).to_numpy(), 1)
    release = made.outcome.release
    assert 0 < release.facts["series"]["identified by random known values, %"] == round(found.random, 2)
    assert any("does not stop re-identification" in warning for warning in release.warnings)


# -- what is refused ----------------------------------------------------------------------------------------------------


def test_a_release_whose_last_groups_are_too_small_is_refused(
    engine: Engine, tmp_path: Path, curves: pl.DataFrame
) -> None:
    """The printed loop of MDAV leaves too small a group in some part: found by counting over all files, on every engine."""
    with pytest.raises(tv.errors.GuaranteeError, match="fewer than 9 records; the smallest group has"):
        run(tv.MDAV(k=9, variant="paper"), curves, tmp_path, engine)
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def broken(monkeypatch: pytest.MonkeyPatch, kind: type[Method], change: Any) -> None:
    """Change what a method makes of the part with the first record."""
    protect_part = kind.protect_part

    def breaking(self: Method, part: Part) -> Protected:
        done = protect_part(self, part)
        if part.records[0] == 0:
            change(done.values)
        return done

    monkeypatch.setattr(kind, "protect_part", breaking)


def test_a_broken_envelope_is_refused(tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(values: Any) -> None:
        values[np.flatnonzero(values[:, -1])[0], -2] = 20.0  # another level for the same word

    broken(monkeypatch, tv.KP, change)
    with pytest.raises(tv.errors.GuaranteeError, match=r"inside its envelope only 1 record has the pattern"):
        run(METHODS["(k,P)"][0], curves, tmp_path, LocalEngine())


def test_one_broken_part_is_refused(tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value of one record in one part, changed in its last bit."""

    def change(values: Any) -> None:
        values[3, 2] = np.nextafter(values[3, 2], np.inf)

    broken(monkeypatch, tv.MDAV, change)
    with pytest.raises(tv.errors.GuaranteeError, match=r"block 'series'.*the smallest group has 1 \(row \d"):
        run(tv.MDAV(k=5), curves, tmp_path / "refused", LocalEngine())
    assert [path.name for path in (tmp_path / "refused").iterdir()] == ["1"]
    made = run(tv.MDAV(k=5), curves, tmp_path / "allowed", LocalEngine(), allow_unverified=True)
    assert made.outcome.verdict.status == "violated"
    assert "NOT VERIFIED" in (made.folder / "published" / "README.md").read_text()


def test_a_broken_series_is_refused_with_an_attack_on_it(
    tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(values: Any) -> None:
        values[0] += 1e-3

    broken(monkeypatch, tv.NLK, change)
    with pytest.raises(tv.errors.GuaranteeError, match=r"row \d+: who knows point 2018-01-01 infers points 2018-01-02"):
        run(METHODS["(n,l,k)"][0], curves, tmp_path, LocalEngine())


def test_bad_cells_are_told_all_at_once_with_their_place(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(9), "1": [1.0] * 9, "2": [1.0, None, 3, 4, 5, float("inf"), 7, 8, 9]})
    with pytest.raises(tv.errors.InputError, match="missing"):
        tv.read(write_files(tmp_path / "a", frame, 2), id="id", memory=TINY)
    long = pl.DataFrame({"id": np.arange(3000), "1": np.ones(3000), "2": np.ones(3000)})
    bad = long.with_columns(
        pl.when(pl.col("id") == 2500)
        .then(None)
        .when(pl.col("id") == 2999)
        .then(float("inf"))
        .otherwise(pl.col("2"))
        .alias("2")
    )
    roles: dict[str, Any] = {"id": "id", "blocks": {"x": ["1", "2"]}, "memory": TINY}
    data = tv.read(write_files(tmp_path / "b", bad, 2), **roles)
    with pytest.raises(tv.errors.InputError, match="2 problems") as caught:
        tv.MDAV(k=3).protect(data, chunk=1000)
    assert "001.parquet, row" in str(caught.value)
    assert "is missing" in str(caught.value)
    assert "is infinite" in str(caught.value)
    twice = long.with_columns(pl.when(pl.col("id") == 2999).then(17).otherwise(pl.col("id")).alias("id"))
    data = tv.read(write_files(tmp_path / "c", twice, 2), **roles)
    told = r"the id 17 occurs more than once \('000.parquet, row 18', '001.parquet, row"
    with pytest.raises(tv.errors.InputError, match=told):
        tv.MDAV(k=3).protect(data, chunk=1000)


def test_ids_that_look_alike_are_told_with_their_place(tmp_path: Path) -> None:
    names = [f"m{at}" for at in range(30)]
    names[3], names[25] = "caf\u00e9", "cafe\u0301"
    frame = pl.DataFrame({"id": names, "1": np.ones(30), "2": np.ones(30)})
    data = tv.read(write_files(tmp_path / "in", frame, 2), id="id", memory=TINY)
    told = r"two ids look the same \('caf.'\) but are written differently \('000.parquet, row 4', '001.parquet, row"
    with pytest.raises(tv.errors.InputError, match=told):
        tv.MDAV(k=3).protect(data, chunk=8)


@pytest.mark.parametrize("memory", [TINY, "4GB"])
def test_folders_that_are_no_data_set(memory: Any, tmp_path: Path) -> None:
    with pytest.raises(tv.errors.InputError, match="there is no file"):
        tv.read(tmp_path / "nothing", memory=memory)
    with pytest.raises(tv.errors.InputError, match="there is no file"):
        tv.read(tmp_path / "nothing-*.csv", memory=memory)
    (tmp_path / "empty").mkdir()
    with pytest.raises(tv.errors.InputError, match=r"no file that ends with \.parquet or \.csv"):
        tv.read(tmp_path / "empty", memory=memory)
    folder = write_files(tmp_path / "mixed", pl.DataFrame({"1": [1.0, 2.0], "2": [1.0, 2.0]}), 1)
    (folder / "table.csv").write_text("1,2\n1,2\n")
    with pytest.raises(tv.errors.InputError, match="both Parquet and CSV files"):
        tv.read(folder, memory=memory)
    (folder / "table.csv").unlink()
    pl.DataFrame({"1": ["a"], "3": [1.0]}).write_parquet(folder / "other.parquet")
    with pytest.raises(tv.errors.InputError, match=r"lacks the column '2'[^$]*has the column '3'"):
        tv.read(folder, memory=memory)
    (folder / "other.parquet").write_text("no")
    with pytest.raises(tv.errors.InputError, match=r"other\.parquet (cannot be read as Parquet|lacks the column)"):
        tv.read(folder, memory=memory)


def test_parameters_that_do_not_fit(tmp_path: Path, curves: pl.DataFrame) -> None:
    data = tv.read(write_files(tmp_path / "in", curves, 1), confidential=["town"], memory=TINY)
    with pytest.raises(tv.errors.ParameterError, match="at most the number of records"):
        tv.MDAV(k=701).protect(data)
    with pytest.raises(tv.errors.ParameterError, match="'chunk' parameter"):
        tv.MDAV().protect(data, chunk=0)
    with pytest.raises(tv.errors.ParameterError, match="'engine' parameter must be"):
        tv.MDAV().protect(data, engine="ray")


# -- CSV files, and methods of one's own --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [tv.MDAV(k=5), tv.KAnonymousEnvelopes(k=5)], ids=["values", "envelopes"])
def test_csv_files_in_a_folder_or_by_a_pattern_are_like_one_file(
    method: Method, tmp_path: Path, curves: pl.DataFrame
) -> None:
    (tmp_path / "one").mkdir()
    curves.write_csv(tmp_path / "one" / "in.csv")
    (tmp_path / "several" / "in.csv").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    for at, (first, last) in enumerate(((0, 10), (10, 11), (11, 500), (500, 700))):
        for place in (tmp_path / "several" / "in.csv", tmp_path / "beside"):
            curves[first:last].write_csv(place / f"{at}.csv")
    (tmp_path / "beside" / "other.csv").write_text("nothing\nof use\n")

    def made(path: str, name: str, **running: Any) -> Path:
        settings = {key: value for key, value in method.settings().items() if value is not None}
        plan = Plan(
            input=Input(path=path, confidential=["town"]),
            method={"name": method.name, **settings},
            output=Output(folder=name),
            run=Running(**running),
            seed=7,
            secret="",
        )
        return tv.run(plan, base=tmp_path).folder

    expected = made("one/in.csv", "expected")
    assert "published/data.csv" in contents(expected)
    for name, running in {"memory": {}, "chunks": {"memory": "1", "chunk": 90}}.items():
        assert_same(made("one/in.csv", f"{name}-1", **running), expected)
        assert_same(made("several/in.csv", f"{name}-4", **running), expected)
        by_pattern = contents(made("beside/[0-9].csv", f"{name}-pattern", **running))
        assert {path for path in by_pattern if by_pattern[path] != contents(expected)[path]} == {"private/report.html"}


def test_a_method_of_ones_own_runs_as_itself(tmp_path: Path, curves: pl.DataFrame, engine: Engine) -> None:
    """In chunks on this machine; workers elsewhere cannot import what is defined in a function."""

    @dataclass(frozen=True, kw_only=True)
    class Shifted(tv.MDAV):
        def protect_part(self, part: Part) -> Protected:
            done = super().protect_part(part)
            return replace(done, values=done.values + 1000)

    place = write_files(tmp_path / "in", curves, 2)
    data = tv.read(place, confidential=["town"], memory=TINY)
    if engine.name != "local":
        told = rf"the workers of {engine.name} cannot import .*Shifted, which is defined in \S*test_chunks\n.*'local'"
        with pytest.raises(tv.errors.ParameterError, match=told):
            Shifted(k=5).protect(data, seed=7, engine=engine, chunk=250)
        return
    release = Shifted(k=5).protect(data, seed=7, engine=engine, chunk=250)
    assert len(release.contents.chunk_ends) == 3
    assert release.verify().holds
    plain = tv.MDAV(k=5).protect(data, seed=7, engine=engine, chunk=250)
    assert np.array_equal(release.data.values, plain.data.values + 1000)
    assert np.array_equal(release.data.values, Shifted(k=5).protect(tv.read(place, confidential=["town"])).data.values)
