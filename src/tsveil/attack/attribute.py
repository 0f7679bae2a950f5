"""Attribute disclosure: classes of equal records that share their secret.

In a k-anonymous release nobody can tell which of k equal records is whose. But if all of them have the same confidential value,
nobody needs to. A class (identical protected rows) discloses a confidential column

    exactly         if the column is constant in the class
    approximately   if it is numeric and  max - min <= share * sd  of the whole column in the class.

In a table of envelopes a class is what shares envelope and pattern. Records that stand alone are a matter of
re-identification and not counted here (`smallest=2`).

A release in many pieces is gone through twice: each piece says what its records of each class have in common (`seen_in`), and
for some classes at a time what all pieces have seen is merged and judged (`judged`). The standard deviation follows from
exact sums, so the figures do not depend on the pieces.

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

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from tsveil.attack.files import HasData, released_data
from tsveil.attack.nearest import distinct_rows
from tsveil.core.errors import InputError, ParameterError, some
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Memory, Store, open_store
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.here import Here
from tsveil.guarantee.counting import classes_of
from tsveil.transform.exact import parts

#: how near numbers must be, of the standard deviation of their column, and how many records are a class
SHARE, SMALLEST = 0.05, 2
#: classes that are judged at a time
CLASSES = 2**20
#: squares of larger numbers leave the range: their deviation counts as larger than any number
LARGEST = 1e150

#: what is listed of a record beside its id and the column -> what a class calls it
COPIED = {"group_size": "records", "low": "low", "high": "high", "exactly": "constant"}


@dataclass(frozen=True, eq=False, repr=False)
class AttributeDisclosure:
    """The classes that disclose a confidential value."""

    #: the class of each released record
    of_row: Indices
    #: column -> a row per class that discloses it: class, records (their number), low, high, constant
    classes: Mapping[str, pl.DataFrame]

    @classmethod
    def load(cls, store: Store, columns: Sequence[str]) -> AttributeDisclosure:
        """What `disclosure` found and left in the store."""
        return cls(store.get("classes"), {name: store.get_frame(f"disclosing-{at}") for at, name in enumerate(columns)})

    @cached_property
    def disclosed(self) -> Mapping[str, Mask]:
        """Whether each released record's value is disclosed, for each column."""
        return {name: _among(own, self.of_row)[0] for name, own in self.classes.items()}

    @cached_property
    def groups(self) -> pl.DataFrame:
        """A row per column and class: column, records (their number), rows (from 0), low, high, constant; private."""
        row = pl.col("row").cast(pl.Int64)
        rows = pl.DataFrame({"class": self.of_row}).with_row_index("row").group_by("class").agg(row.alias("rows"))
        found = [
            own.join(rows, on="class", how="left", maintain_order="left").select(
                pl.lit(name).alias("column"), "records", "rows", "low", "high", "constant"
            )
            for name, own in self.classes.items()
        ]
        return pl.concat(found) if found else pl.DataFrame()

    def rows_for_owner(self, ids: pl.Series, start: int = 0) -> pl.DataFrame:
        """A row per record and column whose value is disclosed, for the owner.

        `ids` are the original ids of the rows from `start` on. Columns: original, column, group_size, low, high (the range that its class
        discloses), exactly.
        """
        of_row = np.asarray(self.of_row[start : start + len(ids)])
        kinds = {
            "column": pl.String,
            "group_size": pl.Int64,
            "low": pl.String,
            "high": pl.String,
            "exactly": pl.Boolean,
        }
        rows, found = [np.zeros(0, dtype=np.int64)], [pl.DataFrame(schema=kinds)]
        for column, own in self.classes.items():
            inside, place = _among(own, of_row)
            rows.append(np.flatnonzero(inside))
            names = pl.Series("column", [column]).new_from_index(0, len(rows[-1]))
            found.append(
                pl.DataFrame([names, *(own[what].gather(place[inside]).alias(name) for name, what in COPIED.items())])
            )
        every = np.concatenate(rows)
        order = np.argsort(every, kind="stable")
        columns = pl.concat(found)[order]
        return columns.insert_column(0, ids.gather(every[order]).alias("original"))

    @property
    def counts(self) -> dict[str, int]:
        """The number of records whose value is disclosed, for each confidential column."""
        return {name: int(own["records"].sum()) for name, own in self.classes.items()}

    def __repr__(self) -> str:
        counts = (f"{name}: {count} of {len(self.of_row)} records" for name, count in self.counts.items())
        return "AttributeDisclosure: " + ("; ".join(counts) or "no confidential columns")


def _among(classes: pl.DataFrame, of_row: Indices) -> tuple[Mask, Indices]:
    """Which rows belong to one of these classes, and to which of them."""
    numbers = classes["class"].to_numpy()
    place = np.full(int(numbers.max(initial=-1)) + 2, -1)
    place[numbers] = np.arange(len(numbers))
    mine = place[np.minimum(of_row, len(place) - 1)]
    return mine >= 0, mine


def attribute(
    released: Dataset | HasData | IntervalTable,
    *,
    columns: Sequence[str] | None = None,
    share: float = SHARE,
    smallest: int = SMALLEST,
) -> AttributeDisclosure:
    """Find the classes of equal protected records that disclose a confidential column.

    Parameters
    ----------
    released
        A release, or a data set protected by any tool.
    columns
        The confidential columns that are looked at; all by default.
    share
        How near the values of a numeric column may be to count as known: this share of its standard deviation.
    smallest
        The fewest records of a class that is looked at.

    Returns
    -------
    AttributeDisclosure
        The classes, and how many records they disclose.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    of_row, carried = _classes_and_columns(released)
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
    store = Memory()
    store.put_frame("confidential-0", carried)
    return disclosure(store, Here(), of_row, [0], names, share=share, smallest=smallest)


def _classes_and_columns(released: Dataset | HasData | IntervalTable) -> tuple[Indices, pl.DataFrame]:
    """The class of each released record, numbered by first appearance, and the confidential columns."""
    if isinstance(released, IntervalTable):
        return distinct_rows(classes_of(released)[1][:, None])[2], released.others
    data = released_data(released)
    return distinct_rows(data.values + 0.0)[2], data.others.select(list(data.confidential))


def disclosure(
    store: Store,
    engine: Engine,
    of_row: Indices,
    starts: Sequence[int],
    columns: Sequence[str],
    *,
    share: float = SHARE,
    smallest: int = SMALLEST,
    withheld: bool = False,
) -> AttributeDisclosure:
    """The same for a release in pieces; `withheld`: empty cells hide a value, so that a class of them discloses none.

    `of_row` is the class of each released record, numbered by first appearance. The store has the confidential columns of each
    piece as the frame "confidential-0", "confidential-1", ...; `starts` are the rows at which the pieces begin.
    """
    sizes = np.bincount(of_row)
    store.put("classes", of_row)
    store.put("classes.sizes", sizes)
    every = {
        "store": store.handle,
        "columns": list(columns),
        "smallest": smallest,
        "pieces": len(starts),
        "withheld": withheld,
    }
    pieces = [{**every, "at": at, "start": int(start)} for at, start in enumerate(starts)]
    seen = engine.map(seen_in, pieces if columns else [], "Comparing carried values")
    deviations = [deviation(of_pieces) for of_pieces in zip(*(one["moments"] for one in seen), strict=True)]
    every["near"] = [None if one is None else share * one for one in deviations]
    ranges = [{**every, "at": at, "of": -(-len(sizes) // CLASSES)} for at in range(-(-len(sizes) // CLASSES))]
    engine.map(judge_classes, ranges if columns else [], "Judging the classes")
    for number in range(len(columns)):
        found = [store.get_frame(f"disclosing-{number}-{one['at']}") for one in ranges]
        store.put_frame(f"disclosing-{number}", found[0] if len(found) == 1 else pl.concat(found))
    return AttributeDisclosure.load(store, columns)


# -- one piece --------------------------------------------------------------------------------------------------------


def seen_in(task: Task) -> Result:
    """Keep what the records of each class have in common in one piece; gives the moments of each column."""
    store, at, start = open_store(task["store"]), int(task["at"]), int(task["start"])
    carried = store.get_frame(f"confidential-{at}").select(task["columns"])
    found = [_moments(column) for column in carried]
    of_row = np.asarray(store.get("classes")[start : start + len(carried)])
    large = store.get("classes.sizes")[of_row] >= int(task["smallest"])
    if not large.all():
        carried, of_row = carried.filter(large), of_row[large]
    for number, column in enumerate(carried):
        store.put_frame(f"seen-{number}-{at}", _summary_of_classes(of_row, column))
    return {"moments": found}


def _summary_of_classes(of_row: Indices, column: pl.Series) -> pl.DataFrame:
    """For each class: records, lowest and highest value, and how many are missing or NaN."""
    value, no_number = pl.col("value"), pl.lit(0, pl.Int64)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_float():
        column = column.set(column == 0.0, 0.0)  # -0.0 is equal, but would be written differently
        value, no_number = value.fill_nan(None), value.is_nan().sum().cast(pl.Int64)
    return (
        pl.DataFrame([pl.Series("class", of_row), column.alias("value")])
        .group_by("class")
        .agg(
            pl.len().cast(pl.Int64).alias("records"),
            value.min().alias("low"),
            value.max().alias("high"),
            pl.col("value").null_count().cast(pl.Int64).alias("missing"),
            no_number.alias("nan"),
        )
    )


def _moments(column: pl.Series) -> list[list[float]]:
    """Count, sum and sum of squares of the finite numbers, exactly, as parts; nothing for other columns."""
    if not column.dtype.is_numeric():
        return []
    numbers = column.cast(pl.Float64).drop_nulls().to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if np.abs(numbers).max(initial=0.0) > LARGEST:
        return [[float(len(numbers))], [], [math.inf]]
    return [[float(len(numbers))], parts(numbers), [part for square in _squares(numbers) for part in parts(square)]]


def _squares(x: Array) -> tuple[Array, Array]:
    """The squares rounded, and what rounding has taken off (Dekker 1971): their sum is exact."""
    wide = 134217729.0 * x  # 2^27 + 1
    high = wide - (wide - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2.0 * high * low) + low * low


def deviation(moments: Sequence[Sequence[Sequence[float]]]) -> float | None:
    """The standard deviation of a column from the moments of its pieces; None for a column that is not numeric.

    Examples
    --------
    >>> deviation([_moments(pl.Series([1.0, 2.0])), _moments(pl.Series([6.0]))])
    2.6457513110645907
    """
    if not moments[0]:
        return None
    values = [[part for one in moments for part in one[power]] for power in range(3)]
    if math.inf in values[2]:
        return sys.float_info.max
    count, total, squares = (sum(map(Fraction, each), Fraction(0)) for each in values)
    if count < 2:
        return 0.0
    return math.sqrt(max(count * squares - total**2, Fraction(0)) / (count * (count - 1)))


# -- all pieces -------------------------------------------------------------------------------------------------------


def judge_classes(task: Task) -> Result:
    """Keep which of some classes disclose a value, for each column."""
    store, at = open_store(task["store"]), int(task["at"])
    for number, near in enumerate(task["near"]):
        seen = [store.get_frame(f"seen-{number}-{piece}") for piece in range(int(task["pieces"]))]
        if task["of"] > 1:
            seen = [frame.filter(frame["class"].is_between(at * CLASSES, (at + 1) * CLASSES - 1)) for frame in seen]
        store.put_frame(f"disclosing-{number}-{at}", _disclosing_classes(_merge(seen), near, withheld=task["withheld"]))
    return {}


def _merge(seen: Sequence[pl.DataFrame]) -> pl.DataFrame:
    if len(seen) == 1:
        return seen[0]
    counts = pl.col("records", "missing", "nan").sum()
    return pl.concat(seen).group_by("class").agg(pl.col("low").min(), pl.col("high").max(), counts)


def _disclosing_classes(seen: pl.DataFrame, near: float | None, *, withheld: bool) -> pl.DataFrame:
    """The classes that disclose a column: constant, or numbers no farther apart than `near`; empty cells are a value unless they were withheld."""
    records, missing, nan = (seen[count].to_numpy() for count in ("records", "missing", "nan"))
    low, high = seen["low"], seen["high"]
    complete = missing + nan == 0
    empty = (missing == records) & (not withheld)
    constant = empty | (nan == records) | (complete & (low == high).fill_null(False).to_numpy())
    found = constant
    if near is not None:
        width = (high.cast(pl.Float64) - low.cast(pl.Float64)).to_numpy()
        found = constant | (complete & np.isfinite(width) & (width <= near))
    rows = np.flatnonzero(found)
    rows = rows[np.argsort(seen["class"].to_numpy()[rows])]
    no_number = pl.Series(nan[rows] == records[rows])
    low, high = (bound.gather(rows).cast(pl.String).set(no_number, "NaN") for bound in (low, high))
    kept = [seen[name].gather(rows) for name in ("class", "records")]
    return pl.DataFrame([*kept, low, high, pl.Series("constant", constant[rows])])


def disclosed_warning(name: str, what: str, records: int, n: int) -> str:
    """What to tell of a carried column that whole groups have in common."""
    return (
        f"the carried column {name!r} has one value only among all records of one {what} for {records} of {n} records: "
        "whoever finds their group learns it"
    )
