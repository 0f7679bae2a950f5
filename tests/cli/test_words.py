"""What the command line says where something is left out, misspelt or stopped; next to nothing is computed here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import tsveil as tv
from tsveil.cli import main
from tsveil.core.registry import METHODS
from tsveil.plan import plan as planning
from tsveil.plan import run as running
from tsveil.plan.run import demo_plan


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


DAYS = [f"2024-01-{day:02}" for day in range(1, 7)]


def table(n: int, columns: Sequence[str]) -> pl.DataFrame:
    values = np.random.default_rng(8).gamma(3, 2, (n, len(columns))).round(3)
    return pl.DataFrame(values, schema=list(columns), orient="row")


@pytest.fixture
def meters(tmp_path: Path) -> Path:
    """12 households by 6 days."""
    frame = table(12, DAYS).insert_column(0, pl.Series("household", [f"h{i:02}" for i in range(12)]))
    frame.write_csv(tmp_path / "meters.csv")
    return tmp_path / "meters.csv"


def test_commands_are_listed_in_the_order_of_work() -> None:
    shown = tsveil("--help").output
    places = [shown.index(f"\n  {name} ") for name in ("demo", "inspect", "plan", "run", "evaluate", "sweep", "web")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("inspect", "FILE", "--block", "days"),
            "--block 'days' must look like NAME=FIRST..LAST or NAME=COLUMN,COLUMN",
        ),
        (("inspect", "FILE", "--block", "=a,b"), "--block '=a,b' must look like"),
        (("verify", "FILE"), "say what to check: --k 5"),
        (("verify", "FILE", "--k", 3, "--kp", "3,2"), "say what to check: --k 5"),
        (("verify", "FILE", "--nlk", "7,10"), "--nlk must look like 7,10,10. Got '7,10'."),
        (("query", "FILE"), "say what to ask: --range TIME=FROM..TO or --similar V,V,..."),
        (("sweep", "FILE"), "say where the study of FILE goes: --out FOLDER"),
        (("compare", "a", "b", "--id", "household"), "reading options need --original FILE"),
        (("compare", "a", "b", "--out", "page.pdf"), "--out page.pdf must be a page, for example page.html"),
        (("compare", "a", "b", "--out", ""), "--out . must be a page, for example report.html"),
        (("nlk-study", "--synthetic", "sine", "--out", "/"), "--out / must be a page, for example /report.html"),
        (("plan", "FILE", "--out", ".", "--overwrite"), ". is a folder"),
        (("web", "FILE", "--demo"), "a file or --demo, not both"),
        (("evaluate", "FILE", "FILE", "--truth", "no.csv"), "the truth no.csv cannot be read: "),
        (("evaluate", "FILE", "FILE", "--truth", "FILE"), "the truth needs the columns 'original' and 'released'"),
        (("attack", "FILE", "FILE", "--method", "magic", "--truth", "id"), "there is no attack 'magic' for these data"),
        (
            ("attack", "FILE", "FILE", "--method", "shape", "--distance", "euclidean"),
            "the attack 'shape' is not the one by the distance 'euclidean': say one of the two only",
        ),
        (("protect", "FILE", "--out", "out", "astray"), "'astray' is not expected here"),
        (
            ("protect", "FILE", "--out", "out", "--method", "noise", "--correlated", "perhaps"),
            "the 'correlated' parameter must be true or false. Got 'perhaps'.",
        ),
    ],
)
def test_bad_words_are_told(
    meters: Path, words: tuple[object, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(meters.parent)
    ended = tsveil(*("meters.csv" if word == "FILE" else word for word in words))
    assert message.replace("FILE goes", "meters.csv goes") in ended.output
    assert ended.exit_code == 2
    assert [path.name for path in meters.parent.iterdir()] == ["meters.csv"]


def test_a_plan_says_itself_what_is_read(tmp_path: Path) -> None:
    for words in (("--out", "x"), ("--seed", 3), ("--id", "household"), ("--methods", "mdav")):
        ended = tsveil("sweep", tmp_path / "sweep.toml", *words)
        assert ended.exit_code == 2
        assert "is a plan: it says itself what is read, tried and written" in ended.output


@pytest.mark.parametrize(("word", "correlated"), [("yes", True), ("False", False), ("1", True), ("no", False)])
def test_true_and_false_have_many_names(
    meters: Path, word: str, correlated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[planning.Plan] = []

    def run(plan: planning.Plan, **_: object) -> None:
        asked.append(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", run)
    tsveil("protect", meters, "--out", "out", "--method", "noise", "--correlated", word)
    settings = dict(asked[0].method)
    assert METHODS.make(settings.pop("name"), settings).settings()["correlated"] is correlated


def test_whoever_stops_a_command_is_told_that_nothing_was_written(
    meters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", stopped)
    ended = tsveil("protect", meters, "--out", meters.parent / "out")
    assert ended.exit_code == 130
    assert ended.stderr == "stopped; nothing was written\n"


def test_a_sweep_that_is_stopped_can_go_on(meters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tsveil.plan.sweep.run_sweep", stopped)
    ended = tsveil("sweep", meters, "--out", meters.parent / "study")
    assert ended.exit_code == 130
    assert f"what was finished is kept in {meters.parent / 'study'}: run the same command again" in ended.stderr


def test_an_error_of_our_own_is_not_dressed_up_as_lack_of_memory(meters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of tsveil")

    monkeypatch.setattr(running, "run", wrong)
    with pytest.raises(RuntimeError, match="a fault of tsveil"):
        tsveil("protect", meters, "--out", "out")


def test_a_plan_for_a_file_with_gaps_says_so(tmp_path: Path) -> None:
    frame = table(12, DAYS).insert_column(0, pl.Series("household", [f"h{i:02}" for i in range(12)]))
    gap = pl.when(pl.col("household") == "h03").then(None).otherwise(pl.col("2024-01-02")).alias("2024-01-02")
    frame.with_columns(gap).write_csv(tmp_path / "meters.csv")
    ended = tsveil("plan", tmp_path / "meters.csv")
    assert ended.exit_code == 0
    assert "The file has problems that a run would refuse; the plan can say what to do about them:" in ended.output
    assert "h03" in ended.output
    plan = tmp_path / "meters.plan.toml"
    assert plan.exists()
    with pytest.raises(tv.errors.InputError, match="h03"):
        planning.Plan.load(plan).input.read(tmp_path)


def test_the_demo_ends_where_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 12 of its households and 2 of its days; all of them are used in test_commands.py."""
    raw, plan = demo_plan()
    columns = [*raw.columns[:49], raw.columns[-1]]
    small = planning.Plan(
        input=planning.Input(
            path=plan.input.path, blocks={"load": {"from": columns[1], "to": columns[-2]}}, confidential=["heating"]
        ),
        method={"name": "mdav", "k": 3},
        output=plan.output,
        seed=5,
        secret="",
    )
    monkeypatch.setattr(running, "demo_plan", lambda: (raw.select(columns).head(12), small))
    shown = tsveil("demo", "--folder", tmp_path / "demo").output
    assert "HOLDS, WITH WARNINGS: " in shown
    assert (
        f"The raw file and the plan are beside it: {tmp_path}/demo/load_curves.csv, {tmp_path}/demo/plan.toml" in shown
    )
    assert "Next: tsveil inspect" in shown


def test_values_that_whole_groups_share_are_told(tmp_path: Path) -> None:
    """Two far groups of three with one illness each: nobody needs to know who is who."""
    values = np.repeat([1.0, 50.0], 3)[:, None] + np.arange(6)[:, None] % 3 + np.arange(4)
    frame = pl.DataFrame(values, schema=[f"2024-01-0{j + 1}" for j in range(4)], orient="row")
    frame.insert_column(0, pl.Series("person", [f"p{i}" for i in range(6)]))
    frame.with_columns(illness=pl.Series(["flu"] * 3 + ["gout"] * 3)).write_csv(tmp_path / "people.csv")
    out = tmp_path / "out"
    ended = tsveil("protect", tmp_path / "people.csv", "--out", out, "--k", 3, "--confidential", "illness")
    assert ended.exit_code == 0, ended.output
    assert (
        "Attribute disclosure: whole classes have the same or nearly the same value of illness for 6 of 6 records"
        in ended.output
    )
    assert f"{out / 'private'} lists them under attribute_disclosure" in ended.output
    assert pl.read_csv(out / "private" / "attribute_disclosure.csv").height == 6


def test_questions_to_envelopes(meters: Path) -> None:
    data = tv.read(meters)
    folder = tv.KP(k=4, P=2).protect(data, seed=2).write(meters.parent / "out")
    published = folder / "published" / "data.csv"
    for words, message in (
        (("--similar", "1,two,3"), "--similar must be numbers with commas between them. Got '1,two,3'."),
        (("--range", "2024-01-02"), "--range '2024-01-02' must look like TIME=FROM..TO"),
        (("--range", "2024-01-02=low..3"), "--range '2024-01-02=low..3' must look like TIME=FROM..TO"),
    ):
        ended = tsveil("query", published, *words)
        assert ended.exit_code == 2
        assert message in ended.output
    # Everybody is above nothing, and whoever is counted for certain is really there.
    assert (
        tsveil("query", published, "--range", "2024-01-02=0..").output == "12 to 12 records for certain, about 12.0\n"
    )
    counted = json.loads(tsveil("query", published, "--range", "2024-01-02=..5", "--json").output)
    assert counted["least"] <= (data.values[:, 1] <= 5).sum() <= counted["most"]
    curve = ",".join(map(str, data.values[0]))
    lines = tsveil("query", published, "--similar", curve, "--top", 2).output.splitlines()
    assert len(lines) == 2
    assert all("distance" in line and line.startswith("row ") for line in lines)


def test_attacks_on_many_attributes_leave_the_probable_one_out(tmp_path: Path) -> None:
    table(8, "abcdefghijklm").write_csv(tmp_path / "people.csv")
    words = ("attack", tmp_path / "people.csv", tmp_path / "people.csv", "--truth", "id", "--method")
    shown = tsveil(*words, "auto").output
    assert "probabilistic  left out: it takes at most 12 known attributes (--known)" in shown
    assert "distance             8.0 of 8 right (100.0 %)" in shown
    refused = tsveil(*words, "distance", "--distance", "sts")
    assert refused.exit_code == 2
    assert "is for time series. Got 'sts'." in refused.output
    refused = tsveil(*words, "interval", "--one-to-one")
    assert refused.exit_code == 2


def test_a_distance_that_is_none(meters: Path) -> None:
    from tsveil.attack.choose import links_by_attack

    data = tv.read(meters)
    with pytest.raises(tv.errors.ParameterError, match="there is no distance 'manhattan'\n  distances available: "):
        links_by_attack(data, data, distance="manhattan")


def test_options_that_no_attack_takes_together(meters: Path) -> None:
    from tsveil.attack.choose import links_by_attack

    data = tv.read(meters)
    with pytest.raises(
        tv.errors.ParameterError,
        match="no attack on these data takes 'one_to_one' and a file of another period: leave one of them out",
    ):
        links_by_attack(data, data, one_to_one=True, other=data)


@pytest.mark.parametrize("words", [("plan", "meters.csv", "--number", "\udcff"), ("inspect", "\udce9t\udce9.csv")])
def test_words_that_are_not_utf_8_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """They come as halves of surrogates, which no file in UTF-8 can hold."""
    (tmp_path / "meters.csv").write_text("id,1,2\na,1.5,2.5\nb,2.5,3.5\n")
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 2
    assert "is not UTF-8" in ended.output
    assert [path.name for path in tmp_path.iterdir()] == ["meters.csv"]
