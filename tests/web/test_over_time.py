"""The next month: a release made here is continued with another file, and its history says so; on the command line it is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tsveil.data.examples import load_curves
from tsveil.plan.chain import history
from tsveil.web.continued import carried_over
from web.running import Client, Server, started


def month(number: int, *, first: int = 0, last: int = 60) -> bytes:
    """Daily readings of some households in a month, with the kind of their heating."""
    made_up = load_curves(households=80, days=90)
    days = made_up.values.reshape(80, 90, 24).sum(axis=2).round(2)
    here = np.arange(first, last)
    readings = {f"2026-{number:02d}-{day + 1:02d}": days[here, 30 * (number - 1) + day] for day in range(14)}
    table = {"household": [f"h{at:03d}" for at in here], "heating": made_up.others["heating"][here.tolist()]}
    return pl.DataFrame(table | readings).write_csv().encode()


@pytest.fixture(scope="module")
def place(server: Server) -> tuple[Client, str]:
    """January, released with k = 4."""
    client = server.client()
    study = client.upload("2026-01.csv", month(1)).url.path.split("/")[2]
    at = f"/s/{study}"
    client.ready(f"{at}/load")
    roles: dict[str, str | list[str]] = {
        "layout": "wide", "id": "household", "confidential": "heating", "block_name": "readings", "block_kind": "series",
        "block_from": "2026-01-01", "block_to": "2026-01-14",
    }  # fmt: skip
    client.post(f"{at}/look", roles)
    client.ready(f"{at}/load")
    client.post(f"{at}/confirm")
    client.ready(f"{at}/risk")
    tried: dict[str, str | list[str]] = {
        "method": ["mdav", "noise"],
        "mdav.k": "4",
        "mdav.refine": "none",
        "max_risk": "50",
        "title": "January",
    }
    client.post(f"{at}/sweep", tried)
    client.ready(f"{at}/run")
    client.ready(f"{at}/compare")
    return client, at


def continued(client: Client, at: str, name: str, content: bytes) -> str:
    """The study of the next month, with its roles confirmed."""
    body = {"csrf": client.csrf}
    answer = client.http.post(
        f"{at}/continue", data=body, files={"file": (name, content)}, headers={"Origin": client.base}
    )
    assert answer.status_code == 200, answer.text
    after = "/".join(answer.url.path.split("/")[:3])
    page = client.ready(f"{after}/load").text
    assert "These roles are right: next" in page, page
    client.post(f"{after}/confirm")
    client.ready(f"{after}/risk")
    return after


def test_february_continues_january(place: tuple[Client, str], server: Server, tmp_path: Path) -> None:
    client, january = place
    page = client.get(f"{january}/history").text
    assert "Promised k = 4, identifiers fresh; no review date is set" in page
    assert "this one" not in page
    assert "January</th>" in page
    february = continued(client, january, "2026-02.csv", month(2, first=3, last=62))
    asked = client.get(f"{february}/methods").text
    assert "Continue January" in asked
    assert "MDAV(k=4" in asked
    client.post(f"{february}/next", {"ids": "stable", "title": "February"})
    page = client.ready(f"{february}/compare").text
    assert "earlier-releases" in page
    assert "HOLDS" in page
    folder = next((server.folder / february[3:]).glob("releases/*/release"))
    found = json.loads((folder / "private" / "assessment.json").read_text())
    (check,) = [one for one in found["checks"] if one["name"] == "earlier-releases"]
    assert check["status"] in ("holds", "warns")
    assert check["message"].replace("'", "&#39;") in page
    # The names of the block and of the carried column are those of January: only the times are new.
    header = (folder / "published" / "data.csv").read_text().splitlines()[0]
    assert header.count("2026-02-") == 14
    assert "heating" in header
    said = history(folder)
    assert [one.figures["persons"] for one in said.releases] == [60, 59]
    assert said.ids == "stable"
    page = client.get(f"{february}/history").text
    assert page.index("January</th>") < page.index("February</th>")
    for one in said.releases:
        assert f">{one.figures['came']:,.0f}</td>" in page
    # The plan makes the same release on the command line, and all of them together are verified there.
    plan = client.get(f"{february}/files/plan").text
    assert 'ids = "stable"' in plan
    (tmp_path / "2026-02.csv").write_bytes(month(2, first=3, last=62))
    (tmp_path / "plan.toml").write_text(plan)
    command = [sys.executable, "-m", "tsveil"]
    done = subprocess.run([*command, "run", "plan.toml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "published" / "data.csv").read_bytes() == (
        folder / "published" / "data.csv"
    ).read_bytes()
    judged = subprocess.run(
        [*command, "verify", "--ledger", str(folder), "--json"], capture_output=True, text=True, check=False
    )
    assert judged.returncode == 0, judged.stderr
    # What is continued is not thrown away.
    for path, form in ((f"{january}/delete", {}), (f"{january}/limits", {"max_risk": "30"})):
        refused = client.post(path, dict(form))
        assert refused.status_code == 400
        assert "February continues a release of this study" in refused.text
    assert client.get(f"{january}/history").status_code == 200
    assert client.post(f"{february}/delete").status_code == 200


def test_what_cannot_be_continued_says_why(place: tuple[Client, str]) -> None:
    client, january = place
    strangers = month(2).replace(b"h0", b"x0")
    after = continued(client, january, "strangers.csv", strangers)
    client.post(f"{after}/next", {"ids": "fresh"})
    page = client.ready(f"{after}/compare").text
    assert "This did not work" in page
    assert "Back to what is left to decide" in page
    key = (
        client.get(f"{january}/compare")
        .text.split('aria-label="Choose noise')[0]
        .rpartition('value="')[2]
        .split('"')[0]
    )
    client.post(f"{january}/pick", {"key": key, "allow": "accepted-risk"})
    client.ready(f"{january}/compare")
    page = client.get(f"{january}/history").text
    assert "No other release can continue this one" in page
    assert client.get("/s/0000000000000000/history").status_code == 404
    assert client.post(f"{january}/next").status_code == 404
    assert client.post(f"{after}/delete").status_code == 200
    assert client.post(f"{january}/delete").status_code == 200


@pytest.mark.parametrize("named", [True, False])
def test_the_folder_of_the_last_release_can_be_named_at_the_start(tmp_path: Path, named: bool) -> None:
    (tmp_path / "2026-01.csv").write_bytes(month(1))
    (tmp_path / "2026-02.csv").write_bytes(month(2))
    words = ["protect", "2026-01.csv", "--out", "last", "--id", "household", "--confidential", "heating", "--k", "4"]
    done = subprocess.run(
        [sys.executable, "-m", "tsveil", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if not named:
        (tmp_path / "last" / "private" / "ledger.json").unlink()
        words = ["web", "2026-02.csv", "--after", "last", "--no-browser"]
        refused = subprocess.run(
            [sys.executable, "-m", "tsveil", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert refused.returncode == 2
        assert "has no ledger" in refused.stderr
        return
    code = f"file=Path({str(tmp_path / '2026-02.csv')!r}), after=Path({str(tmp_path / 'last')!r})"
    with started(tmp_path, arguments=code) as server:
        client = server.client()
        (study,) = (path.name for path in server.folder.iterdir() if path.is_dir())
        page = client.ready(f"/s/{study}/load").text
        assert 'name="confidential" value="heating" checked' in page
        client.post(f"/s/{study}/confirm")
        client.ready(f"/s/{study}/risk")
        client.post(f"/s/{study}/next", {"ids": "fresh", "title": "February"})
        assert "earlier-releases" in client.ready(f"/s/{study}/compare").text


def test_roles_are_carried_over_as_far_as_the_columns_allow() -> None:
    before = {
        "path": "x", "id": "gone", "person": ["who", "left"], "missing": "drop", "categories": {"a": "nominal", "z": "ordinal"},
        "blocks": {"x": {"columns": ["a", "b"]}, "y": ["c"]},
    }  # fmt: skip
    guessed = {"layout": "wide", "blocks": {"other": ["a"]}}
    found = carried_over(before, guessed, ["who", "a", "b", "c"])
    assert found == {"person": ["who"], "missing": "drop", "categories": {"a": "nominal"}, "blocks": before["blocks"]}
    assert "blocks" not in carried_over(
        before, guessed, ["who", "a", "b"]
    )  # two blocks before, one that is guessed: nobody knows
