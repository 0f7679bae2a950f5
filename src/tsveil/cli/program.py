"""The program `tsveil`: its commands in the order of work, and what happens to errors.

Exit codes: 0 good, 1 a guarantee is not met or nothing fits, 2 bad input.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import Any

import click

from tsveil import __version__
from tsveil.cli import terminal
from tsveil.cli.choosing import nlk_study, recommend, sweep
from tsveil.cli.continuing import check, history, ledger
from tsveil.cli.judging import attack, compare, evaluate, query, verify
from tsveil.cli.listing import LISTINGS
from tsveil.cli.making import demo, plan, protect, run, schema, warm
from tsveil.cli.reading import inspect
from tsveil.cli.reproducing import reproduce
from tsveil.cli.serving import web
from tsveil.core.errors import GuaranteeError, TsveilError
from tsveil.core.stopping import StopRequest, stopped_by_signals

#: where a command keeps whether its answer is a JSON document
AS_JSON = "tsveil.json"


class Program(click.Group):
    """Turns tsveil's own errors into a message and an exit code, and lists commands in the order of work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of work, not of the alphabet."""
        return list(self.commands)

    def main(self, *words: Any, **options: Any) -> Any:
        """Run the program. Commands report errors of their own files, so an error that reaches this point comes from printing the answer."""
        try:
            return super().main(*words, **options)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            terminal.error(f"the answer cannot be printed: {error.strerror or error}")
            sys.exit(2)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse words that are not UTF-8: they would stand in plans and reports, which are. With --json errors are documents, too."""
        ctx.meta[AS_JSON] = "--json" in args
        for word in args:
            try:
                word.encode()
            except UnicodeEncodeError:
                raise click.UsageError(f"{word!a} is not UTF-8; rename the file, or type it in UTF-8", ctx) from None
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with stopped_by_signals(), warnings.catch_warnings():
                warnings.showwarning = terminal.show_warning
                return super().invoke(ctx)
        except TsveilError as error:
            code = 1 if isinstance(error, GuaranteeError) else 2
            if ctx.meta[AS_JSON] and code == 2:  # of a verdict that stops a release the command says more
                terminal.error_document(error, code)
            terminal.error(str(error), self.get_command(ctx, ctx.invoked_subcommand or ""))
            ctx.exit(code)
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "new thread" not in str(error):
                raise
            terminal.error(
                f"there is not enough memory for this{f' ({error})' if str(error) else ''}; nothing was written\n"
                "  options: a larger machine or memory limit, fewer records or columns"
            )
            ctx.exit(2)
        except KeyboardInterrupt as stop:
            terminal.report_stop("nothing was written")
            ctx.exit(128 + (stop.number if isinstance(stop, StopRequest) else signal.SIGINT))


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tsveil")
def main() -> None:
    """Protect time series before they are published, attack the result, and measure it.

    Start with `tsveil demo`, or with your own file: `tsveil inspect FILE`, `tsveil plan FILE`, `tsveil run PLAN`.
    """


for command in (
    demo, inspect, plan, run, protect, check, history, ledger, evaluate, attack, verify, query, compare, sweep, recommend, nlk_study,
    *LISTINGS, reproduce, web, schema, warm,
):  # fmt: skip
    main.add_command(command)
