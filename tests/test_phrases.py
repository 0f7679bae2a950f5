"""Phrases that a reader stumbles over do not occur in what users read: pages, templates, messages and docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tsveil"
#: riddles, and passives that hide who does what
PHRASES = (
    "leave the house", "leaves the house", "is told", "are told", "so many", "given away", "of whom", "what is asked", "worth a word",
)  # fmt: skip
FOUND = re.compile(r"\b(" + "|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES) + r")\b", re.IGNORECASE)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")])  # fmt: skip
#: what is read as it stands: templates of pages, scripts, published figures
TEMPLATES = sorted(path for path in SOURCE.rglob("*") if path.suffix in (".j2", ".js", ".html", ".toml"))
MODULES = sorted(SOURCE.rglob("*.py"))


def phrases_in(text: str) -> list[str]:
    return [found[0] for found in FOUND.finditer(text)]


def texts_of(path: Path) -> Iterator[str]:
    """All texts of a module but its comments; of the web app, which has no page of reference, its docstrings are for whoever works on it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) and isinstance(node.body[0], ast.Expr)
    }
    inside = path.relative_to(SOURCE).parts[0] == "web"
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not (inside and id(node) in docstrings):
            yield node.value


@pytest.mark.parametrize("path", [*PAGES, *TEMPLATES], ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_and_templates_have_none(path: Path) -> None:
    assert phrases_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_messages_and_docstrings_have_none(path: Path) -> None:
    assert [(found, text[:80]) for text in texts_of(path) for found in phrases_in(text)] == []


def test_they_would_be_found(tmp_path: Path) -> None:
    assert phrases_in("Nothing may leave\n  the house. It Is Told.") == ["leave\n  the house", "Is Told"]
    assert phrases_in("this told, whomever, of whomever") == []
    module = SOURCE / "core" / "errors.py"
    assert any("Traceback" in text for text in texts_of(module))
    assert len(TEMPLATES) > 20
    assert len(PAGES) > 40
