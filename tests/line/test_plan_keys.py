"""Every key of a plan counts in a run in chunks: another value changes something in the release folder, or is refused.

A key that nobody thought of when the work was cut into chunks would be passed over in silence. So this table has a case for each key of the
plan's schema, and a key without one fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import polars as pl
import pytest

from engine_files import write_files
from release_folders import BLOCKS, contents, table
from tsveil.core.errors import TsveilError
from tsveil.plan.plan import Plan
from tsveil.plan.run import run
from tsveil.report.context import QUESTIONS

#: what a plan says unless a case says otherwise
USUAL: dict[str, Any] = {
    "seed": 7,
    "secret": "",
    "input": {"path": "in.csv", "id": "id", "blocks": BLOCKS["series"], "confidential": ["town"]},
    "method": {"name": "mdav", "k": 4},
    "output": {"folder": "out"},
    "evaluate": {},
    "run": {"chunk": 17},
    "context": {},
    "limits": {},
    "intruder": {},
}
ATTRIBUTES: dict[str, Any] = {"input.blocks": BLOCKS["attributes"]}
APART: dict[str, Any] = {"method.grouping": "per-block"}
LONG: dict[str, Any] = {
    "input": {"path": "long.csv", "layout": "long", "id": "id", "time": "hour", "variable": "kind", "value": "kwh"}
}
FOLDER: dict[str, Any] = {"input.path": "folder", "run": {}}
MEMORY: dict[str, Any] = {"run": {}}
CONTINUED: dict[str, Any] = {"output": {"folder": "out", "after": "earlier"}}


class Case(NamedTuple):
    """A value for a key, and what follows from it."""

    value: Any
    #: the file that must change, or "run" for the sentence on how the work was done, or "folder" for the name of the folder
    changes: str = ""
    #: what is said when it is refused
    refused: str = ""
    #: what else the plan says, before and after
    given: Mapping[str, Any] = MappingProxyType({})


DATA, GROUPS, FACTS = "published/data.csv", "private/groups.csv", "private/release.json"
KEYS: dict[str, Case] = {
    "seed": Case(8, "private/id_map.csv"),
    "secret": Case("words that nobody guesses", "private/id_map.csv"),
    "method": Case({"name": "mdav", "k": 5}, DATA),
    "input.path": Case("other.csv", DATA),
    "input.layout": Case("long", refused="time"),
    "input.id": Case("name", "private/id_map.csv"),
    "input.blocks": Case({"load": {"from": "2018-01-01", "to": "2018-01-04"}}, DATA),
    "input.confidential": Case([], DATA),
    "input.person": Case(["name"], "private/id_map.csv"),
    "input.leave_out": Case(["a0"], DATA, given={"input": {"path": "plain.csv", "id": "id"}}),
    "input.numbers": Case(
        [], refused="may be codes", given={"input": {"path": "codes.csv", "id": "id", "numbers": ["a0"]}}
    ),
    "input.categories": Case(
        {"town": "nominal"}, DATA, given={"input": {"path": "in.csv", "id": "id", "blocks": BLOCKS["series"]}}
    ),
    "input.independent_rows": Case(
        False, refused="several rows for the same", given={"input": {"path": "owners.csv", "independent_rows": True}}
    ),
    "input.transpose": Case(True, DATA, given={"input": {"path": "turned.csv", "transpose": False}}),
    "input.time": Case("minute", DATA, given=LONG),
    "input.time_format": Case(
        "day-first", FACTS, given={"input": {"path": "dates.csv", "id": "id", "time_format": "month-first"}}
    ),
    "input.variable": Case("sort", DATA, given=LONG),
    "input.value": Case("kw", DATA, given=LONG),
    "input.separator": Case(";", refused="cannot be used"),
    "input.decimal": Case(",", refused="holds text, not numbers"),
    "input.header": Case(False, refused="which may be codes"),
    "input.sheet": Case("first", refused="which has no sheets"),
    "input.table": Case("first", refused="which has no tables"),
    "input.query": Case("SELECT 1", refused="which has no tables to query"),
    "input.missing": Case("interpolate", DATA, given={"input.path": "gaps.csv", "input.missing": "drop"}),
    "input.resample": Case(4, DATA),
    "input.split": Case(2, GROUPS),
    "input.block_size": Case(2, GROUPS, given=ATTRIBUTES),
    "input.blocks_by": Case("scattered", GROUPS, given=ATTRIBUTES | APART | {"input.block_size": 2}),
    "output.folder": Case("elsewhere", "folder"),
    "output.format": Case("parquet", "published/data.parquet"),
    "output.title": Case("Meters of a town", "published/report.html"),
    "output.after": Case("earlier", DATA),
    "output.ids": Case("stable", "private/id_map.csv", given=CONTINUED),
    "output.regroup": Case(True, GROUPS, given=CONTINUED),
    "output.formulas": Case("keep", DATA, given={"input.path": "formulas.csv"}),
    "evaluate.ties": Case("first", FACTS),
    "evaluate.scaling": Case("own", FACTS),
    "evaluate.dr1": Case("mean", FACTS),
    "evaluate.normalise": Case("none", FACTS),
    "evaluate.variant": Case("paper", FACTS),
    "evaluate.models": Case(["ses"], FACTS),
    "evaluate.known": Case(["a0"], FACTS, given=ATTRIBUTES),
    "evaluate.counts": Case([1], FACTS, given=ATTRIBUTES),
    "evaluate.by": Case("blocks", FACTS, given=ATTRIBUTES),
    "evaluate.score": Case("classic", FACTS, given=ATTRIBUTES),
    "evaluate.matched": Case("nearest", FACTS, given=ATTRIBUTES),
    "evaluate.targets": Case(20, FACTS),
    "run.memory": Case("1", "run", given=FOLDER),
    "run.chunk": Case(50, "run"),
    "run.engine": Case("local", "run", given=MEMORY),
    "run.scheduler": Case("tcp://127.0.0.1:1", refused="scheduler", given=MEMORY),
    "run.master": Case("spark://127.0.0.1:1", refused="master", given=MEMORY),
    **{f"context.{name}": Case(f"answer to {name}", "private/report.html") for name in QUESTIONS},
    "context.accepted_risk": Case(12.5, refused="accepted-risk", given={"context": {"accepted_risk": 50.0}}),
    "intruder.knows": Case("part", "private/assessment.json"),
    "intruder.other_period": Case("other.csv", FACTS),
    "intruder.knows_carried": Case(["town"], "private/assessment.json"),
    "limits.accepted_risk": Case("1/5", refused="accepted-risk"),
    "limits.exposed": Case(
        0,
        refused="accepted-risk",
        given={
            "input.path": "other.csv",
            "limits": {"accepted_risk": 24.0},
            "method": {"name": "mdav", "k": 4, "refine": "swap"},
        },
    ),
    "limits.unique_records": Case(0, refused="whole-record", given={"input.blocks": BLOCKS["two series"]} | APART),
    "limits.subtraction": Case(0, refused="attribute-disclosure"),
    "limits.attribute_disclosure": Case(0, refused="attribute-disclosure", given={"input.path": "disclosing.csv"}),
}


def keys(kind: type[msgspec.Struct], before: str = "") -> Iterator[str]:
    """All keys of a plan's schema, as 'section.key'."""
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from keys(field.type, f"{before}{field.encode_name}.")
        else:
            yield f"{before}{field.encode_name}"


def test_every_key_of_the_schema_has_a_case() -> None:
    found = set(keys(Plan)) - {"version"}  # of which there is one
    assert {"seed", "method", "input.path", "run.memory", "context.purpose"} <= found
    assert set(KEYS) == found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the cases read."""
    base = tmp_path_factory.mktemp("keys")
    plain = table("ties").with_columns(name="n" + pl.col("id"))
    plain.write_csv(base / "in.csv")
    table("continuous").with_columns(name="n" + pl.col("id")).write_csv(base / "other.csv")
    plain.with_columns(town="=" + pl.col("town")).write_csv(base / "formulas.csv")
    gap = pl.when(pl.int_range(pl.len()) == 40).then(None).otherwise("2018-01-03").alias("2018-01-03")
    plain.with_columns(gap).write_csv(base / "gaps.csv")
    plain.with_columns(
        town=pl.when(pl.int_range(pl.len()).is_between(20, 39)).then(pl.lit("x")).otherwise("town")
    ).write_csv(base / "disclosing.csv")
    write_files(base / "folder", plain, 2)
    attributes = table("continuous").select("id", "a0", "a1", "b0", "b1")
    attributes.write_csv(base / "plain.csv")
    attributes.with_columns(a0=pl.int_range(pl.len()) % 3).write_csv(base / "codes.csv")
    attributes.with_columns(customer_id=pl.int_range(pl.len()) // 2).drop("id").write_csv(base / "owners.csv")
    days_of = {f"MAC{3 * at}": attributes["a0"][at : at + 30] for at in range(25)}
    pl.DataFrame({"day": [f"2020-01-{day + 1:02d}" for day in range(30)], **days_of}).write_csv(base / "turned.csv")
    attributes.rename({"a0": "01/02/2020", "a1": "01/03/2020", "b0": "01/04/2020", "b1": "01/05/2020"}).write_csv(
        base / "dates.csv"
    )
    days = BLOCKS["two series"]["first"]
    first = plain.columns.index(days["from"])
    tall = plain.unpivot(plain.columns[first : first + 4], index="id", variable_name="day", value_name="kwh")
    hour = pl.col("day").str.tail(1).cast(pl.Int64)
    tall.with_columns(
        hour=hour,
        minute=hour * (hour - 3) ** 2 + hour,  # another order, and other distances
        kind=pl.lit("load"),
        sort=pl.lit("gas"),
        kw=pl.col("kwh") * hour,
    ).drop("day").write_csv(base / "long.csv")
    first_days = {"load": {"from": "2018-01-01", "to": "2018-01-04"}}
    earlier = with_key(
        with_key(with_key(USUAL, "input.blocks", first_days), "output.folder", "earlier"),
        "input.path",
        str(base / "in.csv"),
    )
    run(msgspec.convert(earlier, Plan), base=base)
    return base


def with_key(plan: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The plan with another value for a key."""
    changed = deepcopy(plan)
    *section, name = key.split(".")
    place = changed[section[0]] if section else changed
    place[name] = value
    return changed


def left(plan: dict[str, Any], base: Path, out: Path) -> tuple[dict[str, Any], str]:
    """All files of a release, and the sentence on how the work was done."""
    made = msgspec.convert(plan, Plan)
    place = base / made.input.path
    made = msgspec.structs.replace(made, input=msgspec.structs.replace(made.input, path=str(place)))
    if made.intruder.other_period:
        known = str(base / made.intruder.other_period)
        made = msgspec.structs.replace(made, intruder=msgspec.structs.replace(made.intruder, other_period=known))
    if made.output.after:
        earlier = str(base / made.output.after)
        made = msgspec.structs.replace(made, output=msgspec.structs.replace(made.output, after=earlier))
    folder = run(made, base=out).folder
    assert folder == out / plan["output"]["folder"]
    return contents(folder), json.loads((folder / FACTS).read_text())["run"]


@pytest.mark.filterwarnings("ignore:accepted_risk stands in:FutureWarning")
@pytest.mark.parametrize("key", KEYS)
def test_a_key_changes_something_or_is_refused(base: Path, tmp_path: Path, key: str) -> None:
    case, plan = KEYS[key], USUAL
    for name, value in case.given.items():
        plan = with_key(plan, name, value)
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before, done = left(plan, base, tmp_path / "before")
    assert plan["run"] != USUAL["run"] or " chunks of 17 records" in done
    changed = with_key(plan, key, case.value)
    if case.refused:
        with pytest.raises(TsveilError, match=case.refused):
            left(changed, base, tmp_path / "after")
        assert list((tmp_path / "after").iterdir()) == []
        return
    after, done_so = left(changed, base, tmp_path / "after")
    if case.changes == "folder":  # `left` looked for its name
        assert after == before
    elif case.changes == "run":
        assert done_so != done
        assert after == before  # where the work is done changes nothing else
    else:
        assert after[case.changes] != before.get(case.changes)
