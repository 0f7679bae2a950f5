"""Commands about releases of the same persons: history, and ledger with adopt and withdraw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tsveil.cli import arguments, terminal


@click.command()
@click.argument("folder", type=arguments.PATH)
@arguments.json_option
def history(folder: Path, as_json: bool) -> None:
    """Show the releases that the one in FOLDER continues.

    On one screen: dates, persons, who came and left, groups merged, identifiers renewed, the share withheld, loss, composed k, and what is due.
    """
    from tsveil.plan.chain import history as read_history

    terminal.show_history(read_history(folder), as_json=as_json)


@click.group()
def ledger() -> None:
    """Begin a ledger, or mark a release as withdrawn."""


@ledger.command()
@click.argument("folder", type=arguments.PATH)
@click.option("--original", required=True, type=arguments.FILE, help="The data that the release was made from.")
@arguments.reading_options
def adopt(folder: Path, original: Path, **options: Any) -> None:
    """Begin a ledger for the release in FOLDER, which has none.

    Then the next release can continue it: tsveil run PLAN --after FOLDER. The original data are read as the plan of the release says, unless options say otherwise.
    """
    from tsveil.plan.chain import adopt as begin
    from tsveil.plan.stored import original_of

    given = arguments.reading(options)
    with terminal.show_progress(True):
        begin(folder, original_of(folder, original, given))
    terminal.line(f"{folder} has a ledger now. Next: tsveil run PLAN --after {folder}")


@ledger.command()
@click.argument("folder", type=arguments.PATH)
@click.option("--reason", required=True, metavar="TEXT", help="Why; later releases and their reports say it.")
def withdraw(folder: Path, reason: str) -> None:
    """Mark the release in FOLDER as withdrawn.

    It stays in the ledger, and later releases go by it: what is out is out.
    """
    from tsveil.release.ledger import withdraw_release

    withdraw_release(folder, reason)
    terminal.line(f"{folder} is marked as withdrawn. It stays in the ledger: what was published still counts.")
