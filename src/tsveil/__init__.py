"""tsveil: protect time series and numerical microdata, attack the result, and measure it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tsveil.data.dataset import Block, Dataset

#: public name -> module that defines it; loaded when first used, so that `import tsveil` stays fast
_PLACES = {
    "Block": "tsveil.data.dataset",
    "Dataset": "tsveil.data.dataset",
}

__all__ = ["Block", "Dataset", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tsveil' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
