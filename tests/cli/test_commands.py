"""The command line as a person meets it: what it prints, its exit codes, and that nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from tsveil.cli import main
from tsveil.core import registry


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def meters(tmp_path: Path) -> Path:
    """A small file of 24 households by 12 hours with a tariff."""
    rng = np.random.default_rng(4)
    hours = [f"2024-01-01T{hour:02}:00" for hour in range(12)]
    frame = pl.DataFrame(
        {"household": [f"h{i}" for i in range(24)]} | {hour: rng.gamma(2, 1, 24).round(3) for hour in hours}
    )
    frame.with_columns(tariff=pl.Series(["day", "night"] * 12)).write_csv(tmp_path / "meters.csv")
    return tmp_path / "meters.csv"


def test_demo_ends_with_a_report(tmp_path: Path) -> None:
    for _ in range(2):  # twice in a row
        result = tsveil("demo", "--folder", tmp_path / "demo")
        assert result.exit_code == 0
        assert "HOLDS, WITH WARNINGS: 88 of 300 persons are in classes that disclose 'heating'" in result.output
        assert "score" in result.output
        assert len(result.output.splitlines()) < 48
    assert (tmp_path / "demo" / "release" / "private" / "report.html").stat().st_size > 10_000
    assert (tmp_path / "demo" / "release" / "published" / "report.html").exists()


def test_the_plan_of_the_demo_runs(tmp_path: Path) -> None:
    tsveil("demo", "--folder", tmp_path / "demo")
    plan = tmp_path / "demo" / "plan.toml"
    refused = tsveil("run", plan)
    assert refused.exit_code == 2
    assert "exists already" in refused.output
    assert tsveil("run", plan, "--overwrite").exit_code == 0


def test_inspect_plan_run_verify_evaluate(meters: Path) -> None:
    seen = tsveil("inspect", meters)
    assert seen.exit_code == 0
    assert "household" in seen.output
    assert "24 records" in seen.output

    assert tsveil("plan", meters, "--confidential", "tariff").exit_code == 0
    plan = meters.with_name("meters.plan.toml")
    assert "# smallest group" in plan.read_text()
    assert 'refine = "swap"' in plan.read_text()
    assert tsveil("plan", meters).exit_code == 2  # not overwritten without being asked

    result = tsveil("run", plan, "--json")
    assert result.exit_code == 0
    outcome = json.loads(result.output)
    assert outcome["status"] == "holds"

    folder = Path(outcome["folder"])
    published = folder / "published" / "data.csv"
    assert pl.read_csv(published).columns == pl.read_csv(meters).columns
    assert tsveil("verify", published, "--k", 5).exit_code == 1  # nobody judged the tariff
    assert tsveil("verify", published, "--k", 5, "--confidential", "tariff").exit_code == 0
    broken = tsveil("verify", published, "--k", 13, "--confidential", "tariff")
    assert broken.exit_code == 1
    assert "NOT SAFE TO PUBLISH" in broken.output

    scored = tsveil("evaluate", meters, published, "--truth", folder / "private" / "id_map.csv", "--json")
    # A file of unknown making is attacked in more ways.
    assert {name: json.loads(scored.output)[name] for name in outcome["scores"]} == pytest.approx(outcome["scores"])
    shown = tsveil("evaluate", meters, published, "--truth", folder / "private" / "id_map.csv")
    assert "information loss" in shown.output


def test_protect_takes_the_methods_own_options(meters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = tsveil("protect", meters, "--out", out, "--k", 7, "--distance=sts", "--format", "parquet", "--json")
    assert result.exit_code == 0
    used = json.loads((out / "private" / "release.json").read_text())["settings"]
    assert used["distance"] == "sts"
    assert used["refine"] == "swap"
    assert tsveil("verify", out / "published" / "data.parquet", "--k", 7).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k", "1"), "The 'k' parameter of MDAV must be an integer of at least 2. Got 1."),
        (("--k", "many"), "the 'k' parameter must be an integer of at least 2. Got 'many'."),
        (("--k", "99"), "The 'k' parameter of MDAV must be at most the number of records (24). Got 99."),
        (("--kk", "5"), "it has no parameter 'kk'"),
        (("--method", "magic"), "there is no method 'magic'"),
        (("--confidential", "nothing"), "nothing"),
        (("--k",), "--k needs a value"),
    ],
)
def test_bad_words_are_told_and_write_nothing(
    meters: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = tsveil("protect", meters, "--out", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert message in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["meters.csv"]


def test_an_unsafe_release_is_refused_with_exit_code_1(meters: Path, tmp_path: Path) -> None:
    words = ("protect", meters, "--out", tmp_path / "out", "--k", 7, "--variant", "paper")  # 24 = 3 * 7 + 3
    refused = tsveil(*words)
    assert refused.exit_code == 1
    assert "was not written" in refused.output
    assert not (tmp_path / "out").exists()
    allowed = tsveil(*words, "--allow-unverified")
    assert allowed.exit_code == 0
    assert "NOT SAFE TO PUBLISH" in allowed.output
    assert "FAILS: 7-anonymity" in allowed.output
    assert "allowed: promise" in allowed.output
    assert "NOT VERIFIED" in (tmp_path / "out" / "published" / "README.md").read_text()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (".", "../meters.plan.toml"),
        ("../meters", "../meters.plan.toml"),
        ("part-*.csv", "../meters.plan.toml"),
        ("../meters/part-*.csv", "../meters.plan.toml"),
        ("part-1.csv", "part-1.plan.toml"),
        ("/", None),
    ],
)
def test_a_plan_is_written_beside_what_it_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, written: str | None
) -> None:
    folder = tmp_path / "meters"
    folder.mkdir()
    for part in (1, 2):
        (folder / f"part-{part}.csv").write_text("id,1,2\n" + "".join(f"{part}{i},{i}.5,{part}.25\n" for i in range(9)))
    monkeypatch.chdir(folder)
    told = tsveil("plan", given)
    if written is None:
        assert told.exit_code == 2
        return
    assert told.exit_code == 0, told.output
    assert (folder / written).exists()
    assert tsveil("run", folder / written, "--dry-run").exit_code == 0


def test_a_bad_plan_is_told(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    assert "cannot be read" in tsveil("run", plan).output
    plan.write_text('[input]\npath = "x.csv"\ncolour = "red"\n[method]\nname = "mdav"\n[output]\nfolder = "o"\n')
    result = tsveil("run", plan)
    assert result.exit_code == 2
    assert "colour" in result.output
    plan.write_text('[input]\npath = "x.csv"\n[method]\nk = 3\n[output]\nfolder = "o"\n')
    assert "[method] needs a name" in tsveil("run", plan).output


def test_inspect_tells_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,1,2,3\na,1,2,x\nb,4,,6\n")
    result = tsveil("inspect", tmp_path / "bad.csv")
    assert result.exit_code == 2
    assert "'x'" in result.output


def test_methods_lists_the_registry() -> None:
    assert "--k" in tsveil("methods").output
    assert {row["name"] for row in json.loads(tsveil("methods", "--json").output)} >= {"mdav", "rank-swap", "kp"}


KINDS = [kind for kind in vars(registry).values() if isinstance(kind, registry.Registry)]


@pytest.mark.parametrize("kind", KINDS, ids=[kind.kind for kind in KINDS])
def test_every_kind_has_a_listing(kind: registry.Registry) -> None:
    listed = json.loads(tsveil(f"{kind.kind}s", "--json").stdout)
    assert [row["name"] for row in listed] == list(kind)
    assert all({"name", "summary", "reference", "parameters"} <= row.keys() for row in listed)
    shown = tsveil(f"{kind.kind}s").output
    for row in listed:
        assert f"{row['name']}  {row['summary']}" in shown
        assert row["reference"] in shown


def test_nothing_but_results_in_a_pipe(meters: Path, tmp_path: Path) -> None:
    result = tsveil("protect", meters, "--out", tmp_path / "out", "--k", 3)
    assert result.stderr == ""
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("method", "parameter"),
    [("mdav", "k = 5"), ("projected", "k = 5"), ("rank-swap", "p = 5.0"), ("mic1d", "kappa = 50")],
)
def test_a_plan_for_microdata_with_blocks_by_correlation(tmp_path: Path, method: str, parameter: str) -> None:
    rng = np.random.default_rng(3)
    base = rng.lognormal(5, 1, (60, 3))
    table = np.repeat(base, 2, axis=1) * rng.lognormal(0, 0.1, (60, 6))
    frame = pl.DataFrame({f"a{i}": table[:, i].round().astype(int) for i in range(6)}).with_columns(note=pl.lit("x"))
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(
        f'[input]\npath = "people.csv"\nblock_size = 2\nblocks_by = "correlated"\n[method]\nname = "{method}"\n{parameter}\n'
        '[output]\nfolder = "out"\n'
    )
    result = tsveil("run", tmp_path / "plan.toml")
    assert result.exit_code == 0, result.output
    assert "left out, because they have no role: note" in result.output
    published = pl.read_csv(tmp_path / "out" / "published" / "data.csv")
    assert published.columns == ["id", *(f"a{i}" for i in range(6))]
    if method == "rank-swap":  # swapping keeps the values, so whole numbers stay whole
        assert all(published[f"a{i}"].dtype == pl.Int64 for i in range(6))
        assert sorted(published["a0"]) == sorted(frame["a0"])


def test_hints_are_as_one_would_type_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,pay\n1,2\n3,\n5,6\n7,8\n")
    for words in (("inspect", path), ("protect", path, "--out", tmp_path / "out", "--k", 2)):
        told = tsveil(*words)
        assert told.exit_code == 2
        assert "options: --missing drop leaves" in told.output
    assert tsveil("inspect", path, "--missing", "drop").exit_code == 0
    shape = tsveil("protect", path, "--missing", "drop", "--out", tmp_path / "out", "--k", 2, "--distance", "sts")
    assert "options: --distance euclidean" in shape.output
    plan = tmp_path / "plan.toml"
    plan.write_text('[input]\npath = "a.csv"\n[method]\nname = "mdav"\nk = 2\n[output]\nfolder = "out"\n')
    told = tsveil("run", plan)
    assert "options: missing='drop' leaves" in told.output  # as a plan has it


def test_attack_shows_what_an_intruder_learns(meters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tsveil("protect", meters, "--out", out, "--k", 3)
    words = ("attack", meters, out / "published" / "data.csv", "--truth", out / "private" / "id_map.csv")
    result = tsveil(*words)
    assert result.exit_code == 0, result.output
    assert "Most exposed:" in result.output
    found = json.loads(tsveil(*words, "--json").output)
    assert found["attacks"]["values"]["rate"] <= 100 / 3
    assert len(found["most_exposed"]) == 10
    assert tsveil(*words, "--method", "magic").exit_code == 2
    warped = json.loads(tsveil(*words, "--distance", "dtw", "--json").output)
    assert list(warped["attacks"]) == ["warping"]
    assert warped["attacks"]["warping"]["attack"].startswith("dtw within")
    alone = json.loads(tsveil(*words, "--one-to-one", "--json").output)
    assert all(found["attack"].startswith("one-to-one") for found in alone["attacks"].values())
    assert "approximate" in tsveil(*words, "--blocking", 4).output
    assert tsveil(*words, "--distance", "dtw", "--method", "shape").exit_code == 2


def test_attack_on_a_part_of_the_people(meters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tsveil("protect", meters, "--out", out, "--k", 3)
    everybody = pl.read_csv(meters)
    everybody.head(10).write_csv(tmp_path / "known.csv")
    released = pl.read_csv(out / "published" / "data.csv")
    released.sample(fraction=0.8, seed=1).write_csv(tmp_path / "sample.csv")
    words = ("attack", tmp_path / "known.csv", tmp_path / "sample.csv", "--truth", out / "private" / "id_map.csv")
    result = tsveil(*words)
    assert result.exit_code == 0, result.output
    assert "of 10 right" in result.output


def test_attack_on_microdata(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = pl.DataFrame(rng.lognormal(5, 1, (60, 3)).round(2), schema=["age", "pay", "debt"])
    people.with_columns(nr=pl.Series([f"p{i}" for i in range(60)])).write_csv(tmp_path / "a.csv")
    out = tmp_path / "out"
    made = tsveil("protect", tmp_path / "a.csv", "--out", out, "--method", "optimal-univariate", "--k", 3)
    assert made.exit_code == 0, made.output
    words = ("attack", tmp_path / "a.csv", out / "published" / "data.csv", "--truth", out / "private" / "id_map.csv")
    both = json.loads(tsveil(*words, "--known", "age,pay", "--json").output)
    one = json.loads(tsveil(*words, "--known", "age", "--method", "distance", "--json").output)
    assert both["attacks"]["alignment"]["rate"] > one["attacks"]["distance"]["rate"]
    assert list(one["attacks"]) == ["distance"]


def test_attack_without_common_attributes(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    size = np.sort(rng.lognormal(5, 1, 80))[:, None]
    ids = [f"p{i}" for i in range(80)]
    for name, columns in (("a", ["income", "rent", "car"]), ("b", ["tax", "savings"])):
        frame = pl.DataFrame((size * rng.uniform(0.97, 1.03, (80, len(columns)))).round(2), schema=columns)
        frame.insert_column(0, pl.Series("nr", ids)).sample(fraction=1, shuffle=True, seed=5).write_csv(
            tmp_path / f"{name}.csv"
        )
    words = ("attack", tmp_path / "a.csv", tmp_path / "b.csv", "--truth", "id")
    found = json.loads(tsveil(*words, "--method", "fuzzy", "--json").output)
    assert list(found["attacks"]) == ["fuzzy"]
    assert found["attacks"]["fuzzy"]["attack"].endswith("3 and 2 attributes")
    assert found["attacks"]["fuzzy"]["rate"] > 10 * 100 / 80
    refused = tsveil(*words)  # the other attacks need the same columns
    assert refused.exit_code == 2
    assert "income" in refused.output


def test_envelopes_and_patterns_from_file_to_query(meters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = tsveil("protect", meters, "--out", out, "--method", "kp", "--k", 6, "--P", 2)
    assert made.exit_code == 0, made.output
    assert (out / "private" / "report.html").exists()
    published = out / "published" / "data.csv"
    assert tsveil("verify", published, "--kp", "6,2").exit_code == 0
    assert tsveil("verify", published, "--kp", "25,2").exit_code == 1
    assert tsveil("verify", published).exit_code == 2
    assert tsveil("verify", published, "--kp", "six").exit_code == 2
    counted = json.loads(tsveil("query", published, "--range", "2024-01-01T03:00=0..2", "--json").output)
    assert counted["least"] <= counted["estimate"] <= counted["most"]
    found = json.loads(
        tsveil("query", published, "--similar", "1,2,3,4,5,6,7,8,9,10,11,12", "--top", 3, "--json").output
    )
    assert len(found["similar"]) == 3
    assert tsveil("query", published).exit_code == 2


def test_nlk_from_file_to_verification(meters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = tsveil("protect", meters, "--out", out, "--method", "nlk", "--n", 2, "--l", 5, "--k", 4)
    assert made.exit_code == 0, made.output
    assert "does not stop re-identification" in made.output
    published = out / "published" / "data.csv"
    assert tsveil("verify", published, "--nlk", "2,5,4").exit_code == 0
    broken = tsveil("verify", published, "--nlk", "2,3,24")
    assert broken.exit_code == 1
    assert "FAILS" in broken.output
    assert tsveil("verify", published, "--nlk", "5,2,4").exit_code == 2
    assert tsveil("verify", published, "--nlk", "5,2").exit_code == 2


def test_records_of_one_person(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(rng.gamma(2, 1, (12, 3)).round(3), schema=["a", "b", "c"], orient="row")
    frame.with_columns(owner=pl.Series([f"p{i // 2}" for i in range(12)])).write_csv(tmp_path / "meters.csv")
    out = tmp_path / "out"
    ended = tsveil("protect", tmp_path / "meters.csv", "--out", out, "--k", 3, "--person", "owner")
    assert ended.exit_code == 0, ended.output
    assert 'person = ["owner"]' in (out / "private" / "plan.toml").read_text()
    assert "owner" not in (out / "published" / "data.csv").read_text()
