"""Long work, one piece after the other, each in a process of its own.

A process can be stopped at any moment and gives its memory back. It is started with the job on its standard input as JSON and tells on
its standard output, line by line, what it is doing; when the input closes, because the server is gone, it ends. The pages look at
`Job`; nobody has to be looking for a job to go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

import msgspec

Kind = Literal["look", "risk", "sweep", "conclude", "release", "continue"]
State = Literal["waiting", "running", "done", "failed", "stopped"]

#: seconds that a process gets to end by itself
GRACE = 3.0
CRASHED = "Something went wrong inside tsveil. See the terminal for details."


@dataclass
class Job:
    """A piece of work."""

    id: str
    kind: Kind
    study: str
    #: what the process is told
    task: dict[str, Any]
    state: State = "waiting"
    #: what is being done
    text: str = "waiting for its turn"
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    #: why it failed
    problem: str = ""
    #: set whenever something changed, then replaced
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    #: when something changed last, on the monotonic clock
    since: float = field(default_factory=monotonic)

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ("done", "failed", "stopped")

    def describe(self) -> dict[str, Any]:
        """What pages are told."""
        return {
            "id": self.id,
            "state": self.state,
            "text": self.text,
            "done": self.done,
            "total": self.total,
            "left": remaining(self.seconds_left),
            "seconds": 0 if self.over else int(monotonic() - self.since),
            "over": self.over,
        }

    def tell(self, **news: Any) -> None:
        """Change something and wake whoever waits for it."""
        for name, value in news.items():
            setattr(self, name, value)
        self.since = monotonic()
        self.changed.set()
        self.changed = asyncio.Event()


def remaining(seconds: float | None) -> str:
    """A duration for people.

    Examples
    --------
    >>> [remaining(seconds) for seconds in (None, 4.2, 80, 4000)]
    ['', 'about 5 seconds left', 'about 1 minute left', 'about 1 hour left']
    """
    if seconds is None:
        return ""
    count, unit = (seconds / 3600, "hour") if seconds >= 3600 else (seconds / 60, "minute")
    if seconds < 60:
        count, unit = max(5.0, 5 * round(seconds / 5)), "second"
    number = max(round(count), 1)
    return f"about {number} {unit}{'s' if number > 1 else ''} left"


class Jobs:
    """The queue."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        #: None: the end
        self._queue: asyncio.Queue[Job | None] = asyncio.Queue()
        #: no more news: the server is ending
        self.ending = asyncio.Event()

    def add(self, kind: Kind, study: str, task: dict[str, Any]) -> Job:
        """Queue a job; one of the same kind for the same study is replaced."""
        for other in self.of(study):
            if other.kind == kind and not other.over:
                self.stop(other)
        job = Job(secrets.token_hex(8), kind, study, task)
        self._jobs[job.id] = job
        self._queue.put_nowait(job)
        return job

    def get(self, id: str) -> Job | None:
        """The job with this id."""
        return self._jobs.get(id)

    def of(self, study: str) -> list[Job]:
        """The jobs of a study, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.study == study]

    def latest(self, study: str, *kinds: Kind) -> Job | None:
        """The newest job of these kinds."""
        return next((job for job in self.of(study) if job.kind in kinds), None)

    def ahead(self, job: Job) -> int:
        """How many jobs come first."""
        waiting = [other for other in self._jobs.values() if not other.over]
        return waiting.index(job) if job in waiting else 0

    def stop(self, job: Job) -> None:
        """Stop a job, or take it out of the queue."""
        if job.over:
            return
        job.tell(state="stopped", text="stopped")
        if job.process is not None:
            _signal(job.process, signal.SIGTERM)

    async def run(self) -> None:
        """Do the jobs, one after the other, until the end."""
        while (job := await self._queue.get()) is not None:
            if job.over:
                continue
            job.tell(state="running", text="starting")
            try:
                await _run_job(job)
            except Exception:
                # The others wait; what happened is for the terminal.
                traceback.print_exc()
                job.tell(state="failed", problem=CRASHED)

    def close(self) -> None:
        """Stop everything; `run` ends when the last process has ended."""
        self.ending.set()
        for job in self._jobs.values():
            self.stop(job)
        self._queue.put_nowait(None)


async def _run_job(job: Job) -> None:
    """Run one job in its process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tsveil.web.work",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    job.process = process
    try:
        if job.over:  # stopped while the process was being started: it ends when its input closes
            return
        with contextlib.suppress(ConnectionError):
            process.stdin.write(msgspec.json.encode({"kind": job.kind, **job.task}) + b"\n")
            await process.stdin.drain()
        async for news in _lines(process.stdout):
            if job.over:
                break
            if "problem" in news:
                job.tell(state="failed", problem=news["problem"] or CRASHED)
            elif news.get("finished"):
                job.tell(state="done", text="done")
            else:
                job.tell(**{key: news.get(key) for key in ("text", "done", "total", "seconds_left")})
    finally:
        if job.over:
            process.stdin.close()
            await _end_process(process)
        else:
            code = await process.wait()
            job.tell(state="failed", problem=_why(code))
        job.process = None


def _why(code: int) -> str:
    """What the end of a process without a word means."""
    if code == -signal.SIGKILL:
        return "The work was ended by the system, most likely for want of memory. Try fewer or smaller data."
    return CRASHED


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    async for line in stream:
        with contextlib.suppress(msgspec.DecodeError):
            news = msgspec.json.decode(line)
            if isinstance(news, dict):
                yield news


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Wait for a process to end, and make it end."""
    try:
        await asyncio.wait_for(process.wait(), GRACE)
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to the process and to whatever it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.terminate()
            else:
                os.killpg(process.pid, number)
