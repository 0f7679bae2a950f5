"""A plan says everything about a run in a small TOML file: what is read, how it is protected and measured, where it goes.

The command line and the Python API build plans, and `run` does the work; so any run can be repeated, reviewed and
kept under version control. A plan is private: it names the input and may carry a seed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any, ClassVar, Literal, Self

import msgspec
import polars as pl

from tsveil import progress
from tsveil.data.dataset import Dataset
from tsveil.data.read import MEMORY, bytes_of, read
from tsveil.data.store import Folder
from tsveil.data.write import complete_folder, refuse_existing
from tsveil.engine.choose import chosen_engine
from tsveil.engine.here import Here
from tsveil.errors import ParameterError, PlanError, Problems
from tsveil.plan_problems import look_through
from tsveil.protect.base import Method, checked_chunk
from tsveil.protect.work import protect_in_chunks, protect_in_memory
from tsveil.publish import Outcome as Outcome
from tsveil.publish import fill, publish
from tsveil.randomness import fresh_seed
from tsveil.registry import method, recommended
from tsveil.release import MARKER, Release
from tsveil.report.context import Context
from tsveil.transform.grouping import grouped


class Input(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is read; the options of `tsveil.read`. What is left out is guessed."""

    path: str
    layout: Literal["wide", "long"] | None = None
    id: str | None = None
    blocks: dict[str, list[str] | dict[str, Any]] | None = None
    confidential: list[str] = []
    time: str | None = None
    variable: str | None = None
    value: str | list[str] | None = None
    separator: str | None = None
    decimal: str | None = None
    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    resample: int | None = None
    split: int | None = None
    #: attributes are regrouped into blocks of this many, by their correlation
    block_size: int | None = None
    blocks_by: Literal["correlated", "scattered"] = "correlated"

    def read(self, base: Path, memory: str | int = MEMORY) -> Dataset:
        """The data set; a relative path counts from `base`."""
        options = msgspec.to_builtins(self)
        size, how = options.pop("block_size", None), options.pop("blocks_by", self.blocks_by)
        data = read(base / options.pop("path"), memory=memory, **options)
        return data if size is None else grouped(data, size, how)


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
    score: Literal["max", "classic", "rank-swap", "new"] | None = None
    #: how many records are attacked: the option `targets`
    people: int | Literal["all"] | None = None

    def options(self) -> dict[str, Any]:
        """Those of `tsveil.evaluate`."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        if self.people is not None:
            found["targets"] = found.pop("people")
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

    folder: str
    format: Literal["csv", "parquet"] | None = None
    title: str = ""
    #: texts that a spreadsheet would run as formulas: kept, or with an apostrophe in front
    formulas: Literal["keep", "neutralise"] = "keep"


class TomlPlan(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What plans of every kind have in common: they are read from TOML and written as TOML."""

    #: how to get one to start from
    start: ClassVar[str] = "`tsveil plan FILE` writes a plan to start from"

    @classmethod
    def from_toml(cls, text: str, source: str = "the plan") -> Self:
        """Read a plan from TOML text."""
        problems = Problems(f"{source} cannot be used", PlanError)
        try:
            tables = tomllib.loads(text)
            look_through(cls, tables, problems)
            problems.hint(f"options: {cls.start}")
            problems.raise_if_any()
            return msgspec.convert(tables, cls)
        except PlanError:
            raise
        except (ValueError, RecursionError) as error:  # not TOML, numbers of thousands of digits, brackets without end
            raise PlanError(f"{source} cannot be used: {error}\n  options: {cls.start}") from error

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"the plan {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        return cls.from_toml(text, str(path))

    def to_toml(self, comments: Mapping[str, str] | None = None) -> str:
        """The plan as TOML text; `comments` maps 'section' or 'section.key' to a remark put above it."""
        remarks = comments or {}
        content = msgspec.to_builtins(self)
        lines = _toml_lines("", {key: v for key, v in content.items() if not isinstance(v, dict)}, remarks)
        for section, table in content.items():
            if isinstance(table, dict) and table:
                lines += [*_remark(section, remarks), f"[{section}]", *_toml_lines(section, table, remarks), ""]
        return "\n".join(lines).strip()


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
    #: what only a person knows of the release, for the report
    context: Context = msgspec.field(default_factory=Context)
    #: a secret; leave it out and it is drawn from the operating system
    seed: int | None = None

    @classmethod
    def from_toml(cls, text: str, source: str = "the plan") -> Self:
        """Read a plan from TOML text."""
        plan = super().from_toml(text, source)
        if not isinstance(plan.method.get("name"), str):
            raise PlanError(
                f'{source} cannot be used: [method] needs a name, such as name = "mdav"\n  `tsveil methods` lists them'
            )
        return plan


def run(
    plan: Plan | str | Path,
    *,
    base: str | Path | None = None,
    source: Path | None = None,
    overwrite: bool = False,
    allow_unverified: bool = False,
    engine: Any = None,
    scheduler: str | None = None,
    master: str | None = None,
) -> Outcome:
    """Do what a plan says: read, protect, publish, verify, attack, measure and report.

    `plan` is a `Plan` or the path of a plan file; relative paths in it count from `base`, by default the plan file's folder or the
    current one. `source` is where the input lies now, when that is not where `plan.input` says. An `engine` ("local", "dask", "spark", a Dask
    client or a Spark session), with the address of a running `scheduler` or `master`, takes the place of the plan's; with one the work is done
    in chunks, and without one the size of the data decides.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "food.csv").write_text("food,1,2,3,4,5\\nbread,1,2,3,4,5\\noil,2,3,4,5,6\\nbeer,7,7,7,7,8\\ntea,8,8,7,7,8\\n")
    >>> outcome = tv.run(Plan(input=Input(path="food.csv"), method={"name": "mdav", "k": 2}, output=Output(folder="out")), base=folder)
    >>> outcome.verdict.holds, (outcome.folder / "published" / "data.csv").exists()
    (True, True)
    """
    if not isinstance(plan, Plan):
        base = base or Path(plan).parent
        plan = Plan.load(plan)
    base = Path(base or ".")
    folder = base / plan.output.folder
    refuse_existing(folder, overwrite=overwrite)  # said before the work, not after it
    settings = dict(plan.method)
    chosen = method(settings.pop("name"), settings)
    place = source or base / plan.input.path
    where = {
        "engine": plan.run.engine if engine is None else engine,
        "scheduler": scheduler or plan.run.scheduler,
        "master": master or plan.run.master,
    }
    with progress.step("Reading"):
        data = msgspec.structs.replace(plan.input, path=str(place.absolute())).read(Path(), plan.run.memory)
    seed = fresh_seed() if plan.seed is None else plan.seed
    with (
        complete_folder(folder, overwrite=overwrite, marker=MARKER) as partial,
        _protected(chosen, data, seed, partial / "spool", plan.run.chunk, where) as release,
    ):
        outcome = fill(
            release,
            partial,
            format=plan.output.format,
            allow_unverified=allow_unverified,
            formulas=plan.output.formulas,
            measures=plan.evaluate.options(),
            title=plan.output.title,
            context=plan.context,
            source=Path(plan.input.path).name,
            digest=data.origin.digest if data.origin else "",
            extra={"private/plan.toml": plan.to_toml() + "\n"},
        )
    return replace(outcome, folder=folder)


@contextmanager
def _protected(
    chosen: Method, data: Dataset, seed: int, spool: Path, chunk: int | None, where: Mapping[str, Any]
) -> Iterator[Release]:
    """The release, in memory or in chunks as the size of the data and the engine ask for."""
    if data.source is None and chunk is None and all(value is None for value in where.values()):
        store, done = protect_in_memory(chosen, data, seed)
        yield chosen.released(data, store, seed, done, Here())
        return
    spool.mkdir(mode=0o700)  # it holds all original values
    folder = Folder(spool)
    with chosen_engine(**{**where, "engine": where["engine"] or "local"}) as running:
        done = protect_in_chunks(chosen, data, seed, folder, running, chunk)
        release = chosen.released(data, folder, seed, done, running)
        yield release
    rmtree(spool)


def write_release(release: Release, folder: str | Path, **options: Any) -> Outcome:
    """Write a release that was made in Python, with the plan that would make it again where its data were read from a file.

    The options are those of `tsveil.publish.publish`.
    """
    origin = release.original.origin
    if origin is None:
        return publish(release, folder, **options)
    settings = (
        {p.name: p.default for p in type(release.method).parameters()} if isinstance(release.method, Method) else {}
    )
    changed = {name: value for name, value in release.method.settings().items() if settings.get(name) != value}
    output = {
        "folder": str(Path(folder).absolute()),
        **{key: options[key] for key in ("format", "formulas", "title") if options.get(key)},
    }
    tables: dict[str, Any] = {
        "input": {"path": origin.path, **origin.options},
        "method": {"name": release.method.name, **changed},
        "output": output,
    }
    measures = dict(options.get("measures") or {})
    if "targets" in measures:
        measures["people"] = measures.pop("targets")
    tables |= {"evaluate": measures} if measures else {}
    tables |= {"context": msgspec.to_builtins(options["context"])} if options.get("context") else {}
    try:
        extra = {"private/plan.toml": msgspec.convert(tables, Plan).to_toml() + "\n"}
    except msgspec.ValidationError:  # it was read with what no plan can say, such as times given as an array
        extra = {}
    return publish(release, folder, source=Path(origin.path).name, digest=origin.digest, extra=extra, **options)


def demo_plan() -> tuple[pl.DataFrame, Plan]:
    """The bundled example as the raw table a user would have, to be written beside the plan as load_curves.csv, and a plan for it.

    Examples
    --------
    >>> frame, plan = demo_plan()
    >>> frame.shape, plan.input.path
    ((300, 338), 'load_curves.csv')
    """
    from tsveil.data.examples import example_frame

    raw = example_frame("load-curves")
    first, last = raw.columns[1], raw.columns[-2]
    return raw, Plan(
        input=Input(path="load_curves.csv", blocks={"load": {"from": first, "to": last}}, confidential=["heating"]),
        method={"name": "mdav", **recommended("mdav", {"k": 5})},
        output=Output(folder="release", title="Demo: household load curves"),
        context=Context(
            purpose="to show what a release looks like",
            legal_basis="none is needed: the households are generated",
            controller="nobody; there are no people behind these data",
            recipients="anyone",
            method_reason="the curves of five households hide each other well and their mean keeps the daily pattern",
            accepted_risk=25.0,
        ),
    )


def _toml_lines(section: str, table: Mapping[str, Any], remarks: Mapping[str, str]) -> list[str]:
    lines = []
    for key, value in table.items():
        lines += [*_remark(f"{section}.{key}".lstrip("."), remarks), f"{_toml_key(key)} = {_toml_value(value)}"]
    return lines


def _remark(place: str, remarks: Mapping[str, str]) -> list[str]:
    return [f"# {line}" for line in remarks[place].splitlines()] if place in remarks else []


def _toml_key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    if isinstance(value, float):
        return repr(value)
    # Texts, whole numbers and truth values are written the same way in JSON and in TOML.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
