"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("tsveil", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("tsveil")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data beside the project; tests that need it are skipped where it is missing."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the public data sets in {folder.name}/ beside the project")
    return folder
