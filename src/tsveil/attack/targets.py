"""The records that an attack is tried on: all of them as long as that is affordable, or a sample.

Each target is compared with the whole release, so the work of an attack is the number of targets times what it compares each of them with.
Up to `EVERYBODY` records all are targets. Above, all are while the work is at most `PAIRS`, or `PER_RECORD` for each record: then the
linkages cost about as much as everything else (`benchmarks/scale.py`); otherwise a sample of as many as that allows. The caller may ask for all or
for a number. Nothing of this depends on how the data come in pieces.

Whether a record is in a sample depends on its number in the input alone, through a mixing function, so the larger of two samples holds the
smaller. Where persons may have several records, persons are sampled, each with all records.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tsveil.core.errors import ParameterError
from tsveil.core.randomness import mix
from tsveil.core.types import AnyArray, Indices, Mask

#: that many records are always attacked
EVERYBODY = 20_000
#: pairs of a target and a released row that are always compared, and how many more for each record
PAIRS, PER_RECORD = 10**10, 25_000
#: sets the targets apart from the sample that cuts are found from
SALT = np.uint64(1 << 40)


def checked_targets(targets: object) -> int | None:
    """The number that the caller asked for; 0: all, None: as many as are affordable.

    Examples
    --------
    >>> checked_targets("all"), checked_targets(500), checked_targets(None)
    (0, 500, None)
    """
    if targets is None:
        return None
    if targets == "all":
        return 0
    if isinstance(targets, bool) or not isinstance(targets, int) or targets < 1:
        raise ParameterError(
            f"The 'targets' parameter of evaluate must be 'all' or an integer of at least 1. Got {targets!r}."
        )
    return targets


def affordable(n: int, compared: float, asked: int | None = None, least: int = 1, each: float = 1.0) -> int:
    """The number of persons attacked, of n, by an attack that compares each of their records with this many; n: all.

    They have `each` records on average. `least` is the fewest that are worth taking: a smaller sample would cost the same.

    Examples
    --------
    >>> affordable(20_000, 1e6), affordable(10**6, 10**6), affordable(10**6, 10**6, asked=500)
    (20000, 25000, 500)
    """
    if asked is not None:
        return min(n, asked or n)
    if n * each <= EVERYBODY:
        return n
    return min(n, max(least, int(max(PAIRS, PER_RECORD * n * each) / max(compared * each, 1.0))))


def border_of(numbers: Indices, targets: int) -> int:
    """The mark that exactly this many of some numbers do not exceed.

    Examples
    --------
    >>> numbers = np.arange(1000)
    >>> chosen_rows(border_of(numbers, 30), numbers).sum(), chosen_rows(border_of(numbers, 1000), numbers).all()
    (np.int64(30), np.True_)
    """
    return int(np.partition(_marks(numbers), targets - 1)[targets - 1])


def chosen_rows(border: int, numbers: Indices) -> Mask:
    """Which of the records with these numbers in the input, or whose persons have these, are in the sample."""
    found: Mask = _marks(numbers) <= np.uint64(border)
    return found


def _marks(numbers: Indices) -> AnyArray:
    return mix(numbers.astype(np.uint64) + SALT)


def in_words(n: int, counts: Mapping[str, int], what: str = "records") -> str:
    """Attack -> number of targets, in words; `what` they are.

    Examples
    --------
    >>> in_words(100, {"EULD": 100, "RSLD": 100}), in_words(100, {"EULD": 100, "RSLD": 30})
    ('all records', 'EULD: all records; RSLD: a random sample of 30 of 100 records, each linked against the whole release')
    """

    def words(count: int) -> str:
        if count == n:
            return f"all {what}"
        return f"a random sample of {count:,} of {n:,} {what}, each linked against the whole release"

    if len(set(counts.values())) == 1:
        return words(next(iter(counts.values())))
    by_count: dict[int, list[str]] = {}
    for figure, count in counts.items():
        by_count.setdefault(count, []).append(figure)
    return "; ".join(f"{', '.join(figures)}: {words(count)}" for count, figures in by_count.items())
