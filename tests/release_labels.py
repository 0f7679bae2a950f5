"""Households and devices in files, smaller than the examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PLACES = {f"t{at}": [f"r{at // 3}", "*"] for at in range(6)}
SIZES = ["small", "medium", "large"]
STATES = ["off", "on", "fault"]


def households(path: Path, n: int = 120) -> dict[str, Any]:
    """A Parquet file with loads, keys of all kinds and a series of states, and the options by which it is read."""
    draw = np.random.default_rng(3)
    state = draw.integers(0, 3, (n, 10))
    state[:, 1:] = np.where(draw.random((n, 9)) < 0.7, state[:, :-1], state[:, 1:])
    frame = pl.DataFrame(
        {
            "id": [f"h{at}" for at in range(n)],
            "town": draw.choice(list(PLACES), n),
            "home": draw.choice(["flat", "house", "villa"], n),
            "size": draw.choice(SIZES, n),
            **{f"load{at}": np.round(draw.normal(5, 2, n), 1) for at in range(3)},
            **{f"s{at}": np.array(STATES)[state[:, at]] for at in range(10)},
        }
    )
    frame.write_parquet(path)
    return {
        "id": "id",
        "blocks": {"load": ["load0", "load1", "load2"], "keys": ["town", "home", "size"], "state": [f"s{at}" for at in range(10)]},
        "categories": {"town": {"hierarchy": PLACES}, "home": "nominal", "size": SIZES, "state": {"kind": "nominal", "order": STATES}},
        "times": {"load": None, "state": list(range(10))},
    }  # fmt: skip
