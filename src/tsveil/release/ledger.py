"""The ledger: what has to be known of earlier releases of the same persons before the next one is published.

    private/ledger.json      {"version": 1, "k": 5, "ids": "fresh", "units": [...], "times": {...}, "ties": true, "releases": [...],
                              "persons": "ledger.parquet", "sha256": of that file, "check": of everything else in this file}
    private/ledger.parquet   person, record, group, identifier, history, withheld

`releases` lists all releases in their order, this one last: its folder relative to this one (the last is "."), `published`, the hash of its published content
(`digest_of` of its files), when it was made, why it was `withdrawn` (null: it was not), and its figures. A release that was withdrawn stays in the list: what is out is out.

The persons have a row for each record of the last release, and one for each person who is absent now and about whom something was published before. `group` and `history`
hold a number for each of the `units`, the columns that were protected together: the group of the record in the last release (none: absent), and the history of the person
(`tsveil.transform.histories`; -1: nothing was published that ties releases). `identifier` is the one that was published (none: the record was left out), `withheld` whether the
person's carried values were, or the record itself.

The ledger is part of the folder of its release, which appears whole or not at all, and no later release changes it. What happens to a ledger afterwards (`adopt`, `withdraw`) replaces
its JSON file whole.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import InputError
from tsveil.core.types import Indices, Mask
from tsveil.data.files import digest_of
from tsveil.data.formats.written import WRITTEN
from tsveil.data.source import Source
from tsveil.data.store import Store
from tsveil.data.write import write_bytes
from tsveil.transform.histories import NOTHING

#: the version that is written, and the latest that is read
VERSION = 1
#: where it stands in the folder of a release
LEDGER, PERSONS = "private/ledger.json", "ledger.parquet"
#: new identifiers in each release, or the same ones as long as the members of a group stay the same
Ids = Literal["fresh", "stable"]
#: what the columns of the persons hold
SCHEMA: dict[str, Any] = {
    "person": pl.String,
    "record": pl.String,
    "group": pl.List(pl.Int64),
    "identifier": pl.String,
    "history": pl.List(pl.Int64),
    "withheld": pl.Boolean,
}


class Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A release in the list of a ledger."""

    #: its folder, relative to that of the ledger
    path: str
    #: the hash of its published content
    published: str
    made: str
    #: why it was withdrawn; None: it was not
    withdrawn: str | None = None
    figures: dict[str, float | int | None] = {}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a ledger says beside the list of releases and the persons, and a store before its release is written."""

    k: int
    ids: Ids
    #: the columns that were protected together, by their names, and that tie the releases
    units: tuple[str, ...]
    #: series -> its times that were published so far
    times: dict[str, tuple[str, ...]] = {}
    figures: dict[str, float | int | None] = {}
    #: whether everybody got a new group
    regroup: bool = False
    #: which release it is, counted from 1
    number: int = 1
    #: whether it publishes values that tie releases: carried columns, or protected ones without times
    ties: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """private/ledger.json."""

    version: int
    k: int
    ids: Ids
    units: tuple[str, ...]
    times: dict[str, tuple[str, ...]]
    ties: bool
    releases: list[Entry]
    persons: str
    sha256: str
    check: str


@dataclass(frozen=True, eq=False)
class Ledger:
    """What is known of earlier releases."""

    facts: Facts
    persons: pl.DataFrame
    #: empty as long as its release is not written
    releases: tuple[Entry, ...] = ()


# -- names ------------------------------------------------------------------------------------------------------------


def named_persons(others: pl.DataFrame, person: Sequence[str]) -> pl.Series:
    """The person of each record as private files name it: a value, or a list of them if several columns say it.

    Examples
    --------
    >>> named_persons(pl.DataFrame({"town": ["a", "b"], "house": [1, 2]}), ["town", "house"]).to_list()
    ['["a", "1"]', '["b", "2"]']
    """
    own = others.select(list(person))
    if own.width == 1:
        return own.to_series()
    return pl.Series([json.dumps([str(value) for value in row]) for row in own.iter_rows()])


def names_of(others: pl.DataFrame, source: Source) -> tuple[pl.Series, pl.Series] | None:
    """The person and the record of each row, as texts; None where neither has a name that another release could use."""
    if source.id is None and not source.person:
        return None
    records = others[source.id].cast(pl.String) if source.id else pl.Series([None] * len(others), dtype=pl.String)
    persons = named_persons(others, source.person).cast(pl.String) if source.person else records
    return persons.alias("person"), records.alias("record")


# -- in the store of a run ----------------------------------------------------------------------------------------------


def keep_ledger(store: Store, facts: Facts, persons: pl.DataFrame) -> None:
    """Leave in a store what `write_ledger` needs: the persons with the number of their record in the data set, and without identifiers."""
    store.put_plain("ledger", facts)
    store.put_frame("ledger-persons", persons)
    store.put("ledger-kept", np.ones(1))


def has_ledger(store: Store) -> bool:
    """Whether the release in a store can be continued."""
    return store.has("ledger-kept")


def ledger_facts(store: Store) -> Facts:
    """The facts of the ledger in a store."""
    return store.get_plain("ledger", Facts)


def ledger_in(store: Store, identifiers: pl.DataFrame) -> Ledger:
    """The ledger of a release in a store; `identifiers` has the `number` of each published record and its `identifier`."""
    kept = store.get_frame("ledger-persons").with_row_index("place")
    found = kept.join(identifiers, on="number", how="left").sort("place")
    return Ledger(ledger_facts(store), as_persons(found))


def as_persons(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with the columns of a ledger's persons, in their order and of their types."""
    return frame.select([pl.col(name).cast(kind) for name, kind in SCHEMA.items()])


def first_persons(
    persons: pl.Series, records: pl.Series, groups: Indices, history: Indices, withheld: Mask | None = None
) -> pl.DataFrame:
    """The rows of records that are in a release: their groups (records by units) and the history of their persons (the same)."""
    hidden = np.zeros(len(records), dtype=np.bool_) if withheld is None else withheld
    return pl.DataFrame(
        [
            persons.alias("person"), records.alias("record"), _lists("group", groups), _lists("history", history),
            pl.Series("withheld", hidden),
        ]
    )  # fmt: skip


def _lists(name: str, numbers: Indices) -> pl.Series:
    """A list of the numbers in each row."""
    if not numbers.shape[1]:
        return pl.Series(name, [[]] * len(numbers), dtype=pl.List(pl.Int64))
    return pl.Series(name, np.ascontiguousarray(numbers, dtype=np.int64)).cast(pl.List(pl.Int64))


def numbers_in(lists: pl.Series, width: int) -> Indices:
    """The numbers of a column of lists, rows by units; NOTHING where there is no list.

    Examples
    --------
    >>> numbers_in(pl.Series([[1, 2], None]), 2)
    array([[ 1,  2],
           [-1, -1]])
    """
    found = np.full((len(lists), width), NOTHING, dtype=np.int64)
    there = lists.is_not_null().to_numpy()
    if width and there.any():
        found[there] = lists.drop_nulls().explode().to_numpy().reshape(-1, width)
    return found


# -- written ------------------------------------------------------------------------------------------------------------


def write_ledger(
    place: Path, ledger: Ledger, published: str, figures: Mapping[str, float | int | None], after: Path | None
) -> list[Entry]:
    """Write the ledger of the release in `place`, which continues the release in the folder `after`; gives its list of releases."""
    earlier = [] if after is None else _seen_from(place, after)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    own = Entry(path=".", published=published, made=made, figures={**ledger.facts.figures, **figures})
    _write(place, ledger.facts, [*earlier, own], ledger.persons)
    return [*earlier, own]


def _seen_from(place: Path, after: Path) -> list[Entry]:
    """The releases of the ledger in the folder `after`, with their folders as they are called from another one, and marked where they were withdrawn since."""
    found = []
    for entry in read_ledger(after).releases:
        folder = (after / entry.path).resolve()
        reason = entry.withdrawn if entry.withdrawn is not None else _withdrawn(folder, entry.published)
        path = Path(os.path.relpath(folder, place.resolve())).as_posix()
        found.append(msgspec.structs.replace(entry, path=path, withdrawn=reason))
    return found


def _withdrawn(folder: Path, published: str) -> str | None:
    """Why a release was withdrawn, as its own ledger says, if its folder is still there."""
    own = _own_entry(folder)
    return own.withdrawn if own is not None and own.published == published else None


def _own_entry(folder: Path) -> Entry | None:
    """What the ledger in a folder says of the release there, if there is one that can be read."""
    try:
        return msgspec.json.decode((folder / LEDGER).read_bytes(), type=_File).releases[-1]
    except (OSError, ValueError, IndexError):
        return None


def _write(place: Path, facts: Facts, releases: Sequence[Entry], persons: pl.DataFrame) -> None:
    """Write both files, the persons first: the other one says what they must be."""
    path = place / "private" / PERSONS
    partial = path.with_name(f".{PERSONS}.partial")
    persons.write_parquet(partial)
    partial.replace(path)
    _write_json(place, facts, releases, digest_of([path]))


def _write_json(place: Path, facts: Facts, releases: Sequence[Entry], sha256: str) -> None:
    content: dict[str, Any] = {
        "version": VERSION,
        "k": facts.k,
        "ids": facts.ids,
        "units": list(facts.units),
        "times": {name: list(times) for name, times in facts.times.items()},
        "ties": facts.ties,
        "releases": msgspec.to_builtins(list(releases)),
        "persons": PERSONS,
        "sha256": sha256,
    }
    content["check"] = _check_of(content)
    write_bytes(place / LEDGER, (json.dumps(content, indent=1) + "\n").encode())


def _check_of(content: Mapping[str, Any]) -> str:
    """The hash of everything that a ledger says."""
    told = {name: value for name, value in content.items() if name != "check"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


# -- read ---------------------------------------------------------------------------------------------------------------


def read_ledger(folder: str | Path) -> Ledger:
    """The ledger of a release; one that is missing, damaged, newer, or not of this release is refused.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> folder = tv.MDAV(k=2).protect(tv.example("load-curves")).write(tempfile.mkdtemp() + "/2026-01")
    >>> ledger = read_ledger(folder)
    >>> ledger.facts.k, len(ledger.persons), [entry.path for entry in ledger.releases]
    (2, 300, ['.'])
    """
    folder = Path(folder)
    found = _read_json(folder)
    path = folder / "private" / PERSONS
    repair = "\n  options: the folder as it was written, from a copy; without one, `tsveil ledger adopt` begins anew with the release that is there"
    if found.persons != PERSONS or not path.is_file():
        raise InputError(
            f"{folder / LEDGER} names {found.persons!r}, and there is no such file in {path.parent}{repair}"
        )
    if digest_of([path]) != found.sha256:
        raise InputError(
            f"{path} is not the file that {LEDGER} speaks of: it was changed, or belongs to another ledger{repair}"
        )
    own = found.releases[-1]
    if own.path != "." or own.published != published_digest(folder):
        raise InputError(
            f"{folder / LEDGER} speaks of another release: the published files in {folder} are not those that it lists. "
            f"They were changed, or the ledger comes from another folder{repair}"
        )
    try:
        persons = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read: {error}{repair}") from error
    if dict(persons.schema) != SCHEMA:
        raise InputError(f"{path} does not have the columns of a ledger{repair}")
    facts = Facts(
        k=found.k, ids=found.ids, units=found.units, times=found.times, number=len(found.releases), ties=found.ties
    )
    return Ledger(facts, persons, tuple(found.releases))


def _read_json(folder: Path) -> _File:
    """What private/ledger.json says, checked against itself."""
    path = folder / LEDGER
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if not (folder / "private" / "release.json").is_file():
            raise InputError(
                f"{folder} is not a release with its private side, so no other one can continue it\n"
                "  options: the folder that `tsveil run` or `tsveil protect` made, with published/ and private/ in it"
            ) from error
        raise InputError(
            f"{folder} has no ledger ({LEDGER} is missing), so no other release can continue it\n"
            f"  options: tsveil ledger adopt {folder} --original FILE begins one, if the release continues no other"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {error}\n  options: the file as it was written, from a copy"
        ) from error
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            f"{path} was written by a newer tsveil (version {version} of the ledger; this one knows {VERSION})\n  options: that tsveil, or a newer one"
        )
    damaged = "\n  options: the file as it was written, from a copy"
    try:
        found = msgspec.convert(content, _File)
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is damaged: {error}{damaged}") from error
    if found.version != VERSION or not found.releases:
        raise InputError(f"{path} is damaged: it lists no release, or has no version{damaged}")
    if found.check != _check_of(content):
        raise InputError(f"{path} was changed by hand: what it says does not have the hash that it names{damaged}")
    return found


def published_digest(folder: Path) -> str:
    """The hash of the published content of a release."""
    place = folder / "published"
    single = [file for name in WRITTEN if (file := place / f"data.{name}").is_file()]
    return digest_of(single or sorted(file for name in WRITTEN for file in place.glob(f"data/part-*.{name}")))


# -- afterwards ---------------------------------------------------------------------------------------------------------


def begin_ledger(folder: Path, ledger: Ledger) -> None:
    """Give a release that has none a ledger of its own."""
    if (folder / LEDGER).exists():
        raise InputError(
            f"{folder} has a ledger already ({LEDGER})\n  options: continue it with --after; a damaged one is put right from a copy, or removed first"
        )
    write_ledger(folder, ledger, published_digest(folder), {}, None)


def withdraw_release(folder: str | Path, reason: str) -> None:
    """Mark a release as withdrawn in its own ledger; releases that continue it take over the mark, and what it published still counts."""
    folder = Path(folder)
    if not reason.strip():
        raise InputError("a release is withdrawn for a reason\n  options: --reason TEXT")
    ledger = read_ledger(folder)
    own = ledger.releases[-1]
    if own.withdrawn is not None:
        raise InputError(f"{folder} was withdrawn before: {own.withdrawn}")
    marked = [*ledger.releases[:-1], msgspec.structs.replace(own, withdrawn=reason.strip())]
    _write_json(folder, ledger.facts, marked, digest_of([folder / "private" / PERSONS]))


def refuse_replaced(folder: Path, releases: Iterable[Entry]) -> None:
    """Refuse to go on from a ledger that knows an earlier release as it was before somebody replaced it: both of them are out. One whose folder is elsewhere now is passed over."""
    for entry in releases:
        own = _own_entry(folder / entry.path)
        if own is not None and own.published != entry.published:
            raise InputError(
                f"{folder / entry.path} was replaced after {folder} had continued it, and the ledger knows only what it published before\n"
                "  options: that folder as it was, from a copy; the new one belongs elsewhere, as a release of its own that continues the last one"
            )


def withdrawn_now(folder: Path, releases: Iterable[Entry]) -> list[Entry]:
    """The releases of the ledger in a folder, with the marks of those that were withdrawn since."""
    return [
        entry
        if entry.withdrawn is not None
        else msgspec.structs.replace(entry, withdrawn=_withdrawn(folder / entry.path, entry.published))
        for entry in releases
    ]
