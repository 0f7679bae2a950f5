"""Composed k over several releases: every violation that the definition finds is found, in memory and in chunks, and named."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import naive_releases as naive
import tsveil as tv
from cases import cases
from naive_releases import Row
from tsveil.core.errors import InputError
from tsveil.data.dataset import Block, Dataset
from tsveil.guarantee.chunks import Chunk, Chunks, schema_of
from tsveil.guarantee.composed import Composed, PersonsOfRelease, compose


def random_releases(chance: random.Random, n: int, count: int, k: int, most: int = 3) -> list[list[Row]]:
    """Groups made anew in some releases; persons come, go, come back and have several records; identifiers stay, change, or are mixed up; values are withheld by chance."""
    groups, found = [0] * n, list[list[Row]]()
    names, fresh = [[person * most + at for at in range(most)] for person in range(n)], n * most
    style = chance.choice(["fresh", "stable", "renewed", "mixed up"])
    records = [chance.choice([1, 1, 1, chance.randint(1, most)]) for _ in range(n)]
    if chance.random() < 0.5:
        records = [1] * n
    for at in range(count):
        if at == 0 or chance.random() < 0.3:
            groups = [chance.randrange(max(n // k, 1)) for _ in range(n)]
        churn, gaps = chance.choice([0.0, 0.1, 0.3]), chance.choice([0.0, 0.0, 0.2])
        rows = []
        for person in range(n):
            if style == "fresh" or (style == "renewed" and chance.random() < 0.3):
                names[person], fresh = list(range(fresh, fresh + most)), fresh + most
            if chance.random() < churn:
                groups[person] = chance.randrange(max(n // k, 1))
            if chance.random() < churn:
                continue
            for own in range(records[person]):
                cell = groups[person] if own == 0 or chance.random() < 0.4 else chance.randrange(max(n // k, 1))
                rows.append(Row(person, names[person][own], cell, chance.random() >= gaps))
        if style == "mixed up" and at:
            order = [row.id for row in rows]
            chance.shuffle(order)
            rows = [row._replace(id=one) for row, one in zip(rows, order, strict=True)]
        chance.shuffle(rows)
        found.append(rows)
    return found


def as_release(rows: Sequence[Row], at: int, chunks: int = 1) -> PersonsOfRelease:
    """A release of which the series has the number of the class as its value, and the carried column the number of the person."""
    data = tv.Dataset.from_arrays(
        {"load": [[float(row.cell), 1.0] for row in rows]},
        times=[f"2026-{at + 1:02d}-01", f"2026-{at + 1:02d}-02"],
        confidential={"value": [f"v{row.person}" if row.shown else None for row in rows]},
    )
    return released(data, f"R{at + 1}", rows, chunks)


def released(data: Dataset, name: str, rows: Sequence[Row], chunks: int = 1, scope: str = "block") -> PersonsOfRelease:
    parts = np.array_split(np.arange(data.n), min(chunks, data.n))
    places = [Chunk.of(data.take(part)) for part in parts]
    persons, ids = np.array([row.person for row in rows]), np.array([row.id for row in rows])
    return PersonsOfRelease(name, Chunks(schema_of(data), places), data.confidential, scope, persons, ids)


def judged(releases: Sequence[Sequence[Row]], k: int, chunks: int = 1) -> Composed:
    """Of releases in which no identifier stays nothing is withheld."""
    shown = [as_release(rows, at, chunks) for at, rows in enumerate(releases) if rows]
    return compose(shown, k, withheld=True)


@pytest.mark.parametrize("case", range(cases(300, 10_000)))
def test_every_violation_is_found(case: int) -> None:
    chance = random.Random(case)
    k = chance.randint(2, 4)
    n = chance.randint(k, 14)
    releases = [rows for rows in random_releases(chance, n, chance.randint(1, 4), k) if rows]
    if not releases:
        return
    found = judged(releases, k, chance.randint(1, 3))
    people = range(found.persons)
    assert found.times.tolist() == [sum(any(row.person == p for row in rows) for rows in releases) for p in people]
    histories = naive.history_sizes(releases, found.persons)
    if len(releases) > 1:
        assert found.histories[0].sets.size.tolist() == histories
    else:
        assert not found.histories
    sequences = naive.sequence_sizes(releases, found.persons)
    assert (None if found.identifiers is None else found.identifiers.size.tolist()) == sequences
    sizes = [size for size in [*(histories if len(releases) > 1 else []), *(sequences or [])] if size]
    assert found.holds == (min(sizes, default=k) >= k)
    for _, sets in found.sets:
        witness = sets.witness
        assert (witness is None) == (sets.smallest is None)
        if witness is not None:
            assert witness.left == min(size for size in sets.size.tolist() if size)
            assert all(sets.size[person] == witness.left for person in witness.persons)
            assert all(any(row.person in witness.persons for row in releases[at]) for at in witness.releases)


@pytest.mark.parametrize("case", range(cases(30, 400)))
def test_who_knows_everything_else_is_left_with_exactly_the_set(case: int) -> None:
    """So a set of one is a value that is proved, and no value is proved where the verifier finds no such set."""
    chance = random.Random(case)
    k = chance.randint(2, 3)
    n = chance.randint(k, 6)
    releases = [rows for rows in random_releases(chance, n, chance.randint(2, 4), k) if rows]
    if len(releases) < 2:
        return
    found = judged(releases, k)
    assert found.histories[0].sets.size.tolist() == naive.candidates(releases, found.persons)


def group(*members: int, cell: int = 0, shown: bool = True) -> list[Row]:
    return [Row(person, person, cell, shown) for person in members]


def test_pairs_of_releases_do_not_suffice() -> None:
    sets = [range(1, 11), range(6, 16), [*range(1, 5), *range(10, 15), 16]]
    releases = [[Row(person, 100 * at + person, 0) for person in own] for at, own in enumerate(sets)]
    for two in ([0, 1], [0, 2], [1, 2]):
        assert judged([releases[at] for at in two], 5).histories[0].sets.smallest == 5
    found = judged(releases, 5)
    assert not found.holds
    assert found.identifiers is None
    assert found.histories[0].sets.witness is not None
    assert found.histories[0].sets.size[10] == 1


def test_identifiers_and_values_tie_together() -> None:
    """Every sequence of an identifier and every plain history is shared by two persons, and yet each value is proved: the identifier leads from the release that shows it to one that does not."""
    cells = [[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    releases = [
        [Row(person, person + 9 * (at == 2), cell, at > 0) for person, cell in enumerate(own)]
        for at, own in enumerate(cells)
    ]
    plain = [naive.plain_history(releases, person) for person in range(4)]
    assert all(plain.count(one) == 2 for one in plain)
    assert naive.sequence_sizes(releases, 4) == [2] * 4
    assert naive.candidates(releases, 4) == [1] * 4
    found = judged(releases, 2)
    assert found.identifiers is not None
    assert found.identifiers.smallest == 2
    assert found.histories[0].sets.size.tolist() == [1] * 4
    assert not found.holds


def test_without_identifiers_that_stay_histories_are_plain() -> None:
    for case in range(100):
        chance = random.Random(case)
        releases = random_releases(chance, 8, 3, 2)
        rows = [[row._replace(id=100 * at + place) for place, row in enumerate(one)] for at, one in enumerate(releases)]
        plain = [naive.plain_history(rows, person) for person in range(8)]
        assert naive.history_sizes(rows, 8) == [plain.count(one) if any(one) else 0 for one in plain]


def test_a_part_of_a_group_that_keeps_its_identifiers_is_found() -> None:
    """One of five leaves: the other four are tied, and so is who left, by an identifier that ended earlier than theirs."""
    before, after = group(0, 1, 2, 3, 4), group(0, 1, 2, 3)
    found = judged([before, after], 5)
    assert found.identifiers is not None
    assert found.identifiers.size.tolist() == [4, 4, 4, 4, 1]
    renewed = [row._replace(id=row.id + 50) for row in after]
    assert judged([before, renewed], 4).identifiers is None


def test_persons_are_counted_not_records() -> None:
    """Two persons with three records each in one class: six records, two persons; and who has two records there is told from who has one."""
    rows = [Row(person, 10 * person + at, 0) for person in (0, 1) for at in range(3)]
    found = judged([rows, [row._replace(id=row.id + 99) for row in rows]], 3)
    assert found.histories[0].sets.size.tolist() == [2, 2]
    assert not found.holds
    again = [row._replace(id=row.id + 99) for row in rows[1:]]
    assert judged([rows, again], 2).histories[0].sets.size.tolist() == [1, 1]


def test_what_is_withheld_shows_nothing() -> None:
    """Ten persons, and then nine: four more are withheld, and five are left in each set."""
    before = group(*range(10))
    after = [*group(*range(4), shown=False), *group(*range(4, 9))]
    assert judged([before, after], 5).histories[0].sets.size.tolist() == [4] * 4 + [5] * 5 + [1]  # identifiers stay
    renewed = [row._replace(id=row.id + 50) for row in after]
    assert judged([before, renewed], 5).histories[0].sets.size.tolist() == [5] * 10
    assert judged([before, group(*range(9))], 5).histories[0].sets.size.tolist() == [9] * 9 + [1]


def test_a_value_that_was_never_there_is_not_withheld() -> None:
    """Without a ledger an empty cell is what the person has; with one it may have been withheld."""
    rows = [Row(0, 0, 0, shown=False), *group(1, 2, 3, 4)]
    both = [as_release(rows, at) for at in range(2)]
    assert compose(both, 5).histories[0].sets.size.tolist() == [5] * 5
    assert compose(both, 5, withheld=True).histories[0].sets.size.tolist() == [0, 4, 4, 4, 4]
    once = [as_release(group(0, 1, 2, 3, 4), 0), as_release(rows, 1)]
    assert compose(once, 5).histories[0].sets.size.tolist() == [1, 4, 4, 4, 4]


# -- which columns tie rows --------------------------------------------------------------------------------------------


def table(at: int, cells: Sequence[float], carried: dict[str, list[str]], ages: Sequence[float] = ()) -> Dataset:
    """A series of one time, a block of one attribute if there is one, and carried columns."""
    blocks = [Block("load", (f"2026-{at + 1:02d}-01",), np.array([0.0]), (f"2026-{at + 1:02d}-01",))]
    values = np.array([cells], dtype=float).T
    if ages:
        blocks.append(Block("person", ("age",)))
        values = np.column_stack([values, ages])
    return Dataset(values, tuple(blocks), pl.DataFrame(carried), confidential=tuple(carried))


EVERYBODY = [Row(person, person, 0) for person in range(6)]
RENAMED = [Row(person, person + 10, 0) for person in range(6)]


def test_a_column_in_one_release_ties_nothing() -> None:
    first = released(table(0, [0, 0, 0, 1, 1, 1], {"town": list("abcdef")}), "A", EVERYBODY)
    second = released(table(1, [0, 1, 0, 1, 0, 1], {"tariff": list("abcdef")}), "B", RENAMED)
    assert compose([first, second], 2).histories == ()
    third = released(table(2, [0, 1, 0, 1, 0, 1], {"town": list("abcdef")}), "C", RENAMED)
    found = compose([first, second, third], 2)
    assert [one.words for one in found.histories] == ["'town'"]
    assert found.histories[0].sets.size.tolist() == [2, 1, 2, 2, 1, 2]


def test_columns_of_one_row_tie_together() -> None:
    """A is in the first two releases and B in the last two: the middle one has both in each row, so all three are tied."""
    names = list("abcdef")
    first = released(table(0, [0, 0, 0, 1, 1, 1], {"A": names}), "1", EVERYBODY)
    middle = released(table(1, [0, 0, 0, 0, 0, 0], {"A": names, "B": names}), "2", RENAMED)
    last = released(
        table(2, [0, 1, 1, 0, 0, 1], {"B": names}), "3", [row._replace(id=row.id + 50) for row in EVERYBODY]
    )
    found = compose([first, middle, last], 2)
    assert [one.words for one in found.histories] == ["'A', 'B'"]
    assert found.histories[0].sets.size.tolist() == [1, 2, 2, 2, 2, 1]


def test_protected_columns_without_times_tie_by_their_own_classes() -> None:
    """The age is protected by itself: its groups count, not those of the series; protected as a whole record, those of both."""
    first = table(0, [0, 0, 0, 1, 1, 1], {}, [30, 30, 30, 40, 40, 40])
    second = table(1, [0, 1, 2, 0, 1, 2], {}, [31, 31, 31, 39, 39, 39])
    block = compose([released(first, "A", EVERYBODY), released(second, "B", RENAMED)], 3)
    assert [one.words for one in block.histories] == ["'age'"]
    assert block.holds
    whole = compose(
        [released(first, "A", EVERYBODY, scope="record"), released(second, "B", RENAMED, scope="record")], 3
    )
    assert whole.histories[0].sets.size.tolist() == [1] * 6


def test_a_column_carried_once_and_protected_once_ties() -> None:
    first = released(table(0, [0, 0, 0, 1, 1, 1], {"age": list("abcdef")}), "A", EVERYBODY)
    second = released(table(1, [0, 0, 0, 0, 0, 0], {}, [1, 1, 2, 2, 1, 1]), "B", RENAMED)
    assert compose([first, second], 2).histories[0].sets.size.tolist() == [2, 2, 1, 1, 2, 2]


# -- differences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", range(cases(100, 2_000)))
def test_differences_are_found(case: int) -> None:
    chance = random.Random(case)
    n = chance.randint(2, 10)
    both, values = [], []
    first = [chance.randrange(3) for _ in range(n)]
    level = [chance.choice([1.0, 2.0]) for _ in range(4)]
    for at in range(2):
        cells = [cell if chance.random() > 0.1 else chance.randrange(3) for cell in first] if at else first
        level = level if chance.random() < 0.7 else level[::-1]
        rows = [Row(person, person + 50 * at, cells[person]) for person in range(n) if chance.random() > 0.1]
        rows += [row for row in rows if chance.random() < 0.1]
        both.append(rows)
        # The second column keeps classes apart that have the same value in the first.
        values.append([[level[row.cell], float(row.cell)] for row in rows])
    if not all(both):
        return
    shown = []
    for at, (rows, own) in enumerate(zip(both, values, strict=True)):
        data = tv.Dataset.from_arrays({"load": own}, times=["2026-01-01", f"2026-01-0{at + 2}"])
        shown.append(released(data, f"R{at}", rows, chance.randint(1, 3)))
    found = compose(shown, 2)
    expected = naive.published_again(both[0], [v[0] for v in values[0]], both[1], [v[0] for v in values[1]])
    assert bool(found.differences) == bool(expected)
    if expected:
        [difference] = found.differences
        assert difference.columns == ("2026-01-01",)
        assert difference.releases == (0, 1)
        assert set(difference.left) <= set(range(n))
        # Where members differ, values that differ elsewhere are not counted as well.
        assert 0 < difference.persons <= len(expected)


def test_what_a_difference_leaves_is_named() -> None:
    """The mean of ten and then the mean of nine of them: the tenth is left."""
    shown = []
    for at, members in enumerate([range(10), range(9)]):
        data = tv.Dataset.from_arrays({"load": [[5.0 + at]] * len(members)}, times=["2026-01-01"])
        shown.append(released(data, f"R{at}", group(*members)))
    [found] = compose(shown, 5).differences
    assert (found.left, found.persons, found.columns) == ((9,), 9, ("2026-01-01",))


@pytest.mark.parametrize("other", [5.0, 5.0000000001, -0.0])
def test_the_same_classes_publish_the_same_value_to_the_bit(other: float) -> None:
    shown = []
    for at, value in enumerate([5.0 if other else 0.0, other]):
        data = tv.Dataset.from_arrays({"load": [[value]] * 4}, times=["2026-01-01"])
        shown.append(released(data, f"R{at}", group(*range(4))))
    found = compose(shown, 2).differences
    assert [(one.left, one.persons) for one in found] == ([] if other == 5.0 else [((), 4)])


def test_new_classes_of_newcomers_are_no_differences() -> None:
    shown = []
    for at, rows in enumerate([group(0, 1), [*group(1, 0), *group(2, 3, cell=1)]]):
        data = tv.Dataset.from_arrays({"load": [[float(row.cell)] for row in rows]}, times=["2026-01-01"])
        shown.append(released(data, f"R{at}", rows))
    assert compose(shown, 2).differences == ()


# -- files that are not what they should be -----------------------------------------------------------------------------


def test_persons_for_other_rows_are_refused() -> None:
    one = as_release(group(0, 1, 2), 0)
    with pytest.raises(InputError, match="R1 publishes 3 records, and 2 persons are named for them"):
        compose([PersonsOfRelease("R1", one.chunks, one.carried, "block", np.arange(2))], 2)


def test_missing_values_are_refused() -> None:
    data = Dataset(np.array([[np.nan], [1.0]]), (Block("age", ("age",)),), pl.DataFrame(), missing=True)
    with pytest.raises(InputError, match="R1: 1 missing or infinite value"):
        compose([released(data, "R1", group(0, 1))], 2)


def test_envelopes_are_judged_by_their_rows() -> None:
    data = tv.example("load-curves")
    once = tv.KAnonymousEnvelopes(k=5).protect(data, seed=1).table
    again = tv.KAnonymousEnvelopes(k=4).protect(data, seed=2).table
    shown = [
        PersonsOfRelease(name, Chunks.of(table), table.others.columns, "block", np.arange(table.n))
        for name, table in (("A", once), ("B", again))
    ]
    found = compose(shown, 4)
    assert found.differences  # the same times, from other members
    assert compose([shown[0], shown[0]], 5).holds
