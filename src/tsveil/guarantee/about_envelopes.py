"""What promises about envelopes share: the table that they read, envelopes with too few records, and what carried columns disclose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tsveil.data.dataset import Dataset
from tsveil.data.intervals import LEVEL, WORD, IntervalTable, read_intervals, read_table
from tsveil.data.write import as_frame
from tsveil.guarantee.base import Counted
from tsveil.guarantee.chunks import Schema
from tsveil.guarantee.counting import Counts, Table, row_list
from tsveil.guarantee.faults import SHOWN


@dataclass(frozen=True)
class AboutEnvelopes(Counted):
    """What promises about envelopes have in common: the table that they read, and the columns carried beside it.

    The last of the `own` tables is that of the classes; then there are two tables for each carried column: its values inside a class, and its values.
    """

    #: the number of tables before those of carried columns
    own: ClassVar[int]

    def read(self, path: Path, **options: Any) -> IntervalTable:
        """A published file of envelopes; of the options, those that say how its text is written."""
        return read_intervals(path, separator=options.get("separator"), decimal=options.get("decimal"))

    def table(self, published: Any) -> IntervalTable:
        """The table of a frame, a file or a data set."""
        return read_table(as_frame(published) if isinstance(published, Dataset) else published)

    def tables(self, schema: Schema) -> list[Table]:
        """Envelopes, patterns inside them if they count, and carried columns."""
        found = [Table("envelopes", schema.numbers), Table("patterns", (WORD, LEVEL), inside=0)][: self.own]
        for name in schema.carried:
            found += [Table(name, (name,), inside=self.own - 1), Table(name, (name,))]
        return found

    def few_envelopes(self, counts: Counts, k: int) -> Iterator[str]:
        """Envelopes that fewer than k records share, in words; before them what no envelope can be."""
        yield from counts.faults
        for rows, size, _ in few_classes(counts, 0, k):
            whose, many = ("its", "record") if size == 1 else ("their", "records")
            yield f"{rows}: {whose} envelope is shared by {size} {many} only; {k} are needed"
        if (more := int((counts.classes(0).size < k).sum()) - SHOWN) > 0:
            yield f"... and {more} more envelopes that are shared by fewer than {k} records"

    def homogeneous(self, counts: Counts) -> dict[str, tuple[int, int]]:
        """For carried columns: the classes that have one value only, and the records in them."""
        size, _ = counts.classes(self.own - 1)
        found = {}
        for number in range(self.own, len(counts.tables), 2):
            same = counts.kinds(number) == 1
            found[counts.tables[number].name] = (int(same.sum()), int(size[same].sum()))
        return found

    def disclosures(self, counts: Counts) -> Iterator[str]:
        """What carried columns disclose although the promise holds."""
        classes = len(counts.classes(self.own - 1).size)
        for at, (name, (groups, records)) in enumerate(self.homogeneous(counts).items()):
            if len(counts.classes(self.own + 2 * at + 1).size) == counts.n > 1:
                yield f"column {name!r} is different in every row: if it names or numbers people, it must not be published"
            if groups:
                yield (
                    f"column {name!r} is the same for all records of one {self.shared} in {groups} of {classes} cases "
                    f"({records} records): it is disclosed for them"
                )


def few_classes(counts: Counts, table: int, least: int) -> Iterator[tuple[str, int, int]]:
    """The first classes with too few records: their rows in words, their number, and the first of them."""
    size, first = counts.classes(table)
    few = np.flatnonzero(size < least)
    for number in few[np.argsort(first[few])][:SHOWN].tolist():
        chosen = np.zeros(len(size), dtype=np.bool_)
        chosen[number] = True
        yield row_list(*counts.members(table, chosen)), int(size[number]), int(first[number])
