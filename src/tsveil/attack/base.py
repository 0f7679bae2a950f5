"""What every attack is: a declaration, the traces of a method that it looks for, and a way to link some targets.

An attack is a frozen dataclass derived from `Attack` in a file of its own. It says

    figure, rung    the figure of a score card, and what the intruder knows
    trace           what a method must leave behind for the attack to fit; None: it fits any release
    of_column       what it needs of each known column, which fits into a worker
    plan            how many targets are affordable, and what every task must know
    link            which released records fit some targets best

and runs everywhere by that: on files in memory and in chunks, on one machine and on clusters (`attack.run`).

Methods declare what they leave behind in general terms (`Trace`), in their own files; attacks never ask for the name of a method. A release
of unknown making, or by a method that declares nothing, gets every attack, with the widest settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData, Ties, mean_and_deviation, scale_of
from tsveil.attack.links import Links
from tsveil.attack.pieces import Columns, Pieces, Side, Targets
from tsveil.attack.sorted_column import SortedColumn
from tsveil.attack.targets import affordable
from tsveil.core.declaration import Declaration
from tsveil.core.errors import InputError
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.data.store import Store
from tsveil.engine.base import Result, Task
from tsveil.transform.normalise import How, Ruler, Scaling, ruler_of

#: what one comparison of values costs without the help of a tree, in comparisons of series
UNAIDED = 10
#: targets of one task, about: what is made ready for them is worth making
AT_ONCE = 2**15


class Rung(StrEnum):
    """What an intruder knows, from little to much; the last two can be added to any of the others."""

    PART = "part"
    PERSON = "person"
    SHARE = "share"
    FILE = "file"
    OTHER_PERIOD = "other-period"
    RELEASES = "releases"


# -- what a method leaves behind --------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """A release as the choice of attacks sees it: the number of its records, its blocks, and whether persons may have several records."""

    n: int
    blocks: Sequence[Block | Columns]
    #: whether persons may have several records
    persons: bool = False
    #: whether records have gaps that take part as gaps
    gaps: bool = False

    @property
    def series(self) -> bool:
        """Whether time series were released."""
        return any(block.is_series for block in self.blocks)

    @property
    def single(self) -> bool:
        """Whether each block is a single column."""
        return all(len(block) == 1 for block in self.blocks)


class HasSeries(Protocol):
    """Data that may be time series."""

    @property
    def series(self) -> Any:
        """Whether they are, or which of them."""

    @property
    def blocks(self) -> Sequence[Any]:
        """All blocks."""


class Trace:
    """Something that a method leaves behind in a release, whatever it is called."""


@dataclass(frozen=True)
class RanksWithin(Trace):
    """Values move by at most this many ranks of their column, or hardly ever farther."""

    ranks: int


@dataclass(frozen=True)
class RanksMostlyWithin(Trace):
    """Many values move by at most `ranks` ranks of their column, most by at most `wide`, and some much farther."""

    ranks: int
    wide: int


@dataclass(frozen=True)
class NoiseOnValues(Trace):
    """Normal noise is added to each value; its standard deviation is `deviations` times that of the column."""

    deviations: float


class DrawsTrades(Protocol):
    """A method with parameters that draws who trades places with whom."""

    def settings(self) -> dict[str, Any]:
        """Its parameters as plain values."""

    def trades(self, n: int, rng: np.random.Generator) -> Indices:
        """One draw for a column of n values: the rank with which each rank trades places."""


@dataclass(frozen=True)
class TradesOfValues(Trace):
    """The values of each column trade places in pairs, at most `ranks` apart (None: at any distance), and none changes; `drawn_by` draws such trades."""

    ranks: int | None = None
    drawn_by: DrawsTrades | None = None


@dataclass(frozen=True)
class DrawnAtRandom(Trace):
    """What becomes of a value is drawn at random, so running the method again gives another release."""


@dataclass(frozen=True)
class EmptyCells(Trace):
    """As few cells of labels as possible are empty, and the others are as they were."""


@dataclass(frozen=True)
class OrderOfColumns(Trace):
    """The values of each column keep their order."""


@dataclass(frozen=True)
class RunsOfColumns(Trace):
    """The sorted values of each column are cut into runs, each published as one number; `pooled`: those of all columns together."""

    pooled: bool = False


@dataclass(frozen=True)
class RunsOfProjections(Trace):
    """The standardised records of each block are sorted by a projection and cut into runs, each published as its mean."""

    projection: Literal["pcp", "zscores"]


@dataclass(frozen=True)
class ProjectionsOfBlocks(Trace):
    """The projection of a block onto a line moves less than its values."""


@dataclass(frozen=True)
class BlockCovariance(Trace):
    """What is added to the values of a block has their covariance."""


#: what a method leaves behind; None: nothing is known of it
Traces = tuple[Trace, ...] | None


class LeavesTraces(Protocol):
    """A protection method, as far as attacks know it."""

    def traces(self, release: Shape) -> Traces:
        """What it leaves behind in a release of this shape."""


# -- what an attack is given ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Knowledge:
    """What the intruder knows, round by round: the first columns of all known ones, and the first blocks of them."""

    columns: Sequence[int]
    counts: Sequence[int]
    #: the known columns of each block
    blocks: Sequence[Sequence[int]]
    block_counts: Sequence[int]


@dataclass(frozen=True, eq=False)
class OtherPeriod:
    """Values of persons at times that are not published: a file of another period, and its row for each record of the input (-1: none)."""

    data: Dataset
    rows: Indices

    @classmethod
    def of(cls, ids: Iterable[object], data: Dataset) -> OtherPeriod:
        """That of the records with these identifiers; the records of the other period have their own.

        Examples
        --------
        >>> import tsveil as tv
        >>> other = tv.Dataset.from_arrays({"x": [[1.0, 2.0], [3.0, 4.0]]}, ids=["b", "c"])
        >>> OtherPeriod.of(["a", "b"], other).rows
        array([-1,  0])
        """
        if data.person:
            raise InputError(
                "the file of another period must have one record for each person\n  options: leave out its person columns"
            )
        if not data.series:
            raise InputError("the file of another period has no time series")
        places = {str(name): row for row, name in enumerate(data.ids.to_list())}
        rows = np.array([places.get(str(name), -1) for name in ids], dtype=np.int64)
        if not (rows >= 0).any():
            raise InputError(
                "the file of another period has none of the persons\n  options: check that both files have the same identifiers"
            )
        return cls(data, rows)


@dataclass(frozen=True)
class Settings:
    """How attacks are run; see `tsveil.evaluate`."""

    ties: Ties = "expected"
    scaling: Scaling = "original"
    normalise: How = "global"
    #: the number of targets; 0: all, None: as many as are affordable
    targets: int | None = None
    #: what the intruder knows of times that are not published
    other: OtherPeriod | None = None


class Scales:
    """The scales of some columns, found for all of them at once when the first is asked for; each is the same as by itself, to the last bit."""

    def __init__(self, store: Store, files: Pieces, columns: Sequence[int]) -> None:
        self.store, self.files, self.columns = store, files, columns

    def _table(self, side: Side) -> Array:
        return np.stack([self.files.column(self.store, side, at) for at in self.columns], axis=1)

    @cached_property
    def of_both(self) -> dict[int, list[Any]]:
        """Column -> its `Column.scale`."""
        x, y = self._table("original"), self._table("released")
        power, factor = scale_of(x, y)
        own = [np.stack(mean_and_deviation(each), axis=1).tolist() for each in (x, y)]
        return dict(zip(self.columns, map(list, zip(power.tolist(), factor.tolist(), *own, strict=True)), strict=True))

    @cached_property
    def of_release(self) -> dict[int, list[float]]:
        """Column -> its `Column.released_scale`."""
        return dict(zip(self.columns, released_scales(self._table("released")), strict=True))


class Column:
    """A column of both files, sorted where its order is asked for; attacks keep in the store what they need of it when they link."""

    def __init__(self, store: Store, files: Pieces, at: int, scales: Scales | None = None) -> None:
        self.store, self.files, self.at = store, files, at
        self.scales = Scales(store, files, [at]) if scales is None else scales

    @cached_property
    def x(self) -> SortedColumn:
        """That of the original."""
        return SortedColumn(self.files.column(self.store, "original", self.at))

    @cached_property
    def y(self) -> SortedColumn:
        """That of the release."""
        return SortedColumn(self.files.column(self.store, "released", self.at))

    def keep(self, name: str, values: AnyArray) -> None:
        """Keep something that has a value for each record, under this name and the number of the column."""
        self.store.put(f"{name}-{self.at}", values)

    @property
    def scale(self) -> list[Any]:
        """Steps and factor, so that the difference of two values in these steps (`files.in_steps`) times the factor is standardised; then mean and deviation of either file."""
        return self.scales.of_both[self.at]

    @property
    def released_scale(self) -> list[float]:
        """That of the released column; see `released_scales`."""
        return self.scales.of_release[self.at]

    @cached_property
    def places(self) -> None:
        """Keep which record stands at every position of the sorted released column, and the position of every record.

        Equal values stand in any order, for ranges hold all of them or none.
        """
        self.keep("order", self.y.order.astype(np.int32))
        self.keep("places", self.y.back(np.arange(len(self.y.order), dtype=np.int32)))


def released_scales(table: Array) -> list[list[float]]:
    """For each released column its lowest value and width, and mean and deviation of what lies from 0 to 1 then."""
    ruler = ruler_of(table, "component")
    parts = (ruler.low, ruler.width, ruler.mean, ruler.deviation)
    found: list[list[float]] = np.stack([np.ravel(each) for each in parts], axis=1).tolist()
    return found


def released_scale(y: Array) -> list[float]:
    """That of one released column; see `released_scales`."""
    return released_scales(y[:, None])[0]


def centre_columns(table: Array, scales: Sequence[Sequence[float]]) -> Array:
    """Some released columns, each from -1 to 1 with the mean zero; `scales` are their `released_scales`."""
    low, width, mean = np.array([scale[:3] for scale in scales]).T
    return Ruler(low, width, mean).measure(table)


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known of both files when an attack plans its tasks."""

    store: Store
    files: Pieces
    settings: Settings
    #: the numbers of known columns (or blocks) that the attack takes, and the columns that it needs for them
    counts: Sequence[int]
    columns: Sequence[int]
    #: the known columns of each block
    blocks: Sequence[Sequence[int]]
    #: column -> what `of_column` gave
    of_columns: Mapping[int, Result]
    #: the number of distinct released rows
    distinct: int
    #: the scales of all series in either file, if the attack asks for them
    series_scales: Mapping[Side, Sequence[Any]]
    #: for each block the sums of products of its columns, if the attack asks for them
    products: Sequence[Indices]

    def affordable(self, compared: float, least: int = 1) -> int:
        """The number of targets for an attack that compares each with this many records; of persons, where they may have several records."""
        people = self.files.people
        return affordable(people, compared, self.settings.targets, least, self.files.n / people)

    def records(self, targets: int) -> int:
        """About how many records this number of targets has."""
        return -(-targets * self.files.n // self.files.people)

    def from_columns(self, what: str) -> list[Any]:
        """What `of_column` gave under this name, for each column."""
        return [self.of_columns[at][what] for at in self.columns]


@dataclass(frozen=True)
class Trial:
    """One way to try an attack: the number of its targets (as `Situation.affordable` says), and what every task must know."""

    targets: int
    task: Mapping[str, Any]
    #: which of several ways; the best one counts
    way: str = ""
    #: the number of tasks; None: as the pieces of the original ask for
    tasks: int | None = None
    #: the rungs of an attack on all that are known at once; the others are tried with more and more known of each person
    rungs: tuple[Rung, ...] = ()
    #: the number of persons whom the intruder knows; None: as the rung says
    known: int | None = None


class Finding(NamedTuple):
    """What an attack found at one rung of the ladder."""

    rung: Rung
    #: its name and its figure
    attack: str
    figure: str
    #: the share of the targets that were found, in percent
    rate: float
    #: the number of targets, which are persons where these may have several records, and the chance of finding each, in the order of the input
    targets: int
    scores: Array
    #: whether the targets are all persons that the intruder knows, and no sample of them
    complete: bool


class DoesNotFitError(InputError):
    """Raised when an attack that was asked for cannot run on two files."""


class NotMeasuredError(Exception):
    """Raised by `Attack.plan` if the attack cannot run on these files; says why."""


def _has_numbers(data: HasSeries) -> bool:
    """Whether something is there that attacks on numbers know."""
    return any(block.categories is None for block in data.blocks)


def _has_labels(data: HasSeries) -> bool:
    """Whether something is there that attacks on labels know."""
    return any(block.categories is not None for block in data.blocks)


# -- the attack -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Attack(Declaration, ABC):
    """Base of all linkage attacks.

    `summary` is the sentence that a report shows beside the figure, `plain` its title.
    """

    #: the figure of a score card: the share of right links, averaged over the number of known attributes
    figure: ClassVar[str]
    #: what the intruder knows
    rung: ClassVar[Rung] = Rung.PART
    #: whether it links time series, or attributes; None: either
    of_series: ClassVar[bool | None] = False
    #: whether it links whole records, of which some columns hold labels; others link numbers, and never see a label
    of_labels: ClassVar[bool] = False
    #: what it looks for; None: it fits any release
    trace: ClassVar[type[Trace] | None] = None
    #: whether it is tried on releases of which nothing is known, or else only if it fits or is asked for
    usual: ClassVar[bool] = True
    #: whether it knows what gaps are (missing="mask"); others are not tried on records with gaps
    takes_gaps: ClassVar[bool] = False
    #: whether both files need the same columns
    common_columns: ClassVar[bool] = True
    #: the distance by which it compares series, if its `on_files` takes another one as `distance`
    distance: ClassVar[str | None] = None
    #: the attack on two files in memory, which takes the parameters of the class; None: `attack.run` links them
    on_files: ClassVar[Callable[..., Links] | None] = None
    #: what it takes beside its parameters, what is known and the truth
    options: ClassVar[tuple[str, ...]] = ()
    #: the largest number of known attributes that it takes
    most: ClassVar[int | None] = None
    #: whether it counts known blocks rather than known attributes
    by_block: ClassVar[bool] = False
    #: whether it needs the scales of the series
    needs_series_scales: ClassVar[bool] = False
    #: whether its targets are gone through twice: `count` and `weigh` first, then `link`
    twice: ClassVar[bool] = False

    @classmethod
    def faults(cls) -> list[str]:
        """An attack also has a figure and a title."""
        return [f"it needs a {word}, a text" for word in ("figure", "plain") if not getattr(cls, word, None)]

    @classmethod
    def description(cls) -> dict[str, Any]:
        """With its figure and what the intruder knows."""
        return super().description() | {"figure": cls.figure, "rung": cls.rung}

    @classmethod
    def origin(cls) -> str:
        """With its figure and what the intruder knows."""
        return f"{cls.figure}; knows: {cls.rung}; {super().origin()}"

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """The attack with the settings that fit a release whose method leaves these traces, or None if it does not fit."""
        if cls.trace is None or traces is None:
            return cls.looking_for(None, release) if cls.usual and cls.takes(release) else None
        return next((cls.looking_for(trace, release) for trace in traces if isinstance(trace, cls.trace)), None)

    @classmethod
    def takes(cls, data: HasSeries) -> bool:
        """Whether it links what is released: time series or attributes, or records with labels."""
        if cls.of_labels:
            return _has_labels(data)
        return _has_numbers(data) and (cls.of_series is None or cls.of_series == bool(data.series))

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """The attack with the settings that fit a trace of its kind; with the widest settings if the trace is None."""
        return cls()

    def looks_at_columns(self) -> bool:
        """Whether it needs anything of single columns."""
        return type(self).of_column is not Attack.of_column

    def describe(self) -> str:
        """What it is called, with its settings."""
        return self.plain

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """What the intruder concludes for each record of two files in memory, with all that he knows at once.

        `given` are what is known, the truth and the `options` of the attack, as in the functions of `tsveil.attack`.
        """
        from tsveil.attack.run import links_in_memory

        if self.on_files is None:
            return links_in_memory(self, original, released, **given)
        return self.on_files(original, released, **self.settings(), **given)

    # -- the steps, each for files in pieces --------------------------------------------------------------------------

    def knowledge(self, files: Pieces) -> Knowledge:
        """What the intruder knows, round by round, of records with labels: these attacks choose it themselves."""
        raise TypeError(f"the attack {self.name} is given what the intruder knows")

    def needs_products(self, blocks: Sequence[Sequence[int]]) -> bool:
        """Whether it needs the sums of products of released columns, of blocks with these known columns."""
        return False

    def of_column(self, column: Column) -> Result:
        """What it needs of a known column, in plain values; what is larger is kept in the store."""
        return {}

    def plan(self, situation: Situation) -> list[Trial]:
        """The ways to try it: how many targets are affordable, and what every task must know."""
        return [Trial(situation.affordable(situation.distinct * UNAIDED), {})]

    def kept_bytes(self, release: Shape) -> int:
        """About how many bytes of tables its tasks share on the disk, where files stay in chunks."""
        return 0

    def targets(self, task: Task) -> Targets:
        """The records that a task attacks."""
        return Targets.of(task)

    @abstractmethod
    def link(self, targets: Targets, task: Task) -> Found:
        """The released records that fit some targets best, for each of `task["counts"]`, with the first of `task["columns"]` known."""

    def count(self, targets: Targets, task: Task) -> Result:
        """What is counted when the targets are gone through for the first time; nothing, unless an attack needs two passes."""
        return {}

    def weigh(self, counted: Sequence[Result], trial: Trial, situation: Situation) -> str | None:
        """Put into the store what follows from the counts of all tasks, if an attack needs two passes; gives what a reader must know of it."""


@dataclass(frozen=True, kw_only=True)
class OnRequest(Attack):
    """Base of the attacks on two whole files in memory, which run only when they are asked for by name."""

    usual: ClassVar[bool] = False
    rung: ClassVar[Rung] = Rung.PERSON

    def link(self, targets: Targets, task: Task) -> Found:
        """Refused: it needs both files whole, and is part of no score card."""
        raise TypeError(f"the attack {self.name} takes two whole files, not targets in pieces")
