"""Files compressed by zstd: by Python itself from 3.14 on, before that by the same module as a package of its own."""

from __future__ import annotations

import importlib
import sys
from typing import Any, BinaryIO

from tsveil.core.errors import Problems
from tsveil.data.formats.base import needed

_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def _error() -> type[Exception]:
    """The exception of a damaged file; where the package is missing there are no such files."""
    try:
        found: type[Exception] = importlib.import_module(_MODULE).ZstdError
    except ImportError:
        return EOFError
    return found


ZstdError = _error()


def unpacked_zstd(file: BinaryIO, problems: Problems) -> Any:
    """What a compressed file holds, to be read piece by piece."""
    zstd = needed(_MODULE, "zstd", problems)
    # A window of 128 MB is the largest that the program itself unpacks without being asked.
    return zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: 27})
