"""One command from a file with keys beside the series to a verdict, and a plan that keeps whole numbers whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import tsveil as tv
from tsveil.assess.assessment import Attempt, risk_check
from tsveil.assess.limits import Intruder, Limits
from tsveil.attack.choose import links_by_attack
from tsveil.cli import main


def run(*words: Any) -> Result:
    """The command line."""
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    draw = np.random.default_rng(5)
    n = 60
    frame = pl.DataFrame(
        {
            "home": [f"h{at}" for at in range(n)],
            "dwelling": draw.choice(["flat", "house", "=farm"], n),
            "postcode": [f"0{at}" for at in draw.integers(1, 7, n)],
            **{f"2024-01-0{day}": draw.integers(0, 40, n) for day in range(1, 7)},
        }
    )
    frame.write_csv(tmp_path / "homes.csv")
    tree = "".join(f"0{at},region {at % 2}\n" for at in range(1, 7))
    (tmp_path / "places.csv").write_text(tree)
    return tmp_path / "homes.csv"


def test_one_command_from_a_file_with_keys_to_a_verdict(homes: Path) -> None:
    out = homes.parent / "release"
    keys = ["--nominal", "dwelling", "--hierarchy", f"postcode={homes.parent / 'places.csv'}"]
    made = run("protect", homes, "--out", out, "--k", 5, "--representative", "generalise", "--rounding", "input", *keys)
    assert made.exit_code == 0, made.output
    assert "HOLDS: 5-anonymity" in made.output
    assert "WARNS" not in made.output
    assert "Not measured" not in made.output
    judged = json.loads((out / "private" / "assessment.json").read_text())
    assert {"mixed-distance", "labels-probabilistic", "labels-conditional"} <= {
        one["attack"] for one in judged["ladder"]
    }
    published = pl.read_csv(out / "published" / "data.csv", schema_overrides={"postcode": pl.String})
    assert set(published["dwelling"]) <= {"flat", "house", "'=farm", "*"}
    assert set(published["postcode"]) <= {*(f"0{at}" for at in range(1, 7)), "region 0", "region 1", "*"}
    assert published["2024-01-03"].dtype == pl.Int64
    assert published.drop("home").unique(maintain_order=True).height <= 12
    assert published.group_by(published.columns[1:]).len()["len"].min() >= 5  # type: ignore[operator]
    verified = run("verify", out)
    assert verified.exit_code == 0, verified.output
    damaged = published.with_columns(pl.Series("dwelling", ["cave", *published["dwelling"][1:]]))
    damaged.write_csv(out / "published" / "data.csv")
    assert run("verify", out).exit_code != 0


def test_keys_alone(homes: Path) -> None:
    pl.read_csv(homes, infer_schema=False).select("home", "dwelling", "postcode").write_parquet(
        homes.parent / "keys.parquet"
    )
    out = homes.parent / "release"
    made = run(
        "protect",
        homes.parent / "keys.parquet",
        "--out",
        out,
        "--k",
        5,
        "--nominal",
        "dwelling",
        "--nominal",
        "postcode",
    )
    assert made.exit_code == 0, made.output
    assert pl.read_parquet(out / "published" / "data.parquet").schema["postcode"] == pl.String
    report = (out / "private" / "report.html").read_text()
    assert "labels differ from the original ones" in report
    assert "Original and published labels" in report
    assert "Loss of labels" in report
    assert "linkage by distance, with labels" in report
    public = (out / "published" / "report.html").read_text()
    assert "Published labels" in public
    assert "before and after" not in public
    assert run("verify", out).exit_code == 0
    data = tv.read(homes.parent / "keys.parquet", id="home", categories={"dwelling": "nominal", "postcode": "nominal"})
    card = tv.evaluate(data, tv.MDAV(k=5).protect(data))
    assert "not measured" not in card.options
    assert card.loss == "LL1"
    attacks = {"mixed-distance", "mixed-one-to-one", "labels-probabilistic", "labels-conditional", "fullest-keys"}
    assert set(links_by_attack(data, data)) == attacks
    given = ["--id", "home", "--nominal", "dwelling", "--nominal", "postcode"]
    shown = run("evaluate", homes.parent / "keys.parquet", homes.parent / "keys.parquet", *given)
    assert "linkage by distance, with labels" in shown.output


def test_a_plan_keeps_whole_numbers_whole(homes: Path) -> None:
    assert (
        run("plan", homes, "--nominal", "dwelling", "--hierarchy", f"postcode={homes.parent / 'places.csv'}").exit_code
        == 0
    )
    place = homes.parent / "homes.plan.toml"
    text = place.read_text()
    assert 'rounding = "input"' in text
    assert 'postcode = { hierarchy = "places.csv" }' in text
    done = run("run", place)
    assert done.exit_code == 0, done.output
    data = homes.parent / "homes-release" / "published" / "data.csv"
    assert pl.read_csv(data).schema["2024-01-01"] == pl.Int64
    place.write_text(text.replace('rounding = "input"', "").replace("homes-release", "before"))
    assert run("run", place).exit_code == 0
    assert pl.read_csv(homes.parent / "before" / "published" / "data.csv").schema["2024-01-01"] == pl.Float64


def test_a_limit_is_not_kept_by_attacks_that_do_not_know_the_labels() -> None:
    found = Attempt.of("person", "values", 2.0, 0.5, 100, 100, 20.0, np.full(100, 0.02))
    given: dict[str, Any] = {"spoken_of": "none", "promise": "5-anonymity", "exposed": None}
    ladder, intruder, limits = [found], Intruder(knows="person"), Limits(accepted_risk="1/10")
    assert risk_check(ladder, intruder, limits, **given).status == "holds"
    check = risk_check(ladder, intruder, limits, untried=["keys"], **given)
    assert check.status == "warns"
    assert "no attack knows the labels in 'keys', and one that does may find more" in check.message


def test_several_files_have_the_same_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that lists its labels is text then, for each file would list others; numbers stay numbers as long as no node above them is published."""
    from tsveil.data import pieces

    for name, value in (("ONE_FILE", 100), ("FILE_VALUES", 160), ("FILE_ROWS", 40)):
        monkeypatch.setattr(pieces, name, value)
    draw = np.random.default_rng(0)
    towns = pl.Series(draw.choice(["a", "b", "c"], 120), dtype=pl.Enum(["c", "b", "a"]))
    frame = pl.DataFrame(
        {"id": np.arange(120), "code": draw.integers(0, 9, 120), "town": towns, "x": draw.normal(size=120)}
    )
    frame.write_parquet(tmp_path / "homes.parquet")
    data = tv.read(
        tmp_path / "homes.parquet", id="id", blocks={"x": ["x"]}, categories={"code": "nominal", "town": "ordinal"}
    )
    cases: list[tuple[Any, str]] = [("mean", "Int64"), ("generalise", "String")]
    for representative, kind in cases:
        out = tv.MDAV(k=4, representative=representative).protect(data, seed=2).write(tmp_path / representative)
        parts = [pl.read_parquet_schema(path) for path in sorted((out / "published" / "data").iterdir())]
        assert len(parts) == 3
        assert {(str(schema["code"]), str(schema["town"])) for schema in parts} == {(kind, "String")}
        assert run("verify", out).exit_code == 0


def test_releases_of_labels_alone_are_compared_and_swept(homes: Path) -> None:
    keys = homes.parent / "keys.parquet"
    pl.read_csv(homes, infer_schema=False).select("home", "dwelling", "postcode").write_parquet(keys)
    given = ["--nominal", "dwelling", "--nominal", "postcode"]
    for k in (3, 6):
        assert run("protect", keys, "--out", homes.parent / f"k{k}", "--k", k, *given).exit_code == 0
    shown = run("compare", homes.parent / "k3", homes.parent / "k6")
    assert shown.exit_code == 0, shown.output
    assert "loss in labels" in shown.output
    swept = run("sweep", keys, "--out", homes.parent / "swept", *given)
    assert swept.exit_code == 0, swept.output
    assert "the loss in labels LL1 in percent" in (homes.parent / "swept" / "study.html").read_text()
    attacked = run("attack", keys, homes.parent / "k3")
    assert attacked.exit_code == 0, attacked.output
    assert "mixed-one-to-one" in attacked.output
