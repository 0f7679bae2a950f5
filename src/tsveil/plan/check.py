"""Whether the release of a plan is still in order: for cron, Airflow or a hook that runs before something is published.

    the release    is it there, with its private side
    its plan       was it made by this plan as it stands now
    its data       are the data those it was made from
    its verdict    does it still hold, judged again from the published files
    its review     is the review that the plan announces due

Nothing is written, and nothing is made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec

from tsveil.assess.assessment import Assessment
from tsveil.core.errors import InputError
from tsveil.data.files import digest_of, files_of
from tsveil.plan.chain import due_in_words
from tsveil.plan.plan import Plan
from tsveil.release import record
from tsveil.release.publish import MARKER
from tsveil.release.reopen import judge_release


@dataclass(frozen=True)
class PlanCheck:
    """What was found; nothing is to be done if `problems` is empty."""

    folder: Path
    problems: list[str]
    due: str
    #: None: there is no release
    assessment: Assessment | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "folder": str(self.folder),
            "in_order": not self.problems,
            "problems": self.problems,
            "due": self.due,
            "assessment": None if self.assessment is None else self.assessment.to_dict(),
        }


def check_plan(path: str | Path, *, strict: bool = False, today: date | None = None) -> PlanCheck:
    """Check the release of a plan; `strict` counts warnings of the verdict as problems.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "plan.toml").write_text('[input]\\npath = "a.csv"\\n[method]\\nname = "mdav"\\n[output]\\nfolder = "release"\\n')
    >>> check_plan(place / "plan.toml").problems
    ['there is no release yet']
    """
    plan, base = Plan.load(path), Path(path).parent
    folder = base / plan.output.folder
    review = plan.context.review_date.strip()
    now = today or datetime.now(UTC).date()
    due = due_in_words(review, now)
    problems = [due] if _is_due(review, now) else []
    if not (folder / MARKER).is_file():
        return PlanCheck(folder, ["there is no release yet", *problems], due)
    written = record.last(folder)
    if not _made_by(plan, folder):
        problems.append("the plan was changed since the release was made")
    problems += _data_problems(base, plan.input.path, str(written.get("input_sha256", "")))
    try:
        found = judge_release(folder)
    except InputError as error:  # files that were damaged or removed
        return PlanCheck(folder, [*problems, f"the published files cannot be judged: {error}"], due)
    allowed = set(written.get("allowed", ()))
    stopped = found.stopped_by(allowed, strict=strict)
    problems += [f"{check.name}: {check.status.words}: {check.message}" for check in stopped]
    return PlanCheck(folder, problems, due, found)


def _is_due(review: str, today: date) -> bool:
    try:
        return date.fromisoformat(review) <= today
    except ValueError:
        return False


def _made_by(plan: Plan, folder: Path) -> bool:
    """Whether the release was made by this plan, apart from what is said of it and where it is."""
    kept = folder / "private" / "plan.toml"
    if not kept.is_file():
        return False
    return _work(plan) == _work(Plan.load(kept))


def _work(plan: Plan) -> dict[str, Any]:
    """What a plan does, apart from where the data and the release lie and from what the report says of them."""
    found: dict[str, Any] = msgspec.to_builtins(plan)
    own: dict[str, Any] = {
        key: found[key] for key in ("input", "method", "evaluate", "limits", "intruder") if key in found
    }
    own["input"] = {key: value for key, value in own["input"].items() if key != "path"}
    return own


def _data_problems(base: Path, path: str, digest: str) -> list[str]:
    """Whether the data are there, and still those that the release was made from; without a hash nobody knows."""
    try:
        files = files_of(base / path)
    except InputError:
        files = []
    if not files or not all(file.is_file() for file in files):
        return [f"the data are not at {path}"]
    if digest and digest_of(files) != digest:
        return [f"the data in {path} are not those that the release was made from"]
    return []
