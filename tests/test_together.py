"""Releases of the same persons in their folders: judged together from files and id maps, in one file or many, named or in a ledger."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import naive_histories
import tsveil as tv
from cli.test_verify_folders import release
from engine_files import protect_files, write_files
from tsveil.assess.assessment import Outcome
from tsveil.assess.over_time import EarlierReleases, over_time
from tsveil.cli import main
from tsveil.core.errors import GuaranteeError, InputError, ParameterError
from tsveil.core.registry import METHODS
from tsveil.data.files import digest_of
from tsveil.release.publish import publish
from tsveil.release.reopen import judge_release, published_files
from tsveil.release.together import LEDGER, judge_ledger, judge_releases, opened_release

PERSONS = 60


def frame(month: int, persons: Sequence[int] = range(PERSONS), apart: float = 0.0) -> pl.DataFrame:
    """Days of a month of some households, and their tariff; four at a time are `apart` from the others, in every month."""
    values = np.random.default_rng(month).normal(size=(PERSONS, 4)).cumsum(axis=1)
    values = (values + apart * (np.arange(PERSONS) // 4)[:, None])[list(persons)]
    days = {f"2026-{month:02d}-{day + 1:02d}": values[:, day] for day in range(4)}
    return pl.DataFrame({"home": [f"h{at}" for at in persons], **days, "tariff": [f"t{at % 7}" for at in persons]})


def month(place: Path, number: int, *, k: int = 4, tariff: bool = True, **given: Any) -> Path:
    """A release of a month."""
    data = tv.Dataset.from_frame(
        frame(number, **given),
        id="home",
        blocks={"load": [f"2026-{number:02d}-{day + 1:02d}" for day in range(4)]},
        confidential=["tariff"] if tariff else [],
    )
    return tv.MDAV(k=k).protect(data, seed=number).write(place / f"2026-{number:02d}")


def same_identifiers(first: Path, second: Path) -> None:
    """Give the records of the second release the published identifiers of the first."""
    maps = [pl.read_csv(one / "private" / "id_map.csv", infer_schema=False) for one in (first, second)]
    new = dict(maps[0].select("original", "released").iter_rows())
    names = {old: new[original] for original, old in maps[1].select("original", "released").iter_rows()}
    for file in (second / "private" / "id_map.csv", second / "published" / "data.csv"):
        text = file.read_text()
        for old, name in names.items():
            text = text.replace(old, name)
        file.write_text(text)


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("months")
    return [month(place, number) for number in (1, 2, 3)]


def groups(folder: Path) -> list[Any]:
    """The group of each household, as the method made it."""
    found = pl.read_csv(folder / "private" / "groups.csv", infer_schema=False).sort("original")
    return found[found.columns[-1]].to_list()


def test_histories_are_those_of_the_groups(months: list[Path]) -> None:
    """The verifier reads published rows; the groups, which it never reads, say the same."""
    found = judge_releases(months).assessment
    every = list(zip(*map(groups, months), strict=True))
    sizes = [every.count(one) for one in every]
    figures = found.checks[-1].figures["histories"]["'tariff'"]
    assert figures["alone"] == pytest.approx(100 * sizes.count(1) / PERSONS)
    assert figures["below_k"] == pytest.approx(100 * sum(size < 4 for size in sizes) / PERSONS)
    assert found.verdict is Outcome.FAILS
    assert found.risk.attack == "releases"
    assert found.risk.rate == pytest.approx(100 * sum(1 / size for size in sizes) / PERSONS)
    assert found.checks[-1].figures["identifiers"] is None


def test_nothing_ties_releases_without_carried_columns(tmp_path: Path) -> None:
    both = [month(tmp_path, number, tariff=False) for number in (1, 2)]
    found = judge_releases(both).assessment
    assert found.checks[-1].status is Outcome.HOLDS
    assert "releases" not in [one.rung for one in found.ladder]
    same_identifiers(*both)
    again = judge_releases(both).assessment
    assert again.checks[-1].status is Outcome.FAILS
    assert again.checks[-1].figures["identifiers"]["below_k"] > 50


def test_persons_who_come_and_go(tmp_path: Path) -> None:
    """One household leaves: its history is its own, though the other groups stay as they are."""
    first = month(tmp_path, 1)
    second = tmp_path / "2026-02"
    shutil.copytree(first, second)
    for file in (second / "published" / "data.csv", second / "private" / "id_map.csv"):
        other = re.sub(r"\br([0-9a-f]{16})\b", lambda name: "r" + name[1][::-1], file.read_text())
        file.write_text(other.replace("2026-01", "2026-02"))
    names = pl.read_csv(second / "private" / "id_map.csv", infer_schema=False)
    gone, rows = names["released"][0], pl.read_csv(second / "published" / "data.csv", infer_schema=False)
    at = rows.with_row_index().filter(pl.col("home") == gone)["index"][0]
    rows.filter(pl.col("home") != gone).write_csv(second / "published" / "data.csv")
    row = pl.col("published_row").cast(pl.Int64)
    names.filter(pl.col("released") != gone).with_columns(
        published_row=pl.when(row > at + 1).then(row - 1).otherwise(row)
    ).write_csv(second / "private" / "id_map.csv")
    facts = json.loads((second / "private" / "release.json").read_text().replace("2026-01", "2026-02"))
    (second / "private" / "release.json").write_text(json.dumps(facts))
    over = over_time([opened_release(one) for one in (first, second)])
    [sets] = [sets for _, sets in over.composed.sets]
    assert sets.witness is not None
    assert [over.names[person] for person in sets.witness.persons] == [names["original"][0]]
    assert sets.witness.left == 1
    left = groups(first).count(groups(first)[sorted(f"h{at}" for at in range(PERSONS)).index(names["original"][0])]) - 1
    assert (sets.size < 4).sum() == 1 + left * (left < 4)  # who left, and those of the class who are too few now


def test_chunks_say_what_one_file_says(tmp_path: Path) -> None:
    """Releases in one file and in many, of persons with several records."""
    found = []
    for file in (1000, 17):
        place, folders = tmp_path / f"{file}", []
        for number in (1, 2):
            rows = frame(number).with_columns(owner=pl.col("home").str.replace("h", "").cast(pl.Int64) // 2)
            source = write_files(place / f"in{number}", rows, 2)
            roles: dict[str, Any] = {"id": "home", "person": "owner", "confidential": ["tariff"]}
            out = protect_files(source, tv.MDAV(k=3), place / f"out{number}", chunk=25, file=file, **roles)
            folders.append(out.folder)
        assert len(published_files(folders[0])) == (1 if file == 1000 else 4)
        over = over_time([opened_release(one) for one in folders])
        found.append((over.check.message, over.check.figures, over.scores.tolist(), over.disclosed))
    assert found[0] == found[1]
    assert found[0][1]["persons"] == PERSONS // 2
    assert found[0][1]["histories"]["'tariff'"]["alone"] > 50


@pytest.mark.parametrize("name", METHODS)
def test_a_release_and_itself_leave_its_classes(name: str, tmp_path: Path) -> None:
    """Of every method: the same rows under the same identifiers tell as much as they tell by themselves, and are no differences."""
    one = release(tmp_path, METHODS[name])
    other = Path(shutil.copytree(one, tmp_path / "again"))
    over, alone = over_time([opened_release(one), opened_release(other)], 2), judge_release(one)
    [history] = over.check.figures["histories"].values()
    whole = next(check for check in alone.checks if check.name == "whole-record").figures
    assert history["smallest"] == whole["k"]
    assert over.check.figures["differences"] == []
    assert over.composed.again == over.composed.persons == alone.persons
    assert 100 * float(over.scores.mean()) == pytest.approx(100 / whole["real_anonymity"])


def test_the_order_of_rows_does_not_matter(months: list[Path], tmp_path: Path) -> None:
    again = []
    for at, one in enumerate(months):
        shutil.copytree(one, tmp_path / one.name)
        file = tmp_path / one.name / "published" / "data.csv"
        pl.read_csv(file, infer_schema=False).sample(fraction=1, shuffle=True, seed=at).write_csv(file)
        again.append(over_time([opened_release(tmp_path / other.name) for other in months[: at + 1]]))
    first = over_time([opened_release(one) for one in months])
    assert again[-1].check.figures["histories"] == first.check.figures["histories"]


# -- a release that is written after others -----------------------------------------------------------------------------


def third(seed: int = 5) -> Any:
    data = tv.Dataset.from_frame(
        frame(3), id="home", blocks={"load": [f"2026-03-0{day}" for day in range(1, 5)]}, confidential=["tariff"]
    )
    return tv.MDAV(k=4).protect(data, seed=seed)


def test_a_release_is_judged_with_earlier_ones_before_it_is_written(months: list[Path], tmp_path: Path) -> None:
    after = EarlierReleases([opened_release(one) for one in months[:2]], withheld=False)
    with pytest.raises(GuaranteeError, match=r"earlier-releases: FAILS: 'tariff' ties the releases"):
        publish(third(), tmp_path / "out", together_with=after)
    assert not (tmp_path / "out").exists()
    outcome = publish(third(), tmp_path / "out", together_with=after, allow=["earlier-releases"])
    assert outcome.assessment is not None
    assert outcome.assessment.over_time
    folder = outcome.folder
    told = json.loads((folder / "private" / "assessment.json").read_text())
    assert told["ladder"][-1]["rung"] == "releases"
    # What was found counts as long as the files are the same, and together with the others the same is found again.
    assert judge_release(folder).checks[-1].status is Outcome.FAILS
    again = judge_releases([*months[:2], folder]).assessment.checks[-1]
    assert again.message == outcome.assessment.checks[-1].message
    ours, theirs = (one.figures["histories"]["'tariff'"] for one in (again, outcome.assessment.checks[-1]))
    assert {name: ours[name] for name in ("alone", "below_k", "smallest")} == {
        name: theirs[name] for name in ("alone", "below_k", "smallest")
    }
    for name in ("published", "private"):
        page = (folder / name / "report.html").read_text(encoding="utf-8")
        assert "earlier-releases" in page
        assert "were not named" not in page
        assert "is left alone" not in page


def test_a_ledger_of_one_release_is_judged_as_that(months: list[Path]) -> None:
    found = tsveil("verify", "--ledger", months[0])
    assert found.exit_code == 0, found.output
    assert "first release of its ledger" in found.output


def test_a_release_without_earlier_ones_says_so(months: list[Path]) -> None:
    for name in ("published", "private"):
        page = (months[0] / name / "report.html").read_text(encoding="utf-8")
        assert page.count("Earlier releases of the same persons were not named") == 1
        assert "earlier-releases" not in page
    assert tsveil("verify", months[0]).output.count("Earlier releases of the same persons were not named") == 1


def test_records_without_names_are_refused(tmp_path: Path, months: list[Path]) -> None:
    data = tv.Dataset.from_arrays({"load": np.arange(12.0).reshape(6, 2)})
    folder = tv.MDAV(k=2).protect(data).write(tmp_path / "out")
    facts = json.loads((folder / "private" / "release.json").read_text())
    for named in (facts, {name: value for name, value in facts.items() if name != "named"}):  # older ones do not say it
        (folder / "private" / "release.json").write_text(json.dumps(named))
        with pytest.raises(InputError, match="have no identifiers, so nothing says who is in another release"):
            judge_releases([months[0], folder])
    after = EarlierReleases([opened_release(months[0])])
    with pytest.raises(ParameterError, match="the records have no identifiers"):
        publish(tv.MDAV(k=2).protect(data), tmp_path / "next", together_with=after)


# -- the command --------------------------------------------------------------------------------------------------------


def test_the_command_judges_releases_together(months: list[Path]) -> None:
    found = tsveil("verify", *months)
    assert found.exit_code == 1
    for one in months:
        assert f"{one}: HOLDS" in found.output
    assert "'tariff' ties the releases" in found.output
    assert "is left alone (2026-01, 2026-02, 2026-03)" in found.output
    document = json.loads(tsveil("verify", *months, "--json").stdout)
    assert [one["release"] for one in document["releases"]] == [str(one) for one in months]
    assert document["assessment"]["checks"][-1]["name"] == "earlier-releases"
    assert document["assessment"]["checks"][-1]["figures"]["k"] == 4
    loose = json.loads(tsveil("verify", *months, "--k", 2, "--json").stdout)
    assert loose["assessment"]["checks"][-1]["figures"]["k"] == 2


def test_an_earlier_release_that_fails_by_itself_fails_together(tmp_path: Path) -> None:
    both = [month(tmp_path, number, tariff=False) for number in (1, 2)]
    assert tsveil("verify", *both).exit_code == 0
    lines = (both[0] / "published" / "data.csv").read_text().splitlines()
    lines[3] = ",".join([lines[3].split(",")[0], "1.5", *lines[3].split(",")[2:]])
    (both[0] / "published" / "data.csv").write_text("\n".join(lines) + "\n")
    found = tsveil("verify", *both)
    assert f"{both[0]}: FAILS" in found.output
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["A", "A"], "a release is named twice"),
        (["A", "--ledger", "A"], "several releases of the same persons, or --ledger FOLDER alone"),
        ([], "say what to verify"),
        (["A", "B", "--persons", "A"], "--persons and the options of reading are for one file"),
        (["A", "B", "--id", "home"], "--persons and the options of reading are for one file"),
        (["A", "FILE"], "is not a release with its private side"),
        (["--ledger", "OLD"], "has no ledger"),
    ],
)
def test_what_cannot_be_judged_together_is_refused(
    months: list[Path], tmp_path: Path, words: list[str], message: str
) -> None:
    names = {"A": months[0], "B": months[1], "FILE": months[0] / "published" / "data.csv", "OLD": tmp_path / "old"}
    shutil.copytree(months[0], tmp_path / "old")
    (tmp_path / "old" / "private" / "ledger.json").unlink()
    found = tsveil("verify", *(names.get(word, word) for word in words))
    assert found.exit_code == 2, found.output
    assert message in found.output


# -- a ledger -----------------------------------------------------------------------------------------------------------


def write_ledger(folders: Sequence[Path], withdrawn: Sequence[int] = (), **more: Any) -> Path:
    """A ledger of some releases, in the last of them."""
    last = folders[-1]
    entries = [
        {
            "path": f"../{one.name}" if one != last else ".",
            "published": digest_of(published_files(one)),
            "made": "2026-01-31T12:00:00+00:00",
            "withdrawn": "a column too many" if at in withdrawn else None,
        }
        for at, one in enumerate(folders)
    ]
    ledger = {"version": 1, "k": 4, "ids": "fresh", "releases": entries, "persons": "persons.parquet", **more}
    (last / LEDGER).write_text(json.dumps(ledger))
    return last


@pytest.fixture
def ledger(months: list[Path], tmp_path: Path) -> list[Path]:
    return [Path(shutil.copytree(one, tmp_path / one.name)) for one in months]


def test_a_ledger_says_what_its_releases_say(ledger: list[Path], months: list[Path]) -> None:
    last = write_ledger(ledger)
    found, named = judge_ledger(last).assessment, judge_releases(months).assessment
    assert found.checks[-1].message == named.checks[-1].message
    assert found.checks[-1].figures["histories"] == named.checks[-1].figures["histories"]
    assert tsveil("verify", "--ledger", last).exit_code == 1


def test_what_was_withdrawn_stays_in(ledger: list[Path]) -> None:
    last = write_ledger(ledger, withdrawn=[0])
    found = judge_ledger(last)
    assert found.assessment.checks[-1].figures["releases"] == ["2026-01", "2026-02", "2026-03"]
    shown = tsveil("verify", "--ledger", last).output
    assert f"{ledger[0].resolve()}: withdrawn; what is out is out, so it counts" in shown
    latest = judge_ledger(write_ledger(ledger, withdrawn=[2]))
    assert latest.assessment.persons == PERSONS
    with pytest.raises(InputError, match="all these releases were withdrawn"):
        judge_ledger(write_ledger(ledger, withdrawn=[0, 1, 2]))


def test_k_of_a_ledger_counts(ledger: list[Path]) -> None:
    assert judge_ledger(write_ledger(ledger, k=3)).assessment.checks[-1].figures["k"] == 3
    assert judge_ledger(write_ledger(ledger, k=3), 2).assessment.checks[-1].figures["k"] == 2


def test_what_is_withheld_by_the_rule_passes(tmp_path: Path) -> None:
    """Groups that change with five persons fewer: empty cells where the rule withholds a value, and one of them filled in again."""
    first, second = month(tmp_path, 1, apart=100), month(tmp_path, 2, apart=100, persons=range(5, PERSONS))
    entries = []
    for one in (first, second):
        found = pl.read_csv(one / "private" / "groups.csv", infer_schema=False)
        of = dict(found.select("original", found.columns[-1]).iter_rows())
        entries.append([int(of[f"h{at}"]) if f"h{at}" in of else None for at in range(PERSONS)])
    gone = {f"h{at}" for at in naive_histories.withheld(entries[:1], entries[1], 4)}
    assert 0 < len(gone) < PERSONS - 5
    names = pl.read_csv(second / "private" / "id_map.csv", infer_schema=False)
    hidden = names.filter(pl.col("original").is_in(gone))["released"].to_list()
    file = second / "published" / "data.csv"
    whole = pl.read_csv(file, infer_schema=False)
    for few in (hidden, hidden[1:]):
        whole.with_columns(tariff=pl.when(~pl.col("home").is_in(few)).then("tariff")).write_csv(file)
        check = judge_ledger(write_ledger([first, second])).assessment.checks[-1]
        assert check.status.passes == (few == hidden)
        assert (check.figures["histories"]["'tariff'"]["smallest"] >= 4) == (few == hidden)


def changed(folder: Path) -> None:
    file = folder / "published" / "data.csv"
    file.write_text(file.read_text() + "\n")


def changed_and_gone(folders: list[Path]) -> None:
    changed(folders[0])
    shutil.rmtree(folders[1])


def edited(folder: Path, **more: Any) -> None:
    ledger = json.loads((folder / LEDGER).read_text())
    (folder / LEDGER).write_text(json.dumps({**ledger, **more}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda one: changed(one[0]), "the published files of .* are not those that were published then"),
        (lambda one: shutil.rmtree(one[1]), "there is no release at"),
        (changed_and_gone, "does not fit its releases: 2 problems"),
        (lambda one: edited(one[2], version=2), "has the version 2, and this version of tsveil reads 1"),
        (lambda one: edited(one[2], version="new"), "has the version 'new'"),
        (lambda one: edited(one[2], k=0), "is damaged"),
        (lambda one: edited(one[2], k="many"), "is damaged"),
        (lambda one: edited(one[2], ids="old"), "is damaged"),
        (lambda one: edited(one[2], releases=[]), "is damaged"),
        (lambda one: edited(one[2], releases=[{"path": "."}]), "is damaged"),
        (lambda one: (one[2] / LEDGER).write_text("[1]"), "is damaged: it does not say its version"),
        (lambda one: (one[2] / LEDGER).write_bytes(b'{"version": 1, "k": \xff'), "is damaged"),
        (lambda one: (one[2] / LEDGER).write_text('{"version": 1, '), "is damaged"),
    ],
)
def test_ledgers_that_do_not_fit_are_refused(ledger: list[Path], damage: Any, message: str) -> None:
    last = write_ledger(ledger)
    damage(ledger)
    with pytest.raises(InputError, match=message):
        judge_ledger(last)
    found = tsveil("verify", "--ledger", last)
    assert found.exit_code == 2
    assert "Traceback" not in found.output


# -- real data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "alone", "below"), [(5, 47.3, 95.8), (10, 27.0, 97.3)])
@pytest.mark.parametrize("tie", ["identifiers", "a carried column"])
def test_two_weeks_of_real_households(
    shared_data: Path, tmp_path: Path, tie: str, k: int, alone: float, below: float
) -> None:
    """Each week is k-anonymous by itself; whatever ties its rows to those of the other week leaves half of the households alone."""
    table = pl.read_csv(shared_data / "smart_meter.csv").with_columns(home=pl.col("household").cast(pl.String))
    folders = []
    for week in range(2):
        hours = table.columns[1 + 168 * week : 1 + 168 * week + 168]
        carried = [] if tie == "identifiers" else ["home"]
        data = tv.Dataset.from_frame(
            table.select("household", *hours, *carried), id="household", blocks={"load": hours}, confidential=carried
        )
        folders.append(tv.MDAV(k=k).protect(data, seed=week).write(tmp_path / f"week {week}"))
    if tie == "identifiers":
        same_identifiers(*folders)
    over = over_time([opened_release(one) for one in folders])
    figures = over.check.figures["identifiers"] if tie == "identifiers" else over.check.figures["histories"]["'home'"]
    assert over.check.status is Outcome.FAILS
    assert figures["alone"] == pytest.approx(alone, abs=1)
    assert figures["below_k"] == pytest.approx(below, abs=1)
