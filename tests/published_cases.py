"""The cases of tests/golden/published.json: what is protected, how, and how the result becomes a hash or figures.

The data have a fixed seed and are made of whole numbers and eighths only, so that their bits are the same on every machine. Each kind
comes twice: `continuous` has hardly a tie, `ties` has whole numbers with many ties, records that are copies of others and constant columns.
Methods that treat columns one by one would publish `ties` unchanged, because every value occurs often enough; for them there is also
`levels`, in which a value occurs about five times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

import tsveil as tv
from tsveil.core.registry import METHODS
from tsveil.core.types import Array

SEED = 7
#: records, and those of the kind "many": exact MDAV and envelopes go another way from 2,000 and 1,000 records on
RECORDS, MANY = 303, 2103
#: figures of envelopes that are measured with random queries
ASKED = ("range_error", "range_gap", "similar_found")

#: kind -> block -> number of columns; the blocks of TIMES are series, the others attributes
KINDS: dict[str, dict[str, int]] = {
    "one-series": {"load": 16},
    "two-series": {"load": 16, "gas": 16},
    "attributes": {"person": 5},
    "attribute-blocks": {"person": 5, "home": 3},
    "series-attributes": {"load": 16, "person": 5},
    "many": {"load": 16},
}
#: the gas meter is not read at regular times, which matters for slopes
TIMES = {"load": list(range(16)), "gas": [0, 1, 2, 4, 5, 6, 9, 10, 11, 12, 14, 15, 16, 20, 21, 22]}
VALUES = ("continuous", "ties")
#: values -> how many whole numbers they are drawn from
WHOLE = {"ties": 4, "levels": 60}

ANY = ("one-series", "two-series", "attributes", "attribute-blocks", "series-attributes")
SERIES = ("one-series", "two-series")
SEVERAL = ("two-series", "attribute-blocks", "series-attributes")
MIXED = ("series-attributes",)
ONE = ("one-series",)
FLAT = ("one-series", "attributes")
LEVELS = ("levels",)


#: what the settings of a case mean where they do not say it: each block by itself and MDAV as published, the defaults of 0.1
UNSAID: dict[str, dict[str, str]] = {
    "mdav": {"grouping": "per-block", "refine": "none"},
    "v-mdav": {"grouping": "per-block"},
    "p-sensitive": {"grouping": "per-block"},
    "nlk": {"grouping": "per-block"},
}


@dataclass(frozen=True)
class Case:
    """A method with its settings on a data set."""

    method: str
    settings: Mapping[str, Any]
    data: str
    #: whether the published values depend on the seed; their hash may be made anew when random numbers are drawn in another order
    draws: bool = False
    #: the last bits depend on the linear algebra library, so values are compared in steps of 1/1024
    coarse: bool = False

    @property
    def name(self) -> str:
        """Its name in published.json."""
        return f"{self.method}({', '.join(f'{key}={value}' for key, value in self.settings.items())}) on {self.data}"


def _cases(
    name: str,
    settings: Mapping[str, Any],
    *kinds: str,
    draws: bool = False,
    coarse: bool = False,
    more: tuple[str, ...] = (),
) -> Iterator[Case]:
    for kind in kinds:
        for values in (*VALUES, *more):
            yield Case(name, settings, f"{kind} {values}", draws, coarse)


def _mdav() -> Iterator[Case]:
    search = {"k": 5, "refine": "search", "iterations": 2000}
    parts = {"k": 5, "mode": "partitioned", "part": 100}
    yield from _cases("mdav", {"k": 5}, *ANY, "many")
    yield from _cases("mdav", {"k": 5, "refine": "swap"}, *ANY, "many")
    yield from _cases("mdav", search, *ANY, draws=True)
    for refine in ({}, {"refine": "swap"}):
        yield from _cases("mdav", {"k": 5, "grouping": "joint", **refine}, *ANY)
        yield from _cases("mdav", {"k": 5, "distance": "sts", **refine}, *SERIES)
        yield from _cases("mdav", {"k": 5, "distance": "sts", "grouping": "joint", **refine}, "two-series")
        yield from _cases("mdav", {"k": 5, "representative": "median", **refine}, *ANY)
        yield from _cases("mdav", {**parts, **refine}, *ANY)
        yield from _cases("mdav", {**parts, "grouping": "joint", **refine}, *SEVERAL)
    yield from _cases("mdav", {**search, "grouping": "joint"}, *SEVERAL, draws=True)
    yield from _cases("mdav", {**search, **parts}, *FLAT, draws=True)
    yield from _cases("mdav", {"k": 5, "mode": "exact"}, *MIXED)
    yield from _cases("mdav", {"k": 5, "variant": "paper"}, *ANY)
    yield from _cases("mdav", {"k": 5, "scale": "standardise"}, *FLAT)
    yield from _cases("mdav", {"k": 5, "scale": "none"}, *FLAT)
    yield from _cases("mdav", {"k": 2}, *FLAT)
    yield from _cases("mdav", {"k": 200}, *FLAT)
    yield from _cases("mdav", {"k": 5, "rounding": "input"}, *ANY)


def _other_groups() -> Iterator[Case]:
    for name, settings in (("v-mdav", {"k": 5}), ("p-sensitive", {"k": 5, "p": 2})):
        yield from _cases(name, settings, *ANY)
        yield from _cases(name, {**settings, "grouping": "joint"}, *ANY)
        yield from _cases(name, {**settings, "distance": "sts"}, *SERIES)
        yield from _cases(name, {**settings, "representative": "median"}, *MIXED)
        yield from _cases(name, {**settings, "scale": "standardise"}, *ONE)
        yield from _cases(name, {**settings, "scale": "none"}, "attributes")
        yield from _cases(name, {**settings, "rounding": "input"}, *MIXED)
    for gamma in (0.0, 1.0, 5.0):
        yield from _cases("v-mdav", {"k": 5, "gamma": gamma}, *ANY)
    yield from _cases("p-sensitive", {"k": 3, "p": 4, "columns": "town"}, *ANY)


def _nlk() -> Iterator[Case]:
    small = {"n": 2, "l": 5, "k": 6}
    for heuristic in ("auto", "stage1", "mth", "mil", "gpe", "peel"):
        settings = {**small, "heuristic": heuristic}
        yield from _cases("nlk", settings, *SERIES, more=LEVELS)
        yield from _cases("nlk", {**settings, "representative": "median"}, *ONE, more=LEVELS)
        yield from _cases("nlk", {**settings, "smallest_cluster": 2}, *ONE, more=LEVELS)
        yield from _cases("nlk", {**settings, "grouping": "joint"}, "two-series", more=LEVELS)
    yield from _cases("nlk", {"n": 1, "l": 2, "k": 4}, *ONE, more=LEVELS)
    yield from _cases("nlk", {**small, "rounding": "input"}, "two-series", more=LEVELS)


def _projected() -> Iterator[Case]:
    yield from _cases("projected", {"k": 5}, *ANY)
    for projection in ("pcp", "zscores", "sugeno", "owa", "choquet", "twofold"):
        for grouping in ("optimal", "fixed"):
            yield from _cases("projected", {"k": 5, "projection": projection, "grouping": grouping}, *FLAT, *MIXED)
    yield from _cases("projected", {"k": 5, "scale": "range"}, *FLAT)
    yield from _cases("projected", {"k": 5, "projection": "owa", "scale": "standardise"}, *FLAT)
    for quantifier, alpha in (("exponent", 2.0), ("sigmoid", 0.5), ("threshold", 0.5)):
        settings = {"k": 5, "projection": "owa", "quantifier": quantifier, "alpha": alpha}
        yield from _cases("projected", settings, "attributes")
    for projection in ("sugeno", "choquet", "twofold"):
        yield from _cases("projected", {"k": 5, "projection": projection, "alpha": 2.0}, "attributes")
    yield from _cases("projected", {"k": 5, "rounding": "input"}, *MIXED)


def _columns() -> Iterator[Case]:
    for settings in ({"k": 5}, {"k": 3}, {"k": 200}):
        yield from _cases("optimal-univariate", settings, *ANY, more=LEVELS)
    yield from _cases("optimal-univariate", {"k": 5, "rounding": "input"}, *MIXED, more=LEVELS)
    for kappa in (7, 100):
        yield from _cases("mic1d", {"kappa": kappa}, *ANY, more=LEVELS)
    yield from _cases("mic1d", {"kappa": 100, "rounding": "input"}, *MIXED)


def _random() -> Iterator[Case]:
    drawn: list[tuple[str, dict[str, Any]]] = [
        ("rank-swap", {"p": 10.0}),
        ("rank-swap", {"p": 1.0}),
        ("rank-swap-distribution", {"p": 10.0}),
        ("rank-swap-buckets", {"buckets": 20}),
        ("noise", {"sd": 0.25}),
        ("noise", {"sd": 0.25, "correlated": True}),
    ]
    for name, settings in drawn:
        coarse = bool(settings.get("correlated"))
        yield from _cases(name, settings, *ANY, draws=True, coarse=coarse, more=LEVELS)
        yield from _cases(name, {**settings, "rounding": "input"}, *MIXED, draws=True, coarse=coarse)


def _intervals() -> Iterator[Case]:
    kp: dict[str, Any] = {"k": 10, "P": 3}
    variants: tuple[dict[str, Any], ...] = (
        {},
        {"levels": "paper"},
        {"word_length": 4},
        {"max_level": 4},
        {"round_to": 0.5},
        {"k": 20, "P": 2},
    )
    for more in variants:
        yield from _cases("kp", {**kp, **more}, *ONE)
    for settings in ({"k": 10}, {"k": 3}, {"k": 10, "words": "unprotected"}, {"k": 10, "round_to": 0.5}):
        yield from _cases("k-envelopes", settings, *ONE)
    yield from _cases("kp", kp, "many")
    yield from _cases("k-envelopes", {"k": 10}, "many")


CASES: dict[str, Case] = {
    case.name: case
    for made in (_mdav(), _other_groups(), _nlk(), _projected(), _columns(), _random(), _intervals())
    for case in made
}

#: releases whose score cards are stored
FIGURES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("mdav", {"k": 5, "refine": "swap"}, "one-series continuous"),
        Case("mdav", {"k": 5}, "two-series ties"),
        Case("mdav", {"k": 5}, "attributes ties"),
        Case("mdav", {"k": 5, "grouping": "joint"}, "series-attributes continuous"),
        Case("optimal-univariate", {"k": 5}, "attributes continuous"),
        Case("projected", {"k": 5}, "attribute-blocks continuous"),
        Case("mic1d", {"kappa": 100}, "attribute-blocks ties"),
        Case("p-sensitive", {"k": 5, "p": 2}, "attributes continuous"),
        Case("nlk", {"n": 2, "l": 5, "k": 6, "heuristic": "peel"}, "two-series continuous"),
        Case("rank-swap", {"p": 10.0}, "attributes continuous", draws=True),
        Case("noise", {"sd": 0.25}, "two-series continuous", draws=True),
        Case("kp", {"k": 10, "P": 3}, "one-series continuous"),
        Case("k-envelopes", {"k": 10}, "one-series ties"),
    )
}

#: the data sets that are used
DATA: tuple[str, ...] = tuple(dict.fromkeys(case.data for case in (*CASES.values(), *FIGURES.values())))


# -- the data ------------------------------------------------------------------------------------------------------------


def _continuous(rng: np.random.Generator, n: int, columns: int, series: bool) -> Array:
    steps = rng.integers(-4000, 4001, (n, columns))
    if series:
        return steps.cumsum(axis=1) / 8
    # Attributes of different units, the second like the first.
    steps[:, 1] += 2 * steps[:, 0]
    return steps * 2.0 ** (2 * np.arange(columns) - 6)


def _whole(rng: np.random.Generator, n: int, columns: int, series: bool, values: int) -> Array:
    numbers = rng.integers(0, values, (n, columns)) * (1 if series else 10 ** np.arange(columns))
    numbers[:, 2] = 3
    return numbers.astype(np.float64)


@cache
def data_named(name: str) -> tv.Dataset:
    """The data set with this name."""
    kind, values = name.split()
    n = MANY if kind == "many" else RECORDS
    rng = np.random.default_rng(list(name.encode()))
    make = partial(_whole, values=WHOLE[values]) if values in WHOLE else _continuous
    table = np.hstack([make(rng, n, columns, block in TIMES) for block, columns in KINDS[kind].items()])
    if values in WHOLE:
        # A fifth of the records are copies of others.
        copies = rng.choice(n, n // 5, replace=False)
        table[copies] = table[rng.integers(0, n, len(copies))]
    blocks = {block: [f"{block} {at}" for at in range(columns)] for block, columns in KINDS[kind].items()}
    names = [column for block in blocks.values() for column in block]
    frame = pl.DataFrame(table, schema=names).with_columns(
        town=pl.Series([("a", "b", "c", "d", "e", "f")[at] for at in rng.integers(0, 6, n)]),
        ill=pl.Series([("no", "yes")[at] for at in rng.integers(0, 2, n)]),
    )
    times = {block: TIMES.get(block) for block in blocks}
    return tv.Dataset.from_frame(frame, blocks=blocks, times=times, confidential=["town", "ill"])


# -- what is stored of them and of releases ------------------------------------------------------------------------------


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def data_hash(name: str) -> str:
    """The hash of a data set before protection."""
    data = data_named(name)
    return _hash(data.values.astype("<f8").tobytes(), data.others.write_csv().encode())


def released(case: Case, seed: int = SEED) -> Any:
    """The release of a case."""
    made = METHODS.make(case.method, {**UNSAID.get(case.method, {}), **case.settings})
    return made.protect(data_named(case.data), seed=seed)


def published_hash(case: Case, seed: int = SEED) -> str:
    """The hash of what a case publishes, in the order of the original."""
    release = released(case, seed)
    if release.envelopes:
        words = "none" if release.words is None else "\n".join(release.words)
        levels = b"none" if release.levels is None else release.levels.astype("<i8").tobytes()
        bounds = (release.lo.astype("<f8").tobytes(), release.hi.astype("<f8").tobytes())
        return _hash(*bounds, words.encode(), levels, release.rows.astype("<i8").tobytes())
    values = release.data.values
    return _hash((np.rint(values * 1024) if case.coarse else values).astype("<f8").tobytes())


def figures(case: Case) -> dict[str, float]:
    """The score card of a case."""
    release = released(case)
    options = {} if release.envelopes or not release.original.series else {"models": "fitting"}
    found: dict[str, float] = release.evaluate(**options).to_dict()
    return found
