"""How many random cases a test tries: a share of them in every run, all of them in `make exhaustive` (TSVEIL_EXHAUSTIVE)."""

from __future__ import annotations

import os

EXHAUSTIVE = bool(os.environ.get("TSVEIL_EXHAUSTIVE"))


def cases(few: int, every: int) -> int:
    """The number of cases of this run."""
    return every if EXHAUSTIVE else few
