"""Reading a file that should look like a data set at hand: a release, to be verified or evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tsveil.data.dataset import Dataset
from tsveil.data.read import read, read_own


def read_like(path: str | Path, like: Dataset, *, own: bool = False) -> Dataset:
    """Read a file with the layout, blocks and roles of a data set at hand, instead of guessing them; `own`: just written here."""
    return (read_own if own else read)(path, **roles_of(like))


#: options of `read` that speak of single columns of a file, or make other series of them
OF_COLUMNS = (
    "blocks",
    "confidential",
    "leave_out",
    "numbers",
    "person",
    "categories",
    "block_size",
    "blocks_by",
    "split",
)


def read_other_period(path: str | Path, options: Mapping[str, Any]) -> Dataset:
    """Read a file of another period with the options of the published one, but for those that speak of its columns: the other file has other times."""
    return read(path, **{name: value for name, value in options.items() if name not in OF_COLUMNS})


def roles_of(like: Dataset) -> dict[str, Any]:
    """The options by which `read` gives the columns of a file the roles that they have in a data set."""
    layout = like.layout
    options: dict[str, Any] = {"layout": layout.shape, "id": like.id, "confidential": list(like.confidential)}
    if form := next((block.form for block in like.blocks if block.form), ""):
        options["time_format"] = form
    if like.masked:
        options["missing"] = "mask"
    if layout.shape == "long":
        options |= {
            "time": list(layout.time_parts) or layout.time,
            "variable": layout.variable,
            "value": list(layout.values),
        }
    else:
        options["blocks"] = {
            block.name: {
                "columns": list(block.columns),
                "kind": "attributes" if block.times is None else "series",
                **({"times": block.times.tolist()} if block.times is not None else {}),
            }
            for block in like.blocks
        }
    labels = {
        block.name if layout.shape == "long" and block.times is not None else column: msgspec.to_builtins(categories)
        for block in like.blocks
        for column, categories in zip(block.columns, block.categories or (), strict=block.categories is not None)
    }
    return options | ({"categories": labels} if labels else {})
