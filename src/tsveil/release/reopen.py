"""A written release as an object again, for whoever has its private folder and the original data.

The published files are read, their rows are put back in the order of the original by the id map, and the method and its promise are
made again from `private/release.json`. So a release can be verified, measured once more by other options, or held next to another one. Releases
of 0.1 are read as well.

Its verdict needs no original data: the files and the id map are judged as they stand now, and what attacks found when the release was written counts as long as the files are
the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import polars as pl

from tsveil.assess.assessment import Assessment, Attempt, Check, Outcome
from tsveil.assess.file import PAGES, judge_file
from tsveil.assess.limits import Intruder, Limits
from tsveil.core.errors import InputError, some
from tsveil.core.registry import METHODS, PROMISES
from tsveil.core.types import Array, Indices
from tsveil.data.categories import Categories
from tsveil.data.dataset import Dataset
from tsveil.data.files import digest_of
from tsveil.data.formats.written import WRITTEN
from tsveil.data.intervals import read_intervals
from tsveil.data.published import read_like
from tsveil.data.read import look_at
from tsveil.data.records import made_of
from tsveil.data.times import times_of_names
from tsveil.guarantee.base import Promise
from tsveil.release.publish import MARKER, read_id_map, read_original_labels
from tsveil.release.release import Release, release_of

#: a seed, as text because it may have 128 bits; 0.1 wrote short ones
Seed = Annotated[str, msgspec.Meta(pattern="^-?[0-9]{1,60}$")] | int


class BlockFacts(msgspec.Struct, forbid_unknown_fields=True):
    """The columns of a published block."""

    columns: list[str]
    kind: Literal["series", "attributes"]
    times: list[float] | None = None


class ColumnFacts(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The options by which a published file is read."""

    layout: Literal["wide", "long"] | None = None
    id: str | None = None
    confidential: list[str] = []
    blocks: dict[str, BlockFacts] = {}
    time: str | list[str] | None = None
    time_format: str | None = None
    variable: str | None = None
    value: list[str] = []
    missing: Literal["mask"] | None = None
    categories: dict[str, Categories] = {}
    separator: str = ","
    header: bool = True
    decimal: str = "."


class Facts(msgspec.Struct, kw_only=True):
    """What is read of `private/release.json`; the rest of it is for people. What 0.1 did not write may be missing."""

    method: str
    settings: dict[str, Any]
    seed: Seed
    warnings: list[str] = []
    promise: dict[str, Any] = {}
    limits: Limits = Limits()
    intruder: Intruder = Intruder()
    columns: ColumnFacts = msgspec.field(default_factory=ColumnFacts)
    means: bool = False
    #: persons whose carried values, or records, were left out because of earlier releases
    withheld: int = 0
    sha256: str | None = None
    #: the number of the first record where records have no identifier; 0.1 wrote 0 in files, and 1 in parts, which are read as if from 0
    rows_from: int = 0


class Largest(msgspec.Struct):
    """The part of the risk that is read again."""

    largest: float


class StoredAssessment(msgspec.Struct):
    """What is read of `private/assessment.json`."""

    checks: list[Check]
    ladder: Annotated[list[Attempt], msgspec.Meta(min_length=1)]
    risk: Largest
    suppressed: int
    allowed: list[str]


#: the checks that need the original data or other releases: what they found when the release was written counts
WITH_ORIGINAL = ("accepted-risk", "earlier-releases")


def reopen_release(folder: str | Path, original: Dataset) -> Release:
    """The release in a folder, made from these original data.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> data = tv.example("food-prices")
    >>> made = tv.MDAV(k=2).protect(data)
    >>> again = reopen_release(made.write(tempfile.mkdtemp() + "/release"), data)
    >>> bool((again.data.values == made.data.values).all()), str(again.method)
    (True, 'MDAV(k=2)')
    """
    folder = Path(folder)
    facts = release_facts(folder)
    chosen = METHODS.make(facts["method"], facts["settings"])
    width = chosen.width(len(original.columns))
    published, names = _read_published_values(folder, _as_published(original, chosen), width)
    ids = id_map_of(folder, facts)
    rows, at = _rows(folder, ids, original, facts.get("rows_from", 0)), _places(folder, ids, names)
    if at.max(initial=0) >= len(published):
        raise InputError(f"{folder}: the id map names row {at.max() + 1}, but {len(published)} records are published")
    whole = len(published) == len(rows) == original.n
    if width == len(original.columns) and not (whole or (original.masked and len(published) == len(rows))):
        raise InputError(
            f"{folder} has {len(published)} records and names {len(rows)}, the original data have {original.n}\n"
            "  options: the data as they were read for this release, with the same options"
        )
    made = np.full((original.n, width), np.nan if original.masked else 0.0)
    made[rows] = published[at]
    # Suppressed records come last: their place is seen nowhere.
    order = np.append(np.full(len(published), -1), np.setdiff1d(np.arange(original.n), rows)).astype(np.int64)
    order[at] = rows
    return release_of(
        original,
        made,
        order,
        method=chosen,
        guarantee=chosen.guarantee(original),
        seed=int(facts["seed"]),
        warnings=tuple(facts.get("warnings", ())),
    )


def judge_release(folder: Path, promise: Promise | None = None, given: Mapping[str, Any] | None = None) -> Assessment:
    """The verdict on a written release, as its files stand: its own promise unless another one is given, and further options for reading it.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> folder = Path(tv.MDAV(k=2).protect(tv.example("food-prices")).write(tempfile.mkdtemp() + "/release"))
    >>> judge_release(folder).verdict.words
    'HOLDS'
    """
    facts = release_facts(folder)
    given = given or {}
    files, ids = published_files(folder), id_map_of(folder, facts)
    path = _published_place(folder)
    own = [*files, *(folder / "published" / name for name in PAGES)]
    strange = [file for file in sorted((folder / "published").rglob("*")) if file.is_file() and file not in own]
    copied = "released" in ids.columns and bool((ids["released"] == ids["original"]).any())
    records = None
    if (folder / "private" / "id_map.csv").is_file():  # it lists the records in the order of the original
        records = np.argsort(_published_rows(folder, ids), kind="stable").astype(np.int64)
    intruder = msgspec.convert(facts.get("intruder", {}), Intruder)
    now = judge_file(
        path,
        promise or promise_of_release(folder, facts),
        {**facts.get("columns", {}), **given},
        ids.drop("original") if "person" in ids.columns else None,
        trusted=[given["id"]] if given.get("id") else [],
        records=records,
        unjudged=[str(file.relative_to(folder)) for file in strange] + ["released"] * copied,
        several="persons" in facts,
        limits=msgspec.convert(facts.get("limits", {}), Limits),
        knows_carried=intruder.knows_carried,
        means=facts.get("means", False),
        originals=_original_labels(folder, len(ids)),
        withheld=facts.get("withheld", 0) > 0,
    )
    if now.records != len(ids):
        raise InputError(
            f"{folder} publishes {now.records} records, and its id map names {len(ids)}: a part is missing, or a file was changed\n"
            "  options: the release as it was written, or its published file alone"
        )
    return _with_attacks(folder, now, intruder, changed=digest_of(files) != facts.get("sha256"))


def published_data(folder: Path, original: Dataset) -> tuple[Dataset, dict[str, str]]:
    """The values that a release publishes, read from its files alone, and the published identifier (or the number of the row) of each original one.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> data = tv.example("food-prices")
    >>> folder = Path(tv.MDAV(k=2).protect(data).write(tempfile.mkdtemp() + "/release"))
    >>> shown, truth = published_data(folder, data)
    >>> shown.n, len(truth)
    (4, 4)
    """
    facts = release_facts(folder)
    chosen = METHODS.make(facts["method"], facts["settings"])
    if chosen.width(len(original.columns)) != len(original.columns):
        raise InputError(
            f"{folder} publishes envelopes, and single attacks look for values\n  options: tsveil evaluate attacks envelopes"
        )
    ids = id_map_of(folder, facts)
    own = original.ids[_rows(folder, ids, original, facts.get("rows_from", 0))].cast(pl.String)
    data = read_like(_published_place(folder), _as_published(original, chosen))
    return data, _truth(folder, ids.with_columns(original=own), data)


def published_series(folder: Path) -> tuple[Dataset, dict[str, str]]:
    """What a release publishes, read from its files alone, and the published identifier (or the number of the row) of each original one.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> data = tv.example("load-curves")
    >>> folder = Path(tv.MDAV(k=5).protect(data).write(tempfile.mkdtemp() + "/release"))
    >>> shown, truth = published_series(folder)
    >>> shown.n, len(truth)
    (300, 300)
    """
    facts = release_facts(folder)
    ids, path = id_map_of(folder, facts), _published_place(folder)
    given = {"independent_rows": True, "transpose": False, **facts.get("columns", {})}
    data = promise_of_release(folder, facts).read(path, **given, numbers=list(look_at(path, **given).columns))
    if not isinstance(data, Dataset) or not data.series:
        raise InputError(f"{folder} publishes no time series")
    # release.json has the times of series as numbers; the names of their columns tell hours and weekdays as well.
    form = str(given.get("time_format", ""))
    labels = [times_of_names(block.columns, form) for block in data.blocks]
    blocks = [
        replace(block, labels=names[0], form=form) if names else block
        for block, names in zip(data.blocks, labels, strict=True)
    ]
    data = replace(data, blocks=tuple(blocks))
    return data, _truth(folder, ids, data)


def _truth(folder: Path, ids: pl.DataFrame, data: Dataset) -> dict[str, str]:
    """The published identifier of each original one, by the rows that the id map names."""
    names = [str(name) for name in data.ids.to_list()]
    rows = _published_rows(folder, ids, data.n)
    return {original: names[row] for original, row in zip(ids["original"], rows, strict=True)}


def _original_labels(folder: Path, records: int) -> pl.DataFrame | None:
    """The original labels of the published rows, if they were kept."""
    place = folder / "private"
    try:
        found = read_original_labels(place)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{place}/original_labels cannot be read: {error}") from error
    if found is not None and found.height != records:
        raise InputError(f"{place}/original_labels has {found.height} rows, and the id map names {records}")
    return found


def promise_of_release(folder: Path, facts: Mapping[str, Any]) -> Promise:
    """The promise of a release, as it was verified."""
    stored = dict(facts.get("promise", {}))
    if str(stored.pop("name", None)) not in PROMISES:
        raise InputError(
            f"{folder / MARKER} does not say what was promised\n  options: say it, for example --k 5, as `tsveil verify --help` shows"
        )
    kind: type[Promise] = PROMISES[facts["promise"]["name"]]
    settings = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    # Parameters are checked by the promise itself; what else it keeps has the type of its default.
    checked = {p.name for p in kind.parameters()}
    own = {
        field.name: field.default
        for field in fields(kind)
        if field.name not in checked and field.default is not MISSING
    }
    if wrong := [name for name, default in own.items() if not isinstance(settings.get(name, default), type(default))]:
        raise InputError(f"{folder / MARKER} is damaged: the promise has no usable {some(wrong)}")
    try:
        return kind(**settings)
    except (TypeError, InputError) as error:  # a parameter that it does not have, or one outside its range
        raise InputError(f"{folder / MARKER} is damaged: {error}") from error


def _with_attacks(folder: Path, now: Assessment, intruder: Intruder, *, changed: bool) -> Assessment:
    """The verdict with what was found when the release was written: attacks need the original data, so they are not tried again."""
    path = folder / "private" / "assessment.json"
    if not path.is_file():  # an older release
        return now
    try:
        then = msgspec.convert(json.loads(path.read_text(encoding="utf-8")), StoredAssessment)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    found = {check.name: check for check in now.checks}
    for name, check in {check.name: check for check in then.checks}.items():
        needs_original = name in WITH_ORIGINAL or name not in found
        if changed and needs_original:
            why = "the published files were changed after the release was attacked."
            check = Check(name, Outcome.NOT_DECIDED, why, check.figures)
        elif not needs_original and (changed or not _says_more(check, found[name])):
            continue
        found[name] = check
    return replace(
        now, checks=list(found.values()), ladder=then.ladder, intruder=intruder, largest=then.risk.largest,
        suppressed=then.suppressed, allowed=tuple(then.allowed),
    )  # fmt: skip


def _says_more(then: Check, now: Check) -> bool:
    """Whether a check was worse when the release was written, or as bad with figures that the files alone do not give."""
    order = list(Outcome)
    worse = order.index(then.status) - order.index(now.status)
    return worse > 0 or (worse == 0 and not set(then.figures) <= set(now.figures))


def release_facts(folder: Path) -> dict[str, Any]:
    """What `private/release.json` says; an error where a folder is no release."""
    path = folder / MARKER
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} is not a release with its private side: {path} cannot be read\n"
            "  options: the folder that `tsveil run` or `tsveil protect` made, with published/ and private/ in it"
        ) from error
    if not isinstance(facts, dict) or not {"method", "settings", "seed"} <= set(facts):
        raise InputError(f"{path} does not say how the release was made")
    try:
        msgspec.convert(facts, Facts)
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is damaged: {error}") from error
    return facts


def published_files(folder: Path) -> list[Path]:
    """The published files of a release, in their order."""
    place = folder / "published"
    single = [file for name in WRITTEN if (file := place / f"data.{name}").is_file()]
    found = single or sorted(file for name in WRITTEN for file in place.glob(f"data/part-*.{name}"))
    if not found:
        raise InputError(f"{place} has no data.csv, data.parquet or the like, nor parts of them in data/")
    return found


def _as_published(original: Dataset, method: Any) -> Dataset:
    """The original data with the columns of the release: cells of labels may be empty there that were not."""
    blocks = method.published_blocks(original.blocks)
    return original if blocks == original.blocks else replace(original, blocks=blocks)


def _published_place(folder: Path) -> Path:
    """The published file, or the folder with its parts."""
    first = published_files(folder)[0]
    return first if first.parent == folder / "published" else first.parent


def _read_published_values(folder: Path, original: Dataset, width: int) -> tuple[Array, list[str] | None]:
    """What is published for each row, in the columns that the method makes; and the identifiers of the rows, if they have any."""
    files = published_files(folder)
    if width != len(original.columns):
        layout = original.layout
        tables = [read_intervals(path, separator=layout.separator, decimal=layout.decimal) for path in files]
        return np.concatenate([made_of(table, width) for table in tables]), None
    parts = [read_like(path, original) for path in files]
    names = None if original.id is None else [str(name) for part in parts for name in part.ids.to_list()]
    return np.concatenate([part.values for part in parts]), names


def id_map_of(folder: Path, facts: dict[str, Any]) -> pl.DataFrame:
    """Original, released identifier (of values) and published row of each published record, as texts."""
    place = folder / "private"
    parts: list[pl.DataFrame] = []
    try:
        if "run" in facts or (place / "id_map.csv").is_file():
            found = read_id_map(place)
        else:
            parts = [pl.read_parquet(path) for path in sorted((place / "id_map").glob("part-*.parquet"))]
            found = pl.concat(parts)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{place}/id_map cannot be read: {error}") from error
    if "original" not in found.columns:
        raise InputError(f"{place}/id_map has no column 'original'")
    if not parts:
        return found
    # Version 0.1 counted the rows of each file of envelopes, and unnamed records from 1.
    if "row" in found.columns:
        before = np.cumsum([0, *(part["row"].drop_nulls().len() for part in parts[:-1])])
        counted = [part["row"] + int(first) for part, first in zip(parts, before, strict=True)]
        found = found.with_columns(published_row=pl.concat(counted)).filter(pl.col("row").is_not_null())
    if found["original"].dtype.is_integer():
        found = found.with_columns(pl.col("original") - 1)
    return found.select(pl.all().cast(pl.String))


def _rows(folder: Path, ids: pl.DataFrame, original: Dataset, rows_from: int) -> Indices:
    """The original row of each record of the id map; the first record has the number `rows_from` where they have no identifier."""
    names = range(rows_from, rows_from + original.n) if original.id is None else original.ids.to_list()
    place = {str(name): row for row, name in enumerate(names)}
    if foreign := [name for name in ids["original"] if name not in place]:
        raise InputError(
            f"{folder} is not a release of these data: they have no record {some(foreign)}\n"
            "  options: the data as they were read for this release, with the same options"
        )
    return np.array([place[name] for name in ids["original"]], dtype=np.int64)


def _places(folder: Path, ids: pl.DataFrame, names: list[str] | None) -> Indices:
    """The published row of each record of the id map, from 0; by its identifier where it has one."""
    if names is not None:
        if "released" not in ids.columns:
            raise InputError(f"{folder}/private/id_map has no column 'released'")
        found = {name: number for number, name in enumerate(names)}
        if missing := [name for name in ids["released"] if name not in found]:
            raise InputError(f"{folder}: no published file has the record {some(missing)}, which the id map names")
        return np.array([found[name] for name in ids["released"]], dtype=np.int64)
    return _published_rows(folder, ids)


def _published_rows(folder: Path, ids: pl.DataFrame, n: int | None = None) -> Indices:
    """The published row of each record of the id map, from 0, as the map says it; below n, if that is known."""
    try:
        rows: Indices = ids["published_row"].cast(pl.Int64).to_numpy() - 1
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{folder}/private/id_map has no usable column 'published_row': {error}") from error
    # A missing number makes them fractions.
    if rows.dtype != np.int64 or rows.min(initial=0) < 0 or (n is not None and rows.max(initial=0) >= n):
        raise InputError(f"{folder}/private/id_map names rows that are not published")
    return rows
