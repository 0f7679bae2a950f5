"""The chain of releases of the same persons: what its ledger says on one screen, and how a release without a ledger is taken in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import METHODS
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset, person_numbers
from tsveil.data.source import Source
from tsveil.plan.plan import Plan
from tsveil.protect.base import Method
from tsveil.protect.over_time import binding_units, entries, names_of_units, published_times, recorded_units
from tsveil.protect.work import units_of
from tsveil.release.ledger import (
    Entry,
    Facts,
    Ledger,
    as_persons,
    begin_ledger,
    first_persons,
    names_of,
    read_ledger,
    withdrawn_now,
)
from tsveil.release.publish import read_id_map
from tsveil.release.reopen import release_facts, reopen_release
from tsveil.transform.histories import NOTHING, continue_histories, history_sizes


@dataclass(frozen=True)
class History:
    """The releases of a ledger, the last one last."""

    folder: Path
    k: int
    ids: str
    releases: list[Entry]
    #: what the plan of the last release says of its review, in words
    due: str

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "folder": str(self.folder),
            "k": self.k,
            "ids": self.ids,
            "releases": msgspec.to_builtins(self.releases),
            "due": self.due,
        }


def history(folder: str | Path, today: date | None = None) -> History:
    """What the ledger of a release says of it and of those before, and what is due.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> folder = tv.MDAV(k=2).protect(tv.example("load-curves")).write(tempfile.mkdtemp() + "/2026-01")
    >>> found = history(folder)
    >>> found.k, found.releases[0].figures["persons"], found.due
    (2, 300, 'no review date is set ([context] review_date in the plan)')
    """
    folder = Path(folder)
    ledger = read_ledger(folder)
    path = folder / "private" / "plan.toml"
    review = Plan.load(path).context.review_date.strip() if path.is_file() else ""
    releases = withdrawn_now(folder, ledger.releases)
    return History(
        folder, ledger.facts.k, ledger.facts.ids, releases, due_in_words(review, today or datetime.now(UTC).date())
    )


def due_in_words(review: str, today: date) -> str:
    """When the review is due.

    Examples
    --------
    >>> due_in_words("2026-12-01", date(2026, 11, 19)), due_in_words("2026-11-01", date(2026, 11, 19)), due_in_words("each spring", date(2026, 11, 19))
    ('review on 2026-12-01, in 12 days', 'review was due on 2026-11-01, 18 days ago', 'review: each spring')
    """
    if not review:
        return "no review date is set ([context] review_date in the plan)"
    try:
        days = (date.fromisoformat(review) - today).days
    except ValueError:
        return f"review: {review}"
    if days < 0:
        return f"review was due on {review}, {-days} day{'s' * (days != -1)} ago"
    return f"review on {review}, in {days} day{'s' * (days != 1)}" if days else f"review on {review}, today"


def adopt(folder: str | Path, original: Dataset) -> Ledger:
    """Begin a ledger for a release that has none, from its files and its original data.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> data = tv.example("load-curves")
    >>> folder = Path(tv.MDAV(k=2).protect(data).write(tempfile.mkdtemp() + "/2026-01"))
    >>> for name in ("ledger.json", "ledger.parquet"):
    ...     (folder / "private" / name).unlink()
    >>> len(adopt(folder, data).persons), len(read_ledger(folder).persons)
    (300, 300)
    """
    folder = Path(folder)
    facts = release_facts(folder)
    method: Method = METHODS.make(facts["method"], facts["settings"])
    if not method.continues:
        raise ParameterError(
            f"{folder} was made by {method.name}, which keeps no groups of persons, so no release can continue it\n"
            "  options: a new first release by 'mdav', 'v-mdav' or 'optimal-univariate'"
        )
    source = Source.of(original) if original.source is None else original.source
    names = names_of(original.others, source)
    if names is None:
        raise InputError(
            "the original data have no identifier by which later releases could know their records (id=, or person=)"
        )
    release = reopen_release(folder, original)
    units = units_of(method, source)
    shown = np.zeros(original.n, dtype=np.bool_)
    shown[release.rows] = True
    recorded = recorded_units(units, original.blocks)
    groups = np.full((original.n, len(recorded)), NOTHING, dtype=np.int64)
    for place, number in enumerate(recorded):
        groups[shown, place] = _classes(release.made[shown][:, list(units[number].columns)])
    history_of_records = np.full_like(groups, NOTHING)
    persons = person_numbers(pl.DataFrame([names[0]]), ["person"])
    for place, bound in enumerate(binding_units(units, source, original.blocks)):
        if bound:
            entry = entries(groups[:, place], persons, int(persons.max()) + 1)
            history_of_records[:, place] = continue_histories(np.full(len(entry), NOTHING), entry, 1).history[persons]
    frame = first_persons(*names, groups, history_of_records).with_columns(identifier=_identifiers(folder, original))
    sizes = [_least(persons, history_of_records[:, place]) for place in range(len(recorded))]
    known = [size for size in sizes if size]
    count = int(persons.max()) + 1
    own: dict[str, float | int | None] = {
        "persons": count, "records": original.n, "came": 0, "left": 0, "merged": 0, "renewed": 0, "withheld": 0,
        "composed_k": min(known) if known else None,
    }  # fmt: skip
    ledger = Ledger(
        Facts(
            k=int(method.settings()["k"]),
            ids="fresh",
            units=names_of_units(units, original.blocks),
            times=published_times(original.blocks),
            figures=own,
            ties=any(binding_units(units, source, original.blocks)),
        ),
        as_persons(frame),
    )
    begin_ledger(folder, ledger)
    return ledger


def _least(persons: Indices, history_of_records: Indices) -> int:
    """The size of the smallest set of persons with one history; 0 if nothing was published."""
    own = np.full(int(persons.max()) + 1, NOTHING, dtype=np.int64)
    own[persons] = history_of_records
    sizes = history_sizes(own)
    return int(sizes[sizes > 0].min()) if sizes.any() else 0


def _classes(rows: Any) -> Indices:
    """A number for each row, the same for equal rows."""
    found: Indices = np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return found


def _identifiers(folder: Path, original: Dataset) -> pl.Series:
    """The published identifier of each original record."""
    ids = read_id_map(folder / "private")
    if original.id is None or "released" not in ids.columns:
        return pl.Series([None] * original.n, dtype=pl.String)
    own = pl.DataFrame({"original": original.ids.cast(pl.String)})
    return own.join(ids.select("original", "released"), on="original", how="left", maintain_order="left")["released"]
