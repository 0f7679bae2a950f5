"""Composed k: what several releases of the same persons leave of a promise of k, counted from the published rows and whose they are.

Each release may be k-anonymous, and two of them together are not: whatever ties the rows of a person from release to release lets who knows the person's class in each of them intersect these classes.

    identifiers     An identifier that stays ties rows. In the segment from its first release to its last, each sequence of published rows needs k persons who have the same segment.
    histories       What does not change ties rows, with or without identifiers: carried columns, and protected columns without times. The history of a person is, for each release, the
                    class in which such values of that person are published, or "-" if none are. Each history that is not all "-" needs k persons. Then two persons of one history can exchange these values, and no
                    published file changes: who knows everything else cannot tell them apart. An identifier that stays ties a carried value to all its rows, also to those where the value is not shown: they are part of the history.
    differences     A column of a series, at its time, is published again with the same classes and to the bit, or not at all: the mean of ten persons and that of nine of them give the value of the tenth.

Conditions on pairs of releases do not suffice: of {1..10}, {6..15} and {1..4, 10..14, 16} every two have five persons in common, and all three only person 10. So persons with equal histories are counted.

A class are records with equal published rows: of the whole row where a carried column stands in it, of the columns that were protected together (the scope of the promise) for protected columns. A person with several records has
the classes of all of them, each as often as it has records there. A carried cell that is empty shows nothing; but where no release withholds anything, whoever never has a value has one kind of value all the same: none.

Nothing here protects, and nothing is taken from what a method or a ledger says of its groups: rows are counted as they are published, chunk by chunk (`tsveil.guarantee.counting`), and one process holds a few numbers for each record.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tsveil.core.errors import InputError
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.intervals import LEVEL, WORD
from tsveil.data.store import open_store
from tsveil.engine.base import Result, Task
from tsveil.guarantee.chunks import Chunks, Schema, bounds, mark_of, opened_chunk
from tsveil.guarantee.counting import Counts, Table, class_of_rows, number_rows

#: in place of a class, a set or a history: nothing is published
NOTHING = -1
#: persons that a witness names
NAMED = 5


@dataclass(frozen=True, eq=False)
class PersonsOfRelease:
    """The published rows of one release, and whose they are."""

    #: what messages call it
    name: str
    chunks: Chunks
    #: the carried columns
    carried: Sequence[str]
    #: what was protected together: the whole "record", each "block" by itself, or each "column"
    scope: str
    #: the person and the identifier of each published row, numbered alike in all releases; no identifiers: none are published
    persons: Indices
    ids: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))


# -- sets of persons --------------------------------------------------------------------------------------------------


class Witness(NamedTuple):
    """The smallest set of persons that is left: a few of its members, the releases that leave it, and how many persons it has."""

    persons: tuple[int, ...]
    releases: tuple[int, ...]
    left: int


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of persons whom nobody tells apart by what ties their rows."""

    #: the set of each person, or of the identifier with the fewest persons; NOTHING: the person is in none
    of_person: Indices
    #: how many persons are in it; 0: the person is in none
    size: Indices
    #: the smallest; None: there is none
    witness: Witness | None = None

    @classmethod
    def of(cls, sets: Indices, persons: Indices, n: int, shown: Sequence[Mask]) -> Sets:
        """From the set of each identifier (or person) and whose it is, of n persons; `shown` says for each release which of the identifiers are in it.

        Examples
        --------
        >>> found = Sets.of(np.array([0, 0, 1, -1]), np.arange(4), 4, [np.array([True, True, True, False])])
        >>> found.size, found.witness
        (array([2, 2, 1, 0]), Witness(persons=(2,), releases=(0,), left=1))
        """
        there = sets != NOTHING
        pairs = np.stack(np.divmod(np.unique(sets[there] * n + persons[there]), n))
        count = np.bincount(pairs[0])
        size, of_person = np.zeros(n, dtype=np.int64), np.full(n, NOTHING, dtype=np.int64)
        order = np.argsort(-count[pairs[0]], kind="stable")  # the smallest set of a person comes last, and stays
        size[pairs[1][order]], of_person[pairs[1][order]] = count[pairs[0][order]], pairs[0][order]
        if not len(count):
            return cls(of_person, size)
        # Of several, that of the first person: the numbers of sets depend on chunks.
        few_left = count[pairs[0]] == count[count > 0].min()
        least = int(pairs[0][few_left][pairs[1][few_left].argmin()])
        own = sets == least
        releases = tuple(at for at, mask in enumerate(shown) if (mask & own).any())
        few = tuple(pairs[1][pairs[0] == least][:NAMED].tolist())
        return cls(of_person, size, Witness(few, releases, int(count[least])))

    @property
    def smallest(self) -> int | None:
        """The fewest persons in a set."""
        return None if self.witness is None else self.witness.left

    @property
    def persons(self) -> int:
        """How many persons are in a set."""
        return int((self.size > 0).sum())

    @property
    def scores(self) -> Array:
        """The chance of finding each person in a set: one of its size."""
        return 1.0 / self.size[self.size > 0]

    def below(self, k: int) -> int:
        """How many persons are in sets of fewer than k."""
        return int(((self.size > 0) & (self.size < k)).sum())


def numbered(*columns: Indices) -> Indices:
    """A number for each different row of some columns of numbers from -1 on, in their order.

    Examples
    --------
    >>> numbered(np.array([4, 4, -1]), np.array([7, -1, 7]))
    array([2, 1, 0])
    """
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        both = found * (int(column.max(initial=NOTHING)) + 2) + column + 1
        found = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return found


def continued(history: Indices, entry: Indices) -> Indices:
    """Histories with one more entry; NOTHING stays where both are nothing.

    Examples
    --------
    >>> continued(np.array([-1, -1, 0, 0]), np.array([-1, 3, 3, -1]))
    array([-1,  0,  2,  1])
    """
    nothing = (history == NOTHING) & (entry == NOTHING)
    found = numbered(history, entry)
    return np.where(nothing, NOTHING, found - int(nothing.any()))


def entries_of(persons: Indices, classes: Indices, n: int) -> Indices:
    """A number for the classes of each of n persons, each as often as the person has records in it; NOTHING for who has none.

    Examples
    --------
    >>> entries_of(np.array([0, 0, 1, 1, 2, 3]), np.array([5, 6, 6, 5, 5, -1]), 5)
    array([ 1,  1,  0, -1, -1])
    """
    there = classes != NOTHING
    who, what = persons[there], classes[there]
    order = np.lexsort((what, who))
    who, what = who[order], what[order]
    place = np.arange(len(who)) - np.searchsorted(who, who)
    found, used = np.full(n, NOTHING, dtype=np.int64), 0
    by_place = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[by_place], np.arange(int(place.max(initial=-1)) + 2))
    for first, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = by_place[first:end]
        # Who has no further record keeps a number that is given to nobody else.
        found[who[rows]] = used + numbered(found[who[rows]], what[rows])
        used = int(found.max()) + 1
    return found


@dataclass(frozen=True, eq=False)
class Segments:
    """Identifiers over time. One that stands for different persons was issued twice, and each of them has a segment of its own."""

    #: for each release the segment of each row; and whose each segment is
    of_row: tuple[Indices, ...]
    owner: Indices

    @classmethod
    def of(cls, ids: Sequence[Indices], persons: Sequence[Indices]) -> Segments:
        """From the identifier and the person of each row; a row of a release without identifiers is a segment by itself.

        Examples
        --------
        >>> found = Segments.of([np.array([7, 8]), np.array([8]), np.array([])], [np.array([0, 1]), np.array([1]), np.array([0])])
        >>> found.of_row, found.owner
        ((array([1, 2]), array([2]), array([0])), array([0, 0, 1]))
        """
        every, alone = [], -2
        for own, who in zip(ids, persons, strict=True):
            every.append(own if len(own) == len(who) else np.arange(alone, alone - len(who), -1))
            alone -= len(who) * (len(own) != len(who))
        joined, whose = np.concatenate(every), np.concatenate(persons)
        segment = numbered(joined - joined.min(initial=0), whose)
        owner = np.zeros(int(segment.max(initial=NOTHING)) + 1, dtype=np.int64)
        owner[segment] = whose
        return cls(tuple(np.split(segment, np.cumsum([len(one) for one in persons])[:-1])), owner)

    @cached_property
    def stay(self) -> bool:
        """Whether any is in two releases."""
        times = np.zeros(len(self.owner), dtype=np.int64)
        for own in self.of_row:
            times[own] += 1
        return bool(times.max(initial=0) > 1)

    def spread(self, at: int, rows: Indices) -> Indices:
        """What the rows of a release show, for all segments; NOTHING: the segment is not in it."""
        found = np.full(len(self.owner), NOTHING, dtype=np.int64)
        found[self.of_row[at]] = rows
        return found

    def sequences(self, rows: Sequence[Indices]) -> Indices:
        """A number for what each segment shows in all releases."""
        found = np.full(len(self.owner), NOTHING, dtype=np.int64)
        for at, one in enumerate(rows):
            found = continued(found, self.spread(at, one))
        return found

    def sets(self, classes: Sequence[Indices], n: int) -> Sets:
        """The sets of persons whose identifiers show equal sequences of rows in the same segment.

        Examples
        --------
        >>> both = Segments.of([np.array([0, 1, 2]), np.array([0, 1, 3])], [np.arange(3), np.arange(3)])
        >>> found = both.sets([np.array([0, 0, 0]), np.array([5, 5, 6])], 3)
        >>> found.size, found.witness
        (array([2, 2, 1]), Witness(persons=(2,), releases=(1,), left=1))
        """
        shown = [self.spread(at, rows) != NOTHING for at, rows in enumerate(classes)]
        return Sets.of(self.sequences(classes), self.owner, n, shown)


# -- what is compared -------------------------------------------------------------------------------------------------


class Subject(NamedTuple):
    """Columns whose values tie rows: in each release the carried ones among them, and the protected columns in whose classes others of them are published."""

    names: tuple[str, ...]
    carried: tuple[tuple[str, ...], ...]
    units: tuple[tuple[tuple[str, ...], ...], ...]


def whole_row(schema: Schema) -> tuple[str, ...]:
    """All columns of the protected row."""
    return (*schema.numbers, *((WORD, LEVEL) if schema.patterns else ()))


def units_of(release: PersonsOfRelease) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The columns that were protected together with each protected column: of those that do not change in time, and of those of series."""
    schema, still, moving = release.chunks.schema, dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for block in schema.blocks:
        for column in block.columns:
            # An envelope belongs to a series, even if its times have only names.
            kind = moving if schema.intervals or block.times is not None else still
            if schema.intervals or release.scope == "record":
                kind[column] = whole_row(schema)
            else:
                kind[column] = (column,) if release.scope == "column" else block.columns
    return still, moving


def subjects_of(releases: Sequence[PersonsOfRelease]) -> list[Subject]:
    """What ties rows: the columns that are published in two releases or more and belong to no time. Carried ones stand in one row, and so tie together."""
    still = [units_of(release)[0] for release in releases]
    times: dict[str, int] = {}
    for release, own in zip(releases, still, strict=True):
        for name in {*release.carried, *own}:
            times[name] = times.get(name, 0) + 1
    again = [name for name, count in times.items() if count > 1]
    carried = sorted(name for name in again if any(name in release.carried for release in releases))
    found: dict[Any, list[str]] = {}
    for names in [carried, *([name] for name in sorted(set(again) - set(carried)))]:
        shown = tuple(tuple(name for name in names if name in release.carried) for release in releases)
        units = tuple(tuple(dict.fromkeys(own[name] for name in names if name in own)) for own in still)
        if names:
            found.setdefault((shown, units), []).extend(names)
    return [Subject(tuple(names), *key) for key, names in found.items()]


def carried_once(releases: Sequence[PersonsOfRelease]) -> tuple[str, ...]:
    """The columns that one release alone carries, if several releases have such: one of them may be another by a new name."""
    every = [{*release.carried, *units_of(release)[0]} for release in releases]
    found = [sorted(name for name in release.carried if sum(name in own for own in every) == 1) for release in releases]
    return tuple(name for own in found for name in own) if sum(map(bool, found)) > 1 else ()


# -- the published files ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """What was counted of a release: the class of each row by columns, the first row of each class, and the carried cells."""

    classes: Mapping[tuple[str, ...], Indices]
    first: Mapping[tuple[str, ...], Indices]
    starts: tuple[int, ...]
    cells: pl.DataFrame

    @classmethod
    def of(cls, release: PersonsOfRelease, units: Sequence[tuple[str, ...]], carried: Sequence[str]) -> _Rows:
        """Count the classes of some columns, and gather some carried ones."""
        chunks = release.chunks
        units = list(dict.fromkeys([whole_row(chunks.schema), *units]))
        tables = [Table("rows", _columns(chunks.schema, unit)) for unit in units]
        try:
            counts = Counts.of(chunks, tables)
            if counts.problem:
                raise InputError(f"{release.name}: {counts.problem}")
            if counts.n != len(release.persons):
                raise InputError(
                    f"{release.name} publishes {counts.n} records, and {len(release.persons)} persons are named for them"
                )
            pieces = range(len(counts.starts) - 1)
            every = [[class_of_rows(chunks.store, at, table) for at in pieces] for table in range(len(tables))]
            classes = [np.concatenate(one).astype(np.int64) for one in every]
            first = [np.asarray(counts.classes(table).first) for table in range(len(tables))]
        finally:
            chunks.store.remove("verify")
        cells = columns_of_rows(chunks, carried) if carried else pl.DataFrame()
        return cls(dict(zip(units, classes, strict=True)), dict(zip(units, first, strict=True)), counts.starts, cells)


def _columns(schema: Schema, unit: Sequence[str]) -> tuple[str, ...]:
    """The published columns of time points of envelopes; of all others the columns themselves."""
    known = {*schema.numbers, *((WORD, LEVEL) if schema.patterns else ())}
    return tuple(unit) if set(unit) <= known else bounds(unit)


def sets_of_classes(release: PersonsOfRelease, n: int) -> tuple[Indices, Sets]:
    """The class of each published row, and the sets of persons that one release leaves by itself."""
    rows = _Rows.of(release, [], [])
    classes = rows.classes[whole_row(release.chunks.schema)]
    return classes, Sets.of(classes, release.persons, n, [np.ones(len(classes), dtype=np.bool_)])


def columns_of_rows(chunks: Chunks, names: Sequence[str]) -> pl.DataFrame:
    """Columns that stand beside the protected ones, of all published rows."""
    chunks.map(keep_cells, "Reading identifiers and carried columns", columns=list(names))
    cells = pl.concat(
        [chunks.store.get_frame(f"over-time-{at}") for at in range(len(chunks.places))], how="vertical_relaxed"
    )
    chunks.store.remove("over-time-")
    return cells


def keep_cells(task: Task) -> Result:
    """Keep the carried columns of one chunk."""
    chunk = opened_chunk(task["chunk"])
    frame = pl.DataFrame([chunk.cells[name].alias(name) for name in task["columns"]])
    open_store(task["store"]).put_frame(f"over-time-{task['at']}", frame)
    return {}


def keep_marks(task: Task) -> Result:
    """Keep marks of some columns of some rows of one chunk: equal where the published cells are equal."""
    store, at = open_store(task["store"]), int(task["at"])
    low, high = task["starts"][at : at + 2]
    rows = store.get("differences.rows")
    own = rows[(rows >= low) & (rows < high)] - low
    words = opened_chunk(task["chunk"]).words(task["columns"], own, task["secret"]) if len(own) else None
    marks = [] if words is None else [mark_of(row.tobytes(), task["secret"]) for row in words]
    store.put(f"differences-{at}", np.frombuffer(b"".join(marks), dtype=np.uint64).reshape(-1, 2))
    return {}


# -- differences ------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """Columns of a series that two releases publish from different members, or with other values."""

    columns: tuple[str, ...]
    releases: tuple[int, int]
    #: how many persons are in classes that were published before in another way
    persons: int
    #: persons whom one of the releases leaves out of a class of the other: what is left when the two are subtracted
    left: tuple[int, ...]
    #: whether members differ, or values of the same members
    members: bool


def changed_classes(
    before: Indices, whose_before: Indices, now: Indices, whose: Indices, n: int
) -> tuple[Mask, Indices]:
    """Whether each class of a later release has other members than every class of an earlier one although some of them were in it; and for each class the earlier one with the same members.

    Classes are those of rows, members are persons as often as they have rows there.

    Examples
    --------
    >>> changed_classes(np.array([0, 0, 1, 1]), np.arange(4), np.array([0, 0, 1, 2]), np.array([1, 0, 2, 4]), 5)
    (array([False,  True, False]), array([ 0, -1, -1]))
    """
    # A multiset has the sum of random numbers of 128 bits as its mark; two different ones have the same with a chance of 2^-128.
    drawn = np.frombuffer(secrets.token_bytes(16 * n), dtype=np.uint64).reshape(n, 2)

    def members(classes: Indices, persons: Indices) -> AnyArray:
        found = np.zeros((int(classes.max(initial=NOTHING)) + 1, 2), dtype=np.uint64)
        np.add.at(found, classes, drawn[persons])
        return found

    old, new = members(before, whose_before), members(now, whose)
    number = number_rows(np.ascontiguousarray(np.concatenate([old, new]))).of_row
    place = np.full(int(number.max(initial=0)) + 1, NOTHING, dtype=np.int64)
    place[number[: len(old)]] = np.arange(len(old))
    same = place[number[len(old) :]]
    was = np.zeros(n, dtype=np.bool_)
    was[whose_before] = True
    returned = np.zeros(len(new), dtype=np.bool_)
    returned[now[was[whose]]] = True
    return returned & (same == NOTHING), same


def _differences(releases: Sequence[PersonsOfRelease], rows: Sequence[_Rows], n: int) -> Iterator[Difference]:
    """What two releases publish of the same column and time, and not in the same way."""
    moving = [units_of(release)[1] for release in releases]
    for later in range(len(releases)):
        for earlier in range(later):
            shared: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
            for name, unit in moving[later].items():
                if name in moving[earlier]:
                    shared.setdefault((moving[earlier][name], unit), []).append(name)
            for (old, new), names in shared.items():
                both, pair = (releases[earlier], releases[later]), (rows[earlier], rows[later])
                found = _difference(both, pair, (old, new), names, n)
                if found[0]:
                    yield Difference(tuple(names), (earlier, later), *found)


def _difference(
    both: Sequence[PersonsOfRelease], rows: Sequence[_Rows], units: Sequence[tuple[str, ...]], names: Sequence[str], n: int
) -> tuple[int, tuple[int, ...], bool]:  # fmt: skip
    """How many persons are published again in another way, the persons that a subtraction leaves, and whether members differ."""
    (old, new), (before, now) = both, (rows[0].classes[units[0]], rows[1].classes[units[1]])
    changed, same = changed_classes(before, old.persons, now, new.persons, n)
    if changed.any():
        concerned = np.flatnonzero(changed[now])
        at = int(now[concerned[new.persons[concerned].argmin()]])  # that of the first person
        members = np.unique(new.persons[now == at])
        earlier = before[np.isin(old.persons, members)][0]
        was = np.unique(old.persons[before == earlier])
        gone, come = np.setdiff1d(was, members), np.setdiff1d(members, was)
        left = gone if 0 < len(gone) <= (len(come) or len(gone)) else come
        return len(np.unique(new.persons[changed[now]])), tuple(left[:NAMED].tolist()), True
    kept = np.flatnonzero(same != NOTHING)
    secret = secrets.token_bytes(16)
    first = rows[0].first[units[0]][same[kept]], rows[1].first[units[1]][kept]
    marks = [_marks(one, own.starts, at, names, secret) for one, own, at in zip(both, rows, first, strict=True)]
    other = np.zeros(len(same), dtype=np.bool_)
    other[kept] = (marks[0] != marks[1]).any(axis=1)
    return len(np.unique(new.persons[other[now]])), (), False


def _marks(
    release: PersonsOfRelease, starts: Sequence[int], rows: Indices, names: Sequence[str], secret: bytes
) -> AnyArray:
    """Marks of some columns of some rows."""
    chunks, order = release.chunks, np.argsort(rows, kind="stable")
    columns = _columns(chunks.schema, names) + ((WORD, LEVEL) if chunks.schema.patterns else ())
    chunks.store.put("differences.rows", rows[order])
    chunks.map(
        keep_marks, "Comparing values that are published again", columns=columns, starts=list(starts), secret=secret
    )
    found = np.empty((len(rows), 2), dtype=np.uint64)
    found[order] = np.concatenate([chunks.store.get(f"differences-{at}") for at in range(len(chunks.places))])
    chunks.store.remove("differences")
    return found


# -- several releases -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class History:
    """The histories by some columns, and the values that are carried in them."""

    subject: Subject
    sets: Sets
    #: persons and the carried values that were shown of them, in any release
    shown: pl.DataFrame

    @property
    def words(self) -> str:
        """The columns."""
        return ", ".join(map(repr, self.subject.names))


@dataclass(frozen=True, eq=False)
class Composed:
    """What several releases leave together."""

    k: int
    names: tuple[str, ...]
    #: in how many releases each person is
    times: Indices
    identifiers: Sets | None
    histories: tuple[History, ...]
    differences: tuple[Difference, ...]
    #: columns that one release alone carries, where several releases have such
    once: tuple[str, ...] = ()

    @property
    def persons(self) -> int:
        """How many persons are in any release."""
        return len(self.times)

    @property
    def again(self) -> int:
        """How many persons are in more than one release."""
        return int((self.times > 1).sum())

    @property
    def sets(self) -> list[tuple[str, Sets]]:
        """All sets of persons, with words for what ties their rows."""
        found = [("identifiers", self.identifiers)] if self.identifiers is not None else []
        return [*found, *((one.words, one.sets) for one in self.histories)]

    @property
    def holds(self) -> bool:
        """Whether both kinds of composed k are kept, and nothing is published again from other members."""
        return not self.differences and all((sets.smallest or self.k) >= self.k for _, sets in self.sets)

    @cached_property
    def smallest(self) -> int | None:
        """The fewest persons of any set; None: nothing ties rows."""
        return min((sets.smallest for _, sets in self.sets if sets.smallest is not None), default=None)


def compose(releases: Sequence[PersonsOfRelease], k: int, *, stable: bool = False, withheld: bool = False) -> Composed:
    """Judge some releases, in the order in which they were made.

    Parameters
    ----------
    k
        The fewest persons who must remain.
    stable
        Whether identifiers were to stay; then they are judged even where none does.
    withheld
        Whether an empty carried cell may be a value that was withheld. Otherwise whoever has an empty one in all releases has nothing to withhold.

    Examples
    --------
    Ten households, and the next month nine of them; the tariff is carried, and so it ties the months together:

    >>> import tsveil as tv
    >>> def month(time, homes):
    ...     data = tv.Dataset.from_arrays({"load": np.ones((homes, 1))}, times=[time], confidential={"tariff": ["day"] * homes})
    ...     return PersonsOfRelease(time, Chunks.of(data), ["tariff"], "record", np.arange(homes))
    >>> found = compose([month("2026-01", 10), month("2026-02", 9)], k=5)
    >>> found.holds, found.histories[0].sets.witness
    (False, Witness(persons=(9,), releases=(0,), left=1))
    """
    n = 1 + max((int(one.persons.max(initial=NOTHING)) for one in releases), default=NOTHING)
    subjects = subjects_of(releases)
    moving = [set(units_of(release)[1].items()) for release in releases]
    rows = []
    for at, release in enumerate(releases):
        units = [unit for subject in subjects for unit in subject.units[at]]
        others = {name for number, own in enumerate(moving) if number != at for name, _ in own}
        units += [unit for name, unit in moving[at] if name in others]
        rows.append(_Rows.of(release, units, [name for subject in subjects for name in subject.carried[at]]))
    times = np.zeros(n, dtype=np.int64)
    for release in releases:
        times[np.unique(release.persons)] += 1
    segments = Segments.of([one.ids for one in releases], [one.persons for one in releases])
    whole = [own.classes[whole_row(release.chunks.schema)] for release, own in zip(releases, rows, strict=True)]
    identifiers = segments.sets(whole, n) if stable or segments.stay else None
    histories = tuple(_history(subject, releases, rows, segments, n, withheld=withheld) for subject in subjects)
    names = tuple(release.name for release in releases)
    differences = tuple(_differences(releases, rows, n))
    return Composed(k, names, times, identifiers, histories, differences, carried_once(releases))


def _history(
    subject: Subject,
    releases: Sequence[PersonsOfRelease],
    rows: Sequence[_Rows],
    segments: Segments,
    n: int,
    *,
    withheld: bool,
) -> History:
    """The histories by some columns."""
    empty = [
        {name: own.cells[name].is_null().to_numpy() for name in names}
        for own, names in zip(rows, subject.carried, strict=True)
    ]
    valued = {name: np.zeros(n, dtype=np.bool_) for name in subject.names}
    for release, cells in zip(releases, empty, strict=True):
        for name, gaps in cells.items():
            valued[name][release.persons[~gaps]] = True
    classes, shown = [], []
    for at, (release, own) in enumerate(zip(releases, rows, strict=True)):
        parts = [own.classes[unit] for unit in subject.units[at]]
        there = np.full(len(release.persons), bool(parts))
        # Where nothing is withheld, whoever never has a value has none to hide.
        hidden = [gaps & (withheld | valued[name][release.persons]) for name, gaps in empty[at].items()]
        if hidden:
            there |= ~np.all(hidden, axis=0)
            parts += [own.classes[whole_row(release.chunks.schema)], *(gaps.astype(np.int64) for gaps in hidden)]
        classes.append(numbered(*parts) if parts else np.full(len(there), NOTHING))
        shown.append(there)
    carries = any(subject.carried)
    if carries:  # a value stands in the row of an identifier, which ties it to all rows of that identifier
        seen = np.zeros(len(segments.owner), dtype=np.bool_)
        for own_rows, there in zip(segments.of_row, shown, strict=True):
            seen[own_rows[there]] = True
        found = entries_of(segments.owner, np.where(seen, segments.sequences(classes), NOTHING), n)
    else:
        found = np.full(n, NOTHING, dtype=np.int64)
        for release, own_classes in zip(releases, classes, strict=True):
            found = continued(found, entries_of(release.persons, own_classes, n))
    present = [np.isin(np.arange(n), release.persons[there]) for release, there in zip(releases, shown, strict=True)]
    values = [
        pl.DataFrame({"person": release.persons, **{name: own.cells[name] for name in names}})
        for release, own, names in zip(releases, rows, subject.carried, strict=True)
        if names
    ]
    sets = Sets.of(found, np.arange(n), n, present)
    return History(subject, sets, pl.concat(values, how="diagonal_relaxed") if values else pl.DataFrame())
