"""Right links of P-RL and of conditional P-RL, side by side, on the reference files of the literature.

Run with `python benchmarks/agreement.py FOLDER`, where FOLDER has the files (census.csv, eia.csv, tarragona.csv, ...). Each file is protected with the seeds 1 to 3; rates are means over these, with the first
4, 6, 8 ... columns known. On swapped values two values agree within the window of the method; elsewhere, if the published value is the nearest one, and in the rows marked so within a tenth of a
standard deviation.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

import tsveil as tv
from tsveil.attack.base import RanksWithin, Shape

#: file -> columns that are no attributes
FILES = {
    "census": (),
    "eia": ("UTILITYID", "UTILNAME", "STATE", "YEAR", "MONTH"),
    "tarragona": (),
    "iris": (),
    "wdbc": (),
    "abalone": (),
    "boston": (),
}
SEEDS = (1, 2, 3)
KNOWN = (4, 6, 8, 10, 12)
#: what is protected how, and when values agree
WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "noise 0.1, within 0.1": (tv.Noise(sd=0.1), {"agree": "within"}),
    "correlated noise 0.1, within 0.1": (tv.Noise(sd=0.1, correlated=True), {"agree": "within"}),
    "MDAV k = 5": (tv.MDAV(k=5), {}),
    "rank swapping p = 10, within the window": (tv.RankSwap(p=10), {}),
}


def dataset(path: Path, left_out: tuple[str, ...]) -> tv.Dataset:
    """The numbers of a file as attributes, MDAV in blocks of three columns."""
    frame = pl.read_csv(path).drop(left_out, strict=False).select(cs.numeric()).cast(pl.Float64)
    frame = frame[:, : max(KNOWN)]
    blocks = {str(at): list(frame.columns[at : at + 3]) for at in range(0, len(frame.columns), 3)}
    return tv.Dataset.from_frame(frame, blocks=blocks, times=dict.fromkeys(blocks))


def main(folder: Path) -> None:
    print(f"| file | protected by | {' | '.join(f'{count} known' for count in KNOWN)} |")
    print(f"| --- | --- | {' | '.join('---:' for _ in KNOWN)} |")
    for name, left_out in FILES.items():
        data = dataset(folder / f"{name}.csv", left_out)
        for words, (method, rule) in WAYS.items():
            releases = [method.protect(data, seed=seed) for seed in SEEDS]
            traces = method.traces(Shape(data.n, data.blocks)) or ()
            window = next((trace.ranks for trace in traces if isinstance(trace, RanksWithin)), None)
            cells = []
            for count in KNOWN:
                given = {"known": data.columns[:count], "window": window, **rule}
                both = [
                    np.mean([attack(data, release, **given).rate for release in releases])
                    for attack in (tv.attack.probabilistic, tv.attack.conditional)
                ]
                cells.append(" / ".join(f"{rate:.1f}" for rate in both) if count <= len(data.columns) else "")
            print(f"| {name} | {words} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
