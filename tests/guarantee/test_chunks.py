"""The verdict on published rows is the same text however they are cut into chunks, and it is that of the definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_kp
import naive_nlk
import tsveil as tv
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Folder
from tsveil.engine.threads import LocalEngine
from tsveil.guarantee import chunks as published_chunks
from tsveil.guarantee import counting, nlk
from tsveil.guarantee.base import Promise, Status, Verdict, Verification
from tsveil.guarantee.chunks import Chunk, Chunks, of_table, of_values, schema_of
from tsveil.guarantee.counting import number_rows
from tsveil.guarantee.envelopes import EnvelopeAnonymity
from tsveil.guarantee.k_anonymity import KAnonymity, Scope
from tsveil.guarantee.kp import KPAnonymity
from tsveil.guarantee.nlk import NLKAnonymity, find_violation
from tsveil.guarantee.none import NoGuarantee
from tsveil.guarantee.p_sensitive import PSensitive

Published = Dataset | IntervalTable


def in_chunks(published: Published, cuts: Sequence[int]) -> Chunks:
    """A table in memory, cut at some rows; two equal cuts make an empty chunk."""
    ends = [0, *sorted(cuts), published.n]
    spans = list(pairwise(ends))
    if isinstance(published, Dataset):
        places = [of_values(published.columns, published.values[a:b], published.others[a:b]) for a, b in spans]
    else:
        places = [of_table(published.take(np.arange(a, b))) for a, b in spans]
    return Chunks(schema_of(published), places)


def read_part(place: dict[str, Any]) -> Chunk:
    """One of the files of `in_folder`."""
    frame = pl.read_parquet(place["path"], glob=False)
    others = pl.DataFrame([frame[name] for name in place["carried"]])
    own = pl.DataFrame([column for column in frame if column.name not in place["carried"]])
    if not place["intervals"]:
        return of_values(own.columns, own.to_numpy().reshape(-1, own.width), others)
    if not frame.height:  # no file of envelopes is empty to who reads it
        return Chunk(0, (), np.empty((0, 0), dtype=np.int64), {column.name: column for column in frame})
    return of_table(IntervalTable.from_frame(own.hstack(others)))


def in_folder(promise: Promise, published: Published, cuts: Sequence[int], folder: Path) -> Verification:
    """The same table in Parquet files, counted by threads that leave everything in a folder."""
    ends = [0, *sorted(cuts), published.n]
    if isinstance(published, Dataset):
        columns = [pl.Series(name, published.values[:, at]) for at, name in enumerate(published.columns)]
        frame = pl.DataFrame([*columns, *published.others])
    else:
        assert published.written is not None
        frame = published.written.hstack(published.others)
    (folder / "spool").mkdir(parents=True)
    files = []
    for at, (a, b) in enumerate(pairwise(ends)):
        files.append(folder / f"{at}.parquet")
        frame[a:b].write_parquet(files[-1])
    schema = schema_of(published)
    store = Folder(folder / "spool")
    place = {"reader": f"{__name__}:read_part", "carried": schema.carried, "intervals": schema.intervals}
    places = [{**place, "path": str(file)} for file in files]
    found = promise.verify_chunks(Chunks(schema, places, LocalEngine(), store, published.n))
    assert not list(store.path.iterdir())
    return found


def judged(promise: Promise, published: Published, cuts: Sequence[int], folder: Path | None = None) -> Verdict:
    """The verdict on the whole table, which must be that on its chunks."""
    whole = promise.verify(published)
    assert promise.verify_chunks(in_chunks(published, cuts)).verdict == whole
    if folder is not None:
        assert in_folder(promise, published, cuts, folder).verdict == whole
    return whole


def cuts_of(draw: st.DrawFn, n: int) -> list[int]:
    return draw(st.lists(st.integers(0, n), max_size=4))


#: columns are called anything, and whole blocks are constant or full of ties
NAMES = ("len", "*", "^x.*$", "row", "a b")
cells = st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e300])
carried = st.sampled_from(["", "a", "b", "1.0", None])
numbers = st.sampled_from([0.0, -0.0, 1.0, math.nan, None])


@st.composite
def tables(draw: st.DrawFn) -> tuple[Dataset, list[int]]:
    n = draw(st.integers(1, 16))
    rows = draw(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=4))
    values = np.array([draw(st.sampled_from(rows)) for _ in range(n)])
    others = pl.DataFrame(
        [
            pl.Series("count", draw(st.lists(carried, min_size=n, max_size=n)), dtype=pl.String),
            pl.Series("$", draw(st.lists(numbers, min_size=n, max_size=n)), dtype=pl.Float64),
            pl.Series("+", draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=pl.Int64),
        ]
    )
    names = draw(st.permutations(NAMES))[:3]
    blocks = (Block("one", tuple(names[:2])), Block("two", (names[2],)))
    return Dataset(values, blocks, others, confidential=tuple(others.columns)), cuts_of(draw, n)


def rows_of(data: Dataset, scope: Scope) -> list[list[bytes]]:
    """For each table the bytes of each record."""
    at = {"record": [slice(0, 3)], "block": [slice(0, 2), slice(2, 3)], "column": [slice(c, c + 1) for c in range(3)]}
    return [[row.tobytes() for row in np.ascontiguousarray(data.values[:, span])] for span in at[scope]]


def meant(value: object) -> object:
    """What a confidential value says: there is one zero, and one NaN."""
    return repr(value + 0.0) if isinstance(value, float) else value


# -- counting ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-(2**63), -(2**63) + 2)), max_size=30))
def test_equal_rows_get_equal_numbers(rows: list[tuple[int, int]]) -> None:
    for width in (1, 2):
        found = number_rows(np.array(rows, dtype=np.int64).reshape(-1, 2)[:, :width])
        own = [row[:width] for row in rows]
        number = dict(zip(own, found.of_row.tolist(), strict=True))
        assert [number[row] for row in own] == found.of_row.tolist()
        assert sorted(number.values()) == list(range(len(number)))
        for row, at in number.items():
            assert (found.first[at], found.size[at]) == (own.index(row), own.count(row))


def test_rows_with_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).integers(0, 3, (50, 3))
    expected = Counter(map(tuple, rows.tolist()))
    monkeypatch.setattr(counting, "_hash_rows", lambda rows: np.zeros(len(rows), dtype=np.uint64))
    found = number_rows(rows)
    assert {tuple(rows[first].tolist()): size for first, size in zip(found.first, found.size, strict=True)} == expected
    assert all((rows[found.first[found.of_row]] == rows).all(axis=1))


def test_the_quick_hash_tells_rows_apart() -> None:
    """Random zeros and ones, whole numbers, and numbers with all their digits: no two different rows are mixed to one."""
    rng = np.random.default_rng(2)
    for values in (
        rng.integers(0, 2, (100_000, 24)).astype(float),
        rng.integers(0, 1000, (100_000, 2)).astype(float),
        rng.normal(size=(100_000, 3)),
    ):
        distinct = np.unique(values, axis=0)
        assert len(np.unique(counting._hash_rows(distinct.view(np.int64)))) == len(distinct)


def test_numbers_inside_a_class_are_counted_by_their_bits() -> None:
    data = tv.Dataset.from_arrays({"x": [[1.0, 0.0, 5.0], [1.0, -0.0, 5.0], [2.0, 0.0, 5.0], [1.0, 0.0, 5.0]]})
    for around in (("0",), ("0", "2")):
        tables = [counting.Table("around", around), counting.Table("inside", ("1",), inside=0)]
        for cuts in ([], [1, 2], [3, 3]):
            counts = counting.Counts.of(in_chunks(data, cuts), tables)
            assert sorted(zip(counts.classes(0).first.tolist(), counts.kinds(1).tolist(), strict=True)) == [
                (0, 2),
                (2, 1),
            ]


# -- promises about values --------------------------------------------------------------------------------------------


@given(tables(), st.integers(1, 4), st.sampled_from(["block", "record", "column"]))
def test_k_anonymity(made: tuple[Dataset, list[int]], k: int, scope: Scope) -> None:
    data, cuts = made
    sizes = [size for rows in rows_of(data, scope) for size in Counter(rows).values()]
    verdict = judged(KAnonymity(k, scope), data, cuts)
    assert verdict.holds == (min(sizes) >= k)
    assert verdict.details == ((f"the smallest group has {min(sizes)} records",) if verdict.holds else ())


@given(tables(), st.integers(1, 3), st.integers(1, 3), st.sampled_from(["block", "record", "column"]))
def test_p_sensitivity(made: tuple[Dataset, list[int]], k: int, p: int, scope: Scope) -> None:
    data, cuts = made
    verdict = judged(PSensitive(k, p, ("$", "count", "+"), scope), data, cuts)
    holds = True
    for rows in rows_of(data, scope):
        for row in set(rows):
            inside = [at for at, other in enumerate(rows) if other == row]
            values = ({meant(data.others[name][at]) for at in inside} for name in data.others.columns)
            holds &= len(inside) >= k and all(len(own) >= p for own in values)
    assert verdict.holds == holds


@settings(max_examples=12)
@given(tables(), st.integers(1, 3), st.integers(0, 10**9))
def test_promises_about_values_in_files(
    tmp_path_factory: Any, made: tuple[Dataset, list[int]], k: int, number: int
) -> None:
    data, cuts = made
    for at, promise in enumerate((KAnonymity(k), KAnonymity(k, "column"), PSensitive(k, 2, ("count", "$")))):
        judged(promise, data, cuts, tmp_path_factory.mktemp(f"{number}-{at}"))


def test_members_of_a_small_group_are_named_across_chunks() -> None:
    data = tv.Dataset.from_arrays({"x": [[1.0], [2.0], [1.0], [3.0], [2.0], [3.0], [1.0], [3.0]]})
    verdict = judged(KAnonymity(4), data, [1, 1, 4, 7])
    assert verdict.witness == (
        "block 'x': 8 records share their values with fewer than 4 records; the smallest group has 2 (rows 2, 5)"
    )
    assert "the smallest group has 1 (rows 1, 2, 3, 4, 5 and 4 more)" in (
        judged(KAnonymity(2), tv.Dataset.from_arrays({"x": np.arange(9.0)[:, None]}), [2, 2, 6]).witness
    )


def test_missing_cells_and_records_break_every_promise(tmp_path: Path) -> None:
    values = np.ones((9, 2))
    values[4, 1] = values[7, 0] = math.nan
    data = Dataset(values, (Block("x", ("a", "b")),), pl.DataFrame({"ill": list("abcabcabc")}), missing=True)
    told = "2 missing or infinite values where there must be none; the first is in row 5, column 'b'"
    for at, promise in enumerate((KAnonymity(2), PSensitive(2, 2, ("ill",)), NLKAnonymity(1, 2, 2))):
        verdict = judged(promise, data, [2, 5], tmp_path / str(at))
        assert verdict == Verdict(Status.VIOLATED, promise.words, told)
    whole = data.with_values(np.ones((9, 2)))
    for other in (KAnonymity(2), Largest(3.0)):
        chunks = in_chunks(whole, [4])
        short = Chunks(chunks.schema, chunks.places, records=10)
        assert other.verify_chunks(short).verdict == Verdict(
            Status.VIOLATED, other.words, "10 records were to be written, 9 are in the files"
        )


# -- promises of other packages ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Largest(Promise):
    """A promise that only knows whole tables."""

    most: float

    @property
    def words(self) -> str:
        return f"No value is above {self.most}."

    def verify(self, published: Dataset) -> Verdict:
        above = np.argwhere(published.values > self.most)
        if not len(above):
            return Verdict(Status.HOLDS, self.words, details=(f"{published.n} records, {published.confidential}",))
        return Verdict(Status.VIOLATED, self.words, f"row {above[0, 0] + 1}, {published.blocks[0].labels[above[0, 1]]}")


class Even(KAnonymity):
    """A promise that adds a check of whole tables to one that is counted."""

    def verify(self, published: Dataset) -> Verdict:
        if published.n % 2:
            return Verdict(Status.VIOLATED, self.words, f"{published.n} records")
        return super().verify(published)


def test_a_promise_with_a_check_of_whole_tables_is_checked_on_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tv.Dataset.from_arrays(
        {"x": [[1.0, 2.0], [1.0, 9.0], [1.0, 2.0]]}, confidential={"ill": ["no", "no", "yes"]}
    )
    assert judged(Largest(9.0), data, [1, 1], tmp_path / "a").details == ("3 records, ('ill',)",)
    assert judged(Largest(3.0), data, [1, 1], tmp_path / "b").witness == "row 2, 1"
    assert judged(Even(1), data, [2], tmp_path / "c").witness == "3 records"
    assert judged(Even(1), data.take([0, 1]), [1], tmp_path / "d").holds
    monkeypatch.setattr(published_chunks, "TOGETHER", 8)
    verdict = in_folder(Largest(9.0), data, [1], tmp_path / "e").verdict
    assert verdict.status is Status.UNKNOWN
    assert verdict.witness == (
        "this promise can only be checked on the whole table at once, and the table has more than 8 cells"
    )


def test_a_promise_about_envelopes_with_a_check_of_whole_tables(tmp_path: Path) -> None:
    class Narrow(EnvelopeAnonymity):
        def verify(self, published: Any) -> Verdict:
            table = self.table(published)
            return Verdict(Status.HOLDS, self.words, details=(repr(table), str((table.hi - table.lo).max())))

    frame = pl.DataFrame({"lo_1": [1.0, 2.0, 3.0], "hi_1": [2.0, 2.0, 9.0], "town": list("abc")})
    judged(Narrow(1), IntervalTable.from_frame(frame), [1, 1], tmp_path)


def test_nothing_claimed_reads_nothing() -> None:
    none = NoGuarantee()
    chunks = Chunks(schema_of(tv.Dataset.from_arrays({"x": [[1.0]]})), [{"path": "nowhere"}])
    assert none.verify_chunks(chunks).verdict == none.verify(None)


# -- envelopes and patterns -------------------------------------------------------------------------------------------


@st.composite
def envelopes(draw: st.DrawFn) -> tuple[pl.DataFrame, list[int]]:
    """Few different rows; some with bounds in the wrong order, or words that cannot be."""
    row = st.tuples(cells, cells, st.sampled_from(["a", "b", "ab", "c", ""]), st.sampled_from([0, 2, 3, 27]))
    good = st.tuples(st.just(0.0), st.sampled_from([0.0, 1.0]), st.sampled_from(["a", "b"]), st.sampled_from([2, 3]))
    rows = draw(st.lists(good, min_size=1, max_size=4)) + draw(st.lists(row, max_size=draw(st.sampled_from([0, 0, 9]))))
    shown = draw(st.lists(st.sampled_from(rows), min_size=1, max_size=16))
    n = len(shown)
    frame = pl.DataFrame(
        {
            "lo_*": [one[0] for one in shown],
            "hi_*": [one[1] for one in shown],
            "pattern": [one[2] for one in shown],
            "level": [one[3] for one in shown],
            "*": pl.Series(draw(st.lists(carried, min_size=n, max_size=n)), dtype=pl.String),
            "len": pl.Series(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=pl.Float64),
            "number": range(n),
        }
    )
    return frame, cuts_of(draw, n)


def possible(frame: pl.DataFrame) -> bool:
    return all(
        lo <= hi and 1 <= level <= 26 and word != "" and all("a" <= letter < chr(ord("a") + level) for letter in word)
        for lo, hi, word, level in frame.select("lo_*", "hi_*", "pattern", "level").rows()
    )


@pytest.mark.parametrize("cuts", [[0], [3]])
def test_values_that_are_written_like_patterns(cuts: list[int]) -> None:
    bounds = {"lo_x": [0.0] * 6, "hi_x": [0.0] * 6, "pattern": list("bbbbab"), "level": [3] * 6}
    table = IntervalTable.from_frame(pl.DataFrame({**bounds, "town": ["", "", "", "", "b", "a"]}))
    assert KPAnonymity(1, 2).verify_chunks(in_chunks(table, cuts)).homogeneous == {"town": (1, 1)}


@given(envelopes(), st.integers(1, 4), st.integers(1, 3))
def test_envelopes_and_patterns(made: tuple[pl.DataFrame, list[int]], k: int, P: int) -> None:
    frame, cuts = made
    table = IntervalTable.from_frame(frame)
    shown = [
        ((lo, math.copysign(1, lo), hi, math.copysign(1, hi)), word, level)
        for lo, hi, word, level in frame.select("lo_*", "hi_*", "pattern", "level").rows()
    ]
    verdict = judged(KPAnonymity(k, P), table, cuts)
    assert verdict.holds == (possible(frame) and naive_kp.holds(shown, k, P))
    assert judged(EnvelopeAnonymity(k, patterns=True), table, cuts).holds == (
        possible(frame) and naive_kp.holds([(bounds, "", 1) for bounds, _, _ in shown], k, 1)
    )
    # Bounds in memory, of which nobody knows how they will be written.
    judged(
        KPAnonymity(k, P),
        IntervalTable(table.labels, table.lo, table.hi, table.words, table.levels, table.others),
        cuts,
    )
    found = KPAnonymity(k, P).verify_chunks(in_chunks(table, cuts))
    for name, (classes, records) in found.homogeneous.items():
        column = [meant(value) for value in frame[name].to_list()]
        alike = [key for key in set(shown) if len({v for v, s in zip(column, shown, strict=True) if s == key}) == 1]
        assert (classes, records) == (len(alike), sum(s in alike for s in shown))
    if verdict.holds:
        every = ("column 'number' is different in every row" in detail for detail in verdict.details)
        assert any(every) == (len(frame) > 1)


@settings(max_examples=12)
@given(envelopes(), st.integers(1, 3), st.integers(0, 10**9))
def test_envelopes_in_files(tmp_path_factory: Any, made: tuple[pl.DataFrame, list[int]], k: int, number: int) -> None:
    frame, cuts = made
    judged(KPAnonymity(k, 2), IntervalTable.from_frame(frame), cuts, tmp_path_factory.mktemp(f"{number}-kp"))
    alone = IntervalTable.from_frame(frame.drop("pattern", "level"))
    judged(EnvelopeAnonymity(k), alone, cuts, tmp_path_factory.mktemp(f"{number}-envelopes"))


def test_cells_are_compared_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("lo_1,hi_1,pattern,level\n" + "1,2,a,1\n" * 3 + "1.0,2,a,1\n" * 2)
    table = tv.data.intervals.read_intervals(tmp_path / "a.csv")
    verdict = judged(KPAnonymity(3, 3), table, [1, 4])
    assert verdict.witness.startswith("rows 4, 5: their envelope is shared by 2 records only; 3 are needed")
    small = pl.DataFrame({"lo_1": [0.0, -0.0], "hi_1": [1.0, 1.0]}, schema={"lo_1": pl.Float32, "hi_1": pl.Float32})
    assert not judged(EnvelopeAnonymity(2), IntervalTable.from_frame(small), [1], tmp_path / "b").holds


def test_files_made_by_others_are_read_as_they_are(tmp_path: Path) -> None:
    rows = {"lo_1": [1.0] * 4, "hi_1": [2.0] * 4, "pattern": list("aabb"), "level": [2] * 4, "town": list("xxxy")}
    table = IntervalTable.from_frame(pl.DataFrame(rows))
    found = in_folder(KPAnonymity(4, 2), table, [1, 3], tmp_path / "good")
    assert found == Verification(KPAnonymity(4, 2).verify(table), {"town": (1, 2)}, "envelope and pattern")
    alone = in_folder(EnvelopeAnonymity(4), table, [1, 3], tmp_path / "envelopes")
    assert (alone.homogeneous, alone.shared) == ({"town": (0, 0)}, "envelope")
    broken = pl.DataFrame(rows).with_columns(pattern=pl.Series(["a", "a", "", "b"]))
    verdict = in_folder(KPAnonymity(4, 2), IntervalTable.from_frame(broken), [2], tmp_path / "broken").verdict
    assert verdict.status is Status.VIOLATED
    assert verdict.witness.startswith("row 3: the pattern is empty")


# -- (n,l,k) ----------------------------------------------------------------------------------------------------------


def random_table(rng: np.random.Generator) -> tuple[Array, int, int, int]:
    N, T = int(rng.integers(4, 14)), int(rng.integers(2, 6))
    k, n = int(rng.integers(2, 5)), int(rng.integers(1, T))
    Y = (rng.integers(0, 4, (N, T)) * (rng.random((N, T)) < rng.choice([0.2, 0.6]))).astype(float)
    return np.where((Y == 0) & (rng.random((N, T)) < 0.1), -0.0, Y), n, int(rng.integers(n + 1, T + 1)), k


def bits(Y: Array) -> Array:
    """A table in which -0.0 is another value than 0.0."""
    return np.where(np.signbit(Y), -9.0, Y)


@pytest.mark.parametrize("files", [1, 2, 5])
def test_what_the_count_leaves_open_is_decided_as_by_the_definition(files: int, tmp_path: Path) -> None:
    """Small tables: the same verdict, and never "holds" where there is an attack."""
    rng = np.random.default_rng(files)
    seen = {"counted": 0, "searched": 0, "violated": 0}
    for turn in range(120):
        Y, n, l, k = random_table(rng)
        data = tv.Dataset.from_arrays({"x": Y})
        cuts = rng.integers(0, len(Y) + 1, files - 1).tolist()
        verdict = judged(NLKAnonymity(n, l, k), data, cuts, tmp_path / str(turn) if turn < 10 else None)
        attack = naive_nlk.attack(bits(Y), n, l, k)
        assert verdict.status == ("holds" if attack is None else "violated"), (Y, n, l, k)
        finding = find_violation(Y, n, l, k)
        assert verdict.status is finding.status
        if finding.attack is None:
            assert verdict.details[0].endswith(f", {finding.searched} were searched")
            seen["searched" if finding.searched else "counted"] += 1
            continue
        seen["violated"] += 1
        assert verdict.witness == f"block 'x', {finding.attack.sentence([str(t) for t in range(Y.shape[1])], k)}"
    assert min(seen.values()) >= 5, seen


def test_of_a_large_table_only_series_that_cannot_be_left_out_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    seen = Counter[str]()
    for _ in range(400):
        Y, n, l, k = random_table(rng)
        monkeypatch.setattr(published_chunks, "TOGETHER", Y.size - 1)
        cuts = rng.integers(0, len(Y) + 1, int(rng.integers(0, 5))).tolist()
        verdict = judged(NLKAnonymity(n, l, k), tv.Dataset.from_arrays({"x": Y}), cuts)
        finding = find_violation(Y, n, l, k)
        if verdict.status is Status.UNKNOWN:
            assert (
                f"{len(Y)} series would have to be searched together: more than {Y.size - 1} values" in verdict.witness
            )
        else:
            assert verdict.status is finding.status
        if verdict.status is Status.VIOLATED:
            row = int(verdict.witness.split(", row ")[1].split(":")[0]) - 1
            assert naive_nlk.attack_on(naive_nlk.clusters(bits(Y)), row, n, l, k) is not None
        seen[f"{verdict.status} {finding.searched > 0}"] += 1
    assert seen["violated False"] > 50
    assert seen["holds True"] > 10


def test_a_large_table_with_too_many_open_series_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = np.zeros((20, 4))
    Y[:3] = np.arange(12).reshape(3, 4)
    data = tv.Dataset.from_arrays({"x": Y})
    assert judged(NLKAnonymity(1, 3, 3), data, [2, 9]).status is Status.VIOLATED
    monkeypatch.setattr(published_chunks, "TOGETHER", 79)
    assert judged(NLKAnonymity(1, 3, 3), data, [2, 9]).status is Status.VIOLATED
    monkeypatch.setattr(nlk, "COMPARED", 3 * 80 - 1)
    verdict = judged(NLKAnonymity(1, 3, 3), data, [2, 9])
    assert verdict.status is Status.UNKNOWN
    assert verdict.witness == (
        "block 'x': 3 of 20 series have 2 or more values in small clusters: too many to be searched in a table of this size"
    )


def test_points_of_several_dimensions_are_judged_together(tmp_path: Path) -> None:
    """Each series by itself has two of each value, but the pairs of values are unique."""
    one = np.array([[0.0, 0], [0, 0], [1, 1], [1, 1]])
    data = tv.Dataset.from_arrays({"a": one, "b": one[[0, 2, 0, 2]]}, times=[1, 2])
    assert judged(NLKAnonymity(1, 2, 2), data, [1, 3], tmp_path / "alone").holds
    together = judged(NLKAnonymity(1, 2, 2, scope="record"), data, [1, 3], tmp_path / "together")
    assert together.witness.startswith("row 1: who knows point 1 infers point 2")
    rng = np.random.default_rng(4)
    for _ in range(100):
        Y, n, l, k = random_table(rng)
        other = rng.integers(0, 2, Y.shape).astype(float)
        verdict = judged(NLKAnonymity(n, l, k, "record"), tv.Dataset.from_arrays({"a": Y, "b": other}), [2])
        assert verdict.holds == (naive_nlk.attack(10 * bits(Y) + other, n, l, k) is None)


def test_a_search_that_ends_too_early_is_unknown(tmp_path: Path) -> None:
    data = tv.Dataset.from_arrays({"x": np.random.default_rng(0).integers(0, 3, (40, 7)).astype(float)})
    assert find_violation(data.values, 1, 3, 16).nodes == 40
    assert judged(NLKAnonymity(1, 3, 16), data, [9, 9, 30], tmp_path / "a").holds
    stopped = judged(NLKAnonymity(1, 3, 16, node_limit=1), data, [9, 9, 30], tmp_path / "b")
    assert stopped.status is Status.UNKNOWN
    assert (
        "the search was stopped after 40 nodes with 39 series undecided (rows 2, 3, 4, 5, 6 and 34 more)"
        in stopped.witness
    )


def test_parameters_are_checked_over_all_chunks() -> None:
    data = tv.Dataset.from_arrays({"x": np.zeros((4, 3))})
    with pytest.raises(ParameterError, match=r"number of records \(4\). Got 5"):
        NLKAnonymity(1, 2, 5).verify_chunks(in_chunks(data, [2]))
    assert judged(NLKAnonymity(1, 2, 4), data, [2]).holds
