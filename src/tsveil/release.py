"""A release: protected records, what they promise, and what must stay private.

    folder/
      published/   data.csv or data.parquet (data/part-00000.csv ... where there are many), README.md, report.html     may be given away
      private/     id_map groups suppressed risk attribute_disclosure (.csv, or folders of parts), release.json, report.html    must not

The records lie in a store, in memory or in a folder, wherever they were protected. Published rows are shuffled, and values carry fresh random
identifiers: the position of a record in a file identifies it. What was written is read back and verified before the folder takes its final name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
import polars as pl

from tsveil._types import Array, Indices
from tsveil.attack.attribute import AttributeDisclosure, attribute
from tsveil.data.dataset import Block, Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.pieces import Contents, Piece, Unit, contents, piece, pieces, stored
from tsveil.data.source import Source
from tsveil.data.store import Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.errors import GuaranteeError, InputError
from tsveil.guarantee.base import Guarantee, Verdict
from tsveil.measure.evaluate import evaluate
from tsveil.measure.kp import IntervalCard, evaluate_intervals
from tsveil.measure.queries import Queries
from tsveil.measure.scorecard import Scorecard
from tsveil.randomness import secret_name, secret_numbers
from tsveil.technique import Technique
from tsveil.transform.sax import as_symbols, as_words

#: what happens to texts that a spreadsheet would take for formulas
Formulas = Literal["keep", "neutralise"]
#: the file by which a folder is known as a release
MARKER = "private/release.json"


class AppliedMethod(Protocol):
    """The method that made a release, as far as a release needs to know it."""

    @property
    def name(self) -> str:
        """Its key in the registry."""

    @property
    def summary(self) -> str:
        """One line that says what it does."""

    @property
    def reference(self) -> str:
        """Where it was published."""

    @property
    def techniques(self) -> tuple[Technique, ...]:
        """What ISO/IEC 20889 calls it, the main technique first."""

    def settings(self) -> dict[str, Any]:
        """Its parameters."""


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Protected records beside their originals."""

    original: Dataset
    #: where the protected records lie (`tsveil.data.pieces`)
    store: Store

    # -- what was made ------------------------------------------------------------------------------------------------

    @cached_property
    def contents(self) -> Contents:
        """What lies in the store."""
        return contents(self.store)

    @property
    def envelopes(self) -> bool:
        """Whether envelopes are published instead of values."""
        return self.contents.envelopes

    @cached_property
    def _whole(self) -> Piece:
        """All records in the order of the original."""
        found = list(pieces(self.store))
        order = np.argsort(np.concatenate([one.records for one in found]))
        return Piece(
            np.arange(len(order)),
            np.concatenate([one.original for one in found])[order],
            np.concatenate([one.made for one in found])[order],
            np.concatenate([one.groups for one in found])[order],
            pl.concat([one.others for one in found])[order.tolist()] if self.contents.source.others else pl.DataFrame(),
        )

    @property
    def made(self) -> Array:
        """What the method made of each record, in the order of the original."""
        return self._whole.made

    @property
    def data(self) -> Dataset:
        """The protected values, row by row aligned with the original."""
        if self.envelopes:
            raise InputError("envelopes are published, not values\n  options: release.table")
        return self.original.with_values(self._whole.made)

    @property
    def groups(self) -> dict[str, Indices]:
        """Block -> group of each record (-1: suppressed), or of each value where columns were grouped one by one, (records, columns)."""
        found: dict[str, Indices] = {}
        units = self.contents.units
        for block in self.original.blocks:
            span = self.original.span(block.name)
            places = set(range(span.start, span.stop))
            own = [at for at, unit in enumerate(units) if places & set(unit.columns) and sum(unit.groups)]
            if own:
                labels = self._whole.groups
                found[block.name] = labels[:, own[0]].copy() if len(own) == 1 else labels[:, own]
        return found

    # -- envelopes ----------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Indices:
        """The original row of each published record; the others are suppressed."""
        if not self.envelopes:
            return np.arange(self.original.n)
        return np.flatnonzero(self._whole.made[:, -1] > 0)

    @property
    def suppressed(self) -> Indices:
        """The original rows that are not published."""
        return np.setdiff1d(np.arange(self.original.n), self.rows)

    @property
    def own(self) -> Indices:
        """The row of `table` that belongs to each original record; -1: suppressed."""
        own = np.full(self.original.n, -1, dtype=np.int64)
        own[self.rows] = np.arange(self.n)
        return own

    @property
    def n(self) -> int:
        """The number of published records."""
        return len(self.rows)

    @property
    def block(self) -> Block:
        """The series of which envelopes are published."""
        return self.original.blocks[0]

    @cached_property
    def table(self) -> IntervalTable:
        """The envelopes, in the order of the original."""
        whole, rows = self._whole, self.rows
        return envelopes_of(self.original.columns, whole.made[rows], self._carried(whole.others, rows))

    def _carried(self, others: pl.DataFrame, rows: Indices) -> pl.DataFrame:
        names = list(self.contents.source.confidential)
        return others.select(names)[rows.tolist()] if names else pl.DataFrame()

    @property
    def lo(self) -> Array:
        """The lower bounds, published records by time points."""
        return self.table.lo

    @property
    def hi(self) -> Array:
        """The upper bounds."""
        return self.table.hi

    @property
    def words(self) -> tuple[str, ...] | None:
        """The pattern of each published record."""
        return self.table.words

    @property
    def levels(self) -> Indices | None:
        """The level of each pattern."""
        return self.table.levels

    @property
    def confidential(self) -> pl.DataFrame:
        """The carried columns of the published records."""
        return self._carried(self._whole.others, self.rows)

    @property
    def labels(self) -> list[tuple[Unit, Indices]]:
        """Each unit of columns that was protected by itself, and the group of each record in it."""
        return list(zip(self.contents.units, self._whole.groups.T, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Release(Records):
    """Protected records with their guarantee; made by a method's `protect`."""

    method: AppliedMethod
    guarantee: Guarantee
    #: the secret from which order and identifiers follow
    seed: int
    warnings: tuple[str, ...] = ()
    #: block -> figures of the run
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: where work on the records is done
    engine: Engine = field(default_factory=Here)
    #: records, and published records, of the whole release of which this is a sample
    sample_of: tuple[int, int] | None = None

    @property
    def records(self) -> int:
        """The number of records that were protected, of the whole release if this is a sample."""
        return self.contents.n if self.sample_of is None else self.sample_of[0]

    @property
    def released(self) -> int:
        """The number of records that are published, of the whole release if this is a sample."""
        return self.n if self.sample_of is None else self.sample_of[1]

    @property
    def query(self) -> Queries:
        """Queries on the envelopes; rows are those of the published file."""
        return Queries(self.in_published_order().table)

    # -- what it is worth ---------------------------------------------------------------------------------------------

    def verify(self) -> Verdict:
        """Check the promise on what is published alone."""
        published: Any = self.table if self.envelopes else self.data
        return self.guarantee.verify(published)

    def evaluate(self, **options: Any) -> Scorecard | IntervalCard:
        """Measure loss and risk; the options are those of `tsveil.evaluate`, or for envelopes of `tsveil.measure.kp.evaluate_intervals`."""
        if self.envelopes:
            return evaluate_intervals(
                self.original.block(self.block.name), self.table, self.own, self.original.ids, **options
            )
        return evaluate(self.original, self, **options)

    def attribute_disclosure(self) -> AttributeDisclosure:
        """The confidential values that groups of equal published records have in common; private."""
        return attribute(self.table if self.envelopes else self)

    # -- what is published --------------------------------------------------------------------------------------------

    def in_published_order(self, at: int = 0) -> Release:
        """The records of one published file in its order, as a release in memory; up to 2^24 values that is the whole release."""
        one = in_published_order(self.store, at)
        return replace(self, original=one.original, store=one.store, engine=Here())

    def published(self, at: int = 0) -> Dataset | IntervalTable:
        """One published file: values shuffled and renamed, or envelopes shuffled."""
        return published_piece(self.store, at)

    def write(
        self,
        folder: str | Path,
        *,
        format: Literal["csv", "parquet"] | None = None,
        overwrite: bool = False,
        allow_unverified: bool = False,
        formulas: Formulas = "keep",
        **more: Any,
    ) -> Path:
        """Write published/ and private/ with their reports into a folder, all or nothing, and give its path.

        `formulas="neutralise"` puts an apostrophe before names and texts of published CSV files that a spreadsheet would run. A release
        whose guarantee does not hold is refused unless `allow_unverified`. `more` are further options of `tsveil.publish.publish`:
        the options of measuring (`measures`), `title` and `context` of the reports, and `extra` text files by their path.
        """
        from tsveil.plan import write_release

        write_release(
            self,
            folder,
            format=format,
            overwrite=overwrite,
            allow_unverified=allow_unverified,
            formulas=formulas,
            **more,
        )
        return Path(folder)

    def __repr__(self) -> str:
        gone = f" ({len(self.suppressed)} suppressed)" if self.envelopes and len(self.suppressed) else ""
        return f"Release: {self.method}; {self.contents.n} records{gone}; {self.guarantee.short}"


class PublishedRecords(Records):
    """The records of one published file, in its order."""

    @property
    def numbers(self) -> Indices:
        """The number of each record in the data set."""
        return np.asarray(self.store.get("numbers"))


def in_published_order(store: Store, at: int) -> PublishedRecords:
    """The records of one published file in its order, in memory."""
    one, kept = piece(store, at), contents(store)
    source = msgspec.structs.replace(kept.source, files=(), rows=(len(one.records),))
    found = stored(
        source, one.original, one.made, one.others, np.arange(len(one.records)),
        units=kept.units, groups=one.groups, whole=kept.whole,
    )  # fmt: skip
    found.put("names", store.get("names")[kept.rows(at).start : kept.rows(at).stop])
    found.put("numbers", one.records)
    return PublishedRecords(source.dataset(one.original, one.others), found)


def published_piece(store: Store, at: int) -> Dataset | IntervalTable:
    """What one published file holds: values with fresh identifiers, or envelopes."""
    one, kept = piece(store, at), contents(store)
    source, names = kept.source, list(kept.source.confidential)
    carried = one.others.select(names) if names else pl.DataFrame()
    if kept.envelopes:
        rows = np.flatnonzero(one.made[:, -1] > 0)
        return envelopes_of(source.columns, one.made[rows], carried[rows.tolist()] if names else carried)
    numbers = store.get("names")[kept.rows(at).start : kept.rows(at).stop]
    ids = pl.Series(source.id or free_name(_taken(source)), [secret_name(int(number)) for number in numbers])
    data = source.dataset(one.made)
    return replace(
        data,
        others=pl.DataFrame([ids, *carried.get_columns()]),
        id=ids.name,
        confidential=source.confidential,
        integers=frozenset(kept.whole),
    )


def release_of(
    original: Dataset,
    made: Array,
    order: Indices,
    *,
    method: AppliedMethod,
    guarantee: Guarantee,
    seed: int,
    **more: Any,
) -> Release:
    """A release from what a method made of data in memory, in the order of the data."""
    source = Source.of(original)
    store = stored(source, original.values, made, original.others, order, whole=source.integers)
    store.put("names", secret_numbers(seed, original.n))
    return Release(original, store, method, guarantee, seed, **more)


def envelopes_of(labels: tuple[str, ...], made: Array, others: pl.DataFrame) -> IntervalTable:
    """The table of published envelopes, from bounds, letters, level and the mark of publication of each record."""
    points = len(labels)
    letters = made[:, 2 * points : -2].astype(np.uint8)
    return IntervalTable(
        labels,
        made[:, :points],
        made[:, points : 2 * points],
        tuple(as_words(letters)) if letters.shape[1] else None,
        made[:, -2].astype(np.int64) if letters.shape[1] else None,
        others,
    )


def made_of(table: IntervalTable, width: int) -> Array:
    """The columns of `envelopes_of` again, from a table in which all records are published."""
    points = len(table.labels)
    made = np.zeros((table.n, width))
    made[:, :points], made[:, points : 2 * points], made[:, -1] = table.lo, table.hi, 1.0
    if table.words is not None and table.levels is not None:
        made[:, 2 * points : -2] = as_symbols(table.words)
        made[:, -2] = table.levels
    return made


def refuse_unverified(verdict: Verdict, allow_unverified: bool) -> None:
    """Stop a release whose promise is broken or undecided, unless it was asked for all the same."""
    if verdict.blocks_release and not allow_unverified:
        raise GuaranteeError(
            f"the release was not written, because its guarantee is {verdict.status}\n{verdict}\n"
            "  options: other parameters, or --allow-unverified (allow_unverified=True) to write it all the same"
        )


def free_name(taken: Collection[str | None]) -> str:
    """A name for the identifier column of data that had none."""
    return next(name for name in ("id", "record", "record_id", "released_id") if name not in taken)


def _taken(source: Source) -> set[str | None]:
    layout = source.layout
    return {*source.columns, *source.confidential, layout.time, layout.variable, *layout.values}
