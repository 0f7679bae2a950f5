"""The results for people: a summary for a terminal or a Markdown file, and a page with every cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files

from tsveil import __version__
from tsveil.report.pages import templates
from tsveil.reproduce.printed import KINDS, PAPERS, paper_titles
from tsveil.reproduce.run import ALL, EXPERIMENTS, NO_REASON, Result, once, summary
from tsveil.reproduce.source import FILES, Source
from tsveil.reproduce.verdicts import AGREEING, MEANINGS, VERDICTS, Cell, Verdict, tally

#: verdict -> a sign for narrow places
SIGNS: dict[Verdict, str] = {"equal": "=", "near": "≈", "trend": "~", "differs": "≠", "not compared": "–"}

#: what was settled by looking at the printed figures, which a reader must know to weigh the agreement
CHOSEN = (
    "Multivariate MDAV of the thesis runs on raw values. The thesis does not say so; tsveil standardises by default. Among 96 variants tried "
    "on SSE figures of table 3.5 none agreed and raw values came closest, so they are used in tables 3.3 to 3.13 and 4.8 to 4.11. "
    "With standardised values fewer agree: 587 equal and 577 near where raw values gave 598 and 622 (all cells, counted in version 0.1).",
    "In tables 5.4 to 5.7 the 100 drawn records are normalised, not the whole files; of the two readings tried this one is nearer for Abalone "
    "and farther for WDBC.",
    "In table 4.3 and the figures made from it a value whose partner was swapped already keeps its place: links by distance are then 7 % off in the mean, "
    "where they are 56 % off if another partner is drawn (|ours - printed| / (ours + printed)); the loss is farther off, 15 against 8 %.",
    "Distances of table 4.2 are sums of absolute differences: of the Euclidean ones and these, the nearer.",
    "The reason on the Zscores rows of tables 3.7 and 4.8 to 4.11 was written after the figures had been seen to differ; that these tables "
    "contradict each other can be seen in print.",
)


#: what was tried to explain figures that differ, so that nobody has to try it again
TRIED = (
    "Tables 4.3 to 4.5, who is swapped with whom. Another partner is drawn when the first is taken: links by distance (DLD) are 56, 60 and 46 % off "
    "in the mean, |ours - printed| / (ours + printed), over six rows of each table. The value keeps its place when its partner is taken: 7, 3 and 17 % off, and "
    "4 % in table 4.5 if only higher ranks are drawn there; the losses are farther off then (15, 11 and 14 against 8 %). A value may be swapped again: 59, 57 and 39 %. Draws "
    "beyond the file cut back to its ends: 7 % in table 4.4. So the releases of the thesis probably left values in their places, in all three kinds; "
    "links by ranks (RSLD) of tables 4.4 and 4.5 do not fit with any of these rules.",
    "Tables 4.3 to 4.5, PLD: 71 % are printed for Census with p = 2 and 0.6 % with p = 20. Without values that keep their places agreement finds nobody; with them "
    "it finds 18 to 25 % for every p. No rule gives the fall.",
    "Table 3.12, Mic1D on EIA: DLD is printed as 0.00 for every k, and IL rises from 60 to 133; ours is 4 to 17 % for DLD, and IL jumps between 107 and 2598, because means near zero are divided by. "
    "The SSE of the same releases agrees (table 3.10).",
    "Table 3.4, scattered blocks of EIA: IL is printed as about half of ours for Zscores, although the SSE of the same releases agrees (table 3.6).",
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


#: what heads the table of tables
TABLE_SUMMARY = ("table", "", "cells", "with a reason", *VERDICTS)
#: how false rates are found
WRONG_LINES = (
    "Every line of a table is judged a second time with our figures of each other line that has as many cells and whose printed figures are more "
    "than 20 % away in the median: a wrong line. The share of wrong lines that a verdict accepts is its false rate."
)
#: what heads the summary: the kinds of reasons, the verdicts, and the share that agrees
SUMMARY = ("reason known before", "cells", *VERDICTS, "agree", "agree wrongly")


def evidence(results: Sequence[Result]) -> list[list[str]]:
    """The distinct cells by the kind of reason known before the comparison, and the false rate of each verdict as the last line."""
    found = summary(results)
    rows = [
        [
            name,
            _number(counted.cells),
            *(_number(counted.verdicts[verdict]) for verdict in VERDICTS),
            _percent(counted.agreeing) if counted.verdicts["not compared"] < counted.cells else "",
            _percent(counted.agreeing_wrongly),
        ]
        for name, counted in found.items()
    ]
    every = found[ALL]
    rates = [_percent(every.false_rate(verdict)) if verdict in AGREEING else "" for verdict in VERDICTS]
    return [*rows, ["with wrong lines", _number(every.tested), *rates, _percent(every.agreeing_wrongly), ""]]


def claims(results: Sequence[Result]) -> list[str]:
    """What the summary says, in sentences."""
    found = summary(results)
    every, free = found[ALL], found[NO_REASON]
    again = sum(len(result.cells) - len(cells) for result, cells in once(results) if not result.lacks)
    lacking = sum(len(cells) for result, cells in once(results) if result.lacks)
    also = f" ({again:,} more are printed a second time)" if again else ""
    lines = [f"{every.cells:,} printed figures, each counted once{also}."]
    if free.cells:
        lines.append(
            f"For {free.cells:,} no reason for a difference was known before the comparison: {_percent(free.agreeing)} of them agree "
            "(equal, near or trend)."
        )
    if free.tested:
        right = sum(free.right[verdict] for verdict in AGREEING) / free.tested
        lines.append(
            f"{free.tested:,} of these could be given the figures of wrong lines: {_percent(free.agreeing_wrongly)} would then agree, where "
            f"{_percent(right)} do with the right ones."
        )
    if lacking:
        lines.append(f"{lacking:,} {_cells(lacking)} more were not computed: their data are not there (--data).")
    return lines


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f} %"


def summary_rows(results: Sequence[Result]) -> list[list[str]]:
    """A line for each table: name and title, its cells that were not counted before, those with a reason, and the verdicts."""
    rows = []
    for result, cells in once(results):
        table, counted = result.experiment.table, tally(cells)
        with_reason = sum(cell.reason is not None for cell in cells)
        verdicts = (_number(counted.verdicts[verdict]) for verdict in VERDICTS)
        rows.append([table.name, table.title, _number(counted.cells), _number(with_reason), *verdicts])
    return rows


def reasons(results: Sequence[Result], verdict: Verdict) -> list[tuple[str, int, list[str]]]:
    """Why cells got a verdict: reason, number of cells, and tables, the most frequent first."""
    counted: Counter[str] = Counter()
    tables: dict[str, dict[str, None]] = {}
    for result, cells in once(results):
        for cell in cells:
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
        "## In short",
        "",
        *(f"- {claim}" for claim in claims(results)),
        "",
        *_markdown_table(SUMMARY, evidence(results)),
        "",
        "Agree: equal, near or trend. Agree wrongly: the share that would agree with the figures of a wrong line (below). The last line has the",
        "false rate of each verdict: the share of cells that would have it with the figures of a wrong line.",
        "",
        "## The verdicts",
        "",
        *(f"- **{verdict}**: {meaning}" for verdict, meaning in MEANINGS.items()),
        "",
        WRONG_LINES,
        "",
        "A random method is run with several seeds, and the mean counts.",
        "",
        "## The reasons",
        "",
        "They stand beside the printed figures, before anything is compared:",
        "",
        *(f"- **{kind}**: {meaning}" for kind, meaning in KINDS.items()),
        "",
        "## What was chosen by the printed figures",
        "",
        *(f"- {choice}" for choice in CHOSEN),
        "",
        "## What was tried",
        "",
        *(f"- {attempt}" for attempt in TRIED),
        "",
        "## Cells per table",
        "",
        "Cells that an earlier table prints with the same digits are left out.",
        "",
        *_markdown_table(TABLE_SUMMARY, summary_rows(results)),
        "",
    ]
    for verdict in ("differs", "not compared"):
        found = reasons(results, verdict)
        if found:
            lines += [f"## Why: {verdict}", ""]
            lines += [f"- {why} ({count} {_cells(count)}: {', '.join(tables)})" for why, count, tables in found]
            lines.append("")
    return "\n".join(lines)


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    numbers = [i > 0 and all(row[i][:1].isdigit() or not row[i] for row in rows) for i in range(len(head))]
    return [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("--:" if number else "---" for number in numbers) + " |",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


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
            kinds=KINDS,
            wrong_lines=WRONG_LINES,
            choices=CHOSEN,
            tried=TRIED,
            signs=SIGNS,
            claims=claims(results),
            evidence_head=SUMMARY,
            evidence=evidence(results),
            summary_head=TABLE_SUMMARY,
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
        if cell.why and cell.verdict not in AGREEING:
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
                    (
                        cells[row, column],
                        our_figure(cells[row, column]),
                        notes.get(cells[row, column].why),
                        _hint(cells[row, column]),
                    )
                    for column in table.columns
                ],
            )
            for row in table.rows
        ],
        "reasons": notes,
        "counts": {verdict: count for verdict, count in result.counts.items() if count},
    }


def _hint(cell: Cell) -> str:
    """What the page says about a cell when it is pointed at."""
    parts = [f"{cell.verdict}: {cell.why}" if cell.why else cell.verdict]
    if cell.reason is not None:
        parts.append(f"reason known before: {cell.reason}")
    if cell.wrong is not None and cell.verdict in AGREEING:
        parts.append(f"{100 * cell.wrong[cell.verdict]:.0f} % of the wrong lines give this verdict")
    if cell.printed_before:
        parts.append("printed and counted in an earlier table")
    return "; ".join(parts)


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
