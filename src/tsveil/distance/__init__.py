"""Distances of two series, one file each: what microaggregation, linkage and the command line choose from.

A distance knows arrays only. Nothing here knows data sets, methods or attacks.
"""

from __future__ import annotations

from tsveil.distance.dtw import dtw
from tsveil.distance.euclidean import euclidean
from tsveil.distance.sts import sts

__all__ = ["dtw", "euclidean", "sts"]
