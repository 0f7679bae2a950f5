"""Groups of records that hold labels beside numbers: MDAV-generic of Domingo-Ferrer and Torra (2005), V-MDAV and p-sensitive MDAV, by mixed distances.

The distance is that of `transform.mixed`. What stands for some records is their *centre*: the mean of numbers, element floor((m - 1) / 2) of the
sorted ordinals, the most frequent nominal label, and of a hierarchy the label with the least sum of distances; ties go to the label that is more
frequent in the whole file, then to the first in the declared order. With `generalise` the lowest common ancestor stands for nominal labels
(whose tree has a root, '*', and nothing else above them) and for those of a hierarchy: what is published is true of every member then. Ordinals have no ancestors.

Where a person may have several records, no group holds two of the same one (`protect.mdav_persons`). Groups are refined by the sum of the
squared distances within them (`MixedSpace.spread_within`), which for numbers is the sum of squared errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.protect.mdav_persons import Share
from tsveil.transform.mixed import LEAST_ROOM, Feature, MixedSpace, in_use, step_of

#: values of the coordinates for refining; where there are more, groups stay as they are
MOST = 2**26


@dataclass(frozen=True, eq=False)
class Mixed:
    """Records of mixed columns, and what is known of the whole file: the spread of its features, and how often each label occurs in each column."""

    values: Array
    features: Sequence[Feature]
    #: for each column of labels, in the order of the features: how often each of its labels occurs in the file
    uses: Sequence[Indices]

    @cached_property
    def space(self) -> MixedSpace:
        """Where distances are measured."""
        return MixedSpace.of(self.values, self.features)

    @cached_property
    def places(self) -> list[int]:
        """The columns of labels."""
        return [at for feature in self.features if feature.labels is not None for at in feature.columns]

    @cached_property
    def codes(self) -> AnyArray:
        """The labels of the records, by columns of labels."""
        return np.ascontiguousarray(self.values[:, self.places].astype(np.int32))

    @cached_property
    def columns(self) -> tuple[Indices, Array, Indices, Indices]:
        """What the kernel needs of the columns of labels: a row each, the steps of ordinals, all paths, and all uses."""
        rows, steps, paths, kept = list[list[int]](), list[float](), list[Indices](), dict[int, int]()
        count = way = level = coordinate = 0
        for feature in self.features:
            labels, used = feature.labels, in_use(feature)
            if labels is None:
                coordinate += len(feature.columns) if used else 0
                continue
            if id(labels) not in kept:
                kept[id(labels)] = way
                paths.append(labels.paths[: labels.leaves].ravel())
                way += len(paths[-1])
            for _ in feature.columns:
                place = -1 if not used else coordinate if labels.ordinal else level
                rows.append([int(labels.ordinal), labels.leaves, count, kept[id(labels)], labels.height, place])
                steps.append(step_of(feature))
                count += labels.leaves
                coordinate += int(labels.ordinal and used)
                level += labels.height if used and not labels.ordinal else 0
        return (
            np.array(rows, dtype=np.int64).reshape(-1, 6),
            np.array(steps, dtype=np.float64),
            np.concatenate([np.zeros(0, dtype=np.int64), *paths]),
            np.concatenate([np.zeros(0, dtype=np.int64), *self.uses]),
        )

    @cached_property
    def tiles(self) -> tuple[Array, AnyArray]:
        """The records as the kernel measures distances of all of them at once."""
        from tsveil._kernels.mixed import tiles_of

        return tiles_of(self.space.coordinates, self.space.levels)

    def distances(self, q: Array, r: AnyArray) -> Array:
        """The squared distances of all records from a point: coordinates q, levels r."""
        from tsveil._kernels.mixed import LANES, measure

        T, U = self.tiles
        found = np.empty(len(T) * LANES)
        measure(
            T, U, len(self.values), q, r, self.space.trees, self.space.factors, np.empty((2, LANES), np.int32), found
        )
        return found[: len(self.values)]

    def from_record(self, record: int) -> Array:
        """The squared distances of all records from one of them."""
        return self.distances(self.space.coordinates[record], self.space.levels[record])

    def from_point(self, row: Array) -> Array:
        """The squared distances of all records from a row of values."""
        point = MixedSpace.of(row[None, :], self.features)
        return self.distances(point.coordinates[0], point.levels[0])

    def representatives(self, groups: Indices, *, generalise: bool = False) -> Array:
        """What stands for each group, by columns; numbers by their mean.

        Examples
        --------
        >>> from tsveil.transform.mixed import Labels
        >>> two = Labels(False, np.array([[2, 0], [2, 1]]), 2)
        >>> values = np.array([[1.0, 0.0], [3.0, 1.0], [5.0, 1.0]])
        >>> some = Mixed(values, [Feature(range(1), 1.0), Feature(range(1, 2), 1.0, two)], [np.array([1, 2])])
        >>> some.representatives(np.zeros(3, dtype=np.int64)).tolist(), some.representatives(np.zeros(3, dtype=np.int64), generalise=True).tolist()
        ([[3.0, 1.0]], [[3.0, 2.0]])
        """
        from tsveil._kernels.groups import group_means
        from tsveil._kernels.mixed import group_labels

        order = np.argsort(groups, kind="stable").astype(np.int64)
        starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2)).astype(np.int64)
        means = group_means(np.ascontiguousarray(self.values), groups, len(starts) - 1)
        found = np.ascontiguousarray(means[order[starts[:-1]]])
        columns = self.columns
        found[:, self.places] = group_labels(self.codes, order, starts, columns[0], columns[2], columns[3], generalise)
        return found

    def centre(self, rows: Indices) -> Array:
        """What stands for some records, by columns."""
        some = Mixed(self.values[rows], self.features, self.uses)
        return np.asarray(some.representatives(np.zeros(len(rows), dtype=np.int64))[0])

    @cached_property
    def nodes(self) -> list[Indices]:
        """For each level of the space the nodes that records of the file have."""
        found, at = list[Indices](), 0
        for feature in self.features:
            labels = feature.labels
            if labels is None:
                continue
            own = self.uses[at : at + len(feature.columns)]
            at += len(feature.columns)
            if labels.ordinal or not in_use(feature):
                continue
            for counts in own:
                for depth in range(1, labels.height + 1):
                    times = np.bincount(labels.paths[: labels.leaves, depth], weights=counts)
                    found.append(np.flatnonzero(times))
        return found

    def embedding(self) -> Array | None:
        """Coordinates for refining; None if there would be too many."""
        columns = self.space.coordinates.shape[1] + max(LEAST_ROOM, self.space.levels.shape[1])
        return self.space.embedding(self.nodes) if len(self.values) * columns <= MOST else None

    def cut_space(self) -> Array:
        """Coordinates for cutting records into parts: those of the space, and the place of a label among all, so that different labels can be cut apart."""
        places = [
            np.sqrt(feature.weight)
            / feature.root
            / labels.leaves
            * self.values[:, feature.columns.start : feature.columns.stop]
            for feature in self.features
            if (labels := feature.labels) is not None and not labels.ordinal and in_use(feature)
        ]
        return np.ascontiguousarray(np.hstack([self.space.embedding(self.nodes), *places]))


def mdav_groups(mixed: Mixed, persons: Indices, k: int, counter: Indices) -> Indices:
    """MDAV's groups of records of at least k persons, numbered from 0; -1: left over, which happens where persons have several records only."""
    from tsveil._kernels.mixed import mixed_groups

    own = np.unique(persons, return_inverse=True)[1].astype(np.int64)
    labels = np.full(len(own), -1, dtype=np.int64)
    space, (columns, steps, paths, uses) = mixed.space, mixed.columns
    mixed_groups(
        space.coordinates, space.levels, mixed.codes, own, k, space.trees, space.factors, columns, steps, paths, uses, labels, counter
    )  # fmt: skip
    return labels


def join_nearest(mixed: Mixed, persons: Indices, labels: Indices, share: Share) -> Indices:
    """The groups after the records left over have joined the nearest one without a record of their person, by the distance to its centre; `told`: any one if there is none."""
    left = np.flatnonzero(labels < 0)
    if not len(left) or (labels < 0).all():
        return labels
    found = labels.copy()
    grouped = np.flatnonzero(labels >= 0)
    centres = Mixed(mixed.values[grouped], mixed.features, mixed.uses).representatives(labels[grouped])
    both = MixedSpace.of(np.vstack([centres, mixed.values[left]]), mixed.features)
    has = {(int(group), int(person)) for group, person in zip(labels[grouped], persons[grouped], strict=True)}
    for place, row in enumerate(left.tolist()):
        far = both.squared_distances(len(centres) + place)[: len(centres)]
        free = np.array([(group, int(persons[row])) not in has for group in range(len(centres))])
        if free.any() or share == "told":
            group = int(np.argmin(np.where(free, far, np.inf) if free.any() else far))
            found[row] = group
            has.add((group, int(persons[row])))
    return found


def variable_groups(mixed: Mixed, k: int, gamma: float, counter: Indices) -> Indices:
    """The groups of V-MDAV by mixed distances; `protect.vmdav` has the definition."""
    n = len(mixed.values)
    labels = np.full(n, -1, dtype=np.int64)
    free = np.ones(n, dtype=np.bool_)
    outermost = np.argsort(-mixed.from_point(mixed.centre(np.arange(n))), kind="stable")
    label = 0
    for seed in outermost.tolist():
        if not free[seed] or int(free.sum()) < k:
            continue
        members = _nearest(mixed.from_record(seed), seed, free, k).tolist()
        labels[members], free[members] = label, False
        near = np.min([mixed.from_record(member) for member in members], axis=0)
        while len(members) < 2 * k - 1 and free.any():
            best = int(np.argmin(np.where(free, near, np.inf)))
            from_best = mixed.from_record(best)
            others = free.copy()
            others[best] = False
            outside = from_best[others].min(initial=np.inf)
            if not np.sqrt(near[best]) < gamma * np.sqrt(outside):
                break
            labels[best], free[best] = label, False
            members.append(best)
            near = np.minimum(near, from_best)
        label += 1
        counter[0] = n - int(free.sum())
    assigned = labels >= 0
    for record in np.flatnonzero(free).tolist():
        labels[record] = labels[int(np.argmin(np.where(assigned, mixed.from_record(record), np.inf)))]
    counter[0] = n
    return labels


def sensitive_groups(mixed: Mixed, k: int, various: Callable[[Indices], bool], counter: Indices) -> Indices:
    """The groups of p-sensitive MDAV by mixed distances; `various` says whether some records hold enough values, `protect.sensitive` has the definition."""
    n = len(mixed.values)
    labels = np.full(n, -1, dtype=np.int64)
    free = np.ones(n, dtype=np.bool_)
    label, seed = 0, -1
    stage = 0  # 0: pairs of groups while 3k remain, 1: the second of a pair, 2: one more while 2k remain
    while True:
        left = np.flatnonzero(free)
        stage = 2 if stage == 0 and len(left) < 3 * k else stage
        if (stage == 2 and len(left) < 2 * k) or not various(left):
            break
        far = mixed.from_record(seed) if stage == 1 else mixed.from_point(mixed.centre(left))
        seed = int(np.argmax(np.where(free, far, -1.0)))
        ordered = _nearest(mixed.from_record(seed), seed, free, len(left))
        size = min(k, len(left))
        while not various(ordered[:size]):
            size += 1
        labels[ordered[:size]], free[ordered[:size]] = label, False
        label += 1
        counter[0] = n - int(free.sum())
        if stage == 2:
            break
        stage = 1 - stage if int(free.sum()) >= k else 2
    left = np.flatnonzero(free)
    counter[0] = n
    if len(left) >= k and various(left):
        labels[left] = label
        return labels
    return join_nearest(mixed, np.arange(n), labels, "told")


def _nearest(far: Array, seed: int, free: Mask, count: int) -> Indices:
    """The first free records in the order (distance, index), the seed before all others."""
    rows = np.flatnonzero(free)
    own = far[rows]
    own[rows == seed] = -1.0
    found: Indices = rows[np.argsort(own, kind="stable")[:count]]
    return found
