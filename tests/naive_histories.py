"""Histories by their definition: lists of classes, compared one by one, and an intruder who tries every assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import permutations

#: of one release, the class in which each person is published, None where nothing of that person is
Entries = Sequence[int | None]


def histories(releases: Sequence[Entries]) -> list[tuple[int | None, ...]]:
    """The history of each person."""
    return list(zip(*releases, strict=True))


def composed_k(releases: Sequence[Entries]) -> int | None:
    """The size of the smallest set of persons with one history that is not all "-"."""
    sizes = Counter(one for one in histories(releases) if any(entry is not None for entry in one))
    return min(sizes.values(), default=None)


def withheld(past: Sequence[Entries], now: Entries, k: int) -> set[int]:
    """The persons whose values are withheld, by the rule as it is written."""
    n = len(now)
    before = histories(past) if past else [()] * n
    gone: set[int] = set()
    for one in dict.fromkeys(before):
        members = [person for person in range(n) if before[person] == one]
        parts: dict[int, list[int]] = {}
        for person in members:
            entry = now[person]
            if entry is not None:
                parts.setdefault(entry, []).append(person)
        small = [entry for entry, part in parts.items() if len(part) < k]
        for entry in small:
            gone.update(parts.pop(entry))
        if all(entry is None for entry in one):
            continue
        nothing = len(members) - sum(map(len, parts.values()))
        if nothing == 0:
            continue
        for entry in sorted(parts, key=lambda entry: (len(parts[entry]), entry)):
            if nothing >= k:
                break
            needed = k - nothing
            part = parts[entry]
            taken = part[:needed] if len(part) - needed >= k else part
            gone.update(taken)
            nothing += len(taken)
    return gone


def proved(releases: Sequence[Entries], values: Sequence[str]) -> set[int]:
    """The persons whose value an intruder proves who knows everything but who has which value: those who have the same one in every assignment that explains the files.

    An assignment explains the files if in every release every class shows the same values as it does with the true one.
    """
    n = len(values)

    def shown(assigned: Sequence[str]) -> list[dict[int, list[str]]]:
        found = []
        for entries in releases:
            classes: dict[int, list[str]] = {}
            for person in range(n):
                entry = entries[person]
                if entry is not None:
                    classes.setdefault(entry, []).append(assigned[person])
            found.append({entry: sorted(own) for entry, own in classes.items()})
        return found

    truth = shown(values)
    seen = [person for person in range(n) if any(entries[person] is not None for entries in releases)]
    possible: list[set[str]] = [set() for _ in range(n)]
    for order in set(permutations([values[person] for person in seen])):
        assigned = list(values)
        for person, value in zip(seen, order, strict=True):
            assigned[person] = value
        if shown(assigned) == truth:
            for person in seen:
                possible[person].add(assigned[person])
    return {person for person in seen if len(possible[person]) == 1}


def candidates(releases: Sequence[Sequence[Hashable]], values: Sequence[str]) -> list[set[str]]:
    """For each person the values that remain possible for an intruder who knows everything but whose they are, found by trying all assignments of the values, each to one person, that explain the files.

    Every branch of the search is followed until a person and a value have been seen together in some assignment.
    """
    n = len(values)
    shown = [
        {entry: {values[p] for p in range(n) if entries[p] == entry} for entry in {*entries} - {None}}
        for entries in releases
    ]
    possible: list[set[str]] = [set() for _ in range(n)]

    def fits(person: int, value: str) -> bool:
        """In each release the value stands in the class of the person, or nowhere if nothing of the person is published."""
        for entries, classes in zip(releases, shown, strict=True):
            entry = entries[person]
            if entry is None and any(value in own for own in classes.values()):
                return False
            if entry is not None and value not in classes[entry]:
                return False
        return True

    fitting = [[value for value in values if fits(person, value)] for person in range(n)]

    def complete(assigned: dict[int, str]) -> dict[int, str] | None:
        """Any assignment of all values that goes on from this one."""
        if len(assigned) == n:
            return assigned
        taken = {*assigned.values()}
        free = [person for person in range(n) if person not in assigned]
        person = min(free, key=lambda one: sum(value not in taken for value in fitting[one]))
        for value in fitting[person]:
            if value not in taken and (found := complete({**assigned, person: value})) is not None:
                return found
        return None

    for person in range(n):
        for value in fitting[person]:
            if value not in possible[person] and (found := complete({person: value})) is not None:
                for one, own in found.items():
                    possible[one].add(own)
    return possible
