"""What a person filled in becomes options of a plan, or words that say what is wrong with it; without a server."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tsveil.core.errors import InputError, OutputError
from tsveil.data import questions
from tsveil.data.questions import code_question, time_questions, transpose_question, whose
from tsveil.web import forms
from tsveil.web.pages import _between, whole_percent
from tsveil.web.serve import serve
from tsveil.web.studies import Studies

COLUMNS = ["who", "town", "d1", "d2", "d3", "d4", "pay", "tax"]


def wide(**fields: list[str]) -> dict[str, list[str]]:
    return {"layout": ["wide"], "id": ["who"], **fields}


def blocks(*rows: tuple[str, str, str, str]) -> dict[str, list[str]]:
    return {
        f"block_{part}": list(column)
        for part, column in zip(("name", "kind", "from", "to"), zip(*rows, strict=True), strict=True)
    }


# -- roles ------------------------------------------------------------------------------------------------------------


def test_a_block_of_several_ranges_comes_back_as_it_was_shown() -> None:
    form = wide(
        **blocks(
            ("days", "series", "d1", "d3"),
            ("money", "attributes", "pay", "tax"),
            ("days", "series", "d4", ""),
            ("odd", "attributes", "town", "town"),
            ("odd", "attributes", "pay", "pay"),
            ("", "series", "", ""),
        ),
        confidential=["town"],
        missing=["drop"],
        separator=[";"],
        decimal=["nonsense"],
        resample=["12"],
    )
    found = forms.roles(form, COLUMNS)
    assert found == {
        "layout": "wide",
        "id": "who",
        "blocks": {
            "days": {"from": "d1", "to": "d4", "kind": "series"},
            "money": {"from": "pay", "to": "tax", "kind": "attributes"},
            "odd": {"columns": ["town", "pay"], "kind": "attributes"},
        },
        "confidential": ["town"],
        "missing": "drop",
        "separator": ";",
        "resample": 12,
    }
    rows = forms.block_rows(found, COLUMNS)
    assert [(row["name"], row["from"], row["to"]) for row in rows[: -forms.SPARE]] == [
        ("days", "d1", "d4"),
        ("money", "pay", "tax"),
        ("odd", "town", "town"),
        ("odd", "pay", "pay"),
    ]
    assert [row["name"] for row in rows[-forms.SPARE :]] == [""] * forms.SPARE
    assert (
        forms.roles(wide(**blocks(*((row["name"], row["kind"], row["from"], row["to"]) for row in rows))), COLUMNS)[
            "blocks"
        ]
        == found["blocks"]
    )


def test_roles_of_the_long_layout() -> None:
    form = {"layout": ["long"], "id": ["who"], "time": ["d1"], "variable": ["town"], "value": ["pay", "", "tax"]}
    expected = {"layout": "long", "id": "who", "time": "d1", "variable": "town", "value": ["pay", "tax"]}
    assert forms.roles(form, COLUMNS) == expected
    assert forms.roles({"layout": ["long"], "value": ["pay"]}, COLUMNS) == {"layout": "long", "value": ["pay"]}


def test_all_that_is_wrong_with_roles_is_told_at_once() -> None:
    form = {
        "layout": ["deep"], "id": ["nobody"], "confidential": ["colour"], "resample": ["many"], "split": ["1234567890"],
        **blocks(("", "series", "d1", "d2"), ("x", "series", "d1", "d9"), ("back", "series", "d3", "d1")),
    }  # fmt: skip
    with pytest.raises(InputError) as caught:
        forms.roles(form, COLUMNS)
    assert list(caught.value.problems) == [
        "the layout must be wide or long",
        "identifier: there is no column 'nobody'",
        "the block '' needs a name and the first and last of its columns. Got 'd1' to 'd2'.",
        "the block 'x' needs a name and the first and last of its columns. Got 'd1' to 'd9'.",
        "the block 'back' ends with 'd1', which comes before 'd3'",
        "carried: there is no column 'colour'",
        "resample must be a whole number. Got 'many'.",
        "split must be a whole number. Got '1234567890'.",
    ]


def test_columns_of_a_range() -> None:
    assert _between({"from": "d2", "to": "d4"}, COLUMNS) == ["d2", "d3", "d4"]
    assert _between({"from": "", "to": ""}, COLUMNS) == []


# -- methods and limits -----------------------------------------------------------------------------------------------

OFFERED: list[dict[str, Any]] = [
    {
        "name": "mdav",
        "problem": "",
        "parameters": [
            {"name": "k", "kind": "int", "words": "an integer of at least 2", "default": 5},
            {"name": "distance", "kind": "str", "words": "one of euclidean, sts", "default": "euclidean"},
        ],
    },
    {
        "name": "noise",
        "problem": "",
        "parameters": [
            {"name": "sd", "kind": "float", "words": "a number above 0", "default": 0.1},
            {"name": "correlated", "kind": "bool", "words": "true or false", "default": False},
        ],
    },
    {"name": "nlk", "problem": "it protects series, not attributes", "parameters": []},
]


def test_values_to_try_and_defaults_that_need_no_word() -> None:
    form = {
        "method": ["mdav", "noise", "nlk", "magic"],
        "mdav.k": ["3, 5,, 7"],
        "mdav.distance": ["euclidean"],
        "noise.sd": [" 0.5 "],
        "noise.correlated": ["true", "false"],
    }
    assert forms.methods(form, OFFERED) == {
        "mdav": {"k": [3, 5, 7]},
        "noise": {"sd": [0.5], "correlated": [True, False]},
    }


def test_values_that_are_none_are_told_with_what_is_wanted() -> None:
    form = {"method": ["mdav", "noise"], "mdav.k": ["few"], "noise.sd": ["some"], "noise.correlated": ["maybe"]}
    with pytest.raises(InputError) as caught:
        forms.methods(form, OFFERED)
    assert list(caught.value.problems) == [
        "mdav: k must be an integer of at least 2. Got 'few'.",
        "noise: sd must be a number above 0. Got 'some'.",
        "noise: correlated must be true or false. Got 'maybe'.",
    ]
    for chosen in ({}, {"method": ["nlk"]}):
        with pytest.raises(InputError, match="choose at least one method"):
            forms.methods(chosen, OFFERED)


def test_limits_are_percentages_with_a_point_or_a_comma() -> None:
    found = forms.limits({"max_risk": ["12,5"], "max_loss": [" "]})
    assert (found.max_risk, found.max_loss) == (12.5, None)
    for wrong in ("101", "-1", "low", "nan"):
        with pytest.raises(InputError, match="a limit must be a number from 0 to 100"):
            forms.limits({"max_loss": [wrong]})


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0, "0 %"), (0.01, "< 0.1 %"), (12.34, "12.3 %"), (5.0, "5 %"), (100.0, "100 %")],
)
def test_percentages(value: float | None, shown: str) -> None:
    assert whole_percent(value) == shown.replace(" %", "\N{NO-BREAK SPACE}%")


# -- the start and what is kept ---------------------------------------------------------------------------------------


@pytest.fixture
def own_mask() -> Iterator[None]:
    """A server makes files for its owner only; this process goes on as it was."""
    mask = os.umask(0o077)
    yield
    os.umask(mask)


def test_what_keeps_the_server_from_starting_is_told(tmp_path: Path, own_mask: None) -> None:
    with pytest.raises(InputError, match=r"there is no file .*nowhere\.csv"):
        serve(tmp_path / "nowhere.csv", folder=tmp_path / "studies")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            OutputError, match=rf"port {port} cannot be used: Address already in use\n  options: another"
        ):
            serve(folder=tmp_path / "studies", port=port)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be used for studies: File exists"):
        serve(folder=tmp_path / "file")
    assert not (tmp_path / "studies").exists()


def test_only_studies_of_our_own_are_found_again(tmp_path: Path) -> None:
    studies = Studies(tmp_path)
    kept, deleted = (studies.new("m.csv", "upload", studies.upload_place(), "m.csv") for _ in range(2))
    data = studies.data(deleted)
    assert data is not None
    data.write_text("x")
    studies.delete(deleted)
    assert not data.exists()
    studies.close()
    # A folder of another version, one that was copied under another name, and one that is no study.
    (tmp_path / "0123456789abcdef").mkdir()
    (tmp_path / "0123456789abcdef" / "study.json").write_text('{"id": 5}')
    (tmp_path / "fedcba9876543210").mkdir()
    (tmp_path / "fedcba9876543210" / "study.json").write_bytes((tmp_path / kept.id / "study.json").read_bytes())
    (tmp_path / "notes").mkdir()
    again = Studies(tmp_path)
    assert [study.id for study in again.all()] == [kept.id]
    assert again.data(again.all()[0]) is None
    assert again.get("fedcba9876543210") is None
    again.close()


# -- questions --------------------------------------------------------------------------------------------------------

LOOK: dict[str, Any] = {"columns": COLUMNS}


def test_answers_become_options_of_reading() -> None:
    frame = pl.DataFrame({"who": ["a", "a", "b b"], "x": [1.0, 2.0, 3.0]})
    look = LOOK | {
        "questions": forms.question_forms([whose(frame, "who", None), transpose_question("x", ["who", "x"])])
    }
    long, persons, independent = (
        forms.add_answers({"answer_0": [str(at)], "answer_1": ["1"]}, look, {"missing": "drop"}) for at in range(3)
    )
    # The question could not name the column of times: then it is guessed.
    assert long == {"missing": "drop", "layout": "long", "id": "who", "transpose": False}
    assert persons == {"missing": "drop", "person": ["who"], "transpose": False}
    assert independent == {"missing": "drop", "independent_rows": True, "transpose": False}
    for wrong in (
        {},
        {"answer_0": ["1"]},
        {"answer_0": ["3"], "answer_1": ["0"]},
        {"answer_0": ["x"], "answer_1": ["0"]},
    ):
        with pytest.raises(InputError, match="every question needs an answer"):
            forms.add_answers(wrong, look, {})


def test_each_code_has_an_answer_of_its_own() -> None:
    look = LOOK | {"questions": forms.question_forms([code_question(["sex", "no. of 'rooms'", "town"])])}
    names = [subject["name"] for subject in look["questions"][0]["subjects"]]
    assert names[0] == "sex"
    found = forms.add_answers({f"answer_{at}": [str(at)] for at in range(3)}, look, {"confidential": ["tariff"]})
    labels = {"town": "nominal", "sex": "nominal"}
    assert found == {"confidential": ["tariff", "sex"], "leave_out": [names[1]], "categories": {"town": "nominal"}}
    again = forms.add_answers({f"answer_{at}": ["2"] for at in (0, 2)} | {"answer_1": ["4"]}, look, {})
    assert again == {"numbers": [names[1]], "categories": labels}
    form = wide(**blocks(("x", "attributes", "pay", "tax")), nominal=["who"])
    assert forms.roles(form, COLUMNS)["categories"] == {"who": "nominal"}


def test_every_option_that_a_question_names_is_known() -> None:
    """A new answer in tsveil.data.questions must not stop the page."""
    sources = "".join(source.read_text() for source in Path(questions.__file__).parent.rglob("*.py"))
    answers = re.findall(r', f?"(--[a-z][^"]*)"', sources)
    options = {f"--{word}" for answer in answers for word in re.findall(r"--([a-z][a-z-]+)", answer)}
    options |= {"--sheet", "--table"}  # which of the two, the format says
    assert {"--transpose", "--no-header", "--decimal"} <= options <= set(forms.TYPED)


def test_persons_and_what_the_rows_are_come_back_as_they_were_shown() -> None:
    form = wide(
        **blocks(("x", "attributes", "pay", "tax")), person=["who", "town", ""], rows=["records"], numbers=["pay"]
    )
    found = forms.roles(form | {"id": [""]}, COLUMNS)
    assert (found["person"], found["transpose"], found["numbers"]) == (["who", "town"], False, ["pay"])
    assert forms.rows_as(found) == "records"
    assert forms.rows_as({"independent_rows": True}) == "independent"
    assert forms.rows_as({}) == ""
    with pytest.raises(InputError, match="person: there is no column 'nobody'"):
        forms.roles(wide(person=["nobody"]), COLUMNS)


def test_the_question_of_a_form_of_times_has_its_answers() -> None:
    (question,) = time_questions("in column 'day'", ["01/02/2020", "01/03/2020"], "")
    (found,) = forms.question_forms([question])
    assert [answer for _, answer in found["subjects"][0]["answers"]] == [
        {"time_format": "month-first"},
        {"time_format": "day-first"},
    ]
