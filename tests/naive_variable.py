"""Slow, obvious versions of the groupings whose groups may grow beyond k."""

from __future__ import annotations

import numpy as np

from naive import squared_distances
from tsveil.core.types import Array, Indices


def vmdav(Z: Array, k: int, gamma: float) -> Indices:
    """V-MDAV as its definition reads."""
    labels = np.full(len(Z), -1)
    total = np.zeros(Z.shape[1])
    for row in Z:
        total = total + row
    away = squared_distances(Z, total / len(Z))
    label = 0
    while (labels < 0).sum() >= k:
        left = np.flatnonzero(labels < 0)
        seed = left[np.argmax(away[left])]
        others = left[left != seed]
        labels[seed] = label
        labels[others[np.argsort(squared_distances(Z[others], Z[seed]), kind="stable")[: k - 1]]] = label
        while (labels == label).sum() < 2 * k - 1 and (labels < 0).any():
            left = np.flatnonzero(labels < 0)
            members = np.flatnonzero(labels == label)
            inside = np.min([squared_distances(Z[left], Z[m]) for m in members], axis=0)
            x = left[np.argmin(inside)]
            rest = left[left != x]
            outside = squared_distances(Z[rest], Z[x]).min() if len(rest) else np.inf
            if not np.sqrt(inside.min()) < gamma * np.sqrt(outside):
                break
            labels[x] = label
        label += 1
    assigned = np.flatnonzero(labels >= 0)
    final = labels.copy()
    for x in np.flatnonzero(labels < 0):
        final[x] = labels[assigned[np.argmin(squared_distances(Z[assigned], Z[x]))]]
    return final


def sensitive_mdav(Z: Array, k: int, p: int, codes: Indices) -> Indices:
    """p-sensitive MDAV as its definition reads."""
    labels = np.full(len(Z), -1)
    total = np.zeros(Z.shape[1])
    for row in Z:
        total = total + row

    def various(rows: Indices) -> bool:
        return all(len(set(codes[rows, c].tolist())) >= p for c in range(codes.shape[1]))

    def left() -> Indices:
        return np.flatnonzero(labels < 0)

    def form(point: Array) -> int:
        nonlocal total
        rows = left()
        seed = int(rows[np.argmax(squared_distances(Z[rows], point))])
        others = rows[rows != seed]
        order = np.append(seed, others[np.argsort(squared_distances(Z[others], Z[seed]), kind="stable")])
        size = k
        while not various(order[:size]):
            size += 1
        labels[order[:size]] = labels.max() + 1
        for member in np.sort(order[:size]):
            total = total - Z[member]
        return seed

    possible = True
    while len(left()) >= 3 * k and (possible := various(left())):
        r = form(total / len(left()))
        if len(left()) >= k and (possible := various(left())):
            form(Z[r])
        else:
            break
    if possible and 2 * k <= len(left()) and various(left()):
        form(total / len(left()))
    rest = left()
    if len(rest) >= k and various(rest):
        labels[rest] = labels.max() + 1
    elif len(rest):
        means = []
        for g in range(labels.max() + 1):
            mean = np.zeros(Z.shape[1])
            for row in Z[labels == g]:
                mean = mean + row
            means.append(mean / (labels == g).sum())
        labels[rest] = [int(np.argmin(squared_distances(np.array(means), Z[x]))) for x in rest]
    return labels
