"""(k,P)-anonymity: the algorithm is the described one, every release keeps its promise, and losses are low."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_kp
import tsveil as tv
from cases import cases
from naive_parts import parts_of
from tsveil.attack.kp import envelope_linkages
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, Indices
from tsveil.data.intervals import IntervalTable
from tsveil.guarantee.envelopes import EnvelopeAnonymity
from tsveil.guarantee.kp import verify_kp
from tsveil.measure.envelope_loss import pattern_loss, value_loss
from tsveil.protect import kp as module
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.intervals import IntervalMethod, envelopes, rounded_outwards
from tsveil.protect.kp import KP, prefix_of, recycle, split
from tsveil.protect.work import survey_of
from tsveil.transform.sax import sax

METHODS: list[IntervalMethod] = [
    KP(k=6, P=2),
    KP(k=6, P=2, pattern="paa"),
    KAnonymousEnvelopes(k=6),
    KAnonymousEnvelopes(k=6, words="unprotected"),
]
every_method = pytest.mark.parametrize("made", METHODS, ids=str)


def series(x: Array, **options: object) -> tv.Dataset:
    return tv.Dataset.from_arrays({"load": x}, **options)  # type: ignore[arg-type]


def walks(n: int, T: int = 12, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, T)).cumsum(axis=1)


# -- the algorithm ----------------------------------------------------------------------------------------------------


def groups_of(release: tv.Release) -> Indices:
    """The group of each published record."""
    return release.groups["load"][release.rows]


def as_sets(release: tv.Release) -> list[tuple[frozenset[int], set[tuple[str, int]]]]:
    """The groups of a release with the patterns in them, without any order."""
    assert release.words is not None
    assert release.levels is not None
    found = []
    if not release.n:
        return []
    groups = groups_of(release)
    for group in range(groups.max() + 1):
        at = np.flatnonzero(groups == group)
        shown = {(release.words[row], int(release.levels[row])) for row in at}
        found.append((frozenset(release.rows[at].tolist()), shown))
    return sorted(found, key=lambda pair: min(pair[0]))


@settings(max_examples=cases(50, 150))
@given(
    arrays(float, st.tuples(st.integers(5, 40), st.integers(1, 7)), elements=st.integers(0, 6).map(float)),
    st.integers(2, 9),
    st.integers(2, 4),
    st.integers(1, 4),
    st.sampled_from([("sax", "nested"), ("sax", "paper"), ("paa", "nested")]),
    st.sampled_from([1, 2, 5, 16]),
)
def test_it_is_the_described_algorithm(x: Array, k: int, P: int, w: int, how: tuple[str, str], most: int) -> None:
    k, w, (kind, levels) = min(k, len(x)), min(w, x.shape[1]), how
    method = KP(k=k, P=P, word_length=w, pattern=kind, levels=levels, max_level=most)  # type: ignore[arg-type]
    release = method.protect(series(x))
    steps = [level for level in ([1, 2, 4, 8, 16] if levels == "nested" else range(1, 17)) if level <= most]
    groups, suppressed = naive_kp.protected(x.tolist(), k, P, w, steps, kind)
    assert set(release.suppressed.tolist()) == suppressed
    expected = sorted(((members, {(w, l) for _, w, l in shown}) for members, shown in groups), key=lambda g: min(g[0]))
    assert as_sets(release) == expected


@given(st.integers(0, 10_000), st.integers(20, 60), st.sampled_from(["sax", "paa"]))
def test_it_is_the_described_algorithm_on_walks(seed: int, n: int, kind: Any) -> None:
    x = walks(n, seed=seed)
    groups, suppressed = naive_kp.protected(x.tolist(), 7, 2, 4, [1, 2, 4, 8, 16], kind)
    release = KP(k=7, P=2, word_length=4, pattern=kind).protect(series(x))
    assert set(release.suppressed.tolist()) == suppressed
    assert [members for members, _ in as_sets(release)] == sorted((members for members, _ in groups), key=min)


def test_a_node_smaller_than_p_is_a_bad_leaf() -> None:
    good, bad = split(np.zeros((2, 3), dtype=np.int64), P=4)
    assert good == []
    assert [(rows.tolist(), level) for rows, level in bad] == [([0, 1, 2], 0)]
    assert recycle(np.zeros((2, 3), dtype=np.int64), 4, good, bad)[1].tolist() == [0, 1, 2]


def test_bad_leaves_are_recycled_at_the_finest_level_that_they_share() -> None:
    codes = np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 1, 2], [0, 0, 1, 1, 2, 3]])
    bad = [(np.array([0, 1]), 3), (np.array([2, 3]), 3), (np.array([4]), 1), (np.array([5]), 1)]
    good, left = recycle(codes, 3, [], bad)
    assert [(rows.tolist(), level) for rows, level in good] == [([0, 1, 2, 3], 2)]
    assert left.tolist() == [4, 5]


def random_case(rng: np.random.Generator) -> tuple[Array, int, int, dict[str, object]]:
    """Data with ties, duplicates and constants, and parameters that may be awkward."""
    n, T = int(rng.integers(5, 301)), int(rng.integers(1, 17))
    kind = rng.integers(6)
    if kind == 0:
        x = rng.normal(size=(n, T)).cumsum(axis=1)
    elif kind == 1:
        x = rng.integers(0, 3, (n, T)).astype(float)
    elif kind == 2:
        x = np.repeat(rng.integers(0, 3, (n, 1)), T, axis=1).astype(float)
    elif kind == 3:
        x = rng.normal(size=(max(n // 10, 1), T))[rng.integers(0, max(n // 10, 1), n)]
    elif kind == 4:
        x = rng.choice([-1e100, -1e-300, -0.0, 0.0, 1e-300, 1e9, 1e9 + 1], (n, T))
    else:
        x = np.where(rng.random((n, 1)) < 0.5, 7.0, rng.gamma(2, 1, (n, T)))
    k = int(rng.integers(2, min(n, 40) + 1))
    P = int(rng.integers(2, max(k, 2) + 1))
    options: dict[str, object] = {
        "word_length": int(rng.integers(1, T + 1)),
        "pattern": (kind := rng.choice(["sax", "paa"]).item()),
        "levels": rng.choice(["nested", "paper"] if kind == "sax" else ["nested"]).item(),
        "max_level": int(rng.integers(1, 17)),
        "round_to": None if rng.random() < 0.8 else 0.5,
    }
    return x, k, P, options


def test_every_release_of_random_data_sets_keeps_its_promise() -> None:
    rng = np.random.default_rng(7)
    published, tried = 0, cases(400, 2000)
    for case in range(tried):
        x, k, P, options = random_case(rng)
        release = KP(k=k, P=P, **options).protect(series(x), seed=case)  # type: ignore[arg-type]
        verdict = release.verify()
        assert verdict.holds, (case, k, P, options, str(verdict))
        assert len(release.suppressed) < P or release.n == 0
        if release.n == 0:
            assert len(x) < k + P
            continue
        published += 1
        table, shown = release.published(), release.in_published_order()
        assert isinstance(table, IntervalTable)
        assert verify_kp(table, k, P).holds
        original = shown.original.values[shown.rows]
        assert ((table.lo <= original) & (original <= table.hi)).all()
        for name, links in envelope_linkages(x, release.table, release.own).items():
            assert links.probability.max() <= 1 / (k if name == "values" else P) + 1e-12, (case, name)
            assert name == "bounds" or (links.hit == (release.own >= 0)).all()
    assert published > 0.95 * tried


def test_a_large_set_is_walked_through() -> None:
    from tsveil._kernels.kp import divide

    x = walks(300, 4)
    x.setflags(write=False)  # as the values of a data set
    for reach in (0, 20, 299):
        part = divide(x, np.arange(300), 5, reach)
        sizes = np.bincount(part)
        assert sizes.min() >= 5
        assert sizes.max() < 10
    exact, walked = (
        sum(
            value_loss(*(np.array([f(x[part == g], axis=0)]) for f in (np.min, np.max)))[0] * (part == g).sum()
            for g in range(part.max() + 1)
        )
        for part in (divide(x, np.arange(300), 5, 300), divide(x, np.arange(300), 5, 0))
    )
    assert walked < 1.1 * exact


def test_equal_records_are_not_divided() -> None:
    release = KAnonymousEnvelopes(k=2).protect(series(np.ones((50, 3))))
    assert release.facts["load"]["groups"] == 1
    assert value_loss(release.lo, release.hi).sum() == 0


# -- what is published ------------------------------------------------------------------------------------------------


@every_method
def test_envelopes_are_the_extremes_of_their_members(made: IntervalMethod) -> None:
    x = walks(80)
    release = made.protect(series(x))
    groups = groups_of(release)
    for group in range(groups.max() + 1):
        members = x[release.rows[groups == group]]
        rows = np.flatnonzero(groups == group)
        assert (release.lo[rows] == members.min(axis=0)).all()
        assert (release.hi[rows] == members.max(axis=0)).all()


@every_method
def test_bounds_can_be_rounded_outwards(made: IntervalMethod) -> None:
    x = walks(80)
    exact = made.protect(series(x))
    rounded = type(made)(**{**made.settings(), "round_to": 0.25}).protect(series(x))
    assert rounded.verify().holds
    assert (rounded.lo <= exact.lo).all()
    assert (rounded.hi >= exact.hi).all()
    assert (exact.lo - rounded.lo < 0.25).all()
    assert np.array_equal(rounded.lo % 0.25, np.zeros_like(rounded.lo))


@given(arrays(float, 20, elements=st.floats(-1e6, 1e6)), st.sampled_from([0.1, 0.3, 5.0, 1e-3, 250.0]))
def test_rounding_outwards_never_narrows(x: Array, step: float) -> None:
    lo, hi = rounded_outwards(x, x, step)
    assert ((lo <= x) & (x <= hi)).all()
    assert (x - lo <= step * (1 + 1e-6)).all()
    assert (hi - x <= step * (1 + 1e-6)).all()
    assert all(len(repr(v).split(".")[-1]) <= 3 for v in lo.tolist())


def test_a_bound_on_the_step_stays() -> None:
    lo, hi = rounded_outwards(np.array([0.3, 0.6, 0.7]), np.array([0.3, 0.6, 0.7]), 0.1)
    assert lo.tolist() == hi.tolist() == [0.3, 0.6, 0.7]


def test_too_few_publishable_records_publish_nothing(tmp_path: Path) -> None:
    # One rising series among falling ones: it is suppressed, and four are fewer than k.
    x = np.array([[2.0, 1.0], [4.0, 1.0], [3.0, 1.0], [5.0, 1.0], [1.0, 2.0]])
    release = KP(k=5, P=2).protect(series(x))
    assert release.n == 0
    assert release.suppressed.tolist() == [0, 1, 2, 3, 4]
    assert any("nothing can be published" in warning for warning in release.warnings)
    assert release.evaluate()["suppressed"] == 5
    with pytest.raises(tv.errors.OutputError, match="nothing to publish"):
        release.write(tmp_path / "out")
    assert KP(k=4, P=2).protect(series(x)).suppressed.tolist() == [4]


def test_suppressed_records_are_told() -> None:
    x = np.vstack([walks(30), -np.arange(12.0) * np.ones((1, 1)) + np.array([[0, 90, 0, 90] * 3])])
    release = KP(k=6, P=3, word_length=12, max_level=2).protect(series(x))
    told = [w for w in release.warnings if "suppressed" in w]
    assert bool(len(release.suppressed)) == bool(told)
    assert release.facts["load"]["suppressed"] == len(release.suppressed)


def test_p_near_k_is_warned_of() -> None:
    data = series(walks(60))
    assert any("near k" in w for w in KP(k=6, P=4).protect(data).warnings)
    assert KP(k=6, P=2).protect(data).warnings == ()


def test_carried_columns_that_a_group_shares_are_warned_of() -> None:
    data = series(walks(60), confidential={"tariff": ["day"] * 59 + ["night"]})
    warnings = KP(k=6, P=2).protect(data).warnings
    assert any("'tariff'" in w and "one value only" in w for w in warnings)


def test_what_is_told_of_a_run() -> None:
    # Ten that rise and four that fall, far apart, and one of another shape that nobody shares.
    rising, falling = np.arange(8.0), np.arange(8.0)[::-1]
    x = np.array([rising + at / 10 for at in range(10)] + [falling + 100 + at / 10 for at in range(4)] + [rising * 0])
    x[14, 3] = 9.0
    release = KP(k=4, P=3, word_length=4).protect(series(x), seed=1)
    assert release.suppressed.tolist() == [14]
    assert release.warnings == (
        "P = 3 is near k = 4: envelopes without patterns (k-envelopes) lose less in values and, with long words, even in patterns; P "
        "should be k/3 or less",
        "1 record is suppressed, because too few others share their pattern",
    )
    sizes = np.bincount(groups_of(release))
    assert release.facts["load"]["groups"] == len(sizes)
    assert release.facts["load"]["smallest group"] == sizes.min() >= 4
    assert release.facts["load"]["largest group"] == sizes.max()
    assert release.facts["load"]["suppressed"] == 1
    assert release.words is not None
    assert release.levels is not None
    counted = {str(level): int((release.levels == level).sum()) for level in sorted(set(release.levels.tolist()))}
    assert release.facts["load"]["records by level"] == counted
    pairs = set(zip(groups_of(release).tolist(), release.words, strict=True))
    assert release.facts["load"]["subgroups"] >= len(pairs)


def test_p_is_near_k_from_more_than_half_on() -> None:
    survey = survey_of(series(walks(20, 6)))

    def told(k: int, suppressed: int) -> list[str]:
        return KP(k=k, P=3).remarks(survey, {"x": {"suppressed": suppressed}})

    assert told(6, 0) == []
    assert len(told(5, 0)) == 1
    assert told(6, 2) == ["2 records are suppressed, because too few others share their pattern"]
    assert told(6, 19) == ["19 records are suppressed, because too few others share their pattern"]
    assert told(6, 20) == ["nothing can be published: all records would be suppressed"]


def test_k_records_are_enough_to_publish() -> None:
    x = np.tile(np.arange(6.0), (5, 1)) + np.arange(5.0)[:, None] / 10
    release = KP(k=5, P=2).protect(series(x))
    assert release.n == 5
    assert np.array_equal(release.lo, np.tile(x[0], (5, 1)))
    assert np.array_equal(release.hi, np.tile(x[4], (5, 1)))
    odd = x.copy()
    odd[4] = odd[4][::-1]
    nothing = KP(k=5, P=2).protect(series(odd))
    assert nothing.n == 0
    assert nothing.facts["load"] == {"groups": 0, "suppressed": 5}
    assert nothing.warnings[-1] == "nothing can be published: all records would be suppressed"


def test_the_paper_has_levels_for_sax_only() -> None:
    with pytest.raises(ParameterError, match="must be 'nested' with pattern='paa'"):
        KP(k=4, P=2, pattern="paa", levels="paper")


def test_many_series_are_grouped_in_parts_whose_values_begin_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE", 499)
    monkeypatch.setattr(module, "PART", 60)
    x = walks(500, 8)
    method = KP(k=8, P=2, word_length=4, pattern="paa")
    release, ((_, parts),) = method.protect(series(x)), parts_of(method, series(x))
    assert release.verify().holds
    assert release.facts["load"]["parts"] == len(parts) > 4
    begins = [naive_kp.word(row, 4, 2, "paa") for row in x.tolist()]  # no mean of these is beyond two deviations
    shared = [{begins[row] for row in rows.tolist()} for rows in parts]
    assert sum(map(len, shared)) == len(set().union(*shared))  # a beginning is in one part


def test_many_series_are_grouped_in_parts_whose_patterns_begin_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE", 499)
    monkeypatch.setattr(module, "PART", 60)
    x = walks(500, 8)
    method = KP(k=8, P=2, word_length=4)
    release, ((_, parts),) = method.protect(series(x)), parts_of(method, series(x))
    assert release.verify().holds
    assert release.facts["load"]["parts"] == len(parts) > 4
    assert all(len(rows) >= 30 for rows in parts)  # half-full parts are joined
    level, count = prefix_of(500, 60, 4)
    assert (level, count) == (2, 4)
    begins = [word[:count] for word in sax(x, 4, level)]
    shared = [{begins[row] for row in rows.tolist()} for rows in parts]
    assert sum(map(len, shared)) == len(set().union(*shared))  # a beginning is in one part
    assert [max(one) < min(two) for one, two in pairwise(shared)] == [True] * (len(parts) - 1)
    groups, place = release.groups["load"], release.own
    assert release.words is not None
    suppressed = 0
    for rows in parts:
        alone = method.protect(series(x[rows]))
        own = rows[alone.rows]
        assert (place[np.delete(rows, alone.rows)] < 0).all()
        assert np.array_equal(release.lo[place[own]], alone.lo)
        assert np.array_equal(release.hi[place[own]], alone.hi)
        assert [release.words[at] for at in place[own].tolist()] == list(alone.words or ())
        assert np.array_equal(groups[own] - groups[own].min(), groups_of(alone))
        suppressed += len(alone.suppressed)
    assert release.facts["load"]["suppressed"] == suppressed == len(release.suppressed)
    monkeypatch.setattr(module, "WHOLE", 500)
    assert "parts" not in method.protect(series(x)).facts["load"]


def test_words_have_eight_letters_or_as_many_as_there_are_points() -> None:
    for T, letters in ((3, 3), (8, 8), (9, 8), (24, 8)):
        release = KP(k=5, P=2).protect(series(walks(40, T)))
        assert release.words is not None
        assert {len(word) for word in release.words} == {letters}
        shown = KAnonymousEnvelopes(k=5, words="unprotected").protect(series(walks(40, T)))
        assert shown.words is not None
        assert {len(word) for word in shown.words} == {letters}
        assert shown.levels is not None
        assert set(shown.levels.tolist()) == {16}
        assert list(shown.words) == sax(walks(40, T), letters, 16)
    assert KP(k=5, P=2, word_length=3).protect(series(walks(40))).words is not None


def test_envelopes_tell_of_their_groups() -> None:
    release = KAnonymousEnvelopes(k=5).protect(series(walks(40)))
    sizes = np.bincount(groups_of(release))
    assert release.facts["load"] == {"groups": len(sizes), "smallest group": sizes.min(), "largest group": sizes.max()}
    assert sizes.min() >= 5
    assert sizes.max() < 10
    assert release.warnings == ()
    assert release.words is None
    assert release.guarantee == EnvelopeAnonymity(5)
    shown = KAnonymousEnvelopes(k=5, words="unprotected").protect(series(walks(40)))
    assert shown.guarantee == EnvelopeAnonymity(5, patterns=True)
    assert shown.warnings == (
        "words='unprotected' publishes the pattern of every record: it singles out most of them and is for comparison only",
    )
    assert np.array_equal(shown.groups["load"], release.groups["load"])


def test_what_groups_give_away_is_counted() -> None:
    # Two groups of three, far apart; all of the first have the same tariff.
    x = np.array([[0.0, 1.0]] * 3 + [[50.0, 51.0]] * 3)
    data = series(x, confidential={"tariff": list("aaaabc")})
    release = KAnonymousEnvelopes(k=3).protect(data)
    told = "the carried column 'tariff' has one value only among all records of one envelope for 3 of 6 records: whoever finds their group learns it"
    assert told in release.warnings
    assert any("has a value of its own in 2 of 6 records" in w for w in release.warnings)
    both = KP(k=3, P=3).protect(data).warnings
    assert told.replace("one envelope for", "one envelope and pattern for") in both
    mixed = KAnonymousEnvelopes(k=3).protect(series(x, confidential={"tariff": list("abcabc")}))
    assert not any("one value only" in w for w in mixed.warnings)


@every_method
def test_values_up_to_1e150_are_taken(made: IntervalMethod) -> None:
    x = walks(9)
    x[0, 0] = -1e150
    assert made.protect(series(x)).original.n == 9
    x[0, 0] = np.nextafter(-1e150, -np.inf)
    with pytest.raises(InputError, match=r"values beyond 1e\+150 cannot be compared by squared distances"):
        made.protect(series(x))


def test_minus_zero_is_published_as_zero() -> None:
    release = KAnonymousEnvelopes(k=2).protect(series(np.full((4, 3), -0.0)))
    assert not np.signbit(release.lo).any()
    assert not np.signbit(release.hi).any()


def test_bounds_of_groups_in_any_order() -> None:
    x = np.array([[5.0, 1.0], [2.0, 9.0], [4.0, 0.0], [3.0, 3.0]])
    lo, hi = envelopes(x, np.array([1, 0, 1, 0]))
    assert lo.tolist() == [[2.0, 3.0], [4.0, 0.0]]
    assert hi.tolist() == [[3.0, 9.0], [5.0, 1.0]]
    assert [part.shape for part in envelopes(x[:0], np.zeros(0, dtype=np.int64))] == [(0, 2), (0, 2)]


def test_bounds_are_multiples_as_they_are_written() -> None:
    lo, hi = rounded_outwards(np.array([-0.31, 0.29, 7.0]), np.array([-0.29, 0.31, 7.0]), 0.1)
    assert lo.tolist() == [-0.4, 0.2, 7.0]
    assert hi.tolist() == [-0.2, 0.4, 7.0]
    lo, hi = rounded_outwards(np.array([1234.0, -1.0]), np.array([1251.0, -1.0]), 50.0)
    assert lo.tolist() == [1200.0, -50.0]
    assert hi.tolist() == [1300.0, 0.0]
    assert not np.signbit(hi).any()
    lo, hi = rounded_outwards(np.array([0.3]), np.array([0.3]), 0.25)
    assert (lo.tolist(), hi.tolist()) == ([0.25], [0.5])


def test_all_that_is_wrong_with_the_data_is_told_at_once() -> None:
    data = tv.Dataset.from_arrays({"a": walks(9) * 1e200, "b": walks(9)}, confidential={"level": [1] * 9})
    with pytest.raises(InputError) as caught:
        KP(k=3, P=2).protect(data)
    assert caught.value.problems == (
        "values beyond 1e+150 cannot be compared by squared distances",
        "it publishes one time series per record; this data set has 'a (series)', 'b (series)'",
        "the carried columns 'level' would be taken for envelopes or patterns; rename them",
    )
    frame = pl.DataFrame({"age": [1.0] * 9})
    with pytest.raises(InputError, match=r"this data set has 'person \(attributes\)'") as one:
        KP(k=3, P=2).protect(tv.Dataset.from_frame(frame, blocks={"person": ["age"]}))
    assert "several series" not in str(one.value)
    with pytest.raises(ParameterError) as both:
        KP(k=3, P=10, word_length=13).protect(series(walks(9)))
    assert both.value.problems == (
        "The 'P' parameter of KP must be at most the number of records (9). Got 10.",
        "The 'word_length' parameter of KP must be at most the number of time points (12). Got 13.",
    )
    assert KP(k=9, P=9, word_length=12).protect(series(np.ones((9, 12)))).n == 9


# -- the contract of methods ------------------------------------------------------------------------------------------


@every_method
def test_rows_may_come_in_any_order(made: IntervalMethod) -> None:
    x = walks(90)
    order = np.random.default_rng(1).permutation(90)
    one, two = made.protect(series(x)), made.protect(series(x[order]))
    assert np.array_equal(np.sort(order[two.suppressed]), one.suppressed)
    back = np.argsort(order[two.rows])
    assert np.array_equal(one.lo, two.lo[back])
    assert np.array_equal(one.hi, two.hi[back])
    if one.words is not None:
        assert two.words is not None
        assert list(one.words) == [two.words[row] for row in back]


@every_method
def test_the_seed_decides_the_order_only(made: IntervalMethod) -> None:
    data = series(walks(60))
    one, two, other = (made.protect(data, seed=seed).in_published_order().table.to_frame() for seed in (5, 5, 6))
    assert one.equals(two)
    assert not one.equals(other)
    assert one.sort(one.columns).equals(other.sort(one.columns))


@every_method
def test_the_input_is_not_touched(made: IntervalMethod) -> None:
    x = walks(40)
    before = x.copy()
    made.protect(series(x))
    assert np.array_equal(x, before)


@every_method
def test_it_is_described(made: IntervalMethod) -> None:
    assert made.name
    assert made.summary
    assert made.reference
    assert type(made).from_settings(made.settings()) == made
    module = __import__(type(made).__module__, fromlist=["x"])
    for word in ("References", "Examples", ">>>", "uarantee"):
        assert word in str(module.__doc__)
    for p in made.parameters():
        with pytest.raises(ParameterError, match=f"The '{p.name}' parameter of .* must be .* Got "):
            type(made)(**{p.name: object()})  # type: ignore[arg-type]


@every_method
def test_what_it_cannot_protect_is_refused(made: IntervalMethod) -> None:
    with pytest.raises(ParameterError, match=r"at most the number of records \(5\)"):
        made.protect(series(walks(5)))
    with pytest.raises(InputError, match=r"one time series per record[\s\S]*make a release of each"):
        made.protect(tv.Dataset.from_arrays({"a": walks(9), "b": walks(9)}))
    frame = pl.DataFrame({"age": [1.0] * 9, "pay": [2.0] * 9})
    with pytest.raises(InputError, match="one time series per record"):
        made.protect(tv.Dataset.from_frame(frame, blocks={"person": ["age", "pay"]}))
    with pytest.raises(InputError, match="'level', 'lo_x' would be taken"):
        made.protect(series(walks(9), confidential={"level": [1] * 9, "lo_x": [1] * 9}))
    with pytest.raises(InputError, match=r"1e\+150"):
        made.protect(series(walks(9) * 1e200))
    gaps = walks(9)
    gaps[2, 3] = np.nan
    data = tv.Dataset(
        values=gaps,
        blocks=(tv.Block("a", tuple("abcdefghijkl"), np.arange(12.0)),),
        others=pl.DataFrame(),
        missing=True,
    )
    with pytest.raises(InputError, match="missing values"):
        made.protect(data)


@every_method
def test_several_series_as_the_error_advises(made: IntervalMethod) -> None:
    power, water = walks(40, 6), walks(40, 6, seed=1)
    frame = pl.DataFrame(np.hstack([power, water]), schema=[f"p{t}" for t in range(6)] + [f"w{t}" for t in range(6)])
    blocks = {name: {"from": f"{name}0", "to": f"{name}5", "kind": "series"} for name in "pw"}
    with pytest.raises(InputError, match="several series"):
        made.protect(tv.Dataset.from_frame(frame, blocks=blocks))
    for name in blocks:
        alone = made.protect(tv.Dataset.from_frame(frame, blocks={name: blocks[name]}))
        assert alone.verify().holds
        assert alone.lo.shape[1] == 6
    joined = tv.Dataset.from_frame(frame, blocks={"all": {"from": "p0", "to": "w5", "kind": "series"}})
    release = made.protect(joined)
    assert release.verify().holds
    assert release.lo.shape[1] == 12


def test_wrong_parameters_are_told() -> None:
    with pytest.raises(ParameterError, match=r"'word_length' .* at most the number of time points \(12\). Got 13"):
        KP(word_length=13).protect(series(walks(20)))
    with pytest.raises(ParameterError, match=r"'P' .* at most the number of records \(20\). Got 21"):
        KP(P=21).protect(series(walks(20)))
    with pytest.raises(ParameterError, match=r"an integer from 1 to 26. Got 27"):
        KP(max_level=27)
    assert KP.from_settings({"k": "12", "P": "4", "round_to": "0.5"}) == KP(k=12, P=4, round_to=0.5)


# -- real data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "P", "loss"), [(10, 3, 11_500), (20, 5, 15_000)])
def test_losses_on_weekly_sales(shared_data: Path, k: int, P: int, loss: float) -> None:
    frame = pl.read_csv(shared_data / "sales_weekly.csv")
    blocks = {"sales": {"from": "W0", "to": "W51", "kind": "series"}}
    data = tv.Dataset.from_frame(frame, id="product", blocks=blocks)
    x = data.block("sales")
    release = KP(k=k, P=P, word_length=5).protect(data)
    assert release.verify().holds
    assert value_loss(release.lo, release.hi).sum() < loss
    baseline = KAnonymousEnvelopes(k=k).protect(data)
    for features in ("means", "differences", "signs"):
        lost = pattern_loss(x[release.rows], release.table, features=features)
        midlines = pattern_loss(x, baseline.table, features=features, word_length=5)
        assert lost.sum() < 0.5 * midlines.sum()
    assert value_loss(baseline.lo, baseline.hi).sum() < value_loss(release.lo, release.hi).sum()
    card = release.evaluate()
    assert card["breach_both"] <= 100 / P + 1e-9
    assert card["breach_values"] <= 100 / k + 1e-9
    assert KAnonymousEnvelopes(k=k, words="unprotected").protect(data).evaluate()["breach_both"] == 100
