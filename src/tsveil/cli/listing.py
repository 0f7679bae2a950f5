"""Commands that list what is in the registry, one for each kind: a new registry has its command by itself."""

from __future__ import annotations

import click

from tsveil.cli import arguments, terminal
from tsveil.core import registry


def listing(kind: registry.Registry) -> click.Command:
    """The command that lists everything of one kind."""

    @click.command(f"{kind.kind}s", help=f"List all {kind.kind}s.\n\nEach with its parameters and its reference.")
    @arguments.json_option
    def command(as_json: bool) -> None:
        terminal.show_kind(kind, as_json=as_json)

    return command


LISTINGS = [listing(kind) for kind in vars(registry).values() if isinstance(kind, registry.Registry)]
