"""Where the steps of a run leave what later steps need: in memory, or in a folder that all workers can reach.

A step writes arrays, frames and small records under names that depend on its task alone, and a later step reads them by name. In memory
nothing is copied. In a folder every file appears complete or not at all, so any task can be done again at any time, by another worker too.

    store.put("bounds-3", array)         store.get("bounds-3")            an array; from a folder it is mapped, not read
    store.put_frame("carried-3", frame)  store.get_frame("carried-3", 10, 5)   rows 10 to 14 of a frame
    store.put_plain("job", struct)       store.get_plain("job", Job)      plain values: a msgspec structure

A task carries `store.handle`, and the worker opens the store again with `open_store`.
"""

from __future__ import annotations

import os
import platform
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import EngineError
from tsveil.core.types import AnyArray
from tsveil.data.write import disk_errors

T = TypeVar("T")

#: numpy parses the head of a file as a Python literal, in which CPython 3.11 fails now and then when two threads do so at once
READING = threading.Lock()


class Store(ABC):
    """Arrays, frames and plain values by name."""

    @property
    @abstractmethod
    def handle(self) -> Any:
        """What a task carries so that its worker can open the store."""

    @abstractmethod
    def put(self, name: str, array: AnyArray) -> None:
        """Keep an array."""

    @abstractmethod
    def get(self, name: str, *, whole: bool = False) -> Any:
        """An array, not to be changed; `whole` reads all of it now, for arrays that are needed at once."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""

    @abstractmethod
    def put_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Keep a frame."""

    @abstractmethod
    def get_frame(
        self, name: str, start: int = 0, count: int | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """A frame, or `count` of its rows from `start` on, or some of its columns."""

    @abstractmethod
    def put_plain(self, name: str, value: Any) -> None:
        """Keep a msgspec structure or other plain values."""

    @abstractmethod
    def get_plain(self, name: str, kind: type[T]) -> T:
        """Plain values of a kind."""

    @abstractmethod
    def remove(self, stem: str) -> None:
        """Forget everything whose name begins like this."""

    @abstractmethod
    def part(self, name: str) -> Store:
        """A store inside this one, in which all names are free; the same for the same name."""


class Memory(Store):
    """A store that ends with the process.

    Examples
    --------
    >>> store = Memory()
    >>> store.put("x-0", np.arange(3))
    >>> open_store(store.handle).get("x-0")
    array([0, 1, 2])
    >>> store.remove("x-")
    >>> len(store.kept)
    0
    """

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    @property
    def handle(self) -> Memory:
        """The store itself: tasks do not leave the process."""
        return self

    def put(self, name: str, array: AnyArray) -> None:
        """Keep an array."""
        self.kept[name] = array

    def get(self, name: str, *, whole: bool = False) -> Any:
        """An array, not to be changed."""
        return self.kept[name]

    def has(self, name: str) -> bool:
        """Whether there is such an array."""
        return name in self.kept

    def put_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Keep a frame."""
        self.kept[name] = frame

    def get_frame(
        self, name: str, start: int = 0, count: int | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """A frame, or some of its rows or columns."""
        found: pl.DataFrame = self.kept[name]
        return (found if columns is None else found.select(columns)).slice(start, count)

    def put_plain(self, name: str, value: Any) -> None:
        """Keep plain values."""
        self.kept[name] = value

    def get_plain(self, name: str, kind: type[T]) -> T:
        """Plain values of a kind."""
        found: T = self.kept[name]
        return found

    def remove(self, stem: str) -> None:
        """Forget everything whose name begins like this."""
        for name in [name for name in self.kept if name.startswith(stem)]:
            del self.kept[name]

    def part(self, name: str) -> Memory:
        """A store inside this one."""
        found: Memory = self.kept.setdefault(f"{name}/", Memory())
        return found


class Folder(Store):
    """A store in files, which all workers see under the same path.

    Examples
    --------
    >>> import tempfile
    >>> store = Folder(tempfile.mkdtemp())
    >>> store.put("x-0", np.arange(3))
    >>> open_store(store.handle).get("x-0", whole=True)
    array([0, 1, 2])
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def handle(self) -> str:
        """The path."""
        return str(self.path)

    def put(self, name: str, array: AnyArray) -> None:
        """Write an array."""

        def write(partial: Path) -> None:
            with partial.open("wb") as file:
                # To a file that it knows as one, numpy writes in a way that says nothing of a full disk.
                np.save(SimpleNamespace(write=file.write), array, allow_pickle=False)

        put_file(self.path / f"{name}.npy", write)

    def get(self, name: str, *, whole: bool = False) -> Any:
        """An array, mapped from its file unless the whole is wanted."""
        with READING:
            found = np.load(self.path / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return np.array(found) if whole else found

    def has(self, name: str) -> bool:
        """Whether there is such an array."""
        return (self.path / f"{name}.npy").exists()

    def put_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Write a frame."""
        put_file(self.path / f"{name}.arrow", lambda path: frame.write_ipc(path, compression="uncompressed"))

    def get_frame(
        self, name: str, start: int = 0, count: int | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """A frame, or some of its rows or columns."""
        found = pl.scan_ipc(self.path / f"{name}.arrow").slice(start, count)
        return (found if columns is None else found.select(columns)).collect()

    def put_plain(self, name: str, value: Any) -> None:
        """Write plain values."""
        put_file(self.path / f"{name}.msgpack", lambda path: path.write_bytes(msgspec.msgpack.encode(value)))
        _plain.cache_clear()

    def get_plain(self, name: str, kind: type[T]) -> T:
        """Plain values; read once per process and version."""
        path = self.path / f"{name}.msgpack"
        try:
            found: T = _plain(str(path), path.stat().st_mtime_ns, kind)  # type: ignore[arg-type]
        except OSError as error:
            raise EngineError(
                f"the worker on {platform.node()} cannot read {path.parent}: {error.strerror}\n"
                "  options: an output folder that all workers see under the same path, and may write to"
            ) from error
        return found

    def remove(self, stem: str) -> None:
        """Delete everything whose name begins like this."""
        for path in self.path.glob(f"{stem}*"):
            path.unlink(missing_ok=True)

    def part(self, name: str) -> Folder:
        """A folder inside this one."""
        path = self.path / f"{name}.part"
        with disk_errors():
            path.mkdir(exist_ok=True)
        return Folder(path)


@lru_cache(maxsize=8)
def _plain(path: str, _: int, kind: Any) -> Any:
    return msgspec.msgpack.decode(Path(path).read_bytes(), type=kind)


def open_store(handle: Any) -> Store:
    """The store that a task speaks of."""
    return handle if isinstance(handle, Store) else Folder(handle)


def put_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it is complete or absent, also when two workers write it at once."""
    partial = path.with_name(f".{secrets.token_hex(6)}.{path.name}")
    try:
        with disk_errors():
            write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
