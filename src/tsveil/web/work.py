"""What runs in the process of a job: reading, looking, measuring, sweeping and releasing; `python -m tsveil.web.work` is such a process.

It gets one line of JSON, the task, and tells what it is doing in lines of JSON. What it finds it writes into the study's folder,
each file complete or not at all. It never sees a request: what a person typed was checked by the server and is checked here again by
the same functions that the command line uses.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import threading
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import msgspec

from tsveil.assess.limits import IN_WORDS
from tsveil.assess.summary import summed_up
from tsveil.core import progress
from tsveil.core.errors import InputError, TsveilError
from tsveil.core.params import Parameter
from tsveil.core.registry import METHODS
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.data.read import Look, look_at
from tsveil.data.store import Memory
from tsveil.data.write import write_text
from tsveil.measure.uniqueness import singled_out
from tsveil.plan.plan import Input, Output, Plan
from tsveil.plan.run import demo_plan, run
from tsveil.plan.sweep import SECRET, StudyFolder, SweepOptions, SweepPlan, plan_of
from tsveil.protect.base import Method, linking_warnings
from tsveil.protect.survey import Survey
from tsveil.protect.work import survey_of
from tsveil.release.publish import Outcome
from tsveil.report.context import Context
from tsveil.report.counts import CARRIED, Counts
from tsveil.report.overview import ladder_rows
from tsveil.report.utility import printed_card
from tsveil.study import store
from tsveil.study.grids import Configuration, default_grid
from tsveil.study.study import Study
from tsveil.study.sweep import sweep
from tsveil.web.advice import advise, described_rows
from tsveil.web.bounds import check_columns, check_unpacked_size
from tsveil.web.continued import CONTINUED, plan_that_continues, roles_of_last
from tsveil.web.forms import question_forms
from tsveil.web.records import keep_records
from tsveil.web.studies import Limits

#: rows, and columns from the left and from the right, of the preview
ROWS, LEFT, RIGHT = 6, 7, 2


class Telling:
    """Tells the server what is going on: at every step, and while a counter rises."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._steps: list[tuple[str, int, Indices]] = []
        self._last: dict[str, Any] = {}
        #: a sweep tells of its own progress, and its many small steps are not worth a word
        self.quiet = False
        threading.Thread(target=self._follow, daemon=True).start()

    def tell(self, **news: Any) -> None:
        """Send a line."""
        with self._lock:
            if news != self._last:
                self._last = news
                print(json.dumps(news), file=self._out, flush=True)

    def begin(self, text: str, total: int, counter: Indices) -> None:
        """A step begins."""
        self._steps.append((text, total, counter))
        self._step()

    def end(self) -> None:
        """The latest step is over."""
        self._steps.pop()

    def _step(self) -> None:
        steps = self._steps[-1:]
        if steps and not self.quiet:
            text, total, counter = steps[0]
            self.tell(text=text, done=int(counter[0]), total=total, seconds_left=None)

    def _follow(self) -> None:
        while not threading.Event().wait(0.3):
            self._step()


def look(task: dict[str, Any], place: Path, telling: Telling) -> None:
    """See what is in the file, which roles fit, and what is wrong with it."""
    source, options = Path(task["data"]), dict(task["input"])
    if task["source"] == "demo" and not source.exists():
        frame, plan = demo_plan()
        write_text(source, frame.write_csv())
        options = msgspec.to_builtins(plan.input)
        options.pop("path")
    with progress.step("Looking at the file"):
        if task["source"] == "upload":
            check_unpacked_size(source, int(task["largest"]))
        if task.get("after") and not options:
            options = roles_of_last(Path(task["after"]), source)
        roles = _input(task, options)
        given = {name: value for name, value in options.items() if name not in ("block_size", "blocks_by")}
        seen = look_at(source, **given)
        check_columns(len(seen.columns), task["name"])
    found = _describe_look(seen, options)
    try:
        if not found["questions"]:
            with progress.step("Reading all values"):
                data = roles.read(Path())
            found |= _ready(data)
    except InputError as error:
        found["problems"] = [problem.replace(source.name, task["name"]) for problem in error.problems]
        found["hints"] = [line.strip() for line in str(error).splitlines() if line.strip().startswith("options:")]
    _keep(place / "look.json", found)


def _input(task: dict[str, Any], options: dict[str, Any]) -> Input:
    """The roles, checked as those of a plan are; the path is that of the data at hand."""
    try:
        return msgspec.convert({"path": str(task["data"]), **options}, Input)
    except msgspec.ValidationError as error:
        raise InputError(f"the roles cannot be used: {error}") from error


def _describe_look(seen: Look, options: dict[str, Any]) -> dict[str, Any]:
    columns = list(seen.columns)
    shown = columns if len(columns) <= LEFT + RIGHT + 1 else [*columns[:LEFT], *columns[-RIGHT:]]
    first = seen.source.frame.head(ROWS)
    return {
        "rows": seen.rows,
        "columns": columns,
        "shown": shown,
        "left_out": len(columns) - len(shown),
        "preview": [["" if cell is None else str(cell) for cell in row] for row in first.select(shown).iter_rows()],
        "layout": seen.guess.layout,
        "options": {**options, **seen.options()},
        "reasons": list(seen.guess.reasons),
        "questions": question_forms(seen.guess.questions),
        "problems": [],
        "hints": [],
        "ready": False,
    }


def _ready(data: Dataset) -> dict[str, Any]:
    return {
        "ready": True,
        "summary": repr(data).removeprefix("Dataset: "),
        "persons": int(data.persons.max()) + 1 if data.person else 0,
        "notes": list(data.notes),
        "records": data.n,
        "dropped": list(data.dropped),
        "blocks": [
            {
                "name": block.name,
                "kind": "time series" if block.is_series else block.kind,
                "length": len(block),
                "first": block.columns[0],
                "last": block.columns[-1],
            }
            for block in data.blocks
        ],
        "methods": [_method(name, data) for name in METHODS],
    }


def _method(name: str, data: Dataset) -> dict[str, Any]:
    """A method as the page offers it: two sentences, whether it fits, and the values worth trying."""
    kind = METHODS[name]
    found: dict[str, Any] = {"name": name, "summary": kind.summary, "reference": kind.reference, "problem": ""}
    found["example"] = str(kind())
    grid = default_grid(name, data)[0]
    found["parameters"] = [_parameter(p, grid.get(p.name)) for p in kind.parameters()]
    found["recommended"] = kind.starting
    try:
        kinds = {block.kind for block in data.blocks}
        if not kinds <= kind.takes:
            raise InputError(f"it protects {' and '.join(sorted(kind.takes))}, not {' and '.join(sorted(kinds))}")
        survey = survey_of(data)
        kind().check_persons(survey)
        kind().check_gaps(survey)
        promise = _fitting(kind, grid.get("grouping", []), survey).guarantee(data)
        found["promises"] = promise.claims
        found["guarantee"] = promise.words
    except InputError as error:
        found |= {"problem": error.problems[0], "promises": False, "guarantee": ""}
    return found


def _fitting(kind: type[Method], groupings: list[str], survey: Survey) -> Method:
    """The method as it is by default, or grouped in another way that is tried if only that fits the data."""
    made = kind()
    try:
        made.check_all(survey)
    except InputError:
        for grouping in groupings:
            other = kind.from_settings({"grouping": grouping})
            with contextlib.suppress(InputError):
                other.check_all(survey)
                return other
        raise
    return made


def _parameter(parameter: Parameter, values: list[Any] | None) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "doc": parameter.doc,
        "words": parameter.words,
        "kind": parameter.kind.__name__,
        "choices": list(parameter.choices) or (["false", "true"] if parameter.kind is bool else []),
        "default": parameter.default,
        "tried": values if values is not None else [parameter.default],
        "main": values is not None,
        # Infinite bounds are none: JSON has no such number.
        **{
            name: bound if bound is not None and math.isfinite(bound) else None
            for name, bound in (("low", parameter.low), ("high", parameter.high))
        },
        "open_low": parameter.open_low,
    }


def risk(task: dict[str, Any], place: Path, telling: Telling) -> None:
    """What an intruder finds in the data as they are."""
    data = _read(task)
    with progress.step("Counting who stands alone"):
        exact, rough = singled_out(data), singled_out(data, coarse=0.5)
    _keep(
        place / "risk.json",
        {
            "records": data.n,
            "columns": int(data.values.shape[1]),
            "series": bool(data.series),
            "known": [{"count": count, "exact": exact[count], "rough": rough[count]} for count in exact],
            "warnings": linking_warnings(survey_of(data)),
        },
    )


def try_methods(task: dict[str, Any], place: Path, telling: Telling) -> None:
    """Try the chosen methods, and make the release that is recommended."""
    data = _read(task)
    telling.quiet = True

    def on_progress(done: int, total: int, label: str, left: float | None) -> None:
        text = f"{label} is done" if label else "trying the methods"
        telling.tell(text=text, done=done, total=total, seconds_left=left)

    study = sweep(
        data,
        list(task["methods"]),
        task["methods"],
        folder=place / "sweep",
        seed=int(task["seed"]),
        on_progress=on_progress,
    )
    telling.quiet = False
    _conclude(task, place, study)


def conclude(task: dict[str, Any], place: Path, telling: Telling) -> None:
    """Choose among what is finished: after a run was stopped, and when only the limits changed."""
    with progress.step("Choosing within your limits"):
        folder = place / "sweep"
        about = store.about_in(folder)
        rows = store.read_results(folder)
        if about is None or not rows:
            raise InputError("nothing was finished yet\n  options: try the methods again")
        # The table of an earlier run does not have what a stopped one finished.
        study = Study.of(rows.values(), about)
        store.write_parquet(folder, study.table)
    _conclude(task, place, study)


def _conclude(task: dict[str, Any], place: Path, study: Study) -> None:
    """What the page compares, the plan that repeats it, and the release that is recommended."""
    compared = SweepPlan(
        input=msgspec.convert({"path": task["path"], **task["input"]}, Input),
        sweep=SweepOptions(methods=list(task["methods"]), grid=task["methods"]),
        output=StudyFolder(folder="study", title=task["title"]),
        seed=int(task["seed"]),
    )
    write_text(place / "sweep.toml", compared.to_toml() + "\n")
    found = describe_study(study, msgspec.convert(task["limits"], Limits))
    _keep(place / "result.json", found)
    if found["best"]:
        _make_release(task, place, study, found["best"])


def describe_study(study: Study, limits: Limits) -> dict[str, Any]:
    """A study as the page shows it."""
    return {
        "rows": described_rows(study, limits),
        "definitions": list(study.definitions),
        "complete": study.complete,
        "asked": int(study.about["asked"]),
        "limits": msgspec.to_builtins(limits),
        "map": study.map_html(),
        **advise(study, limits),
    }


def make_release(task: dict[str, Any], place: Path, telling: Telling) -> None:
    """Make the release of one configuration."""
    _make_release(task, place, Study.load(place / "sweep"), task["key"])


def _make_release(task: dict[str, Any], place: Path, study: Study, key: str) -> None:
    """A release with its reports, its curves and its plan, all or nothing."""
    row = next(row for row in study.table.to_dicts() if row["key"] == key)
    # The seed and the limit of the sweep: the release has the figures that were looked at.
    plan = plan_of(
        study,
        row,
        task["limits"]["max_risk"],
        input=msgspec.convert({"path": task["path"], **task["input"]}, Input),
        output=Output(folder="release", title=task["title"], formulas="neutralise"),
    )
    plan = msgspec.structs.replace(plan, context=Context(**task.get("context", {})))
    _run(task, plan, key, row["label"], row["loss"])


def continue_release(task: dict[str, Any], place: Path, telling: Telling) -> None:
    """Make the release that continues an earlier one."""
    plan = plan_that_continues(task)
    settings = dict(plan.method)
    label = Configuration(name := settings.pop("name"), METHODS[name].with_defaults(settings)).label
    _run(task, plan, CONTINUED, label)


def _run(task: dict[str, Any], plan: Plan, key: str, label: str, loss: float | None = None) -> None:
    """Run a plan, and keep what the pages show of its release; a study knows the loss of its configurations."""
    final = Path(task["place"]) / "releases" / key
    if (final / "outcome.json").is_file():
        return
    partial = final.with_name(f".{key}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(final, ignore_errors=True)
    partial.mkdir(parents=True)
    outcome = run(plan, base=partial, source=Path(task["data"]), allow=task.get("allow", ()))
    with progress.step("Drawing curves"):
        _keep(partial / "outcome.json", _outcome(outcome, key, label, loss))
    with progress.step("Keeping the records to look at"):
        keep_records(outcome, partial)
    _pack_files(outcome.folder / "published", partial / "release.zip")
    write_text(partial / "plan.toml", plan.to_toml(_remarks(task)) + "\n")
    partial.rename(final)


def _outcome(outcome: Outcome, key: str, label: str, loss: float | None) -> dict[str, Any]:
    release, assessment = outcome.release, outcome.assessment
    assert assessment is not None
    return {
        "key": key,
        "label": label,
        "risk": assessment.risk.rate,
        "attack": assessment.risk.attack,
        "knows": IN_WORDS[assessment.intruder.knows],
        "guess": assessment.risk.guess,
        "loss": summed_up(release, outcome.card, assessment, {}).loss if loss is None else loss,
        "verdict": str(outcome.verdict.status),
        "judged": assessment.verdict.value,
        "headline": assessment.headline,
        "checks": [[check.name, check.status.words, check.message] for check in assessment.checks],
        "ladder": ladder_rows(assessment.ladder),
        "alone": _left_alone(outcome.counts),
        "records": assessment.records,
        "allowed": list(assessment.allowed),
        "guarantee": release.guarantee.words,
        "limits": release.guarantee.limits,
        "short": release.guarantee.short,
        "warnings": list(release.warnings),
        "scores": outcome.card.to_dict(),
        "card": printed_card(outcome.card, envelopes=release.envelopes),
        "data": next(path.name for path in (outcome.folder / "published").iterdir() if path.stem == "data"),
        "curves": _curves(outcome),
    }


def _left_alone(counts: Counts | None) -> int:
    """The records that stand alone because of the carried columns; 0 where these add none."""
    if counts is None or counts.crowds[-1].where != CARRIED:
        return 0
    everything = counts.crowds[-1].alone
    return everything if everything > counts.protected_crowd.alone else 0


def _curves(outcome: Outcome) -> list[dict[str, str]]:
    """A few records before and after, as the private report draws them; of data that were worked on in chunks nothing is held any more, and the report has them."""
    from tsveil.report.curves import pictures

    if not isinstance(outcome.release.store, Memory):
        return []
    return [asdict(figure) for figure in pictures(outcome.release.in_published_order(), public=False)]


def _remarks(task: dict[str, Any]) -> dict[str, str]:
    beside = "" if task["source"] == "file" else f"\nPut this file beside {task['path']}."
    return {
        "secret": SECRET,
        "seed": f"Repeats a release made in the web app: tsveil run PLAN{beside}\n"
        "The seed is a secret: whoever has it can undo the order of rows and random methods. Keep this file private.",
        "output.formulas": "Texts that a spreadsheet would run as formulas get an apostrophe in front.",
    }


def _pack_files(folder: Path, target: Path) -> None:
    """The published files in one archive, without dates that tell when."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            about = zipfile.ZipInfo(path.name)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            with path.open("rb") as inside, archive.open(about, "w") as outside:
                shutil.copyfileobj(inside, outside)


def _read(task: dict[str, Any]) -> Dataset:
    with progress.step("Reading"):
        return _input(task, task["input"]).read(Path())


def _keep(path: Path, found: dict[str, Any]) -> None:
    write_text(path, json.dumps(found))


KINDS: dict[str, Callable[[dict[str, Any], Path, Telling], None]] = {
    "look": look,
    "risk": risk,
    "sweep": try_methods,
    "conclude": conclude,
    "release": make_release,
    "continue": continue_release,
}


def _end_with_the_server() -> None:
    """When the server is gone, its end of the pipe closes: then nobody wants this work any more."""
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    os._exit(1)


def main() -> None:
    """Do one task."""
    os.umask(0o077)
    # What a library prints must not come between the lines for the server.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Bytes from the descriptor, not through sys.stdin: its buffer would be locked by the watching thread at the end.
    text = b""
    while not text.endswith(b"\n"):
        more = os.read(0, 65536)
        if not more:
            return
        text += more
    task: dict[str, Any] = json.loads(text)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    telling = Telling(lines)
    try:
        with progress.listening(telling):
            KINDS[task["kind"]](task, Path(task["place"]), telling)
        telling.tell(finished=True)
    except TsveilError as error:
        telling.tell(
            problem=str(error).replace(str(task["data"]), task["name"]).replace(Path(task["data"]).name, task["name"])
        )
    except Exception:
        traceback.print_exc(file=sys.stderr)
        telling.tell(problem="")


if __name__ == "__main__":
    main()
