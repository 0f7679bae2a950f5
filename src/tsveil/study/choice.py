"""Which of many releases to choose: the Pareto front, and the best within a limit.

A configuration is on the **front** when no other has both at most its risk and at most its loss, one of them less. The
recommendation is the least loss within a limit of risk, or the least risk within a limit of loss; equal ones are decided by
the other figure, then by their place in the table. A verified promise is preferred to none where it costs at most one percentage point more: attacks that
nobody thought of cannot break it. What could not be run, whose guarantee is violated or undecided, or which another check of the
verdict stops, is no choice: it could not be published. A limit of the risk is compared as the verdict does it: with the end of the interval where not
everybody was attacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tsveil.assess.limits import IN_WORDS
from tsveil.core.errors import ParameterError
from tsveil.guarantee.base import PUBLISHABLE, Status

#: what a percentage may be off by rounding
SAME = 1 + 1e-12
#: how much more a release with a verified promise may cost, in percentage points, to be preferred to one that promises nothing
TOLERANCE = 1.0


def publishable(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that may be chosen."""
    return table.filter(
        pl.col("problem").is_null() & pl.col("stopped").is_null() & pl.col("verdict").is_in(PUBLISHABLE)
    )


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each point (risk, loss) is on the Pareto front.

    Examples
    --------
    >>> on_front([(10.0, 50.0), (20.0, 60.0), (30.0, 40.0), (10.0, 50.0)])
    [True, False, True, True]
    """
    front: set[tuple[float, float]] = set()
    least = float("inf")
    for risk, loss in sorted(set(points)):
        if loss < least:
            front.add((risk, loss))
            least = loss
    return [point in front for point in points]


def with_front(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the column `pareto`."""
    chosen = publishable(table)
    flags = on_front(list(zip(chosen["risk"], chosen["loss"], strict=True)))
    keys = [key for key, flag in zip(chosen["key"], flags, strict=True) if flag]
    return table.with_columns(pl.col("key").is_in(keys).alias("pareto"))


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What to publish, and why."""

    #: the row of the study's table that is best within the limit; None when nothing fits
    best: dict[str, Any] | None
    #: the next best within the limit
    runner_up: dict[str, Any] | None
    #: when nothing fits: the row that comes nearest to the limit
    nearest: dict[str, Any] | None
    #: the reason in words
    reason: str
    #: the limit of the risk that was asked for
    max_risk: float | None = None
    #: what each intruder finds in the best one, and what would have been chosen against weaker ones, in sentences
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"Recommendation: {self.best['label'] if self.best else 'nothing fits'}"


def recommend(
    table: pl.DataFrame, max_risk: float | None, max_loss: float | None, *, verified: bool = False
) -> Recommendation:
    """The best row within the limits; see `Study.recommend`."""
    limits = {"risk": max_risk, "loss": max_loss}
    given = {name: float(limit) for name, limit in limits.items() if limit is not None}
    if not given:
        raise ParameterError("recommend needs a limit: max_risk=10 (the most risk) or max_loss=30 (the most loss)")
    if wrong := [f"max_{name} must be from 0 to 100. Got {v:g}." for name, v in given.items() if not 0 <= v <= 100]:
        raise ParameterError("\n".join(wrong), wrong)
    # With a limit of the risk the loss is what is left to choose by, also when both are limited.
    first, second = ("loss", "risk") if "risk" in given else ("risk", "loss")
    choices = publishable(table).with_row_index("place").to_dicts()
    wanted = [row for row in choices if not verified or row["verdict"] == Status.HOLDS]
    fitting = [row for row in wanted if all(_most(row, name) <= limit * SAME for name, limit in given.items())]
    fitting.sort(key=lambda row: (row[first], row[second], row["place"]))
    within = " and ".join(
        [*["a verified promise"] * verified, *(f"a {name} of at most {limit:g} %" for name, limit in given.items())]
    )
    within += (
        f" against an intruder who knows {IN_WORDS[choices[0]['intruder']]}" if "risk" in given and choices else ""
    )
    left_out = len(table) - len(choices)
    others = f" ({left_out} more could not be run or published.)" if left_out else ""
    for row in choices:
        del row["place"]
    if not choices:
        stops = table.filter(pl.col("stopped").is_not_null()).select("label", "stopped").rows()
        why = f" {stops[0][0]} is stopped by {stops[0][1]}" if stops else ""
        return Recommendation(
            None, None, None, f"Nothing can be recommended: no configuration can be published.{why}{others}"
        )
    if not wanted:
        reason = f"None of {len(choices)} configurations has a verified promise.{others}"
        return Recommendation(None, None, None, reason)
    if not fitting:
        nearest = min(wanted, key=lambda row: _distance(row, given))
        missed = " and ".join(
            f"a {name} of {_most(nearest, name):.1f} %" for name in given if _most(nearest, name) > given[name]
        )
        other = f", at a {first} of {nearest[first]:.1f} %" if first not in given else ""
        reason = f"None of {len(choices)} configurations has {within}. Nearest comes {nearest['label']} with {missed}{other}.{others}"
        return Recommendation(None, None, nearest, reason)
    least = fitting[0]
    promised = [row for row in fitting if row["verdict"] == Status.HOLDS and row[first] <= least[first] + TOLERANCE]
    best = promised[0] if promised else least
    runner_up = next((row for row in fitting if row is not best), None)
    how = f"has the least {first} ({best[first]:.1f} %)"
    if best is not least:
        how = f"has a {first} of {best[first]:.1f} %, at most {TOLERANCE:g} point above the least ({least['label']}, which promises nothing), and a promise: it is preferred"
    reason = (
        f"{best['label']} {how} of the {len(fitting)} of {len(choices)} configurations with {within}: "
        f"the strongest attack ({best['attack']}) finds {best['risk']:.1f} % of the persons, and {_promise(best)}."
    )
    if runner_up is None:
        reason += " No other one fits."
    else:
        reason += f" Next comes {runner_up['label']} with a loss of {runner_up['loss']:.1f} % and a risk of {runner_up['risk']:.1f} %."
    return Recommendation(best, runner_up, None, reason + others, max_risk)


def _promise(row: dict[str, Any]) -> str:
    if row["verdict"] == Status.NONE_CLAIMED:
        return "it promises nothing: the risk is known by attack only"
    return f"its promise was verified ({row['guarantee']})"


def _most(row: dict[str, Any], name: str) -> float:
    """What is held against a limit: of the risk the end of its interval."""
    return float(row["high" if name == "risk" else name])


def _distance(row: dict[str, Any], limits: dict[str, float]) -> tuple[float, float]:
    """How far a row is beyond the limits, then how large its figures are."""
    return max(_most(row, name) - limit for name, limit in limits.items()), row["risk"] + row["loss"]
