"""What every protection method is: parameters, a promise, a partition, and a way to protect one part.

A method is a frozen dataclass derived from `ValueMethod` (it publishes values) in a file of its own. It says

    units           which columns are protected by themselves, and how large parts are (`protect.partition`); a block as one part by default
    scales          which scales of the whole data set it needs (`protect.survey`)
    space           where records are compared when the borders of parts are found
    protect_part    what is published for the records of one part

and runs everywhere by that: on data in memory and in chunks, on one machine and on clusters (`protect.work`).
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
import polars as pl

from tsveil.attack.base import Shape, Traces
from tsveil.core.declaration import Declaration
from tsveil.core.errors import InputError, ParameterError, some
from tsveil.core.params import one_of, param
from tsveil.core.randomness import fresh_seed
from tsveil.core.technique import Technique, techniques_in_words
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.dataset import Block, Dataset
from tsveil.data.source import BlockRole, Source
from tsveil.data.store import Folder, Store
from tsveil.engine.base import Engine
from tsveil.engine.choose import chosen_engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.guarantee.base import Promise
from tsveil.protect.continuing import Earlier
from tsveil.protect.partition import Tree, Unit, grow_tree
from tsveil.protect.survey import Scale, Survey
from tsveil.release.ledger import Ids, Ledger
from tsveil.release.release import Release

#: a carried column in which more than this share of the records stand alone gets a warning
RARE = 0.05
#: differences of larger values may be infinite
LARGEST = 1e300
#: records, and values, that methods which compare all records with each other take as one part: 200,000 records of up to 671 columns
EXACT_RECORDS, EXACT_VALUES = 200_000, 2**27
#: sizes of groups that a sweep tries
SIZES = (3, 5, 10, 20)
#: records of a part beyond that, unless the method says otherwise
PART = 8000


class Described(Protocol):
    """A data set or a survey of one, as far as a promise depends on it."""

    @property
    def n(self) -> int:
        """The number of records."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What is protected together."""

    @property
    def confidential(self) -> tuple[str, ...]:
        """The columns that are carried unchanged."""

    @property
    def person(self) -> tuple[str, ...]:
        """The columns that say whose a record is."""


class ProtectionSummary(NamedTuple):
    """What is to be said of a protected data set, which lies in a store."""

    #: home of the units -> figures
    facts: dict[str, dict[str, Any]]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """What a method gets: the records of one part, and all that it may use to protect them."""

    #: records by the columns of the unit, in the order of the data set
    values: Array
    unit: Unit
    #: the whole data set, in figures
    survey: Survey
    #: the numbers of the records in the data set, and the rows at which they are published
    records: Indices
    rows: Indices
    #: random numbers of this part alone
    rng: np.random.Generator
    #: the person of each record, numbered from 0 over the whole data set; each record its own where persons are not declared
    persons: Indices
    #: the confidential columns of the records, for methods that look at them
    carried: pl.DataFrame = field(default_factory=pl.DataFrame)
    #: the groups of the release before, where this one continues it
    earlier: Earlier | None = None


@dataclass(frozen=True)
class Protected:
    """A part after protection."""

    #: what is published for each record; the columns of the unit, or those of `Method.width`
    values: Array
    #: the group of each record, numbered from 0, or -1; None without groups
    groups: Indices | None = None
    #: what the owner should know of this part
    warnings: tuple[str, ...] = ()
    #: figures for the report; those of several parts are put together by `merged_facts`
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """Seconds on one core: to protect a value, more for each record of its part, and to compare a value of two records in an attack."""

    value: float = 5e-7
    record: float = 0.0
    link: float = 6e-11


@dataclass(frozen=True, kw_only=True)
class Method(Declaration, ABC):
    """Base of all protection methods."""

    #: what ISO/IEC 20889 calls it, the main technique first
    techniques: ClassVar[tuple[Technique, ...]]
    #: whether it protects time series, attributes or both
    takes: ClassVar[frozenset[str]] = frozenset({"series", "attributes"})
    #: whether it is a choice to start with
    starting: ClassVar[bool] = False
    #: whether it publishes representatives of groups: then who has the originals can run it again, and only the place inside a class is left to guess
    representatives: ClassVar[bool] = False
    #: about how long it takes (`tsveil.plan.estimate` says how this was measured); unless somebody measures it, as long as MDAV
    rates: ClassVar[Rates] = Rates(value=8e-6)
    #: whether its promise counts persons where several records may belong to one
    counts_persons: ClassVar[bool] = False
    #: whether it protects records with gaps as they are (missing="mask")
    takes_gaps: ClassVar[bool] = False
    #: whether it protects columns of labels in which cells are empty
    takes_empty: ClassVar[bool] = False
    #: whether a release of it can continue an earlier one (`tsveil.protect.continuing`)
    continues: ClassVar[bool] = False
    #: whether its parts need the confidential columns
    looks_at_carried: ClassVar[bool] = False

    @property
    def means(self) -> bool:
        """Whether the representatives are means: then who knows all members of a group but one computes the values of the last."""
        return False

    @classmethod
    def description(cls) -> dict[str, Any]:
        """A method also names its techniques, and says whether it counts persons."""
        return {**super().description(), "techniques": list(cls.techniques), "counts_persons": cls.counts_persons}

    @classmethod
    def origin(cls) -> str:
        """The standard's name, the reference, and whether a person may have several records."""
        persons = "; counts persons where these have several records" if cls.counts_persons else ""
        labels = "; protects labels, too" if "categories" in cls.takes else ""
        return f"{techniques_in_words(cls.techniques)}; {cls.reference}{persons}{labels}"

    @classmethod
    def faults(cls) -> list[str]:
        """A method also says what the standard calls it."""
        techniques = getattr(cls, "techniques", None)
        if isinstance(techniques, tuple) and techniques and all(isinstance(t, Technique) for t in techniques):
            return []
        return ["it needs techniques, a tuple of tsveil.core.technique.Technique"]

    @abstractmethod
    def guarantee(self, data: Described) -> Promise:
        """What a release of this data promises."""

    @abstractmethod
    def protect_part(self, part: Part) -> Protected:
        """Protect the records of one part."""

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """What a sweep tries of it unless told otherwise, mild to strong: parameters and their values, for all combinations."""
        return [{}]

    def traces(self, release: Shape) -> Traces:
        """What it leaves behind in a release of this shape, for the attacks that look for it; None: unknown, so every attack is tried."""
        return None

    # -- what it needs ------------------------------------------------------------------------------------------------

    def check(self, survey: Survey) -> None:
        """Refuse data that the method cannot protect; called before any work."""

    def check_all(self, survey: Survey) -> None:
        """Refuse data that no method, or this method, can protect."""
        if np.isnan(survey.low).any():
            raise InputError(
                f"{self._label()} cannot protect missing values\n  options: read the data with missing='drop', missing='interpolate' or missing='mask'"
            )
        self.check_kinds(survey.blocks)
        if survey.largest > LARGEST:
            raise InputError(
                f"{self._label()} cannot protect values beyond {LARGEST:g}: their differences may leave the range of numbers\n"
                "  options: rescale the data first"
            )
        self.check(survey)

    def check_gaps(self, survey: Survey) -> None:
        """Refuse data whose records have gaps, unless the method protects these as they are."""
        if survey.gaps and not self.takes_gaps:
            raise InputError(
                f"{self._label()} cannot protect records with gaps (missing='mask')\n"
                "  options: method 'mdav', for series also 'nlk', or read the data with missing='drop' or missing='interpolate'"
            )

    @classmethod
    def check_kinds(cls, blocks: Sequence[Block]) -> None:
        """Refuse blocks of a kind that the method does not protect."""
        kinds = {block.kind for block in blocks}
        if not cls.takes_empty and (named := _columns_with_empty_cells(blocks)):
            raise InputError(
                f"{cls._label()} does not protect labels with empty cells ({some(named)})\n  options: method 'local-suppression', for which an empty "
                "cell is a value of its own, or a label for what is missing"
            )
        if kinds <= cls.takes:
            return
        words = f"{cls._label()} protects {' and '.join(sorted(cls.takes))}; this data set has {' and '.join(sorted(kinds))}"
        if named := [block.name for block in blocks if block.categories is not None and block.kind not in cls.takes]:
            words += (
                f" ({some(named)})\n  options: a method that protects labels (`tsveil methods` says which), or carry these columns unchanged as "
                "confidential, or leave them out"
            )
        raise InputError(words)

    def check_persons(self, survey: Survey) -> None:
        """Refuse data whose persons have several records, unless the method counts persons."""
        if survey.persons is not None and not self.counts_persons:
            raise InputError(
                f"{self._label()} takes every record for a person of its own, and here several records may belong to one person (person=)\n"
                "  options: a method that counts persons (`tsveil methods` says which), or one record for each person first (the long layout)"
            )

    def scales(self, survey: Survey) -> tuple[Scale, ...]:
        """The scales of whole blocks that it needs."""
        return ()

    # -- how it partitions --------------------------------------------------------------------------------------------

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """What is protected by itself: a function of the settings, the number of records and the columns; no value is known yet."""
        return tuple(Unit(block.name, block.name, tuple(survey.span(block.name))) for block in survey.blocks)

    def space(self, values: Array, unit: Unit, survey: Survey) -> Array:
        """Where records are compared; the borders between parts are cut there."""
        return values

    def tree(self, sample: Array, unit: Unit, survey: Survey) -> Tree:
        """The cuts of a unit of several parts, from a sample of its records."""
        assert unit.size is not None
        return grow_tree(self.space(survey.fill(sample, unit.columns), unit, survey), survey.n, unit.size)

    def leaves(self, unit: Unit, survey: Survey, tree: Tree) -> int:
        """The number of leaves of a unit."""
        return tree.leaves

    def leaf(self, values: Array, records: Indices, unit: Unit, survey: Survey, tree: Tree) -> Indices:
        """The leaf of each record."""
        return tree.leaf(self.space(survey.fill(values, unit.columns), unit, survey))

    def usable(self, values: Array, unit: Unit, survey: Survey) -> Mask:
        """The records that can be in a group; the others are suppressed, and a part needs enough of these."""
        return np.ones(len(values), dtype=np.bool_)

    def least(self, unit: Unit) -> int:
        """The fewest records that can be a part."""
        return 1

    # -- what it says -------------------------------------------------------------------------------------------------

    def most_records(self) -> int | None:
        """How many records of one person are protected at most; the others are left out."""
        return None

    def width(self, columns: int) -> int:
        """The number of columns that it makes of a record."""
        return columns

    def published_blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """The blocks as they are published: cells of labels may be empty there that were not."""
        return tuple(blocks)

    def published_source(self, source: Source) -> Source:
        """The roles of the published columns."""
        blocks = tuple(role.block() for role in source.blocks)
        shown = self.published_blocks(blocks)
        return source if shown == blocks else msgspec.structs.replace(source, blocks=tuple(map(BlockRole.of, shown)))

    def constants(self, survey: Survey, home: str) -> dict[str, Any]:
        """Figures for the report that do not depend on the parts, for a block (or what the units are reported under)."""
        return {}

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What the owner should know of the whole release; `facts` are the merged facts of all parts."""
        return []

    def done_in_words(self, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What was done, in sentences for the owner that warn of nothing."""
        return []

    # -- doing it -----------------------------------------------------------------------------------------------------

    def protect(
        self,
        data: Dataset,
        *,
        seed: int | None = None,
        engine: Any = None,
        scheduler: str | None = None,
        master: str | None = None,
        chunk: int | None = None,
        after: Release | Ledger | str | Path | None = None,
        ids: Ids = "fresh",
        regroup: bool = False,
    ) -> Release:
        """Protect a data set.

        Parameters
        ----------
        data
            The data set. In memory it is protected there; data that stay in their files always in chunks.
        seed
            For tests only. It decides what methods draw at random, and the order and identifiers of a written release; unless given it is drawn from the operating system and kept on the private side.
        engine
            "local", "dask" or "spark", your own Dask client or Spark session, which is left open: the work is then done in chunks, with the same result. Workers must see the input and the folder for temporary files under the same paths.
        scheduler, master
            The address of a running Dask scheduler or Spark master.
        chunk
            The records of a chunk.
        after
            The release of the same persons that this one continues, or its folder: groups stay together, and what would tell the persons apart over all releases is withheld. Only methods that keep groups of persons can do that (`continues`).
        ids
            "stable" keeps the identifiers of groups whose members stay the same.
        regroup
            Give everybody a new group.

        Returns
        -------
        Release
            The protected records and what they promise.

        Raises
        ------
        InputError, ParameterError
            If the method cannot protect these data, or cannot do so with these parameters.
        EngineError
            If the work could not be finished where it ran.
        """
        from tsveil.protect.over_time import past_of, without_published
        from tsveil.protect.work import protect_in_chunks, protect_in_memory

        past = past_of(after, ids, regroup=regroup)
        data = without_published(data, past)
        seed = fresh_seed() if seed is None else seed
        if engine is None and scheduler is None and master is None and chunk is None and data.source is None:
            store, done = protect_in_memory(self, data, seed, past)
            return self.make_release(data, store, seed, done, Here(), after)
        folder = Folder(mkdtemp(prefix="tsveil-"))
        # It holds all original values: it is gone when the release is, and when the work fails.
        weakref.finalize(folder, rmtree, folder.path, ignore_errors=True)
        with chosen_engine(engine or "local", scheduler=scheduler, master=master) as running:
            done = protect_in_chunks(self, data, seed, folder, running, checked_chunk(chunk), past)
        # A cluster that was started here is gone; what is asked of the release later is done on this machine.
        return self.make_release(data, folder, seed, done, LocalEngine(), after)

    def make_release(
        self,
        data: Dataset,
        store: Store,
        seed: int,
        done: ProtectionSummary,
        engine: Engine,
        after: Release | Ledger | str | Path | None = None,
    ) -> Release:
        """The release of what lies in a store; `after` is what it continues."""
        made = Release(data, store, self, self.guarantee(data), seed, done.warnings, done.facts, engine, after=after)
        return self.conclude(made)

    def conclude(self, release: Release) -> Release:
        """The release with what can be said only when all records are protected."""
        return release


@dataclass(frozen=True, kw_only=True)
class ValueMethod(Method):
    """Base of the methods that publish values in the place of values."""

    rounding: Literal["none", "input"] = param(
        "none", one_of("none", "input"), "round published values to the decimals of the input's columns", last=True
    )


def _columns_with_empty_cells(blocks: Sequence[Block]) -> list[str]:
    """The columns of labels in which cells may be empty."""
    return [
        name
        for block in blocks
        for name, categories in zip(block.columns, block.categories or (), strict=False)
        if categories.empty
    ]


def checked_chunk(chunk: object) -> int | None:
    """The number of records in a chunk, if it was given."""
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1):
        raise ParameterError(f"The 'chunk' parameter of protect must be an integer of at least 1. Got {chunk!r}.")
    return chunk


def whole_records(grouping: str, data: Described) -> bool:
    """Whether several blocks are grouped as one; a single block is the whole record however it is grouped."""
    return grouping == "joint" and len(data.blocks) > 1


def column_units(survey: Survey, size: int | None = None) -> tuple[Unit, ...]:
    """Each column by itself."""
    return tuple(
        Unit(column, block.name, (place,), size)
        for block in survey.blocks
        for column, place in zip(block.columns, survey.span(block.name), strict=True)
    )


def sizes_of(groups: Indices) -> dict[str, int]:
    """The facts that every grouping has."""
    sizes = np.bincount(groups[groups >= 0])
    if not len(sizes):
        return {"groups": 0}
    return {"groups": len(sizes), "smallest group": int(sizes.min()), "largest group": int(sizes.max())}


def merged_facts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of several parts as those of one: the least of what is called smallest, the greatest of what is called largest, sums.

    A text stays if it is the same in all parts.

    Examples
    --------
    >>> merged_facts([{"groups": 2, "smallest group": 5, "mode": "exact"}, {"groups": 3, "smallest group": 4, "mode": "exact"}])
    {'groups': 5, 'smallest group': 4, 'mode': 'exact'}
    """
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        values = [part[name] for part in parts if name in part]
        if name.startswith("smallest"):
            found[name] = min(values)
        elif name.startswith("largest"):
            found[name] = max(values)
        elif isinstance(values[0], Mapping):
            found[name] = merged_facts(values)
        elif not isinstance(values[0], str):
            found[name] = sum(values)
        elif len(set(values)) == 1:
            found[name] = values[0]
    return found


def round_columns(values: Array, decimals: Sequence[int | None]) -> Array:
    """Each column rounded to a number of decimals; None leaves it as it is.

    Examples
    --------
    >>> round_columns(np.array([[1.26, 3.5]]), [1, 0])
    array([[1.3, 4. ]])
    """
    out = values.copy()
    for column, digits in enumerate(decimals):
        if digits is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                nearest = np.round(values[:, column], digits)
            # A value too large to be shifted by its decimals has none.
            out[:, column] = np.where(np.isfinite(nearest), nearest, values[:, column])
    return out


def fitting_decimals(column: Array) -> list[int]:
    """To how many decimals, up to 12, the values of a column can be rounded without a change; the least is the number that they have.

    Examples
    --------
    >>> fitting_decimals(np.array([1.5, 2.25]))[0], fitting_decimals(np.array([1 / 3]))
    (2, [])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a value too large to be shifted by 12 digits has no decimals
        return [digits for digits in range(13) if np.array_equal(np.round(column, digits), column)]


def check_k(method: str, k: int, n: int, what: str = "records") -> None:
    """A group needs k records, or persons, so there must be k."""
    if k > n:
        raise ParameterError(f"The 'k' parameter of {method} must be at most the number of {what} ({n}). Got {k}.")


def linking_warnings(survey: Survey) -> list[str]:
    """A warning for each carried column whose values are so rare that they identify records by themselves."""
    return [
        f"the carried column {name!r} has a value of its own in {count} of {survey.n} records: whoever knows it can link by it"
        + (
            "; if it holds labels, they can be protected as keys (method local-suppression)"
            if 2 * survey.different[name] <= survey.n
            else ""
        )
        for name, count in survey.alone.items()
        if count > survey.n * RARE
    ]
