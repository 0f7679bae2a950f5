"""What every task of a run must know.

A job lies in the store of its run. Tasks carry the store's handle and a number; whatever is larger is in the store. The method goes along as
the importable path of its class and its settings, so that a worker makes the very same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tsveil.core.places import class_at
from tsveil.core.types import AnyArray
from tsveil.data.source import Source
from tsveil.data.store import Store, open_store
from tsveil.engine.base import Task
from tsveil.protect.base import Method
from tsveil.protect.partition import Unit
from tsveil.protect.survey import How, Survey
from tsveil.transform.normalise import Ruler


class PlainSurvey(msgspec.Struct, frozen=True):
    """A survey in plain values."""

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    different: dict[str, int] = {}
    alone: dict[str, int] = {}
    persons: int | None = None
    #: the number of values of each column, where records may have gaps
    present: tuple[int, ...] | None = None
    #: block, way, and low, width, mean and deviation of the scale
    rulers: tuple[tuple[str, How, tuple[Any, ...]], ...] = ()
    products: dict[str, list[list[float]]] = {}
    #: column of labels -> how often each of its labels occurs
    uses: dict[str, list[int]] = {}

    @classmethod
    def of(cls, survey: Survey) -> PlainSurvey:
        """The figures of a survey."""
        return cls(
            low=tuple(survey.low.tolist()),
            high=tuple(survey.high.tolist()),
            different=dict(survey.different),
            alone=dict(survey.alone),
            persons=survey.persons,
            present=None if survey.present is None else tuple(survey.present.tolist()),
            rulers=tuple(
                (name, how, tuple(np.asarray(each).tolist() for each in (r.low, r.width, r.mean, r.deviation)))
                for (name, how), r in survey.rulers.items()
            ),
            products={name: table.tolist() for name, table in survey.products.items()},
            uses={name: counts.tolist() for name, counts in survey.uses.items()},
        )


class Job(msgspec.Struct, frozen=True):
    """A run, in plain values."""

    source: Source
    method: str
    settings: dict[str, Any]
    #: module and name of the method's class
    maker: str
    #: where chunks of records end; the first begins at 0
    chunk_ends: tuple[int, ...]
    #: records in a published file
    file_rows: int
    #: about how many records are sampled to find the cuts
    sample: int
    units: tuple[Unit, ...] = ()
    figures: PlainSurvey = PlainSurvey()
    #: decimals of each column, if published values are rounded to them
    decimals: tuple[int | None, ...] | None = None
    #: columns that the method makes of a record
    out_width: int = 0

    @property
    def n(self) -> int:
        """The number of records."""
        return self.source.n

    @property
    def low(self) -> tuple[float, ...]:
        """The least value of each column."""
        return self.figures.low

    @property
    def high(self) -> tuple[float, ...]:
        """The greatest value of each column."""
        return self.figures.high

    @property
    def intervals(self) -> bool:
        """Whether envelopes are published instead of values."""
        return self.out_width != len(self.source.columns)

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return len(self.chunk_ends)

    @property
    def files(self) -> int:
        """The number of published files."""
        return -(-self.n // self.file_rows)

    def chunk_range(self, at: int) -> tuple[int, int]:
        """The records of a chunk."""
        return (self.chunk_ends[at - 1] if at else 0), self.chunk_ends[at]

    def make_method(self) -> Method:
        """The method."""
        return _method(self)

    def survey(self) -> Survey:
        """What is known of the whole data set."""
        return _survey(self)

    def save(self, store: Store) -> None:
        """Keep it for the tasks."""
        store.put_plain("job", self)

    def __hash__(self) -> int:
        return id(self)


def load(store: Store) -> Job:
    """The job of a store."""
    return store.get_plain("job", Job)


@lru_cache(maxsize=8)
def _method(job: Job) -> Method:
    made: Method = class_at(job.maker).from_settings(job.settings)
    return made


@lru_cache(maxsize=8)
def _survey(job: Job) -> Survey:
    plain = job.figures
    return Survey(
        n=job.n,
        blocks=tuple(role.block() for role in job.source.blocks),
        low=np.array(plain.low),
        high=np.array(plain.high),
        confidential=job.source.confidential,
        different=plain.different,
        alone=plain.alone,
        person=job.source.person,
        persons=plain.persons,
        present=None if plain.present is None else np.array(plain.present, dtype=np.int64),
        rulers={(name, how): Ruler(*(np.array(each) for each in ruler)) for name, how, ruler in plain.rulers},
        products={name: np.array(table) for name, table in plain.products.items()},
        uses={name: np.array(counts, dtype=np.int64) for name, counts in plain.uses.items()},
    )


def at_store(task: Task) -> tuple[Store, Job, int]:
    """The store, the job and the number of a task."""
    store = open_store(task["store"])
    return store, load(store), int(task["at"])


def tasks(store: Store, count: int, **more: Any) -> list[Mapping[str, Any]]:
    """A task for each number below `count`."""
    return [{"store": store.handle, "at": at, **more} for at in range(count)]


def marks(column: pl.Series) -> AnyArray:
    """A mark of 64 bits for each value, equal for equal ones."""
    if column.dtype.is_float():
        column = column + 0.0  # -0.0 is equal to 0.0
    elif column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)  # the numbers of words may differ between chunks
    return column.hash(seed=0).to_numpy()
