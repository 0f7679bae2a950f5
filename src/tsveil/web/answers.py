"""Answers that several pages give."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response


def see_other(path: str) -> Response:
    """Send the browser to another page, which it asks for anew: loading that one again sends no form twice."""
    return RedirectResponse(path, status_code=303)
