"""Plans and releases of version 0.1 are still read: one of each kind, stored as 0.1 wrote it (without the reports)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tsveil as tv
from tsveil.plan.plan import Plan
from tsveil.plan.stored import original_of
from tsveil.release.reopen import reopen_release

STORED = Path(__file__).parent / "releases_0_1"
KINDS = ("values", "envelopes", "parts", "envelopes-parts")

#: plans of 0.1 have the accepted risk in another section, which is said when they are read
pytestmark = pytest.mark.filterwarnings("ignore:.*accepted_risk stands in:FutureWarning")


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_opened_verified_and_measured(kind: str) -> None:
    release = reopen_release(STORED / kind, original_of(STORED / kind))
    assert release.original.n == 24
    assert release.verify().holds
    assert release.evaluate().to_dict()
    assert not release.suppressed.size


def test_what_is_opened_is_what_was_published() -> None:
    """The curves of the release are means of groups of the original ones, in memory and in parts alike."""
    data = original_of(STORED / "values")
    whole, parts = (reopen_release(STORED / kind, data) for kind in ("values", "parts"))
    assert np.array_equal(whole.data.values, parts.data.values)
    assert np.array_equal(whole.data.values, tv.MDAV(k=3, refine="none").protect(data, seed=5).data.values)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_run_again(kind: str, tmp_path: Path) -> None:
    for path in STORED.iterdir():
        if path.name not in KINDS:
            (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
    # One of them accepts 30 %, which its own groups of three exceed: 0.1 wrote it all the same.
    outcome = tv.run(tmp_path / f"{kind}.toml", allow=["accepted-risk"])
    assert outcome.verdict.holds
    assert Plan.load(outcome.folder / "private" / "plan.toml").seed == 5


def test_two_of_them_are_compared() -> None:
    both = tv.compare(STORED / "values", STORED / "envelopes")
    assert both.table.height > 5
