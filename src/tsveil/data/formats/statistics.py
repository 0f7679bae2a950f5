"""The files of Stata, SPSS and SAS, by the package pyreadstat. Codes stay codes: labels of values are not read in their place.

A release has no labels, notes or names of programs. SAS files cannot be written by others than SAS, so their releases are CSV.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tsveil.core.errors import InputError, Problems
from tsveil.data.file_table import FileTable, Wanted, check_width
from tsveil.data.formats.base import Content, Format, check_cells, needed, refuse_damaged
from tsveil.data.table import check_names

_EXTRA = "stata"
_SAS = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11"
_XPORT = b"HEADER RECORD*******LIB"
_INTEGERS: dict[str, Any] = {"int8": pl.Int8, "int16": pl.Int16, "int32": pl.Int32}
#: the largest whole number of Stata; larger ones stand for missing values
_MOST = 2_147_483_620
_NAME = re.compile(r"[^\W\d]\w*")


class _Statistics(Format):
    """What the files of statistics programs have in common."""

    typed: ClassVar[bool] = True
    tried: ClassVar[bool] = True
    in_place: ClassVar[bool] = True

    def _reader(self, start: bytes) -> str:
        raise AssertionError

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table of a file."""
        pyreadstat = needed("pyreadstat", _EXTRA, problems)
        with content.file() as file:
            with file.open("rb") as opened:
                read = getattr(pyreadstat, self._reader(opened.read(512)))
            try:
                _, facts = read(str(file), metadataonly=True)
                check_width(facts.number_columns or 0, problems)
                check_cells(facts.number_rows or 0, facts.number_columns or 0, problems, 24)
                frame, facts = read(str(file), output_format="polars")
            except (
                pyreadstat.ReadstatError,
                pyreadstat.PyreadstatError,
                UnicodeDecodeError,
                ValueError,
                OverflowError,
            ) as error:
                if isinstance(error, InputError):
                    raise
                raise refuse_damaged(self.title, error, problems) from error
        check_names(frame.columns, problems)
        problems.raise_if_any()
        return FileTable(pl.DataFrame([_whole(column, facts) for column in frame]), self.name)

    def beside(self, content: Content, place: str) -> list[str]:
        """Notes and labels."""
        pyreadstat = needed("pyreadstat", _EXTRA)
        with content.file() as file:
            with file.open("rb") as opened:
                read = getattr(pyreadstat, self._reader(opened.read(512)))
            _, facts = read(str(file), metadataonly=True)
        found = {"notes": facts.notes, "a label of the file": facts.file_label, "labels of values": facts.value_labels}
        found["labels of columns"] = [label for label in facts.column_labels or () if label]
        return [name for name, what in found.items() if what]

    def _write(self, frame: pl.DataFrame, path: Path, function: str, longest: int) -> None:
        pyreadstat = needed("pyreadstat", _EXTRA)
        if odd := [name for name in frame.columns if not _NAME.fullmatch(name) or len(name) > longest]:
            raise OSError(
                None,
                f"{odd[0]!r} cannot be the name of a column in {self.title}: letters, digits and underscores, at most {longest}, and no digit first; another --format can hold it",
            )
        try:
            getattr(pyreadstat, function)(_writable(frame), str(path))
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
            raise OSError(None, f"{self.title} cannot be written: {error}") from error


class Stata(_Statistics):
    """Stata files."""

    name: ClassVar[str] = "dta"
    title: ClassVar[str] = "a Stata file"
    endings: ClassVar[tuple[str, ...]] = (".dta",)

    def recognises(self, start: bytes) -> bool:
        """Whether a file begins as Stata files do, of version 13 and later or 8 to 12."""
        old = 0x69 <= start[0] <= 0x73 and start[1] in (1, 2) and start[2:4] == b"\x01\x00" if len(start) > 4 else False
        return start.startswith(b"<stata_dta>") or old

    def _reader(self, start: bytes) -> str:
        return "read_dta"

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a Stata file."""
        self._write(frame, path, "write_dta", 32)


class Spss(_Statistics):
    """SPSS files, plain and compressed, and portable ones."""

    name: ClassVar[str] = "sav"
    title: ClassVar[str] = "an SPSS file"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav", ".por")

    def recognises(self, start: bytes) -> bool:
        """Whether a file begins as SPSS files do."""
        return start[:4] in (b"$FL2", b"$FL3") or b"ASCII SPSS PORT FILE" in start[:200]

    def _reader(self, start: bytes) -> str:
        return "read_sav" if start[:3] == b"$FL" else "read_por"

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write an SPSS file."""
        self._write(frame, path, "write_sav", 64)


class Sas(_Statistics):
    """SAS files and the transport files of SAS."""

    name: ClassVar[str] = "sas"
    title: ClassVar[str] = "a SAS file"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat", ".xpt")
    written_as: ClassVar[str] = "csv"

    def recognises(self, start: bytes) -> bool:
        """Whether a file begins as SAS files do."""
        return start.startswith((_SAS, _XPORT))

    def _reader(self, start: bytes) -> str:
        return "read_xport" if start.startswith(_XPORT) else "read_sas7bdat"


def _whole(column: pl.Series, facts: Any) -> pl.Series:
    """Numbers in the type that the file has for them; whole numbers stored with decimals as whole ones, for many programs know no others."""
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if not column.dtype.is_float():
        return column
    kind = _INTEGERS.get(facts.readstat_variable_types.get(column.name, ""), pl.Int64)
    present = column.fill_nan(None)
    whole = present.drop_nulls()
    if len(whole) and bool(((whole == whole.round()) & whole.is_between(-(2**53), 2**53)).all()):
        return present.cast(kind)
    return present


def _writable(frame: pl.DataFrame) -> pl.DataFrame:
    """Numbers in the types that these programs have."""
    columns: list[pl.Series] = []
    for column in frame:
        kind = column.dtype
        if kind.is_integer() and kind not in (pl.Int8, pl.Int16, pl.Int32):
            small = bool(column.is_between(-_MOST, _MOST).fill_null(True).all())
            columns.append(column.cast(pl.Int32 if small else pl.Float64))
        elif kind.is_decimal():
            columns.append(column.cast(pl.Float64))
        elif isinstance(kind, pl.Datetime) and kind.time_zone:
            columns.append(column.dt.to_string("iso:strict"))
        elif kind == pl.Boolean:
            columns.append(column.cast(pl.Int8))
        else:
            columns.append(column)
    return pl.DataFrame(columns)
