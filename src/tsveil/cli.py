"""The command line: a door to the same line as the Python API.

Nothing heavy is imported at the top, so that `--help` answers at once. Every command builds what it needs from the public
functions and prints a summary; `--json` prints one JSON document instead. Exit codes: 0 good, 1 a guarantee is not met, 2 bad
input.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tsveil import __version__

if TYPE_CHECKING:
    from tsveil.guarantee.base import Verdict
    from tsveil.measure.kp import IntervalCard
    from tsveil.measure.scorecard import Scorecard
    from tsveil.plan import Outcome

F = TypeVar("F", bound=Callable[..., Any])


class Commands(click.Group):
    """Turns tsveil's own errors into a message and an exit code, and lists commands in the order of work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of work, not of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from tsveil.errors import GuaranteeError, TsveilError

        try:
            return super().invoke(ctx)
        except TsveilError as error:
            click.secho("error: ", fg="red", bold=True, nl=False, err=True)
            click.echo(as_typed(str(error), self.get_command(ctx, ctx.invoked_subcommand or "")), err=True)
            ctx.exit(1 if isinstance(error, GuaranteeError) else 2)
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "new thread" not in str(error):
                raise
            click.secho("error: ", fg="red", bold=True, nl=False, err=True)
            click.echo(
                f"there is not enough memory for this{f' ({error})' if str(error) else ''}; nothing was written\n"
                "  options: a larger machine or memory limit, fewer records or columns",
                err=True,
            )
            ctx.exit(2)
        except KeyboardInterrupt:
            click.echo("stopped; nothing was written", err=True)
            ctx.exit(130)


def as_typed(message: str, command: click.Command | None) -> str:
    """A message whose hints name options as this command takes them: `missing='drop'` is `--missing drop` here, and stays in plans.

    Examples
    --------
    >>> as_typed("2 problems\\n  options: missing='drop', resample=m", main.commands["inspect"])
    '2 problems\\n  options: --missing drop, --resample M'
    """
    names = {option.name for option in command.params} if command else set()
    any_name = bool(command and command.context_settings.get("allow_extra_args"))  # the parameters of a method

    def typed(found: re.Match[str]) -> str:
        name, text, letter = found.groups()
        return f"--{name} {text or letter.upper()}" if any_name or name in names else found[0]

    lines = message.split("\n")
    hints = [re.sub(r"\b(\w+)=(?:'([^']+)'|([a-z])\b)", typed, line) for line in lines]
    return "\n".join(hint if "options: " in line else line for line, hint in zip(lines, hints, strict=True))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tsveil")
def main() -> None:
    """Protect time series before they are published, attack the result, and measure it.

    Start with `tsveil demo`, or with your own file: `tsveil inspect FILE`, `tsveil plan FILE`, `tsveil run PLAN`.
    """


# -- options that several commands share -----------------------------------------------------------------------------------


def reading_options(command: F) -> F:
    """How a file is read; what is not given is guessed."""
    options = [
        click.option(
            "--layout", type=click.Choice(["wide", "long"]), help="A row per record, or a row per record and time."
        ),
        click.option("--id", metavar="COLUMN", help="The identifier; it is replaced by a random one."),
        click.option(
            "--block", "blocks", multiple=True, metavar="NAME=FIRST..LAST|COL,COL", help="Columns protected together."
        ),
        click.option(
            "--confidential", multiple=True, metavar="COLUMN", help="Carried unchanged; may be given several times."
        ),
        click.option("--time", metavar="COLUMN", help="Long layout: the time."),
        click.option("--variable", metavar="COLUMN", help="Long layout: which series a row belongs to."),
        click.option(
            "--value", multiple=True, metavar="COLUMN", help="Long layout: the value, or one column per series."
        ),
        click.option("--separator", metavar="CHAR", help="Between the cells of a CSV file."),
        click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark of a CSV file."),
        click.option("--missing", type=click.Choice(["refuse", "drop", "interpolate"]), help="What to do with gaps."),
        click.option("--resample", type=click.IntRange(min=2), metavar="M", help="Bring all series to M points."),
        click.option("--split", type=click.IntRange(min=2), metavar="I", help="Cut each series into I shorter ones."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


READING = (
    "layout",
    "id",
    "blocks",
    "confidential",
    "time",
    "variable",
    "value",
    "separator",
    "decimal",
    "missing",
    "resample",
    "split",
)


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """The reading options that were given, as `tsveil.read` and the plan's input take them; they are taken out of `options`."""
    given = {name: options.pop(name) for name in READING}
    given["blocks"] = dict(map(_block, given["blocks"]))
    given["confidential"] = [name for text in given["confidential"] for name in text.split(",")]
    given["value"] = list(given["value"]) if len(given["value"]) > 1 else (given["value"] or (None,))[0]
    return {name: value for name, value in given.items() if value}


def _block(text: str) -> tuple[str, Any]:
    from tsveil.errors import InputError

    name, equals, columns = text.partition("=")
    if not equals or not name or not columns:
        raise InputError(f"--block {text!r} must look like NAME=FIRST..LAST or NAME=COLUMN,COLUMN")
    first, dots, last = columns.partition("..")
    return name, ({"from": first, "to": last} if dots else columns.split(","))


def json_option(command: F) -> F:
    """Machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def writing_options(command: F) -> F:
    """What may happen to files."""
    command = click.option(
        "--allow-unverified", is_flag=True, help="Write the release even if its guarantee does not hold."
    )(command)
    return click.option("--overwrite", is_flag=True, help="Replace an earlier release in that folder.")(command)


# -- the commands, in the order of work ------------------------------------------------------------------------------------


@main.command()
@click.option(
    "--folder", type=click.Path(path_type=Path), default=Path("demo"), show_default=True, help="Where to put it."
)
@json_option
def demo(folder: Path, as_json: bool) -> None:
    """Protect the bundled example from raw file to report."""
    from tsveil.data.write import write_text
    from tsveil.plan import demo_plan, run

    folder.mkdir(parents=True, exist_ok=True)
    raw, plan = demo_plan()
    write_text(folder / plan.input.path, raw.write_csv())
    write_text(folder / "plan.toml", plan.to_toml(plan_comments(plan)) + "\n")
    with shown_progress(not as_json):
        outcome = run(plan, base=folder, overwrite=True)
    show_outcome(outcome, as_json)
    if not as_json:
        click.echo(f"\nThe raw file and the plan are beside it: {folder}/load_curves.csv, {folder}/plan.toml")
        click.echo(f"Next: tsveil inspect {folder}/load_curves.csv    or    tsveil plan YOUR_FILE.csv")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@json_option
def inspect(file: Path, as_json: bool, **options: Any) -> None:
    """Say what is in FILE, which roles are guessed, and what is wrong with it."""
    from tsveil.data.read import looked_at
    from tsveil.errors import InputError

    given = reading(options)
    look = looked_at(file, **given)
    problem, data = "", None
    try:
        from tsveil.data.read import read

        data = read(file, **given)
    except InputError as error:
        problem = as_typed(str(error), main.commands["inspect"])
    if as_json:
        click.echo(json.dumps({**look.to_dict(), "problems": problem, "data": repr(data) if data else None}, indent=2))
    else:
        click.echo(f"{file}: {look.rows} rows, {len(look.columns)} columns, {look.guess.layout} layout")
        for reason in look.guess.reasons:
            click.echo(f"  {reason}")
        if data is not None:
            click.secho(f"\nReady: {data!r}", fg="green")
            for note in data.notes:
                click.echo(f"  note: {note}")
            click.echo(f"Next: tsveil plan {file}")
        else:
            click.secho("\nNot ready:", fg="red", bold=True)
            click.echo(problem)
    if data is None:
        sys.exit(2)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The plan's file; FILE with the ending .plan.toml by default."
)
@click.option("--method", "name", default="mdav", show_default=True, help="See `tsveil methods`.")
@click.option("--overwrite", is_flag=True, help="Replace an existing plan.")
@reading_options
def plan(file: Path, out: Path | None, name: str, overwrite: bool, **options: Any) -> None:
    """Write a starting plan for FILE, with comments, to be changed and run."""
    from tsveil.data.read import looked_at
    from tsveil.data.write import write_text
    from tsveil.errors import InputError, OutputError
    from tsveil.plan import Input, Output, Plan
    from tsveil.registry import method, recommended
    from tsveil.report.context import starting_section

    given = reading(options)
    look = looked_at(file, **given)
    place = out or file.with_name(file.name.split(".")[0] + ".plan.toml")
    if place.exists() and not overwrite:
        raise OutputError(f"{place} exists already\n  options: another file (--out), or --overwrite")
    settings = method(name, recommended(name)).settings()
    made = Plan(
        input=Input(path=os.path.relpath(file, place.parent), **(given | look.options())),
        method={"name": name, **{key: value for key, value in settings.items() if value is not None}},
        output=Output(folder=f"{place.name.split('.')[0]}-release"),
    )
    write_text(place, f"{made.to_toml(plan_comments(made))}\n\n{starting_section()}\n")
    click.echo(f"{place} is written. Look at it, change what you like, then: tsveil run {place}")
    try:
        made.input.read(place.parent)
    except InputError as error:
        click.secho(
            "The file has problems that a run would refuse; the plan can say what to do about them:", fg="yellow"
        )
        click.echo(str(error))


@main.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    type=click.Choice(["local", "dask", "spark"]),
    help="Work in chunks, on this machine or a cluster, whatever the size of the data; without it the size decides.",
)
@click.option("--scheduler", metavar="ADDRESS", help="--engine dask: a running scheduler; else a local one is started.")
@click.option("--master", metavar="URL", help="--engine spark: a running cluster; else a local one is started.")
@writing_options
@json_option
def run(
    plan: Path,
    engine: str | None,
    scheduler: str | None,
    master: str | None,
    overwrite: bool,
    allow_unverified: bool,
    as_json: bool,
) -> None:
    """Do what PLAN says: protect, verify, attack, measure, write and report."""
    from tsveil.plan import run as run_plan

    with shown_progress(not as_json):
        outcome = run_plan(
            plan,
            overwrite=overwrite,
            allow_unverified=allow_unverified,
            engine=engine,
            scheduler=scheduler,
            master=master,
        )
    show_outcome(outcome, as_json)


@main.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The folder of the release.")
@click.option("--method", "name", default="mdav", show_default=True, help="See `tsveil methods`.")
@click.option(
    "--format", "form", type=click.Choice(["csv", "parquet"]), help="Of the published data; the input's by default."
)
@click.option("--seed", type=int, help="For tests only: a seed is a secret.")
@click.option("--block-size", type=click.IntRange(min=1), metavar="A", help="Regroup attributes into blocks of A.")
@click.option("--blocks-by", type=click.Choice(["correlated", "scattered"]), default="correlated", show_default=True)
@reading_options
@writing_options
@json_option
@click.pass_context
def protect(
    ctx: click.Context, /, file: Path, out: Path, name: str, form: Any, seed: int | None, block_size: int | None,
    blocks_by: Any, overwrite: bool, allow_unverified: bool,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Protect FILE without writing a plan first.

    The method's own parameters are given as options, for example: tsveil protect meters.csv --out release --k 7 --distance sts
    """
    from tsveil.plan import Input, Output, Plan
    from tsveil.plan import run as run_plan
    from tsveil.registry import recommended

    made = Plan(
        input=Input(path=str(file.absolute()), block_size=block_size, blocks_by=blocks_by, **reading(options)),
        method={"name": name, **recommended(name, method_options(ctx.args))},
        output=Output(folder=str(out.absolute()), format=form),
        seed=seed,
    )
    with shown_progress(not as_json):
        outcome = run_plan(made, overwrite=overwrite, allow_unverified=allow_unverified)
    show_outcome(outcome, as_json)


@main.command()
@click.argument("original", type=click.Path(path_type=Path))
@click.argument("protected", type=click.Path(path_type=Path))
@click.option(
    "--truth", metavar="FILE", help="Links ids: CSV with the columns original, released; or the word id for equal ids."
)
@click.option("--ties", type=click.Choice(["expected", "first"]), default="expected", show_default=True)
@click.option(
    "--dr1", type=click.Choice(["max", "mean"]), help="Series: the better linkage counts (max), or their mean."
)
@click.option("--variant", type=click.Choice(["default", "paper"]), help="Series: losses as defined, or as printed.")
@reading_options
@json_option
def evaluate(
    original: Path, protected: Path, truth: str | None, ties: Any, dr1: Any, variant: Any, as_json: bool, **options: Any
) -> None:
    """Attack PROTECTED, made by any tool, as an intruder who knows ORIGINAL, and measure it."""
    from tsveil.data.published import read_like
    from tsveil.data.read import read
    from tsveil.measure.evaluate import evaluate as measure

    data = read(original, **reading(options))
    with shown_progress(not as_json):
        models: dict[str, Any] = {"models": "fitting"} if data.series else {}
        card = measure(data, read_like(protected, data), truth=truth, ties=ties, dr1=dr1, variant=variant, **models)
    if as_json:
        click.echo(json.dumps(card.to_dict(), indent=2))
    else:
        show_card(card)


@main.command()
@click.argument("original", type=click.Path(path_type=Path))
@click.argument("released", type=click.Path(path_type=Path))
@click.option(
    "--known", metavar="NAME,NAME", help="Attributes, blocks or series that the intruder knows; all by default."
)
@click.option(
    "--method",
    "name",
    default="auto",
    show_default=True,
    help="One attack by name, or auto: all that fit. fuzzy is for files without common attributes.",
)
@click.option("--truth", metavar="FILE", help="Links ids: CSV with the columns original, released; or the word id.")
@click.option(
    "--distance",
    type=click.Choice(["euclidean", "sts", "dtw"]),
    help="Series: only by this distance; by values (euclidean) and by shape (sts) by default.",
)
@click.option("--one-to-one", is_flag=True, help="By distance: every released record goes to one person at most.")
@click.option(
    "--blocking",
    type=click.IntRange(min=1),
    metavar="B",
    help="By distance, approximate: compare with the B records nearest in sum only.",
)
@reading_options
@json_option
def attack(
    original: Path, released: Path, known: str | None, name: str, truth: str | None, distance: Any, one_to_one: bool,
    blocking: int | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Re-identify records of RELEASED, made by any tool, as an intruder who knows ORIGINAL would."""
    from tsveil.attack.attempts import FUZZY, attempts
    from tsveil.data.published import read_like
    from tsveil.data.read import read

    data = read(original, **reading(options))
    protected = read(released) if name == FUZZY else read_like(released, data)
    names = known.split(",") if known else None
    with shown_progress(not as_json):
        tried = attempts(
            data, protected, known=names, truth=truth, only=None if name == "auto" else name,
            distance=distance, one_to_one=one_to_one, blocking=blocking,
        )  # fmt: skip
    winner = max(tried, key=lambda key: tried[key].correct)
    best = tried[winner]
    exposed = best.table(data, protected).head(10)
    if as_json:
        rows = {
            key: {
                "attack": x.attack,
                "correct": x.correct,
                "rate": x.rate,
                "certain": int(x.certain.sum()),
                "by_guessing": x.by_guessing,
                "approximate": x.approximate,
            }
            for key, x in tried.items()
        }
        found = {"attacks": rows, "best": winner, "most_exposed": exposed.to_dicts()}
        click.echo(json.dumps(found, indent=2, default=str))
        return
    for key, links in tried.items():
        # What an intruder takes for certain is so only if the attack fits the method; here the truth is known and can be told.
        sure = (
            f"{int(links.certain.sum())} seem certain"
            + f" ({int((links.certain & links.hit).sum())} of them right)" * bool(links.certain.any())
        )
        sure += ", approximate" * links.approximate + "   <- best" * (key == winner and len(tried) > 1)
        click.echo(f"{key:<14} {links.correct:9.1f} of {len(links.link)} right ({links.rate:.1f} %), {sure}")
    if name == "auto" and not data.series and "probabilistic" not in tried and not (one_to_one or blocking):
        click.echo("probabilistic  left out: it takes at most 12 known attributes (--known)")
    chance = best.by_guessing
    click.echo(
        f"\nBy guessing, that many are right with a chance of {f'{chance:.2g}' if chance else 'less than 1e-300'}."
    )
    click.echo("Most exposed:")
    for row in exposed.iter_rows(named=True):
        sure = (
            "certain" if row["certain"] else f"one of {row['candidates']}" if row["candidates"] > 1 else "the nearest"
        )
        click.echo(f"  {row['original']!s:<20} linked to {row['linked']!s:<20} {row['chance']:6.1f} % right, {sure}")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--k", type=click.IntRange(min=2), help="Check that every row of values is shared by k records.")
@click.option("--scope", type=click.Choice(["block", "record", "column"]), default="block", show_default=True)
@click.option("--nlk", metavar="N,L,K", help="Check (n,l,k)-anonymity of each series, for example 7,10,10.")
@click.option("--kp", metavar="K,P", help="Check (k,P)-anonymity of envelopes and patterns, for example 10,3.")
@reading_options
@json_option
def verify(
    file: Path, k: int | None, scope: Any, nlk: str | None, kp: str | None, as_json: bool, **options: Any
) -> None:
    """Check a promise on the published values of FILE, made by any tool: --k, --nlk or --kp."""
    from tsveil.errors import InputError

    if [k, nlk, kp].count(None) != 2:
        raise InputError(
            "say what to check: --k 5 (k-anonymity), --nlk 7,10,10 ((n,l,k)-anonymity) or --kp 10,3 ((k,P)-anonymity)"
        )
    if kp is not None:
        from tsveil.data.intervals import read_intervals
        from tsveil.guarantee.kp import verify_kp

        given = reading(options)
        table = read_intervals(file, separator=given.get("separator"), decimal=given.get("decimal"))
        small, most = _whole_numbers("--kp", kp, "10,3")
        verdict, shown = verify_kp(table, small, most), repr(table)
    else:
        from tsveil.data.read import read
        from tsveil.guarantee.k_anonymity import KAnonymity
        from tsveil.guarantee.nlk import NLKAnonymity, check_nlk

        data = read(file, **reading(options))
        shown = repr(data)
        if nlk is not None:
            known, reached, least = _whole_numbers("--nlk", nlk, "7,10,10")
            check_nlk("verify", known, reached, least, records=data.n, points=min(len(block) for block in data.blocks))
            verdict = NLKAnonymity(known, reached, least).verify(data)
        else:
            verdict = KAnonymity(k or 0, scope=scope, blocks=len(data.blocks)).verify(data)
    if as_json:
        found = {"status": verdict.status, "guarantee": verdict.guarantee, "witness": verdict.witness}
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(shown)
        show_verdict(verdict)
    sys.exit(0 if verdict.holds else 1)


def _whole_numbers(option: str, text: str, example: str, *, any_count: bool = False) -> tuple[int, ...]:
    from tsveil.errors import InputError

    parts = [part.strip() for part in text.split(",")]
    as_many = any_count or len(parts) == example.count(",") + 1
    if not as_many or not all(part.isdigit() for part in parts):
        raise InputError(f"{option} must look like {example}. Got {text!r}.")
    return tuple(int(part) for part in parts)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="TIME=FROM..TO",
    help="Count the records with values in a range; repeatable, either end may be left out.",
)
@click.option("--similar", metavar="V,V,...", help="Find the records whose pattern is most like this curve.")
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="With --similar: how many.")
@click.option(
    "--within",
    type=click.FloatRange(min=0),
    help="With --similar: all that may lie within this distance; none is missed.",
)
@json_option
def query(
    file: Path, ranges: tuple[str, ...], similar: str | None, top: int, within: float | None, as_json: bool
) -> None:
    """Ask a published FILE of envelopes and patterns: how many records (--range), which ones (--similar)."""
    from tsveil.errors import InputError
    from tsveil.measure.queries import Queries

    if not ranges and similar is None:
        raise InputError("say what to ask: --range TIME=FROM..TO or --similar V,V,...")
    asked = Queries.of(file)
    result: dict[str, Any] = {}
    if ranges:
        count = asked.range_count(dict(map(_range, ranges)))
        result |= {"least": count.least, "most": count.most, "estimate": count.estimate}
    if similar is not None:
        try:
            curve = [float(value) for value in similar.split(",")]
        except ValueError:
            raise InputError(f"--similar must be numbers with commas between them. Got {similar!r}.") from None
        result["similar"] = asked.similar(curve, top, within=within).to_dicts()
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    if ranges:
        click.echo(f"{result['least']} to {result['most']} records for certain, about {result['estimate']:.1f}")
    for row in result.get("similar", ()):
        click.echo(
            "  ".join([f"row {row['row']}", row["pattern"], f"level {row['level']}", f"distance {row['distance']:.3f}"])
        )


def _range(text: str) -> tuple[str, tuple[float | None, float | None]]:
    from tsveil.errors import InputError

    name, equals, bounds = text.partition("=")
    low, dots, high = bounds.partition("..")
    try:
        if not (equals and dots and name):
            raise ValueError
        return name, (float(low) if low else None, float(high) if high else None)
    except ValueError:
        raise InputError(f"--range {text!r} must look like TIME=FROM..TO, for example W3=10..20 or W3=..20") from None


@main.command("nlk-study")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--synthetic", type=click.Choice(["random", "sine"]), help="Instead of FILE: the paper's generated series."
)
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="The page to write; a .csv stands beside it."
)
@click.option("--pairs", default="7,8 7,10 10,12 10,20", show_default=True, help="Values of n,l with blanks between.")
@click.option("--ks", default="4,8,12,16,20", show_default=True, help="Values of k.")
@click.option("--heuristics", default="mil,mth,gpe,peel", show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace an earlier study.")
@reading_options
def nlk_study(
    file: Path | None, synthetic: str | None, out: Path, pairs: str, ks: str, heuristics: str, overwrite: bool, **options: Any
) -> None:  # fmt: skip
    """What (n,l,k)-anonymity would cost for FILE: loss, shift and identification over many parameters, as a page of charts."""
    from tsveil.data import synthetic as generated
    from tsveil.data.read import read
    from tsveil.data.write import write_text
    from tsveil.errors import InputError, OutputError
    from tsveil.protect.nlk import HEURISTICS
    from tsveil.protect.nlk import nlk_study as study
    from tsveil.report.nlk import nlk_study_page

    if (file is None) == (synthetic is None):
        raise InputError("say what to study: a FILE, or --synthetic random or sine")
    names = heuristics.split(",")
    if wrong := [name for name in names if name not in HEURISTICS]:
        raise InputError(f"--heuristics must be among {', '.join(HEURISTICS)}. Got {wrong[0]!r}.")
    table = out.with_suffix(".csv")
    if out.suffix == ".csv":
        raise InputError(f"--out {out} must be the page, for example {out.with_suffix('.html')}")
    if present := [str(place) for place in (out, table) if place.exists() and not overwrite]:
        raise OutputError(f"{', '.join(present)} exists already\n  options: another --out, or --overwrite")
    settings: Any = [_whole_numbers("--pairs", pair, "7,10") for pair in pairs.split()]
    counts = _whole_numbers("--ks", ks, "4,10,20", any_count=True)
    chosen = reading(options)
    if file is None:
        data = generated.sine_series() if synthetic == "sine" else generated.random_series()
    else:
        data = read(file, **chosen)
    with shown_progress(True):
        result = study(data, pairs=settings, ks=counts, heuristics=names)
    source = file.name if file else f"{synthetic} series"
    write_text(out, nlk_study_page(result, data, source=source))
    write_text(table, result.write_csv())
    click.echo(f"{len(result)} tables made and verified. Charts {out}, figures {table}")


@main.command()
@click.argument("plan", metavar="PLAN|FILE", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="With FILE: the folder of the study.")
@click.option("--methods", default="all", show_default=True, metavar="NAME,NAME", help="With FILE: what is tried.")
@click.option("--seed", type=int, help="With FILE, for tests only: a seed is a secret.")
@reading_options
@json_option
def sweep(
    plan: Path, out: Path | None, methods: str, seed: int | None, as_json: bool, **options: Any
) -> None:  # fmt: skip
    """Try many methods and parameters on a FILE, or as a PLAN (.toml) says; run it again to go on after a stop.

    The folder gets the table (study.parquet), the risk-utility map with a recommendation (study.html), and the plan (sweep.toml).
    """
    from tsveil.errors import InputError
    from tsveil.plan import Input
    from tsveil.sweep_plan import StudyFolder, SweepPlan, Tried, run_sweep

    given = reading(options)
    if plan.suffix == ".toml":
        if given or out is not None or methods != "all" or seed is not None:
            raise InputError(f"{plan} is a plan: what is read, tried and written is said in it, not in options")
        made, base = SweepPlan.load(plan), plan.parent
    else:
        if out is None:
            raise InputError(f"say where the study of {plan} goes: --out FOLDER")
        names = "all" if methods == "all" else [name.strip() for name in methods.split(",")]
        made = SweepPlan(
            input=Input(path=str(plan), **given),
            sweep=Tried(methods=names),
            output=StudyFolder(folder=str(out)),
            seed=seed,
        )
        base = Path()
    folder = base / made.output.folder
    try:
        with shown_progress(not as_json):
            study = run_sweep(made, base=base)
    except KeyboardInterrupt:
        click.echo(f"stopped; what was finished is kept in {folder}: run the same command again to go on", err=True)
        sys.exit(130)
    front = study.pareto().select("label", "risk", "loss", "guarantee", "verdict").to_dicts()
    failed = study.table.filter(study.table["problem"].is_not_null()).select("label", "problem").to_dicts()
    if as_json:
        found = {"folder": str(folder), "configurations": len(study.table), "front": front, "failed": failed}
        click.echo(json.dumps(found, indent=2))
        return
    from tsveil.terminal import study_table

    click.echo(f"{study!r}\n")
    click.echo("The Pareto front, from the least risk to the most:")
    study_table(front)
    for row in failed:
        click.secho(f"\nnot run: {row['label']}: ", fg="yellow", nl=False)
        click.echo(row["problem"], nl=False)
    click.echo("\n" * bool(failed))
    click.echo(f"Map and table: {folder / 'study.html'}    The folder is private: it holds the seed.")
    click.echo(f"Next: tsveil recommend {folder} --max-risk 10")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--max-risk", type=float, metavar="PERCENT", help="The least loss with at most this risk.")
@click.option("--max-loss", type=float, metavar="PERCENT", help="The least risk with at most this loss.")
@click.option("--plan", "out", type=click.Path(path_type=Path), metavar="FILE", help="Write the plan of the winner.")
@click.option("--overwrite", is_flag=True, help="Replace an existing plan.")
@json_option
def recommend(
    folder: Path, max_risk: float | None, max_loss: float | None, out: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Say what to publish, of all that a sweep tried into FOLDER; exit code 1 when nothing fits."""
    from tsveil.data.write import write_text
    from tsveil.errors import OutputError
    from tsveil.study.study import Study
    from tsveil.sweep_plan import winners_plan

    study = Study.load(folder)
    found = study.recommend(max_risk=max_risk, max_loss=max_loss)
    if out is not None and found.best is not None:
        if out.exists() and not overwrite:
            raise OutputError(f"{out} exists already\n  options: another file, or --overwrite")
        write_text(out, winners_plan(folder, found, out))
    if as_json:
        parts = {"best": found.best, "runner_up": found.runner_up, "nearest": found.nearest, "reason": found.reason}
        click.echo(json.dumps(parts, indent=2))
    else:
        if not study.complete:
            click.secho(
                f"The sweep was stopped: {len(study.table)} of {study.about['asked']} configurations are known.",
                fg="yellow",
            )
        click.secho(
            found.best["label"] if found.best else "Nothing fits.", fg="green" if found.best else "red", bold=True
        )
        click.echo(found.reason)
        if out is not None and found.best is not None:
            click.echo(f"{out} is written. Next: tsveil run {out}")
    sys.exit(0 if found.best is not None else 1)


@main.command()
@click.argument("one", metavar="RELEASE_A", type=click.Path(path_type=Path))
@click.argument("other", metavar="RELEASE_B", type=click.Path(path_type=Path))
@click.option(
    "--original", type=click.Path(path_type=Path), metavar="FILE",
    help="The data that both were made from; read as the releases' plans say when left out.",
)  # fmt: skip
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="PAGE", help="Write the page, an .html file.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier page.")
@reading_options
@json_option
def compare(
    one: Path, other: Path, original: Path | None, out: Path | None, overwrite: bool, as_json: bool, **options: Any
) -> None:
    """Compare the folders of two releases of the same data: promises, losses, attacks, and in the page their curves."""
    from tsveil.comparison import compare as compared
    from tsveil.data.read import read
    from tsveil.errors import InputError

    given = reading(options)
    if given and original is None:
        raise InputError("options of reading need --original FILE; without it the data are read as the plans say")
    if out is not None and out.suffix != ".html":
        raise InputError(f"--out {out} must be a page, for example {out.with_suffix('.html')}")
    check_page(out, overwrite)
    with shown_progress(not as_json):
        both = compared(one, other, original=None if original is None else read(original, **given))
    if out is not None:
        both.write(out)
    if as_json:
        found = {"a": str(one), "b": str(other), "summary": both.summary, "figures": both.table.to_dicts()}
        click.echo(json.dumps(found, indent=2))
        return
    from tsveil.terminal import comparison_table

    click.echo(both.summary + "\n")
    comparison_table(both.table.to_dicts(), both.a.name, both.b.name)
    if out is not None:
        click.echo(f"\nPage: {out}    It shows original values and is private.")


@main.command()
@json_option
def methods(as_json: bool) -> None:
    """List the protection methods with their parameters and references."""
    from tsveil.registry import ALL_METHODS, BROKEN
    from tsveil.technique import named

    for broken in BROKEN.values():
        click.secho(f"left out: {broken}", fg="yellow", err=True)
    if as_json:
        rows = [
            {
                "name": m.name,
                "summary": m.summary,
                "reference": m.reference,
                "techniques": list(m.techniques),
                "parameters": {
                    p.name: {"default": p.default, "accepts": p.words, "meaning": p.doc} for p in m.parameters()
                },
            }
            for m in ALL_METHODS.values()
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for m in ALL_METHODS.values():
        click.secho(m.name, bold=True, nl=False)
        click.echo(f"  {m.summary}\n  {named(m.techniques)}; {m.reference}")
        for p in m.parameters():
            click.echo(f"    --{p.name:<15} {p.doc} ({p.words}; {p.default})")


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The folder with the data files.")
@click.option("--list", "only_list", is_flag=True, help="Say what can be run and what it needs, and run nothing.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Write a page: .html with every cell, or .md with a summary."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@json_option
def reproduce(
    names: tuple[str, ...], data: Path | None, only_list: bool, out: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Run the experiments of the source papers and hold our figures against the published ones.

    NAME is a table (004-4.7), a chapter (004-4) or a paper (004); without one all are run.
    """
    from tsveil.data.write import write_text
    from tsveil.reproduce.page import html, listing, markdown
    from tsveil.reproduce.run import reproduce as run_again
    from tsveil.reproduce.run import total
    from tsveil.reproduce.source import Source

    if only_list:
        click.echo(listing(Source(data)))
        return
    check_page(out, overwrite)
    with shown_progress(not as_json):
        results = run_again(names or None, data=data)
    if out is not None:
        command = " ".join(["tsveil reproduce", *names, *(["--data DIR"] if data else [])])
        write_text(out, (html if out.suffix == ".html" else markdown)(results, command))
    if as_json:
        document = {"totals": total(results), "experiments": [result.to_dict() for result in results]}
        click.echo(json.dumps(document, indent=2))
        return
    from tsveil.terminal import verdict_tables

    verdict_tables(results, cells=bool(names))
    if out is not None:
        click.echo(f"\nPage     {out}")


def check_page(out: Path | None, overwrite: bool) -> None:
    """Refuse a page that could not be written, before the work."""
    from tsveil.errors import OutputError

    if out is None:
        return
    if out.suffix not in (".html", ".md"):
        raise OutputError(f"--out {out} must end in .html (every cell) or .md (a summary)")
    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists already\n  options: another file (--out), or --overwrite")


@main.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--demo", is_flag=True, help="Begin with the bundled example.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("tsveil-web"),
    show_default=True,
    help="Keeps the studies; private.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="On 127.0.0.1; a free one by default.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
def web(file: Path | None, demo: bool, folder: Path, port: int, no_browser: bool) -> None:
    """Go from FILE to a release on a page in the browser; nothing leaves this computer."""
    from tsveil.errors import InputError

    try:
        from tsveil.web.serve import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"starlette", "uvicorn", "python_multipart"}:
            raise
        raise InputError(
            f"the web app needs {error.name}, which is not installed\n  options: pip install 'tsveil[web]'"
        ) from error
    if file is not None and demo:
        raise InputError("a file or --demo, not both")
    serve(file, demo=demo, folder=folder, port=port, browser=not no_browser, say=click.echo)


# -- what a person sees ------------------------------------------------------------------------------------------------------


def method_options(arguments: list[str]) -> dict[str, str]:
    """The options that `protect` does not know are the method's: --k 7 or --k=7."""
    from tsveil.errors import InputError

    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise InputError(f"{word!r} is not expected here; a method's parameters are given as --name value")
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not rest:
                raise InputError(f"--{name} needs a value")
            value = rest.pop(0)
        found[name.replace("-", "_")] = value
    return found


def plan_comments(plan: Any) -> dict[str, str]:
    """Remarks for a starting plan: what each part means and what else is possible."""
    from tsveil.registry import ALL_METHODS

    chosen = ALL_METHODS[plan.method["name"]]
    remarks = {
        "input": "What is read. Paths count from this file. What is not said here is guessed: see `tsveil inspect`.\n"
        "Further options: layout, id, blocks, confidential, time, variable, value, separator, decimal,\n"
        'missing = "drop" or "interpolate", resample = points, split = parts.',
        "input.confidential": "Carried unchanged; columns with no role are left out of the release.",
        "input.blocks": "What is protected together: a range of columns, or a list.",
        "method": f"How it is protected: {chosen.summary}.\n`tsveil methods` lists the methods and their parameters.",
        "output": "published/ may leave the house, private/ must not. title = the name of the release.",
        "context": "What only a person knows, for the report; see `tsveil plan` for all the questions.",
    }
    remarks |= {f"method.{p.name}": f"{p.doc} ({p.words})" for p in chosen.parameters()}
    return remarks


@contextmanager
def shown_progress(wanted: bool) -> Iterator[None]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not wanted or not sys.stderr.isatty():
        yield
        return
    from tsveil.terminal import Bars

    with Bars():
        yield


def show_outcome(outcome: Outcome, as_json: bool) -> None:
    """The one-screen summary of a run."""
    verdict = outcome.verdict
    if as_json:
        result = {
            "folder": str(outcome.folder),
            "report": str(outcome.report),
            "status": verdict.status,
            "guarantee": verdict.guarantee,
            "witness": verdict.witness,
            "scores": outcome.card.to_dict(),
            "warnings": list(outcome.release.warnings),
            "run": outcome.run,
        }
        click.echo(json.dumps(result, indent=2))
        return
    data = outcome.release.original
    click.secho(f"{data.n} records", bold=True, nl=False)
    click.echo(
        ", "
        + ", ".join(f"{b.name} ({len(b.columns)} {'columns' if b.times is None else 'points'})" for b in data.blocks),
        nl=False,
    )
    click.echo(f", protected by {outcome.release.method}")
    left_out = [f"left out, because they have no role: {', '.join(data.dropped)}"] if data.dropped else []
    for note in (*data.notes, *left_out, *(f"warning: {w}" for w in outcome.release.warnings)):
        click.secho(f"  {note}", fg="yellow")
    show_verdict(verdict)
    click.echo()
    show_card(outcome.card)
    show_disclosure(outcome)
    click.echo(f"\n{outcome.run}")
    click.echo(f"\nPublish  {outcome.folder / 'published'}")
    click.echo(f"Keep     {outcome.folder / 'private'}")
    click.echo(f"Report   {outcome.report}")


def show_disclosure(outcome: Outcome) -> None:
    """Carried values that classes of equal records have in common: nobody needs to know which record is whose."""
    if any(outcome.disclosed.values()):
        n = outcome.release.contents.n
        told = ", ".join(f"{name} for {count:,} of {n:,} records" for name, count in outcome.disclosed.items() if count)
        click.secho(
            f"\nAttribute disclosure: whole classes have the same or nearly the same value of {told}", fg="yellow"
        )
        click.echo(f"  {outcome.folder / 'private'} lists them under attribute_disclosure")


def show_verdict(verdict: Verdict) -> None:
    """The verdict; in large letters when the promise is not kept."""
    if verdict.blocks_release:
        click.secho(f"*** NOT SAFE TO PUBLISH: THE GUARANTEE IS {verdict.status.upper()} ***", fg="red", bold=True)
    click.secho(str(verdict), fg="green" if verdict.holds else ("red" if verdict.blocks_release else "yellow"))


def show_card(card: Scorecard | IntervalCard) -> None:
    """The score card as a table with a sentence per figure."""
    from tsveil.terminal import card_table

    card_table(card)


if __name__ == "__main__":
    main()
