"""Tables as TOML text, with remarks above their keys. Python reads TOML by itself and does not write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(tables: Mapping[str, Any], remarks: Mapping[str, str] | None = None) -> str:
    """Keys and tables of keys as TOML; `remarks` maps 'section' or 'section.key' to a comment put above it. Empty tables are left out.

    Examples
    --------
    >>> print(toml_text({"seed": 1, "method": {"name": "mdav"}}, {"method.name": "what is done"}))
    seed = 1
    [method]
    # what is done
    name = "mdav"
    """
    remarks = remarks or {}
    lines = _lines("", {key: v for key, v in tables.items() if not isinstance(v, dict)}, remarks)
    for section, table in tables.items():
        if isinstance(table, dict) and table:
            lines += [*_remark(section, remarks), f"[{section}]", *_lines(section, table, remarks), ""]
    return "\n".join(lines).strip()


def _lines(section: str, table: Mapping[str, Any], remarks: Mapping[str, str]) -> list[str]:
    lines = []
    for key, value in table.items():
        lines += [*_remark(f"{section}.{key}".lstrip("."), remarks), f"{_key(key)} = {_value(value)}"]
    return lines


def _remark(place: str, remarks: Mapping[str, str]) -> list[str]:
    return [f"# {line}" for line in remarks[place].splitlines()] if place in remarks else []


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, float):
        return repr(value)
    # Texts, whole numbers and truth values are written the same way in JSON and in TOML.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
