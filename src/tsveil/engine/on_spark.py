"""Tasks on Spark: the caller's session, or a local one that is started for the run.

Spark sees a frame with a row per task, one row in each partition, and `mapInArrow` that turns it into a row with the packed result. The
data stay in files, so nothing but these results is collected by the driver.
"""

from __future__ import annotations

import gc
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

from tsveil.core.errors import EngineError, InputError
from tsveil.core.types import Indices
from tsveil.engine.base import Engine, Patience, Work, perform_task
from tsveil.engine.local import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: seconds between two looks at how far a job is
PACE = 0.2
#: a session of ours shows nothing to a browser or on the terminal
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
#: one on this machine listens to nobody else on the network, and on the machine to nobody without its secret
ALONE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.authenticate": "true"}
#: seconds within which a master must answer: it may be starting at the same moment
ANSWER = 10.0
#: what to do where workers lack a module
ANOTHER_PYTHON = (
    "\n  options: Spark's workers run another Python than this one. Install tsveil there (pip install 'tsveil[spark]'), or, before the session is started, set the environment "
    "variable PYSPARK_PYTHON to a Python that has it; for a session on this machine that is sys.executable"
)


class SparkEngine(Engine):
    """Tasks in the executors of a session; `master` is an address to connect to, and without either a local session is started."""

    name: ClassVar[str] = "spark"

    def __init__(self, session: SparkSession | None = None, master: str | None = None) -> None:
        try:
            import pyarrow  # noqa: F401
            from pyspark.sql import SparkSession as Session
        except ImportError as error:
            raise InputError(
                "the engine 'spark' needs PySpark and PyArrow, which are not installed\n  options: pip install 'tsveil[spark]'"
            ) from error
        if session is None and master is None:
            session = Session.getActiveSession()  # it would be taken in any case, and it is not ours to stop
        self._owned = session is None
        self.session = _start_session(Session, master) if session is None else session

    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """All at the end; the counter follows the job."""
        if not tasks:
            return
        todo = list(tasks)

        def batches(given: Any) -> Any:
            import pyarrow

            for batch in given:
                numbers = batch.column(0).to_pylist()
                answers = [perform_task(work, todo[number]) for number in numbers]
                keep_modules(len(sys.modules))
                yield pyarrow.RecordBatch.from_pydict(
                    {"id": pyarrow.array(numbers, "int64"), "result": pyarrow.array(answers, "binary")}
                )

        frame = self.session.range(0, len(todo), 1, len(todo)).mapInArrow(batches, "id long, result binary")
        job = _Job(self.session, frame)
        job.start()
        patience = Patience(
            self.name,
            "a worker with a free core and enough memory, which can connect to this machine (SPARK_LOCAL_IP is its address)",
        )
        try:
            while job.is_alive():
                job.join(PACE)
                finished, at_work = job.state()
                counter[0] = min(len(todo), max(int(counter[0]), finished))
                patience.look(at_work=at_work)
        finally:
            job.cancel()
        if job.failure is not None:
            reason = reason_of(job.failure)
            raise EngineError(
                f"the work could not be finished on Spark: {type(job.failure).__name__}: {reason}"
                + (ANOTHER_PYTHON if re.search(r"No module named|PYTHON_VERSION_MISMATCH", reason) else "")
            ) from job.failure
        counter[0] = len(todo)
        for row in job.rows:
            yield int(row["id"]), bytes(row["result"])

    def close(self) -> None:
        """Stop the session that was started here."""
        if self._owned:
            self.session.stop()


@cache
def keep_modules(count: int) -> None:
    """Take the modules that a worker has loaded out of the search for garbage, which Spark makes after each task: in it a small task would spend most of its time."""
    gc.collect()
    gc.freeze()


class _Job(threading.Thread):
    """Collects the results of one frame, so that the caller can look after the progress meanwhile."""

    def __init__(self, session: SparkSession, frame: Any) -> None:
        super().__init__(daemon=True)
        self.session, self.frame = session, frame
        self.group = f"tsveil-{os.getpid()}-{id(self)}"
        self.rows: list[Any] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.session.sparkContext.setJobGroup(self.group, "tsveil")
            self.rows = self.frame.collect()
        except Exception as error:
            self.failure = error

    def state(self) -> tuple[int, bool]:
        """How many tasks are finished, and whether the job is over or somebody works on one."""
        tracker = self.session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.group)]
        found = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        stages = [stage for stage in found if stage is not None]
        at_work = not self.is_alive() or any(stage.numActiveTasks for stage in stages)
        return sum(stage.numCompletedTasks for stage in stages), at_work

    def cancel(self) -> None:
        """Stop what nobody waits for any more."""
        if self.is_alive():
            self.session.sparkContext.cancelJobGroup(self.group)


def _start_session(kind: Any, master: str | None) -> SparkSession:
    """A session of our own, at a running cluster or on this machine."""
    if master is not None:
        _check(master)
    # Workers must run this Python with these packages, not whatever is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet = resources.files("tsveil.engine").joinpath("spark_logging.properties")
    try:
        with resources.as_file(quiet) as settings:
            os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={settings.absolute().as_uri()}")
            builder = kind.builder.master(master or f"local[{cores()},2]").appName("tsveil")
            for name, value in (QUIET if master else QUIET | ALONE).items():
                builder = builder.config(name, value)
            session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise InputError(
            f"Spark cannot be started at {master or 'this machine'}: {reason_of(error)}\n"
            "  options: check the address (spark://HOST:PORT), and that Java is installed"
        ) from error
    return session


def _check(master: str) -> None:
    """Refuse at once an address at which there is no cluster; Spark itself would try for two minutes."""
    options = "  options: check the address (spark://HOST:PORT), or leave it out to use this machine"
    if not re.match(r"(local(\[.*\])?|local-cluster\[.*\]|yarn)$|spark://|k8s://", master):
        raise InputError(f"{master!r} is not the address of a Spark cluster\n{options}")
    if master.startswith("spark://"):
        places = [place.rpartition(":") for place in master.removeprefix("spark://").split(",")]
        if not all(host and port.isdecimal() for host, _, port in places):
            raise InputError(f"the address {master} lacks a host or a port\n{options}")
        if reason := _silent([(host.strip("[]"), int(port)) for host, _, port in places]):
            raise InputError(f"the Spark master at {master} cannot be reached: {reason}\n{options}")


def _silent(places: Sequence[tuple[str, int]]) -> str:
    """Why nobody answers at any of these hosts and ports; empty when somebody does."""
    end = time.monotonic() + ANSWER
    while True:
        for place in places:
            try:
                socket.create_connection(place, timeout=max(1.0, end - time.monotonic())).close()
            except (OSError, OverflowError) as error:  # a port beyond 65535 overflows
                reason = str(getattr(error, "strerror", None) or error)
            else:
                return ""
        if time.monotonic() >= end:
            return reason
        time.sleep(PACE)


def reason_of(failure: BaseException) -> str:
    """The line that says most of an error with the traces of Java and Python in it."""
    lines = str(failure).strip().splitlines() or [type(failure).__name__]
    return next((line.strip() for line in reversed(lines) if "Error" in line and "at " not in line[:4]), lines[0])
