"""Texts that a spreadsheet would run as a formula, made harmless before a CSV file goes out.

A cell that begins with = + - or @ is a formula to a spreadsheet, whatever it is to us: `=HYPERLINK(...)` in a carried column would send
its neighbours to a stranger when a reader of the release opens it. An apostrophe in front makes it a text. Numbers (-1.5, +2) stay
as they are: they are no formulas.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import polars as pl

from tsveil.data.categories import Categories
from tsveil.data.dataset import Block, Dataset

#: what a spreadsheet may take for a formula; the wide forms of the four signs count as well
_FORMULA = r"^\s*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]|^[\t\r\n]"
_NUMBER = r"^\s*[+\-]?(\d+[.,]?\d*|[.,]\d+)([eE][+\-]?\d+)?\s*$"
_formula = re.compile(_FORMULA.replace(r"\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}", "\uff1d\uff0b\uff0d\uff20"))
_number = re.compile(_NUMBER)


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it.

    Examples
    --------
    >>> [harmless(text) for text in ("=1+1", "@SUM(A1)", "-1.5", "a=b")]
    ["'=1+1", "'@SUM(A1)", '-1.5', 'a=b']
    """
    return f"'{text}" if _formula.search(text) and not _number.search(text) else text


def harmless_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with harmless names and texts.

    Examples
    --------
    >>> harmless_frame(pl.DataFrame({"@x": ["=1", "b"], "y": [-1, 2]})).to_dict(as_series=False)
    {"'@x": ["'=1", 'b'], 'y': [-1, 2]}
    """
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    cells = [pl.col(name).cast(pl.String) for name in texts]
    runs = [cell.str.contains(_FORMULA) & ~cell.str.contains(_NUMBER) for cell in cells]
    made = [
        pl.when(run).then(pl.concat_str(pl.lit("'"), cell)).otherwise(cell).alias(name)
        for name, cell, run in zip(texts, cells, runs, strict=True)
    ]
    return frame.with_columns(made).rename({name: harmless(name) for name in frame.columns})


def harmless_dataset(data: Dataset) -> Dataset:
    """The data set with harmless names of columns and series, and harmless texts beside its numbers.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.Dataset.from_frame(pl.DataFrame({"=id": ["a", "b"], "+x": [1.0, 2.0]}), id="=id", blocks={"x": ["+x"]})
    >>> harmless_dataset(data).id, harmless_dataset(data).columns
    ("'=id", ("'+x",))
    """
    layout = data.layout
    return replace(
        data,
        blocks=tuple(_block(block, layout.shape == "long") for block in data.blocks),
        others=harmless_frame(data.others),
        id=data.id and harmless(data.id),
        confidential=tuple(map(harmless, data.confidential)),
        integers=frozenset(map(harmless, data.integers)),
        layout=replace(
            layout,
            order=tuple(map(harmless, layout.order)),
            time=harmless(layout.time),
            variable=layout.variable and harmless(layout.variable),
            values=tuple(map(harmless, layout.values)),
        ),
    )


def with_names_of(like: Dataset, data: Dataset) -> Dataset:
    """The data set with the names that its blocks, and the columns of other roles, have in `like`."""
    others = data.others.rename(
        dict(zip(map(harmless, like.others.columns), like.others.columns, strict=True)), strict=False
    )
    return replace(data, blocks=like.blocks, others=others, id=like.id, confidential=like.confidential)


def _block(block: Block, named_in_file: bool) -> Block:
    # The name of a series is written in a long table only; the times are numbers or dates, never formulas.
    changed: dict[str, Any] = {"name": harmless(block.name)} if named_in_file else {}
    if block.categories is not None:
        made = {categories: _categories(categories) for categories in set(block.categories)}
        changed["categories"] = tuple(made[categories] for categories in block.categories)
    return replace(block, columns=tuple(map(harmless, block.columns)), **changed)


def _categories(categories: Categories) -> Categories:
    """The same labels, those that a spreadsheet would run with an apostrophe in front; with more of them where it would make two labels equal."""
    taken = set(categories.labels)
    labels = []
    for label, made in zip(categories.labels, map(harmless, categories.labels), strict=True):
        while made != label and made in taken:
            made = f"'{made}"
        taken.add(made)
        labels.append(made)
    return msgspec.structs.replace(categories, labels=tuple(labels))
