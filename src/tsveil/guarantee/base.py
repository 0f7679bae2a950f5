"""What a promise is: it says in words what a release guarantees, and checks that on published values. A verdict is what the check found.

A verifier sees nothing but the published table: no group labels, no original. It shares no code with the methods whose
releases it judges, so a mistake in a method cannot hide in its verifier.

`verify` takes a table in memory, `verify_chunks` a table in chunks; for the same rows both say the same. A promise that only has `verify` is checked
on the whole table in either case. A `Counted` promise is checked chunk by chunk, wherever the chunks are: each chunk is counted, the counts are
merged, and the promise judges them. It says what is counted (`tables`) and what follows (`judge`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tsveil.core.declaration import Declaration
from tsveil.core.notebook import table_in_html
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.read import read
from tsveil.guarantee import chunks as published_chunks
from tsveil.guarantee.chunks import Chunk, Chunks, Schema, opened_chunk
from tsveil.guarantee.counting import Counts, Table


class Status(StrEnum):
    """The four possible outcomes of a verification."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    NONE_CLAIMED = "none-claimed"


#: verdicts with which a release may be written
PUBLISHABLE = (Status.HOLDS.value, Status.NONE_CLAIMED.value)


@dataclass(frozen=True)
class Verdict:
    """The outcome of a verification.

    Examples
    --------
    >>> verdict = Verdict(Status.VIOLATED, "3-anonymity", "block 'load': rows 4, 9 share their values with 1 other record")
    >>> verdict.holds
    False
    >>> print(verdict)
    VIOLATED: 3-anonymity
      block 'load': rows 4, 9 share their values with 1 other record
    """

    status: Status
    #: the promise, in words
    guarantee: str
    #: why it fails or could not be decided: the records, the knowledge, the leak
    witness: str = ""
    #: what was found on the way, such as the smallest group
    details: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the promise was checked and is kept."""
        return self.status is Status.HOLDS

    @property
    def blocks_release(self) -> bool:
        """Whether a release with this verdict must not be written without being asked."""
        return self.status in (Status.VIOLATED, Status.UNKNOWN)

    def _repr_html_(self) -> str:
        """The same as the text, for notebooks."""
        rows = [("promise", self.guarantee), ("why", self.witness), *(("found", detail) for detail in self.details)]
        return table_in_html(self.status.upper(), (), [row for row in rows if row[1]])

    def __str__(self) -> str:
        lines = [f"{self.status.upper()}: {self.guarantee}"]
        lines += [f"  {self.witness}"] if self.witness else []
        return "\n".join(lines + [f"  {detail}" for detail in self.details])


@dataclass(frozen=True)
class Verification:
    """A verdict, and what else was found on the way."""

    verdict: Verdict
    #: envelopes: carried column -> (classes with one value only, the records in them)
    homogeneous: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: what the records of a class have in common, in words
    shared: str = ""


@dataclass(frozen=True)
class Promise(Declaration, ABC):
    """What a method promises of its releases."""

    #: the option of `tsveil verify` that asks for it; its value has the headline parameters in order. The name of the promise unless set.
    option: ClassVar[str] = ""
    #: whether anything is promised at all
    claims: ClassVar[bool] = True
    #: whether an empty cell among the values (missing="mask") is a value of its own for it
    takes_gaps: ClassVar[bool] = False

    @property
    def k(self) -> int:
        """The fewest records that it leaves to be told apart; two if it does not say, for a single one is hidden nowhere."""
        return 2

    @property
    @abstractmethod
    def words(self) -> str:
        """The promise in one or two sentences that a lawyer can read."""

    @property
    def short(self) -> str:
        """The promise in a few words, for tables."""
        return self.words

    @property
    def limits(self) -> str:
        """What the promise does not cover, in a sentence or two."""
        return ""

    @property
    def intruder(self) -> str:
        """The strongest intruder that the promise speaks of: "file" if it bounds what anybody finds, "part" if it does so for a block or a column, or "none"."""
        return "none"

    @property
    def bound(self) -> str:
        """The largest chance of finding a person that it leaves to that intruder, as a fraction; empty if it bounds none."""
        return ""

    @property
    def tile(self) -> tuple[str, str] | None:
        """The figure by which people know it, for the top of a report: what it is called, and its value."""
        return None

    @property
    def known(self) -> int:
        """How many values of a record the intruder knows, if the promise is about that; 0 if it is not."""
        return 0

    @property
    def meaning(self) -> tuple[str, ...]:
        """What it means for a reader of the report who may take it for more, in paragraphs; nothing if `words` and `limits` say it all."""
        return ()

    @property
    def reads_originals(self) -> bool:
        """Whether it speaks of the original labels, which the private side of a release keeps for it."""
        return False

    def read(self, path: Path, **options: Any) -> Dataset | IntervalTable:
        """A published file of any tool, as this promise takes it; options as those of `tsveil.read`."""
        return read(path, **options)

    @abstractmethod
    def verify(self, published: Any) -> Verdict:
        """Check the promise on published values."""

    def verify_with(self, published: Any, originals: pl.DataFrame | None) -> Verdict:
        """The same with the original labels of the published rows, if they are known and it speaks of them."""
        return self.verify(published)

    def verdict(self, witnesses: Sequence[str], details: Sequence[str] = ()) -> Verdict:
        """Violated if there are witnesses, which are then all that is said; else it holds, with details."""
        if witnesses:
            return Verdict(Status.VIOLATED, self.words, "\n  ".join(witnesses))
        return Verdict(Status.HOLDS, self.words, details=tuple(details))

    def verify_chunks(self, chunks: Chunks) -> Verification:
        """Check the promise on a table in chunks; here they are brought together, if they are not too many for that."""
        found: list[Chunk] = []
        width = len(chunks.schema.numbers) + len(chunks.schema.carried)
        for place in chunks.places:
            found.append(opened_chunk(place))
            if sum(one.n for one in found) * width > published_chunks.TOGETHER:
                large = f"the table has more than {published_chunks.TOGETHER} cells"
                why = f"this promise can only be checked on the whole table at once, and {large}"
                return Verification(Verdict(Status.UNKNOWN, self.words, why))
        if problem := chunks.problem([one.n for one in found], [one.lost for one in found]):
            return Verification(self.verdict([problem]))
        return Verification(self.verify(chunks.whole(found)))


@dataclass(frozen=True)
class Counted(Promise):
    """A promise about classes of records with equal published cells."""

    #: what the records of a class have in common, in words
    shared: ClassVar[str] = ""

    @abstractmethod
    def tables(self, schema: Schema) -> list[Table]:
        """The columns whose equal rows form classes."""

    @abstractmethod
    def judge(self, counts: Counts) -> Verdict:
        """What the counts say; while it judges, a promise may look at all chunks again."""

    def homogeneous(self, counts: Counts) -> dict[str, tuple[int, int]]:
        """For carried columns: the classes that have one value only, and the records in them."""
        return {}

    def table(self, published: Any) -> Dataset | IntervalTable:
        """What was published, as a table of values or of envelopes."""
        assert isinstance(published, Dataset)
        return published

    def verify(self, published: Any) -> Verdict:
        """Count how many records share each row of values, and judge the counts.

        Parameters
        ----------
        published
            What was published: a data set, or a table of envelopes.

        Returns
        -------
        Verdict
            Whether it holds; or a witness.
        """
        return self._verify_by_counts(Chunks.of(self.table(published))).verdict

    def verify_with(self, published: Any, originals: pl.DataFrame | None) -> Verdict:
        """The same with the original labels."""
        if originals is None or not self.reads_originals:
            return self.verify(published)
        return self._verify_by_counts(replace(Chunks.of(self.table(published)), originals=originals)).verdict

    def verify_chunks(self, chunks: Chunks) -> Verification:
        """The same for a table in chunks; a class with a check of its own, which only knows whole tables, is checked on the whole table."""
        return self._verify_by_counts(chunks) if type(self).verify is Counted.verify else super().verify_chunks(chunks)

    def _verify_by_counts(self, chunks: Chunks) -> Verification:
        if chunks.schema.gaps and not self.takes_gaps:
            why = "it says nothing of empty cells, and records with gaps were published"
            return Verification(Verdict(Status.UNKNOWN, self.words, why))
        try:
            counts = Counts.of(chunks, self.tables(chunks.schema))
            if counts.problem:
                return Verification(self.verdict([counts.problem]))
            return Verification(self.judge(counts), self.homogeneous(counts), self.shared)
        finally:
            chunks.store.remove("verify")
