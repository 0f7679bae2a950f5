"""Pictures of a few groups of records: for the owner with the original curves, for the public with what the published file shows anyway."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from tsveil.assess.protected import ProtectedRecords
from tsveil.attack.candidates import marks
from tsveil.attack.nearest import distinct_rows
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block
from tsveil.report.figures import Figure, curve_chart, drawn_together
from tsveil.report.labels import pictures as of_labels
from tsveil.report.pages import section
from tsveil.report.subject import Subject
from tsveil.transform.pattern import as_symbols, read_back, segments
from tsveil.transform.sax import patterns
from tsveil.transform.scale import columns_in_range

#: original curves that are drawn under a published one, at most
MEMBERS = 24
#: groups are drawn for the first few series only
SERIES = 2


def values(subject: Subject) -> Markup | None:
    """Curves that were published as values."""
    release = subject.release
    if release.envelopes or not release.data.series:
        return None
    drawn = of_values(release, public=subject.public)
    thinned = [(block.name, drawn_together(len(block))) for block, _ in drawn]
    return section(
        "curves",
        public=subject.public,
        curves=drawn,
        thinned=[(name, points) for name, points in thinned if points > 1],
        series_count=len(release.data.series),
    )


def envelopes(subject: Subject) -> Markup | None:
    """Curves that were published as envelopes."""
    release = subject.release
    if not release.envelopes or not release.n:
        return None
    drawn = list(of_envelopes(release, public=subject.public))
    return section("envelopes", public=subject.public, drawn=drawn, patterns=release.words is not None)


def pictures(release: ProtectedRecords, *, public: bool) -> list[Figure]:
    """All pictures of a release, each with a title that says which one it is."""
    if release.envelopes:
        groups = of_envelopes(release, public=public)
        return [replace(one, title=f"{title}: {one.title}") for title, drawn in groups for one in drawn]
    series, labels = of_values(release, public=public), of_labels(release, public=public)
    if len(release.data.series) == 1:
        return [*series[0][1], *labels]
    return [*(replace(one, title=f"{block.name}: {one.title}") for block, drawn in series for one in drawn), *labels]


# -- values -----------------------------------------------------------------------------------------------------------


def of_values(release: ProtectedRecords, *, public: bool) -> list[tuple[Block, list[Figure]]]:
    """For the first few series, pictures of a few groups: records published with the same values."""
    return [(block, list(_groups(release, block, public))) for block in release.data.series[:SERIES]]


def _groups(release: ProtectedRecords, block: Block, public: bool) -> Iterator[Figure]:
    published, _, group, sizes = distinct_rows(release.data.block(block.name)[release.rows])
    if public:
        chosen = by_level(published, sizes)
    else:
        original = release.original.block(block.name)[release.rows]
        chosen = by_spread(_spreads(original, published, group, sizes), sizes)
    for title, number in chosen:
        size = int(sizes[number])
        lines = {"published": published[[number]]}
        count = "1 record" if size == 1 else f"{size:,} records"
        caption = f"published for {count}"
        if not public:
            members = np.flatnonzero(group == number)[:MEMBERS]
            lines = {"original": original[members]} | lines
            caption = count + (f", {MEMBERS} of them drawn" if size > MEMBERS else "")
        yield Figure(title, caption, curve_chart(block, lines))


def _spreads(original: Array, published: Array, group: Indices, sizes: Indices) -> Array:
    """How far the members of each group are from what is published for them, against its size: 0 means they are equal."""
    original, published = columns_in_range(original, published)
    squares = mean_beside_gaps((original - published[group]) ** 2)
    return _relative(np.sqrt(np.bincount(group, squares) / sizes), published)


def mean_beside_gaps(rows: Array) -> Array:
    """The mean of each row over what is no gap.

    Examples
    --------
    >>> mean_beside_gaps(np.array([[1.0, np.nan, 3.0], [2.0, 3.0, 4.0], [np.nan, np.nan, np.nan]]))
    array([2., 3., 0.])
    """
    there = ~np.isnan(rows)
    if there.all():
        return np.asarray(rows.mean(axis=1))
    return np.asarray(np.where(there, rows, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1))


def _relative(away: Array, published: Array) -> Array:
    """Distances against the root mean square of what is published; 0 where that is 0."""
    level = np.sqrt(mean_beside_gaps(published**2))
    return np.asarray(np.divide(away, level, out=np.zeros_like(away), where=level > 0))


# -- which groups are drawn -------------------------------------------------------------------------------------------


def by_spread(spreads: Array, sizes: Indices) -> list[tuple[str, int]]:
    """Up to four groups that show what protection does to its members: a typical one and the extremes.

    Examples
    --------
    >>> by_spread(np.array([0.3, 0.1, 0.2, 0.9, 0.25]), np.array([5, 5, 5, 5, 8]))
    [('Typical group', 4), ('Tightest group', 1), ('Widest group', 3)]
    """
    order = np.argsort(spreads, kind="stable")
    wanted = [("Typical group", order[len(order) // 2]), ("Tightest group", order[0]), ("Widest group", order[-1])]
    return _distinct([*wanted, _largest(sizes, "A wider group", order)])


def by_level(published: Array, sizes: Indices) -> list[tuple[str, int]]:
    """Up to four groups chosen by nothing but what is published for them."""
    order = np.argsort(mean_beside_gaps(published), kind="stable")
    wanted = [("Lowest level", order[0]), ("Middle level", order[len(order) // 2]), ("Highest level", order[-1])]
    return _distinct([*wanted, _largest(sizes, "A higher level", order)])


def _largest(sizes: Indices, otherwise: str, order: Indices) -> tuple[str, Any]:
    """The largest group; when all have the same size none is, and one from the upper half takes its place."""
    if sizes.max() > np.median(sizes):
        return "Largest group", sizes.argmax()
    return otherwise, order[3 * len(order) // 4]


def _distinct(wanted: Sequence[tuple[str, Any]]) -> list[tuple[str, int]]:
    """Each group once, under the first of its titles."""
    titles: dict[int, str] = {}
    for title, number in wanted:
        titles.setdefault(int(number), title)
    return [(title, number) for number, title in titles.items()]


# -- envelopes --------------------------------------------------------------------------------------------------------


def of_envelopes(release: ProtectedRecords, *, public: bool) -> Iterator[tuple[str, list[Figure]]]:
    """A few groups: the envelope, for the owner with the curves inside it, and the most frequent pattern."""
    if not release.n:
        return
    # Records of one envelope; of a release that was opened again nobody knows the groups.
    _, first, groups = np.unique(
        marks(release.made[release.rows][:, : 2 * len(release.block)])[:, 0], return_index=True, return_inverse=True
    )
    sizes = np.bincount(groups)
    lo, hi = release.lo[first], release.hi[first]
    middle, widths = (lo + hi) / 2, np.sqrt(((hi - lo) ** 2).mean(axis=1))
    chosen = by_level(middle, sizes) if public else by_spread(_relative(widths, middle), sizes)
    x = release.original.block(release.block.name)[release.rows]
    for title, group in chosen:
        members = np.flatnonzero(groups == group)
        envelope = {"published": np.vstack([lo[group], hi[group]])}
        inside = {} if public else {"original": x[members[:MEMBERS]]}
        chart = curve_chart(release.block, inside | envelope)
        drawn = [Figure("Envelope", f"published for {len(members)} records", chart)]
        if release.words is not None and release.levels is not None:
            drawn.append(_pattern(release, members, x, public))
        yield title, drawn


def _pattern(release: ProtectedRecords, members: Indices, x: Array, public: bool) -> Figure:
    assert release.words is not None
    assert release.levels is not None
    pairs = [(release.words[row], int(release.levels[row])) for row in members]
    word, level = max(dict.fromkeys(pairs), key=pairs.count)
    rows = np.array([row for row, pair in zip(members, pairs, strict=True) if pair == (word, level)])
    T = x.shape[1]
    means = read_back(as_symbols([word]), np.array([level]))
    lines = {"published": means[:, np.arange(T) * segments(word) // T]}
    if not public:
        lines = {"original": patterns(x[rows[:MEMBERS]], T)} | lines
    caption = f"level {level}, published for {len(rows)} of them; scaled to mean 0 and deviation 1"
    return Figure(f"Pattern {word}", caption, curve_chart(release.block, lines))
