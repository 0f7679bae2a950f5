"""A written release with the data it was made from: its own plan says how these are read, and how the release is measured.

So commands take the folder of a release alone. A folder knows by its plan (`private/plan.toml`) where its data are and with which options they
were read; somebody who has moved them names the file, and it is read with the same options.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tsveil.core.errors import InputError
from tsveil.data.dataset import Dataset
from tsveil.data.read import read
from tsveil.measure.scorecard import Scorecard
from tsveil.plan.plan import Plan
from tsveil.release.publish import MARKER, judge_unwritten_release
from tsveil.release.reopen import release_facts, reopen_release


def is_release(folder: str | Path) -> bool:
    """Whether this is the folder of a release, with its private side."""
    return (Path(folder) / MARKER).is_file()


def original_of(
    folder: str | Path, file: str | Path | None = None, options: Mapping[str, Any] | None = None
) -> Dataset:
    """The original data of a release, read again as the plan in its private folder says.

    `file` is where they are now, if the plan does not know it; `options` of `tsveil.read` for it take the place of those in the plan.
    """
    folder = Path(folder)
    release_facts(folder)
    if file is not None and options:
        return read(file, **options)
    plan, base = plan_of_release(folder)
    if file is not None:
        return msgspec.structs.replace(plan.input, path=str(Path(file).absolute())).read(Path())
    if not (base / plan.input.path).exists():
        raise InputError(f"the original data of {folder} are not at {base / plan.input.path}\n{_hint(folder)}")
    return plan.input.read(base)


def evaluate_release(folder: str | Path, original: Dataset, options: Mapping[str, Any] | None = None) -> Scorecard:
    """A written release, attacked and measured once more as its own plan says; `options` of `tsveil.evaluate` take the place of those in the plan."""
    folder = Path(folder)
    release = reopen_release(folder, original)
    measures: dict[str, Any] = {}
    intruder = None
    if (folder / "private" / "plan.toml").is_file():
        plan, base = plan_of_release(folder)
        measures, intruder = plan.evaluate.options(), plan.intruder
        if intruder.other_period and (base / intruder.other_period).exists():
            measures["other_period"] = plan.input.read_other_period(base / intruder.other_period)
    return judge_unwritten_release(release, release.verify(), measures | dict(options or {}), intruder)[0]


def _hint(folder: Path) -> str:
    return f"  options: name the original data (original=..., --original FILE) that {folder} was made from"


def plan_of_release(folder: Path) -> tuple[Plan, Path]:
    """The plan of a release, and the folder from which its paths count: that of the plan, which is where the path of the release begins."""
    path = folder / "private" / "plan.toml"
    if not path.is_file():
        raise InputError(f"{folder} does not say from which file it was made: {path} is missing\n{_hint(folder)}")
    plan = Plan.load(path)
    written = Path(plan.output.folder)
    parts = [part for part in written.parts if part != "."]
    place = folder.absolute()
    if not written.is_absolute() and ".." not in parts and list(place.parts[-len(parts) :]) == parts:
        return plan, Path(*place.parts[: len(place.parts) - len(parts)])
    return plan, place.parent
