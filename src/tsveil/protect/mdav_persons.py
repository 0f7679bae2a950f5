"""MDAV's groups where several records may belong to one person: no group holds two records of the same one.

With k records of k different persons in every group, whoever guesses the owner of a record in a class is right with a chance of at most 1/k: counting
persons alone would not bound that, because one person could own most of a class.

    while the records left after both belong to at least k persons: a group around r, farthest from the mean, and one around s, farthest from r
    while the records left belong to at least k persons: a group around the farthest from the mean
    while at least k persons are left: one record of each of them, the nearest to the farthest from the mean
    each record left over joins the nearest group without a record of its person

A group takes, in the order (distance to its seed, index), the first record of each of k different persons. Distances of records left over are
those to the means before any of them joined. A record for which there is no such group is suppressed, or with `share="told"` joins the nearest group.
Where each person has one record this is MDAV.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tsveil.core.types import Array, Indices
from tsveil.protect._mdav_exact import exact_groups, in_range, running_sum
from tsveil.protect._refine import ENOUGH, NEAR, ROUNDS, near_rows, sse_of

Share = Literal["bounded", "told"]


def person_groups(
    Z: Array,
    persons: Indices,
    k: int,
    *,
    share: Share = "bounded",
    refine: bool = False,
    counter: Indices | None = None,
) -> Indices:
    """The group of each record, numbered from 0; -1: suppressed.

    Parameters
    ----------
    Z
        n records by d columns, the space of the distances.
    persons
        the person of each record; at least k different ones.
    share
        "bounded": a record that finds no group without its person is suppressed; "told": it joins the nearest group.
    refine
        whether records are moved and swapped between near groups afterwards.
    counter
        its first element is raised to the number of records grouped.

    Examples
    --------
    >>> Z = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> person_groups(Z, np.array([0, 0, 1, 1, 2, 2]), 2)
    array([1, 2, 1, 0, 2, 0])
    """
    from tsveil._kernels import mdav_persons

    Z = in_range(np.ascontiguousarray(Z, dtype=np.float64))
    own = np.unique(persons, return_inverse=True)[1].astype(np.int64)
    counter = np.zeros(1, dtype=np.int64) if counter is None else counter
    if len(own) == int(own.max()) + 1:
        return exact_groups(Z, k, counter=counter)
    labels = np.full(len(Z), -1, dtype=np.int64)
    mdav_persons.person_groups(Z, own, k, running_sum(Z), labels, counter)
    if not (labels >= 0).any():
        return labels
    order = np.argsort(own, kind="stable")
    starts = np.searchsorted(own[order], np.arange(int(own.max()) + 2))
    centres = _centres(Z, labels)
    mdav_persons.join_nearest(Z, own, order, starts, centres, labels, False)
    if refine:
        grouped = np.flatnonzero(labels >= 0)
        labels[grouped] = refined_groups(np.ascontiguousarray(Z[grouped]), own[grouped], labels[grouped], k)
        centres = _centres(Z, labels)
    if share == "told":
        mdav_persons.join_nearest(Z, own, order, starts, centres, labels, True)
    return labels


def _centres(Z: Array, labels: Indices) -> Array:
    """The mean of each group."""
    from tsveil._kernels.groups import group_means

    grouped = np.flatnonzero(labels >= 0)
    means = group_means(np.ascontiguousarray(Z[grouped]), labels[grouped], int(labels.max()) + 1)
    return np.ascontiguousarray(means[np.unique(labels[grouped], return_index=True)[1]])


def refined_groups(Z: Array, own: Indices, labels: Indices, k: int) -> Indices:
    """Groups whose SSE is at most that of the given ones, each with at least k records of different persons.

    Examples
    --------
    >>> Z = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> refined_groups(Z, np.arange(6), np.array([0, 1, 0, 1, 2, 2]), 2)
    array([1, 1, 0, 0, 2, 2])
    """
    from tsveil._kernels.refine_persons import improve

    many = int(labels.max()) + 1
    if many < 2:
        return labels
    found = labels.copy()
    sizes = np.bincount(found, minlength=many)
    members = np.zeros((many, max(2 * k - 1, int(sizes.max()))), dtype=np.int64)
    order = np.argsort(found, kind="stable")
    members[found[order], np.arange(len(order)) - (np.cumsum(sizes) - sizes)[found[order]]] = order
    centres = _centres(Z, found)
    before = sse = sse_of(Z, found)
    for _ in range(ROUNDS):
        saved = improve(Z, own, k, found, members, sizes, centres, near_rows(centres, min(NEAR, many - 1)))
        sse -= saved
        if saved <= ENOUGH * sse:
            break
    found = np.unique(found, return_inverse=True)[1].astype(np.int64)
    return found if sse_of(Z, found) <= before else labels
