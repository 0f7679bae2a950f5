"""What a person filled in, as the plan has it; and the plan as a form shows it.

A form is a mapping from names to lists of texts. Nothing here is trusted further on: columns must be columns of the file, and the
job checks everything again.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tsveil.core.errors import InputError, Problems
from tsveil.web.studies import Limits

Form = Mapping[str, Sequence[str]]

#: what may be said of the rows of a file -> the options of reading
ROWS: dict[str, dict[str, Any]] = {
    "independent": {"independent_rows": True},
    "times": {"transpose": True},
    "records": {"transpose": False},
}
#: what may be said of the first line
HEADER = {"names": True, "record": False}
#: the fields of the roles with one value, and those with several
SINGLE = (
    "layout", "id", "time", "variable", "missing", "separator", "decimal", "time_format", "sheet", "table", "query", "resample", "split",
)  # fmt: skip
SEVERAL = ("person", "leave_out", "numbers", "confidential", "value")
#: rows shown for blocks that are not there yet
SPARE = 2
#: columns that can be carried are offered one by one up to this many
OFFERED = 60


def first(form: Form, name: str) -> str:
    """The first value of a field, without blanks around it."""
    return (form.get(name) or [""])[0].strip()


# -- roles ------------------------------------------------------------------------------------------------------------


def block_rows(options: Mapping[str, Any], columns: Sequence[str]) -> list[dict[str, str]]:
    """The blocks as rows of a form, each a range of columns; a block of several ranges has several rows.

    Examples
    --------
    >>> block_rows({"blocks": {"x": {"columns": ["a", "b", "d"], "kind": "attributes"}}}, ["a", "b", "c", "d"])[:2]
    [{'name': 'x', 'kind': 'attributes', 'from': 'a', 'to': 'b'}, {'name': 'x', 'kind': 'attributes', 'from': 'd', 'to': 'd'}]
    """
    rows = []
    place = {name: at for at, name in enumerate(columns)}
    for name, spec in (options.get("blocks") or {}).items():
        own = spec if isinstance(spec, Mapping) else {"columns": spec}
        kind = str(own.get("kind", ""))
        if "from" in own:
            rows.append({"name": name, "kind": kind, "from": own["from"], "to": own["to"]})
            continue
        for _, run in groupby(enumerate(own["columns"]), key=lambda pair: place.get(pair[1], -1) - pair[0]):
            part = [column for _, column in run]
            rows.append({"name": name, "kind": kind, "from": part[0], "to": part[-1]})
    return rows + [{"name": "", "kind": "series", "from": "", "to": ""}] * SPARE


def roles(form: Form, columns: Sequence[str]) -> dict[str, Any]:
    """The roles that were filled in, as options of a plan's input.

    Examples
    --------
    >>> form = {"layout": ["wide"], "id": ["who"], "block_name": ["x"], "block_kind": ["series"], "block_from": ["1"], "block_to": ["2"]}
    >>> roles(form, ["who", "1", "2"])
    {'layout': 'wide', 'id': 'who', 'blocks': {'x': {'from': '1', 'to': '2', 'kind': 'series'}}}
    """
    problems = Problems("the roles cannot be used")
    found: dict[str, Any] = {"layout": first(form, "layout")}
    if found["layout"] not in ("wide", "long"):
        problems.add("the layout must be wide or long")

    def column(text: str, what: str) -> str:
        if text not in columns:
            problems.add(f"{what}: there is no column {text!r}")
        return text

    if name := first(form, "id"):
        found["id"] = column(name, "identifier")
    for role in ("person", "leave_out", "numbers"):
        found[role] = [column(name, role) for name in form.get(role, ()) if name]
    found["categories"] = {column(name, "labels"): kind for name, kind in _labels(form).items()}
    found |= ROWS.get(first(form, "rows"), {})
    if found["layout"] == "long":
        if name := first(form, "time"):
            parts = name.split("+")
            found["time"] = parts if len(parts) == 2 and {*parts} <= {*columns} else column(name, "time")
        if name := first(form, "variable"):
            found["variable"] = column(name, "variable")
        found["value"] = [column(name, "values") for name in form.get("value", ()) if name]
    else:
        found["blocks"] = _blocks(form, columns, problems)
    found["confidential"] = [column(name, "carried") for name in form.get("confidential", ())]
    for name, choices in {
        "missing": ("drop", "interpolate", "mask"),
        "separator": (",", ";", "|", "tab"),
        "decimal": (".", ","),
    }.items():
        if first(form, name) in choices:
            found[name] = first(form, name)
    for name in ("time_format", "sheet", "table", "query"):
        if text := first(form, name):
            found[name] = text
    found["header"] = HEADER.get(first(form, "header"))
    for name in ("resample", "split"):
        if text := first(form, name):
            if text.isdigit() and len(text) < 10:
                found[name] = int(text)
            else:
                problems.add(f"{name} must be a whole number. Got {text!r}.")
    problems.raise_if_any()
    return {name: value for name, value in found.items() if value or value is False}


def _labels(form: Form) -> dict[str, str]:
    """Column -> its kind of labels: chosen from a list beside it, or answered before."""
    found = {column: kind for kind in LABELS for column in form.get(kind, ()) if column}
    chosen = zip(form.get("label_column", ()), form.get("label_kind", ()), strict=False)
    return found | {column: kind for column, kind in chosen if kind in LABELS}


def typed_roles(form: Form) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """What was typed, right or wrong, as the page shows options and blocks: a form that is refused comes back as it was.

    Examples
    --------
    >>> options, rows = typed_roles({"layout": ["wide"], "id": ["nobody"], "block_name": ["x"], "block_kind": ["series"], "block_from": ["1"], "block_to": ["9"]})
    >>> options["id"], rows
    ('nobody', [{'name': 'x', 'kind': 'series', 'from': '1', 'to': '9'}])
    """
    options: dict[str, Any] = {name: first(form, name) for name in SINGLE}
    options |= {name: [text for text in form.get(name, ()) if text] for name in SEVERAL}
    options["categories"] = _labels(form)
    options["header"] = HEADER.get(first(form, "header"))
    options |= ROWS.get(first(form, "rows"), {})
    parts = ("name", "kind", "from", "to")
    lists = [form.get(f"block_{part}", ()) for part in parts]
    return options, [dict(zip(parts, row, strict=True)) for row in zip(*lists, strict=False)]


def rows_as(options: Mapping[str, Any]) -> str:
    """Which of the answers about rows the options give."""
    return next((name for name, own in ROWS.items() if own.items() <= options.items()), "")


def question_forms(questions: Sequence[Any]) -> list[dict[str, Any]]:
    """The questions of reading as a form shows them: what was seen, and for each subject the answers as options of reading.

    A question about several columns, each of which may have an answer of its own, has a subject for each of them.

    Examples
    --------
    >>> from tsveil.data.questions import code_question
    >>> (found,) = question_forms([code_question(["sex", "town"])])
    >>> [subject["name"] for subject in found["subjects"]], found["subjects"][1]["answers"][0]
    (['sex', 'town'], ('Publish them unchanged?', {'confidential': ['town']}))
    """
    found = []
    for question in questions:
        answers = [
            (meaning, _parse_options(options)) for answer in question.answers for meaning, options in _in_full(*answer)
        ]
        columns = [[value for value in own.values() if isinstance(value, list)] for _, own in answers]
        each = columns[0][0] if all(one == columns[0] and len(one) == 1 for one in columns) else []
        if len(each) > 1:
            subjects = [
                {"name": name, "answers": [(meaning, {next(iter(own)): [name]}) for meaning, own in answers]}
                for name in each
            ]
        else:
            subjects = [{"name": "", "answers": answers}]
        found.append({"seen": question.seen, "subjects": subjects})
    return found


def _in_full(meaning: str, options: str) -> list[tuple[str, str]]:
    """An answer; one that names another option in brackets is two: a form cannot be typed into.

    Examples
    --------
    >>> _in_full("Or are they labels (in their order: --ordinal)?", "--nominal size")
    [('Or are they labels without an order?', '--nominal size'), ('Or are they labels in their order?', '--ordinal size')]
    """
    named = re.search(r" \((in their order): (--[a-z-]+)\)", meaning)
    if named is None:
        return [(meaning, options)]
    other = re.sub(r"--nominal\b", named[2], options)
    return [
        (meaning.replace(named[0], " without an order"), options),
        (meaning.replace(named[0], f" {named[1]}"), other),
    ]


#: the kinds of labels that a question offers
LABELS = ("nominal", "ordinal")
#: how a question names an option of reading -> the option, and its value where none follows
TYPED: dict[str, tuple[str, Any]] = {
    "--layout": ("layout", ""),
    "--id": ("id", ""),
    "--time": ("time", ""),
    "--time-format": ("time_format", ""),
    "--person": ("person", []),
    "--confidential": ("confidential", []),
    "--leave-out": ("leave_out", []),
    "--number": ("numbers", []),
    "--nominal": ("nominal", []),
    "--ordinal": ("ordinal", []),
    "--independent-rows": ("independent_rows", True),
    "--transpose": ("transpose", True),
    "--no-transpose": ("transpose", False),
    "--sheet": ("sheet", ""),
    "--table": ("table", ""),
    "--decimal": ("decimal", ""),
    "--header": ("header", True),
    "--no-header": ("header", False),
}


def _parse_options(text: str) -> dict[str, Any]:
    """What would be typed, as options of reading."""
    found: dict[str, Any] = {}
    words = shlex.split(text)
    while words:
        name, value = TYPED[words.pop(0)]
        if isinstance(value, bool):
            found[name] = value
        elif isinstance(value, list):
            found[name] = [*found.get(name, []), words.pop(0)]
        elif name in found:  # several identifiers make one together
            found[name] = [*([found[name]] if isinstance(found[name], str) else found[name]), words.pop(0)]
        else:
            found[name] = words.pop(0)
    return found


def add_answers(form: Form, look: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading with the answers that were chosen; columns of several answers are put together."""
    found = dict(before)
    subjects = [subject for question in look["questions"] for subject in question["subjects"]]
    for number, subject in enumerate(subjects):
        chosen = first(form, f"answer_{number}")
        if not chosen.isdigit() or int(chosen) >= len(subject["answers"]):
            raise InputError("every question needs an answer")
        for name, value in subject["answers"][int(chosen)][1].items():
            if name == "time" and value not in look["columns"]:
                continue  # the question could not name it
            if name in LABELS:
                found["categories"] = {**found.get("categories", {}), **dict.fromkeys(value, name)}
            else:
                found[name] = [*found.get(name, []), *value] if isinstance(value, list) else value
    return found


def _blocks(form: Form, columns: Sequence[str], problems: Problems) -> dict[str, Any]:
    ranges: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    lists = [form.get(f"block_{part}", ()) for part in ("name", "kind", "from", "to")]
    for name, kind, begin, end in zip(*lists, strict=False):
        if not name.strip() and not begin and not end:
            continue
        last = end or begin
        if not name.strip() or begin not in columns or last not in columns:
            problems.add(
                f"the block {name!r} needs a name and the first and last of its columns. Got {begin!r} to {last!r}."
            )
            continue
        chosen = columns[columns.index(begin) : columns.index(last) + 1]
        if not chosen:
            problems.add(f"the block {name!r} ends with {last!r}, which comes before {begin!r}")
        ranges.setdefault(name.strip(), []).extend(chosen)
        kinds[name.strip()] = kind if kind in ("series", "attributes") else "attributes"
    found: dict[str, Any] = {}
    for name, chosen in ranges.items():
        start = columns.index(chosen[0]) if chosen else 0
        whole = list(columns[start : start + len(chosen)]) == list(chosen)
        short = {"from": chosen[0], "to": chosen[-1]} if chosen and whole else {"columns": list(chosen)}
        found[name] = {**short, "kind": kinds[name]}
    return found


# -- methods and limits ------------------------------------------------------------------------------------------------


def methods(form: Form, offered: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    """The methods that were chosen with the values to try; what is left empty has its default."""
    problems = Problems("the methods cannot be tried")
    found: dict[str, dict[str, list[Any]]] = {}
    wanted = set(form.get("method", ()))
    for method in offered:
        if method["name"] not in wanted or method["problem"]:
            continue
        grid: dict[str, list[Any]] = {}
        for parameter in method["parameters"]:
            given = [
                text.strip()
                for entry in form.get(f"{method['name']}.{parameter['name']}", ())
                for text in entry.split(",")
            ]
            values = []
            for text in filter(None, given):
                try:
                    values.append(_allowed(value_of(text, parameter["kind"]), parameter))
                except ValueError:
                    problems.add(f"{method['name']}: {parameter['name']} must be {parameter['words']}. Got {text!r}.")
            if values and values != [parameter["default"]]:
                grid[parameter["name"]] = values
        found[method["name"]] = grid
    if not found:
        problems.add("choose at least one method")
    problems.raise_if_any()
    return found


def value_of(text: str, kind: str) -> Any:
    """A value that was typed in.

    Examples
    --------
    >>> value_of("5", "int"), value_of("0.5", "float"), value_of("true", "bool"), value_of("sts", "str")
    (5, 0.5, True, 'sts')
    """
    if kind == "bool":
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    return {"int": int, "float": float}.get(kind, str)(text)


def _allowed(value: Any, parameter: Mapping[str, Any]) -> Any:
    """The value if the parameter takes it; what depends on the data and on other parameters is checked by the job."""
    low, high = parameter.get("low"), parameter.get("high")
    if isinstance(value, str):
        right = not parameter.get("choices") or value in parameter["choices"]
    elif isinstance(value, bool):
        right = True
    else:
        above = low is None or (value > low if parameter.get("open_low") else value >= low)
        right = above and (high is None or value <= high) and math.isfinite(value)
    if not right:
        raise ValueError(value)
    return value


def limits(form: Form, before: Limits | None = None) -> Limits:
    """The limits, in percent; a form that does not speak of promises leaves them as they were.

    Examples
    --------
    >>> limits({"max_risk": ["5"], "verified": ["no", "yes"]}).verified, limits({"verified": ["no"]}).verified
    (True, False)
    """

    def percent(name: str) -> float | None:
        text = first(form, name).replace(",", ".")
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 100:
            raise InputError(f"a limit must be a number from 0 to 100. Got {text!r}.")
        return value

    verified = "yes" in form["verified"] if "verified" in form else (before or Limits()).verified
    return Limits(max_risk=percent("max_risk"), max_loss=percent("max_loss"), verified=verified)
