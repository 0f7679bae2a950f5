"""The text of a CSV file to a table: which sign separates cells, which marks decimals, what is a number.

A file is parsed by polars with types inferred from its first rows. When a later row does not fit, all cells are read as text, so that a message can quote what stands there.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.data.file_table import FileTable, check_width, first_line
from tsveil.data.table import MOST, as_numbers, check_names, tell

#: in this order: a tab, semicolon or bar that cuts every line alike is never an accident, a comma may be decimal
SEPARATORS = ("\t", ";", "|", ",")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
#: rows whose types are inferred; lines, and bytes of them, that are looked at to find the separator
_SAMPLE = 1000
_LINES = 200
_BYTES = 1_000_000


def table_of_csv(data: bytes, separator: str | None, decimal: str | None, problems: Problems) -> FileTable:
    """The table of a CSV file; a separator and a decimal mark that are not given are found."""
    data = as_utf8(data, problems)
    if not data or data.isspace():
        raise InputError(f"{problems.subject}: the file is empty")
    lines = list(_first_lines(data))
    separator = separator or _separator(lines)
    rows = _cells(lines, separator)
    header = rows[0]
    check_width(len(header), problems)
    decimal = decimal or _decimal(rows[1:], separator)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        problems.add(f"column named more than once: {some(twice)}")
        problems.hint("the first line must hold the names of the columns, each a different one")
        problems.raise_if_any()

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
            return FileTable(frame, "csv", separator, decimal, lambda names: parse(columns=names, infer_schema=False))
    try:
        texts = parse(infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _tell_uneven(data, separator, len(header), problems)
        problems.raise_if_any()
        raise InputError(f"{problems.subject}: it is not well-formed CSV ({first_line(error)})") from error
    frame = texts.select(_numbers_or_text(texts[name], decimal) for name in texts.columns)
    return FileTable(frame, "csv", separator, decimal, lambda names: texts.select(names))


def _numbers_or_text(text: pl.Series, decimal: str) -> pl.Series:
    """A column of text as numbers, if all of it is."""
    if text.null_count() == len(text):
        return text
    plain = text if decimal == "." else text.str.replace(",", ".", literal=True)
    if decimal == "." or not text.str.contains(".", literal=True).any():
        for kind in (pl.Int64, pl.Float64):
            numbers = plain.cast(kind, strict=False)
            if numbers.null_count() == text.null_count():
                return numbers
    numbers, wrong = as_numbers(text, decimal)
    return text if wrong.any() else numbers


def as_utf8(data: bytes, problems: Problems) -> bytes:
    """The text without a byte-order mark and with line ends that polars knows."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        problems.add("the text is encoded as UTF-16, not as UTF-8")
        problems.hint("options: save the file as 'CSV UTF-8', or convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW")
        problems.raise_if_any()
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problems.add(
                f"the text is not encoded as UTF-8 (line {line} of the file has the byte {data[error.start]:#x})"
            )
            problems.hint(
                "options: save the file as 'CSV UTF-8', or convert it: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW"
            )
            problems.raise_if_any()
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if b"\n" not in data and b"\r" in data:
        return data.replace(b"\r", b"\n")
    return data


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


def _cells(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The cells of some lines; a line break inside a quoted cell joins two of them."""
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row] or [[""]]
    except csv.Error:  # a cell of more than 100,000 characters
        return [line.split(separator) for line in lines]


def _separator(lines: Sequence[str]) -> str:
    """The separator that cuts all lines into the same number of cells; else the one that cuts the first line most."""
    for separator in SEPARATORS:
        widths = {len(row) for row in _cells(lines, separator)}
        if len(widths) == 1 and widths.pop() > 1:
            return separator
    return max(reversed(SEPARATORS), key=lines[0].count)


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
