"""Long work outlives the page and not the server, can be stopped, waits its turn, and what was found is there after a restart."""

from __future__ import annotations

import asyncio
import signal
import stat
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from tsveil.cli import main
from tsveil.web.jobs import Job, Jobs
from web.running import PATIENCE, Client, started


def meters(records: int = 60, points: int = 40) -> bytes:
    """Load curves, invented."""
    head = ",".join(["meter", *(f"2018-01-{1 + t // 24:02}T{t % 24:02}:00" for t in range(points))])
    rows = [
        ",".join([f"m{i}", *(str((i * 37 + t * (i % 7)) % 101 / 10) for t in range(points))]) for i in range(records)
    ]
    return "\n".join([head, *rows]).encode()


def loaded(client: Client, content: bytes) -> str:
    """A study whose roles were looked at and found right."""
    study = client.upload("meters.csv", content).url.path.split("/")[2]
    client.ready(f"/s/{study}/load")
    client.post(f"/s/{study}/confirm")
    return study


def tried(client: Client, content: bytes) -> str:
    study = loaded(client, content)
    client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "3, 6", "max_risk": "100"})
    assert "2 configurations were tried" in client.ready(f"/s/{study}/run").text
    return study


def eventually(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_was_found_is_there_after_a_restart_and_the_uploads_are_not(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        client = server.client()
        study = tried(client, meters())
        before = client.ready(f"/s/{study}/compare").text
        data = client.get(f"/s/{study}/files/data").content
        assert [path for path in server.temporary.rglob("*") if path.is_file()]
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [server.folder, *server.folder.rglob("*")]}
        assert all(mode & 0o077 == 0 for mode in modes.values()), modes
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in server.temporary.iterdir())
    assert list(server.temporary.iterdir()) == []
    with started(tmp_path) as server:
        client = server.client()
        assert f"/s/{study}/download" in client.get("/").text
        again = client.get(f"/s/{study}/compare").text
        assert "Before and after" in before
        assert "Before and after" in again
        assert client.get(f"/s/{study}/files/data").content == data
        assert "not here any more" in client.get(f"/s/{study}/methods").text
        assert client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "5"}).status_code == 400
        assert client.post(f"/s/{study}/delete").status_code == 200
        assert client.get(f"/s/{study}/compare").status_code == 404
        assert not (server.folder / study).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_at_the_end_uploads_are_removed_and_work_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path) as server:
        client = server.client()
        client.upload("meters.csv", meters())
        eventually(server.children)
        server.stop(number)
        assert list(server.temporary.iterdir()) == []
        assert not [line for line in server.errors if "Traceback" in line]


def test_work_ends_when_the_server_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        client = server.client()
        study = loaded(client, meters(400, 48))
        client.ready(f"/s/{study}/risk")
        client.post(f"/s/{study}/sweep", {"method": ["mdav", "v-mdav"], "mdav.k": ", ".join(map(str, range(2, 150)))})
        eventually(server.children)
        children = server.children()
        server.process.kill()
        assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


def test_uploads_of_a_killed_server_are_removed_by_the_next_and_those_of_a_living_one_are_not(tmp_path: Path) -> None:
    def uploads() -> set[Path]:
        return {path for path in (tmp_path / "temporary").rglob("*") if path.is_file()}

    with started(tmp_path) as killed:
        killed.client().upload("meters.csv", meters())
        killed.process.kill()
        killed.process.wait()
    left = uploads()
    assert left
    with started(tmp_path) as server:
        client = server.client()
        assert uploads() == set()
        client.upload("meters.csv", meters())
        kept = uploads()
        assert kept
        with started(tmp_path) as other:
            other.client()
            assert uploads() == kept
        assert uploads() == kept
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_job_can_be_stopped_and_others_wait_their_turn(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        client = server.client()
        long, short = loaded(client, meters(400, 48)), loaded(client, meters())
        client.ready(f"/s/{short}/risk")
        client.post(f"/s/{long}/sweep", {"method": "mdav", "mdav.k": ", ".join(map(str, range(2, 150)))})
        client.post(f"/s/{short}/sweep", {"method": "mdav", "mdav.k": "4", "max_risk": "100"})
        assert "(1 before it)" in client.get(f"/s/{short}/run").text
        page = client.get(f"/s/{long}/run").text
        job = page.split("/jobs/")[1].split("/")[0]
        with client.http.stream("GET", f"/jobs/{job}/events") as events:
            first = next(line for line in events.iter_lines() if line.startswith("data:"))
        assert '"over":false' in first
        results = server.folder / long / "sweep" / "results"
        eventually(lambda: list(results.glob("*.json")))
        assert " of 148" in client.get(f"/s/{long}/run").text
        working = server.children()
        client.post(f"/jobs/{job}/stop")
        assert psutil.wait_procs(working, timeout=PATIENCE)[1] == []
        assert "1 configuration was tried" in client.ready(f"/s/{short}/run").text
        # What was finished is kept and shown, and a new run goes on from there.
        finished = len(list(results.glob("*.json")))
        assert 0 < finished < 148
        assert f"{148 - finished} of 148 were not tried" in client.ready(f"/s/{long}/run").text
        compared = client.ready(f"/s/{long}/compare").text
        assert f"{finished} of 148 configurations were tried" in compared
        assert compared.count('aria-label="Choose mdav k=') == finished
        assert client.get(f"/s/{long}/files/sweep-plan").status_code == 200


def test_a_problem_with_the_methods_is_told_in_words(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        client = server.client()
        study = loaded(client, meters(20, 10))
        for fields, words in (
            ({"method": "mdav", "mdav.k": "many"}, "k must be an integer"),
            ({"method": "mdav", "mdav.k": "-3"}, "k must be an integer of at least 2. Got &#39;-3&#39;."),
            ({"method": "mdav", "mdav.k": "1"}, "k must be an integer of at least 2. Got &#39;1&#39;."),
            ({"method": "noise", "noise.sd": "nan"}, "sd must be a number"),
            ({"method": "noise", "noise.sd": "inf"}, "sd must be a number"),
            ({"method": "mdav", "mdav.refine": "magic"}, "refine must be one of"),
            ({}, "choose at least one method"),
            ({"method": "mdav", "max_risk": "200"}, "from 0 to 100"),
        ):
            answer = client.post(f"/s/{study}/sweep", dict(fields))
            assert answer.status_code == 400
            assert words in answer.text
            assert 'class="method card' in answer.text  # the page with the form, not a page of words
        typed: dict[str, str | list[str]] = {
            "method": ["mdav", "noise"],
            "mdav.k": "4, -3",
            "noise.sd": "0.75",
            "max_risk": "12,5",
            "title": "Winter & spring",
        }
        page = client.post(f"/s/{study}/sweep", typed).text
        for kept in (
            'name="mdav.k" value="4, -3"',
            'name="noise.sd" value="0.75"',
            'value="12,5"',
            "Winter &amp; spring",
        ):
            assert kept in page
        assert page.count('name="method" value="noise" checked') == 1
        assert page.count('name="method" value="v-mdav" checked') == 0
        assert client.get(f"/s/{study}/run").text.count("What is tried") == 1  # nothing was begun
        assert "data-events" not in client.get(f"/s/{study}/run").text


def test_what_could_not_be_run_is_named_and_the_rest_is_compared(tmp_path: Path) -> None:
    """A configuration that these data do not allow, beside one that they do, and alone."""
    with started(tmp_path) as server:
        client = server.client()
        study = loaded(client, meters(20, 10))
        client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "4, 500", "max_risk": "100"})
        assert "1 of them did not work with these data" in client.ready(f"/s/{study}/run").text
        page = client.ready(f"/s/{study}/compare")
        assert page.status_code == 200
        assert "1 did not work with these data" in page.text
        assert "Chosen: mdav k=4" in page.text
        again = loaded(client, meters(20, 10))
        client.post(f"/s/{again}/sweep", {"method": "mdav", "mdav.k": "500, 600"})
        client.ready(f"/s/{again}/run")
        page = client.ready(f"/s/{again}/compare")
        assert page.status_code == 200
        assert "2 did not work with these data" in page.text
        assert 'class="head">Recommended' not in page.text
        # The study is not spoilt: what fits can be tried from here.
        client.post(f"/s/{again}/sweep", {"method": "mdav", "mdav.k": "4", "max_risk": "100"})
        client.ready(f"/s/{again}/run")
        assert "Chosen: mdav k=4" in client.ready(f"/s/{again}/compare").text
        assert not [line for line in server.errors if "Traceback" in line]


def test_other_limits_choose_among_what_was_tried(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        client = server.client()
        study = tried(client, meters())
        results = server.folder / study / "sweep" / "results"
        before = {path: path.stat().st_mtime_ns for path in results.iterdir()}
        assert "Chosen: mdav k=3" in client.ready(f"/s/{study}/compare").text  # least loss
        assert client.post(f"/s/{study}/limits", {"max_risk": "20", "max_loss": ""}).url.path == f"/s/{study}/compare"
        page = client.ready(f"/s/{study}/compare").text
        assert "Chosen: mdav k=6" in page
        assert "above your limit" in page
        assert 'accepted_risk = "1/6"' in client.get(f"/s/{study}/files/plan").text
        # The same methods with another limit, on the page of the methods: no new run either.
        answer = client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "3, 6", "max_risk": "1"})
        assert answer.url.path == f"/s/{study}/compare"
        page = client.ready(f"/s/{study}/compare").text
        assert "Nothing fits your limits" in page
        assert 'class="head">Recommended' not in page
        client.post(f"/s/{study}/limits", {"max_risk": "", "max_loss": ""})
        page = client.ready(f"/s/{study}/compare").text
        assert "No limit was set, so nothing is recommended" in page
        assert 'class="head">Recommended' not in page
        refused = client.post(f"/s/{study}/limits", {"max_risk": "250", "max_loss": "x"})
        assert refused.status_code == 400
        assert 'name="max_risk" inputmode="decimal" value="250"' in refused.text
        assert 'name="max_loss" inputmode="decimal" value="x"' in refused.text
        assert {path: path.stat().st_mtime_ns for path in results.iterdir()} == before


def test_a_process_that_dies_without_a_word_is_a_failure_and_the_queue_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[Job]:
        jobs = Jobs()
        done = [jobs.add("look", "a", {}), jobs.add("risk", "a", {})]
        running = asyncio.create_task(jobs.run())
        while not done[-1].over:
            await asyncio.sleep(0.02)
        jobs.close()
        await running
        return done

    monkeypatch.setattr(sys, "executable", "/bin/false")
    # In a thread of its own: Playwright keeps a loop running in the main one while the browser of other tests is open.
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(asyncio.run, work()).result()
    assert [job.state for job in done] == ["failed", "failed"]


def test_it_runs_beside_an_open_browser(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    test_a_process_that_dies_without_a_word_is_a_failure_and_the_queue_goes_on(monkeypatch)


def test_the_command_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = CliRunner().invoke(
        main, ["web", str(tmp_path / "none.csv"), "--folder", str(tmp_path / "s"), "--no-browser"]
    )
    assert missing.exit_code == 2
    assert "there is no file" in missing.output
    both = CliRunner().invoke(main, ["web", str(tmp_path), "--demo", "--no-browser"])
    assert both.exit_code == 2
    for name in [name for name in sys.modules if name.startswith(("tsveil.web", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    hint = CliRunner().invoke(main, ["web", "--demo", "--no-browser"])
    assert hint.exit_code == 2
    assert "pip install 'tsveil[web]'" in hint.output
