"""Everything that is wrong with a plan, in the words of whoever wrote it.

The structures of `plan` and `sweep_plan` say what a plan may hold. The library that reads them stops at the first thing that does not fit and
names it in its own terms; here each section and key is held against its structure, and the message names all that does not fit.
"""

from __future__ import annotations

import reprlib
import types
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from tsveil.core.errors import Problems

#: what a value of a kind is called
WORDS: dict[Any, str] = {
    str: 'a text in quotes, such as "a"',
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
#: what no message repeats
SECRET = ("seed",)
#: keys whose texts are paths
PATHS = ("path", "folder", "after", "other_period")
MANY: dict[Any, str] = {str: 'a list of texts, such as ["a", "b"]', int: "a list of whole numbers"}


def look_through(plan: type[msgspec.Struct], tables: Mapping[str, Any], problems: Problems, section: str = "") -> None:
    """Note every section or key of a plan that is unknown, missing or of the wrong kind.

    Examples
    --------
    >>> from tsveil.plan.plan import Plan
    >>> problems = Problems("plan.toml cannot be used")
    >>> look_through(Plan, {"input": {"file": "a.csv", "missing": "skip"}, "method": {"name": "mdav"}, "ouput": {}}, problems)
    >>> for problem in problems.found:
    ...     print(problem)
    there is no section [ouput]; is [output] meant?
    [input]: there is no 'file'
    [input] needs a path
    [input]: missing must be one of 'refuse', 'drop', 'interpolate', 'mask'. Got 'skip'.
    the section [output] is missing
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(plan)}
    for name in tables:
        if name not in fields:
            problems.add(_unknown(name, list(fields), section, isinstance(tables[name], Mapping)))
            if section:
                problems.hint(f"[{section}] may have: {', '.join(fields)}")
    for name, field in fields.items():
        inner = isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
        if name not in tables:
            if field.required and section:
                problems.add(f"[{section}] needs a {name}")
            elif field.required:
                problems.add(f"the section [{name}] is missing")
        elif inner and isinstance(tables[name], Mapping):
            before = len(problems.found)
            look_through(field.type, tables[name], problems, f"{section}.{name}" if section else name)
            if len(problems.found) == before and (reason := _why_not(tables[name], field.type)):
                problems.add(f"[{name}]: {reason}")
        elif not _fits(tables[name], field.type):
            place = f"[{section}]: {name}" if section else name
            problems.add(f"{place} must be {kind_in_words(field.type)}.{_value_in_words(name, tables[name])}")
        elif name in PATHS and "\0" in tables[name]:
            problems.add(
                f"[{section}]: {name} must be a path, in which there is no NUL character.{_value_in_words(name, tables[name])}"
            )


def _unknown(name: str, known: list[str], section: str, table: bool) -> str:
    close = get_close_matches(name, known, n=1)
    if section:
        return f"[{section}]: there is no {name!r}" + (f"; is {close[0]!r} meant?" if close else "")
    shown = f"section [{name}]" if table else f"{name!r} outside the sections"
    return f"there is no {shown}" + (f"; is [{close[0]}] meant?" if close else "")


def _value_in_words(name: str, value: Any) -> str:
    if name in SECRET:
        return ""
    return f" Got {reprlib.repr(value) if isinstance(value, (str, list, dict)) else value}."


def _fits(value: Any, kind: Any) -> bool:
    return not _why_not(value, kind)


def _why_not(value: Any, kind: Any) -> str:
    """Why a value is not of a kind, in the words of the library or of the kind itself; empty if it is."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def kind_in_words(kind: Any) -> str:
    """What a value of a kind looks like in a plan.

    Examples
    --------
    >>> kind_in_words(int | None), kind_in_words(Literal["csv", "parquet"] | None)
    ('a whole number', "one of 'csv', 'parquet'")
    >>> print(kind_in_words(str | list[str]))
    a text in quotes, such as "a", or a list of texts, such as ["a", "b"]
    """
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return ", or ".join(kind_in_words(one) for one in inside if one is not type(None))
    if origin is Literal:
        return f"one of {', '.join(map(repr, inside))}"
    if origin is list:
        return MANY.get(inside[0], "a list")
    return WORDS.get(kind, "a section or table: names and values")
