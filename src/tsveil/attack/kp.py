"""Linkage to published envelopes and patterns: by values, by pattern, by both, and by the bounds of the envelopes.

The intruder knows a target's series and looks for the published records that may be the target's:

    values    the record's envelope holds all known values; the pattern column is ignored
    pattern   the record's pattern is that of the known series at the record's level: its SAX word, or its values of PAA
    both      the two together; who knows all values can compute the patterns, so this is the attack of whoever knows them

He picks one of the records that fit: the breach probability of a target is 1 / (records that fit), and 0 for a target whose record was suppressed. These are the
three attacks of [1]_, with the whole pattern known, or a part of it (`letters`, by places from 0): then a record fits whose pattern agrees there. A fourth one looks at the envelopes more closely:

    bounds    of the records that fit by values and pattern those of the finest level; of these, those of an envelope that a known value touches, if there are any; of these, the
              narrowest envelopes

for a word of a finer level fits fewer strangers, the bounds of an envelope are exact values of its members, and a stranger touches them by chance alone. The width is the sum over all points. Where bounds were rounded
outwards nobody touches them, and the narrowest of all that fit are left. Records of one envelope, pattern and level differ in nothing, so a
(k,P)-anonymous table keeps all four attacks at 1/P or below, the attack by values at 1/k, and k-anonymous envelopes without patterns all at 1/k.

A table in pieces is attacked piece by piece: the numbers of records that fit add up (`Fitting`, `merged_fits`). The targets are all records
as long as that is affordable, or a sample (`targets_of`).

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
Links: linkage by bounds: 2.0 of 3 records re-identified (66.7 %), 1 with certainty
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tsveil.attack.links import Links
from tsveil.core.errors import InputError, some
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Store
from tsveil.engine.local import map_chunks
from tsveil.transform.pattern import as_symbols, pattern_of, segments, symbols
from tsveil.transform.sax import patterns

#: targets per piece of work
CHUNK = 1000
#: up to this many records all are targets; above, as many as make this many pairs with all records, and no fewer than that
EVERYBODY, PAIRS, FEWEST = 200_000, 10**10, 10_000

#: the attacks, as they are called in words
ATTACKS = {"values": "values", "pattern": "pattern", "both": "values and pattern"}
BOUNDS = "bounds"


def targets_of(n: int, asked: int | None = None) -> Indices:
    """The numbers of the records, of n, that the attacks are tried on; nothing else decides which.

    All up to 200,000 records: the highest chance of a sample may miss that of all. `asked` asks for another number (0: all).

    Examples
    --------
    >>> len(targets_of(200_000)), len(targets_of(400_000)), len(targets_of(10**7)), len(targets_of(10**6, asked=5))
    (200000, 25000, 10000, 5)
    """
    wanted = (n if n <= EVERYBODY else max(FEWEST, PAIRS // n)) if asked is None else asked or n
    if wanted >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(n).choice(n, wanted, replace=False))


@dataclass(frozen=True, eq=False)
class Piece:
    """Some original series, and some published records: all of both, or those of one published file."""

    #: (series, points)
    x: Array
    #: the numbers of the series in the original, and the published record here that belongs to each (-1: none)
    records: Indices
    own: Indices
    #: (published records, points)
    lo: Array
    hi: Array
    #: the pattern of each published record as symbols (`tsveil.transform.pattern`), and its level; none in a table of envelopes alone
    letters: AnyArray | None = None
    levels: Indices | None = None

    @classmethod
    def of(cls, x: Array, table: IntervalTable, own: Indices | None = None, records: Indices | None = None) -> Piece:
        """The series `x` and a table; row i belongs to row i, and the series are all there are, when left out."""
        _check(x, table, own)
        words = table.words
        letters = None if words is None else as_symbols(words) if words else np.zeros((0, 1), dtype=np.uint8)
        return cls(
            np.ascontiguousarray(x, dtype=np.float64),
            np.arange(len(x)) if records is None else records,
            np.arange(len(x)) if own is None else np.asarray(own, dtype=np.int64),
            np.ascontiguousarray(table.lo),
            np.ascontiguousarray(table.hi),
            letters,
            table.levels,
        )

    @property
    def n(self) -> int:
        """The number of published records."""
        return len(self.lo)

    def published(self) -> Piece:
        """The series that are published, each with its own envelope and pattern."""
        kept = np.flatnonzero(self.own >= 0)
        own = self.own[kept]
        letters, levels = (None if side is None else side[own] for side in (self.letters, self.levels))
        return Piece(
            self.x[kept], self.records[kept], np.arange(len(kept)), self.lo[own], self.hi[own], letters, levels
        )

    def save(self, store: Store, at: int) -> None:
        """Keep it as the piece of this number."""
        for name, array in vars(self).items():
            if array is not None:
                store.put(f"piece-{at}.{name}", array)

    @classmethod
    def load(cls, store: Store, at: int, *, words: bool) -> Piece:
        """The piece of this number; `words` says whether its records have patterns."""
        names = ("x", "records", "own", "lo", "hi", *(("letters", "levels") if words else ()))
        return cls(**{name: store.get(f"piece-{at}.{name}", whole=True) for name in names})


def envelope_linkages(
    x: Array,
    table: IntervalTable,
    own: Indices | None = None,
    *,
    known: Sequence[str] | None = None,
    letters: Sequence[int] | None = None,
) -> dict[str, Links]:
    """The attacks "values", "pattern", "both" and "bounds" on a published table; only the first and the last if it has no patterns.

    `x` are the original series; `own` says which row of the table belongs to each of them (-1: suppressed; row i to row
    i when left out); `known` are the time points whose values the intruder knows, all when left out. The pattern is
    known as a whole.
    """
    if not table.n:
        raise InputError("the published table has no records; there is nothing to link to")
    piece = Piece.of(x, table, own)
    fitting = Fitting(piece, _points(table, known), _letters(table, letters))
    return links_of(fitting.of(piece.x, piece.own), fitting.touched(piece.x, piece.own), piece.own, table.n)


def links_of(fits: Indices, touched: Array, own: Indices, released: int) -> dict[str, Links]:
    """What the intruder concludes from all records that fit, and from those whose bounds are touched; `own` are the published rows of the targets, of `released`."""
    best, width, records, first, mine, my_width = touched
    by_bounds = np.stack([records, first, (best >= 0) & (best == mine) & (width == my_width)]).astype(np.int64)
    names = {**dict(list(ATTACKS.items())[: len(fits)]), BOUNDS: BOUNDS}
    links = {}
    for (name, words), (candidates, link, hit) in zip(names.items(), [*fits, by_bounds], strict=True):
        links[name] = Links(
            f"linkage by {words}",
            candidates=candidates,
            link=link,
            hit=hit > 0,
            certain=(hit > 0)
            & ((fits[-1][0] if name == BOUNDS else candidates) == 1),  # who touches a bound may do so by chance
            own=own,
            released=released,
        )
    return links


def merged_fits(of_pieces: Iterable[Indices], before: Iterable[int]) -> Indices:
    """What fits in all pieces; `before` are the numbers of published records before each."""
    found: Any = None
    for part, start in zip(of_pieces, before, strict=True):
        moved = part.copy()
        moved[:, 1] += np.where(part[:, 1] >= 0, start, 0)
        if found is None:
            found = moved
            continue
        lower = (moved[:, 1] >= 0) & ((found[:, 1] < 0) | (moved[:, 1] < found[:, 1]))
        found[:, 1] = np.where(lower, moved[:, 1], found[:, 1])
        found[:, [0, 2]] += moved[:, [0, 2]]
    result: Indices = found
    return result


def merged_touches(of_pieces: Iterable[Array], before: Iterable[int]) -> Array:
    """What is touched in all pieces, as `Fitting.touched` has it; `before` are the numbers of published records before each."""
    found: Any = None
    for part, start in zip(of_pieces, before, strict=True):
        moved = np.array(part)
        moved[3] += np.where(part[3] >= 0, start, 0)
        if found is None:
            found = moved
            continue
        better = (moved[0] > found[0]) | ((moved[0] == found[0]) & (moved[1] < found[1]))
        equal = (moved[0] == found[0]) & (moved[1] == found[1]) & (moved[0] >= 0)
        together = np.stack([found[2] + moved[2], np.minimum(found[3], moved[3])])
        found[2:4] = np.where(better, moved[2:4], np.where(equal, together, found[2:4]))
        found[:2] = np.where(better, moved[:2], found[:2])
        found[4:] = np.where(moved[4] >= 0, moved[4:], found[4:])
    result: Array = found
    return result


def _check(x: Array, table: IntervalTable, own: Indices | None) -> None:
    shape = np.shape(x)
    if len(shape) != 2 or shape[1] != len(table.labels):
        raise InputError(
            f"the original must be a table of series with {len(table.labels)} points, as the published one. Got the shape {shape}."
        )
    if own is None and len(x) != table.n:
        raise InputError(
            f"the original has {len(x)} records and the published table {table.n}; say which published row belongs to each (own=...)"
        )
    if own is not None and (len(own) != len(x) or (np.asarray(own) >= table.n).any()):
        raise InputError("own= must name a row of the published table for each original record, or -1")


def _points(table: IntervalTable, known: Sequence[str] | None) -> Indices | None:
    if known is None:
        return None
    unknown = [label for label in known if str(label) not in table.labels]
    if unknown or not len(known):
        raise InputError(f"no such time point: {some(unknown)}\n  time points: {some(table.labels, 20)}")
    return np.array(sorted({table.labels.index(str(label)) for label in known}), dtype=np.int64)


def _letters(table: IntervalTable, letters: Sequence[int] | None) -> Indices | None:
    if letters is None:
        return None
    length = segments(table.words[0]) if table.words else 0
    if not len(letters) or not all(0 <= at < length for at in letters):
        raise InputError(
            f"letters= must name places of the pattern, from 0 to {length - 1}. Got {list(letters)}."
            if length
            else "letters= is for tables with patterns, and this one has none"
        )
    return np.array(sorted(set(letters)), dtype=np.int64)


# -- one piece --------------------------------------------------------------------------------------------------------


class Fitting:
    """The published records of a piece, with equal envelopes put together, ready to be compared with targets."""

    def __init__(self, piece: Piece, points: Indices | None = None, letters: Indices | None = None) -> None:
        self.piece, self.points = piece, slice(None) if points is None else points
        self.places = slice(None) if letters is None else letters
        self.known: AnyArray = np.zeros(0, dtype=np.bytes_)
        self.levels, self.kind, self.number = np.zeros(1, np.int64), *np.zeros((2, piece.n), np.int64)
        if piece.letters is not None and piece.levels is not None:
            self.levels, kind = np.unique(piece.levels, return_inverse=True)
            self.known, number = np.unique(_keys(piece.letters[:, self.places], kind), return_inverse=True)
            self.kind, self.number = kind.astype(np.int64), number.astype(np.int64)
        self.count, self.first = np.bincount(self.number), np.unique(self.number, return_index=True)[1]
        self.lo, self.hi = (np.ascontiguousarray(side[:, self.points]) for side in (piece.lo, piece.hi))
        bounds = np.hstack([self.lo, self.hi])
        packed = bounds.view(np.dtype((np.void, bounds.itemsize * bounds.shape[1]))).ravel()
        _, self.rows, envelope = np.unique(packed, return_index=True, return_inverse=True)
        # The classes of records of one envelope and pattern, those of an envelope one after the other.
        width = max(piece.n, 1)
        keys, first, count = np.unique(envelope.ravel() * width + self.number, return_index=True, return_counts=True)
        start = np.searchsorted(keys, np.arange(len(self.rows) + 1) * width)
        self.classes = (start, self.kind[first], self.number[first], count, first)

    def of(self, x: Array, own: Indices) -> Indices:
        """For each attack: how many records fit each target, the first of them (-1: none), and whether the own one does.

        `x` are the series of the targets, and `own` their records in the piece (-1: suppressed, or elsewhere).
        """
        piece, attacks = self.piece, 1 if self.piece.letters is None else 3
        if not piece.n or not len(x):
            return np.stack([np.full((attacks, len(x)), value) for value in (0, -1, 0)], axis=1)
        mine = self._own_patterns(x)
        values = np.array(x[:, self.points])  # writable: to the compiler others are another type
        by_values = self._by_envelope(values, mine)
        held = (own >= 0) & ((self.lo[own] <= values) & (values <= self.hi[own])).all(axis=1)
        found = [np.stack([by_values[:, 0], by_values[:, 1], held])]
        if attacks > 1:
            fit = mine >= 0
            lowest = np.where(fit, self.first[mine], piece.n).min(axis=1)
            alike = (own >= 0) & (mine[np.arange(len(x)), self.kind[own]] == self.number[own])
            candidates = np.where(fit, self.count[mine], 0).sum(axis=1)
            found.append(np.stack([candidates, np.where(lowest < piece.n, lowest, -1), alike]))
            found.append(np.stack([by_values[:, 2], by_values[:, 3], held & alike]))
        return np.stack(found)

    def touched(self, x: Array, own: Indices) -> Array:
        """For each target the best record that fits: twice its level, plus 1 if its envelope is touched (-1: none fits), its width, how many records are as good, and the first of them; and the first two of the target's own.

        The own ones are -1 and 0 where the own record does not fit, was suppressed or is elsewhere.
        """
        from tsveil._kernels.kp import touching_records

        nothing = np.array([-1.0, np.inf, 0.0, -1.0, -1.0, 0.0])
        if not self.piece.n or not len(x):
            return np.tile(nothing[:, None], len(x))
        mine, values = self._own_patterns(x), np.array(x[:, self.points])
        lo, hi = self.lo[self.rows], self.hi[self.rows]
        width = _widths(lo, hi)

        def work(begin: int, end: int) -> Array:
            return touching_records(values[begin:end], lo, hi, width, self.levels, *self.classes, mine[begin:end])

        best = np.concatenate(map_chunks(work, len(values), CHUNK)).T
        low, high = self.lo[own], self.hi[own]
        fits = (own >= 0) & ((low <= values) & (values <= high)).all(axis=1)
        fits &= mine[np.arange(len(x)), self.kind[own]] == self.number[own]
        rank = 2 * self.levels[self.kind[own]] + ((values == low) | (values == high)).any(axis=1)
        return np.vstack([best, np.where(fits, [rank, _widths(low, high)], nothing[4:, None])])

    def _own_patterns(self, x: Array) -> Indices:
        """The numbers of the targets' own patterns at each published level; -1: not published."""
        if self.piece.letters is None:
            return np.zeros((len(x), 1), np.int64)
        means = patterns(x, self.piece.letters.shape[1])[:, self.places]
        mine = np.empty((len(x), len(self.levels)), dtype=np.int64)
        for at, level in enumerate(self.levels.tolist()):
            keys = _keys(symbols(means, level, pattern_of(self.piece.letters)), np.full(len(x), at))
            place = np.searchsorted(self.known, keys).clip(max=len(self.known) - 1)
            mine[:, at] = np.where(self.known[place] == keys, place, -1)
        return mine

    def _by_envelope(self, values: Array, mine: Indices) -> Indices:
        """What fits by values and by both: see the kernel."""
        from tsveil._kernels.kp import fitting_records

        lo, hi = self.lo[self.rows], self.hi[self.rows]

        def work(begin: int, end: int) -> Indices:
            return fitting_records(values[begin:end], lo, hi, *self.classes, mine[begin:end])

        return np.concatenate(map_chunks(work, len(values), CHUNK))


def _widths(lo: Array, hi: Array) -> Array:
    """The sum of the widths of each envelope, in the order of its points: equal envelopes have equal widths, to the bit."""
    width = np.zeros(len(lo))
    with np.errstate(over="ignore"):
        for low, high in zip(lo.T, hi.T, strict=True):
            width += high - low
    return width


def _keys(letters: AnyArray, kind: Indices) -> AnyArray:
    """Words and levels as texts, equal for equal ones; numbers begin with 1, because numpy cuts zeros off the end of a text."""
    both = np.ascontiguousarray(np.column_stack([kind, letters]).astype(letters.dtype) + letters.dtype.type(1))
    return both.view(f"S{both.shape[1] * both.itemsize}").ravel()
