"""Steps 1 to 4 as somebody takes them who does not program, in a real browser: each kind of file, by mouse and by keyboard alone.

Every page on the way is judged (`judging`): by axe-core, in light and dark, and at four widths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from web.homes import households
from web.judging import judge
from web.running import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

#: reading, measuring and the first compilation take their time on a busy computer
PATIENCE = 120_000
CONFIRM = "These roles are right: next"


class Visit:
    """A browser with a page of the app."""

    def __init__(self, page: Page, axe: str) -> None:
        self.page = page
        self._axe = axe

    def load(self, path: Path) -> None:
        """Upload a file, and wait until it was looked at."""
        self.page.get_by_label("File", exact=True).set_input_files(path)
        self.page.get_by_role("button", name="Load the file").click()
        self.looked_at()

    def looked_at(self) -> None:
        """Wait until the file was looked at: the page that says so comes by itself."""
        self.page.get_by_role("heading", name="The first rows").wait_for()

    def judge(self) -> None:
        """Whether the page is as every page must be."""
        assert judge(self.page, self._axe) == []

    def answer(self, title: str, *words: str) -> None:
        """Answer the question of reading, subject by subject."""
        self.page.get_by_role("heading", name=title).wait_for()
        self.judge()
        for subject, text in enumerate(words):
            self.page.locator("fieldset").filter(has=self.page.locator(f"[name=answer_{subject}]")).get_by_label(
                text
            ).check()
        self.press("Go on with th")

    def press(self, button: str) -> None:
        """Press a button that leads to another page."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=button).click()

    def role(self, column: str) -> str:
        """What the header of a column says."""
        return str(self.header(column).locator("option:checked").inner_text())

    def header(self, column: str) -> Locator:
        """The choice at the header of a column."""
        return self.page.locator(".preview").get_by_label(column, exact=False).first

    def choose(self, column: str, role: str) -> None:
        """Choose at its header what a column is."""
        self.header(column).select_option(label=role)


@pytest.fixture
def visit(server: Server, browser: Browser, axe: str) -> Iterator[Visit]:
    with visiting(server, browser, axe) as found:
        yield found


@contextmanager
def visiting(server: Server, browser: Browser, axe: str) -> Iterator[Visit]:
    # axe-core comes from outside the page, which its content policy would not allow.
    context = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    try:
        link = server.link()
        server.used.add(link)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(link)
        yield Visit(page, axe)
        assert problems == []
    finally:
        context.close()


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_panel_with_persons(visit: Visit, tmp_path: Path) -> None:
    rows = [f"c{at // 3},{at * at % 17}.5,{at * 7 % 23}.25,{at % 2}" for at in range(60)]
    visit.judge()
    visit.load(written(tmp_path / "visits.csv", "\n".join(["customer_id,pay,tax,sex", *rows]) + "\n"))
    visit.answer("Who is the person?", "Several records that belong to one customer_id?")
    visit.answer("Codes or quantities?", "Publish them unchanged?")
    visit.page.get_by_text("20 persons with 3.0 records each on average").wait_for()
    assert visit.role("customer_id") == "person: says whose record it is"
    assert visit.role("sex") == "published unchanged"
    visit.judge()


def test_a_table_that_is_turned(visit: Visit, tmp_path: Path) -> None:
    head = ",".join(["day", *(f"MAC{at}" for at in range(12))])
    rows = [
        ",".join([f"2020-01-{day:02d}", *(f"{day * at * 7 % 13}.5" for at in range(1, 13))]) for day in range(1, 29)
    ]
    visit.load(written(tmp_path / "meters.csv", "\n".join([head, *rows]) + "\n"))
    drawn = visit.page.locator(".picture").first
    assert drawn.locator("tbody tr").first.locator("td").all_inner_texts() == ["MAC0", "7.5", "1.5"]
    visit.answer("Is this table turned?", "Is each of these columns a person or a device?")
    visit.page.get_by_text("Ready: 12 records; series 'series' (28 points)").wait_for()


def test_gaps_are_cured_by_a_button_beside_them(visit: Visit, tmp_path: Path) -> None:
    frame = households().drop("town", "size")
    frame = frame.with_columns(
        pl.when(pl.col("home").is_in(["h4", "h9"])).then(None).otherwise(pl.col("2024-01-03")).alias("2024-01-03")
    )
    frame.write_csv(tmp_path / "gaps.csv")
    visit.load(tmp_path / "gaps.csv")
    visit.page.get_by_text("2 of 30 records have only 3 of the 4 points").wait_for()
    visit.judge()
    visit.page.get_by_label("Points of each series").fill("1")
    visit.press("Bring every series to the same number of points")
    visit.page.get_by_role("heading", name="This cannot be used").wait_for()
    assert visit.page.get_by_label("Points of each series").input_value() == "1"
    visit.judge()
    visit.press("Fill the gaps between neighbours in time")
    visit.page.get_by_text("2 missing values in 2 of 30 records were filled by linear interpolation in time").wait_for()


def test_a_workbook_with_two_sheets(visit: Visit, tmp_path: Path) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "homes.xlsx") as book:
        for name, frame in (("notes", households(12)), ("readings", households(24).drop("size"))):
            sheet = book.add_worksheet(name)
            for row, cells in enumerate([frame.columns, *frame.rows()]):
                sheet.write_row(row, 0, cells)
    visit.load(tmp_path / "homes.xlsx")
    visit.answer("Which sheet?", "'readings'?")
    visit.page.get_by_text("Ready: 24 records").wait_for()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("tree") / "places.csv", "Bern,West,Land\nGenf,West,Land\nChur,East,Land\n")


def test_keys_with_a_hierarchy_to_a_run(visit: Visit, tmp_path: Path, tree: Path) -> None:
    """Every page up to the results, and what follows from them, in light and dark."""
    households(60).write_csv(tmp_path / "homes.csv")
    page = visit.page
    visit.load(tmp_path / "homes.csv")
    visit.choose("town", "category with a hierarchy, from a file")
    visit.press("Check these columns")
    page.get_by_text("choose the file that holds its hierarchy, under the table").wait_for()
    visit.judge()
    page.get_by_label("File of the hierarchy").set_input_files(tree)
    visit.press("Use this hierarchy")
    visit.looked_at()
    assert visit.role("town") == "category with the hierarchy in places.csv"
    visit.choose("size", "category with an order")
    visit.press("Check these columns")
    visit.looked_at()
    page.get_by_label("Order of the labels of size").fill("small\nmedium\nlarge")
    visit.judge()
    visit.press("Check these columns")
    page.get_by_role("button", name=CONFIRM).click()
    page.get_by_role("heading", name="Records that stand alone", exact=True).wait_for()
    visit.judge()
    page.get_by_role("link", name="Next: choose methods").click()
    page.get_by_role("heading", name="What to try").wait_for()
    visit.judge()
    assert page.evaluate("document.documentElement.scrollHeight") < 3_000
    page.locator("[name=method][value=v-mdav]").uncheck()
    page.locator("[name='mdav.k']").fill("-1")
    visit.press("Try them")
    visit.judge()
    page.locator("[name='mdav.k']").fill("5, 6")
    # What is promised follows the values.
    page.locator("[name='mdav.k']").press("Tab")
    page.get_by_text("6-anonymity").first.wait_for()
    page.eval_on_selector_all(
        "[name='mdav.refine']", "boxes => boxes.forEach(box => { box.checked = box.value === 'none' })"
    )
    visit.press("Try them")
    page.get_by_role("link", name="Next: compare them").wait_for()
    assert page.get_by_text("Hide each record among at least k similar ones").is_visible()
    visit.judge()
    page.get_by_role("link", name="Next: compare them").click()
    page.get_by_role("button", name="Choose mdav k=5").first.wait_for()
    visit.judge()
    walk_the_map(page)
    page.get_by_role("button", name="Choose mdav k=5").first.click()
    page.get_by_role("button", name="Make it although it fails").wait_for()
    visit.judge()
    page.get_by_role("button", name="Make it although it fails").click()
    page.get_by_role("link", name="Next: download").click()
    page.get_by_role("heading", name="Take it with you").wait_for()
    visit.judge()
    study = page.url.rpartition("/")[0]
    for place in ("people", "history", "view/public-report", "view/private-report"):
        page.goto(f"{study}/{place}")
        page.get_by_role("heading", level=1).wait_for()
        visit.judge()
    page.goto(f"{study}/nowhere")
    page.get_by_role("heading", name="Not found").wait_for()
    visit.judge()


def walk_the_map(page: Page) -> None:
    """The map by keyboard: one stop for the tab key, arrows from mark to mark, each with a name, and a state that is announced."""
    points = page.locator(".risk-map .point")
    names = [point.get_attribute("aria-label") or "" for point in points.all()]
    assert len(names) == len(set(names)) >= 2
    assert all(name.startswith("mdav k=") and ": risk " in name for name in names)
    stop = page.locator(".risk-map .point[tabindex='0']")
    assert stop.count() == 1
    tab_to(page, ".risk-map .point")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".risk-map .point:focus").get_attribute("aria-pressed") == "true"
    assert page.locator(".risk-map .point[aria-pressed='true']").count() == 1
    assert page.locator(".map-card:visible").count() == 1


# -- by keyboard alone ------------------------------------------------------------------------------------------------


def tab_to(page: Page, selector: str, most: int = 300) -> None:
    """Press the tab key until something has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the tab key does not come to {selector}")


def leave_by(page: Page, selector: str) -> None:
    """Come to a button or a link by the tab key, and use it."""
    tab_to(page, selector)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_steps_1_to_4_by_keyboard_alone(visit: Visit, tmp_path: Path) -> None:
    households(60).drop("size").write_csv(tmp_path / "homes.csv")
    page = visit.page
    tab_to(page, "#file")
    # The window in which a file is chosen is the system's; a browser without one does not open it for a key.
    page.locator("#file").set_input_files(tmp_path / "homes.csv")
    leave_by(page, "form[data-largest] button")
    visit.looked_at()
    for _ in range(6):  # household, four days, town: each header once
        tab_to(page, ".preview select")
    assert page.evaluate("document.activeElement.closest('th').querySelector('.name').textContent") == "town"
    pressed_until(page, "nominal")
    leave_by(page, "#columns-form button")
    visit.looked_at()
    assert visit.role("town") == "category without an order"
    leave_by(page, "form[action$='/confirm'] button")
    page.get_by_role("heading", name="Records that stand alone", exact=True).wait_for()
    leave_by(page, "a[href$='/methods'].button")
    tab_to(page, "[name=method][value=v-mdav]")
    page.keyboard.press("Space")
    assert not page.locator("[name=method][value=v-mdav]").is_checked()
    page.keyboard.press("Shift+Tab")
    leave_field(page, "[name='mdav.k']", "4")
    for value in ("none", "swap"):
        box = page.locator(f"[name='mdav.refine'][value={value}]")
        if box.is_checked() != (value == "none"):
            tab_back_to(page, f"[name='mdav.refine'][value={value}]")
            page.keyboard.press("Space")
    leave_by(page, ".bottom button")
    page.get_by_role("link", name="Next: compare them").wait_for()
    assert "k = 4" in page.get_by_role("listitem").filter(has_text="similar ones").inner_text()
    leave_by(page, "a[href$='/compare'].button")
    page.get_by_role("heading", name="What it costs to be safe").wait_for()


def tab_back_to(page: Page, selector: str) -> None:
    """Press the tab key backwards until something has the focus."""
    for _ in range(300):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Shift+Tab")
    raise AssertionError(f"the tab key does not come back to {selector}")


def leave_field(page: Page, selector: str, text: str) -> None:
    """Type something into a field that stands before."""
    tab_back_to(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def pressed_until(page: Page, value: str) -> None:
    """Walk through a choice by the arrow key until it has a value."""
    current: Callable[[], str] = lambda: page.evaluate("document.activeElement.value")  # noqa: E731
    for _ in range(30):
        if current() == value:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"the choice has no {value}")


def test_an_upload_that_is_refused_is_shown_as_without_a_script(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    page.locator("form[data-largest] [name=csrf]").evaluate("field => { field.value = 'another'; }")
    page.get_by_label("File", exact=True).set_input_files(written(tmp_path / "homes.csv", "a,b\n1,2\n"))
    page.get_by_role("button", name="Load the file").click()
    page.get_by_role("heading", name="Out of date").wait_for()
    assert page.get_by_text("load the page again and repeat the upload").is_visible()
    page.get_by_role("link", name="Back").click()
    page.get_by_role("button", name="Load the file").wait_for()
