"""A table of households, and what a page says of it."""

from __future__ import annotations

import html
import re

import httpx
import numpy as np
import polars as pl

from web.running import Client


def households(rows: int = 30) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    towns = ["Bern", "Chur", "Genf"]
    return pl.DataFrame(
        {
            "home": [f"h{at}" for at in range(rows)],
            **{f"2024-01-0{day}": np.round(rng.gamma(2, 2, rows), 2) for day in range(1, 5)},
            "town": [towns[at % 3] for at in range(rows)],
            "size": [("small", "large", "medium")[at % 3] for at in range(rows)],
        }
    )


def study_of(client: Client, name: str, content: bytes) -> tuple[str, str]:
    """The study of an upload, and its page."""
    path = client.upload(name, content).url.path
    return path.split("/")[2], client.ready(path).text


def said(page: str | httpx.Response) -> str:
    """The text of a page, as it is read."""
    text = page if isinstance(page, str) else page.text
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))
