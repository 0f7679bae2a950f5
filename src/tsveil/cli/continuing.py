"""Commands about releases that are there already: check, history, and ledger with adopt and withdraw."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tsveil.cli import arguments, terminal


@click.command()
@click.argument("plan", type=arguments.PLAN)
@click.option("--strict", is_flag=True, help="Treat warnings of the verdict like failures.")
@arguments.quiet_option
@arguments.json_option
def check(plan: Path, strict: bool, quiet: bool, as_json: bool) -> None:
    """Say whether the release of PLAN is still in order.

    Is it there, made by this plan from these data; does its verdict still hold; is its review due? Nothing is written. Exit code 0: nothing is to be done, 1: something is, 2: the plan cannot be
    used. For cron, Airflow, or a hook before data are passed on.
    """
    from tsveil.plan.check import check_plan

    with terminal.show_progress(not as_json and not quiet):
        found = check_plan(plan, strict=strict)
    if as_json or not quiet:
        terminal.show_check(found, as_json=as_json)
    sys.exit(1 if found.problems else 0)


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
