"""Builds the wheel and the sdist, and tries the wheel as a stranger has it: `make wheel`, or `python tools/wheel.py`.

The RUN lines of the Dockerfile are run one after the other, with the ENV lines before them, in an empty environment with an empty home; only the places /opt/tsveil and /opt/wheel lie
elsewhere. Then `tsveil demo` runs there with the compiled code that these lines left behind, and must not compile anything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "build" / "dist"


def build() -> Path:
    """The wheel; both files have all that they need and nothing else."""
    shutil.rmtree(DIST, ignore_errors=True)
    for what in ("wheel", "sdist"):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", what, "-d", str(DIST)],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    source = {name for name in source if "__pycache__" not in name}
    if missing := source - packed:
        raise SystemExit(f"the wheel lacks {sorted(missing)[:5]}")
    if strange := {name for name in packed if not name.startswith(("tsveil/", "tsveil-"))}:
        raise SystemExit(f"the wheel has {sorted(strange)[:5]}")
    with tarfile.open(sdist) as packed_source:
        names = {name.partition("/")[2] for name in packed_source.getnames()}
    if missing := ({f"src/{name}" for name in source} | {"README.md", "LICENSE", "pyproject.toml"}) - names:
        raise SystemExit(f"the sdist lacks {sorted(missing)[:5]}")
    return wheel


def lines_of_the_image() -> list[tuple[str, str]]:
    """The ENV and RUN lines of the Dockerfile in their order."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"^(ENV|RUN) (.+)$", text, flags=re.MULTILINE)


def try_image(wheel: Path, place: Path) -> None:
    """Run these lines, and the demo as the image would."""
    (place / "wheel").mkdir()
    (place / "home").mkdir()
    shutil.copy(wheel, place / "wheel")
    # The python3 of the image is the one that this script runs with.
    environment = {
        "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}",
        "HOME": str(place / "home"),
        "LANG": "C.UTF-8",
    }
    environment |= {name: os.environ[name] for name in os.environ if name.startswith("PIP_") or name.endswith("_proxy")}

    def here(text: str) -> str:
        return text.replace("/opt/tsveil", str(place / "tsveil")).replace("/opt/wheel", str(place / "wheel"))

    for kind, line in lines_of_the_image():
        if kind == "ENV":
            name, _, value = here(line).partition("=")
            environment[name] = value.replace("$PATH", environment["PATH"])
        else:
            subprocess.run(["/bin/sh", "-c", here(line)], env=environment, cwd=place / "home", check=True)
    compiled = Path(environment["NUMBA_CACHE_DIR"])
    before = {path: path.stat().st_mtime_ns for path in compiled.rglob("*")}
    if not any(path.suffix == ".nbc" for path in before):
        raise SystemExit("the image has no compiled code")
    shown = subprocess.run(
        ["tsveil", "demo", "--folder", "demo"], env=environment, cwd=place / "home", check=True, capture_output=True, text=True
    ).stdout  # fmt: skip
    report = place / "home" / "demo" / "release" / "private" / "report.html"
    if "HOLDS" not in shown.upper() or not report.is_file():
        raise SystemExit(f"the demo did not do what it says:\n{shown}")
    if {path: path.stat().st_mtime_ns for path in compiled.rglob("*")} != before:
        raise SystemExit("the demo compiled code that `tsveil warm` had not")


def main() -> None:
    """Build, then try."""
    wheel = build()
    with tempfile.TemporaryDirectory(prefix="tsveil-image-") as place:
        try_image(wheel, Path(place))
    print(f"{wheel.relative_to(ROOT)}: installed alone, compiled, and the demo runs")


if __name__ == "__main__":
    main()
