"""Plans that cannot be used: everything that is wrong is told at once, in the words of a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tsveil.cli import main
from tsveil.core.errors import PlanError
from tsveil.plan.plan import Plan
from tsveil.plan.sweep import SweepPlan

GOOD = '[input]\npath = "a.csv"\n[method]\nname = "mdav"\nk = 3\n[output]\nfolder = "out"\n'


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        Plan.from_toml(text, "plan.toml")
    return caught.value.problems


def test_all_problems_at_once() -> None:
    text = """
        titel = 3
        [input]
        file = "a.csv"
        mising = "drop"
        resample = "5"
        value = 7
        [methd]
        name = "mdav"
        [output]
        folder = 3
        format = "xls"
        [context]
        review_date = 2027-01-31
        [evaluate]
        counts = "1"
    """
    with pytest.raises(PlanError) as caught:
        Plan.from_toml(text, "plan.toml")
    assert str(caught.value).splitlines() == [
        "plan.toml cannot be used: 12 problems",
        "  1. there is no 'titel' outside the sections",
        "  2. there is no section [methd]; is [method] meant?",
        "  3. [input]: there is no 'file'",
        "  4. [input]: there is no 'mising'; is 'missing' meant?",
        "  5. [input] needs a path",
        '  6. [input]: value must be a text in quotes, such as "a", or a list of texts, such as ["a", "b"]. Got 7.',
        "  7. [input]: resample must be a whole number. Got '5'.",
        "  8. the section [method] is missing",
        '  9. [output]: folder must be a text in quotes, such as "a". Got 3.',
        "  10. [output]: format must be one of 'csv', 'parquet', 'arrow', 'json', 'jsonl', 'xlsx', 'sqlite', 'duckdb', 'arff', 'dta', 'sav'. Got 'xls'.",
        "  11. [evaluate]: counts must be a list of whole numbers. Got '1'.",
        '  12. [context]: review_date must be a text in quotes, such as "a". Got 2027-01-31.',
        "  [input] may have: path, layout, id, blocks, confidential, person, leave_out, numbers, categories, independent_rows, transpose, time, time_format, variable, value, separator, decimal, header, "
        "sheet, table, query, missing, resample, split, block_size, blocks_by",
        "  options: `tsveil plan FILE` writes a plan to start from",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[input\npath = 3", "line 1"),
        ("a = " + "[" * 5000, "recursion"),
        ("seed = " + "9" * 5000, "5000 digits"),
        ("method = 3\n" + GOOD.replace('[method]\nname = "mdav"\nk = 3\n', ""), "method must be a section or table"),
        (GOOD.replace('name = "mdav"\n', ""), "needs a name"),
    ],
    ids=["not-toml", "deep", "digits", "no-table", "no-name"],
)
def test_no_plan_at_all(text: str, told: str) -> None:
    assert any(told in problem for problem in problems(text))


@pytest.mark.parametrize("place", ["input.path", "output.folder", "intruder.other_period"])
def test_a_path_has_no_nul_character(place: str) -> None:
    """The operating system knows no such path, and Python's own error about it is no TsveilError."""
    section, key = place.split(".")
    tables = {"input": {"path": "a.csv"}, "output": {"folder": "out"}, "intruder": {"other_period": "b.csv"}}
    tables[section][key] = "a\\u0000b"
    text = "".join(f'[{name}]\n{key} = "{value}"\n' for name, keys in tables.items() for key, value in keys.items())
    with pytest.raises(PlanError, match=rf"\[{section}\]: {key} must be a path, in which there is no NUL character"):
        Plan.from_toml(text + '[method]\nname = "mdav"\n')


def test_a_seed_is_not_repeated() -> None:
    (told,) = problems('seed = "12345"\n' + GOOD)
    assert told == "seed must be a whole number."


def test_long_values_are_cut() -> None:
    (told,) = problems(GOOD + f'format = "{"x" * 10_000}"\n')
    assert len(told) < 200


def test_the_plan_of_a_sweep() -> None:
    with pytest.raises(PlanError) as caught:
        SweepPlan.from_toml('[input]\npath = "a"\n[sweep]\nmethod = "mdav"\n[output]\nfolder = "b"\nformat = "csv"\n')
    assert caught.value.problems == (
        "[output]: there is no 'format'",
        "[sweep]: there is no 'method'; is 'methods' meant?",
    )


def test_a_good_plan_is_what_it_says() -> None:
    plan = Plan.from_toml(GOOD)
    assert (plan.input.path, plan.method, plan.output.folder) == ("a.csv", {"name": "mdav", "k": 3}, "out")
    assert Plan.from_toml(plan.to_toml()) == plan


OLD = """[input]
path = "a.csv"
[method]
name = "mdav"
[output]
folder = "out"
[evaluate]
people = 20
"""


def test_old_keys_are_read_with_a_note() -> None:
    with pytest.warns(FutureWarning, match=r"old.toml: \[evaluate\] people is now called targets"):
        plan = Plan.from_toml(OLD, "old.toml")
    assert plan.evaluate.options()["targets"] == 20
    assert "people" not in plan.to_toml()


@pytest.mark.filterwarnings("always")
def test_the_command_line_shows_the_note(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(OLD)
    ended = CliRunner().invoke(main, ["run", str(tmp_path / "old.toml")])
    assert ended.exit_code == 2  # there is no a.csv
    assert ended.stderr.startswith(f"note: {tmp_path / 'old.toml'}: [evaluate] people is now called targets\nerror: ")
