"""Two releases of the same data side by side: what each promises, loses and leaks, and what the curves look like.

Both are measured anew against the original data with the same options: figures that were stored when the releases were made may
have been measured in different ways and would not be comparable. The risk is that of an intruder who has the originals of everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tsveil.assess.summary import kind_of, summed_up
from tsveil.core.errors import InputError
from tsveil.data.dataset import Dataset
from tsveil.plan.stored import original_of
from tsveil.release.publish import judge_unwritten_release
from tsveil.release.release import Release
from tsveil.release.reopen import reopen_release
from tsveil.report.comparison import Comparison, Side
from tsveil.study.sweep import fingerprint


def compare(
    a: Release | str | Path,
    b: Release | str | Path,
    *,
    original: Dataset | None = None,
    evaluate: Mapping[str, Any] | None = None,
    title: str = "",
) -> Comparison:
    """Measure two releases of the same data in the same way.

    Parameters
    ----------
    a, b
        A release made by a method's `protect`, or the folder of a written one, with its private side.
    original
        The data that both were made from; of a folder they are read again as its plan says unless given.
    evaluate
        Options of `tsveil.evaluate`.
    title
        The title of the page.

    Returns
    -------
    Comparison
        The figures side by side, and the page that shows them.

    Raises
    ------
    InputError
        If a folder cannot be opened as a release, or the releases are not of the same data.
    """
    releases = [_open_release(one, original) for one in (a, b)]
    first, second = (release.original for release in releases)
    if fingerprint(first) != fingerprint(second):
        raise InputError(
            f"these are not releases of the same data: {first!r} and {second!r}\n"
            "  options: name the original data (original=..., --original), if both were made from them"
        )
    names = _names(a, b)
    sides = [_side(name, release, evaluate or {}) for name, release in zip(names, releases, strict=True)]
    return Comparison(sides[0], sides[1], kind_of(first), title)


def _side(name: str, release: Release, options: Mapping[str, Any]) -> Side:
    verdict = release.verify()
    return Side(
        name, release, verdict, summed_up(release, *judge_unwritten_release(release, verdict, options), options)
    )


def _open_release(one: Release | str | Path, original: Dataset | None) -> Release:
    if isinstance(one, (str, Path)):
        return reopen_release(one, original_of(one) if original is None else original)
    return one


def _names(a: object, b: object) -> tuple[str, str]:
    """What the two are called: their folders if these tell them apart."""
    if isinstance(a, (str, Path)) and isinstance(b, (str, Path)):
        one, other = Path(a).absolute().name, Path(b).absolute().name
        if one != other:
            return one, other
    return "A", "B"
