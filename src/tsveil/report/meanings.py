"""Titles, units and sentences of all figures, for pages that show those of several kinds of releases together."""

from __future__ import annotations

from functools import cache

from tsveil.measure.base import KINDS, Kind, Meaning
from tsveil.measure.evaluate import meanings_of


@cache
def figure_order() -> tuple[str, ...]:
    """All figures, in the order in which to show them."""
    return tuple(dict.fromkeys(figure for kind in KINDS for figure in meanings_of(kind)))


def meaning(figure: str, kind: Kind) -> Meaning:
    """Title, unit and sentence of a figure; releases of series may be envelopes."""
    return (meanings_of(kind) | meanings_of("envelopes")).get(figure, Meaning(figure, "%", ""))


def place(figure: str) -> tuple[int, str]:
    """Where a figure stands among others; unknown ones come last, by name."""
    order = figure_order()
    return (order.index(figure) if figure in order else len(order), figure)
