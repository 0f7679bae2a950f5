"""Columns and series of labels: how often each label is published, which state follows which, and what the figures of their loss mean in words.

For the owner the original stands beside what is published; the public version shows what the published file shows anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from tsveil.assess.protected import ProtectedRecords
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block
from tsveil.report.figures import Figure, heat_map, label_bars
from tsveil.report.pages import percent, section
from tsveil.report.subject import Subject

#: columns and series that are drawn, the labels of a column that have bars of their own, and states of a table of transitions
COLUMNS, SERIES, BARS, STATES = 8, 2, 16, 8


def labels(subject: Subject) -> Markup | None:
    """Pictures of labels, and the loss of series of labels in words."""
    release = subject.release
    if release.envelopes or not release.data.labels:
        return None
    return section(
        "labels",
        public=subject.public,
        figures=pictures(release, public=subject.public),
        columns=max(len(release.data.labels) - _drawn(release), 0),
        words=in_words(subject.card),
    )


def pictures(release: ProtectedRecords, *, public: bool) -> list[Figure]:
    """Bars for each column, and tables of transitions for each series."""
    blocks = [block for block in release.data.blocks if block.categories is not None]
    columns = [(block, at) for block in blocks if block.times is None for at in range(len(block))]
    found = [_bars(release, block, at, public=public) for block, at in columns[:COLUMNS]]
    for block in [block for block in blocks if block.times is not None][:SERIES]:
        found.append(_bars(release, block, None, public=public))
        found += _transitions(release, block, public=public) if len(block) > 1 else []
    return found


def _drawn(release: ProtectedRecords) -> int:
    """The number of columns that have a picture, alone or as part of a series."""
    blocks = [block for block in release.data.blocks if block.categories is not None]
    series = [len(block) for block in blocks if block.times is not None]
    return min(sum(len(block) for block in blocks if block.times is None), COLUMNS) + sum(series[:SERIES])


def _codes(release: ProtectedRecords, block: Block) -> tuple[Indices, Indices]:
    """The codes of the published records before and after."""
    data = release.original.block(block.name), release.data.block(block.name)
    before, after = (np.asarray(each[release.rows], dtype=np.int64) for each in data)
    return before, after


def _bars(release: ProtectedRecords, block: Block, at: int | None, *, public: bool) -> Figure:
    """How often each label occurs in a column, or over all times of a series."""
    assert block.categories is not None
    categories = block.categories[at or 0]
    names = [*categories.shown, *(["(empty)"] if categories.empty else [])]
    tables = [(each if at is None else each[:, at]).ravel() for each in _codes(release, block)]
    counts = [np.bincount(each, minlength=len(names)) for each in tables]
    often = counts[1] if public else counts[0] + counts[1]
    chosen = np.argsort(-often, kind="stable")[:BARS]
    chosen = np.sort(chosen[often[chosen] > 0])
    rows = []
    for file, own in (("published", counts[1]),) if public else (("original", counts[0]), ("published", counts[1])):
        share = 100 * own / own.sum()
        rows += [(names[code], file, float(share[code])) for code in chosen]
        if len(chosen) < (often > 0).sum():
            rows.append(("all others", file, float(100 - share[chosen].sum())))
    what = "of the records" if at is not None else "of the time, over all records"
    both = "how often each label is published" if public else "how often each label occurs, before and after"
    title = block.name if at is None else block.columns[at]
    return label_bars(rows, title=title, caption=f"{both}, in percent {what}.")


def _transitions(release: ProtectedRecords, block: Block, *, public: bool) -> list[Figure]:
    """Which state follows which, one step later."""
    assert block.categories is not None
    categories = block.categories[0]
    tables = _codes(release, block)
    before, after = (np.bincount(each.ravel(), minlength=len(categories.shown)) for each in tables)
    often = after if public else before + after
    chosen = np.argsort(-often, kind="stable")[:STATES]
    chosen = np.sort(chosen[often[chosen] > 0])
    names = [categories.shown[code] for code in chosen]
    left = f"; the {STATES} most frequent states" if len(chosen) < (often > 0).sum() else ""
    caption = f"of 100 steps from the state on the left, how many lead to the state below{left}."
    files = list(zip(("original", "published"), tables, strict=True))[public:]
    return [
        heat_map(transitions(own, chosen), names, title=f"{block.name}: what follows, {file}", caption=caption)
        for file, own in files
    ]


def transitions(states: Indices, chosen: Indices) -> Array:
    """Of the steps from each of some states, ascending, the share that leads to each of them, in percent.

    Examples
    --------
    >>> transitions(np.array([[0, 0, 2], [0, 1, 1]]), np.array([0, 1])).round(1).tolist()
    [[33.3, 33.3], [0.0, 100.0]]
    """
    one, other = (np.searchsorted(chosen, each.ravel()) for each in (states[:, :-1], states[:, 1:]))
    known = [np.isin(each.ravel(), chosen) for each in (states[:, :-1], states[:, 1:])]
    left = np.bincount(one[known[0]], minlength=len(chosen))
    found: Array = np.zeros((len(chosen), len(chosen)))
    both = known[0] & known[1]
    np.add.at(found, (one[both], other[both]), 1)
    return np.asarray(100 * found / np.maximum(left, 1)[:, None])


def in_words(card: Any) -> list[tuple[str, str]]:
    """What the figures of series of labels mean, each with its name."""
    if "SL2" not in card:
        return []
    shown = {name: percent(card[name]) for name in ("SL1", "SL2", "SL3", "SH", "SH2")}
    return [
        (
            "When each state holds",
            f"At each point in time the published file says how many records are in each state. On average {shown['SL1']} of the records would have to change "
            "their state for that to be right.",
        ),
        (
            "What follows a state",
            f"The published file also says which state follows which. Of 100 steps from one point to the next, {card['SL2']:.1f} would have to lead to "
            "another state for these chances to be as in the original. Who studies how states follow each other, such as how often a device fails while it runs, should look at this figure.",
        ),
        (
            "How long a state lasts",
            f"Lengths of stay moved by {shown['SL3']}: at 0 % states last as long as they did, at 100 % they are not published at all. Where a group of records is "
            "published with its most frequent state, short stays disappear first.",
        ),
        (
            "What can be forecast",
            f"The simplest forecast of the next state is the one that followed most often in the past. A rule learnt from the first four fifths of the original series is right in {shown['SH']} of the "
            f"last fifth, and a rule learnt from the published series in {shown['SH2']}, both on the true series. If the two are near each other, the published file is as good for such forecasts "
            "as the original. A rule that is right often may still foresee no change at all, because most states last.",
        ),
    ]
