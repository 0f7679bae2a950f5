"""Releases that continue each other: no set of persons with one history falls below k, and an intruder who tries every assignment proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from cases import cases
from naive_histories import candidates
from tsveil.core.errors import InputError, ParameterError
from tsveil.data.dataset import Dataset
from tsveil.data.records import in_published_order
from tsveil.protect.base import Method
from tsveil.protect.univariate import OptimalUnivariate
from tsveil.release.ledger import read_ledger
from tsveil.release.release import Release

METHODS: dict[str, Callable[..., Method]] = {
    "mdav": tv.MDAV,
    "plain": lambda k: tv.MDAV(k=k, refine="none"),
    "v-mdav": tv.VMDAV,
    "univariate": OptimalUnivariate,
}


@dataclass(frozen=True)
class Seen:
    """What a published file shows of each person: the classes (equal rows), the identifiers, and the carried values beside them."""

    #: person -> rows, one for each record: (class, identifier, carried value or None)
    rows: dict[str, list[tuple[bytes, str, str | None]]]

    @classmethod
    def of(cls, release: Release) -> Seen:
        shown = in_published_order(release.store, 0)
        table = shown.published
        assert isinstance(table, Dataset)
        owners = [owner(release.original, number) for number in shown.numbers[shown.rows].tolist()]
        carried = table.others["secret"].to_list() if "secret" in table.others.columns else ["-"] * table.n
        rows: dict[str, list[tuple[bytes, str, str | None]]] = {}
        for person, values, name, secret in zip(owners, table.values, table.ids, carried, strict=True):
            rows.setdefault(person, []).append((values.tobytes(), name, secret))
        return cls(rows)

    def entry(self, person: str) -> tuple[bytes, ...] | None:
        """The classes in which values of a person are published that tie releases."""
        own = sorted(found for found, _, secret in self.rows.get(person, []) if secret is not None)
        return tuple(own) or None


def owner(data: Dataset, number: int) -> str:
    return str(data.others[number, data.person[0] if data.person else "id"])


def history_sizes(seen: list[Seen]) -> dict[tuple[Any, ...], int]:
    """History -> how many persons have it, but for that of whom nothing was published."""
    persons = {person for one in seen for person in one.rows}
    sizes = Counter(tuple(one.entry(person) for one in seen) for person in persons)
    return {history: size for history, size in sizes.items() if any(entry is not None for entry in history)}


def tied_sizes(seen: list[Seen]) -> list[int]:
    """The same where identifiers stay: a value is tied to all rows of the identifiers under which it is shown, those without the value among them."""
    with_value = {name for one in seen for own in one.rows.values() for _, name, secret in own if secret is not None}
    entries = [
        {
            person: tuple(sorted(found for found, name, _ in own if name in with_value))
            for person, own in one.rows.items()
        }
        for one in seen
    ]
    persons = {person for one in seen for person in one.rows}
    sizes = Counter(tuple(one.get(person, ()) for one in entries) for person in persons)
    return [size for history, size in sizes.items() if any(history)]


def segment_sizes(seen: list[Seen]) -> list[int]:
    """For each sequence of rows that one identifier ties, with the time from its issue to its renewal, how many persons have it."""
    rows: dict[str, list[tuple[int, bytes]]] = {}
    owners: dict[str, str] = {}
    for at, one in enumerate(seen):
        for person, own in one.rows.items():
            for found, name, _ in own:
                assert owners.setdefault(name, person) == person  # it is never somebody else's
                rows.setdefault(name, []).append((at, found))
    for tied in rows.values():
        assert [at for at, _ in tied] == list(range(tied[0][0], tied[-1][0] + 1))  # what ended does not come back
    sequences: dict[tuple[tuple[int, bytes], ...], set[str]] = {}
    for name, tied in rows.items():
        sequences.setdefault(tuple(tied), set()).add(owners[name])
    return [len(persons) for persons in sequences.values()]


def random_months(rng: np.random.Generator, kind: str, several: bool, k: int) -> list[Dataset]:
    """Two to four months of up to 14 persons, who come, leave and come back."""
    persons = [f"p{at}" for at in range(int(rng.integers(2 * k, 15)))]
    here = rng.random(len(persons)) < 0.8
    here[: k + 1] = True
    base = rng.normal(size=(len(persons), 2, 2))
    data = []
    for month in range(int(rng.integers(2, 5))):
        if month:
            changed = rng.random(len(persons)) < rng.choice([0.0, 0.1, 0.3])
            here = here ^ changed
            if here.sum() < k:
                here[:k] = True
        rows = [(at, meter) for at in np.flatnonzero(here) for meter in range(1 + (several and int(at) % 3 == 0))]
        x = np.array([base[at, meter] + 0.3 * rng.normal(size=2) for at, meter in rows])
        order = rng.permutation(len(rows))
        rows, x = [rows[at] for at in order], x[order]
        columns: dict[str, Any] = {
            "id": [f"{persons[at]}/{meter}" if several else persons[at] for at, meter in rows],
            **({"owner": [persons[at] for at, _ in rows]} if several else {}),
            "secret": [f"secret of {persons[at]}" for at, _ in rows],
        }
        names = ["a", "b"] if kind == "attributes" else [f"2026-{month + 1:02d}-01", f"2026-{month + 1:02d}-02"]
        names = names[:1] if kind == "column" else names
        columns |= {name: x[:, at] for at, name in enumerate(names)}
        data.append(
            Dataset.from_frame(
                pl.DataFrame(columns), id="id", person="owner" if several else (), blocks={"x": names},
                confidential=["secret"], times={"x": None} if kind == "attributes" else None,
            )
        )  # fmt: skip
    return data


@pytest.mark.parametrize("seed", range(cases(300, 10_000)))
def test_histories_never_fall_below_k(seed: int) -> None:
    rng = np.random.default_rng([25, seed])
    k = int(rng.integers(2, 5))
    name = ["mdav", "plain", "v-mdav", "univariate"][seed % 4]
    several = name in ("mdav", "plain") and seed % 3 == 0
    kind = "column" if name == "univariate" else ["series", "attributes"][int(rng.integers(2))]
    ids = ["fresh", "stable"][int(rng.integers(2))]
    regrouped = int(rng.integers(1, 12))
    seen: list[Seen] = []
    before = None
    for month, data in enumerate(random_months(rng, kind, several, k)):
        options: dict[str, Any] = {} if before is None else {"ids": ids, "regroup": month == regrouped}
        try:
            release = METHODS[name](k=k).protect(data, after=before, **options)
        except InputError as error:
            if "there is nothing to publish" not in str(error):
                raise
            break
        before = release
        assert release.verify().holds
        seen.append(Seen.of(release))
        check_histories(seen, k, several=several)
        assert min(segment_sizes(seen)) >= k
        if not several:
            assert min(tied_sizes(seen)) >= k
    if not several and len(seen) > 1:
        check_intruder(seen, k)


def check_histories(seen: list[Seen], k: int, *, several: bool) -> None:
    """Every history is shared by k persons; where persons have several records the first release alone may leave fewer, and then nothing more is published of these."""
    for history, size in history_sizes(seen).items():
        if size < k:
            assert several
            first = Counter(one.entry(person) for one in seen[:1] for person in one.rows)[history[0]]
            assert first < k
            assert history[1:] == (None,) * (len(seen) - 1)


def check_intruder(seen: list[Seen], k: int) -> None:
    """Who knows everything but whose the carried values are has at least k persons left for each value."""
    persons = sorted({person for one in seen for person in one.rows})
    values = [next((s for one in seen for _, _, s in one.rows.get(p, []) if s is not None), None) for p in persons]
    tied = [at for at, value in enumerate(values) if value is not None]
    entries = [[one.entry(persons[at]) for at in tied] for one in seen]
    for left in candidates(entries, [str(values[at]) for at in tied]):
        assert len(left) >= k


def test_without_a_past_the_same_persons_would_be_found() -> None:
    """The test above can fail: made without stickiness, histories leave persons alone."""
    rng = np.random.default_rng(1)
    months = random_months(rng, "series", False, 2)
    seen = [Seen.of(tv.MDAV(k=2).protect(data)) for data in months]
    assert min(history_sizes(seen).values()) == 1


def months(churn: int = 0, n: int = 60, count: int = 3, *, confidential: bool = False) -> list[Dataset]:
    rng = np.random.default_rng(3)
    base = rng.normal(size=(n + churn * count, 3))
    found = []
    for month in range(count):
        rows = np.arange(month * churn, month * churn + n)
        found.append(
            Dataset.from_arrays(
                {"load": base[rows] + 0.1 * rng.normal(size=(n, 3))},
                times=[f"2026-{month + 1:02d}-{day:02d}" for day in (1, 2, 3)],
                ids=[f"p{row}" for row in rows],
                confidential={"secret": [f"s{row}" for row in rows]} if confidential else None,
            )
        )  # fmt: skip
    return found


def test_groups_stay_and_so_do_identifiers() -> None:
    first, second, _ = months()
    one = tv.MDAV(k=5).protect(first)
    two = tv.MDAV(k=5).protect(second, after=one, ids="stable")
    assert (two.groups["load"] == one.groups["load"]).all()
    names = [dict(zip(r.ledger.persons["person"], r.ledger.persons["identifier"], strict=True)) for r in (one, two)]
    assert names[0] == names[1]
    three = tv.MDAV(k=5).protect(second, after=one, ids="stable", regroup=True)
    fresh = dict(zip(three.ledger.persons["person"], three.ledger.persons["identifier"], strict=True))
    assert not {*fresh.values()} & {*names[0].values()}


def test_where_nothing_ties_releases_each_has_groups_of_its_own() -> None:
    first, second, _ = months()
    two = tv.MDAV(k=5).protect(second, after=tv.MDAV(k=5).protect(first))
    assert (two.groups["load"] == tv.MDAV(k=5).protect(second).groups["load"]).all()


def test_the_same_seed_gives_other_identifiers_and_another_order() -> None:
    first, second, _ = months()
    one = tv.MDAV(k=5).protect(first, seed=7)
    two = tv.MDAV(k=5).protect(second, seed=7, after=one)
    assert not {*one.ledger.persons["identifier"]} & {*two.ledger.persons["identifier"]}
    assert one.ledger.persons["person"].to_list() != two.ledger.persons["person"].to_list()


@pytest.mark.parametrize("ids", ["fresh", "stable"])
def test_chunks_give_the_same(ids: Any, tmp_path: Path) -> None:
    """To the last bit, and with groups that stay together across the borders of parts."""
    folders: list[Path] = []
    ways: dict[str, Any] = {"memory": {}, "chunks": {"chunk": 37}}
    for name, how in ways.items():
        before: Path | None = None
        for month, data in enumerate(months(churn=6, n=450, confidential=True)):
            method = tv.MDAV(k=3, mode="partitioned", part=100)
            options: dict[str, Any] = {} if before is None else {"ids": ids}
            release = method.protect(data, seed=5, after=before, **how, **options)
            before = release.write(tmp_path / f"{name}-{month}")
        assert before is not None
        folders.append(before)
    one, two = (read_ledger(folder) for folder in folders)
    assert one.persons.equals(two.persons)
    published = [(folder / "published" / "data.csv").read_bytes() for folder in folders]
    assert published[0] == published[1]
    assert one.releases[-1].figures == two.releases[-1].figures
    assert 0 < (one.releases[-1].figures["withheld"] or 0) < 450


def test_withheld_cells_are_empty_in_the_file_and_nowhere_told() -> None:
    first, second, third = months(churn=4, confidential=True)
    one = tv.MDAV(k=5).protect(first)
    two = tv.MDAV(k=5).protect(second, after=one)
    three = tv.MDAV(k=5).protect(third, after=two)
    assert any("withheld from release 3 on" in warning for warning in three.warnings)
    withheld = three.ledger.persons.filter("withheld")["person"].to_list()
    shown = in_published_order(three.store, 0)
    names = [third.ids[number] for number in shown.numbers.tolist()]
    empty = [name for name, value in zip(names, shown.published.others["secret"], strict=True) if value is None]
    assert sorted(empty) == sorted(withheld)
    assert withheld
    assert third.others["secret"].null_count() == 0  # the data themselves are as they were


def test_records_are_left_out_where_protected_columns_have_no_times(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 3))

    def table(rows: range) -> Dataset:
        frame = pl.DataFrame({"id": [f"p{row}" for row in rows]} | {f"x{at}": x[list(rows), at] for at in range(3)})
        return Dataset.from_frame(frame, id="id", blocks={"x": ["x0", "x1", "x2"]}, times={"x": None})

    first, second = table(range(38)), table(range(1, 40))
    one = tv.MDAV(k=4).protect(first)
    two = tv.MDAV(k=4).protect(second, after=one)
    assert two.verify().holds
    gone = {second.ids[row] for row in two.suppressed.tolist()}
    assert gone == {*two.ledger.persons.filter("withheld")["person"]}
    assert "p38" in gone  # a newcomer among old members
    # The values of a group are the means of those who are shown, else the one who left could be computed.
    groups = two.groups["x"]
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        assert np.allclose(two.data.values[members], second.values[members].mean(axis=0))
    folder = one.write(tmp_path / "one")
    again = tv.MDAV(k=4).protect(second, after=folder).write(tmp_path / "two")
    assert len(pl.read_csv(again / "published" / "data.csv")) == second.n - len(gone)


def test_times_that_were_published_are_left_out() -> None:
    first, _, _ = months()
    one = tv.MDAV(k=5).protect(first)
    both = Dataset.from_arrays(
        {"load": np.hstack([first.values, first.values + 1])},
        times=["2026-01-01T00:00", "2026-01-02", "2026-01-03", "2026-02-01", "2026-02-02", "2026-02-03"],
        ids=first.ids.to_list(),
    )
    two = tv.MDAV(k=5).protect(both, after=one)
    assert two.original.columns == ("2026-02-01", "2026-02-02", "2026-02-03")
    assert two.original.notes == ("3 points of time that were published before were left out",)
    with pytest.raises(InputError, match="nothing new to publish"):
        tv.MDAV(k=5).protect(first, after=one)


def test_who_returns_is_a_newcomer() -> None:
    first, second, third = months(n=40)
    away = second.take(np.arange(1, 40))
    one = tv.MDAV(k=4).protect(first)
    two = tv.MDAV(k=4).protect(away, after=one, ids="stable")
    three = tv.MDAV(k=4).protect(third, after=two, ids="stable")
    figures = three.ledger.facts.figures
    assert (figures["came"], figures["left"]) == (1, 0)
    names = [
        dict(zip(r.ledger.persons["person"], r.ledger.persons["identifier"], strict=True)) for r in (one, two, three)
    ]
    assert names[2]["p0"] not in names[0].values()


def test_what_cannot_be_continued_is_refused_by_name() -> None:
    first, second, _ = months(confidential=True)
    one = tv.MDAV(k=5).protect(first)
    with pytest.raises(ParameterError, match="Noise cannot continue"):
        tv.Noise(sd=0.1).protect(second, after=one)
    with pytest.raises(InputError, match="k was 5 in the releases before, and is 4 now"):
        tv.MDAV(k=4).protect(second, after=one)
    with pytest.raises(InputError, match="no identifier by which"):
        tv.MDAV(k=5).protect(Dataset.from_arrays({"load": second.values}), after=one)
    with pytest.raises(InputError, match="protected one by one"):
        OptimalUnivariate(k=5).protect(second, after=one)
    with pytest.raises(ParameterError, match="'ids' parameter of protect must be one of"):
        tv.MDAV(k=5).protect(second, after=one, ids="same")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="are for a release that continues"):
        tv.MDAV(k=5).protect(second, ids="stable")
    with pytest.raises(InputError, match="keeps no groups"):
        tv.MDAV(k=5).protect(second, after=tv.Noise(sd=0.1).protect(first))


def test_columns_one_by_one_keep_histories_of_their_own() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30, 1)) * [1.0, 2.0] + 0.001 * rng.normal(size=(30, 2))

    def table(rows: range) -> Dataset:
        frame = pl.DataFrame({"id": [f"p{row}" for row in rows], "x0": x[list(rows), 0], "x1": x[list(rows), 1]})
        return Dataset.from_frame(frame, id="id", blocks={"x": ["x0", "x1"]}, times={"x": None})

    one = OptimalUnivariate(k=3).protect(table(range(29)))
    two = OptimalUnivariate(k=3).protect(table(range(1, 30)), after=one)
    assert two.verify().holds
    for column in range(2):
        sizes = Counter(
            (
                one.data.values[row, column],
                None if row == 0 or row - 1 in two.suppressed else two.data.values[row - 1, column],
            )
            for row in range(29)
        )
        assert min(sizes.values()) >= 3


@pytest.mark.parametrize("ids", ["fresh", "stable"])
def test_two_weeks_of_real_households(shared_data: Path, ids: Any) -> None:
    """A tenth of the households replaced, one carried column that never changes; the loss of the second week without churn."""
    frame = pl.read_csv(shared_data / "smart_meter.csv").drop("household")
    x, half, n, k = frame.to_numpy().astype(np.float64), frame.width // 2, len(frame), 5

    def week(number: int, rows: range, *, carried: bool) -> Dataset:
        return Dataset.from_arrays(
            {"load": x[rows.start : rows.stop, number * half : (number + 1) * half]},
            times=range(number * half, (number + 1) * half),
            ids=[f"h{row}" for row in rows],
            confidential={"secret": [f"s{row}" for row in rows]} if carried else None,
        )

    first, second = week(0, range(n - n // 10), carried=True), week(1, range(n // 10, n), carried=True)
    one = tv.MDAV(k=k).protect(first, seed=1)
    two = tv.MDAV(k=k).protect(second, seed=2, after=one, ids=ids)
    seen = [Seen.of(one), Seen.of(two)]
    check_histories(seen, k, several=False)
    assert min(segment_sizes(seen)) >= k
    assert 0.2 < two.ledger.persons.filter("withheld").height / second.n < 0.4
    whole = [week(number, range(n), carried=False) for number in (0, 1)]
    one = tv.MDAV(k=k).protect(whole[0], seed=1)
    two = tv.MDAV(k=k).protect(whole[1], seed=2, after=one, ids=ids)
    own = tv.MDAV(k=k).protect(whole[1], seed=2)
    spread = [float(np.square(whole[1].values - release.data.values).sum()) for release in (own, two)]
    if ids == "fresh":
        assert spread[0] == spread[1]
    else:
        assert (two.groups["load"] == one.groups["load"]).all()
        assert 1 < spread[1] / spread[0] < 1.3


@pytest.mark.parametrize("method", ["mdav", "v-mdav"])
def test_labels_beside_series_are_continued(method: str) -> None:
    """Dwelling, postcode and tariff have no times and tie the months; whoever they would single out is left out."""
    whole = tv.example("households")
    second = whole.take(np.arange(15, 300))
    later = [
        replace(block, columns=tuple(f"m2.{c}" for c in block.columns), labels=tuple(t.replace("-01-", "-02-") for t in block.labels))
        if block.times is not None
        else block
        for block in second.blocks
    ]  # fmt: skip
    data = [whole.take(np.arange(285)), replace(second, blocks=tuple(later), integers=frozenset())]
    one = METHODS[method](k=5).protect(data[0])
    two = METHODS[method](k=5).protect(data[1], after=one, ids="stable")
    assert two.verify().holds
    shown = [
        {name: row.tobytes() for name, row in zip(own.ids, made.data.values, strict=True) if not np.isnan(row).any()}
        for own, made in zip(data, (one, two), strict=True)
    ]
    sizes = Counter(tuple(own.get(name) for own in shown) for name in whole.ids)
    assert min(size for history, size in sizes.items() if any(history)) >= 5
    assert 0 < len(two.suppressed) < 0.4 * data[1].n
