"""Runs every benchmark of this folder, one after the other, each in a process of its own.

    python benchmarks/run.py [--quick] [NAME ...]

Every script prints a table; times are compared within one run, because machines differ and are noisy. What is printed first is what a figure needs to be worth something: the date, the
commit, the machine, how busy it is, and the versions of what is compared. --quick: those that compare with another program, in small sizes, in less than two minutes.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

FOLDER = Path(__file__).parent
#: what is compared with another program, and the sizes that are quick
QUICK: dict[str, list[str]] = {
    "mdav": ["20000"],
    "forecasts": ["5000"],
    "linkage": ["20000"],
    "reading": ["--long", "200000"],
}
PEERS = ("numpy", "numba", "polars", "scipy", "scikit-learn", "statsforecast", "faiss-cpu")


def commit() -> str:
    """The commit of this checkout, and whether there is more in the files."""
    told = subprocess.run(
        ["git", "-C", str(FOLDER), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or "no commit"


def version(name: str) -> str:
    """The version of an installed package, or a dash."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "-"


def main() -> None:
    """Run them all, or those that are named."""
    words = sys.argv[1:]
    quick = "--quick" in words
    names = [word for word in words if word != "--quick"]
    names = names or (list(QUICK) if quick else sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "run"))
    busy = " ".join(f"{load:.1f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit()}")
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, load {busy} (processes in the last 1, 5 and 15 minutes), Python {platform.python_version()}"
    )
    print(", ".join(f"{name} {version(name)}" for name in PEERS), flush=True)
    for name in names:
        print(f"\n## {name}\n", flush=True)
        subprocess.run(
            [sys.executable, str(FOLDER / f"{name}.py"), *(QUICK.get(name, []) if quick else [])], check=True
        )


if __name__ == "__main__":
    main()
