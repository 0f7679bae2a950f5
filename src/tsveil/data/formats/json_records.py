"""JSON: lines with a record each, or a list of records, also within one object. Cells are kept as they are written: 1.50 is not 1.5."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import polars as pl

from tsveil.core.errors import InputError, Problems
from tsveil.data.csv_text import as_utf8
from tsveil.data.file_table import FileTable, Wanted, first_line
from tsveil.data.formats.base import Content, Format, chosen, table_of_texts
from tsveil.data.questions import Question

Record = dict[str, msgspec.Raw]
_BEGIN = re.compile(rb"\s*(\[\s*)?\{\s*(\"(?:[^\"\\]|\\.)*\"\s*:|\})|\s*\[\s*\]")
#: a text, and the colon after it where it is a name; a number; a record without records in it
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?')
_NUMBER = re.compile(rb"(?<![\w\"])-?\d[\d.eE+-]*")
_OBJECT = re.compile(rb"\{[^{}]*\}")


class _Json(Format):
    """What lines and lists have in common: both are read by whatever stands in the file."""

    text: ClassVar[bool] = True

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The records of a JSON file."""
        data, notes = as_utf8(content.data, problems)
        questions: tuple[Question, ...] = ()
        place, form = "", "json"
        try:
            if data.lstrip()[:1] == b"[":
                records = msgspec.json.decode(data, type=list[Record])
            elif (whole := _one_object(data)) is not None:
                records, place, questions = _within(whole, wanted, problems)
            else:
                records, form = msgspec.json.Decoder(Record).decode_lines(data), "jsonl"
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise InputError(
                f"{problems.subject}: it is JSON, but no list of records ({first_line(error)})\n"
                '  options: records as {"meter": "a", "load": 1.5}, one in each line or all in one list; or save the table as CSV (UTF-8)'
            ) from error
        names = list(dict.fromkeys(name for record in records for name in record))
        if not names:
            raise InputError(f"{problems.subject}: there are no records in it")
        texts = pl.DataFrame(
            {name: [_text(record.get(name)) for record in records] for name in names},
            schema=dict.fromkeys(names, pl.String),
        )
        table = table_of_texts(texts, form, problems, notes=notes)
        return FileTable(table.frame, form, texts=table.texts, notes=notes, place=place, questions=questions)

    def marked_rows(self, contents: Sequence[Content], table: FileTable, names: Sequence[str]) -> list[str]:
        """Records that are written otherwise than the others: other blanks, another order of names, a number in quotation marks."""
        found = []
        objects, between = set[bytes](), set[bytes]()
        plain = True
        for one in contents:
            data = as_utf8(one.data, Problems(one.path.name))[0]
            plain = plain and all(_plain(one[0]) for one in _TEXT.finditer(data) if b"\\" in one[0] and not one[1])
            bare = _NUMBER.sub(b"0", _TEXT.sub(lambda one: one[0] if one[1] else b'""', data)).replace(b"null", b"0")
            objects |= set(_OBJECT.findall(bare))
            between |= set(_OBJECT.split(bare)[1:-1])
        if not plain:
            found.append("texts are written in several ways")
        if len(objects) > 1 or len(between) > 1:
            found.append("records are written in several ways")
        return found


class JsonLines(_Json):
    """A record in each line."""

    name: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "JSON lines"
    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def recognises(self, start: bytes) -> bool:
        """Never by itself: `JsonList` reads both."""
        return False

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a record in each line."""
        _writable(frame).write_ndjson(path)


class JsonList(_Json):
    """A list of records."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON"
    endings: ClassVar[tuple[str, ...]] = (".json",)
    options: ClassVar[tuple[str, ...]] = ("table",)

    def recognises(self, start: bytes) -> bool:
        """Whether this is the beginning of records."""
        return _BEGIN.match(start.removeprefix(b"\xef\xbb\xbf")) is not None

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a list of records, one in each line."""
        lines = _writable(frame).write_ndjson().rstrip("\n").replace("\n", ",\n")
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _writable(frame: pl.DataFrame) -> pl.DataFrame:
    """JSON has numbers, texts, true and false."""
    others = [name for name, kind in frame.schema.items() if kind.is_temporal()]
    decimals = [name for name, kind in frame.schema.items() if kind.is_decimal()]
    return frame.with_columns(pl.col(others).cast(pl.String), pl.col(decimals).cast(pl.Float64))


def _one_object(data: bytes) -> dict[str, msgspec.Raw] | None:
    """The object that a file is; None where it has several, or where it is a record itself."""
    try:
        found = msgspec.json.decode(data, type=Record)
    except msgspec.MsgspecError:
        return None
    return found if any(bytes(value)[:1] in (b"[", b"{") for value in found.values()) else None


def _within(
    whole: Mapping[str, msgspec.Raw], wanted: Wanted, problems: Problems
) -> tuple[list[Record], str, tuple[Question, ...]]:
    """The records within an object: a list under some name, or the columns as pandas writes them by default, each with a value for each row."""
    lists: dict[str, list[Record]] = {}
    columns: dict[str, Record] = {}
    for name, value in whole.items():
        try:
            lists[name] = msgspec.json.decode(value, type=list[Record])
        except msgspec.MsgspecError:
            try:
                columns[name] = msgspec.json.decode(value, type=Record)
            except msgspec.MsgspecError:
                continue
    lists = {name: records for name, records in lists.items() if records}
    if lists or wanted.table is not None:
        place, questions = chosen(list(lists), wanted.table, "list", "table", problems)
        return lists[place], place, questions
    if len(columns) == len(whole):
        rows = list(dict.fromkeys(row for column in columns.values() for row in column))
        return [{name: column[row] for name, column in columns.items() if row in column} for row in rows], "", ()
    raise msgspec.ValidationError("it is one object")


def _text(raw: msgspec.Raw | None) -> str | None:
    """A cell as it is written; nothing for null."""
    if raw is None:
        return None
    data = bytes(raw)
    if data == b"null":
        return None
    if data[:1] == b'"':
        found: Any = msgspec.json.decode(data)
        return str(found)
    return data.decode("utf-8")


def _plain(text: bytes) -> bool:
    """Whether a text with escapes is written as a JSON writer does, which escapes no more than it must."""
    return msgspec.json.encode(msgspec.json.decode(text)) == text
