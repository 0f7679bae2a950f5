"""How the figures of a release were measured, in words: the options of an evaluation, and what it left out."""

from __future__ import annotations

from collections.abc import Mapping

#: what an evaluation left out -> how a note about it begins
NOTES = {
    "targets": "Attacked",
    "skipped": "Skipped",
    "models left out": "Forecasts left out",
    "not measured": "Not measured",
}
#: option of the evaluation -> value -> what it means
OPTIONS: dict[str, dict[str, str]] = {
    "ties": {
        "expected": "When several published records fit equally well, the intruder picks one of them at random.",
        "first": "When several published records fit equally well, the intruder takes the first; the result depends on the order of rows.",
    },
    "dr1": {
        "max": "Of the two linkages the better one counts as re-identification.",
        "mean": "The mean of the two linkages counts as re-identification.",
    },
    "normalise": {
        "global": "Before linking, each series is normalised by one mean and one standard deviation over all records.",
        "per-record": "Before linking, each record is normalised by its own mean and standard deviation.",
        "component": "Before linking, each time point is normalised by its own mean and standard deviation.",
        "ranging": "Before linking, each time point is mapped to its range from 0 to 1.",
        "none": "Series are linked without normalising them.",
    },
    "scaling": {
        "original": "The intruder normalises both files by the original's figures: the strongest assumption.",
        "own": "The intruder normalises each file by its own figures.",
    },
    "variant": {
        "default": "Losses are mean absolute differences.",
        "paper": "Losses are differences of absolute statistics as printed in the source paper, which hides changes of sign.",
    },
}


def notes(options: Mapping[str, str]) -> list[str]:
    """What was attacked and what was left out.

    Examples
    --------
    >>> notes({"ties": "first", "targets": "all records", "skipped": "linkage by ranks"})
    ['Attacked: all records', 'Skipped: linkage by ranks']
    """
    return [f"{words}: {options[name]}" for name, words in NOTES.items() if name in options]


def describe_options(options: Mapping[str, str]) -> list[str]:
    """How it was measured, a sentence each."""
    meanings = [OPTIONS[name][value] for name, value in options.items() if value in OPTIONS.get(name, {})]
    return [*meanings, *(f"{note}." for note in notes(options))]
