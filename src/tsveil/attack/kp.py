"""Linkage to published envelopes and patterns: by values, by pattern, and by both.

The intruder knows a person's series and looks for the published records that may be the person's:

    values    the record's envelope holds all known values; the pattern column is ignored
    pattern   the record's word is the word of the known series at the record's level
    both      the two together; who knows all values can compute the words, so this is the attack of whoever knows them

Nothing distinguishes the records that fit, so he picks one of them: the breach probability of a person is 1 / (records
that fit), and 0 for a person whose record was suppressed. These are the three attacks of [1]_, with the whole pattern
known. A (k,P)-anonymous table keeps all of them at 1/P or below, and the attack by values at 1/k.

References
----------
.. [1] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336, section 2.3.

Examples
--------
>>> import numpy as np
>>> x = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 2.0]])
>>> table = IntervalTable(
...     ("1", "2"), lo=np.full((3, 2), 1.0), hi=np.full((3, 2), 2.0), words=("ab", "ba", "ab"), levels=np.array([2, 2, 2])
... )
>>> for links in envelope_linkages(x, table).values():
...     print(links)
Links: linkage by values: 1.0 of 3 records re-identified (33.3 %)
Links: linkage by pattern: 2.0 of 3 records re-identified (66.7 %), 1 with certainty
Links: linkage by values and pattern: 2.0 of 3 records re-identified (66.7 %), 1 with certainty
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsveil._types import Array, Indices, Mask
from tsveil.attack.links import Links
from tsveil.data.intervals import IntervalTable
from tsveil.engine.local import map_chunks
from tsveil.errors import InputError, some
from tsveil.transform.sax import as_words, patterns, symbols

#: records per piece of work
CHUNK = 1000


def envelope_linkages(
    x: Array, table: IntervalTable, own: Indices | None = None, *, known: Sequence[str] | None = None
) -> dict[str, Links]:
    """The attacks "values", "pattern" and "both" on a published table; only the first if it has no patterns.

    `x` are the original series; `own` says which row of the table belongs to each of them (-1: suppressed; row i to row
    i when left out); `known` are the time points whose values the intruder knows, all when left out. The pattern is
    known as a whole.
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    _check(x, table, own)
    own = np.arange(len(x)) if own is None else np.asarray(own, dtype=np.int64)
    points = _points(table, known)
    mine, kind, number = _own_patterns(x, table)
    fits, held = _by_envelope(x, table, points, mine, kind, number, own)
    links = {"values": _links("linkage by values", fits[:, 0], fits[:, 1], held, own, table.n)}
    if table.words is None:
        return links
    count = np.bincount(number)
    first = np.unique(number, return_index=True)[1]
    fit = mine >= 0
    candidates = np.where(fit, count[mine], 0).sum(axis=1)
    lowest = np.where(fit, first[mine], table.n).min(axis=1)
    alike = (own >= 0) & (mine[np.arange(len(x)), kind[own]] == number[own])
    links["pattern"] = _links(
        "linkage by pattern", candidates, np.where(lowest < table.n, lowest, -1), alike, own, table.n
    )
    links["both"] = _links("linkage by values and pattern", fits[:, 2], fits[:, 3], held & alike, own, table.n)
    return links


def _links(attack: str, candidates: Indices, link: Indices, hit: Mask, own: Indices, released: int) -> Links:
    return Links(
        attack,
        candidates=candidates.astype(np.int64),
        link=link.astype(np.int64),
        hit=hit,
        certain=hit & (candidates == 1),
        own=own,
        released=released,
    )


def _check(x: Array, table: IntervalTable, own: Indices | None) -> None:
    if not table.n:
        raise InputError("the published table has no records; there is nothing to link to")
    if x.ndim != 2 or x.shape[1] != len(table.labels):
        raise InputError(
            f"the original must be a table of series with {len(table.labels)} points, as the published one. Got the shape {x.shape}."
        )
    if own is None and len(x) != table.n:
        raise InputError(
            f"the original has {len(x)} records and the published table {table.n}; say which published row belongs to each (own=...)"
        )
    if own is not None and (len(own) != len(x) or (np.asarray(own) >= table.n).any()):
        raise InputError("own= must name a row of the published table for each original record, or -1")


def _points(table: IntervalTable, known: Sequence[str] | None) -> Indices:
    if known is None:
        return np.arange(len(table.labels))
    unknown = [label for label in known if str(label) not in table.labels]
    if unknown or not len(known):
        raise InputError(f"no such time point: {some(unknown)}\n  time points: {some(table.labels, 20)}")
    return np.array(sorted({table.labels.index(str(label)) for label in known}), dtype=np.int64)


def _own_patterns(x: Array, table: IntervalTable) -> tuple[Indices, Indices, Indices]:
    """Patterns as numbers: of each record at each published level (-1: not published), then of each row.

    The second is the place of the row's level, the third the number of its pattern.
    """
    if table.words is None or table.levels is None:
        return (
            np.zeros((len(x), 1), dtype=np.int64),
            np.zeros(table.n, dtype=np.int64),
            np.zeros(table.n, dtype=np.int64),
        )
    numbers: dict[tuple[str, int], int] = {}
    number = np.array(
        [numbers.setdefault(pair, len(numbers)) for pair in zip(table.words, table.levels.tolist(), strict=True)],
        dtype=np.int64,
    )
    means = patterns(x, len(table.words[0]))
    levels, kind = np.unique(table.levels, return_inverse=True)
    mine = np.empty((len(x), len(levels)), dtype=np.int64)
    for at, level in enumerate(levels.tolist()):
        mine[:, at] = [numbers.get((word, level), -1) for word in as_words(symbols(means, level))]
    return mine, kind.astype(np.int64), number


def _by_envelope(
    x: Array, table: IntervalTable, points: Indices, mine: Indices, kind: Indices, number: Indices, own: Indices
) -> tuple[Indices, Mask]:
    """What fits by values and by both (see the kernel), and whether a person's own record fits by values."""
    from tsveil._kernels.kp import fitting_records

    bounds = np.ascontiguousarray(np.hstack([table.lo[:, points], table.hi[:, points]]))
    packed = bounds.view(np.dtype((np.void, bounds.itemsize * bounds.shape[1]))).ravel()
    _, first_row, envelope = np.unique(packed, return_index=True, return_inverse=True)
    envelope = envelope.ravel()
    keys, first, count = np.unique(np.column_stack([envelope, number]), axis=0, return_index=True, return_counts=True)
    start = np.searchsorted(keys[:, 0], np.arange(len(first_row) + 1)).astype(np.int64)
    lo, hi = (np.ascontiguousarray(side[first_row][:, points]) for side in (table.lo, table.hi))
    values = np.ascontiguousarray(x[:, points])
    classes = (start, kind[first], keys[:, 1].astype(np.int64), count.astype(np.int64), first.astype(np.int64))

    def work(begin: int, end: int) -> Indices:
        return fitting_records(values[begin:end], lo, hi, *classes, mine[begin:end])

    fits = np.concatenate(map_chunks(work, len(x), CHUNK))
    inside = ((table.lo[own][:, points] <= values) & (values <= table.hi[own][:, points])).all(axis=1)
    return fits, (own >= 0) & inside
