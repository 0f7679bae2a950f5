"""The risk-utility map: what it shows, that it works from disk and under a strict content policy, and its static pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.assess.limits import Intruder
from tsveil.assess.summary import Baseline, baseline
from tsveil.report.risk_map import (
    COLOURS,
    HEIGHT,
    MARGINS,
    SHAPES,
    WIDTH,
    describe_row,
    map_script,
    map_style,
    position,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GRID: dict[str, Any] = {
    "mdav": {"k": [2, 3, 5, 10]},
    "kp": {"k": [4], "P": [2]},
    "noise": {"sd": [0.01, 0.5, 2.0]},
    "nlk": {"n": [9], "l": [5], "k": [4]},
}


@pytest.fixture(scope="module")
def study() -> tv.Study:
    rng = np.random.default_rng(5)
    kinds = rng.normal(size=(4, 12)).cumsum(axis=1)
    x = kinds[rng.integers(4, size=40)] + 0.3 * rng.normal(size=(40, 12)) + 9
    return tv.sweep(tv.Dataset.from_arrays({"<b>load": x}), list(GRID), GRID, seed=4)


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_every_configuration_that_ran_is_a_point_at_its_place(study: tv.Study) -> None:
    tags = Tags(study.map_html()).found
    points = [attrs for _, attrs in tags if (attrs.get("class") or "").startswith("point ")]
    ran = study.table.filter(study.table["problem"].is_null())
    assert len(points) == len(ran) == 8
    by_key = {row["key"]: row for row in ran.to_dicts()}
    for attrs in points:
        row = by_key[attrs["data-key"] or ""]
        x, y = position(row["risk"], row["loss"])
        assert attrs["transform"] == f"translate({x} {y})"
        assert ("front" in (attrs["class"] or "").split()) == row["pareto"]
        assert (attrs["aria-label"] or "").startswith(row["label"])


def test_the_corners_are_the_original_and_complete_suppression() -> None:
    left, right, top, bottom = MARGINS
    assert position(risk=100, loss=0) == (left, top)
    assert position(risk=0, loss=100) == (WIDTH - right, HEIGHT - bottom)


def test_the_original_data_stand_where_their_own_risk_is() -> None:
    """200 records of which many are equal: 3 of 200 persons are what the best attack on the original data finds, not all."""
    x = np.repeat([[1.0, 2.0, 3.0], [4.0, 6.0, 1.0], [7.0, 2.0, 9.0]], [100, 60, 40], axis=0)
    x[:, 1] += np.linspace(0.0, 1.0, 3).repeat([100, 60, 40])
    data = tv.Dataset.from_arrays({"load": x})
    study = tv.sweep(data, ["mdav"], {"mdav": {"k": [5]}}, seed=4)
    assert study.baseline is not None
    assert (study.baseline.original, study.baseline.guess) == (1.5, 0.5)
    corners = {
        attrs["data-risk"]: attrs for _, attrs in Tags(study.map_html()).found if attrs.get("class") == "map-corner"
    }
    at = position(1.5, 0)
    assert corners["1.5"]["transform"] == f"translate({at[0]} {at[1]})"
    assert "data-line" in corners["0.5"]
    assert "1.5 % of the persons would be found" in study.map_html()


def test_who_has_several_records_is_found_by_the_best_of_them() -> None:
    frame = pl.DataFrame({"who": ["a", "a", "b", "c"], "x": [1.0, 2.0, 1.0, 2.0], "y": [5.0, 6.0, 5.0, 6.0]})
    data = tv.Dataset.from_frame(frame, blocks={"z": ["x", "y"]}, person=["who"])
    assert baseline(data, Intruder()) == Baseline(original=50.0, guess=100 / 3)
    carried = tv.Dataset.from_arrays({"x": np.ones((4, 2))}, confidential={"town": ["a", "a", "b", "c"]})
    assert baseline(carried, Intruder()).original == 25.0
    assert baseline(carried, Intruder(knows_carried=["town"])).original == 75.0


def test_a_study_of_an_earlier_version_draws_no_place_that_it_does_not_know(study: tv.Study) -> None:
    old = replace(study, about={name: value for name, value in study.about.items() if name != "baseline"})
    assert old.baseline is None
    assert "original data" not in old.map_html()
    assert "complete suppression" in old.map_html()


def test_the_definitions_stand_under_the_map(study: tv.Study) -> None:
    html = study.map_html()
    risk, loss = study.definitions
    assert html.index("</svg>") < html.index(risk) < html.index(loss)
    assert "midlines" in loss


def test_a_strict_policy_has_nothing_to_refuse_in_the_map(study: tv.Study) -> None:
    for tag, attrs in Tags(study.map_html()).found:
        assert tag not in {"script", "style", "link", "iframe", "img"}
        assert not [name for name in attrs if name == "style" or name.startswith("on")]


def test_the_page_names_nothing_from_elsewhere_and_escapes_names(study: tv.Study) -> None:
    text = study.report()
    assert re.findall(r"https?://[^\"' ]+", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert not [attrs for _, attrs in Tags(text).found if {"src", "href"} & set(attrs)]
    assert "<b>load" not in text
    assert "&lt;b&gt;load" in text
    assert len(text) < 200_000
    assert "must be above n" in text  # what could not be run is told


def test_the_page_says_what_to_publish(study: tv.Study) -> None:
    best = study.recommend(max_risk=20).best
    assert best is not None
    text = study.report(max_risk=20)
    assert f"Recommended: {best['label']}" in text
    assert "Nothing fits" in study.report(max_risk=0)


def test_marks_differ_and_the_page_knows_their_colours(study: tv.Study) -> None:
    style = map_style()
    for number, colour in enumerate(COLOURS):
        assert f"--m{number}: {colour}" in style
        assert f".m{number} " in style
    looks = {(at % len(COLOURS), at % len(SHAPES)) for at in range(28)}
    assert len(looks) == 28


def test_a_loss_above_100_is_told(study: tv.Study) -> None:
    row = study.table.row(0, named=True) | {"loss": 100.0, "figures": '{"IL": 131.25}'}
    assert describe_row(row, "series")["notes"] == ["IL is 131.2\N{NO-BREAK SPACE}% and counts as 100."]


def test_pictures_for_papers(study: tv.Study, tmp_path: Path) -> None:
    svg = study.map(tmp_path / "map.svg").read_text(encoding="utf-8")
    for words in (
        "original data",
        "complete suppression",
        "risk, %",
        "loss, %",
        "mdav",
        "Risk is the share of persons",
    ):
        assert words in svg
    png = study.map(tmp_path / "map.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n")
    assert int.from_bytes(png[16:20]) > 1000
    assert study.map(tmp_path / "map.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(tv.errors.OutputError, match=r"\.html, \.svg or \.png"):
        study.map(tmp_path / "map.pdf")


# -- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(study: tv.Study, browser: Browser, tmp_path: Path) -> Iterator[tuple[Page, list[str]]]:
    """The report opened from disk, and all that it asked for or complained about."""
    (tmp_path / "study.html").write_text(study.report(), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text))
    page.goto((tmp_path / "study.html").as_uri())
    yield page, heard
    context.close()


def centre(page: Page, label: str) -> tuple[float, float]:
    point = page.locator(f'.point[aria-label^="{label}:"]')
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_point_tells_its_method_and_shows_its_card(study: tv.Study, opened: tuple[Page, list[str]]) -> None:
    page, heard = opened
    tip = page.locator(".map-tip")
    assert tip.is_hidden()
    page.mouse.move(*centre(page, "mdav k=5"))
    assert tip.is_visible()
    row = next(row for row in study.table.to_dicts() if row["label"] == "mdav k=5")
    said = tip.inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("mdav k=5")
    assert f"{row['risk']:.1f} %" in said
    assert f"{row['loss']:.1f} %" in said
    assert "5-anonymity per block, verified" in said
    assert "interval disclosure" in said  # the other measures
    page.mouse.move(5, 5)
    assert tip.is_hidden()

    card = page.locator(f'.map-card[data-key="{row["key"]}"]')
    assert card.is_hidden()
    page.mouse.click(*centre(page, "mdav k=5"))
    assert card.is_visible()
    assert "distance = euclidean" in card.inner_text()
    page.mouse.click(*centre(page, "mdav k=2"))
    assert card.is_hidden()
    # One file from the disk, no request for anything else, no complaint.
    assert [url.split("/")[-1] for url in heard] == ["study.html"]


def test_the_keyboard_reaches_every_point(study: tv.Study, opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    ran = study.table.filter(study.table["problem"].is_null()).sort("risk", "loss")
    page.locator(".map-closer").focus()
    page.keyboard.press("Tab")
    walked = []
    for _ in range(len(ran)):
        walked.append(page.evaluate("document.activeElement.dataset.key"))
        assert page.locator(".map-tip").is_visible()
        page.keyboard.press("ArrowRight")
    assert walked == ran["key"].to_list()
    page.keyboard.press("Enter")
    assert page.locator(f'.map-card[data-key="{walked[-1]}"]').is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".map-tip").is_hidden()


def test_looking_closer_and_one_method_alone(opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    before = centre(page, "mdav k=5")
    page.locator(".map-closer").click()
    assert centre(page, "mdav k=5") != before
    assert page.locator(".map-whole").is_visible()
    page.locator(".map-whole").click()
    assert page.locator(".map-whole").is_hidden()
    # A frame that holds the lower half of the map: what has more risk is out of sight.
    box = page.locator(".map-drawing").bounding_box()
    assert box is not None
    scale = box["width"] / WIDTH
    left, right, top, bottom = MARGINS
    page.mouse.move(box["x"] + (left + 1) * scale, box["y"] + (top + (HEIGHT - top - bottom) * 0.5) * scale)
    page.mouse.down()
    page.mouse.move(box["x"] + (WIDTH - right) * scale, box["y"] + (HEIGHT - bottom) * scale, steps=3)
    page.mouse.up()
    shown = page.locator(".point:not([hidden])").evaluate_all("all => all.map(one => Number(one.dataset.risk))")
    hidden = page.locator(".point[hidden]").evaluate_all("all => all.map(one => Number(one.dataset.risk))")
    assert shown
    assert hidden
    assert max(shown) <= 51
    assert min(hidden) >= 49
    page.locator(".map-whole").click()
    page.locator('.map-method[data-method="noise"]').click()
    assert page.locator(".point.faded").count() == 5
    assert page.locator(".point:not(.faded)").count() == 3
    page.locator('.map-method[data-method="noise"]').click()
    assert page.locator(".point.faded").count() == 0


def test_the_table_is_sorted_by_its_heads(study: tv.Study, opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    ran = study.table.filter(study.table["problem"].is_null())
    first = page.locator("table.sortable tbody th")
    page.get_by_role("button", name="Loss", exact=True).click()
    assert first.all_inner_texts() == ran.sort("loss")["label"].to_list()
    page.get_by_role("button", name="Loss", exact=True).click()
    assert first.all_inner_texts() == ran.sort("loss", descending=True)["label"].to_list()


def test_it_works_under_a_strict_content_policy(study: tv.Study, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:"
    body = f'<!doctype html><html lang="en"><head><title>m</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/map.css"></head><body>{study.map_html()}<script src="/map.js"></script></body></html>'
    served = {
        "/": ("text/html; charset=utf-8", body),
        "/map.js": ("text/javascript", map_script()),
        "/map.css": ("text/css", map_style()),
    }

    def answer(route: Any) -> None:
        kind, text = served[route.request.url.removeprefix("http://map.test")]
        route.fulfill(body=text, headers={"content-type": kind, "content-security-policy": policy})

    page.route("http://map.test/**", answer)
    page.goto("http://map.test/")
    page.mouse.move(*centre(page, "mdav k=5"))
    assert page.locator(".map-tip").inner_text().startswith("mdav k=5")
    context.close()
    assert heard == []


@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_sticks_out_sideways(study: tv.Study, browser: Browser, tmp_path: Path, width: int) -> None:
    (tmp_path / "study.html").write_text(study.report(max_risk=20), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto((tmp_path / "study.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.mouse.move(*centre(page, "mdav k=5"))
    box = page.locator(".map-tip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    context.close()
