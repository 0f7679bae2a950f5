"""The score card: the figures of a release, in percent, with what they mean and the risk of each record.

`measure.series` and `measure.microdata` fill one, `measure.evaluate` chooses between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tsveil._types import Array, Mask


def in_both(values: Array, both: Mask) -> Array:
    """Figures of the people who are in both files, in the place of all whom the intruder knows; NaN for the others.

    Examples
    --------
    >>> in_both(np.array([3.0, 4.0]), np.array([True, False, True]))
    array([ 3., nan,  4.])
    """
    out = np.full(len(both), np.nan)
    out[both] = values
    return out


def people(both: Mask, released: int) -> dict[str, str]:
    """What a card says of files that do not hold the same people; nothing of files that do.

    Examples
    --------
    >>> people(np.array([True, False, True]), 5)
    {'people': '3 known, 5 released, 2 in both'}
    """
    found = int(both.sum())
    if found == len(both) == released:
        return {}
    return {"people": f"{len(both)} known, {released} released, {found} in both"}


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Mapping[str, float]):
    """The figures of a release by name, in percent, and the risk of each record.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> card = tv.evaluate(data, data)
    >>> card["IL"], card["EULD"], card["ID"]
    (0.0, 100.0, 100.0)
    """

    figures: Mapping[str, float]
    #: series -> its own figures
    per_series: Mapping[str, Mapping[str, float]]
    #: a row per record: id, chance of each linkage, share of values disclosed, loss (NaN: not released), and the risk (the better linkage)
    per_record: pl.DataFrame
    #: how it was measured: option -> value
    options: Mapping[str, str]
    #: figure -> its title and one plain sentence, in the order in which to show them
    meanings: Mapping[str, tuple[str, str]]
    #: linkage -> its rate with 1, 2, ... all series known, of which the figure is the mean
    by_known: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        if name not in self.figures:
            raise KeyError(f"no figure {name!r}; there are {', '.join(self.figures)}")
        return self.figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    @property
    def best_attack(self) -> tuple[str, float]:
        """The linkage that re-identifies most records: its figure and its rate in percent."""
        name = max(self.by_known, key=self.figures.__getitem__)
        return name, self.figures[name]

    def to_dict(self) -> dict[str, float]:
        """The figures as a plain dictionary."""
        return dict(self.figures)

    def __str__(self) -> str:
        lines = [
            f"{name:<6} {self.figures[name]:7.2f} %  {title}"
            for name, (title, _) in self.meanings.items()
            if name in self.figures
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Scorecard: IL {self['IL']:.2f}, DR {self['DR']:.2f}, score {self['score']:.2f}"
