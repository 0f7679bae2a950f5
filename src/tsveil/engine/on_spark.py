"""Tasks on Spark: the caller's session, or a local one that is started for the run.

Spark sees a frame with a row per task, one row in each partition, and `mapInArrow` that turns it into a row with the packed result. The
data stay in files, so nothing but these results is collected by the driver.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tsveil._types import Indices
from tsveil.engine.base import Engine, Work, done
from tsveil.engine.local import cores
from tsveil.errors import EngineError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: seconds between two looks at how far a job is
PACE = 0.2
#: a session of ours shows nothing to a browser or on the terminal
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
#: one on this machine listens to nobody else on the network, and on the machine to nobody without its secret
ALONE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.authenticate": "true"}


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
        if session is None:
            # Workers must run this Python with these packages, not whatever is first on the path.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            try:
                builder = Session.builder.master(master or f"local[{cores()},2]").appName("tsveil")
                for name, value in (QUIET if master else QUIET | ALONE).items():
                    builder = builder.config(name, value)
                session = builder.getOrCreate()
            except Exception as error:
                raise InputError(
                    f"Spark cannot be started at {master or 'this machine'}: {error}\n"
                    "  options: check the address (spark://HOST:PORT), and that Java is installed"
                ) from error
        self.session = session

    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """All at the end; the counter follows the job."""
        if not tasks:
            return
        todo = list(tasks)

        def batches(given: Any) -> Any:
            import pyarrow

            for batch in given:
                numbers = batch.column(0).to_pylist()
                answers = [done(work, todo[number]) for number in numbers]
                yield pyarrow.RecordBatch.from_pydict(
                    {"id": pyarrow.array(numbers, "int64"), "result": pyarrow.array(answers, "binary")}
                )

        frame = self.session.range(0, len(todo), 1, len(todo)).mapInArrow(batches, "id long, result binary")
        job = _Job(self.session, frame)
        job.start()
        while job.is_alive():
            job.join(PACE)
            counter[0] = min(len(todo), max(int(counter[0]), job.finished()))
        if job.failure is not None:
            reason = str(job.failure).strip().splitlines()
            told = next(
                (line.strip() for line in reversed(reason) if "Error" in line and "at " not in line[:4]), reason[0]
            )
            raise EngineError(
                f"the work could not be finished on Spark: {type(job.failure).__name__}: {told}"
            ) from job.failure
        counter[0] = len(todo)
        for row in job.rows:
            yield int(row["id"]), bytes(row["result"])

    def close(self) -> None:
        """Stop the session that was started here."""
        if self._owned:
            self.session.stop()


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

    def finished(self) -> int:
        """How many tasks are finished."""
        tracker = self.session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(stage.numCompletedTasks for stage in stages if stage is not None)
