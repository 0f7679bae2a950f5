"""The docs are true: they build without a warning, every block in them runs, every public name is in them, and nothing is loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
import msgspec
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.cli.arguments import method_parameters
from tsveil.core.registry import ATTACKS, DISTANCES, MEASURES, METHODS, PROMISES
from tsveil.plan.plan import Plan
from tsveil.plan.sweep import SweepPlan

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KINDS = (METHODS, PROMISES, ATTACKS, MEASURES, DISTANCES)
ROOT = Path(__file__).resolve().parents[1]
WRITTEN = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
#: pages whose commands are run one after the other, as a reader would; on the others they are read only
FOLLOWED = sorted(
    [
        ROOT / "README.md",
        *(ROOT / "docs" / "tutorials").glob("*.md"),
        *(ROOT / "docs" / "how-to").glob("*.md"),
    ]
)

every_page = pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def maker() -> ModuleType:
    """docs/make.py."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "docs" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    for found in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        yield found[1], found[2]


def commands(text: str) -> Iterator[list[str]]:
    """The calls of tsveil in shell blocks, without the name of the program and remarks."""
    for language, block in blocks(text):
        if language in ("bash", "sh", "shell", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.strip().removeprefix("$ "), comments=True)
                if words and words[0].rpartition("/")[2] == "tsveil":
                    yield words[1:]


def check_command(words: list[str]) -> None:
    """The command exists, has these options and gets the arguments that it needs."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command tsveil {name}"
        command, context = found, click.Context(found, parent=context, info_name=name, **found.context_settings)
    given, rest, _ = command.make_parser(context).parse_args(list(words))
    for parameter in command.params:
        value = given.get(str(parameter.name))
        assert not parameter.required or (isinstance(value, str) and value), (
            f"{command.name}: {parameter.name} is missing"
        )
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            assert value in parameter.type.choices, f"{command.name}: {value} is no {parameter.name}"
    if context.allow_extra_args:
        known = {p.name for p in METHODS[str(given.get("name") or "mdav")].parameters()}
        assert set(method_parameters(rest)) <= known, rest
    else:
        assert rest == []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    rng = np.random.default_rng(4)
    hours = [f"2024-01-01T{hour:02}:00" for hour in range(24)]
    load = (rng.gamma(2, 1, (60, 1)) + rng.gamma(2, 0.3, (60, 24))).round(3)
    ids = [f"h{i}" for i in range(60)]
    frame = pl.DataFrame({"household": ids} | {h: load[:, at] for at, h in enumerate(hours)})
    frame = frame.with_columns(tariff=pl.Series(["day", "night", "day"] * 20))
    frame.write_csv(tmp_path / "meters.csv")
    frame.write_excel(tmp_path / "meters.xlsx")
    lacking = pl.DataFrame({h: np.where(rng.random(60) < 0.03, np.nan, load[:, at]) for at, h in enumerate(hours)})
    lacking.fill_nan(None).insert_column(0, pl.Series("household", ids)).write_csv(tmp_path / "gaps.csv")
    days = [f"{day:02}/02/2024" for day in range(1, 11)]
    readings = {"meter": np.repeat(ids, 10), "day": days * 60, "kwh": load[:, :10].ravel()}
    pl.DataFrame(readings).write_csv(tmp_path / "daily.csv")
    visits = {"visit": range(240), "patient": [f"p{at // 4}" for at in range(240)]}
    found = {name: rng.gamma(9, 1, 240).round(2) for name in ("pulse", "weight", "sugar", "iron")}
    pl.DataFrame({**visits, **found}).write_csv(tmp_path / "visits.csv")
    people = {
        "sex": rng.choice(["f", "m"], 300),
        "region": rng.choice(["north", "south", "east"], 300),
        "education": rng.choice(["basic", "secondary", "tertiary"], 300),
        "wage": rng.gamma(9, 300, 300).round(2),
    }
    pl.DataFrame(people).write_csv(tmp_path / "wages.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@every_page
def test_the_blocks_of_a_page_run(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks of a page share their names; on the pages that a reader follows, commands run between them."""
    # A dataclass looks its annotations up in its module, so the page is one.
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    names: dict[str, Any] = vars(module)
    for language, block in blocks(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
        elif language == "toml":
            table = tomllib.loads(block)
            if {"input", "method", "output"} <= set(table):
                Plan.from_toml(block)
            elif "context" in table:
                Plan.from_toml(f'{block}\n[input]\npath = "x"\n[method]\nname = "mdav"\n[output]\nfolder = "y"\n')
        elif page in FOLLOWED:
            for words in commands(f"```{language}\n{block}```"):
                done = CliRunner().invoke(main, words, catch_exceptions=False)
                assert done.exit_code == 0, f"tsveil {' '.join(words)}\n{done.output}"


@every_page
def test_the_commands_of_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in commands(text):
        check_command(words)
    targets = set(re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)[0].split())
    for language, block in blocks(text):
        if language == "bash":
            assert set(re.findall(r"^make (\w+)", block, flags=re.MULTILINE)) <= targets


def test_a_wrong_command_would_be_found() -> None:
    for words in (
        ["prtect", "x"],
        ["run"],
        ["run", "a", "--no"],
        ["protect", "x", "--out", "y", "--kk", "3"],
        ["verify", "f", "--scope", "q"],
    ):
        with pytest.raises((AssertionError, click.UsageError)):
            check_command(words)


def test_every_public_name_is_documented() -> None:
    api = maker().api_pages()
    for name in tv.__all__:
        assert re.search(rf"\| (\[{name}\]\(|`{name}`)", api["api/index.md"]), name
        assert name == "__version__" or maker()._first(getattr(tv, name)), name
    for name, text in api.items():
        assert len(text.split()) > 20, name


def test_everything_in_the_registries_has_a_page() -> None:
    pages = maker().kind_pages()
    expected = {f"{kind.kind}s/{name}.md" for kind in KINDS for name in (*kind, "index")}
    assert set(pages) == expected | {f"attacks/{name}.md" for name in tv.attack.__all__}
    for kind in KINDS:
        for name, one in kind.items():
            page = pages[f"{kind.kind}s/{name}.md"]
            assert page.startswith(f"# {name}\n")
            assert one.summary in page
            assert one.reference in page
            assert kind is not METHODS or ">>>" in page
            for parameter in one.parameters():
                assert f"| `{parameter.name}` | `{parameter.default!r}` | " in page
            for words in commands(re.sub(r"^    ", "", page, flags=re.MULTILINE)):
                check_command(words)
    assert all(re.search(r"tsveil protect .*", pages[f"methods/{name}.md"]) for name in METHODS)


def test_every_command_and_option_is_on_the_page_of_commands() -> None:
    page = maker().command_page()
    for name in main.commands:
        assert f"## tsveil {name}" in page, name
    shown = [one for one in main.commands["protect"].params if isinstance(one, click.Option) and not one.hidden]
    options = {option for one in shown for option in one.opts if option.startswith("--")}
    section = page.partition("## tsveil protect\n")[2].partition("\n## ")[0]
    assert options
    assert {option for option in options if option not in section} == set()


def test_what_reports_abbreviate_is_in_the_glossary(place: Path) -> None:
    """Words of capitals, as a reader of the reports would look them up."""
    glossary = maker().pages()["glossary.md"]
    for words in (
        ["protect", "meters.csv", "--confidential", "tariff", "--out", "one"],
        ["protect", "wages.csv", "--nominal", "sex,region,education", "--out", "two"],
        ["protect", "visits.csv", "--independent-rows", "--method", "noise", "--out", "three"],
        ["protect", "meters.csv", "--leave-out", "tariff", "--method", "nlk", "--out", "four"],
        ["protect", "meters.csv", "--leave-out", "tariff", "--method", "kp", "--out", "five"],
    ):
        done = CliRunner().invoke(main, [*words, "--allow", "accepted-risk", "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    short: set[str] = set()
    for report in place.glob("*/*/report.html"):
        bare = re.sub(r"<style.*?</style>|<script.*?</script>|<svg.*?</svg>", "", report.read_text(), flags=re.DOTALL)
        short |= set(re.findall(r"\b[A-Z][A-Za-z]*[A-Z][A-Za-z]*\d*\b", re.sub(r"<[^>]+>", " ", bare)))
    assert {"IL1", "DR1", "MDAV"} <= short
    assert {word for word in short if not re.search(rf"\b{word}\b", glossary)} == set()


def test_the_reference_has_every_key_of_a_plan_with_its_meaning() -> None:
    page = maker().plan_page()
    for plan in (Plan, SweepPlan):
        for field in msgspec.structs.fields(plan):
            if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
                part = page.partition(f"### [{field.name}]\n")[2].partition("\n### ")[0]
                for inner in msgspec.structs.fields(field.type):
                    row = re.search(rf"^\| `{inner.name}` \| (.+) \| (.*) \| (.+) \|$", part, flags=re.MULTILINE)
                    assert row, (field.name, inner.name)
            else:
                assert re.search(rf"^\| `{field.name}` \| .+ \| .* \| .+ \|$", page, flags=re.MULTILINE), field.name


def test_the_workflow_of_the_page_is_one_of_github(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "automatic.md").read_text(encoding="utf-8")
    (workflow,) = [block for language, block in blocks(page) if language == "yaml"]
    (tmp_path / "monthly.yml").write_text(workflow)
    program = Path(sys.executable).with_name("check-jsonschema")
    asked = [str(program), "--builtin-schema", "vendor.github-workflows", str(tmp_path / "monthly.yml")]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_page_is_lost() -> None:
    found = maker().pages()
    listed = re.findall(r'"([^"]+\.md)"', maker()._nav_toml(maker().navigation(found)))
    assert sorted(listed) == sorted(found)


def test_the_site_is_built_without_warnings_and_needs_no_network(tmp_path: Path, browser: Browser) -> None:
    site = tmp_path / "site"
    maker().build(site, tmp_path / "build")
    asked: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("request", lambda request: asked.append(request.url))
    for name, heading in (
        ("index", "tsveil"),
        ("methods/mdav", "mdav"),
        ("tutorials/steward", "For data stewards"),
        ("api/read", "read"),
    ):
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("h1").first.inner_text().startswith(heading)
    page.goto((site / "index.html").as_uri())
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_broken_link_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        maker(),
        "pages",
        lambda: {"index.md": "# Home\n\n[gone](gone.md)\n", "contributing.md": "# C\n", "changelog.md": "# C\n"},
    )
    monkeypatch.setattr(maker(), "navigation", lambda found: [{"Home": "index.md"}])
    with pytest.raises(SystemExit, match="does not exist"):
        maker().build(tmp_path / "site", tmp_path / "build")
    assert not (tmp_path / "site").exists()


def test_a_link_to_a_file_that_is_no_page_becomes_its_name(tmp_path: Path) -> None:
    page = ROOT / "docs" / "extending.md"
    assert "](contributing.md)" in maker()._linked(page)
    readme = maker()._linked(ROOT / "README.md")
    assert "](images/before-after.svg)" in readme
    assert "](tutorials/steward.md)" in readme
    assert "](decisions/index.md)" in readme


def test_the_page_on_extending_shows_the_package_of_the_tests() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for file in sorted((ROOT / "tests" / "plugin").glob("*.py")):
        assert f"```python\n{file.read_text(encoding='utf-8')}```\n" in page, file.name
    declared = (ROOT / "tests" / "plugin" / "pyproject.toml").read_text(encoding="utf-8")
    assert f"```toml\n{declared}```\n" in page


def test_twenty_questions_lead_to_files_in_every_folder() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Where would a change go?\n")[2].partition("\n## ")[0]
    answers = re.findall(r"^\| .*\? \| (.*) \|$", section, flags=re.MULTILINE)
    places = [place for answer in answers for place in re.findall(r"`(\w+/\w+\.py)`", answer)]
    assert len(answers) == 20
    assert [place for place in places if not (ROOT / "src" / "tsveil" / place).exists()] == []
    folders = {folder.name for folder in (ROOT / "src" / "tsveil").iterdir() if (folder / "__init__.py").exists()}
    assert {place.partition("/")[0] for place in places} == folders
    assert set(re.findall(r"^\| `(\w+)/` \|", text, flags=re.MULTILINE)) == folders


def test_a_docstring_becomes_markdown() -> None:
    text = """Adds [1]_.

        s = a + b

    Parameters
    ----------
    a, b
        Two <numbers>.

    References
    ----------
    .. [1] Somebody, 1999.

    Examples
    --------
    >>> 1 + 1
    2
    """
    assert maker().markdown(text) == (
        "Adds [1].\n\n```text\ns = a + b\n```\n\n**Parameters**\n\n- `a, b`: Two &lt;numbers>.\n\n"
        "**References**\n\n1. Somebody, 1999.\n\n**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```\n"
    )
