"""What several releases of the same persons tell together: the classes of a person in all of them, intersected.

Who knows a person knows the class of equal published rows that the person is in, release by release: a method that publishes representatives can be run again by who has the originals. A row that can be followed from
release to release belongs to somebody who is in all of its classes. It can be followed by an identifier that stays, and by what does not change: carried columns, and protected columns without times. So among the n_p persons
with the same history as person p the row is guessed right with

    1 / n_p        n_p: the persons with p's history, or with p's sequence of rows under one identifier, whichever are fewer

which `tsveil.guarantee.composed` counts, and proves to be exact where all carried values differ. Without an earlier release n_p is the size of p's class.

`tsveil verify A B` and releases that are written after others have this attack on their ladder. 526 households, two weeks protected by MDAV with k = 5 and followed from one to the other: each week by itself leaves five candidates, the
two leave 47 % of the households alone.

References
----------
.. [1] S.R. Ganta, S.P. Kasiviswanathan, A. Smith, Composition attacks and auxiliary information in data privacy, KDD (2008) 265-273.
.. [2] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), section 7.2.

Examples
--------
Two releases with two classes of two, which are other ones in the second; the tariff stays, and leaves everybody alone:

>>> import tsveil as tv
>>> def month(time, loads):
...     return tv.Dataset.from_arrays({"load": loads}, times=[time], ids=list("abcd"), confidential={"tariff": list("wxyz")})
>>> first, second = month("2026-01", [[1.0], [1.0], [2.0], [2.0]]), month("2026-02", [[5.0], [6.0], [5.0], [6.0]])
>>> tv.attack.releases(second, second)
Links: linkage over releases, 0 earlier ones known: 2.0 of 4 records re-identified (50.0 %)
>>> tv.attack.releases(second, second, earlier=[(first, "id")])
Links: linkage over releases, 1 earlier one known: 4.0 of 4 records re-identified (100.0 %)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl

from tsveil.attack.base import DoesNotFitError, OnRequest, Rung
from tsveil.attack.files import HasData, own_rows, persons_of, released_data
from tsveil.attack.links import Links
from tsveil.core.types import Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset, person_numbers
from tsveil.guarantee.chunks import Chunks
from tsveil.guarantee.composed import PersonsOfRelease, compose, sets_of_classes


def releases(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    earlier: Sequence[tuple[Dataset | HasData, Truth]] = (),
) -> Links:
    """Link persons to rows of a release by their classes in it and in earlier ones.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    earlier
        Earlier releases with the truth about each, the oldest first.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    if known is not None:
        raise DoesNotFitError(
            "this attack knows the classes of a person, not values\n  options: leave out what is known"
        )
    persons = persons_of(original)
    people = np.arange(original.n) if persons is None else persons
    shown: list[tuple[Dataset, Indices]] = []
    for given, about in (*earlier, (released, truth)):
        protected = released_data(given)
        shown.append((protected, own_rows(original, protected, about)))
    beyond, several = int(people.max(initial=-1)) + 1, list[PersonsOfRelease]()
    ids = _identifiers([data for data, _ in shown])
    for (data, own), names in zip(shown, ids, strict=True):
        owner = np.arange(beyond, beyond + data.n)  # rows of persons who are not known are nobody's
        beyond += data.n
        owner[own[own >= 0]] = people[own >= 0]
        several.append(PersonsOfRelease("", Chunks.of(data), data.confidential, "record", owner, names))
    own = shown[-1][1]
    classes, alone = sets_of_classes(several[-1], beyond)
    size = alone.size
    for _, sets in compose(several, 2).sets if earlier else ():
        fewer = np.flatnonzero((sets.size > 0) & (sets.size < size[: len(sets.size)]))
        size[fewer] = sets.size[fewer]
    there = own >= 0
    candidates = np.where(there, size[people], 0)
    first = np.full(int(classes.max(initial=-1)) + 1, len(classes), dtype=np.int64)
    np.minimum.at(first, classes, np.arange(len(classes)))
    count = len(earlier)
    return Links(
        f"linkage over releases, {count} earlier {'one' if count == 1 else 'ones'} known",
        candidates,
        np.where(there, first[classes[own]], -1),
        there,
        own=own,
        persons=persons,
        released=len(classes),
        probability=np.where(there, 1 / np.maximum(candidates, 1), 0.0),
    )


def _identifiers(shown: Sequence[Dataset]) -> list[Indices]:
    """The published identifiers as numbers, alike in all releases; none where a release has no column of them."""
    named = [data for data in shown if data.id is not None]
    if not named:
        return [np.empty(0, dtype=np.int64) for _ in shown]
    joined = pl.concat([data.ids.cast(pl.String).rename("id") for data in named]).to_frame()
    parts = iter(np.split(person_numbers(joined, ["id"]), np.cumsum([data.n for data in named])[:-1]))
    return [np.empty(0, dtype=np.int64) if data.id is None else next(parts) for data in shown]


@dataclass(frozen=True, kw_only=True)
class Releases(OnRequest):
    """Linkage by the classes of a person in several releases."""

    name: ClassVar[str] = "releases"
    figure: ClassVar[str] = "RELD"
    plain: ClassVar[str] = "linkage over releases"
    summary: ClassVar[str] = (
        "Share found by who knows a person's class in each of several releases, whose rows an identifier or a carried value ties."
    )
    reference: ClassVar[str] = "Ganta, Kasiviswanathan and Smith 2008"
    rung: ClassVar[Rung] = Rung.RELEASES
    of_series: ClassVar[bool | None] = None
    options: ClassVar[tuple[str, ...]] = ("earlier",)
    on_files: ClassVar[Callable[..., Links] | None] = partial(releases)
