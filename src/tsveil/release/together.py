"""Releases of the same persons, judged together: read from their published files and id maps, chunk by chunk, whoever made them and whatever was kept of the making.

They are named one by one, or stand in a ledger: `private/ledger.json` in the folder of a release lists the releases of the same persons up to that one. Of a ledger nothing counts but that list, k, and whether identifiers
were to stay; groups and histories are counted again from the files. A release that was withdrawn stays in: what is out is out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import polars as pl

from tsveil.assess.assessment import Assessment
from tsveil.assess.limits import Limits
from tsveil.assess.over_time import EarlierReleases, NamedRelease, over_time, with_earlier_releases
from tsveil.core.errors import InputError, Problems
from tsveil.data.dataset import Dataset
from tsveil.data.files import digest_of
from tsveil.data.intervals import IntervalTable
from tsveil.data.read import look_at
from tsveil.engine.base import Engine, Task
from tsveil.engine.here import Here
from tsveil.guarantee.chunks import Chunk, Chunks, schema_of
from tsveil.release.reopen import id_map_of, judge_release, promise_of_release, published_files, release_facts

#: where the ledger stands in the folder of a release
LEDGER = "private/ledger.json"
#: the form of ledgers that is read here
VERSION = 1


# -- one release ------------------------------------------------------------------------------------------------------


def opened_release(folder: Path, engine: Engine | None = None) -> NamedRelease:
    """The release in a folder, with its private side."""
    facts = release_facts(folder)
    ids = id_map_of(folder, facts)
    if not facts.get("named", not _are_row_numbers(ids)):
        raise InputError(
            f"the records of {folder} have no identifiers, so nothing says who is in another release as well\n"
            "  options: a release of data that were read with --id or --person"
        )
    places = [
        {"reader": "tsveil.release.together:read_part", "folder": str(folder), "path": str(path)}
        for path in published_files(folder)
    ]
    chunks = Chunks(schema_of(_table_in(places[0])), places, engine or Here())
    columns = facts.get("columns", {})
    promise, name = promise_of_release(folder, facts), folder.absolute().name
    return NamedRelease.of(name, chunks, promise, columns.get("id"), columns.get("confidential", ()), ids)


def _are_row_numbers(ids: pl.DataFrame) -> bool:
    """Whether an id map may count rows instead of naming records, which older releases do not say.

    Examples
    --------
    >>> _are_row_numbers(pl.DataFrame({"original": ["2", "1", "3"]})), _are_row_numbers(pl.DataFrame({"original": ["2", "7"]}))
    (True, False)
    """
    numbers = ids["original"].cast(pl.Int64, strict=False)
    counted = numbers.null_count() == 0 and numbers.n_unique() == len(ids) == numbers.max() - numbers.min() + 1  # type: ignore[operator]
    return counted and numbers.min() in (0, 1) and "person" not in ids.columns


def read_part(place: Task) -> Chunk:
    """A published file as a verifier reads it."""
    return Chunk.of(_table_in(place))


def _table_in(place: Task) -> Dataset | IntervalTable:
    folder, path = Path(place["folder"]), Path(place["path"])
    facts = release_facts(folder)
    promise = promise_of_release(folder, facts)
    given = {"independent_rows": True, "transpose": False, **facts.get("columns", {})}
    gaps = {"missing": given.pop("missing")} if "missing" in given else {}
    return promise.read(path, **given, **gaps, numbers=list(look_at(path, **given).columns))


# -- several releases -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """The verdict on the latest of some releases and on all together, and that on each by itself; None: it was withdrawn, and is judged together with the others only."""

    assessment: Assessment
    alone: dict[str, Assessment | None]

    def stopped(self, *, strict: bool = False) -> bool:
        """Whether something fails or is undecided, of all together or of one that stands; `strict`: or is warned of."""
        every = [self.assessment, *(one for one in self.alone.values() if one is not None)]
        return any(one.stopped_by(strict=strict) for one in every)


def judge_releases(
    folders: Sequence[Path], k: int | None = None, *, stable: bool = False, withdrawn: Sequence[Path] = (), withheld: bool | None = None
) -> Judged:  # fmt: skip
    """The verdict on releases of the same persons, in the order in which they were made.

    Each is judged by itself, and the verdict on the latest one that stands also counts what all say together. `withheld` says whether values may have been withheld; where a release has a ledger they may.

    Examples
    --------
    >>> import tempfile, numpy as np, tsveil as tv
    >>> place, rng, folders = Path(tempfile.mkdtemp()), np.random.default_rng(1), []
    >>> for month in ("2026-01", "2026-02"):
    ...     data = tv.Dataset.from_arrays({"load": rng.normal(size=(12, 2))}, times=[f"{month}-01", f"{month}-02"], ids=range(12), confidential={"tariff": ["day", "night"] * 6})
    ...     folders.append(tv.MDAV(k=3).protect(data, seed=1).write(place / month))
    >>> found = judge_releases(folders)
    >>> found.assessment.checks[-1].status.value
    'fails'
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise InputError("a release is named twice\n  options: each release once, in the order in which they were made")
    standing = [folder for folder in folders if folder not in withdrawn]
    if not standing:
        raise InputError("all these releases were withdrawn, so none is left to be judged")
    if withheld is None:
        withheld = any((folder / LEDGER).is_file() for folder in folders)
    alone = {str(folder): judge_release(folder) if folder in standing else None for folder in folders}
    last = standing[-1]
    latest = alone[str(last)]
    assert latest is not None
    if len(folders) == 1:  # the first of a ledger: there is nothing to judge it with
        return Judged(latest, alone)
    releases = [opened_release(folder) for folder in folders]
    over = over_time(releases, k, stable=stable, withheld=withheld)
    limits = msgspec.convert(release_facts(last).get("limits", {}), Limits)
    promise = next(one.promise for one, folder in zip(releases, folders, strict=True) if folder == last)
    return Judged(with_earlier_releases(latest, over, limits, promise), alone)


# -- a ledger ---------------------------------------------------------------------------------------------------------


class Entry(msgspec.Struct):
    """A release in a ledger, as far as it is read here."""

    #: relative to the folder of the ledger
    path: str
    #: the SHA-256 of what was published
    published: str
    #: why it was withdrawn; None: it stands
    withdrawn: str | None = None


class Ledger(msgspec.Struct):
    """What is read of a ledger."""

    version: int
    k: Annotated[int, msgspec.Meta(ge=1)]
    ids: Literal["fresh", "stable"]
    releases: Annotated[list[Entry], msgspec.Meta(min_length=1)]


def judge_ledger(folder: Path, k: int | None = None) -> Judged:
    """The verdict on all releases of the ledger in a folder."""
    ledger, places = _opened_ledger(folder)
    withdrawn = [place for place, entry in zip(places, ledger.releases, strict=True) if entry.withdrawn is not None]
    stable = ledger.ids == "stable"
    return judge_releases(places, k or ledger.k, stable=stable, withdrawn=withdrawn, withheld=True)


def earlier_releases(folder: Path) -> EarlierReleases:
    """Those with which a release is judged that continues the one in this folder: all of its ledger."""
    ledger, places = _opened_ledger(folder, all_there=False)
    there = [place for place in places if (place / "published").is_dir()]
    missing = [place.resolve().name for place in places if place not in there]
    releases = [opened_release(place) for place in there]
    return EarlierReleases(releases, ledger.k, stable=ledger.ids == "stable", missing=missing)


def _opened_ledger(folder: Path, *, all_there: bool = True) -> tuple[Ledger, list[Path]]:
    """The ledger in a folder, and the folders of its releases, whose published files are still the same; `all_there`: none may be missing."""
    ledger = _ledger_in(folder)
    problems = Problems(f"the ledger in {folder} does not fit its releases")
    places = [(folder / entry.path).resolve() for entry in ledger.releases]
    for place, entry in zip(places, ledger.releases, strict=True):
        if not (place / "published").is_dir():
            if all_there:
                problems.add(f"there is no release at {place}")
        elif digest_of(published_files(place)) != entry.published:
            problems.add(f"the published files of {place} are not those that were published then")
    problems.hint("options: the folders as they were, in the same places to each other")
    problems.raise_if_any()
    return ledger, places


def _ledger_in(folder: Path) -> Ledger:
    path = folder / LEDGER
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{folder} has no ledger: {path} cannot be read\n"
            "  options: the folder of a release that was made after another one, or the releases one by one (tsveil verify A B)"
        ) from error
    try:
        version = json.loads(text)["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged: it does not say its version") from error
    if version != VERSION:
        raise InputError(
            f"{path} has the version {version!r}, and this version of tsveil reads {VERSION}\n  options: the tsveil that wrote it, or a newer one"
        )
    try:
        return msgspec.json.decode(text, type=Ledger)
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
