"""Linkage by equal values: each target is linked to the released records that differ from it in the fewest known attributes.

    d(a, b) = number of attributes j with |a_j - b_j| > near

It needs no scales and no model, and finds whoever has a rare value that protection left as it was.

References
----------
.. [1] R. W. Hamming, Error detecting and error correcting codes, Bell System Technical Journal 29 (1950).

Examples
--------
>>> import tsveil as tv
>>> data = tv.Dataset.from_arrays({"a": [[1.0, 2.0], [1.0, 3.0], [4.0, 3.0]]})
>>> EqualValues().links(data, data)
Links: linkage by equal values, 2 attributes known: 3.0 of 3 records re-identified (100.0 %)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.attack.base import Attack
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Targets
from tsveil.core.params import number, param
from tsveil.engine.base import Task


@dataclass(frozen=True, kw_only=True)
class EqualValues(Attack):
    """Linkage to the records that differ in the fewest attributes."""

    name: ClassVar[str] = "equal_values"
    figure: ClassVar[str] = "EQLD"
    plain: ClassVar[str] = "linkage by equal values"
    summary: ClassVar[str] = "Share linked right by taking the published record with the most equal values."
    reference: ClassVar[str] = "Hamming 1950"

    near: float = param(0.0, number(0, 1e300), "how far two values may be apart and still count as equal")

    def link(self, targets: Targets, task: Task) -> Found:
        """Compare all targets of the task with the distinct released rows, some of them at a time."""
        columns, rounds = task["columns"], np.array(task["counts"]) - 1
        known = targets.values(columns)

        def search(some: Rows) -> Near:
            differ = np.abs(known[:, None, :] - some.values[None, :, columns]) > self.near
            distance = differ.cumsum(axis=2)[:, :, rounds].astype(np.float64)
            best = distance.min(axis=1)
            tied = distance == best[:, None, :]
            owner, records, mine = some.whose
            right = np.where(owner == mine[:, None], records, 0)
            return Near(
                best,
                (tied * some.copies[:, None]).sum(axis=1),
                np.where(tied, some.first[:, None], np.iinfo(np.int64).max).min(axis=1),
                (tied * right[:, :, None]).sum(axis=1),
            )

        return nearest_in_pieces(targets, len(rounds), search)
