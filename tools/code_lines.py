"""Counts lines of code: those of src/ without blank lines, comments and docstrings.

    python tools/code_lines.py [FOLDER]

A line counts if a token of code is on it, by Python's own tokenizer; a text of several lines counts with all of them but the blank ones.
Docstrings, and other texts that stand alone as a statement, are found in the syntax tree. Prints a table: each package by itself,
then the modules that are in none, then all. FOLDER is the package to count; src/tsveil of this checkout when left out.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter
from io import StringIO
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tsveil"
#: tokens that are no code
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """The lines of code in the text of a module.

    Examples
    --------
    >>> code_lines('"Why."' + chr(10) * 2 + "x = 1  # one" + chr(10) + "# two" + chr(10))
    1
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    written = text.split("\n")
    return sum(bool(written[line - 1].strip()) for line in lines)


def main() -> None:
    """Count, and print the table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for file in sorted(folder.rglob("*.py")):
        package = f"{file.relative_to(folder).parts[0]}/" if file.parent != folder else "modules of the top"
        lines[package] += code_lines(file.read_text(encoding="utf-8"))
        files[package] += 1
    print("| package | files | lines of code |\n| --- | ---: | ---: |")
    for package in sorted(lines, key=lambda name: (not name.endswith("/"), name)):
        print(f"| {package} | {files[package]} | {lines[package]:,} |")
    print(f"| all | {files.total()} | {lines.total():,} |")


if __name__ == "__main__":
    main()
