"""MDAV of records with gaps (`missing="mask"`): they take part with the points that they have.

Two records are compared over the points that both have, and the sum is scaled by T / (number of these); without such a point they are apart by twice the
sum of the columns' variances, the mean of that distance over all pairs. It is no metric. A record with fewer than a third of its points is suppressed, for it could be put anywhere.

A group publishes, for all its members alike, at each point the mean over those members that have a value, if at least

    least = max(2, ceil(k / 2))

persons have one. Elsewhere the point is empty for the whole group. So the values and the gaps of a published row are those of its group, and k does not depend on `least`.
A value may be the mean of fewer than k persons: the fewest are reported, and subtraction counts those who have a value.

With `refine` records move to near groups, or are swapped with records of near groups, as long as the squared errors fall: over all values that the records have, against the
published mean, or against the mean of the column where the point is empty. For a group with n_t values of the sum S_t around the column's mean this is, up to a constant,

    - sum of S_t^2 / n_t over the points t with n_t >= least

so what a change brings follows from the sums of two groups. Where each record is a person of its own there is a second start: gaps are filled by the means of the groups found so far, the groups are
refined like those of complete records (`protect._refine`, which also dissolves groups and forms others), and then once more as said here; what explains more is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tsveil.core.types import Array, Indices, Mask
from tsveil.data.gaps import EMPTY, FEWEST, POINTS, SPARSE
from tsveil.protect._refine import ENOUGH, LARGE, NEAR, ROUNDS
from tsveil.protect._refine import refined_groups as groups_of_filled
from tsveil.protect.mdav_persons import Share


def least_persons(k: int) -> int:
    """The fewest persons behind a published value.

    Examples
    --------
    >>> [least_persons(k) for k in (2, 3, 5, 10)]
    [2, 2, 3, 5]
    """
    return max(2, -(-k // 2))


def sparse_records(values: Array) -> Mask:
    """The records with fewer than a third of their points.

    Examples
    --------
    >>> sparse_records(np.array([[1.0, np.nan, np.nan], [np.nan, np.nan, np.nan]]))
    array([False,  True])
    """
    found: Mask = 3 * (~np.isnan(values)).sum(axis=1) < values.shape[1]
    return found


def apart(Z: Array) -> float:
    """The squared distance of records that have no point in common: twice the sum of the columns' variances.

    Examples
    --------
    >>> apart(np.array([[1.0, np.nan], [3.0, 5.0]]))
    2.0
    """
    there = ~np.isnan(Z)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, Z, 0.0).sum(axis=0) / count
    return 2 * float((np.where(there, np.square(Z - mean), 0.0).sum(axis=0) / count).sum())


def masked_groups(
    Z: Array,
    persons: Indices,
    k: int,
    *,
    share: Share = "bounded",
    refine: bool = False,
    counter: Indices | None = None,
) -> Indices:
    """The group of each record, numbered from 0, with at least k persons in each; -1: suppressed.

    The parameters are those of `mdav_persons.person_groups`; values of `Z` may be NaN. Where each record is a person of its own, every record is in a group.

    Examples
    --------
    >>> gap = np.nan
    >>> Z = np.array([[0.0, gap], [0.1, 0.0], [gap, 0.1], [5.0, 5.0], [5.1, gap], [5.2, 5.1]])
    >>> masked_groups(Z, np.arange(6), 3)
    array([0, 0, 0, 1, 1, 1])
    """
    from tsveil._kernels import mdav_masked as kernels

    own = np.unique(persons, return_inverse=True)[1].astype(np.int64)
    Z, far = np.ascontiguousarray(Z, dtype=np.float64), apart(Z)
    counter = np.zeros(1, dtype=np.int64) if counter is None else counter
    labels = np.full(len(Z), -1, dtype=np.int64)
    if len(own) and int(own.max()) + 1 >= k:
        kernels.masked_groups(Z, own, k, far, labels, counter)
    if not (labels >= 0).any():
        return labels
    order = np.argsort(own, kind="stable")
    starts = np.searchsorted(own[order], np.arange(int(own.max()) + 2))
    kernels.join_nearest(Z, own, order, starts, centres_of(Z, labels), labels, far, False)
    if refine:
        grouped = np.flatnonzero(labels >= 0)
        better = refined_groups if len(own) > int(own.max()) + 1 else twice_refined_groups
        labels[grouped] = better(np.ascontiguousarray(Z[grouped]), own[grouped], labels[grouped], k)
    if share == "told":
        kernels.join_nearest(Z, own, order, starts, centres_of(Z, labels), labels, far, True)
    return labels


def centres_of(Z: Array, labels: Indices) -> Array:
    """The mean of each group at each point, over those that have a value; NaN where none has.

    Examples
    --------
    >>> centres_of(np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 6.0]]), np.array([0, 0, 1]))
    array([[ 2., nan],
           [ 5.,  6.]])
    """
    rows, columns = np.nonzero(~np.isnan(Z) & (labels >= 0)[:, None])
    sums = np.zeros((int(labels.max()) + 1, Z.shape[1]))
    counts = np.zeros(sums.shape)
    np.add.at(sums, (labels[rows], columns), Z[rows, columns])
    np.add.at(counts, (labels[rows], columns), 1)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def explained(Z: Array, labels: Indices, k: int) -> float:
    """What groups explain of the squares around the columns' means: the figure that `refine` raises."""
    centred = _centred(Z)
    there = ~np.isnan(centred)
    found = 0.0
    for group in range(int(labels.max()) + 1):
        rows = labels == group
        count = there[rows].sum(axis=0)
        total = np.where(there[rows], centred[rows], 0.0).sum(axis=0)
        told = count >= least_persons(k)
        found += float((np.square(total[told]) / count[told]).sum())
    return found


def _centred(Z: Array) -> Array:
    there = ~np.isnan(Z)
    return np.ascontiguousarray(Z - np.where(there, Z, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def refined_groups(Z: Array, own: Indices, labels: Indices, k: int) -> Indices:
    """Groups that explain at least as much as the given ones, with at least k records of different persons each.

    Examples
    --------
    >>> Z = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> refined_groups(Z, np.arange(6), np.array([0, 1, 0, 1, 2, 2]), 2)
    array([1, 1, 0, 0, 2, 2])
    """
    from tsveil._kernels import mdav_masked as kernels

    many = int(labels.max()) + 1
    if many < 2:
        return labels
    found, centred, far = labels.copy(), _centred(Z), apart(Z)
    sizes = np.bincount(found, minlength=many)
    members = np.zeros((many, max(2 * k, int(sizes.max()) + 1)), dtype=np.int64)
    order = np.argsort(found, kind="stable")
    members[found[order], np.arange(len(order)) - (np.cumsum(sizes) - sizes)[found[order]]] = order
    sums, counts = np.zeros((many, Z.shape[1])), np.zeros((many, Z.shape[1]), dtype=np.int64)
    near = np.full((many, min(NEAR, many - 1)), -1, dtype=np.int64)
    squares = float(np.nansum(np.square(centred)))
    left = squares - explained(Z, found, k)
    for _ in range(ROUNDS):
        kernels.near_groups(centres_of(Z, found), far, near)
        saved = kernels.improve(
            centred, own, k, least_persons(k), 1e-12 * squares, found, members, sizes, sums, counts, near
        )
        left -= saved
        if saved <= ENOUGH * left:
            break
    return found if explained(Z, found, k) >= explained(Z, labels, k) else labels


def twice_refined_groups(Z: Array, own: Indices, labels: Indices, k: int) -> Indices:
    """The same where each record is a person of its own, with a second start: the groups that `_refine` finds, which also dissolves groups and forms others, when gaps are filled by the means of their groups.

    Examples
    --------
    >>> Z = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> twice_refined_groups(Z, np.arange(6), np.array([0, 1, 0, 1, 2, 2]), 2)
    array([1, 1, 0, 0, 2, 2])
    """
    found = refined_groups(Z, own, labels, k)
    centred = _centred(Z)
    means = np.nan_to_num(centres_of(centred, found), nan=0.0)
    filled = np.where(np.isnan(centred), means[found], centred)
    # What `_refine` draws at random it draws for `search` alone.
    other = groups_of_filled(filled, found, k, "swap", np.random.default_rng(0), hurried=len(Z) > LARGE)
    other = refined_groups(Z, own, other, k)
    return other if explained(Z, other, k) > explained(Z, found, k) else found


@dataclass(frozen=True)
class GroupRows:
    """What is published for each record: NaN where a point is empty, or the record is in no group."""

    values: Array
    #: the group of each record; -1 also where a group has no value at all
    groups: Indices
    facts: dict[str, Any]


def published_rows(values: Array, persons: Indices, groups: Indices, k: int, *, median: bool = False) -> GroupRows:
    """The mean (or the median) of each group at each point, where enough persons have a value.

    Examples
    --------
    >>> gap = np.nan
    >>> values = np.array([[1.0, gap], [3.0, 4.0], [8.0, gap], [9.0, 9.0]])
    >>> published_rows(values, np.arange(4), np.array([0, 0, 0, -1]), 3).values
    array([[ 4., nan],
           [ 4., nan],
           [ 4., nan],
           [nan, nan]])
    """
    from tsveil._kernels import mdav_masked as kernels

    values, groups = np.ascontiguousarray(values, dtype=np.float64), groups.copy()
    many, out = int(groups.max(initial=-1)) + 1, np.full(values.shape, np.nan)
    behind = np.zeros((many, values.shape[1]), dtype=np.int64)
    grouped = np.flatnonzero(groups >= 0)
    order = grouped[np.lexsort((grouped, persons[grouped], groups[grouped]))]
    least = least_persons(k)
    kernels.published_means(values, persons, groups, order, many, least, out, behind)
    if median:
        for group in range(many):
            rows, told = np.flatnonzero(groups == group), behind[group] >= least
            out[np.ix_(rows, np.flatnonzero(told))] = np.nanmedian(values[rows][:, told], axis=0)
    nothing = (groups >= 0) & np.isnan(out).all(axis=1)
    if nothing.any():
        groups[nothing] = -1
        groups[groups >= 0] = np.unique(groups[groups >= 0], return_inverse=True)[1]
    shown = out[groups >= 0]
    told = behind[behind >= least]
    facts = {
        POINTS: int(shown.size),
        EMPTY: int(np.isnan(shown).sum()),
        SPARSE: int(sparse_records(values).sum()),
        **({FEWEST: int(told.min())} if len(told) else {}),
    }
    return GroupRows(out, groups, facts)
