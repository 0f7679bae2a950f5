"""Who may talk to the server: everything that comes in passes here first, and everything that goes out.

The server listens on this computer only, but every page in the browser and every program of any user of the computer can reach
it. So: a link with a token that works once gives a session (a cookie that scripts and other sites cannot use); the name that the browser
calls must be this computer's (other names that point here are an attack called DNS rebinding); what another site sends is refused;
and what goes out tells the browser to load, run and frame nothing but our own files.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: what a page may do: our own scripts, styles and pictures, nothing inline, nothing from elsewhere
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer browsers would send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
#: seconds after which a session ends; a new link is printed whenever one was used
LIFE = 12 * 3600


@dataclass(frozen=True)
class Session:
    """A browser that came with the link."""

    key: str
    #: must come with everything that changes something
    csrf: str
    #: when it ends, on the monotonic clock
    ends: float


@dataclass
class Gate:
    """The checks in front of an app; `show` is called with every new one-time link."""

    app: ASGIApp
    port: int
    #: says in a page why somebody was turned away: status, title, words
    refusal: Callable[[int, str, str], Response]
    show: Callable[[str], None] = lambda link: None
    #: where a newcomer is sent
    first: Callable[[], str] = lambda: "/"
    _token: str = ""
    _sessions: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._new_token()

    @property
    def link(self) -> str:
        """The link that opens the app once."""
        return f"http://127.0.0.1:{self.port}/enter?token={self._token}"

    def _new_token(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self.show(self.link)

    @property
    def cookie(self) -> str:
        """The cookie's name; browsers keep one jar for all ports of a host, so the port is in the name."""
        return f"tsveil-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        with_headers = _with_headers(send)
        answer = self._check(scope)
        await (answer or self.app)(scope, receive, with_headers)

    def _check(self, scope: MutableMapping[str, Any]) -> Response | None:
        """An answer instead of the app's, or None when all is well; then the scope holds the session."""
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        values = dict(headers)
        hosts = [value for name, value in headers if name == "host"]
        ours = {f"{host}:{self.port}" for host in ("127.0.0.1", "localhost")}
        if len(hosts) != 1 or hosts[0] not in ours:
            return self.refusal(400, "Unknown host", "This server answers to 127.0.0.1 and localhost only.")
        origin = values.get("origin")
        entering = scope["path"] == "/enter"
        if origin is not None and origin != f"http://{hosts[0]}":
            return self.refusal(403, "Not from here", "The request came from a page of another site.")
        if values.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and not entering:
            return self.refusal(403, "Not from here", "The request came from a page of another site.")
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return self.refusal(403, "Not from here", "The request does not say which page it comes from.")
        if entering:
            return self._enter(scope)
        session = self._session(values.get("cookie", ""))
        if session is None:
            return self.refusal(
                403,
                "The link is needed",
                "Open the link that is shown in the terminal where tsveil was started. Each link works once; the newest one is shown last.",
            )
        scope["session"] = session
        return None

    def _enter(self, scope: MutableMapping[str, Any]) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] != "GET" or not _same(given, self._token):
            return self.refusal(
                403,
                "This link does not work",
                "Each link works once. The newest one is shown last in the terminal where tsveil was started.",
            )
        self._new_token()
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), time.monotonic() + LIFE)
        self._sessions.append(session)
        answer = RedirectResponse(self.first(), status_code=303)
        answer.set_cookie(self.cookie, session.key, max_age=LIFE, httponly=True, samesite="strict", path="/")
        return answer

    def _session(self, cookie: str) -> Session | None:
        now = time.monotonic()
        self._sessions = [session for session in self._sessions if session.ends > now]
        try:
            given = SimpleCookie(cookie).get(self.cookie)
        except CookieError:
            return None
        if given is None:
            return None
        # All sessions are compared, each in constant time: how long it takes says nothing about a key.
        found = [session for session in self._sessions if _same(given.value, session.key)]
        return found[0] if found else None


def csrf_is_right(scope: MutableMapping[str, Any], given: object) -> bool:
    """Whether a form came from our own page: it carries the token of its session."""
    return isinstance(given, str) and _same(given, scope["session"].csrf)


def _same(given: str, kept: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), kept.encode())


def _with_headers(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sender
