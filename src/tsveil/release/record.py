"""Who wrote a release, when, and with what verdict: a line of private/record.jsonl each time, never with data.

A release that replaces an older one goes on with its record, so that the file tells of every release that had this place.
"""

from __future__ import annotations

import getpass
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tsveil import __version__
from tsveil.assess.assessment import Assessment

#: where it stands in the folder of a release
RECORD = "private/record.jsonl"


def earlier(folder: Path) -> str:
    """The record of the release that is in a folder now; empty if there is none."""
    path = folder / RECORD
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def last(folder: Path) -> dict[str, Any]:
    """What the record says of the release that is in a folder now; empty where it is missing or damaged."""
    try:
        found = json.loads(earlier(folder).splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def line(place: Path, assessment: Assessment, *, input: str, digest: str, plan: str) -> str:
    """The line for the release that was written to `place`: names and hashes of what went in and came out, and the verdict."""
    files = sorted(path for path in (place / "published").rglob("*") if path.is_file())
    found = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "by": _user(),
        "version": __version__,
        "input": input,
        "input_sha256": digest,
        "plan_sha256": hashlib.sha256(plan.encode()).hexdigest() if plan else "",
        "verdict": assessment.verdict.value,
        "allowed": list(assessment.allowed),
        "published_sha256": {str(path.relative_to(place / "published")): _sha256(path) for path in files},
    }
    return json.dumps(found) + "\n"


def _user() -> str:
    """The name of whoever runs this; empty where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
