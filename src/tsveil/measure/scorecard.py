"""The score card: the figures of a release with what they mean, and what was found of each record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from tsveil.attack.base import Finding
from tsveil.attack.links import Links
from tsveil.core.notebook import table_in_html
from tsveil.measure.base import Meaning


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Mapping[str, float]):
    """The figures of a release of values or envelopes by name, and the risk of each record.

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
    #: a row per record: id, the chance of each linkage if the record was attacked, what was lost (NaN: not released). Of values also the
    #: risk (that of the best linkage) and the share of values disclosed, of envelopes whether the record is suppressed
    per_record: pl.DataFrame
    #: how it was measured: option -> value
    options: Mapping[str, str]
    #: figure -> its title, its unit and one plain sentence, in the order in which to show them
    meanings: Mapping[str, Meaning]
    #: linkage -> its rate with 1, 2, ... all series or attributes known, of which the figure is the mean
    by_known: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    #: the figures that are rates of linkages
    linkages: tuple[str, ...] = ()
    #: whether its figures go by short names, such as IL1, which tables show beside the titles
    short_names: bool = True
    #: the figures that sum up the release
    main: tuple[str, ...] = ("IL", "DR", "score")
    #: the figure that counts as the loss when releases are compared
    loss: str = ""
    #: the number of persons that rates of linkages are means over; 0: each record is a person of its own
    persons: int = 0
    #: what each attack found at each rung of the ladder
    ladder: tuple[Finding, ...] = ()
    #: of envelopes: attack -> what it concludes for each target, in the order of the original
    links: Mapping[str, Links] = field(default_factory=dict)
    #: of envelopes: carried column -> (classes with one value only, the records in them)
    homogeneous: Mapping[str, tuple[int, int]] = field(default_factory=dict)

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
        name = max(self.linkages, key=self.figures.__getitem__)
        return name, self.figures[name]

    def to_dict(self) -> dict[str, float]:
        """The figures as a plain dictionary."""
        return dict(self.figures)

    def rows(self) -> list[tuple[str, float, Meaning]]:
        """The figures to be shown with what they mean, in their order."""
        return [(name, self.figures[name], words) for name, words in self.meanings.items() if name in self.figures]

    def __str__(self) -> str:
        if self.short_names:
            lines = [f"{name:<6} {value:7.2f} {unit}  {title}" for name, value, (title, unit, _) in self.rows()]
        else:
            lines = [f"{title:<26} {value:12.2f} {unit}".rstrip() for _, value, (title, unit, _) in self.rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """All figures with what they mean, for notebooks; nothing of single records."""
        rows = [
            (
                words.title if not self.short_names else f"{words.title} ({name})",
                f"{value:.2f} {words[1]}".strip(),
                words[2],
            )
            for name, value, words in self.rows()
        ]
        return table_in_html(repr(self), ("figure", "value", "meaning"), rows)

    def __repr__(self) -> str:
        names = (name if self.short_names else self.meanings[name].title for name in self.main)
        words = (f"{name} {self[figure]:.2f}" for name, figure in zip(names, self.main, strict=True))
        return f"Scorecard: {', '.join(words)}"
