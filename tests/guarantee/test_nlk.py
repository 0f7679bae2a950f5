"""The verifier of (n,l,k)-anonymity agrees with the definition, and never takes "I do not know" for "yes"."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_nlk as naive
import tsveil as tv
from cases import cases
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Indices
from tsveil.guarantee.base import Status
from tsveil.guarantee.counting import clusters_of
from tsveil.guarantee.nlk import Attack, NLKAnonymity, _search, check_nlk, find_violation, verify_nlk


@pytest.mark.parametrize(("text", "nlk", "anonymous"), naive.VECTORS)
def test_known_tables(text: str, nlk: tuple[int, int, int], anonymous: bool) -> None:
    table = naive.digits(text)
    assert (naive.attack(table, *nlk) is None) == anonymous
    assert verify_nlk(table, *nlk).holds == anonymous


def test_known_attacks() -> None:
    found = [find_violation(naive.digits(text).astype(float), *nlk).attack for text, nlk, _ in naive.VECTORS[-3:]]
    assert found == [Attack(3, (0, 2), (1,)), Attack(3, (1, 2), (3,)), Attack(0, (2, 3), (0, 1))]


def random_table(rng: np.random.Generator) -> tuple[Indices, int, int, int]:
    """A small table with many or few values, some of them mostly zero: that gives clusters of all sizes."""
    N, T = int(rng.integers(2, 11)), int(rng.integers(2, 9))
    n = int(rng.integers(1, min(5, T - 1) + 1))
    l, k = int(rng.integers(n + 1, T + 1)), int(rng.integers(2, N + 1))
    return rng.integers(0, rng.integers(2, 5), (N, T)) * (rng.random((N, T)) < rng.random()), n, l, k


def test_it_agrees_with_the_definition_on_random_tables() -> None:
    rng = np.random.default_rng(1)
    outcomes = {True: 0, False: 0}
    searched, tried = 0, cases(3_000, 10_000)
    for _ in range(tried):
        table, n, l, k = random_table(rng)
        finding = find_violation(table.astype(np.float64), n, l, k)
        anonymous = naive.attack(table, n, l, k) is None
        assert finding.status is (Status.HOLDS if anonymous else Status.VIOLATED), (table, n, l, k)
        if finding.attack is not None:
            attack = finding.attack
            assert len(attack.known) == n
            assert len(attack.inferred) >= l - n
            assert naive.inferred(naive.clusters(table), attack.series, attack.known, k) == attack.inferred
        outcomes[anonymous] += 1
        searched += finding.nodes > 0
    assert min(outcomes.values()) > 0.2 * tried
    assert searched > 0.4 * tried  # counting alone would not do


def test_the_search_by_itself_decides_every_series() -> None:
    """Without counting, without the greedy attack and without what is known of other series."""
    rng = np.random.default_rng(7)
    attacked = safe = 0
    for _ in range(1500):
        table, n, l, k = random_table(rng)
        codes, sizes = clusters_of(table.astype(np.float64))
        cluster = naive.clusters(table)
        nobody = np.zeros(len(table), dtype=np.bool_)
        for f in range(len(table)):
            if (sizes[:, f] < k).sum() < l - n:
                continue
            expected = naive.attack_on(cluster, f, n, l, k)
            outcome, _, known = _search(codes, sizes, f, n, l - n, k, nobody, 10**6)
            assert outcome is (Status.HOLDS if expected is None else Status.VIOLATED), (table, f, n, l, k)
            attacked += expected is not None
            safe += expected is None
            assert len(known) <= n
    assert min(attacked, safe) > 1000


@given(st.integers(0, 10**9))
def test_merging_clusters_never_hurts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, n, l, k = random_table(rng)
    merged = table.copy()
    t = int(rng.integers(table.shape[1]))
    merged[:, t] = np.where(merged[:, t] == merged[:, t].max(), merged[:, t].min(), merged[:, t])
    assert verify_nlk(merged, n, l, k).holds >= verify_nlk(table, n, l, k).holds


@given(st.integers(0, 10**9))
def test_an_intruder_who_knows_all_but_one_value(seed: int) -> None:
    table, _, _, k = random_table(np.random.default_rng(seed))
    T = table.shape[1]
    assert verify_nlk(table, T - 1, T, k).holds == (naive.attack(table, T - 1, T, k) is None)


def hard_table() -> Indices:
    """All words of five bits, all pairs of points alike: nothing is decided by counting, and no greedy choice succeeds."""
    return np.array(list(product([0, 1], repeat=5)))


def test_a_search_that_is_stopped_says_so() -> None:
    table = hard_table()
    assert verify_nlk(table, 2, 3, 17).holds
    verdict = verify_nlk(table, 2, 3, 17, node_limit=1)
    assert verdict.status is Status.UNKNOWN
    assert verdict.blocks_release
    assert "search was stopped" in verdict.witness


def test_no_limit_turns_a_violation_into_a_pass() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        table, n, l, k = random_table(rng)
        limited = find_violation(table.astype(np.float64), n, l, k, node_limit=int(rng.integers(0, 30)))
        if limited.status is not Status.UNKNOWN:
            assert (limited.status is Status.HOLDS) == (naive.attack(table, n, l, k) is None)


def test_points_of_several_dimensions_are_compared_as_a_whole() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        table, n, l, k = random_table(rng)
        other = rng.integers(0, 2, table.shape)
        cube = np.stack([table, other], axis=2).astype(np.float64)
        assert verify_nlk(cube, n, l, k).holds == (naive.attack(table * 10 + other, n, l, k) is None)


def test_minus_zero_is_another_text_than_zero() -> None:
    codes, sizes = clusters_of(np.array([[0.0], [-0.0], [0.0]]))
    assert len(set(codes[0].tolist())) == 2
    assert sizes.tolist() == [[2, 1, 2]]


def test_blocks_are_judged_one_by_one_or_together() -> None:
    good = np.zeros((4, 3))
    bad = np.array([[0.0, 0, 0], [0, 0, 1], [0, 1, 2], [0, 1, 3]])
    data = tv.Dataset.from_arrays({"gas": good, "power": bad}, times=["2020-01-01", "2020-01-02", "2020-01-03"])
    verdict = NLKAnonymity(1, 2, 3).verify(data)
    assert verdict.status is Status.VIOLATED
    assert verdict.witness == (
        "block 'power', row 1: who knows point 2020-01-02 infers point 2020-01-03, where fewer than 3 series remain possible"
    )
    together = NLKAnonymity(1, 2, 3, scope="record").verify(data)
    assert together.status is Status.VIOLATED
    assert together.witness.startswith("row 1: who knows point 2020-01-02")
    unequal = tv.Dataset.from_arrays({"gas": good, "power": bad[:, :2]})
    with pytest.raises(InputError, match="same length"):
        NLKAnonymity(1, 2, 3, scope="record").verify(unequal)


def test_it_says_what_it_promises_and_what_not() -> None:
    promise = NLKAnonymity(7, 10, 12)
    assert "any 7 of the values" in promise.words
    assert "at most 2 of the others" in promise.words
    assert "fewer than 12 series" in promise.words
    assert "does not stop re-identification" in promise.limits
    assert "none of the others" in NLKAnonymity(7, 8, 12).words


def test_all_wrong_parameters_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        verify_nlk(np.zeros((4, 3)), 0, 9, 1)
    assert len(caught.value.problems) == 3
    for wrong in ([[1.0, np.nan]], [[1.0], [2.0, 3.0]], ["ab"], np.zeros((0, 3))):
        with pytest.raises(InputError, match="published values"):
            verify_nlk(wrong, 1, 2, 2)


def test_parameters_end_where_they_say() -> None:
    check_nlk("x", 1, 2, 2, records=2, points=2)
    check_nlk("x", 3, 4, 5, records=5, points=4)
    for n, l, k, message in (
        (0, 1, 2, "The 'n' parameter of x must be at least 1. Got 0."),
        (2, 2, 2, "The 'l' parameter of x must be above n (2) and at most the number of time points (4). Got 2."),
        (2, 5, 2, "The 'l' parameter of x must be above n (2) and at most the number of time points (4). Got 5."),
        (1, 2, 1, "The 'k' parameter of x must be at least 2 and at most the number of records (5). Got 1."),
        (1, 2, 6, "The 'k' parameter of x must be at least 2 and at most the number of records (5). Got 6."),
    ):
        with pytest.raises(ParameterError) as caught:
            check_nlk("x", n, l, k, records=5, points=4)
        assert caught.value.problems == (message,)


def test_the_witness_names_rows_and_points_from_one() -> None:
    bad = np.array([[0.0, 0, 0, 0], [0, 1, 1, 1], [0, 2, 2, 2], [0, 3, 3, 3]])
    # Whoever knows the second point of a series knows the third and the fourth; the first is shared by all.
    assert verify_nlk(bad, 1, 3, 2).witness == (
        "row 1: who knows point 2 infers points 3, 4, where fewer than 2 series remain possible"
    )
    assert verify_nlk(bad, 2, 3, 2).witness == (
        "row 1: who knows points 1, 2 infers points 3, 4, where fewer than 2 series remain possible"
    )
    assert verify_nlk(bad[:, :2], 1, 2, 2).holds  # the only other point is shared by all
    many = np.hstack([np.zeros((4, 1)), np.tile(np.arange(4.0)[:, None], 14)])
    assert verify_nlk(many, 1, 2, 2).witness == (
        "row 1: who knows point 2 infers points 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 and 1 more, where fewer than 2 series "
        "remain possible"
    )


def test_what_a_search_has_done_is_told() -> None:
    table = hard_table()
    finding = find_violation(table.astype(float), 2, 3, 17)
    assert (finding.counted, finding.searched, finding.undecided) == (0, 32, ())
    assert verify_nlk(table, 2, 3, 17).details == (
        "0 series have too few values in small clusters for any attack, 32 were searched",
    )
    assert verify_nlk(table, 2, 3, 2).details == (
        "32 series have too few values in small clusters for any attack, 0 were searched",
    )
    stopped = find_violation(table.astype(float), 2, 3, 17, node_limit=1)
    assert stopped.undecided
    rows = "row" if len(stopped.undecided) == 1 else "rows"
    witness = verify_nlk(table, 2, 3, 17, node_limit=1).witness
    assert witness.startswith(
        f"the search was stopped after {stopped.nodes} nodes with {len(stopped.undecided)} series undecided ({rows} "
    )
    assert f"({rows} {stopped.undecided[0] + 1}" in witness
    assert stopped.counted + stopped.searched + len(stopped.undecided) == 32
    named = NLKAnonymity(2, 3, 17, node_limit=1).verify(tv.Dataset.from_arrays({"a": np.zeros((32, 5)), "b": table}))
    assert named.witness == f"block 'b': {witness}"
    assert named.details == ()


def test_the_whole_limit_may_be_used() -> None:
    table = hard_table().astype(float)
    needed = find_violation(table, 2, 3, 17).nodes
    assert needed > 32
    assert find_violation(table, 2, 3, 17, node_limit=needed).status is Status.HOLDS
    assert find_violation(table, 2, 3, 17, node_limit=needed - 1).status is Status.UNKNOWN


def test_each_block_has_its_details() -> None:
    data = tv.Dataset.from_arrays({"a": np.zeros((4, 3)), "b": np.ones((4, 3))})
    told = "4 series have too few values in small clusters for any attack, 0 were searched"
    assert NLKAnonymity(1, 2, 3).verify(data).details == (f"block 'a': {told}", f"block 'b': {told}")
    assert NLKAnonymity(1, 2, 3, scope="record").verify(data).details == (told,)
    with pytest.raises(ParameterError, match=r"'k' parameter of NLKAnonymity .* number of records \(4\). Got 5"):
        NLKAnonymity(1, 2, 5).verify(data)
    unequal = tv.Dataset.from_arrays({"a": np.zeros((4, 3)), "b": np.ones((4, 2))})
    assert NLKAnonymity(1, 2, 3).verify(unequal).holds
    with pytest.raises(InputError, match=r"same length. Got 2, 3 points\n  options: scope='block'"):
        NLKAnonymity(1, 2, 3, scope="record").verify(unequal)


def test_the_promise_counts_what_may_be_inferred() -> None:
    assert NLKAnonymity(7, 10, 12).short == "(7,10,12)-anonymity"
    assert "up to 2 values that may be published more exactly" in NLKAnonymity(7, 10, 12).limits
    assert "who knows more than 7 values" in NLKAnonymity(7, 10, 12).limits
    assert "clusters of at least 12 series" in NLKAnonymity(7, 10, 12).limits
    assert "at most 1 of the others" in NLKAnonymity(7, 9, 12).words
    assert "published series, its points of all dimensions, can infer" in NLKAnonymity(7, 9, 12, scope="record").words
    assert "published series can infer" in NLKAnonymity(7, 9, 12).words


def test_only_tables_of_numbers_are_judged() -> None:
    for wrong, message in (
        (np.zeros(3), r"series by time points. Got the shape \(3,\)"),
        (np.zeros((2, 2, 2, 2)), r"Got the shape \(2, 2, 2, 2\)"),
        (np.zeros((3, 0)), r"Got the shape \(3, 0\)"),
        ([["a", "b"]], "must be a table of numbers with rows of equal length"),
        ([[1.0, np.inf], [1.0, 2.0]], "must be finite numbers; some are missing or infinite"),
    ):
        with pytest.raises(InputError, match=message):
            verify_nlk(wrong, 1, 2, 2)
    assert verify_nlk(np.zeros((3, 2, 1)), 1, 2, 2).holds


def test_it_shares_no_code_with_the_protector() -> None:
    source = Path(tv.__file__).parent
    for own, foreign in (
        (("guarantee/nlk.py", "_kernels/nlk_verify.py"), "nlk_protect"),
        (("_kernels/nlk_protect.py",), "nlk_verify"),
    ):
        for path in own:
            tree = ast.parse((source / path).read_text(encoding="utf-8"))
            named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            assert not any(str(name).startswith("tsveil.protect") or foreign in str(name) for name in named), path
