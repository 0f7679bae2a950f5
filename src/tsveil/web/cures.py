"""Gaps as one problem, with what can be done about them: the options that the message of the reader names, and the price of each.

Which options there are is the reader's to say, so that the page offers what the command line offers. The prices are those of docs/reading.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tsveil.data.gaps import cures_of, is_about_gaps

#: option, value -> the words on its button, and what it costs
WORDS = {
    ("missing", "drop"): ("Leave these records out", "Everything in them is lost."),
    ("missing", "interpolate"): (
        "Fill the gaps between neighbours in time",
        "What is published is then partly made of values that nobody measured.",
    ),
    ("missing", "mask"): ("Keep the gaps", "The release has empty cells, and only MDAV protects such records."),
    ("resample", ""): ("Bring every series to the same number of points", "The times change."),
    ("split", ""): (
        "Cut every series into shorter ones",
        "This helps where whole series follow each other in a record.",
    ),
}


def gaps_in(problems: Sequence[str], message: str) -> dict[str, Any] | None:
    """The gaps among the problems of a file: what is incomplete, the cells, and the buttons; None where there are none.

    Examples
    --------
    >>> cells = ["row 5, column 'load': the value is missing", "series 'load' is incomplete: 1 of 30 records have only 4 of the 6 points (first: 'a')"]
    >>> found = gaps_in(cells, "2 problems\\n  options: missing='drop' leaves incomplete records out")
    >>> found["said"], found["cells"], [cure["button"] for cure in found["cures"]]
    (["series 'load' is incomplete: 1 of 30 records have only 4 of the 6 points (first: 'a')"], ["row 5, column 'load': the value is missing"], ['Leave these records out'])
    """
    about = [problem for problem in problems if is_about_gaps(problem)]
    cures = cures_of(message)
    if not about or not cures:
        return None
    cells = [problem for problem in about if problem.endswith((": the value is missing", "more missing values"))]
    return {
        "said": [problem for problem in about if problem not in cells],
        "cells": cells,
        "cures": [
            {
                "option": cure.option,
                "value": cure.value,
                "button": WORDS.get((cure.option, cure.value), (f"It {cure.does}", ""))[0],
                "price": WORDS.get((cure.option, cure.value), ("", ""))[1],
            }
            for cure in cures
        ],
    }


def cure_options(option: str, value: str) -> dict[str, Any]:
    """The option of reading that a button stands for; `check_gap_options` and `read` say whether the number can be used.

    Examples
    --------
    >>> cure_options("missing", "drop"), cure_options("resample", "24")
    ({'missing': 'drop'}, {'resample': 24})
    """
    return {option: value if option == "missing" else int(value)}
