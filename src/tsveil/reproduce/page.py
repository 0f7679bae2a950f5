"""The results for people: a summary for a terminal or a Markdown file, and a page with every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files

from tsveil import __version__
from tsveil.report.pages import templates
from tsveil.reproduce.printed import PAPERS, paper_titles
from tsveil.reproduce.run import EXPERIMENTS, Result, total
from tsveil.reproduce.source import FILES, Source
from tsveil.reproduce.verdicts import MEANINGS, VERDICTS, Cell, Verdict

#: verdict -> a sign for narrow places
SIGNS: dict[Verdict, str] = {
    "equal": "=",
    "near": "≈",
    "trend only": "~",
    "differs": "≠",
    "not reproducible": "✕",
    "data not available": "–",
}


#: what was settled by looking at the printed figures, which a reader must know to weigh the agreement
CHOSEN = (
    "Multivariate MDAV of the thesis runs on raw values. The thesis does not say so; tsveil standardises by default. Among 96 variants tried "
    "on SSE figures of table 3.5 none agreed and raw values came closest, so they are used in tables 3.3 to 3.13 and 4.8 to 4.11. "
    "With standardised values 587 cells in all were equal, 577 near, 1434 trend only, 61 differed and 1484 were not reproducible.",
    "In tables 5.4 to 5.7 the 100 drawn records are normalised, not the whole files; of the two readings tried this one is nearer for Abalone "
    "and farther for WDBC.",
    "Distances of table 4.2 are sums of absolute differences: of the Euclidean ones and these, the nearer.",
    "Two reasons were written after the figures had been seen to differ: that on the column 2G of tables 3.10 and 3.11, and that on the Zscores "
    "rows which tables 3.7 and 4.8 to 4.11 print differently. Without them 47 more cells would read differs.",
)


def our_figure(cell: Cell) -> str:
    """Our figure with a digit more than the printed one, so that a reader sees how near it is.

    Examples
    --------
    >>> our_figure(Cell(("5",), "MDAV", "11.10", 11.0968, "equal")), our_figure(Cell((), "", "9.1E-28", 9.1219e-28, "equal"))
    ('11.097', '9.12e-28')
    """
    if cell.ours is None:
        return ""
    mantissa, _, exponent = cell.printed.upper().partition("E")
    decimals = len(mantissa.partition("..")[0].lstrip("<>=~").partition(".")[2]) + 1
    return f"{cell.ours:.{decimals}{'e' if exponent else 'f'}}"


def summary_rows(results: Sequence[Result]) -> list[list[str]]:
    """A line for each table: its name and title, and the cells of each verdict; the last line is the sum."""
    rows = []
    for result in results:
        counts = result.counts
        numbers = [str(counts[verdict] or "") for verdict in VERDICTS]
        rows.append([result.experiment.name, result.experiment.table.title, str(len(result.cells)), *numbers])
    sums = total(results)
    rows.append(["all", "", str(sum(sums.values())), *(str(sums[verdict]) for verdict in VERDICTS)])
    return rows


def reasons(results: Sequence[Result], verdict: Verdict) -> list[tuple[str, int, list[str]]]:
    """Why cells got a verdict: reason, number of cells, and tables, the most frequent first."""
    counted: Counter[str] = Counter()
    tables: dict[str, dict[str, None]] = {}
    for result in results:
        for cell in result.cells:
            if cell.verdict == verdict:
                why = cell.why or "no reason is known"
                counted[why] += 1
                tables.setdefault(why, {})[result.experiment.name] = None
    return [(why, count, list(tables[why])) for why, count in counted.most_common()]


def markdown(results: Sequence[Result], command: str) -> str:
    """The summary as a Markdown page."""
    lines = [
        "# The published tables, computed again",
        "",
        f"Made by `{command}` (tsveil {__version__}). The same command with `--out reproduction.html` writes a page with every cell, with",
        "`--json` a document. Names are paper and table:",
        "",
        *(f"- {paper}: {paper_titles()[paper]}" for paper in PAPERS if _from(results, paper)),
        "",
        "## The verdicts",
        "",
        *(f"- **{verdict}**: {meaning}" for verdict, meaning in MEANINGS.items()),
        "",
        "A random method is run with several seeds, and the mean counts. Where other data stand for those of a paper, nothing can be equal or",
        "near: the verdict is then trend only or data not available.",
        "",
        "## What was chosen by the printed figures",
        "",
        *(f"- {choice}" for choice in CHOSEN),
        "",
        "## Cells per table",
        "",
        "| table | | cells | " + " | ".join(VERDICTS) + " |",
        "| --- | --- | --: |" + " --: |" * len(VERDICTS),
        *("| " + " | ".join(row) + " |" for row in summary_rows(results)),
        "",
    ]
    for verdict in ("differs", "not reproducible", "data not available"):
        found = reasons(results, verdict)
        if found:
            lines += [f"## Why: {verdict}", ""]
            lines += [f"- {why} ({count} {_cells(count)}: {', '.join(tables)})" for why, count, tables in found]
            lines.append("")
    return "\n".join(lines)


def _from(results: Sequence[Result], paper: str) -> bool:
    return any(result.experiment.name.startswith(paper) for result in results)


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"


def html(results: Sequence[Result], command: str) -> str:
    """A page with every cell, complete in itself."""
    from markupsafe import Markup

    style = (files("tsveil.report") / "templates" / "style.css").read_text(encoding="utf-8")
    return (
        templates("tsveil.reproduce")
        .get_template("page.html.j2")
        .render(
            style=Markup(style),
            version=__version__,
            command=command,
            papers={paper: title for paper, title in paper_titles().items() if _from(results, paper)},
            verdicts=MEANINGS,
            choices=CHOSEN,
            signs=SIGNS,
            summary=summary_rows(results),
            tables=[_grid(result) for result in results],
        )
    )


def _grid(result: Result) -> dict[str, object]:
    """A table as rows of cells, with the reasons named below it."""
    table = result.experiment.table
    cells = {(cell.row, cell.column): cell for cell in result.cells}
    notes: dict[str, int] = {}
    for cell in result.cells:
        if cell.why and cell.verdict != "trend only":
            notes.setdefault(cell.why, len(notes) + 1)
    return {
        "name": table.name,
        "title": table.title,
        "how": result.experiment.how,
        "keys": table.keys,
        "columns": table.columns,
        "rows": [
            (
                row,
                [
                    (cells[row, column], our_figure(cells[row, column]), notes.get(cells[row, column].why))
                    for column in table.columns
                ],
            )
            for row in table.rows
        ],
        "reasons": notes,
        "counts": {verdict: count for verdict, count in result.counts.items() if count},
    }


def listing(source: Source) -> str:
    """What can be run, what each experiment needs, and by which definitions."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        lacking = source.lacks(experiment.needs) if source.folder else []
        needs = ", ".join(f"{file} (missing)" if file in lacking else file for file in experiment.needs) or "nothing"
        lines += [f"{name:<14}{experiment.table.title}", f"{'':14}needs {needs}; {experiment.how}"]
    lines += ["", "The files, in the folder that --data names:"]
    lines += [f"  {name:<22}{what}" for name, what in FILES.items()]
    return "\n".join(lines)
