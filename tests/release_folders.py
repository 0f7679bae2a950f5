"""Small data of every kind, and whole release folders as something that can be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.types import Array
from tsveil.data.pieces import make_store
from tsveil.plan.plan import Input, Output, Plan, Running
from tsveil.plan.run import run
from tsveil.release.release import Release

RECORDS = 123
#: kind of data -> its blocks
BLOCKS: dict[str, dict[str, Any]] = {
    "series": {"load": {"from": "2018-01-01", "to": "2018-01-08"}},
    "two series": {
        "first": {"from": "2018-01-01", "to": "2018-01-04", "kind": "series"},
        "second": {"from": "2018-01-05", "to": "2018-01-08", "kind": "series"},
    },
    "attributes": {"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"]},
    "both": {"load": {"from": "2018-01-01", "to": "2018-01-08"}, "a": ["a0", "a1", "a2"]},
}


def table(values: str) -> pl.DataFrame:
    """Records with an identifier and a carried column: whole numbers with many ties, duplicates and a constant, or continuous values."""
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 6, (RECORDS, 14)).astype(np.float64)
    whole[20:40], whole[:, 12] = whole[20], 3.0
    x = whole if values == "ties" else rng.normal(size=(RECORDS, 14)).cumsum(axis=1)
    columns: dict[str, Any] = {
        "id": [f"p{at:03d}" for at in range(RECORDS)],
        "town": [f"t{at % 4}" for at in range(RECORDS)],
    }
    columns |= {f"2018-01-{day + 1:02d}": x[:, day] for day in range(8)}
    columns |= {f"a{at}": x[:, 8 + at].astype(np.int64) if values == "ties" else x[:, 8 + at] for at in range(3)}
    return pl.DataFrame(columns | {f"b{at}": x[:, 11 + at] for at in range(3)})


def released(
    base: Path, out: str, method: dict[str, Any], blocks: dict[str, Any], running: dict[str, Any], **more: Any
) -> Path:
    """The folder of a release of in.csv."""
    plan = Plan(
        input=Input(path="in.csv", id="id", blocks=blocks, confidential=["town"]),
        method=method,
        output=Output(folder=out),
        run=Running(**running),
        seed=7,
        secret="",
        **more,
    )
    return run(plan, base=base).folder


def contents(folder: Path) -> dict[str, Any]:
    """Every file of a release by its path, without the words that say how and when it was made."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    facts = json.loads(found.pop("private/release.json"))
    assert facts.pop("run")
    assert facts.pop("written")
    assert found.pop("private/record.jsonl")
    if "private/ledger.json" in found:
        found["private/ledger.json"] = ledger_without_times(found["private/ledger.json"])
    del found["private/plan.toml"]  # it says how the release was to be made
    return found | {"private/release.json": facts}


def ledger_without_times(content: bytes) -> dict[str, Any]:
    """What a ledger says, except for when its releases were made, and the hash that depends on it."""
    ledger: dict[str, Any] = json.loads(content)
    assert ledger.pop("check")
    for one in ledger["releases"]:
        assert one.pop("made")
    return ledger


def with_values(release: Release, made: Array) -> Release:
    """The release as if its method had made other values (of envelopes: bounds, letters, level and mark) of the records, in the order of the data."""
    kept, data = release.contents, release.original
    groups = np.column_stack([labels for _, labels in release.labels])
    store = make_store(
        kept.source, data.values, made, data.others, release.store.get("records"), units=kept.units, groups=groups
    )
    store.put("names", release.store.get("names"))
    return replace(release, store=store)
