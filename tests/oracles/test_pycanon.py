"""pycanon counts the same k over the keys of releases, as an independent program; `make oracles` makes the environment that it runs in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.guarantee.key_anonymity import KeyAnonymity
from tsveil.protect.local_suppression import LocalSuppression

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-oracles/bin/python"
#: releases of random files
RELEASES = 200
KEYS = ("sex", "region", "education")
#: labels of the three keys; some look like numbers or like nothing
LABELS = (("f", "m"), ("N", "S", "NA", "null", "0", "00"), ("1", "2", "3", "4", "5"))

pytestmark = pytest.mark.skipif(
    not PYTHON.exists() and not os.environ.get("TSVEIL_ORACLES"),
    reason="the environment of other programs is missing: `make oracles` makes it",
)


def release_of(seed: int) -> tuple[tv.Release, int]:
    """A release of a random file, and its k: by suppression, by microaggregation, and of keys beside a series."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(8, 60)), int(rng.integers(2, 5))
    shares = [1 / np.arange(1, len(labels) + 1) ** rng.uniform(0, 2) for labels in LABELS]
    frame = pl.DataFrame(
        {
            "id": [f"p{at}" for at in range(n)],
            **{
                name: np.array(labels)[rng.choice(len(labels), n, p=one / one.sum())]
                for name, labels, one in zip(KEYS, LABELS, shares, strict=True)
            },
            **({f"{hour}:00": rng.gamma(2, 1, n) for hour in range(10, 14)} if seed % 4 == 2 else {}),
        }
    )
    loads = {"load": [name for name in frame.columns if ":" in name]} if seed % 4 == 2 else {}
    data = tv.Dataset.from_frame(frame, id="id", categories=dict.fromkeys(KEYS, "nominal"), blocks=loads)
    method = tv.MDAV(k=k) if seed % 4 == 3 else LocalSuppression(k=k, search="greedy" if seed % 4 == 1 else "auto")
    return method.protect(data, seed=seed), k


def fewest(table: pl.DataFrame) -> int:
    """The fewest rows with equal keys."""
    return int(table.group_by(KEYS).len()["len"].min())  # type: ignore[arg-type]


def test_pycanon_agrees_on_k_over_the_keys(tmp_path: Path) -> None:
    assert PYTHON.exists(), "TSVEIL_ORACLES asks for them, and `make oracles` was not run"
    ours, files = [], []
    for seed in range(RELEASES):
        release, k = release_of(seed)
        shown = release.published()
        assert isinstance(shown, tv.Dataset)
        own = KeyAnonymity(k, KEYS).verify(shown)
        assert own.holds
        table = pl.DataFrame(
            [shown.labels[name].column(name, shown.values[:, shown.columns.index(name)]) for name in KEYS]
        )
        files.append(tmp_path / f"{seed}.csv")
        table.write_csv(files[-1])
        # The largest k that our verifier accepts.
        most = max(at for at in range(k, shown.n + 1) if at == k or KeyAnonymity(at, KEYS).verify(shown).holds)
        assert most == fewest(table)
        ours.append(most)
    script = Path(__file__).with_name("pycanon_k.py")
    command = [str(PYTHON), str(script), ",".join(KEYS), *map(str, files)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert json.loads(found.stdout) == ours
