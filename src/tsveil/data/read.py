"""Files to `Dataset`, wide and long, of all formats in `tsveil.data.formats`.

Files are opened by `files`. Identifiers, times, words and confidential columns are kept as they are written: 007 stays 007. What the caller does not say is detected
(separator, decimal comma: `csv_text`) or guessed (roles: `guess`), and what may mean several things is asked (`questions`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tsveil.core.errors import InputError, ParameterError, Problems, QuestionError, some
from tsveil.data.categories import CategorySpec, with_absolute_paths
from tsveil.data.column_types import types_of
from tsveil.data.csv_text import SEPARATORS
from tsveil.data.dataset import Dataset, Layout, Origin
from tsveil.data.file_table import WANTED, FileTable, Wanted
from tsveil.data.files import digest_of, files_of, refuse_change, table_of_files
from tsveil.data.formats.known import FORMATS
from tsveil.data.frames import BlockSpec, Times, dataset_from_long, dataset_from_wide
from tsveil.data.gaps import Missing, check_gap_options
from tsveil.data.guess import Guess, date_and_clock, guess, row_numbers
from tsveil.data.questions import ask
from tsveil.data.resample import split as split_series
from tsveil.data.table import MOST
from tsveil.data.time_forms import check_time_format

#: the memory that work on a data set may take unless the caller says otherwise, and about how many times the size of the data it takes
MEMORY = "4GB"
WORKING = 6
#: the options that say what stands where in a file
_ROLES = (
    "layout", "id", "person", "blocks", "confidential", "time", "variable", "value", *WANTED,
    "leave_out", "numbers", "categories", "independent_rows", "transpose", "time_format",
)  # fmt: skip


def read(
    path: str | Path,
    *,
    layout: Literal["wide", "long"] | None = None,
    id: str | Sequence[str] | None = None,
    person: str | Sequence[str] = (),
    blocks: Mapping[str, BlockSpec] | None = None,
    confidential: str | Sequence[str] = (),
    time: str | Sequence[str] | None = None,
    variable: str | None = None,
    value: str | Sequence[str] | None = None,
    leave_out: str | Sequence[str] = (),
    numbers: str | Sequence[str] = (),
    categories: Mapping[str, CategorySpec] | None = None,
    independent_rows: bool = False,
    transpose: bool | None = None,
    time_format: str | None = None,
    times: Times = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    missing: Missing = "refuse",
    resample: int | None = None,
    split: int | None = None,
    memory: int | str = MEMORY,
    chunks: bool = False,
) -> Dataset:
    """Read a file of data, or a folder of them. What is not given is detected or guessed; `tsveil.data.guess` says by which rules.

    Parameters
    ----------
    path
        A CSV file (also .tsv or .txt; UTF-8, or UTF-16 or Windows-1252, which a note says), a Parquet or Arrow file, an Excel or OpenDocument workbook, a SQLite or DuckDB database,
        JSON records, a .ts or .arff file, a file of Stata, SPSS or SAS, each also compressed by gzip or zstd; or several files of one kind with the same columns:
        a folder, or a pattern such as meters/2018-*.parquet.
    layout
        "wide", a row per record, or "long", a row per record and time.
    id, confidential
        The columns with the identifier and with what is carried through unchanged. Several identifiers together make one.
    person
        The column, or the columns, that say to whom a record belongs, where one person may have several records. Then k counts persons,
        not records. Person columns are never published.
    blocks, times
        Wide: the columns that are protected together, by the block's name: a list, {"from": first, "to": last} or
        {"columns": [...]}, the latter two optionally with "kind" ("series" or "attributes") and "times"; and the times
        of the series where the columns' names do not say them.
    time, variable, value
        Long: the columns with the time (two where the date and the time of day stand apart), with the name of the series, and with the values (several
        columns: a series each).
    leave_out, numbers
        Columns that are left out, and columns of whole numbers that are quantities although they look like codes.
    categories
        Columns whose values are labels instead of numbers, or blocks of such columns: "nominal", "ordinal" (in the order of the data type, or of
        whole numbers), the labels in their order, or {"hierarchy": file} for labels below others, with a CSV file that has a line per label: the label, its
        parent, the parent of that one, and so on. Columns that are in no block make one of their own.
    independent_rows
        Rows that share a value of a column named like an identifier belong to different persons all the same.
    transpose
        True: the rows of the file are times and its columns are persons. False: they are not, although it looks like that.
    time_format
        How times are written that do not say it themselves: "month-first" or "day-first" (4/12/2016), "year-first" (16/04/12), "month-year" or "month-day"
        (Jan-20), "epoch-s", "epoch-ms", or a pattern of `datetime.strptime` such as "%d.%m.%y %H:%M".
    separator, decimal
        CSV: one of , ; | and tab, and . or ,
    header
        Whether the first line of a CSV file or a sheet holds the names of the columns. False: it is a record, and the columns are numbered.
    sheet, table, query
        The sheet of a workbook; the table of a database, or what a SELECT finds in it, which is opened for reading only.
    missing
        What to do with records that lack points: "refuse", "drop" them, "interpolate" in time, "mask" (records keep their gaps, and take part), "keep" NaN.
    resample, split
        Bring every series to this many points; then cut it into this many series of equal length.
    memory
        The memory that working on the data may take, such as "4GB". Of larger files with a row per record the records stay where
        they are and are read chunk by chunk when they are needed.
    chunks
        Leave the records of Parquet files there, whatever their size, where that is possible.

    Returns
    -------
    Dataset
        The records; of files beyond `memory` they stay in their files.

    Raises
    ------
    InputError
        If a file cannot be read, or its table cannot be used; all problems at once, with their places.
    QuestionError
        If it may mean several things: what was seen, and which options answer it.
    ParameterError
        If an option is out of range.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> path = Path(tempfile.mkdtemp()) / "meters.csv"
    >>> _ = path.write_text("meter;2018-01-01;2018-01-02\\na;1,5;2,5\\nb;3,5;4,0\\n")
    >>> data = tv.read(path)
    >>> data
    Dataset: 2 records; series 'series' (2 points); identifier 'meter'
    >>> data.block("series")
    array([[1.5, 2.5],
           [3.5, 4. ]])
    """
    given: dict[str, Any] = {
        "layout": layout, "id": id, "person": person, "blocks": blocks, "confidential": confidential, "time": time, "variable": variable, "value": value,
        "separator": separator, "decimal": decimal, "header": header, "sheet": sheet, "table": table, "query": query, "missing": None if missing == "refuse" else missing, "resample": resample, "split": split, "leave_out": leave_out, "numbers": numbers,
        "categories": with_absolute_paths(categories or {}, Path()), "independent_rows": independent_rows, "transpose": transpose, "time_format": time_format,
    }  # fmt: skip
    check_gap_options(missing, resample)
    check_time_format(time_format)
    _check_options(layout, separator, decimal, split, table, query)
    wanted = Wanted(separator, decimal, header, sheet, table, query)
    files = files_of(path)
    large = exceeds(files, bytes_of(memory)) and layout != "long"
    before = [_state(file) for file in files]
    later = {name: given[name] for name in ("time", "variable", "value", "missing", "resample", "split")}
    if missing == "mask":
        later["missing"] = None
    later |= {"times": times, "transpose": transpose or None, "several id": id if len(_names(id)) > 1 else None}
    one_id = next(iter(_names(id)), None)
    data: Dataset | None = None
    if large or (chunks and layout != "long" and all(file.suffix == ".parquet" for file in files)):
        try:
            data = _in_files(
                path, files, later, id=one_id, person=person, blocks=blocks, confidential=confidential, wanted=wanted, layout=layout,
                leave_out=leave_out, numbers=numbers, categories=categories, independent_rows=independent_rows, transpose=transpose, time_format=time_format, masked=missing == "mask",
            )  # fmt: skip
        except QuestionError:
            raise
        except InputError:
            if large:
                raise  # otherwise reading them into memory finds out whether anything is wrong
    if data is None:
        look = _look_at(path, **{name: given[name] for name in _ROLES})
        ask(look.path.name, look.guess.questions)
        data = _dataset(look, times, missing, resample)
        if look.source.notes:
            data = replace(data, notes=(*look.source.notes, *data.notes))
        data = data if split is None else split_series(data, split)
    digest = digest_of(files)
    # The files were read twice, so they must be the same from before the first time until after the second.
    for file, then in zip(files, before, strict=True):
        assert then is not None
        refuse_change(f"{file.name} cannot be read", then, file.stat())
    origin = Origin(
        str(Path(path).absolute()),
        {k: v for k, v in given.items() if v or (v is False and k in ("transpose", "header"))},
        digest,
    )
    return data.from_files(origin)


def _state(file: Path) -> os.stat_result | None:
    """What the system knows of a file; nothing of one that reading will refuse."""
    try:
        return file.stat()
    except (OSError, ValueError):
        return None


def _in_files(path: str | Path, files: Sequence[Path], later: Mapping[str, Any], **roles: Any) -> Dataset:
    """A data set whose records stay in their files; what would change records needs all of them in memory."""
    from tsveil.data.source import FileDataset, source_of

    if given := [name for name, value in later.items() if value is not None]:
        raise InputError(
            f"{Path(path).name} is read in chunks, because it does not fit into the memory allowed, and then {some(given)} cannot be used\n"
            "  options: prepare the files first, or allow more memory"
        )
    return FileDataset.of(source_of(files, Path(path).name, **roles))


def bytes_of(memory: int | str) -> int:
    """A number of bytes, from a number or a text such as "4GB".

    Examples
    --------
    >>> bytes_of("1.5 GB"), bytes_of("200MB"), bytes_of(1024)
    (1500000000, 200000000, 1024)
    """
    text = str(memory).strip().upper()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text)
    if not found or isinstance(memory, bool):
        raise ParameterError(f"The 'memory' parameter must be a size such as '4GB'. Got {memory!r}.")
    return int(float(found[1]) * 1000 ** " KMGT".index(found[2] or " "))


def exceeds(files: Sequence[Path], limit: int) -> bool:
    """Whether working on the table of some files in memory would take more than a limit, by their size."""
    return table_size(files, limit // 100) * WORKING > limit


def table_size(files: Sequence[Path], small: int = 0) -> int:
    """The bytes of the table of some files: 8 for each value of a Parquet file, the size of any other; 0 where reading will say what is wrong.

    Parquet files whose size, many times, is at most `small` are not opened for this.
    """
    total = 0
    for file in files:
        try:
            size = file.stat().st_size
            if file.suffix == ".parquet" and size * WORKING > small:
                table = pl.scan_parquet(file, glob=False)
                size = 8 * len(table.collect_schema()) * int(table.select(pl.len()).collect().item())
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return 0
        total += size
    return total


def look_at(path: str | Path, **options: Any) -> Look:
    """What `read` with these options would take a file for, whatever is wrong with its cells.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "meters.csv"
    >>> _ = path.write_text("meter,1,2\\na,1,?\\nb,3,4\\n")
    >>> look = look_at(path, missing="drop")
    >>> look.rows, look.columns
    (2, ('meter', '1', '2'))
    >>> look.options()
    {'layout': 'wide', 'id': 'meter', 'blocks': {'series': {'from': '1', 'to': '2', 'kind': 'series'}}}
    """
    given: dict[str, Any] = {name: options.get(name) for name in _ROLES}
    _check_options(
        given["layout"], given["separator"], given["decimal"], options.get("split"), given["table"], given["query"]
    )
    check_time_format(given["time_format"])
    return _look_at(path, **given)


def read_own(path: str | Path, **roles: Any) -> Dataset:
    """`read` for a file that this process has just written: nobody could damage it, so its parsing is not tried first.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "meters.parquet"
    >>> pl.DataFrame({"meter": ["a", "b"], "1": [1.5, 3.5], "2": [2.5, 4.0]}).write_parquet(path)
    >>> read_own(path, layout="wide", id="meter")
    Dataset: 2 records; series 'series' (2 points); identifier 'meter'
    """
    given: dict[str, Any] = {name: roles.get(name) for name in _ROLES}
    return _look_at(path, own=True, **given).dataset(roles.get("missing", "refuse"))


@dataclass(frozen=True)
class Look:
    """A file that was opened, and the roles of its columns: those given, and those guessed."""

    path: Path
    source: FileTable
    guess: Guess
    #: wide: the blocks that were given, instead of those guessed
    blocks: Mapping[str, BlockSpec] | None = None
    #: the answers to questions that were given, as options for `read`
    answers: Mapping[str, Any] = field(default_factory=dict)
    #: long: the columns of the file with the date and the time of day, where these stand apart
    time_parts: tuple[str, ...] = ()
    #: the columns in the order of the file
    columns: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows in the file, without the column names."""
        return self.source.frame.height

    def options(self) -> dict[str, Any]:
        """The roles as options for `read`, in plain values; consecutive columns by the first and the last."""
        found = self.guess
        options: dict[str, Any] = {"layout": found.layout, "id": found.id}
        if found.layout == "long":
            options |= {
                "time": list(self.time_parts) or found.time,
                "variable": found.variable,
                "value": list(found.values),
            }
        else:
            options["blocks"] = self.blocks or {
                name: {**_columns_in_short(columns, self.columns), "kind": found.kinds[name]}
                for name, columns in found.blocks.items()
            }
        options |= {"person": list(found.person), "confidential": list(found.confidential)}
        return {name: value for name, value in options.items() if value} | dict(self.answers)

    def dataset(self, missing: Missing = "refuse") -> Dataset:
        """The records; gaps are refused unless it is said what to do."""
        return _dataset(self, None, missing, None)


def _columns_in_short(columns: Sequence[str], available: Sequence[str]) -> dict[str, Any]:
    first, last = available.index(columns[0]), available.index(columns[-1])
    if tuple(available[first : last + 1]) == tuple(columns):
        return {"from": columns[0], "to": columns[-1]}
    return {"columns": list(columns)}


def _check_options(
    layout: str | None,
    separator: str | None,
    decimal: str | None,
    split: int | None,
    table: str | None,
    query: str | None,
) -> None:
    wrong = []
    if layout not in (None, "wide", "long"):
        wrong.append(f"The 'layout' parameter of read must be 'wide' or 'long', or left out. Got {layout!r}.")
    if separator is not None and separator not in (*SEPARATORS, "tab"):
        wrong.append(
            f"The 'separator' parameter of read must be ',', ';', '|' or 'tab', or left out. Got {separator!r}."
        )
    if decimal not in (None, ".", ","):
        wrong.append(f"The 'decimal' parameter of read must be '.' or ',', or left out. Got {decimal!r}.")
    if separator == decimal == ",":
        wrong.append("The 'separator' and the 'decimal' parameter of read cannot both be ','.")
    if table is not None and query is not None:
        wrong.append("The 'table' and the 'query' parameter of read cannot both be given.")
    if split is not None and (isinstance(split, bool) or not isinstance(split, int) or split < 2):
        wrong.append(f"The 'split' parameter of read must be an integer of at least 2, or left out. Got {split!r}.")
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)


def _look_at(path: str | Path, own: bool = False, **roles: Any) -> Look:
    """Open a file and find the roles of its columns, those given and those guessed; `own`: just written here."""
    place = Path(path)
    problems = Problems(f"{place.name} cannot be read")
    blocks = roles["blocks"]
    turned = bool(roles["transpose"])
    if blocks and (roles["layout"] == "long" or (roles["time"] and not turned) or roles["variable"] or roles["value"]):
        problems.add("blocks= is for the wide layout; time=, variable= and value= are for the long one")
        problems.raise_if_any()
    source = table_of_files(files_of(path), Wanted(**{name: roles[name] for name in WANTED}), own, problems)
    kept = {name: _names(roles[name]) for name in ("person", "confidential", "value", "leave_out", "numbers")}
    if turned:
        source = _transpose(source, roles["time"], kept.pop("leave_out"), problems)
    ids = _names(roles["id"])
    if len(ids) > 1:
        source = _with_one_id(source, ids, {*kept["person"], *kept["confidential"]}, problems)
    id = "+".join(ids) or None
    time, parts = (None, ()) if turned else _time_parts(source, roles, id)
    columns = tuple(source.frame.columns)
    if parts:
        source = _with_one_time(source, parts, problems)
        kept["numbers"] = [name for name in kept["numbers"] if name not in parts]
    judged = columns_of(blocks, source.frame.columns) if blocks else ()
    found = guess(
        source.frame,
        layout="wide" if blocks else roles["layout"],
        id=id,
        time=time,
        variable=roles["variable"],
        independent_rows=bool(roles["independent_rows"]) or own,
        transpose=False if own else roles["transpose"],
        time_format=roles["time_format"],
        judged=judged,
        categories=list(roles["categories"] or ()),
        **kept,
    )
    if found.layout == "long" and not kept["value"] and found.id in source.frame.columns:
        # Labels that change with time are a series of labels; the others belong to the record.
        changing = _changing(source.frame, found.id, list(roles["categories"] or ()))
        said_of = [f"{some(changing)}: labels that change with time; a series of its own"] if changing else []
        found = replace(found, values=(*found.values, *changing), reasons=(*found.reasons, *said_of))
    if blocks and not ids and found.id in judged:
        found = replace(found, id=None)
    said = ("leave_out", "numbers", "categories", "independent_rows", "time_format")
    answers = {name: roles[name] for name in said if roles[name]}
    answers |= {} if roles["transpose"] is None else {"transpose": turned}
    answers |= {"time": roles["time"]} if turned and roles["time"] else {}
    answers |= {"id": ids} if len(ids) > 1 else {}
    if parts and not roles["time"]:
        why = f"{parts[0]!r} and {parts[1]!r}: the date and the time of day; if each date is a series of its own instead: variable {parts[0]!r}, time {parts[1]!r}"
        found = replace(found, reasons=(*found.reasons, why))
    if source.questions:  # questions about columns come after these answers
        found = replace(found, questions=source.questions)
    if source.notes:
        found = replace(found, reasons=(*found.reasons, *source.notes))
    return Look(place, source, found, blocks or None, answers, parts, columns)


def _changing(frame: pl.DataFrame, id: str | None, columns: Sequence[str]) -> list[str]:
    """The columns that have several values for some record."""
    there = [name for name in columns if name in frame.columns]
    counts = frame.group_by(id).agg(pl.col(there).n_unique()).max().row(0, named=True) if there and frame.height else {}
    return [name for name in there if counts[name] > 1]


def _names(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _check_columns(frame: pl.DataFrame, names: Sequence[str], problems: Problems) -> None:
    if strange := [name for name in names if name not in frame.columns]:
        problems.add(f"there is no column {some(strange)}")
        problems.hint(f"columns available: {some(frame.columns, 20)}")
        problems.raise_if_any()


def _transpose(source: FileTable, time: str | None, leave_out: Sequence[str], problems: Problems) -> FileTable:
    """A table with a row per time and a column per person, turned: a row per person, with the times as columns."""
    _check_columns(source.frame, [*leave_out, *([time] if time else [])], problems)
    frame = source.frame.drop(leave_out)
    frame = frame.drop([name for name in row_numbers(frame) if name != time])
    time = frame.columns[0] if time is None else time
    labels, persons = frame[time].cast(pl.String), frame.drop(time)
    if labels.null_count() or labels.n_unique() < len(labels):
        problems.add(f"the table cannot be turned: the times in column {time!r} are missing or repeat")
    if odd := [name for name, kind in persons.schema.items() if not kind.is_numeric()]:
        problems.add(f"the table cannot be turned: column {some(odd)} holds no numbers")
        problems.hint("options: " + ", ".join(f"leave_out={name!r}" for name in odd[:MOST]))
    problems.raise_if_any()
    turned = persons.transpose(include_header=True, header_name="id", column_names=labels.to_list())
    return replace(source, frame=turned, texts=None)


def _with_one_id(source: FileTable, ids: Sequence[str], kept: Collection[str], problems: Problems) -> FileTable:
    """Several identifiers made one, whose name and values are theirs with a plus sign between them; those with a role of their own stay."""
    return _joined(source, ids, "+", kept, 0, problems)


def _time_parts(source: FileTable, roles: Mapping[str, Any], id: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The column of times that was given, and the two that together hold them, given or found."""
    given = tuple(_names(roles["time"]))
    if len(given) > 1:
        return "+".join(given), given
    if given or roles["blocks"] or roles["layout"] == "wide" or roles["variable"]:
        return next(iter(given), None), ()
    found = date_and_clock(source.frame, id, roles["time_format"] or "")
    return ("+".join(found), found) if found else (None, ())


def _with_one_time(source: FileTable, parts: Sequence[str], problems: Problems) -> FileTable:
    """The date and the time of day made one column, with a space between them."""
    if len(parts) != 2:
        problems.add(f"a time has at most two columns, the date and the time of day. Got {some(parts)}.")
        problems.raise_if_any()
    _check_columns(source.frame, parts, problems)
    return _joined(source, parts, " ", (), source.frame.columns.index(parts[0]), problems)


def _joined(
    source: FileTable, names: Sequence[str], between: str, kept: Collection[str], at: int, problems: Problems
) -> FileTable:
    """Several columns made one, as they are written; those that are kept stay beside it."""
    _check_columns(source.frame, names, problems)
    texts = source.texts(list(names)) if source.texts else source.frame.select(pl.col(names).cast(pl.String))
    name = "+".join(names)
    one = texts.select(pl.concat_str(names, separator=between).alias(name)).to_series()
    frame = source.frame.drop([column for column in names if column not in kept])
    frame = frame.insert_column(min(at, frame.width), one)

    def read_texts(wanted: list[str]) -> pl.DataFrame:
        others = [column for column in wanted if column != name]
        found = source.texts(others) if source.texts and others else frame.select(pl.col(others).cast(pl.String))
        return pl.DataFrame([one if column == name else found[column] for column in wanted])

    return replace(source, frame=frame, texts=read_texts if source.texts else None)


def _dataset(look: Look, times: Times, missing: Missing, resample: int | None) -> Dataset:
    found, source = look.guess, look.source
    subject = f"{look.path.name} cannot be used"
    problems = Problems(subject)
    layout = layout_of(source)
    blocks: Mapping[str, BlockSpec] = look.blocks or {
        name: {"columns": columns, "kind": found.kinds[name]} for name, columns in found.blocks.items()
    }
    used = columns_of(blocks, look.columns) if found.layout == "wide" else found.values
    categories: Mapping[str, CategorySpec] = look.answers.get("categories", {})
    labels = [
        c for name in categories for c in (columns_of({name: blocks[name]}, look.columns) if name in blocks else [name])
    ]
    source.check_whole_numbers([name for name in look.columns if name in used], problems)
    if found.layout == "wide":
        if not blocks and not categories:
            rows = source.frame.height
            none = "no column holds numbers that could be protected"
            problems.add(none if rows else "there are no records, only the names of columns")
            problems.hint(f"columns available: {some(look.columns, 20)}")
            problems.raise_if_any()
        return dataset_from_wide(
            source.frame_with_texts(found.id, found.confidential, *found.person, *labels),
            blocks=blocks,
            id=found.id,
            person=found.person,
            confidential=found.confidential,
            categories=categories,
            times=times,
            time_format=look.answers.get("time_format"),
            missing=missing,
            resample=resample,
            layout=layout,
            subject=subject,
        )
    for role, column in (("id", found.id), ("time", found.time), ("value", found.values or None)):
        if column is None:
            problems.add(f"the long layout needs {role}=, and no column looks like it")
            problems.hint(f"columns available: {some(look.columns, 20)}")
    if times is not None:
        problems.add("times= is for the wide layout; a long table has a column of times")
    problems.raise_if_any()
    assert found.id is not None
    assert found.time is not None
    if look.time_parts:
        layout = replace(layout, time_parts=look.time_parts, order=look.columns)
    return dataset_from_long(
        source.frame_with_texts(found.id, found.confidential, found.time, found.variable, *found.person, *labels),
        id=found.id,
        person=found.person,
        time=found.time,
        variable=found.variable,
        value=found.values,
        confidential=found.confidential,
        categories=categories,
        time_format=look.answers.get("time_format"),
        missing=missing,
        resample=resample,
        layout=layout,
        subject=subject,
    )


def layout_of(source: FileTable) -> Layout:
    """How a file looks."""
    types = types_of(source.frame) if FORMATS[source.format].typed else b""
    return Layout(
        format=source.format, separator=source.separator, decimal=source.decimal, place=source.place, types=types
    )


def columns_of(blocks: Mapping[str, BlockSpec], available: Sequence[str]) -> set[str]:
    """The columns of the blocks, as far as they are named rightly."""
    found: set[str] = set()
    for spec in blocks.values():
        if isinstance(spec, Mapping) and spec.get("from") in available and spec.get("to") in available:
            found.update(available[available.index(spec["from"]) : available.index(spec["to"]) + 1])
        else:
            columns = spec.get("columns", ()) if isinstance(spec, Mapping) else spec
            found.update([columns] if isinstance(columns, str) else columns)
    return found
