"""Compiling: once for each kernel, announced, kept where that is possible, and all of it ahead with `tsveil warm`."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import tsveil
from tsveil import _kernels
from tsveil._kernels.compiling import KERNELS, kernel
from tsveil.cli import main
from tsveil.core.progress import listening
from tsveil.core.types import Array, Indices

#: kernels that no run needs: those of forecasts with fitted parameters and of distances by single calls, which only Python offers, and
#: of attacks on two files with options of their own
NOT_NEEDED = {
    "first_with_pattern_in_ranges",
    "least_cost_runs",
    "warping_cost",
    "fitted_smoothing",
    "warped_distances",
}

WARM_AND_LIST = """
from tsveil.cli import main
from tsveil import _kernels
from tsveil._kernels.compiling import KERNELS
main(["warm", "--json"], standalone_mode=False)
print(*(kernel.py_func.__name__ for kernel, _ in KERNELS if kernel.signatures))
"""


@kernel
def added(values: Array, most: int) -> float:
    """A kernel that others call."""
    total = 0.0
    for i in range(most):
        total += values[i]
    return total


@kernel
def twice_added(values: Array) -> float:
    """Calls with a constant, and with a variable that is one at first."""
    most = 1
    if values.shape[0] > 2:
        most = values.shape[0]
    return added(values, 1) + added(values, most)


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, check=False
    )


def test_a_kernel_is_compiled_once_for_all_constants() -> None:
    twice_added._cache.flush()  # type: ignore[attr-defined]  # what an earlier run left there
    assert twice_added(np.array([1.0, 2.0, 4.0])) == 8.0
    inner = {compiled.py_func.__name__: inside for compiled, inside in KERNELS}
    assert len(inner["added"].signatures) == 1
    assert not added.signatures  # type: ignore[attr-defined]  # not for Python: nobody called it from there


def test_what_is_compiled_is_announced() -> None:
    class Shown:
        def __init__(self) -> None:
            self.begun: list[str] = []
            self.ended = 0

        def begin(self, text: str, total: int, counter: Indices) -> None:
            self.begun.append(text)

        def end(self) -> None:
            self.ended += 1

    @kernel
    def halved(x: float) -> float:
        return x / 2

    halved._cache.flush()  # type: ignore[attr-defined]
    shown = Shown()
    with listening(shown):
        assert halved(3.0) == 1.5
        assert halved(5.0) == 2.5
    assert shown.begun == ["compiling test_warm.halved, this once"]
    assert shown.ended == 1


def test_warm_compiles_what_runs_need_and_says_where_it_is() -> None:
    for module in pkgutil.iter_modules(_kernels.__path__):
        importlib.import_module(f"{_kernels.__name__}.{module.name}")
    ended = python(WARM_AND_LIST)
    assert ended.returncode == 0, ended.stderr
    said, end = json.JSONDecoder().raw_decode(ended.stdout)
    everywhere = Path(tsveil.__file__).parent
    outside = [file.read_text("utf-8") for file in everywhere.rglob("*.py") if file.parent.name != "_kernels"]
    imports = re.findall(r"from tsveil\._kernels\.\w+ import ([\w, ]+)", "\n".join(outside))
    modules = re.findall(r"from tsveil\._kernels import (\w+)(?: as (\w+))?", "\n".join(outside))
    called = {name for line in imports for name in re.findall(r"[a-z_]\w+", line)}
    for module, short in modules:
        called |= set(re.findall(rf"\b{short or module}\.([a-z_]\w+)\(", "\n".join(outside)))
    every = {compiled.py_func.__name__ for compiled, _ in KERNELS}
    assert len(called & every) > 50  # the search above still finds calls
    assert (called & every) - set(ended.stdout[end:].split()) <= NOT_NEEDED
    assert said["kernels"] > 100
    for folder in said["folders"]:
        assert any(file.name.startswith("mdav.fused_groups-") for file in Path(folder).iterdir())


def test_warm_says_so_where_nothing_can_be_kept() -> None:
    code = (
        "from numba.core import caching\n"
        "def refused(locator): raise PermissionError('read-only')\n"
        "caching._CacheLocator.ensure_cache_path = refused\n"
        "import os; os.listdir = refused\n"
        "from tsveil.cli import main; main(['warm'])"
    )
    ended = python(code)
    assert ended.returncode == 2
    assert "compiled code cannot be kept" in ended.stderr
    assert "NUMBA_CACHE_DIR" in ended.stderr


def test_without_a_place_to_write_kernels_work_and_a_filled_cache_is_read(tmp_path: Path) -> None:
    call = "import numpy as np; from tsveil._kernels.exact import partial_sums as f; print(f(np.ones(3))); "
    counts = "print(sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values()))"
    read_only = (
        "import tempfile\ndef refused(*_, **__): raise PermissionError('read-only')\ntempfile.TemporaryFile = refused\n"
    )
    empty = python(read_only + call + counts, NUMBA_CACHE_DIR=str(tmp_path / "none"))
    assert empty.stdout.split("\n")[:2] == ["[3.]", "0 1"], empty.stderr
    filled = python(call + counts, NUMBA_CACHE_DIR=str(tmp_path))
    assert filled.stdout.split("\n")[:2] == ["[3.]", "0 1"], filled.stderr
    again = python(read_only + call + counts, NUMBA_CACHE_DIR=str(tmp_path))
    assert again.stdout.split("\n")[:2] == ["[3.]", "1 0"], again.stderr


def test_warm_is_listed() -> None:
    assert "warm" in CliRunner().invoke(main, ["--help"]).output
