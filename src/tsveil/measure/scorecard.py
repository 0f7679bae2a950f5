"""The score card: the figures of a release, in percent, with what they mean and the risk of each record.

    DR    = (DR1 + ID) / 2           disclosure risk: re-identification and interval disclosure
    score = (IL + DR) / 2            lower is better

`measure.series` and `measure.microdata` say what loss and re-identification are, `measure.evaluate` puts the card together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import numpy as np
import polars as pl

from tsveil._types import Array, Indices
from tsveil.attack.interval import PERCENTS
from tsveil.attack.pieces import Columns, Pieces
from tsveil.attack.run import Attacked, chances_of
from tsveil.attack.targets import in_words
from tsveil.data.store import Store
from tsveil.errors import ParameterError


def all_figures(
    losses: Mapping[str, float], risks: Mapping[str, float], linked: float, disclosed: float
) -> dict[str, float]:
    """Losses, risks of single attacks, and what follows from them: `linked` is the re-identification that counts, `disclosed` the interval
    disclosure.

    Examples
    --------
    >>> all_figures({"IL": 20.0}, {"EULD": 30.0}, 30.0, 50.0)
    {'IL': 20.0, 'EULD': 30.0, 'DR1': 30.0, 'ID': 50.0, 'DR': 40.0, 'score': 30.0}
    """
    risk = (linked + disclosed) / 2
    return {**losses, **risks, "DR1": linked, "ID": disclosed, "DR": risk, "score": (losses["IL"] + risk) / 2}


def check_choices(**given: tuple[object, Any]) -> None:
    """Refuse an option of `tsveil.evaluate` that is none of its choices."""
    for name, (value, kind) in given.items():
        if value not in get_args(kind):
            words = ", ".join(map(repr, get_args(kind)))
            raise ParameterError(f"The {name!r} parameter of evaluate must be one of {words}. Got {value!r}.")


class Shape(NamedTuple):
    """A release as the choice of attacks sees it: the number of its records, and its blocks."""

    n: int
    blocks: Sequence[Columns]


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
    #: a row per record: id, the risk (the better linkage) and the chance of each linkage if all records were attacked, share of values
    #: disclosed, loss (NaN: not released)
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


# -- of files in pieces -----------------------------------------------------------------------------------------------


def keep_of_records(
    store: Store, files: Pieces, at: int, both: Indices, lost: Array, disclosed: Array | None = None
) -> None:
    """Keep the loss of each record of a piece, and the share of its values that are disclosed; NaN for those that were not released."""
    for name, values in (("loss", lost), ("disclosed", disclosed)):
        if values is not None:
            kept = np.full(files.original[at], np.nan)
            kept[both] = values
            store.put(f"record-{name}-{at}", kept)


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of two files in pieces."""

    figures: Mapping[str, float]
    per_series: Mapping[str, Mapping[str, float]]
    options: Mapping[str, str]
    meanings: Mapping[str, tuple[str, str]]
    attacked: Attacked
    #: what was not measured
    left_out: Sequence[str] = ()

    def card(self, store: Store, files: Pieces, per_record: pl.DataFrame | None = None) -> Scorecard:
        """The score card."""
        options = {**self.options, "targets": self._targets(store, files)}
        if self.attacked.skipped:
            options["skipped"] = "; ".join(self.attacked.skipped)
        if missing := [*self.left_out, *self.attacked.not_measured]:
            options["not measured"] = ", ".join(missing)
        frame = pl.DataFrame() if per_record is None else per_record
        return Scorecard(self.figures, self.per_series, frame, options, self.meanings, self.attacked.by_known)

    def _targets(self, store: Store, files: Pieces) -> str:
        words = in_words(files.n, self.attacked.targets)
        if files.aligned:
            return words
        both = int((store.get("own") >= 0).sum())
        known = f"{files.n} known, {files.m} released, {both} in both"
        return known if words == "all records" else f"{known}; {words}"

    @property
    def of_all(self) -> bool:
        """Whether all records were targets, so that there is a risk for each of them."""
        return bool(self.attacked.places)

    def risks(self, store: Store, files: Pieces, at: int) -> pl.DataFrame:
        """What was found of each record of a piece; see `record_risks`."""
        return record_risks(store, files, at, self.attacked.places, list(self.attacked.disclosed))


def record_risks(
    store: Store, files: Pieces, at: int, places: Mapping[str, tuple[str, int]], intervals: Sequence[int]
) -> pl.DataFrame:
    """What was found of each original record of a piece, in its order: share of values disclosed and loss (NaN: not released), and before
    them, if all records were targets, the risk and the chance of each linkage.

    `places` says where the chances are kept, `intervals` are the columns that were looked at for interval disclosure of attributes.
    """
    start, stop = files.range("original", at)
    chances = chances_of(store, places, start, stop)
    if intervals:
        widths = [store.get(f"disclosed-{column}")[start:stop] for column in intervals]
        disclosed = 100.0 * np.sum(widths, axis=0, dtype=np.int64) / (len(widths) * len(PERCENTS))
    else:
        disclosed = store.get(f"record-disclosed-{at}", whole=True)
    return pl.DataFrame(
        {
            **({"risk": np.max(list(chances.values()), axis=0)} if chances else {}),
            **{f"linked_by_{figure}": chance for figure, chance in chances.items()},
            "values_disclosed": disclosed,
            "loss": store.get(f"record-loss-{at}", whole=True),
        }
    )
