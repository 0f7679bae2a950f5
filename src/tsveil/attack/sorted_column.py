"""A column in its order: what is looked up in a sorted column is found much faster in order, and is put back into its place."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tsveil.core.types import AnyArray, Indices


class SortedColumn:
    """A column, its order, and its values in order.

    Examples
    --------
    >>> column = SortedColumn(np.array([5.0, 2.0, 9.0]))
    >>> column.ordered, column.back(np.arange(3))
    (array([2., 5., 9.]), array([1, 0, 2]))
    """

    def __init__(self, values: AnyArray) -> None:
        self.values = values

    @cached_property
    def order(self) -> Indices:
        """The places of the values in order; equal ones stay in theirs."""
        return np.argsort(self.values, kind="stable")

    @cached_property
    def ordered(self) -> AnyArray:
        """The values in order; finding them alone takes a tenth of the time that their places take."""
        return np.sort(self.values)

    def back(self, found: AnyArray) -> AnyArray:
        """What was found for the values in order, in their places."""
        out = np.empty_like(found)
        out[self.order] = found
        return out
