"""(n,l,k) and (k,P) in parts and chunks: figures and verdicts are those of the whole release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from engine_files import TINY, again, assert_same, protect_files, published, walks, write_files
from tsveil.engine.base import Engine
from tsveil.measure.nlk import identification
from tsveil.protect.base import Method, Part, Protected
from tsveil.protect.intervals import IntervalMethod
from tsveil.protect.nlk import NLK
from tsveil.release import publish
from tsveil.release.publish import Outcome

#: of two series with an offset between them
TWO = {"load": [f"load{at}" for at in range(5)], "gas": [f"gas{at}" for at in range(5)]}


def two_series(n: int = 300) -> pl.DataFrame:
    values = np.hstack([walks(n, 5), 40 + 3 * walks(n, 5, seed=2)])
    values[20:40] = values[20]
    return pl.DataFrame(values, schema=[*TWO["load"], *TWO["gas"]])


def roles_of(frame: pl.DataFrame) -> dict[str, Any]:
    if "gas0" in frame.columns:
        return {"blocks": {name: {"columns": columns, "kind": "series"} for name, columns in TWO.items()}}
    return {"confidential": ["town"]} if "town" in frame.columns else {}


def protect(method: Method, frame: pl.DataFrame, folder: Path, files: int = 2, **more: Any) -> Outcome:
    """Parts of 220 records, and published files of 250."""
    place = write_files(folder / str(files) / "in", frame, files)
    work: dict[str, Any] = {"chunk": 230, "file": 250, "part": 220, **roles_of(frame), **more}
    return protect_files(place, method, folder / f"out{files}", **work)


# -- the same on every engine -------------------------------------------------------------------------------------------


def test_engines_and_numbers_of_files_change_nothing(engine: Engine, tmp_path: Path) -> None:
    """`test_chunks` does so for PEEL and (k,P)."""
    method, frame = NLK(n=1, l=4, k=5, grouping="joint", heuristic="stage1"), two_series()
    one = protect(method, frame, tmp_path, 1, engine=None)
    assert one.verdict.holds
    assert_same(protect(method, frame, tmp_path, 7, engine=engine).folder, one.folder)


@pytest.mark.parametrize(
    "method", [tv.KP(k=6, P=2, max_level=4), NLK(n=1, l=4, k=5, heuristic="mth")], ids=["kp", "nlk"]
)
def test_the_number_of_files_changes_nothing(method: Method, tmp_path: Path, curves: pl.DataFrame) -> None:
    one = protect(method, curves[:400], tmp_path, 1, engine=None)
    for files in (2, 7):
        assert_same(protect(method, curves[:400], tmp_path, files).folder, one.folder)


# -- (n,l,k) ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grouping", ["per-block", "joint"])
@pytest.mark.parametrize("heuristic", ["stage1", "auto", "mth", "mil", "gpe"])
def test_parts_keep_the_promise_together(heuristic: Any, grouping: Any, tmp_path: Path) -> None:
    frame = two_series()
    outcome = protect(NLK(n=1, l=5, k=4, heuristic=heuristic, grouping=grouping), frame, tmp_path, part=80)
    assert outcome.verdict.holds
    assert all(own["parts"] > 2 for own in outcome.release.facts.values())
    original, release = again(outcome, tmp_path / "2" / "in", **roles_of(frame))
    assert release.verify().holds
    assert not np.array_equal(original.values, release.data.values)


def test_l_above_n_by_one_is_warned_of(tmp_path: Path) -> None:
    outcome = protect(NLK(n=2, l=3, k=4), two_series(60), tmp_path)
    assert any("l - n = 1 leaves no value" in warning for warning in outcome.release.warnings)


def test_whom_random_and_chosen_values_single_out(tmp_path: Path) -> None:
    groupings: dict[Any, list[str]] = {"per-block": list(TWO), "joint": ["all blocks together"]}
    for grouping, names in groupings.items():
        outcome = protect(NLK(n=2, l=4, k=5, grouping=grouping), two_series(), tmp_path / grouping)
        rows, release = published(outcome.folder), outcome.release
        cubes = [rows.select(columns).to_numpy()[:, :, None] for columns in TWO.values()]
        for name, cube in zip(names, [np.concatenate(cubes, axis=2)] if grouping == "joint" else cubes, strict=True):
            found = identification(cube, 2)
            assert 0 < release.facts[name]["identified by random known values, %"] == round(found.random, 2)
            assert release.facts[name]["identified by chosen known values, %"] == round(found.chosen, 2)
            assert found.random < found.chosen < 100
            assert found.warning("points" if grouping == "joint" else f"series {name!r}") in release.warnings
        assert sum("chosen ones at least" in warning for warning in release.warnings) == len(names)


# -- the verdict on (n,l,k) ---------------------------------------------------------------------------------------------


def set_apart(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Protection that publishes `count` records of every part unlike all others."""
    protect_part = NLK.protect_part

    def breaking(self: NLK, part: Part) -> Protected:
        done = protect_part(self, part)
        done.values[:count] += 1e-3
        return done

    monkeypatch.setattr(NLK, "protect_part", breaking)


def test_too_much_to_search_is_unknown_and_refused(
    tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two records of one part that nobody else is like: not decided, so not published."""
    monkeypatch.setattr("tsveil.guarantee.chunks.TOGETHER", 1)
    monkeypatch.setattr("tsveil.guarantee.nlk.COMPARED", 1)
    set_apart(monkeypatch, 2)
    with pytest.raises(tv.errors.GuaranteeError, match=r"NOT DECIDED: .*too many to be searched"):
        protect(NLK(n=1, l=4, k=4), curves[:300].drop("town"), tmp_path)


# -- (k,P) and envelopes --------------------------------------------------------------------------------------------------


INTERVALS: dict[str, IntervalMethod] = {
    "(k,P)": tv.KP(k=6, P=3, levels="paper", max_level=5),
    "envelopes": tv.KAnonymousEnvelopes(k=5, round_to=0.1),
}


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("part", [150, 10_000])
def test_all_figures_of_envelopes_are_those_of_the_whole_release(
    name: str, part: int, tmp_path: Path, curves: pl.DataFrame
) -> None:
    method = INTERVALS[name]
    frame = curves.with_columns(town=pl.when(pl.col("town") == "t6").then(pl.lit("town")).otherwise(pl.lit("t0")))
    outcome = protect(method, frame, tmp_path, part=part)
    original, release = again(outcome, tmp_path / "2" / "in", **roles_of(frame))
    whole, card = release.evaluate(), outcome.card
    assert card.to_dict() == whole.to_dict()
    # A written release also has the chance of who runs the method again.
    assert card.per_record.sort("original").drop("risk_file").equals(whole.per_record)
    assert card.options == whole.options == {"targets": "all records"}
    assert card.homogeneous == whole.homogeneous
    assert whole.homogeneous["town"][1] > 0
    told = [
        one for one in outcome.release.warnings if "'town' has one value only among all records of one envelope" in one
    ]
    assert len(told) == 1
    assert release.verify().details == outcome.verdict.details
    facts = json.loads((outcome.folder / "private" / "release.json").read_text())
    assert facts["homogeneous"]["town"]["records"] == whole.homogeneous["town"][1]
    assert "linkage by values" in (outcome.folder / "published" / "report.html").read_text()
    if part > len(frame):
        alone = method.protect(original)
        assert np.array_equal(alone.rows, release.rows)
        assert np.array_equal(alone.lo, release.lo)
        assert np.array_equal(alone.hi, release.hi)
        assert alone.words == release.words
        assert set(alone.warnings) == set(outcome.release.warnings)


def test_of_many_records_some_are_linked_against_all(tmp_path: Path, curves: pl.DataFrame) -> None:
    release = protect(tv.KP(k=6, P=2), curves, tmp_path, targets=60)
    assert release.card.options["targets"].startswith("a random sample of 60 of 700 records")
    report = (release.folder / "private" / "report.html").read_text()
    assert "a random sample of 60 of 700 records" in report
    assert "nan %" not in report
    assert 0 < release.card["breach_both_mean"] <= release.card["breach_both"] <= 50
    assert release.card["breach_values"] <= 100 / 6 + 1e-9


FIRST = pl.int_range(pl.len()) == 0


@pytest.mark.parametrize(
    ("method", "broken", "message"),
    [
        (INTERVALS["(k,P)"], {"pattern": pl.lit("zaaaaa")}, r"the pattern zaaaaa has a letter that level \d does not have"),
        (INTERVALS["(k,P)"], {"level": pl.lit(27)}, "the level 27 is not between 1 and 26"),
        (INTERVALS["(k,P)"], {"level": pl.col("level") + 20 * FIRST}, "inside its envelope only 1 record has the pattern"),
        (INTERVALS["(k,P)"], {"lo_2018-01-02": pl.lit(99.0)}, "lo_2018-01-02 is 99, above hi_2018-01-02"),
        (INTERVALS["(k,P)"], {"pattern": pl.when(~FIRST).then("pattern")}, "row 1, column 'pattern': the pattern is missing"),
        (INTERVALS["envelopes"], {"lo_2018-01-02": pl.lit(99.0)}, "lo_2018-01-02 is 99, above hi_2018-01-02"),
        (INTERVALS["envelopes"], {"hi_2018-01-03": pl.col("hi_2018-01-03") + FIRST}, "its envelope is shared by 1 record only"),
        (INTERVALS["envelopes"], {"hi_2018-01-03": pl.when(~FIRST).then("hi_2018-01-03")}, "column 'hi_2018-01-03': a number is missing"),
        (INTERVALS["envelopes"], None, "300 records were to be written, 299 are in the files"),
        (NLK(n=1, l=3, k=4), {"2018-01-03": pl.when(~FIRST).then("2018-01-03")}, "row 1, column '2018-01-03': the value is missing"),
    ],
)  # fmt: skip
def test_one_broken_file_of_the_release_is_refused(
    method: Any, broken: Any, message: str, tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong on the way to the disk is seen when the files are read again."""
    write_piece = publish.write_piece

    def breaking(task: Any) -> Any:
        done = write_piece(task)
        if task["at"] == 1:
            path = Path(task["path"])
            frame = pl.read_parquet(path)
            (frame[1:] if broken is None else frame.with_columns(**broken)).write_parquet(path)
        return done

    monkeypatch.setattr(publish, "write_piece", breaking)
    with pytest.raises((tv.errors.GuaranteeError, tv.errors.InputError), match=message):
        protect(method, curves[:300], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["2"]


def test_a_broken_part_of_points_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_apart(monkeypatch, 1)
    groupings: dict[Any, str] = {"per-block": "block 'load', row", "joint": "row"}
    for grouping, where in groupings.items():
        told = rf"FAILS: .*{where} \d+: who knows point \S+ infers points"
        with pytest.raises(tv.errors.GuaranteeError, match=told):
            protect(NLK(n=1, l=3, k=4, heuristic="stage1", grouping=grouping), two_series(), tmp_path / grouping)


# -- what is refused ------------------------------------------------------------------------------------------------------


def test_data_that_are_no_series_of_equal_length(tmp_path: Path, people: pl.DataFrame) -> None:
    data = tv.read(write_files(tmp_path / "a", people, 2), layout="wide", memory=TINY)
    with pytest.raises(tv.errors.InputError, match="NLK protects series; this data set has attributes"):
        NLK(n=1, l=3, k=4).protect(data)
    columns = {"load": TWO["load"], "gas": TWO["gas"][:4]}
    blocks = {name: {"columns": own, "kind": "series"} for name, own in columns.items()}
    data = tv.read(write_files(tmp_path / "b", two_series(60), 2), blocks=blocks, memory=TINY)
    told = r"grouping='joint' needs series of the same length\. Got 5, 4 points"
    with pytest.raises(tv.errors.InputError, match=told):
        NLK(n=1, l=3, k=4, grouping="joint").protect(data)
