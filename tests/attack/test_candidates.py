"""The distinct rows of a release."""

from __future__ import annotations

import numpy as np

from tsveil.attack.candidates import marks


def test_marks_are_equal_for_equal_rows_only() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (2000, 5)).astype(float)
    found = marks(rows)
    _, by_rows = np.unique(rows, axis=0, return_inverse=True)
    _, by_marks = np.unique(found, axis=0, return_inverse=True)
    assert len(set(zip(by_rows.ravel().tolist(), by_marks.ravel().tolist(), strict=True))) == by_rows.max() + 1
    assert by_marks.max() == by_rows.max()
