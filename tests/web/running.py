"""A real server in a process of its own, on a free port, that is gone at the end of the test whatever happens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

#: more than a small upload, less than anything that takes time
LARGEST = 3_000_000
PATIENCE = 60.0


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen[str]
    folder: Path
    temporary: Path
    #: every link that was printed, and those that were used
    links: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readers = [threading.Thread(target=read) for read in (self._read_links, self._read_errors)]
        for reader in self.readers:
            reader.start()

    def _read_links(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"http://\S+", line):
                self.links.append(found.group())

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)

    def link(self) -> str:
        """The newest link, once it is one that was not used."""
        end = time.monotonic() + PATIENCE
        while not self.links or self.links[-1] in self.used:
            assert self.process.poll() is None, "".join(self.errors)
            assert time.monotonic() < end, "no link was printed"
            time.sleep(0.02)
        return self.links[-1]

    def client(self) -> Client:
        """A browser that came with the link."""
        link = self.link()
        self.used.add(link)
        client = Client(link.split("/enter")[0])
        self.clients.append(client)
        client.http.get(link)
        return client

    def children(self) -> list[psutil.Process]:
        return list(psutil.Process(self.process.pid).children(recursive=True))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, and see that it and everything it started is gone."""
        for client in self.clients:
            client.http.close()
        children = self.children() if self.process.poll() is None else []
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            _, left = psutil.wait_procs(children, timeout=10)
            for child in left:
                child.kill()
            for reader in self.readers:
                reader.join()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
        assert left == []


class Client:
    """Talks to a server as a browser does: with the cookie, the origin and the token of the page."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.http = httpx.Client(base_url=base, follow_redirects=True, timeout=30, trust_env=False)

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    @property
    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/").text)
        assert found is not None
        return found.group(1)

    def post(self, path: str, fields: dict[str, str | list[str]] | None = None, **options: object) -> httpx.Response:
        headers = {"Origin": self.base}
        return self.http.post(path, data={"csrf": self.csrf, **(fields or {})}, headers=headers, **options)  # type: ignore[arg-type]

    def upload(self, name: str, content: bytes, csrf: str | None = None) -> httpx.Response:
        body = {"csrf": self.csrf if csrf is None else csrf}
        return self.http.post("/upload", data=body, files={"file": (name, content)}, headers={"Origin": self.base})

    def ready(self, path: str) -> httpx.Response:
        """The page, once no job of its own is running any more."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            page = self.get(path)
            if "data-events" not in page.text:
                return page
            time.sleep(0.1)
        raise AssertionError(f"{path} is still busy")


@contextmanager
def started(tmp_path: Path, arguments: str = "", **options: object) -> Iterator[Server]:
    """A server with options of `serve`; `arguments` are further ones as code."""
    folder, temporary = tmp_path / "studies", tmp_path / "temporary"
    temporary.mkdir(exist_ok=True)
    shown = "".join(f", {name}={value!r}" for name, value in options.items()) + f", {arguments}"
    code = (
        "import functools; from pathlib import Path, PosixPath; from tsveil.web.serve import serve; "
        f"serve(folder=Path({str(folder)!r}), browser=False, say=functools.partial(print, flush=True){shown})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    server = Server(process, folder, temporary)
    try:
        yield server
    finally:
        server.stop()
