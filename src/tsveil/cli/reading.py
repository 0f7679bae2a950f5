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
    from tsveil.data.dataset import Dataset
    from tsveil.data.description import describe
    from tsveil.data.read import look_at, read

    given = arguments.reading(options)
    look = look_at(file, **given)
    found: Dataset | InputError
    try:
        found = read(file, **given)
    except InputError as error:
        found = error
    if as_json:
        terminal.document(describe(look, found))
    else:
        terminal.show_look(file, look, found, arguments.reading_again())
    if isinstance(found, InputError):
        sys.exit(2)
