"""The sum of squared errors in both forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_micro
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.measure.sse import Form, sse, sse_share


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Array]:
    """An original and something near it; ties, constants, offsets, tiny and huge values."""
    n, d = draw(st.integers(2, 20)), draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["normal", "ties", "constant", "offset", "tiny", "huge"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "ties":
        return rng.integers(0, 3, (n, d)).astype(np.float64), rng.integers(0, 3, (n, d)).astype(np.float64)
    if kind == "constant":
        return np.full((n, d), 0.1), rng.normal(size=(n, d))
    scale, offset = {"tiny": 1e-100, "huge": 1e100}.get(kind, 1.0), 1e6 if kind == "offset" else 0.0
    x = rng.normal(size=(n, d))
    return x * scale + offset, (x + rng.normal(0, 0.3, (n, d))) * scale + offset


@given(pairs(), st.sampled_from(["standardised", "printed"]))
def test_it_follows_the_definition(files: tuple[Array, Array], form: Form) -> None:
    assert sse(*files, form) == pytest.approx(naive_micro.sse(*files, form), rel=1e-6, abs=1e-9)


@given(pairs())
def test_nothing_lost_is_zero_and_the_mean_loses_all(files: tuple[Array, Array]) -> None:
    X = files[0]
    assert sse(X, X) == sse(X, X, "printed") == sse_share(X, X) == 0.0
    means = np.repeat(X[:1] + (X - X[:1]).mean(axis=0, keepdims=True), len(X), axis=0)
    varies = bool((X.max(axis=0) > X.min(axis=0)).any())
    assert sse_share(X, means) == pytest.approx(100.0 if varies else 0.0, rel=1e-6)


@given(pairs())
def test_units_do_not_matter(files: tuple[Array, Array]) -> None:
    X, X2 = files
    for form in ("standardised", "printed"):
        assert sse(X * 4.0, X2 * 4.0, form) == pytest.approx(sse(X, X2, form), rel=1e-9)


def test_the_share_is_that_of_the_sum_of_squares() -> None:
    rng = np.random.default_rng(0)
    X, X2 = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    assert sse_share(X, X2) == pytest.approx(100 * sse(X, X2) / (50 * 3))


def test_a_large_offset_loses_nothing() -> None:
    X = np.arange(12.0).reshape(6, 2)
    assert sse(X + 2**40, X + 2**40 + 0.5) == pytest.approx(sse(X, X + 0.5), rel=1e-12)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match=r"Got the shapes \(2, 1\) and \(1, 2\)"):
        sse([[1.0], [2.0]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="missing or infinite"):
        sse_share([[1.0], [float("nan")]], [[1.0], [2.0]])
    with pytest.raises(
        ParameterError, match=r"The 'form' parameter of sse must be 'standardised' or 'printed'. Got 'raw'."
    ):
        sse([[1.0]], [[1.0]], "raw")  # type: ignore[arg-type]
