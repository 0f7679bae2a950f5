"""Distances of two series. `DISTANCES` maps names to functions, for whatever offers a choice of distances."""

from __future__ import annotations

from collections.abc import Callable

from tsveil.distance.dtw import dtw
from tsveil.distance.euclidean import euclidean
from tsveil.distance.sts import sts

DISTANCES: dict[str, Callable[..., float]] = {"euclidean": euclidean, "sts": sts, "dtw": dtw}

__all__ = ["DISTANCES", "dtw", "euclidean", "sts"]
