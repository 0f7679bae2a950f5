"""The engine that a caller means: by name, or the Dask client or Spark session at hand."""

from __future__ import annotations

from typing import Any

from tsveil.core.errors import ParameterError
from tsveil.engine.base import Engine

NAMES = ("local", "dask", "spark")


def chosen_engine(engine: Any = "local", *, scheduler: str | None = None, master: str | None = None) -> Engine:
    """An engine from its name, a Dask client, a Spark session, or an engine.

    With a name, a local cluster or session is started and closed again; `scheduler` and `master` are the addresses of running ones.

    Examples
    --------
    >>> chosen_engine("local").name
    'local'
    >>> chosen_engine("ray")
    Traceback (most recent call last):
    tsveil.core.errors.ParameterError: The 'engine' parameter must be 'local', 'dask' or 'spark', a Dask client or a Spark session. Got 'ray'.
    """
    for option, value, name in (("scheduler", scheduler, "dask"), ("master", master, "spark")):
        if value is not None and engine != name:
            raise ParameterError(f"The {option!r} parameter is for the engine {name!r}. Got the engine {engine!r}.")
    if isinstance(engine, Engine):
        return engine
    home = type(engine).__module__.split(".")[0]
    if engine == "local":
        from tsveil.engine.threads import LocalEngine

        return LocalEngine()
    if engine == "dask" or home == "distributed":
        from tsveil.engine.on_dask import DaskEngine

        return DaskEngine(None if engine == "dask" else engine, scheduler)
    if engine == "spark" or home == "pyspark":
        from tsveil.engine.on_spark import SparkEngine

        return SparkEngine(None if engine == "spark" else engine, master)
    raise ParameterError(
        f"The 'engine' parameter must be 'local', 'dask' or 'spark', a Dask client or a Spark session. Got {engine!r}."
    )
