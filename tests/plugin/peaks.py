"""Moved peaks: how many records have their largest value at another place than before.

    peaks_moved = 100 * share of the records whose largest value moved by more than `tolerance` columns

Planners of grids and roads look at when the peak is, and hardly at anything else.

References
----------
None: it was made up as an example.

Examples
--------
>>> from tsveil.measure.passes import of_arrays
>>> of_arrays(Peaks(), [[1.0, 5.0, 2.0], [4.0, 1.0, 1.0]], [[1.0, 2.0, 5.0], [4.0, 1.0, 1.0]])[0].figures
{'peaks_moved': 50.0}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.core.params import at_least, param
from tsveil.engine.base import Result
from tsveil.measure.base import RECORDS, Chunk, Kind, Meaning, Measure, Schema


@dataclass(frozen=True, kw_only=True)
class Peaks(Measure):
    """The share of records whose largest value moved."""

    name: ClassVar[str] = "peaks"
    summary: ClassVar[str] = "the share of records whose largest value moved to another column"
    reference: ClassVar[str] = "none, an example"
    kinds: ClassVar[tuple[Kind, ...]] = ("series", "attributes", "envelopes")
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "peaks_moved": Meaning(
            "moved peaks", "%", "Share of records whose largest value is published at another place."
        ),
    }

    tolerance: int = param(0, at_least(0), "the number of columns by which a peak may move")

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """The number of records, and of those whose peak moved."""
        moved = np.abs(chunk.original.argmax(axis=1) - chunk.published.argmax(axis=1)) > self.tolerance
        return {"count": len(moved), "moved": int(moved.sum()), RECORDS: {"peak_moved": moved}}

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """The share."""
        return {"peaks_moved": 100 * sums["moved"] / max(sums["count"], 1)}
