"""The verdict on published files made by any tool, one or several parts: everything that is in them is judged, or named as not judged.

Columns that somebody names as identifier or confidential are taken on trust, and the verdict says so. A column of which nobody said anything may be a name or an income: then
nothing can be decided. In formats of text (CSV, JSON, .ts, .arff) numbers are compared as they are written: 1.5 and 1.50 are equal numbers, but whoever reads the file can tell them
apart. In all others (Parquet, Arrow, workbooks, databases, files of statistics programs) they are compared by value and type, and all parts have the same types. What a workbook or a database holds
beside its table is named as not judged. A class spans all parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.assess.assessment import Assessment
from tsveil.assess.judge import Evidence, judge
from tsveil.assess.limits import Intruder, Limits
from tsveil.assess.order import CHANCE, said_by_order
from tsveil.attack.candidates import marks, number_marks
from tsveil.core.errors import InputError, some
from tsveil.core.types import AnyArray, Indices
from tsveil.data.dataset import Dataset, person_numbers, visible_text
from tsveil.data.file_table import FileTable
from tsveil.data.files import CROISSANT, DATA_PACKAGE, files_of, opened
from tsveil.data.formats.base import Content, Format
from tsveil.data.formats.known import FORMATS
from tsveil.data.intervals import IntervalTable
from tsveil.data.read import Look, look_at
from tsveil.guarantee.base import Promise, Status, Verdict
from tsveil.measure.scorecard import Scorecard

#: identifiers as tsveil makes them: random, and so no column that could name anybody
FRESH = re.compile(r"r[0-9a-f]{16}")
#: what tsveil publishes beside the data, for their users
PAGES = ("README.md", "report.html", DATA_PACKAGE, CROISSANT)
#: the parts of a release
PART = re.compile(r"part-(\d+)\..+")


def judge_file(
    path: Path,
    promise: Promise,
    given: Mapping[str, Any],
    persons: pl.DataFrame | None = None,
    *,
    trusted: Sequence[str] | None = None,
    records: Indices | None = None,
    unjudged: Sequence[str] = (),
    several: bool | None = None,
    limits: Limits | None = None,
    knows_carried: Sequence[str] = (),
    means: bool = False,
    originals: pl.DataFrame | None = None,
    withheld: bool = False,
) -> Assessment:
    """The verdict on a file or a folder of parts.

    Parameters
    ----------
    given
        The options by which it is read.
    persons
        A map from its identifiers or rows to persons, as `map_of` reads it.
    trusted
        The identifiers that are taken on trust; those named in `given` unless said otherwise.
    records
        The place of each published row in the original, where it is known.
    unjudged
        What else is published, and nobody judged.
    several
        Whether a person may have several records, which a file cannot show; None: nobody said so.
    limits, knows_carried
        What is accepted, and the carried columns that the intruder knows.
    means
        Whether it is known that means of groups are published.
    originals
        The original labels of the published rows, for promises that speak of them.
    withheld
        Whether it is known that carried cells were emptied because of earlier releases; otherwise an empty cell is a value like others.
    """
    files, strange = _parts(path)
    # What would be asked before data are protected does not matter here: each row is one published record, and a column without a role is named.
    given = {"independent_rows": True, "transpose": False, **given}
    gaps = {"missing": "mask"} if promise.takes_gaps and given.get("missing") == "mask" else {}
    given = {name: value for name, value in given.items() if name != "missing"} | gaps
    look = look_at(path, **given)
    contents = [opened(file) for file in files]
    _check_types(contents, look.source)
    form = FORMATS[look.source.format]
    beside = [what for one, content in contents for what in one.beside(content, look.source.place)]
    table = promise.read(path, **given, numbers=list(look.columns))
    signs = []
    if isinstance(table, IntervalTable):
        owners = (
            None if persons is None else person_numbers(owners_of_rows(persons, None, table.n).to_frame(), ["person"])
        )
        verdict = promise.verify(table)
        carried = table.others.select(name for name in table.others.columns if name in given.get("confidential", ()))
        loose = [name for name in table.others.columns if name not in carried.columns]
        written = table.to_frame() if table.written is None else table.written
        of_row = person_numbers(written, written.columns)
        judged = written.columns
    else:
        data: Dataset = table
        if persons is not None:
            own = owners_of_rows(persons, data.ids if data.id else None, data.n)
            data = replace(data, others=data.others.with_columns(own.alias("person of the row")), person=("person of the row",))  # fmt: skip
        owners = data.persons if data.person else None
        verdict = promise.verify_with(data, originals)
        if (by_cells := _data_by_cells(look, data)) is not None:
            verdict = _stricter(verdict, promise.verify_with(by_cells, originals))
        of_row = number_marks(marks((data if by_cells is None else by_cells).values))[0]
        carried = data.others.select(list(data.confidential))
        # A column of persons that stands in the file names everybody.
        loose = [name for name in look.columns if name in (*data.dropped, *data.person)]
        known = given.get("id") if trusted is None else trusted
        if data.id is not None and not known and not _are_fresh(data.ids):
            loose.append(data.id)
        judged = _protected_columns(look, data)
        signs += _several_times(look, data)
        signs += _no_numbers(look)
        if data.masked:
            signs += _missing_rows(look, data)
            means = False  # what subtraction finds depends on who had a value, which the file does not say
    signs += form.marked_rows([content for _, content in contents], look.source, judged)
    if order := said_by_order(of_row, records, owners):
        signs.append(order)
    evidence = Evidence(
        promise=promise,
        verdict=_of_persons(promise, verdict, known=owners is not None, several=several),
        of_row=of_row,
        carried=carried,
        card=Scorecard({}, {}, pl.DataFrame(), {}, {}),
        representatives=True,
        means=means,
        persons=owners,
        withheld=withheld,
        unjudged=[*loose, *strange, *beside, *unjudged],
        order="; ".join(signs),
    )
    return judge(evidence, limits, Intruder(knows_carried=list(knows_carried)))


def _parts(path: Path) -> tuple[list[Path], list[str]]:
    """The files that are judged, and the other ones in their folder; a part that is missing among numbered ones is refused."""
    files = files_of(path)
    if not path.is_dir():
        return files, []
    found = {int(match[1]) for file in files if (match := PART.fullmatch(file.name))}
    if found and (missing := sorted(set(range(max(found))) - found)):
        raise InputError(f"{path} lacks part {some(missing)}: a verdict needs all parts, from 0 to {max(found)}")
    others = (file for file in sorted(path.rglob("*")) if file.is_file() and file not in files and file.stat().st_size)
    return files, [name for file in others if (name := str(file.relative_to(path))) not in PAGES]


def _check_types(contents: Sequence[tuple[Format, Content]], source: FileTable) -> None:
    """Some formats keep the types of columns: parts of different types would tell equal numbers apart."""
    if FORMATS[source.format].typed and len(contents) > 1:
        name, first = contents[0][1].path.name, contents[0][0].types(contents[0][1])
        for form, content in contents[1:]:
            if odd := [column for column, kind in form.types(content).items() if first.get(column) != kind]:
                raise InputError(f"{content.path.name} holds {some(odd)} in another type than {name}")


# -- persons ----------------------------------------------------------------------------------------------------------


def map_of(path: Path) -> pl.DataFrame:
    """A map of persons as texts: a file, or the folder of its parts."""
    source = look_at(path, layout="wide", transpose=False).source
    names = source.frame.columns
    return source.texts(names) if source.texts else source.frame.select(pl.col(names).cast(pl.String))


def owners_of_rows(table: pl.DataFrame, ids: pl.Series | None, n: int) -> pl.Series:
    """The person of each row, from a map: a table with the column `person` and one with the identifiers of the file, or `published_row`.

    Names that a reader cannot tell apart are one person: taken for two they would make a class seem larger than it is.
    """
    names = ("published_row",) if ids is None else (ids.name, "released", "published_row")
    key = next((name for name in names if name in table.columns and name != "person"), None)
    if key is None or "person" not in table.columns:
        raise InputError(
            f"this is no map of persons: it needs the column 'person', and {names[0]!r} or 'published_row'\n"
            f"  columns available: {some(table.columns, 20)}"
        )
    twice = table.filter(table[key].is_duplicated())[key].unique().to_list()
    if twice:
        raise InputError(f"the map of persons names {key} {some(twice)} more than once: whose they are is not clear")
    rows = pl.Series(np.arange(1, n + 1)) if ids is None or key == "published_row" else ids
    own = pl.DataFrame({key: rows.cast(pl.String)})
    found = own.join(table.select(key, "person"), on=key, how="left", maintain_order="left")["person"]
    if found.null_count():
        raise InputError(f"the map of persons does not name the person of {found.null_count()} of {n} rows")
    return found.replace_strict({name: visible_text(name) for name in found.unique()}, return_dtype=pl.String)


def _of_persons(promise: Promise, verdict: Verdict, *, known: bool, several: bool | None) -> Verdict:
    """What was found of records is not decided of persons who may have several, unless they were counted."""
    if not verdict.holds:
        return verdict
    if known and promise.settings().get("counts", "records") == "records":
        why = "this promise counts records, and a person may have several of them"
    elif several and not known:
        why = "release.json says that persons have several records, and the file does not say whose they are: the id map in private/ does (--persons MAP)"
    else:
        counted = "records were counted: a file alone does not say whose they are (--persons MAP)"
        return verdict if known or several is False else replace(verdict, details=(*verdict.details, counted))
    return Verdict(Status.UNKNOWN, verdict.guarantee, why)


# -- cells as they are written ----------------------------------------------------------------------------------------


def _protected_columns(look: Look, data: Dataset) -> list[str]:
    """The columns of the file with protected values."""
    beside = [column for block in data.blocks if block.times is None for column in block.columns]
    own = data.columns if look.guess.layout == "wide" else (*look.guess.values, *beside)
    return [name for name in look.columns if name in own]


def _data_by_cells(look: Look, data: Dataset) -> Dataset | None:
    """The data with a number for each different cell of a column in place of its values; None where different cells are different values."""
    labels = {*data.labels, *(block.name for block in data.blocks if block.categories)}
    source, names = look.source, [name for name in _protected_columns(look, data) if name not in labels]
    if not names:
        return None
    cells = source.texts(names) if source.texts else source.frame.select(names)
    numbers = {name: source.frame[name].cast(pl.Float64) if kind.is_numeric() else None for name, kind in source.frame.select(names).schema.items()}  # fmt: skip
    codes = [
        _cell_numbers(cells[name])
        for name, own in numbers.items()
        if own is None or (cells.schema[name] != pl.Float64 and own.n_unique() < cells[name].n_unique())
    ]
    if not codes:
        return None
    coded = replace(look, source=replace(source, frame=source.frame.with_columns(codes))).dataset(
        "mask" if data.masked else "refuse"
    )
    return replace(coded, others=data.others, person=data.person)


def _cell_numbers(cells: pl.Series) -> pl.Series:
    """A number for each different cell of a column; an empty cell stays empty."""
    texts = cells.cast(pl.String).fill_null("")
    return pl.Series(
        cells.name, np.where(texts == "", np.nan, person_numbers(texts.to_frame(), [cells.name])), nan_to_null=True
    )


def _stricter(verdict: Verdict, written: Verdict) -> Verdict:
    """What holds of numbers must also hold of the cells that stand for them."""
    if not verdict.holds or written.holds:
        return verdict
    return replace(written, witness=f"equal numbers are written differently, such as 1.5 and 1.50: {written.witness}")


def _several_times(look: Look, data: Dataset) -> list[str]:
    """Long layout: times and names of series that are written in more than one way tell rows apart."""
    if look.guess.layout == "wide" or look.source.texts is None:
        return []
    times = {time for block in data.blocks if block.times is not None for time in block.times.tolist()}
    columns = {look.guess.time: len(times), look.guess.variable: len(data.blocks)}
    found = [(name, look.source.texts([name])[name].n_unique(), most) for name, most in columns.items() if name]
    return [f"column {name!r} writes the same thing in several ways" for name, texts, most in found if texts > most]


def _no_numbers(look: Look) -> list[str]:
    """NaN has many bit patterns, and stands beside missing cells for the same: it tells rows apart that have equal values."""
    floats = [column for column in look.source.frame if column.dtype.is_float()]
    return [f"column {column.name!r} holds NaN, which is no number" for column in floats if column.is_nan().any()]


def _missing_rows(look: Look, data: Dataset) -> list[str]:
    """Long layout: an empty cell and a missing row are both a gap, and tell rows apart."""
    if look.guess.layout == "wide":
        return []
    frame, names = look.source.frame, list(look.guess.values)
    expected = data.n * (sum(map(len, data.blocks)) if look.guess.variable else len(data.blocks[0]))
    empty = frame.select(pl.any_horizontal(pl.col(names).is_null())).to_series().any()
    return ["gaps are empty cells in some rows and missing rows elsewhere"] if empty and frame.height < expected else []


def _are_fresh(ids: pl.Series) -> bool:
    """Whether identifiers look like the random ones that tsveil makes, of 64 bits each; numbers that count something have fewer bits set, or more.

    By Hoeffding's inequality, the ones among m random bits differ from m/2 by t with a chance of at most 2 exp(-2 t^2 / m). Digits from 0 to 9 alone have 24 of 64 bits set.
    Their first digits, or their last, must not tie records of one person together either.
    """
    texts = ids.to_list()
    if ids.dtype != pl.String or not all(FRESH.fullmatch(text or "") for text in texts):
        return False
    m = 64 * len(texts)
    t = abs(sum(int(text[1:], 16).bit_count() for text in texts) - m / 2)
    if t >= 6 * len(texts) and math.log(2) - 2 * t * t / m < math.log(CHANCE):
        return False
    numbers = np.array([int(text[1:], 16) for text in texts], dtype=np.uint64)
    return not any(
        _repeat(part, 4 * digits)
        for digits in range(1, 16)
        for part in (numbers >> np.uint64(64 - 4 * digits), numbers & np.uint64((1 << 4 * digits) - 1))
    )


def _repeat(parts: AnyArray, bits: int) -> bool:
    """Whether parts of an identifier, `bits` long, repeat more often than random ones would.

    One of m random parts is equal to an earlier one with a chance of at most q = m / 2^bits. By Chernoff's inequality, s or more of them are with a chance of at most
    exp(-m D), where D = a log(a/q) + (1-a) log((1-a)/(1-q)) and a = s/m > q.

    Examples
    --------
    >>> _repeat(np.arange(80) % 20, 32), _repeat(np.arange(80), 32), _repeat(np.arange(80) % 16, 4)
    (True, False, False)
    """
    m = len(parts)
    q = m / 2**bits
    a = 1 - pl.Series(parts).n_unique() / m if q < 1 else 0.0
    if a <= q:
        return False
    rest = (1 - a) * math.log((1 - a) / (1 - q))
    return -m * (a * math.log(a / q) + rest) < math.log(CHANCE)
