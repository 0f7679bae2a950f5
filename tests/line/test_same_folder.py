"""One plan run in memory, in one chunk and in many leaves the same release folder, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cases import cases
from release_folders import BLOCKS, contents, released, table
from tsveil.core.registry import METHODS
from tsveil.data import pieces

#: small settings, for those that a method has
SMALL = {"k": 4, "P": 2, "n": 1, "l": 3, "kappa": 20, "buckets": 5}


def _settings() -> list[tuple[str, dict[str, Any], str]]:
    found: list[tuple[str, dict[str, Any], str]] = []
    for name, method in METHODS.items():
        parameters = {parameter.name: parameter for parameter in method.parameters()}
        small = {key: value for key, value in SMALL.items() if key in parameters}
        kinds = ["series", "two series", "attributes", "both"]
        if name in ("kp", "k-envelopes"):
            kinds = ["series"]
        elif "attributes" not in method.takes:
            kinds = ["series", "two series"]
        found += [(name, small, kind) for kind in kinds]
        if "grouping" in parameters and "joint" in parameters["grouping"].choices:
            found += [(name, {**small, "grouping": "joint"}, kind) for kind in kinds if kind != "series"]
        if "rounding" in parameters:
            found.append((name, {**small, "rounding": "input"}, kinds[-1]))
    found += [
        ("mdav", {"k": 4, "refine": "swap"}, "attributes"),
        ("mdav", {"k": 4, "refine": "search", "iterations": 50}, "attributes"),
        ("mdav", {"k": 3, "mode": "partitioned", "part": 100}, "series"),
        ("mdav", {"k": 3, "distance": "sts"}, "two series"),
        ("noise", {"correlated": True}, "attributes"),
        ("projected", {"k": 4, "projection": "sugeno"}, "attributes"),
        ("projected", {"k": 4, "projection": "zscores", "grouping": "fixed"}, "attributes"),
        ("k-envelopes", {"k": 4, "words": "unprotected", "round_to": 0.5}, "series"),
    ]
    return found


VALUES = ("ties", "continuous")
#: methods with so few settings that each is tried on both
FEW = ("kp", "k-envelopes")
#: each on values with ties or without in turn, so that every method has both; in `make exhaustive` each on both
CASES = [
    (*one, values)
    for at, one in enumerate(_settings())
    for values in (VALUES if one[0] in FEW else cases((VALUES[at % 2],), VALUES))
]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("name", "settings", "kind", "values"), CASES)
def test_memory_and_chunks_agree(tmp_path: Path, name: str, settings: dict[str, Any], kind: str, values: str) -> None:
    table(values).write_csv(tmp_path / "in.csv")
    method = {"name": name, **settings}
    expected = contents(released(tmp_path, "memory", method, BLOCKS[kind], {}))
    ways: dict[str, dict[str, Any]] = {"one": {"engine": "local"}, "many": {"chunk": 17}}
    for out, running in ways.items():
        found = contents(released(tmp_path, out, method, BLOCKS[kind], running))
        assert [path for path in {**expected, **found} if expected.get(path) != found.get(path)] == []


@pytest.mark.parametrize(
    ("name", "settings", "kind"),
    [
        ("mdav", {"k": 4, "mode": "partitioned", "part": 100}, "both"),
        ("rank-swap", {}, "attributes"),
        ("nlk", {"n": 1, "l": 3, "k": 4}, "series"),
        ("kp", {"k": 4, "P": 2}, "series"),
        ("k-envelopes", {"k": 4}, "series"),
        ("p-sensitive", {"k": 4}, "attributes"),
    ],
)
def test_releases_of_several_files_agree_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, Any], kind: str
) -> None:
    monkeypatch.setattr(pieces, "ONE_FILE", 10)
    monkeypatch.setattr(pieces, "FILE_ROWS", 50)
    monkeypatch.setattr(pieces, "FILE_VALUES", 10)
    table("ties").write_csv(tmp_path / "in.csv")
    method = {"name": name, **settings}
    expected = contents(released(tmp_path, "memory", method, BLOCKS[kind], {}))
    assert "published/data/part-00002.csv" in expected
    found = contents(released(tmp_path, "many", method, BLOCKS[kind], {"chunk": 17}))
    assert [path for path in {**expected, **found} if expected.get(path) != found.get(path)] == []
