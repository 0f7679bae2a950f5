"""The secret streams: the distribution that they promise, and nothing that repeats or leaks."""

from __future__ import annotations

import hashlib

import numpy as np
from scipy.stats import chisquare, kstest

from tsveil.core.randomness import generator, secret_integers, secret_normals, secret_uniforms


def test_integers_are_uniform_in_every_bit() -> None:
    draws = secret_integers(generator(3), 200_000, bits=62)
    assert draws.min() >= 0
    assert draws.max() < 2**62
    for bit in range(62):
        assert abs(int(((draws >> bit) & 1).sum()) - 100_000) < 5 * np.sqrt(200_000 / 4)
    cells = np.bincount(secret_integers(generator(4), 160_000, bits=4), minlength=16)
    assert len(cells) == 16
    assert chisquare(cells).pvalue > 1e-4


def test_uniforms_and_normals_have_their_distributions() -> None:
    uniforms = secret_uniforms(generator(5), 100_000)
    assert uniforms.min() >= 0
    assert uniforms.max() < 1
    assert kstest(uniforms, "uniform").pvalue > 1e-4
    normals = secret_normals(generator(6), 100_000)
    assert np.isfinite(normals).all()
    assert kstest(normals, "norm").pvalue > 1e-4


def test_the_same_key_gives_the_same_stream_and_another_key_another() -> None:
    rng, again = generator(7), generator(7)
    first, second = secret_integers(rng, 100), secret_integers(rng, 100)
    assert np.array_equal(first, secret_integers(again, 100))
    assert not np.array_equal(first, second)
    # A longer stream begins like a shorter one, so results do not depend on how much is drawn in reserve.
    assert np.array_equal(secret_integers(generator(7), 500)[:100], first)


def test_the_stream_is_the_hash_and_not_the_generator() -> None:
    raw = hashlib.shake_256(b"tsveil/draws/" + generator(8).bytes(32)).digest(80)
    assert np.array_equal(secret_integers(generator(8), 10, bits=63), np.frombuffer(raw, "<u8") >> np.uint64(1))
