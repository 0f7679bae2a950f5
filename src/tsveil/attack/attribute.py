"""Attribute disclosure: groups of equal records that share their secret.

In a k-anonymous release nobody can tell which of k equal records is whose. But if all of them have the same confidential value,
nobody needs to. A group (identical protected rows) discloses a confidential column

    exactly         if the column is constant in the group
    approximately   if it is numeric and  max - min <= share * sd  of the whole column in the group.

In a table of envelopes a group is what shares envelope and pattern. Records that stand alone are a matter of
re-identification and not counted here (`smallest=2`).

References
----------
.. [1] A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ACM TKDD 1
   (2007): the homogeneity attack.
.. [2] N. Li, T. Li, S. Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, ICDE (2007): the
   similarity attack.

Examples
--------
>>> import tsveil as tv
>>> released = tv.Dataset.from_arrays(
...     {"age": [[30.0], [30.0], [50.0], [50.0]]},
...     confidential={"illness": ["flu", "flu", "flu", "gout"], "income": [10, 90, 40, 41]},
... )
>>> found = tv.attack.attribute(released, share=0.1)
>>> found
AttributeDisclosure: illness: 2 of 4 records; income: 2 of 4 records
>>> found.groups.select("column", "records", "low", "high", "constant").rows()
[('illness', 2, 'flu', 'flu', True), ('income', 2, '40', '41', False)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tsveil._types import Mask
from tsveil.attack._files import HasData, released_data
from tsveil.attack._nearest import distinct_rows
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.errors import InputError, ParameterError, some
from tsveil.guarantee.kp import classes_of

#: how near numbers must be, of the standard deviation of their column, and how many records are a group
SHARE, SMALLEST = 0.05, 2


@dataclass(frozen=True, eq=False, repr=False)
class AttributeDisclosure:
    """The groups that give a confidential value away."""

    #: column -> whether each released record's value is given away
    disclosed: Mapping[str, Mask]
    #: a row per column and group: column, records (their number), rows (from 0), low, high, constant; private
    groups: pl.DataFrame

    def listed(self, ids: pl.Series) -> pl.DataFrame:
        """A row per column and record whose value is given away, for the owner; `ids` are the original ids of the rows.

        Columns: original, column, group_size, low, high (the range that its group gives away), exactly.
        """
        if not len(self.groups):
            empty = dict.fromkeys(("column", "low", "high"), pl.String) | {
                "group_size": pl.Int64,
                "exactly": pl.Boolean,
            }
            frame = pl.DataFrame(schema={"original": ids.dtype, **empty})
        else:
            every = self.groups.explode("rows")
            frame = every.with_columns(original=ids[every["rows"].to_list()]).rename(
                {"records": "group_size", "constant": "exactly"}
            )
        return frame.select("original", "column", "group_size", "low", "high", "exactly")

    @property
    def counts(self) -> dict[str, int]:
        """The number of records whose value is given away, for each confidential column."""
        return {name: int(mask.sum()) for name, mask in self.disclosed.items()}

    def __repr__(self) -> str:
        told = (f"{name}: {mask.sum()} of {len(mask)} records" for name, mask in self.disclosed.items())
        return "AttributeDisclosure: " + ("; ".join(told) or "no confidential columns")


def attribute(
    released: Dataset | HasData | IntervalTable,
    *,
    columns: Sequence[str] | None = None,
    share: float = SHARE,
    smallest: int = SMALLEST,
) -> AttributeDisclosure:
    """Find the groups of equal protected records, of at least `smallest`, that give a confidential column away.

    All confidential columns are looked at unless some are named; `share` of a numeric column's standard deviation is how
    near values may be to count as known.
    """
    group, carried = _carried(released)
    names = carried.columns if columns is None else list(columns)
    strange = [name for name in names if name not in carried.columns]
    if strange:
        raise InputError(f"no confidential column {some(strange)}\n  columns available: {some(carried.columns, 20)}")
    if not 0 <= share < np.inf:
        raise ParameterError(
            f"The 'share' parameter of the attribute attack must be a number of at least 0. Got {share}."
        )
    if smallest < 1:
        raise ParameterError(f"The 'smallest' parameter of the attribute attack must be at least 1. Got {smallest}.")
    parts, disclosed = [], {}
    for name in names:
        found = _groups(group, carried[name], share, smallest)
        parts.append(found.select(pl.lit(name).alias("column"), "records", "rows", "low", "high", "constant"))
        disclosed[name] = group.is_in(found["group"].implode()).to_numpy()
    return AttributeDisclosure(disclosed, pl.concat(parts) if parts else pl.DataFrame())


def _carried(released: Dataset | HasData | IntervalTable) -> tuple[pl.Series, pl.DataFrame]:
    """The group of each released record, and the confidential columns."""
    if isinstance(released, IntervalTable):
        return pl.Series("group", classes_of(released)[1]), released.others
    data = released_data(released)
    return pl.Series("group", distinct_rows(data.values + 0.0)[2]), data.others.select(list(data.confidential))


def missing(value: pl.Expr) -> pl.Expr:
    """Where a column of numbers has none, or none that can be near another."""
    return value.cast(pl.Float64).is_finite().not_().fill_null(True)


def _groups(group: pl.Series, column: pl.Series, share: float, smallest: int) -> pl.DataFrame:
    """The groups that give a column away, in the order of their first records."""
    table = pl.DataFrame([group, column.alias("value")]).with_row_index("row")
    near = pl.lit(False)
    if column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
        deviation = numbers.filter(numbers.is_finite()).std() or 0.0
        # A group with a gap is not known to be near; NaN is a gap, and polars takes it for the largest number.
        width = (pl.col("value").max() - pl.col("value").min()).cast(pl.Float64)
        near = ~missing(pl.col("value")).any() & (width <= share * float(str(deviation)))
    return (
        table.group_by("group", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("records"),
            pl.col("row").cast(pl.Int64).alias("rows"),
            pl.col("value").min().cast(pl.String).alias("low"),
            pl.col("value").max().cast(pl.String).alias("high"),
            (pl.col("value").n_unique() == 1).alias("constant"),
            near.alias("near"),
        )
        .filter((pl.col("records") >= smallest) & (pl.col("constant") | pl.col("near")))
    )
