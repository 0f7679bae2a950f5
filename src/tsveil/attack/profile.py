"""Linkage by profile: a person's values at times that were not published give the person away by habits.

Nobody needs values of the published period to find a household in it: habits stay. Fixed features of a series (`tsveil.transform.features`: means and deviations of y = sign(x) log(1 + |x|) by hour of
the day and by weekday, quantiles of y and of its steps, magnitudes of its Fourier transform) are taken of the known period and of every published record, and the nearest record is
linked,

    d(a, r) = sum_j |f_j(a) - f_j(r)| / s_j

where s_j is the standard deviation of feature j over the published records. A feature that is the same in all of them (s_j below 1e-9 of the largest feature of the series) does not count. Absolute
differences find more than squared ones: a person differs a lot from himself in some features and hardly in others.

The intruder knows a file of another period, or the stand-in of `attack.periods` is tried. Persons may have several records in the stand-in: a link to any of them is right. All known persons
are attacked up to 4 * 10^8 pairs of one of them and a distinct published record (20,000 of each), and a random sample of them among *all* published records above.

The 526 households of the data set smart_meter, one week published and the other known: 73.8 % are found in the week as it is, 4 % after MDAV with k = 5. `attack.profile_learned` learns
from other persons which features tell persons apart.

References
----------
.. [1] The supervised re-identification of time series in J. Nin's thesis, Contributions to record linkage for disclosure risk assessment, IIIA-CSIC (2008).

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("load-curves")
>>> tv.attack.profile(data, tv.Noise(sd=0.05).protect(data, seed=1))
Links: linkage by profile, 336 attributes known: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData
from tsveil.attack.habits import KEPT, Habits
from tsveil.attack.links import Links
from tsveil.attack.nearest_columns import nearest_of_targets
from tsveil.attack.pieces import Targets
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task


def profile(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    other: Dataset | None = None,
) -> Links:
    """Link persons to released records by their habits.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    other
        A file of another period with the same identifiers; without it the first part of the originals stands in for one.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    return NearestProfile().links(original, released, known=known, truth=truth, other=other)


@dataclass(frozen=True, kw_only=True)
class NearestProfile(Habits):
    """Links to the released record with the nearest features."""

    name: ClassVar[str] = "profile"
    figure: ClassVar[str] = "PFLD"
    plain: ClassVar[str] = "linkage by profile"
    summary: ClassVar[str] = "Share found by who knows a person's values at times that were not published, by habits."
    reference: ClassVar[str] = "tsveil; after the supervised re-identification of Nin 2008"

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by all features."""
        _, factor = targets.store.get(f"{KEPT}.scale")
        known = self.known(targets, task)
        return nearest_of_targets(targets, known, lambda shown: shown, np.array(factor), [known.shape[1]], "l1", KEPT)
