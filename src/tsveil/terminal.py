"""Tables and bars for a terminal; loaded only when something is shown."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tsveil._types import Indices
from tsveil.measure.kp import MEANINGS, IntervalCard
from tsveil.measure.scorecard import Scorecard
from tsveil.progress import listening

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
