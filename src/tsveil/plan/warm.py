"""Everything a run needs, compiled ahead: for containers whose file system will be read-only, and before measuring time.

Kernels are compiled for the arrays that they are called with, so this calls them: it runs small plans of all methods, on series, on
attributes and on persons with several records, with all attacks. What they make is thrown away.
"""

from __future__ import annotations

import importlib
import pkgutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tsveil.attack.choose import links_by_attack
from tsveil.core import progress
from tsveil.core.errors import TsveilError
from tsveil.core.registry import DISTANCES, METHODS, PROMISES, starting
from tsveil.data.dataset import Dataset
from tsveil.data.read import read
from tsveil.plan.plan import Evaluation, Input, Output, Plan
from tsveil.plan.run import demo_plan, run
from tsveil.report.figures import no_charts
from tsveil.study.grids import default_grid

#: records of the small tables, enough for linkage to search by pictures, and of the larger one, enough for MDAV to search by lists
RECORDS, MANY = 480, 11_600
#: towns and what they lie in
TOWNS = {"x": ["north"], "y": ["north"], "z": ["south"]}
#: table -> how it is read
READ: dict[str, dict[str, Any]] = {
    "series": {"confidential": ["kind"]},
    "people": {"confidential": ["kind"]},
    "persons": {"person": "who"},
    "many": {},
    "gaps": {"missing": "mask"},
    "labels": {"categories": {"kind": "nominal", "place": {"order": list("pqrs")}, "town": {"hierarchy": TOWNS}}},
}


class WarmUp(NamedTuple):
    """What there is after warming."""

    #: how many kernels there are
    kernels: int
    #: where their machine code is kept; none if no folder can be written to
    folders: list[str]


def warm() -> WarmUp:
    """Compile everything a run needs into the cache; what is there already is loaded."""
    from tsveil import _kernels
    from tsveil._kernels.compiling import KERNELS, writable_folders

    for module in pkgutil.iter_modules(_kernels.__path__):
        importlib.import_module(f"{_kernels.__name__}.{module.name}")
    folders = writable_folders()
    if folders:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), no_charts():
            warnings.simplefilter("ignore")
            run_small_plans(Path(folder))
    return WarmUp(len(KERNELS), folders)


def run_small_plans(folder: Path) -> None:
    """Run all methods on small tables; then check promises that were not made, and attack in ways that no run chooses by itself."""
    data = small_tables(folder)
    plans = list(small_plans(data))
    with progress.step("Compiling for all methods", total=len(plans) + len(data)) as counter:
        for plan in plans:
            with suppress(TsveilError):  # a method need not fit these tables, nor what it makes be fit to publish
                run(plan, base=folder, overwrite=True)
            counter[0] += 1
        for table in data.values():
            released = METHODS.make(starting()).protect(table, seed=0)
            for promise in PROMISES:
                with suppress(TsveilError):
                    PROMISES.make(promise).verify(released.data)
            ways: list[dict[str, Any]] = [{}, {"blocking": 10}, *({"distance": name} for name in DISTANCES)]
            for way in ways:
                with suppress(TsveilError):
                    links_by_attack(table, released, **way)
            counter[0] += 1


def small_tables(folder: Path) -> dict[str, Dataset]:
    """Write small tables to a folder: series, attributes, persons with several records, more records, series with gaps, and labels; name -> what is read of it."""
    rng = np.random.default_rng(0)
    hours = [f"2024-01-{1 + hour // 24:02}T{hour % 24:02}:00" for hour in range(48)]
    kind, who = pl.Series("kind", rng.integers(4, size=RECORDS)), pl.Series("who", np.arange(RECORDS) % (RECORDS // 3))
    walks = rng.normal(size=(RECORDS, len(hours))).cumsum(axis=1)
    tables = {
        "series": pl.DataFrame(walks, schema=hours).with_columns(kind),
        "people": pl.DataFrame(rng.gamma(2.0, size=(RECORDS, 5)), schema=list("abcde")).with_columns(kind),
        "persons": pl.DataFrame(rng.gamma(2.0, size=(RECORDS, 3)), schema=list("abc")).with_columns(who),
        "many": pl.DataFrame(rng.gamma(2.0, size=(MANY, 3)), schema=list("abc")),
        "gaps": pl.DataFrame(np.where(rng.random(walks.shape) < 0.05, np.nan, walks), schema=hours).fill_nan(None),
        "labels": pl.DataFrame(walks, schema=hours).with_columns(
            kind=pl.Series([f"k{one}" for one in kind]),
            place=pl.Series(rng.choice(list("pqrs"), RECORDS)),
            town=pl.Series(rng.choice(list("xyz"), RECORDS)),
        ),
    }
    for name, table in tables.items():
        table.write_csv(folder / f"{name}.csv")
    raw, demo = demo_plan()
    raw.write_csv(folder / demo.input.path)
    return {name: read(folder / f"{name}.csv", **READ[name]) for name in tables}


def small_plans(data: dict[str, Dataset]) -> Iterator[Plan]:
    """The demo; all methods on series and on attributes, with the first values of what a sweep would try; the usual one on the others, and on labels all that take them."""
    yield demo_plan()[1]
    for table in ("series", "people"):
        for name in METHODS:
            for grid in default_grid(name, data[table]):
                yield small_plan(table, {"name": name, **{key: values[0] for key, values in grid.items()}})
    for table in ("persons", "many", "gaps", "labels"):
        yield small_plan(table, {"name": starting(), "k": 3})
    for name in METHODS:
        if "categories" in METHODS[name].takes:
            yield small_plan("labels", {"name": name})


def small_plan(table: str, method: dict[str, Any]) -> Plan:
    """A plan for one of the small tables."""
    return Plan(
        input=Input(path=f"{table}.csv", **READ[table]),
        method=method,
        output=Output(folder=f"{table}-{method['name']}"),
        evaluate=Evaluation(targets=50),
    )
