"""Makes the documentation site: `make docs`, or `python docs/make.py [SITE]`.

Pages written by hand stand in docs/; the README is the first page. Pages that follow from the code (one for each method, promise, attack,
measure and distance, the commands, the keys of plans, the figures of the glossary, and the reference of all public names) are made here from the registries and from docstrings and are not kept in the
repository, so they cannot be out of date. Everything is put together in build/docs and built by zensical in strict mode; the site opens from disk and loads
nothing from elsewhere.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click
import msgspec

import tsveil as tv
from tsveil.attack.base import Attack, Shape
from tsveil.attack.pieces import Columns
from tsveil.cli import main
from tsveil.core.declaration import Declaration
from tsveil.core.params import Parameter
from tsveil.core.registry import ATTACKS, DISTANCES, MEASURES, METHODS, PROMISES, Registry
from tsveil.core.technique import techniques_in_words
from tsveil.distance.base import Distance
from tsveil.guarantee.base import Promise
from tsveil.measure.base import Kind, Measure
from tsveil.measure.evaluate import meanings_of
from tsveil.plan.plan import Plan
from tsveil.plan.problems import kind_in_words
from tsveil.plan.sweep import SweepPlan
from tsveil.protect.base import Method
from tsveil.protect.intervals import IntervalMethod
from tsveil.report.context import QUESTIONS, Context

ROOT = Path(__file__).resolve().parents[1]

#: the navigation: title of a section -> its pages in order; pages of docs/ that are not named here follow under "More"
SECTIONS: dict[str, list[str]] = {
    "Tutorials": ["tutorials/steward.md", "tutorials/monthly.md", "tutorials/researcher.md", "tutorials/engineer.md"],
    "How to": [
        "how-to/index.md",
        *(
            f"how-to/{what}.md"
            for what in ("choosing-k", "dates", "gaps", "panel", "labels", "excel", "refused", "automatic", "cluster")
        ),
        "faq.md",
    ],
    "Guides": [
        "install.md",
        "reading.md",
        "report.md",
        "verdict.md",
        "intruders.md",
        "keys.md",
        "over-time.md",
        "extending.md",
        "studies.md",
        "web.md",
        "scale.md",
    ],
    "Look up": ["glossary.md", "commands.md", "plans.md", "your-data.md"],
    "Background": ["mathematics.md", "benchmarks.md", "reproduction.md", "less-loss.md", "security.md", "hardening.md"],
}

#: files outside docs/ that are pages too
ELSEWHERE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}

#: a reference in a docstring
_CITED = re.compile(r"\[(\d+)\]_")

Pages = dict[str, str]


# -- pages ------------------------------------------------------------------------------------------------------------


def pages() -> Pages:
    """Every page of the site: its path -> its Markdown."""
    found = {place: _linked(ROOT / source) for source, place in ELSEWHERE.items()}
    for file in sorted((ROOT / "docs").rglob("*.md")):
        found[file.relative_to(ROOT / "docs").as_posix()] = _linked(file)
    found |= kind_pages() | api_pages() | {"commands.md": command_page(), "plans.md": plan_page()}
    found["glossary.md"] += figures_in_words()
    decisions = {place: _title(text) for place, text in found.items() if place.startswith("decisions/")}
    found["decisions/index.md"] = _table(
        "Decisions",
        "What a reader would question, and why it is so.",
        ("Decision",),
        [(f"[{title}]({place.removeprefix('decisions/')})",) for place, title in decisions.items()],
    )
    return found


def _linked(file: Path) -> str:
    """A page whose links lead to pages; what is in the repository but not on the site becomes a plain name."""
    place = _place(file)

    def link(found: re.Match[str]) -> str:
        words, target = found["words"], found["target"]
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        meant = (file.parent / path).resolve()
        if found["image"] or not meant.exists():
            image = meant.relative_to(ROOT / "docs").as_posix() if meant.is_relative_to(ROOT / "docs") else path
            return f"{found['image']}[{words}]({os.path.relpath(image, os.path.dirname(place)) if found['image'] else target})"
        if meant == ROOT / "docs" / "decisions":
            goal = "decisions/index.md"
        elif meant.suffix == ".md":
            goal = _place(meant)
        else:
            return f"`{words}`" if "`" not in words else words
        return f"[{words}]({os.path.relpath(goal, os.path.dirname(place))}{'#' * bool(anchor)}{anchor})"

    parts = re.split(r"(^```.*?^```)", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    pattern = r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)"
    return "".join(part if part.startswith("```") else re.sub(pattern, link, part) for part in parts)


def _place(file: Path) -> str:
    """The path on the site of a file of the repository."""
    name = file.resolve().relative_to(ROOT).as_posix()
    return ELSEWHERE.get(name, name.removeprefix("docs/"))


def _title(text: str) -> str:
    return text.lstrip().partition("\n")[0].lstrip("# ")


def _table(title: str, words: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([f"# {title}\n", *([f"{words}\n"] if words else []), *_rows(head, rows)])


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def cell(text: str) -> str:
        # In code a bar needs no escape, and the sign of one would be seen.
        parts = text.replace("\n", " ").split("`")
        return "`".join(part if at % 2 else part.replace("|", "\\|") for at, part in enumerate(parts))

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(cell, cells))} |"

    return [line(head), line(["---"] * len(head)), *map(line, rows), ""]


# -- from the registries ----------------------------------------------------------------------------------------------


class Chapter(NamedTuple):
    """What the pages of one kind have of their own."""

    registry: Registry
    #: what stands above the list
    words: str
    #: facts below the title of a page: what, and its value
    facts: Callable[[Any], dict[str, str]]
    #: how it is asked for: where, the language of the block, and what is typed
    usage: Callable[[Any], list[tuple[str, str, str]]]
    #: what stands at the end of a page
    ending: Callable[[Any], list[str]] = lambda one: []


def kind_pages() -> Pages:
    """A page for each method, promise, attack, measure and distance, and a list of each kind."""
    made: Pages = {}
    for chapter in CHAPTERS:
        folder = f"{chapter.registry.kind}s"
        rows = [(f"[{name}]({name}.md)", one.summary, one.origin()) for name, one in chapter.registry.items()]
        words = f"{chapter.words} `tsveil {folder}` prints the same. Those of other packages that are installed are listed too."
        made[f"{folder}/index.md"] = _table(folder.title(), words, ("Name", "What it does", "Source"), rows)
        for name, one in chapter.registry.items():
            made[f"{folder}/{name}.md"] = _kind_page(chapter, one)
    made["attacks/index.md"] += "\n" + _other_attacks(made)
    return made


def _kind_page(chapter: Chapter, one: type[Declaration]) -> str:
    title, _, rest = (inspect.getdoc(inspect.getmodule(one)) or one.summary).partition("\n")
    lines = [f"# {one.name}\n", f"{title}\n"]
    facts = {"In short": f"{one.summary}", **chapter.facts(one), "Source": one.reference}
    lines += [*(f"- **{what}**: {value}" for what, value in facts.items() if value), ""]
    for where, language, text in chapter.usage(one):
        typed = (f"    {line}" for line in text.splitlines())
        lines += [f'=== "{where}"\n', f"    ```{language}", *typed, "    ```\n"]
    if parameters := one.parameters():
        lines += ["## Parameters\n", "| parameter | default | meaning | accepts |", "| --- | --- | --- | --- |"]
        lines += [f"| `{p.name}` | `{p.default!r}` | {p.doc} | {p.words} |" for p in parameters] + [""]
    lines += ["## How it works\n", markdown(rest)] if rest.strip() else []
    own = inspect.getdoc(one) or ""
    lines += ["## Example\n", markdown(own)] if ">>>" in own and ">>>" not in rest else []
    return "\n".join([*lines, *chapter.ending(one)])


def _public(one: type[Declaration]) -> str:
    return "tv." * (one.__name__ in tv.__all__) + one.__name__


def _shown(one: type[Declaration], most: int = 2) -> list[Parameter]:
    """The parameters that an example gives."""
    return [p for p in one.parameters() if p.default is not None][:most]


def _arguments(one: type[Declaration], most: int = 2) -> str:
    return ", ".join(f"{p.name}={p.default!r}" for p in _shown(one, most))


def _method_facts(one: type[Method]) -> dict[str, str]:
    attacks = [f"[{attack.name}](../attacks/{attack.name}.md)" for attack in ATTACKS.values() if _fits(attack, one)]
    return {
        "Protects": " and ".join(sorted(one.takes)),
        "Technique (ISO/IEC 20889)": techniques_in_words(one.techniques),
        "Attacks that fit it": ", ".join(attacks) if "attributes" in one.takes else "",
    }


def _method_usage(one: type[Method]) -> list[tuple[str, str, str]]:
    options = " ".join(f"--{p.name} {p.default}" for p in _shown(one))
    plan = [f'[method]\nname = "{one.name}"', *(f"{p.name} = {_toml(p.default)}" for p in _shown(one))]
    return [
        ("Command line", "bash", f"tsveil protect meters.csv --out release --method {one.name} {options}".rstrip()),
        ("Plan", "toml", "\n".join(plan)),
        ("Python", "python", f"{_public(one)}({_arguments(one)}).protect(data)"),
    ]


def _method_ending(one: type[Method]) -> list[str]:
    return ["It publishes intervals; [`query`](../api/Queries.md) asks them.\n"] * issubclass(one, IntervalMethod)


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _fits(attack: type[Attack], method: type[Method]) -> bool:
    """Whether an attack is run on releases of a method: on single columns, where methods leave most behind."""
    if attack.trace is None:
        takes = {"series" if attack.of_series else "attributes"} if attack.of_series is not None else method.takes
        takes = {"categories", "categorical series"} if attack.of_labels else takes
        return attack.usual and bool(takes & method.takes)
    columns = Shape(100, [Columns("a", ("a",)), Columns("b", ("b",))])
    return any(isinstance(trace, attack.trace) for trace in method().traces(columns) or ())


def _promise_facts(one: type[Promise]) -> dict[str, str]:
    promise = one()
    return {
        "In plain words": one.plain_name(),
        "The promise, with the defaults": promise.words,
        "What it does not cover": promise.limits,
    }


def _promise_usage(one: type[Promise]) -> list[tuple[str, str, str]]:
    if not one.claims:
        return []
    headline = one.headline or tuple(p.name for p in one.parameters()[:1])
    values = ",".join(str(p.default) for p in one.parameters() if p.name in headline)
    typed = f"tsveil verify published.csv --{one.option or one.name} {values}".rstrip()
    given = ", ".join(f"{p.name}={p.default!r}" for p in one.parameters() if p.name in headline)
    return [("Command line", "bash", typed), ("Python", "python", f"{_public(one)}({given}).verify(published)")]


def _attack_facts(one: type[Attack]) -> dict[str, str]:
    fits = [f"[{m}](../methods/{m}.md)" for m, method in METHODS.items() if one.trace and _fits(one, method)]
    return {"Figure": f"{one.figure}, {one.plain}", "Knows": one.rung, "Made for": ", ".join(fits) or "any method"}


def _attack_usage(one: type[Attack]) -> list[tuple[str, str, str]]:
    return [("Command line", "bash", f"tsveil attack original.csv released.csv --method {one.name}")]


def _attack_ending(one: type[Attack]) -> list[str]:
    public = one.name in tv.attack.__all__
    function = getattr(tv.attack, one.name) if public else one.links
    return ["## Call\n", *_function(f"tv.attack.{one.name}" if public else f"{one.__name__}().links", function)]


def _other_attacks(made: Pages) -> str:
    """Pages of the public attacks that no score card has, and the list of them."""
    rows = []
    for name in tv.attack.__all__:
        if name not in ATTACKS:
            function = getattr(tv.attack, name)
            title, _, rest = (inspect.getdoc(inspect.getmodule(function)) or "").partition("\n")
            call = _function(f"tv.attack.{name}", function)
            made[f"attacks/{name}.md"] = "\n".join([f"# {name}\n", f"{title}\n", markdown(rest), "## Call\n", *call])
            rows.append((f"[{name}]({name}.md)", title))
    return "#" + _table("Functions", "Attacks that are called by themselves.", ("Function", "What it does"), rows)


def _measure_facts(one: type[Measure]) -> dict[str, str]:
    return {"For": " and ".join(one.kinds)}


def _measure_usage(one: type[Measure]) -> list[tuple[str, str, str]]:
    settings = "".join(f'"{p.name}": {p.default!r}' for p in _shown(one, 1))
    return [("Python", "python", f'tv.evaluate(data, release, measures={{"{one.name}": {{{settings}}}}})')]


def _measure_ending(one: type[Measure]) -> list[str]:
    rows = [(f"`{figure}`", *meaning) for figure, meaning in one.meanings.items()]
    return ["#" + _table("Figures", "What it puts on a score card.", ("Figure", "Title", "Unit", "What it says"), rows)]


def _distance_facts(one: type[Distance]) -> dict[str, str]:
    uses = "groups of similar records, and linkage" if one.embeds() else "linkage"
    return {"In plain words": one.plain_name(), "For": uses, "Needs": f"it {one.needs}" if one.fewest else ""}


def _distance_usage(one: type[Distance]) -> list[tuple[str, str, str]]:
    command = f"tsveil protect meters.csv --out release --distance {one.name}"
    return [
        *([("Command line", "bash", command)] if one.embeds() else []),
        ("Python", "python", f'tv.attack.series(original, released, distance="{one.name}")'),
    ]


CHAPTERS = (
    Chapter(METHODS, "Every protection method, from the registry.", _method_facts, _method_usage, _method_ending),
    Chapter(PROMISES, "What releases promise, and verifiers check.", _promise_facts, _promise_usage),
    Chapter(
        ATTACKS,
        "A release is as good as the best attack on it. Which ones are run depends on what its method leaves behind; a release of unknown making "
        "gets them all.",
        _attack_facts,
        _attack_usage,
        _attack_ending,
    ),
    Chapter(
        MEASURES, "What is measured of every release that it fits.", _measure_facts, _measure_usage, _measure_ending
    ),
    Chapter(DISTANCES, "What makes two series similar.", _distance_facts, _distance_usage),
)


def figures_in_words() -> str:
    """The figures of score cards, each with its title and what it says, as tables of the glossary."""
    kinds: dict[str, Kind] = {
        "Of series": "series",
        "Of attributes": "attributes",
        "Of labels": "categories",
        "Of envelopes": "envelopes",
    }
    parts = []
    for title, kind in kinds.items():
        rows = [(f"`{name}`", *meaning) for name, meaning in meanings_of(kind).items()]
        parts.append("##" + _table(title, "", ("Figure", "Title", "Unit", "What it says"), rows))
    return "\n" + "\n".join(parts)


# -- from the command line --------------------------------------------------------------------------------------------


def command_page() -> str:
    """Every command with its options, in the words of `--help`."""
    lines = [
        "# Commands\n",
        f"{inspect.cleandoc(main.help or '')}\n",
        "`tsveil COMMAND --help` prints the same. A command ends with 0 if all is well, with 1 if a verdict or a check fails, and with 2 if something cannot be read or done.\n",
    ]
    for context in _commands(click.Context(main, info_name="tsveil")):
        command = context.command
        records = [p.get_help_record(context) for p in command.get_params(context) if not isinstance(p, click.Argument)]
        options = [(f"`{option}`", words) for option, words in filter(None, records) if "--help" not in option]
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        lines += [f"## {context.command_path}\n", "```text", usage, "```\n"]
        lines += [inspect.cleandoc(command.help or "").replace("\b\n", ""), ""]
        lines += _rows(("Option", "What it does"), options) if options else []
    return "\n".join(lines)


def _commands(group: click.Context) -> Iterator[click.Context]:
    """The commands of a group, and those of the groups in it."""
    assert isinstance(group.command, click.Group)
    for name in group.command.list_commands(group):
        command = group.command.get_command(group, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=group)
        if isinstance(command, click.Group):
            yield from _commands(context)
        else:
            yield context


# -- from the structures of plans ---------------------------------------------------------------------------------------


#: section of a plan -> what its keys are options of, where the docstring says what they mean
_OPTIONS_OF: dict[str, Any] = {"input": tv.read, "evaluate": tv.evaluate, "run": tv.run}


def plan_page() -> str:
    """Every key of a plan: what it may be, and what it means."""
    parts = [
        "# Plans\n",
        "A plan says everything about a run, in TOML. `tsveil plan FILE` writes one to start from, `tsveil run PLAN` runs it, and `tsveil check PLAN` says whether its release is still in order. `tsveil schema` prints the same as a JSON schema. A key that is not here is refused; all problems "
        "of a plan are named at once. Paths count from the plan's folder.\n",
    ]
    for title, plan in (("Plan of a run", Plan), ("Plan of a sweep", SweepPlan)):
        parts.append(f"## {title}\n")
        fields = msgspec.structs.fields(plan)
        inner = {one.name: one for one in fields if isinstance(one.type, type) and issubclass(one.type, msgspec.Struct)}
        outside = [one for one in fields if one.name not in inner]
        parts += _keys("outside the sections", plan, outside)
        for name, one in inner.items():
            if plan is Plan or one.type not in {own.type for own in msgspec.structs.fields(Plan)}:
                parts += _keys(f"[{name}]", one.type, msgspec.structs.fields(one.type))
            else:
                parts.append(f"### [{name}]\n\nAs in the plan of a run.\n")
    return "\n".join(parts)


def _keys(title: str, struct: type[msgspec.Struct], fields: Sequence[Any]) -> list[str]:
    """The table of a section."""
    section = title.strip("[]")
    said = _remarks(struct) | {name: question.hint for name, question in QUESTIONS.items() if struct is Context}
    options = _parameters_in(inspect.getdoc(_OPTIONS_OF[section]) or "") if section in _OPTIONS_OF else {}
    rows = []
    for one in fields:
        first, second = (said, options) if section == "run" else (options, said)
        words = first.get(one.name) or second.get(one.name, "")
        default = "required" if one.required else _default(one)
        rows.append((f"`{one.name}`", kind_in_words(one.type), default, words[:1].upper() + words[1:]))
    head = "" if title == "outside the sections" else f"{inspect.getdoc(struct).partition(chr(10) * 2)[0]}\n"  # type: ignore[union-attr]
    table = _table(title, head, ("Key", "Accepts", "Unless given", "What it means"), rows)
    return [f"##{table}"]


def _default(one: Any) -> str:
    value = one.default if one.default is not msgspec.NODEFAULT else one.default_factory()
    return "" if value in (None, "", [], {}) else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _remarks(struct: type[msgspec.Struct]) -> dict[str, str]:
    """What the source says above a field, after #:."""
    sources = [inspect.getsource(one) for one in reversed(struct.__mro__) if one.__module__.startswith("tsveil")]
    return {
        name: words
        for source in sources
        for words, name in re.findall(r"^    #: (.+)\n    (\w+):", source, flags=re.MULTILINE)
    }


def _parameters_in(doc: str) -> dict[str, str]:
    """Parameter -> what a docstring says of it."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n-+|\Z)", doc, flags=re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    for names, words in re.findall(
        r"^(\w[\w, ]*)\n((?:    .+\n?)+)", section[1] if section else "", flags=re.MULTILINE
    ):
        found |= dict.fromkeys(names.split(", "), " ".join(words.split()))
    return found


# -- from docstrings --------------------------------------------------------------------------------------------------


def api_pages() -> Pages:
    """The reference of every public name."""
    made: Pages = {}
    rows = []
    for name in sorted(tv.__all__, key=str.lower):
        thing = getattr(tv, name)
        if inspect.isclass(thing) and issubclass(thing, Method):
            rows.append((f"[{name}](../methods/{thing.name}.md)", _first(thing)))
        elif isinstance(thing, str):
            rows.append((f"`{name}`", "The version of the package, a text."))
        else:
            made[f"api/{name}.md"] = _reference(name, thing)
            rows.append((f"[{name}]({name}.md)", _first(thing)))
    made["api/index.md"] = _table(
        "Reference", "`import tsveil as tv`; these are the public names.", ("Name", "What it is"), rows
    )
    return made


def _first(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def _reference(name: str, thing: Any) -> str:
    if isinstance(thing, ModuleType):
        members = getattr(thing, "__all__", None) or [
            key
            for key, own in vars(thing).items()
            if not key.startswith("_") and getattr(own, "__module__", "") == thing.__name__
        ]
        parts = [f"# {name}\n", markdown(inspect.getdoc(thing) or ""), ""]
        for member in members:
            own = getattr(thing, member)
            if name == "attack":
                parts.append(f"- [{member}](../attacks/{member}.md): {_first(own)}")
            elif callable(own):
                parts += _described(f"tv.{name}.{member}", own, 2)
            else:
                parts += [f"## tv.{name}.{member}\n", f"`{own!r}`\n"]
        return "\n".join([*parts, ""])
    return "\n".join([f"# {name}\n", *_described(f"tv.{name}", thing, 1)])


def _described(name: str, thing: Any, level: int) -> list[str]:
    """A class or a function: how it is called, its docstring, and what a class has."""
    heading = [] if level == 1 else [f"{'#' * level} {name}\n"]
    if not inspect.isclass(thing):
        return [*heading, *_function(name, thing)]
    return [*heading, *_class(name, thing, level)]


def _function(name: str, function: Callable[..., Any]) -> list[str]:
    signature = _signature(function)
    return ["```text", f"{name}{signature}", "```\n", markdown(inspect.getdoc(function) or ""), ""]


def _signature(function: Callable[..., Any]) -> str:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(...)"
    parts: list[str] = []
    for p in signature.parameters.values():
        if p.name in ("self", "cls"):
            continue
        if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "" if p.annotation is p.empty else f": {_annotation(p.annotation)}"
        parts.append(f"{stars}{p.name}{kind}{'' if p.default is p.empty else f' = {p.default!r}'}")
    gives = signature.return_annotation
    given = "" if gives is signature.empty or inspect.isclass(function) else f" -> {_annotation(gives)}"
    short = f"({', '.join(parts)}){given}"
    return short if len(short) < 80 else "\n".join(["(", *(f"    {part}," for part in parts), f"){given}"])


def _annotation(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def _class(name: str, kind: type, level: int) -> list[str]:
    lines = []
    if dataclasses.is_dataclass(kind) or not issubclass(kind, Exception):
        lines += ["```text", f"{name}{_signature(kind)}", "```\n"]
    lines += [markdown(inspect.getdoc(kind) or ""), ""]
    if attributes := list(_attributes(kind)):
        lines += [f"{'#' * (level + 1)} Attributes\n", *(f"- `{key}`: {words}" for key, words in attributes), ""]
    for key, member in _own_methods(kind):
        lines += [f"{'#' * (level + 1)} {key}\n", *_function(f"{name.split('.')[-1]}.{key}", member)]
    return lines


def _attributes(kind: type) -> Iterator[tuple[str, str]]:
    """Fields with the remark above them, and properties."""
    if kind.__module__.startswith("tsveil"):
        source = inspect.getsource(kind)
        remarks = re.findall(r"((?:^    #: .*\n)+)^    (\w+):", source, flags=re.MULTILINE)
        for text, key in remarks:
            if not key.startswith("_"):
                yield key, " ".join(line.strip().removeprefix("#: ") for line in text.strip().splitlines())
    for key, member in vars(kind).items():
        if isinstance(member, property) and not key.startswith("_"):
            yield key, _first(member)


def _own_methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for key, member in vars(kind).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function) and not key.startswith("_") and inspect.getdoc(function):
            yield key, function


def markdown(text: str) -> str:
    """A docstring as Markdown: sections become headings, examples and formulas code blocks, references a list."""
    lines = inspect.cleandoc(text).splitlines()
    out: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if following and set(following) == {"-"} and line.strip():
            out += ["", f"**{line.strip()}**", ""]
            at += 2
        elif following.startswith("    ") and re.fullmatch(r"\w+(, \w+)*", line):
            # A parameter with its meaning below it.
            end = at + 1
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            out.append(f"- `{line}`: {' '.join(_prose(row.strip()) for row in lines[at + 1 : end])}")
            at = end
        elif line.startswith(">>>"):
            end = next((e for e in range(at, len(lines)) if not lines[e].strip()), len(lines))
            out += ["```pycon", *lines[at:end], "```", ""]
            at = end
        elif line.startswith("    ") and (not out or not out[-1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            block = lines[at:end]
            while block and not block[-1].strip():
                block.pop()
            out += ["```text", *(_CITED.sub(r"[\1]", row.removeprefix("    ")) for row in block), "```", ""]
            at = end
        else:
            out.append(_prose(line))
            at += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip() + "\n"


def _prose(line: str) -> str:
    reference = re.match(r"\.\. \[(\d+)\] (.*)", line)
    if reference:
        return f"{reference[1]}. {reference[2]}"
    # What looks like a tag is text: "x <= y" stays, "<name>" is shown.
    return _CITED.sub(r"[\1]", re.sub(r"<(?=[A-Za-z/])", "&lt;", line))


# -- the site ---------------------------------------------------------------------------------------------------------


def navigation(found: Pages) -> list[dict[str, Any]]:
    """The pages in their order; what nobody sorted comes last, so that a new page is never lost."""
    placed = {"index.md", "contributing.md", "changelog.md"}
    sections: list[dict[str, Any]] = [{"tsveil": "index.md"}]
    for title, places in SECTIONS.items():
        there = [place for place in places if place in found]
        sections.append({title: [{_title(found[place]): place} for place in there]})
        placed |= set(there)
    for title, folder in (
        *((f"{chapter.registry.kind}s".title(), f"{chapter.registry.kind}s") for chapter in CHAPTERS),
        ("Reference", "api"),
        ("Decisions", "decisions"),
    ):
        own = [place for place in found if place.startswith(f"{folder}/") and not place.endswith("/index.md")]
        sections.append({title: [f"{folder}/index.md", *({_title(found[place]): place} for place in own)]})
        placed |= {*own, f"{folder}/index.md"}
    more = [{_title(found[place]): place} for place in found if place not in placed]
    more += [{"Contributing": "contributing.md"}, {"Changelog": "changelog.md"}]
    return [*sections, {"More": more}]


def _nav_toml(entries: Sequence[Any]) -> str:
    def entry(item: Any) -> str:
        if isinstance(item, str):
            return _quoted(item)
        (title, value), *_ = item.items()
        return f"{{ {_quoted(title)} = {_quoted(value) if isinstance(value, str) else _nav_toml(value)} }}"

    return "[" + ", ".join(map(entry, entries)) + "]"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("`", "") + '"'


def settings(found: Pages) -> str:
    """The configuration of zensical: no fonts, no scripts and no icons from elsewhere."""
    return f"""[project]
site_name = "tsveil"
site_description = "Protects time series and numerical microdata before publication, attacks the result, and measures both."
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = {_nav_toml(navigation(found))}

[project.theme]
font = false
features = ["navigation.indexes", "navigation.footer", "navigation.tabs", "content.code.copy", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.extra]
generator = false
"""


def write(place: Path) -> Path:
    """Write all pages and the configuration below `place`; gives the path of the configuration."""
    shutil.rmtree(place, ignore_errors=True)
    found = pages()
    for name, text in found.items():
        file = place / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shutil.copytree(
        ROOT / "docs" / "images", place / "docs" / "images", ignore=shutil.ignore_patterns("*.py", "__pycache__")
    )
    configuration = place / "zensical.toml"
    configuration.write_text(settings(found), encoding="utf-8")
    return configuration


def build(site: Path, place: Path = ROOT / "build") -> None:
    """Build the site; a warning is an error."""
    configuration = write(place)
    program = Path(sys.executable).with_name("zensical")
    command = [str(program)] if program.exists() else [sys.executable, "-m", "zensical"]
    done = subprocess.run(
        [*command, "build", "--strict", "--clean", "-f", str(configuration)], capture_output=True, text=True
    )
    if done.returncode or "arning" in done.stdout + done.stderr:
        raise SystemExit(f"the docs have problems:\n{done.stdout}{done.stderr}")
    # zensical builds below its configuration only.
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(place / "site", site)


if __name__ == "__main__":
    goal = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site")
    build(goal)
    print(f"{sum(1 for _ in goal.rglob('*.html'))} pages: {goal}/index.html")
