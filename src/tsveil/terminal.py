"""Tables and bars for a terminal; loaded only when something is shown."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tsveil._types import Indices
from tsveil.measure.kp import MEANINGS, IntervalCard
from tsveil.measure.scorecard import Scorecard
from tsveil.progress import listening

if TYPE_CHECKING:
    from tsveil.reproduce.run import Result

#: columns of a terminal from which on the score card explains its figures; the report always does
WIDE = 110


class Bars:
    """Shows the steps of the enclosed work; a thread follows the counters that kernels raise."""

    def __init__(self) -> None:
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


def study_table(rows: list[dict[str, Any]]) -> None:
    """Print configurations of a study with their risk and loss."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("configuration", style="bold", overflow="fold")
    table.add_column("risk", justify="right", no_wrap=True)
    table.add_column("loss", justify="right", no_wrap=True)
    table.add_column("promise")
    for row in rows:
        table.add_row(row["label"], f"{row['risk']:.1f} %", f"{row['loss']:.1f} %", row["guarantee"])
    Console().print(table)


def comparison_table(rows: list[dict[str, Any]], a: str, b: str) -> None:
    """Print the figures of two releases, the better one in green."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("figure")
    for name in (a, b):
        table.add_column(name, justify="right")
    for row in rows:
        shown = ["" if row[side] is None else f"{row[side]:,.2f} {row['unit']}".rstrip() for side in ("a", "b")]
        coloured = (
            f"[green]{text}[/]" if row["better"] == side else text for side, text in zip("ab", shown, strict=True)
        )
        table.add_row(f"[bold]{row['title']}[/]" if row["figure"] in {"risk", "loss"} else row["title"], *coloured)
    Console().print(table)


def card_table(card: Scorecard | IntervalCard) -> None:
    """Print the score card; the sentences only where they fit, so that a run ends on one screen."""
    console = Console()
    wide = console.width >= WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    table.add_column(style="dim", overflow="fold")
    if isinstance(card, IntervalCard):
        for name, (title, unit, sentence) in MEANINGS.items():
            if name in card:
                table.add_row(title, f"{card[name]:,.2f} {unit}", "", sentence if wide else "")
    else:
        for name, (title, sentence) in card.meanings.items():
            if name in card:
                shown = f"[bold]{title}[/]" if name in {"IL", "DR", "score"} else title
                table.add_row(name, f"{card[name]:.2f} %", shown, sentence if wide else "")
    console.print(table)
    if isinstance(card, Scorecard):
        name, rate = card.best_attack
        console.print(f"Strongest attack: {card.options.get('strongest', card.meanings[name][0])}, {rate:.2f} %")
        for note in ("targets", "skipped", "models left out", "not measured"):
            if card.options.get(note, "all records") != "all records":
                console.print(f"  {note}: {card.options[note]}", style="yellow", highlight=False)


#: verdict -> how a terminal shows it
VERDICT_STYLES = {"equal": "green", "near": "green", "trend only": "blue", "differs": "red"}


def verdict_tables(results: Sequence[Result], *, cells: bool) -> None:
    """Print how many cells of each table got which verdict, and before that the cells themselves."""
    from tsveil.reproduce.page import shown, summary_rows
    from tsveil.reproduce.verdicts import VERDICTS

    console = Console()
    for result in results if cells else ():
        table = result.experiment.table
        console.print(f"[bold]{table.name}[/] {table.title}\n[dim]{result.experiment.how}[/]", highlight=False)
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in (*table.keys, ""):
            grid.add_column(name, overflow="fold")
        grid.add_column("published", justify="right")
        grid.add_column("ours", justify="right")
        for name in ("verdict", "why"):
            grid.add_column(name, overflow="fold")
        for cell in result.cells:
            style = VERDICT_STYLES.get(cell.verdict, "yellow")
            verdict = f"[{style}]{cell.verdict}[/]"
            grid.add_row(*cell.row, cell.column, cell.printed, shown(cell), verdict, f"[dim]{cell.why}[/]")
        console.print(grid)
        console.print()
    wide = console.width >= WIDE
    counts = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    counts.add_column("table", style="bold", no_wrap=True)
    if wide:
        counts.add_column("", overflow="ellipsis", no_wrap=True, max_width=console.width - 75)
    for name in ("cells", *VERDICTS):
        counts.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for name, title, *numbers in summary_rows(results):
        counts.add_row(name, *([title] if wide else []), *numbers)
    console.print(counts)
