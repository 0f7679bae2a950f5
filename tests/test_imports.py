"""Imports go one way, and starting the program loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tsveil

SOURCE = Path(tsveil.__file__).parent

#: from the bottom to the top; a module may import what stands in its own or an earlier line
ORDER = [
    ["_types", "errors"],
    ["params", "plan_problems", "progress", "randomness", "technique"],
    ["_kernels", "engine"],
    ["data", "transform", "distance"],
    ["guarantee"],
    ["attack"],
    ["measure"],
    ["release"],
    ["protect"],
    ["plugins", "registry"],
    ["study", "report"],
    ["publish"],
    ["plan"],
    ["reopened", "comparison", "sweep_plan"],
    ["reproduce"],
    ["terminal"],
    ["cli", "web"],
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}

#: the imports that go upwards, each inside a function, with the reason
UPWARDS = {
    (
        "release",
        "plan",
    ): "a release writes itself into a folder, with the reports and the plan that would make it again",
}

#: packages that only one part may know
RESERVED = {
    "numba": "_kernels",
    "dask": "engine",
    "distributed": "engine",
    "pyspark": "engine",
    "starlette": "web",
    "uvicorn": "web",
}

MODULES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            if node.module == "tsveil":
                found |= {f"tsveil.{alias.name}" for alias in node.names}
            else:
                found.add(node.module)
    return found


@pytest.mark.parametrize(
    "path", [p for p in MODULES if part_of(p) != "__init__"], ids=lambda p: str(p.relative_to(SOURCE))
)
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    for name in imports_of(path):
        if name.startswith("tsveil.") and name != "tsveil.__version__":
            below = name.split(".")[1]
            assert LEVEL[below] <= LEVEL[part] or (part, below) in UPWARDS, f"{part} must not import {name}"
        owner = RESERVED.get(name.split(".")[0])
        assert owner is None or owner == part, f"only {owner} may import {name}"


def test_the_public_names_are_there() -> None:
    assert sorted(tsveil.__all__) == sorted([*tsveil._PLACES, "__version__"])
    for name in tsveil.__all__:
        assert getattr(tsveil, name) is not None


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, tsveil.cli; print([m for m in ('numba', 'numpy', 'polars', 'altair', 'scipy', 'rich.table') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
