"""What a person filled in, as the plan has it; and the plan as a form shows it.

A form is a mapping from names to lists of texts. Nothing here is trusted further on: columns must be columns of the file, and the
job checks everything again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tsveil.core.errors import InputError, Problems
from tsveil.web.studies import Limits

Form = Mapping[str, Sequence[str]]

#: so many rows for blocks that are not there yet
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
    if found["layout"] == "long":
        for role in ("time", "variable"):
            if name := first(form, role):
                found[role] = column(name, role)
        found["value"] = [column(name, "values") for name in form.get("value", ()) if name]
    else:
        found["blocks"] = _blocks(form, columns, problems)
    found["confidential"] = [column(name, "carried") for name in form.get("confidential", ())]
    for name, choices in {
        "missing": ("drop", "interpolate"),
        "separator": (",", ";", "|", "tab"),
        "decimal": (".", ","),
    }.items():
        if first(form, name) in choices:
            found[name] = first(form, name)
    for name in ("resample", "split"):
        if text := first(form, name):
            if text.isdigit() and len(text) < 10:
                found[name] = int(text)
            else:
                problems.add(f"{name} must be a whole number. Got {text!r}.")
    problems.raise_if_any()
    return {name: value for name, value in found.items() if value}


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
                    values.append(value_of(text, parameter["kind"]))
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


def limits(form: Form) -> Limits:
    """The limits, in percent."""

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

    return Limits(max_risk=percent("max_risk"), max_loss=percent("max_loss"))
