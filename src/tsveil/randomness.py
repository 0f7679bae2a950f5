"""Where randomness comes from.

One secret seed of 128 bits belongs to a release: given by the caller, or drawn from the operating system. Everything random
in the release follows from it, so a run can be repeated by whoever holds private/, and by nobody else. What is published
directly (row order, identifiers) comes from SHAKE-256 over the seed: unlike a statistical generator its output says nothing
about the seed or about the rest of the stream.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from tsveil._types import Indices


def fresh_seed() -> int:
    """A seed of 128 bits from the operating system."""
    return secrets.randbits(128)


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


def secret_names(seed: int, n: int) -> list[str]:
    """N different identifiers of 16 hexadecimal digits, each after an 'r' so that no program takes one for a number.

    Examples
    --------
    >>> len(set(secret_names(1, 1000)))
    1000
    """
    names: dict[str, None] = {}
    asked = n
    while len(names) < n:
        # Two equal draws of 64 bits are next to impossible, but "next to" is not a guarantee: draw on until all differ.
        names = dict.fromkeys(f"r{value:016x}" for value in _stream(seed, "names", asked).tolist())
        asked += n
    return list(names)[:n]


def generator(seed: int) -> np.random.Generator:
    """A numpy generator for the random steps of a method, whose draws are not published."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
