"""Where the names of columns stand: in the first line, below lines with a title, or nowhere."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tsveil.core.errors import Problems, some
from tsveil.data.file_table import Wanted
from tsveil.data.questions import Question

#: lines that may stand above the names of columns
_MOST_TITLES = 20
#: what is said of a file without them
NUMBERED = "the first line is a record, and the columns are numbered"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DECIMALS = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")
_LETTERS, _DIGITS = re.compile(r"[A-Za-z]"), re.compile(r"\d")

Row = Sequence[str | None]


@dataclass(frozen=True)
class Header:
    """The names of columns, and where the records begin."""

    #: the place of each column in a row, and its name
    columns: tuple[tuple[int, str], ...]
    #: the row of the first record
    first: int
    notes: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()

    def check(self, problems: Problems) -> None:
        """Each name is another one."""
        twice = [name for name, count in Counter(name for _, name in self.columns).items() if count > 1]
        if twice:
            problems.add(f"column named more than once: {some(twice)}")
            problems.hint("the first line must hold the names of the columns, each a different one")
            problems.raise_if_any()


def header_of(
    rows: Sequence[Row],
    wanted: Wanted,
) -> Header:
    """The names of columns among the first rows of a table; what may be a record is asked about.

    Examples
    --------
    >>> header_of([["Readings of May", None], ["meter", "kwh"], ["a", "1.5"], ["b", "2.5"]], Wanted()).notes
    ("1 line above the names of the columns was passed over: 'Readings of May'",)
    >>> found = header_of([["a", "1.5"], ["b", "2.5"], ["c", "3.5"]], Wanted(header=False))
    >>> [name for _, name in found.columns], found.first
    (['column_1', 'column_2'], 0)
    """
    if wanted.header is False:
        width = max(map(len, rows), default=0)
        return Header(tuple((at, f"column_{at + 1}") for at in range(width)), 0, (NUMBERED,))
    titles = title_rows(rows)
    names = rows[titles] if len(rows) > titles else []
    kept = [
        at
        for at, name in enumerate(names)
        if name is not None or any(row[at] is not None for row in rows[titles + 1 :] if at < len(row))
    ]
    notes = (passed_over([" ".join(cell for cell in row if cell) for row in rows[:titles]]),) if titles else ()
    questions: tuple[Question, ...] = ()
    if wanted.header is None and looks_like_record(names, rows[titles + 1 :]):
        questions = (question(names),)
    return Header(tuple((at, names[at] or "") for at in kept), titles + 1, notes, questions)


def passed_over(lines: Sequence[str]) -> str:
    """What is said of lines above the names of columns.

    Examples
    --------
    >>> passed_over(["Readings of May", ""])
    "2 lines above the names of the columns were passed over: 'Readings of May'"
    """
    many = (
        f"{len(lines)} lines above the names of the columns were"
        if len(lines) > 1
        else "1 line above the names of the columns was"
    )
    return f"{many} passed over: {some([text[:60] for line in lines if (text := line.strip(' ,;|'))], 3)}"


def question(names: Row) -> Question:
    """Whether the first line is a record."""
    return Question(
        f"begins with a line that looks like a record, not like names of columns: {some([name or '' for name in names], 4)}.",
        (
            ("Is it a record? Then columns are numbered.", "--no-header"),
            ("Or are these the names of the columns?", "--header"),
        ),
    )


def title_rows(rows: Sequence[Row]) -> int:
    """The number of lines above the names of the columns: with fewer cells than these, and not more than a word or two.

    Examples
    --------
    >>> title_rows([["Readings", "", ""], ["", "", ""], ["meter", "mon", "tue"], ["a", "1", "2"], ["b", "3", "4"]])
    2
    >>> title_rows([["meter", "mon", "tue"], ["a", "", ""], ["b", "3", "4"]])
    0
    """
    filled = [sum(bool(cell) for cell in row) for row in rows]
    if len(rows) < 3 or filled[0] >= (width := max(filled)) or width < 2:
        return 0
    for at in range(1, min(len(rows) - 1, _MOST_TITLES + 1)):
        cells = [cell for cell in rows[at] if cell]
        # pandas writes no name above row numbers.
        if len(cells) >= 2 and len(cells) >= width - (not rows[at][0]):
            above = filled[:at]
            if (
                max(above) <= max(1, len(cells) // 2)
                and len(set(cells)) == len(cells)
                and not _NUMBER.fullmatch(cells[0])
            ):
                return at
            return 0
    return 0


def looks_like_record(names: Row, below: Sequence[Row]) -> bool:
    """Whether the first line looks like the records below it: measured numbers with decimals, or the like beside an identifier.

    Times and counted columns as names are numbers, too: 2001, 2002, or 0, 1, 2. They go one way, and have no decimals.

    Examples
    --------
    >>> looks_like_record(["MAC1", "0.5", "0.25"], [["MAC2", "1.5", "1.25"]]), looks_like_record(["id", "1", "2"], [["a", "1.5", "1.25"]])
    (True, False)
    """
    if not below or not names:
        return False
    measured = [at for at, name in enumerate(names) if name and _DECIMALS.fullmatch(name)]
    if not measured:
        return False
    values = [float((names[at] or "").replace(",", ".")) for at in measured]
    rising = len(values) > 2 and all(a < b for a, b in itertools.pairwise(values))
    steps = {round(b - a, 9) for a, b in itertools.pairwise(values)}
    if rising and len(steps) == 1:
        return False
    others = [at for at, name in enumerate(names) if name and not _NUMBER.fullmatch(name) and at not in measured]
    alike = all(_alike(names[at] or "", [row[at] for row in below[:50] if at < len(row)]) for at in others)
    return alike and 2 * (
        len(measured) + sum(1 for at, n in enumerate(names) if n and _NUMBER.fullmatch(n) and at not in measured)
    ) >= len(names)


def _alike(name: str, cells: Row) -> bool:
    """Whether a word could be one of the cells below it."""
    shapes = {_shape(cell) for cell in cells if cell}
    return _shape(name) in shapes or name in cells


def _shape(text: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("9", text))
