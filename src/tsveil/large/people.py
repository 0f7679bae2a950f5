"""Whom the intruder knows when a release in many files is attacked: everybody, as long as that is affordable, or a sample.

Each person is compared with the distinct rows of the whole release, so the work of an attack is people times what it compares each of them with.
All records are people while that is at most `PAIRS`, or `PER_RECORD` for each record: then the linkages cost about as much as
everything else (`benchmarks/scale.py`). Above, a sample of as many people as that allows. The caller may ask for all or for a number.

Who is in a sample depends on the number of the published row alone, through a mixing function, so the larger of two samples holds the smaller. The order of
the published rows is a secret drawn at random, so the sample is as random as it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tsveil._types import AnyArray, Indices
from tsveil.errors import ParameterError
from tsveil.large.job import Job
from tsveil.randomness import mixed

#: pairs of a person and a released row that are always compared, and how many more for each record
PAIRS, PER_RECORD = 10**10, 25_000
#: people of one task, about: what is made ready for them is worth making
AT_ONCE = 2**15
#: sets the people apart from the sample that cuts are found from
SALT = np.uint64(1 << 40)


def checked_people(people: object) -> int | None:
    """The number that the caller asked for; 0: all, None: as many as are affordable."""
    if people is None:
        return None
    if people == "all":
        return 0
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise ParameterError(
            f"The 'people' parameter of protect_folder must be 'all' or an integer of at least 1. Got {people!r}."
        )
    return people


def wanted(job: Job, compared: float) -> int:
    """How many people an attack knows that compares each of them with so many records; n: all."""
    if job.people is not None:
        return min(job.n, job.people or job.n)
    return min(job.n, max(1, int(max(PAIRS, PER_RECORD * job.n) / max(compared, 1.0))))


def border_of(n: int, people: int) -> int:
    """The mark that exactly so many of n published rows do not exceed.

    Examples
    --------
    >>> len(rows_of(border_of(1000, 30), 0, 1000)), len(rows_of(border_of(1000, 1000), 0, 1000))
    (30, 1000)
    """
    return int(np.partition(_marks(0, n), people - 1)[people - 1])


def rows_of(border: int, start: int, stop: int) -> Indices:
    """Those of the published rows start..stop that belong to people whom the intruder knows."""
    return start + np.flatnonzero(_marks(start, stop) <= np.uint64(border))


def _marks(start: int, stop: int) -> AnyArray:
    return mixed(np.arange(start, stop, dtype=np.uint64) + SALT)


def file_runs(job: Job, people: int) -> list[tuple[int, int]]:
    """Runs of published files, first..last, whose people are attacked together."""
    together = max(1, int(AT_ONCE / (job.file_rows * people / job.n)))
    return [(at, min(at + together, job.files)) for at in range(0, job.files, together)]


def told(job: Job, counts: Mapping[str, int]) -> str:
    """Attack -> number of people, in words."""

    def words(count: int) -> str:
        if count == job.n:
            return "all records"
        return f"a random sample of {count:,} of {job.n:,} records, each linked against the whole release"

    if len(set(counts.values())) == 1:
        return words(next(iter(counts.values())))
    by_count: dict[int, list[str]] = {}
    for figure, count in counts.items():
        by_count.setdefault(count, []).append(figure)
    return "; ".join(f"{', '.join(figures)}: {words(count)}" for count, figures in by_count.items())
