"""An upload on its way to the disk: never whole in memory, and refused as soon as it is known to be too large.

The form sends its CSRF token first and the file after it, so the token is checked before a byte of the file is kept. The name that
the client gives to the file is a text to show; what is opened has a name of our own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from tsveil.core.errors import InputError
from tsveil.data.formats.known import FORMATS, PACKED
from tsveil.web.gate import csrf_is_right

#: how the names of files end that can be uploaded
ENDINGS = ",".join([*(ending for one in FORMATS.values() for ending in one.endings), *PACKED])
#: bytes of a file that is uploaded; a larger one can be given when the server is started
LARGEST = 1_000_000_000
#: bytes of the mark between the parts of a form (RFC 2046)
BOUNDARY = 70
#: bytes of a field that is not the file, and of the frame around the fields
SMALL = 10_000


class TooLargeError(InputError):
    """An upload over the limit."""


class ForgedError(InputError):
    """A form that did not come from our own page."""


class _Parts:
    """Takes the parts of a form as they arrive: small ones into `fields`, the file to the disk."""

    def __init__(self, target: Path, request: Request) -> None:
        self.fields: dict[str, str] = {}
        self.filename: str | None = None
        self._target = target
        self._request = request
        self._out: IO[bytes] | None = None
        self._headers: dict[bytes, bytes] = {}
        self._header = self._value = self._text = b""
        self._name = ""
        #: the mark that ends the form came; without it the file may be cut off
        self.ended = False

    def on_part_begin(self) -> None:
        self._headers, self._text = {}, b""

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if self._name == "file":
            if not csrf_is_right(self._request.scope, self.fields.get("csrf")):
                raise ForgedError("the form is out of date\n  load the page again and repeat the upload")
            if self._out is not None or self.filename is not None:
                raise InputError("one file at a time")
            self.filename = options.get(b"filename", b"").decode("utf-8", "replace")
            self._out = self._target.open("xb")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._out is not None:
            self._out.write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > SMALL:
            raise InputError("a field of the form is too long")

    def on_part_end(self) -> None:
        if self._out is not None:
            self._out.close()
            self._out = None
        else:
            self.fields[self._name] = self._text.decode("utf-8", "replace")

    def on_end(self) -> None:
        self.ended = True

    def close(self) -> None:
        if self._out is not None:
            self._out.close()

    def parser(self, boundary: bytes) -> MultipartParser:
        names = (
            "part_begin",
            "header_field",
            "header_value",
            "header_end",
            "headers_finished",
            "part_data",
            "part_end",
            "end",
        )
        return MultipartParser(boundary, {f"on_{name}": getattr(self, f"on_{name}") for name in names})  # type: ignore[arg-type]


async def receive_file(request: Request, target: Path, largest: int = LARGEST) -> tuple[str, dict[str, str]]:
    """Write the uploaded file to `target`, and give the name that the client has for it and the other fields; nothing is left behind on an error."""
    if int(request.headers.get("content-length") or 0) > largest + SMALL:
        raise too_large(largest)
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise InputError("no file was sent")
    if not 1 <= len(options[b"boundary"]) <= BOUNDARY:
        raise InputError(f"the mark between the parts of the form must have 1 to {BOUNDARY} characters")
    parts = _Parts(target, request)
    parser = parts.parser(options[b"boundary"])
    complete, size = False, 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > largest + SMALL:
                raise too_large(largest)
            parser.write(chunk)
        parser.finalize()
        if not parts.ended:
            raise InputError("the upload was cut off; try again")
        if not parts.filename:
            raise InputError("no file was chosen")
        complete = True
    except (FormParserError, ClientDisconnect) as error:
        raise InputError("the upload was interrupted; try again") from error
    finally:
        parts.close()
        if not complete:
            target.unlink(missing_ok=True)
    return shown_name(parts.filename), parts.fields


def too_large(largest: int) -> TooLargeError:
    """The error of an upload over the limit."""
    return TooLargeError(
        f"the file is larger than {largest / 1e6:,.0f} MB, the most that can be uploaded\n"
        "  a larger file is not uploaded but given at the start: tsveil web FILE"
    )


def shown_name(name: str) -> str:
    """The last part of a file name, without what could be a path or confuse a reader.

    Examples
    --------
    >>> shown_name("../../etc/passwd"), shown_name("C:\\\\data\\\\meters 1.csv"), shown_name("..")
    ('passwd', 'meters 1.csv', 'data.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    kept = re.sub(r"[^\w .()+-]", "_", last).strip(" .")[:100]
    return kept or "data.csv"
