"""Releases of time series are judged by the attacks that are made for their method, too."""

from __future__ import annotations

import numpy as np
import pytest

import tsveil as tv
from tsveil.attack.base import Shape
from tsveil.attack.choose import fitting


@pytest.fixture(scope="module")
def curves() -> tv.Dataset:
    rng = np.random.default_rng(5)
    blocks = {"load": rng.normal(size=(120, 20)).cumsum(axis=1), "gas": rng.gamma(2.0, size=(120, 15))}
    return tv.Dataset.from_arrays(blocks)


def test_swapped_series_are_found_by_their_ranks(curves: tv.Dataset) -> None:
    release = tv.RankSwap(p=30).protect(curves, seed=1)
    card = tv.evaluate(curves, release)
    assert card.best_attack == ("LMLD", card["LMLD"])
    assert card["LMLD"] > card["RSLD"] > 80 > 60 > card["EULD"]
    # The definition of DR1 knows the two linkages of series only.
    assert card["DR1"] == max(card["EULD"], card["STSLD"])
    assert (card.per_record["risk"] >= card.per_record["linked_by_RSLD"]).all()
    assert card.per_record["linked_by_RSLD"].mean() == pytest.approx(card["RSLD"])
    assert len(card.by_known["RSLD"]) == 2
    alone = tv.attack.rank_swap(curves, release, known=list(curves.blocks[0].columns), p=30.0)
    assert card.by_known["RSLD"][0] == pytest.approx(alone.rate)
    assert list(card.meanings).index("RSLD") == list(card.meanings).index("STSLD") + 1


def test_series_averaged_column_by_column_are_found_by_alignment(curves: tv.Dataset) -> None:
    card = tv.evaluate(curves, tv.OptimalUnivariate(k=40).protect(curves))
    assert card["ARLD"] > card["EULD"]
    assert card.best_attack[0] == "ARLD"


def test_noise_with_the_correlations_of_series_is_found_by_the_mahalanobis_distance(curves: tv.Dataset) -> None:
    release = tv.Noise(sd=2, correlated=True).protect(curves, seed=1)
    card = tv.evaluate(curves, release)
    assert card.best_attack == ("LKLD", card["LKLD"])
    assert card["LKLD"] > card["MALD"] > 2 * card["EULD"]
    assert card["DR1"] == max(card["EULD"], card["STSLD"])
    alone = [tv.attack.mahalanobis(curves, release, known=known).rate for known in (["load"], ["load", "gas"])]
    assert card.by_known["MALD"] == pytest.approx(alone)


def test_other_methods_keep_the_two_linkages(curves: tv.Dataset) -> None:
    assert set(tv.evaluate(curves, tv.MDAV(k=5).protect(curves)).by_known) == {"EULD", "STSLD"}
    assert set(tv.evaluate(curves, tv.Noise(sd=2).protect(curves)).by_known) == {"EULD", "STSLD", "LKLD"}


def test_files_of_unknown_making_are_attacked_by_what_fits_any(curves: tv.Dataset) -> None:
    assert set(tv.evaluate(curves, tv.RankSwap(p=30).protect(curves).data).by_known) == {"EULD", "STSLD", "MALD"}
    expected = ["EULD", "STSLD", "MALD", "SCLD", "OOLD", "PFLD", "PFLL"]
    assert [attack.figure for attack in fitting(Shape(curves.n, curves.blocks))] == expected
