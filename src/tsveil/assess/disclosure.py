"""Carried values that a class discloses: whoever knows a person's class knows the value without finding the record.

A class of at least two persons discloses a carried column if one value belongs to at least 90 % of its persons, unless the value is as common in the whole
file; numbers also if their spread in the class is below 5 % of the standard deviation of the column.

A carried column that is the same in all records of a person ties these records together, although nothing published says whose they are: what remains possible
is whoever has records in the same classes. Fewer than k such persons, and the carried values are no longer those of k candidates.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tsveil.core.types import Indices, Mask

#: the share of a class that has one value, and how near numbers are, of the standard deviation of their column
MOST, NEAR = 0.9, 0.05


def disclosing(of_row: Indices, column: pl.Series, persons: Indices, *, withheld: bool = False) -> Mask:
    """Whether the class of each record discloses its value of a carried column; an empty cell is a value too, unless cells were `withheld`.

    Examples
    --------
    >>> ill = pl.Series(["flu", "flu", "gout", "flu", "gout", "gout"])
    >>> disclosing(np.array([0, 0, 0, 1, 1, 1]), ill, np.arange(6)).any()
    np.False_
    >>> disclosing(np.array([0, 0, 1, 1, 1, 1]), ill, np.arange(6))
    array([ True,  True, False, False, False, False])
    """
    values = column.cast(pl.String).fill_null("").alias("value")
    rows = pl.DataFrame({"class": of_row, "person": persons}).with_columns(values)
    everybody = int(rows["person"].n_unique())
    size = rows.group_by("class").agg(persons=pl.col("person").n_unique())
    common = rows.group_by("value").agg(everywhere=pl.col("person").n_unique() / everybody)
    together = rows.group_by("class", "value").agg(own=pl.col("person").n_unique())
    together = together.join(size, on="class").join(common, on="value").filter(pl.col("persons") > 1)
    share = pl.col("own") / pl.col("persons")
    together = together.filter(pl.col("value") != "") if withheld else together
    found = together.filter((share >= MOST) & (share > pl.col("everywhere")))["class"].to_numpy()
    near = _near(of_row, column, size)
    return np.isin(of_row, np.concatenate([found, near]))


def _near(of_row: Indices, column: pl.Series, size: pl.DataFrame) -> Indices:
    """The classes in which numbers are nearly the same."""
    if not column.dtype.is_numeric() or column.null_count():
        return np.empty(0, dtype=np.int64)
    numbers = column.cast(pl.Float64)
    deviation = numbers.std()
    if not isinstance(deviation, float) or not deviation > 0:
        return np.empty(0, dtype=np.int64)
    spread = pl.col("value").max() - pl.col("value").min()
    classes = pl.DataFrame({"class": of_row, "value": numbers}).group_by("class").agg(spread=spread)
    found = classes.join(size, on="class").filter((pl.col("persons") > 1) & (pl.col("spread") < NEAR * deviation))
    return found["class"].to_numpy().astype(np.int64)


def fewest_alike(of_row: Indices, persons: Indices) -> int:
    """The fewest persons who have records in exactly the same classes: the candidates for values that tie a person's records together.

    Examples
    --------
    >>> fewest_alike(np.array([0, 1, 0, 1, 0, 2]), np.array([0, 0, 1, 1, 2, 2]))
    1
    """
    rows = pl.DataFrame({"class": of_row, "person": persons})
    own = rows.group_by("person").agg(classes=pl.col("class").unique().sort())
    return int(own.group_by("classes").agg(alike=pl.len())["alike"].min() or 0)  # type: ignore[arg-type]


def is_constant(column: pl.Series, persons: Indices) -> bool:
    """Whether a carried column is the same in all records of each person, and different for some persons."""
    rows = pl.DataFrame({"person": persons}).with_columns(column.alias("value"))
    if rows["value"].n_unique() < 2:
        return False
    return bool((rows.group_by("person").agg(pl.col("value").n_unique())["value"] == 1).all())
