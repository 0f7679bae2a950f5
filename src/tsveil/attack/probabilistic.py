"""Probabilistic record linkage (P-RL): which attributes of two records agree, weighed by how much their agreement tells.

Each pair of an original and a released record has a pattern of agreements over the c known attributes. In the model of Fellegi
and Sunter [1]_ attribute j agrees with probability m_j if both records belong to one person and u_j otherwise, independently of
the other attributes, and a pair is weighed by the log-ratio

    weight = sum_j log(m_j / u_j) where j agrees, log((1 - m_j) / (1 - u_j)) where not.

Each original record is linked to the released one of the largest weight. m, u and the share of matching pairs are estimated by
the EM algorithm [2]_ from the counts of the 2^c patterns among all pairs, which are counted without looking at the pairs.

When do two numbers agree? By default if the released value is the nearest released one to the original (the lower of two
equally near): every record then has a label per attribute, and equal labels agree. With `agree="within"`, if they
differ by at most `tolerance` standard deviations. With a `window`, if they are at most so many ranks apart (see `tsveil.attack.rank_swap`): this is
the rule on releases whose method moves values by a few ranks, where equal values tell nothing.

Given bounds on the probabilities of a false match and of a false non-match, pairs are linked, not linked or left undecided
as the theory has it; then only records whose best pair is linked have a link.

References
----------
.. [1] I. P. Fellegi, A. B. Sunter, A theory for record linkage, Journal of the American Statistical Association 64 (1969)
   1183-1210.
.. [2] W. E. Winkler, Advanced methods for record linkage, Proceedings of the Section on Survey Research Methods, American
   Statistical Association (1994).

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rng = np.random.default_rng(0)
>>> x = rng.integers(0, 20, (1000, 4)).astype(float)
>>> noisy = np.where(rng.random(x.shape) < 0.9, x, rng.integers(0, 20, x.shape))
>>> data = tv.Dataset.from_arrays({"a": x})
>>> found = tv.attack.probabilistic(data, data.with_values(noisy))
>>> found
Links: probabilistic linkage, 4 attributes known: 904.8 of 1000 records re-identified (90.5 %)
>>> {name: round(m, 2) for name, m in found.facts["m"].items()}
{'0': 0.91, '1': 0.91, '2': 0.9, '3': 0.89}
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from tsveil.attack.agreement import (
    CELLS,
    MOST,
    Agree,
    Labels,
    Ranges,
    Table,
    first_columns,
    heaviest_links,
    heaviest_pairs,
    keep_labels,
    keep_ranges,
    plain_model,
    ranks_within,
)
from tsveil.attack.base import UNAIDED, Attack, Column, RanksWithin, Shape, Situation, Traces, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData, Ties, files
from tsveil.attack.links import Links
from tsveil.attack.pieces import Targets
from tsveil.core.params import at_least, optional, param
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task

#: agreements that are kept between the two passes over the targets: 4 bytes each
KEPT = 2**28
#: the smallest sample of targets, for smaller ones cost the same; and what one look at an agreement costs, in comparisons of series
SAMPLE, LOOK = 4096, 150


def probabilistic(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    false_matches: float | None = None,
    false_non_matches: float | None = None,
    ties: Ties = "expected",
    window: int | None = None,
) -> Links:
    """Link originals to the released records of the largest weight, over at most 12 known attributes; a `window` of ranks takes the place of `agree`."""
    pair = files(original, released, known, truth)
    return heaviest_links(pair, agree, tolerance, false_matches, false_non_matches, ties, window)


# -- files in pieces: targets are gone through twice; agreements are counted, and then weighed by how often they occur -----------------


@dataclass(frozen=True, kw_only=True)
class ByAgreement(Attack):
    """Base of the linkages to the released record whose agreements weigh most."""

    most: ClassVar[int | None] = MOST
    twice: ClassVar[bool] = True

    window: int | None = param(
        None, optional(at_least(0)), "how many ranks apart values agree; only with the nearest published value"
    )

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """On any attributes; where values move by a few ranks, they agree within these."""
        windows = [trace.ranks for trace in traces or () if isinstance(trace, RanksWithin)]
        return cls(window=min(windows, default=None)) if cls.takes(release) else None

    def describe(self) -> str:
        """With the window."""
        return self.plain if self.window is None else f"{self.plain}, within {self.window} ranks"

    @property
    def _rule(self) -> str:
        """When values agree, in a word."""
        return "nearest" if self.window is None else f"within-{self.window}"

    def of_column(self, column: Column) -> Result:
        """The number of its labels, or none where its ranges are kept."""
        if self.window is None:
            return {"labels": keep_labels(column)}
        keep_ranges(column, self._rule, ranks_within(self.window))
        return {"labels": 0}

    def plan(self, situation: Situation) -> list[Trial]:
        """All patterns are gone through for each table of targets, and then those of each target."""
        most = max(situation.counts)
        compared = LOOK * (situation.distinct * 4**most / CELLS + 2**most)
        if self.window is not None:
            compared += UNAIDED * situation.distinct
        targets = situation.affordable(compared, SAMPLE)
        stored = situation.records(targets) << most <= KEPT
        # Attacks of one rule and as many targets have the same agreements, which are kept once.
        name = f"agreements-{self._rule}-{targets}"
        return [Trial(targets, {"sizes": situation.from_columns("labels"), "stored": stored, "agreements": name})]

    def count(self, targets: Targets, task: Task) -> Result:
        """How many pairs of the targets and released records agree in each pattern of columns, and how many targets were released."""
        total = self._table(targets, task, counted=False).total()
        return {"total": total.tolist(), "targets": len(targets), "released": int((targets.own >= 0).sum())}

    def weigh(self, counted: Sequence[Result], trial: Trial, situation: Situation) -> str | None:
        """The weights of all patterns, for each number of known columns."""
        total = np.array([one["total"] for one in counted], dtype=np.int64).sum(axis=0)
        targets, released = (sum(int(one[what]) for one in counted) for what in ("targets", "released"))
        said = None
        for count in situation.counts:
            weights, said_of_it = self.weights(first_columns(total, count), targets, released)
            situation.store.put(f"weights-{self.figure}-{count}", weights)
            said = said_of_it or said
        return said

    @abstractmethod
    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """The weight of each pattern, and what must be said of it, from the pairs with each pattern; so many of the targets were released."""

    def link(self, targets: Targets, task: Task) -> Found:
        """The released records of the largest weight."""
        weights = {count: targets.store.get(f"weights-{self.figure}-{count}", whole=True) for count in task["counts"]}
        table = self._table(targets, task, counted=True)
        _, tied, link, hit = heaviest_pairs(table, weights, lowest=task["ties"] == "first")
        return Found(tied, link, hit)

    def _table(self, targets: Targets, task: Task, *, counted: bool) -> Table:
        store = targets.store if task["stored"] else None
        kept: dict[str, Any] = {"name": f"{task['agreements']}-{task['at']}", "store": store, "counted": counted}
        if self.window is None:
            return Labels(targets, task["columns"], task["sizes"], **kept)
        return Ranges(targets, task["columns"], self._rule, **kept)


@dataclass(frozen=True, kw_only=True)
class Probabilistic(ByAgreement):
    """Linkage to the released record whose agreements weigh most, each by itself."""

    name: ClassVar[str] = "probabilistic"
    figure: ClassVar[str] = "PLD"
    plain: ClassVar[str] = "linkage by probability"
    summary: ClassVar[str] = "Share linked right by which attributes agree, weighed by how much each agreement tells."
    reference: ClassVar[str] = "Fellegi and Sunter 1969"
    on_files: ClassVar[Callable[..., Links] | None] = partial(probabilistic)

    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """Those of the model of independent agreements."""
        return plain_model(counts).weights, None
