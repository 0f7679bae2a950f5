"""Key anonymity: every combination of some key columns is shared by at least k records, or by records of at least k persons.

Keys are columns of labels that an intruder may know: sex, region, education. Cells of them may have been emptied (local suppression), and an empty cell has two readings:

    strict     an empty cell equals only an empty cell: classes are equal published rows of keys
    wildcard   an empty cell may be anything: for every original combination of a person in the file,
               |{published records i : each key of i is empty or equal to it}| >= k

With `subsets = m` the combinations are those of every m keys and fewer, otherwise those of all keys together. What is shared over some columns is shared over
fewer of them, so only those of m are counted.

The strict reading of all keys bounds what anybody finds by them at 1 in k, for records of a class differ in nothing. The wildcard reading bounds nobody: k records
are possible, but they are not equally likely, and k empty records are compatible with everybody, whatever else is published. Which combinations were original
a published file does not say: where it leaves open whether the promise holds, the verdict is that it could not be decided. The private side of a release has the original keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from tsveil.core.errors import InputError, some
from tsveil.core.params import at_least, names, one_of, optional, param
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.guarantee.base import Counted, Status, Verdict
from tsveil.guarantee.chunks import Schema, opened_chunk
from tsveil.guarantee.counting import Counts, Table
from tsveil.guarantee.k_anonymity import KAnonymity

#: how an empty cell is read
Reading = Literal["strict", "wildcard"]
READINGS = one_of("strict", "wildcard")
#: combinations that too few records share which are spelled out
SHOWN = 3


@dataclass(frozen=True)
class KeyAnonymity(Counted):
    """Every combination of keys is shared by at least k records.

    Examples
    --------
    >>> import tsveil as tv
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "region": ["north", "north", None, "south"]})
    >>> keys = {name: {"kind": "nominal", "empty": True} for name in frame.columns}
    >>> published = tv.Dataset.from_frame(frame, categories=keys)
    >>> print(KeyAnonymity(2, ("sex", "region")).verify(published))
    VIOLATED: Key anonymity: every published combination of 'sex', 'region' is shared by at least 2 records; an empty cell equals only an empty cell.
      keys 'sex', 'region': 2 records share their values with fewer than 2 records; the smallest group has 1 (rows 3, 4)
      row 3: sex = m, region is empty
    >>> print(KeyAnonymity(2, empty="wildcard").verify(published).witness)
    keys 'sex', 'region': the file alone does not say which combinations were original, and if one was that of row 3 (sex = m, region is empty), 1 of 2 records may be compatible with it
    """

    name: ClassVar[str] = "key-anonymity"
    plain: ClassVar[str] = "every combination of keys is shared"
    summary: ClassVar[str] = "every combination of key columns is shared by at least k records"
    reference: ClassVar[str] = "Samarati 2001; Hundepool et al. 2012, section 3.2"

    k: int = param(5, at_least(1), "fewest records that share a combination of keys")
    keys: tuple[str, ...] = param((), names(), "the key columns; all columns of labels when left out")
    subsets: int | None = param(
        None, optional(at_least(1)), "every combination of up to this many keys; all keys together when left out"
    )
    empty: Reading = param(
        "strict", READINGS, "an empty cell equals only an empty cell (strict), or may be anything (wildcard)"
    )
    counts: Literal["records", "persons", "share"] = param(
        "records",
        one_of("records", "persons", "share"),
        "what a class needs k of: records, or different persons; share: and nobody has more than 1/k of its records",
    )
    #: not a parameter: whether records have protected columns beside the keys, which are shared with them
    whole: bool = False

    @property
    def words(self) -> str:
        """The promise."""
        named = ", ".join(repr(name) for name in self.keys) or "all columns of labels"
        which = f"up to {self.subsets} of {named}" if self.subsets else named
        what = {
            "records": f"at least {self.k} records",
            "persons": f"records of at least {self.k} different persons",
            "share": f"records of at least {self.k} different persons, where nobody has more than 1/{self.k} of them",
        }[self.counts]
        if self.empty == "wildcard":
            return f"Key anonymity: every original combination of {which} is compatible with {what} that are published; an empty cell may be anything."
        beside = ", and so is every whole record" if self.whole else ""
        return f"Key anonymity: every published combination of {which} is shared by {what}{beside}; an empty cell equals only an empty cell."

    @property
    def short(self) -> str:
        """For tables."""
        which = f"up to {self.subsets} keys" if self.subsets else "keys"
        read = ", empty cells as wildcards" if self.empty == "wildcard" else ""
        return f"{self.k}-anonymity {'' if self.counts == 'records' else 'of persons '}of {which}{read}"

    @property
    def limits(self) -> str:
        """What it does not cover."""
        if self.empty == "wildcard":
            return (
                f"It leaves {self.k} records possible, which are not equally likely, and it bounds nobody's chance: {self.k} empty records would keep it "
                "for any file. Who knows the keys of a person looks first for a record that shows them."
            )
        if self.subsets:
            return f"Who knows more than {self.subsets} keys of a person may find fewer records."
        if self.counts == "persons":
            return "One of these persons may have most of the records, and then a guess finds that person more often than 1 in k."
        return (
            f"It bounds linking at 1 in {self.k}. It says nothing about confidential columns: if all members of a class share a confidential value, "
            "that value is disclosed."
        )

    @property
    def intruder(self) -> str:
        """Strictly read, that of all keys bounds what anybody finds, and that of some keys what those find who know as many."""
        if self.empty == "wildcard" or self.counts == "persons":
            return "none"
        return "part" if self.subsets else "file"

    @property
    def bound(self) -> str:
        """One of k."""
        return "" if self.intruder == "none" else f"1/{self.k}"

    @property
    def tile(self) -> tuple[str, str]:
        """The fewest records that share their keys."""
        return "Smallest group", f"k = {self.k}"

    @property
    def reads_originals(self) -> bool:
        """Wildcards are compared with the original combinations."""
        return self.empty == "wildcard"

    def read(self, path: Path, **options: Any) -> Dataset | IntervalTable:
        """Keys are labels, and their cells may be empty."""
        given = dict(options.get("categories") or {})
        for name in self.keys or tuple(given):
            spec = given.get(name, "nominal")
            own = dict(spec) if isinstance(spec, dict) else {"kind": spec} if isinstance(spec, str) else {"order": spec}
            given[name] = own | {"empty": True}
        numbers = [name for name in options.get("numbers") or () if name not in given]
        return super().read(path, **{**options, "categories": given, "numbers": numbers})

    def tables(self, schema: Schema) -> list[Table]:
        """The combinations of keys that are counted, and whole records where these are shared as well."""
        keys = self._columns(schema)
        size = len(keys) if self.subsets is None else min(self.subsets, len(keys))
        found = [Table(f"keys {', '.join(map(repr, own))}", own) for own in combinations(keys, size)]
        return found + ([Table("whole records", schema.columns)] if self.whole else [])

    def _columns(self, schema: Schema) -> tuple[str, ...]:
        """The key columns of a table."""
        labels = tuple(
            name for block in schema.blocks if block.categories and block.times is None for name in block.columns
        )
        keys = self.keys or labels
        if unknown := [name for name in keys if name not in (*schema.columns, *schema.carried)]:
            raise InputError(f"the table has no column {some(unknown)}\n  columns: {some(schema.columns, 20)}")
        if not keys:
            raise InputError(
                "key anonymity needs keys, and no column of the table holds labels\n  options: --keys names them"
            )
        return keys

    def judge(self, counts: Counts) -> Verdict:
        """Every class needs k records, or persons; or every original combination k that are compatible with it."""
        if self.empty == "wildcard":
            return self._judge_wildcards(counts)
        found = KAnonymity(self.k, counts=self.counts).judge(counts)
        if found.status is not Status.VIOLATED:
            return replace(found, guarantee=self.words)
        return Verdict(Status.VIOLATED, self.words, f"{found.witness}\n  {self._first_of_few(counts)}")

    def _first_of_few(self, counts: Counts) -> str:
        """The first row whose keys too few share, with its cells."""
        best: tuple[int, Sequence[str]] | None = None
        for number, table in enumerate(counts.tables):
            size, first = counts.classes(number)
            persons = counts.persons(number) if self.counts != "records" else None
            few = size < self.k if persons is None else persons[0] < self.k
            if self.counts == "share" and persons is not None:
                few |= persons[1] > (1 + 1e-12) / self.k
            if few.any() and (best is None or first[few].min() < best[0]):
                best = int(first[few].min()), table.columns
        assert best is not None
        row, columns = best
        keys = self._columns(counts.chunks.schema)
        shown = _labels(counts, [name for name in columns if name in keys] or keys, np.array([row]))
        return f"row {row + 1}: {_in_words(shown.row(0, named=True))}"

    # -- wildcards ----------------------------------------------------------------------------------------------------

    def _judge_wildcards(self, counts: Counts) -> Verdict:
        """Count who is compatible with each original combination; where these are not known, with what the published rows leave possible."""
        if self.counts != "records" and counts.chunks.persons is None:
            why = "a published file does not say whose records are whose"
            return Verdict(Status.UNKNOWN, self.words, f"{why}: the id map in private/ does (--persons MAP)")
        keys, originals = self._columns(counts.chunks.schema), counts.chunks.originals
        # Keys may have any names, also those that are used here beside them.
        own_names = {name: f"key {at}" for at, name in enumerate(keys)}
        shown = _labels(counts, keys, np.arange(counts.n)).rename(own_names)
        wanted = shown if originals is None else originals.select(keys).rename(own_names)
        wanted = wanted.with_columns(row=pl.Series(np.arange(1, wanted.height + 1)))
        shown = shown.with_columns(person=_persons_of(counts.chunks.persons, counts.n))
        fewest, violated, open_ = counts.n, list[str](), list[str]()
        for table in counts.tables:
            columns = [own_names[name] for name in table.columns]
            each = wanted.group_by(columns, maintain_order=True).agg(pl.col("row").min())
            found = _compatible(shown, each, columns, self.k)
            fewest = min(fewest, int(found["count"].min() or 0))  # type: ignore[arg-type]
            for row in found.filter(pl.col("count") < self.k).sort("row").head(SHOWN).iter_rows(named=True):
                cells = {name: row[own_names[name]] for name in table.columns}
                what = f"row {row['row']} ({_in_words(cells)})"
                if originals is None and None in cells.values():
                    open_.append(
                        f"{table.name}: the file alone does not say which combinations were original, and if one was that of {what}, "
                        f"{row['count']} of {self.k} {self._what} may be compatible with it"
                    )
                else:
                    violated.append(
                        f"{table.name}: {row['count']} of {self.k} {self._what} are compatible with the original combination of {what}"
                    )
        if violated:
            return self.verdict(violated[:SHOWN])
        if open_:
            return Verdict(Status.UNKNOWN, self.words, open_[0])
        return self.verdict([], [f"every combination is compatible with at least {min(fewest, counts.n)} {self._what}"])

    @property
    def _what(self) -> str:
        return "records" if self.counts == "records" else "persons"


def _labels(counts: Counts, keys: Sequence[str], rows: Any) -> pl.DataFrame:
    """The labels of some published rows (counted from 0); null where a cell is empty."""
    categories = {
        name: own
        for block in counts.chunks.schema.blocks
        for name, own in zip(block.columns, block.categories or (), strict=False)
    }
    found = []
    for at, start in enumerate(counts.starts[:-1]):
        own = rows[(rows >= start) & (rows < counts.starts[at + 1])] - start
        if not len(own):
            continue
        chunk = opened_chunk(counts.chunks.places[at])
        columns = []
        for name in keys:
            if name in chunk.places and chunk.values is not None:
                values = chunk.values[own, chunk.places[name]]
                column = categories[name].texts(values) if name in categories else pl.Series(values).cast(pl.String)
            else:
                column = chunk.cells[name].gather(own).cast(pl.String)
            columns.append(column.alias(name))
        found.append(pl.DataFrame(columns))
    return pl.concat(found)


def _persons_of(persons: Any, n: int) -> pl.Series:
    """The person of each row; each its own where they are not declared."""
    return pl.Series("person", np.arange(n) if persons is None else persons)


def _in_words(cells: dict[str, str | None]) -> str:
    """The cells of a row."""
    return ", ".join(f"{name} is empty" if cell is None else f"{name} = {cell}" for name, cell in cells.items())


def _compatible(shown: pl.DataFrame, wanted: pl.DataFrame, columns: Sequence[str], k: int) -> pl.DataFrame:
    """The wanted combinations with the number of persons of compatible rows: each cell empty or equal; where more than k are, k or more.

    Rows with the same cells empty are counted together: they are compatible with what they equal in their other cells.
    """
    rows = shown.select(*columns, "person").unique()
    pattern = pl.concat_str([pl.col(name).is_null().cast(pl.Int8).cast(pl.String) for name in columns])
    groups = rows.with_columns(pattern.alias("pattern of empty cells")).partition_by(
        "pattern of empty cells", as_dict=True
    )
    counted = wanted.with_columns(count=pl.lit(0, dtype=pl.Int64))
    for (marks,), own in groups.items():
        filled = [name for name, mark in zip(columns, str(marks), strict=True) if mark == "0"]
        many = _persons_by(own, filled)
        found = (
            counted.join(many, on=filled, how="left", maintain_order="left")
            if filled
            else counted.join(many, how="cross")
        )
        counted = found.with_columns(count=pl.max_horizontal("count", pl.col("many").fill_null(0).cast(pl.Int64))).drop(
            "many"
        )
    # Several groups may be needed to reach k, and a person may be in several of them: only now pairs are listed, k of a group at most.
    few = counted.filter(pl.col("count") < k)
    pairs = []
    for (marks,), own in groups.items():
        filled = [name for name, mark in zip(columns, str(marks), strict=True) if mark == "0"]
        some = own.select(*filled, "person").unique()
        pairs.append(
            (few.join(some, on=filled, how="inner") if filled else few.join(some, how="cross")).select("row", "person")
        )
    union = pl.concat(pairs).group_by("row").agg(union=pl.col("person").n_unique().cast(pl.Int64))
    return (
        counted.join(union, on="row", how="left", maintain_order="left")
        .with_columns(count=pl.max_horizontal("count", pl.col("union").fill_null(0)))
        .drop("union")
    )


def _persons_by(rows: pl.DataFrame, filled: Sequence[str]) -> pl.DataFrame:
    """The number of persons for each combination of cells."""
    many = pl.col("person").n_unique().alias("many")
    return rows.group_by(filled).agg(many) if filled else rows.select(many)
