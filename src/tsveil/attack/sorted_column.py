"""A column in its order: what is looked up in a sorted column is found much faster in order, and is put back into its place."""

from __future__ import annotations

import numpy as np

from tsveil.core.types import AnyArray


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
        self.order = np.argsort(values, kind="stable")
        self.ordered = values[self.order]

    def back(self, found: AnyArray) -> AnyArray:
        """What was found for the values in order, in their places."""
        out = np.empty_like(found)
        out[self.order] = found
        return out
