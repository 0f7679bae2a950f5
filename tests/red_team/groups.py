"""Attacks on microaggregation: which group a value, a record or a projection falls into."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from red_team.common import Knowledge, Published, matched
from red_team.noise import squared
from tsveil.core.types import Array, Indices

#: the border between two groups lies about midway between their means, give or take this share of the way
BORDER = 0.15
#: log of the chance of a group that is not next to the value
FAR = -12.0
#: log of the evidence of a value that is published as it is
EXACT = 25.0


def scaled(published: Published, known: Knowledge) -> tuple[Array, Array]:
    """Persons and rows on the scale of the published columns: one for all points of a series, one for each attribute."""
    wide = published.values.std(axis=0)
    for block, series in published.blocks:
        if series:
            wide[list(block)] = published.values[:, list(block)].std()
    columns = list(known.columns)
    wide = np.where(wide[columns] > 0, wide[columns], 1.0)
    return known.values / wide, published.values[:, columns] / wide


def nearest(published: Published, known: Knowledge) -> Array:
    """The nearest row on the scale of the published columns: a group's mean is near its members.

    It needs nothing but the person's own values.
    """
    mine, rows = scaled(published, known)
    return -squared(mine, rows)


def nearest_for_its_width(published: Published, known: Knowledge) -> Array:
    """The group whose members are likeliest to lie there, if a group is as wide as its mean is far from the next ones.

    Groups in the outskirts are wide: the same distance says less against them than against one in a crowd.
    """
    mine, rows = scaled(published, known)
    means, place = np.unique(rows, axis=0, return_inverse=True)
    between = squared(means, means)
    np.fill_diagonal(between, np.inf)
    if len(means) == 1:
        return np.zeros((len(mine), len(rows)))
    near = np.sort(between, axis=1)[:, : min(2, len(means) - 1)].mean(axis=1)
    spread = np.maximum(near, np.median(near) * 1e-3) / 4
    dimension = np.linalg.matrix_rank(means - means.mean(axis=0))
    effective = min(dimension, 4)
    logs: Array = -0.5 * effective * squared(mine, means) / spread - 0.5 * effective * np.log(spread)
    return logs[:, place.ravel()]


def nearest_shape(published: Published, known: Knowledge) -> Array:
    """The nearest row in slopes: groups made by shape are near in their slopes and may be far in their values.

    Attributes have no slopes, and are compared as they are.
    """
    mine, rows = scaled(published, known)
    return -squared(np.diff(mine, axis=1), np.diff(rows, axis=1)) if mine.shape[1] > 1 else -squared(mine, rows)


def matched_nearest(published: Published, known: Knowledge) -> Array:
    """All known persons at once: each row takes one person only, so groups that are full send persons on to the next.

    The weights are those of `nearest_for_its_width`.
    """
    logs = nearest_for_its_width(published, known)
    return matched(logs - np.median(logs.max(axis=1)))


def matched_plain(published: Published, known: Knowledge) -> Array:
    """As `matched_nearest`, with one width for all groups: the mean squared distance to the nearest row.

    MDAV's late groups are wide for no reason that their means show, and then one width is the better guess.
    """
    logs = nearest(published, known)
    wide = np.maximum(-np.median(logs.max(axis=1)), 1e-12)
    logs = logs / (2 * wide)
    return matched(logs - np.median(logs.max(axis=1)))


def side_of(x: Array, means: Array, sizes: Array, exact_below: float) -> Array:
    """Log of the chance that each x belongs to each of the groups with these ascending means, which are runs of neighbouring values.

    Only the two groups next to x can hold it; the border between them is unknown and probably midway. Groups smaller than `exact_below` are
    published values of single records, which are equal or are not.
    """
    logs = np.full((len(x), len(means)), FAR)
    runs = np.flatnonzero(sizes >= exact_below)
    if len(runs):
        above = np.searchsorted(means[runs], x)
        low, high = runs[(above - 1).clip(0)], runs[above.clip(0, len(runs) - 1)]
        gap = means[high] - means[low]
        place = np.divide(x - means[low], gap, out=np.full(len(x), 0.5), where=gap > 0)
        upper = 1 / (1 + np.exp(-(place - 0.5) / (BORDER / 1.7)))
        at = np.arange(len(x))
        logs[at, low] = np.log(np.maximum(1 - upper, np.exp(FAR)))
        logs[at, high] = np.maximum(np.log(np.maximum(upper, np.exp(FAR))), np.where(low == high, 0.0, FAR))
        # A group is chosen at random in proportion to its size where nothing is known: that is what the chance is compared with.
        logs -= np.log(sizes / sizes.sum())
    small = np.flatnonzero(sizes < exact_below)
    logs[:, small] = np.where(x[:, None] == means[small][None, :], EXACT, FAR)
    return logs


def sides(published: Published, known: Knowledge) -> Array:
    """Column by column: a published value is the mean of a run of neighbouring values, so only the runs on both sides of the known value can hold it.

    The logs of the chances are added up over the columns; a row that is on the wrong side in one column is out, however near it is in the others.
    """
    exact_below = 2.0 if published.method == "nlk" else 0.0
    total = np.zeros((len(known.values), len(published.values)))
    for at, column in enumerate(known.columns):
        means, place, sizes = np.unique(published.values[:, column], return_inverse=True, return_counts=True)
        total += side_of(known.values[:, at], means, sizes.astype(float), exact_below)[:, place]
    return total


def pooled_sides(published: Published, known: Knowledge) -> Array:
    """As `sides` with the published values of all columns as one: Mic1D sorts all values together, so one rising staircase leads from values to published ones.

    What the values of one column do not show of the stairs the others do.
    """
    means, place, sizes = np.unique(published.values, return_inverse=True, return_counts=True)
    place = place.reshape(published.values.shape)
    total = np.zeros((len(known.values), len(published.values)))
    for at, column in enumerate(known.columns):
        own = np.bincount(place[:, column], minlength=len(means)).astype(float)
        # The chance is that of the stair among those of the whole table, over how often the column shows it.
        logs = side_of(known.values[:, at], means, sizes.astype(float), 0.0) + np.log(sizes / sizes.sum())
        total += (logs - np.log(np.maximum(own, 0.5) / own.sum()))[:, place[:, column]]
    return total


def matched_sides(published: Published, known: Knowledge) -> Array:
    """All known persons at once, with the chances of `sides`.

    A class is full when it has as many persons as rows, and then the others belong to its neighbour.
    """
    logs = sides(published, known)
    return matched(logs - 2.0)


# -- projected ------------------------------------------------------------------------------------------------------------


def standard(x: Array) -> Array:
    """Columns with mean 0 and deviation 1."""
    wide = x.std(axis=0)
    found: Array = (x - x.mean(axis=0)) / np.where(wide > 0, wide, 1.0)
    return found


def loadings(z: Array) -> Array:
    """The first principal component, its largest loading positive."""
    vector = np.linalg.eigh(z.T @ z)[1][:, -1]
    found: Array = vector * np.sign(vector[np.argmax(np.abs(vector))])
    return found


def along(x: Array, sample: Array, how: str) -> Array:
    """The projection of x, with mean, deviation and loadings of a sample of originals."""
    wide = sample.std(axis=0)
    wide = np.where(wide > 0, wide, 1.0)
    z = (x - sample.mean(axis=0)) / wide
    found: Array = z.sum(axis=1) if how == "zscores" else z @ loadings(standard(sample))
    return found


#: what is found of one block: from its published columns and the known values of them, by a projection
OfBlock = Callable[[Array, Array, str], Array]


def over_blocks(published: Published, known: Knowledge, of_block: OfBlock) -> Array:
    """The sum over all blocks of which every column is known."""
    how = str(published.settings["projection"])
    total = np.zeros((len(known.values), len(published.values)))
    columns = list(known.columns)
    for block, _ in published.blocks:
        own = [columns.index(column) for column in block if column in columns]
        if len(own) == len(block):
            total += of_block(published.values[:, list(block)], known.values[:, own], how)
    return total


def sides_along(mine: Array, rows: Array) -> Array:
    """The chances of `side_of` for persons and rows at these places of a line."""
    means, place, sizes = np.unique(rows.round(9), return_inverse=True, return_counts=True)
    return side_of(mine, means, sizes.astype(float), 0.0)[:, place]


def rank_of_projection(published: Published, known: Knowledge) -> Array:
    """Who knows half of the persons knows mean, deviations and loadings of the projection almost exactly, and computes it for them and for the published rows.

    Published rows are means of runs along it: only the two groups on both sides of the person's projection are left, in each block.
    """
    return over_blocks(
        published,
        known,
        lambda table, sample, how: sides_along(along(sample, sample, how), along(table, sample, how)),
    )


def matched_projection(published: Published, known: Knowledge) -> Array:
    """As `rank_of_projection`, all known persons at once, ranked: the share of known persons below a person is about the share of rows below that person's group.

    Ranks need no border between groups to be guessed, and each group takes its number of persons.
    """

    def of_block(table: Array, sample: Array, how: str) -> Array:
        mine, n = along(sample, sample, how), len(table)
        rows = along(table, sample, how)
        place, sizes = np.unique(rows.round(9), return_inverse=True, return_counts=True)[1:]
        borders = np.concatenate([[0], np.cumsum(sizes)])
        rank = (np.argsort(np.argsort(mine)) + 0.5) * n / len(mine)
        blur = max(0.5, 0.5 * np.sqrt(n) * np.sqrt(max(0.0, n / len(mine) - 1)) / 2)
        outside = np.maximum(0, np.maximum(borders[:-1][None, :] - rank[:, None], rank[:, None] - borders[1:][None, :]))
        found: Array = (-0.5 * (outside / blur) ** 2 - np.log(sizes))[:, place]
        return found

    return over_blocks(published, known, of_block) + rank_of_projection(published, known)


def rebuilt_projection(published: Published, known: Knowledge) -> Array:
    """Who knows one person rebuilds the deviations of the originals: group means scatter around a smooth course along the projection, and that scatter times the
    size of a group is the variance inside groups.

    With these deviations the projection of the person and of the rows is that of the method, and not that of published columns, whose deviations all shrank
    differently.
    """

    def of_block(table: Array, mine: Array, how: str) -> Array:
        means, place, sizes = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        place = place.ravel()
        order = np.argsort(standard(table)[np.unique(place, return_index=True)[1]] @ loadings(standard(table)))
        # Second differences of the course leave the scatter: their variance is 6 times that of a mean.
        course = means[order]
        scatter = (np.median(np.abs(course[2:] - 2 * course[1:-1] + course[:-2]), axis=0) / 0.6745) ** 2 / 6
        deviation = np.sqrt(table.var(axis=0) + scatter * sizes.mean())
        deviation = np.where(deviation > 0, deviation, 1.0)
        z = (table - table.mean(axis=0)) / deviation
        inside = scatter * sizes.mean() / deviation**2
        component = np.linalg.eigh(z.T @ z / len(z) + np.diag(inside))[1][:, -1]
        vector = np.ones(len(inside)) if how == "zscores" else component
        return sides_along((mine - table.mean(axis=0)) / deviation @ vector, z @ vector)

    return over_blocks(published, known, of_block)


def published_projection(published: Published, known: Knowledge) -> Array:
    """Both files projected with mean, deviations and loadings of the published one, which keeps the direction of the course; then the group on whose side the person lies.

    Who knows one person has no other parameters, unless they are rebuilt.
    """
    return over_blocks(
        published, known, lambda table, mine, how: sides_along(along(mine, table, how), along(table, table, how))
    )


def fitted_groups(published: Published, known: Knowledge, rounds: int = 40) -> Array:
    """Groups as bells around their published means, all of one shape, which is fitted to the known persons by expectation and maximisation.

    Means and sizes of the groups are published, so only the covariance inside groups is left to learn, and it starts from that of the known persons less that of the published rows; of a
    method that sorts by a projection it becomes flat across the projection.
    """
    columns = list(known.columns)
    wide = np.where(known.values.std(axis=0) > 0, known.values.std(axis=0), 1.0)
    x, y = known.values / wide, published.values[:, columns] / wide
    groups, place, sizes = np.unique(y, axis=0, return_inverse=True, return_counts=True)
    covariance = np.atleast_2d(np.cov(x.T)) - np.atleast_2d(np.cov(y.T))
    best = np.zeros((len(x), len(groups)))
    away = x[:, None, :] - groups[None, :, :]
    for _ in range(rounds):
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, 1e-4)
        best = -0.5 * ((away @ (vectors / np.sqrt(values))) ** 2).sum(axis=2)
        chance = np.exp(best - best.max(axis=1, keepdims=True)) * sizes
        chance /= chance.sum(axis=1, keepdims=True)
        covariance = np.einsum("ag,agi,agj->ij", chance, away, away) / len(x)
    return best[:, place.ravel()]


def matched_fitted_groups(published: Published, known: Knowledge) -> Array:
    """As `fitted_groups`, with all known persons at once: a group takes as many as it has rows.

    The two kinds of knowledge, the shape of groups and their sizes, add up.
    """
    return matched(fitted_groups(published, known))


def fitted_borders(published: Published, known: Knowledge) -> Array:
    """As `rank_of_projection`, times the chance of the person's other values in groups of the fitted shape.

    The projection leaves two or three groups, and the means of these differ in the other directions as well.
    """
    return rank_of_projection(published, known) + 0.5 * fitted_groups(published, known)


# -- persons with several records -----------------------------------------------------------------------------------------


def one_answer_for_all(published: Published, known: Knowledge, persons: Indices) -> Array:
    """For each person the class in which the largest part of the rows is probably that person's, whichever of the person's records is looked for: (persons, rows).

    Any row of the person is a right link, so nobody has to guess where a record went that may be in several groups if another one is in a group for certain, or several are in one.
    """
    mine, rows = scaled(published, known)
    means, place, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    away = squared(mine, means)
    wide = np.median(away.min(axis=1)) / mine.shape[1]
    chance = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True)) / max(float(wide), 1e-12))
    chance /= chance.sum(axis=1, keepdims=True)
    share = np.zeros((int(persons.max()) + 1, len(means)))
    np.add.at(share, persons, chance)
    found: Array = (share / sizes)[:, place.ravel()]
    return found
