"""What each column is, chosen at its header: the roles of reading as one word per column, and back.

The headers of the preview say of each column what it is. A choice changes the options of reading for the columns that were changed, and for no
others, so that what a header cannot say (the times of a block, how empty labels are treated) stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tsveil.core.errors import Problems

#: role -> what it is called; series and attributes have the name of their block behind a colon, hierarchies that of their file
LEFT_OUT, IDENTIFIER, PERSON, BOTH = "out", "id", "person", "id-person"
SERIES, ATTRIBUTES, HIERARCHY = "series", "attributes", "hierarchy"
NOMINAL, ORDINAL, LABELS, CONFIDENTIAL = "nominal", "ordinal", "labels", "confidential"
TIME, VARIABLE, VALUE = "time", "variable", "value"
#: in a hidden column of the table: each stays what it is
AS_THEY_ARE = "as-they-are"

Options = dict[str, Any]


def roles_of(options: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    """The role of each column.

    Examples
    --------
    >>> roles_of({"layout": "wide", "id": "who", "blocks": {"x": {"columns": ["a"], "kind": "attributes"}}, "categories": {"b": "nominal"}}, ["who", "a", "b", "c"])
    {'who': 'id', 'a': 'attributes:x', 'b': 'nominal', 'c': 'out'}
    """
    found = dict.fromkeys(columns, LEFT_OUT)

    def put(names: Sequence[str], role: str) -> None:
        found.update((name, role) for name in names if name in found)

    if options.get("layout") == "long":
        put(_joined(options.get("time"), "+"), TIME)
        put(_listed(options.get("variable")), VARIABLE)
        put(_listed(options.get("value")), VALUE)
    else:
        for name, spec in (options.get("blocks") or {}).items():
            put(_in_block(spec, columns), f"{_kind_of(spec)}:{name}")
    put(options.get("confidential") or [], CONFIDENTIAL)
    for name, spec in (options.get("categories") or {}).items():
        put([name], _role_of_labels(spec))
    ids = _joined(options.get("id"), "+")
    put(ids, IDENTIFIER)
    persons = _listed(options.get("person"))
    put(persons, PERSON)
    put([name for name in persons if name in ids], BOTH)
    return found


def with_kinds(options: Mapping[str, Any], found: Sequence[Mapping[str, str]]) -> Options:
    """The options with the kind of each block: a plan may leave it to the names of the columns, and `found` says what it turned out to be.

    Examples
    --------
    >>> with_kinds({"blocks": {"load": {"from": "1", "to": "2"}}}, [{"name": "load", "kind": "time series"}])
    {'blocks': {'load': {'from': '1', 'to': '2', 'kind': 'series'}}}
    """
    kinds = {block["name"]: SERIES if "series" in block["kind"] else ATTRIBUTES for block in found}
    blocks = {}
    for name, spec in (options.get("blocks") or {}).items():
        own = dict(spec) if isinstance(spec, Mapping) else {"columns": list(spec)}
        blocks[name] = own if "kind" in own or name not in kinds else {**own, "kind": kinds[name]}
    return {**options, **({"blocks": blocks} if blocks else {})}


def choices(options: Mapping[str, Any], hierarchies: Sequence[str] = ()) -> dict[str, str]:
    """Role -> its words, as a header offers them.

    Examples
    --------
    >>> list(choices({"layout": "wide", "blocks": {"load": {"columns": ["a"], "kind": "series"}}}))[4:6]
    ['series:load', 'series:series']
    """
    words = {
        LEFT_OUT: "left out",
        IDENTIFIER: "identifier, replaced by a random one",
        PERSON: "person: says whose record it is",
        BOTH: "identifier that is also the person",
    }
    if options.get("layout") == "long":
        words |= {TIME: "time", VALUE: "values, a time series", VARIABLE: "name of the time series"}
    else:
        blocks = options.get("blocks") or {}
        for kind, what in ((SERIES, "time series"), (ATTRIBUTES, "attribute")):
            own = [name for name, spec in blocks.items() if _kind_of(spec) == kind]
            words |= {f"{kind}:{name}": what if len(own) == 1 else f"{what}, in {name}" for name in own}
            another = f"another {what}" if kind == SERIES else f"{what}, protected apart"
            words |= {
                f"{kind}:{_fresh('series' if kind == SERIES else 'attributes', blocks)}": another if own else what
            }
    words |= {NOMINAL: "category without an order", ORDINAL: "category with an order"}
    words |= {f"{HIERARCHY}:{name}": f"category with the hierarchy in {name}" for name in hierarchies}
    words |= {HIERARCHY: "category with a hierarchy, from a file"}
    if LABELS in map(_role_of_labels, (options.get("categories") or {}).values()):
        words[LABELS] = "category, as it was described"
    return words | {CONFIDENTIAL: "published unchanged"}


def with_roles(
    options: Mapping[str, Any],
    columns: Sequence[str],
    chosen: Mapping[str, str],
    hierarchies: Sequence[str] = (),
    orders: Mapping[str, Sequence[str]] | None = None,
) -> Options:
    """The options of reading after columns were given roles; those whose role did not change keep what is said of them.

    Examples
    --------
    >>> wide = {"layout": "wide", "id": "who", "blocks": {"x": {"from": "a", "to": "c", "kind": "attributes"}}}
    >>> with_roles(wide, ["who", "a", "b", "c"], {"b": "confidential"})
    {'layout': 'wide', 'id': 'who', 'blocks': {'x': {'columns': ['a', 'c'], 'kind': 'attributes'}}, 'confidential': ['b']}
    """
    problems = Problems("the columns cannot be used like this")
    allowed = choices(options, hierarchies)
    found: Options = dict(options)
    before = roles_of(options, columns)
    for name, role in chosen.items():
        if name not in before:
            problems.add(f"there is no column {name!r}")
        elif role == before[name]:
            continue
        elif role == HIERARCHY:
            problems.add(f"column {name!r}: choose the file that holds its hierarchy, under the table")
        elif role not in allowed:
            problems.add(f"column {name!r}: {role!r} is no role of a column")
        else:
            _take_out(found, name, columns)
            _put_in(found, name, role, columns)
    for name, order in (orders or {}).items():
        if _role_of_labels(found.get("categories", {}).get(name)) == ORDINAL and order:
            found["categories"] = {**found["categories"], name: list(order)}
    problems.raise_if_any()
    return {name: value for name, value in found.items() if value or value is False}


def _take_out(found: Options, name: str, columns: Sequence[str]) -> None:
    """The options without a column."""
    for role in ("id", "time"):
        if name in _joined(found.get(role), "+"):
            left = [one for one in _listed(found[role]) if one != name]
            # Several columns made one stand in the table as one.
            found[role] = [] if name not in _listed(found[role]) else left[0] if len(left) == 1 else left
    if name == found.get("variable"):
        del found["variable"]
    for role in ("person", "confidential", "value", "leave_out", "numbers"):
        if name in _listed(found.get(role)):
            found[role] = [one for one in _listed(found[role]) if one != name]
    found["categories"] = {one: spec for one, spec in (found.get("categories") or {}).items() if one != name}
    blocks = {}
    for block, spec in (found.get("blocks") or {}).items():
        inside = _in_block(spec, columns)
        left = [one for one in inside if one != name]
        if left:
            blocks[block] = spec if left == inside else _block(spec, left, columns)
    found["blocks"] = blocks


def _put_in(found: Options, name: str, role: str, columns: Sequence[str]) -> None:
    """The options with a column in a role that it did not have."""
    kind, _, own = role.partition(":")
    if role in (IDENTIFIER, BOTH):
        ids = [*_listed(found.get("id")), name]
        found["id"] = ids if len(ids) > 1 else name
    if role in (PERSON, BOTH):
        found["person"] = [*_listed(found.get("person")), name]
    if role == TIME:
        times = [*_listed(found.get("time")), name]
        found["time"] = times if len(times) > 1 else name
    if role == VARIABLE:
        found["variable"] = name
    if role in (VALUE, CONFIDENTIAL):
        found[role] = [*_listed(found.get(role)), name]
    if role in (NOMINAL, ORDINAL):
        found["categories"] = {**found["categories"], name: role}
    if kind == HIERARCHY:
        found["categories"] = {**found["categories"], name: {"hierarchy": own}}
    if kind in (SERIES, ATTRIBUTES):
        spec = found["blocks"].get(own, {"columns": [], "kind": kind})
        inside = sorted([*_in_block(spec, columns), name], key=list(columns).index)
        found["blocks"] = {**found["blocks"], own: _block(spec, inside, columns)}
    # In a table that is turned, columns are left out before it is turned, and these are its columns after it.
    if role == LEFT_OUT and not found.get("transpose"):
        found["leave_out"] = [*_listed(found.get("leave_out")), name]


def _block(spec: Any, inside: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    """A block with these columns, by the first and the last of them where nothing is between."""
    rest = {key: value for key, value in spec.items() if key in ("kind",)} if isinstance(spec, Mapping) else {}
    first, last = columns.index(inside[0]), columns.index(inside[-1])
    if list(columns[first : last + 1]) == list(inside):
        return {"from": inside[0], "to": inside[-1], **rest}
    return {"columns": list(inside), **rest}


def _kind_of(spec: Any) -> str:
    """Whether a block is a series or attributes."""
    return str(spec.get("kind", ATTRIBUTES)) if isinstance(spec, Mapping) else ATTRIBUTES


def _in_block(spec: Any, columns: Sequence[str]) -> list[str]:
    """The columns of a block."""
    if not isinstance(spec, Mapping):
        return list(spec)
    if "from" not in spec:
        return list(spec.get("columns", ()))
    if spec["from"] not in columns or spec["to"] not in columns:
        return []
    return list(columns[columns.index(spec["from"]) : columns.index(spec["to"]) + 1])


def _role_of_labels(spec: Any) -> str:
    """The role of a column that holds labels."""
    if isinstance(spec, str):
        return spec
    if isinstance(spec, list):
        return ORDINAL
    if isinstance(spec, Mapping) and isinstance(spec.get("hierarchy"), str):
        return f"{HIERARCHY}:{spec['hierarchy']}"
    return LABELS


def order_of(spec: Any) -> list[str]:
    """The order of labels that was given, the lowest first; nothing where none was.

    Examples
    --------
    >>> order_of(["small", "large"]), order_of("ordinal")
    (['small', 'large'], [])
    """
    return [str(label) for label in spec] if isinstance(spec, list) else []


def _fresh(name: str, taken: Mapping[str, Any]) -> str:
    """A name for a new block."""
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name} {count}"
    return found


def _listed(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _joined(given: str | Sequence[str] | None, between: str) -> list[str]:
    """Columns that were named, and the one that they make together."""
    names = _listed(given)
    return [*names, between.join(names)] if len(names) > 1 else names
