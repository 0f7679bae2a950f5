"""Attacks by who knows a person at other times: habits stay, and how much they vary can be learned."""

from __future__ import annotations

import numpy as np

from red_team.common import Published
from red_team.noise import squared
from tsveil.core.types import Array

#: hours of a day, days of a week
DAY, WEEK = 24, 7
#: directions in which persons differ most that are compared, and how far what few pairs say is drawn to the mean of all directions
DIRECTIONS, SHRUNK = 20, 0.8


def levelled(x: Array) -> Array:
    """Logarithms, with room for zeros and for what noise made negative: differences then are shares."""
    step = max(float(np.median(np.abs(x))), 1e-9) / 5
    found: Array = np.sign(x) * np.log1p(np.abs(x) / step)
    return found


def shown(published: Published) -> Array:
    """The published series; of envelopes the middle."""
    return (published.lo + published.hi) / 2 if len(published.lo) else published.values


def same_days(published: Published, other: Array) -> Array:
    """The mean working day and weekend day, compared in the covariance of a published person's days around their mean, over how rare the row is.

    The published file itself says how much a day differs from the next: hours that vary little in one household weigh more, and nobody needs to be known for that.
    """
    rows, mine = (levelled(x).reshape(len(x), -1, DAY) for x in (shown(published), other))
    rest = np.arange(rows.shape[1]) % WEEK >= 5
    total = np.zeros((len(mine), len(rows)))
    for which in (~rest, rest):
        days = rows[:, which]
        around = (days - days.mean(axis=1, keepdims=True)).reshape(-1, DAY)
        inside = around.T @ around / (len(days) * (days.shape[1] - 1))
        there = days.mean(axis=1)
        spread = np.cov(there.T)
        # Means of several days vary less than days, but not as little as if days were independent.
        noise = 2 * inside / np.sqrt(days.shape[1]) + 0.05 * spread + 1e-9 * np.eye(DAY)
        root = np.linalg.inv(np.linalg.cholesky(noise)).T
        far = np.linalg.inv(np.linalg.cholesky(spread + noise / 2)).T
        total -= 0.5 * squared(mine[:, which].mean(axis=1) @ root, there @ root)
        total += 0.5 * (((there - there.mean(axis=0)) @ far) ** 2).sum(axis=1)
    return total


def hours_by_size(x: Array) -> Array:
    """At each hour of the day the values of all days in rising order, then all values in rising order: what a week says of habits, whatever happened on which day."""
    logs = levelled(x)
    days = np.sort(logs.reshape(len(logs), -1, DAY), axis=1)
    return np.hstack([days.reshape(len(logs), -1), np.sort(logs, axis=1)[:, ::4]])


def learned_hours(published: Published, other: Array, before: Array, after: Array) -> Array:
    """`hours_by_size` in the directions in which published persons differ most, each compared on the scale of its changes from one period to the other.

    The changes are learned on pairs (`before` known, `after` published) of persons who are not attacked: a direction is worth how much it differs between persons for how much it changes in
    one. Few directions, because few pairs teach little.
    """
    rows, mine, old, new = (hours_by_size(x) for x in (shown(published), other, before, after))
    wide, centre = np.where(new.std(axis=0) > 0, new.std(axis=0), 1.0), new.mean(axis=0)
    shift = centre - old.mean(axis=0)
    rows, mine, old, new = ((x - centre) / wide for x in (rows, mine + shift, old + shift, new))
    directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:DIRECTIONS].T
    change = (new - old) @ directions
    inside = change.T @ change / len(change)
    level = 0.3 * np.trace(inside) / len(inside) * np.eye(len(inside)) + 0.7 * np.diag(np.diag(inside))
    values, vectors = np.linalg.eigh((1 - SHRUNK) * inside + SHRUNK * level)
    root = directions @ (vectors / np.sqrt(values))
    return -0.5 * squared(mine @ root, rows @ root)
