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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import IO, Any

import msgspec
import polars as pl

from tsveil.assess.limits import IN_WORDS
from tsveil.assess.summary import summed_up
from tsveil.core import progress
from tsveil.core.errors import InputError, TsveilError
from tsveil.core.params import Parameter
from tsveil.core.registry import METHODS
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.data.file_table import WANTED, Wanted
from tsveil.data.files import opened_table
from tsveil.data.gaps import is_about_gaps
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
from tsveil.web.columns import ORDINAL
from tsveil.web.continued import CONTINUED, plan_that_continues, roles_of_last
from tsveil.web.cures import gaps_in
from tsveil.web.forms import question_forms
from tsveil.web.method_step import describe
from tsveil.web.pictures import with_pictures
from tsveil.web.records import keep_records
from tsveil.web.studies import LOOK_VERSION, Limits

#: rows, and columns from the left and from the right, of the preview
ROWS, LEFT, RIGHT = 6, 25, 2
#: bytes of a file that is read again for each answer to the question of how it is read, and labels that somebody may put in order
READ_AGAIN, LABELS_SHOWN = 5_000_000, 100


#: seconds after which a small step is shown
A_WHILE = 1.0


class Telling:
    """Tells the server what is going on: at every step, and while a counter rises."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._lock = threading.Lock()
        #: thread -> text, total, counter and beginning of its steps that are not over; a sweep has threads of its own
        self._steps: dict[int, list[tuple[str, int, Indices, float]]] = {}
        self._own = threading.get_ident()
        self._last: dict[str, Any] = {}
        #: the progress of the sweep itself; of its many small steps only those that take a while are shown beside it
        self.sweep: dict[str, Any] | None = None
        threading.Thread(target=self._follow, daemon=True).start()

    def tell(self, **news: Any) -> None:
        """Send a line."""
        with self._lock:
            if news != self._last:
                self._last = news
                print(json.dumps(news), file=self._out, flush=True)

    def begin(self, text: str, total: int, counter: Indices) -> None:
        """A step begins."""
        self._steps.setdefault(threading.get_ident(), []).append((text, total, counter, monotonic()))
        if self.sweep is None:
            self._step()

    def end(self) -> None:
        """The latest step of this thread is over."""
        self._steps[threading.get_ident()].pop()

    def _step(self) -> None:
        sweep = self.sweep
        latest = [
            steps[-1] for thread, steps in list(self._steps.items()) if steps and (sweep is None or thread != self._own)
        ]
        if not latest:
            return
        text, total, counter, begun = latest[0]
        done = int(counter[0])
        if sweep is None:
            self.tell(text=text, done=done, total=total, seconds_left=None)
        elif monotonic() - begun >= A_WHILE:
            inside = f"{text}, {100 * done // total} %" if total else text
            self.tell(**sweep | {"text": f"{sweep['text']}: {inside}"})

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
        given["categories"] = _with_places(options.get("categories") or {}, task.get("beside", {}))
        seen = look_at(source, **given)
        check_columns(len(seen.columns), task["name"])
    found = _describe_look(seen, options, task)
    try:
        if not found["questions"]:
            with progress.step("Reading all values"):
                data = roles.read(Path())
            found |= _ready(data)
    except InputError as error:
        found["gaps"] = gaps_in(error.problems, str(error))
        others = [one for one in error.problems if not (found["gaps"] and is_about_gaps(one))]
        found["problems"] = [_with_own_names(one, task) for one in others]
        found["hints"] = [line.strip() for line in str(error).splitlines() if line.strip().startswith("options:")]
    _keep(place / "look.json", found)


def _input(task: dict[str, Any], options: dict[str, Any]) -> Input:
    """The roles, checked as those of a plan are; the paths are those of the files at hand."""
    categories = _with_places(options.get("categories") or {}, task.get("beside", {}))
    try:
        return msgspec.convert({"path": str(task["data"]), **options, "categories": categories}, Input)
    except msgspec.ValidationError as error:
        raise InputError(f"the roles cannot be used: {error}") from error


def _with_places(categories: dict[str, Any], beside: dict[str, str]) -> dict[str, Any]:
    """The labels with the places of the files of their hierarchies."""
    return {
        name: {**spec, "hierarchy": beside[spec["hierarchy"]]}
        if isinstance(spec, dict) and isinstance(spec.get("hierarchy"), str)
        else spec
        for name, spec in categories.items()
    }


def _with_own_names(text: str, task: dict[str, Any]) -> str:
    """A message with the names that a person gave to the files, in place of where they lie."""
    for name, path in {task["name"]: str(task["data"]), **task.get("beside", {})}.items():
        text = text.replace(path, name).replace(Path(path).name, name)
    return text


def _describe_look(seen: Look, options: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    columns = list(seen.columns)
    frame = seen.source.frame

    def read_again(own: Mapping[str, Any]) -> pl.DataFrame:
        wanted = {name: value for name, value in {**options, **own}.items() if name in WANTED}
        return opened_table(Path(task["data"]), Wanted(**wanted)).frame

    # Only small files are read again for the pictures of the answers.
    small = Path(task["data"]).stat().st_size <= READ_AGAIN
    questions = with_pictures(question_forms(seen.guess.questions), frame, read_again if small else None)
    ordinal = [name for name, spec in (options.get("categories") or {}).items() if spec == ORDINAL]
    shown = columns if len(columns) <= LEFT + RIGHT + 1 else [*columns[:LEFT], *columns[-RIGHT:]]
    first = seen.source.frame.head(ROWS)
    return {
        "version": LOOK_VERSION,
        "rows": seen.rows,
        "columns": columns,
        "shown": shown,
        "left_out": len(columns) - len(shown),
        "left": LEFT,
        "preview": [["" if cell is None else str(cell) for cell in row] for row in first.select(shown).iter_rows()],
        "layout": seen.guess.layout,
        # Labels as they were described, with the names of the files beside the data.
        "options": {
            **options,
            **seen.options(),
            **({"categories": given} if (given := options.get("categories")) else {}),
        },
        "reasons": list(seen.guess.reasons),
        "questions": questions,
        "labels": {name: _labels_in(frame[name]) for name in ordinal if name in frame.columns},
        "gaps": None,
        "problems": [],
        "hints": [],
        "ready": False,
    }


def _labels_in(column: pl.Series) -> list[str]:
    """The labels of a column, to be put in their order by somebody; none where there are very many of them."""
    different = column.drop_nulls().unique(maintain_order=True)
    return [str(label) for label in different] if len(different) <= LABELS_SHOWN else []


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
        "described": describe(data),
    }


def _method(name: str, data: Dataset) -> dict[str, Any]:
    """A method as the page offers it: two sentences, whether it fits, and the values worth trying."""
    kind = METHODS[name]
    found: dict[str, Any] = {"name": name, "summary": kind.summary, "reference": kind.reference, "problem": ""}
    grid = default_grid(name, data)[0]
    found["parameters"] = [_parameter(p, grid.get(p.name)) for p in kind.parameters()]
    found |= {"plain": kind.plain_name(), "starting": kind.starting}
    try:
        kinds = {block.kind for block in data.blocks}
        if not kinds <= kind.takes:
            raise InputError(f"it protects {' and '.join(sorted(kind.takes))}, not {' and '.join(sorted(kinds))}")
        survey = survey_of(data)
        kind().check_persons(survey)
        kind().check_gaps(survey)
        promise = _fitting(kind, grid.get("grouping", []), survey).guarantee(data)
        found["promises"] = promise.claims
    except InputError as error:
        found |= {"problem": error.problems[0], "promises": False}
    # A choice to start with that promises nothing is one to compare with.
    return found | {"recommended": kind.starting and found["promises"]}


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

    def on_progress(done: int, total: int, label: str, left: float | None) -> None:
        text = f"{label} is done" if label else "trying the methods"
        telling.sweep = {"text": text, "done": done, "total": total, "seconds_left": left}
        telling.tell(**telling.sweep)

    study = sweep(
        data,
        list(task["methods"]),
        task["methods"],
        folder=place / "sweep",
        seed=int(task["seed"]),
        on_progress=on_progress,
        listener=telling,
    )
    telling.sweep = None
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
    with _beside(partial, task.get("beside", {})):
        outcome = run(plan, base=partial, source=Path(task["data"]), allow=task.get("allow", ()))
    with progress.step("Drawing curves"):
        _keep(partial / "outcome.json", _outcome(outcome, key, label, loss))
    with progress.step("Keeping the records to look at"):
        keep_records(outcome, partial)
    _pack_files(outcome.folder / "published", partial / "release.zip")
    if (data := _data_of(outcome.folder)).is_dir():
        _pack_files(data, partial / f"{data.name}.zip")
    write_text(partial / "plan.toml", plan.to_toml(_remarks(task)) + "\n")
    partial.rename(final)


@contextlib.contextmanager
def _beside(folder: Path, files: dict[str, str]) -> Iterator[None]:
    """The files of hierarchies where a plan of this folder looks for them; like the data, they are not kept."""
    for name, path in files.items():
        shutil.copyfile(path, folder / name)
    try:
        yield
    finally:
        for name in files:
            (folder / name).unlink()


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
        "data": _data_of(outcome.folder).name + (".zip" if _data_of(outcome.folder).is_dir() else ""),
        "curves": _curves(outcome),
    }


def _data_of(release: Path) -> Path:
    """The protected data of a release: a file, or of many records a folder of several."""
    return next(path for path in (release / "published").iterdir() if path.stem == "data")


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
    files = [*([] if task["source"] == "file" else [task["path"]]), *task.get("beside", {})]
    beside = f"\nPut this file beside {' and '.join(files)}." if files else ""
    return {
        "secret": SECRET,
        "seed": f"Repeats a release made in the web app: tsveil run PLAN{beside}\n"
        "The seed is a secret: whoever has it can undo the order of rows and random methods. Keep this file private.",
        "output.formulas": "Texts that a spreadsheet would run as formulas get an apostrophe in front.",
    }


def _pack_files(folder: Path, target: Path) -> None:
    """The published files in one archive, without dates that tell when."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            about = zipfile.ZipInfo(path.relative_to(folder).as_posix())
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
        telling.tell(problem=_with_own_names(str(error), task))
    except Exception:
        traceback.print_exc(file=sys.stderr)
        telling.tell(problem="")


if __name__ == "__main__":
    main()
