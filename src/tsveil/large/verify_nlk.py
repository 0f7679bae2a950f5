"""(n,l,k)-anonymity of a release in many files: by the count of small cells, and for the few series that it leaves open, exactly.

**Counting.** Keys of the values of each time point are counted over all files; what fewer than k series share is a small cell. A second pass
counts the small cells of each series. At most l-n-1 for every series: the promise holds, whatever n values are known.

**Searching.** A series f with more is suspect. The exact search (`guarantee.nlk`) needs of all other series only those that an attack on f can hardly
exclude: where g and h are not suspect and h differs from f wherever g does, whoever excludes g excludes h. Each file hands over those
that cannot be left out for its suspects; their union, with the suspects and the true sizes of all clusters, is a small table, and its
verdict is that of the whole release. Too many suspects, or too many series that cannot be left out: the verdict is "unknown".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tsveil._types import AnyArray, Indices
from tsveil.data.store import Store, opened
from tsveil.engine.base import Engine, Result, Task
from tsveil.errors import some
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.nlk import Finding, NLKAnonymity, hardest, search_attack
from tsveil.large.counting import Check, Table

#: so many suspect series of a block are searched, against so many others of each file for each of them
SUSPECTS, RIVALS = 50, 1000


@dataclass(frozen=True)
class Points:
    """What is judged by itself: the time points of a series, or of all of them together."""

    name: str
    labels: tuple[str, ...]
    tables: tuple[Table, ...]


def points_of(guarantee: NLKAnonymity, blocks: list[tuple[str, tuple[str, ...]]]) -> list[Points]:
    """A table of columns for each time point."""
    k = guarantee.k
    if guarantee.scope == "record":
        columns = list(zip(*(columns for _, columns in blocks), strict=True))
        labels = blocks[0][1]
        return [Points("", labels, tuple(Table(label, own, k) for label, own in zip(labels, columns, strict=True)))]
    return [
        Points(f"block {name!r}", columns, tuple(Table(column, (column,), k) for column in columns))
        for name, columns in blocks
    ]


def judged(
    guarantee: NLKAnonymity, check: Check, blocks: list[tuple[str, tuple[str, ...]]], engine: Engine, work: Store
) -> Verdict:
    """The verdict, when the values of all time points have been counted."""
    allowance = guarantee.l - guarantee.n - 1
    first, details, unknown = 0, [], ""
    for points in points_of(guarantee, blocks):
        span = {"work": work.handle, "first": first, "count": len(points.tables), "allowance": allowance}
        first += len(points.tables)
        tasks = [{**span, "at": at} for at in range(len(check.files))]
        found = engine.map(small_cells, tasks, "Counting small cells")
        most, open_ = max(int(one["most"]) for one in found), sum(int(one["open"]) for one in found)
        what = f"{points.name}: " if points.name else ""
        if most <= allowance:
            details.append(
                f"{what}no series has more than {most} values that fewer than {guarantee.k} series share; {allowance} are allowed whatever "
                "is known"
            )
            continue
        worst = next(one for one in found if one["most"] == most)
        told = (
            f"{what}published row {worst['row']} has {most} values that fewer than {guarantee.k} series share, more than the {allowance} "
            "that are safe whatever is known"
        )
        finding, rows = _searched(guarantee, check, engine, work, tasks, open_)
        if finding is None:
            unknown = unknown or f"{told}; {open_} such series are too many to be searched, or too hard"
        elif finding.attack is not None:
            attack = replace(finding.attack, series=int(rows[finding.attack.series]) - 1)
            return Verdict(
                Status.VIOLATED, guarantee.words, f"{what}published {attack.told(points.labels, guarantee.k)}"
            )
        elif finding.undecided:
            open_rows = some(sorted(rows[list(finding.undecided)].tolist()))
            unknown = unknown or f"{told}; the search was stopped with published rows {open_rows} undecided"
        else:
            details.append(
                f"{what}{open_} series have more than {allowance} such values; an exact search finds no attack"
            )
    if unknown:
        return Verdict(Status.UNKNOWN, guarantee.words, unknown)
    return Verdict(Status.HOLDS, guarantee.words, details=tuple(details))


def _searched(
    guarantee: NLKAnonymity, check: Check, engine: Engine, work: Store, tasks: Sequence[Task], suspects: int
) -> tuple[Finding | None, Indices]:
    """What an exact search finds in the suspects and those that cannot be left out, and their published rows; None: too many."""
    nobody = np.zeros(0, dtype=np.int64)
    if suspects > SUSPECTS:
        return None, nobody
    found = engine.map(rivals, tasks, "Searching attacks")
    if any(one["too many"] for one in found):
        return None, nobody
    first, count = int(tasks[0]["first"]), int(tasks[0]["count"])
    stems = [f"{name}-{first}-{at}" for name in ("suspects", "rivals") for at in range(len(check.files))]
    keys = np.concatenate([work.get(f"{stem}", whole=True) for stem in stems])
    rows = np.concatenate([work.get(f"{stem}.rows", whole=True) for stem in stems])
    codes = np.empty((count, len(keys)), dtype=np.int32)
    sizes = np.empty((count, len(keys)), dtype=np.int32)
    for point in range(count):
        _, codes[point] = np.unique(_packed(keys[:, point]), return_inverse=True)
        rare = _rare(work, check, first + point)
        copies = {key.tobytes(): int(copies) for key, copies in zip(rare[:, :2], rare[:, 2], strict=True)}
        # At least k is enough to know of the others.
        sizes[point] = [copies.get(key.tobytes(), guarantee.k) for key in keys[:, point]]
    finding = search_attack(codes, sizes, guarantee.n, guarantee.l, guarantee.k, node_limit=guarantee.node_limit)
    return finding, rows


def _rare(work: Store, check: Check, table: int) -> AnyArray:
    return np.concatenate([work.get(f"rare-{table}-{one}", whole=True) for one in range(check.bins)])


def _packed(keys: AnyArray) -> AnyArray:
    """Keys of 128 bits as single items."""
    return np.ascontiguousarray(keys).view(np.dtype((np.void, 16))).ravel()


# -- the steps --------------------------------------------------------------------------------------------------------


def small_cells(task: Task) -> Result:
    """For one file and some time points: the series with most small cells, and those with more than are allowed."""
    work, at, first = opened(task["work"]), int(task["at"]), int(task["first"])
    check = Check.load(work)
    keys = _keys(check, at, first, int(task["count"]))
    cells = np.zeros(len(keys), dtype=np.int64)
    for point in range(keys.shape[1]):
        cells += np.isin(_packed(keys[:, point]), _packed(_rare(work, check, first + point)[:, :2]))
    before = check.rows_before(at)
    open_ = np.flatnonzero(cells > int(task["allowance"]))
    if len(open_) <= SUSPECTS:
        work.put(f"suspects-{first}-{at}", keys[open_])
        work.put(f"suspects-{first}-{at}.rows", before + 1 + open_)
    return {"most": int(cells.max(initial=0)), "row": before + 1 + int(cells.argmax()), "open": len(open_)}


def _keys(check: Check, at: int, first: int, count: int) -> AnyArray:
    """The keys of one file at some time points, (records, points, 2)."""
    tables = check.tables[first : first + count]
    frame = check.read(at, [column for table in tables for column in table.columns])
    return np.stack([check.keys(table, frame) for table in tables], axis=1)


def rivals(task: Task) -> Result:
    """The series of one file that cannot be left out when the suspects are searched."""
    work, at, first = opened(task["work"]), int(task["at"]), int(task["first"])
    check = Check.load(work)
    keys = _keys(check, at, first, int(task["count"]))
    rows = check.rows_before(at) + 1 + np.arange(len(keys))
    innocent = ~np.isin(rows, work.get(f"suspects-{first}-{at}.rows", whole=True))
    keys, rows = keys[innocent], rows[innocent]
    chosen: set[int] = set()
    for suspects in range(len(check.files)):
        for suspect in work.get(f"suspects-{first}-{suspects}", whole=True):
            differs = (keys != suspect).any(axis=2)
            _, one_of_each = np.unique(np.packbits(differs, axis=1), axis=0, return_index=True)
            hard = one_of_each[hardest(differs[one_of_each], RIVALS)]
            if len(hard) > RIVALS:
                return {"too many": True}
            chosen |= set(hard.tolist())
    those = np.array(sorted(chosen), dtype=np.int64)
    work.put(f"rivals-{first}-{at}", keys[those])
    work.put(f"rivals-{first}-{at}.rows", rows[those])
    return {"too many": False}
