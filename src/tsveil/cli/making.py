"""Commands that make a release: plan, run, protect, and the bundled example."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsveil.cli import arguments, terminal
from tsveil.core.errors import GuaranteeError, InputError
from tsveil.core.registry import METHODS
from tsveil.data.formats.written import WRITTEN

if TYPE_CHECKING:
    from tsveil.data.dataset import Block
    from tsveil.data.read import Look
    from tsveil.plan.plan import Plan


@click.command()
@click.option("--folder", type=arguments.PATH, default=Path("demo"), show_default=True, help="Where to put it.")
@arguments.quiet_option
@arguments.json_option
def demo(folder: Path, quiet: bool, as_json: bool) -> None:
    """Protect the bundled example."""
    from tsveil.data.write import write_text
    from tsveil.plan.run import demo_plan

    folder.mkdir(parents=True, exist_ok=True)
    raw, made = demo_plan()
    write_text(folder / made.input.path, raw.write_csv())
    write_text(folder / "plan.toml", made.to_toml(plan_comments(made)) + "\n")
    _run_and_show(made, quiet=quiet, as_json=as_json, base=folder, overwrite=True)
    if not as_json and not quiet:
        terminal.line(f"\nThe raw file and the plan are beside it: {folder}/{made.input.path}, {folder}/plan.toml")
        terminal.line(f"Next: tsveil inspect {folder}/{made.input.path}    or    tsveil plan YOUR_FILE.csv")


@click.command()
@arguments.quiet_option
@arguments.json_option
def warm(quiet: bool, as_json: bool) -> None:
    """Compile everything a run needs, once, ahead of time.

    Else a run compiles what it needs and keeps it. Do this when a container is built whose file system will be read-only, and set
    NUMBA_CACHE_DIR, now and then, to a folder that stays.
    """
    from tsveil.plan.warm import warm as compile_all

    with terminal.show_progress(not as_json and not quiet):
        found = compile_all()
    if not found.folders:
        raise InputError(
            "compiled code cannot be kept: none of the folders for it can be written to, so nothing was compiled\n"
            "  options: set NUMBA_CACHE_DIR to a folder that can be written to; without one tsveil works, but every start compiles anew"
        )
    if as_json:
        terminal.document({"kernels": found.kernels, "folders": found.folders})
    elif not quiet:
        terminal.line(f"{found.kernels} kernels are compiled and kept in {', '.join(found.folders)}")


def _plan_beside(file: Path) -> Path:
    """The plan of a file or folder, beside it and with its name; of a pattern of files beside their folder and with its name."""
    if re.search(r"[*?\[]", file.name):
        file = file.parent
    if file.name in ("", ".."):
        file = Path(os.path.abspath(file))
    if not file.name:
        raise InputError(f"{file} has no name that the plan could have\n  options: name the plan's file with -o")
    stem = file.name.split(".")[0] or file.name.lstrip(".")
    return file.with_name(f"{stem}.plan.toml")


@click.command()
@click.argument("file", type=arguments.FILE)
@click.option("-o", "--out", type=arguments.PATH, help="The plan's file; FILE with the ending .plan.toml by default.")
@arguments.method_option
@arguments.overwrite_option("an existing plan")
@arguments.reading_options
def plan(file: Path, out: Path | None, name: str, overwrite: bool, **options: Any) -> None:
    """Write a plan for FILE to start from.

    The plan has comments: change it, then run it with `tsveil run`.
    """
    from tsveil.assess.limits import Limits
    from tsveil.data.questions import ask
    from tsveil.data.read import look_at
    from tsveil.data.write import write_text
    from tsveil.plan.plan import Input, Output, Plan
    from tsveil.report.context import starting_section

    arguments.refuse_stdin(file, "a plan")
    given = arguments.reading(options)
    look = look_at(file, **given)
    ask(file.name, look.guess.questions)
    place = out or _plan_beside(file)
    arguments.check_new(place, overwrite=overwrite)
    chosen = METHODS.make(name)
    settings = chosen.settings()
    if "rounding" in settings:
        settings["rounding"] = "input"  # whole numbers stay whole; the promise is verified on the rounded file
    promise = chosen.guarantee(FileDescription(look))
    limits = Limits(accepted_risk=promise.bound if promise.intruder == "file" else None)
    made = Plan(
        input=Input(path=os.path.relpath(file, place.parent), **_from(place.parent, given | look.options())),
        method={"name": name, **{key: value for key, value in settings.items() if value is not None}},
        output=Output(folder=f"{place.name.split('.')[0]}-release"),
        limits=limits,
    )
    asked = "" if limits.accepted_risk else UNLIMITED.format(promise=promise.short)
    write_text(place, f"{made.to_toml(plan_comments(made))}\n\n{asked}{starting_section()}\n")
    terminal.line(f"{place} is written. Look at it, change what you like, then: tsveil run {shlex.quote(str(place))}")
    try:
        made.input.read(place.parent)
    except InputError as error:
        terminal.warning("The file has problems that a run would refuse; the plan can say what to do about them:")
        terminal.line(str(error))


def _from(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Options of reading with the files of hierarchies as a plan in a folder names them."""
    categories = {
        name: {**spec, "hierarchy": os.path.relpath(spec["hierarchy"], folder)} if "hierarchy" in spec else spec
        for name, spec in options.get("categories", {}).items()
    }
    return options | ({"categories": categories} if categories else {})


@click.command()
@click.argument("plan", type=arguments.PLAN)
@click.option(
    "--engine",
    type=click.Choice(["local", "dask", "spark"]),
    help="Work in chunks, on this machine or a cluster, whatever the size of the data; by default the size decides.",
)
@click.option("--scheduler", metavar="ADDRESS", help="--engine dask: a running scheduler; else a local one is started.")
@click.option("--master", metavar="URL", help="--engine spark: a running cluster; else a local one is started.")
@click.option("--anywhere", is_flag=True, help="Let the plan write outside its own folder.")
@click.option("--dry-run", is_flag=True, help="Say what it would take (time, memory, disk), and write nothing.")
@arguments.continuing_options
@arguments.writing_options
@arguments.quiet_option
@arguments.json_option
def run(plan: Path, dry_run: bool, quiet: bool, as_json: bool, **options: Any) -> None:
    """Run PLAN: protect, verify, attack, measure.

    The folder of the release gets published/, which may be passed on, and private/, which must not; each has a report.
    """
    from tsveil.plan.run import estimate

    if dry_run:
        names = ("engine", "scheduler", "master", "anywhere", "overwrite", "after", "ids", "regroup")
        asked = {name: options[name] for name in names}
        with terminal.show_progress(not as_json and not quiet):
            found = estimate(plan, **asked)
        if as_json or not quiet:
            terminal.show_estimate(found, as_json=as_json)
        return

    _run_and_show(plan, quiet=quiet, as_json=as_json, **options)


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("file", type=arguments.FILE)
@click.option("-o", "--out", required=True, type=arguments.PATH, help="The folder of the release.")
@arguments.method_option
@click.option("--format", "form", type=click.Choice(WRITTEN), help="Of the published data; the input's by default.")
@click.option("--seed", type=int, help="For tests only: a seed is a secret.")
@click.option("--block-size", type=click.IntRange(min=1), metavar="A", help="Regroup attributes into blocks of A.")
@click.option("--blocks-by", type=click.Choice(["correlated", "scattered"]), default="correlated", show_default=True)
@arguments.reading_options
@arguments.continuing_options
@arguments.writing_options
@arguments.quiet_option
@arguments.json_option
@click.pass_context
def protect(
    ctx: click.Context, /, file: Path, out: Path, name: str, form: Any, seed: int | None, block_size: int | None,
    blocks_by: Any, quiet: bool, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Protect FILE without writing a plan first.

    The method's own parameters are given as options, for example: tsveil protect meters.csv --out release --k 7 --distance sts
    """
    from tsveil.plan.plan import Input, Output, Plan

    made = Plan(
        input=Input(
            path=str(file.absolute()), block_size=block_size, blocks_by=blocks_by, **arguments.reading(options)
        ),
        method={"name": name, **arguments.method_parameters(ctx.args)},
        output=Output(folder=str(out.absolute()), format=form),
        seed=seed,
    )
    _run_and_show(made, quiet=quiet, as_json=as_json, **options)


def _run_and_show(plan: Plan | Path, *, quiet: bool, as_json: bool, **options: Any) -> None:
    """Run a plan and show what came of it, or nothing if it shall be quiet; a program that asked for JSON also gets the verdict by which a release was refused."""
    from tsveil.plan.run import run as run_plan

    try:
        with terminal.show_progress(not as_json and not quiet):
            outcome = run_plan(plan, **options)
    except GuaranteeError as error:
        if as_json:
            terminal.document({"folder": None, "error": str(error), "assessment": error.assessment})
        raise
    if as_json or not quiet:
        terminal.show_outcome(outcome, as_json=as_json)


@click.command()
@click.option("--sweep", is_flag=True, help="Of the plans of sweeps.")
def schema(sweep: bool) -> None:
    """Print the JSON schema of plans.

    For editors that complete and check plans while they are written, and for programs that write them.
    """
    from tsveil.plan.plan import Plan
    from tsveil.plan.schema import schema as schema_of
    from tsveil.plan.sweep import SweepPlan

    terminal.document(schema_of(SweepPlan if sweep else Plan))


#: what a plan says where the promise does not bound who is found
UNLIMITED = """# {promise} does not bound who is found. How many persons may be found at most? A share in percent, or a fraction such as "1/10".
# [limits]
# accepted_risk = 10

"""


class FileDescription:
    """A file that was looked at, as far as a promise depends on it."""

    def __init__(self, look: Look) -> None:
        self.n = look.rows
        from tsveil.data.read import columns_of

        labels = look.answers.get("categories", {})
        specs: Mapping[str, Any] = look.options().get("blocks", {}) or {name: [name] for name in look.guess.values}
        long = look.guess.layout == "long"
        blocks = [
            _block(
                name,
                sorted(columns_of({name: spec}, look.columns)),
                labels,
                in_time=long or (isinstance(spec, Mapping) and spec.get("kind") == "series"),
            )
            for name, spec in specs.items()
        ]
        named = {name for block in blocks for name in (block.name, *block.columns)}
        named |= {*look.guess.values, *(column for columns in look.guess.blocks.values() for column in columns)}
        beside = [name for name in labels if name not in named]
        self.blocks = (*blocks, *([_block("categories", beside, labels)] if beside else []))
        self.confidential, self.person = look.guess.confidential, look.guess.person


def _block(name: str, columns: Sequence[str], labels: Collection[str], *, in_time: bool = False) -> Block:
    """A block whose columns are known, and whether they hold labels; not yet which ones."""
    import numpy as np

    from tsveil.data.categories import Categories
    from tsveil.data.dataset import Block

    coded = bool(columns) and (name in labels or all(column in labels for column in columns))
    return Block(
        name,
        tuple(columns),
        times=np.arange(len(columns), dtype=np.float64) if in_time else None,
        categories=(Categories("nominal", ()),) * len(columns) if coded else None,
    )


def plan_comments(plan: Plan) -> dict[str, str]:
    """Remarks for a starting plan: what each part means and what else is possible."""
    chosen = METHODS[plan.method["name"]]
    remarks = {
        "input": "What is read. Paths count from this file. What is not given here is guessed: see `tsveil inspect`.\n"
        "Further options: layout, id, blocks, confidential, time, variable, value, separator, decimal,\n"
        'missing = "drop", "interpolate" or "mask", resample = points, split = parts.',
        "input.confidential": "Carried unchanged; columns with no role are left out of the release.",
        "input.categories": 'Labels: "nominal", "ordinal", ["low", "high"] in their order, or {hierarchy = "file.csv"}.',
        "input.blocks": "What is protected together: a range of columns, or a list.",
        "method": f"How it is protected: {chosen.summary}.\n`tsveil methods` lists the methods and their parameters.",
        "output": "published/ may be passed on, private/ must not. title = the name of the release.",
        "limits": "What is accepted: FAILS if it is exceeded. accepted_risk = the largest share of persons that the strongest attack may find.",
        "context": "What only you know, for the report; `tsveil plan` writes all the questions.",
    }
    remarks |= {f"method.{p.name}": f"{p.doc} ({p.words})" for p in chosen.parameters()}
    return remarks
