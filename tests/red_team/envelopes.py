"""Attacks on envelopes: who fits, whose values are bounds, whose pattern is published."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from red_team.common import Knowledge, Published, matched
from tsveil.core.types import Array

#: log of the chance of what cannot be: outside of an envelope, or another pattern
OUT = -1e4
#: how much of the fineness of a word is news: its letters depend on one another
FINER = 0.5


def segment_means(x: Array, letters: int) -> Array:
    """Means of the segments of z-normalised series, points that a border runs through counted by their shares."""
    points = x.shape[1]
    wide = x.std(axis=1, keepdims=True)
    z = np.divide(x - x.mean(axis=1, keepdims=True), wide, out=np.zeros_like(x), where=wide > 1e-12)
    found = np.zeros((len(x), letters))
    for letter in range(letters):
        low, high = letter * points / letters, (letter + 1) * points / letters
        for point in range(points):
            part = max(0.0, min(high, point + 1) - max(low, point))
            found[:, letter] += z[:, point] * part / (high - low)
    return found


def fits_pattern(means: Array, word: str, level: int) -> Array:
    """Whether each series has this word at this level; a mean on a border may be on either side of it."""
    borders = np.array([-np.inf, *(NormalDist().inv_cdf(at / level) for at in range(1, level)), np.inf])
    at = np.array([ord(letter) - ord("a") for letter in word])
    fits: Array = ((means >= borders[at] - 1e-6) & (means <= borders[at + 1] + 1e-6)).all(axis=1)
    return fits


def resolution(x: Array) -> float:
    """The step between values as they are written: what decides how rare equal values are."""
    for digits in range(7):
        if np.allclose(x, x.round(digits), rtol=0, atol=1e-9):
            return float(10.0**-digits)
    return 1e-7


def likeliest_envelope(published: Published, known: Knowledge) -> Array:
    """The chance of the person's series in each group: inside the envelope, with the group's pattern, evenly spread, and on a bound with one chance in the group's size.

    Every bound is some member's value, so a touched bound is worth the narrowness of the envelope over the step of the values; bounds that the person misses count against
    small groups.
    """
    x = known.values
    step = resolution(np.vstack([published.lo, published.hi]))
    rounded = published.settings.get("round_to") is not None
    table = np.hstack([published.lo, published.hi])
    first, place, sizes = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)[1:]
    place = place.ravel()
    logs = np.empty((len(x), len(first)))
    for at, row in enumerate(first.tolist()):
        lo, hi, m = published.lo[row], published.hi[row], int(sizes[at])
        cells = np.maximum((hi - lo) / step + 1, 1.0)
        inside = (x >= lo - 1e-9) & (x <= hi + 1e-9)
        within = np.full(x.shape, -np.inf)
        if rounded:
            within = np.broadcast_to(-np.log(cells), x.shape)
        else:
            touch = (np.abs(x - lo) < 1e-9) | (np.abs(x - hi) < 1e-9)
            bound = np.where(lo == hi, 1.0, np.maximum(1 / m, 1 / cells))
            between = np.maximum(1 - 2 / m, 0.02) / np.maximum(cells - 2, 1)
            within = np.where(touch, np.log(bound), np.log(between))
        logs[:, at] = np.where(inside.all(axis=1), within.sum(axis=1), OUT)
    logs = logs[:, place]
    if published.words is not None and published.levels is not None:
        means = segment_means(x, len(published.words[0]))
        pairs = {(word, int(level)) for word, level in zip(published.words, published.levels, strict=True)}
        fits = {pair: fits_pattern(means, *pair) for pair in pairs}
        for row, (word, level) in enumerate(zip(published.words, published.levels.tolist(), strict=True)):
            # A word of more letters leaves less room: who has it is nearer to it than to the coarser ones that also fit.
            logs[:, row] += np.where(fits[word, level], FINER * len(word) * np.log(level), OUT)
    return logs


def narrowest_envelope(published: Published, known: Knowledge) -> Array:
    """Of the envelopes that the person fits into, with the pattern if there is one, the narrowest: the evenly spread chance without a word on bounds.

    It does not count on values that are written with few digits, where a touched bound may be an accident.
    """
    blind = Published(published.method, {**published.settings, "round_to": 1.0}, published.values, published.blocks, published.lo, published.hi, published.words, published.levels)  # fmt: skip
    return likeliest_envelope(blind, known)


def most_touched_envelope(published: Published, known: Knowledge) -> Array:
    """Of the envelopes that the person fits into the one with the most touched bounds, then the likeliest.

    A touch by accident is rare where values have many digits.
    """
    logs = likeliest_envelope(published, known)
    touches = np.zeros_like(logs)
    for point, column in enumerate(known.values.T):
        touches += np.abs(column[:, None] - published.lo[:, point]) < 1e-9
        touches += np.abs(column[:, None] - published.hi[:, point]) < 1e-9
    return np.where(logs > OUT / 2, touches * 1e3 + logs / 1e3, 10 * OUT + logs)


def matched_envelopes(published: Published, known: Knowledge) -> Array:
    """All known persons at once, with the chances of `likeliest_envelope`: a group takes as many as it has rows.

    Who fits into one group only takes a place there from those who fit into two.
    """
    return matched(np.maximum(likeliest_envelope(published, known), 2 * OUT))


def matched_touches(published: Published, known: Knowledge) -> Array:
    """All known persons at once; a bound that only one known person's value explains is that person's.

    The weight of a touch is shared by the persons who fit into the envelope and have that very value at that time; the others are judged as in `likeliest_envelope`.
    """
    logs = likeliest_envelope(published, known)
    fit = logs > OUT / 2
    extra = np.zeros_like(logs)
    for point, column in enumerate(known.values.T):
        for bounds in (published.lo[:, point], published.hi[:, point]):
            touch = fit & (np.abs(column[:, None] - bounds) < 1e-9)
            extra += touch * np.log(1 + 3 / np.maximum(touch.sum(axis=0), 1))
    return matched(np.maximum(logs + extra, 2 * OUT))
