"""Commands that help to choose a method and its parameters: sweep, recommend and nlk-study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsveil.cli import arguments, terminal
from tsveil.core.errors import InputError

if TYPE_CHECKING:
    from tsveil.assess.limits import Knows


@click.command()
@click.argument("plan", metavar="PLAN|FILE", type=arguments.PATH)
@click.option("-o", "--out", type=arguments.PATH, help="With FILE: the folder of the study.")
@click.option("--methods", default="all", show_default=True, metavar="NAME,NAME", help="With FILE: the methods to try.")
@click.option("--seed", type=int, help="With FILE, for tests only: a seed is a secret.")
@click.option("--anywhere", is_flag=True, help="With PLAN: let it write outside its own folder.")
@arguments.intruder_option
@arguments.reading_options
@arguments.quiet_option
@arguments.json_option
def sweep(
    plan: Path, out: Path | None, methods: str, seed: int | None, anywhere: bool, intruder: Knows | None, quiet: bool, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Try many methods and parameters.

    They are tried on FILE, or as PLAN (.toml) says; after a stop the same command continues. The folder gets the table (study.parquet), the risk-utility map with a recommendation (study.html), and the plan (sweep.toml).
    """
    import msgspec

    from tsveil.plan.plan import Input, refuse_outside
    from tsveil.plan.sweep import StudyFolder, SweepOptions, SweepPlan, run_sweep

    given = arguments.reading(options)
    if plan.suffix == ".toml":
        if given or out is not None or methods != "all" or seed is not None:
            raise InputError(f"{plan} is a plan: it says itself what is read, tried and written; leave the options out")
        made, base = SweepPlan.load(plan), plan.parent
        if not anywhere:
            refuse_outside(plan, base, made.output.folder)
    else:
        if out is None:
            raise InputError(f"say where the study of {plan} goes: --out FOLDER")
        names = "all" if methods == "all" else [name.strip() for name in methods.split(",")]
        made = SweepPlan(
            input=Input(path=str(plan), **given),
            sweep=SweepOptions(methods=names),
            output=StudyFolder(folder=str(out)),
            seed=seed,
        )
        base = Path()
    made.intruder = msgspec.structs.replace(made.intruder, knows=intruder or made.intruder.knows)
    folder = base / made.output.folder
    try:
        with terminal.show_progress(not as_json and not quiet):
            study = run_sweep(made, base=base)
    except KeyboardInterrupt:
        terminal.report_stop(f"what was finished is kept in {folder}: run the same command again to continue")
        sys.exit(130)
    front = study.pareto().select("label", "risk", "attack", "loss", "guarantee", "verdict").to_dicts()
    failed = study.table.filter(study.table["problem"].is_not_null()).select("label", "problem").to_dicts()
    if as_json:
        found = {"folder": str(folder), "configurations": len(study.table), "intruder": study.intruder.knows}
        terminal.document(found | {"front": front, "failed": failed})
    elif not quiet:
        terminal.show_study(study, folder, front, failed)


@click.command()
@click.argument("folder", type=arguments.PATH)
@click.option("--max-risk", type=float, metavar="PERCENT", help="The least loss with at most this risk.")
@click.option("--max-loss", type=float, metavar="PERCENT", help="The least risk with at most this loss.")
@click.option("--verified", is_flag=True, help="Only what has a promise that was verified.")
@arguments.intruder_option
@click.option("--plan", "out", type=arguments.PATH, metavar="FILE", help="Write the plan of the winner.")
@arguments.overwrite_option("an existing plan")
@arguments.json_option
def recommend(
    folder: Path, max_risk: float | None, max_loss: float | None, verified: bool, intruder: Knows | None, out: Path | None,
    overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Recommend what to publish after a sweep.

    FOLDER is what `tsveil sweep` wrote. The risk is that of the verdict, for the intruder of the sweep or another one. The exit code is 1 if nothing fits.
    """
    from tsveil.data.write import write_text
    from tsveil.plan.sweep import winners_plan
    from tsveil.study.study import Study

    study = Study.load(folder).against(intruder)
    found = study.recommend(max_risk=max_risk, max_loss=max_loss, verified=verified)
    written = out if found.best is not None else None
    if written is not None:
        arguments.check_new(written, overwrite=overwrite)
        write_text(written, winners_plan(folder, found, written))
    if as_json:
        parts = {
            "best": found.best,
            "runner_up": found.runner_up,
            "nearest": found.nearest,
            "reason": found.reason,
            "notes": list(found.notes),
        }
        terminal.document(parts)
    else:
        terminal.show_recommendation(study, found)
        if written is not None:
            terminal.line(f"{written} is written. Next: tsveil run {written}")
    sys.exit(0 if found.best is not None else 1)


@click.command("nlk-study")
@click.argument("file", required=False, type=arguments.FILE)
@click.option(
    "--synthetic", type=click.Choice(["random", "sine"]), help="Instead of FILE: the paper's generated series."
)
@click.option(
    "-o", "--out", required=True, type=arguments.PATH, help="The page to write; a .csv file is written beside it."
)
@click.option("--pairs", default="7,8 7,10 10,12 10,20", show_default=True, help="Values of n,l with blanks between.")
@click.option("--ks", default="4,8,12,16,20", show_default=True, help="Values of k.")
@click.option("--heuristics", default="mil,mth,gpe,peel", show_default=True)
@arguments.overwrite_option("an earlier study")
@arguments.reading_options
def nlk_study(
    file: Path | None, synthetic: str | None, out: Path, pairs: str, ks: str, heuristics: str, overwrite: bool, **options: Any
) -> None:  # fmt: skip
    """Show what (n,l,k)-anonymity would cost.

    A page of charts for FILE: loss, shift and identification over many parameters.
    """
    from tsveil.data import synthetic as generated
    from tsveil.data.read import read
    from tsveil.data.write import write_text
    from tsveil.protect.nlk import HEURISTICS
    from tsveil.protect.nlk import nlk_study as study
    from tsveil.report.nlk import nlk_study_page

    if (file is None) == (synthetic is None):
        raise InputError("say what to study: a FILE, or --synthetic random or sine")
    names = heuristics.split(",")
    if wrong := [name for name in names if name not in HEURISTICS]:
        raise InputError(f"--heuristics must be among {', '.join(HEURISTICS)}. Got {wrong[0]!r}.")
    arguments.check_page(out, overwrite, ".html", ".htm")
    table = out.with_suffix(".csv")
    arguments.check_new(table, overwrite=overwrite)
    settings: Any = [arguments.whole_numbers("--pairs", pair, "7,10") for pair in pairs.split()]
    counts = arguments.whole_numbers("--ks", ks, "4,10,20", any_count=True)
    chosen = arguments.reading(options)
    if file is None:
        data = generated.sine_series() if synthetic == "sine" else generated.random_series()
    else:
        data = read(file, **chosen)
    with terminal.show_progress(True):
        result = study(data, pairs=settings, ks=counts, heuristics=names)
    source = file.name if file else f"{synthetic} series"
    write_text(out, nlk_study_page(result, data, source=source))
    write_text(table, result.write_csv())
    terminal.line(f"{len(result)} tables made and verified. Charts {out}, figures {table}")
