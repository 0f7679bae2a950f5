"""What no published envelope and no pattern can be: found in each chunk, and listed as if the table had never been cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from tsveil.data.intervals import HIGH, LOW, IntervalTable
from tsveil.engine.base import Result

#: the alphabet is a to z; values have finer levels than 16 nowhere
HIGHEST_LEVEL = 26
#: violations of one kind that are spelled out
SHOWN = 3


def faults_of(table: IntervalTable) -> Result:
    """Bounds in the wrong order (how many, and the first of them), and every pattern that cannot be, with its row and the reason.

    Examples
    --------
    >>> faults_of(IntervalTable(("1",), np.array([[2.0], [1.0]]), np.array([[1.0], [1.0]]), ("a", "c"), np.array([2, 2])))
    {'crossed': 1, 'bounds': [[0, 'lo_1 is 2, above hi_1, 1']], 'words': [[1, 'c', 2, 'the pattern c has a letter that level 2 does not have (its letters are a to b)']]}
    """
    crossed = table.lo > table.hi
    bounds = []
    for row, at in np.argwhere(crossed)[:SHOWN].tolist():
        label = table.labels[at]
        bounds.append([row, f"{LOW}{label} is {table.lo[row, at]:g}, above {HIGH}{label}, {table.hi[row, at]:g}"])
    pairs = (
        []
        if table.words is None or table.levels is None
        else list(zip(table.words, table.levels.tolist(), strict=True))
    )
    wrong = {pair: why for pair in set(pairs) if (why := _wrong_word(*pair))}
    words = sorted([pairs.index(pair), *pair, why] for pair, why in wrong.items())
    return {"crossed": int(crossed.sum()), "bounds": bounds, "words": words}


def _wrong_word(word: str, level: int) -> str:
    if not 1 <= level <= HIGHEST_LEVEL:
        return f"the level {level} is not between 1 and {HIGHEST_LEVEL}"
    if not word:
        return "the pattern is empty"
    if word.startswith("["):
        return _wrong_values(word, level)
    last = chr(ord("a") + level - 1)
    if any(not "a" <= letter <= last for letter in word):
        return f"the pattern {word} has a letter that level {level} does not have (its letters are a to {last})"
    return ""


def _wrong_values(text: str, level: int) -> str:
    """Why a pattern of PAA cannot be: its values are 0 at level 1, else odd multiples of 2 / level, and no larger than the number of segments allows."""
    if level & (level - 1):
        return f"the pattern {text} has values, and level {level} is none of theirs (1, 2, 4, 8, 16)"
    try:
        values = [Fraction(part) for part in text.removeprefix("[").removesuffix("]").split()]
    except (ValueError, ZeroDivisionError):
        values = []
    if not values or not text.endswith("]"):
        return f"the pattern {text} must be numbers between brackets"
    if level == 1:
        fits = not any(values)
    else:
        fits = all((value * level / 2) % 2 == 1 for value in values)
    if not fits:
        return f"the pattern {text} has a value that level {level} does not have ({'0 only' if level == 1 else f'odd multiples of {2 / level:g}'})"
    # w means of a series with mean 0 and deviation 1 have squares of w - 1 at most; each is within 2 / level of its value.
    if any(max(abs(value) - Fraction(2, level), Fraction()) ** 2 > len(values) - 1 for value in values):
        return f"the pattern {text} has a value beyond those that {len(values)} segments can have"
    return ""


def fault_list(faults: Sequence[Result | None], starts: Sequence[int]) -> Iterator[str]:
    """The faults of all chunks in words; `starts` has the number of rows before each chunk."""
    found = [(start, one) for start, one in zip(starts, faults, strict=False) if one]
    bounds = [f"row {start + row + 1}: {text}" for start, one in found for row, text in one["bounds"]]
    yield from bounds[:SHOWN]
    if (more := sum(one["crossed"] for _, one in found) - SHOWN) > 0:
        yield f"... and {more} more bounds in the wrong order"
    words: dict[tuple[str, int], str] = {}
    for start, one in found:
        for row, word, level, why in one["words"]:
            words.setdefault((word, level), f"row {start + row + 1}: {why}")
    yield from list(words.values())[:SHOWN]
    if len(words) > SHOWN:
        yield f"... and {len(words) - SHOWN} more patterns that cannot be"
