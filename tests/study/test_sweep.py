"""A sweep tries everything once, loses nothing when it is killed, and gives the same figures however it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.assess.limits import Intruder
from tsveil.assess.summary import summed_up
from tsveil.core.registry import ATTACKS, METHODS
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import Described, Part, Protected, ValueMethod
from tsveil.release.publish import judge_unwritten_release
from tsveil.study import grids
from tsveil.study import sweep as sweeping
from tsveil.study.grids import choose_configurations, default_grid
from tsveil.study.store import hold_lock

GRID: dict[str, Any] = {
    "mdav": {"k": [2, 3, 4, 5]},
    "rank-swap": {"p": [5, 20.0]},
    "noise": {"sd": [0.1, 0.5]},
    "kp": {"k": [4], "P": [2]},
}


def curves(n: int = 40, points: int = 12) -> tv.Dataset:
    rng = np.random.default_rng(5)
    kinds = rng.normal(size=(4, points)).cumsum(axis=1)
    return tv.Dataset.from_arrays({"load": kinds[rng.integers(4, size=n)] + 0.3 * rng.normal(size=(n, points)) + 9})


def people(n: int = 40) -> tv.Dataset:
    rng = np.random.default_rng(6)
    columns = {name: rng.normal(50, 10, size=n).round(1) for name in ("age", "pay", "tax")}
    frame = pl.DataFrame(columns | {"ill": rng.choice(["yes", "no"], size=n)})
    return tv.Dataset.from_frame(frame, blocks={"a": ["age", "pay"], "b": ["tax"]}, confidential=["ill"])


def untimed(study: tv.Study) -> pl.DataFrame:
    return study.table.drop("seconds")


def test_rows_are_what_protect_and_evaluate_give() -> None:
    data = curves()
    table = tv.sweep(data, ["mdav"], {"mdav": {"k": [3]}}).table
    release = tv.MDAV(k=3).protect(data)
    card = release.evaluate(models="fitting")
    row = table.row(0, named=True)
    assert row["label"] == "mdav k=3"
    assert json.loads(row["settings"]) == tv.MDAV(k=3).settings()
    classes = {values.tobytes() for values in release.data.values}
    # Refined groups are so tight that linkage by values finds what running the method again would find.
    assert (row["risk"], row["attack"], row["intruder"]) == (100 * len(classes) / data.n, "values", "file")
    assert row["loss"] == pytest.approx(card["IL"], rel=1e-12)
    assert json.loads(row["figures"]) == pytest.approx(card.to_dict(), rel=1e-12)
    assert row["verdict"] == "holds"
    assert row["guarantee"] == release.guarantee.short
    assert row["problem"] is None


def test_attributes_are_measured_by_their_probabilistic_loss_and_the_attacks_that_fit() -> None:
    data = people()
    method = {"optimal-univariate": {"k": [3]}}
    row = tv.sweep(data, "optimal-univariate", method, intruder=Intruder(knows="person")).table.row(0, named=True)
    card = tv.evaluate(data, tv.OptimalUnivariate(k=3).protect(data))
    assert row["loss"] == pytest.approx(card["PIL"], rel=1e-12)
    # Everything of a person is known: not the mean over how much is.
    assert row["risk"] == pytest.approx(max(rates[-1] for rates in card.by_known.values()))
    assert row["risk"] > card.best_attack[1]
    assert row["attack"] in ATTACKS
    assert "ARLD" in json.loads(row["figures"])


def test_envelopes_are_measured_by_their_midlines_and_suppressed_records_are_lost() -> None:
    # One rising series among falling ones is suppressed.
    falling = np.linspace(9, 1, 12) + np.random.default_rng(2).uniform(size=(20, 1))
    data = tv.Dataset.from_arrays({"load": np.vstack([falling, np.linspace(1, 9, 12)])})
    release = tv.KP(k=4, P=2).protect(data)
    gone, n = len(release.suppressed), data.n
    assert 0 < gone < n
    judgement = judge_unwritten_release(release, release.verify())
    found = summed_up(release, *judgement, {})
    published = data.take(release.rows)
    card = tv.evaluate(published, published.with_values((release.lo + release.hi) / 2), models="fitting")
    assert found.loss == pytest.approx((card["IL"] * (n - gone) + 100 * gone) / n)
    # Suppressed records are no targets.
    rows = {
        (lo.tobytes(), hi.tobytes(), word)
        for lo, hi, word in zip(release.lo, release.hi, release.words or (), strict=True)
    }
    assert found.risk == 100 * len(rows) / (n - gone)
    assert found.attack == "envelope-values"  # it finds as many here as whoever has the whole file, and comes first
    assert judgement[1].suppressed == gone
    rates = {
        "EULD": card["EULD"] * (n - gone) / n,
        "STSLD": card["STSLD"] * (n - gone) / n,
        "breach_both_mean": release.evaluate()["breach_both_mean"],
        "breach_values_mean": release.evaluate()["breach_values_mean"],
        "breach_pattern_mean": release.evaluate()["breach_pattern_mean"],
    }
    assert {name: found.figures[name] for name in rates} == pytest.approx(rates)


def test_a_table_without_records_is_a_problem_not_a_choice() -> None:
    x = np.array([[2.0, 1.0], [4.0, 1.0], [3.0, 1.0], [5.0, 1.0], [1.0, 2.0]])
    study = tv.sweep(tv.Dataset.from_arrays({"x": x}), ["kp"], {"kp": {"k": [5], "P": [2]}})
    assert "nothing to publish" in study.table["problem"][0]
    assert study.recommend(max_risk=100).best is None


@pytest.mark.parametrize("data", [curves(), people(), tv.example("food-prices")], ids=["series", "attributes", "few"])
def test_every_method_is_tried_and_every_problem_is_told(data: tv.Dataset) -> None:
    study = tv.sweep(data, seed=3)
    assert set(study.table["method"]) == set(METHODS)
    assert study.complete
    for row in study.table.to_dicts():
        if row["problem"] is None:
            assert 0 <= row["risk"] <= 100
            assert 0 <= row["loss"] <= 100
            assert row["verdict"] in ("holds", "none-claimed")
            assert row["attack"] in {one["attack"] for one in json.loads(row["ladder"])}
            assert row["intruder"] == "file"
        else:
            assert not row["problem"].startswith("unexpected")
            assert row["risk"] is row["loss"] is None
            assert not row["pareto"]


def test_the_default_grid_has_about_sixty_configurations() -> None:
    data = tv.Dataset.from_arrays({"load": np.random.default_rng(1).normal(size=(1000, 168))})
    assert 40 <= len(choose_configurations(data)) <= 80
    labels = [configuration.label for configuration in choose_configurations(data)]
    assert len(set(labels)) == len(labels)


def test_several_blocks_are_tried_jointly_and_one_by_one_refined_and_not() -> None:
    tried = [
        configuration.settings for configuration in choose_configurations(people()) if configuration.method == "mdav"
    ]
    for k in (3, 5, 10, 20):
        ways = {(one["grouping"], one["refine"]) for one in tried if one["k"] == k}
        assert ways == {(grouping, refine) for grouping in ("per-block", "joint") for refine in ("none", "swap")}
    for name in ("v-mdav", "p-sensitive"):
        assert {one.settings["grouping"] for one in choose_configurations(people(), name)} == {"per-block", "joint"}
    assert {one.settings["grouping"] for one in choose_configurations(curves(), ["mdav", "nlk"])} == {"joint"}


def test_a_method_without_a_grid_is_tried_with_its_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Same(ValueMethod):
        name: ClassVar[str] = "same"
        summary: ClassVar[str] = "nothing is changed"
        reference: ClassVar[str] = "none"

        def guarantee(self, data: Described) -> NoGuarantee:
            return NoGuarantee()

        def protect_part(self, part: Part) -> Protected:
            return Protected(part.values.copy())

    monkeypatch.setitem(METHODS._others[0], "same", Same)
    study = tv.sweep(curves(), ["same"])
    assert study.table.select("label", "risk", "loss").rows() == [("same rounding=none", 100.0, 0.0)]
    assert default_grid("same", curves()) == [{}]


def test_values_that_no_method_takes_are_refused_before_the_work_all_at_once() -> None:
    with pytest.raises(tv.errors.ParameterError) as caught:
        tv.sweep(curves(), ["mdav", "noise"], {"mdav": {"k": [1, 3], "kk": [2]}, "noise": {"sd": [-1]}})
    assert len(caught.value.problems) == 3
    # Each of these may be had, only not together: a row of the table says so.
    table = tv.sweep(curves(), ["nlk"], {"nlk": {"n": [3, 9], "l": [5], "k": [4]}}).table
    assert table["problem"].is_null().to_list() == [True, False]
    assert "must be above n" in table["problem"][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tie": "first"}, "unknown option"),
        ({"ties": "last"}, "'ties' parameter"),
        ({"known": ["age"]}, "not for time series"),
        ({"models": {"own": abs}}, "by their names"),
        ({"truth": "id"}, "no option 'truth'"),
    ],
)
def test_options_of_the_measurement_are_checked_before_the_work(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tv.errors.ParameterError, match=message):
        tv.sweep(curves(), ["mdav"], evaluate=options)


def test_options_of_the_measurement_count() -> None:
    mean = tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, {"dr1": "mean"}).table
    card = tv.MDAV(k=3).protect(curves()).evaluate(dr1="mean", models="fitting")
    assert json.loads(mean["figures"][0]) == card.to_dict()


def test_the_number_of_threads_and_the_order_of_work_change_nothing() -> None:
    one = tv.sweep(curves(), list(GRID), GRID, seed=7, workers=1)
    three = tv.sweep(curves(), [*GRID][::-1], GRID, seed=7, workers=3)
    assert untimed(one).equals(untimed(three))
    other = tv.sweep(curves(), list(GRID), GRID, seed=8)
    noisy = pl.col("method") == "noise"
    assert one.table.filter(noisy)["loss"].to_list() != other.table.filter(noisy)["loss"].to_list()


def test_a_killed_sweep_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(__file__).parent
    code = (
        f"import sys; sys.path.insert(0, {str(here)!r})\n"
        "from test_sweep import GRID, curves\nimport tsveil as tv\n"
        f"tv.sweep(curves(), list(GRID), GRID, folder={str(tmp_path / 'killed')!r}, seed=9, workers=1,\n"
        "    on_progress=lambda done, total, label, left: (print(done, flush=True), done < 4 or input()))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.strip() == "4":
                break
        else:
            pytest.fail("the sweep ended too early")
    finally:
        process.kill()  # SIGKILL: no handler runs
        process.communicate()
    kept = {path.name: path.read_bytes() for path in (tmp_path / "killed" / "results").glob("*.json")}
    assert len(kept) == 4
    assert not (tmp_path / "killed" / "study.parquet").exists()
    assert len(tv.Study.load(tmp_path / "killed").table) == len(kept)

    ran: list[str] = []
    original = sweeping.row_of

    def counted(*arguments: Any) -> Any:
        ran.append(arguments[-1])
        return original(*arguments)

    monkeypatch.setattr(sweeping, "row_of", counted)
    again = tv.sweep(curves(), list(GRID), GRID, folder=tmp_path / "killed", workers=2)
    assert len(ran) == 9 - len(kept)
    assert not {f"{key}.json" for key in ran} & set(kept)
    for name, content in kept.items():
        assert (tmp_path / "killed" / "results" / name).read_bytes() == content
    whole = tv.sweep(curves(), list(GRID), GRID, seed=9)
    assert untimed(again).equals(untimed(whole))
    assert tv.Study.load(tmp_path / "killed").table.equals(again.table)
    ran.clear()
    assert tv.sweep(curves(), list(GRID), GRID, folder=tmp_path / "killed").table.equals(again.table)
    assert ran == []


def test_a_later_sweep_adds_to_the_table(tmp_path: Path) -> None:
    tv.sweep(curves(), ["noise"], {"noise": {"sd": [0.1]}}, folder=tmp_path)
    study = tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, folder=tmp_path)
    assert study.table["label"].to_list() == ["mdav k=3", "noise sd=0.1"]
    assert study.complete


def test_a_folder_with_another_study_is_refused(tmp_path: Path) -> None:
    tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, folder=tmp_path, seed=1)
    before = (tmp_path / "study.parquet").read_bytes()
    with pytest.raises(tv.errors.OutputError, match="other data and another seed"):
        tv.sweep(curves(41), ["mdav"], {"mdav": {"k": [3]}}, folder=tmp_path, seed=2)
    with pytest.raises(tv.errors.OutputError, match="other options of evaluate"):
        tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, {"dr1": "mean"}, folder=tmp_path)
    assert (tmp_path / "study.parquet").read_bytes() == before


def test_a_method_that_is_gone_stays_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tv.sweep(curves(), ["mdav", "noise"], {"mdav": {"k": [3]}, "noise": {"sd": [0.1]}}, folder=tmp_path)
    (tmp_path / "study.parquet").unlink()
    monkeypatch.setattr(grids, "METHODS", {name: m for name, m in METHODS.items() if name != "mdav"})
    assert tv.Study.load(tmp_path).table["label"].to_list() == ["noise sd=0.1", "mdav k=3"]


def test_two_sweeps_in_one_folder_do_not_meet(tmp_path: Path) -> None:
    with hold_lock(tmp_path), pytest.raises(tv.errors.OutputError, match="another sweep is running"):
        tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, folder=tmp_path)
    assert len(tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, folder=tmp_path).table) == 1


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    first = tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3, 4]}}, folder=tmp_path)
    broken = tmp_path / "results" / f"{first.table['key'][0]}.json"
    broken.write_text(broken.read_text()[:50])
    assert untimed(tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3, 4]}}, folder=tmp_path)).equals(untimed(first))


def test_what_was_not_foreseen_costs_one_row_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise MemoryError("too much")

    with monkeypatch.context() as patch:
        patch.setattr(tv.Noise, "protect", fails)
        table = tv.sweep(curves(), ["mdav", "noise"], {"mdav": {"k": [3]}, "noise": {"sd": [1]}}, folder=tmp_path).table
    assert table["problem"].to_list() == [None, "unexpected MemoryError: too much"]
    table = tv.sweep(curves(), ["noise"], {"noise": {"sd": [1]}}, folder=tmp_path).table
    assert table["problem"].to_list() == [None, None]


def test_it_can_be_stopped_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, int, str, float | None]] = []
    study = tv.sweep(
        curves(), list(GRID), GRID, folder=tmp_path, workers=1,
        on_progress=lambda *now: told.append(now), stopped=lambda: told[-1][0] >= 3,
    )  # fmt: skip
    assert len(study.table) == 3
    assert not study.complete
    assert told[0] == (0, 9, "", None)
    assert [now[0] for now in told] == list(range(len(told)))
    assert all(label for _, _, label, _ in told[1:])
    assert all(left is not None and left > 0 for *_, left in told[1:])
    told.clear()
    study = tv.sweep(curves(), list(GRID), GRID, folder=tmp_path, on_progress=lambda *now: told.append(now))
    assert study.complete
    assert told[0][:2] == (3, 9)
    assert told[-1][0] == 9
    assert told[-1][3] == 0


def test_a_folder_without_a_study_is_told(tmp_path: Path) -> None:
    with pytest.raises(tv.errors.InputError, match="no study in"):
        tv.Study.load(tmp_path)
    tv.sweep(curves(), ["mdav"], {"mdav": {"k": [3]}}, folder=tmp_path)
    (tmp_path / "study.parquet").write_text("nothing")
    with pytest.raises(tv.errors.InputError, match="cannot be read"):
        tv.Study.load(tmp_path)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_workers_are_a_number_of_threads(workers: Any) -> None:
    with pytest.raises(tv.errors.ParameterError, match="'workers' parameter"):
        tv.sweep(curves(), ["mdav"], workers=workers)
