"""The plan of a sweep: what is read, what is tried, how it is measured, where the study goes; and the plan of its winner.

    [input]
    path = "meters.csv"

    [sweep]
    methods = ["mdav", "nlk"]          # or "all"
    [sweep.grid.mdav]
    k = [3, 5, 10]

    [intruder]
    knows = "file"                     # whom the risk is about

    [output]
    folder = "study"

A folder of a study made so holds its plan (`sweep.toml`), from which the sweep can be continued and the plan of a release be made.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from tsveil.assess.limits import Intruder, Limits
from tsveil.core import progress
from tsveil.core.errors import OutputError, PlanError
from tsveil.core.randomness import fresh_secret
from tsveil.core.registry import METHODS
from tsveil.data.write import write_text
from tsveil.plan.plan import Evaluation, Input, Output, Plan, TomlPlan
from tsveil.protect.intervals import IntervalMethod
from tsveil.study.choice import Recommendation
from tsveil.study.store import hold_lock
from tsveil.study.study import Study
from tsveil.study.sweep import sweep

#: the plan in the folder of a study
PLAN = "sweep.toml"
PAGE = "study.html"


class SweepOptions(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is tried; the options of `tsveil.sweep`."""

    #: names of methods, or "all"
    methods: list[str] | str = "all"
    #: method -> parameter -> values, or several of these
    grid: dict[str, dict[str, Any] | list[dict[str, Any]]] = {}


class StudyFolder(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Where the study goes."""

    #: where the study goes: a new folder, or one in which it goes on
    folder: str
    #: the title of its page
    title: str = ""


class SweepPlan(TomlPlan, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A whole sweep.

    Examples
    --------
    >>> plan = SweepPlan.from_toml('''
    ... [input]
    ... path = "meters.csv"
    ... [sweep.grid.mdav]
    ... k = [3, 5]
    ... [output]
    ... folder = "study"
    ... ''')
    >>> plan.sweep.methods, plan.sweep.grid
    ('all', {'mdav': {'k': [3, 5]}})
    """

    start: ClassVar[str] = "`tsveil sweep FILE --out FOLDER` puts its plan into the folder, to start from"

    input: Input
    output: StudyFolder
    sweep: SweepOptions = msgspec.field(default_factory=SweepOptions)
    evaluate: Evaluation = msgspec.field(default_factory=Evaluation)
    #: whom the risk is about
    intruder: Intruder = msgspec.field(default_factory=Intruder)
    #: a secret; leave it out and it is drawn from the operating system
    seed: int | None = None
    #: what makes a short seed a secret; left out it is drawn, and the folder keeps it; empty: the seed alone decides
    secret: str | None = None


def run_sweep(plan: SweepPlan, *, base: str | Path = ".") -> Study:
    """Do what the plan of a sweep says, or go on with it; relative paths count from `base`.

    The folder gets the study, its report `study.html`, and the plan.
    """
    base = Path(base)
    folder = base / plan.output.folder
    known = ("study.json", "lock")
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in known):
        raise OutputError(f"{folder} has other files and no study in it\n  options: another folder")
    options = plan.evaluate.options()
    with progress.step("Reading"):
        data = plan.input.read(base)
    study = sweep(
        data,
        plan.sweep.methods,
        plan.sweep.grid,
        options,
        intruder=plan.intruder,
        folder=folder,
        seed=plan.seed,
        secret=fresh_secret() if plan.secret is None else plan.secret,
    )
    own = SweepPlan(
        input=_move_input(plan.input, base, folder),
        output=StudyFolder(folder=".", title=plan.output.title),
        sweep=plan.sweep,
        evaluate=plan.evaluate,
        intruder=plan.intruder,
    )
    page = study.report(title=plan.output.title)
    with hold_lock(folder):
        write_text(folder / PLAN, own.to_toml() + "\n")
        write_text(folder / PAGE, page)
    return study


#: why the plan of a study has a secret, which is drawn anew otherwise
SECRET = "With the seed it repeats the release that was measured, to the bit. Keep it private."


def winners_plan(folder: str | Path, found: Recommendation, out: str | Path) -> str:
    """The plan, as text, that makes the recommended release; it is to be written to `out`, from which its paths count.

    It carries the seed with which the configuration was measured: the release is the one whose figures are in the study.
    """
    folder, out = Path(folder), Path(out)
    if found.best is None:
        raise PlanError("there is no plan for a recommendation that names nothing")
    if not (folder / PLAN).is_file():
        raise PlanError(
            f"{folder} does not say which file was swept: {PLAN} is missing\n  options: `tsveil sweep` makes a study with it"
        )
    swept = SweepPlan.load(folder / PLAN)
    plan = plan_of(
        Study.load(folder).against(found.best["intruder"]),
        found.best,
        found.max_risk,
        input=_move_input(swept.input, folder, out.parent),
        output=Output(folder=f"{out.name.split('.')[0]}-release"),
        evaluate=swept.evaluate,
    )
    reason = found.reason.replace(". ", ".\n")
    return plan.to_toml({"method": reason, "seed": "The seed of the study; it is a secret.", "secret": SECRET}) + "\n"


def plan_of(
    study: Study,
    row: Mapping[str, Any],
    max_risk: float | None,
    *,
    input: Input,
    output: Output,
    evaluate: Evaluation | None = None,
) -> Plan:
    """The plan that makes the release of a configuration again, judged against the intruder of the study.

    The accepted risk is the stricter of the limit that was asked for and the bound of the promise, which does not speak of carried columns that the intruder
    knows; so a run comes to the verdict that the study showed.
    """
    settings = {name: value for name, value in msgspec.json.decode(row["settings"]).items() if value is not None}
    limits = Limits(accepted_risk=max_risk)
    if (
        row["bound"]
        and not study.intruder.knows_carried
        and (limits.share is None or Fraction(row["bound"]) <= limits.share)
    ):
        limits = Limits(accepted_risk=row["bound"])
    evaluate = evaluate or Evaluation()
    if issubclass(METHODS[row["method"]], IntervalMethod):
        evaluate = Evaluation(targets=evaluate.targets)  # the other options are for values
    return Plan(
        input=input,
        method={"name": row["method"], **settings},
        output=output,
        evaluate=evaluate,
        intruder=study.intruder,
        limits=limits,
        seed=study.seed_of(row["key"]),
        secret=study.secret,
    )


def _move_input(place: Input, before: Path, after: Path) -> Input:
    """The same input for a plan that stands in another folder."""

    def moved(path: str) -> str:
        return path if Path(path).is_absolute() else os.path.relpath(before / path, after)

    categories = {
        name: {**spec, "hierarchy": moved(spec["hierarchy"])}
        if isinstance(spec, dict) and isinstance(spec.get("hierarchy"), str)
        else spec
        for name, spec in place.categories.items()
    }
    return msgspec.structs.replace(place, path=moved(place.path), categories=categories)
