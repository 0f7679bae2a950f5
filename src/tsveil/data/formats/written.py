"""The names of the formats that tsveil writes, for options and plans, which are looked at before anything heavy is loaded."""

from __future__ import annotations

from typing import Literal, get_args

#: what `--format` and [output] format may say; the name is also the ending of the file
Written = Literal["csv", "parquet", "arrow", "json", "jsonl", "xlsx", "sqlite", "duckdb", "arff", "dta", "sav"]
WRITTEN: tuple[str, ...] = get_args(Written)
