"""p-sensitive k-anonymity: k-anonymity whose groups hold at least p different values of each named confidential column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.chunks import Schema
from tsveil.guarantee.counting import Counts, Table
from tsveil.guarantee.k_anonymity import KAnonymity, Scope
from tsveil.guarantee.verify import Counted


@dataclass(frozen=True)
class PSensitive(Counted):
    """Every published row of values is shared by at least k records with at least p values of each named column.

    Examples
    --------
    >>> import tsveil as tv
    >>> published = tv.Dataset.from_arrays({"x": [[1.0], [1.0], [2.0], [2.0]]}, confidential={"ill": ["no", "yes", "no", "no"]})
    >>> print(PSensitive(2, 2, ("ill",)).verify(published).witness)
    block 'x': the 2 records that share the values of row 3 have 1 of 2 values of 'ill'
    """

    k: int
    p: int
    columns: tuple[str, ...]
    scope: Scope = "block"
    blocks: int = 1

    @property
    def words(self) -> str:
        """The promise."""
        names = ", ".join(repr(name) for name in self.columns)
        return f"{self._plain.words.rstrip('.')}, and these hold at least {self.p} different values of {names}."

    @property
    def short(self) -> str:
        """For tables."""
        return f"{self.p}-sensitive {self._plain.short}"

    @property
    def limits(self) -> str:
        """What it does not cover."""
        return f"{self._plain.limits} The {self.p} values may be unevenly spread or close to each other."

    @property
    def _plain(self) -> KAnonymity:
        return KAnonymity(self.k, self.scope, self.blocks)

    def tables(self, schema: Schema) -> list[Table]:
        """Those of k-anonymity, and inside their groups the values of each named column."""
        plain = self._plain.tables(schema)
        return plain + [
            Table(column, (column,), inside=number) for number in range(len(plain)) for column in self.columns
        ]

    def judge(self, counts: Counts) -> Verdict:
        """k-anonymity first; then the first group with too few values is the witness."""
        plain = self._plain.judge(counts)
        if not plain.holds:
            return Verdict(plain.status, self.words, plain.witness)
        for number, table in enumerate(counts.tables):
            if table.inside is None:
                continue
            values = counts.kinds(number)
            few = np.flatnonzero(values < self.p)
            if len(few):
                size, first = counts.classes(table.inside)
                worst = few[first[few].argmin()]
                return Verdict(
                    Status.VIOLATED,
                    self.words,
                    f"{counts.tables[table.inside].name}: the {size[worst]} records that share the values of row {first[worst] + 1} have "
                    f"{values[worst]} of {self.p} values of {table.name!r}",
                )
        return Verdict(Status.HOLDS, self.words, details=plain.details)
