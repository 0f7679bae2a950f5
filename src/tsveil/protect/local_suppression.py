"""Local suppression: cells of key columns are emptied until every combination of keys is shared by at least k persons.

Keys are columns of labels that an intruder may know, such as sex, region and education. Of those whose combination is rare, cells are emptied, as few as possible:

    minimise  the number of emptied cells    so that   every published combination of the keys is shared by at least k persons

`subsets = m` asks the same of every m keys and fewer, instead of all keys together. An empty cell equals only an empty cell (`empty = "strict"`), so that classes are
equal published rows. With `empty = "wildcard"` it may be anything, and for every original combination at least k published records must be compatible with it,
each cell empty or equal. That takes far fewer cells and protects far less: k records without any key keep that promise for any file, and rare
combinations stay as they are.

The least number of cells is found by integer programming up to some thousand combinations of keys (HiGHS, stopped after a fixed number of branches, so that results do not depend on the speed of the
machine). Where that is too much, cells are emptied step by step, and the release says how many are needed at least, whatever the choice: a bound that was proven.
`search = "exact"` goes on until the least number is proven, however long that takes.

A record all of whose keys are empty is reported as suppressed. It is published, because records of a class differ in nothing, and this class has k persons as well. A cell that was empty in the
original (`{"kind": "nominal", "empty": true}` when reading) is not counted as emptied, and equals what is emptied.

Beside keys there may be series, numbers and labels that are no keys: these are microaggregated by MDAV among the records that share their keys, so that at least k persons share the whole record.
Without columns of labels nothing is emptied, and this is MDAV.

Guarantee: key anonymity, of whole records where there is anything beside the keys. Where persons have several records it counts persons, and one person may have most records of a class.

Who knows the method may ask what an optimum would have left filled (the minimality attack [4]). In the strict reading of all keys, whoever has all originals can run the method again, and k persons
remain who differ in nothing. And no emptied cell can be filled in with certainty from the file and the method: the records of a class have at least two different contents in each
emptied column, or it would have been left filled, and any two of them may be exchanged without a change of the published file. A guess may be good all the same, and who knows all others of a class
knows the last: `release.facts` has the largest share of one label.

References
----------
.. [1] L. Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, International Journal on Uncertainty, Fuzziness and
   Knowledge-based Systems 10 (2002) 571-588.
.. [2] A. Meyerson, R. Williams, On the complexity of optimal k-anonymity, PODS (2004) 223-228.
.. [3] A. Hundepool et al., Statistical disclosure control, Wiley (2012), section 3.4.2.
.. [4] R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing, VLDB (2007) 543-554.

Examples
--------
>>> import polars as pl, tsveil as tv
>>> frame = pl.DataFrame({"sex": ["f", "f", "f", "m", "m", "m"], "region": ["north", "north", "south", "south", "south", "south"]})
>>> data = tv.Dataset.from_frame(frame, categories={"sex": "nominal", "region": "nominal"})
>>> release = LocalSuppression(k=2).protect(data)
>>> [categories.texts(codes).to_list() for categories, codes in zip(release.data.labels.values(), release.data.values.T)]
[['f', 'f', None, 'm', 'm', None], ['north', 'north', 'south', 'south', 'south', 'south']]
>>> print(release.verify())
HOLDS: Key anonymity: every published combination of 'sex', 'region' is shared by at least 2 records; an empty cell equals only an empty cell.
  the smallest group has 2 records
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np

from tsveil.attack.base import EmptyCells, Shape, Traces
from tsveil.core.errors import InputError, ParameterError, some
from tsveil.core.params import at_least, one_of, optional, param, text
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices
from tsveil.data.categories import Categories
from tsveil.data.dataset import KINDS, Block, Dataset
from tsveil.guarantee.base import Promise
from tsveil.guarantee.key_anonymity import READINGS, KeyAnonymity, Reading
from tsveil.protect._suppression import EMPTY, Emptied, Problem, Search, classes_of, emptied, largest_share_of_a_label
from tsveil.protect.base import (
    EXACT_RECORDS,
    EXACT_VALUES,
    SIZES,
    Described,
    Part,
    Protected,
    ValueMethod,
    check_k,
    sizes_of,
)
from tsveil.protect.mdav import MDAV
from tsveil.protect.microaggregation import TOGETHER
from tsveil.protect.partition import Unit
from tsveil.protect.survey import Scale, Survey

#: there are 2^keys choices of the cells of a record
MOST_KEYS = 12
#: records of a part where there is more to protect than keys, and too many records for one part: in small parts more combinations are rare
PART = 50_000
#: how much farther apart two different keys are than any other values, where parts are cut
APART = 100.0


@dataclass(frozen=True, kw_only=True)
class LocalSuppression(ValueMethod):
    """Cells of keys are emptied until k persons share every combination of them."""

    name: ClassVar[str] = "local-suppression"
    plain: ClassVar[str] = "empty the cells of keys that single people out"
    summary: ClassVar[str] = (
        "the fewest cells of key columns are emptied after which at least k persons share every combination of keys"
    )
    reference: ClassVar[str] = "Hundepool et al. 2012, section 3.4.2; Sweeney 2002"
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.LOCAL_SUPPRESSION, Technique.MICROAGGREGATION)
    takes: ClassVar[frozenset[str]] = frozenset(KINDS)
    representatives: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    takes_empty: ClassVar[bool] = True

    k: int = param(5, at_least(2), "fewest persons who share a combination of keys")
    keys: str | None = param(
        None, optional(text()), "the key columns, separated by commas; all columns of labels unless given"
    )
    subsets: int | None = param(
        None, optional(at_least(1)), "every combination of up to this many keys; all keys together unless given"
    )
    empty: Reading = param(
        "strict", READINGS, "an empty cell equals only an empty cell (strict), or may be anything (wildcard)"
    )
    search: Search = param(
        "auto",
        one_of("auto", "exact", "greedy"),
        "the least number of cells where it is found soon (auto), however long it takes (exact), or step by step (greedy)",
    )

    @property
    def means(self) -> bool:
        """What stands beside the keys is replaced by means."""
        return True

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes, where there are labels."""
        return [{"k": list(SIZES)}] if _label_columns(data.blocks) else []

    def guarantee(self, data: Described) -> Promise:
        """Key anonymity, of whole records where there is more than keys."""
        keys, others = self._keys(data.blocks), self._others(data.blocks)
        if not keys:
            return self._beside().guarantee(data)
        counts: Literal["records", "persons", "share"] = "share" if others else "persons"
        return KeyAnonymity(
            self.k, keys, self.subsets, self.empty, counts if data.person else "records", whole=bool(others)
        )

    def traces(self, release: Shape) -> Traces:
        """Empty cells, and those of MDAV for what stands beside the keys."""
        keys = any(block.categories and block.times is None for block in release.blocks)
        return (*((EmptyCells(),) if keys else ()), *(self._beside().traces(release) or ()))

    # -- keys, and what stands beside them ----------------------------------------------------------------------------

    def _keys(self, blocks: Sequence[Block]) -> tuple[str, ...]:
        """The key columns."""
        if self.keys is None:
            return _label_columns(blocks)
        named = [name.strip() for name in self.keys.split(",")]
        return tuple(name for block in blocks for name in block.columns if name in named)

    def _others(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """The blocks without keys."""
        keys = set(self._keys(blocks))
        return tuple(block for block in blocks if not keys & set(block.columns))

    def _beside(self) -> MDAV:
        """What protects the blocks without keys."""
        return MDAV(k=self.k)

    def _survey_beside(self, survey: Survey) -> tuple[Survey, Indices]:
        """What is known of the blocks without keys, as if they were all, and the places of their columns."""
        others = self._others(survey.blocks)
        places = np.array([place for block in others for place in survey.span(block.name)], dtype=np.int64)
        return replace(survey, blocks=others, low=survey.low[places], high=survey.high[places]), places

    def published_blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """Cells of keys may be empty."""
        keys = self._keys(blocks)
        return tuple(
            replace(block, categories=tuple(_with_empty_cells(one) for one in block.categories))
            if block.categories and set(block.columns) & set(keys)
            else block
            for block in blocks
        )

    # -- what it needs ------------------------------------------------------------------------------------------------

    def check(self, survey: Survey) -> None:
        """Keys must be columns of labels in blocks of their own, and k persons there."""
        what = "records" if survey.persons is None else "persons"
        check_k(self._label(), self.k, survey.n if survey.persons is None else survey.persons, what)
        keys, labels = self._keys(survey.blocks), _label_columns(survey.blocks)
        named = [] if self.keys is None else [name.strip() for name in self.keys.split(",")]
        if strange := [name for name in named if name not in labels]:
            raise ParameterError(
                f"The 'keys' parameter of {self._label()} names {some(strange)}, which is no column of labels beside time series.\n"
                f"  columns of labels: {some(labels, 20) if labels else 'none; categories= says which columns hold labels (--nominal, --ordinal, --hierarchy)'}"
            )
        mixed = [b.name for b in survey.blocks if set(b.columns) & set(keys) and not set(b.columns) <= set(keys)]
        if mixed:
            rest = [n for b in survey.blocks if b.name in mixed for n in b.columns if n not in keys]
            raise InputError(
                f"block {some(mixed)} holds keys and columns that are no keys ({some(rest)})\n  options: name them as keys, put them in a block of their own, or carry them as confidential"
            )
        if len(keys) > MOST_KEYS:
            raise InputError(
                f"{self._label()} takes at most {MOST_KEYS} keys, and these are {len(keys)}\n  options: name the keys that an intruder may know (keys=), and carry the others"
            )
        others = self._others(survey.blocks)
        if keys and others and (self.subsets is not None or self.empty == "wildcard"):
            raise ParameterError(
                f"{self._label()} takes empty='strict' and no 'subsets' where there is more to protect than keys ({some(b.name for b in others)}): "
                "records that share all their keys are grouped there.\n  options: leave these columns out, or carry them as confidential"
            )
        if others:
            beside, _ = self._survey_beside(survey)
            self._beside().check_kinds(others)
            self._beside().check(beside)

    def scales(self, survey: Survey) -> tuple[Scale, ...]:
        """Those of MDAV for what stands beside the keys."""
        others = self._others(survey.blocks)
        return self._beside().scales(self._survey_beside(survey)[0]) if others else ()

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Whole records: one part, as long as their number allows it."""
        home = survey.blocks[0].name if len(survey.blocks) == 1 else TOGETHER
        many = survey.n * survey.width > EXACT_VALUES or (self._others(survey.blocks) and survey.n > EXACT_RECORDS)
        size = min(PART, max(2 * self.k, EXACT_VALUES // survey.width)) if many else None
        return (Unit(home, home, tuple(range(survey.width)), size),)

    def space(self, values: Array, unit: Unit, survey: Survey) -> Array:
        """Parts are cut between keys first: different keys are farther apart than anything else."""
        ranges = np.where(survey.high > survey.low, survey.high - survey.low, 1.0)
        keys = self._keys(survey.blocks)
        weight = np.where(
            [name in keys for block in survey.blocks for name in block.columns], APART, 1 / survey.width**0.5
        )
        return np.ascontiguousarray((values - survey.low) / ranges * weight)

    def least(self, unit: Unit) -> int:
        """A part holds at least one class."""
        return self.k

    # -- doing it -----------------------------------------------------------------------------------------------------

    def protect_part(self, part: Part) -> Protected:
        """Empty cells of keys, and group the records of each class by what stands beside them."""
        survey = part.survey
        keys, others = self._keys(survey.blocks), self._others(survey.blocks)
        if not keys:
            return self._beside().protect_part(part)
        labels = {n: c for b in survey.blocks for n, c in zip(b.columns, b.categories or (), strict=False)}
        columns = [name for block in survey.blocks for name in block.columns]
        places = [columns.index(name) for name in keys]
        codes = _codes(part.values[:, places], [labels[name] for name in keys])
        if len(np.unique(part.persons)) < self.k:
            # A part of fewer persons, where parts are cut and persons have many records each: nothing of it can be published.
            return Protected(np.full_like(part.values, np.nan), np.full(len(codes), -1, dtype=np.int64))
        size = len(keys) if self.subsets is None else min(self.subsets, len(keys))
        problem = Problem(codes, part.persons, self.k, size, self.empty == "wildcard")
        found = emptied(problem, self.search)
        made = np.where(found.cells, EMPTY, codes)
        values = part.values.copy()
        for at, name in enumerate(keys):
            values[made[:, at] == EMPTY, places[at]] = labels[name].empty_code
        classes = classes_of(made)
        facts = self._facts(problem, found, keys)
        if not others:
            return Protected(values, classes, facts={**sizes_of(classes), **facts})
        groups = self._group_beside(part, classes, values)
        return Protected(values, groups, facts={**sizes_of(groups), **facts})

    def _group_beside(self, part: Part, classes: Indices, values: Array) -> Indices:
        """Protect what stands beside the keys within each class; `values` gets it, and records without a group are left out."""
        beside, places = self._survey_beside(part.survey)
        unit = Unit(part.unit.name, part.unit.home, tuple(range(len(places))), part.unit.size)
        groups = np.full(len(classes), -1, dtype=np.int64)
        order = np.argsort(classes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1):
            own = replace(
                part, values=np.ascontiguousarray(part.values[np.ix_(rows, places)]), unit=unit, survey=beside,
                records=part.records[rows], rows=part.rows[rows], persons=part.persons[rows],
            )  # fmt: skip
            done = self._beside().protect_part(own)
            assert done.groups is not None
            values[np.ix_(rows, places)] = done.values
            values[rows[done.groups < 0]] = np.nan
            groups[rows] = np.where(done.groups >= 0, done.groups + int(groups.max(initial=-1)) + 1, -1)
        return groups

    def _facts(self, problem: Problem, found: Emptied, keys: Sequence[str]) -> dict[str, Any]:
        """What was emptied, and what that says."""
        made = np.where(found.cells, EMPTY, problem.codes)
        facts: dict[str, Any] = {
            "emptied cells": found.count,
            "emptied cells needed at least": found.needed,
            "cells of keys": int(problem.codes.size),
            "records without any key": int((made == EMPTY).all(axis=1).sum()),
            **{f"emptied in {name}": int(count) for name, count in zip(keys, found.cells.sum(axis=0), strict=True)},
        }
        if found.count and not problem.wildcard:
            share = round(100 * largest_share_of_a_label(problem, found.cells), 1)
            facts["largest share of one label behind the emptied cells of a class, in percent"] = share
        return facts

    def done_in_words(self, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """How many cells were emptied, and whether fewer would do."""
        found = _counts(facts)
        if found is None:
            return []
        least = f"the least number{found.where}" if found.emptied == found.needed else "found step by step"
        return [f"{found.emptied} of {found.cells} cells of keys were emptied, {least}"]

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Whether fewer cells may do, and who has no keys left."""
        found = _counts(facts)
        if found is None:
            return [
                "no column holds labels, so there are no keys and nothing was emptied: records were grouped as by mdav"
            ]
        words = []
        if found.emptied > found.needed:
            words.append(
                f"greedy: {found.emptied} cells of keys are emptied, and at least {found.needed} are needed{found.where}; "
                'search = "exact" goes on until the least number is proven'
            )
        if found.without:
            have = "records have" if found.without > 1 else "record has"
            words.append(f"{found.without} {have} no key left: all of them are empty, so their keys are suppressed")
        return words


class _Counts(NamedTuple):
    """Cells of keys, in all parts together."""

    emptied: int
    needed: int
    cells: int
    without: int
    #: for which choices the bound speaks
    where: str


def _counts(facts: Mapping[str, Mapping[str, Any]]) -> _Counts | None:
    """What was emptied; None where there are no keys."""
    found = [own for own in facts.values() if "emptied cells" in own]
    if not found:
        return None
    emptied, needed, cells, without = (
        sum(own[name] for own in found)
        for name in ("emptied cells", "emptied cells needed at least", "cells of keys", "records without any key")
    )
    parts = " within parts that were protected by themselves" if any("parts" in own for own in found) else ""
    return _Counts(emptied, needed, cells, without, parts)


def _label_columns(blocks: Sequence[Block]) -> tuple[str, ...]:
    """The columns of labels beside time series."""
    return tuple(name for block in blocks if block.categories and block.times is None for name in block.columns)


def _with_empty_cells(categories: Categories) -> Categories:
    """The same labels, in cells that may be empty."""
    return msgspec.structs.replace(categories, empty=True)


def _codes(values: Array, labels: Sequence[Categories]) -> Indices:
    """The labels of keys as whole numbers; `EMPTY` for a cell that is empty in the original."""
    codes = values.astype(np.int64)
    for at, own in enumerate(labels):
        if own.empty:
            codes[codes[:, at] == own.empty_code, at] = EMPTY
    return codes
