"""Releases of every kind of table, written as CSV unless their name says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tsveil as tv
from frame_cases import long_frame

DAYS = [f"2024-01-{day:02}" for day in range(1, 7)]


def _wide() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    values = rng.gamma(3, 2, (24, len(DAYS))).round(3)
    frame = pl.DataFrame(values, schema=DAYS, orient="row")
    frame.insert_column(0, pl.Series("household", [f"markedid{i:02}" for i in range(24)]))
    return frame.with_columns(
        tariff=pl.Series(["day", "night"] * 12), rooms=pl.Series(rng.integers(1, 9, 24)), moved=pl.Series([True, False] * 12)
    )  # fmt: skip


def _series() -> tv.Release:
    data = tv.Dataset.from_frame(
        _wide(), id="household", blocks={"load": DAYS}, confidential=["tariff", "rooms", "moved"]
    )
    return tv.MDAV(k=4).protect(data, seed=12345678901234567)


def _long() -> tv.Release:
    frame = long_frame().with_columns(pl.col("ds").dt.to_string("%Y-%m-%d %H:%M"))
    data = tv.Dataset.from_long(frame, id="unique_id", time="ds", value=["y", "count"], confidential="tariff")
    return tv.MDAV(k=4).protect(data, seed=12345678901234567)


def _labels() -> tv.Release:
    frame = _wide()
    data = tv.Dataset.from_frame(frame, id="household", categories={"tariff": "nominal"}, blocks={"size": ["rooms"]})
    return tv.MDAV(k=4, rounding="input").protect(data, seed=12345678901234567)


def _envelopes() -> tv.Release:
    data = tv.Dataset.from_frame(_wide(), id="household", blocks={"load": DAYS}, confidential=["tariff"])
    return tv.KP(k=4, P=2).protect(data, seed=12345678901234567)


def _gaps() -> tv.Release:
    frame = _wide().with_columns(
        pl.when(pl.int_range(24) % 6 == 1).then(None).otherwise(pl.col(DAYS[2])).alias(DAYS[2])
    )
    data = tv.Dataset.from_frame(frame, id="household", blocks={"load": DAYS}, missing="mask")
    return tv.MDAV(k=4).protect(data, seed=12345678901234567)


def _formulas() -> tv.Release:
    frame = _wide().rename({"tariff": "=tariff", "rooms": "+rooms"}).with_columns(pl.lit("=1+1").alias("=tariff"))
    data = tv.Dataset.from_frame(frame, id="household", blocks={"size": ["+rooms"]}, confidential=["=tariff"])
    return tv.MDAV(k=4).protect(data, seed=12345678901234567)


KINDS: dict[str, Callable[[], tv.Release]] = {
    "series": _series,
    "long": _long,
    "labels": _labels,
    "envelopes": _envelopes,
    "gaps": _gaps,
    "formulas": _formulas,
}


def written(kind: str, folder: Path, **options: Any) -> Path:
    """The folder of a release."""
    return KINDS[kind]().write(
        folder, allow=["coverage", "whole-record", "carried", "attribute-disclosure", "accepted-risk"], **options
    )
