"""What the page about single records shows of a release: kept by the job that makes it, read one record at a time by the server.

    releases/KEY/records.parquet   a row for each record: its name, its risk, who shares what is published for it, values before and after
    releases/KEY/records.json      the columns of these values, the titles of the figures, and the distribution of each column before and after

Both are private, as everything in the folder of a study is. They are kept up to a size: of larger releases the private folder has all figures, and a page
that looks at records one by one is no help.
"""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.types import AnyArray, Array
from tsveil.data.dataset import Block, Dataset
from tsveil.data.store import Memory
from tsveil.data.write import write_bytes, write_text
from tsveil.guarantee.counting import classes_of_rows, shares_of
from tsveil.release.publish import Outcome
from tsveil.report.disclosure import titles_of_records, with_highest_risk

TABLE, SCHEMA = "records.parquet", "records.json"
#: values before and after that are kept
MOST = 20_000_000
#: columns whose distribution is drawn, bars of numbers, and labels with a bar of their own
DRAWN, BARS, LABELS = 24, 16, 12
#: records of a part of the file that is read for one of them
PART = 256


def keep_records(outcome: Outcome, folder: Path) -> None:
    """Keep what the page shows, if the release is not too large for it."""
    release = outcome.release
    if not isinstance(release.store, Memory) or release.contents.files > 1:
        return
    data = release.original
    if 2 * data.values.size > MOST:
        return
    twin = release.store.get_frame("twin-0")
    records = twin["record"].to_numpy()
    published = twin["row"].to_numpy() > 0
    after = _published(outcome)[records]
    figures = with_highest_risk(outcome.card.per_record).drop("original")
    sharing = _sharing(after, published, data.persons[records] if data.person else None)
    every = pl.DataFrame(
        {
            "name": twin["original"].cast(pl.String),
            "published": published,
            "records": sharing[0],
            "persons": sharing[1],
            "before": list(data.values[records]),
            "after": list(after),
        }
    )
    titles = titles_of_records(outcome.card)
    if release.envelopes:
        titles = {name: _of_envelopes(name) for name in figures.columns if name.startswith("linked_by_")}
    table = pl.concat([every, figures.select("highest", *titles)], how="horizontal")
    # The riskiest first, as the private report lists them.
    order = ["highest", *(name for name in ("risk", "values_disclosed") if name in figures.columns)]
    place = figures.select(order).with_row_index().sort(order, descending=True, maintain_order=True)["index"]
    write_bytes(folder / TABLE, _as_parquet(table[place]))
    schema = {
        "blocks": [_block(block, data) for block in data.blocks],
        "envelopes": release.envelopes,
        "persons": bool(data.person),
        "titles": titles,
        "known": not figures["highest"].is_nan().all(),
        "distributions": [] if release.envelopes else _distributions(data, after, records, published),
        "columns": len(data.columns),
    }
    write_text(folder / SCHEMA, json.dumps(schema))


def _of_envelopes(name: str) -> str:
    return f"By {name.removeprefix('linked_by_')}"


def _as_parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content, row_group_size=PART)
    return content.getvalue()


def _published(outcome: Outcome) -> Array:
    """What is published for each original record; of envelopes the lower bounds, then the upper ones."""
    release = outcome.release
    if not release.envelopes:
        return release.data.values
    own = release.own
    both = np.hstack([release.lo, release.hi])
    return np.where((own >= 0)[:, None], both[own], np.nan)


def _sharing(after: Array, published: AnyArray, persons: AnyArray | None) -> tuple[AnyArray, AnyArray]:
    """How many records, and how many persons, have the published row of each record; none where nothing is published."""
    found = np.zeros((2, len(after)), dtype=np.int64)
    of_row = classes_of_rows(after[published])
    found[0, published] = np.bincount(of_row)[of_row]
    if persons is None:
        found[1] = found[0]
    else:
        classes = shares_of(of_row, np.unique(persons[published], return_inverse=True)[1].astype(np.int64)).of_class
        found[1, published] = np.bincount(classes)[of_row]
    return found[0], found[1]


def _block(block: Block, data: Dataset) -> dict[str, Any]:
    start = data.columns.index(block.columns[0])
    return {
        "name": block.name,
        "kind": block.kind,
        "start": start,
        "columns": list(block.labels or block.columns),
        "labels": None if block.categories is None else [_texts(one) for one in block.categories],
    }


def _texts(categories: Any) -> list[str]:
    return [*categories.shown, *(["(empty)"] if categories.empty else [])]


# -- distributions ------------------------------------------------------------------------------------------------------


def _distributions(data: Dataset, after: Array, records: AnyArray, published: AnyArray) -> list[dict[str, Any]]:
    """Bars before and after, of each column, and of all values of each series."""
    before = data.values[records]
    found: list[dict[str, Any]] = []
    for block in data.blocks:
        start = data.columns.index(block.columns[0])
        for name, span in (
            [(block.name, slice(start, start + len(block)))]
            if block.times is not None
            else [(column, slice(start + at, start + at + 1)) for at, column in enumerate(block.columns)]
        ):
            if len(found) == DRAWN:
                return found
            own = before[:, span].ravel(), after[published][:, span].ravel()
            texts = None if block.categories is None else _texts(block.categories[span.start - start])
            found.append({"name": name, **(_numbers(*own) if texts is None else _label_counts(*own, texts))})
    return found


def _numbers(before: Array, after: Array) -> dict[str, Any]:
    """Counts in equal steps over the range of both."""
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    edges = np.histogram_bin_edges(np.concatenate([before, after]), bins=BARS)
    names = [f"{low:,.6g} to {high:,.6g}" for low, high in itertools.pairwise(edges)]
    counts = [np.histogram(one, edges)[0] for one in (before, after)]
    return {"names": names, "before": counts[0].tolist(), "after": counts[1].tolist()}


def _label_counts(before: Array, after: Array, texts: list[str]) -> dict[str, Any]:
    """How often each label occurs, the commonest first."""
    counts = [
        np.bincount(one[~np.isnan(one)].astype(np.int64), minlength=len(texts))[: len(texts)] for one in (before, after)
    ]
    often = counts[0] + counts[1]
    order = np.argsort(-often, kind="stable")[: int((often > 0).sum())]
    shown, others = order[:LABELS], order[LABELS:]
    rows = [(texts[code], int(counts[0][code]), int(counts[1][code])) for code in shown]
    if len(others):
        rows.append(("all others", int(counts[0][others].sum()), int(counts[1][others].sum())))
    names, first, second = zip(*rows, strict=True)
    return {"names": list(names), "before": list(first), "after": list(second)}
