"""Which cells of keys are emptied: the least number by integer programming, or a greedy choice with a lower bound for what is needed.

`codes` has a row for each record and a column for each key, with labels as numbers from 0 and -1 for a cell that is empty already. The combinations that must be
shared are those of all keys, or of every `size` of them: what is shared over some columns is shared over fewer.

Strict reading, an empty cell equals only an empty cell. With x_us the number of records of kind u (equal keys) that are published with the cells s emptied, and y_h
whether a class h of equal published combinations has any record:

    minimise  sum_us |s| x_us      so that   sum_s x_us = n_u,    sum_{us in h} x_us >= k y_h,    x_us <= n_u y_h for us in h

Wildcard reading, an empty cell may be anything: for each original combination c at least k records must be compatible with it,

    sum_{us compatible with c} x_us >= k

Where a person has several records, z_ph <= sum of that person's x in h, at most 1, counts persons in place of x.

A solver that was stopped early has proven a bound all the same. Larger files are emptied step by step (`_greedy_strict`), and the bound is that of the programme
without whole numbers, or the sum over the records of the fewest cells after which k persons could be alike at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from tsveil.core.types import AnyArray, Indices, Mask

#: the code of an empty cell
EMPTY = -1
#: variables and entries of an integer programme that is tried, and its branches; the same for one without whole numbers, which gives a bound only
VARIABLES, ENTRIES, BRANCHES = 40_000, 200_000, 400
RELAXED_VARIABLES, RELAXED_ENTRIES = 150_000, 2_000_000
#: emptied records for which it is tried to give cells back, and comparisons of combinations for that in the wildcard reading
GIVEN_BACK, COMPARED = 200_000, 2 * 10**7

Search = Literal["auto", "exact", "greedy"]


@dataclass(frozen=True, eq=False)
class Emptied:
    """What is emptied."""

    #: records by keys
    cells: Mask
    #: as few cells as this, or more, are emptied by any choice that keeps the promise
    needed: int

    @property
    def count(self) -> int:
        """The number of emptied cells."""
        return int(self.cells.sum())


@dataclass(frozen=True, eq=False)
class Problem:
    """What must be shared, and by how many."""

    codes: Indices
    #: the person of each record, numbered from 0
    persons: Indices
    k: int
    #: the number of keys that make a combination
    size: int
    wildcard: bool

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """The combinations of keys."""
        return list(combinations(range(self.codes.shape[1]), self.size))

    @property
    def several(self) -> bool:
        """Whether some person has more than one record."""
        return len(np.unique(self.persons)) < len(self.persons)

    def kept(self, cells: Mask) -> bool:
        """Whether what is left keeps the promise."""
        made = np.where(cells, EMPTY, self.codes)
        if not self.wildcard:
            return all(
                int(persons_of(classes_of(made[:, own]), self.persons)[0].min()) >= self.k for own in self.subsets
            )
        return all(int(compatible_persons(self, made, own).min()) >= self.k for own in self.subsets)


def emptied(problem: Problem, search: Search = "auto") -> Emptied:
    """The cells to empty; `auto` finds the least number where it can be computed in a few seconds.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]])
    >>> found = emptied(Problem(codes, np.arange(5), 2, 2, False))
    >>> found.count, found.needed
    (5, 5)
    """
    nothing = np.zeros(problem.codes.shape, dtype=np.bool_)
    if problem.kept(nothing):
        return Emptied(nothing, 0)
    model = None if search == "greedy" else Model.of(problem, limited=search == "auto")
    found = None if model is None else model.solve(whole=search == "exact" or model.small, limited=search == "auto")
    if found is not None and found.cells is not None and found.cells.sum() <= found.needed:
        return Emptied(found.cells, found.needed)
    best = _greedy(problem)
    if found is not None and found.cells is not None and found.cells.sum() < best.sum():
        best = _given_back(problem, found.cells)
    return Emptied(best, max(0 if found is None else found.needed, _fewest_cells(problem)))


# -- what is counted --------------------------------------------------------------------------------------------------


def classes_of(rows: Indices) -> Indices:
    """The class of each row, numbered from 0: equal rows are of one class.

    Examples
    --------
    >>> classes_of(np.array([[1, -1], [0, 0], [1, -1]])).tolist()
    [1, 0, 1]
    """
    found = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        number = np.unique(column, return_inverse=True)[1].ravel()
        found = np.unique(found * (int(number.max(initial=0)) + 1) + number, return_inverse=True)[1].ravel()
    return found.astype(np.int64)


def persons_of(of_row: Indices, persons: Indices) -> tuple[Indices, Indices]:
    """How many persons each class has, and each row's class has."""
    many = int(persons.max(initial=0)) + 1
    pairs = np.unique(of_row * many + persons)
    found = np.bincount(pairs // many, minlength=int(of_row.max(initial=-1)) + 1)
    return found, found[of_row]


def compatible_persons(problem: Problem, made: Indices, own: Sequence[int]) -> Indices:
    """For each original combination of some keys the number of persons with a published record that is compatible with it."""
    wanted = np.unique(problem.codes[:, own], axis=0)
    if not problem.several:
        rows, count = np.unique(made[:, own], axis=0, return_counts=True)
        found = np.zeros(len(wanted), dtype=np.int64)
        for at, row in enumerate(wanted):
            found[at] = count[((rows == EMPTY) | (rows == row)).all(axis=1)].sum()
        return found
    shown = made[:, own]
    fits = (((shown == EMPTY) | (shown == row)).all(axis=1) for row in wanted)
    return np.array([len(np.unique(problem.persons[one])) for one in fits], dtype=np.int64)


# -- integer programming ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: cells, if any choice, and a bound."""

    cells: Mask | None
    needed: int


class Rows:
    """Constraints in sparse form, and the variables beyond the first ones."""

    def __init__(self, variables: int) -> None:
        self.upper = [np.inf] * variables
        self.integral = [1] * variables
        self.low, self.high = list[float](), list[float]()
        self.columns, self.values = list[AnyArray](), list[AnyArray]()
        self.entries = 0

    def add(self, columns: AnyArray, values: AnyArray, low: float, high: float) -> None:
        """Low <= sum of values * variables <= high."""
        self.columns.append(columns)
        self.values.append(values)
        self.low.append(low)
        self.high.append(high)
        self.entries += len(columns)

    def variable(self, *, integral: bool) -> int:
        """A new variable from 0 to 1."""
        self.upper.append(1.0)
        self.integral.append(int(integral))
        return len(self.upper) - 1

    def count_persons(self, variables: Indices, who: Indices, alone: Mask) -> tuple[AnyArray, AnyArray]:
        """What counts the persons behind some variables: these themselves where a person has one record, else one new variable for each person."""
        found = [int(x) for x in variables[alone]]
        for person in np.unique(who[~alone]).tolist():
            own = variables[~alone & (who == person)]
            there = self.variable(integral=False)
            self.add(np.append(own, there), np.append(np.ones(len(own)), -1.0), 0, np.inf)
            found.append(there)
        return np.array(found, dtype=np.int64), np.ones(len(found))


@dataclass(frozen=True, eq=False)
class Model:
    """The programme."""

    problem: Problem
    #: kinds of records (equal keys, and the same person where persons have several records), each with its records
    kinds: list[Indices]
    #: for each of the first variables its kind, and the cells that it empties as a row of marks
    kind: Indices
    marks: Mask
    rows: Rows

    @classmethod
    def of(cls, problem: Problem, *, limited: bool) -> Model | None:
        """The programme of a problem; None if it is too large."""
        codes, k, several = problem.codes, problem.k, problem.several
        of_kind = classes_of(np.column_stack([codes, problem.persons]) if several else codes)
        order = np.argsort(of_kind, kind="stable")
        kinds = np.split(order, np.flatnonzero(np.diff(of_kind[order])) + 1)
        patterns = all_marks(codes.shape[1])
        if limited and len(kinds) * len(patterns) > RELAXED_VARIABLES:
            return None
        first = np.array([rows[0] for rows in kinds])
        keys, who = codes[first], problem.persons[first]
        number = np.array([len(rows) for rows in kinds])
        # A cell that is empty already is not emptied again.
        kind, pattern = np.nonzero((~patterns[None, :, :] | (keys[:, None, :] != EMPTY)).all(axis=2))
        marks = patterns[pattern]
        rows = Rows(len(kind))
        starts = np.searchsorted(kind, np.arange(len(kinds) + 1))
        for at, count in enumerate(number.tolist()):
            own = np.arange(starts[at], starts[at + 1])
            rows.add(own, np.ones(len(own)), count, count)
        rows.upper = number[kind].astype(float).tolist()
        if not several and not problem.wildcard and problem.size == codes.shape[1]:
            rows.integral = [0] * len(
                kind
            )  # given the classes, this is a transport of records, which is whole by itself
        shown = np.where(marks, EMPTY, keys[kind])
        alone = np.bincount(problem.persons)[who] == 1 if several else np.ones(len(kinds), dtype=np.bool_)
        for own in _sharing(problem, shown):
            if limited and rows.entries > RELAXED_ENTRIES:
                return None
            columns, values = own, np.ones(len(own))
            if not alone[kind[own]].all():
                columns, values = rows.count_persons(own, who[kind[own]], alone[kind[own]])
            if problem.wildcard:
                rows.add(columns, values, k, np.inf)
                continue
            there = np.unique(kind[own])
            if (len(np.unique(who[there])) if several else int(number[there].sum())) < k:
                for x in own.tolist():
                    rows.upper[x] = 0.0
                continue
            used = rows.variable(integral=True)
            rows.add(np.append(columns, used), np.append(values, -k), 0, np.inf)
            for x in own.tolist():
                rows.add(np.array([x, used]), np.array([1.0, -float(number[kind[x]])]), -np.inf, 0)
        return cls(problem, kinds, kind, marks, rows)

    @property
    def small(self) -> bool:
        """Whether whole numbers may be asked for."""
        return len(self.rows.upper) <= VARIABLES and self.rows.entries <= ENTRIES

    def solve(self, *, whole: bool, limited: bool) -> Solution:
        """Solve it, with whole numbers or without, which gives a bound only."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows, n = self.rows, len(self.rows.upper)
        ends = np.cumsum([0, *map(len, rows.columns)])
        entries = (np.concatenate(rows.values), np.concatenate(rows.columns), ends)
        cost = np.zeros(n)
        cost[: len(self.kind)] = self.marks.sum(axis=1)
        done = milp(
            cost,
            integrality=np.array(rows.integral) if whole else np.zeros(n),
            bounds=Bounds(np.zeros(n), np.array(rows.upper)),
            constraints=LinearConstraint(csr_array(entries, shape=(len(rows.low), n)), rows.low, rows.high),
            options={"disp": False, "mip_rel_gap": 0.0, **({"node_limit": BRANCHES} if limited else {})},
        )
        bound = done.mip_dual_bound if whole else done.fun
        needed = 0 if bound is None or not np.isfinite(bound) else max(0, int(np.ceil(bound - 1e-6)))
        if not whole or done.x is None:
            return Solution(None, needed)
        cells = self._cells(np.rint(done.x[: len(self.kind)]).astype(np.int64))
        # A solver works with rounded numbers: what it found must be counted.
        return Solution(cells if cells is not None and self.problem.kept(cells) else None, needed)

    def _cells(self, x: Indices) -> Mask | None:
        """The cells to empty: the records of a kind are equal, so those that come first keep most; None if the numbers do not add up."""
        cells = np.zeros(self.problem.codes.shape, dtype=np.bool_)
        for kind, rows in enumerate(self.kinds):
            own = np.flatnonzero(self.kind == kind)
            if x[own].sum() != len(rows):
                return None
            cells[rows] = np.repeat(self.marks[own], x[own], axis=0)
        return cells


def all_marks(width: int) -> Mask:
    """Every choice of some columns as a row of marks, those with the fewest first.

    Examples
    --------
    >>> all_marks(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    chosen = [own for size in range(width + 1) for own in combinations(range(width), size)]
    return np.array([[at in own for at in range(width)] for own in chosen], dtype=np.bool_).reshape(-1, width)


def _sharing(problem: Problem, shown: Indices) -> Iterator[Indices]:
    """The variables that make each class of equal published combinations; or those that are compatible with each original combination."""
    for own in problem.subsets:
        if not problem.wildcard:
            of_class = classes_of(shown[:, own])
            order = np.argsort(of_class, kind="stable")
            yield from np.split(order, np.flatnonzero(np.diff(of_class[order])) + 1)
            continue
        some = shown[:, own]
        for row in np.unique(problem.codes[:, own], axis=0):
            yield np.flatnonzero(((some == EMPTY) | (some == row)).all(axis=1))


# -- step by step -----------------------------------------------------------------------------------------------------


def _fewest_cells(problem: Problem) -> int:
    """A bound without a programme: the sum over the records of the fewest cells of theirs after which k persons could be alike at all.

    In the wildcard reading the cells of others are emptied as well: it is the largest number that one combination needs by itself.
    """
    codes, persons, k = problem.codes, problem.persons, problem.k
    if problem.wildcard:
        most = 0
        for own in problem.subsets:
            some = codes[:, own]
            few = np.unique(some, axis=0)[compatible_persons(problem, codes, own) < k]
            for row in few[: max(1, COMPARED // max(1, some.size))]:
                differ = ((some != EMPTY) & (some != row)).sum(axis=1)
                nearest = np.full(int(persons.max()) + 1, some.shape[1] + 1)
                np.minimum.at(nearest, persons, differ)
                most = max(most, int(np.sort(nearest)[:k].sum()))
        return most
    least = np.full(len(codes), codes.shape[1])
    for marks in all_marks(codes.shape[1]):
        made = np.where(marks, EMPTY, codes)
        enough = np.ones(len(codes), dtype=np.bool_)
        for own in problem.subsets:
            # Who could be alike: whoever agrees where nothing is emptied.
            enough &= persons_of(classes_of(made[:, own]), persons)[1] >= k
        new = (marks & (codes != EMPTY)).sum(axis=1)
        least = np.where(enough & (new < least), new, least)
    return int(least.sum())


def _greedy(problem: Problem) -> Mask:
    """Empty cells step by step until the promise is kept; then give back what it does not need."""
    made = problem.codes.copy()
    while any(_repair(problem, made, own) for own in problem.subsets):
        pass
    cells = made != problem.codes
    if not problem.wildcard:
        return _given_back(problem, cells)
    # In the wildcard reading k empty records are compatible with everybody.
    first = np.sort(np.unique(problem.persons, return_index=True)[1])[: problem.k]
    empty = np.zeros_like(cells)
    empty[first] = problem.codes[first] != EMPTY
    return min((_given_back(problem, one) for one in (empty, cells)), key=lambda found: int(found.sum()))


def _given_back(problem: Problem, cells: Mask) -> Mask:
    """The cells without those that need not be empty; of very many records as they are."""
    if int(cells.any(axis=1).sum()) > GIVEN_BACK:
        return cells
    return _given_back_wildcard(problem, cells) if problem.wildcard else _given_back_strict(problem, cells)


def _repair(problem: Problem, made: Indices, own: tuple[int, ...]) -> bool:
    """Empty cells of some keys until each of their classes has k persons, strictly read; gives whether any were emptied.

    Combinations that too few persons share are tried with one more empty cell, then with two, and so on: what k of them, or they and a class that
    there is already, have in common then is settled. Where it costs less than one more cell for each of them, records of larger classes join.
    """
    columns, k, persons = np.array(own), problem.k, problem.persons
    bad = np.flatnonzero(persons_of(classes_of(made[:, columns]), persons)[1] < k)
    if not len(bad):
        return False
    for fewer in range(1, len(columns) + 1):
        patterns = [marks for marks in all_marks(len(columns)) if marks.sum() == fewer]
        while len(bad):
            tried = [_settled(made, bad, columns, marks, problem) for marks in patterns]
            most = int(np.argmax([one.sum() for one in tried]))
            if not tried[most].any():
                break
            rows = bad[tried[most]]
            made[np.ix_(rows, columns[patterns[most]])] = EMPTY
            bad = bad[~tried[most]]
        for marks in patterns if len(bad) else ():
            bad = _joined(made, bad, columns, marks, problem, last=fewer == len(columns))
    return True


def _settled(made: Indices, bad: Indices, columns: Indices, marks: Mask, problem: Problem) -> Mask:
    """Which of the records would be in a class of k persons if these cells were emptied; a class may be there already."""
    # Only classes that are published with these cells empty can be joined as they are.
    there = (made[:, columns[marks]] == EMPTY).all(axis=1)
    there[bad] = False
    rows = np.concatenate([bad, np.flatnonzero(there)])
    shown = np.where(marks, EMPTY, made[np.ix_(rows, columns)])
    count = persons_of(classes_of(shown), problem.persons[rows])[1][: len(bad)]
    found: Mask = count >= problem.k
    return found


def _joined(made: Indices, bad: Indices, columns: Indices, marks: Mask, problem: Problem, *, last: bool) -> Indices:
    """Let records of larger classes join those of too few persons where these cells are emptied and that is cheap, at the `last` chance always; gives who is left."""
    persons, k, fewer = problem.persons, problem.k, int(marks.sum())
    now = classes_of(made[:, columns])
    spare = persons_of(now, persons)[0] - k
    wanted = classes_of(np.where(marks, EMPTY, made[:, columns]))
    is_bad = np.zeros(len(made), dtype=np.bool_)
    is_bad[bad] = True
    order = np.argsort(wanted, kind="stable")
    starts = np.searchsorted(wanted[order], np.arange(int(wanted.max()) + 2))
    left = [np.zeros(0, dtype=np.int64)]
    for number in np.unique(wanted[bad]).tolist():
        members = order[starts[number] : starts[number + 1]]
        own, others = members[is_bad[members]], members[~is_bad[members]]
        seen = set(persons[own].tolist())
        if not last and fewer * k > (fewer + 1) * len(seen):
            left.append(own)
            continue
        price = (made[np.ix_(others, columns[marks])] != EMPTY).sum(axis=1)
        chosen = list[int]()
        for row in others[np.argsort(price, kind="stable")].tolist():
            if len(seen) == k:
                break
            if int(persons[row]) not in seen and spare[now[row]] > 0:
                chosen.append(row)
                seen.add(int(persons[row]))
                spare[now[row]] -= 1
        if len(seen) < k:
            spare[now[chosen]] += np.bincount(now[chosen], minlength=len(spare))[now[chosen]] if chosen else 0
            if not last:
                left.append(own)
                continue
            # Too few can be spared: whole classes join, those with the fewest cells to empty first.
            chosen = _whole_classes(others, price, now, persons, set(persons[own].tolist()), k)
        made[np.ix_(np.concatenate([own, np.array(chosen, dtype=np.int64)]), columns[marks])] = EMPTY
    return np.concatenate(left)


def _whole_classes(
    others: Indices, price: Indices, now: Indices, persons: Indices, seen: set[int], k: int
) -> list[int]:
    """Records of classes that join as a whole until there are k persons."""
    found: list[int] = []
    place = np.unique(now[others], return_inverse=True)[1].ravel()
    for number in np.argsort(np.bincount(place, weights=price), kind="stable").tolist():
        if len(seen) >= k:
            break
        rows = others[place == number].tolist()
        found += rows
        seen |= {int(persons[row]) for row in rows}
    return found


def _fillings(cells: Mask) -> Iterator[Mask]:
    """What may stay empty of the empty cells of a record if others are given back, the fewest first."""
    places = np.flatnonzero(cells)
    for marks in all_marks(len(places))[:-1]:
        kept = np.zeros(len(cells), dtype=np.bool_)
        kept[places[marks]] = True
        yield kept


def _given_back_strict(problem: Problem, cells: Mask) -> Mask:
    """Cells given back until nothing more can be: by whole classes in the columns in which their records agree, where all keys count together, and by single records."""
    while True:
        fewer = cells
        if problem.size == cells.shape[1]:
            fewer = _without_agreement(problem, fewer)
        fewer = _given_back_by_record(problem, fewer)
        if fewer.sum() == cells.sum():
            return cells
        cells = fewer


def _without_agreement(problem: Problem, cells: Mask) -> Mask:
    """Each class gets back the columns in which all its records have one label: nobody leaves it, or all do."""
    cells = cells.copy()
    for at in range(cells.shape[1]):
        of_row = classes_of(np.where(cells, EMPTY, problem.codes))
        low, high = np.full(len(of_row), np.iinfo(np.int64).max), np.full(len(of_row), EMPTY)
        np.minimum.at(low, of_row, problem.codes[:, at])
        np.maximum.at(high, of_row, problem.codes[:, at])
        cells[(low == high)[of_row], at] = False
    return cells


def _given_back_by_record(problem: Problem, cells: Mask) -> Mask:
    """Cells that records get back because a class with more cells has k persons, and the class that they leave still has k without them, or nobody."""
    cells, subsets = cells.copy(), problem.subsets
    made = np.where(cells, EMPTY, problem.codes)
    members: list[dict[tuple[int, ...], Counter[int]]] = []
    for own in subsets:
        found: dict[tuple[int, ...], Counter[int]] = {}
        for row, person in zip(made[:, own].tolist(), problem.persons.tolist(), strict=True):
            found.setdefault(tuple(row), Counter())[person] += 1
        members.append(found)
    for row in np.argsort(-cells.sum(axis=1), kind="stable")[: int(cells.any(axis=1).sum())].tolist():
        person = int(problem.persons[row])
        for kept in _fillings(cells[row]):
            new = np.where(kept, EMPTY, problem.codes[row])
            moves = [
                (classes, tuple(made[row, own].tolist()), tuple(new[list(own)].tolist()))
                for classes, own in zip(members, subsets, strict=True)
            ]
            moves = [(classes, old, fuller) for classes, old, fuller in moves if old != fuller]
            if all(
                len(classes.get(fuller, {})) + (person not in classes.get(fuller, {})) >= problem.k
                and (len(classes[old]) - (classes[old][person] == 1)) not in range(1, problem.k)
                for classes, old, fuller in moves
            ):
                for classes, old, fuller in moves:
                    classes[old] -= Counter({person: 1})
                    classes.setdefault(fuller, Counter())[person] += 1
                cells[row], made[row] = kept, new
                break
    return cells


def _given_back_wildcard(problem: Problem, cells: Mask) -> Mask:
    """Cells that records get back because every combination is compatible with k persons all the same; as they are where that takes too long."""
    cells, subsets = cells.copy(), problem.subsets
    wanted = [np.unique(problem.codes[:, own], axis=0) for own in subsets]
    emptied_rows = np.argsort(-cells.sum(axis=1), kind="stable")[: int(cells.any(axis=1).sum())].tolist()
    tries = len(emptied_rows) * 2 ** problem.codes.shape[1] * sum(map(len, wanted))
    many = int(problem.persons.max()) + 1
    if tries > COMPARED or many * sum(map(len, wanted)) > COMPARED:
        return cells
    made = np.where(cells, EMPTY, problem.codes)
    records = []
    for own, rows in zip(subsets, wanted, strict=True):
        count = np.zeros((len(rows), many), dtype=np.int64)
        for row, person in zip(made[:, own], problem.persons.tolist(), strict=True):
            count[:, person] += _fits(row, rows)
        records.append(count)
    for row in emptied_rows:
        person = int(problem.persons[row])
        for kept in _fillings(cells[row]):
            new = np.where(kept, EMPTY, problem.codes[row])
            lost = [
                _fits(made[row, own], rows) & ~_fits(new[list(own)], rows)
                for own, rows in zip(subsets, wanted, strict=True)
            ]
            if all(
                ((count[gone] > 0).sum(axis=1) - (count[gone, person] == 1) >= problem.k).all()
                for count, gone in zip(records, lost, strict=True)
            ):
                for count, gone in zip(records, lost, strict=True):
                    count[gone, person] -= 1
                cells[row], made[row] = kept, new
                break
    return cells


def _fits(row: Indices, combinations: Indices) -> Mask:
    """Which original combinations a published row is compatible with."""
    found: Mask = ((row == EMPTY) | (row == combinations)).all(axis=1)
    return found


# -- what an intruder knows of it -------------------------------------------------------------------------------------


def largest_share_of_a_label(problem: Problem, cells: Mask) -> float:
    """The largest share of one label among the records of a class in a column that is empty there: what a guess at an emptied cell finds at most.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [0, 1], [1, 1], [1, 1]])
    >>> cells = np.zeros((5, 2), dtype=bool)
    >>> cells[:3, 1] = True
    >>> round(largest_share_of_a_label(Problem(codes, np.arange(5), 2, 2, False), cells), 3)
    0.667
    """
    of_row = classes_of(np.where(cells, EMPTY, problem.codes))
    size, most = np.bincount(of_row), 0.0
    for at in range(cells.shape[1]):
        rows = np.flatnonzero(cells[:, at])
        if len(rows):
            pairs, count = np.unique(
                np.column_stack([of_row[rows], problem.codes[rows, at]]), axis=0, return_counts=True
            )
            most = max(most, float((count / size[pairs[:, 0]]).max()))
    return most
