"""The score of a release of values, from what was lost, who was linked and what was disclosed; all in percent.

    DR    = (DR1 + ID) / 2           disclosure risk: re-identification and interval disclosure
    score = (IL + DR) / 2            lower is better

DR1 is the rate of the linkages that count: the largest of them, or their mean.

    series       max        max(EULD, STSLD)                  the better of the two linkages of series: the default [1]_
                 mean       (EULD + STSLD) / 2                the thesis [2]_
    attributes   max        max(DLD, PLD, ...)                the intruder uses the best attack: the default
                 classic    (DLD + PLD) / 2
                 rank-swap  (RSLD + DLD + PLD) / 3
                 new        (DLD + PLD + ProjLD) / 3

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009) 1663-1677.
.. [2] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), sections 2.5 and 4.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np

from tsveil.measure.base import Meaning

Score = Literal["max", "classic", "rank-swap", "new"]

#: score of attributes -> the linkages whose mean counts; none: the largest of all
LINKAGES: dict[str, tuple[str, ...]] = {
    "max": (),
    "classic": ("DLD", "PLD"),
    "rank-swap": ("RSLD", "DLD", "PLD"),
    "new": ("DLD", "PLD", "ProjLD"),
}

#: what the combined figures mean
MEANINGS: dict[str, Meaning] = {
    "DR1": Meaning("re-identification", "%", "The re-identification risk that counts: that of the strongest attack."),
    "ID": Meaning(
        "interval disclosure",
        "%",
        "Share of values that lie within 1 to 10 % of the published ones, so that publishing discloses them.",
    ),
    "DR": Meaning(
        "disclosure risk", "%", "The mean of re-identification and interval disclosure: 0 means nothing leaks."
    ),
    "score": Meaning("score", "%", "The mean of information loss and disclosure risk: lower is better."),
}


def combine_rates(rates: Collection[float], how: Literal["max", "mean"]) -> float:
    """DR1 of some linkages: the largest of their rates, or the mean."""
    return max(rates) if how == "max" else float(np.mean(list(rates)))


def risk_and_score(loss: float, linked: float, disclosed: float) -> dict[str, float]:
    """Disclosure risk and score, with what they are made of but the loss: `linked` is DR1, `disclosed` the interval disclosure.

    Examples
    --------
    >>> risk_and_score(20.0, 30.0, 50.0)
    {'DR1': 30.0, 'ID': 50.0, 'DR': 40.0, 'score': 30.0}
    """
    risk = (linked + disclosed) / 2
    return {"DR1": linked, "ID": disclosed, "DR": risk, "score": score_of(loss, risk)}


def score_of(loss: float, risk: float) -> float:
    """The score: the mean of loss and risk."""
    return (loss + risk) / 2
