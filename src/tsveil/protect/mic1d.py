"""Mic1D: one-dimension microaggregation, which mixes the values of all attributes before it averages them.

All values of all columns form one vector, column after column; what a value means no longer matters. Then:

    1. sort the vector and cut it into chunks of kappa values (the last one may be shorter);
    2. bring each chunk to 0..1:   u = (x - min) / (max - min),   0.5 where all values of the chunk are equal;
    3. sort the u of all chunks together and cut them into chunks of kappa again, so that values of different size and meaning meet;
    4. replace every u by the mean of its chunk, bring it back by the minimum and maximum of its first chunk, and put it in its place.

Sorting is stable. (The source normalises a second time after the second sort; averaging and undoing it changes nothing.) The loss
does not grow evenly with kappa: it depends on where the borders of the chunks fall. Blocks play no role: all columns are mixed.

Guarantee: none. A published value depends on the two chunks of a value; records get equal values only where their values share both
chunks, and nothing makes k records do so. Real anonymity (`measure.real_anonymity`) and the linkage attacks tell what was achieved.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), section 3.3.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> from tsveil.protect.mic1d import Mic1D
>>> data = tv.Dataset.from_arrays({"x": np.array([[1.0, 100.0], [2.0, 300.0], [3.0, 200.0], [4.0, 400.0]])})
>>> Mic1D(kappa=4).protect(data).data.block("x")
array([[  1.5, 150. ],
       [  1.5, 350. ],
       [  3.5, 150. ],
       [  3.5, 350. ]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import ProjectionsOfBlocks, RunsOfColumns, Shape, Traces
from tsveil.core.errors import ParameterError
from tsveil.core.params import at_least, param
from tsveil.core.technique import Technique
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import Described, Part, Protected, Rates, ValueMethod
from tsveil.protect.microaggregation import TOGETHER
from tsveil.protect.partition import Unit
from tsveil.protect.representative import represent
from tsveil.protect.survey import Survey


@dataclass(frozen=True, kw_only=True)
class Mic1D(ValueMethod):
    """The values of all columns mixed, sorted and averaged in chunks of kappa."""

    name: ClassVar[str] = "mic1d"
    plain: ClassVar[str] = "average values of all columns that stand at similar places"
    summary: ClassVar[str] = (
        "the values of all columns in one vector, averaged in chunks of kappa values of similar place; no guarantee"
    )
    reference: ClassVar[str] = "Nin 2008"
    rates: ClassVar[Rates] = Rates()
    representatives: ClassVar[bool] = True
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)

    kappa: int = param(100, at_least(2), "values per chunk, counted over all columns together")

    @property
    def means(self) -> bool:
        """Groups are published as their means."""
        return True

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Shares of all values: chunks are counted over all columns together, so only a share means the same on every file."""
        return [{"kappa": [max(2, round(data.values.size * share)) for share in (0.01, 0.05, 0.2, 0.5)]}]

    def guarantee(self, data: Described) -> NoGuarantee:
        """None: equal records are a matter of chance."""
        return NoGuarantee(
            "Mic1D averages values of different attributes together; records come out equal only by chance, so a published row may be "
            "that of a single person. How many records share a row, and how many can be linked, has to be measured."
        )

    def traces(self, release: Shape) -> Traces:
        """Larger values never become smaller ones, so equal published values were neighbours; the sum over a block moves less than its values do."""
        return RunsOfColumns(pooled=True), ProjectionsOfBlocks()

    def check(self, survey: Survey) -> None:
        """A chunk cannot hold more values than there are."""
        if self.kappa > survey.n * survey.width:
            raise ParameterError(
                f"The 'kappa' parameter of Mic1D must be at most the number of values ({survey.n * survey.width}). Got {self.kappa}."
            )

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """All columns of all records at once, however many there are: it sorts the values of all of them together."""
        return (Unit(TOGETHER, TOGETHER, tuple(range(survey.width))),)

    def protect_part(self, part: Part) -> Protected:
        """Mix all columns of all blocks."""
        last = part.values.size % self.kappa
        return Protected(
            values=mixed_means(part.values, self.kappa),
            warnings=("the last chunk holds a single value, which is published unchanged; another kappa avoids that",) * (last == 1),
            facts={"chunks": -(-part.values.size // self.kappa), "values in the last chunk": last or self.kappa},
        )  # fmt: skip


def mixed_means(values: Array, kappa: int) -> Array:
    """The table after Mic1D.

    Examples
    --------
    >>> import numpy as np
    >>> mixed_means(np.array([[1.0, 7.0], [3.0, 5.0]]), 2)
    array([[1., 7.],
           [3., 5.]])
    """
    v = values.ravel(order="F")
    chunk = np.arange(len(v)) // kappa
    starts = np.arange(0, len(v), kappa)

    order = np.argsort(v, kind="stable")
    ordered = v[order]
    low = ordered[starts][chunk]
    width = ordered[np.append(starts[1:], len(v)) - 1][chunk] - low
    units = np.full(len(v), 0.5)
    np.divide(ordered - low, width, out=units, where=width > 0)

    again = np.argsort(units, kind="stable")
    groups = np.empty(len(v), dtype=np.int64)
    groups[again] = chunk
    means = represent(units[:, None], groups, "mean").ravel()

    out = np.empty(len(v))
    out[order] = low + means * width
    return out.reshape(values.shape, order="F")
