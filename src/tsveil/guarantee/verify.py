"""How a promise is verified, written once: every chunk is counted, the counts are merged, and the promise judges them.

A table in memory is one chunk; a release in files has a chunk for each file, which an engine counts wherever it runs. The promise says what is
counted (`tables`) and what follows from it (`judge`); while it judges it may look at all chunks again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from tsveil.data.dataset import Block, Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Store
from tsveil.engine.base import Engine
from tsveil.guarantee.base import Guarantee, Status, Verdict, Verified
from tsveil.guarantee.chunks import Chunks, Schema, in_files
from tsveil.guarantee.counting import Counts, Table


class Counted(Guarantee):
    """A promise about classes of records with equal published cells."""

    #: what the records of a class have in common, in words
    shared: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        """A class with a check of its own, which only knows whole tables, is checked on whole tables."""
        super().__init_subclass__(**options)
        if "verify" in cls.__dict__ and "verify_chunks" not in cls.__dict__:
            cls.verify_chunks = Guarantee.verify_chunks  # type: ignore[method-assign]

    @abstractmethod
    def tables(self, schema: Schema) -> list[Table]:
        """The columns whose equal rows form classes."""

    @abstractmethod
    def judge(self, counts: Counts) -> Verdict:
        """What the counts say."""

    def homogeneous(self, counts: Counts) -> dict[str, tuple[int, int]]:
        """For carried columns: the classes that have one value only, and the records in them."""
        return {}

    def table(self, published: Any) -> Dataset | IntervalTable:
        """What was published, as a table of values or of envelopes."""
        assert isinstance(published, Dataset)
        return published

    def verify(self, published: Any) -> Verdict:
        """Count how many records share each row of values, and judge the counts."""
        return self._counted(Chunks.of(self.table(published))).verdict

    def verify_chunks(self, chunks: Chunks) -> Verified:
        """The same for a table in chunks."""
        return self._counted(chunks)

    def _counted(self, chunks: Chunks) -> Verified:
        try:
            counts = Counts.of(chunks, self.tables(chunks.schema))
            if counts.problem:
                return Verified(Verdict(Status.VIOLATED, self.words, counts.problem))
            return Verified(self.judge(counts), self.homogeneous(counts), self.shared)
        finally:
            chunks.store.remove("verify")


def verify_files(
    guarantee: Guarantee,
    files: Sequence[Path],
    blocks: Sequence[Block],
    engine: Engine,
    store: Store,
    records: int | None = None,
    carried: Sequence[str] = (),
) -> Verified:
    """Check a promise over all files of a release together.

    `store` is for what lies in between, `records` how many there should be, and `carried` are columns beside the values.
    """
    return guarantee.verify_chunks(in_files(files, blocks, carried, engine, store, records))
