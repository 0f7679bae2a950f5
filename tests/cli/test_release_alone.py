"""Commands take the folder of a release alone: its plan says what it was made from, and how that was read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tsveil.cli import main


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


def days(path: Path, form: str = "%d;%m", named: bool = True) -> Path:
    """A file that needs options: semicolons, decimal commas, days whose month is not decided, a column that is left out."""
    rng = np.random.default_rng(5)
    header = [*["kunde"] * named, *(f"0{day}/02/2020" for day in range(1, 9)), "art"]
    rows = [
        [*[f"k{i}"] * named, *(f"{v:.2f}".replace(".", ",") for v in rng.gamma(2, 1, 8)), ["a", "b"][i % 2]]
        for i in range(24)
    ]
    path.write_text("\n".join(";".join(row) for row in [header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("named", [True, False])
def test_a_release_alone_is_evaluated_and_attacked_as_when_it_was_made(tmp_path: Path, named: bool) -> None:
    file, folder = days(tmp_path / "days.csv", named=named), tmp_path / "out"
    made = tsveil(
        "protect", file, "--out", folder, "--k", 3, "--time-format", "day-first", "--confidential", "art", "--json"
    )
    assert made.exit_code == 0, made.output
    scores = json.loads(made.stdout)["scores"]
    alone = tsveil("evaluate", folder, "--json")
    assert alone.exit_code == 0, alone.output
    assert json.loads(alone.stdout) == scores
    attacked = tsveil("attack", folder, "--json")
    assert attacked.exit_code == 0, attacked.output
    assert json.loads(attacked.stdout)["attacks"]["values"]["rate"] == pytest.approx(scores["EULD"])

    moved = file.rename(tmp_path / "moved.csv")
    gone = tsveil("evaluate", folder)
    assert gone.exit_code == 2
    assert "are not at" in gone.stderr
    for command in ("evaluate", "attack"):
        assert tsveil(command, moved, folder, "--json").stdout == (alone if command == "evaluate" else attacked).stdout


def test_records_without_identifiers_are_counted_as_messages_count_them(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    tsveil("protect", days(tmp_path / "days.csv", named=False), "--out", folder, "--k", 3, "--time-format", "day-first")
    for name in ("id_map", "groups", "risk"):
        first = [
            line.split(",")[0] for line in (folder / "private" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        ]
        assert first == ["original", *map(str, range(1, 25))]


def test_an_id_map_that_counts_from_0_is_still_read(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    tsveil("protect", days(tmp_path / "days.csv", named=False), "--out", folder, "--k", 3, "--time-format", "day-first")
    now = [tsveil(command, folder).stdout for command in ("evaluate", "attack")]
    place = folder / "private" / "id_map.csv"
    head, *rows = place.read_text(encoding="utf-8").splitlines()
    older = [",".join([str(int(row.split(",")[0]) - 1), *row.split(",")[1:]]) for row in rows]
    place.write_text("\n".join([head, *older]) + "\n")
    facts = folder / "private" / "release.json"
    facts.write_text(facts.read_text(encoding="utf-8").replace('"rows_from": 1', '"rows_from": 0'))
    assert [tsveil(command, folder).stdout for command in ("evaluate", "attack")] == now


def test_what_was_given_is_said(tmp_path: Path) -> None:
    file, plan = days(tmp_path / "days.csv"), tmp_path / "x.plan.toml"
    plan.write_text('[input]\npath = "days.csv"\n[method]\nname = "mdav"\n[output]\nfolder = "out"\n')
    for words, said in (
        (["inspect", plan], "x.plan.toml is a plan, and this command takes data"),
        (["protect", plan, "--out", tmp_path / "out"], "x.plan.toml is a plan, and this command takes data"),
        (["run", file], "days.csv is no plan, and this command takes one"),
        (["run", tmp_path], "is no plan, and this command takes one"),
        (["evaluate", file], "days.csv is not a release with its private side, so a second file is needed"),
        (["evaluate", tmp_path, "--truth", "id"], "is not a release with its private side"),
    ):
        found = tsveil(*words)
        assert found.exit_code == 2
        assert said in found.stderr
        assert "options: " in found.stderr


def test_a_release_of_persons_with_several_records_is_evaluated_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [f"p{i // 3},{a:.2f},{b:.2f}" for i, (a, b) in enumerate(rng.gamma(2, 1, (30, 2)))]
    (tmp_path / "visits.csv").write_text("\n".join(["who,a,b", *rows]) + "\n")
    made = tsveil("protect", tmp_path / "visits.csv", "--out", tmp_path / "out", "--k", 3, "--person", "who", "--json")
    assert made.exit_code == 0, made.output
    alone = tsveil("evaluate", tmp_path / "out", "--json")
    assert alone.exit_code == 0, alone.output
    assert json.loads(alone.stdout) == json.loads(made.stdout)["scores"]
