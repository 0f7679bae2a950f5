"""The one place that prints: tables, verdicts, JSON documents, errors and progress bars.

Commands say what they found, and this module says it on a terminal. Rich is imported only when a table or a bar is drawn, so that
`--help` answers at once.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tsveil.cli.arguments import CHANGING, is_stdin

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from rich.console import Console
    from rich.progress import TaskID
    from rich.table import Table

    from tsveil.assess.assessment import Assessment, Attempt
    from tsveil.attack.links import Links
    from tsveil.core.errors import InputError, TsveilError
    from tsveil.core.registry import Registry
    from tsveil.core.types import Indices
    from tsveil.data.dataset import Dataset
    from tsveil.data.read import Look
    from tsveil.guarantee.base import Verdict
    from tsveil.measure.scorecard import Scorecard
    from tsveil.plan.chain import History
    from tsveil.plan.check import PlanCheck
    from tsveil.plan.estimate import Estimate
    from tsveil.release.publish import Outcome
    from tsveil.release.together import Judged
    from tsveil.report.comparison import Comparison
    from tsveil.reproduce.run import Result
    from tsveil.study.choice import Recommendation
    from tsveil.study.study import Study

#: a terminal with at least this many columns also gets the meaning of each figure; the report always has it
WIDE = 110
#: fewer persons are not called ready: twice the k that a plan starts with
FEWEST = 10


# -- lines ------------------------------------------------------------------------------------------------------------


def line(text: str = "") -> None:
    """A line of output."""
    click.echo(text)


def document(found: Any) -> None:
    """The result as one JSON document."""
    click.echo(json.dumps(found, indent=2, default=str))


def warning(text: str) -> None:
    """A line that should not be overlooked."""
    click.secho(text, fg="yellow")


def error(text: str, command: click.Command | None = None) -> None:
    """What went wrong, with hints in the options of the command."""
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(with_option_names(text, command), err=True)


def error_document(error: TsveilError, code: int) -> None:
    """What went wrong as one JSON document, for programs."""
    problems = list(getattr(error, "problems", ())) or [str(error)]
    document({"error": str(error), "problems": problems, "kind": type(error).__name__, "exit_code": code})


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """What Python code would be warned of, such as an old key of a plan."""
    click.secho(f"{'note' if issubclass(category, FutureWarning) else 'warning'}: {message}", fg="yellow", err=True)


def report_stop(text: str) -> None:
    """That the user stopped the work, and what is left of it."""
    click.echo(f"stopped; {text}", err=True)


def with_option_names(message: str, command: click.Command | None) -> str:
    """A message whose hints name options as this command takes them: `missing='drop'` is `--missing drop` here, and stays in plans.

    A command that judges a file as it is has no options that would change it, and gives no hint that names one.

    Examples
    --------
    >>> from tsveil.cli.judging import verify
    >>> from tsveil.cli.reading import inspect
    >>> with_option_names("2 problems\\n  options: missing='drop', resample=m", inspect)
    '2 problems\\n  options: --missing drop, --resample M'
    >>> with_option_names("2 problems\\n  options: missing='drop', resample=m", verify)
    '2 problems'
    """
    names = {option.name for option in command.params} if command else set()
    any_name = bool(command and command.context_settings.get("allow_extra_args"))  # the parameters of a method

    def as_option(found: re.Match[str]) -> str:
        name, text, letter = found.groups()
        return (
            f"--{name.replace('_', '-')} {shlex.quote(text) if text else letter.upper()}"
            if any_name or name in names
            else found[0]
        )

    option = re.compile(r"\b(\w+)=(?:'([^']+)'|([a-z])\b)")
    kept = []
    for line in message.split("\n"):
        if "options: " not in line:
            kept.append(line)
        elif "layout" not in names or not {found[1] for found in option.finditer(line)} & CHANGING - names:
            kept.append(option.sub(as_option, line))
    return "\n".join(kept)


# -- what a command found ---------------------------------------------------------------------------------------------


def show_look(file: Path, look: Look, data: Dataset | InputError, options: str) -> None:
    """What is in a file, and whether it can be used, or why not; `options` are those that were given, for the next command."""
    line(f"{file}: {look.rows} rows, {len(look.columns)} columns, {look.guess.layout} layout")
    for reason in look.guess.reasons:
        line(f"  {reason}")
    if isinstance(data, Exception):
        asked = len(look.guess.questions)
        first = "One question first:" if asked == 1 else f"{asked} questions first:"
        click.secho(f"\n{first if asked else 'Not ready:'}", fg="red", bold=True)
        line(with_option_names(str(data), click.get_current_context().command))
        return
    persons = int(data.persons.max()) + 1
    if persons < FEWEST:
        click.secho(f"\nReadable, but too few to hide among: {data!r}", fg="yellow")
        line(
            f"  a group of k = 5 persons needs others to differ from; here are {persons}. Is each row one person's record?"
        )
    else:
        click.secho(f"\nReady: {data!r}", fg="green")
    for note in data.notes:
        line(f"  note: {note}")
    if data.person:
        line(f"  {persons} persons with {data.n / persons:.1f} records each on average; k will count persons")
    if is_stdin(file):
        line(f"Next: save it to a file, then: tsveil plan FILE{options}")
    else:
        line(f"Next: tsveil plan {shlex.quote(str(file))}{options}")


def show_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """The summary of a run on one screen."""
    verdict, release = outcome.verdict, outcome.release
    if as_json:
        document(
            {
                "folder": str(outcome.folder),
                "report": str(outcome.report),
                **verdict_parts(verdict),
                "assessment": outcome.assessment.to_dict() if outcome.assessment else None,
                "scores": outcome.card.to_dict(),
                "warnings": list(release.warnings),
                "run": outcome.run,
            }
        )
        return
    data = release.original
    click.secho(f"{data.n} records", bold=True, nl=False)
    blocks = [f"{b.name} ({len(b.columns)} {'columns' if b.times is None else 'points'})" for b in data.blocks]
    line(f", {', '.join(blocks)}, protected by {release.method}")
    left_out = [f"left out, because they have no role: {', '.join(data.dropped)}"] if data.dropped else []
    gaps = [release.about_gaps] if release.about_gaps else []
    done = release.method.done_in_words(release.facts)
    for note in (*data.notes, *gaps, *left_out, *done, *(f"warning: {text}" for text in release.warnings)):
        warning(f"  {note}")
    if outcome.assessment is not None:
        show_assessment(outcome.assessment)
    line()
    show_card(outcome.card)
    _show_disclosure(outcome)
    line(f"\n{outcome.run}")
    line(f"\nPublish  {outcome.folder / 'published'}")
    line(f"Keep     {outcome.folder / 'private'}")
    line(f"Report   {outcome.report}")


def show_check(found: PlanCheck, *, as_json: bool) -> None:
    """Whether the release of a plan is in order, and what is not."""
    if as_json:
        document(found.to_dict())
        return
    colour, words = ("red", "To be done:") if found.problems else ("green", "In order.")
    click.secho(f"{found.folder}: ", nl=False)
    click.secho(words, fg=colour, bold=True)
    for problem in found.problems:
        line(f"  {problem}")
    if found.assessment is not None:
        line(f"  {found.assessment.headline}")
    if found.due not in found.problems:
        line(f"  {found.due}")


def show_estimate(found: Estimate, *, as_json: bool) -> None:
    """What a run would take, and what there is."""
    from tsveil.plan.estimate import in_words, time_in_words

    if as_json:
        document(found.to_dict())
        return
    where = f"in {found.chunks} chunk{'s' if found.chunks > 1 else ''}" if found.chunks else "in memory"
    line(f"{found.records} records, {found.columns} columns; the work would be done {where}")
    if found.seconds is None or found.memory is None:
        line("  time     depends on the machines of the cluster")
        line("  memory   depends on the machines of the cluster")
    else:
        line(f"  time     about {time_in_words(found.seconds)} of one core; with {found.cores} cores less")
        line(f"  memory   about {in_words(found.memory)}{_of(found.memory_there, 'there')}")
    spool = f" and {in_words(found.spool)} for the spool, which is removed at the end" if found.spool else ""
    line(f"  disk     about {in_words(found.release)} for the release{spool}{_of(found.disk_there, 'free')}")
    for text in found.short():
        warning(f"  not enough {text}")
    line("Nothing was written.")


def _of(there: int | None, how: str) -> str:
    """How much there is of what is needed, if the system says so."""
    from tsveil.plan.estimate import in_words

    return "" if there is None else f"; {in_words(there)} are {how}"


def _show_disclosure(outcome: Outcome) -> None:
    """Carried values that classes of equal records have in common: an intruder need not know which record is whose."""
    if any(outcome.disclosed.values()):
        n = outcome.release.contents.n
        counts = [f"{name} for {count:,} of {n:,} records" for name, count in outcome.disclosed.items() if count]
        warning(f"\nAttribute disclosure: whole classes have the same or nearly the same value of {', '.join(counts)}")
        line(f"  {outcome.folder / 'private'} lists them under attribute_disclosure")


def show_assessment(found: Assessment) -> None:
    """The verdict on a release: what decided it, every check, and what each intruder finds."""
    from tsveil.assess.assessment import NOT_NAMED

    colours = {"holds": "green", "warns": "yellow", "not-decided": "red", "fails": "red"}
    if found.allowed:
        click.secho(f"Written although it did not pass; allowed: {', '.join(found.allowed)}", fg="red", bold=True)
    if colours[found.verdict] == "red":
        click.secho("*** NOT SAFE TO PUBLISH ***", fg="red", bold=True)
    click.secho(found.headline, fg=colours[found.verdict], bold=True)
    for check in found.checks:
        click.secho(f"  {check.name:<21}{check.status.words:<22}", fg=colours[check.status], nl=False)
        line(check.message)
    best: dict[str, Attempt] = {}
    for one in found.ladder:
        if one.rung not in best or one.rate > best[one.rung].rate:
            best[one.rung] = one
    line("  who knows ...        finds ...")
    for rung, one in best.items():
        interval = "" if one.low == one.high else f" ({one.low:.1f} to {one.high:.1f} %)"
        line(f"  {rung:<21}{one.rate:.1f} %{interval} by {one.attack}; guessing finds {one.guess:.2g} %")
    if found.subtraction:
        line(f"  {found.subtraction}")
    if not found.over_time:
        line(f"  {NOT_NAMED}")


def show_together(found: Judged) -> None:
    """The verdict on several releases of the same persons: each by itself, then the latest with what all say together, and who is left."""
    for name, one in found.alone.items():
        words = "withdrawn; what is out is out, so it counts" if one is None else one.verdict.words
        line(f"{name}: {words}")
    line()
    show_assessment(found.assessment)
    over_time = [check.figures for check in found.assessment.checks if check.name == "earlier-releases"]
    if not over_time:
        line("  It is the first release of its ledger, so there is nothing to judge it with.")
        return
    figures = over_time[0]
    sets = {"identifiers": figures["identifiers"], **figures["histories"]}
    for name, one in sets.items():
        if one is not None and (witness := one.get("witness")):
            more = witness["left"] - len(witness["persons"])
            who = ", ".join(witness["persons"]) + (f" and {more} more" if more else "")
            left = "is left alone" if witness["left"] == 1 else "are left"
            line(f"  By {name}, {who} {left} ({', '.join(witness['releases'])})")
    for one in figures["differences"]:
        if one["left"]:
            line(f"  By subtraction, {', '.join(one['left'])} can be left ({', '.join(one['releases'])})")


def verdict_parts(verdict: Verdict) -> dict[str, Any]:
    """A verdict as part of a JSON document."""
    return {"status": verdict.status, "guarantee": verdict.guarantee, "witness": verdict.witness}


def show_attacks(attacks: Mapping[str, Links], winner: str, exposed: pl.DataFrame, notes: Sequence[str]) -> None:
    """How many records each attack re-identified, and the records that the best one exposes most."""
    for key, links in attacks.items():
        # What an intruder takes for certain is so only if the attack fits the method; here the truth is known.
        sure = (
            f"{int(links.certain.sum())} seem certain"
            + f" ({int((links.certain & links.hit).sum())} of them right)" * bool(links.certain.any())
        )
        sure += ", approximate" * links.approximate + "   <- best" * (key == winner and len(attacks) > 1)
        of = "" if links.persons is None else f" of {links.people} persons"
        line(f"{key:<14} {links.correct:9.1f} of {len(links.link)} right ({links.rate:.1f} %{of}), {sure}")
    for note in notes:
        line(note)
    chance = attacks[winner].by_guessing
    shown = f"{chance:.2g}" if chance else "less than 1e-300"
    line(f"\nThe probability of getting at least that many right by guessing is {shown}.")
    line("Most exposed:")
    for row in exposed.iter_rows(named=True):
        sure = (
            "certain" if row["certain"] else f"one of {row['candidates']}" if row["candidates"] > 1 else "the nearest"
        )
        line(f"  {row['original']!s:<20} linked to {row['linked']!s:<20} {row['chance']:6.1f} % right, {sure}")


def show_answers(answers: Mapping[str, Any]) -> None:
    """The answers to queries on envelopes."""
    if "least" in answers:
        line(f"{answers['least']} to {answers['most']} records for certain, about {answers['estimate']:.1f}")
    for row in answers.get("similar", ()):
        line(f"row {row['row']}  {row['pattern']}  level {row['level']}  distance {row['distance']:.3f}")


def show_recommendation(study: Study, found: Recommendation) -> None:
    """What to publish, and why."""
    if not study.complete:
        warning(f"The sweep was stopped: {len(study.table)} of {study.about['asked']} configurations are known.")
    colour = "green" if found.best else "red"
    click.secho(found.best["label"] if found.best else "Nothing fits.", fg=colour, bold=True)
    for sentence in (found.reason, *found.notes):
        line(sentence)


def show_kind(registry: Registry, *, as_json: bool) -> None:
    """Everything of one kind: methods, promises, attacks, measures or distances."""
    for broken in registry.unusable_offers.values():
        click.secho(f"left out: {broken}", fg="yellow", err=True)
    if as_json:
        document([one.description() for one in registry.values()])
        return
    for one in registry.values():
        click.secho(one.name, bold=True, nl=False)
        line(f"  {one.summary}\n  {one.origin()}")
        for p in one.parameters():
            line(f"    --{p.name:<15} {p.doc} ({p.words}; {p.default})")


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(*columns: str, **options: Any) -> Table:
    """A table without lines; its first columns are to the left, those whose name begins with > to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", **options)
    for name in columns:
        if name.startswith(">"):
            table.add_column(name[1:], justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    return table


def _console() -> Console:
    from rich.console import Console

    return Console()


def show_study(study: Study, folder: Path, front: list[dict[str, Any]], failed: list[dict[str, Any]]) -> None:
    """The Pareto front of a sweep, and the configurations that could not be run."""
    line(f"{study!r}\n")
    line(f"{study.definitions[0]}\nThe Pareto front, from the least risk to the most:")
    study_table(front)
    for row in failed:
        click.secho(f"\nnot run: {row['label']}: ", fg="yellow", nl=False)
        click.echo(row["problem"], nl=False)
    line("\n" * bool(failed))
    line(f"Map and table: {folder / 'study.html'}    The folder is private: it holds the seed.")
    line(f"Next: tsveil recommend {folder} --max-risk 10")


def study_table(rows: list[dict[str, Any]]) -> None:
    """Configurations of a study with their risk and loss."""
    table = _table("configuration", ">risk", "attack", ">loss", "promise")
    for row in rows:
        risk, loss = f"{row['risk']:.1f} %", f"{row['loss']:.1f} %"
        table.add_row(f"[bold]{row['label']}[/]", risk, row["attack"], loss, row["guarantee"])
    _console().print(table)


def show_comparison(both: Comparison) -> None:
    """Two releases in a sentence and a table."""
    line(both.summary + "\n")
    comparison_table(both.table.to_dicts(), both.a.name, both.b.name)


def comparison_table(rows: list[dict[str, Any]], a: str, b: str) -> None:
    """The figures of two releases, the better one in green."""
    table = _table("figure", f">{a}", f">{b}")
    for row in rows:
        shown = ["" if row[side] is None else f"{row[side]:,.2f} {row['unit']}".rstrip() for side in ("a", "b")]
        coloured = (
            f"[green]{text}[/]" if row["better"] == side else text for side, text in zip("ab", shown, strict=True)
        )
        table.add_row(f"[bold]{row['title']}[/]" if row["figure"] in {"risk", "loss"} else row["title"], *coloured)
    _console().print(table)


def show_history(found: History, *, as_json: bool) -> None:
    """The releases of a ledger, one line for each, and what is due."""
    from tsveil.report.earlier import COLUMNS, lines

    if as_json:
        document(found.to_dict())
        return
    *columns, _ = COLUMNS  # why a release was withdrawn is a sentence, and stands below
    table = _table()
    for title, kind in columns:
        table.add_column(title.lower(), justify="right" if kind else "left", no_wrap=True, overflow="ellipsis")
    rows = lines(found.releases)
    for *row, _ in rows:
        table.add_row(*row)
    _console().print(table)
    for name, *_, reason in rows:
        if reason:
            line(f"withdrawn: {name}: {reason}")
    line(
        "\nmerged: groups with too few persons left; renewed: identifiers that ended; k: fewest persons with one history"
    )
    line(f"promised k = {found.k}, identifiers {found.ids}; {found.due}")
    line(f"Next: tsveil run PLAN --after {found.folder}")


def show_card(card: Scorecard) -> None:
    """The score card; with the meanings only where they fit, so that a run ends on one screen."""
    from tsveil.report.measuring import notes

    console = _console()
    wide = console.width >= WIDE
    table = _table("", ">", "", show_header=False)
    table.add_column(style="dim", overflow="fold")
    for name, value, (title, unit, sentence) in card.rows():
        shown = f"[bold]{title}[/]" if name in card.main else title
        named = (name, shown) if card.short_names else (title, "")
        table.add_row(f"[bold]{named[0]}[/]", f"{value:,.2f} {unit}", named[1], sentence if wide else "")
    console.print(table)
    if card.by_known:
        name, rate = card.best_attack
        console.print(
            f"Best on average over what is known: {card.options.get('strongest', card.meanings[name].title)}, {rate:.2f} %"
        )
    if card.by_known or not len(card):
        limits = {name: value for name, value in card.options.items() if value != "all records"}
        for note in notes(limits):
            console.print(f"  {note}", style="yellow", highlight=False)


#: verdict -> how a terminal shows it
VERDICT_STYLES = {"equal": "green", "near": "green", "trend": "blue", "differs": "red"}


def verdict_tables(results: Sequence[Result], *, cells: bool) -> None:
    """How many cells of each table got which verdict, before that the cells themselves if asked for, and after it what that is worth."""
    from tsveil.reproduce.page import SUMMARY, TABLE_SUMMARY, claims, evidence, our_figure, summary_rows

    console = _console()
    for result in results if cells else ():
        table = result.experiment.table
        console.print(f"[bold]{table.name}[/] {table.title}\n[dim]{result.experiment.how}[/]", highlight=False)
        grid = _table(*table.keys, "", ">published", ">ours", "verdict", "reason", "why")
        for cell in result.cells:
            style = VERDICT_STYLES.get(cell.verdict, "yellow")
            verdict = f"[{style}]{cell.verdict}[/]"
            why = f"[dim]{cell.why}[/]"
            grid.add_row(*cell.row, cell.column, cell.printed, our_figure(cell), verdict, cell.reason or "", why)
        console.print(grid)
        console.print()
    wide = console.width >= WIDE
    counts = _table()
    counts.add_column("table", style="bold", no_wrap=True)
    if wide:
        counts.add_column("", overflow="ellipsis", no_wrap=True, max_width=console.width - 75)
    for name in TABLE_SUMMARY[2:]:
        counts.add_column(_stacked(name), justify="right", no_wrap=True)
    for name, title, *numbers in summary_rows(results):
        counts.add_row(name, *([title] if wide else []), *numbers)
    console.print(counts)
    console.print()
    for claim in claims(results):
        console.print(claim, highlight=False)
    console.print()
    worth = _table()
    worth.add_column(_stacked(SUMMARY[0]), style="bold", no_wrap=True)
    for name in SUMMARY[1:]:
        worth.add_column(_stacked(name), justify="right", no_wrap=True)
    for row in evidence(results):
        worth.add_row(*row)
    console.print(worth)
    console.print(
        "agree: equal, near or trend; wrongly, with wrong lines: if given our figures of another line", style="dim"
    )


def _stacked(name: str) -> str:
    """The name of a narrow column, its last word below the others."""
    return "\n".join(name.rsplit(" ", 1))


# -- progress ---------------------------------------------------------------------------------------------------------


@contextmanager
def show_progress(wanted: bool) -> Iterator[None]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not wanted or not sys.stderr.isatty():
        yield
        return
    with Bars():
        yield


class Bars:
    """Shows the steps of the enclosed work; a thread follows the counters that kernels raise."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        from tsveil.core.progress import listening

        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
            console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._steps: list[tuple[TaskID, Indices]] = []
        self._over = threading.Event()
        self._listening = listening(self)
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def begin(self, text: str, total: int, counter: Indices) -> None:
        """A step begins."""
        self._steps.append((self._progress.add_task(text, total=total or None), counter))

    def end(self) -> None:
        """The latest step is over."""
        task, _ = self._steps.pop()
        self._progress.remove_task(task)

    def _follow(self) -> None:
        while not self._over.wait(0.1):
            for task, counter in list(self._steps):
                if counter[0]:
                    self._progress.update(task, completed=int(counter[0]))

    def __enter__(self) -> Bars:
        self._progress.start()
        self._listening.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._thread.join()
        self._listening.__exit__(None, None, None)
        self._progress.stop()
