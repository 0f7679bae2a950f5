"""What the pages answer to small requests, on a real server: progress as it happens, and what is not there."""

from __future__ import annotations

import json
import re

import httpx
import pytest

from web.running import Client, Server

METERS = b"meter,2018-01-01,2018-01-02,2018-01-03\n" + b"".join(
    b"m%d,%d.5,%d.25,%d\n" % (i, i, i * 2, i % 3) for i in range(12)
)


def uploaded(client: Client, content: bytes = METERS) -> tuple[str, str]:
    """A new study, and the job that looks at its file."""
    for _ in range(20):  # a job is rarely over before its page is shown
        page = client.upload("meters.csv", content)
        if found := re.search(r'data-events="/jobs/([0-9a-f]+)/events"', page.text):
            return page.url.path.split("/")[2], found[1]
    raise AssertionError("no page was shown while its job was running")


def told(client: Client, job: str) -> list[dict[str, object]]:
    """All that is told of a job until it is over."""
    with client.http.stream("GET", f"/jobs/{job}/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        return [json.loads(line.removeprefix("data:")) for line in events.iter_lines() if line.startswith("data:")]


def test_progress_is_told_until_the_job_is_over(client: Client) -> None:
    study, job = uploaded(client)
    news = told(client, job)
    assert [bool(one["over"]) for one in news] == [False] * (len(news) - 1) + [True]
    assert told(client, job) == news[-1:]  # who comes later learns how it ended
    page = client.get(f"/s/{study}/load").text
    assert "data-events" not in page
    assert "These roles are right: next" in page


def test_a_file_with_problems_cannot_be_confirmed_until_they_are_settled(client: Client) -> None:
    study, job = uploaded(client, METERS.replace(b"m3,3.5", b"m3,"))
    told(client, job)
    page = client.get(f"/s/{study}/load").text
    assert "Some values are missing" in page
    assert "the value is missing" in page
    refused = client.post(f"/s/{study}/confirm")
    assert refused.status_code == 400
    assert "the file cannot be used as it is" in refused.text
    # Steps that come later lead back to the first.
    assert client.get(f"/s/{study}/methods").url.path == f"/s/{study}/load"
    assert client.post(f"/s/{study}/sweep", {"method": "mdav"}).status_code == 404
    wrong = {"layout": "wide", "id": "nobody", "missing": "drop", "block_name": "load", "block_kind": "series", "block_from": "2018-01-01", "block_to": "x"}  # fmt: skip
    refused = client.post(f"/s/{study}/look", dict(wrong))
    assert refused.status_code == 400
    assert "there is no column" in refused.text
    for kept in (
        'name="id" list="columns" value="nobody"',
        'value="drop" selected',
        'name="block_name" value="load"',
        'list="columns" value="x"',
    ):
        assert kept in refused.text
    roles: dict[str, str | list[str]] = {
        "layout": "wide", "id": "meter", "missing": "drop", "block_name": "load", "block_kind": "series",
        "block_from": "2018-01-01", "block_to": "2018-01-03",
    }  # fmt: skip
    client.post(f"/s/{study}/look", roles)
    page = client.ready(f"/s/{study}/load").text
    assert "These roles are right: next" in page
    assert "11 records" in page


PERSONS = b"customer_id,a,b,sex,level\n" + b"".join(
    b"c%d,%d.5,%d.25,%d,%d\n" % (i // 3, i * i % 17, i * 7 % 23, i % 2, i % 4) for i in range(60)
)


def test_a_file_that_may_mean_several_things_is_asked_about_on_the_page(client: Client) -> None:
    study = client.upload("visits.csv", PERSONS).url.path.split("/")[2]
    page = client.ready(f"/s/{study}/load").text
    assert "One question first" in page
    assert "several rows for the same" in page
    assert "problems found" not in page
    assert "These roles are right" not in page
    assert client.post(f"/s/{study}/look", {}).status_code == 400  # nothing was chosen
    client.post(f"/s/{study}/look", {"answer_0": "1"})  # several records of one customer
    page = client.ready(f"/s/{study}/load").text
    assert "may be codes" in page
    assert "<legend>sex</legend>" in page
    client.post(f"/s/{study}/look", {"answer_0": "0", "answer_1": "2"})  # published unchanged; a quantity
    page = client.ready(f"/s/{study}/load").text
    assert "20 persons with 3.0 records each" in page
    assert "These roles are right" in page
    assert re.search(r'name="person"[^>]* value="customer_id"', page)
    assert re.search(r'name="confidential" value="sex" checked', page)
    # The answers are part of the roles, and another look keeps them.
    roles: dict[str, str | list[str]] = {
        "layout": "wide", "person": ["customer_id", ""], "confidential": "sex", "numbers": "level", "block_name": "x",
        "block_kind": "attributes", "block_from": "a", "block_to": "b",
    }  # fmt: skip
    client.post(f"/s/{study}/look", roles)
    assert "20 persons with 3.0 records each" in client.ready(f"/s/{study}/load").text
    client.post(f"/s/{study}/confirm")
    client.ready(f"/s/{study}/risk")
    methods = client.get(f"/s/{study}/methods").text
    assert 'value="mdav"' in methods
    assert "12 methods that do not fit these data" in methods
    assert "takes every record for a person of its own, and here several records may belong to one person" in methods


def test_a_choice_above_the_limit_is_made_only_if_somebody_says_so(client: Client) -> None:
    study = client.upload("visits.csv", PERSONS.replace(b"customer_id", b"visit")).url.path.split("/")[2]
    roles: dict[str, str | list[str]] = {
        "layout": "wide", "rows": "independent", "block_name": "x", "block_kind": "attributes", "block_from": "a", "block_to": "b",
    }  # fmt: skip
    client.ready(f"/s/{study}/load")
    client.post(f"/s/{study}/look", roles)
    client.ready(f"/s/{study}/load")
    client.post(f"/s/{study}/confirm")
    client.ready(f"/s/{study}/risk")
    client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "5,3", "max_risk": "21"})
    client.ready(f"/s/{study}/run")
    page = client.ready(f"/s/{study}/compare").text
    assert "Chosen: mdav k=5" in page
    plan = client.get(f"/s/{study}/files/plan").text
    assert 'accepted_risk = "1/5"' in plan  # the promise is stricter than the limit
    assert "above your limit" in page
    key = re.findall(r'value="([0-9a-f]{24})" aria-label="Choose mdav k=3"', page)[0]
    asked = client.post(f"/s/{study}/pick", {"key": key}).text
    assert "mdav k=3 is above your limit" in asked
    assert "Chosen: mdav k=5" in asked
    client.post(f"/s/{study}/pick", {"key": key, "allow": "accepted-risk"})
    page = client.ready(f"/s/{study}/compare").text
    assert "Chosen: mdav k=3" in page
    assert "FAILS" in page
    download = client.get(f"/s/{study}/download").text
    assert "It was written although it did not pass. Allowed by name: accepted-risk." in download
    assert "accepted_risk = 21.0" in client.get(f"/s/{study}/files/plan").text


def test_steps_that_were_not_reached_lead_back(client: Client) -> None:
    study, job = uploaded(client)
    told(client, job)
    assert client.get(f"/s/{study}/compare").url.path == f"/s/{study}/run"
    assert client.get(f"/s/{study}/download").url.path == f"/s/{study}/run"
    for path in ("files/release", "files/sweep-plan", "files/demo-data", "view/public-report", "view/plan"):
        assert client.get(f"/s/{study}/{path}").status_code == 404
    assert client.post(f"/s/{study}/pick", {"key": "anything"}).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/s/0000000000000000/load"),
        ("GET", "/jobs/0000000000000000/events"),
        ("POST", "/jobs/0000000000000000/stop"),
        ("POST", "/given"),  # no file was named when this server was started
        ("GET", "/static/secret.js"),
    ],
)
def test_what_is_not_there(client: Client, method: str, path: str) -> None:
    answer: httpx.Response = client.get(path) if method == "GET" else client.post(path)
    assert answer.status_code == 404
    assert "There is no such page." in answer.text


def test_a_study_is_removed_with_all_that_is_known_of_it(client: Client, server: Server) -> None:
    study, job = uploaded(client)
    told(client, job)
    assert (server.folder / study).is_dir()
    assert client.post(f"/s/{study}/delete").url.path == "/"
    assert not (server.folder / study).exists()
    assert client.get(f"/s/{study}/load").status_code == 404
    assert client.post(f"/s/{study}/look", {"layout": "wide"}).status_code == 404
