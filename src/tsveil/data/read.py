"""Files to `Dataset`: CSV (plain or gzip) and Parquet, wide and long.

A CSV file is parsed by polars with types inferred from its first rows. When a later row does not fit, all cells are read as
text, so that a message can quote what stands there. Identifiers, times, words and confidential columns are kept as they are
written: 007 stays 007. What the caller does not say is detected (separator, decimal comma) or guessed (`guess`).
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

import polars as pl

from tsveil.core.errors import InputError, ParameterError, Problems, QuestionError, some
from tsveil.data.dataset import Dataset, Layout, Origin
from tsveil.data.frames import BlockSpec, Times, dataset_from_long, dataset_from_wide
from tsveil.data.gaps import Missing, check_gap_options
from tsveil.data.guess import Guess, guess, row_numbers
from tsveil.data.memory import reserve
from tsveil.data.questions import ask, like_times
from tsveil.data.resample import split as split_series
from tsveil.data.table import EXACT, MOST, as_numbers, check_names, inexact, tell, too_large
from tsveil.data.trial import parsing_problem

#: in this order: a tab, semicolon or bar that cuts every line alike is never an accident, a comma may be decimal
_SEPARATORS = ("\t", ";", "|", ",")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
#: rows whose types are inferred; lines, and bytes of them, that are looked at to find the separator
_SAMPLE = 1000
_LINES = 200
_BYTES = 1_000_000
#: no table has a line of more bytes: a million columns with twenty digits each make a fifth of it
LONGEST_LINE = 100_000_000
#: a wide table may have this many columns: a year of readings every five minutes has 105,120
MOST_COLUMNS = 200_000
_CHUNK = 1 << 24
#: a table takes about this many times the size of its file while it is read; the parser's threads want address space beside it
_ROOM = 4
_THREADS = 700_000_000
#: the memory that work on a data set may take unless the caller says otherwise, and about how many times the size of the data it takes
MEMORY = "4GB"
_WORKING = 6
#: what is looked for in a folder
_KINDS = {"parquet": (".parquet",), "csv": (".csv", ".csv.gz", ".tsv", ".txt")}
#: the options that say what stands where in a file
_ROLES = (
    "layout", "id", "person", "blocks", "confidential", "time", "variable", "value", "separator", "decimal",
    "leave_out", "numbers", "independent_rows", "transpose",
)  # fmt: skip


def read(
    path: str | Path,
    *,
    layout: Literal["wide", "long"] | None = None,
    id: str | Sequence[str] | None = None,
    person: str | Sequence[str] = (),
    blocks: Mapping[str, BlockSpec] | None = None,
    confidential: str | Sequence[str] = (),
    time: str | None = None,
    variable: str | None = None,
    value: str | Sequence[str] | None = None,
    leave_out: str | Sequence[str] = (),
    numbers: str | Sequence[str] = (),
    independent_rows: bool = False,
    transpose: bool | None = None,
    times: Times = None,
    separator: str | None = None,
    decimal: str | None = None,
    missing: Missing = "refuse",
    resample: int | None = None,
    split: int | None = None,
    memory: int | str = MEMORY,
    chunks: bool = False,
) -> Dataset:
    """Read a CSV or Parquet file, or a folder of them.

    Parameters
    ----------
    path
        A CSV file (also .tsv or .txt, also compressed by gzip; UTF-8), a Parquet file, or several files of one kind with the same columns:
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
        Long: the columns with the time, with the name of the series, and with the values (several columns: a series
        each).
    leave_out, numbers
        Columns that are left out, and columns of whole numbers that are quantities although they look like codes.
    independent_rows
        Rows that share a value of a column named like an identifier belong to different persons all the same.
    transpose
        True: the rows of the file are times and its columns are persons. False: they are not, although it looks like that.
    separator, decimal
        CSV: one of , ; | and tab, and . or ,
    missing
        What to do with records that lack points: "refuse", "drop" them, "interpolate" in time, "keep" NaN.
    resample, split
        Bring every series to this many points; then cut it into this many series of equal length.
    memory
        The memory that working on the data may take, such as "4GB". Of larger files with a row per record the records stay where
        they are and are read chunk by chunk when they are needed.
    chunks
        Leave the records of Parquet files there, whatever their size, where that is possible.

    What is not given is detected or guessed; `tsveil.data.guess` says by which rules. What may mean several things is asked: a QuestionError says what was seen
    and which options answer it.

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
        "separator": separator, "decimal": decimal, "missing": None if missing == "refuse" else missing, "resample": resample, "split": split, "leave_out": leave_out, "numbers": numbers,
        "independent_rows": independent_rows, "transpose": transpose,
    }  # fmt: skip
    check_gap_options(missing, resample)
    _check_options(layout, separator, decimal, split)
    files = files_of(path)
    large = exceeds(files, bytes_of(memory)) and layout != "long"
    before = [_state(file) for file in files]
    later = {name: given[name] for name in ("time", "variable", "value", "missing", "resample", "split")}
    later |= {"times": times, "transpose": transpose or None, "several id": id if len(_names(id)) > 1 else None}
    one_id = next(iter(_names(id)), None)
    data: Dataset | None = None
    if large or (chunks and layout != "long" and all(file.suffix == ".parquet" for file in files)):
        try:
            data = _in_files(
                path, files, later, id=one_id, person=person, blocks=blocks, confidential=confidential, separator=separator, decimal=decimal, layout=layout,
                leave_out=leave_out, numbers=numbers, independent_rows=independent_rows, transpose=transpose,
            )  # fmt: skip
        except QuestionError:
            raise
        except InputError:
            if large:
                raise  # otherwise reading them into memory finds out whether anything is wrong
    if data is None:
        look = _looked_at(path, **{name: given[name] for name in _ROLES})
        ask(look.path.name, look.guess.questions)
        data = _dataset(look, times, missing, resample)
        data = data if split is None else split_series(data, split)
    digest = digest_of(files)
    # The files were read twice, so they must be the same from before the first time until after the second.
    for file, then in zip(files, before, strict=True):
        assert then is not None
        refuse_changed(f"{file.name} cannot be read", then, file.stat())
    origin = Origin(
        str(Path(path).absolute()), {k: v for k, v in given.items() if v or (v is False and k == "transpose")}, digest
    )
    return data.from_files(origin)


def _state(file: Path) -> os.stat_result | None:
    """What the system knows of a file; nothing of one that reading will refuse."""
    try:
        return file.stat()
    except (OSError, ValueError):
        return None


def digest_of(files: Sequence[Path]) -> str:
    """The hash of a file; of several, that of the list of their hashes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty.csv"
    >>> path.touch()
    >>> digest_of([path])[:8], digest_of([path, path])[:8]
    ('e3b0c442', 'af60ab5b')
    """
    found = []
    for path in files:
        with path.open("rb") as file:
            found.append(hashlib.file_digest(file, "sha256").hexdigest())
    return found[0] if len(found) == 1 else hashlib.sha256("\n".join(found).encode()).hexdigest()


def _in_files(path: str | Path, files: Sequence[Path], later: Mapping[str, Any], **roles: Any) -> Dataset:
    """A data set whose records stay in their files; what would change records needs all of them in memory."""
    from tsveil.data.source import FileDataset, source_of

    if given := [name for name, value in later.items() if value is not None]:
        raise InputError(
            f"{Path(path).name} is read in chunks, because it does not fit into the memory allowed, and then {some(given)} cannot be used\n"
            "  options: prepare the files first, or allow more memory"
        )
    return FileDataset.of(source_of(files, Path(path).name, **roles))


def files_of(path: str | Path) -> list[Path]:
    """The files that a path stands for: itself, those of a folder, or those that fit a pattern, in the order of their names.

    In a folder, hidden files and folders and those that begin with an underscore are passed over.
    """
    place = Path(path)
    if place.is_dir():
        every = [file for file in sorted(place.rglob("*")) if file.is_file()]
        found = [f for f in every if not any(part.startswith((".", "_")) for part in f.relative_to(place).parts)]
        kinds = {kind: [f for f in found if f.name.endswith(endings)] for kind, endings in _KINDS.items()}
        if all(kinds.values()):
            raise InputError(f"{place.name} cannot be used: the folder holds both Parquet and CSV files")
        if not any(kinds.values()):
            raise InputError(f"{place.name} cannot be used: the folder holds no file that ends with .parquet or .csv")
        return kinds["parquet"] or kinds["csv"]
    if not place.exists() and any(sign in place.name for sign in "*?["):
        matching = sorted(file for file in place.parent.glob(place.name) if file.is_file())
        if not matching:
            raise InputError(f"there is no file {path}")
        return matching
    return [place]


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
    total = 0
    for file in files:
        try:
            size = file.stat().st_size
            if file.suffix == ".parquet" and size * _WORKING > limit // 100:
                table = pl.scan_parquet(file, glob=False)
                size = 8 * len(table.collect_schema()) * int(table.select(pl.len()).collect().item())
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return False  # reading says what is wrong
        total += size
    return total * _WORKING > limit


def looked_at(path: str | Path, **options: Any) -> Look:
    """What `read` with these options would take a file for, whatever is wrong with its cells.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "meters.csv"
    >>> _ = path.write_text("meter,1,2\\na,1,?\\nb,3,4\\n")
    >>> look = looked_at(path, missing="drop")
    >>> look.rows, look.columns
    (2, ('meter', '1', '2'))
    >>> look.options()
    {'layout': 'wide', 'id': 'meter', 'blocks': {'series': {'from': '1', 'to': '2', 'kind': 'series'}}}
    """
    given: dict[str, Any] = {name: options.get(name) for name in _ROLES}
    _check_options(given["layout"], given["separator"], given["decimal"], options.get("split"))
    return _looked_at(path, **given)


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
    return _looked_at(path, own=True, **given).dataset()


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

    @property
    def rows(self) -> int:
        """The number of rows in the file, without the column names."""
        return self.source.frame.height

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order of the file."""
        return tuple(self.source.frame.columns)

    def options(self) -> dict[str, Any]:
        """The roles as options for `read`, in plain values; consecutive columns by the first and the last."""
        found = self.guess
        options: dict[str, Any] = {"layout": found.layout, "id": found.id}
        if found.layout == "long":
            options |= {"time": found.time, "variable": found.variable, "value": list(found.values)}
        else:
            options["blocks"] = self.blocks or {
                name: {**_columns_in_short(columns, self.columns), "kind": found.kinds[name]}
                for name, columns in found.blocks.items()
            }
        options |= {"person": list(found.person), "confidential": list(found.confidential)}
        return {name: value for name, value in options.items() if value} | dict(self.answers)

    def dataset(self) -> Dataset:
        """The records; gaps are refused."""
        return _dataset(self, None, "refuse", None)

    def to_dict(self) -> dict[str, Any]:
        """What was found, for a machine."""
        return {
            "rows": self.rows,
            "columns": list(self.columns),
            "format": self.source.format,
            "separator": self.source.separator,
            "decimal": self.source.decimal,
            **self.options(),
            "dropped": list(self.guess.dropped),
            "reasons": list(self.guess.reasons),
            "questions": [str(question) for question in self.guess.questions],
        }


def _columns_in_short(columns: Sequence[str], available: Sequence[str]) -> dict[str, Any]:
    first, last = available.index(columns[0]), available.index(columns[-1])
    if tuple(available[first : last + 1]) == tuple(columns):
        return {"from": columns[0], "to": columns[-1]}
    return {"columns": list(columns)}


def _check_options(layout: str | None, separator: str | None, decimal: str | None, split: int | None) -> None:
    wrong = []
    if layout not in (None, "wide", "long"):
        wrong.append(f"The 'layout' parameter of read must be 'wide' or 'long', or left out. Got {layout!r}.")
    if separator is not None and separator not in (*_SEPARATORS, "tab"):
        wrong.append(
            f"The 'separator' parameter of read must be ',', ';', '|' or 'tab', or left out. Got {separator!r}."
        )
    if decimal not in (None, ".", ","):
        wrong.append(f"The 'decimal' parameter of read must be '.' or ',', or left out. Got {decimal!r}.")
    if separator == decimal == ",":
        wrong.append("The 'separator' and the 'decimal' parameter of read cannot both be ','.")
    if split is not None and (isinstance(split, bool) or not isinstance(split, int) or split < 2):
        wrong.append(f"The 'split' parameter of read must be an integer of at least 2, or left out. Got {split!r}.")
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)


def _looked_at(path: str | Path, own: bool = False, **roles: Any) -> Look:
    """Open a file and find the roles of its columns, those given and those guessed; `own`: just written here."""
    place = Path(path)
    problems = Problems(f"{place.name} cannot be read")
    blocks = roles["blocks"]
    turned = bool(roles["transpose"])
    if blocks and (roles["layout"] == "long" or (roles["time"] and not turned) or roles["variable"] or roles["value"]):
        problems.add("blocks= is for the wide layout; time=, variable= and value= are for the long one")
        problems.raise_if_any()
    source = _all_opened(files_of(path), roles["separator"], roles["decimal"], own, problems)
    kept = {name: _names(roles[name]) for name in ("person", "confidential", "value", "leave_out", "numbers")}
    if turned:
        source = _transposed(source, roles["time"], kept.pop("leave_out"), problems)
    ids = _names(roles["id"])
    if len(ids) > 1:
        source = _with_one_id(source, ids, {*kept["person"], *kept["confidential"]}, problems)
    judged = columns_of(blocks, source.frame.columns) if blocks else ()
    found = guess(
        source.frame,
        layout="wide" if blocks else roles["layout"],
        id="+".join(ids) or None,
        time=None if turned else roles["time"],
        variable=roles["variable"],
        independent_rows=bool(roles["independent_rows"]) or own,
        transpose=False if own else roles["transpose"],
        judged=judged,
        **kept,
    )
    if blocks and not ids and found.id in judged:
        found = replace(found, id=None)
    answers = {name: roles[name] for name in ("leave_out", "numbers", "independent_rows") if roles[name]}
    answers |= {} if roles["transpose"] is None else {"transpose": turned}
    answers |= {"time": roles["time"]} if turned and roles["time"] else {}
    answers |= {"id": ids} if len(ids) > 1 else {}
    return Look(place, source, found, blocks or None, answers)


def _names(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _check_columns(frame: pl.DataFrame, names: Sequence[str], problems: Problems) -> None:
    if strange := [name for name in names if name not in frame.columns]:
        problems.add(f"there is no column {some(strange)}")
        problems.hint(f"columns available: {some(frame.columns, 20)}")
        problems.raise_if_any()


def _transposed(source: FileTable, time: str | None, leave_out: Sequence[str], problems: Problems) -> FileTable:
    """A table with a row per time and a column per person, turned: a row per person, with the times as columns."""
    _check_columns(source.frame, [*leave_out, *([time] if time else [])], problems)
    frame = source.frame.drop(leave_out)
    frame = frame.drop([name for name in row_numbers(frame) if name != time])
    time = frame.columns[0] if time is None else time
    labels, persons = frame[time].cast(pl.String), frame.drop(time)
    if labels.null_count() or labels.n_unique() < len(labels):
        problems.add(f"the table cannot be turned: the times in column {time!r} are missing or repeat")
    elif like_times(labels):
        problems.add(
            f"the table cannot be turned: {labels[0]!r} in column {time!r} does not say which is the day and which the month"
        )
        problems.hint("options: write dates as 2016-04-12")
    if odd := [name for name, kind in persons.schema.items() if not kind.is_numeric()]:
        problems.add(f"the table cannot be turned: column {some(odd)} holds no numbers")
        problems.hint("options: " + ", ".join(f"leave_out={name!r}" for name in odd[:MOST]))
    problems.raise_if_any()
    turned = persons.transpose(include_header=True, header_name="id", column_names=labels.to_list())
    return FileTable(turned, source.format, source.separator, source.decimal)


def _with_one_id(source: FileTable, ids: Sequence[str], kept: Collection[str], problems: Problems) -> FileTable:
    """Several identifiers made one, whose name and values are theirs with a plus sign between them; those with a role of their own stay."""
    _check_columns(source.frame, ids, problems)
    texts = source.texts(list(ids)) if source.texts else source.frame.select(pl.col(ids).cast(pl.String))
    name = "+".join(ids)
    one = texts.select(pl.concat_str(ids, separator="+").alias(name)).to_series()
    frame = source.frame.drop([column for column in ids if column not in kept]).insert_column(0, one)

    def written(wanted: list[str]) -> pl.DataFrame:
        others = [column for column in wanted if column != name]
        found = source.texts(others) if source.texts and others else frame.select(pl.col(others).cast(pl.String))
        return pl.DataFrame([one if column == name else found[column] for column in wanted])

    return FileTable(frame, source.format, source.separator, source.decimal, written if source.texts else None)


def _dataset(look: Look, times: Times, missing: Missing, resample: int | None) -> Dataset:
    found, source = look.guess, look.source
    subject = f"{look.path.name} cannot be used"
    problems = Problems(subject)
    layout = Layout(format=source.format, separator=source.separator, decimal=source.decimal)
    blocks: Mapping[str, BlockSpec] = look.blocks or {
        name: {"columns": columns, "kind": found.kinds[name]} for name, columns in found.blocks.items()
    }
    used = columns_of(blocks, look.columns) if found.layout == "wide" else found.values
    source.check_whole_numbers([name for name in look.columns if name in used], problems)
    if found.layout == "wide":
        if not blocks:
            rows = source.frame.height
            none = "no column holds numbers that could be protected"
            problems.add(none if rows else "there are no records, only the names of columns")
            problems.hint(f"columns available: {some(look.columns, 20)}")
            problems.raise_if_any()
        return dataset_from_wide(
            source.as_written(found.id, found.confidential, *found.person),
            blocks=blocks,
            id=found.id,
            person=found.person,
            confidential=found.confidential,
            times=times,
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
    return dataset_from_long(
        source.as_written(found.id, found.confidential, found.time, found.variable, *found.person),
        id=found.id,
        person=found.person,
        time=found.time,
        variable=found.variable,
        value=found.values,
        confidential=found.confidential,
        missing=missing,
        resample=resample,
        layout=layout,
        subject=subject,
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


# -- opening ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileTable:
    """The table of a file, or of several with the same columns."""

    frame: pl.DataFrame
    format: Literal["csv", "parquet"]
    separator: str = ","
    decimal: str = "."
    #: some columns as they are written in the file; None when the frame has them so
    texts: Callable[[list[str]], pl.DataFrame] | None = None

    def as_written(self, id: str | None, confidential: Sequence[str], *words: str | None) -> pl.DataFrame:
        """The frame with the columns that are not protected kept as text where a number would look different."""
        kept = [name for name in (id, *words) if name is not None]
        types = self.frame.schema
        names = [name for name in dict.fromkeys([*kept, *confidential]) if types.get(name, pl.String) != pl.String]
        if self.texts is None or not names:
            return self.frame
        texts = self.texts(names)
        changed = [texts[name] for name in names if not self._same(texts[name], self.frame[name], name in kept)]
        return self.frame.with_columns(changed)

    def check_whole_numbers(self, columns: Sequence[str], problems: Problems) -> None:
        """Among numbers with decimals, a whole number of too many digits would be changed without a word."""
        large = [
            name
            for name in columns
            if name in self.frame.columns
            and self.frame.schema[name].is_float()
            and (self.frame[name].abs() >= EXACT).any()
        ]
        if self.texts is not None and large:
            examples = [(row + 1, text.name, text[row]) for text in self.texts(large) for row in inexact(text)]
            told = [f"row {row}, column {name!r}: {too_large(number)}" for row, name, number in examples[:MOST]]
            tell(problems, told, len(examples), "numbers beyond 2^53")
            problems.raise_if_any()

    def _same(self, text: pl.Series, typed: pl.Series, exactly: bool) -> bool:
        """Whether a typed column stands for its text: 7 does not for 007, and in names 1.5 does not for 1.50."""
        if (typed.is_null() != text.is_null()).any():
            return False  # a word for nothing, such as NA
        if typed.dtype.is_float() and (not exactly or self.decimal == ","):
            return not text.str.contains(r"^\s*[+-]?0\d").any()
        return bool((typed.cast(pl.String) == text).all())


def opened_table(path: Path, separator: str | None, decimal: str | None) -> FileTable:
    """The table of one file."""
    return _opened(path, separator, decimal, False, Problems(f"{path.name} cannot be read"))


def contents_of(path: Path) -> bytes:
    """The text of one CSV file as it is parsed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "meters.csv"
    >>> _ = path.write_bytes(b"\\xef\\xbb\\xbfmeter,1\\r\\na,2\\r\\n")
    >>> contents_of(path)
    b'meter,1\\r\\na,2\\r\\n'
    """
    problems = Problems(f"{path.name} cannot be read")
    return _as_utf8(_bytes(path, problems), problems)


def _all_opened(
    files: Sequence[Path], separator: str | None, decimal: str | None, own: bool, problems: Problems
) -> FileTable:
    """The tables of all files, one below the other."""
    if len(files) == 1:
        return _opened(files[0], separator, decimal, own, problems)
    tables = [_opened(file, separator, decimal, own, Problems(f"{file.name} cannot be read")) for file in files]
    first = tables[0]
    for file, table in zip(files, tables, strict=True):
        if lacking := [name for name in first.frame.columns if name not in table.frame.columns]:
            problems.add(f"{file.name} lacks the column {some(lacking)}, which {files[0].name} has")
        if strange := [name for name in table.frame.columns if name not in first.frame.columns]:
            problems.add(f"{file.name} has the column {some(strange)}, which {files[0].name} lacks")
    problems.raise_if_any()
    names = first.frame.columns
    try:
        frame = pl.concat([table.frame.select(names) for table in tables], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        problems.add(f"the files have columns of different types: {_first_line(error)}")
        problems.raise_if_any()
        raise AssertionError from error

    def texts(wanted: list[str]) -> pl.DataFrame:
        return pl.concat(
            [t.frame.select(pl.col(wanted).cast(pl.String)) if t.texts is None else t.texts(wanted) for t in tables]
        )

    return FileTable(frame, first.format, first.separator, first.decimal, texts if first.texts else None)


def _opened(path: Path, separator: str | None, decimal: str | None, own: bool, problems: Problems) -> FileTable:
    data = _bytes(path, problems)
    if data[:4] == b"PAR1":
        if not own and (wrong := parsing_problem(data)):
            raise InputError(
                f"{problems.subject}: {wrong}\n  options: fetch or write the file again, or save the table as CSV (UTF-8)"
            )
        try:
            columns = list(pl.read_parquet_schema(io.BytesIO(data)))
            _check_width(len(columns), problems)
            check_names(columns, problems)
            problems.raise_if_any()
            return FileTable(pl.read_parquet(io.BytesIO(data)), "parquet")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # no trial was possible
            raise InputError(f"{problems.subject}: it is not a complete Parquet file ({_first_line(error)})") from error
    if data[:4] == b"PK\x03\x04":
        problems.add("it is a zip archive or an Excel workbook")
        problems.hint("options: save the table as CSV (UTF-8) or Parquet")
        problems.raise_if_any()
    return _csv(data, "\t" if separator == "tab" else separator, decimal, problems)


def _bytes(path: Path, problems: Problems) -> bytes:
    """The whole file, unpacked; read once, and refused if it changed meanwhile: half old and half new is neither."""
    try:
        # Without waiting: a pipe that nobody writes to would otherwise be opened for ever.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise InputError(
                    f"{path} is a folder; one CSV or Parquet file is needed"
                    if stat.S_ISDIR(before.st_mode)
                    else f"{problems.subject}: it is a pipe or a device\n  options: save the table to a file first"
                )
            data = _unpacked(file, before.st_size, problems)
            after = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; one CSV or Parquet file is needed") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{problems.subject}: the compressed file is damaged ({error})") from error
    except MemoryError as error:
        raise InputError(
            f"{problems.subject}: there is not enough memory for it\n  options: a larger machine or memory limit, or a part of the file"
        ) from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{problems.subject}: {getattr(error, 'strerror', None) or error}") from error
    refuse_changed(problems.subject, before, after)
    if not data or data.isspace():
        raise InputError(f"{problems.subject}: the file is empty")
    return data


def refuse_changed(subject: str, before: os.stat_result, after: os.stat_result) -> None:
    """Raise InputError if a file is not the one it was."""
    known = ("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    if any(getattr(before, what) != getattr(after, what) for what in known):
        raise InputError(
            f"{subject}: the file changed while it was read\n  options: wait until whatever writes it is done, or read a copy"
        )


def _unpacked(file: BinaryIO, size: int, problems: Problems) -> bytes:
    """What a file holds. A line that no table has is refused before it fills the memory."""
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=file) as packed:
            chunks = list(_checked(iter(lambda: packed.read(_CHUNK), b""), problems))
        reserve(_ROOM * sum(map(len, chunks)) + _THREADS)
        return b"".join(chunks)
    if size > LONGEST_LINE and start != b"PAR1":
        for _ in _checked(iter(lambda: file.read(_CHUNK), b""), problems):
            pass
        file.seek(0)
    reserve(_ROOM * size + _THREADS)
    return file.read()


def _checked(chunks: Iterator[bytes], problems: Problems) -> Iterator[bytes]:
    """The chunks of a text, with an error as soon as a line is longer than any table's."""
    length = 0
    for number, chunk in enumerate(chunks):
        parquet = number == 0 and chunk[:4] == b"PAR1"
        ends = [place for end in (b"\n", b"\r") if (place := chunk.find(end)) >= 0]
        if length + min(ends, default=len(chunk)) > LONGEST_LINE and not parquet:
            raise InputError(
                f"{problems.subject}: it has a line of more than {LONGEST_LINE // 1_000_000} MB, so it is no table\n"
                "  options: a file with a line per record, the cells separated by commas, semicolons, bars or tabs"
            )
        length = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) if ends else length + len(chunk)
        yield chunk
        if parquet:
            yield from chunks


def _csv(data: bytes, separator: str | None, decimal: str | None, problems: Problems) -> FileTable:
    data = _as_utf8(data, problems)
    if not data or data.isspace():
        raise InputError(f"{problems.subject}: the file is empty")
    lines = list(_first_lines(data))
    separator = separator or _separator(lines)
    rows = _cells(lines, separator)
    header = rows[0]
    _check_width(len(header), problems)
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

    def parsed(columns: Sequence[str] | None = None, **options: Any) -> pl.DataFrame:
        given: dict[str, Any] = {} if columns is None else {"columns": [written.get(name, name) for name in columns]}
        return pl.read_csv(io.BytesIO(data), separator=separator, **given, **options).rename(names, strict=False)

    # Beside decimal commas a point groups thousands, and polars would take 1.234 for a number a thousand times too small.
    if decimal == "." or data.find(b".", data.find(b"\n")) < 0:
        try:
            frame = parsed(infer_schema_length=_SAMPLE, decimal_comma=decimal == ",")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # a cell far down does not fit; as text every cell fits
        else:
            return FileTable(frame, "csv", separator, decimal, lambda names: parsed(columns=names, infer_schema=False))
    try:
        texts = parsed(infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _tell_uneven(data, separator, len(header), problems)
        problems.raise_if_any()
        raise InputError(f"{problems.subject}: it is not well-formed CSV ({_first_line(error)})") from error
    frame = texts.select(_typed(texts[name], decimal) for name in texts.columns)
    return FileTable(frame, "csv", separator, decimal, lambda names: texts.select(names))


def _check_width(columns: int, problems: Problems) -> None:
    """A table of very many columns takes minutes to look at; its points belong into rows."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{problems.subject}: it has {columns} columns, and {MOST_COLUMNS} are the most\n"
            "  options: the long layout, with a row per record and time"
        )


def _typed(text: pl.Series, decimal: str) -> pl.Series:
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


def _as_utf8(data: bytes, problems: Problems) -> bytes:
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
    """The first lines: two at least, if there are so many."""
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
    for separator in _SEPARATORS:
        widths = {len(row) for row in _cells(lines, separator)}
        if len(widths) == 1 and widths.pop() > 1:
            return separator
    return max(reversed(_SEPARATORS), key=lines[0].count)


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """A decimal comma, when the cells show it and nothing speaks against it."""
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _WITH_COMMA.fullmatch(cell)]
    if separator == "," or not commas or any(_WITH_POINT.fullmatch(cell) for cell in cells):
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


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
