"""How much a test tries: a share of its cases in every run, all of them in `make exhaustive` (TSVEIL_EXHAUSTIVE)."""

from __future__ import annotations

import os
from typing import TypeVar

EXHAUSTIVE = bool(os.environ.get("TSVEIL_EXHAUSTIVE"))

T = TypeVar("T")


def cases(few: T, every: T) -> T:
    """The cases of this run, or their number."""
    return every if EXHAUSTIVE else few
