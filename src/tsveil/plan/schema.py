"""The JSON schema of plans, for editors and for programs that write plans.

It is made from the structures that read plans and from the parameters of the methods, so it says what this version reads. What depends on several keys, or on the data, only reading
finds out.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tsveil.core.params import Names, Parameter
from tsveil.core.registry import METHODS
from tsveil.plan.plan import TomlPlan

_KINDS: dict[type, str] = {int: "integer", float: "number", bool: "boolean", str: "string", Names: "string"}


def schema(plan: type[TomlPlan]) -> dict[str, Any]:
    """The schema of a kind of plan, as JSON Schema 2020-12.

    Parameters
    ----------
    plan
        `Plan`, or `SweepPlan` of `tsveil.plan.sweep`.

    Returns
    -------
    dict
        The schema, in plain values.

    Examples
    --------
    >>> from tsveil.plan.plan import Plan
    >>> found = schema(Plan)
    >>> found["required"]
    ['input', 'method', 'output']
    >>> found["properties"]["method"]["allOf"][0]["then"]["properties"]["k"]
    {'description': 'smallest group: ...', 'type': 'integer', 'minimum': 2}
    """
    (found,), parts = msgspec.json.schema_components([plan], ref_template="#/$defs/{name}")
    whole = parts.pop(found["$ref"].rpartition("/")[2])
    if "method" in whole["properties"]:
        whole["properties"]["method"] = _methods()
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}
    return {**title, "$defs": parts}


def _methods() -> dict[str, Any]:
    """A method by its name, and its parameters."""
    named = [
        {
            "if": {"properties": {"name": {"const": name}}},
            "then": {
                "description": method.summary,
                "properties": {"name": True, **{p.name: _parameter(p) for p in method.parameters()}},
                "additionalProperties": False,
            },
        }
        for name, method in METHODS.items()
    ]
    return {
        "description": "The name of the method, and its parameters.",
        "type": "object",
        "properties": {"name": {"enum": list(METHODS)}},
        "required": ["name"],
        "allOf": named,
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    """What a parameter accepts."""
    found: dict[str, Any] = {"description": one.doc}
    if one.choices:
        return {**found, "enum": list(one.choices)}
    if one.kind not in _KINDS:
        return found
    found["type"] = _KINDS[one.kind]
    if one.low is not None:
        found["exclusiveMinimum" if one.open_low else "minimum"] = one.low
    if one.high is not None:
        found["maximum"] = one.high
    return found
