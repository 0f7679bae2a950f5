"""Verification of a release in many files: the promise is about all of them together, so all of them are read again.

k-anonymity counts how often each published row of values occurs over all files (`counting`). (k,P)-anonymity and k-anonymous envelopes count
envelopes, and patterns inside them, in the same way; bounds must be in their order and letters must be those of their level; and
what carried columns give away is counted. (n,l,k)-anonymity is in `verify_nlk`.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tsveil.data.intervals import HIGH, LEVEL, LOW, WORD
from tsveil.data.store import Store
from tsveil.engine.base import Engine, Result
from tsveil.errors import some
from tsveil.guarantee.base import Guarantee, Status, Verdict
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.guarantee.kp import EnvelopeAnonymity, KPAnonymity, disclosed
from tsveil.guarantee.nlk import NLKAnonymity
from tsveil.large import counting
from tsveil.large.counting import Check, Table, count, deal
from tsveil.large.verify_nlk import judged, points_of

#: the promises that are checked by counting
Counted = KAnonymity | NLKAnonymity | EnvelopeAnonymity | KPAnonymity
#: so many lines say why a promise is broken
TOLD = 5


@dataclass(frozen=True)
class Verified:
    """What was found in the files."""

    verdict: Verdict
    #: envelopes: carried column -> (classes with one value only, the records in them)
    homogeneous: dict[str, tuple[int, int]] = field(default_factory=dict)


def verify_files(
    guarantee: Guarantee,
    files: list[Path],
    blocks: list[tuple[str, tuple[str, ...]]],
    engine: Engine,
    work: Store,
    records: int | None = None,
    carried: tuple[str, ...] = (),
) -> Verified:
    """Check a promise over all files together.

    `work` is a store for what lies in between, `records` how many there should be, and `carried` are columns beside the values.
    """
    if not isinstance(guarantee, (KAnonymity, NLKAnonymity, EnvelopeAnonymity, KPAnonymity)):
        return Verified(guarantee.verify(None))  # type: ignore[arg-type]
    intervals = isinstance(guarantee, (EnvelopeAnonymity, KPAnonymity))
    tables = _tables(guarantee, blocks)
    n = records or sum(int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()) for file in files)
    check = Check(
        files=tuple(str(file) for file in files),
        tables=tuple(tables),
        bins=max(1, -(-n // counting.BIN)),
        secret=secrets.token_bytes(16),
        intervals=intervals,
        carried=carried if intervals else (),
        keep_rare=isinstance(guarantee, NLKAnonymity),
    )
    work.put_plain("check", check)
    read = engine.map(deal, [{"work": work.handle, "at": at} for at in range(len(files))], "Reading the release again")
    found = sum(int(one["records"]) for one in read)
    if records is not None and found != records:
        missing = f"{records} records were to be written, {found} are in the files"
        return Verified(Verdict(Status.VIOLATED, guarantee.words, missing))
    if wrong := [problem for one in read for problem in one["wrong"]]:
        return Verified(Verdict(Status.VIOLATED, guarantee.words, "\n  ".join(wrong[:TOLD])))
    places = [
        {"work": work.handle, "table": table, "bin": one} for table in range(len(tables)) for one in range(check.bins)
    ]
    counted = engine.map(count, places, "Counting who shares values")
    if isinstance(guarantee, NLKAnonymity):
        return Verified(judged(guarantee, check, blocks, engine, work))
    own = [
        [one for place, one in zip(places, counted, strict=True) if place["table"] == number]
        for number in range(len(tables))
    ]
    alike = {
        name: (sum(int(one["alike"][at][0]) for one in own[-1] if one["alike"]), sum(int(one["alike"][at][1]) for one in own[-1] if one["alike"]))
        for at, name in enumerate(check.carried)
    }  # fmt: skip
    return Verified(_shared(guarantee, tables, own, alike), alike)


def _tables(guarantee: Counted, blocks: list[tuple[str, tuple[str, ...]]]) -> list[Table]:
    k = guarantee.k
    every = tuple(column for _, columns in blocks for column in columns)
    if isinstance(guarantee, (EnvelopeAnonymity, KPAnonymity)):
        bounds = (*(LOW + column for column in every), *(HIGH + column for column in every))
        found = [Table("envelopes", bounds, k)]
        if isinstance(guarantee, KPAnonymity):
            found.append(Table("patterns inside an envelope", (*bounds, WORD, LEVEL), guarantee.P))
        return found
    if isinstance(guarantee, NLKAnonymity):
        return [table for points in points_of(guarantee, blocks) for table in points.tables]
    if guarantee.scope == "record":
        return [Table("whole records", every, k)]
    if guarantee.scope == "block":
        return [Table(f"block {name!r}", columns, k) for name, columns in blocks]
    return [Table(f"column {column!r}", (column,), k) for column in every]


def _shared(
    guarantee: Counted, tables: list[Table], counted: list[list[Result]], alike: dict[str, tuple[int, int]]
) -> Verdict:
    smallest = [min(int(one["smallest"]) for one in own) for own in counted]
    witnesses = []
    for table, own, least in zip(tables, counted, smallest, strict=True):
        if few := sum(int(one["few"]) for one in own):
            rows = sorted(row for one in own if one["smallest"] == least for row in one["rows"])
            verb = "record shares its" if few == 1 else "records share their"
            witnesses.append(
                f"{table.name}: {few} {verb} values with fewer than {table.k} records; the smallest group has {least} "
                f"(published {'row' if len(rows) == 1 else 'rows'} {some(rows)})"
            )
    if witnesses:
        return Verdict(Status.VIOLATED, guarantee.words, "\n  ".join(witnesses[:TOLD]))
    details = [f"the smallest group has {min(smallest)} records"]
    if isinstance(guarantee, (KPAnonymity, EnvelopeAnonymity)):
        details = [f"the smallest envelope is shared by {smallest[0]} records"]
        if isinstance(guarantee, KPAnonymity):
            details.append(f"the rarest pattern inside an envelope occurs {smallest[1]} times")
        classes = sum(int(one["different"]) for one in counted[-1])
        details += [
            disclosed(name, class_words(guarantee), groups, classes, records)
            for name, (groups, records) in alike.items()
            if groups
        ]
    return Verdict(Status.HOLDS, guarantee.words, details=tuple(details))


def class_words(guarantee: Guarantee) -> str:
    """What the records of a class have in common."""
    return "envelope and pattern" if isinstance(guarantee, KPAnonymity) else "envelope"
