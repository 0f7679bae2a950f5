"""Frames to `Dataset`, from either layout.

A wide frame has a row per record; a long one has a row per record and time, and is brought into records by points here.
One error names everything that is wrong: roles and cells by `table`, missing points by `gaps`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.errors import Problems, some
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.categories import Categories, CategorySpec, categories_of
from tsveil.data.dataset import Block, Dataset, Layout, check_ids, check_times
from tsveil.data.gaps import (
    Missing,
    Names,
    Part,
    RaggedSeries,
    check_gap_options,
    close_gaps,
    resample_notes,
    resampled_block,
    spans,
    tell_incomplete,
)
from tsveil.data.table import MOST, Numbers, Table, as_list
from tsveil.data.time_forms import check_time_format, form_of, is_time
from tsveil.data.times import no_time, time_name, times_as_numbers, times_of_names, why_not_times

#: a block's columns: names, or {"columns": [...]} or {"from": first, "to": last}; the latter with "kind" and "times"
BlockSpec = str | Sequence[str] | Mapping[str, Any]
#: times per block (None: attributes), or one sequence for all series
Times = Mapping[str, Sequence[Any] | None] | Sequence[Any] | None

_SUBJECT = "the frame cannot be used"


def dataset_from_wide(
    frame: Any,
    *,
    blocks: Mapping[str, BlockSpec],
    id: str | None = None,
    person: str | Sequence[str] = (),
    confidential: str | Sequence[str] = (),
    categories: Mapping[str, CategorySpec] | None = None,
    times: Times = None,
    time_format: str | None = None,
    missing: Missing = "refuse",
    resample: int | None = None,
    layout: Layout | None = None,
    subject: str = _SUBJECT,
) -> Dataset:
    """A Dataset from a frame with a row per record; `Dataset.from_frame` says what the parameters mean."""
    check_gap_options(missing, resample)
    check_time_format(time_format)
    table = Table(frame, subject)
    problems = table.problems
    layout = replace(layout or Layout(), shape="wide", order=tuple(table.frame.columns))
    carried, owner = as_list(confidential), as_list(person)
    named = _with_own_block(blocks, categories or {}, table)
    chosen = _blocks(named, times, time_format or "", table)
    table.check_roles(
        [
            ("the identifier", as_list(id)),
            ("the person", [name for name in owner if name != id]),
            ("confidential", carried),
            *((f"block {block.name!r}", block.columns) for block in chosen),
        ]
    )
    ids = table.frame[id] if id is not None and id in table else None
    repeated = Problems(subject)
    if ids is not None:
        check_ids(ids, repeated, table.rows)
        table.tell_rows(repeated.found, len(repeated.found), "")
        for hint in repeated.hints:
            problems.hint(hint)
    for block in chosen:
        check_times(block, problems)
    chosen = _with_categories(chosen, categories or {}, missing, resample, table)
    numbers = table.numbers(list(dict.fromkeys(c for b in chosen for c in b.columns if c in table)), layout.decimal)
    names = Names(ids, table.rows)
    if missing == "refuse":
        table.tell_missing(numbers, _gaps_to_refuse(numbers, chosen, table, resample))
        present = {
            block.name: ~np.isnan(numbers.of([c for c in block.columns if c in table]))
            for block in (chosen if resample is None else [b for b in chosen if b.times is None])
        }
        lengths = [(b, found.sum(axis=1), found.shape[1]) for b in chosen if (found := present.get(b.name)) is not None]
        tell_incomplete(lengths, names, problems)
    if ids is not None and ids.drop_nulls().is_duplicated().any() and problems.found == repeated.found:
        problems.hint(f"options: person={id!r} if they are several records of one {id}; else correct the identifier")
    problems.raise_if_any()

    notes = list(table.notes)
    whole = {b.name: frozenset() if b.categories else numbers.whole.intersection(b.columns) for b in chosen}
    parts = [Part(b, numbers.of(b.columns), whole[b.name]) for b in chosen]
    if resample is not None:
        ragged = {p.block.name: RaggedSeries.of(p.values, p.block.times) for p in parts if p.block.times is not None}
        notes += resample_notes(list(ragged.values()), resample, missing) if ragged else []
        for at, part in enumerate(parts):
            if part.block.name in ragged:
                block = resampled_block(part.block, resample, alone=len(parts) == 1)
                values = ragged[block.name].resample(resample, fill=missing == "interpolate")
                layout = replace(layout, order=_in_place(layout.order, part.block.columns, block.columns))
                parts[at] = Part(block, values)
    return _make_dataset(
        table,
        parts,
        table.frame.select(list(dict.fromkeys(as_list(id) + owner + carried))),
        id,
        owner,
        carried,
        layout,
        missing,
        names,
        notes,
    )


def dataset_from_long(
    frame: Any,
    *,
    id: str,
    time: str,
    value: str | Sequence[str],
    variable: str | None = None,
    person: str | Sequence[str] = (),
    confidential: str | Sequence[str] = (),
    categories: Mapping[str, CategorySpec] | None = None,
    time_format: str | None = None,
    missing: Missing = "refuse",
    resample: int | None = None,
    layout: Layout | None = None,
    subject: str = _SUBJECT,
) -> Dataset:
    """A Dataset from a frame with a row per record and time; `Dataset.from_long` says what the parameters mean."""
    check_gap_options(missing, resample)
    check_time_format(time_format)
    table = Table(frame, subject)
    problems = table.problems
    values, carried, owner = as_list(value), as_list(confidential), as_list(person)
    beside_series = [name for name in categories or {} if name not in values]
    layout = layout or Layout()
    order = layout.order if layout.time_parts else tuple(table.frame.columns)
    layout = replace(layout, shape="long", order=order, time=time, variable=variable, values=tuple(values))
    table.check_roles(
        [
            ("the identifier", [id]),
            ("time", [time]),
            ("variable", as_list(variable)),
            ("value", values),
            ("the person", [name for name in owner if name != id]),
            ("confidential", carried),
            ("categories", beside_series),
        ]
    )
    if not values:
        problems.add("no column with values was named")
    elif variable is not None and len(values) > 1:
        problems.add(f"beside the variable column {variable!r} there is one column with values. Got {some(values)}.")
    labels = _categories_of_values(values, categories or {}, variable, missing, resample, table)
    own = [name for name in beside_series if name in table]
    keys = _with_categories([Block("categories", tuple(own))] if own else [], {name: (categories or {})[name] for name in own}, missing, None, table)  # fmt: skip
    for name in own:
        if missing == "refuse":
            table.refuse_empty_cells(name)
    numbers = table.numbers([name for name in values if name in table], layout.decimal)
    if missing == "refuse":
        table.tell_missing(numbers, np.isnan(numbers.values))
    for name in (id, time, *as_list(variable)):
        if name in table:
            table.refuse_empty_cells(name)
    if id in table:
        _check_constant(table, id, "confidential", [name for name in carried if name in table])
        _check_constant(table, id, "categories", own)
        _check_constant(table, id, "person", [name for name in owner if name in table and name != id])
    clock = _Clock.of(table, time, time_format or "") if time in table else None
    if problems or clock is None:
        problems.raise_if_any()
        raise AssertionError

    records = _Codes.of(table.frame[id])
    first = records.first_rows()
    series = list(_series(table, numbers, clock, records.codes, variable, labels))
    for one in series if variable is not None else series[:1]:  # columns of values have the same rows
        _check_repetitions(one, table, records, variable)
    if resample is not None:
        problems.raise_if_any()
    names = Names(records.values, table.rows)
    n = len(records.values)
    notes = list(table.notes)
    parts: list[Part] = []
    if resample is not None:
        ragged = [one.ragged_series(n) for one in series]
        notes += resample_notes(ragged, resample, missing)
        for one, lengths in zip(series, ragged, strict=True):
            block = resampled_block(one.block, resample, alone=len(series) == 1)
            parts.append(Part(block, lengths.resample(resample, fill=missing == "interpolate")))
    else:
        if missing == "refuse":
            tell_incomplete([(one.block, one.lengths(n), len(one.block)) for one in series], names, problems)
        for one in series if missing != "refuse" else ():
            if n * len(one.block) > max(100_000_000, 20 * len(one.values)):
                problems.add(
                    f"the records of series {one.block.name!r} have too few times in common to fill the others"
                )
                problems.hint("options: resample=m brings every series to m points")
        problems.raise_if_any()
        parts = [Part(one.block, one.dense(n), frozenset(one.block.columns if one.whole else ())) for one in series]
    for block in keys:
        block = replace(block, name=_free_name(block.name, [part.block.name for part in parts]))
        parts.append(Part(block, table.frame.select(block.columns)[first].to_numpy().astype(np.float64)))
    beside = [name for name in dict.fromkeys([*owner, *carried]) if name != id]
    others = table.frame.select([id, *beside])[first]
    return _make_dataset(table, parts, others, id, owner, carried, layout, missing, names, notes)


def _make_dataset(
    table: Table,
    parts: Sequence[Part],
    others: pl.DataFrame,
    id: str | None,
    person: Sequence[str],
    confidential: Sequence[str],
    layout: Layout,
    missing: Missing,
    names: Names,
    notes: Sequence[str],
) -> Dataset:
    closed = close_gaps(parts, missing, names, table.problems)
    table.problems.raise_if_any()
    matrices = [part.values for part in closed.parts]
    values = matrices[0] if len(matrices) == 1 else np.hstack(matrices)
    if not closed.kept.all():
        values, others = values[closed.kept], others.filter(closed.kept) if others.width else others
    return Dataset(
        values=values,
        blocks=tuple(part.block for part in closed.parts),
        others=others,
        id=id,
        person=tuple(person),
        confidential=tuple(confidential),
        dropped=table.without_role,
        layout=layout,
        notes=(*notes, *closed.notes),
        missing=closed.gaps,
        masked=missing == "mask",
        integers=frozenset().union(*(part.whole for part in closed.parts)),
    )


# -- wide -------------------------------------------------------------------------------------------------------------


def _blocks(blocks: Mapping[str, BlockSpec], times: Times, form: str, table: Table) -> list[Block]:
    """The blocks as they were asked for; their columns need not exist yet."""
    problems = table.problems
    if not blocks:
        problems.add("no block was named: blocks={'load': [...]} says which columns are protected together")
        problems.hint(f"columns available: {some(table.frame.columns, 20)}")
    if isinstance(times, Mapping):
        for name in times:
            if name not in blocks:
                problems.add(f"times names the block {name!r}, which does not exist (blocks: {some(blocks)})")
    found = []
    for name, spec in blocks.items():
        options: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {"columns": spec}
        columns = _block_columns(name, options, table)
        if columns is None:
            continue
        kind = options.get("kind")
        given = options.get("times")
        if isinstance(times, Mapping):
            kind = "attributes" if name in times and times[name] is None else kind
            given = times.get(name, given)
        elif times is not None and kind != "attributes":
            given = times
        block = _block_with_times(name, columns, kind, given, form, table)
        if block is not None:
            found.append(block)
    return found


def _block_columns(name: str, options: Mapping[str, Any], table: Table) -> tuple[str, ...] | None:
    problems, available = table.problems, table.frame.columns
    unknown = [key for key in options if key not in ("columns", "from", "to", "kind", "times")]
    if unknown or ("columns" in options) == ("from" in options) or ("from" in options) != ("to" in options):
        problems.add(
            f"block {name!r} needs its columns: a list of names, or the first ('from') and the last one ('to')"
        )
        return None
    if options.get("kind") not in (None, "series", "attributes"):
        problems.add(f"the kind of block {name!r} must be 'series' or 'attributes'. Got {options['kind']!r}.")
        return None
    if "columns" in options:
        columns = tuple(str(column) for column in as_list(options["columns"]))
        if not columns:
            problems.add(f"block {name!r} has no columns")
        return columns or None
    ends = (str(options["from"]), str(options["to"]))
    if any(end not in table for end in ends):
        return ends  # the check of the roles says which one does not exist
    first, last = (available.index(end) for end in ends)
    if first > last:
        problems.add(f"block {name!r}: column {ends[0]!r} comes after column {ends[1]!r} in the table")
        return None
    return tuple(available[first : last + 1])


def _block_with_times(
    name: str, columns: tuple[str, ...], kind: str | None, given: Sequence[Any] | None, form: str, table: Table
) -> Block | None:
    """The block with its times: those given, or those that the names of its columns say."""
    if kind == "attributes":
        return Block(name, columns)
    if given is not None:
        if not any(isinstance(label, str) for label in given):
            form = ""  # numbers are times as they are
        numbers = times_as_numbers(given, form)
        if numbers is None:
            table.problems.add(f"the times of block {name!r} cannot be used: {why_not_times(given, form)}")
            return None
        return Block(name, columns, numbers, tuple(str(label) for label in given), form or form_of(given))
    said = times_of_names(columns, form)
    if said is not None:
        labels, numbers = said
        part = time_name(columns[0], form)
        if part is not None and part.form == "number" and bool((np.diff(numbers) <= 0).any()):
            table.problems.hint("the first line of a file must hold the names of the columns")
        # W0, W1, ... may be weeks as well as questions: a name and a count are a time only when somebody says so.
        if kind == "series" or (part is not None and part.form != "counter"):
            return Block(name, columns, numbers, labels, form or form_of(labels))
    if kind == "series":
        parts = [time_name(column, form) for column in columns]
        if all(part is not None and part.form == "stamp" for part in parts):
            why = why_not_times([part.label for part in parts if part is not None], form)
            table.problems.add(f"the times of block {name!r} cannot be used: {why}")
            return None
        return Block(name, columns, np.arange(len(columns), dtype=np.float64), columns)
    return Block(name, columns)


def _with_own_block(
    blocks: Mapping[str, BlockSpec], categories: Mapping[str, CategorySpec], table: Table
) -> Mapping[str, BlockSpec]:
    """The blocks, and one of the columns of categories that are in none of them."""
    named = {column for name, spec in blocks.items() for column in (name, *_named_columns(spec, table))}
    free = [name for name in categories if name in table and name not in named]
    return {**blocks, _free_name("categories", blocks): {"columns": free, "kind": "attributes"}} if free else blocks


def _named_columns(spec: BlockSpec, table: Table) -> Sequence[str]:
    """The columns of a block, as far as it is described rightly."""
    options: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {"columns": spec}
    if "columns" in options:
        return [str(column) for column in as_list(options["columns"])]
    available = table.frame.columns
    ends = [available.index(str(options[key])) for key in ("from", "to") if str(options.get(key)) in table]
    return available[ends[0] : ends[-1] + 1] if len(ends) == 2 else ()


def _free_name(name: str, taken: Container[str]) -> str:
    """A name that is not taken: with a number behind it, if need be."""
    return next(one for at in count(1) if (one := name if at == 1 else f"{name} {at}") not in taken)


def _with_categories(
    blocks: Sequence[Block],
    categories: Mapping[str, CategorySpec],
    missing: Missing,
    resample: int | None,
    table: Table,
) -> list[Block]:
    """The blocks with the categories of their columns; these columns of the table have codes in the place of labels afterwards."""
    problems, found = table.problems, list[Block]()
    known = {name for block in blocks for name in (block.name, *block.columns)}
    if strange := [name for name in categories if name not in known]:
        problems.add(f"categories names {some(strange)}, which is neither a block nor a column")
        problems.hint(f"columns available: {some(table.frame.columns, 20)}")
    for block in blocks:
        specs = [categories.get(column, categories.get(block.name)) for column in block.columns]
        if all(spec is None for spec in specs) or any(column not in table for column in block.columns):
            found.append(block)
            continue
        if numbers := [column for column, spec in zip(block.columns, specs, strict=True) if spec is None]:
            problems.add(f"block {block.name!r} holds labels and numbers ({some(numbers)}): make two blocks of it")
            continue
        if block.times is not None and (missing == "interpolate" or resample is not None):
            what = "resample" if resample is not None else "missing='interpolate'"
            problems.add(f"{what} is for numbers, and series {block.name!r} holds labels")
        columns = [table.frame[column] for column in block.columns]
        coded: Sequence[Categories | None]
        if block.times is not None:
            coded = [categories_of(columns, specs[0] or "", f"series {block.name!r}", problems)] * len(block)
        else:
            coded = [
                categories_of([c], s or "", f"column {c.name!r}", problems) for c, s in zip(columns, specs, strict=True)
            ]
        present = tuple(one for one in coded if one is not None)
        if len(present) == len(block):
            table.frame = table.frame.with_columns(
                pl.Series(column.name, one.codes(column)).fill_nan(None)
                for column, one in zip(columns, present, strict=True)
            )
            found.append(replace(block, categories=present))
    return found


def _gaps_to_refuse(numbers: Numbers, blocks: Sequence[Block], table: Table, resample: int | None) -> Mask:
    """The missing cells that nothing was asked to be done about."""
    missing = np.isnan(numbers.values)
    if resample is None or not missing.any():
        return missing
    place = {name: at for at, name in enumerate(numbers.columns)}
    for block in blocks:
        at = [place[name] for name in block.columns if name in table]
        if block.is_series and at:
            first, lengths = spans(numbers.values[:, at])
            # A series that starts late or ends early is what resampling is for; one without any value is told later.
            inside = (np.arange(len(at)) >= first[:, None]) & (np.arange(len(at)) < (first + lengths)[:, None])
            missing[:, at] &= inside
    return missing


def _in_place(order: Sequence[str], old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The order of the columns with new ones where the first of the old ones was."""
    gone = set(old)
    return tuple(column for name in order for column in (new if name == old[0] else () if name in gone else (name,)))


# -- long -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Codes:
    """The distinct values of a column in the order of their first row, and which of them each row has."""

    values: pl.Series
    codes: Indices

    @classmethod
    def of(cls, column: pl.Series) -> _Codes:
        distinct = column.unique(maintain_order=True)
        places = pl.LazyFrame({"value": distinct}).with_row_index("code")
        rows = pl.LazyFrame({"value": column}).join(places, on="value", how="left", maintain_order="left")
        codes = rows.select("code").collect()["code"]  # without a copy of the values
        return cls(distinct, codes.to_numpy().astype(np.int64))

    def first_rows(self) -> Indices:
        """The first row that has each value."""
        found = np.empty(len(self.values), dtype=np.int64)
        found[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return found


@dataclass(frozen=True)
class _Clock:
    """The different times of a table in their order, how they are written, and which of them each row has."""

    times: Array
    labels: tuple[str, ...]
    of_row: Indices
    #: how the times are read where they do not say it themselves
    form: str

    @classmethod
    def of(cls, table: Table, name: str, form: str) -> _Clock | None:
        column = table.frame[name]
        times = _Codes.of(column.drop_nulls())
        labels = times.values.to_list()
        if not labels:
            return None  # the check for empty cells, or for records, has told
        form = form or form_of(labels)
        numbers = times_as_numbers(labels, form)
        if numbers is None:
            wrong = [label for label in labels if not is_time(label, form) and times_as_numbers([label], form) is None]
            rows = [int(table.rows[(column == label).arg_max()]) for label in wrong[:MOST]]
            table.tell_rows(
                [
                    f"row {row}, column {name!r}: {no_time(label, form)}"
                    for row, label in zip(rows, wrong, strict=False)
                ],
                len(wrong),
                f"different texts in column {name!r} that are no times",
            )
            if wrong and not form and any(character.isdigit() for character in str(wrong[0])):
                table.problems.hint("options: time_format='%d.%m.%y %H:%M', or whatever says how the times are written")
            if not wrong:
                table.problems.add(f"the times in column {name!r} cannot be used: {why_not_times(labels, form)}")
            return None
        if column.null_count():
            return None  # told as missing values
        # The same moment may be written in two ways: the first one is kept.
        different, first, place = np.unique(numbers, return_index=True, return_inverse=True)
        written = [labels[at] for at in first.tolist()]
        texts = tuple(label.isoformat() if hasattr(label, "isoformat") else str(label) for label in written)
        return cls(different, texts, place[times.codes], form)


@dataclass(frozen=True)
class _Series:
    """The cells of one series, ordered by record and time."""

    block: Block
    record: Indices
    #: the place of the cell's time among the times of the block
    place: Indices
    values: Array
    #: the row of the table
    row: Indices
    whole: bool
    #: the times of the block
    times: Array

    def lengths(self, n: int) -> Indices:
        """How many different times each record has."""
        return np.bincount(self.record[~self.repetitions()], minlength=n)

    def repetitions(self) -> Mask:
        """The cells whose record has had this time before."""
        again = (np.diff(self.record) == 0) & (np.diff(self.place) == 0)
        return np.concatenate([np.zeros(1, dtype=np.bool_), again])

    def ragged_series(self, n: int) -> RaggedSeries:
        lengths = self.lengths(n)
        return RaggedSeries(self.values, self.times[self.place], np.cumsum(lengths) - lengths, lengths)

    def dense(self, n: int) -> Array:
        values = np.full((n, len(self.block)), np.nan)
        values[self.record, self.place] = self.values
        return values


def _categories_of_values(
    values: Sequence[str],
    categories: Mapping[str, CategorySpec],
    variable: str | None,
    missing: Missing,
    resample: int | None,
    table: Table,
) -> dict[str, Categories]:
    """The categories of the columns of values; the columns have codes in the place of labels afterwards."""
    of_values = {name: spec for name, spec in categories.items() if name in values}
    if of_values and variable is not None:
        table.problems.add(
            f"categories need a column of their own: beside the variable column {variable!r} all values are numbers"
        )
        return {}
    chosen = [Block(name, (name,), np.zeros(1)) for name in values]
    found = _with_categories(chosen, of_values, missing, resample, table)
    return {block.name: block.categories[0] for block in found if block.categories}


def _series(
    table: Table,
    numbers: Numbers,
    clock: _Clock,
    record: Indices,
    variable: str | None,
    categories: Mapping[str, Categories],
) -> Iterator[_Series]:
    """One series per value column, or per word in the variable column."""
    if variable is None:
        everything = np.arange(len(record), dtype=np.int64)
        chosen = [(name, everything, at) for at, name in enumerate(numbers.columns)]
    else:
        words = _Codes.of(table.frame[variable])
        chosen = [(str(word), np.flatnonzero(words.codes == at), 0) for at, word in enumerate(words.values.to_list())]
    for name, rows, at in chosen:
        rows = rows[np.argsort(record[rows] * len(clock.times) + clock.of_row[rows], kind="stable")]
        times = clock.of_row[rows]
        used = np.bincount(times, minlength=len(clock.times)) > 0
        labels = tuple(clock.labels[time] for time in np.flatnonzero(used).tolist())
        columns = labels if len(chosen) == 1 else tuple(f"{name}.{label}" for label in labels)
        coded = (categories[name],) * len(columns) if name in categories else None
        block = Block(name, columns, times_as_numbers(labels, clock.form), labels, clock.form, coded)
        yield _Series(
            block=block,
            record=record[rows],
            place=(np.cumsum(used) - 1)[times],
            times=clock.times[used],
            values=numbers.values[rows, at],
            row=rows,
            whole=numbers.columns[at] in numbers.whole and coded is None,
        )


def _check_repetitions(one: _Series, table: Table, records: _Codes, variable: str | None) -> None:
    """A record has one value at a time."""
    again = one.repetitions()
    if not again.any():
        return
    seconds = np.flatnonzero(again & ~np.concatenate([again[:1], again[:-1]]))
    examples = []
    for start in seconds[:MOST].tolist():
        same = (one.record == one.record[start]) & (one.place == one.place[start])
        rows = sorted(table.rows[one.row[same]].tolist())
        of = "" if variable is None else f" for {variable} {one.block.name!r}"
        label = one.block.labels[one.place[start]]
        who = some([records.values[int(one.record[start])]])
        examples.append(f"the id {who} has the time {label!r}{of} {len(rows)} times (rows {some(rows)})")
    table.tell_rows(examples, len(seconds), "times that a record has more than once")


def _check_constant(table: Table, id: str, role: str, columns: Sequence[str]) -> None:
    """A column that says something about the record is the same in all its rows."""
    for name in columns:
        counts = table.frame.group_by(id, maintain_order=True).agg(pl.col(name).n_unique())
        varying = counts.filter(pl.col(name) > 1)[id].to_list()
        if varying:
            table.problems.add(
                f"{role} column {name!r} must have one value per id, but it has several for "
                f"{len(varying)} of {len(counts)} ids (first: {some(varying[:MOST])})"
            )
