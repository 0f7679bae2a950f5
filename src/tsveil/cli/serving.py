"""The command that starts the web app."""

from __future__ import annotations

from pathlib import Path

import click

from tsveil.cli import arguments, terminal
from tsveil.core.errors import InputError


@click.command()
@click.argument("file", required=False, type=arguments.PATH)
@click.option("--demo", is_flag=True, help="Start with the bundled example.")
@click.option("--after", type=arguments.PATH, metavar="FOLDER", help="Continue the release in this folder with FILE.")
@click.option(
    "--folder", type=arguments.PATH, default=Path("tsveil-web"), show_default=True, help="Keeps the studies; private."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="On 127.0.0.1; a free one by default.")
@click.option("--no-browser", is_flag=True, help="Print the link and open no browser.")
def web(file: Path | None, demo: bool, after: Path | None, folder: Path, port: int, no_browser: bool) -> None:
    """Protect FILE step by step in the browser.

    Nothing leaves this computer.
    """
    try:
        from tsveil.web.serve import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"starlette", "uvicorn", "python_multipart"}:
            raise
        raise InputError(
            f"the web app needs {error.name}, which is not installed\n  options: pip install 'tsveil[web]'"
        ) from error
    if file is not None and demo:
        raise InputError("a file or --demo, not both")
    serve(file, demo=demo, after=after, folder=folder, port=port, browser=not no_browser, say=terminal.line)
