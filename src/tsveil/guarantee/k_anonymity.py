"""k-anonymity: every published row of values is shared by at least k records.

The scope says which values make a row: all columns of a block ("block", each block by itself), all columns of the record
("record"), or every single column by itself ("column"). Values are compared by their bits, as they will be written: -0.0 and
0.0 print differently, so they are different values to whoever reads the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsveil._types import Array, Indices
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.chunks import Schema
from tsveil.guarantee.counting import Counts, Table, numbered, rows_told
from tsveil.guarantee.verify import Counted

Scope = Literal["block", "record", "column"]
#: tables with groups that are too small which are spelled out
TOLD = 5


def shared_by(rows: Array) -> Indices:
    """For each row the number of rows with the same bits, itself included.

    Examples
    --------
    >>> import numpy as np
    >>> shared_by(np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]]))
    array([2, 1, 2])
    """
    found = numbered(np.ascontiguousarray(rows, dtype=np.float64).view(np.int64))
    shared: Indices = found.size[found.of_row]
    return shared


@dataclass(frozen=True)
class KAnonymity(Counted):
    """Every published row of values is shared by at least k records.

    Examples
    --------
    >>> import tsveil as tv
    >>> published = tv.Dataset.from_arrays({"load": [[1.5, 2.0], [1.5, 2.0], [9.0, 9.0]]})
    >>> print(KAnonymity(2).verify(published))
    VIOLATED: 2-anonymity: in each block, every published row of values is shared by at least 2 records.
      block 'load': 1 record shares its values with fewer than 2 records; the smallest group has 1 (row 3)
    """

    k: int
    scope: Scope = "block"
    #: the names of the blocks, for a promise over several of them
    blocks: int = 1

    @property
    def words(self) -> str:
        """The promise."""
        where = {
            "block": "in each block, every published row of values",
            "record": "every published record, with all its series and attributes,",
            "column": "in each column by itself, every published value",
        }[self.scope]
        return f"{self.k}-anonymity: {where} is shared by at least {self.k} records."

    @property
    def short(self) -> str:
        """For tables."""
        return f"{self.k}-anonymity per {self.scope}"

    @property
    def limits(self) -> str:
        """Per block or per column the promise does not extend to several of them together."""
        if self.scope == "record" or (self.scope == "block" and self.blocks == 1):
            return (
                f"It bounds linking by the published values at 1 in {self.k}. It says nothing about confidential columns: if all "
                "members of a group share a confidential value, that value is disclosed."
            )
        return (
            f"The promise holds for each {self.scope} by itself. An intruder who knows several {self.scope}s of a person can combine "
            "them, and then fewer records remain; the linkage attacks measure that."
        )

    def tables(self, schema: Schema) -> list[Table]:
        """One per block, one per column, or one for whole records."""
        if self.scope == "record":
            return [Table("whole records", schema.columns)]
        if self.scope == "block":
            return [Table(f"block {block.name!r}", block.columns) for block in schema.blocks]
        return [Table(f"column {name!r}", (name,)) for name in schema.columns]

    def judge(self, counts: Counts) -> Verdict:
        """Every class needs k records; the smallest ones that have fewer are the witnesses."""
        smallest = counts.n
        witnesses: list[str] = []
        for number, table in enumerate(counts.tables):
            if table.inside is not None:
                continue
            size, _ = counts.classes(number)
            least = int(size.min(initial=counts.n))
            smallest = min(smallest, least)
            few = int(size[size < self.k].sum())
            if few and len(witnesses) < TOLD:
                verb = "record shares its" if few == 1 else "records share their"
                witnesses.append(
                    f"{table.name}: {few} {verb} values with fewer than {self.k} records; the smallest group has "
                    f"{least} ({rows_told(*counts.members(number, size == least))})"
                )
        if witnesses:
            return Verdict(Status.VIOLATED, self.words, "\n  ".join(witnesses))
        return Verdict(Status.HOLDS, self.words, details=(f"the smallest group has {smallest} records",))
