"""The text of a CSV file to a table: which sign separates cells, which marks decimals, what is a number.

A file is parsed by polars with types inferred from its first rows. When a later row does not fit, all cells are read as text, so that a message can quote what stands there.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import polars as pl

from tsveil.core.errors import InputError, Problems, QuestionError, some
from tsveil.data.file_table import FileTable, Wanted, check_width, first_line
from tsveil.data.formats.header import NUMBERED, looks_like_record, passed_over, question, title_rows
from tsveil.data.questions import Question
from tsveil.data.table import MOST, check_names, numbers_or_text, tell
from tsveil.data.thousands import without_groups

#: in this order: a tab, semicolon or bar that cuts every line alike is never an accident, a comma may be decimal
SEPARATORS = ("\t", ";", "|", ",")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
#: what no text has, and a sign of UTF-8 that is no ASCII
_BINARY = re.compile(rb"[\x00-\x06\x0e-\x19]")
_CHARACTER = re.compile(rb"[\xc3-\xdf][\x80-\xbf](?![\x80-\xbf])|[\xe1-\xef][\x80-\xbf]{2}")
#: rows whose types are inferred; lines, and bytes of them, that are looked at to find the separator
_SAMPLE = 1000
_LINES = 200
_BYTES = 1_000_000


def table_of_csv(data: bytes, wanted: Wanted, problems: Problems) -> FileTable:
    """The table of a CSV file; a separator and a decimal mark that are not given are found."""
    data, notes = as_utf8(data, problems)
    if not data or data.isspace():
        raise InputError(f"{problems.subject}: the file is empty")
    lines = tuple(_first_lines(data))
    separator = "\t" if wanted.separator == "tab" else wanted.separator
    questions: tuple[Question, ...] = ()
    if wanted.header is False:
        separator = separator or _separator(lines)
        width = max(len(row) for row in _cells(lines, separator))
        first = separator.join(f"column_{at + 1}" for at in range(width))
        data, lines = f"{first}\n".encode() + data, (first, *lines)
        notes += (NUMBERED,)
    else:
        titles, separator = _titles(lines, separator)
        if titles:
            notes += (passed_over(lines[:titles]),)
            data, lines = data.split(b"\n", titles)[-1], lines[titles:]
    separator = separator or _separator(lines)
    rows = _cells(lines, separator)
    header = rows[0]
    check_width(len(header), problems)
    decimal = wanted.decimal or _decimal(rows[1:], separator)
    if wanted.header is None and looks_like_record(header, rows[1:]):
        questions = (question(header),)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice and not questions:
        problems.add(f"column named more than once: {some(twice)}")
        problems.hint("the first line must hold the names of the columns, each a different one")
        problems.raise_if_any()
    if twice:
        raise QuestionError(f"{problems.subject.removesuffix(' cannot be read')} {questions[0]}")

    check_names(header, problems)
    problems.raise_if_any()
    names: dict[str, str] = {}
    if any('"' in name for name in header):  # polars leaves them doubled in names
        raw = pl.read_csv(io.BytesIO(data), separator=separator, n_rows=0, infer_schema=False).columns
        names = dict(zip(raw, header, strict=False))
    written = {name: as_it_is for as_it_is, name in names.items()}

    def parse(columns: Sequence[str] | None = None, **options: Any) -> pl.DataFrame:
        given: dict[str, Any] = {} if columns is None else {"columns": [written.get(name, name) for name in columns]}
        return pl.read_csv(io.BytesIO(data), separator=separator, **given, **options).rename(names, strict=False)

    # Beside decimal commas a point groups thousands, and polars would take 1.234 for a number a thousand times too small.
    if decimal == "." or data.find(b".", data.find(b"\n")) < 0:
        try:
            frame = parse(infer_schema_length=_SAMPLE, decimal_comma=decimal == ",")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # a cell far down does not fit; as text every cell fits
        else:
            table = FileTable(frame, "csv", separator, decimal, lambda names: parse(names, infer_schema=False), notes)
            return without_groups(replace(table, questions=questions), wanted.decimal)
    try:
        texts = parse(infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _tell_uneven(data, separator, len(header), problems)
        problems.raise_if_any()
        raise InputError(f"{problems.subject}: it is not well-formed CSV ({first_line(error)})") from error
    frame = texts.select(numbers_or_text(texts[name], decimal) for name in texts.columns)
    table = FileTable(frame, "csv", separator, decimal, lambda names: texts.select(names), notes)
    return without_groups(replace(table, questions=questions), wanted.decimal)


def _titles(lines: tuple[str, ...], separator: str | None) -> tuple[int, str | None]:
    """The number of lines with a title above the names of columns, and the separator by which they stand out."""
    even = [separator] if separator else [sign for sign in SEPARATORS if _is_even(lines, sign)]
    for sign in even or SEPARATORS:
        try:
            rows = [next(csv.reader([line], delimiter=sign), []) for line in lines]
        except csv.Error:
            continue
        titles = title_rows(rows)
        if not titles or "".join(lines[:titles]).count('"') % 2:  # a name in quotation marks that has a line break
            continue
        width, short = len(rows[titles]), len(rows[0]) < len(rows[titles])
        mixed = any(other in cell for cell in rows[titles] for other in SEPARATORS)
        if (short or rows[0].count("") > 1) and not mixed and all(len(row) == width for row in rows[titles:] if row):
            return titles, sign
    return 0, separator


def as_utf8(data: bytes, problems: Problems) -> tuple[bytes, tuple[str, ...]]:
    """The text as UTF-8, without a byte-order mark and with line ends that polars knows; and a note if it was encoded otherwise.

    UTF-16 is known by its byte-order mark or by the zeros of its digits and separators. Text that is no UTF-8 is taken for Windows-1252, which has all signs of
    latin-1, unless it is UTF-8 in other places: then it is damaged, or two texts were put together.

    Examples
    --------
    >>> as_utf8("Z\xe4hler,1".encode("latin-1"), Problems("meters.csv cannot be read"))
    (b'Z\xc3\xa4hler,1', ('the text was read as Windows-1252, because it is not UTF-8',))
    """
    notes: tuple[str, ...] = ()
    if (wide := _of_two_bytes(data)) is not None:
        try:
            data = data.decode(wide).encode("utf-8")
        except UnicodeDecodeError:
            problems.add("the text is encoded as UTF-16 and damaged, or cut off")
            problems.hint("options: fetch or write the file again, as 'CSV UTF-8' where there is a choice")
            problems.raise_if_any()
        notes = ("the text was read as UTF-16",)
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            data = _from_windows(data, error.start, problems)
            notes = ("the text was read as Windows-1252, because it is not UTF-8",)
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if b"\n" not in data and b"\r" in data:
        return data.replace(b"\r", b"\n"), notes
    return data, notes


def _of_two_bytes(data: bytes) -> str | None:
    """The kind of UTF-16 that a text is encoded in, if it is."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    start = data[:200]
    if len(start) >= 4 and start[1::2].count(0) > len(start) / 4 and 0 not in start[::2]:
        return "utf-16-le"
    return "utf-16-be" if len(start) >= 4 and start[::2].count(0) > len(start) / 4 and 0 not in start[1::2] else None


def _from_windows(data: bytes, place: int, problems: Problems) -> bytes:
    """A text that is no UTF-8, read as Windows-1252; `place` is the first byte that does not fit UTF-8."""
    where = f"line {data.count(bytes([10]), 0, place) + 1} of the file has the byte {data[place]:#x}"
    if _BINARY.search(data[:_BYTES]):
        problems.add(f"it is no text ({where})")
        problems.hint("options: save the table as CSV (UTF-8) or Parquet")
    elif _CHARACTER.search(data):
        problems.add(f"the text is encoded as UTF-8, but for some places ({where})")
        problems.hint(
            "options: write the file again; or, if it was put together of several, each of them as 'CSV UTF-8'"
        )
    else:
        try:
            return data.decode("cp1252").encode("utf-8")
        except UnicodeDecodeError:
            problems.add(f"the text is encoded neither as UTF-8 nor as Windows-1252 ({where})")
            problems.hint("options: save the file as 'CSV UTF-8', or convert it: iconv -f ENCODING -t UTF-8 OLD > NEW")
    problems.raise_if_any()
    raise AssertionError


def _first_lines(data: bytes) -> Iterator[str]:
    """The first lines of a text: at least two, unless it has only one."""
    start = 0
    for number in range(_LINES):
        if number > 1 and start > _BYTES:
            return
        end = data.find(b"\n", start)
        yield data[start : end if end >= 0 else len(data)].decode("utf-8").rstrip("\r")
        start = end + 1
        if end < 0 or start == len(data):
            return


@lru_cache(maxsize=len(SEPARATORS))
def _cells(lines: tuple[str, ...], separator: str) -> Sequence[Sequence[str]]:
    """The cells of some lines; a line break inside a quoted cell joins two of them. They are looked at several times."""
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row] or [[""]]
    except csv.Error:  # a cell of more than 100,000 characters
        return [line.split(separator) for line in lines]


def _separator(lines: tuple[str, ...]) -> str:
    """The separator that cuts all lines into the same number of cells; else the one that cuts the first line most."""
    for separator in SEPARATORS:
        if _is_even(lines, separator):
            return separator
    return max(reversed(SEPARATORS), key=lines[0].count)


def _is_even(lines: tuple[str, ...], separator: str) -> bool:
    """Whether it cuts all lines into the same number of cells, more than one."""
    widths = {len(row) for row in _cells(lines, separator)}
    return len(widths) == 1 and widths.pop() > 1


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """A decimal comma, when the cells show it and nothing speaks against it."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if "," in cell and _WITH_COMMA.fullmatch(cell)]
    if not commas or any(_WITH_POINT.fullmatch(cell) for cell in cells):
        return "."
    # 1,234 may be a thousand; files cut by semicolons come from places where it is not.
    return "," if separator == ";" or not all(_THOUSANDS.fullmatch(cell) for cell in commas) else "."


def _tell_uneven(data: bytes, separator: str, width: int, problems: Problems) -> None:
    """Rows with more or fewer cells than there are columns."""
    examples, count = [], 0
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), delimiter=separator)
        for row, cells in enumerate(reader):
            if cells and len(cells) != width:
                count += 1
                if count <= MOST:
                    examples.append(f"row {row} has {len(cells)} cells, but there are {width} columns")
    except csv.Error:
        pass  # what was found so far is told
    tell(problems, examples, count, "rows with too many or too few cells")
    if count:
        problems.hint("rows are counted from 1 after the column names")
        problems.hint(f"the cells are separated by {separator!r}; if that is wrong, give separator=")
