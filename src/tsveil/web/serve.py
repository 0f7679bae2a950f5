"""Start the server on this computer, print the link, and clean up at the end however it comes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tsveil.core.errors import InputError, OutputError
from tsveil.core.stopping import stopped_by_signals
from tsveil.plan.stored import plan_of_release
from tsveil.release.ledger import read_ledger
from tsveil.web.gate import Gate
from tsveil.web.pages import App
from tsveil.web.studies import Studies
from tsveil.web.uploads import LARGEST

#: seconds that a request may stay half sent
PATIENCE = 30.0


class _Server(uvicorn.Server):
    """Ends open streams of progress at once when asked to end, instead of waiting for them."""

    app: App

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.app.jobs.ending.set()
        super().handle_exit(sig, frame)


class _Protocol(H11Protocol):
    """Closes connections on which a request stays half sent: uvicorn waits for the rest for ever.

    The head of a request has `seconds` from its first byte (or from the connection, if none comes), its body as long between two pieces.
    """

    seconds = PATIENCE
    _waiting: asyncio.TimerHandle | None = None
    _in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(in_head=True)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE and not self.transport.is_closing():
            if not self._in_head:
                self._wait(in_head=True)
        elif state is h11.SEND_BODY:
            self._wait(in_head=False)
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self, *, in_head: bool) -> None:
        self._stop_waiting()
        self._in_head = in_head
        self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting, self._in_head = None, False

    def _give_up(self) -> None:
        if self.flow.read_paused:  # we did not want more yet
            self._wait(in_head=self._in_head)
        elif not self.transport.is_closing():
            self.transport.close()


def serve(
    file: Path | None = None,
    *,
    demo: bool = False,
    after: Path | None = None,
    folder: Path = Path("tsveil-web"),
    port: int = 0,
    browser: bool = True,
    largest: int = LARGEST,
    patience: float = PATIENCE,
    say: Callable[[str], None] = print,
) -> None:
    """Run the web app until it is stopped; `port` 0 takes a free one. The release of `file` continues the one in the folder `after`, if there is one."""
    if file is not None and not file.is_file():
        raise InputError(f"there is no file {file}")
    if after is not None:
        if file is None:
            raise InputError("--after continues a release with a file\n  options: tsveil web FILE --after FOLDER")
        read_ledger(after)
        plan_of_release(after)
    os.umask(0o077)
    with _listening(port) as listener, stopped_by_signals():
        studies = Studies(folder)
        try:
            app = App(
                studies, given=file and file.resolve(), after=after and after.resolve(), demo=demo, largest=largest
            )
            own = listener.getsockname()[1]
            gate = Gate(
                app.asgi(), own, app.message, lambda link: say(f"Open  {link}   (works once)"), lambda: app.first
            )
            say(f"Studies are kept in {studies.folder}. End with Ctrl+C: uploads are removed then.")
            if browser:
                threading.Thread(target=webbrowser.open, args=(gate.link,), daemon=True).start()
            # The access log would hold the link; a session stays open while its job runs, so nothing else is of interest.
            config = uvicorn.Config(
                gate,
                http=type("Protocol", (_Protocol,), {"seconds": patience}),
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=5,
            )
            server = _Server(config)
            server.app = app
            if hasattr(signal, "SIGHUP"):  # the terminal was closed
                signal.signal(signal.SIGHUP, server.handle_exit)
            with contextlib.suppress(KeyboardInterrupt):  # uvicorn has ended by then; Ctrl+C is how one ends it
                server.run(sockets=[listener])
        finally:
            studies.close()


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """A socket of this computer only; it takes connections from now on, so the browser may come before the server is ready."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.closing(listener):
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise OutputError(
                f"port {port} cannot be used: {error.strerror or error}\n  options: another one, or none: a free one is taken"
            ) from error
        listener.listen(128)
        yield listener
