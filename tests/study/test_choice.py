"""The front and the recommendation are what trying all rows by hand would give."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.study.choice import on_front, with_front
from tsveil.study.store import SCHEMA
from tsveil.study.study import Study

#: few different figures, so that ties are common
FIGURES = st.sampled_from([0.0, 5.0, 5.9, 10.0, 10.000001, 40.0, 40.5, 99.5, 100.0])
VERDICTS = st.sampled_from(["holds", "none-claimed", "violated", "unknown"])


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 12))):
        row: dict[str, Any] = dict.fromkeys(SCHEMA) | {"key": str(number), "label": f"mdav k={number + 2}"}
        if draw(st.integers(0, 4)) == 0:
            row["problem"] = "k is too large"
        else:
            risk = draw(FIGURES)
            row |= {
                "risk": risk,
                "high": draw(st.sampled_from([risk, risk, 100.0])),
                "attack": "replay",
                "intruder": "file",
            }
            row |= {"loss": draw(FIGURES), "verdict": draw(VERDICTS), "guarantee": "2-anonymity"}
            row["stopped"] = draw(st.sampled_from([None, None, None, "coverage: nobody judged 'name'."]))
        rows.append(row)
    return with_front(pl.DataFrame(rows, schema=SCHEMA))


def study_of(table: pl.DataFrame) -> Study:
    return Study(table, {"kind": "series", "asked": len(table)})


def possible(table: pl.DataFrame) -> list[dict[str, Any]]:
    rows = [row for row in table.to_dicts() if row["problem"] is None and row["stopped"] is None]
    return [row for row in rows if row["verdict"] in ("holds", "none-claimed")]


def beats(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether a is at most b in both and less in one."""
    at_most = a["risk"] <= b["risk"] and a["loss"] <= b["loss"]
    return bool(at_most and (a["risk"] < b["risk"] or a["loss"] < b["loss"]))


@given(tables())
def test_the_front_is_what_no_other_beats(table: pl.DataFrame) -> None:
    rows = possible(table)
    expected = [row["key"] for row in rows if not any(beats(other, row) for other in rows)]
    assert table.filter("pareto")["key"].to_list() == expected
    front = study_of(table).pareto()
    assert sorted(front["key"]) == sorted(expected)
    assert front["risk"].is_sorted()


@given(st.lists(st.tuples(FIGURES, FIGURES), max_size=8))
def test_whoever_is_not_on_the_front_is_beaten_by_someone_on_it(points: list[tuple[float, float]]) -> None:
    flags = on_front(points)
    front = [point for point, flag in zip(points, flags, strict=True) if flag]
    for point, flag in zip(points, flags, strict=True):
        assert flag or any(f != point and f[0] <= point[0] and f[1] <= point[1] for f in front)


@given(tables(), st.none() | FIGURES, st.none() | FIGURES, st.booleans())
def test_the_recommendation_is_the_choice_by_hand(
    table: pl.DataFrame, risk: float | None, loss: float | None, verified: bool
) -> None:
    if risk is None and loss is None:
        with pytest.raises(tv.errors.ParameterError, match="needs a limit"):
            study_of(table).recommend()
        return
    wanted = [row for row in possible(table) if not verified or row["verdict"] == "holds"]
    rows = [row for row in wanted if (risk is None or row["high"] <= risk) and (loss is None or row["loss"] <= loss)]
    # By hand: take the best, or a promise that is hardly worse; remove it, take the best of the others.
    figure, other = ("risk", "loss") if risk is None else ("loss", "risk")

    def best(rows: list[dict[str, Any]]) -> dict[str, Any]:
        equal = [row for row in rows if row[figure] == min(row[figure] for row in rows)]
        least = min(row[other] for row in equal)
        return next(row for row in equal if row[other] == least)

    by_hand = []
    if rows:
        least = best(rows)
        promised = [row for row in rows if row["verdict"] == "holds" and row[figure] <= least[figure] + 1]
        by_hand.append(best(promised) if promised else least)
        rows.remove(by_hand[0])
    if rows:
        by_hand.append(best(rows))
    found = study_of(table).recommend(max_risk=risk, max_loss=loss, verified=verified)
    assert [row for row in (found.best, found.runner_up) if row is not None] == by_hand
    if by_hand:
        assert found.nearest is None
        assert by_hand[0]["label"] in found.reason
    elif wanted:
        limits = {"high": risk, "loss": loss}
        beyond = {
            row["key"]: max(row[name] - limit for name, limit in limits.items() if limit is not None) for row in wanted
        }
        assert found.nearest is not None
        assert beyond[found.nearest["key"]] == min(beyond.values()) > 0
        assert found.nearest["label"] in found.reason
    else:
        assert found.nearest is None
        silent = "has a verified promise" if possible(table) else "no configuration can be published"
        assert silent in found.reason


def test_notes_say_what_weaker_intruders_would_have_led_to() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({name: rng.normal(size=200) for name in "abcd"})
    data = tv.Dataset.from_frame(frame, blocks={name: [name] for name in "abcd"})
    grid: dict[str, Any] = {"rank-swap": {"p": [20.0]}, "mdav": {"k": [5], "grouping": ["joint"]}}
    found = tv.sweep(data, list(grid), grid, seed=1).recommend(max_risk=25)
    assert found.best is not None
    assert found.best["method"] == "mdav"
    first, *others = found.notes
    assert re.match(
        r"What each intruder finds: part .* %.*, person .* %.*, share .* %.*, file .* % \(replay\)\.$", first
    )
    assert any("it would have been rank-swap p=20" in note and "finds 100.0 % (swap_chase)" in note for note in others)


def test_the_reason_names_limits_figures_and_promises() -> None:
    data = tv.example("food-prices")
    study = tv.sweep(data, ["mdav", "noise"], {"mdav": {"k": [2, 4]}, "noise": {"sd": [0.01]}}, seed=1)
    found = study.recommend(max_risk=30)
    assert found.best is not None
    assert found.best["label"] == "mdav k=4"
    assert "risk of at most 30 %" in str(found)
    assert "4-anonymity" in str(found)
    assert "No other one fits." in str(found)
    nothing = study.recommend(max_risk=1)
    assert nothing.best is None
    assert nothing.nearest is not None
    assert str(nothing).startswith(
        "None of 3 configurations has a risk of at most 1 % against an intruder who knows the original values of everybody. Nearest comes mdav k=4 with a risk of 25.0 %"
    )
    with pytest.raises(tv.errors.ParameterError, match="from 0 to 100"):
        study.recommend(max_risk=130)


def test_what_the_verdict_stops_is_no_choice_and_the_reason_says_why() -> None:
    # Each person has one town, so the town ties the records of a person together.
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"who": np.repeat(np.arange(12), 3), "town": np.repeat(list("abcdef"), 6)})
    frame = frame.with_columns(pl.Series(name, rng.normal(size=36)) for name in ("x", "y"))
    data = tv.Dataset.from_frame(frame, blocks={"v": ["x", "y"]}, person=["who"], confidential=["town"])
    study = tv.sweep(data, ["mdav"], {"mdav": {"k": [3]}})
    assert study.table["stopped"][0].startswith("attribute-disclosure: 'town' is the same")
    assert not study.table["pareto"][0]
    found = study.recommend(max_risk=100)
    assert found.best is None
    assert "mdav k=3 is stopped by attribute-disclosure: 'town'" in found.reason
    assert "It cannot be published" in study.map_html()


def test_the_limit_is_that_of_the_verdict() -> None:
    """0.07 * 100 is above 7: a limit that the verdict takes as kept is kept here too."""
    row = dict.fromkeys(SCHEMA) | {
        "key": "1",
        "label": "mdav k=15",
        "risk": 100 * 0.07,
        "high": 100 * 0.07,
        "loss": 1.0,
    }
    row |= {"verdict": "holds", "guarantee": "15-anonymity", "attack": "replay", "intruder": "file"}
    assert 100 * 0.07 > 7
    assert study_of(with_front(pl.DataFrame([row], schema=SCHEMA))).recommend(max_risk=7).best is not None
