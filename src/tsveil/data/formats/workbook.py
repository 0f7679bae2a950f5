"""Spreadsheets: Excel workbooks (.xlsx, .xlsm, .xlsb, .xls) and OpenDocument ones (.ods), read by calamine; a release is an .xlsx file with one sheet.

A cell is a number, a day or time, a word or true/false, as the program stores it. Texts are written as texts, never as formulas or links. A written workbook
has no author, no other sheets and always the same date of creation.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tsveil.core.errors import InputError, Problems
from tsveil.data.file_table import FileTable, Wanted
from tsveil.data.formats.base import (
    Content,
    Format,
    check_cells,
    chosen,
    column_of,
    needed,
    refuse_damaged,
    text_of,
    typed_table,
)
from tsveil.data.formats.header import Header, header_of
from tsveil.data.memory import half_of_memory

_EXTRA = "excel"
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: the largest sheet that Excel knows
ROWS, COLUMNS = 1_048_576, 16_384
#: bytes of a cell while it is read
_CELL = 64
#: deflate makes at most this many bytes of one
_RATIO = 1040
#: parts of a workbook that hold nothing but what every workbook has
_USUAL = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(app|core)\.xml|xl/(workbook|styles|sharedStrings)\.xml"
    r"|xl/_rels/workbook\.xml\.rels|xl/theme/theme1\.xml|xl/worksheets/sheet1\.xml"
)
_CELLS = re.compile(rb'<c r="([A-Z]+)\d+"([^>]*?)(/>|>(.*?)</c>)', re.DOTALL)
_STYLE, _ROW = re.compile(rb'\bs="(\d+)"'), re.compile(rb"<row\b([^>]*)>")
_ROW_PLAIN = re.compile(rb'\b(r|spans|x14ac:dyDescent)="[^"]*"')


class Workbook(Format):
    """Workbooks of Excel and OpenDocument."""

    name: ClassVar[str] = "xlsx"
    title: ClassVar[str] = "an Excel workbook"
    endings: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    tried: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("sheet", "header")

    def recognises(self, start: bytes) -> bool:
        """Whether this is the beginning of a workbook, or of a container that may hold an old one."""
        if start.startswith(_ZIP):
            return b"[Content_Types].xml" in start or b"xl/" in start or b"opendocument.spreadsheet" in start
        return start.startswith(_OLE)

    def unpacked_size(self, content: Content) -> int:
        """What its parts unpack to."""
        data = content.data
        if not data.startswith(_ZIP):
            return len(data)
        try:
            return _unpacked_size(data, half_of_memory())
        except (zipfile.BadZipFile, zlib.error, ValueError, OSError, NotImplementedError):
            return len(data)  # the parser will say what is wrong

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table of a sheet."""
        calamine = needed("python_calamine", _EXTRA, problems)
        try:
            with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content.data)) as book:
                sheets = [sheet.name for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
                filled = [name for name in sheets if _has_records(book.get_sheet_by_name(name))]
                names = filled if wanted.sheet is None else sheets
                place, questions = chosen(names, wanted.sheet, "sheet", "sheet", problems)
                sheet = book.get_sheet_by_name(place)
                check_cells(sheet.height, sheet.width, problems, _CELL)
                rows = [[_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
        except calamine.PasswordError as error:
            raise InputError(
                f"{problems.subject}: it is protected by a password\n  options: save it without a password"
            ) from error
        except (calamine.CalamineError, calamine.WorksheetNotFound, ValueError, OverflowError, OSError) as error:
            if isinstance(error, InputError):
                raise
            raise refuse_damaged(self.title, error, problems) from error
        except BaseException as error:  # no trial was possible, and the parser panicked
            if type(error).__name__ != "PanicException":
                raise
            raise refuse_damaged(self.title, error, problems) from error
        found = header_of([[text_of(cell) for cell in row] for row in rows[:200]], wanted)
        return _table(self.name, rows, found, place, problems, questions)

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a workbook with one sheet."""
        xlsxwriter = needed("xlsxwriter", _EXTRA)
        if frame.height >= ROWS or frame.width > COLUMNS:
            raise OSError(
                None,
                f"a sheet of Excel has at most {ROWS - 1:,} records and {COLUMNS:,} columns, and there are {frame.height:,} and {frame.width:,}; another --format can hold them",
            )
        options = {
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
            "constant_memory": True,
        }
        with xlsxwriter.Workbook(str(path), options) as book:
            book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC), "author": ""})
            sheet = book.add_worksheet(place[:31] or "data")
            forms = [_date_format(book, kind) for kind in frame.dtypes]
            for at, name in enumerate(frame.columns):
                sheet.write_string(0, at, name)
            for row, cells in enumerate(_writable(frame).iter_rows(), 1):
                for at, cell in enumerate(cells):
                    _write(sheet, row, at, cell, forms[at])

    def marked_rows(self, contents: Sequence[Content], table: FileTable, names: Sequence[str]) -> list[str]:
        """Cells of a column that look different, and rows that are taller or hidden."""
        styles: dict[bytes, set[bytes]] = {}
        looks: set[bytes] = set()
        formulas = False
        for one in contents:
            try:
                with zipfile.ZipFile(io.BytesIO(one.data)) as archive:
                    sheet = archive.read("xl/worksheets/sheet1.xml")
            except (KeyError, zipfile.BadZipFile, zlib.error):
                return ["the looks of cells cannot be compared in a workbook that is not an .xlsx file with one sheet"]
            body = sheet[sheet.find(b"</row>") :]
            for column, attributes, _, inside in _CELLS.findall(body):
                styles.setdefault(column, set()).add((_STYLE.findall(attributes) or [b"0"])[0])
                formulas = formulas or b"<f" in inside
            looks |= {_ROW_PLAIN.sub(b"", attributes).strip(b" /") for attributes in _ROW.findall(body)}
        found = [
            f"cells of column {column.decode()} are formatted in several ways"
            for column, how in styles.items()
            if len(how) > 1
        ]
        if formulas:
            found.append("some cells are formulas")
        if len(looks) > 1:
            found.append("some rows are formatted in another way")
        return found

    def beside(self, content: Content, place: str) -> list[str]:
        """Other sheets, and parts of the archive that may hold anything: comments, pictures, what was typed before."""
        try:
            with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
                return [name for name in archive.namelist() if not _USUAL.fullmatch(name) and not name.endswith("/")]
        except zipfile.BadZipFile:
            return ["what a workbook of another kind than .xlsx holds beside its sheet"]


def _has_records(sheet: Any) -> bool:
    """Whether a sheet has more than a line of cells."""
    return int(sheet.height) > 1


def _cell(cell: Any) -> Any:
    """A cell; an empty text is no cell, and a whole number is one although Excel knows only numbers with decimals."""
    if cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return cell


def _table(
    format: str, rows: Sequence[Sequence[Any]], header: Header, place: str, problems: Problems, questions: Any
) -> FileTable:
    header.check(problems)
    body = rows[header.first :]
    empty = len(list(takewhile(lambda row: all(cell is None for cell in row), reversed(body))))
    body = body[: len(body) - empty]
    columns = {name: column_of(name, [row[at] for row in body]) for at, name in header.columns}
    return typed_table(columns, format, place, problems, (*questions, *header.questions), header.notes)


def _unpacked_size(data: bytes, limit: int) -> int:
    """The bytes that a zip archive unpacks to; counted where the archive could be more than it says and larger than the limit."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
        said = sum(part.file_size for part in parts)
        if said > limit or len(data) * _RATIO <= limit:
            return said
        total = 0
        for part in parts:
            at = part.header_offset
            begin = (
                at
                + 30
                + int.from_bytes(data[at + 26 : at + 28], "little")
                + int.from_bytes(data[at + 28 : at + 30], "little")
            )
            packed = data[begin : begin + part.compress_size]
            if part.compress_type != zipfile.ZIP_DEFLATED:
                total += len(packed)
                continue
            unpacking = zlib.decompressobj(-15)
            # A damaged part must not hide what stands behind it.
            with suppress(zlib.error):
                while packed and total <= limit:
                    total += len(unpacking.decompress(packed, 1 << 24))
                    packed = unpacking.unconsumed_tail
        return total


def _date_format(book: Any, kind: pl.DataType) -> Any:
    """How a column of days or times looks."""
    if kind == pl.Date:
        return book.add_format({"num_format": "yyyy-mm-dd"})
    if kind == pl.Datetime:
        return book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    return book.add_format({"num_format": "hh:mm:ss"}) if kind == pl.Time else None


def _writable(frame: pl.DataFrame) -> pl.DataFrame:
    """Times with a zone are written as texts: Excel knows no zones."""
    zoned = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    lasting = [name for name, kind in frame.schema.items() if kind == pl.Duration]
    return frame.with_columns(pl.col(zoned).dt.to_string("iso:strict"), pl.col(lasting).dt.to_string("iso"))


def _write(sheet: Any, row: int, at: int, cell: Any, form: Any) -> None:
    if cell is None or cell != cell:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(row, at, cell)
    elif isinstance(cell, str):
        sheet.write_string(row, at, cell)
    elif form is not None:
        sheet.write_datetime(row, at, cell, form)
    else:
        sheet.write_number(row, at, cell)
