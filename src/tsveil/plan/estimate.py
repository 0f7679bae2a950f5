"""What a run will take: time, memory, and disk space for the spool and the release; and whether there is as much.

Everything follows from the number of records n, of protected columns w, of columns o that the method makes of them, of distinct published
rows D (n/k where groups share one), and from the units and parts of the method; nothing is tried out. Sizes are in bytes.

    spool      in chunks: 8 n (2 w + 2 o) + 8 D w + n (SPOOLED + PER_UNIT units) + tables     in memory: nothing
    release    n (o v + KEPT + 16 carried columns) + PAGES                                    v bytes for a value of the format
    memory     PROGRAM + attacks + 8 n w HELD                                                 in memory
               PROGRAM + attacks + n NUMBERED + 8 max(t c w, t parts, units) HELD_IN_CHUNKS   in chunks of c records, by t threads
    time       START + n w (LINE + value + record part) + targets D w link                on one core

*attacks* are 16 n^2 bytes, for tables of pairs, and at most ATTACKS; *tables* are those that the attacks fitting the method keep for all their tasks. value, record and link are the `rates` of the method (`tsveil.protect.base`).

The constants come from runs of each method with its recommended parameters on random walks of 24 points with identifiers, written as Parquet, on two
shared cores of a virtual x86 machine, after a first run that compiled everything: 2,000 and 20,000 records in memory, MDAV also 50,000 and 200,000, noise 200,000 and 800,000;
200,000 in chunks for MDAV, noise and rank swapping. Measured and by these formulas:

    run                                   CPU s          peak MB         disk MB
    MDAV, 20,000, in memory               10 | 7         947 | 935       4 | 7
    MDAV, 200,000, in memory              49 | 58        1050 | 1246     54 | 65
    MDAV, 200,000, in chunks              50 | 58        850 | 1276      269 | 283
    noise, 200,000, in chunks             15 | 25        1051 | 1276     295 | 313
    rank swapping, 200,000, in chunks     53 | 75        1159 | 1276     457 | 461
    noise, 800,000, in memory             40 | 61        2117 | 2282     179 | 258
    (n,l,k), 20,000, in memory            29 | 28        972 | 935       4 | 7

So a figure is off by a third or half in either direction, and the time by more where a machine is faster, slower or busy. Methods that were not measured, those of other packages among them, are taken for MDAV.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tsveil.attack.base import Shape
from tsveil.attack.choose import fitting
from tsveil.attack.targets import affordable, checked_targets
from tsveil.core.errors import RoomError
from tsveil.data.dataset import Dataset
from tsveil.data.disk import free_disk
from tsveil.data.files import files_of
from tsveil.data.formats.known import FORMATS
from tsveil.data.memory import memory_for_us
from tsveil.data.read import bytes_of, exceeds, table_size
from tsveil.data.source import Source
from tsveil.engine.local import cores
from tsveil.protect.base import Method
from tsveil.protect.work import chunk_rows, units_of

#: bytes of the program with its libraries and charts
PROGRAM = 360_000_000
#: how many times the size of the values is held at once, in memory and in chunks; and the size of a file, at least, while it is read
HELD, HELD_IN_CHUNKS, READING = 9, 5, 2
#: bytes that attacks hold for each pair of records, and at most; for each record where envelopes are published; and what is held for each record whatever the chunks
PAIR, ATTACKS, ENVELOPE, NUMBERED = 16, 540_000_000, 2000, 200
#: bytes of the spool for each record, and for each record and unit, beside values
SPOOLED, PER_UNIT = 250, 32
#: bytes of a release for each record beside its published values, for each value by its format, and of the pages
KEPT, OF_VALUE, OF_TEXT, PAGES = 90, 9, 18, 500_000
#: seconds to start; and for each value to read, write, verify and measure it
START, LINE = 3.0, 1e-6


@dataclass(frozen=True)
class Estimate:
    """What a run will take, about, and what there is."""

    records: int
    columns: int
    #: 0: the work is done in memory
    chunks: int
    #: seconds of one core's time; None: machines do it that nobody here knows
    seconds: float | None
    #: bytes of memory on this machine; None: on other machines
    memory: int | None
    #: bytes of disk for the length of the run, and of the release; both lie in the same place
    spool: int
    release: int
    folder: Path
    #: bytes of memory and of disk that there are; None: the system does not say
    memory_there: int | None
    disk_there: int | None
    #: cores of this machine that the work may use
    cores: int

    @property
    def disk(self) -> int:
        """Spool and release together."""
        return self.spool + self.release

    def short(self) -> list[str]:
        """Of what there is too little, in words."""
        found = []
        if self.disk_there is not None and self.disk > self.disk_there:
            spool = f", {in_words(self.spool)} of it until the end of the run" if self.spool else ""
            found.append(
                f"disk: about {in_words(self.disk)} are needed where {self.folder} goes{spool}; {in_words(self.disk_there)} are free there"
            )
        if self.memory is not None and self.memory_there is not None and self.memory > self.memory_there:
            found.append(f"memory: about {in_words(self.memory)} are needed; {in_words(self.memory_there)} are there")
        return found

    def refuse_if_short(self) -> None:
        """Raise a RoomError if there is too little disk space or memory."""
        if not (short := self.short()):
            return
        options = []
        if self.disk_there is not None and self.disk > self.disk_there:
            options.append("a folder on a larger disk")
        if self.memory is not None and self.memory_there is not None and self.memory > self.memory_there:
            options.append(
                "a smaller chunk in [run]" if self.chunks else 'engine = "local" in [run], for work in chunks'
            )
            options.append("a larger machine")
        lines = ["there is not enough room for this run, and nothing was begun:", *(f"  {line}" for line in short)]
        raise RoomError("\n".join([*lines, f"  options: {', '.join(options)}, or fewer records or columns"]))

    def to_dict(self) -> dict[str, Any]:
        """For a machine; sizes in bytes, the time in seconds of one core."""
        return asdict(self) | {"folder": str(self.folder), "short": self.short()}


def refuse_too_large(path: Path, memory: int | str, *, long: bool) -> None:
    """Raise a RoomError if files that will be read into memory cannot fit there, before they are read.

    Reading holds at least the text or table of the files and its values at once. Files beyond the `memory` of the plan stay where they are, except for those of the long layout.
    """
    files = files_of(path)
    if exceeds(files, bytes_of(memory)) and not long:
        return
    needed, ours = READING * table_size(files), memory_for_us()
    if ours is not None and needed > ours:
        raise RoomError(
            f"{path.name} cannot be read into memory: that takes at least {in_words(needed)}, and {in_words(ours)} are there\n"
            "  options: a smaller memory in [run], so that the work is done in chunks, a larger machine, or fewer records or columns"
        )


def estimate(
    method: Method,
    data: Dataset,
    folder: Path,
    *,
    form: str | None = None,
    in_chunks: bool = False,
    chunk: int | None = None,
    engine: Any = None,
    elsewhere: bool = False,
    targets: int | Literal["all"] | None = None,
) -> Estimate:
    """What it takes to protect a data set and to publish it in a folder; `elsewhere`: on the machines of a cluster that runs already.

    Examples
    --------
    >>> import numpy as np, tsveil as tv
    >>> data = tv.Dataset.from_arrays({"load": np.zeros((200_000, 24))})
    >>> found = estimate(tv.MDAV(k=10), data, Path("release"), form="parquet", in_chunks=True)
    >>> found.chunks, in_words(found.spool), in_words(found.release)
    (2, '214 MB', '62 MB')
    """
    source = Source.of(data) if data.source is None else data.source
    n, width = source.n, len(source.columns)
    made, units = method.width(width), units_of(method, source)
    values = 8 * n * width
    distinct = n / max(1, getattr(method, "k", 1)) if method.representatives else n
    memory = PROGRAM + min(ATTACKS, PAIR * n * n if made == width else ENVELOPE * n)
    chunks = spool = 0
    if in_chunks:
        size = min(n, chunk_rows(chunk, width))
        chunks = -(-n // size)
        spool = int(8 * n * (2 * width + 2 * made) + 8 * distinct * width) + n * (SPOOLED + PER_UNIT * len(units))
        shape = Shape(n, [role.block() for role in source.blocks], bool(source.person))
        spool += sum(attack.kept_bytes(shape) for attack in fitting(shape, method))
        workers = min(cores(), chunks)
        parts = [len(unit.columns) * min(n, unit.size) for unit in units if unit.size is not None]
        whole = [len(unit.columns) * n for unit in units if unit.size is None]
        memory += NUMBERED * n + 8 * HELD_IN_CHUNKS * max(workers * max([size * width, *parts]), *whole, 0)
        if engine in ("dask", "spark"):
            memory += cores() * PROGRAM  # each worker is a program of its own; those of the engine "local" are threads
        if data.source is None:
            memory += values
        elif not source.in_parts:
            # Whoever needs records of such a file reads all of it.
            memory += workers * READING * max(table_size([Path(file)]) for file in source.files)
    else:
        memory += HELD * values
    rates = method.rates
    of_value = OF_VALUE if FORMATS[form or source.layout.format].typed else OF_TEXT
    of_parts = sum(n * len(unit.columns) * min(n, unit.size or n) for unit in units)
    linked = affordable(n, distinct, checked_targets(targets)) * distinct * width
    seconds = START + n * width * (LINE + rates.value) + of_parts * rates.record + linked * rates.link
    return Estimate(
        records=n,
        columns=width,
        chunks=chunks,
        seconds=None if elsewhere else seconds,
        memory=None if elsewhere else memory,
        spool=spool,
        release=n * (made * of_value + KEPT + 16 * len(source.others)) + PAGES,
        folder=folder,
        memory_there=memory_for_us(),
        disk_there=free_disk(folder),
        cores=cores(),
    )


def in_words(size: float) -> str:
    """A number of bytes as people say it.

    Examples
    --------
    >>> in_words(999), in_words(2_340_000), in_words(48e9)
    ('1 kB', '2.3 MB', '48 GB')
    """
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5 or unit == "TB":
            break
    return f"{size:.0f} {unit}" if size >= 9.95 or unit == "kB" else f"{size:.1f} {unit}"


def time_in_words(seconds: float) -> str:
    """A length of time, as exactly as an estimate may be told.

    Examples
    --------
    >>> [time_in_words(seconds) for seconds in (3.2, 48, 700, 40_000)]
    ['3 seconds', '50 seconds', '12 minutes', '11 hours']
    """
    if seconds < 90:
        return f"{max(1, round(seconds) if seconds < 10 else round(seconds, -1)):.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"
