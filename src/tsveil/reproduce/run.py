"""Run experiments and hold their figures against the published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsveil.core import progress
from tsveil.core.errors import InputError
from tsveil.reproduce import chapter2, chapter3, chapter4, chapter5, pattern, series
from tsveil.reproduce.experiment import Experiment
from tsveil.reproduce.printed import KINDS, Kind, printed_tables
from tsveil.reproduce.source import Source
from tsveil.reproduce.verdicts import VERDICTS, Cell, Tally, judge_table, tally, unavailable


def _all() -> dict[str, Experiment]:
    modules = (series, pattern, chapter2, chapter3, chapter4, chapter5)
    found = {experiment.name: experiment for module in modules for experiment in module.EXPERIMENTS}
    return {name: found[name] for name in printed_tables()}


#: by name, in the order of the papers
EXPERIMENTS: dict[str, Experiment] = _all()


@dataclass(frozen=True)
class Result:
    """An experiment and the verdicts on all cells of its table."""

    experiment: Experiment
    cells: Sequence[Cell]
    #: the files that it needs and that are not there; then nothing was compared
    lacks: Sequence[str] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Verdict -> number of cells."""
        counted = Counter(cell.verdict for cell in self.cells)
        return {verdict: counted[verdict] for verdict in VERDICTS}

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        table = self.experiment.table
        return {
            "name": table.name,
            "title": table.title,
            "how": self.experiment.how,
            "needs": list(self.experiment.needs),
            "counts": self.counts,
            "cells": [
                {
                    "row": dict(zip(table.keys, cell.row, strict=True)),
                    "column": cell.column,
                    "published": cell.printed,
                    "ours": cell.ours,
                    "verdict": cell.verdict,
                    "reason": cell.reason,
                    "why": cell.why,
                    "printed_before": cell.printed_before,
                    "wrong_lines": None if cell.wrong is None else dict(cell.wrong),
                }
                for cell in self.cells
            ],
        }


def choose_experiments(names: Iterable[str]) -> list[Experiment]:
    """The experiments with these names; the beginning of a name stands for all that begin with it and go on with a dot.

    Examples
    --------
    >>> [experiment.name for experiment in choose_experiments(["004-2", "000-3"])][-3:]
    ['004-2.SSE', '004-2.6', '000-3']
    >>> choose_experiments(["004-9"])
    Traceback (most recent call last):
    tsveil.core.errors.InputError: there is no experiment 004-9
      options: a paper (000, 001, 003, 004), a chapter (004-4) or a name of `tsveil reproduce --list`
    """
    found: dict[str, Experiment] = {}
    wrong = []
    for name in names:
        fitting = [e for e in EXPERIMENTS if e == name] or [
            e for e in EXPERIMENTS if e.startswith((f"{name}-", f"{name}."))
        ]
        found |= {fits: EXPERIMENTS[fits] for fits in fitting}
        wrong += [] if fitting else [f"there is no experiment {name}"]
    if wrong:
        hint = "options: a paper (000, 001, 003, 004), a chapter (004-4) or a name of `tsveil reproduce --list`"
        raise InputError("\n".join(wrong) + f"\n  {hint}", wrong)
    return list(found.values())


def reproduce(names: Iterable[str] | None = None, *, data: str | Path | None = None) -> list[Result]:
    """Run experiments of the source papers: all of them, or those with these names.

    `data` is a folder with the files that `tsveil reproduce --list` names; what needs a file that is not there is not compared.

    Examples
    --------
    >>> (result,) = reproduce(["004-2.4"])
    >>> result.counts["equal"]
    14
    """
    source = Source(data)
    wanted = list(EXPERIMENTS.values()) if names is None else choose_experiments(names)
    results = []
    with progress.step("Reproducing", total=len(wanted)) as done:
        for experiment in wanted:
            with progress.step(f"{experiment.name} {experiment.table.title}"):
                results.append(_result(experiment, source))
            done[0] += 1
    return results


def _result(experiment: Experiment, source: Source) -> Result:
    lacking = source.lacks(experiment.needs)
    if lacking:
        return Result(experiment, unavailable(experiment.table, f"needs {', '.join(lacking)} (--data)"), lacking)
    return Result(experiment, judge_table(experiment.table, experiment.figures(source)))


def once(results: Sequence[Result]) -> list[tuple[Result, list[Cell]]]:
    """The cells of each result without those that an earlier one of these results has already: each printed figure once."""
    names = {result.experiment.name for result in results}

    def cells(result: Result) -> list[Cell]:
        repeats = result.experiment.table.repeats in names
        return [cell for cell in result.cells if not (repeats and cell.printed_before)]

    return [(result, cells(result)) for result in results]


#: the row of a summary with the cells for which no reason was known before the comparison, and that with all cells
NO_REASON, ALL = "none", "all"


def summary(results: Sequence[Result]) -> dict[str, Tally]:
    """The distinct cells by the kind of reason that was known before the comparison; the last entry has all of them.

    Tables that lack a file of the data folder are left out.
    """
    cells = [cell for result, found in once(results) if not result.lacks for cell in found]
    kinds: dict[str, Kind | None] = {NO_REASON: None, **{kind: kind for kind in KINDS}}
    found = {name: tally(cell for cell in cells if cell.reason == kind) for name, kind in kinds.items()}
    return {**found, ALL: tally(cells)}


def summary_values(results: Sequence[Result]) -> dict[str, Any]:
    """The summary as plain values."""
    return {
        name: {
            "cells": counted.cells,
            "verdicts": dict(counted.verdicts),
            "tested_with_wrong_lines": counted.tested,
            "of_these": dict(counted.right),
            "expected_with_wrong_lines": dict(counted.wrong),
        }
        for name, counted in summary(results).items()
    }
