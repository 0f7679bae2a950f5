"""The report: the public version gives nothing away, the private one shows what its owner must see, and both stand alone."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tsveil as tv
from tsveil.data.dataset import Dataset
from tsveil.data.pieces import make_store
from tsveil.data.source import Source
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.none import NoGuarantee
from tsveil.measure.evaluate import evaluate
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.mdav import MDAV
from tsveil.release.release import Release
from tsveil.report.curves import by_level, by_spread
from tsveil.report.figures import INK, ROUNDED, bars, histogram, thin_columns
from tsveil.report.release import report

N, T = 60, 24
SEED = 424242424243
PLANTED = 98765.4321


def some_data(series: int = 1, points: int = T) -> Dataset:
    rng = np.random.default_rng(3)
    blocks = {}
    for number in range(series):
        level = rng.uniform(1, 20, (N, 1))
        blocks["load" if number == 0 else f"gas {number}"] = level + rng.normal(0, 0.3, (N, points)).cumsum(axis=1)
    blocks["load"][7, 5] = PLANTED
    data = Dataset.from_arrays(
        blocks, ids=[f"PERSON-{number:03d}" for number in range(N)], confidential={"tariff": ["a", "b"] * (N // 2)}
    )
    return replace(data, notes=("PERSON-999 was left out",), dropped=("street-of-residence",))


def evaluated(data: Dataset, method: MDAV | None = None) -> tuple[Release, Scorecard, Verdict]:
    release = replace((method or MDAV(k=5)).protect(data, seed=SEED), warnings=("PERSON-007 stands alone",))
    return release, evaluate(data, release), release.verify()


@pytest.fixture(scope="module")
def line() -> tuple[Release, Scorecard, Verdict]:
    return evaluated(some_data())


@pytest.fixture(scope="module")
def private(line: tuple[Release, Scorecard, Verdict]) -> str:
    return report(*line, public=False, title="Meters", source="meters-of-2024.csv")


@pytest.fixture(scope="module")
def public(line: tuple[Release, Scorecard, Verdict]) -> str:
    return report(*line, public=True, title="Meters", source="meters-of-2024.csv")


class Page(HTMLParser):
    """Reads a page strictly: every element is closed in the order in which it was opened."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def words(page: str) -> str:
    """The text that a reader sees."""
    return re.sub(r"\s+", " ", " ".join(Page(page).text))


# -- one page that stands alone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["private", "public"])
def test_the_page_is_well_formed_and_loads_nothing(version: str, request: pytest.FixtureRequest) -> None:
    text: str = request.getfixturevalue(version)
    page = Page(text)
    assert page.tags.count("h1") == 1
    assert not {"script", "link", "iframe", "img", "object", "embed", "image", "use"} & set(page.tags)
    loading = [
        (tag, name, value) for tag, name, value in page.attributes if re.search(r"src|href|^on|^style$|action", name)
    ]
    assert [a for a in loading if not a[1].startswith("xmlns")] == []
    assert "@import" not in text
    assert "url(" not in text


def test_what_the_user_wrote_is_text_not_markup() -> None:
    data = some_data()
    block = replace(data.blocks[0], name="<b>load</b>")
    release, card, verdict = evaluated(replace(data, blocks=(block,)))
    for is_public in (True, False):
        page = report(release, card, verdict, public=is_public, title="<script>alert(1)</script>")
        assert "script" not in Page(page).tags
        assert "b" not in Page(page).tags
        assert "<script>alert(1)</script>" in words(page)


def test_pictures_know_the_colours_of_a_dark_page() -> None:
    style = files("tsveil.report").joinpath("templates/style.css").read_text()
    for colour in INK.values():
        assert re.search(rf'\.chart \[(stroke|fill)="{colour}"\]', style), colour


def test_long_series_are_thinned_and_the_page_stays_small() -> None:
    release, card, verdict = evaluated(some_data(points=9000))
    page = report(release, card, verdict, public=False)
    assert len(page) < 400_000
    assert "every 23 neighbouring points of load are averaged" in words(page)


def test_only_a_few_of_many_series_are_drawn() -> None:
    release, card, verdict = evaluated(some_data(series=4))
    page = report(release, card, verdict, public=False)
    assert "Drawn are the first 2 of 4 series" in words(page)
    assert "Series by series" in words(page)
    assert page.count("<figure>") <= 2 * 4 + 2


# -- what is said -----------------------------------------------------------------------------------------------------


def test_a_kept_promise_is_said_first(public: str) -> None:
    seen = words(public)
    assert "Verified: 5-anonymity per block" in seen
    assert "NOT VERIFIED" not in seen
    assert seen.index("Verified") < seen.index("Information loss")


@pytest.mark.parametrize("is_public", [True, False])
@pytest.mark.parametrize("status", [Status.VIOLATED, Status.UNKNOWN])
def test_a_broken_promise_is_shouted(line: tuple[Release, Scorecard, Verdict], status: Status, is_public: bool) -> None:
    release, card, verdict = line
    witness = "block 'load': rows 4, 17 share their values with 1 other record"
    page = report(release, card, Verdict(status, verdict.guarantee, witness), public=is_public)
    assert '<section class="banner fails"' in page
    assert "NOT VERIFIED: " in words(page)
    assert "Verified: " not in words(page)
    # The witness names rows in the order of the original file.
    assert ("rows 4, 17" in words(page)) is not is_public


def test_the_paper_variant_with_a_small_group_gets_the_banner() -> None:
    data = some_data()
    release, card, verdict = evaluated(data, MDAV(k=7, variant="paper"))
    assert verdict.status is Status.VIOLATED
    assert "NOT VERIFIED: the guarantee is violated" in words(report(release, card, verdict, public=True))


def test_a_method_without_a_promise_claims_nothing(line: tuple[Release, Scorecard, Verdict]) -> None:
    release, card, _ = line
    release = replace(release, guarantee=NoGuarantee())
    seen = words(report(release, card, release.verify(), public=True))
    assert "No guarantee is claimed" in seen
    assert "erified: " not in seen


def test_the_figures_are_those_of_the_score_card(line: tuple[Release, Scorecard, Verdict], public: str) -> None:
    _, card, _ = line
    seen = words(public)
    for name in ("IL1", "IL2", "IL3", "IL", "EULD", "STSLD", "DR1", "ID", "DR"):
        assert re.search(rf"{name} {card[name]:.1f} %", seen), name
    best = max(rates[-1] for rates in card.by_known.values())
    assert f"Risk {best:.1f} % of the persons are found" in seen
    assert "smallest group: every published row is shared by at least k records" in seen
    assert "tariff" in seen


def test_the_mean_of_the_linkages_is_not_called_the_better_one(line: tuple[Release, Scorecard, Verdict]) -> None:
    release, _, verdict = line
    card = evaluate(release.original, release, dr1="mean")
    seen = words(report(release, card, verdict, public=True))
    assert "here the mean of the two linkages" in seen
    assert "the better of the two linkages" not in seen


# -- private ----------------------------------------------------------------------------------------------------------


def test_the_owner_sees_the_records_at_highest_risk(line: tuple[Release, Scorecard, Verdict], private: str) -> None:
    _, card, _ = line
    highest = pl.max_horizontal("risk", "risk_person", "risk_share")
    order = card.per_record.sort([highest, "risk", "values_disclosed"], descending=True, maintain_order=True)
    shown = re.findall(r'<th scope="row">(PERSON-\d+)</th>', private)
    assert shown == order["original"].to_list()[:10]
    assert "Who knows: person" in private


def test_the_owner_sees_what_was_said_on_the_way(private: str) -> None:
    seen = words(private)
    for text in (
        "PERSON-999 was left out",
        "PERSON-007 stands alone",
        "street-of-residence",
        "meters-of-2024.csv",
        "Do not pass on",
    ):
        assert text in seen


def test_no_record_at_risk_is_said_in_words(line: tuple[Release, Scorecard, Verdict]) -> None:
    release, card, verdict = line
    none = pl.lit(0.0)
    safe = replace(card, per_record=card.per_record.with_columns(risk=none, risk_person=none, risk_share=none))
    assert "No record was linked" in words(report(release, safe, verdict, public=False))


# -- public -----------------------------------------------------------------------------------------------------------


def test_the_public_page_has_no_marker_of_the_original(public: str) -> None:
    for marker in (
        "PERSON",
        str(PLANTED),
        "98765",
        "98,765",
        str(SEED),
        "meters-of-2024",
        "street-of-residence",
        "highest risk",
    ):
        assert marker not in public, marker


def test_the_public_page_does_not_depend_on_anything_private(
    line: tuple[Release, Scorecard, Verdict], public: str
) -> None:
    release, card, verdict = line
    rng = np.random.default_rng(0)
    other = replace(
        release.original,
        values=rng.normal(size=release.original.values.shape),
        others=release.original.others.with_columns(id=pl.Series([f"x{i}" for i in range(N)])),
    )
    order = rng.permutation(N)
    stranger = replace(
        release,
        original=other,
        store=make_store(Source.of(other), other.values, release.made, other.others, order),
        seed=1,
        warnings=("something else",),
        facts={"load": {"secret": 5}},
    )
    shuffled = replace(card, per_record=card.per_record.sample(fraction=1.0, shuffle=True, seed=5))
    told = replace(verdict, details=("the record PERSON-007",), witness="PERSON-007")
    assert report(stranger, shuffled, told, public=True, title="Meters", source="elsewhere") == public


def test_the_public_page_does_not_depend_on_the_order_of_records(
    line: tuple[Release, Scorecard, Verdict], public: str
) -> None:
    release, card, verdict = line
    order = np.random.default_rng(1).permutation(N)
    original = release.original.take(order)
    store = make_store(Source.of(original), original.values, release.made[order], original.others, np.arange(N))
    moved = replace(release, original=original, store=store)
    assert report(moved, card, verdict, public=True, title="Meters") == public


def test_public_counts_are_rounded_and_small_ones_left_out() -> None:
    values = np.array([1.0] * 13 + [50.0] * 4 + [99.0])
    figure = histogram(values, ink="loss", title="t", caption="c.", axis="x", public=True)
    assert figure is not None
    assert f"multiples of {ROUNDED}" in figure.caption
    # The last bar that is drawn is the one at 1 %: nothing shows where the few others are.
    assert not {"40", "50", "60", "80", "100"} & set(re.findall(r">(\d+)</text>", figure.svg))
    assert histogram(values[-5:-1], ink="loss", title="t", caption="c.", axis="x", public=True) is None


# -- pictures ---------------------------------------------------------------------------------------------------------


@given(arrays.arrays(np.float64, st.integers(1, 50), elements=st.floats(0, 200)))
def test_every_record_is_in_one_bar(values: np.ndarray) -> None:
    edges, counts = bars(values)
    assert counts.sum() == len(values)
    assert edges[0] == 0
    assert 1 <= len(counts) <= 20


@given(st.integers(1, 60), st.integers(1, 20))
def test_thinning_keeps_means(points: int, most: int) -> None:
    row = np.arange(points, dtype=np.float64)[None, :]
    thin = thin_columns(row, most)
    assert thin.shape[1] <= most
    step = -(-points // most)
    assert thin.tolist() == [[float(row[0, at : at + step].mean()) for at in range(0, points, step)]]


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 9)), min_size=1, max_size=12))
def test_groups_are_shown_once(groups: list[tuple[float, int]]) -> None:
    spreads, sizes = np.array([g[0] for g in groups]), np.array([g[1] for g in groups])
    for chosen in (by_spread(spreads, sizes), by_level(spreads[:, None], sizes)):
        numbers = [number for _, number in chosen]
        assert 1 <= len(numbers) == len(set(numbers)) <= 4
    titles = dict(by_spread(spreads, sizes))
    if "Tightest group" in titles:
        assert spreads[titles["Tightest group"]] == spreads.min()
    if "Largest group" in titles:
        assert sizes[titles["Largest group"]] == sizes.max()


@pytest.mark.parametrize("is_public", [True, False])
def test_what_was_left_out_is_said(is_public: bool) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(rng.normal(size=(40, 13)), schema=[f"x{j}" for j in range(13)], orient="row")
    data = tv.Dataset.from_frame(frame, blocks={"all": frame.columns}, times={"all": None})
    release = tv.Noise(sd=0.1).protect(data, seed=1)
    page = report(release, tv.evaluate(data, release), release.verify(), public=is_public)
    assert "Skipped: linkage by probability takes at most 12 known attributes" in page


def test_linkages_of_persons_are_told_as_persons(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    persons = rng.integers(0, 12, 80).tolist()
    data = tv.Dataset.from_arrays({"x": rng.normal(size=(80, 5))}, persons=persons)
    folder = tv.MDAV(k=3).protect(data, seed=1).write(tmp_path / "out")
    for side in ("published", "private"):
        text = " ".join(re.sub("<[^>]*>", " ", (folder / side / "report.html").read_text(encoding="utf-8")).split())
        assert "Persons found" in text
        assert ("Highest for any person" in text) is (side == "private")
        assert "Attacked: all persons" in text
        assert "of the persons; guessing would find 8.3 %" in text
        assert "Records tied to the right person" not in text
