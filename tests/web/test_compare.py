"""Step 5 on a real server: the recommendation while limits move, the table for spreadsheets, and one more configuration."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from web.running import Client, Server
from web.test_pages import PERSONS

VISITS = PERSONS.replace(b"customer_id", b"visit")


def compared(client: Client) -> str:
    """A study of three configurations, one of which promises nothing; it is found at the path that is given back."""
    study = client.upload("visits.csv", VISITS).url.path.split("/")[2]
    roles: dict[str, str | list[str]] = {
        "layout": "wide", "rows": "independent", "block_name": "x", "block_kind": "attributes", "block_from": "a", "block_to": "b",
    }  # fmt: skip
    client.ready(f"/s/{study}/load")
    client.post(f"/s/{study}/look", roles)
    client.ready(f"/s/{study}/load")
    client.post(f"/s/{study}/confirm")
    client.ready(f"/s/{study}/risk")
    tried: dict[str, str | list[str]] = {
        "method": ["mdav", "noise"],
        "mdav.k": "5,3",
        "noise.sd": "5",
        "max_risk": "40",
    }
    client.post(f"/s/{study}/sweep", tried)
    client.ready(f"/s/{study}/run")
    client.ready(f"/s/{study}/compare")
    return f"/s/{study}"


@pytest.fixture(scope="module")
def place(server: Server) -> tuple[Client, str]:
    client = server.client()
    return client, compared(client)


def recommended(folder: Path, *limits: str) -> dict[str, object]:
    """What the command line says."""
    words = [sys.executable, "-m", "tsveil", "recommend", str(folder), *limits, "--json"]
    found: dict[str, object] = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    return found


@pytest.mark.parametrize("limits", [{"max_risk": "40"}, {"max_risk": "25", "max_loss": "90"}, {"max_loss": "1"}])
@pytest.mark.parametrize("verified", ["yes", "no"])
def test_moved_limits_are_answered_as_the_command_line_answers(
    place: tuple[Client, str], server: Server, limits: dict[str, str], verified: str
) -> None:
    client, at = place
    options = [word for name, value in limits.items() for word in (f"--{name.replace('_', '-')}", value)]
    found = recommended(server.folder / at[3:] / "sweep", *options, *["--verified"] * (verified == "yes"))
    query = "&".join(f"{name}={value}" for name, value in {**limits, "verified": verified}.items())
    page = client.get(f"{at}/advice?{query}")
    assert page.status_code == 200
    text = page.text.replace("&#39;", "'").replace("&gt;", ">")
    assert str(found["reason"]) in text
    best = found["best"]["key"] if isinstance(found["best"], dict) else ""
    assert f'data-best="{best}"' in text
    assert ('class="head">Recommended' in text) == bool(best)
    saved = limits == {"max_risk": "40"} and verified == "yes"
    assert ("These limits are not in force" in text) == (not saved)
    # Green is only what was made, and holds.
    assert "box good" not in text or saved


def test_what_promises_nothing_is_left_out_until_somebody_asks_for_it(place: tuple[Client, str]) -> None:
    client, at = place
    page = client.get(f"{at}/compare").text
    assert re.search(r'name="verified" value="yes" checked', page)
    (row,) = re.findall(r'<tr data-key="[^"]+"[^>]*>(?=<th scope="row">noise sd=5)', page)
    assert "data-verified" not in row
    assert "outside" in row


def test_limits_that_cannot_be_read_are_refused_in_words(place: tuple[Client, str]) -> None:
    client, at = place
    answer = client.get(f"{at}/advice?max_risk=many")
    assert answer.status_code == 400
    assert "a limit must be a number from 0 to 100" in answer.text
    assert client.get("/s/0000000000000000/advice").status_code == 404
    assert client.get("/s/0000000000000000/compare.csv").status_code == 404


def test_the_table_has_every_digit_that_was_measured(place: tuple[Client, str], server: Server) -> None:
    client, at = place
    answer = client.get(f"{at}/compare.csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    table = pl.read_csv(io.BytesIO(answer.content))
    study = pl.read_parquet(server.folder / at[3:] / "sweep" / "study.parquet")
    for column in ("label", "risk", "high", "loss", "attack", "verdict", "pareto"):
        assert table[column].to_list() == study[column].to_list()
    assert table["fits"].to_list() == [
        row["label"].startswith("mdav") and row["high"] <= 40 for row in study.to_dicts()
    ]


def test_one_more_is_tried_alone_and_stays_in_the_plan_of_the_comparison(
    place: tuple[Client, str], server: Server
) -> None:
    client, at = place
    results = server.folder / at[3:] / "sweep" / "results"
    before = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    form = client.get(f"{at}/compare?add=mdav").text
    assert 'name="mdav.k" value="5"' in form
    refused = client.post(f"{at}/add", {"method": "mdav", "mdav.k": "-3"})
    assert refused.status_code == 400
    assert "k must be an integer of at least 2" in refused.text
    assert 'name="mdav.k" value="-3"' in refused.text
    several = client.post(f"{at}/add", {"method": "mdav", "mdav.k": "4, 7"})
    assert "one value of each parameter" in several.text
    assert client.post(f"{at}/add", {"method": "nothing"}).status_code == 400
    client.post(f"{at}/add", {"method": "mdav", "mdav.k": "4"})
    page = client.ready(f"{at}/compare").text
    assert "mdav k=4" in page
    after = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 1
    assert "Chosen: mdav k=" in page
    plan = client.get(f"{at}/files/sweep-plan").text
    assert "k = [5, 3]" in plan
    assert "[4]" in plan
    # Without its data a study can be looked at, and nothing more be tried.
    assert client.post("/s/0000000000000000/add", {"method": "mdav"}).status_code == 404


def test_the_report_is_finished_here(place: tuple[Client, str]) -> None:
    client, at = place
    before = client.get(f"{at}/files/data").content
    assert "shown as not stated" in client.get(f"{at}/download").text
    long = client.post(f"{at}/context", {"purpose": "x" * 4001, "controller": "The <b>office"})
    assert long.status_code == 400
    assert "Purpose: 4,001 characters, at most 4,000" in long.text
    assert "The &lt;b&gt;office</textarea>" in long.text
    answers = {
        "title": "Visits, <2026>",
        "purpose": 'research on "demand"\r\nand teaching',
        "intruders": "a jealous neighbour",
        "review_date": "2027-11-01",
        "nothing": "of the kind",
    }
    client.post(f"{at}/context", dict(answers))
    client.ready(f"{at}/compare")
    plan = client.get(f"{at}/files/plan").text
    assert 'review_date = "2027-11-01"' in plan
    assert "nothing" not in plan
    private, public = (client.get(f"{at}/files/{name}-report").text for name in ("private", "public"))
    for report in (private, public):
        assert "Visits, &lt;2026&gt;" in report
        assert "2027-11-01" in report
        assert "and teaching" in report
    assert "a jealous neighbour" in private
    assert "a jealous neighbour" not in public  # what a publisher assumes of intruders is private
    assert client.get(f"{at}/files/data").content == before
    form = client.get(f"{at}/context").text
    assert "a jealous neighbour</textarea>" in form
    # The same answers once more: nothing is made again.
    assert client.post(f"{at}/context", dict(answers)).url.path == f"{at}/download"
    assert "data-events" not in client.get(f"{at}/compare").text
