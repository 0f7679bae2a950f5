"""Files of kinds that tsveil does not read, known by their first bytes whatever their names are: the message says what the file is and what to do."""

from __future__ import annotations

import re

from tsveil.core.errors import InputError, Problems

_SAVE = "save the table as CSV (UTF-8) or Parquet"
_UNPACK = "unpack it; files compressed by gzip or zstd are read as they are"
_ZIP = b"PK\x03\x04"
#: how a file begins, what it is, and what to do; the beginnings are long enough that no name of a column starts with one
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF-", "a PDF document", "ask its publisher for the table as CSV, or copy the table into a spreadsheet and save it as CSV (UTF-8)"),
    (b"FEA1\0\0\0\0", "a Feather file of the first version", "write it again in version 2: pyarrow.feather.write_feather(TABLE, 'NEW.feather')"),
    (b"\xfd7zXZ\0", "compressed by xz", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a rar archive", _UNPACK),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", _SAVE),
    (b"RDX2\nX\n", "an R workspace", "save the table in R: write.csv(TABLE, 'NEW.csv', row.names = FALSE)"),
    (b"RDX3\nX\n", "an R workspace", "save the table in R: write.csv(TABLE, 'NEW.csv', row.names = FALSE)"),
    (b"X\n\0\0\0", "an R object (.rds)", "save the table in R: write.csv(TABLE, 'NEW.csv', row.names = FALSE)"),
    (b"\x89PNG\r\n", "a picture", "the table that it shows, as CSV (UTF-8) or Parquet"),
    (b"\xff\xd8\xff", "a picture", "the table that it shows, as CSV (UTF-8) or Parquet"),
)  # fmt: skip
_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"\s*<\?xml\b")


def refuse_other_files(start: bytes, problems: Problems) -> None:
    """Raise InputError if a file is of a kind that tsveil does not read.

    Examples
    --------
    >>> refuse_other_files(b"%PDF-1.7 and so on", Problems("meters.csv cannot be read"))
    Traceback (most recent call last):
    tsveil.core.errors.InputError: meters.csv cannot be read: it is a PDF document
      options: ask its publisher for the table as CSV, or copy the table into a spreadsheet and save it as CSV (UTF-8)
    >>> refuse_other_files(b"meter,2018-01-01", Problems("meters.csv cannot be read"))
    """
    found = _kind(start.removeprefix(b"\xef\xbb\xbf"))
    if found is not None:
        raise InputError(f"{problems.subject}: it is {found[0]}\n  options: {found[1]}")


def _kind(start: bytes) -> tuple[str, str] | None:
    if start.startswith(_ZIP):
        if b"word/" in start or b"opendocument.text" in start:
            return "a document with text", "copy the table into a spreadsheet and save it as CSV (UTF-8)"
        return "a zip archive", _UNPACK
    for begin, what, help in _KINDS:
        if start.startswith(begin):
            return what, help
    if start[:3] == b"BZh" and start[4:10] == b"1AY&SY":
        return "compressed by bzip2", _UNPACK
    if _PAGE.match(start):
        return "a web page (HTML), as is often saved instead of a file behind a link", "download the file itself"
    return ("an XML document", _SAVE) if _XML.match(start) else None
