"""The list of faults that `make mutation` puts into the source speaks of the source as it is."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def listed() -> Any:
    """The tool, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("mutate_named", ROOT / "tools" / "mutate_named.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tool
    spec.loader.exec_module(tool)
    return tool


FAULTS = listed().FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_one_place_and_leaves_python(fault: Any) -> None:
    text = (ROOT / "src" / "tsveil" / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1
    changed = text.replace(fault.old, fault.new)
    assert changed != text
    ast.parse(changed)
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
        assert (ROOT / file).is_file()


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 12
