"""What a run does where a release continues an earlier one, step by step beside those of `tsveil.protect.work`; and the ledger that it leaves for the next one.

    check      what cannot be continued is refused before the work
    begin      who was in which group, and with which history
    settle     what is withheld, from the groups of this release and the histories so far
    conclude   identifiers that stay and new ones, and the ledger

The release before decides about groups only where something ties the two: identifiers that stay (`ids = "stable"`), carried columns, or protected columns without times. Where nothing does, the release has groups of its own,
as the first one had. With new identifiers only those stay together whose values can still be shown: k or more persons of one group with one history.

What is withheld. Of carried columns the cells of a person are left empty. Where protected columns have no times the record itself is left out, and the values of its group are made of those that are shown: the
mean of ten persons and the mean of nine, both published, would be the value of the tenth.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import InputError, ParameterError, Problems, some
from tsveil.core.randomness import secret_name, secret_numbers
from tsveil.core.types import AnyArray, Indices, Mask
from tsveil.data.dataset import Block, Dataset
from tsveil.data.source import BlockRole, FileDataset, Source
from tsveil.data.store import Store
from tsveil.data.time_forms import moment
from tsveil.protect.base import Method
from tsveil.protect.job import Job
from tsveil.protect.partition import Unit
from tsveil.release.ledger import (
    SCHEMA,
    Facts,
    Ids,
    Ledger,
    first_persons,
    keep_ledger,
    names_of,
    numbers_in,
    read_ledger,
    refuse_replaced,
)
from tsveil.release.release import Release
from tsveil.transform.histories import NOTHING, continue_histories, history_sizes


@dataclass(frozen=True, eq=False)
class Past:
    """What a release continues, and how."""

    ledger: Ledger
    ids: Ids = "fresh"
    #: everybody gets new groups and identifiers
    regroup: bool = False


@dataclass(frozen=True, eq=False)
class Persons:
    """The persons of a run and of all releases before, numbered: those of the ledger first, then newcomers by their published rows."""

    #: the person of each record
    of_record: Indices
    #: of persons; of records, none where they have none
    names: pl.Series
    records: pl.Series
    #: persons by units; NOTHING: nothing that ties releases was published so far
    history: Indices
    #: records by units: the group in the release before; NOTHING: none
    groups: Indices
    #: the identifier of each record in the release before, as a number; 0: none that could stay
    identifiers: AnyArray
    #: whether each person was in the release before
    before: Mask
    #: whether values of each record that tie releases were shown in the release before
    shown: Mask


def past_of(after: Release | Ledger | str | Path | None, ids: Ids = "fresh", *, regroup: bool = False) -> Past | None:
    """What is continued: a release, its folder or its ledger; None: nothing."""
    if ids not in get_args(Ids):
        raise ParameterError(f"The 'ids' parameter of protect must be one of {some(get_args(Ids))}. Got {ids!r}.")
    if after is None:
        if regroup or ids != "fresh":
            raise ParameterError(
                "The 'ids' and 'regroup' parameters of protect are for a release that continues an earlier one (after=): "
                "the first release has new groups and identifiers in any case."
            )
        return None
    if isinstance(after, Release):
        after = after.ledger
    if isinstance(after, Ledger):
        return Past(after, ids, regroup)
    ledger = read_ledger(after)
    refuse_replaced(Path(after), ledger.releases)
    return Past(ledger, ids, regroup)


# -- before the work ----------------------------------------------------------------------------------------------------


def recorded_units(units: Sequence[Unit], blocks: Sequence[Block]) -> list[int]:
    """The units of which a ledger keeps groups and histories: the only one, or those without times, which have the same name in each release."""
    return [at for at, unit in enumerate(units) if len(units) == 1 or not _timed(unit, blocks)]


def names_of_units(units: Sequence[Unit], blocks: Sequence[Block]) -> tuple[str, ...]:
    """Their names, by which the next release knows them; that of the block, if there is only one."""
    return tuple(units[at].home if len(units) == 1 else units[at].name for at in recorded_units(units, blocks))


def binding_units(units: Sequence[Unit], source: Source, blocks: Sequence[Block]) -> list[bool]:
    """For each recorded unit whether published values tie releases to each other: carried columns, or columns of its own without times."""
    return [bool(source.confidential) or not _timed(units[at], blocks) for at in recorded_units(units, blocks)]


def published_times(
    blocks: Sequence[Block], before: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, tuple[str, ...]]:
    """Series -> its times that were published so far."""
    times = dict(before or {})
    for block in blocks:
        if block.times is not None:
            times[block.name] = (*times.get(block.name, ()), *_times(block))
    return times


def _times(block: Block) -> list[str]:
    """The times of a series, each in one way, however the file writes it."""
    found = []
    for label in block.labels or block.columns:
        at = moment(label, block.form)
        if at is None:
            with contextlib.suppress(ValueError):
                label = f"{float(label):.15g}"
        found.append(label if at is None else at.isoformat())
    return found


def _timed(unit: Unit, blocks: Sequence[Block]) -> bool:
    """Whether all columns of a unit have times."""
    times = [block.times is not None for block in blocks for _ in block.columns]
    return all(times[place] for place in unit.columns)


def check(method: Method, source: Source, units: Sequence[Unit], past: Past | None) -> None:
    """Refuse what cannot be continued, with all that is in the way."""
    if past is None:
        return
    label, facts = type(method).__name__, past.ledger.facts
    problems = Problems("this release cannot continue an earlier one")
    if not method.continues:
        raise ParameterError(
            f"a release of {label} cannot continue an earlier one: it keeps no groups of persons\n"
            "  options: method 'mdav', 'v-mdav' or 'optimal-univariate', or a release by itself, without after"
        )
    blocks = [role.block() for role in source.blocks]
    own, several = names_of_units(units, blocks), len(units) > 1
    timed = [_timed(unit, blocks) for unit in units]
    if source.id is None and not source.person:
        problems.add("its records have no identifier by which earlier releases could know them (id=, or person=)")
    if method.settings()["k"] != facts.k:
        problems.add(
            f"k was {facts.k} in the releases before, and is {method.settings()['k']} now: it must stay the same"
        )
    if source.masked:
        problems.add("its records have gaps (missing='mask'): read them with missing='drop' or missing='interpolate'")
    if several and past.ids == "stable":
        problems.add(
            "ids = 'stable' ties columns that are protected one by one: already in one release a row of them is shared by nobody. "
            "Protect whole records together (grouping = 'joint'), or take ids = 'fresh'"
        )
    if several and any(timed) and (source.confidential or not all(timed)):
        what = f"carried columns ({some(source.confidential)})" if source.confidential else "columns without times"
        problems.add(
            f"{what} tie columns that are protected one by one over the releases. Protect whole records together (grouping = 'joint'), or leave these columns out"
        )
    elif (source.confidential or not all(timed)) and own != facts.units:
        problems.add(
            f"{some(facts.units)} were protected together in the releases before, and {some(own)} are now: they must be the same"
        )
    problems.raise_if_any()


def without_published(data: Dataset, past: Past | None) -> Dataset:
    """The data without the points of series that earlier releases have published: the mean of ten minus the mean of nine is the tenth.

    Examples
    --------
    >>> data = Dataset.from_arrays({"load": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}, times=[1, 2, 3], ids=["a", "b"])
    >>> past = Past(Ledger(Facts(k=2, ids="fresh", units=("load",), times={"load": ("1", "2")}), pl.DataFrame()))
    >>> without_published(data, past).columns
    ('3',)
    """
    if past is None:
        return data
    known = {name: set(times) for name, times in past.ledger.facts.times.items()}
    kept = [
        list(range(len(block)))
        if block.times is None
        else [at for at, time in enumerate(_times(block)) if time not in known.get(block.name, ())]
        for block in data.blocks
    ]
    gone = sum(len(block) - len(own) for own, block in zip(kept, data.blocks, strict=True))
    if not gone:
        return data
    if not any(kept):
        raise InputError(
            "there is nothing new to publish: all points of time were published by the releases that this one continues\n  options: the data of a later period"
        )
    note = f"{gone} points of time that were published before were left out"
    blocks = tuple(_some_columns(block, own) for block, own in zip(data.blocks, kept, strict=True) if own)
    if data.source is not None:
        roles = tuple(BlockRole.of(block) for block in blocks)
        source = msgspec.structs.replace(data.source, blocks=roles, notes=(*data.source.notes, note))
        found = FileDataset.of(source)
        return found if data.origin is None else found.from_files(data.origin)
    places = [data.span(block.name).start + at for block, own in zip(data.blocks, kept, strict=True) for at in own]
    return replace(data, values=np.ascontiguousarray(data.values[:, places]), blocks=blocks, notes=(*data.notes, note))


def _some_columns(block: Block, kept: Sequence[int]) -> Block:
    return replace(
        block,
        columns=tuple(block.columns[at] for at in kept),
        times=None if block.times is None else block.times[list(kept)],
        labels=tuple(block.labels[at] for at in kept) if block.labels else (),
        categories=None if block.categories is None else tuple(block.categories[at] for at in kept),
    )


# -- beside the work ----------------------------------------------------------------------------------------------------


def begin(store: Store, job: Job, past: Past | None) -> Persons | None:
    """The persons, and in the store the old groups of all records where these stay together; None where they have no names."""
    wanted = list(dict.fromkeys([*([job.source.id] if job.source.id else []), *job.source.person]))
    if not wanted:
        return None
    others = pl.concat([store.get_frame(f"others-{at}", columns=wanted) for at in range(job.chunks)])
    names = names_of(others, job.source)
    assert names is not None
    order = np.asarray(store.get("records"))
    present = pl.DataFrame(names).with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64))
    inside = recorded_units(job.units, job.survey().blocks)
    earlier = pl.DataFrame(schema=SCHEMA) if past is None else past.ledger.persons
    known = earlier.unique("person", keep="first", maintain_order=True)
    every = pl.concat([known["person"], present[order.tolist()]["person"]]).unique(maintain_order=True)
    numbers = pl.DataFrame({"person": every}).with_columns(at=pl.int_range(pl.len(), dtype=pl.Int64))
    of_record = present.join(numbers, on="person", how="left", maintain_order="left")["at"].to_numpy().astype(np.int64)
    history = np.full((len(every), len(inside)), NOTHING, dtype=np.int64)
    groups = np.full((job.n, len(inside)), NOTHING, dtype=np.int64)
    identifiers = np.zeros(job.n, dtype=np.uint64)
    before = np.zeros(len(every), dtype=np.bool_)
    shown = np.zeros(job.n, dtype=np.bool_)
    if past is not None:
        width = len(past.ledger.facts.units)
        same = width == len(inside)
        there = earlier.filter(pl.col("group").is_not_null())
        before[: known.height] = known["person"].is_in(there["person"].implode()).to_numpy()
        _refuse_strangers(names[0], known["person"], there["person"])
        if same:
            history[: known.height] = numbers_in(known["history"], width)
            of_before = there.filter(pl.col("record").is_not_null()).select(
                "person", "record", "group", "identifier", "withheld"
            )
            matched = present.join(of_before, on=["person", "record"], how="left", maintain_order="left")
            groups = numbers_in(matched["group"], width)
            shown = past.ledger.facts.ties & ~matched["withheld"].fill_null(True).to_numpy()
            identifiers = np.array([_number(name) for name in matched["identifier"].to_list()], dtype=np.uint64)
        blocks = job.survey().blocks
        for place, (number, bound) in enumerate(zip(inside, binding_units(job.units, job.source, blocks), strict=True)):
            if not past.regroup and same and (bound or past.ids == "stable"):
                old, own = groups[:, place], history[of_record, place]
                if past.ids == "fresh":
                    old = _worth_keeping(old, own, of_record, past.ledger.facts.k)
                store.put(f"old-{number}", old)
                if bound:
                    store.put(f"histories-{number}", own)
    return Persons(of_record, every, present["record"], history, groups, identifiers, before, shown)


def _refuse_strangers(here: pl.Series, known: pl.Series, before: pl.Series) -> None:
    """Refuse data in which nobody is known: renamed persons would all be newcomers, and nothing would be withheld of them."""
    if here.is_in(known.implode()).any():
        return
    raise InputError(
        f"none of the {before.n_unique()} persons of the release before is in these data, where persons are called {some(here.unique(maintain_order=True).head(3).to_list())}; "
        f"the ledger calls them {some(before.unique(maintain_order=True).head(3).to_list())}\n"
        "  options: the same identifiers as before (id=, person=), written in the same way; for other persons a release by itself, without after"
    )


def _worth_keeping(groups: Indices, histories: Indices, persons: Indices, k: int) -> Indices:
    """The old groups of those whose values can still be shown in them: with identifiers that are new in any case, the others are free to join whom they are like.

    Examples
    --------
    >>> _worth_keeping(np.array([0, 0, 0, 1, 1]), np.array([5, 5, 6, 7, 7]), np.arange(5), 2)
    array([ 0,  0, -1,  1,  1])
    """
    sets = np.unique(np.stack([groups, histories, persons], axis=1), axis=0)
    cells, sizes = np.unique(sets[:, :2], axis=0, return_counts=True)
    own = pl.DataFrame({"group": groups, "history": histories})
    size = pl.DataFrame({"group": cells[:, 0], "history": cells[:, 1], "size": sizes})
    large = own.join(size, on=["group", "history"], how="left", maintain_order="left")["size"].to_numpy() >= k
    return np.where(large & (histories >= 0), groups, NOTHING)


def _number(name: str | None) -> int:
    """The number that an identifier was made of; 0 for one that tsveil did not make."""
    try:
        number = int((name or "")[1:], 16)
    except ValueError:
        return 0
    return number if name == secret_name(number) else 0


def groups_of(store: Store, job: Job, number: int, counts: Sequence[int]) -> Indices:
    """The group of each record in a unit, in the order of the data set; NOTHING: left out."""
    order = np.asarray(store.get("records"))
    found = np.full(job.n, NOTHING, dtype=np.int64)
    first = 0
    for at, count in enumerate(counts):
        own = np.asarray(store.get(f"part-{number}-{at}.groups"))
        found[order[np.asarray(store.get(f"part-{number}-{at}.rows"))]] = np.where(own >= 0, own + first, NOTHING)
        first += count
    return found


def entries(groups: Indices, persons: Indices, many: int) -> Indices:
    """The class in which each of `many` persons is published; where a person has several records, a number for the classes of all of them.

    Examples
    --------
    >>> entries(np.array([4, 5, 5, 4, -1]), np.array([0, 0, 1, 1, 2]), 4)
    array([ 0,  0, -1, -1])
    >>> entries(np.array([4, 5, -1]), np.array([0, 2, 1]), 3)
    array([ 4, -1,  5])
    """
    found = np.full(many, NOTHING, dtype=np.int64)
    rows = np.flatnonzero(groups >= 0)
    if len(np.unique(persons)) == len(persons):
        found[persons[rows]] = groups[rows]
        return found
    pairs = np.stack([persons[rows], groups[rows]], axis=1)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    sets: dict[tuple[int, ...], int] = {}
    starts = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0])) if len(pairs) else np.empty(0, np.int64)
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(pairs)], strict=True):
        found[pairs[start, 0]] = sets.setdefault(tuple(pairs[start:stop, 1].tolist()), len(sets))
    return found


def withheld_persons(history: Indices, entry: Indices, k: int) -> tuple[Mask, Indices]:
    """The persons whose values are withheld, and their histories from now on, both persons by units: somebody whose values are withheld for one unit has them withheld for all.

    What is withheld for one unit is missing in the sets of another one, so the rule is applied until nobody is added.
    """
    hidden = np.zeros(len(entry), dtype=np.bool_)
    while True:
        shown = np.where(hidden[:, None], NOTHING, entry)
        found = [continue_histories(history[:, at], shown[:, at], k) for at in range(entry.shape[1])]
        more = np.logical_or.reduce([one.withheld for one in found]) if found else hidden
        if not (more & ~hidden).any():
            continued = np.stack([one.history for one in found], axis=1) if found else history
            return hidden, continued
        hidden |= more


@dataclass(frozen=True, eq=False)
class Settled:
    """What was decided about the persons of a release."""

    #: records by units: their groups
    groups: Indices
    #: persons by units
    history: Indices
    #: persons: whether something of them was withheld, and whether something that ties releases is shown
    withheld: Mask
    shown: Mask


def settle(store: Store, job: Job, method: Method, persons: Persons, past: Past | None, groups: Indices) -> Settled:
    """Decide what is withheld; in the store `withheld` marks the records that are to be left out, and carried cells are emptied."""
    blocks = job.survey().blocks
    timed = all(_timed(unit, blocks) for unit in job.units)
    many = len(persons.names)
    none = np.zeros(many, dtype=np.bool_)
    binds = binding_units(job.units, job.source, blocks)
    entry = np.full((many, len(binds)), NOTHING, dtype=np.int64)
    for place, bound in enumerate(binds):
        if bound:
            entry[:, place] = entries(groups[:, place], persons.of_record, many)
    if past is None:  # the first release is as it is
        every = [continue_histories(persons.history[:, at], entry[:, at], 1).history for at in range(len(binds))]
        return Settled(groups, np.stack(every, axis=1) if every else persons.history, none, _shown(entry))
    hidden, history = withheld_persons(persons.history, entry, int(method.settings()["k"]))
    if hidden.any():
        of_record = hidden[persons.of_record]
        if not timed and of_record.all():
            raise InputError(
                "there is nothing to publish: beside the releases before, every record would leave fewer than "
                f"{past.ledger.facts.k} persons to whom its values could belong\n  options: leave columns without times out, or fewer of them"
            )
        if not timed:
            store.put("withheld", of_record)
        elif job.source.confidential:
            _empty_carried_cells(store, job, of_record)
    return Settled(groups, history, hidden, _shown(entry) & ~hidden)


def _shown(entry: Indices) -> Mask:
    """Whether each person has an entry in any unit."""
    found: Mask = np.logical_or.reduce(entry >= 0, axis=1)
    return found


def _empty_carried_cells(store: Store, job: Job, withheld: Mask) -> None:
    """Take the carried values of some records out of the store, before anything is written or measured."""
    names = list(job.source.confidential)
    for at in range(job.chunks):
        start, stop = job.chunk_range(at)
        frame = store.get_frame(f"others-{at}")
        shown = pl.Series(~withheld[start:stop])
        emptied = frame.with_columns(pl.when(shown).then(pl.col(name)).otherwise(None).alias(name) for name in names)
        store.put_frame(f"others-{at}", emptied)


# -- after the work -----------------------------------------------------------------------------------------------------


def conclude(
    store: Store, job: Job, method: Method, persons: Persons, past: Past | None, settled: Settled, seed: int
) -> list[str]:
    """Give the records their identifiers, and leave the ledger in the store; gives what the owner should know."""
    shown = settled.groups >= 0 if settled.groups.shape[1] else np.ones((job.n, 1), dtype=np.bool_)
    published = shown.all(axis=1) & ~(
        np.asarray(store.get("withheld")) if store.has("withheld") else np.zeros(job.n, dtype=np.bool_)
    )
    renewed = 0
    if past is not None:
        stays = np.zeros(job.n, dtype=np.bool_)
        if past.ids == "stable" and not past.regroup:
            shown = settled.shown[persons.of_record] & published
            stays = _staying(past.ledger, persons, settled.groups[:, 0], published, shown)
        rows, known = np.asarray(store.get("rows")), persons.identifiers
        everybody = np.array([_number(name) for name in past.ledger.persons["identifier"].to_list()], dtype=np.uint64)
        store.put("names", _identifiers(seed, rows, np.where(stays, known, 0).astype(np.uint64), everybody))
        renewed = int(((known > 0) & ~stays & published).sum())
    figures = _figures(persons, past, settled, renewed, int(method.settings()["k"]))
    keep_ledger(
        store, _facts(job, method, past, figures), _rows(job, persons, settled, np.asarray(store.get("records")))
    )
    return _remarks(past, figures, carried=bool(job.source.confidential), left_out=store.has("withheld"))


def _staying(ledger: Ledger, persons: Persons, groups: Indices, published: Mask, shown: Mask) -> Mask:
    """The records that keep their identifiers: those of old groups whose published members are the same as before, whether or not they were parted, and whose values are shown, or not, as they were.

    An identifier under which a value is shown in one release and withheld in the next would tie that value to the class in the other release all the same.
    """
    old = persons.groups[:, 0]
    known = (persons.identifiers > 0) & (old >= 0)
    there = ledger.persons.filter(pl.col("identifier").is_not_null())
    were = numbers_in(there["group"], persons.groups.shape[1])[:, 0]
    many = int(max(old.max(initial=NOTHING), were.max(initial=NOTHING))) + 1
    before = np.bincount(were[were >= 0], minlength=many)
    now = np.bincount(old[known & published], minlength=many)
    same = before == now
    # A group with anybody from elsewhere, or from two old groups, is another one; and so is every old group with members in it.
    whence = np.where(known, old, NOTHING)
    inside = np.flatnonzero(published & (groups >= 0))
    count = int(groups.max(initial=NOTHING)) + 1
    low, high = np.full(count, many), np.full(count, NOTHING)
    np.minimum.at(low, groups[inside], whence[inside])
    np.maximum.at(high, groups[inside], whence[inside])
    mixed = inside[(low != high)[groups[inside]]]
    changed = np.flatnonzero(known & published & (shown != persons.shown))
    touched = np.unique(whence[np.append(mixed, changed)])
    same[touched[touched >= 0]] = False
    stays: Mask = known & published & np.append(same, False)[whence]
    return stays


def _identifiers(seed: int, rows: Indices, kept: AnyArray, everybody: AnyArray) -> AnyArray:
    """The numbers of the published rows: those that are kept, and new ones that nobody had in the release before."""
    n = len(rows)
    drawn = secret_numbers(seed, n + len(everybody))
    names = drawn[~np.isin(drawn, everybody)][:n].copy()
    stays = kept > 0
    names[rows[stays]] = kept[stays]
    return names


def _figures(
    persons: Persons, past: Past | None, settled: Settled, renewed: int, k: int
) -> dict[str, float | int | None]:
    """What the list of releases says of this one."""
    here = np.zeros(len(persons.names), dtype=np.bool_)
    here[persons.of_record] = True
    merged = 0
    if past is not None and not past.regroup:
        for old in persons.groups.T[:1]:
            pairs = np.unique(np.stack([old[old >= 0], persons.of_record[old >= 0]], axis=1), axis=0)
            sizes = np.bincount(pairs[:, 0])
            merged = int(((sizes > 0) & (sizes < k)).sum())
    least = [
        size[size > 0].min()
        for at in range(settled.history.shape[1])
        if len(size := history_sizes(settled.history[:, at])) and size.any()
    ]
    return {
        "persons": int(here.sum()),
        "records": len(persons.of_record),
        "came": 0 if past is None else int((here & ~persons.before).sum()),
        "left": int((persons.before & ~here).sum()),
        "merged": merged,
        "renewed": renewed,
        "withheld": int(settled.withheld.sum()),
        "composed_k": int(min(least)) if least else None,
    }


def _facts(job: Job, method: Method, past: Past | None, figures: dict[str, float | int | None]) -> Facts:
    blocks = job.survey().blocks
    times = published_times(blocks, None if past is None else past.ledger.facts.times)
    units = names_of_units(job.units, blocks)
    ids: Ids = "fresh" if past is None else past.ids
    regroup = past is not None and past.regroup
    k, number = int(method.settings()["k"]), 1 if past is None else past.ledger.facts.number + 1
    return Facts(
        k=k,
        ids=ids,
        units=units,
        times=times,
        figures=figures,
        regroup=regroup,
        number=number,
        ties=any(binding_units(job.units, job.source, blocks)),
    )


def _rows(job: Job, persons: Persons, settled: Settled, order: Indices) -> pl.DataFrame:
    """The persons of the ledger: the records of this release by their published rows, and whoever is absent and has a history."""
    owner = persons.of_record[order]
    frame = first_persons(
        persons.names[owner.tolist()],
        persons.records[order.tolist()],
        settled.groups[order],
        settled.history[owner],
        settled.withheld[owner],
    ).with_columns(number=pl.Series(order))
    absent = np.ones(len(persons.names), dtype=np.bool_)
    absent[owner] = False
    gone = np.flatnonzero(absent & (settled.history >= 0).any(axis=1))
    nothing = pl.Series([None] * len(gone), dtype=pl.String)
    no_group = np.zeros((len(gone), settled.history.shape[1]), dtype=np.int64)
    left = first_persons(persons.names[gone.tolist()], nothing, no_group, settled.history[gone])
    none = {"group": pl.lit(None, dtype=pl.List(pl.Int64)), "number": pl.lit(None, dtype=pl.Int64)}
    return pl.concat([frame, left.with_columns(**none)])


def _remarks(past: Past | None, figures: dict[str, float | int | None], *, carried: bool, left_out: bool) -> list[str]:
    """What the owner should know, in sentences."""
    if past is None:
        return []
    strangers = []
    stayed = (figures["persons"] or 0) - (figures["came"] or 0)
    if stayed < (figures["left"] or 0):
        strangers.append(
            f"only {stayed} of {stayed + (figures['left'] or 0)} persons of the release before are in these data: whoever has another identifier now is taken for a newcomer, and earlier releases are not "
            "looked at for that person"
        )
    if not figures["withheld"]:
        return strangers
    count, persons = figures["withheld"] or 0, figures["persons"] or 1
    what = "the records" if left_out else "the carried values"
    first = past.ledger.facts.number + 1
    return [
        *strangers,
        f"{what} of {count} of {persons} persons ({100 * count / persons:.1f} %) are withheld from release {first} on, because earlier releases and this one together would leave "
        f"fewer than {past.ledger.facts.k} persons to whom they could belong; private/ledger.parquet has their names. They may be published again when enough persons share their history",
    ]
