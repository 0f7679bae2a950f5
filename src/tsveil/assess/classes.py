"""Classes of equal published rows, and how much of each belongs to one person.

The **share** of person p in class c is (records of p in c) / (records of c): what a guess at a record of c finds. With one record a person the mean share is
D/n, D the number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsveil.core.types import Array, Indices
from tsveil.guarantee.counting import shares_of


def largest_share(of_row: Indices, persons: Indices | None = None) -> Array:
    """For each published row the largest share of its person in any class.

    Examples
    --------
    >>> largest_share(np.array([0, 0, 0, 1]), np.array([4, 5, 5, 4])).round(3).tolist()
    [1.0, 0.667, 0.667, 1.0]
    """
    most = Classes.of(of_row, persons).most
    return most if persons is None else most[np.unique(persons, return_inverse=True)[1]]


@dataclass(frozen=True, eq=False)
class Classes:
    """What is known of the classes of a release over some of its columns.

    Examples
    --------
    >>> found = Classes.of(np.array([0, 0, 0, 1]))
    >>> found.classes, found.unique, found.rate, found.scores.tolist()
    (2, 1, 0.5, [0.3333333333333333, 0.3333333333333333, 0.3333333333333333, 1.0])
    >>> found = Classes.of(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    >>> found.fewest, found.largest, round(found.rate, 3), round(found.bound, 3)
    (1, 1.0, 0.667, 0.833)
    """

    records: int
    persons: int
    #: the number of classes
    classes: int
    #: records whose class belongs to one person
    unique: int
    #: the fewest persons of a class, and the largest share of one person in a class
    fewest: int
    largest: float
    #: the score of each person: the mean share over that person's records; and the largest share of each in any class
    scores: Array
    most: Array

    @classmethod
    def of(cls, of_row: Indices, persons: Indices | None = None) -> Classes:
        """From the class of each published record, numbered from 0, and its person; each record its own person unless given."""
        n = len(of_row)
        sizes = np.bincount(of_row)
        sizes = sizes[sizes > 0]
        if not n:
            return cls(0, 0, 0, 0, 0, 0.0, np.empty(0), np.empty(0))
        if persons is None:
            own = 1.0 / np.bincount(of_row)[of_row]
            least = int(sizes.min())
            return cls(n, n, len(sizes), int((sizes == 1).sum()), least, 1.0 / least, own, own)
        who = np.unique(persons, return_inverse=True)[1].astype(np.int64)
        many = int(who.max()) + 1
        found = shares_of(of_row, who)
        different, most = np.bincount(found.of_class), np.zeros(many)
        np.maximum.at(most, found.person, found.share)
        scores = np.bincount(who, weights=found.share[found.of_row]) / np.bincount(who)
        return cls(
            records=n,
            persons=many,
            classes=len(sizes),
            unique=int((different[of_row] == 1).sum()),
            fewest=int(different[different > 0].min()),
            largest=float(found.share.max()),
            scores=scores,
            most=most,
        )

    @property
    def anonymity(self) -> float:
        """Real anonymity k': one over the rate; records per class with one record a person."""
        if self.persons == self.records:
            return self.records / self.classes if self.classes else 0.0
        return 1 / self.rate

    @property
    def rate(self) -> float:
        """The mean over persons of their share in their classes; D/n with one record a person."""
        if self.persons == self.records:
            return self.classes / self.records if self.records else 0.0
        return float(self.scores.mean()) if self.persons else 0.0

    @property
    def bound(self) -> float:
        """What no linkage exceeds: the mean over persons of their largest share.

        The rows that fit best are whole classes, and the share of a person in some classes together is at most the largest in one of them.
        """
        return self.rate if self.persons == self.records else float(self.most.mean())
