"""Protected records with the method that made them and its promise: what is judged, shown in reports, and published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import msgspec
import numpy as np
import polars as pl

from tsveil.attack.attribute import AttributeDisclosure, attribute
from tsveil.attack.base import LeavesTraces
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.technique import Technique
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.data.gaps import gaps_in_words
from tsveil.data.intervals import IntervalTable
from tsveil.data.pieces import make_store
from tsveil.data.records import PublishedRecords, Records, in_published_order, some_in_published_order
from tsveil.data.source import Source
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.guarantee.base import Promise, Verdict
from tsveil.measure.evaluate import envelope_card, evaluate
from tsveil.measure.queries import Queries
from tsveil.measure.scorecard import Scorecard

#: values of the records that the pictures of a release in many files show
SAMPLED = 2**20


class AppliedMethod(LeavesTraces, Protocol):
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

    @property
    def representatives(self) -> bool:
        """Whether it publishes representatives of groups."""

    @property
    def means(self) -> bool:
        """Whether it publishes the means of groups."""

    def settings(self) -> dict[str, Any]:
        """Its parameters."""

    def done_in_words(self, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What was done, in sentences for the owner."""

    def published_source(self, source: Source) -> Source:
        """The roles of the published columns."""


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedRecords(Records):
    """Protected records, how they were made, and what they promise."""

    method: AppliedMethod
    guarantee: Promise
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
    def about_gaps(self) -> str:
        """What was done about gaps, as anybody may read it; empty where there are none."""
        whole = self.sample_of or (self.contents.n, self.contents.n - self.contents.suppressed)
        return gaps_in_words(self.facts, whole[0], whole[0] - whole[1])

    @property
    def query(self) -> Queries:
        """Queries on the envelopes; rows are those of the published file."""
        return Queries(self.in_published_order().table)

    # -- what it is worth ---------------------------------------------------------------------------------------------

    def verify(self) -> Verdict:
        """Check the promise on what is published alone."""
        published: Any = self.table if self.envelopes else self.data
        if self.contents.suppressed:
            published = replace(published.take(self.rows), missing=published.masked)
        labels = self.original.labels
        originals = pl.DataFrame([
            labels[name].texts(self.original.values[self.rows, at]).alias(name)
            for at, name in enumerate(self.original.columns)
            if name in labels
        ]) if self.guarantee.reads_originals else None  # fmt: skip
        return self.guarantee.verify_with(published, originals)

    def evaluate(self, **options: Any) -> Scorecard:
        """Measure loss and risk.

        Parameters
        ----------
        options
            Those of `tsveil.evaluate`; for envelopes `features`, `seed` and `targets`.

        Returns
        -------
        Scorecard
            All figures.

        Raises
        ------
        ParameterError
            If an option is out of range, or for releases of another kind.
        """
        if self.envelopes:
            x = self.original.block(self.block.name)
            return envelope_card(x, self.table, self.own, self.original.ids, self.block, **options)
        return evaluate(self.original, self, **options)

    def attribute_disclosure(self) -> AttributeDisclosure:
        """The confidential values that groups of equal published records have in common; private."""
        return attribute(self.table if self.envelopes else self)

    # -- what is published --------------------------------------------------------------------------------------------

    def in_published_order(self, at: int = 0) -> Self:
        """The records of one published file in its order, as a release in memory; up to 2^24 values that is the whole release.

        Records whose values are suppressed are not among them.

        Parameters
        ----------
        at
            The number of the file, from 0.

        Returns
        -------
        Release
            Those records.
        """
        return self._in_memory(in_published_order(self.store, at))

    def sample(self, of_row: Indices) -> Self:
        """Some published records of all files, as a release in memory: whole classes, chosen at random, of about 2^20 values together.

        Parameters
        ----------
        of_row
            The class of each published record, numbered from 0.

        Returns
        -------
        Release
            Those records.
        """
        classes = int(of_row.max()) + 1
        count = max(1, min(classes, classes * SAMPLED // (len(of_row) * len(self.original.columns))))
        wanted = chosen_rows(border_of(np.arange(classes), count), of_row)
        sample = self._in_memory(some_in_published_order(self.store, wanted))
        return replace(sample, sample_of=(self.contents.n, len(of_row)))

    def _in_memory(self, one: PublishedRecords) -> Self:
        """A release of these records alone."""
        kept, piece = one.contents, one.piece
        rows = np.arange(one.original.n) if kept.envelopes else one.rows
        original = one.original if len(rows) == one.original.n else one.original.take(rows)
        source = msgspec.structs.replace(kept.source, rows=(len(rows),))
        store = make_store(
            source, original.values, piece.made[rows], original.others, np.arange(len(rows)),
            units=kept.units, groups=piece.groups[rows], whole=kept.whole,
        )  # fmt: skip
        store.put("names", one.store.get("names")[rows])
        whole = (self.contents.n, self.contents.n - self.contents.suppressed) if self.contents.suppressed else None
        return replace(self, original=original, store=store, engine=Here(), sample_of=self.sample_of or whole)

    def published(self, at: int = 0) -> Dataset | IntervalTable:
        """One published file: values shuffled and renamed, or envelopes shuffled.

        Parameters
        ----------
        at
            The number of the file, from 0.

        Returns
        -------
        Dataset or IntervalTable
            What the file holds.
        """
        return in_published_order(self.store, at).published
