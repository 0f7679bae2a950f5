"""The files of time series archives: .ts (sktime and aeon) and .arff (Weka). A series per line, of one or several dimensions, with a class label after it.

Series of different lengths end in gaps. A release of .ts data is written as CSV: a .ts file has no room for identifiers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from tsveil.core.errors import InputError, Problems
from tsveil.data.csv_text import as_utf8
from tsveil.data.file_table import FileTable, Wanted
from tsveil.data.formats.base import Content, Format, check_cells, table_of_texts, unique_name

#: what stands for a missing value
_NOTHING = ("?", "nan", "")
_TS = re.compile(
    rb"(\s*(#[^\n]*)?\n)*\s*@(problemname|timestamps|univariate|classlabel|missing|equallength)\b", re.IGNORECASE
)
_ARFF = re.compile(rb"(\s*(%[^\n]*)?\n)*\s*@relation\b", re.IGNORECASE)
_POINT = re.compile(r"\(\s*([^,()]+)\s*,\s*([^()]*?)\s*\)")
_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.*)", re.IGNORECASE)
#: the column with the class labels
LABEL = "class"


class SeriesArchive(Format):
    """A .ts file."""

    name: ClassVar[str] = "ts"
    title: ClassVar[str] = "a .ts file"
    endings: ClassVar[tuple[str, ...]] = (".ts",)
    written_as: ClassVar[str] = "csv"
    text: ClassVar[bool] = True

    def recognises(self, start: bytes) -> bool:
        """Whether it begins with the facts that such a file states."""
        return _TS.match(start.removeprefix(b"\xef\xbb\xbf")) is not None

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """A row for each series, a column for each point of each dimension, and the class label."""
        data, notes = as_utf8(content.data, problems)
        lines = [line.strip() for line in data.decode("utf-8").splitlines()]
        begin = next((at for at, line in enumerate(lines) if line.lower() == "@data"), None)
        if begin is None:
            raise InputError(f"{problems.subject}: the .ts file has no line @data, after which the series begin")
        facts = dict(([*line[1:].lower().split(None, 1), ""])[:2] for line in lines[:begin] if line.startswith("@"))
        labelled = facts.get("classlabel", facts.get("targetlabel", "false")).startswith("true")
        stamped = facts.get("timestamps", "false").startswith("true")
        rows = [_cut(line) for line in lines[begin + 1 :] if line and not line.startswith("#")]
        if not rows:
            raise InputError(f"{problems.subject}: there are no series in it")
        dimensions = len(rows[0]) - labelled
        for number, row in enumerate(rows, 1):
            if len(row) != dimensions + labelled or dimensions < 1:
                problems.add(
                    f"series {number} has {len(row) - labelled} dimensions, and the first one has {dimensions}"
                )
                problems.raise_if_any()
        columns: dict[str, list[str | None]] = {}
        for at in range(dimensions):
            series = [_points(row[at], stamped) for row in rows]
            times = _times(series)
            check_cells(len(rows), dimensions * len(times), problems, 64)
            head = f"dim{at + 1}_" if dimensions > 1 else ""
            for time in times:
                columns[f"{head}{time}"] = [one.get(time) for one in series]
        if labelled:
            columns[unique_name(LABEL, columns)] = [row[-1].strip() for row in rows]
        texts = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        return table_of_texts(texts, self.name, problems, words=list(columns)[-1:] if labelled else (), notes=notes)


class Arff(Format):
    """An .arff file."""

    name: ClassVar[str] = "arff"
    title: ClassVar[str] = "an .arff file"
    endings: ClassVar[tuple[str, ...]] = (".arff",)
    text: ClassVar[bool] = True

    def recognises(self, start: bytes) -> bool:
        """Whether it begins with @relation."""
        return _ARFF.match(start.removeprefix(b"\xef\xbb\xbf")) is not None

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table, with an attribute in each column."""
        data, notes = as_utf8(content.data, problems)
        lines = data.decode("utf-8").splitlines()
        begin = next((at for at, line in enumerate(lines) if line.strip().lower() == "@data"), None)
        if begin is None:
            raise InputError(f"{problems.subject}: the .arff file has no line @data, after which the records begin")
        found = [
            _ATTRIBUTE.match(line.strip()) for line in lines[:begin] if line.strip().lower().startswith("@attribute")
        ]
        kinds = {_unquoted(match[1]): match[2].strip() for match in found if match}
        if len(kinds) < len(found) or not kinds:
            raise InputError(
                f"{problems.subject}: an attribute of the .arff file has no type, or the name of another one"
            )
        if odd := [name for name, kind in kinds.items() if kind.lower().startswith("relational")]:
            raise InputError(
                f"{problems.subject}: the attribute {odd[0]!r} holds tables (relational)\n"
                "  options: the .ts file of the same data, or a column for each point"
            )
        body = [line.strip() for line in lines[begin + 1 :] if line.strip() and not line.strip().startswith("%")]
        names = list(kinds)
        rows = [_record(line, names) for line in body]
        for number, row in enumerate(rows, 1):
            if len(row) != len(names):
                problems.add(f"row {number} has {len(row)} cells, but there are {len(names)} attributes")
                problems.raise_if_any()
        check_cells(len(rows), len(names), problems, 64)
        columns = {name: [None if row[at] == "?" else row[at] for row in rows] for at, name in enumerate(names)}
        texts = pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
        words = [name for name, kind in kinds.items() if not re.match(r"(numeric|real|integer)\b", kind, re.IGNORECASE)]
        return table_of_texts(texts, self.name, problems, words=words, notes=notes)

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write an .arff file; what is not a number becomes a string, so that no list of words tells what is not published."""
        others = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
        decimals = [name for name, kind in frame.schema.items() if kind.is_decimal()]
        ready = frame.with_columns(pl.col(others).cast(pl.String), pl.col(decimals).cast(pl.Float64))
        head = [f"@attribute {_quoted(name)} {'string' if name in others else 'numeric'}\n" for name in ready.columns]
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write("@relation data\n\n" + "".join(head) + "\n@data\n")
            for row in ready.iter_rows():
                cells = ("?" if c is None or c != c else _quoted(c) if isinstance(c, str) else repr(c) for c in row)
                file.write(",".join(cells) + "\n")

    def marked_rows(self, contents: Sequence[Content], table: FileTable, names: Sequence[str]) -> list[str]:
        """Rows that are written otherwise than the others: other blanks, numbers in quotation marks."""
        text = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
        bare: set[str] = set()
        for one in contents:
            data = as_utf8(one.data, Problems(one.path.name))[0].decode("utf-8")
            body = re.split(r"(?im)^\s*@data\s*$", data)[-1].lstrip("\r\n").removesuffix("\n")
            bare |= {re.sub(r"[^,'\"\s%{}]+", "0", text.sub("''", line)) for line in body.split("\n")}
        return ["rows are written in several ways"] if len(bare) > 1 else []


def _cut(line: str) -> list[str]:
    """The dimensions of a series, and its label: parted by colons, but for those within brackets."""
    if "(" not in line:
        return line.split(":")
    parts, depth, begin = [], 0, 0
    for at, sign in enumerate(line):
        depth += (sign == "(") - (sign == ")")
        if sign == ":" and not depth:
            parts.append(line[begin:at])
            begin = at + 1
    return [*parts, line[begin:]]


def _points(text: str, stamped: bool) -> dict[str, str | None]:
    """The values of a series by their times, or by their numbers."""
    if stamped:
        return {time.strip(): _value(value) for time, value in _POINT.findall(text)}
    return {str(at): _value(value) for at, value in enumerate(text.split(","))}


def _value(text: str) -> str | None:
    return None if text.strip().lower() in _NOTHING else text.strip()


def _times(series: Sequence[dict[str, str | None]]) -> list[str]:
    """All times of some series, in order."""
    longest = max(series, key=len)
    found = dict.fromkeys(longest)
    found.update({time: None for one in series for time in one})
    if len(found) == len(longest):
        return list(found)
    try:
        return sorted(found, key=float)
    except ValueError:
        return sorted(found)


def _record(line: str, names: Sequence[str]) -> list[str]:
    """The cells of a row; of a sparse one, in braces, those that are not named are 0."""
    if line.startswith("{"):
        pairs = (part.strip().split(None, 1) for part in line.strip("{} ").split(",") if part.strip())
        known = {int(pair[0]): pair[1] for pair in pairs if len(pair) == 2 and pair[0].isdigit()}
        return [_unquoted(known.get(at, "0")) for at in range(len(names))]
    quote = '"' if '"' in line and "'" not in line else "'"
    return [cell.strip() for cell in next(csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True))]


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _quoted(text: str) -> str:
    return "'" + re.sub(r"([\\'])", r"\\\1", text).replace("\n", " ") + "'"
