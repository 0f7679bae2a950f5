"""The command that runs the experiments of the source papers again."""

from __future__ import annotations

from pathlib import Path

import click

from tsveil.cli import arguments, terminal


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--data", type=arguments.PATH, metavar="DIR", help="The folder with the data files.")
@click.option("--list", "only_list", is_flag=True, help="List what can be run and what it needs; run nothing.")
@click.option("-o", "--out", type=arguments.PATH, help="Write a page: .html with every cell, or .md with a summary.")
@arguments.overwrite_option("an existing page")
@arguments.json_option
def reproduce(
    names: tuple[str, ...], data: Path | None, only_list: bool, out: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Run the experiments of the source papers.

    Our figures are compared with the published ones. NAME is a table (004-4.7), a chapter (004-4) or a paper (004); without one all are run.
    """
    from tsveil.data.write import write_text
    from tsveil.reproduce.page import html, listing, markdown
    from tsveil.reproduce.run import reproduce as run_again
    from tsveil.reproduce.run import summary_values
    from tsveil.reproduce.source import Source

    if only_list:
        terminal.line(listing(Source(data)))
        return
    arguments.check_page(out, overwrite, ".html", ".md")
    with terminal.show_progress(not as_json):
        results = run_again(names or None, data=data)
    if out is not None:
        command = " ".join(["tsveil reproduce", *names, *(["--data DIR"] if data else [])])
        write_text(out, (html if out.suffix == ".html" else markdown)(results, command))
    if as_json:
        terminal.document({"summary": summary_values(results), "experiments": [result.to_dict() for result in results]})
        return
    terminal.verdict_tables(results, cells=bool(names))
    if out is not None:
        terminal.line(f"\nPage     {out}")
