"""The table of formats: a new one is a line here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tsveil.data.formats.archives import Arff, SeriesArchive
from tsveil.data.formats.arrow import Arrow
from tsveil.data.formats.base import Format
from tsveil.data.formats.duck import DuckDB
from tsveil.data.formats.json_records import JsonLines, JsonList
from tsveil.data.formats.parquet import Parquet
from tsveil.data.formats.separated import Separated
from tsveil.data.formats.sqlite import Sqlite
from tsveil.data.formats.statistics import Sas, Spss, Stata
from tsveil.data.formats.workbook import Workbook

#: in the order in which they are tried on a file; the last one takes every text
FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Parquet(), Arrow(), Sqlite(), DuckDB(), Workbook(), Stata(), Spss(), Sas(), JsonList(), JsonLines(), SeriesArchive(), Arff(), Separated(),
    )
}  # fmt: skip
#: endings of compressed files
PACKED = (".gz", ".zst")


def format_of(start: bytes) -> Format:
    """The format of a file that begins like this.

    Examples
    --------
    >>> format_of(b"PAR1").name, format_of(b'{"meter": "a"}').name, format_of(b"meter,load").name
    ('parquet', 'json', 'csv')
    """
    return next(one for one in FORMATS.values() if one.recognises(start))


def written_format(name: str) -> Format:
    """The format in which data of a format are written.

    Examples
    --------
    >>> written_format("parquet").name, written_format("ts").name
    ('parquet', 'csv')
    """
    one = FORMATS[name]
    return FORMATS[one.written_as] if one.written_as else one


def runs_formulas(path: Path) -> bool:
    """Whether a spreadsheet runs texts that look like formulas when it opens a file that tsveil wrote under this name.

    Examples
    --------
    >>> runs_formulas(Path("data.csv")), runs_formulas(Path("data.xlsx"))
    (True, False)
    """
    return FORMATS[path.suffix[1:]].runs_formulas if path.suffix else False


def kind_of_name(name: str) -> str | None:
    """The format that the name of a file says, without the ending of a compressed one.

    Examples
    --------
    >>> kind_of_name("meters.csv.gz"), kind_of_name("meters.feather"), kind_of_name("notes.md")
    ('csv', 'arrow', None)
    """
    plain = name.lower()
    for ending in PACKED:
        plain = plain.removesuffix(ending)
    return next((one.name for one in FORMATS.values() if plain.endswith(one.endings)), None)


def endings_of(names: Sequence[str]) -> str:
    """The endings of formats, for a message."""
    return ", ".join(FORMATS[name].endings[0] for name in names)
