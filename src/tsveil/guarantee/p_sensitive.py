"""p-sensitive k-anonymity: k-anonymity whose groups hold at least p different values of each named confidential column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.core.errors import InputError, some
from tsveil.core.params import at_least, names, param
from tsveil.guarantee.base import Counted, Verdict
from tsveil.guarantee.chunks import Schema
from tsveil.guarantee.counting import Counts, Table
from tsveil.guarantee.k_anonymity import SCOPES, KAnonymity, Scope


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

    name: ClassVar[str] = "p-sensitive"
    plain: ClassVar[str] = "every record looks like others that do not all share its secret"
    summary: ClassVar[str] = (
        "every published row of values is shared by at least k records with at least p different values of each confidential column"
    )
    reference: ClassVar[str] = "Truta and Vinay 2006"
    headline: ClassVar[tuple[str, ...]] = ("k", "p")
    takes_gaps: ClassVar[bool] = True

    k: int = param(5, at_least(1), "fewest records that share a row of values")
    p: int = param(2, at_least(1), "fewest different values of each confidential column in a group")
    columns: tuple[str, ...] = param((), names(), "the confidential columns; all of them when left out")
    scope: Scope = param("block", SCOPES, "the columns that make a row: each block, the whole record, or each column")
    #: not a parameter: how many blocks the data have, which only the words on its limits need
    blocks: int = 1

    @property
    def words(self) -> str:
        """The promise."""
        names = ", ".join(repr(name) for name in self.columns) or "each confidential column"
        return f"{self._groups.words.rstrip('.')}, and these hold at least {self.p} different values of {names}."

    @property
    def short(self) -> str:
        """For tables."""
        return f"{self.p}-sensitive {self._groups.short}"

    @property
    def limits(self) -> str:
        """What it does not cover."""
        return f"{self._groups.limits} The {self.p} values may be unevenly spread or close to each other."

    @property
    def intruder(self) -> str:
        """As k-anonymity."""
        return self._groups.intruder

    @property
    def bound(self) -> str:
        """As k-anonymity."""
        return self._groups.bound

    @property
    def tile(self) -> tuple[str, str]:
        """The size of the smallest group."""
        return self._groups.tile

    @property
    def _groups(self) -> KAnonymity:
        """What it promises beside the values."""
        return KAnonymity(self.k, self.scope, self.blocks)

    def tables(self, schema: Schema) -> list[Table]:
        """Those of k-anonymity, and inside their groups the values of each named column."""
        columns = self.columns or schema.carried
        unknown = [name for name in columns if name not in (*schema.carried, *schema.columns)]
        if unknown or not columns:
            lack = f"the table has no column {some(unknown)}" if unknown else "the table has no confidential column"
            raise InputError(f"{lack}\n  columns beside the values: {some(schema.carried, 20) or 'none'}")
        groups = self._groups.tables(schema)
        return groups + [Table(column, (column,), inside=number) for number in range(len(groups)) for column in columns]

    def judge(self, counts: Counts) -> Verdict:
        """k-anonymity first; then the first group with too few values is the witness."""
        groups = self._groups.judge(counts)
        if not groups.holds:
            return self.verdict([groups.witness])
        for number, table in enumerate(counts.tables):
            if table.inside is None:
                continue
            values = counts.kinds(number)
            few = np.flatnonzero(values < self.p)
            if len(few):
                size, first = counts.classes(table.inside)
                worst = few[first[few].argmin()]
                who = f"the {size[worst]} records that share the values of row {first[worst] + 1}"
                what = f"{values[worst]} of {self.p} values of {table.name!r}"
                return self.verdict([f"{counts.tables[table.inside].name}: {who} have {what}"])
        return self.verdict([], groups.details)
