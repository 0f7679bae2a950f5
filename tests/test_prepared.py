"""What was done to the data before they were protected stands in the published files, without how many records it concerned."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import tsveil as tv
from tsveil.data.gaps import in_public

SAID = {
    "drop": ({"missing": "drop"}, "Records were dropped because they have gaps."),
    "interpolate": ({"missing": "interpolate"}, "Missing values were filled by linear interpolation in time."),
    "resample": (
        {"resample": 4, "missing": "interpolate"},
        "Every series was resampled by linear interpolation to 4 points.",
    ),
    "split": ({"missing": "drop", "split": 2}, "Each series was split into 2 consecutive series of equal length."),
}


@pytest.mark.parametrize("case", SAID)
def test_the_published_files_say_what_was_done_before(tmp_path: Path, case: str) -> None:
    options, sentence = SAID[case]
    rows = [[f"h{i}", *(None if i == 3 and t == 2 else i * 1.5 + t for t in range(6))] for i in range(17)]
    pl.DataFrame(rows, schema=["id", *map(str, range(1, 7))], orient="row").write_csv(tmp_path / "in.csv")
    data = tv.read(tmp_path / "in.csv", **options)  # type: ignore[arg-type]
    assert data.notes
    folder = tv.MDAV(k=3).protect(data, seed=1).write(tmp_path / "out")
    for name in ("README.md", "report.html"):
        shown = (folder / "published" / name).read_text()
        assert sentence in shown
        assert not any(note in shown for note in data.notes if in_public(note).lower() != f"{note}.".lower())
        assert not re.search(r"1 of 17|of 17 records", shown)
    assert (
        "Before protection"
        not in (
            tv.MDAV(k=2).protect(tv.example("food-prices")).write(tmp_path / "food") / "published" / "README.md"
        ).read_text()
    )
