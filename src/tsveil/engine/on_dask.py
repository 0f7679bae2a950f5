"""Tasks on a Dask cluster: the caller's, or a local one that is started for the run.

A worker has as many tasks at once as it has threads, and each task holds a chunk or two. When a worker dies, the scheduler gives its
tasks to another one; a task whose workers keep dying fails the run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tsveil._types import Indices
from tsveil.engine.base import Engine, Work, done
from tsveil.engine.local import cores
from tsveil.errors import EngineError, InputError

if TYPE_CHECKING:
    from distributed import Client


class DaskEngine(Engine):
    """Tasks on the workers of a client; `scheduler` is an address to connect to, and without either a local cluster is started."""

    name: ClassVar[str] = "dask"

    def __init__(self, client: Client | None = None, scheduler: str | None = None) -> None:
        try:
            import distributed
        except ImportError as error:
            raise InputError(
                "the engine 'dask' needs Dask, which is not installed\n  options: pip install 'tsveil[dask]'"
            ) from error
        self._own: list[Any] = []
        if client is None:
            try:
                cluster: Any = scheduler
                if scheduler is None:
                    # Nobody else is to look on: by itself the dashboard listens to the whole network, and asks for no password.
                    cluster = distributed.LocalCluster(
                        n_workers=cores(),
                        threads_per_worker=1,
                        host="127.0.0.1",
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.ERROR,
                    )
                    self._own.append(cluster)
                client = distributed.Client(cluster, set_as_default=False, timeout="20s")
            except (OSError, ValueError) as error:
                self.close()
                raise InputError(
                    f"the Dask scheduler at {scheduler or 'this machine'} cannot be reached: {error}\n"
                    "  options: check the address (tcp://HOST:PORT), or leave it out for a local cluster"
                ) from error
            self._own.insert(0, client)
        self.client = client

    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """As they are finished on the cluster."""
        from distributed import as_completed

        futures = self.client.map(partial(done, work), tasks, pure=False, retries=1)
        places = {future: at for at, future in enumerate(futures)}
        try:
            for future in as_completed(futures, loop=self.client.loop):
                counter[0] += 1
                yield places[future], future.result()
        except Exception as error:
            raise EngineError(f"the work could not be finished on Dask: {type(error).__name__}: {error}") from error
        finally:
            self.client.cancel(futures)

    def close(self) -> None:
        """Stop the cluster that was started here."""
        for one in self._own:
            one.close()
        self._own.clear()
