"""What is lost of series of labels, such as the states of a device: when each state holds, what follows it, how long it lasts, and what can be forecast.

All figures are percentages and means over the series of labels. `tsveil.attack.labels` says what a published node counts that stands above several labels.

- **SL1, shares of time**: at each time the share of the records in each state; half the sum of the absolute differences (total variation), a mean over the
  times.
- **SL2, transitions**: of each state the chances of the states that follow it one step later, over all records and times; total variation, a mean over the states
  weighted by how often they are left or kept in the original. A state that the published series never have lost all of its transitions.
- **SL3, lengths of stay**: a stay is a run of equal states, cut where the series begins and ends. For each state the distance between the distributions of
  its lengths before and after (the area between the distribution functions, which is the earth mover's distance), over the sum of the two mean
  lengths, so that it is at most 100; a mean over the states weighted by the time spent in them. A state without any stay in the published series counts 100.
- **SH, SH2, hits of a forecast**: who learns from the first four fifths of the series which state follows each state most often (a Markov chain of
  first order), and forecasts each state of the last fifth from the true state before it, is right in SH percent when the
  learning was from the original and SH2 when it was from the published series. Ties go to the first label; after a state
  that was never seen the forecast is that it stays.
- **SL4, forecasts**: how many hits are lost, 0 if none: max(0, SH - SH2).

A series of one point has no transitions, and nothing is lost of them; with one or two points nothing is learnt, and the forecast is that each state stays.

References
----------
.. [1] J. G. Kemeny, J. L. Snell, Finite Markov Chains, Van Nostrand (1960).
.. [2] Y. Rubner, C. Tomasi, L. J. Guibas, The earth mover's distance as a metric for image retrieval, International Journal of Computer Vision 40 (2000).

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("device-states")
>>> card = tv.evaluate(data, data)
>>> round(card["SL2"], 9), card["SH"] == card["SH2"]
(0.0, True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.attack.labels import LabelFeature, labelled, ways
from tsveil.core.types import Indices
from tsveil.data.categories import Categories
from tsveil.engine.base import Result
from tsveil.measure.base import Chunk, Kind, Meaning, Measure, Schema
from tsveil.measure.label_counts import Shares, counted, difference_of_columns, merged, of_pairs

#: the part of a series that is forecast is one in this many
LAST = 5


@dataclass(frozen=True, kw_only=True)
class StateLoss(Measure):
    """SL1 to SL4 of series of labels; see the top of this file."""

    name: ClassVar[str] = "state-loss"
    plain: ClassVar[str] = "the loss of series of labels"
    summary: ClassVar[str] = "how far shares of time, transitions, lengths of stay and forecasts of states moved"
    reference: ClassVar[str] = "J. G. Kemeny, J. L. Snell, Finite Markov Chains (1960)"
    kinds: ClassVar[tuple[Kind, ...]] = ("categories",)
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "SL1": Meaning(
            "loss in shares of time",
            "%",
            "How far the share of the records that are in each state at each time moved.",
        ),
        "SL2": Meaning(
            "loss in transitions",
            "%",
            "How wrong the published file is about which state follows which: of 100 steps, how many would have to lead to another state.",
        ),
        "SL3": Meaning(
            "loss in lengths of stay",
            "%",
            "How far the lengths of time for which a state lasts moved; 0 is unchanged, 100 is a state that is never published.",
        ),
        "SL4": Meaning(
            "loss in forecasts of states",
            "%",
            "How many forecasts out of 100 are no longer right when the rule for them is learnt from the published file.",
        ),
        "SH": Meaning(
            "forecasts right, learnt from the original",
            "%",
            "Share of the states in the last fifth that are forecast right from the state before, by a rule learnt from the original.",
        ),
        "SH2": Meaning(
            "forecasts right, learnt from the release",
            "%",
            "The same by a rule learnt from the published file: what the file is worth to who wants to forecast.",
        ),
    }

    @classmethod
    def fits(cls, schema: Schema) -> bool:
        """There must be a series of labels."""
        return super().fits(schema) and any(one.in_time for one in labelled(schema.files.blocks))

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """Counts of states at each time, of transitions, and of stays, before and after."""
        found: Result = {}
        for number, one in enumerate(_in_time(chunk.schema)):
            span = slice(one.columns.start, one.columns.stop)
            many = len(ways(_categories(one)))
            for side, table in (("before", chunk.original), ("after", chunk.published)):
                for name, counts in _counts(table[:, span].astype(np.int64), many).items():
                    found[f"{side} {name} {number}"] = counts
        return found

    def merge(self, chunks: Sequence[Result]) -> Result:
        """The sums of all tables."""
        return {name: merged(one[name] for one in chunks) for name in chunks[0]}

    def of_series(self, sums: Result, schema: Schema) -> dict[str, dict[str, float]]:
        """The figures of each series."""
        found = {}
        for number, one in enumerate(_in_time(schema)):
            before, after = (
                {name: sums[f"{side} {name} {number}"] for name in ("times", "learnt", "last", "stays")}
                for side in ("before", "after")
            )
            found[one.name] = _figures(before, after, _categories(one), len(one.columns))
        return found

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """The means over the series."""
        each = self.of_series(sums, schema).values()
        return {figure: float(np.mean([one[figure] for one in each])) for figure in self.meanings}


def _in_time(schema: Schema) -> list[LabelFeature]:
    return [one for one in labelled(schema.files.blocks) if one.in_time]


def _categories(one: LabelFeature) -> Categories:
    assert one.categories is not None
    return one.categories


def _counts(states: Indices, many: int) -> dict[str, Indices]:
    """States at each time, transitions in the first four fifths and in the last, and stays by state and length."""
    points = states.shape[1]
    times = counted((np.arange(points) * many + states).ravel(), points * many)
    steps = states[:, :-1] * many + states[:, 1:]
    cut = max(
        points - max(points // LAST, 1) - 1, 0
    )  # the steps that lead to a point of the last fifth come after this
    learnt, last = (counted(part.ravel(), many * many) for part in (steps[:, :cut], steps[:, cut:]))
    ends = np.ones(states.shape, dtype=np.bool_)
    ends[:, :-1] = states[:, 1:] != states[:, :-1]
    record, at = np.nonzero(ends)
    length = np.diff(record * points + at, prepend=-1)
    stays = counted(states[record, at] * (points + 1) + length, many * (points + 1))
    return {"times": times, "learnt": learnt, "last": last, "stays": stays}


def _figures(
    before: Mapping[str, Indices], after: Mapping[str, Indices], categories: Categories, points: int
) -> dict[str, float]:
    """The figures of one series."""
    shares = Shares.of(categories)
    whole, later = (merged([tables["learnt"], tables["last"]]) for tables in (before, after))
    hits, hits2 = (_hits(before["last"], rule["learnt"], shares) for rule in (before, after))
    return {
        "SL1": _shares_of_time(before["times"], after["times"], categories, points),
        "SL2": _transitions(whole, later, shares),
        "SL3": _stays(before["stays"], after["stays"], points),
        "SL4": max(0.0, hits - hits2),
        "SH": hits,
        "SH2": hits2,
    }


def _shares_of_time(before: Indices, after: Indices, categories: Categories, points: int) -> float:
    """Total variation at each time, a mean over the times."""
    many = len(ways(categories))
    each = []
    for time in range(points):
        one, other = (_between(table, time * many, (time + 1) * many) for table in (before, after))
        each.append(difference_of_columns(one, other, categories))
    return float(np.mean(each))


def _between(table: Indices, low: int, high: int) -> Indices:
    """A part of a table, with its places counted from `low`."""
    first, last = np.searchsorted(table[0], [low, high])
    return np.stack([table[0, first:last] - low, table[1, first:last]])


def _transitions(before: Indices, after: Indices, shares: Shares) -> float:
    """Total variation of what follows each state, a mean weighted by how often it is there."""
    if not before.shape[1]:
        return 0.0
    origin, follower = np.divmod(before[0], shares.many)
    left = np.bincount(origin, weights=before[1])
    departures = merged([np.stack([after[0] // shares.many, after[1]])])
    there = shares.of_column(origin, departures)
    chances = np.divide(
        of_pairs(origin, follower, after, shares, shares), there, out=np.zeros(len(origin)), where=there > 0
    )
    apart = np.abs(before[1] / left[origin] - chances) - chances
    of_state = np.bincount(origin, weights=apart, minlength=len(left))
    seen = np.flatnonzero(left)
    lost = np.where(shares.of_column(seen, departures) > 0, np.maximum(of_state[seen] + 1, 0) / 2, 1.0)
    return 100 * float((left[seen] * lost).sum() / left.sum())


def _stays(before: Indices, after: Indices, points: int) -> float:
    """The distance of the lengths of stay, a mean weighted by the time that is spent in each state."""
    lengths = [_lengths(table, points) for table in (before, after)]
    total, lost = 0, 0.0
    for state, (length, counts) in lengths[0].items():
        spent = int((length * counts).sum())
        total += spent
        if state not in lengths[1]:
            lost += spent
            continue
        shares = np.zeros((2, points + 1))
        for side, (own, many) in enumerate(((length, counts), lengths[1][state])):
            shares[side, own] = many / int(many.sum())
        area = float(np.abs(np.cumsum(shares[0] - shares[1])).sum())
        lost += spent * area / float((shares * np.arange(points + 1)).sum())
    return 100 * lost / total


def _lengths(table: Indices, points: int) -> dict[int, tuple[Indices, Indices]]:
    """State -> the lengths of its stays, and how many stays have each."""
    state, length = np.divmod(table[0], points + 1)
    return {own: (length[state == own], table[1][state == own]) for own in np.unique(state).tolist()}


def _hits(last: Indices, learnt: Indices, shares: Shares) -> float:
    """The share of the transitions that a rule foresees, in percent."""
    if not last.shape[1]:
        return 0.0
    origin, follower = np.divmod(last[0], shares.many)
    right = 0
    for state in np.unique(origin).tolist():
        own = origin == state
        right += int(last[1][own][follower[own] == _forecast(state, learnt, shares)].sum())
    return 100 * right / int(last[1].sum())


def _forecast(state: int, learnt: Indices, shares: Shares) -> int:
    """The state that follows most often; the same state where none was seen to follow."""
    every = np.arange(len(shares.nodes))
    chances = of_pairs(np.full(len(every), state), every, learnt, shares, shares)
    # Sums of shares: what differs by rounding is equal, and the first counts.
    most = float(chances.max())
    return state if most <= 0 else int((chances >= most * (1 - 1e-12)).argmax())
