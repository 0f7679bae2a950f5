"""Commands that judge what was made, by tsveil or any other tool: evaluate, attack, verify, query and compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from tsveil.cli import arguments, terminal
from tsveil.core.errors import InputError
from tsveil.core.registry import DISTANCES

#: the options of `evaluate` that say how to measure
EVALUATION = ("ties", "dr1", "variant", "normalise", "models", "scaling", "score", "known", "counts", "by", "matched")


class OfScores(click.Command):
    """A command whose option --score takes the scores there are; they are read when they are needed."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The choices are those of the definitions."""
        from tsveil.measure.score import LINKAGES

        for option in self.params:
            if "--score" in option.opts:
                option.type = click.Choice(list(LINKAGES))
        return super().get_params(ctx)


@click.command(cls=OfScores)
@click.argument("original", metavar="ORIGINAL|RELEASE", type=arguments.FILE)
@click.argument("protected", type=arguments.FILE, required=False)
@arguments.truth_option
@click.option("--ties", type=click.Choice(["expected", "first"]), default="expected", show_default=True)
@click.option(
    "--dr1", type=click.Choice(["max", "mean"]), help="Series: the better linkage counts (max), or their mean."
)
@click.option("--variant", type=click.Choice(["default", "paper"]), help="Series: losses as defined, or as printed.")
@click.option(
    "--normalise",
    type=click.Choice(["global", "per-record", "component", "ranging", "none"]),
    help="Series: how they are normalised before linking.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Series: a forecast that IL3 compares, such as ses, 'lags(lags=7)' or 'polynomial(order=4)'; may be given several times.",
)
@click.option(
    "--scaling",
    type=click.Choice(["original", "own"]),
    help="By which file's mean and deviation values are scaled before linking.",
)
@click.option(
    "--score",
    help="Attributes: the linkages that count, the largest (max) or the mean of some.",
)
@click.option(
    "--known",
    type=arguments.names,
    metavar="NAME,NAME",
    help="Attributes or blocks that the intruder knows; all by default.",
)
@click.option(
    "--counts",
    type=arguments.numbers,
    metavar="N,N",
    help="How many of these the intruder knows, 1, 2, ... all by default.",
)
@click.option(
    "--matched",
    type=click.Choice(["own", "nearest"]),
    help="Attributes: IL1 compares with the own published record, or with the nearest.",
)
@click.option(
    "--by", type=click.Choice(["attributes", "blocks"]), help="Attributes: whether columns or blocks are counted."
)
@arguments.other_period_option
@arguments.reading_options
@arguments.json_option
def evaluate(
    original: Path, protected: Path | None, truth: str | None, other_period: Path | None, as_json: bool, **options: Any
) -> None:
    """Attack and measure a release, or a file made by any tool.

    PROTECTED is attacked as by an intruder who knows ORIGINAL; then risk and loss are measured. The folder of a release, with its private side, is enough alone: its plan says what it was
    made from and how it is measured. If its data lie elsewhere now, ORIGINAL names them.
    """
    from tsveil.data.published import read_like, read_other_period
    from tsveil.measure.evaluate import evaluate as measure
    from tsveil.plan.stored import evaluate_release

    asked = {name: options.pop(name) for name in EVALUATION}
    asked["models"] = list(asked["models"]) or None
    given = arguments.reading(options)
    folder = _release_in(original, protected)
    if folder is not None and truth is not None:
        raise InputError("--truth is for a published file alone; a release has its id map in private/")
    with terminal.show_progress(not as_json):
        data = _data_of(original, folder, given)
        if other_period is not None:
            asked["other_period"] = read_other_period(other_period, given)
        if folder is not None:
            typed = {
                name: value for name, value in asked.items() if value is not None and not arguments.by_default(name)
            }
            card = evaluate_release(folder, data, typed)
        else:
            assert protected is not None
            if data.series and asked["models"] is None:
                asked["models"] = "fitting"
            card = measure(data, read_like(protected, data), truth=truth, **asked)
    if as_json:
        terminal.document(card.to_dict())
    else:
        terminal.show_card(card)


def _release_in(original: Path, protected: Path | None) -> Path | None:
    """The folder of a release among two arguments, of which the second one may be missing; None: both are files."""
    from tsveil.plan.stored import is_release

    if protected is None and not is_release(original):
        raise InputError(
            f"{original} is not a release with its private side, so a second file is needed\n"
            "  options: the original data and the published file, or the folder that `tsveil run` or `tsveil protect` made"
        )
    return original if protected is None else protected if is_release(protected) else None


def _data_of(original: Path, folder: Path | None, given: dict[str, Any]) -> Any:
    """The original data; those of a release as its plan says, in their old place or where they lie now."""
    from tsveil.data.read import read
    from tsveil.plan.stored import original_of

    if folder is None:
        return read(original, **given)
    if original == folder and given:
        raise InputError(
            "reading options need the file of the original data; without it they are read as the plan says"
        )
    return original_of(folder, None if original == folder else original, given)


class OfDistances(click.Command):
    """A command whose option --distance takes the registered distances; they are read when they are needed."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The choices are what is registered now."""
        for option in self.params:
            if "--distance" in option.opts:
                option.type = click.Choice(list(DISTANCES))
        return super().get_params(ctx)


@click.command(cls=OfDistances)
@click.argument("original", metavar="ORIGINAL|RELEASE", type=arguments.FILE)
@click.argument("released", type=arguments.FILE, required=False)
@click.option(
    "--known",
    type=arguments.names,
    metavar="NAME,NAME",
    help="Attributes, blocks or series that the intruder knows; all by default.",
)
@click.option(
    "--method",
    "name",
    default="auto",
    show_default=True,
    help="One attack by name (see `tsveil attacks`), or auto: all that fit.",
)
@arguments.truth_option
@click.option(
    "--distance",
    help="Series: only by this distance; by default those of the usual attacks.",
)
@click.option("--one-to-one", is_flag=True, help="By distance: link every released record to at most one person.")
@click.option(
    "--blocking",
    type=click.IntRange(min=1),
    metavar="B",
    help="By distance, approximate: compare with the B records nearest in sum only.",
)
@click.option(
    "--direction",
    type=click.Choice(["original", "released"]),
    default="original",
    show_default=True,
    help="By distance: link each original record to a released one, or each released record to an original one.",
)
@arguments.other_period_option
@arguments.reading_options
@arguments.json_option
def attack(
    original: Path, released: Path | None, known: list[str] | None, name: str, truth: str | None, distance: Any, one_to_one: bool,
    blocking: int | None, direction: Any, other_period: Path | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Re-identify records of a release, or of a file made by any tool.

    The intruder knows ORIGINAL and looks for its records in RELEASED. The folder of a release, with its private side, is enough alone: its plan says what it was made from, and its id map who is who. With
    --person a link to any record of the person is right, and rates are means over persons. With --other-period he only knows that file, and looks for its persons.
    """
    from tsveil.attack.choose import left_out, links_by_attack
    from tsveil.core.registry import ATTACKS
    from tsveil.data.published import read_like, read_other_period
    from tsveil.data.read import read
    from tsveil.release.reopen import published_data, published_series

    given = arguments.reading(options)
    folder = _release_in(original, released)
    if folder is not None and truth is not None:
        raise InputError("--truth is for a published file alone; a release has its id map in private/")
    other = None if other_period is None else read_other_period(other_period, given)
    links: Any = truth
    if folder is not None and released is None and other is not None:
        protected, links = published_series(folder)
        data = other
    else:
        data = _data_of(original, folder, given)
        if folder is not None:
            protected, links = published_data(folder, data)
        else:
            assert released is not None
            common = name not in ATTACKS or ATTACKS[name].common_columns
            protected = read_like(released, data) if common else read(released)
    with terminal.show_progress(not as_json):
        attacks = links_by_attack(
            data, protected, known=known, truth=links, only=None if name == "auto" else name,
            distance=distance, one_to_one=one_to_one, blocking=blocking, direction=direction, other=other,
        )  # fmt: skip
    winner = max(attacks, key=lambda key: attacks[key].rate)
    sides = (data if other is None else other, protected)
    exposed = attacks[winner].table(*(sides if direction == "original" else sides[::-1])).head(10)
    if as_json:
        rows = {
            key: {
                "attack": links.attack,
                "correct": links.correct,
                "rate": links.rate,
                "persons": links.people,
                "certain": int(links.certain.sum()),
                "by_guessing": links.by_guessing,
                "approximate": links.approximate,
            }
            for key, links in attacks.items()
        }
        terminal.document({"attacks": rows, "best": winner, "most_exposed": exposed.to_dicts()})
        return
    notes = []
    if (
        name == "auto"
        and distance is None
        and other is None
        and not (one_to_one or blocking)
        and direction == "original"
    ):
        for key, most in left_out(data, known).items():
            notes.append(f"{key:<14} left out: it takes at most {most} known attributes (--known)")
    terminal.show_attacks(attacks, winner, exposed, notes)


class OfPromises(click.Command):
    """A command with the options that the registered promises declare; they are loaded when they are needed."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of promises come first."""
        from tsveil.guarantee.options import options

        known = {name for own in self.params for name in own.opts}
        self.params[1:1] = [
            click.Option([f"--{option.name}"], type=click.Choice(option.choices), help=option.help)
            if option.choices
            else click.Option(
                [f"--{option.name}"], metavar=option.metavar, is_flag=not option.metavar, help=option.help
            )
            for option in options()
            if f"--{option.name}" not in known
        ]
        return super().get_params(ctx)


@click.command(cls=OfPromises)
@click.argument("files", metavar="FILE|RELEASE...", nargs=-1, type=arguments.FILE)
@click.option(
    "--persons", type=arguments.PATH, metavar="MAP", help="A table of the identifiers in FILE and their persons."
)
@click.option(
    "--ledger", type=arguments.PATH, metavar="FOLDER",
    help="Judge all releases in the ledger of this release, together and each by itself.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Treat warnings of the verdict like failures.")
@arguments.file_options
@arguments.json_option
def verify(
    files: tuple[Path, ...], persons: Path | None, ledger: Path | None, strict: bool, as_json: bool, **options: Any
) -> None:
    """Check a promise on what was published by any tool, and everything else in it.

    FILE is a file, a folder with its parts, or a whole release with its private side. Choose one promise by its option; a release has its own. Columns named by
    --id or --confidential are taken on trust; others that are no part of the promise are named, and then nothing is decided.

    Several releases of the same persons, the oldest first, are judged together as well: what each hides, all of them may show.
    """
    from tsveil.assess.file import judge_file, map_of
    from tsveil.data.table import as_list
    from tsveil.guarantee.options import asks, promise_of
    from tsveil.release.publish import MARKER
    from tsveil.release.reopen import judge_release, release_facts

    given = arguments.reading(options)
    typed = {name.replace("_", "-"): value for name, value in options.items()}
    if ledger is not None or len(files) != 1:
        if persons is not None or given:
            raise InputError("--persons and the options of reading are for one file; releases say how they are read")
        _verify_together(files, ledger, promise_of(typed).k if asks(typed) else None, strict=strict, as_json=as_json)
    (file,) = files
    if (file / "published").is_dir() or (file / MARKER).is_file():
        if persons is not None:
            raise InputError("--persons is for a published file alone; a release has its id map in private/")
        found = judge_release(file, promise_of(typed) if asks(typed) else None, given)
    else:
        promise = promise_of(typed)
        named = persons is not None or given.get("person")
        if named and not options.get("counts") and "counts" in promise.settings():
            promise = type(promise).from_settings(promise.settings() | {"counts": "share"})
        around = next((one for one in file.absolute().parents[:3] if (one / MARKER).is_file()), None)
        several = None if around is None else "persons" in release_facts(around)
        given = {"missing": "mask", **given}  # a file is judged as it stands: an empty cell is a value of its own
        found = judge_file(file, promise, given, None if persons is None else map_of(persons), several=several)
        if persons is None and several is None and not as_json:
            terminal.line("Records are counted: a file alone does not say whose they are (--persons MAP).")
    if as_json:
        terminal.document({"assessment": found.to_dict()})
    else:
        terminal.show_assessment(found)
        if trusted := [*as_list(given.get("id")), *given.get("confidential", ())]:
            terminal.line(f"Taken on trust, because you named them: {', '.join(trusted)}")
    sys.exit(1 if found.stopped_by(strict=strict) else 0)


def _verify_together(
    folders: tuple[Path, ...], ledger: Path | None, k: int | None, *, strict: bool, as_json: bool
) -> NoReturn:
    """Judge several releases of the same persons, or those of a ledger, and end."""
    from tsveil.release.together import judge_ledger, judge_releases

    if (ledger is None) == (not folders):
        raise InputError(
            "say what to verify: a file, a release, several releases of the same persons, or --ledger FOLDER alone"
        )
    with terminal.show_progress(not as_json):
        found = judge_releases(folders, k) if ledger is None else judge_ledger(ledger, k)
    if as_json:
        alone = [
            {"release": name, "verdict": None if one is None else one.verdict.value}
            for name, one in found.alone.items()
        ]
        terminal.document({"assessment": found.assessment.to_dict(), "releases": alone})
    else:
        terminal.show_together(found)
    sys.exit(1 if found.stopped(strict=strict) else 0)


@click.command()
@click.argument("file", type=arguments.FILE)
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="TIME=FROM..TO",
    help="Count the records with values in a range; repeatable, either end may be left out.",
)
@click.option("--similar", metavar="V,V,...", help="Find the records whose pattern is most like this curve.")
@click.option(
    "--top", type=click.IntRange(min=1), default=20, show_default=True, help="With --similar: how many to list."
)
@click.option(
    "--within",
    type=click.FloatRange(min=0),
    help="With --similar: all that may lie within this distance; none is missed.",
)
@arguments.json_option
def query(
    file: Path, ranges: tuple[str, ...], similar: str | None, top: int, within: float | None, as_json: bool
) -> None:
    """Query published envelopes and patterns.

    Count the records of FILE in a range (--range), or find those that are like a curve (--similar).
    """
    from tsveil.measure.queries import Queries

    if not ranges and similar is None:
        raise InputError("say what to ask: --range TIME=FROM..TO or --similar V,V,...")
    asked = Queries.of(file)
    answers: dict[str, Any] = {}
    if ranges:
        count = asked.range_count(dict(map(_range, ranges)))
        answers |= {"least": count.least, "most": count.most, "estimate": count.estimate}
    if similar is not None:
        try:
            curve = [float(value) for value in similar.split(",")]
        except ValueError:
            raise InputError(f"--similar must be numbers with commas between them. Got {similar!r}.") from None
        answers["similar"] = asked.similar(curve, top, within=within).to_dicts()
    if as_json:
        terminal.document(answers)
    else:
        terminal.show_answers(answers)


def _range(text: str) -> tuple[str, tuple[float | None, float | None]]:
    name, equals, bounds = text.partition("=")
    low, dots, high = bounds.partition("..")
    try:
        if not (equals and dots and name):
            raise ValueError
        return name, (float(low) if low else None, float(high) if high else None)
    except ValueError:
        raise InputError(f"--range {text!r} must look like TIME=FROM..TO, for example W3=10..20 or W3=..20") from None


@click.command()
@click.argument("one", metavar="RELEASE_A", type=arguments.PATH)
@click.argument("other", metavar="RELEASE_B", type=arguments.PATH)
@click.option(
    "--original", type=arguments.PATH, metavar="FILE",
    help="The data from which both were made; by default read as the plans of the releases say.",
)  # fmt: skip
@click.option("-o", "--out", type=arguments.PATH, metavar="PAGE", help="Write the page, an .html file.")
@arguments.overwrite_option("an earlier page")
@arguments.reading_options
@arguments.json_option
def compare(
    one: Path, other: Path, original: Path | None, out: Path | None, overwrite: bool, as_json: bool, **options: Any
) -> None:
    """Compare two releases of the same data.

    Their folders are compared by promises, losses and attacks; the page also shows curves.
    """
    from tsveil.data.read import read
    from tsveil.plan.compare import compare as compared

    given = arguments.reading(options)
    if given and original is None:
        raise InputError("reading options need --original FILE; without it the data are read as the plans say")
    arguments.check_page(out, overwrite, ".html")
    with terminal.show_progress(not as_json):
        both = compared(one, other, original=None if original is None else read(original, **given))
    if out is not None:
        both.write(out)
    if as_json:
        found = {"a": str(one), "b": str(other), "summary": both.summary, "figures": both.table.to_dicts()}
        terminal.document(found)
        return
    terminal.show_comparison(both)
    if out is not None:
        terminal.line(f"\nPage: {out}    It shows original values and is private.")
