"""The command that looks into a file before anything is done with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tsveil.cli import arguments, terminal
from tsveil.core.errors import InputError


@click.command()
@click.argument("file", type=arguments.FILE)
@arguments.reading_options
@arguments.json_option
def inspect(file: Path, as_json: bool, **options: Any) -> None:
    """Show what is in FILE, and what is wrong with it.

    The roles of columns are guessed unless options give them, as in all other commands.
    """
    from tsveil.data.read import look_at, read

    given = arguments.reading(options)
    look = look_at(file, **given)
    problem, data = "", None
    try:
        data = read(file, **given)
    except InputError as error:
        problem = terminal.with_option_names(str(error), inspect)
    if as_json:
        terminal.document({**look.to_dict(), "problems": problem, "data": repr(data) if data else None})
    else:
        terminal.show_look(file, look, data, problem, arguments.reading_again())
    if data is None:
        sys.exit(2)
