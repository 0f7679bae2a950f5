"""A plan says everything about a run in a small TOML file: what is read, how it is protected and measured, where it goes.

The command line and the Python API build plans, and `run` (`tsveil.plan.run`) does the work; so any run can be repeated, reviewed and
kept under version control. A plan is private: it names the input and may carry a seed.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec

from tsveil.assess.limits import Intruder, Limits
from tsveil.core.errors import ParameterError, PlanError, Problems
from tsveil.core.registry import METHODS
from tsveil.core.toml import toml_text
from tsveil.data.categories import with_absolute_paths
from tsveil.data.dataset import Dataset
from tsveil.data.formats.written import Written
from tsveil.data.grouping import group_attributes
from tsveil.data.published import read_other_period
from tsveil.data.read import MEMORY, bytes_of, read
from tsveil.measure.score import Score
from tsveil.plan.problems import look_through
from tsveil.protect.base import checked_chunk
from tsveil.release.ledger import Ids
from tsveil.report.context import Context


class Input(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is read; the options of `tsveil.read`. What is left out is guessed."""

    path: str
    layout: Literal["wide", "long"] | None = None
    id: str | list[str] | None = None
    blocks: dict[str, list[str] | dict[str, Any]] | None = None
    confidential: list[str] = []
    #: the columns that say to which person a record belongs, where one person may have several
    person: list[str] = []
    #: columns that are left out, and whole numbers that are quantities although they look like codes
    leave_out: list[str] = []
    numbers: list[str] = []
    #: columns of labels: "nominal", "ordinal", the labels in their order, or the file of a hierarchy
    categories: dict[str, str | list[str] | dict[str, Any]] = {}
    #: rows that share a value of a column named like an identifier belong to different persons all the same
    independent_rows: bool = False
    #: the rows of the file are times and its columns are persons; false: they are not, although it looks like that
    transpose: bool | None = None
    #: two columns where the date and the time of day stand apart
    time: str | list[str] | None = None
    #: how times are written that do not say it themselves
    time_format: str | None = None
    variable: str | None = None
    value: str | list[str] | None = None
    separator: str | None = None
    decimal: str | None = None
    #: whether the first line holds the names of the columns
    header: bool | None = None
    #: of a workbook or a database
    sheet: str | None = None
    table: str | None = None
    query: str | None = None
    missing: Literal["refuse", "drop", "interpolate", "mask"] = "refuse"
    resample: int | None = None
    split: int | None = None
    #: attributes are regrouped into blocks of this many, by their correlation
    block_size: int | None = None
    #: of regrouped attributes: those that go together stand together, or apart
    blocks_by: Literal["correlated", "scattered"] = "correlated"

    def read(self, base: Path, memory: str | int = MEMORY, *, chunks: bool = False) -> Dataset:
        """The data set; a relative path counts from `base`."""
        options = msgspec.to_builtins(self)
        size, how = options.pop("block_size", None), options.pop("blocks_by", self.blocks_by)
        options["categories"] = with_absolute_paths(self.categories, base)
        data = read(base / options.pop("path"), memory=memory, chunks=chunks and size is None, **options)
        return data if size is None else group_attributes(data, size, how)

    def read_other_period(self, path: Path) -> Dataset:
        """A file of another period, read with the same options but for those that speak of columns."""
        options = msgspec.to_builtins(self)
        del options["path"]
        return read_other_period(path, options)


class Evaluation(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How it is measured; the options of `tsveil.evaluate`."""

    ties: Literal["expected", "first"] = "expected"
    scaling: Literal["original", "own"] = "original"
    dr1: Literal["max", "mean"] | None = None
    normalise: Literal["global", "per-record", "component", "ranging", "none"] | None = None
    variant: Literal["default", "paper"] | None = None
    models: list[str] | None = None
    known: list[str] | None = None
    counts: list[int] | None = None
    by: Literal["attributes", "blocks"] | None = None
    score: Score | None = None
    matched: Literal["own", "nearest"] | None = None
    #: how many records are attacked
    targets: int | Literal["all"] | None = None

    def options(self) -> dict[str, Any]:
        """Those of `tsveil.evaluate`."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class Running(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Where the work is done; what is published does not depend on it."""

    #: memory that the work may take: larger data are worked on in chunks
    memory: str = MEMORY
    #: records of a chunk
    chunk: int | None = None
    #: with one of these the work is done in chunks, whatever the size
    engine: Literal["local", "dask", "spark"] | None = None
    scheduler: str | None = None
    master: str | None = None

    def __post_init__(self) -> None:
        # msgspec turns a ValueError into a message that names the place in the plan.
        try:
            bytes_of(self.memory)
            checked_chunk(self.chunk)
        except ParameterError as error:
            raise ValueError(str(error)) from error


class Output(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Where the release goes, and how."""

    #: where the release goes: a new folder, inside that of the plan
    folder: str
    #: of the published data; that of the input unless given
    format: Written | None = None
    #: the name of the release, in its reports and its metadata
    title: str = ""
    #: the folder of the release of the same persons that this one continues
    after: str | None = None
    #: of such a release: new identifiers, or those of the release before as long as a group stays the same
    ids: Ids = "fresh"
    #: of such a release: new groups for everybody
    regroup: bool = False
    #: texts that a spreadsheet would run as formulas get an apostrophe in front, or are kept
    formulas: Literal["keep", "neutralise"] = "neutralise"


#: section and key of an earlier version -> the key of today
RENAMED = {("evaluate", "people"): "targets"}


def with_new_names(tables: dict[str, Any], source: str) -> dict[str, Any]:
    """The tables of a plan with the keys of today; a note says which ones have a new name.

    Examples
    --------
    >>> with warnings.catch_warnings(action="ignore"):
    ...     with_new_names({"evaluate": {"people": 20}}, "old.toml")
    {'evaluate': {'targets': 20}}
    """
    for (section, old), new in RENAMED.items():
        values = tables.get(section)
        if isinstance(values, dict) and old in values and new not in values:
            values[new] = values.pop(old)
            warnings.warn(f"{source}: [{section}] {old} is now called {new}", FutureWarning, stacklevel=4)
    return tables


#: the version of the keys of plans
VERSION: Literal[1] = 1


class TomlPlan(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What plans of every kind have in common: they are read from TOML and written as TOML."""

    #: how to get one to start from
    start: ClassVar[str] = "`tsveil plan FILE` writes a plan to start from"

    #: the version of the keys; a plan without it is of version 1
    version: Literal[1] = VERSION

    @classmethod
    def from_toml(cls, text: str, source: str = "the plan") -> Self:
        """Read a plan from TOML text.

        Parameters
        ----------
        text
            The TOML text.
        source
            What messages call it.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        PlanError
            If the plan cannot be used; all problems at once.
        """
        problems = Problems(f"{source} cannot be used", PlanError)
        try:
            tables = with_new_names(tomllib.loads(text), source)
            _refuse_newer(tables.get("version"), source)
            look_through(cls, tables, problems)
            cls._look_further(tables, problems)
            problems.hint(f"options: {cls.start}")
            problems.raise_if_any()
            return msgspec.convert(tables, cls)
        except PlanError:
            raise
        except (ValueError, RecursionError) as error:  # not TOML, numbers of thousands of digits, brackets without end
            raise PlanError(f"{source} cannot be used: {error}\n  options: {cls.start}") from error

    @classmethod
    def _look_further(cls, tables: Mapping[str, Any], problems: Problems) -> None:
        """Note what is wrong with a plan beyond its sections and keys."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan file.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        PlanError
            If the plan cannot be used; all problems at once.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"the plan {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        return cls.from_toml(text, str(path))

    def to_toml(self, comments: Mapping[str, str] | None = None) -> str:
        """The plan as TOML text.

        Parameters
        ----------
        comments
            'section' or 'section.key' to a remark that is put above it.

        Returns
        -------
        str
            The text.
        """
        return toml_text({"version": VERSION, **msgspec.to_builtins(self)}, comments)


def _refuse_newer(version: object, source: str) -> None:
    """Refuse a plan whose keys this version cannot know, before each of them is called wrong."""
    if isinstance(version, int) and version > VERSION:
        raise PlanError(
            f"{source} cannot be used: it is a plan of version {version}, and this tsveil reads version {VERSION}\n"
            "  options: the tsveil that the plan was written for, or a newer one"
        )


class Plan(TomlPlan, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A whole run.

    Examples
    --------
    >>> plan = Plan.from_toml('''
    ... [input]
    ... path = "meters.csv"
    ... [method]
    ... name = "mdav"
    ... k = 7
    ... [output]
    ... folder = "release"
    ... ''')
    >>> plan.method["k"]
    7
    >>> print(plan.to_toml())
    version = 1
    [input]
    path = "meters.csv"
    <BLANKLINE>
    [method]
    name = "mdav"
    k = 7
    <BLANKLINE>
    [output]
    folder = "release"
    """

    input: Input
    #: the method's name and its parameters
    method: dict[str, Any]
    output: Output
    evaluate: Evaluation = msgspec.field(default_factory=Evaluation)
    run: Running = msgspec.field(default_factory=Running)
    #: whom the release must withstand, and what is accepted
    intruder: Intruder = msgspec.field(default_factory=Intruder)
    limits: Limits = msgspec.field(default_factory=Limits)
    #: what only a person knows of the release, for the report
    context: Context = msgspec.field(default_factory=Context)
    #: a secret; leave it out and it is drawn from the operating system
    seed: int | None = None
    #: with the seed it decides everything random; left out it is drawn, and private/secret.txt has it; empty: the seed alone decides
    secret: str | None = None

    def __post_init__(self) -> None:
        old = self.context.accepted_risk
        if old is not None and self.limits.accepted_risk is None:
            warnings.warn(
                "accepted_risk stands in [limits] now; in [context] it is still read", FutureWarning, stacklevel=2
            )
            self.limits = msgspec.structs.replace(self.limits, accepted_risk=old)

    @classmethod
    def _look_further(cls, tables: Mapping[str, Any], problems: Problems) -> None:
        """Note what is wrong with the method and its parameters."""
        settings = tables.get("method")
        if not isinstance(settings, Mapping):
            return
        name = settings.get("name")
        if not isinstance(name, str):
            problems.add('[method] needs a name, such as name = "mdav"')
            problems.hint("`tsveil methods` lists them")
            return
        try:
            METHODS.make(name, {key: value for key, value in settings.items() if key != "name"})
        except ParameterError as error:
            first, *hints = str(error).splitlines()
            for problem in error.problems or [first]:
                problems.add(f"[method]: {problem}")
            for hint in hints if not error.problems else ():
                problems.hint(hint.strip())


def refuse_outside(plan: str | Path, base: Path, folder: str) -> None:
    """Refuse to write outside the folder of a plan: plans are passed on, and nobody expects one to reach into other places.

    Examples
    --------
    >>> refuse_outside("plan.toml", Path("."), "release")
    >>> refuse_outside("plan.toml", Path("."), "../release")
    Traceback (most recent call last):
    tsveil.core.errors.PlanError: plan.toml would write to '../release', which is outside its own folder
      options: --anywhere (anywhere=True) if that is meant
    """
    if not (base / folder).resolve().is_relative_to(base.resolve()):
        raise PlanError(
            f"{plan} would write to {folder!r}, which is outside its own folder\n  options: --anywhere (anywhere=True) if that is meant"
        )
