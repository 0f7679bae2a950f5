"""(n,l,k) and (k,P) in parts: what one part, or every time point by itself, must give, and figures and verdicts of the whole release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tsveil.large import steps, verify_nlk, ways
from tsveil.large.protect import LargeRelease
from tsveil.large.verify import Verified, verify_files

import naive_nlk as naive
import tsveil as tv
from engine_files import as_protected, assert_same, private, published, walks, write_files
from tsveil._types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Memory
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.guarantee.kp import EnvelopeAnonymity, KPAnonymity
from tsveil.guarantee.nlk import NLKAnonymity, find_violation
from tsveil.measure.kp import IntervalCard, evaluate_intervals
from tsveil.measure.nlk import identification
from tsveil.protect.base import Method
from tsveil.protect.intervals import IntervalMethod
from tsveil.protect.nlk import NLK, sorted_points

#: of two series with an offset between them
TWO = {"load": [f"load{at}" for at in range(5)], "gas": [f"gas{at}" for at in range(5)]}


def two_series(n: int = 300) -> pl.DataFrame:
    values = np.hstack([walks(n, 5), 40 + 3 * walks(n, 5, seed=2)])
    values[20:40] = values[20]
    return pl.DataFrame(values, schema=[*TWO["load"], *TWO["gas"]])


def protect(
    method: Method | IntervalMethod, frame: pl.DataFrame, folder: Path, files: int = 2, **more: Any
) -> LargeRelease:
    blocks = {name: {"columns": columns, "kind": "series"} for name, columns in TWO.items()}
    source = tv.source(
        write_files(folder / f"in{files}", frame, files),
        blocks=blocks if "gas0" in frame.columns else None,
        confidential=["town"] if "town" in frame.columns else [],
    )
    given: dict[str, Any] = {"engine": LocalEngine(), "seed": 7, "chunk": 250, "part": 220} | more
    return tv.protect_folder(source, method, folder / f"out{files}", **given)


# -- the same on every engine -------------------------------------------------------------------------------------------


def test_engines_and_numbers_of_files_change_nothing(engine: Engine, tmp_path: Path) -> None:
    """`test_large` does so for PEEL and (k,P)."""
    method, frame = NLK(n=1, l=4, k=5, grouping="joint", heuristic="stage1"), two_series()
    one = protect(method, frame, tmp_path, 1)
    assert one.verdict.holds
    assert_same(protect(method, frame, tmp_path, 7, engine=engine), one)


@pytest.mark.parametrize(
    "method", [tv.KP(k=6, P=2, max_level=4), NLK(n=1, l=4, k=5, heuristic="mth")], ids=["kp", "nlk"]
)
def test_the_number_of_files_changes_nothing(method: Any, tmp_path: Path, curves: pl.DataFrame) -> None:
    one, two, seven = (protect(method, curves[:400], tmp_path, files) for files in (1, 2, 7))
    assert_same(one, two)
    assert_same(one, seven)


# -- (n,l,k) ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heuristic", ["stage1", "auto", "mth", "mil", "gpe"])
@pytest.mark.parametrize("grouping", ["per-block", "joint"])
def test_all_records_and_times_in_one_part_are_what_the_method_makes(
    heuristic: Any, grouping: Any, tmp_path: Path
) -> None:
    frame = two_series(120)
    # Seven of ten values would be too many for a piece of time, but this is the whole series.
    method = NLK(n=1, l=5, k=4, heuristic=heuristic, grouping=grouping)
    release = protect(method, frame, tmp_path)
    original, protected = as_protected(release, frame)
    assert release.verdict.holds
    assert method.guarantee(protected).verify(protected).holds
    cubes = [original.block(name)[:, :, None] for name in TWO]
    if grouping == "joint":
        cubes = [np.concatenate(cubes, axis=2)]
    made = [
        method._made(sorted_points(cube), {"auto": "peel"}.get(heuristic, heuristic), "", search=False).published
        for cube in cubes
    ]
    whole = np.concatenate(made, axis=2).transpose(0, 2, 1).reshape(len(frame), -1)
    assert np.array_equal(protected.values, whole)
    if heuristic == "stage1":
        assert np.array_equal(protected.values, method.protect(original).data.values)
        assert not any("allowance" in warning for warning in release.warnings)
    else:
        assert not np.array_equal(whole, np.hstack([cube[:, :, 0] for cube in cubes]))
        assert any("count of small cells" in warning for warning in release.warnings) == (heuristic != "auto")


def test_stage_1_by_time_points_is_that_of_all_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, curves: pl.DataFrame
) -> None:
    monkeypatch.setattr(ways, "CELLS", 2 * 700)
    method = NLK(n=2, l=4, k=5, heuristic="stage1")
    release = protect(method, curves, tmp_path, 3)
    original, protected = as_protected(release, curves)
    assert sum(1 for name in release.facts if "points" in name) == 3
    assert np.array_equal(protected.values, method.protect(original).data.values)
    assert release.warnings[0].startswith("series 'series': (n,l,k)-anonymity does not stop re-identification")


@pytest.mark.parametrize("grouping", ["per-block", "joint"])
@pytest.mark.parametrize("heuristic", ["stage1", "peel", "gpe"])
def test_a_time_point_of_very_many_records_is_cut_into_ranges(
    heuristic: Any, grouping: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One time point at a time, and of that no more than 80 cells."""
    monkeypatch.setattr(ways, "CELLS", 80)
    frame = two_series()
    method = NLK(n=1, l=5, k=4, heuristic=heuristic, grouping=grouping)
    release = protect(method, frame, tmp_path)
    assert (
        release.facts["all series together, points 1 to 1" if grouping == "joint" else "gas, points 1 to 1"]["parts"]
        > 2
    )
    _, protected = as_protected(release, frame)
    assert release.verdict.holds
    assert method.guarantee(protected).verify(protected).holds
    spent = naive.most_small_cells(protected.block("gas"), 4)
    # Peeling may spend what half the points are, here 2 of 3; where everybody has the same share, that of a time point is none.
    assert spent <= 2 if heuristic == "peel" else spent == 0
    assert spent == 2 or heuristic != "peel" or grouping == "joint"


def test_l_above_n_by_one_is_warned_of(tmp_path: Path) -> None:
    release = protect(NLK(n=2, l=3, k=4), two_series(60), tmp_path)
    assert any("l - n = 1 leaves no value" in warning for warning in release.warnings)


def test_whom_random_and_chosen_values_single_out(tmp_path: Path) -> None:
    for grouping, names in (("per-block", list(TWO)), ("joint", ["all series together"])):
        release = protect(NLK(n=2, l=4, k=5, grouping=grouping), two_series(), tmp_path / grouping)  # type: ignore[arg-type]
        rows = published(release.folder)
        cubes = [rows.select(columns).to_numpy()[:, :, None] for columns in TWO.values()]
        for name, cube in zip(names, [np.concatenate(cubes, axis=2)] if grouping == "joint" else cubes, strict=True):
            found = identification(cube, 2)
            assert 0 < release.facts[f"identified by random known values, {name}, %"] == round(found.random, 2)
            assert release.facts[f"identified by chosen known values, {name}, %"] == round(found.chosen, 2)
            assert found.random < found.chosen < 100
            assert found.warning(f"series {name!r}") in release.warnings
        assert sum("chosen ones at least" in warning for warning in release.warnings) == len(names)


# -- the verdict on (n,l,k) ---------------------------------------------------------------------------------------------


def judged(guarantee: Any, frame: pl.DataFrame, folder: Path, blocks: dict[str, list[str]], files: int = 3) -> Verified:
    paths = sorted(write_files(folder / "files", frame, files).glob("*.parquet"))
    own = [(name, tuple(columns)) for name, columns in blocks.items()]
    carried = tuple(name for name in ("town",) if name in frame.columns)
    return verify_files(guarantee, paths, own, Here(), Memory(), records=frame.height, carried=carried)


def test_what_the_count_leaves_open_is_decided_as_by_the_definition(tmp_path: Path) -> None:
    """Small tables over three files: the same verdict, and never "holds" where there is an attack."""
    rng = np.random.default_rng(5)
    seen = {"counted": 0, "searched": 0, "violated": 0}
    for turn in range(60):
        N, T = int(rng.integers(6, 14)), int(rng.integers(2, 6))
        k, n = int(rng.integers(2, 5)), int(rng.integers(1, T))
        l = int(rng.integers(n + 1, T + 1))
        Y = (rng.integers(0, 4, (N, T)) * (rng.random((N, T)) < rng.choice([0.2, 0.6]))).astype(float)
        columns = [str(t) for t in range(T)]
        found = judged(NLKAnonymity(n, l, k), pl.DataFrame(Y, schema=columns), tmp_path / str(turn), {"x": columns})
        attack = naive.attack(Y, n, l, k)
        assert found.verdict.status == ("holds" if attack is None else "violated"), (Y, n, l, k)
        if attack is None:
            seen["searched" if "an exact search" in found.verdict.details[0] else "counted"] += 1
            continue
        seen["violated"] += 1
        # "block 'x': published row 3: who knows ...": that row has an attack indeed.
        row = int(found.verdict.witness.split("published row ")[1].split(":")[0]) - 1
        assert naive.attack_on(naive.clusters(Y), row, n, l, k) is not None
    assert min(seen.values()) >= 5, seen


def test_points_of_several_dimensions_are_judged_together(tmp_path: Path) -> None:
    """Each series by itself has two of each value, but the pairs of values are unique."""
    frame = pl.DataFrame({"a1": [0.0, 0, 1, 1], "a2": [0.0, 0, 1, 1], "b1": [0.0, 1, 0, 1], "b2": [0.0, 1, 0, 1]})
    blocks = {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    assert judged(NLKAnonymity(1, 2, 2), frame, tmp_path / "alone", blocks).verdict.holds
    together = judged(NLKAnonymity(1, 2, 2, scope="record"), frame, tmp_path / "together", blocks).verdict
    assert together.status == "violated"
    assert "who knows point a1 infers point a2" in together.witness


def apart(count: int) -> Any:
    """Protection that publishes so many records of every part unlike all others."""
    protected = ways.protected

    def breaking(*given: Any) -> ways.Done:
        done = protected(*given)
        done.values[:count] += 1e-3
        return done

    return breaking


@pytest.mark.parametrize("limit", ["SUSPECTS", "RIVALS"])
def test_too_much_to_search_is_unknown_and_refused(
    limit: str, tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two records of one part that nobody else is like: not decided, so not published."""
    monkeypatch.setattr(verify_nlk, limit, 1)
    monkeypatch.setattr("tsveil.large.steps.protected", apart(2))
    with pytest.raises(
        tv.errors.GuaranteeError, match=r"UNKNOWN: .*\n.*more than the 2 that are safe .* are too many to be searched"
    ):
        protect(NLK(n=1, l=4, k=4), curves[:300].drop("town"), tmp_path)


def test_a_search_that_ends_too_early_is_unknown(tmp_path: Path) -> None:
    columns = [str(t) for t in range(7)]
    frame = pl.DataFrame(np.random.default_rng(0).integers(0, 3, (40, 7)).astype(float), schema=columns)
    assert find_violation(frame.to_numpy(), 1, 3, 16).nodes == 40
    assert judged(NLKAnonymity(1, 3, 16), frame, tmp_path / "a", {"x": columns}).verdict.holds
    stopped = judged(NLKAnonymity(1, 3, 16, node_limit=1), frame, tmp_path / "b", {"x": columns}).verdict
    assert stopped.status == "unknown"
    assert "the search was stopped with published rows 2, 3, 4" in stopped.witness


# -- (k,P) and envelopes --------------------------------------------------------------------------------------------------


def in_original_order(release: LargeRelease, frame: pl.DataFrame) -> tuple[Array, IntervalTable, Indices]:
    """The original series, the published table in their order, and the row of each in it."""
    known = private(release.folder)
    place = {name: at for at, name in enumerate(frame["meter"])}
    record = np.array([place[name] for name in known["original"]])
    kept = known["row"].is_not_null().to_numpy()
    order = np.argsort(record[kept])
    table = IntervalTable.from_frame(published(release.folder)).take(order)
    own = np.full(len(record), -1)
    own[np.sort(record[kept])] = np.arange(len(order))
    return frame.select(release.source.columns).to_numpy(), table, own


INTERVALS: dict[str, IntervalMethod] = {
    "(k,P)": tv.KP(k=6, P=3, levels="paper", max_level=5),
    "envelopes": tv.KAnonymousEnvelopes(k=5, round_to=0.1),
}


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("part", [150, 10_000])
def test_all_figures_of_envelopes_are_those_of_the_whole_release(
    name: str, part: int, tmp_path: Path, curves: pl.DataFrame
) -> None:
    method, frame = (
        INTERVALS[name],
        curves.with_columns(town=pl.when(pl.col("town") == "t6").then("town").otherwise(pl.lit("t0"))),
    )
    release = protect(method, frame, tmp_path, part=part)
    x, table, own = in_original_order(release, frame)
    whole = evaluate_intervals(x, table, own, frame["meter"])
    assert isinstance(release.card, IntervalCard)
    assert set(release.card) == set(whole)
    for figure, value in whole.items():
        assert release.card[figure] == value, figure
    assert release.card.per_record.equals(whole.per_record.drop("original"))
    assert release.card.options == whole.options == {"targets": "all records"}
    assert release.card.homogeneous == whole.homogeneous
    assert whole.homogeneous["town"][1] > 0
    assert any("'town' has one value only among all records of one envelope" in one for one in release.warnings)
    verdict = method.guarantee().verify(table)
    assert verdict.details == release.verdict.details
    told = json.loads((release.folder / "private" / "release.json").read_text())
    assert told["homogeneous"]["town"]["records"] == whole.homogeneous["town"][1]
    assert "breach by values, worst" in (release.folder / "published" / "report.html").read_text()
    if part > len(frame):
        data = Dataset.from_frame(
            frame, id="meter", blocks={"series": {"from": frame.columns[2], "to": frame.columns[-1]}}, confidential=["town"]
        )  # fmt: skip
        alone = method.protect(data)
        assert np.array_equal(alone.rows, np.flatnonzero(own >= 0))
        assert np.array_equal(alone.table.lo, table.lo)
        assert np.array_equal(alone.table.hi, table.hi)
        assert alone.table.words == table.words
        assert set(alone.warnings) == set(release.warnings)
        assert alone.evaluate().to_dict() == release.card.to_dict()


def test_of_many_records_some_are_linked_against_all(tmp_path: Path, curves: pl.DataFrame) -> None:
    release = protect(tv.KP(k=6, P=2), curves, tmp_path, people=60)
    assert isinstance(release.card, IntervalCard)
    assert release.card.options["targets"].startswith("a random sample of 60 of 700 records")
    assert "the worst is the worst of these" in (release.folder / "private" / "report.html").read_text()
    assert 0 < release.card["breach_both_mean"] <= release.card["breach_both"] <= 50
    assert release.card["breach_values"] <= 100 / 6 + 1e-9


FIRST = pl.int_range(pl.len()) == 0


@pytest.mark.parametrize(
    ("method", "broken", "message"),
    [
        (INTERVALS["(k,P)"], {"pattern": pl.lit("zaaaaa")}, r"the pattern zaaaaa has a letter that level \d does not have"),
        (INTERVALS["(k,P)"], {"level": pl.lit(27)}, "the level 27 is not between 1 and 26"),
        (INTERVALS["(k,P)"], {"level": pl.col("level") + 20 * FIRST}, "patterns inside an envelope: .* group has 1"),
        (INTERVALS["(k,P)"], {"lo_2018-01-02": pl.lit(99.0)}, "lo_2018-01-02 is 99, above hi_2018-01-02"),
        (INTERVALS["(k,P)"], {"pattern": pl.when(~FIRST).then("pattern")}, "1 missing or infinite value where"),
        (INTERVALS["envelopes"], {"lo_2018-01-02": pl.lit(99.0)}, "lo_2018-01-02 is 99, above hi_2018-01-02"),
        (INTERVALS["envelopes"], {"hi_2018-01-03": pl.col("hi_2018-01-03") + FIRST}, "envelopes: .* group has 1"),
        (INTERVALS["envelopes"], {"hi_2018-01-03": pl.when(~FIRST).then("hi_2018-01-03")}, "1 missing or infinite"),
        (INTERVALS["envelopes"], None, "300 records were to be written, 299 are in the files"),
        (NLK(n=1, l=3, k=4), {"2018-01-03": pl.when(~FIRST).then("2018-01-03")}, "1 missing or infinite value where"),
    ],
)  # fmt: skip
def test_one_broken_file_of_the_release_is_refused(
    method: Any, broken: Any, message: str, tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong on the way to the disk is seen when the files are read again."""
    assemble = steps.assemble

    def breaking(task: Any) -> Any:
        done = assemble(task)
        if task["at"] == 1:
            path = Path(task["store"]).parent / "published" / "data" / "part-00001.parquet"
            frame = pl.read_parquet(path)
            (frame[1:] if broken is None else frame.with_columns(**broken)).write_parquet(path)
        return done

    monkeypatch.setattr(steps, "assemble", breaking)
    with pytest.raises(tv.errors.GuaranteeError, match=message):
        protect(method, curves[:300], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["in2"]


def test_a_broken_part_of_points_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsveil.large.steps.protected", apart(1))
    for grouping in ("per-block", "joint"):
        with pytest.raises(
            tv.errors.GuaranteeError, match=r"VIOLATED: .*\n.*published row .*: who knows point load0 infers"
        ):
            protect(NLK(n=1, l=3, k=4, heuristic="stage1", grouping=grouping), two_series(), tmp_path / grouping)


def test_files_made_by_others_are_read_as_they_are(tmp_path: Path) -> None:
    rows = {
        "lo_1": [1.0] * 4,
        "hi_1": [2.0] * 4,
        "pattern": ["a", "a", "b", "b"],
        "level": [2] * 4,
        "town": list("xxxy"),
    }
    frame = pl.DataFrame(rows)
    good = judged(KPAnonymity(4, 2), frame, tmp_path / "good", {"x": ["1"]})
    assert good.verdict.details == KPAnonymity(4, 2).verify(frame).details
    assert good.homogeneous == {"town": (1, 2)}
    assert judged(EnvelopeAnonymity(4), frame, tmp_path / "envelopes", {"x": ["1"]}).homogeneous == {"town": (0, 0)}
    for wrong in (pl.lit(None, dtype=pl.String).alias("pattern"), pl.lit("").alias("pattern")):
        verdict = judged(
            KPAnonymity(4, 2), frame.with_columns(wrong), tmp_path / str(wrong)[:9], {"x": ["1"]}, 1
        ).verdict
        assert verdict.status == "violated"


# -- what is refused ------------------------------------------------------------------------------------------------------


def test_data_that_are_no_series_of_equal_length(tmp_path: Path, people: pl.DataFrame) -> None:
    with pytest.raises(tv.errors.InputError, match="NLK protects series; this data set has attributes"):
        protect(NLK(n=1, l=3, k=4), people, tmp_path / "a")
    source = tv.source(
        write_files(tmp_path / "b", two_series(60), 2),
        blocks={"load": {"columns": TWO["load"], "kind": "series"}, "gas": {"columns": TWO["gas"][:4], "kind": "series"}},
    )  # fmt: skip
    with pytest.raises(
        tv.errors.InputError, match=r"grouping='joint' needs series of the same length\. Got 5, 4 points"
    ):
        tv.protect_folder(source, NLK(n=1, l=3, k=4, grouping="joint"), tmp_path / "out")
