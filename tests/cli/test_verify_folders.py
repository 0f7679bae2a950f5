"""`tsveil verify` on folders: parts are judged like one file, a release with what its private side says, and both are attacked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import tsveil as tv
from cli.test_verify import BASE, K, protected, verified
from engine_files import protect_files, write_files
from tsveil.cli import main
from tsveil.core.registry import METHODS

ROWS = protected(240, 4, 3)


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


def parts(folder: Path, frame: pl.DataFrame, form: str = "csv", count: int = 3) -> Path:
    """A table in parts, named like those of a release."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = [round(frame.height * (at / count) ** 1.5) for at in range(count + 1)]
    for at in range(count):
        one = frame[cuts[at] : cuts[at + 1]]
        path = folder / f"part-{at:05d}.{form}"
        one.write_csv(path) if form == "csv" else one.write_parquet(path)
    return folder


def assessment(found: Result) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(found.stdout)["assessment"]
    return document


# -- parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("change", ["nothing", "a row less", "a column more", "sorted", "a carried column"])
def test_parts_are_judged_like_one_file(tmp_path: Path, form: str, change: str) -> None:
    frame, options = ROWS, list[str]()
    if change == "a row less":
        frame = frame[1:]
    elif change == "a column more":
        frame = frame.with_columns(surname=pl.Series([f"n{at}" for at in range(240)]))
    elif change == "sorted":
        frame = frame.sort("v0", "v1", "v2", "v3")
    elif change == "a carried column":
        frame, options = frame.with_columns(town=pl.Series(["Cork", "Bath"] * 120)), ["--confidential", "town"]
    one = tmp_path / f"one.{form}"
    frame.write_csv(one) if form == "csv" else frame.write_parquet(one)
    whole = verified(one, "--k", K, *options, "--json")
    cut = verified(parts(tmp_path / "data", frame, form), "--k", K, *options, "--json")
    assert whole.exit_code == cut.exit_code == (0 if change in ("nothing", "a carried column") else 1)
    assert assessment(whole) == assessment(cut)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_class_spans_all_parts(tmp_path: Path, form: str) -> None:
    """Parts in which no class has k rows hold together; a part that is k-anonymous hides nothing of another one that is not."""
    by_class = ROWS.sort("v0", "v1", "v2", "v3")
    spread = pl.concat([by_class[at::4].sample(fraction=1, shuffle=True, seed=at) for at in range(4)])
    assert spread[:60].drop("id").is_unique().all()
    folder = tmp_path / "spread"
    for at in range(4):
        one = parts(tmp_path / f"{at}", spread[60 * at : 60 * at + 60], form, 1) / f"part-00000.{form}"
        folder.mkdir(exist_ok=True)
        shutil.move(one, folder / f"part-{at:05d}.{form}")
    assert verified(folder, "--k", K).exit_code == 0
    assert verified(folder / f"part-00001.{form}", "--k", K).exit_code == 1
    lonely = tmp_path / "lonely"
    parts(lonely, ROWS.with_columns(v0=pl.when(pl.int_range(240) < 3).then(7.25).otherwise(pl.col("v0"))), form)
    found = verified(lonely, "--k", K)
    assert found.exit_code == 1
    assert "FAILS" in found.output


def cut_short(folder: Path) -> None:
    path = sorted(folder.iterdir())[1]
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3 - 3])


def emptied(folder: Path) -> None:
    sorted(folder.iterdir())[1].write_bytes(b"")


def lost(folder: Path) -> None:
    sorted(folder.iterdir())[1].unlink()


def renamed(folder: Path) -> None:
    path = sorted(folder.iterdir())[1]
    table = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    table = table.rename({"v1": "w1"})
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)


def wider(folder: Path) -> None:
    path = sorted(folder.iterdir())[2]
    table = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    table = table.with_columns(surname=pl.Series([f"n{at}" for at in range(table.height)]))
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("damage", [cut_short, emptied, lost, renamed, wider])
def test_damaged_and_missing_parts_are_refused(tmp_path: Path, form: str, damage: Callable[[Path], None]) -> None:
    folder = parts(tmp_path / "data", ROWS, form)
    damage(folder)
    found = verified(folder, "--k", K)
    # A text that is cut inside a cell may be another table, which violates the promise.
    assert found.exit_code in ((1, 2) if (form, damage) == ("csv", cut_short) else (2,)), found.output
    assert "Traceback" not in found.output


def test_a_number_written_otherwise_in_another_part_is_found(tmp_path: Path) -> None:
    folder = parts(tmp_path / "data", ROWS)
    path = folder / "part-00002.csv"
    path.write_text("\n".join(f"{line}0" if "." in line else line for line in path.read_text().splitlines()) + "\n")
    found = verified(folder, "--k", K)
    assert found.exit_code == 1
    assert "equal numbers are written differently" in found.output


def test_types_of_parquet_parts_are_the_same(tmp_path: Path) -> None:
    whole = ROWS.with_columns(pl.col("^v.*$").round())
    folder = parts(tmp_path / "data", whole, "parquet")
    assert verified(folder, "--k", K).exit_code == 0
    last = folder / "part-00002.parquet"
    pl.read_parquet(last).with_columns(pl.col("v1").cast(pl.Int64)).write_parquet(last)
    found = verified(folder, "--k", K)
    assert found.exit_code == 2
    assert "part-00002.parquet holds 'v1' in another type than part-00000.parquet" in found.output


@pytest.mark.parametrize("name", ["names.json", ".hidden.csv", "_old.csv", "deep/er.md"])
def test_other_files_in_the_folder_are_named(tmp_path: Path, name: str) -> None:
    folder = parts(tmp_path / "data", ROWS)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("surname\nSmith\n")
    found = verified(folder, "--k", K)
    assert found.exit_code == 1
    assert f"nobody judged the published column '{name}'" in found.output.replace("file", "column")


def test_parts_that_are_each_sorted_are_found(tmp_path: Path) -> None:
    folder = parts(tmp_path / "data", ROWS)
    for path in folder.iterdir():
        pl.read_csv(path).sort("v0", "v1").write_csv(path)
    found = verified(folder, "--k", K)
    assert found.exit_code == 1
    assert "rows that are alike stand together" in found.output


# -- Parquet ----------------------------------------------------------------------------------------------------------


#: what is wrong -> one more protected column
TYPES: dict[str, pl.Series] = {
    "whole numbers that are one float64": pl.Series("v9", [2**60 + at for at in range(60)]),
    "decimals that are one float64": pl.Series(
        "v9", [Decimal(1) + Decimal(at) / 10**20 for at in range(60)], dtype=pl.Decimal(30, 20)
    ),
    "a zero with a sign": pl.Series("v9", [-0.0] + [0.0] * 59),
    "not a number": pl.Series("v9", [float("nan")] * 60),
    "a list": pl.Series("v9", [[at] for at in range(60)]),
    "bytes": pl.Series("v9", [bytes([at]) for at in range(60)]),
    "days": pl.Series("v9", range(60)).cast(pl.Date),
    "durations": pl.Series("v9", range(60)).cast(pl.Duration),
    "categories": pl.Series("v9", [f"c{at}" for at in range(60)], dtype=pl.Categorical),
}


@pytest.mark.parametrize("what", TYPES)
def test_a_bad_parquet_file_never_passes(what: str, tmp_path: Path) -> None:
    BASE.with_columns(TYPES[what]).write_parquet(tmp_path / "file.parquet")
    found = verified(tmp_path / "file.parquet", "--k", K)
    assert found.exit_code in (1, 2), found.output
    assert "Traceback" not in found.output


@pytest.mark.parametrize("kind", [pl.Float32, pl.Int16, pl.UInt64, pl.Decimal(20, 3)])
def test_types_that_are_one_value_each_pass(kind: Any, tmp_path: Path) -> None:
    BASE.with_columns(pl.col("^v.*$").round().cast(kind)).write_parquet(tmp_path / "file.parquet")
    assert verified(tmp_path / "file.parquet", "--k", K).exit_code == 0


# -- releases ---------------------------------------------------------------------------------------------------------

VALUES = np.random.default_rng(0).gamma(2, 1, (64, 8))


def release(folder: Path, kind: Any = METHODS["mdav"], file: int = 1000, **roles: Any) -> Path:
    """A release of 64 records with a carried column, in files of `file` rows."""
    names = {parameter.name for parameter in kind.parameters()}
    settings = {"k": 4, "P": 2, "n": 2, "l": 5, "columns": "tariff"}
    method = kind.from_settings({name: value for name, value in settings.items() if name in names})
    frame = pl.DataFrame(VALUES, schema=[str(t) for t in range(1, 9)]).with_columns(
        tariff=pl.Series(["day", "night"] * 32), who=pl.Series([f"p{at}" for at in range(64)])
    )
    place = write_files(folder / "in", frame, 2)
    return protect_files(
        place, method, folder / "out", seed=1, part=30, chunk=25, file=file, confidential=["tariff"], id="who", **roles
    ).folder


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "private" / "assessment.json").read_text())
    return found


@pytest.mark.parametrize("file", [25, 1000])
@pytest.mark.parametrize("kind", METHODS.values())
def test_a_release_is_judged_as_when_it_was_written(tmp_path: Path, kind: Any, file: int) -> None:
    folder = release(tmp_path, kind, file)
    found = verified(folder, "--json")
    assert found.exit_code == 0
    assert assessment(found) == told(folder)


def test_text_and_long_releases_are_judged_as_well(tmp_path: Path) -> None:
    long = pl.DataFrame(
        [(f"h{at}", f"2020-01-{t + 1:02d}", f"{VALUES[at, t]:.2f}", "x" * (at % 2)) for at in range(64) for t in range(5)],
        schema=["who", "=day", "load", "town"], orient="row",
    )  # fmt: skip
    long.write_csv(tmp_path / "long.csv", separator=";")
    words = ["--id", "who", "--time", "=day", "--value", "load", "--layout", "long", "--confidential", "town"]
    made = tsveil("protect", tmp_path / "long.csv", "-o", tmp_path / "out", "--k", 4, *words)
    assert made.exit_code == 0, made.output
    found = verified(tmp_path / "out", "--json")
    assert found.exit_code == 0
    assert assessment(found) == told(tmp_path / "out")
    # Its published folder alone is a file: what is carried has to be named.
    published = tmp_path / "out" / "published"
    assert verified(published, "--k", 4).exit_code == 1
    assert verified(published, "--k", 4, *(word.replace("=", "'=") for word in words[2:])).exit_code == 0


def test_what_happened_to_a_release_is_seen(tmp_path: Path) -> None:
    folder = release(tmp_path)
    file, ids = folder / "published" / "data.parquet", folder / "private" / "id_map.csv"
    table, whole = pl.read_parquet(file), ids.read_text()

    def now(published: pl.DataFrame) -> Result:
        published.write_parquet(file)
        return verified(folder)

    assert "promise              FAILS" in now(table.with_columns(pl.Series("1", [9.5, *table["1"][1:]]))).output
    found = now(table.with_columns(surname=table["who"]))
    assert found.exit_code == 1
    assert "nobody judged the published column 'surname'" in found.output
    assert "the published files were changed after the release was attacked" in found.output
    fewer = now(table[4:])
    assert fewer.exit_code == 2
    assert "publishes 60 records, and its id map names 64" in fewer.output
    # The identifiers of the original, in the file and in the id map: they may look random.
    names = dict(pl.read_csv(ids).select("released", "original").iter_rows())
    renamed = now(table.with_columns(pl.col("who").replace_strict(names)))
    assert renamed.exit_code == 1
    assert "nobody judged the published column 'who'" in renamed.output
    pl.read_csv(ids).with_columns(original=pl.col("released")).write_csv(ids)
    assert "nobody judged the published column 'released'" in now(table).output
    ids.write_text(whole)
    # The order of the original.
    order = pl.read_csv(ids)["published_row"].to_numpy() - 1
    frame = pl.read_csv(ids).with_columns(published_row=pl.int_range(1, 65))
    frame.write_csv(ids)
    found = now(table[order.tolist()])
    assert found.exit_code == 1
    assert "the rows stand in the order of the original" in found.output
    ids.write_text(whole)
    (folder / "published" / "names.csv").write_text("who\nAnn\n")
    assert "'published/names.csv'" in now(table).output
    (folder / "published" / "names.csv").unlink()
    assert now(table).exit_code == 0


def test_parts_of_a_release_are_all_needed(tmp_path: Path) -> None:
    folder = release(tmp_path, file=25)
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "published" / "data" / "part-00002.parquet").unlink()
    last = verified(tmp_path / "copy")  # the last one: no gap among the names
    assert last.exit_code == 2
    assert "a part is missing, or a file was changed" in last.output
    (folder / "published" / "data" / "part-00001.parquet").unlink()
    assert verified(folder).exit_code == 2
    shutil.rmtree(folder / "private")
    assert verified(folder).exit_code == 2


def test_a_release_that_was_allowed_does_not_pass(tmp_path: Path) -> None:
    """Its verdict stays what it was, for each check that can stop it."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"who": [f"h{at}" for at in range(60)], **{f"{t}:00": rng.normal(size=60) for t in range(5)}})
    frame.write_csv(tmp_path / "days.csv")
    assert tsveil("plan", tmp_path / "days.csv").exit_code == 0
    plan = tmp_path / "days.plan.toml"
    plan.write_text(plan.read_text().replace('accepted_risk = "1/5"', "accepted_risk = 10.0"))
    assert tsveil("run", plan).exit_code == 1
    assert tsveil("run", plan, "--allow", "accepted-risk").exit_code == 0
    folder = tmp_path / "days-release"
    found = verified(folder)
    assert found.exit_code == 1
    assert "accepted-risk        FAILS" in found.output
    assert "Written although it did not pass; allowed: accepted-risk" in found.output
    assert assessment(verified(folder, "--json")) == told(folder)


def test_warnings_are_failures_if_strict(tmp_path: Path) -> None:
    folder = release(tmp_path, METHODS["noise"])
    assert verified(folder).exit_code == 0
    strict = verified(folder, "--strict", "--json")
    assert strict.exit_code == 1
    assert assessment(strict) == told(folder)


def test_an_older_release_needs_its_promise_named(tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "releases_0_1"
    assert "does not say what was promised" in verified(old / "values").output
    assert verified(old / "values").exit_code == 2
    found = verified(old / "parts", "--k", 3, "--confidential", "tariff")
    assert found.exit_code == 0, found.output
    assert verified(old / "parts", "--k", 4, "--confidential", "tariff").exit_code == 1


# -- persons ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["one file", "parts"])
def of_persons(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of 16 persons with 4 records each."""
    folder: Path = tmp_path_factory.mktemp("persons")
    frame = pl.DataFrame(VALUES, schema=[str(t) for t in range(1, 9)])
    frame = frame.with_columns(person=pl.Series([f"p{at % 16}" for at in range(64)]))
    place = write_files(folder / "in", frame, 2)
    file = 25 if request.param == "parts" else 1000
    return protect_files(place, tv.MDAV(k=4), folder / "out", seed=1, chunk=25, file=file, person=["person"]).folder


def map_in(folder: Path) -> Path:
    place = folder / "private" / "id_map.csv"
    return place if place.exists() else folder / "private" / "id_map"


def data_in(folder: Path) -> Path:
    place = folder / "published" / "data.parquet"
    return place if place.exists() else folder / "published" / "data"


def test_persons_of_a_release_come_from_its_id_map(of_persons: Path) -> None:
    found = verified(of_persons, "--json")
    assert found.exit_code == 0
    assert assessment(found) == told(of_persons)
    assert assessment(found)["persons"] == 16
    alone = verified(data_in(of_persons), "--k", 4)
    assert alone.exit_code == 1
    assert "NOT DECIDED" in alone.output
    assert "release.json says that persons have several records" in alone.output
    named = verified(data_in(of_persons), "--k", 4, "--persons", map_in(of_persons), "--json")
    assert named.exit_code == 0
    document = assessment(named)
    assert document["persons"] == 16
    assert document["checks"][0] == told(of_persons)["checks"][0]


#: what is wrong with a map of persons -> the map
MAPS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "an id is missing": lambda ids: ids[1:],
    "an id occurs twice": lambda ids: pl.concat([ids, ids[:1]]),
    "an id has two persons": lambda ids: pl.concat([ids, ids[:1].with_columns(person=pl.lit("p99"))]),
    "a person is missing": lambda ids: ids.with_columns(person=pl.Series([None, *ids["person"][1:]])),
    "two persons own everything": lambda ids: ids.with_columns(person=pl.int_range(ids.height) % 2),
    "one person is written in many ways": lambda ids: ids.with_columns(
        person=pl.concat_str(pl.lit("Ann"), pl.Series([" " * (at % 9) for at in range(ids.height)]))
    ),
    "one person is written with hidden characters": lambda ids: ids.with_columns(
        person=pl.concat_str(pl.lit("Ann"), pl.Series(["\u200b" * (at % 9) for at in range(ids.height)]))
    ),
    "no ids": lambda ids: ids.select("original", "person"),
    "no persons": lambda ids: ids.drop("person"),
}


@pytest.mark.parametrize("what", MAPS)
def test_a_bad_map_of_persons_never_passes(of_persons: Path, tmp_path: Path, what: str) -> None:
    place = map_in(of_persons)
    ids = pl.read_csv(place) if place.is_file() else pl.read_parquet(place)
    MAPS[what](ids).write_csv(tmp_path / "map.csv")
    found = verified(data_in(of_persons), "--k", 4, "--persons", tmp_path / "map.csv")
    assert found.exit_code in (1, 2), found.output
    assert "Traceback" not in found.output
    # The same map in the private side of the release.
    folder = tmp_path / "release"
    shutil.copytree(of_persons, folder)
    if place.is_file():
        MAPS[what](ids).write_csv(folder / "private" / "id_map.csv")
    else:
        shutil.rmtree(folder / "private" / "id_map")
        (folder / "private" / "id_map").mkdir()
        MAPS[what](ids).write_parquet(folder / "private" / "id_map" / "part-00000.parquet")
    again = verified(folder)
    assert again.exit_code in (1, 2), again.output
    assert "Traceback" not in again.output


def test_envelopes_count_persons_as_well(tmp_path: Path) -> None:
    """What is promised of records is not decided where persons are named."""
    folder = release(tmp_path, METHODS["k-envelopes"])
    table = pl.read_parquet(folder / "published" / "data.parquet")
    pl.DataFrame({"published_row": range(1, table.height + 1), "person": ["Ann"] * table.height}).write_csv(
        tmp_path / "map.csv"
    )
    words = (folder / "published" / "data.parquet", "--envelopes", 4, "--confidential", "tariff")
    assert verified(*words).exit_code == 0
    found = verified(*words, "--persons", tmp_path / "map.csv")
    assert found.exit_code == 1
    assert "this promise counts records" in found.output


def test_a_release_wants_no_map(of_persons: Path) -> None:
    found = verified(of_persons, "--persons", map_in(of_persons))
    assert found.exit_code == 2
    assert "a release has its id map in private/" in found.output
