"""Step 3 in words: plain names, four choices first, and promises that speak of the values that are set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tsveil as tv
from tsveil.core.registry import METHODS
from tsveil.data.dataset import Dataset
from tsveil.web.method_step import FIRST, Described, describe, in_order, in_words, with_words
from tsveil.web.studies import LOOK_VERSION, Studies
from tsveil.web.work import _method
from web.homes import households, said, study_of
from web.running import Client


@pytest.fixture(scope="module")
def data() -> Dataset:
    days = [name for name in households().columns if name.startswith("20")]
    return tv.Dataset.from_frame(
        households().drop("size"), id="home", blocks={"load": {"columns": days, "kind": "series"}}, confidential="town"
    )


@pytest.fixture(scope="module")
def offered(data: Dataset) -> list[dict[str, Any]]:
    return [_method(name, data) for name in METHODS]


def test_four_choices_come_first_and_each_method_once(offered: list[dict[str, Any]]) -> None:
    first, more, others = in_order(offered)
    assert [method["name"] for method in first] == ["mdav", "v-mdav", "rank-swap", "noise"]
    assert len(first) == FIRST
    assert sorted(method["name"] for method in [*first, *more, *others]) == sorted(METHODS)
    # What promises nothing is there to compare with, and is not recommended.
    assert [method["name"] for method in offered if method["recommended"]] == ["mdav", "v-mdav"]
    assert all(method["plain"] != method["name"] for method in offered)
    for one in [first, [*first[:1], *more]]:
        assert in_order(one)[0][0]["name"] == "mdav"


def test_where_a_starting_choice_does_not_fit_another_takes_its_place() -> None:
    labels = tv.Dataset.from_frame(
        households().drop("home"), blocks={}, categories={"town": "nominal", "size": "nominal"}, confidential=[]
    )
    first, _, others = in_order([_method(name, labels) for name in METHODS])
    assert {"noise", "rank-swap"} <= {method["name"] for method in others}
    assert [method["name"] for method in first][:2] == ["mdav", "v-mdav"]


def test_what_is_promised_is_what_the_method_promises(data: Dataset, offered: list[dict[str, Any]]) -> None:
    described = json.loads(json.dumps(describe(data)))
    assert Described.of(described).n == data.n
    for method in offered:
        if method["problem"]:
            continue
        kind = METHODS[method["name"]]
        assert in_words(method, {}, described) == [kind().guarantee(data).words]


def test_the_words_speak_of_the_values_that_are_set(data: Dataset, offered: list[dict[str, Any]]) -> None:
    mdav = next(method for method in offered if method["name"] == "mdav")
    (shown,) = with_words([mdav], describe(data), {"mdav.k": ["7, 4"]}, {})
    assert ["7-anonymity" in shown["said"][0], "4-anonymity" in shown["said"][1], len(shown["said"])] == [True, True, 2]
    noise = next(method for method in offered if method["name"] == "noise")
    first, last = in_words(noise, {"sd": [0.25, 0.5]}, describe(data))
    assert first.startswith("With sd = 0.25: No guarantee.")
    # What is the same for both is said once.
    assert last.startswith("With sd = 0.5: Every published value is the true one plus a random number of about 50 %")
    assert "attacks measure" not in last
    (shown,) = with_words([mdav], describe(data), None, {"mdav": {"k": [6]}})
    assert len(shown["said"]) == 1
    assert "6-anonymity" in shown["said"][0]
    (shown,) = with_words([mdav], describe(data), {"mdav.k": ["-3"]}, {})
    assert shown["said"] == []


def test_the_page_of_methods(client: Client) -> None:
    frame = households().select(pl.col("home"), pl.col("^20.*$"))
    study, _ = study_of(client, "homes.csv", frame.write_csv().encode())
    client.post(f"/s/{study}/confirm")
    client.ready(f"/s/{study}/risk")
    page = client.get(f"/s/{study}/methods").text
    before, _, after = page.partition('<details class="more">')
    assert before.count('name="method"') == FIRST
    assert after.count('name="method"') > 3
    assert "Hide each record among at least k similar ones" in said(before)
    assert "3-anonymity" in said(before)
    found = client.get(f"/s/{study}/promise/mdav?mdav.k=8").json()
    assert "shared by at least 8 records" in found["words"][0]
    assert (
        client.get(f"/s/{study}/promise/mdav?mdav.k=x").json()["problem"]
        == "mdav: k must be an integer of at least 2. Got 'x'."
    )
    assert client.get(f"/s/{study}/promise/nobody?k=8").status_code == 404
    # Refused values keep the methods open that they were typed for.
    refused = client.post(f"/s/{study}/sweep", {"method": "mic1d", "mic1d.kappa": "none"})
    assert '<details class="more" open>' in refused.text


def test_what_an_earlier_version_saw_is_forgotten(tmp_path: Path) -> None:
    studies = Studies(tmp_path)
    kept, old = (studies.new("m.csv", "upload", studies.upload_place(), "m.csv") for _ in range(2))
    (tmp_path / kept.id / "look.json").write_text(json.dumps({"version": LOOK_VERSION, "rows": 3}))
    (tmp_path / old.id / "look.json").write_text(json.dumps({"rows": 3}))
    studies.close()
    again = Studies(tmp_path)
    again.close()
    assert again.read_result(kept, "look.json") is not None
    assert again.read_result(old, "look.json") is None
