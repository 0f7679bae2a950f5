"""What a release is, for programs that find and read data: `datapackage.json` (Frictionless) and `croissant.json` (Croissant 1.0).

Both say for each column what it holds and what was done to it, and for each file its size and hash. They hold nothing that is not in the public README and in the data: no seed, no
figure of any record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tsveil.assess.protected import ProtectedRecords
from tsveil.data.dataset import Dataset
from tsveil.data.files import CROISSANT, DATA_PACKAGE, digest_of
from tsveil.data.intervals import HIGH, LOW, WORD, IntervalTable
from tsveil.data.write import as_frame, words_as_text

#: format of a file -> its media type
MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "sqlite": "application/vnd.sqlite3",
}
OTHER_MEDIA = "application/octet-stream"
#: what Croissant calls the types of columns
CROISSANT_TYPES = {"integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean", "date": "sc:Date"}
#: the words of Croissant, as its specification has them
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "includes": "cr:includes",
    "recordSet": "cr:recordSet",
    "sc": "https://schema.org/",
    "source": "cr:source",
}


@dataclass(frozen=True)
class Column:
    """A published column."""

    name: str
    #: as Frictionless calls it
    type: str
    #: what it holds, and what was done to it
    words: str


def metadata_files(
    release: ProtectedRecords,
    table: Dataset | IntervalTable,
    folder: Path,
    files: Sequence[Path],
    *,
    title: str,
    ids: str,
) -> dict[str, str]:
    """The texts of both files, by their names.

    Parameters
    ----------
    release
        What was protected.
    table
        A table with the published columns, named as in the files.
    folder, files
        The folder of what is published, and the files with the data in it.
    title
        The title of the release; empty: its README has none either.
    ids
        "fresh" or "stable" identifiers.

    Returns
    -------
    dict
        Name of the file to its text.
    """
    columns = _columns(release, table, ids)
    about = {
        "title": title or "Protected data",
        "description": f"{release.guarantee.words} {release.guarantee.limits} Method: {release.method.name}: {release.method.summary}.",
    }
    layout, form = release.contents.source.layout, files[0].suffix[1:]
    paths = [file.relative_to(folder).as_posix() for file in files]
    text = form == "csv"
    resource = {
        "name": "data",
        "path": paths[0] if len(paths) == 1 else paths,
        "format": form,
        "mediatype": MEDIA.get(form, OTHER_MEDIA),
        **({"encoding": "utf-8", "dialect": {"csv": {"delimiter": layout.separator}}} if text else {}),
        **({"bytes": files[0].stat().st_size, "hash": f"sha256:{digest_of(files)}"} if len(paths) == 1 else {}),
        "schema": {"fields": [_field(column, layout.decimal if text else ".") for column in columns]},
    }
    package = {"name": _name(about["title"]), **about, "resources": [resource]}
    return {DATA_PACKAGE: _text(package), CROISSANT: _text(_croissant(about, files, paths, columns))}


def _croissant(
    about: dict[str, str], files: Sequence[Path], paths: Sequence[str], columns: Sequence[Column]
) -> dict[str, Any]:
    """The same as Croissant has it."""
    media = {"encodingFormat": MEDIA.get(files[0].suffix[1:], OTHER_MEDIA)}
    if len(paths) == 1:
        kind, place = "fileObject", paths[0]
        own = {"contentUrl": place, "contentSize": f"{files[0].stat().st_size} B", "sha256": digest_of(files)}
    else:
        kind, place = "fileSet", "parts"
        own = {"includes": f"data/part-*{files[0].suffix}"}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about["title"],
        "description": about["description"],
        "distribution": [{"@type": f"cr:{kind[0].upper()}{kind[1:]}", "@id": place, "name": place, **own, **media}],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "data",
                "name": "data",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"data/{column.name}",
                        "name": column.name,
                        "description": column.words,
                        "dataType": CROISSANT_TYPES.get(column.type, "sc:Text"),
                        "source": {kind: {"@id": place}, "extract": {"column": column.name}},
                    }
                    for column in columns
                ],
            }
        ],
    }


def _columns(release: ProtectedRecords, table: Dataset | IntervalTable, ids: str) -> list[Column]:
    """The columns of the files in their order."""
    whole = release.contents.whole
    frame = words_as_text(as_frame(table) if isinstance(table, Dataset) else table.to_frame(whole=whole))
    carried = table.confidential if isinstance(table, Dataset) else tuple(table.others.columns)
    return [Column(name, _type(kind), _words(release, table, name, name in carried, ids)) for name, kind in frame.schema.items()]  # fmt: skip


def _words(release: ProtectedRecords, table: Dataset | IntervalTable, name: str, carried: bool, ids: str) -> str:
    if carried:
        return "Carried unchanged."
    if isinstance(table, IntervalTable):
        if name.startswith((LOW, HIGH)):
            return f"A bound that a group of records has in common, made by {release.method.name}."
        return "The shape of the series, as the README says." if name == WORD else "How fine the pattern is, as the README says."  # fmt: skip
    if name == table.id:
        if ids == "stable":
            return (
                "A random identifier. It stays the same from release to release until the group of its record changes."
            )
        return "A random identifier, made for this release."
    layout = table.layout
    if layout.shape == "long" and name in {layout.time, layout.variable, *layout.time_parts}:
        return "The name of the series." if name == layout.variable else "The time of the value, as in the original."
    return f"Protected by {release.method.name}."


def _field(column: Column, decimal: str) -> dict[str, str]:
    mark = {"decimalChar": decimal} if column.type == "number" and decimal != "." else {}
    return {"name": column.name, "type": column.type, **mark, "description": column.words}


def _type(kind: pl.DataType) -> str:
    """What Frictionless calls a type; times with a clock are written in too many ways to be promised."""
    if kind.is_integer():
        return "integer"
    if kind.is_numeric():
        return "number"
    return {pl.Boolean: "boolean", pl.Date: "date", pl.String: "string"}.get(kind.base_type(), "any")


def _name(text: str) -> str:
    """A name as Frictionless wants it: small letters, digits and a few signs.

    Examples
    --------
    >>> _name("Demo: household load curves"), _name("負荷")
    ('demo-household-load-curves', 'data')
    """
    return re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.") or "data"


def _text(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
