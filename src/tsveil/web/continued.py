"""A release that continues an earlier one, as its job makes it: the roles and the plan are those of the last release, the data are new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tsveil.data.categories import with_absolute_paths
from tsveil.data.read import look_at
from tsveil.plan.plan import Input, Output, Plan
from tsveil.plan.stored import plan_of_release
from tsveil.report.context import Context

#: the name of a release that continues an earlier one, where others have the key of their configuration
CONTINUED = "continued"


def roles_of_last(after: Path, file: Path) -> dict[str, Any]:
    """The roles of the last release, as far as the columns of a new file allow."""
    plan, base = plan_of_release(after)
    before = msgspec.to_builtins(plan.input)
    before["categories"] = with_absolute_paths(plan.input.categories, base.absolute())
    seen = look_at(file)
    return carried_over(before, seen.options(), seen.columns)


def carried_over(before: Mapping[str, Any], guessed: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Earlier roles for a file with these columns; a series whose columns are new times keeps its name.

    Examples
    --------
    >>> before = {"path": "01.csv", "id": "who", "confidential": ["heating"], "blocks": {"load": {"from": "01-01", "to": "01-31"}}}
    >>> carried_over(before, {"layout": "wide", "blocks": {"series": {"from": "02-01", "to": "02-28"}}}, ["who", "heating", "02-01", "02-28"])
    {'id': 'who', 'confidential': ['heating'], 'blocks': {'load': {'from': '02-01', 'to': '02-28'}}}
    """
    found: dict[str, Any] = {}
    for name, value in before.items():
        if name in ("id", "time", "variable", "value", "person", "leave_out", "numbers", "confidential"):
            kept = [value] if isinstance(value, str) else [one for one in value if one in columns]
            if not kept or kept[0] not in columns:
                continue
            value = value if isinstance(value, str) else kept
        elif name == "categories":
            value = {column: kind for column, kind in value.items() if column in columns}
        elif name in ("path", "blocks"):
            continue
        if value or value is False:
            found[name] = value
    blocks, own = before.get("blocks") or {}, guessed.get("blocks") or {}
    if blocks and all(name in columns for spec in blocks.values() for name in _columns(spec)):
        found["blocks"] = blocks
    elif len(blocks) == len(own) == 1:
        found["blocks"] = dict(zip(blocks, own.values(), strict=True))
    return found


def _columns(spec: Any) -> list[str]:
    """The columns that a block names."""
    if isinstance(spec, Mapping):
        return [spec["from"], spec["to"]] if "from" in spec else list(spec["columns"])
    return list(spec)


def plan_that_continues(task: Mapping[str, Any]) -> Plan:
    """The plan of the next release: that of the last one, for other data and into another folder."""
    after = Path(task["after"])
    last, base = plan_of_release(after)
    intruder = last.intruder
    if intruder.other_period:  # its path counts from the folder of that plan
        intruder = msgspec.structs.replace(intruder, other_period=str((base / intruder.other_period).absolute()))
    return Plan(
        input=msgspec.convert({"path": task["path"], **task["input"]}, Input),
        method=last.method,
        output=Output(
            folder="release",
            title=task["title"],
            after=str(after),
            ids=task["ids"],
            regroup=task["regroup"],
            formulas="neutralise",
        ),
        evaluate=last.evaluate,
        intruder=intruder,
        limits=last.limits,
        context=Context(**task["context"]),
        seed=int(task["seed"]),
        secret="",
    )
