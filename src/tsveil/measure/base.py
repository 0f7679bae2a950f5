"""What a measure is: figures that compare the published records with the original ones, summed chunk by chunk.

A measure is a frozen dataclass in a file of its own. It says what its figures mean and which releases it fits, and has three steps:

    of_chunk   plain values and arrays from some records: sums, counts, extremes; what it keeps of each record
    merge      those of all chunks put together
    figures    the figures, from what was merged

A measure that has to know something of all records first, such as the range of each column, asks for another pass: `next_pass` gives what
`of_chunk` needs to know in it. In memory there is one chunk; on an engine every chunk is measured by some worker (see `measure.passes`).
Sums of floats depend on their order, so they are carried as the parts of `tsveil.transform.exact`: then no figure depends on the chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import msgspec
import numpy as np

from tsveil.attack.gaps import compared
from tsveil.attack.kp import Piece
from tsveil.attack.nearest import Rows
from tsveil.attack.nearest_columns import nearest_distinct
from tsveil.attack.pieces import Columns, Pieces
from tsveil.core.declaration import Declaration
from tsveil.core.registry import MEASURES
from tsveil.core.types import Array, Indices
from tsveil.data.store import Store
from tsveil.engine.base import Result

#: what is measured of a release: its series if there are any, attributes if there are none, or envelopes of series; and where some columns hold labels, whole records
Kind = Literal["series", "attributes", "envelopes", "categories"]
KINDS: tuple[Kind, ...] = ("series", "attributes", "envelopes", "categories")

#: where a measure puts what it keeps of each record: column of the card -> a value for each record
RECORDS = "records"


class Meaning(NamedTuple):
    """What a figure is called, its unit, and what it says in one plain sentence."""

    title: str
    unit: str
    sentence: str


class Schema(msgspec.Struct, frozen=True):
    """What is measured: two files in pieces, and what the second one publishes."""

    files: Pieces
    #: whether envelopes are published instead of values, and whether these have patterns
    envelopes: bool = False
    words: bool = False

    @classmethod
    def of_envelopes(cls, store: Store, block: Columns, pieces: int, *, words: bool) -> Schema:
        """That of envelopes in pieces (`Piece.save`)."""
        records, published = (
            tuple(len(store.get(f"piece-{at}.{name}")) for at in range(pieces)) for name in ("records", "lo")
        )
        return cls(Pieces((block,), records, published, aligned=False), envelopes=True, words=words)

    @property
    def kind(self) -> Kind:
        """What the release publishes."""
        if self.envelopes:
            return "envelopes"
        if not self.files.blocks or any(block.categories is not None for block in self.files.blocks):
            return "categories"
        return "series" if self.files.series else "attributes"

    @property
    def gaps(self) -> bool:
        """Whether records have gaps that take part as gaps."""
        return self.files.values > 0

    @property
    def n(self) -> int:
        """The number of original records."""
        return self.files.n

    @property
    def pieces(self) -> int:
        """The number of pieces of the original."""
        return len(self.files.original)


@dataclass(frozen=True, eq=False)
class Chunk:
    """The records of one piece that are published: row i of both tables is the same record.

    Where records have gaps it has all records of the piece: a gap is NaN in both tables, and a value without a published one is compared with the mean of its column.
    """

    schema: Schema
    #: envelopes: the records of the piece, published or not
    envelopes: Piece | None
    tables: tuple[Array, Array] | None
    #: the places of the published records among all of the piece, and the number of all
    places: Indices
    size: int
    store: Store

    @classmethod
    def load(cls, store: Store, schema: Schema, at: int) -> Chunk:
        """The chunk of this number."""
        if schema.envelopes:
            piece = Piece.load(store, at, words=schema.words)
            return cls(schema, piece, None, np.flatnonzero(piece.own >= 0), len(piece.x), store)
        pair = compared(store, schema.files, at) if schema.gaps else schema.files.pair(store, at)
        original, published, both = pair
        return cls(schema, None, (original, published), both, schema.files.original[at], store)

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        if self.tables is not None:
            return self.tables
        published = self.piece.published()
        return published.x, (published.lo + published.hi) / 2

    @property
    def original(self) -> Array:
        """The original values, records by columns."""
        return self._tables[0]

    @property
    def published(self) -> Array:
        """The published values; of envelopes their midlines."""
        return self._tables[1]

    def nearest(self, power: int) -> Array:
        """For each record the values of the published one, of all pieces, at the least Euclidean distance; of equal ones the first in the file.

        Squares are taken of values times 2 to this power, so that they stay in the range of float64.
        """
        files, known = self.schema.files, np.ldexp(self.original, power)
        best, found = np.full(len(known), np.inf), np.array(self.published)
        for at in range(len(files.released)):
            table = files.table(self.store, "released", at)
            rows = Rows.of(np.ldexp(table, power), np.full(len(known), -1))
            near = nearest_distinct(known, rows, np.ones(known.shape[1]), "euclidean", [known.shape[1]])
            nearer = near.best[:, 0] < best
            best[nearer], found[nearer] = near.best[nearer, 0], table[near.link[nearer, 0]]
        return found

    @property
    def piece(self) -> Piece:
        """The piece, of a release of envelopes."""
        assert self.envelopes is not None
        return self.envelopes

    def series(self) -> Iterable[tuple[Columns, Array, Array]]:
        """Each series with its original and its published values."""
        for block in self.schema.files.series:
            span = self.schema.files.span(block.name)
            x, y = (np.ascontiguousarray(table[:, span]) for table in (self.original, self.published))
            yield block, x, y


@dataclass(frozen=True, kw_only=True)
class Measure(Declaration, ABC):
    """Base of all measures; see the top of this file."""

    #: figure -> what it means, in the order in which figures are shown
    meanings: ClassVar[Mapping[str, Meaning]]
    #: figures that are parts of others, which tables leave out
    details: ClassVar[tuple[str, ...]] = ()
    #: the releases that it fits
    kinds: ClassVar[tuple[Kind, ...]] = ("series", "attributes")
    #: the figure that counts as the loss when releases are compared, if it is one of this measure
    loss: ClassVar[str] = ""

    @classmethod
    def fits(cls, schema: Schema) -> bool:
        """Whether it can measure a release."""
        return schema.kind in cls.kinds

    @abstractmethod
    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """What one chunk gives, in plain values and arrays; under `RECORDS` what is kept of each record.

        `known` is what `next_pass` gave, empty in the first pass.
        """

    def merge(self, chunks: Sequence[Result]) -> Result:
        """What all chunks give together: numbers and arrays are added, lists are joined."""
        found = dict(chunks[0])
        for other in chunks[1:]:
            found = {name: value + other[name] for name, value in found.items()}
        return found

    def next_pass(self, sums: Result) -> Result | None:
        """What the next pass has to know, from what this one found and knew; None: this was the last."""
        return None

    @abstractmethod
    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """The figures, from what the last pass found and knew."""

    def of_series(self, sums: Result, schema: Schema) -> dict[str, dict[str, float]]:
        """The figures of each series, if they have some of their own."""
        return {}

    def notes(self, schema: Schema) -> dict[str, str]:
        """How it was measured, where the card should say so."""
        return {}

    @classmethod
    def faults(cls) -> list[str]:
        """What is wrong with the declaration of a measure."""
        wrong = []
        meanings = getattr(cls, "meanings", None)
        if not meanings or not all(
            len(words) == 3 and all(isinstance(word, str) for word in words) and words[0] and words[2]
            for words in meanings.values()
        ):
            wrong.append("it needs meanings: figure -> (title, unit, one plain sentence)")
        elif cls.name not in MEASURES.own:
            taken = {figure for name in MEASURES.own for figure in MEASURES[name].meanings} | {"DR1", "DR", "score"}
            if same := [figure for figure in meanings if figure in taken]:
                wrong.append(f"there is a figure {same[0]!r} already")
        if not cls.kinds or not set(cls.kinds) <= set(KINDS):
            wrong.append(f"its kinds must be some of {', '.join(KINDS)}")
        return wrong
