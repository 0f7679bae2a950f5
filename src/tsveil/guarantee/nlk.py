"""(n,l,k)-anonymity: who knows n values of a published series can infer fewer than l-n others.

At every time point the series with the same published value form a cluster. An intruder knows n points of a series and keeps
the candidates, the series that agree with them. At another point t the intruder is left with the series that share a
candidate's value there:

    I(t) = union of cluster(g, t) over the candidates g,       t is inferred when |I(t)| < k

The table is (n,l,k)-anonymous when no series and no n known points allow l-n or more others to be inferred [1]_. To decide this
is hard in general (it contains set cover), but not for the tables at hand:

- A point of f can be inferred only where f's own cluster has fewer than k members. A series with at most l-n-1 such points is
  safe without any search; in practice that decides nearly all series.
- If n points at which f's cluster is not small single out f, all small points are inferred: a greedy choice finds most attacks.
- The rest is searched exactly: the known points must exclude every series beside which too few points can be inferred. Series
  that were found safe are among them, because an attack that leaves a safe series among the candidates is an attack on it.

**Series with values at different times** (`missing="mask"`). T_f are the times at which series f has a published value. Whoever has no value at t is in no
cluster at t, and an empty cell is not known or inferred as a value. The times themselves count as known, for they stand in the file, and whoever knows a
person may know when he was measured. So the table is (n,l,k)-anonymous when no series f and no set J of at most n points of T_f allow l-n or more
other points of T_f to be inferred by

    candidates:  the series g with T_g = T_f that agree with f on J
    I(t) = union of cluster(g, t) over the candidates g,       t in T_f outside J is inferred when |I(t)| < k

A cluster has all series with that value at t, whatever their other times: the value stands for all of them. For series with the same times this is the
definition above, because knowing fewer than n points never helps where l points are there. Of a series whose times nobody else shares, all small cells
are inferred: it is safe only with at most l-n-1 of them.

The search has a limit. When it is reached the verdict is "unknown", never "holds". Nothing here is shared with the methods that
make such tables.

Clusters are counted chunk by chunk, and so are the small cells of each series. If some series are open, series are brought together to be searched: all of
them, or, of a table with more than `chunks.TOGETHER` cells, the open ones and those that cannot be left out. These depend on the published rows
alone, not on how they are cut into chunks.

References
----------
.. [1] S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, Pattern-sensitive time-series anonymization and its application to
   energy-consumption data, Open Journal of Information Systems 1 (2014) 3-22.

Examples
--------
>>> print(verify_nlk([[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0], [1, 0, 1]], n=2, l=3, k=6))
HOLDS: (2,3,6)-anonymity: ...
>>> print(verify_nlk([[0, 0], [0, 1], [1, 2], [1, 3]], n=1, l=2, k=3))
VIOLATED: (1,2,3)-anonymity: ...
  row 1: who knows point 1 infers point 2, where fewer than 3 series remain possible
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from tsveil.core import progress
from tsveil.core.errors import InputError, ParameterError, some
from tsveil.core.params import at_least, one_of, param
from tsveil.core.types import AnyArray, Array, ArrayLike, Indices, Mask
from tsveil.data.dataset import Block, Dataset
from tsveil.data.store import open_store
from tsveil.engine.base import Result, Task
from tsveil.guarantee import chunks
from tsveil.guarantee.base import Counted, Status, Verdict
from tsveil.guarantee.chunks import Schema, opened_chunk
from tsveil.guarantee.counting import ROWS, Counts, Table, class_of_rows, classes_in, clusters_of, number_rows, row_list

#: nodes of the search trees, all series together, after which the verdict is "unknown"
NODE_LIMIT = 2_000_000
#: nodes for one series in the first round; what is undecided gets ten times more in the next
FIRST_ROUND = 200
#: comparisons of cells after which the series that cannot be left out of a large table are not looked for
COMPARED = 2**35


@dataclass(frozen=True)
class Attack:
    """Knowledge that breaks the promise: a series, n known points and the points that can be inferred from them, all counted from 0."""

    series: int
    known: tuple[int, ...]
    inferred: tuple[int, ...]

    def sentence(self, names: Sequence[str], k: int) -> str:
        """The attack in words, with the names of the points."""
        known, inferred = (
            f"point{'s' * (len(points) > 1)} {some([_Plain(names[t]) for t in points], most=12)}"
            for points in (self.known, self.inferred)
        )
        return (
            f"row {self.series + 1}: who knows {known} infers {inferred}, where fewer than {k} series remain possible"
        )


@dataclass(frozen=True)
class Finding:
    """What the search for an attack found."""

    status: Status
    attack: Attack | None
    #: how many series were decided by counting small clusters, and how many needed the exact search
    counted: int
    searched: int
    #: the series that the search could not decide
    undecided: tuple[int, ...]
    nodes: int


def verify_nlk(Y: ArrayLike, n: int, l: int, k: int, *, node_limit: int = NODE_LIMIT) -> Verdict:
    """Check (n,l,k)-anonymity of a table of published values, exactly. Values are compared as they are written.

    Parameters
    ----------
    Y
        A row per series and a column per time point; a third axis for points of several dimensions.
    n
        How many values of a series the intruder knows.
    l
        How many further values may not be inferred.
    k
        The fewest series that fit what is known.
    node_limit
        How many nodes of the search tree are looked at.

    Returns
    -------
    Verdict
        "holds"; "violated", with the series, the known points and what can be inferred from them; or "unknown" when the limit is reached.

    Raises
    ------
    InputError
        If Y is no table of numbers.
    ParameterError
        If n, l or k is out of range.

    Examples
    --------
    >>> verify_nlk([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]], n=1, l=2, k=2).holds
    True
    """
    table = _table(Y)
    check_nlk("verify_nlk", n, l, k, records=table.shape[0], points=table.shape[1])
    cube = table if table.ndim == 3 else table[:, :, None]
    labels = tuple(str(t + 1) for t in range(cube.shape[1]))
    columns = [tuple(f"{label} {dimension}" for label in labels) for dimension in range(cube.shape[2])]
    blocks = tuple(Block(f"{at}" if at else "", own, labels=labels) for at, own in enumerate(columns))
    values = np.ascontiguousarray(cube.transpose(0, 2, 1)).reshape(len(cube), -1)
    data = Dataset(values, blocks, pl.DataFrame())
    return NLKAnonymity(n, l, k, "record" if table.ndim == 3 else "block", node_limit).verify(data)


def check_nlk(who: str, n: int, l: int, k: int, *, records: int, points: int) -> None:
    """1 <= n < l <= T and 2 <= k <= N, or everything that is wrong with them."""
    wrong = []
    if n < 1:
        wrong.append(f"The 'n' parameter of {who} must be at least 1. Got {n}.")
    if not n < l <= points:
        wrong.append(
            f"The 'l' parameter of {who} must be above n ({n}) and at most the number of time points ({points}). Got {l}."
        )
    if not 2 <= k <= records:
        wrong.append(
            f"The 'k' parameter of {who} must be at least 2 and at most the number of records ({records}). Got {k}."
        )
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)


class Part(NamedTuple):
    """Time points to be judged together: what they are called, the names of the points, and their tables."""

    name: str
    points: Sequence[str]
    tables: range


@dataclass(frozen=True)
class NLKAnonymity(Counted):
    """Who knows n values of a series can infer fewer than l-n others.

    Examples
    --------
    >>> import tsveil as tv
    >>> published = tv.Dataset.from_arrays({"load": [[1.0, 5.0], [0.0, 0.0], [0.0, 0.0]]}, times=["2018-01-01", "2018-01-02"])
    >>> print(NLKAnonymity(1, 2, 3).verify(published))
    VIOLATED: (1,2,3)-anonymity: whoever knows any 1 of the values of a published series can infer none of the others. ...
      block 'load', row 1: who knows point 2018-01-01 infers point 2018-01-02, where fewer than 3 series remain possible
    """

    name: ClassVar[str] = "nlk"
    plain: ClassVar[str] = "whoever knows a few values of a series cannot infer the others"
    summary: ClassVar[str] = "whoever knows n values of a published series can infer fewer than l-n others"
    reference: ClassVar[str] = "Kessler, Buchmann, Burghardt and Böhm 2014"
    headline: ClassVar[tuple[str, ...]] = ("n", "l", "k")
    takes_gaps: ClassVar[bool] = True

    n: int = param(7, at_least(1), "the values of a series that an intruder knows")
    l: int = param(10, at_least(2), "known and inferred values together stay below l")
    k: int = param(10, at_least(2), "a value counts as inferred when fewer than k series remain possible for it")
    scope: Literal["block", "record"] = param(
        "block", one_of("block", "record"), "each block by itself, or the values of all blocks at a time as one point"
    )
    node_limit: int = param(NODE_LIMIT, at_least(0), "nodes of the search after which the verdict is unknown")

    @property
    def words(self) -> str:
        """The promise."""
        most = self.l - self.n - 1
        others = "none" if most == 0 else f"at most {most}"
        series = "series, its points of all dimensions," if self.scope == "record" else "series"
        return (
            f"({self.n},{self.l},{self.k})-anonymity: whoever knows any {self.n} of the values of a published {series} can infer "
            f"{others} of the others. A value counts as inferred when fewer than {self.k} series remain possible for it."
        )

    @property
    def short(self) -> str:
        """For tables."""
        return f"({self.n},{self.l},{self.k})-anonymity"

    @property
    def limits(self) -> str:
        """The promise is about inferring values, not about finding the row."""
        return (
            "It does not stop re-identification: a few known values often single out one published series, so that whoever knows them "
            "knows which row belongs to the person; that row's other values are then known only as far as clusters of at least "
            f"{self.k} series tell, except for up to {self.l - self.n - 1} values that may be published more exactly. It promises nothing "
            f"against an intruder who knows more than {self.n} values, or values of several series of a person."
        )

    @property
    def tile(self) -> tuple[str, str]:
        """Its three parameters."""
        return "(n,l,k)", f"({self.n},{self.l},{self.k})"

    @property
    def known(self) -> int:
        """The n values that the intruder knows."""
        return self.n

    @property
    def meaning(self) -> tuple[str, ...]:
        """The promise is easily taken for more than it is."""
        free = self.l - self.n - 1
        allowed = {0: "none of the other values", 1: "at most one other value"}.get(
            free, f"at most {free} other values"
        )
        return (
            f"At every time the records with the same published value form a cluster, and most clusters hold at least {self.k} records. "
            f"Whoever knows any {self.n} values of a record can narrow down {allowed} of it to fewer than {self.k} records.",
            f"It is made for data in which a pattern over many points is the secret, such as a daily routine: {self.n} known readings must "
            "not give the routine away.",
            "It does not hide which record belongs to a person. A published series is a combination of clusters, and few combinations occur "
            "twice: the table below says how many records a few known values single out. Who has found the record sees its other values as "
            f"exactly as they are published, that is, mostly as the mean of at least {self.k} records.",
            f"It promises nothing against an intruder who knows more than {self.n} values.",
        )

    def tables(self, schema: Schema) -> list[Table]:
        """One for each time point."""
        if self.scope == "block":
            return [Table(column, (column,)) for column in schema.columns]
        lengths = {len(block) for block in schema.blocks}
        if len(lengths) > 1:
            raise InputError(
                f"points of several dimensions need series of the same length. Got {some(sorted(lengths))} points\n"
                "  options: scope='block' checks each series by itself"
            )
        if schema.gaps and len(schema.blocks) > 1:
            raise InputError(
                "points of several dimensions with empty cells cannot be judged: a point may lack some of its dimensions\n"
                "  options: scope='block' checks each series by itself"
            )
        points = zip(*(block.columns for block in schema.blocks), strict=True)
        return [Table(columns[0], columns) for columns in points]

    def parts(self, schema: Schema) -> list[Part]:
        """Each block by itself, or the points of all blocks together."""
        found: list[Part] = []
        at = 0
        for block in schema.blocks[:1] if self.scope == "record" else schema.blocks:
            name = f"block {block.name!r}" if block.name and self.scope == "block" else ""
            found.append(Part(name, block.labels or block.columns, range(at, at + len(block))))
            at += len(block)
        return found

    def judge(self, counts: Counts) -> Verdict:
        """The promise must hold for each part."""
        details: list[str] = []
        unknown = ""
        parts = self.parts(counts.chunks.schema)
        for part in parts:
            check_nlk(self._label(), self.n, self.l, self.k, records=counts.n, points=len(part.points))
        for part in parts:
            finding, what = self._search_part(counts, part), f"{part.name}: " if part.name else ""
            if isinstance(finding, str):
                unknown = unknown or f"{what}{finding}"
                continue
            if finding.attack is not None:
                return self.verdict([f"{part.name}, " * bool(part.name) + finding.attack.sentence(part.points, self.k)])
            if finding.undecided:
                rows = row_list([f + 1 for f in finding.undecided[:ROWS]], len(finding.undecided))
                unknown = unknown or (
                    f"{what}the search was stopped after {finding.nodes} nodes with {len(finding.undecided)} series undecided "
                    f"({rows}): allow more (node_limit), or protect with other parameters"
                )
            if counts.chunks.schema.gaps:
                details.append(f"{what}series have values at different times, and these count as known")
            details.append(
                f"{what}{finding.counted} series have too few values in small clusters for any attack, {finding.searched} were searched"
            )
        if unknown:
            return Verdict(Status.UNKNOWN, self.words, unknown)
        return self.verdict([], details)

    def _search_part(self, counts: Counts, part: Part) -> Finding | str:
        """What the search finds in one part, or why there is none; series are numbered by their rows."""
        gaps = counts.chunks.schema.gaps
        given = {
            "first": part.tables.start,
            "last": part.tables.stop,
            "k": self.k,
            "least": self.l - self.n,
            "gaps": gaps,
        }
        found = counts.chunks.map(small_cells, "Counting small clusters", **given)
        suspects = sum(int(one["suspects"]) for one in found)
        if not suspects:
            return Finding(Status.HOLDS, None, counts.n, 0, (), 0)
        rows = np.arange(counts.n)
        cells = counts.n * len(part.points)
        if gaps and cells > chunks.TOGETHER:
            return (
                f"{suspects} of {counts.n} series have {self.l - self.n} or more values in small clusters, and series with empty cells are "
                f"searched together: more than {chunks.TOGETHER} values"
            )
        if cells > chunks.TOGETHER:
            if suspects * cells > COMPARED:
                return (
                    f"{suspects} of {counts.n} series have {self.l - self.n} or more values in small clusters: too many to be searched "
                    "in a table of this size"
                )
            rows = _rows_to_search(counts, part)
            if len(rows) * len(part.points) > chunks.TOGETHER:
                return (
                    f"{suspects} of {counts.n} series have {self.l - self.n} or more values in small clusters, and {len(rows)} series would "
                    f"have to be searched together: more than {chunks.TOGETHER} values"
                )
        codes, sizes = _clusters(counts, part, rows)
        search = search_attack
        if gaps:
            store = counts.chunks.store
            there = np.concatenate(
                [store.get(f"verify-{at}.there", whole=True) for at in range(len(counts.starts) - 1)]
            )
            search = partial(search_by_times, there.T)
        finding = search(codes, sizes, self.n, self.l, self.k, node_limit=self.node_limit)
        return replace(
            finding,
            attack=finding.attack and replace(finding.attack, series=int(rows[finding.attack.series])),
            counted=counts.n - suspects,
            undecided=tuple(rows[list(finding.undecided)].tolist()),
        )


class _Plain(str):
    """A name that is shown without quotation marks."""

    def __repr__(self) -> str:
        return str(self)


def _table(Y: ArrayLike) -> AnyArray:
    """The published values as numbers: series by points, by dimensions if there are several."""
    try:
        table = np.asarray(Y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the published values must be a table of numbers with rows of equal length") from None
    if table.ndim not in (2, 3) or 0 in table.shape:
        raise InputError(f"the published values must be a table of series by time points. Got the shape {table.shape}.")
    if not np.isfinite(table).all():
        raise InputError("the published values must be finite numbers; some are missing or infinite")
    return table


# -- the chunks -------------------------------------------------------------------------------------------------------------


def small_cells(task: Task) -> Result:
    """Find the series of one chunk that have too many values in small clusters."""
    store, at = open_store(task["store"]), int(task["at"])
    first, last = int(task["first"]), int(task["last"])
    there = None
    if task["gaps"]:
        values = opened_chunk(task["chunk"]).values
        assert values is not None
        there = ~np.isnan(values[:, first:last])
        store.put(f"verify-{at}.there", there)
    cells: AnyArray = np.zeros(0, dtype=np.int64)
    for number, table in enumerate(range(first, last)):
        small = classes_in(store, table).size < int(task["k"])
        own = small[class_of_rows(store, at, table)].astype(np.int64)
        own = own if there is None else own * there[:, number]
        cells = cells + own if number else own
    suspects = np.flatnonzero(cells >= int(task["least"]))
    store.put(f"verify-{at}.suspects", suspects)
    return {"suspects": len(suspects)}


def needed_rivals(task: Task) -> Result:
    """Find the series of one chunk that cannot be left out when the suspects of all chunks are searched."""
    store, at = open_store(task["store"]), int(task["at"])
    tables = range(int(task["first"]), int(task["last"]))
    codes = np.stack([class_of_rows(store, at, table) for table in tables], axis=1)
    others = np.ones(len(codes), dtype=np.bool_)
    others[store.get(f"verify-{at}.suspects")] = False
    rows = np.flatnonzero(others)
    found: list[Indices] = []
    for suspect in store.get("verify-suspects", whole=True):
        found.append(rows[_hardest_of(codes[rows] != suspect)])
    store.put(f"verify-{at}.rivals", np.concatenate(found))
    store.put(f"verify-{at}.rivals.ends", np.cumsum([0, *map(len, found)]))
    return {}


def _hardest_of(differs: Mask) -> Indices:
    """As `hardest`; equal rows, of which there are many, are first reduced to the first of them."""
    first = np.sort(number_rows(_bits(differs)).first)
    return first[hardest(differs[first])]


def _rows_to_search(counts: Counts, part: Part) -> Indices:
    """The rows of the suspects, and for each of them of the other series that an attack can hardly exclude.

    Each chunk hands over its own; what is hardest among these is hardest among all.
    """
    store, starts = counts.chunks.store, counts.starts[:-1]
    own = [store.get(f"verify-{at}.suspects", whole=True) for at in range(len(starts))]
    suspects = np.concatenate([start + rows for start, rows in zip(starts, own, strict=True)])
    codes, _ = _clusters(counts, part, suspects, renumbered=False)
    store.put("verify-suspects", np.ascontiguousarray(codes.T))
    given = {"first": part.tables.start, "last": part.tables.stop}
    counts.chunks.map(needed_rivals, "Looking for series that cannot be left out", **given)
    ends = [store.get(f"verify-{at}.rivals.ends", whole=True) for at in range(len(starts))]
    rivals = [store.get(f"verify-{at}.rivals", whole=True) + start for at, start in enumerate(starts)]
    every = np.unique(np.concatenate(rivals))
    theirs, _ = _clusters(counts, part, every, renumbered=False)
    needed = np.zeros(len(every), dtype=np.bool_)
    for number in range(len(suspects)):
        mine = np.concatenate([one[end[number] : end[number + 1]] for one, end in zip(rivals, ends, strict=True)])
        place = np.searchsorted(every, np.sort(mine))
        needed[place[_hardest_of((theirs[:, place] != codes[:, [number]]).T)]] = True
    return np.union1d(suspects, every[needed])


def _clusters(counts: Counts, part: Part, rows: Indices, *, renumbered: bool = True) -> tuple[AnyArray, AnyArray]:
    """Clusters and their sizes at these rows (in their order), points by series; clusters of some rows are numbered below their number."""
    store = counts.chunks.store
    codes = np.empty((len(part.points), len(rows)), dtype=np.int32)
    sizes = np.empty_like(codes)
    cuts = np.searchsorted(rows, counts.starts)
    for point, table in enumerate(part.tables):
        for at, start in enumerate(counts.starts[:-1]):
            own = slice(cuts[at], cuts[at + 1])
            codes[point, own] = class_of_rows(store, at, table)[rows[own] - start]
        sizes[point] = classes_in(store, table).size[codes[point]]
        if renumbered and len(rows) < counts.n:
            codes[point] = np.unique(codes[point], return_inverse=True)[1]
    return codes, sizes


# -- the search ------------------------------------------------------------------------------------------------------------


def find_violation(table: Array, n: int, l: int, k: int, *, node_limit: int = NODE_LIMIT) -> Finding:
    """Search an attack on a table of published values.

    Examples
    --------
    >>> import numpy as np
    >>> find_violation(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), n=1, l=2, k=3).attack
    Attack(series=0, known=(0,), inferred=(1,))
    """
    there = ~np.isnan(table if table.ndim == 2 else table[:, :, 0])
    if not there.all():
        return search_by_times(there.T, *clusters_of(table), n, l, k, node_limit=node_limit)
    return search_attack(*clusters_of(table), n, l, k, node_limit=node_limit)


def search_by_times(
    there: Mask, codes: AnyArray, sizes: AnyArray, n: int, l: int, k: int, *, node_limit: int = NODE_LIMIT
) -> Finding:
    """As `search_attack` for series with values at different times; `there` says where they are, points by series.

    Only series with the same times are candidates for each other, so each set of times is searched by itself.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[1.0, 5.0, np.nan], [1.0, 6.0, 2.0], [1.0, 6.0, 2.0]])
    >>> find_violation(table, n=1, l=2, k=2).attack
    Attack(series=0, known=(0,), inferred=(1,))
    """
    _, number = np.unique(_bits(there.T), axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    counted = searched = nodes = 0
    undecided: list[int] = []
    for rows in np.split(order, np.flatnonzero(np.diff(number.ravel()[order])) + 1):
        points = np.flatnonzero(there[:, rows[0]])
        if len(points) < l - n:
            counted += len(rows)
            continue
        own = np.ix_(points, rows)
        found = search_attack(
            np.stack([np.unique(point, return_inverse=True)[1] for point in codes[own]]).astype(codes.dtype),
            sizes[own], n, l, k, node_limit=node_limit - nodes,
        )  # fmt: skip
        nodes, counted, searched = nodes + found.nodes, counted + found.counted, searched + found.searched
        undecided += rows[list(found.undecided)].tolist()
        if found.attack is not None:
            known, inferred = (tuple(points[list(at)].tolist()) for at in (found.attack.known, found.attack.inferred))
            return Finding(
                Status.VIOLATED, Attack(int(rows[found.attack.series]), known, inferred), counted, 0, (), nodes
            )
    status = Status.UNKNOWN if undecided else Status.HOLDS
    return Finding(status, None, counted, searched, tuple(sorted(undecided)), nodes)


def search_attack(codes: AnyArray, sizes: AnyArray, n: int, l: int, k: int, *, node_limit: int = NODE_LIMIT) -> Finding:
    """The same for clusters and their sizes, both points by series; the sizes may count series that are not among these.

    Series may be left out that have fewer than l-n small cells if for each series with more, one that stays differs from it at no
    other points: an attack must exclude both, and excluding the one excludes the other.
    """
    m = l - n
    few = (sizes < k).sum(axis=0) < m
    suspects = np.flatnonzero(~few).tolist()
    counted = int(few.sum())

    for f in suspects:
        attack = _greedy_attack(codes, sizes, f, n, m, k)
        if attack is not None:
            return Finding(Status.VIOLATED, attack, counted, 0, (), 0)

    safe = few.copy()
    limit, nodes = FIRST_ROUND, 0
    with progress.step("Searching attacks", total=len(suspects)) as counter:
        while suspects and nodes < node_limit:
            undecided = []
            for f in suspects:
                outcome, used, known = _search(codes, sizes, f, n, m, k, safe, min(limit, node_limit - nodes))
                nodes += used
                if outcome is Status.VIOLATED:
                    attack = _complete_attack(codes, sizes, f, known, n, m, k)
                    assert attack is not None, "the search found an attack that is none"
                    return Finding(Status.VIOLATED, attack, counted, 0, (), nodes)
                if outcome is Status.HOLDS:
                    safe[f] = True
                    counter[0] += 1
                else:
                    undecided.append(f)
            suspects = undecided
            limit *= 10
    searched = int(safe.sum()) - counted
    status = Status.UNKNOWN if suspects else Status.HOLDS
    return Finding(status, None, counted, searched, tuple(suspects), nodes)


def _greedy_attack(codes: AnyArray, sizes: AnyArray, f: int, n: int, m: int, k: int) -> Attack | None:
    """Know the points that leave the fewest candidates, among those that cannot be inferred themselves."""
    from tsveil._kernels.nlk_verify import narrow_down

    known = np.empty(n, dtype=np.int64)
    left = np.empty(codes.shape[1], dtype=np.int64)
    chosen, _ = narrow_down(codes, sizes, f, n, k, known, left)
    return _complete_attack(codes, sizes, f, known[:chosen].tolist(), n, m, k)


def _complete_attack(
    codes: AnyArray, sizes: AnyArray, f: int, known: list[int], n: int, m: int, k: int
) -> Attack | None:
    """The attack with these known points, and others up to n, if it infers m points: computed by the definition."""
    candidates = (codes[known] == codes[known, f][:, None]).all(axis=0)
    inferred = _inferable_points(codes, sizes, candidates, known, k)
    if len(inferred) < m:
        return None
    # Further knowledge only helps; it is taken from points that need not be inferred.
    spared = {*known, *inferred[:m]}
    known = sorted(known + [t for t in range(codes.shape[0]) if t not in spared][: n - len(known)])
    candidates = (codes[known] == codes[known, f][:, None]).all(axis=0)
    return Attack(f, tuple(known), tuple(_inferable_points(codes, sizes, candidates, known, k)))


def _inferable_points(codes: AnyArray, sizes: AnyArray, candidates: Mask, known: list[int], k: int) -> list[int]:
    """The points where the candidates' clusters have fewer than k members together, by the definition."""
    code, size = codes[:, candidates], sizes[:, candidates]
    order = np.argsort(code, axis=1)
    code, size = np.take_along_axis(code, order, axis=1), np.take_along_axis(size, order, axis=1)
    counts = size[:, 0] + ((code[:, 1:] != code[:, :-1]) * size[:, 1:]).sum(axis=1)
    counts[known] = k
    return np.flatnonzero(counts < k).tolist()


def _search(
    codes: AnyArray, sizes: AnyArray, f: int, n: int, m: int, k: int, safe: Mask, limit: int
) -> tuple[Status, int, list[int]]:
    """Decide whether n known points of f can infer m others: the outcome, the nodes needed, the known points."""
    from tsveil._kernels.nlk_verify import FOUND, NONE, find_attack

    differs = codes != codes[:, f][:, None]
    small = np.flatnonzero(sizes[:, f] < k)
    lost = differs[small] & (sizes[small] + sizes[small, f][:, None] >= k)
    must = safe | (len(small) - lost.sum(axis=0) < m)
    must[f] = False
    stay = ~must & differs.any(axis=0)

    # Free points, where f's cluster is not small, cost no point that could be inferred. When n allows for all of them and for as
    # many small points as can be spared, an attack may as well know them all.
    free = np.ones(codes.shape[0], dtype=np.bool_)
    free[small] = False
    useful = free & differs.any(axis=1)
    given: list[int] = []
    if useful.sum() + len(small) - m <= n:
        given = np.flatnonzero(useful).tolist()
        gone = differs[useful].any(axis=0)
        must, stay = must & ~gone, stay & ~gone
        points = small
    else:
        points = np.concatenate([np.flatnonzero(useful), small])

    hard = differs[np.ix_(points, must)].T  # series by points, as the next one
    hard = hard[hardest(hard)]
    soft = differs[np.ix_(points, stay)].T
    kept = _irreplaceable_points(np.concatenate([hard, soft]).T, free[points])
    hard, soft, points = hard[:, kept], soft[:, kept], points[kept]
    if not hard.any(axis=1).all():
        return Status.HOLDS, 0, []  # a series that must be excluded cannot be

    place = np.full(codes.shape[0], -1, dtype=np.int64)
    place[small] = np.arange(len(small))
    here = np.ix_(small, np.flatnonzero(stay))
    code = np.where(differs[here], codes[here], -1).astype(np.int64)
    picks = np.empty(n + 1, dtype=np.int64)
    outcome, depth, nodes = find_attack(
        _bits(hard),
        _bits(soft),
        _bits(hard.T),
        _bits(soft.T),
        place[points],
        code,
        sizes[here].astype(np.int64),
        (k - sizes[small, f]).astype(np.int64),
        n - len(given),
        m,
        limit,
        np.zeros(codes.shape[1] + 1, dtype=np.int64),
        picks,
    )
    known = given + points[picks[:depth]].tolist() if outcome == FOUND else []
    return {FOUND: Status.VIOLATED, NONE: Status.HOLDS}.get(outcome, Status.UNKNOWN), nodes, known


def hardest(rows: Mask) -> Indices:
    """The rows that contain no other row (the first of equal ones), the shortest first: hitting these hits all.

    Examples
    --------
    >>> import numpy as np
    >>> hardest(np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 1, 1]], dtype=bool))
    array([2, 1])
    """
    left = np.argsort(rows.sum(axis=1), kind="stable")
    words = _bits(rows)[left]
    at = 0
    while at < len(left):
        kept = np.ones(len(left), dtype=np.bool_)
        kept[at + 1 :] = (words[at] & ~words[at + 1 :]).any(axis=1)
        if not kept.all():
            left, words = left[kept], words[kept]
        at += 1
    return left


def _irreplaceable_points(excluded: Mask, free: Mask) -> Indices:
    """The points that are not replaceable by a free point which excludes the same series or more."""
    kept: Mask = np.asarray(excluded.any(axis=1))
    for p in np.flatnonzero(free & kept):
        if kept[p]:
            within = ~(excluded & ~excluded[p]).any(axis=1)
            within[p] = False
            kept &= ~within
    return np.flatnonzero(kept)


def _bits(rows: Mask) -> AnyArray:
    """Each row as a bit set in words of 64."""
    width = max(1, (rows.shape[1] + 63) // 64)
    packed = np.zeros((rows.shape[0], width * 8), dtype=np.uint8)
    raw = np.packbits(rows, axis=1, bitorder="little")
    packed[:, : raw.shape[1]] = raw
    return packed.view(np.uint64)
