"""Tasks on a Dask cluster: the caller's, or a local one that is started for the run.

A worker has as many tasks at once as it has threads, and each task holds a chunk or two. When a worker dies, the scheduler gives its
tasks to another one; a task whose workers keep dying fails the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pkgutil
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tsveil.core.errors import EngineError, InputError
from tsveil.core.types import Indices
from tsveil.engine.base import Engine, Patience, Work, check_version, perform_task
from tsveil.engine.local import cores

if TYPE_CHECKING:
    from distributed import Client

#: seconds without a result until the workers are counted
PACE = 5.0
#: seconds within which a scheduler must answer: it may be starting at the same moment
ANSWER = 10
#: and seconds within which what listens there must say something
WORDS = 5
#: how often a client tries to connect to a scheduler whose first words it does not understand
TRIES = 5


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
            # What it has to say of a connection that broke is told by our own errors.
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
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
                else:
                    _greet(scheduler)
                client = _connect(cluster)
            except (OSError, ValueError, RuntimeError) as error:  # the last: a local cluster that does not start
                self.close()
                if scheduler is None:
                    raise EngineError(
                        f"no Dask cluster could be started on this machine: {error}\n"
                        '  options: in a script, put the work under `if __name__ == "__main__":`, for each worker runs the script\'s other lines when it starts; '
                        "or the engine 'local', which needs no workers"
                    ) from error
                raise InputError(
                    f"the Dask scheduler at {scheduler} cannot be reached: {error}\n"
                    "  options: check the address (tcp://HOST:PORT), or leave it out for a local cluster"
                ) from error
            self._own.insert(0, client)
        self.client = client
        try:
            self._check_versions()
        except EngineError:
            self.close()
            raise

    def _check_versions(self) -> None:
        """A scheduler or worker that cannot import what a task is made of would end, or say something that helps nobody."""
        # The function asked for is Python's own: where there is no tsveil there is that.
        asked = pkgutil.resolve_name, "tsveil:__version__"
        found = self.client.run(*asked, on_error="return")
        bare = sorted(worker for worker, version in found.items() if isinstance(version, ImportError))
        if bare:
            raise EngineError(
                f"{len(bare)} of {len(found)} Dask workers have no tsveil: {', '.join(bare[:5])}\n"
                "  options: install the same version there (pip install 'tsveil[dask]') and start them again"
            )
        try:
            found["the Dask scheduler"] = self.client.run_on_scheduler(*asked)
        except ImportError as error:
            raise EngineError(
                "the Dask scheduler has no tsveil, and it must be able to read the tasks\n"
                "  options: install the same version there (pip install 'tsveil[dask]') and start it again"
            ) from error
        for place, version in found.items():
            check_version(place, version)

    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """As they are finished on the cluster."""
        futures = self.client.map(partial(perform_task, work), tasks, pure=False, retries=1)
        finished: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        for at, future in enumerate(futures):
            future.add_done_callback(lambda future, at=at: finished.put((at, future)))
        patience = Patience(self.name, f"dask worker {self.client.scheduler.address}")
        try:
            while counter[0] < len(futures):
                try:
                    at, future = finished.get(timeout=PACE)
                except queue.Empty:
                    patience.look(at_work=bool(self.client.nthreads()))
                    continue
                counter[0] += 1
                yield at, future.result()
        except EngineError:
            raise
        except Exception as error:
            raise EngineError(f"the work could not be finished on Dask: {type(error).__name__}: {error}") from error
        finally:
            self.client.cancel(futures)

    def close(self) -> None:
        """Stop the cluster that was started here."""
        for one in self._own:
            one.close()
        self._own.clear()


def _connect(cluster: Any) -> Client:
    """A client of a cluster, or of the scheduler at an address.

    A busy scheduler may send news for all its clients in one message with the welcome for a new one. Dask asserts that the welcome comes
    alone, and its client fails; the next one comes in at another moment.
    """
    import distributed

    for _ in range(TRIES):
        with contextlib.suppress(AssertionError):
            return distributed.Client(cluster, set_as_default=False, timeout="20s")
    raise OSError("the scheduler does not answer as this version of Dask expects")


def _greet(scheduler: str) -> None:
    """Raise an error unless something that speaks Dask's language answers: a client that fails would wait for another minute."""
    from distributed.comm import connect
    from distributed.security import Security

    async def greet() -> None:
        comm = await connect(scheduler, timeout=ANSWER, **Security().get_connection_args("client"))
        await comm.close()

    async def greet_in_time() -> None:
        await asyncio.wait_for(
            greet(), ANSWER + WORDS
        )  # once connected, the words of the other side are waited for without an end

    with ThreadPoolExecutor(1) as thread:  # the caller may be in a loop of its own, in a notebook for example
        try:
            thread.submit(asyncio.run, greet_in_time()).result()
        except (TimeoutError, MemoryError) as error:  # silence, or the first bytes of another service, read as a length
            raise OSError("what listens there is not a Dask scheduler") from error
