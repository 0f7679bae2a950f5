"""How large the classes of a table of envelopes are: the discernibility of its records, and the size of a class against the k that was wanted.

A class is the set of published records that share an envelope. With class sizes c_1, ..., c_m, N records in the original and S of them suppressed,

    discernibility          c_1^2 + ... + c_m^2 + S N                  each record costs as many records as it cannot be told from [1]_
    class size              (c_1 + ... + c_m) / m                      on average
    normalised class size   class size / k                             1 is the best there can be [2]_

k is that of the promise; where it is not known, the smallest class takes its place.

References
----------
.. [1] R. J. Bayardo, R. Agrawal, Data privacy through optimal k-anonymization, ICDE (2005) 217-228.
.. [2] K. LeFevre, D. J. DeWitt, R. Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE (2006) 25.

Examples
--------
>>> figures_of(np.array([2, 3]), records=6, k=2)
{'discernibility': 19.0, 'class_size': 2.5, 'class_size_normalised': 1.25}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from tsveil.core.params import at_least, optional, param
from tsveil.core.types import Indices
from tsveil.engine.base import Result
from tsveil.measure.base import Chunk, Kind, Meaning, Measure, Schema


@dataclass(frozen=True, kw_only=True)
class ClassSizes(Measure):
    """Discernibility and class size of envelopes; see the top of this file."""

    name: ClassVar[str] = "class-sizes"
    plain: ClassVar[str] = "the sizes of classes"
    label: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "how many records share an envelope, and what that costs"
    reference: ClassVar[str] = "R. J. Bayardo, R. Agrawal, Data privacy through optimal k-anonymization, ICDE (2005)"
    kinds: ClassVar[tuple[Kind, ...]] = ("envelopes",)
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "class_size": Meaning("class size", "", "Records that share an envelope, on average."),
        "class_size_normalised": Meaning(
            "normalised class size", "", "The same against the k that was wanted, or the smallest class: 1 is the best there can be."
        ),
        "discernibility": Meaning(
            "discernibility", "", "Sum over all records of those that they cannot be told from; a suppressed one counts with all records."
        ),
    }  # fmt: skip

    k: int | None = param(
        None, optional(at_least(1)), "the k that was wanted; the size of the smallest class when left out"
    )

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """A fingerprint of 128 bits for each envelope, and how many records have it."""
        bounds = np.ascontiguousarray(np.hstack([chunk.piece.lo, chunk.piece.hi]) + 0.0)
        sizes: dict[str, int] = {}
        for row in bounds:
            key = blake2b(row.tobytes(), digest_size=16).hexdigest()
            sizes[key] = sizes.get(key, 0) + 1
        return {"envelopes": list(sizes), "sizes": list(sizes.values())}

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """From the sizes of all classes; an envelope may occur in several pieces."""
        _, which = np.unique(np.array(sums["envelopes"], dtype="U32"), return_inverse=True)
        sizes = np.bincount(which.ravel(), weights=np.array(sums["sizes"], dtype=np.float64)).astype(np.int64)
        return figures_of(sizes, schema.n, self.k)


def figures_of(sizes: Sequence[int] | Indices, records: int, k: int | None = None) -> dict[str, float]:
    """The figures of classes of these sizes, made from this number of original records."""
    found = np.asarray(sizes, dtype=np.int64)
    published = int(found.sum())
    mean = published / len(found) if len(found) else 0.0
    least = k or (int(found.min()) if len(found) else 1)
    squares = sum(int(size) ** 2 for size in found)
    return {
        "discernibility": float(squares + (records - published) * records),
        "class_size": mean,
        "class_size_normalised": mean / least,
    }
