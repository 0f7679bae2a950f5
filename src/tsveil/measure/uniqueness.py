"""Who stands alone in data as they are: the share of records that a few known values single out.

    U(m) = 100 * mean over sets S of m columns of  #{i : no other record equals record i on S} / n

Removing names does not hide a record whose values nobody else has: three readings of a meter, or the spendings of two days, are often
enough. Where persons may have several records, no record of another person counts. All sets S are taken when there are few, otherwise sets drawn at random. `coarse` stands for an intruder who knows values only
roughly: columns are rounded to multiples of `coarse` standard deviations first.

References
----------
.. [1] Y.-A. de Montjoye, C. A. Hidalgo, M. Verleysen, V. D. Blondel, Unique in the Crowd: the privacy bounds of human mobility,
   Scientific Reports 3 (2013).

Examples
--------
>>> import tsveil as tv
>>> data = tv.Dataset.from_arrays({"x": [[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 5.0]]})
>>> singled_out(data)
{1: 12.5, 2: 50.0}
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from tsveil.core import progress
from tsveil.core.types import Array, Mask
from tsveil.data.dataset import Dataset
from tsveil.guarantee.counting import classes_of_rows, shared_by, shares_of

#: numbers of known values that are looked at
COUNTS = (1, 2, 3, 5, 10)
#: sets of columns drawn, and records times sets at most
DRAWS, WORK = 50, 5_000_000


def singled_out(
    data: Dataset, counts: Sequence[int] = COUNTS, *, coarse: float = 0.0, seed: int = 0
) -> dict[int, float]:
    """Number of known values -> percent of records that are alone with theirs, on average; counts beyond the columns are left out.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("load-curves")
    >>> exact, rough = singled_out(data, [3]), singled_out(data, [3], coarse=0.5)
    >>> exact[3] > 90 > rough[3]
    True
    """
    values = data.values + 0.0
    if coarse:
        numbers = [at for at, name in enumerate(data.columns) if name not in data.labels]
        values[:, numbers] = round_to_steps(data.values[:, numbers], coarse)
    columns = values.shape[1]
    rng = np.random.default_rng(seed)
    draws = max(3, min(DRAWS, WORK // data.n))
    chosen: dict[int, list[list[int]]] = {}
    for count in sorted({count for count in counts if count <= columns}):
        if comb(columns, count) <= draws:
            chosen[count] = [list(one) for one in combinations(range(columns), count)]
        else:
            chosen[count] = [rng.choice(columns, count, replace=False).tolist() for _ in range(draws)]
    found = {}
    how = "known roughly" if coarse else "known exactly"
    with progress.step(f"Counting who stands alone, {how}", total=sum(map(len, chosen.values()))) as counter:
        for count, sets in chosen.items():
            alone = 0.0
            for one in sets:
                alone += 100 * float(_alone(data, values[:, one]).mean())
                counter[0] += 1
            found[count] = alone / len(sets)
    return found


def _alone(data: Dataset, values: Array) -> Mask:
    """Which records share their values with nobody else."""
    if not data.person:
        return np.asarray(shared_by(values) == 1)
    found = shares_of(classes_of_rows(values), data.persons)
    return np.asarray(found.share[found.of_row] == 1)


def round_to_steps(values: Array, coarse: float) -> Array:
    """Columns in units of `coarse` standard deviations, rounded; a constant column is 0."""
    sd = values.std(axis=0)
    steps = (values - values.mean(axis=0)) / np.where(sd > 0, coarse * sd, 1.0)
    return np.asarray(np.rint(np.where(sd > 0, steps, 0.0)) + 0.0)
