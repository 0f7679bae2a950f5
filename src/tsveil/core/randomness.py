"""Where randomness comes from.

One secret seed of 128 bits belongs to a release. Everything random in the release follows from it, so a run can be repeated by whoever holds private/, and by
nobody else. A seed that a person chose is short, and would be found by trying: the seed of a release that a plan makes comes from the plan's seed, if it has one, and a secret
drawn from the operating system (`release_seed`), which is kept in private/.

What an intruder can see comes from SHAKE-256: unlike that of a statistical generator its output says nothing about the seed or about
the rest of the stream. Row order and identifiers are published, and whoever knows some original values sees which of them were
swapped or how much noise they got. A numpy generator gives each such stream its key and is used for nothing else in
these methods, so its own output stays unseen.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from tsveil.core.types import AnyArray, Array, Indices


def fresh_seed() -> int:
    """A seed of 128 bits from the operating system."""
    return secrets.randbits(128)


def fresh_secret() -> str:
    """A secret of 128 bits from the operating system, as text."""
    return secrets.token_hex(16)


def release_seed(seed: int | None, secret: str) -> int:
    """The seed of a release, from the seed of its plan and a secret; without a secret it is the seed of the plan.

    Examples
    --------
    >>> release_seed(7, "") == 7, release_seed(7, "a") == release_seed(7, "b"), release_seed(7, "a") == release_seed(8, "a")
    (True, False, False)
    """
    if not secret:
        return fresh_seed() if seed is None else seed
    return int.from_bytes(hashlib.shake_256(f"tsveil/release/{secret}/{seed}".encode()).digest(16), "little")


def derived_seed(seed: int, purpose: str) -> int:
    """A seed of 128 bits for one part of a larger work; whoever learns it learns nothing about the others.

    Examples
    --------
    >>> derived_seed(1, "a") == derived_seed(1, "a"), derived_seed(1, "a") == derived_seed(1, "b")
    (True, False)
    """
    return int.from_bytes(hashlib.shake_256(f"tsveil/seed/{purpose}/{seed}".encode()).digest(16), "little")


def _stream(seed: int, purpose: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    raw = hashlib.shake_256(f"tsveil/{purpose}/{seed}".encode()).digest(8 * count)
    return np.frombuffer(raw, dtype=np.dtype("<u8"))


def secret_order(seed: int, n: int) -> Indices:
    """A permutation of 0..n-1 that only the holder of the seed can repeat.

    Examples
    --------
    >>> sorted(secret_order(1, 5).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.argsort(_stream(seed, "order", n), kind="stable").astype(np.int64)


def secret_numbers(seed: int, n: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """N different numbers of 64 bits.

    Examples
    --------
    >>> secret_numbers(1, 2)[0] == secret_numbers(1, 9)[0]
    np.True_
    """
    asked = n
    while True:
        # Two equal draws of 64 bits are next to impossible, but "next to" is not a guarantee: draw on until all differ.
        drawn = _stream(seed, "names", asked)
        first = np.sort(np.unique(drawn, return_index=True)[1])
        if len(first) >= n:
            return drawn[first[:n]]
        asked += n


def secret_name(number: int) -> str:
    """An identifier of 16 hexadecimal digits, after an 'r' so that no program takes one for a number.

    Examples
    --------
    >>> secret_name(255)
    'r00000000000000ff'
    """
    return f"r{number:016x}"


def sub_seed(seed: int, *place: int) -> int:
    """A seed for one piece of the work, which says nothing about the seed of the whole.

    Examples
    --------
    >>> sub_seed(1, 0, 1) != sub_seed(1, 1, 0)
    True
    """
    raw = hashlib.shake_256(f"tsveil/piece/{'/'.join(map(str, place))}/{seed}".encode()).digest(16)
    return int.from_bytes(raw, "little")


def generator(seed: int) -> np.random.Generator:
    """A numpy generator for the random steps of a method whose draws nobody sees, and for the keys of `secret_*` streams."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def secret_integers(rng: np.random.Generator, count: int, bits: int = 62) -> Indices:
    """Uniform whole numbers from 0 to 2^bits - 1, at most 63 bits, from a stream with a fresh key.

    Examples
    --------
    >>> draws = secret_integers(generator(1), 1000, bits=3)
    >>> int(draws.min()), int(draws.max())
    (0, 7)
    """
    raw = hashlib.shake_256(b"tsveil/draws/" + rng.bytes(32)).digest(8 * count)
    return (np.frombuffer(raw, dtype=np.dtype("<u8")) >> np.uint64(64 - bits)).astype(np.int64)


def secret_uniforms(rng: np.random.Generator, count: int) -> Array:
    """Uniform numbers from 0 up to but not including 1.

    Examples
    --------
    >>> float(secret_uniforms(generator(1), 100_000).mean().round(2))
    0.5
    """
    uniforms: Array = np.ldexp(secret_integers(rng, count, bits=53).astype(np.float64), -53)
    return uniforms


def secret_normals(rng: np.random.Generator, count: int) -> Array:
    """Standard normal numbers, by the inverse of the distribution function: |z| below 8.3.

    Examples
    --------
    >>> float(secret_normals(generator(1), 100_000).std().round(2))
    1.0
    """
    from scipy.special import ndtri

    # In the middle of each of 2^52 cells, never 0 or 1, and as many above a half as below.
    normals: Array = ndtri((secret_integers(rng, count, bits=52) + 0.5) * 2.0**-52)
    return normals


def mix(x: AnyArray) -> AnyArray:
    """A number of 64 bits for each, that looks random (the finaliser of splitmix64).

    Examples
    --------
    >>> mix(np.array([0, 1], dtype=np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    z = x * np.uint64(1) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
