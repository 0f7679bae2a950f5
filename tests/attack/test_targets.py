"""Which records are attacked."""

from __future__ import annotations

import numpy as np
import pytest

from tsveil.attack import targets


def test_samples_hold_each_other_and_have_the_size_that_was_asked_for() -> None:
    before: set[int] = set()
    for asked in (1, 2, 50, 999, 1000):
        rows = set(
            np.flatnonzero(targets.chosen_rows(targets.border_of(np.arange(1000), asked), np.arange(1000))).tolist()
        )
        assert len(rows) == asked
        assert before <= rows
        before = rows


def test_the_number_of_targets_depends_on_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 10**6
    assert targets.affordable(targets.EVERYBODY, 1e12) == targets.EVERYBODY
    assert targets.affordable(n, 1.0) == n
    assert targets.affordable(n, 1e6) == targets.PER_RECORD * n // 10**6
    assert targets.affordable(n, 1e12) == 1
    assert targets.affordable(n, 1e12, least=4096) == 4096
    assert targets.affordable(n, 1e12, asked=0) == n
    assert targets.affordable(5, 1.0, asked=7) == 5
