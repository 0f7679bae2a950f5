"""What is counted over all records of a release: who shares what is published, and which carried values whole classes have in common.

Examples
--------
>>> import numpy as np
>>> Crowd.of("all", np.array([0, 0, 1, 2, 2]))
Crowd(where='all', records=5, different=3, smallest=1, alone=1)
>>> round(Crowd.of("all", np.array([0, 0, 1, 2, 2])).anonymity, 2)
1.67
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tsveil.assess.protected import ProtectedRecords
from tsveil.attack.attribute import AttributeDisclosure
from tsveil.attack.candidates import marks, number_marks
from tsveil.core.types import AnyArray, Indices
from tsveil.data.records import Records

#: blocks that get a row of their own; the others are only counted
LISTED = 20
#: what is published besides the protected columns
CARRIED, EVERYTHING = "with the carried columns", "everything published"


@dataclass(frozen=True)
class Crowd:
    """How many records share what is published of them: the crowd in which a person can hide."""

    where: str
    records: int
    #: different published rows
    different: int
    #: the fewest records that share a row
    smallest: int
    #: records whose row no other has
    alone: int

    @classmethod
    def of(cls, where: str, groups: Indices) -> Crowd:
        """Count the members of groups, numbered from 0."""
        sizes = np.bincount(groups)
        sizes = sizes[sizes > 0]
        return cls(where, len(groups), len(sizes), int(sizes.min(initial=len(groups))), int((sizes == 1).sum()))

    @property
    def anonymity(self) -> float:
        """Real anonymity k': records per different row."""
        return self.records / self.different if self.different else 0.0


@dataclass(frozen=True)
class DisclosedColumn:
    """A carried column whose values whole classes of equal published records have in common; for the owner only."""

    column: str
    classes: int
    #: records whose class has one value, and records whose class has nearly the same numbers
    exactly: int
    nearly: int

    @property
    def records(self) -> int:
        """All records whose value is disclosed."""
        return self.exactly + self.nearly


def disclosed_columns(disclosure: AttributeDisclosure) -> list[DisclosedColumn]:
    """The carried columns with attribute disclosure, the worst first."""
    found = [
        DisclosedColumn(
            name,
            len(own),
            int(own["records"].filter(own["constant"]).sum()),
            int(own["records"].filter(~own["constant"]).sum()),
        )
        for name, own in disclosure.classes.items()
        if len(own)
    ]
    return sorted(found, key=lambda column: -column.records)


@dataclass(frozen=True)
class Counts:
    """What was counted over all records of a release."""

    #: who shares what is published: each block where there are several, all protected columns, everything with the carried columns
    crowds: Sequence[Crowd]
    #: the carried columns with attribute disclosure, the worst first; private
    disclosed: Sequence[DisclosedColumn]

    @classmethod
    def of(cls, release: ProtectedRecords) -> Counts:
        """Of a release in memory."""
        crowds = [Crowd.of(name, number_marks(found)[0]) for name, found in scopes(release).items()]
        return cls(crowds, disclosed_columns(release.attribute_disclosure()))

    @property
    def protected_crowd(self) -> Crowd:
        """The crowd of all protected columns."""
        return [crowd for crowd in self.crowds if crowd.where not in (CARRIED, EVERYTHING)][-1]


def scopes(release: Records) -> dict[str, AnyArray]:
    """What is published in words -> marks of the published rows of one piece, equal where rows are equal in it."""
    kept, rows = release.contents, release.rows
    made = np.ascontiguousarray(release.made[rows])
    found: dict[str, AnyArray] = {}
    if kept.envelopes:
        points = len(release.original.columns)
        found["the envelope"] = marks(made[:, : 2 * points])
        if made.shape[1] > 2 * points + 2:
            found["envelope and pattern"] = marks(made[:, :-1])
    else:
        blocks = release.original.blocks
        for block in blocks[:LISTED] if len(blocks) > 1 else ():
            found[f"{block.name} alone"] = marks(np.ascontiguousarray(made[:, release.original.span(block.name)]))
        found["all protected columns" if len(blocks) > 1 else blocks[0].name] = marks(made)
    last = next(reversed(found.values()))
    if release.confidential.width:
        carried = [column.cast(pl.String).hash(seed=0).to_numpy() for column in release.confidential]
        found[CARRIED] = marks(np.column_stack([last, *carried]).view(np.float64))
    elif not kept.envelopes:
        found[EVERYTHING] = last
    return found
