"""The ledger of a release: what it says, what is refused, and what becomes of it."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli.program import main
from tsveil.core.errors import GuaranteeError, InputError, OutputError, ParameterError
from tsveil.data.dataset import Dataset
from tsveil.data.files import digest_of
from tsveil.plan.chain import adopt, history
from tsveil.plan.plan import Input, Output, Plan
from tsveil.plan.run import run
from tsveil.release.ledger import LEDGER, SCHEMA, read_ledger, withdraw_release
from tsveil.release.release import Release


def write_months(folder: Path, count: int = 3, n: int = 60, churn: int = 3) -> None:
    """A file of meter readings for each month, with a carried column, and a plan for each that continues the one before."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=(n + churn * count, 4))
    for month in range(1, count + 1):
        rows = np.arange(n) + (month - 1) * churn
        x = (base[rows] + 0.2 * rng.normal(size=(n, 4))).round(3)
        days = {f"2026-{month:02d}-{day + 1:02d}": x[:, day] for day in range(4)}
        frame = pl.DataFrame(
            {"meter": [f"h{row}" for row in rows], "heating": [["gas", "oil", "wood"][row % 3] for row in rows], **days}
        )
        frame.write_csv(folder / f"{month}.csv")
        after = f'after = "2026-{month - 1:02d}"\nids = "stable"\n' if month > 1 else ""
        (folder / f"{month}.toml").write_text(
            f'seed = 3\nsecret = ""\n[input]\npath = "{month}.csv"\nid = "meter"\nconfidential = ["heating"]\n[method]\nname = "mdav"\nk = 5\n'
            f'[output]\nfolder = "2026-{month:02d}"\n{after}[context]\nreview_date = "2027-01-01"\n[evaluate]\nmodels = ["ses"]\n'
        )


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three releases by plans."""
    folder = tmp_path_factory.mktemp("chain")
    write_months(folder)
    for month in (1, 2, 3):
        run(folder / f"{month}.toml")
    return folder


def copied(chain: Path, to: Path) -> Path:
    shutil.copytree(chain, to / "chain")
    return to / "chain"


def test_a_ledger_lists_all_releases_and_all_persons(chain: Path) -> None:
    ledger = read_ledger(chain / "2026-03")
    assert [one.path for one in ledger.releases] == ["../2026-01", "../2026-02", "."]
    for one in ledger.releases:
        data = chain / "2026-03" / one.path / "published" / "data.csv"
        assert one.published == digest_of([data])
        assert one.withdrawn is None
    assert dict(ledger.persons.schema) == SCHEMA
    everybody = {f"h{row}" for row in range(66)}
    assert {*ledger.persons["person"]} == everybody
    present = ledger.persons.filter(pl.col("group").is_not_null())
    published = pl.read_csv(chain / "2026-03" / "published" / "data.csv")
    assert {*present["identifier"]} == {*published["meter"]}
    ids = pl.read_csv(chain / "2026-03" / "private" / "id_map.csv")
    assert dict(present.select("record", "identifier").iter_rows()) == dict(
        ids.select("original", "released").iter_rows()
    )
    withheld = {*present.filter("withheld")["identifier"]}
    assert withheld == {*published.filter(pl.col("heating").is_null())["meter"]}
    assert withheld
    content = json.loads((chain / "2026-03" / LEDGER).read_text())
    assert {"version", "k", "ids", "releases", "persons"} <= set(content)
    assert (content["version"], content["k"], content["ids"], content["persons"]) == (1, 5, "stable", "ledger.parquet")


def test_nothing_of_the_ledger_is_published(chain: Path) -> None:
    ledger = read_ledger(chain / "2026-03")
    text = "".join(path.read_text() for path in (chain / "2026-03" / "published").iterdir())
    for word in ("ledger.parquet", "2026-02/", "Came", "Renewed", *(f"h{row}," for row in range(10, 66))):
        assert word not in text
    readme = (chain / "2026-03" / "published" / "README.md").read_text()
    assert "an empty cell says nothing about what it would hold" in readme
    assert str(ledger.releases[-1].figures["withheld"]) not in readme.split("## Earlier releases")[1].split("##")[0]
    private = (chain / "2026-03" / "private" / "report.html").read_text()
    assert "Earlier releases of the same persons" in private
    assert "Loss over time" in private
    assert "are withheld from release 3 on, because" in private


def test_python_and_plans_give_the_same(chain: Path, tmp_path: Path) -> None:
    """Also from a release in memory."""
    before: Release | None = None
    for month in (1, 2, 3):
        data = tv.read(chain / f"{month}.csv", id="meter", confidential=["heating"])
        more: dict[str, Any] = {} if before is None else {"after": before, "ids": "stable"}
        release = tv.MDAV(k=5).protect(data, seed=3, **more)
        before = release
    assert before is not None
    with pytest.raises(InputError, match="was not written"):
        before.write(tmp_path / "3")
    folders = []
    before = None
    for month in (1, 2, 3):
        data = tv.read(chain / f"{month}.csv", id="meter", confidential=["heating"])
        more = {} if before is None else {"after": before, "ids": "stable"}
        before = tv.MDAV(k=5).protect(data, seed=3, **more)
        folders.append(before.write(tmp_path / f"2026-{month:02d}"))
    for folder in folders:
        same = (chain / folder.name / "published" / "data.csv").read_bytes()
        assert (folder / "published" / "data.csv").read_bytes() == same
    assert read_ledger(folders[-1]).persons.equals(read_ledger(chain / "2026-03").persons)
    assert 'after = "' in (folders[-1] / "private" / "plan.toml").read_text()


def damage(folder: Path, how: str) -> None:
    path, persons = folder / LEDGER, folder / "private" / "ledger.parquet"
    content = json.loads(path.read_text())
    match how:
        case "missing":
            path.unlink()
        case "persons missing":
            persons.unlink()
        case "persons cut":
            persons.write_bytes(persons.read_bytes()[:-100])
        case "no json":
            path.write_text("{")
        case "newer":
            path.write_text(json.dumps(content | {"version": 2}))
        case "version":
            path.write_text(json.dumps(content | {"version": "one"}))
        case "k":
            path.write_text(json.dumps(content | {"k": 2}))
        case "entry":
            content["releases"].pop(0)
            path.write_text(json.dumps(content))
        case "key":
            path.write_text(json.dumps(content | {"more": 1}))
        case "list":
            path.write_text("[]")
        case "published":
            data = folder / "published" / "data.csv"
            data.write_text(data.read_text() + "\n")
        case "foreign":
            for name in ("ledger.json", "ledger.parquet"):
                shutil.copy(folder.parent / "2026-01" / "private" / name, folder / "private" / name)
        case "no release":
            shutil.rmtree(folder / "private")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("missing", "has no ledger"), ("persons missing", "there is no such file"), ("persons cut", "it was changed, or belongs to another"),
        ("no json", "cannot be read"), ("newer", "written by a newer tsveil"), ("version", "is damaged"), ("k", "was changed by hand"),
        ("entry", "was changed by hand"), ("key", "is damaged"), ("list", "is damaged"), ("published", "speaks of another release"),
        ("foreign", "speaks of another release"), ("no release", "is not a release with its private side"),
    ],
)  # fmt: skip
def test_what_is_not_the_ledger_of_the_release_is_refused(chain: Path, tmp_path: Path, how: str, words: str) -> None:
    folder = copied(chain, tmp_path)
    damage(folder / "2026-02", how)
    shutil.rmtree(folder / "2026-03")
    done = CliRunner().invoke(main, ["run", str(folder / "3.toml")])
    assert done.exit_code == 2
    assert words in done.output
    assert "options:" in done.output
    assert "Traceback" not in done.output
    assert not (folder / "2026-03").exists()


def test_a_release_cannot_continue_itself(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path)
    with pytest.raises(InputError, match="cannot continue itself"):
        run(folder / "2.toml", after=folder / "2026-02", overwrite=True)


def test_a_release_that_no_other_can_continue_has_no_ledger(tmp_path: Path) -> None:
    data = tv.example("load-curves")
    assert not (tv.Noise(sd=0.1).protect(data).write(tmp_path / "noise") / LEDGER).exists()
    bare = Dataset.from_arrays({"load": data.values})
    assert not (tv.MDAV(k=5).protect(bare).write(tmp_path / "bare") / LEDGER).exists()


def test_the_command_line_takes_the_place_of_the_plan(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(chain, tmp_path)
    shutil.rmtree(folder / "2026-03")
    plan = folder / "3.toml"
    plan.write_text(plan.read_text().replace('after = "2026-02"\nids = "stable"\n', ""))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["run", "chain/3.toml", "--after", "chain/2026-02", "--ids", "stable"])
    assert done.exit_code == 0, done.output
    made, wanted = (place / "2026-03" / "published" / "data.csv" for place in (folder, chain))
    assert made.read_bytes() == wanted.read_bytes()
    stored = Plan.load(folder / "2026-03" / "private" / "plan.toml")
    assert (stored.output.after, stored.output.ids, stored.output.regroup) == ("2026-02", "stable", False)
    done = CliRunner().invoke(main, ["run", "chain/3.toml", "--ids", "stable", "--overwrite"])
    assert done.exit_code == 2
    assert "for a release that continues an earlier one" in done.output


def test_history_on_one_screen(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path)
    withdraw_release(folder / "2026-02", "tariffs of another year")
    found = history(folder / "2026-03", date(2026, 12, 31))
    assert found.due == "review on 2027-01-01, in 1 day"
    assert [one.withdrawn for one in found.releases] == [None, "tariffs of another year", None]
    figures = found.releases[1].figures
    assert (figures["persons"], figures["came"], figures["left"]) == (60, 3, 3)
    done = CliRunner().invoke(main, ["history", str(folder / "2026-03")])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) < 24
    assert "promised k = 5, identifiers stable" in done.output
    told = json.loads(CliRunner().invoke(main, ["history", str(folder / "2026-03"), "--json"]).output)
    assert [one["path"] for one in told["releases"]] == ["../2026-01", "../2026-02", "."]


def test_a_withdrawn_release_stays_and_is_marked(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path)
    persons = read_ledger(folder / "2026-03").persons
    done = CliRunner().invoke(main, ["ledger", "withdraw", str(folder / "2026-02"), "--reason", "wrong month"])
    assert done.exit_code == 0, done.output
    run(folder / "3.toml", overwrite=True)
    ledger = read_ledger(folder / "2026-03")
    assert [one.withdrawn for one in ledger.releases] == [None, "wrong month", None]
    assert ledger.persons.equals(persons)  # what is out is out
    with pytest.raises(InputError, match="was withdrawn before: wrong month"):
        withdraw_release(folder / "2026-02", "again")
    with pytest.raises(InputError, match="for a reason"):
        withdraw_release(folder / "2026-03", " ")


def test_adopt_begins_the_ledger_that_the_release_would_have_had(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path) / "2026-01"
    with pytest.raises(InputError, match="has a ledger already"):
        adopt(folder, tv.read(chain / "1.csv", id="meter", confidential=["heating"]))
    own = read_ledger(folder)
    for name in ("ledger.json", "ledger.parquet"):
        (folder / "private" / name).unlink()
    done = CliRunner().invoke(main, ["ledger", "adopt", str(folder), "--original", str(chain / "1.csv")])
    assert done.exit_code == 0, done.output
    adopted = read_ledger(folder)
    assert adopted.facts.units == own.facts.units
    assert adopted.facts.times == own.facts.times
    named = [ledger.persons.sort("person") for ledger in (own, adopted)]
    assert (
        named[0]
        .select("person", "record", "identifier", "withheld")
        .equals(named[1].select("person", "record", "identifier", "withheld"))
    )
    for column in ("group", "history"):  # the same sets of persons, with other numbers
        sets = [{tuple(own["person"]) for own in frame.explode(column).partition_by(column)} for frame in named]
        assert sets[0] == sets[1]
    shutil.rmtree(folder.parent / "2026-02")
    run(folder.parent / "2.toml")
    data = tv.example("load-curves")
    noise = tv.Noise(sd=0.1).protect(data).write(tmp_path / "noise")
    with pytest.raises(ParameterError, match="keeps no groups of persons"):
        adopt(noise, data)


def test_a_first_release_has_no_past(tmp_path: Path) -> None:
    write_months(tmp_path, 1)
    plan = Plan(
        input=Input(path="1.csv", id="meter", confidential=["heating"]), method={"name": "mdav", "k": 5}, output=Output(folder="out", ids="stable")
    )  # fmt: skip
    with pytest.raises(ParameterError, match="'ids' and 'regroup' parameters"):
        run(plan, base=tmp_path)
    with pytest.raises((InputError, OutputError)):
        run(tmp_path / "1.toml", after=tmp_path / "nowhere")


def test_files_that_are_read_in_chunks_continue_as_well(chain: Path, tmp_path: Path) -> None:
    """With a day in them that was published before, which is left out in both ways."""
    folder = copied(chain, tmp_path)
    third = pl.read_csv(folder / "3.csv")
    third.with_columns(pl.Series("2026-02-02", np.arange(60.0))).select(
        "meter", "heating", "2026-02-02", *third.columns[2:]
    ).write_csv(folder / "3.csv")
    run(folder / "3.toml", overwrite=True)
    memory = (folder / "2026-03" / "published" / "data.csv").read_bytes()
    one = read_ledger(folder / "2026-03")
    run(folder / "3.toml", overwrite=True, engine="local")
    assert (folder / "2026-03" / "published" / "data.csv").read_bytes() == memory
    assert read_ledger(folder / "2026-03").persons.equals(one.persons)
    assert memory == (chain / "2026-03" / "published" / "data.csv").read_bytes()
    readme = (folder / "2026-03" / "published" / "README.md").read_text()
    assert "Points of time that were published before were left out." in readme


def test_a_release_that_was_replaced_since_is_noticed(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path)
    (folder / "2.toml").write_text((folder / "2.toml").read_text().replace("seed = 3", "seed = 4"))
    run(folder / "2.toml", overwrite=True)
    write_months(folder, 4)
    with pytest.raises(InputError, match="had continued it"):
        run(folder / "4.toml")
    shutil.move(folder / "2026-02", tmp_path / "elsewhere")
    with pytest.raises(GuaranteeError, match="earlier-releases: NOT DECIDED: '2026-02': not where the ledger says"):
        run(folder / "4.toml")
    run(folder / "4.toml", allow=["earlier-releases"])
    assert len(read_ledger(folder / "2026-04").releases) == 4


def test_renamed_persons_are_not_taken_for_newcomers(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path)
    third = pl.read_csv(folder / "3.csv")
    third.with_columns(meter="x" + pl.col("meter")).write_csv(folder / "3.csv")
    done = CliRunner().invoke(main, ["run", str(folder / "3.toml"), "--overwrite"])
    assert done.exit_code == 2
    assert "none of the 60 persons of the release before is in these data" in done.output
    renamed = pl.when(pl.int_range(pl.len()) < 40).then("x" + pl.col("meter")).otherwise("meter")
    third.with_columns(meter=renamed).write_csv(folder / "3.csv")
    outcome = run(folder / "3.toml", overwrite=True)
    assert any("persons of the release before are in these data: whoever" in one for one in outcome.release.warnings)


def test_what_a_run_would_refuse_is_refused_before(chain: Path, tmp_path: Path) -> None:
    folder = copied(chain, tmp_path)
    words = ["run", str(folder / "3.toml"), "--dry-run", "--overwrite", "--after"]
    done = CliRunner().invoke(main, [*words, str(folder / "2026-02")])
    assert done.exit_code == 0, done.output
    damage(folder / "2026-02", "k")
    done = CliRunner().invoke(main, [*words, str(folder / "2026-02")])
    assert done.exit_code == 2
    assert "was changed by hand" in done.output


def test_the_verdict_counts_the_releases_of_the_ledger(chain: Path) -> None:
    """By code that knows nothing of how they were made, when the release is written and afterwards."""
    told = json.loads((chain / "2026-03" / "private" / "assessment.json").read_text())
    check = {one["name"]: one for one in told["checks"]}["earlier-releases"]
    assert check["status"] in ("holds", "warns"), check
    assert "3 releases with 60 persons in more than one: at least 5 persons share every" in check["message"]
    for month in ("2026-01", "2026-02", "2026-03"):
        done = CliRunner().invoke(main, ["verify", "--ledger", str(chain / month)])
        assert done.exit_code == 0, done.output
