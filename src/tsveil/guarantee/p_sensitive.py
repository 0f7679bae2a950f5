"""p-sensitive k-anonymity: k-anonymity whose groups hold at least p different values of each named confidential column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tsveil.data.dataset import Dataset
from tsveil.guarantee.base import Guarantee, Status, Verdict
from tsveil.guarantee.k_anonymity import KAnonymity, Scope, rows_by_scope


@dataclass(frozen=True)
class PSensitive(Guarantee):
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

    def verify(self, published: Dataset) -> Verdict:
        """Count records and confidential values of each published row."""
        plain = self._plain.verify(published)
        if not plain.holds:
            return Verdict(plain.status, self.words, plain.witness)
        for what, rows in rows_by_scope(published, self.scope):
            row = pl.Series("row", [row.tobytes() for row in np.ascontiguousarray(rows)])
            for column in self.columns:
                # The column gets a name of ours, so that it may be called anything.
                frame = pl.DataFrame([row, published.others[column].alias("value")]).with_row_index("at", offset=1)
                counted = frame.group_by("row").agg(pl.len(), pl.col("at").min(), pl.col("value").n_unique())
                few = counted.filter(pl.col("value") < self.p).sort("at")
                if len(few):
                    first = few.row(0, named=True)
                    return Verdict(
                        Status.VIOLATED,
                        self.words,
                        f"{what}: the {first['len']} records that share the values of row {first['at']} have {first['value']} of "
                        f"{self.p} values of {column!r}",
                    )
        return Verdict(Status.HOLDS, self.words, details=plain.details)
