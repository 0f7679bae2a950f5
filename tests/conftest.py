"""What all tests share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Without compiled kernels (`make coverage`) each example takes a hundred times as long.
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

hypothesis.settings.register_profile("tsveil", deadline=None, derandomize=True, max_examples=60 if COMPILED else 8)
hypothesis.settings.load_profile("tsveil")

# Read by every Spark session and every Dask cluster that a test or a program of a test starts.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark"))
os.environ.setdefault("DASK_CONFIG", str(Path(__file__).parent / "dask"))


#: sets of tests that share what takes long to make, which would be made again in every process that has one of them: clusters, servers, a browser, releases
TOGETHER = (
    "tests/engine/",
    "tests/faults/test_dask.py",
    "tests/faults/test_kills.py",
    "tests/faults/test_room.py",
    "tests/faults/test_stops.py",
    "tests/fuzz/test_inputs.py",
    "tests/golden/test_attacks.py",
    "tests/golden/test_microaggregation.py",
    "tests/leaks/test_parts.py",
    "tests/leaks/test_published.py",
    "tests/leaks/test_studies.py",
    "tests/red_team/",
    "tests/report/",
    "tests/test_plugins.py",
    "tests/web/",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, where nothing is compiled, the tests that would then take long: those on real data, and the list of slow_without_jit.txt."""
    if COMPILED:
        return
    lines = (Path(__file__).parent / "slow_without_jit.txt").read_text(encoding="utf-8").splitlines()
    slow = tuple(line for line in lines if line and not line.startswith("#"))

    def takes_long(item: pytest.Item) -> bool:
        return item.nodeid.startswith(slow) or "shared_data" in getattr(item, "fixturenames", ())

    config.hook.pytest_deselected(items=[item for item in items if takes_long(item)])
    items[:] = [item for item in items if not takes_long(item)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share something go to one process, the largest sets first; the others, one by one, where there is time."""
    from xdist.scheduler import LoadScopeScheduling

    class SharersTogether(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)

    return SharersTogether(config, log)


@pytest.fixture(scope="session", autouse=True)
def _disk_without_waiting() -> Iterator[None]:
    """Nobody pulls the plug on a test, so nothing that is flushed is waited for; a handle that cannot be flushed is still refused."""

    def flushed(handle: int) -> None:
        os.fstat(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", flushed)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data beside the project; tests that need it are skipped where it is missing."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the public data sets in {folder.name}/ beside the project")
    return folder


def needed(what: str, hint: str) -> None:
    """Skip a test where something outside Python is missing; in CI nothing may be skipped for that."""
    message = f"needs {what}: {hint}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium for all browser tests: Playwright can be started only once in a process."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        needed("Chromium", "apt-get install chromium")
    from playwright.sync_api import sync_playwright

    quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-sync", *quiet]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which says what keeps people from using a page."""
    place = Path(os.environ.get("TSVEIL_AXE") or Path(__file__).parents[1] / "build" / "axe" / "axe.min.js")
    if not place.is_file():
        needed("axe-core", "make axe, or TSVEIL_AXE with the place of axe.min.js")
    return place.read_text(encoding="utf-8")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports with the hash of each chart in its place."""
    import engine_files

    monkeypatch.setattr("tsveil.report.figures.draw_svg", engine_files.undrawn)


@pytest.fixture(scope="session")
def java() -> str:
    """Java, which Spark runs on."""
    program = shutil.which("java")
    if program is None:
        needed("Java", "apt-get install default-jre-headless")
    assert program is not None
    return program
