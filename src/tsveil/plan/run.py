"""The line in one function: read, protect, publish, verify, attack, measure, assess, report."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import msgspec
import polars as pl

from tsveil.assess.limits import Knows, Limits
from tsveil.core import progress
from tsveil.core.errors import InputError
from tsveil.core.randomness import fresh_secret, release_seed
from tsveil.core.registry import METHODS, starting
from tsveil.data.categories import with_absolute_paths
from tsveil.data.dataset import Dataset
from tsveil.data.examples import example_frame
from tsveil.data.source import Source
from tsveil.data.store import Folder
from tsveil.data.write import complete_folder, refuse_existing
from tsveil.engine.choose import chosen_engine
from tsveil.engine.here import Here
from tsveil.plan.estimate import Estimate, refuse_too_large
from tsveil.plan.estimate import estimate as estimated
from tsveil.plan.plan import Input, Output, Plan, refuse_outside
from tsveil.protect.base import Method
from tsveil.protect.over_time import Past, check, past_of, without_published
from tsveil.protect.work import protect_in_chunks, protect_in_memory, survey_of, units_of
from tsveil.release import record
from tsveil.release.ledger import Ids
from tsveil.release.publish import MARKER, Outcome, fill
from tsveil.release.release import Release
from tsveil.release.together import earlier_releases
from tsveil.report.context import Context


def run(
    plan: Plan | str | Path,
    *,
    base: str | Path | None = None,
    source: Path | None = None,
    overwrite: bool = False,
    anywhere: bool = False,
    secret: str | None = None,
    allow: Collection[str] = (),
    strict: bool = False,
    allow_unverified: bool = False,
    intruder: Knows | None = None,
    after: str | Path | None = None,
    ids: Ids | None = None,
    regroup: bool = False,
    engine: Any = None,
    scheduler: str | None = None,
    master: str | None = None,
) -> Outcome:
    """Do what a plan says: read, protect, publish, verify, attack, measure, assess and report.

    Parameters
    ----------
    plan
        A `Plan`, or the path of a plan file.
    base
        Relative paths count from here: the folder of the plan file, or the current one, unless given.
    source
        Where the input lies now, when that is not where the plan says.
    overwrite
        Replace a release that is in the folder.
    anywhere
        Let a plan file write outside its own folder.
    secret
        That of private/secret.txt: it repeats a release to the bit. A new one is drawn unless it is given.
    allow
        The names of checks that may fail: otherwise a release whose verdict is FAILS or NOT DECIDED is not written.
    strict
        Treat warnings of the verdict like failures.
    allow_unverified
        The same as allow=["promise"].
    intruder
        What the intruder knows, in place of what the plan says.
    after, ids, regroup
        The folder of the release of the same persons that this one continues, and how, in place of what the plan says.
    engine
        "local", "dask", "spark", a Dask client or a Spark session, in place of the plan's: the work is then done in chunks. Without one the size of the data decides.
    scheduler, master
        The address of a running Dask scheduler or Spark master.

    Returns
    -------
    Outcome
        The release, its verdict and its figures, and the folder.

    Raises
    ------
    PlanError
        If the plan cannot be used; all problems at once.
    InputError, ParameterError
        If the data or the parameters of the method cannot be used.
    OutputError
        If the folder exists, or cannot be written.
    EngineError
        If an engine cannot be started, or its workers cannot do the work.
    RoomError
        If there is too little memory or disk, before anything is written.
    GuaranteeError
        If a check fails that is not allowed.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "food.csv").write_text("food,1,2,3,4,5\\nbread,1,2,3,4,5\\noil,2,3,4,5,6\\nbeer,7,7,7,7,8\\ntea,8,8,7,7,8\\n")
    >>> outcome = tv.run(Plan(input=Input(path="food.csv"), method={"name": "mdav", "k": 2}, output=Output(folder="out")), base=folder)
    >>> outcome.verdict.holds, (outcome.folder / "published" / "data.csv").exists()
    (True, True)
    """
    asked = {"engine": engine, "scheduler": scheduler, "master": master}
    continued = {"after": after, "ids": ids, "regroup": regroup}
    ready = _ready(plan, base, source, asked, overwrite=overwrite, anywhere=anywhere, continued=continued)
    plan, folder, chosen, data, where = ready.plan, ready.folder, ready.method, ready.data, ready.where
    ready.estimate().refuse_if_short()
    measures = plan.evaluate.options()
    if plan.intruder.other_period:
        place = ready.base / plan.intruder.other_period
        measures["other_period"] = plan.input.read_other_period(place)
    drawn = next((one for one in (secret, plan.secret) if one is not None), None)
    drawn = fresh_secret() if drawn is None else drawn
    seed = release_seed(plan.seed, drawn)
    with (
        complete_folder(folder, overwrite=overwrite, marker=MARKER) as partial,
        _make_release(chosen, data, seed, partial / "spool", plan.run.chunk, where, ready.past) as release,
    ):
        outcome = fill(
            release,
            partial,
            format=plan.output.format,
            allow=allow,
            strict=strict,
            allow_unverified=allow_unverified,
            limits=plan.limits,
            intruder=msgspec.structs.replace(plan.intruder, knows=intruder or plan.intruder.knows),
            formulas=plan.output.formulas,
            measures=measures,
            title=plan.output.title,
            context=plan.context,
            source=Path(plan.input.path).name,
            digest=data.origin.digest if data.origin else "",
            extra={
                "private/plan.toml": plan.to_toml() + "\n",
                **({"private/secret.txt": f"{drawn}\n"} if drawn else {}),
            },
            earlier=record.earlier(folder),
            after=ready.after,
            together_with=None if ready.after is None else earlier_releases(ready.after),
        )
    return replace(outcome, folder=folder)


def estimate(
    plan: Plan | str | Path,
    *,
    base: str | Path | None = None,
    source: Path | None = None,
    overwrite: bool = False,
    anywhere: bool = False,
    after: str | Path | None = None,
    ids: Ids | None = None,
    regroup: bool = False,
    engine: Any = None,
    scheduler: str | None = None,
    master: str | None = None,
) -> Estimate:
    """About what `run` with the same options would take: time, memory, and disk for the spool and the release. The input is read and nothing is written.

    What a run would refuse before the work is refused here, too. Whether there is as much room as it takes is another question: `Estimate.refuse_if_short`.

    Parameters
    ----------
    plan
        A `Plan`, or the path of a plan file.
    base
        Relative paths count from here: the folder of the plan file, or the current one, unless given.
    source
        Where the input lies now, when that is not where the plan says.
    overwrite
        Replace a release that is in the folder.
    anywhere
        Let a plan file write outside its own folder.
    after, ids, regroup
        The folder of the release of the same persons that this one continues, and how, in place of what the plan says.
    engine
        "local", "dask", "spark", a Dask client or a Spark session, in place of the plan's: the work is then done in chunks. Without one the size of the data decides.
    scheduler, master
        The address of a running Dask scheduler or Spark master.

    Returns
    -------
    Estimate
        The figures, and what there is.

    Raises
    ------
    PlanError
        If the plan cannot be used; all problems at once.
    InputError, ParameterError
        If the data or the parameters of the method cannot be used.
    OutputError
        If the folder exists, or cannot be written.
    EngineError
        If an engine cannot be started, or its workers cannot do the work.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "food.csv").write_text("food,1,2,3\\nbread,1,2,3\\noil,2,3,4\\nbeer,7,7,7\\ntea,8,8,7\\n")
    >>> plan = Plan(input=Input(path="food.csv"), method={"name": "mdav", "k": 2}, output=Output(folder="out"))
    >>> found = estimate(plan, base=folder)
    >>> found.records, found.columns, found.spool, (folder / "out").exists()
    (4, 3, 0, False)
    """
    asked = {"engine": engine, "scheduler": scheduler, "master": master}
    continued = {"after": after, "ids": ids, "regroup": regroup}
    ready = _ready(plan, base, source, asked, overwrite=overwrite, anywhere=anywhere, tidied=False, continued=continued)
    if ready.data.source is None:
        survey = survey_of(ready.data)
        ready.method.check_persons(survey)
        ready.method.check_gaps(survey)
        ready.method.check_all(survey)
    return ready.estimate()


@dataclass(frozen=True)
class _Ready:
    """Everything that a run begins with."""

    plan: Plan
    #: the folder that paths of the plan count from
    base: Path
    folder: Path
    method: Method
    data: Dataset
    #: engine, scheduler and master
    where: Mapping[str, Any]
    #: the folder of the release that this one continues, and what is known of it
    after: Path | None = None
    past: Past | None = None

    def estimate(self) -> Estimate:
        """What it will take."""
        return estimated(
            self.method,
            self.data,
            self.folder,
            form=self.plan.output.format,
            in_chunks=_in_chunks(self.data, self.plan.run.chunk, self.where),
            chunk=self.plan.run.chunk,
            engine=self.where["engine"],
            # An address, a client or a session: nobody here knows those machines.
            elsewhere=not isinstance(self.where["engine"], str | None)
            or self.where["scheduler"] is not None
            or self.where["master"] is not None,
            targets=self.plan.evaluate.targets,
        )


def _ready(
    plan: Plan | str | Path,
    base: str | Path | None,
    source: Path | None,
    asked: Mapping[str, Any],
    *,
    overwrite: bool,
    anywhere: bool,
    tidied: bool = True,
    continued: Mapping[str, Any] | None = None,
) -> _Ready:
    """Read the plan and the input; everything that can be refused before the work is refused here. An engine that is `asked` for takes the place of the plan's, and so does what is to be `continued`."""
    if not isinstance(plan, Plan):
        base, place = base or Path(plan).parent, plan
        plan = Plan.load(plan)
        if not anywhere:
            refuse_outside(place, Path(base), plan.output.folder)
    base = Path(base or ".")
    folder = base / plan.output.folder
    refuse_existing(folder, overwrite=overwrite, tidied=tidied)  # said before the work, not after it
    plan = _with_continued(plan, base, continued or {})
    after = None if plan.output.after is None else base / plan.output.after
    if after is not None and after.resolve() == folder.resolve():
        raise InputError(f"{folder} cannot continue itself\n  options: another folder for the new release")
    past = past_of(after, plan.output.ids, regroup=plan.output.regroup)
    settings = dict(plan.method)
    chosen = METHODS.make(settings.pop("name"), settings)
    where = {
        "engine": plan.run.engine if asked["engine"] is None else asked["engine"],
        "scheduler": asked["scheduler"] or plan.run.scheduler,
        "master": asked["master"] or plan.run.master,
    }
    place = (source or base / plan.input.path).absolute()
    with progress.step("Reading"):
        refuse_too_large(place, plan.run.memory, long=plan.input.layout == "long")
        named = with_absolute_paths(plan.input.categories, base.absolute())
        data = msgspec.structs.replace(plan.input, path=str(place), categories=named).read(
            Path(), plan.run.memory, chunks=where["engine"] is not None
        )
    if past is not None:
        own = Source.of(data) if data.source is None else data.source
        check(chosen, own, units_of(chosen, own), past)
    return _Ready(plan, base, folder, chosen, without_published(data, past), where, after, past)


def _with_continued(plan: Plan, base: Path, asked: Mapping[str, Any]) -> Plan:
    """The plan with what was asked for in place of its own words; a relative folder counts from the current one."""
    output = plan.output
    if asked.get("after") is not None:
        place = Path(os.path.relpath(Path(asked["after"]).absolute(), base.absolute())).as_posix()
        output = msgspec.structs.replace(output, after=place)
    if asked.get("ids") is not None:
        output = msgspec.structs.replace(output, ids=asked["ids"])
    if asked.get("regroup"):
        output = msgspec.structs.replace(output, regroup=True)
    return msgspec.structs.replace(plan, output=output)


def _in_chunks(data: Dataset, chunk: int | None, where: Mapping[str, Any]) -> bool:
    """Whether the work is done in chunks, as the size of the data and the engine ask for."""
    return data.source is not None or chunk is not None or any(value is not None for value in where.values())


@contextmanager
def _make_release(
    chosen: Method,
    data: Dataset,
    seed: int,
    spool: Path,
    chunk: int | None,
    where: Mapping[str, Any],
    past: Past | None,
) -> Iterator[Release]:
    """The release, in memory or in chunks."""
    if not _in_chunks(data, chunk, where):
        store, done = protect_in_memory(chosen, data, seed, past)
        yield chosen.make_release(data, store, seed, done, Here())
        return
    spool.mkdir(mode=0o700)  # it holds all original values
    folder = Folder(spool)
    with chosen_engine(**{**where, "engine": where["engine"] or "local"}) as running:
        done = protect_in_chunks(chosen, data, seed, folder, running, chunk, past)
        release = chosen.make_release(data, folder, seed, done, running)
        yield release
    rmtree(spool)


def demo_plan() -> tuple[pl.DataFrame, Plan]:
    """The bundled example as the raw table a user would have, to be written beside the plan as load_curves.csv, and a plan for it.

    Examples
    --------
    >>> frame, plan = demo_plan()
    >>> frame.shape, plan.input.path
    ((300, 338), 'load_curves.csv')
    """
    raw = example_frame("load-curves")
    first, last = raw.columns[1], raw.columns[-2]
    return raw, Plan(
        input=Input(path="load_curves.csv", blocks={"load": {"from": first, "to": last}}, confidential=["heating"]),
        method={"name": starting(), "k": 5},
        output=Output(folder="release", title="Demo: household load curves"),
        context=Context(
            purpose="to show what a release looks like",
            legal_basis="none is needed: the households are generated",
            controller="nobody; there are no people behind these data",
            recipients="anyone",
            method_reason="the curves of five households hide each other well and their mean keeps the daily pattern",
        ),
        limits=Limits(accepted_risk="1/5"),
    )
