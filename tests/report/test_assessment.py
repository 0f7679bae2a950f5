"""What a data protection officer reads: the three questions, the answers only a person has, and nothing private in public."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack.candidates import number_marks
from tsveil.core.errors import PlanError
from tsveil.core.registry import METHODS
from tsveil.data.dataset import Block, Dataset
from tsveil.data.pieces import make_store
from tsveil.data.records import Records
from tsveil.data.source import Source
from tsveil.guarantee.base import Status, Verdict
from tsveil.measure.real_anonymity import real_anonymity
from tsveil.plan.plan import Input, Output, Plan
from tsveil.protect.kp import KP
from tsveil.report.context import QUESTIONS, Context, starting_section
from tsveil.report.counts import Crowd, DisclosedColumn, disclosed_columns, scopes
from tsveil.report.disclosure import residual
from tsveil.report.linkage import Risk
from tsveil.report.release import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Request

N = 40
#: an answer of its own for every question
ANSWERS: dict[str, Any] = {name: f"answer-to-{name}" for name in QUESTIONS}
TOLD = Context(**ANSWERS)
SECTIONS = (
    "Release and recipients",
    "Columns and their roles",
    "Technique",
    "Attacker model",
    "Singling out",
    "Linkability",
    "Inference",
    "The guarantee and its verification",
    "Utility",
    "Residual risk",
    "What was not tested",
    "About this report",
)


def meters() -> Dataset:
    rng = np.random.default_rng(5)
    return Dataset.from_arrays(
        {"load": rng.gamma(2, 1, (N, 1)) + rng.normal(0, 0.2, (N, 16)).cumsum(axis=1)},
        ids=[f"PERSON-{number:03d}" for number in range(N)],
        confidential={"tariff": ["day", "night"] * (N // 2)},
    )


def seen(page: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("</style>")[1]))


@cache
def made(method: tv.MDAV | KP) -> tuple[Any, Any, Verdict]:
    """A release, its figures and its verdict."""
    release: Any = method.protect(meters(), seed=987654321987)
    card = release.evaluate() if isinstance(method, KP) else release.evaluate(models="fitting")
    return release, card, release.verify()


@cache
def pages(method: tv.MDAV | KP, context: Context) -> dict[bool, str]:
    """The public and the private report of a release."""
    told: dict[str, Any] = {"title": "Meters", "source": "meters-of-2024.csv", "digest": "c0ffee" * 10}
    return {public: report(*made(method), public=public, context=context, **told) for public in (True, False)}


every_kind = pytest.mark.parametrize("method", [tv.MDAV(k=4), KP(k=6, P=2)], ids=["values", "intervals"])


@every_kind
def test_the_sections_come_in_the_order_of_the_assessment(method: tv.MDAV | KP) -> None:
    for page in pages(method, TOLD).values():
        headings = re.findall(r"<h2>([^<]+)</h2>", page)
        assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)


@every_kind
def test_the_owner_reads_every_answer_and_every_gap(method: tv.MDAV | KP) -> None:
    private = seen(pages(method, TOLD)[False])
    for name in QUESTIONS:
        assert f"answer-to-{name}" in private, name
    assert "not stated" not in private
    unanswered = seen(pages(method, Context())[False])
    assert unanswered.count("not stated") == len(QUESTIONS)
    assert "no limit for this risk was stated" in unanswered


@every_kind
def test_the_public_reads_what_users_need_and_nothing_else(method: tv.MDAV | KP) -> None:
    public = pages(method, TOLD)[True]
    shown = {name for name in QUESTIONS if f"answer-to-{name}" in public}
    assert shown == {name for name, question in QUESTIONS.items() if question.public}
    for secret in ("meters-of-2024", "c0ffee", "987654321987", "PERSON", "SHA-256", "not stated"):
        assert secret not in public, secret
    silent = pages(method, Context())[True]
    assert "Release and recipients" not in silent
    assert "not stated" not in silent


@every_kind
def test_what_a_person_wrote_is_text(method: tv.MDAV | KP) -> None:
    page = pages(method, Context(purpose="<script>alert(1)</script>", intruders="<b>x</b>"))[False]
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>x" not in page


@every_kind
def test_the_private_report_names_input_hash_and_technique(method: tv.MDAV | KP) -> None:
    private = seen(pages(method, TOLD)[False])
    technique = "microaggregation (a randomization technique)"
    if isinstance(method, KP):
        technique = (
            "local generalization (a generalization technique), with record suppression (a suppression technique)"
        )
    for words in ("meters-of-2024.csv", "c0ffee" * 10, technique, f"tsveil {tv.__version__}", "reasonably likely"):
        assert words in private, words


def test_the_best_attack_comes_first() -> None:
    rows = np.random.default_rng(1).normal(size=(N, 4))
    data = Dataset.from_frame(pl.DataFrame(rows, schema=list("pqrs")), blocks={"a": list("pqrs")})
    release = tv.RankSwap(p=20).protect(data, seed=1)
    card = tv.evaluate(release.original, release)
    text = seen(report(release, card, release.verify(), public=True))
    ways = sorted(card.by_known, key=lambda name: -card[name])
    places = [text.index(f"{card.meanings[name][0]} {name} ") for name in ways]
    assert places == sorted(places)
    assert text.index("Linkability An intruder") < places[0]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_a_crowd_is_counted(labels: list[int]) -> None:
    crowd = Crowd.of("x", np.array(labels))
    sizes = [labels.count(label) for label in set(labels)]
    assert (crowd.different, crowd.smallest, crowd.alone) == (len(sizes), min(sizes), sizes.count(1))
    released = Dataset.from_arrays({"x": np.array(labels, dtype=float)[:, None]})
    assert crowd.anonymity == pytest.approx(real_anonymity(released))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.integers(0, 2)), min_size=1))
def test_carried_columns_part_groups_further(rows: list[tuple[int, str | None, int]]) -> None:
    others = pl.DataFrame(
        {"x": [row[1] for row in rows], "y": [row[2] for row in rows]}, schema={"x": pl.String, "y": pl.Int64}
    )
    values = np.array([[row[0]] for row in rows], dtype=np.float64)
    data = Dataset(values, (Block("v", ("v",)),), others, confidential=("x", "y"))
    records = Records(data, make_store(Source.of(data), values, values, others, np.arange(data.n)))
    finer, _ = number_marks(scopes(records)["with the carried columns"])
    for i in range(len(rows)):
        for j in range(i):
            assert (finer[i] == finer[j]) is np.bool_(rows[i] == rows[j]) or (finer[i] == finer[j]) == (
                rows[i] == rows[j]
            )


def test_the_residual_risk_is_one_sentence_and_knows_its_limit() -> None:
    holds, broken = Verdict(Status.HOLDS, "g"), Verdict(Status.VIOLATED, "g", "w")
    risk = Risk("some values", "20.0 %", "replay", "2.0 %", 20.0)
    within = residual(holds, risk, "some", 20.0, public=False)
    above = residual(broken, risk, "some", 19.9, public=False)
    assert "is within the limit of 20 %" in within
    assert "is ABOVE the limit of 19.9 %" in above
    assert "NOT VERIFIED" in above
    assert "limit" not in residual(holds, risk, "some", 20.0, public=True)
    for sentence in (within, above):
        assert sentence.endswith(".")
        assert ". " not in sentence


def test_the_plan_has_a_place_for_every_answer(tmp_path: Path) -> None:
    base = '[input]\npath = "m.csv"\n[method]\nname = "mdav"\n[output]\nfolder = "out"\n'
    assert Plan.from_toml(base + starting_section()).context == Context()
    for name in QUESTIONS:
        assert f"{name} = " in starting_section()
    plan = Plan(input=Input(path="m.csv"), method={"name": "mdav"}, output=Output(folder="out"), context=TOLD)
    assert Plan.from_toml(plan.to_toml()).context == TOLD
    with pytest.raises(PlanError, match="accepted_risk must be a number from 0 to 100"):
        Plan.from_toml(base + "[context]\naccepted_risk = 120\n")
    with pytest.raises(PlanError, match="nonsense"):
        Plan.from_toml(base + '[context]\nnonsense = "x"\n')


def test_a_run_hashes_its_input_for_its_owner_only(tmp_path: Path) -> None:
    rows = "".join(f"h{i},{i % 7},{i % 5},{i},{2 * i}\n" for i in range(20))
    (tmp_path / "m.csv").write_text("household,1,2,3,4\n" + rows)
    plan = Plan(
        input=Input(path="m.csv"),
        method={"name": "mdav", "k": 3},
        output=Output(folder="out"),
        context=Context(purpose="research on demand"),
    )
    outcome = tv.run(plan, base=tmp_path)
    digest = hashlib.sha256((tmp_path / "m.csv").read_bytes()).hexdigest()
    assert digest in outcome.report.read_text(encoding="utf-8")
    public = (outcome.folder / "published" / "report.html").read_text(encoding="utf-8")
    assert digest not in public
    assert "research on demand" in public
    for file in (outcome.folder / "published").iterdir():
        assert digest.encode() not in file.read_bytes()


def test_the_attributes_of_a_public_page_hide_the_identifier_of_intervals() -> None:
    data = replace(meters(), dropped=("street-of-residence",))
    release, card, verdict = made(KP(k=6, P=2))
    named = replace(release, original=replace(data, others=data.others.rename({"id": "passport"}), id="passport"))
    public = report(named, card, verdict, public=True)
    assert "passport" not in public
    assert "street-of-residence" not in public
    assert "passport" in report(named, card, verdict, public=False)


@every_kind
def test_the_report_opens_from_disk_without_the_network(method: tv.MDAV | KP, tmp_path: Path, browser: Browser) -> None:
    for public, text in pages(method, TOLD).items():
        place = tmp_path / f"{public}.html"
        place.write_text(text, encoding="utf-8")
        asked: list[str] = []

        def note(request: Request, asked: list[str] = asked) -> None:
            asked.append(request.url)

        for width in (1280, 420):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("request", note)
            page.goto(place.as_uri())
            assert page.title() == "Meters" + " (private)" * (not public)
            # The page itself never scrolls sideways; wide tables do so by themselves.
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.get_by_role("heading", name="Residual risk").is_visible()
            page.close()
        assert asked == [place.as_uri()] * 2


def test_attribute_disclosure_is_counted_for_the_owner() -> None:
    data = Dataset.from_frame(
        pl.DataFrame(
            {
                "age": [1.0, 1, 1, 50, 50, 50, 90, 90, 90],
                "ill": list("aaabbcdef"),
                "pay": [1, 1, 1, 500, 501, 502, 7, 900, 40],
            }
        ),
        blocks={"x": ["age"]},
        confidential=["ill", "pay"],
    )
    release = tv.OptimalUnivariate(k=3).protect(data)
    found = disclosed_columns(release.attribute_disclosure())
    assert found == [DisclosedColumn("pay", 2, 3, 3), DisclosedColumn("ill", 1, 3, 0)]
    texts = {
        public: report(release, tv.evaluate(release.original, release), release.verify(), public=public)
        for public in (True, False)
    }
    assert "6 records are in classes that disclose pay" in seen(texts[False])
    assert "disclose pay" not in texts[True]
    assert "attribute_disclosure.csv" not in texts[True]


def test_the_risk_is_that_of_who_knows_everything_and_not_a_mean() -> None:
    rng = np.random.default_rng(2)
    data = Dataset.from_arrays({name: rng.gamma(2, 1, (N, 8)).cumsum(axis=1) for name in ("load", "gas", "heat")})
    release = tv.MDAV(k=4).protect(data)
    card = tv.evaluate(release.original, release, models="fitting")
    name, rate = card.best_attack
    text = seen(report(release, card, release.verify(), public=True)).replace("\N{NO-BREAK SPACE}", " ")
    assert max(card.by_known[name]) > rate + 1
    known = max(rates[-1] for rates in card.by_known.values())
    assert text.count(f"finds {known:.1f} % of the persons") == 3
    assert f"finds {rate:.1f} %" not in text


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_report(name: str) -> None:
    release: Any = METHODS[name]().protect(meters(), seed=1)
    options = {} if release.envelopes else {"models": "fitting"}
    card, verdict = release.evaluate(**options), release.verify()
    for public in (True, False):
        text = seen(report(release, card, verdict, public=public))
        assert f"Method {name} :" in text
        assert f"In the terms of ISO/IEC 20889: {METHODS[name].techniques[0]} (a " in text
        assert "of the persons with the strongest attack" in text


def test_it_is_said_where_the_persons_were_read() -> None:
    rng = np.random.default_rng(3)
    for persons in (None, [f"p{at % 15}" for at in range(60)]):
        release = tv.MDAV(k=3).protect(Dataset.from_arrays({"x": rng.normal(size=(60, 8))}, persons=persons))
        text = seen(report(release, tv.evaluate(release.original, release), release.verify(), public=True))
        assert ("read in the private map of identifiers" in text) is (persons is not None)
        assert ("or any other private knowledge" in text) is (persons is None)
