"""Grouping attributes into blocks by their correlations.

What is protected together matters: methods treat blocks one by one. With the correlation coefficients r and blocks of a

    correlated   similar attributes share a block: groups of records fit all of them, so less is lost
    scattered    similar attributes are spread: the j-th attributes of all blocks are similar ("correlated blocks" in [1]_), so
                 the groups of different blocks resemble each other, and combining blocks tells an intruder less

`correlated` starts a block with the pair of unused attributes that has the largest \\|r\\|, then adds the attribute with the
largest mean \\|r\\| to the block, until it has a members; and so on with the attributes that are left. `scattered` builds
families of ceil(A/a) of the A attributes in the same way, and block i takes the i-th attribute of each family.

Attributes that are left over form a last, smaller block (with `scattered` the last blocks lack an attribute of the last
family). `leftover="drop"` leaves them out, as the source does. Ties go to the lowest index; coefficients that agree to twelve
decimals are tied. A constant attribute has correlation 0 with all others.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, How to group attributes in multivariate microaggregation, International Journal of
   Uncertainty, Fuzziness and Knowledge-Based Systems 16, supplement 1 (2008) 121-138.

Examples
--------
>>> import numpy as np
>>> x = np.array([1.0, 2.0, 3.0, 4.0])
>>> y = np.array([1.0, -1.0, -1.0, 1.0])
>>> table = np.column_stack([x, y, -x, y + 0.1 * x])
>>> correlated_blocks(table, 2)
[[0, 2], [1, 3]]
>>> scattered_blocks(table, 2)
[[0, 1], [2, 3]]
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Literal, get_args, overload

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.transform.normalise import normalise_one

How = Literal["correlated", "scattered"]
Leftover = Literal["block", "drop"]

#: digits in which two coefficients must agree to be tied: rounding must not decide
DIGITS = 12


@overload
def correlated_blocks(data: Dataset, size: int, *, leftover: Leftover = "block") -> list[list[str]]: ...
@overload
def correlated_blocks(data: Array, size: int, *, leftover: Leftover = "block") -> list[list[int]]: ...
def correlated_blocks(
    data: Dataset | Array, size: int, *, leftover: Leftover = "block"
) -> list[list[str]] | list[list[int]]:
    """Blocks of similar attributes: names for a data set (its attributes only), column numbers for a table.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": [1, -1, -1, 1], "c": [2, 4, 6, 9]})
    >>> correlated_blocks(Dataset.from_frame(frame, blocks={"all": ["a", "b", "c"]}), 2)
    [['a', 'c'], ['b']]
    """
    return _names_or_numbers(data, _blocks(data, size, "correlated", leftover))


@overload
def scattered_blocks(data: Dataset, size: int, *, leftover: Leftover = "block") -> list[list[str]]: ...
@overload
def scattered_blocks(data: Array, size: int, *, leftover: Leftover = "block") -> list[list[int]]: ...
def scattered_blocks(
    data: Dataset | Array, size: int, *, leftover: Leftover = "block"
) -> list[list[str]] | list[list[int]]:
    """Blocks whose j-th attributes are similar: names for a data set (its attributes only), column numbers for a table.

    Examples
    --------
    >>> import numpy as np
    >>> scattered_blocks(np.array([[1.0, 1.0, 2.0], [2.0, -1.0, 4.0], [3.0, -1.0, 6.0], [4.0, 1.0, 9.0]]), 2)
    [[0, 1], [2]]
    """
    return _names_or_numbers(data, _blocks(data, size, "scattered", leftover))


def group_attributes(data: Dataset, size: int, how: How, *, leftover: Leftover = "block") -> Dataset:
    """The data set with its attributes in new blocks 'block 1', 'block 2', ...; series stay as they are, before them.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": [1, -1, -1, 1], "c": [2, 4, 6, 9]})
    >>> data = group_attributes(Dataset.from_frame(frame, blocks={"all": ["a", "b", "c"]}), 2, "correlated")
    >>> data
    Dataset: 4 records; attributes 'block 1' (2 columns), 'block 2' (1 columns)
    >>> data.block("block 1")[0]
    array([1., 2.])
    """
    names = _names_or_numbers(data, _blocks(data, size, how, leftover))
    blocks = (*data.series, *(Block(f"block {at}", tuple(block)) for at, block in enumerate(names, 1)))
    columns = [column for block in blocks for column in block.columns]
    place = {column: at for at, column in enumerate(data.columns)}
    origin = data.origin and replace(data.origin, options={**data.origin.options, "block_size": size, "blocks_by": how})
    return replace(
        data,
        origin=origin,
        values=data.values[:, [place[column] for column in columns]],
        blocks=blocks,
        dropped=(*data.dropped, *(column for column in data.columns if column not in set(columns))),
        integers=data.integers & set(columns),
    )


def _attributes(data: Dataset) -> list[str]:
    return [column for block in data.blocks if not block.is_series for column in block.columns]


@overload
def _names_or_numbers(data: Dataset, blocks: list[list[int]]) -> list[list[str]]: ...
@overload
def _names_or_numbers(data: Array, blocks: list[list[int]]) -> list[list[int]]: ...
def _names_or_numbers(data: Dataset | Array, blocks: list[list[int]]) -> list[list[str]] | list[list[int]]:
    if not isinstance(data, Dataset):
        return blocks
    names = _attributes(data)
    return [[names[at] for at in block] for block in blocks]


def _blocks(data: Dataset | Array, size: int, how: How, leftover: Leftover) -> list[list[int]]:
    table = _table(data)
    count = table.shape[1]
    _check(size, how, leftover, count)
    strength = _strength(table)
    if how == "correlated":
        return _families(strength, size, count // size if leftover == "drop" else ceil(count / size))
    if leftover == "drop":
        families = _families(strength, count // size, size)
    else:
        length = ceil(count / size)
        families = _families(strength, length, ceil(count / length))
    return [[family[i] for family in families if i < len(family)] for i in range(len(families[0]))]


def _families(strength: Array, size: int, count: int) -> list[list[int]]:
    """At most `count` lists of `size` similar attributes, the last one with what is left."""
    unused = np.ones(len(strength), dtype=np.bool_)
    families = []
    for _ in range(count):
        family: list[int] = []
        while unused.any() and len(family) < size:
            candidates = np.flatnonzero(unused)
            if family:
                means = strength[candidates][:, family].mean(axis=1).round(DIGITS)
                best = candidates[means.argmax()]  # argmax takes the first of equals
            elif size == 1:
                best = candidates[0]
            else:
                # The lower index of the strongest pair; the other one is then the strongest with it, and so comes next.
                best = candidates[strength[candidates][:, candidates].max(axis=1).argmax()]
            family.append(int(best))
            unused[best] = False
        families.append(family)
    return families


def _strength(table: Array) -> Array:
    """The absolute correlation coefficients, with zeros on the diagonal."""
    z = normalise_one(table, "component")
    strength: Array = np.abs(z.T @ z / max(len(z) - 1, 1)).round(DIGITS)
    np.fill_diagonal(strength, 0.0)
    return strength


def _table(data: Dataset | Array) -> Array:
    if isinstance(data, Dataset):
        names = _attributes(data)
        if not names:
            raise InputError("there are no attributes to group: every block is a time series")
        place = {column: at for at, column in enumerate(data.columns)}
        data = data.values[:, [place[name] for name in names]]
    if data.ndim != 2 or 0 in data.shape:
        raise InputError(f"attributes are grouped in a table of records by attributes. Got the shape {data.shape}.")
    if not np.isfinite(data).all():
        raise InputError(
            "attributes with missing or infinite values have no correlations\n  options: drop these records"
        )
    return data


def _check(size: int, how: How, leftover: Leftover, count: int) -> None:
    wrong = []
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= count:
        wrong.append(
            f"The 'size' parameter of grouping must be an integer from 1 to the number of attributes ({count}). Got {size!r}."
        )
    for name, value, choices in (("how", how, get_args(How)), ("leftover", leftover, get_args(Leftover))):
        if value not in choices:
            words = " or ".join(repr(choice) for choice in choices)
            wrong.append(f"The {name!r} parameter of grouping must be {words}. Got {value!r}.")
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)
