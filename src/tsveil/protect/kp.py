"""(k,P)-anonymity: publish the values of time series as envelopes, and their patterns beside them.

k-anonymous envelopes keep roughly where a series runs, but not its shape: rising and falling series end up in one wide
envelope. This method publishes the shape as well, as a pattern with a level: the higher the level, the finer the
pattern. A pattern could link records too, so it is shared: groups of at least k records have one envelope, and inside a
group at least P records have one pattern and level. The series is z-normalised and cut into segments, and of the mean
of each segment

    pattern = "sax"    a letter is published: one of L equally likely cells at level L (`tsveil.transform.sax`)
    pattern = "paa"    a number is published: the middle of a cell 4 / L standard deviations wide (`tsveil.transform.paa`)

The document [1]_ works with SAX and says that other representations can take its place, PAA among them. Means as they
are would be shared by nobody; rounded to a level they are, and the levels nest as those of SAX do, so everything that
follows holds for both. "Word" stands for the pattern of either kind. The method works in three phases.

**Split.** All records start as one node at the coarsest level. A node of at least 2P records is divided by the words of
the next level, as long as one of the words has P records; the words with fewer form one leaf at the node's level if
they are P records together, else bad leaves.

**Recycle.** From the finest level of bad leaves upwards, bad records with one word at that level become a leaf if they
are at least P. When fewer than P are left, these are suppressed: not published, counted and reported.

**Form groups.** Leaves of 2P records or more are divided top-down by value loss VL = sqrt(sum_t (hi_t - lo_t)^2 / T):
the farthest pair are the seeds, records follow in the order of their distance to the nearer seed, each to the side
whose envelope grows less, until one side must take the rest so that both keep P. Of these subgroups, those of k records
stand alone; the others are merged: the one with the least value loss starts a group and takes in the subgroup that
leaves the joint value loss smallest, until it has k records. What is left at the end joins the group whose total loss
rises least. Last, the level of a subgroup is raised while all its members agree on the next word.

The document omits the rules of the first phase; they follow the journal version [2]_. Levels 1, 2, 4, 8, 16 are
nested, so a word determines all coarser ones; `levels="paper"` takes 1, 2, 3, ... as printed, which are not (SAX only). Dividing
is exact for sets of up to 1000 records; in larger ones the farthest pair is found by walking from a record to the one
farthest from it.

A record has one series. Of data with several, make a release of each (the promise then holds for each release by itself, not for
two of them that can be joined by a carried column), or take the series of a record one after the other as a single
block: the promise then holds for the whole record, and the pattern runs through all of them.

P should be well below k, k/3 or less. When P is near k, envelopes without patterns (`KAnonymousEnvelopes`) lose less in
values and, with words of many letters, even in patterns.

Guarantee: (k,P)-anonymity. The chance of linking a person to the right record is at most 1/P, whether the values, the
pattern or both are known.

References
----------
.. [1] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336.
.. [2] L. Shou, X. Shang, K. Chen, G. Chen, C. Zhang, Supporting pattern-preserving anonymization for time-series data,
   IEEE Transactions on Knowledge and Data Engineering 25 (2013) 877-892.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rising, falling = np.arange(8.0), np.arange(8.0)[::-1]
>>> curves = np.array([rising, falling, rising + 1, falling + 1])
>>> release = KP(k=4, P=2).protect(tv.Dataset.from_arrays({"sales": curves}))
>>> release.lo[0], release.hi[0]
(array([0., 1., 2., 3., 3., 2., 1., 0.]), array([8., 7., 6., 5., 5., 6., 7., 8.]))
>>> release.words, release.levels
(('bcegjlno', 'onljgecb', 'bcegjlno', 'onljgecb'), array([16, 16, 16, 16]))
>>> print(release.verify())
HOLDS: (4,2)-anonymity: ...
  the smallest envelope is shared by 4 records
  the rarest pattern inside an envelope occurs 2 times
>>> KP(k=4, P=2, pattern="paa", word_length=4).protect(tv.Dataset.from_arrays({"sales": curves})).words[:2]
('[-1.375 -0.375 0.375 1.375]', '[1.375 0.375 -0.375 -1.375]')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.core.errors import ParameterError
from tsveil.core.params import Check, at_least, one_of, optional, param
from tsveil.core.technique import Technique
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.kp import KPAnonymity
from tsveil.protect.base import PART, Described, Rates
from tsveil.protect.intervals import REACH, WORD_LENGTH, Grouping, IntervalMethod
from tsveil.protect.partition import Tree, Unit
from tsveil.protect.survey import Survey
from tsveil.transform.pattern import Pattern, as_words, breakpoints, symbols
from tsveil.transform.sax import MAX_LEVEL, ROUNDING, levels_up_to, patterns

#: records that are published with one word, and the place of its level among the levels
Leaf = tuple[Indices, int]
#: records that are grouped as one part
WHOLE = 100_000


def _is_level(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_LEVEL


@dataclass(frozen=True, kw_only=True)
class KP(IntervalMethod):
    """Envelopes shared by at least k records, and inside them patterns shared by at least P."""

    name: ClassVar[str] = "kp"
    plain: ClassVar[str] = "publish ranges that at least k records share, with shapes that at least P share"
    headline: ClassVar[tuple[str, ...]] = ("k", "P")
    summary: ClassVar[str] = (
        "groups of at least k series published as envelopes, with patterns that at least P series of a group share"
    )
    reference: ClassVar[str] = "Shang et al. 2010; Shou et al. 2013"
    rates: ClassVar[Rates] = Rates(value=2.5e-6)
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.LOCAL_GENERALIZATION, Technique.RECORD_SUPPRESSION)

    P: int = param(
        3, at_least(2), "smallest number of records in a group with the same pattern; k/3 or less is a good choice"
    )
    pattern: Pattern = param(
        "sax",
        one_of("sax", "paa"),
        "what is published of a shape: letters (sax), or the rounded mean of each segment (paa)",
    )
    word_length: int | None = param(
        None,
        optional(at_least(1)),
        f"segments of a pattern: letters or means; {WORD_LENGTH}, or fewer in shorter series, when left out",
    )
    levels: Literal["nested", "paper"] = param(
        "nested",
        one_of("nested", "paper"),
        "levels of patterns: 1, 2, 4, 8, ... (nested) or 1, 2, 3, 4, ... as in the paper",
    )
    max_level: int = param(
        16,
        Check(f"an integer from 1 to {MAX_LEVEL}", _is_level, int),
        "finest level: the letters that a pattern may have, or the values within two standard deviations of the mean",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pattern == "paa" and self.levels == "paper":
            raise ParameterError(
                "The 'levels' parameter of KP must be 'nested' with pattern='paa': the paper has levels for SAX only. Got 'paper'."
            )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Pairs of k and P."""
        return [{"k": [k], "P": [p]} for k, p in ((5, 2), (10, 2), (10, 3), (20, 5))]

    def guarantee(self, data: Described | None = None) -> KPAnonymity:
        """(k,P)-anonymity."""
        return KPAnonymity(self.k, self.P)

    def check(self, survey: Survey) -> None:
        """There must be P records, and a point for every letter."""
        wrong = []
        if survey.n < self.P:
            wrong.append(f"The 'P' parameter of KP must be at most the number of records ({survey.n}). Got {self.P}.")
        if self.word_length is not None and self.word_length > survey.width:
            wrong.append(
                f"The 'word_length' parameter of KP must be at most the number of time points ({survey.width}). Got {self.word_length}."
            )
        if wrong:
            raise ParameterError("\n".join(wrong), wrong)

    def letters(self, points: int) -> int:
        """The letters of a pattern."""
        return self.word_length or min(points, WORD_LENGTH)

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """The series, in parts whose patterns begin alike where there are more than 100,000 records.

        So a part holds the records whose words would be compared. It suppresses what it cannot publish by itself: fewer than P
        records, or all if fewer than k remain.
        """
        size = None if survey.n <= WHOLE else PART
        return (Unit(survey.blocks[0].name, survey.blocks[0].name, tuple(range(survey.width)), size),)

    def tree(self, sample: Array, unit: Unit, survey: Survey) -> Tree:
        """No cuts: parts are beginnings of patterns."""
        return Tree.uncut(sample.shape[1])

    def leaves(self, unit: Unit, survey: Survey, tree: Tree) -> int:
        """The number of beginnings."""
        assert unit.size is not None
        level, count = prefix_of(survey.n, unit.size, self.letters(survey.width))
        return int(level**count)

    def leaf(self, values: Array, records: Indices, unit: Unit, survey: Survey, tree: Tree) -> Indices:
        """The number of each series' leading cells; neighbouring numbers begin alike."""
        letters = self.letters(survey.width)
        assert unit.size is not None
        level, count = prefix_of(survey.n, unit.size, letters)
        borders, means = breakpoints(level, self.pattern) - ROUNDING, patterns(values, letters)[:, :count]
        found = np.searchsorted(borders, means, side="right")
        number: Indices = (found * level ** np.arange(count - 1, -1, -1)).sum(axis=1)
        return number

    def least(self, unit: Unit) -> int:
        """Some beginnings are rare, and a part suppresses what it cannot publish: half-full parts are joined."""
        assert unit.size is not None
        return max(self.k, unit.size // 2)

    def group(self, x: Array) -> Grouping:
        """Split by patterns, recycle, and form groups by value loss."""
        levels = levels_up_to(self.max_level, self.levels)
        means = patterns(x, self.letters(x.shape[1]))
        letters = [symbols(means, level, self.pattern) for level in levels]
        codes = np.array([_word_numbers(word) for word in letters])
        good, bad = split(codes, self.P)
        good, suppressed = recycle(codes, self.P, good, bad)
        if len(x) - len(suppressed) < self.k:
            none = np.zeros(0, dtype=np.int64)
            return Grouping(none, none, (), none, {"suppressed": len(x)})

        members, starts, level = _subgroups(x, good, self.P)
        subgroup = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(members)))
        group = _merge_subgroups(x[members], starts, self.k)[subgroup]
        level = _raise_levels(codes[:, members], starts, level)
        order = np.argsort(members)
        rows, subgroup = members[order], subgroup[order]
        words = as_words(
            np.array([letters[at][row] for at, row in zip(level.tolist(), members[starts].tolist(), strict=True)])
        )
        facts = {
            "subgroups": len(starts),
            "suppressed": len(suppressed),
            "records by level": {
                str(levels[at]): int((level[subgroup] == at).sum()) for at in np.unique(level).tolist()
            },
        }
        return Grouping(
            rows,
            group[order],
            tuple(words[number] for number in subgroup.tolist()),
            np.array(levels, dtype=np.int64)[level[subgroup]],
            facts,
        )

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What the parameters cost, and how many records are suppressed."""
        found = []
        suppressed = sum(int(own["suppressed"]) for own in facts.values())
        if self.k < 2 * self.P:
            found.append(
                f"P = {self.P} is near k = {self.k}: envelopes without patterns (k-envelopes) lose less in values and, with long words, even in patterns; P should be k/3 or less"
            )
        if suppressed == survey.n:
            found.append("nothing can be published: all records would be suppressed")
        elif suppressed:
            verb = "record is" if suppressed == 1 else "records are"
            found.append(f"{suppressed} {verb} suppressed, because too few others share their pattern")
        return found


def prefix_of(n: int, size: int, letters: int) -> tuple[int, int]:
    """Level and number of the leading letters that cut n records into parts of about `size`, if all words were equally frequent.

    Examples
    --------
    >>> prefix_of(1000, 2000, 8), prefix_of(100_000, 8000, 8), prefix_of(10_000_000, 8000, 8)
    ((1, 1), (2, 4), (4, 6))
    """
    for level in (1, 2, 4, 8):
        for count in range(1, letters + 1):
            if level**count * size >= n:
                return level, count
    return 8, letters


# -- the three phases -------------------------------------------------------------------------------------------------


def _word_numbers(letters: AnyArray) -> Indices:
    """Equal words get equal numbers."""
    letters = np.ascontiguousarray(letters)
    packed = letters.view(np.dtype((np.void, letters.itemsize * letters.shape[1]))).ravel()
    _, number = np.unique(packed, return_inverse=True)
    return number.ravel().astype(np.int64)


def _by_word(rows: Indices, codes: Indices) -> list[Indices]:
    """Ascending rows parted by their words."""
    order = np.argsort(codes[rows], kind="stable")
    borders = np.flatnonzero(np.diff(codes[rows][order])) + 1
    return np.split(rows[order], borders)


def split(codes: Indices, P: int) -> tuple[list[Leaf], list[Leaf]]:
    """The good and the bad leaves; `codes` has the number of each record's word at each level (levels by records).

    Examples
    --------
    >>> good, bad = split(np.array([[0, 0, 0, 0, 0], [0, 0, 1, 1, 2]]), P=2)
    >>> [(rows.tolist(), level) for rows, level in good], [(rows.tolist(), level) for rows, level in bad]
    ([([0, 1], 1), ([2, 3], 1)], [([4], 1)])
    """
    good: list[Leaf] = []
    bad: list[Leaf] = []
    nodes: list[Leaf] = [(np.arange(codes.shape[1]), 0)]
    while nodes:
        rows, level = nodes.pop()
        if len(rows) < P:
            bad.append((rows, level))
            continue
        children = _by_word(rows, codes[level + 1]) if len(rows) >= 2 * P and level + 1 < len(codes) else []
        large = [child for child in children if len(child) >= P]
        if not large:
            good.append((rows, level))
            continue
        nodes += [(child, level + 1) for child in reversed(large)]
        small = [child for child in children if len(child) < P]
        if sum(map(len, small)) >= P:
            good.append((np.sort(np.concatenate(small)), level))
        else:
            bad += [(child, level + 1) for child in small]
    return good, bad


def recycle(codes: Indices, P: int, good: list[Leaf], bad: list[Leaf]) -> tuple[list[Leaf], Indices]:
    """All good leaves, with those made of bad ones, and the records that are left.

    Examples
    --------
    >>> codes = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 1, 2]])
    >>> recycle(codes, 2, [(np.array([0, 1, 2]), 1)], [(np.array([3]), 1), (np.array([4]), 1)])
    ([(array([0, 1, 2]), 1), (array([3, 4]), 0)], array([], dtype=int64))
    """
    found = list(good)
    left = np.sort(np.concatenate([rows for rows, _ in bad])) if bad else np.zeros(0, dtype=np.int64)
    level = max((level for _, level in bad), default=0)
    while len(left) >= P:
        alike = _by_word(left, codes[level])
        found += [(rows, level) for rows in alike if len(rows) >= P]
        left = np.sort(np.concatenate([left[:0], *(rows for rows in alike if len(rows) < P)]))
        level -= 1
    return found, left


def _subgroups(x: Array, leaves: list[Leaf], P: int) -> tuple[Indices, Indices, Indices]:
    """Leaves divided by value loss: members one after the other, where each starts, and the place of its level."""
    from tsveil._kernels.kp import divide

    parts: list[Leaf] = []
    for rows, level in leaves:
        if len(rows) < 2 * P:
            parts.append((rows, level))
            continue
        part = divide(x, rows, P, REACH)
        parts += [(members, level) for members in _by_word(rows, _spread(part, rows, len(x)))]
    # In the order of their first records, so that ties go to the lowest record.
    parts.sort(key=lambda leaf: int(leaf[0][0]))
    sizes = [len(rows) for rows, _ in parts]
    return (
        np.concatenate([rows for rows, _ in parts]),
        np.cumsum([0, *sizes[:-1]]),
        np.array([level for _, level in parts], dtype=np.int64),
    )


def _spread(part: Indices, rows: Indices, n: int) -> Indices:
    codes = np.zeros(n, dtype=np.int64)
    codes[rows] = part
    return codes


def _merge_subgroups(x: Array, starts: Indices, k: int) -> Indices:
    """The group of each subgroup, whose members are the rows of x from start to start."""
    from tsveil._kernels.kp import merge

    sizes = np.diff(starts, append=len(x)).astype(np.int64)
    return merge(np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts), sizes, k)


def _raise_levels(codes: Indices, starts: Indices, level: Indices) -> Indices:
    """The place of each subgroup's level, raised while all members agree on the next word."""
    for finer in range(1, len(codes)):
        agree = np.minimum.reduceat(codes[finer], starts) == np.maximum.reduceat(codes[finer], starts)
        level = np.where((level == finer - 1) & agree, finer, level)
    return level
