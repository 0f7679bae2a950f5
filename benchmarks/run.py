"""Runs every benchmark of this folder, one after the other, each in a process of its own.

    python benchmarks/run.py [NAME ...]

Every script prints a table; times are compared within one run, because machines differ and are noisy.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> None:
    names = sys.argv[1:] or sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in {"run", "fused"})
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        flush=True,
    )
    for name in names:
        print(f"\n## {name}\n", flush=True)
        subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], check=True)


if __name__ == "__main__":
    main()
