"""Imports go one way, and starting the program loads nothing heavy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tsveil

SOURCE = Path(tsveil.__file__).parent

#: from the bottom to the top; a module may import what stands in its own or an earlier line
ORDER = [
    "core",
    "_kernels",
    "engine",
    "transform",
    "data",
    "distance",
    "guarantee",
    "attack",
    "measure",
    "assess",
    "report",
    "release",
    "protect",
    "sklearn",
    "study",
    "plan",
    "reproduce",
    "web",
    "cli",
]
LEVEL = {name: level for level, name in enumerate(ORDER)}

#: packages that only one part may know
RESERVED = {
    "numba": "_kernels",
    "dask": "engine",
    "distributed": "engine",
    "pyspark": "engine",
    "sklearn": "sklearn",
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
    "path", [p for p in MODULES if part_of(p) not in ("__init__", "__main__")], ids=lambda p: str(p.relative_to(SOURCE))
)
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    for name in imports_of(path):
        if name.startswith("tsveil.") and name != "tsveil.__version__":
            below = name.split(".")[1]
            assert LEVEL[below] <= LEVEL[part], f"{part} must not import {name}"
        owner = RESERVED.get(name.split(".")[0])
        assert owner is None or owner == part, f"only {owner} may import {name}"


def test_private_names_stay_in_their_package() -> None:
    """Nothing whose name begins with an underscore is imported across packages, but for the package of compiled loops itself."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tsveil."):
                _, package, *inside = node.module.split(".")
                private = [
                    word
                    for word in (*inside, *(alias.name for alias in node.names))
                    if word.startswith("_") and word != "_kernels"
                ]
                assert not private or package == part_of(path), f"{path} imports {private} of {node.module}"


@pytest.mark.parametrize("package", ORDER)
def test_packages_say_what_lives_there_and_what_may_not(package: str) -> None:
    text = ast.get_docstring(ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(re.findall(r"[^.]{20,}\.(?:\s|$)", text)) >= 2, "at least two sentences"
    assert re.search(r"\b(nothing|not|no|never|only)\b", text, re.IGNORECASE), "one of them says what may not be there"


def test_packages_are_all_in_the_order() -> None:
    assert sorted(ORDER) == sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def test_the_public_names_are_there() -> None:
    assert sorted(tsveil.__all__) == sorted([*tsveil._PLACES, "__version__"])
    for name in tsveil.__all__:
        assert getattr(tsveil, name) is not None


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, tsveil.cli; print([m for m in ('numba', 'numpy', 'polars', 'scipy', 'rich.table') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_public_names_stay_what_they_are_when_everything_is_imported() -> None:
    """A module that is imported becomes an attribute of its package, and must not take the place of a public name."""
    assert not {name for name in tsveil.__all__ if name not in tsveil._MODULES} & set(ORDER)
    code = """
import importlib, pkgutil, types, tsveil
for module in pkgutil.walk_packages(tsveil.__path__, "tsveil."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in tsveil.__all__:
    value = getattr(tsveil, name)
    if name in tsveil._MODULES:
        assert isinstance(value, types.ModuleType), name
    elif name != "__version__":
        assert callable(value) and value.__name__ == name and value.__module__ == tsveil._PLACES[name], name
assert tsveil.errors.TsveilError
assert tsveil.MDAV(k=2).protect(tsveil.example("food-prices")).verify().holds
assert tsveil.attack.distance and tsveil.distance.euclidean([1.0], [3.0]) == 2.0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
