"""In a real browser: limits that move on the map without a request, everything on the page of results by keyboard, single records, a configuration that fails, and
February after January. Whatever is waited for is a condition, never a time.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from web.judging import judge
from web.running import started
from web.test_browser import opened
from web.test_over_time import month

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: widths at which nothing may be wider than the window
WIDTHS = (1280, 768, 420, 320)


def fits(page: Page) -> None:
    """Nothing is wider than the window, at any width; before its styles are there a page may be."""
    page.wait_for_load_state("load")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, page.url)
    page.set_viewport_size({"width": 1280, "height": 900})


def confirmed(page: Page) -> None:
    """From the roles to the page of methods."""
    page.get_by_role("button", name="These roles are right: next").click()
    page.get_by_role("heading", name="Records that stand alone", exact=True).wait_for()
    page.get_by_role("link", name="Next: choose methods").click()


def tried(page: Page, methods: dict[str, dict[str, str]], risk: str) -> None:
    """From the page of methods to the page of results."""
    for box in page.locator("input[name=method]").all():
        box.set_checked(box.get_attribute("value") in methods)
    for method, values in methods.items():
        for parameter, text in values.items():
            field = page.locator(f"input[name='{method}.{parameter}']")
            if not field.first.is_visible():
                page.get_by_text(f"More parameters of {method}", exact=True).click()
            if field.first.get_attribute("type") == "checkbox":
                for box in field.all():
                    box.set_checked(box.get_attribute("value") == text)
            else:
                field.fill(text)
    page.get_by_label("Risk at most").fill(risk)
    page.get_by_role("button", name="Try them").click()
    page.get_by_role("link", name="Next: compare them").click()
    page.get_by_role("heading", name="What it costs to be safe").wait_for()


def outside(page: Page) -> set[str]:
    """What the table shows as beyond the limits; the map shows the same."""
    keys = set(page.eval_on_selector_all(".tried tbody tr.outside", "rows => rows.map(row => row.dataset.key)"))
    points = set(page.eval_on_selector_all(".point.outside", "points => points.map(point => point.dataset.key)"))
    assert points == keys
    return {page.locator(f"tr[data-key='{key}'] th").inner_text().split("  ")[0] for key in keys}


def test_the_demo_to_limits_that_move_and_back_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    with started(tmp_path, demo=True) as server, opened(browser, server) as (page, problems):
        confirmed(page)
        tried(page, {"mdav": {"k": "4, 12", "refine": "none"}, "noise": {"sd": "0.5"}}, "15")
        page.get_by_role("heading", name="Before and after").wait_for()
        fits(page)
        assert len(outside(page)) == 2  # k = 4 is above the limit, and noise promises nothing
        rows = page.locator(".tried tbody tr")

        # -- a slider, by keyboard; the map and the table answer at once, and the server is only asked for words
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        slider = page.get_by_role("slider", name="Risk at most, %, moved on the map")
        slider.focus()
        with page.expect_response(re.compile(r"/advice\?.*max_risk=&")) as answered:
            page.keyboard.press("End")
        assert slider.get_attribute("aria-valuetext") == "no limit"
        assert page.locator("input[name=max_risk]").input_value() == ""
        assert len(outside(page)) == 1
        assert answered.value.status == 200
        page.get_by_text("No limit was set, so nothing is recommended").wait_for()
        assert page.locator(".best:visible").count() == 0
        with page.expect_response(re.compile(r"/advice\?.*max_risk=0&")):
            page.keyboard.press("Home")
        assert len(outside(page)) == 3
        page.get_by_text("Nothing fits your limits").wait_for()
        page.locator("input[name=max_risk]").fill("30")
        page.locator("#advice", has_text="These limits are not in force").wait_for()
        page.locator("tr", has_text="mdav k=4").locator(".best").wait_for(state="visible")
        assert page.locator(".map-limit").count() == 1
        assert all("/advice?" in url for url in requests)

        # -- the switch
        box = page.get_by_role("checkbox", name="Verified promises only")
        assert box.is_checked()
        page.locator("input[name=max_risk]").fill("")
        page.get_by_label("Loss at most, %", exact=True).fill("100")
        before = len(outside(page))
        box.focus()
        page.keyboard.press("Space")
        assert len(outside(page)) == before - 1 == 0

        # -- a point of the map is chosen by arrow keys and Enter, and made by its button
        first = page.locator(".point[tabindex='0']")
        first.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.classList.contains('point')")
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert re.fullmatch(r"(mdav|noise) .*: risk [\d.]+ %, loss [\d.]+ %.*", label)
        page.keyboard.press("Enter")
        assert page.locator(".map-card:visible").count() == 1

        # -- the table is sorted by its heads
        def column(number: int) -> list[str]:
            found: list[str] = rows.evaluate_all(f"rows => rows.map(row => row.cells[{number}].dataset.value)")
            return found

        head = page.get_by_role("columnheader", name="Risk").get_by_role("button")
        head.press("Enter")
        assert column(1) == sorted(column(1), key=float)
        head.press("Enter")
        assert column(1) == sorted(column(1), key=float, reverse=True)
        with page.expect_download() as table:
            page.get_by_role("link", name="This table as CSV").press("Enter")
        table.value.save_as(tmp_path / "table.csv")
        assert len((tmp_path / "table.csv").read_text().splitlines()) == 4

        # -- single records, read off by arrow keys
        page.get_by_role("link", name="Look at single records").press("Enter")
        page.get_by_role("heading", name="Look at people").wait_for()
        fits(page)
        page.locator(".curve svg").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert re.match(r"2024-01-01T01:00: before [\d.]+, published [\d.]+", page.locator(".reading").inner_text())
        page.get_by_label("From point").fill("10")
        page.get_by_label("to point", exact=True).fill("20")
        page.get_by_role("button", name="Look closer").press("Enter")
        page.get_by_role("link", name="Whole curve").wait_for()
        assert page.locator(".values tbody tr").count() == 11
        page.locator("input[name=name]:visible").fill("household-0007")
        page.get_by_role("button", name="Look", exact=True).press("Enter")
        page.get_by_role("heading", name="household-0007").wait_for()
        page.get_by_role("link", name="Back to the comparison").press("Enter")

        # -- one more, a failing one, and the limits in force
        page.get_by_role("combobox", name="Method").select_option("mdav")
        page.get_by_role("button", name="Set its parameters").press("Enter")
        page.locator("input[name='mdav.k']").fill("6000")
        page.get_by_role("button", name="Try mdav with these values").press("Enter")
        page.get_by_text("1 did not work with these data").wait_for()
        page.get_by_text("1 did not work with these data").press("Enter")
        assert page.locator("details[open] li", has_text="mdav k=6000").is_visible()
        assert rows.count() == 3
        page.locator("input[name=max_risk]").fill("30")
        page.get_by_role("button", name="Choose within these limits").press("Enter")
        page.get_by_role("heading", name=re.compile("Chosen: mdav k=4")).wait_for()
        assert page.locator(".head", has_text="Recommended").count() == 1
        assert problems == []


def test_february_is_made_after_january_without_a_line_of_code(browser: Browser, tmp_path: Path, axe: str) -> None:
    for number, shift in ((1, 0), (2, 2)):
        (tmp_path / f"2026-0{number}.csv").write_bytes(month(number, first=shift, last=50 + shift))
    with started(tmp_path) as server, opened(browser, server) as (page, problems):
        page.get_by_label("File", exact=True).set_input_files(tmp_path / "2026-01.csv")
        page.get_by_role("button", name="Load the file").click()
        confirmed(page)
        tried(page, {"mdav": {"k": "5", "refine": "none"}}, "25")
        page.get_by_role("link", name="Next: download").click()
        page.get_by_role("link", name="Finish the report").click()
        page.get_by_label("Title of the release").fill("January <2026>")
        page.get_by_label("To be reviewed").fill("2030-01-31")
        assert judge(page, axe) == []
        page.get_by_role("button", name="Save the answers").click()
        page.get_by_role("link", name="Next: download").click()
        page.get_by_role("link", name="History and next release").click()
        page.get_by_text("review on 2030-01-31").wait_for()
        fits(page)
        page.get_by_label("File", exact=True).set_input_files(tmp_path / "2026-02.csv")
        page.get_by_role("button", name="Continue with this file").click()
        confirmed(page)
        page.get_by_role("heading", name="Continue January <2026>").wait_for()
        assert judge(page, axe) == []
        page.get_by_label("The same as long as a group stays the same").check()
        page.get_by_label("Title of the release").fill("February")
        page.get_by_role("button", name="Make the release").click()
        page.get_by_role("rowheader", name="earlier-releases").wait_for()
        assert judge(page, axe) == []
        page.get_by_role("link", name="Next: download").click()
        page.get_by_role("link", name="History and next release").click()
        page.get_by_role("rowheader", name="February").wait_for()
        assert page.get_by_role("rowheader").all_inner_texts() == ["January <2026>", "February"]
        assert problems == []
