"""Real anonymity: how many records share their published values over everything that an intruder knows.

    k' = n / number of distinct published rows over the known columns

Where persons may have several records, k' is one over the mean share of a person in the classes of that person's records: the success of whoever
knows the class of each record and guesses inside it. With one record a person both are the same.

Blocks are protected one by one, so k records share the values of one block, but few share those of several. If the groups of the r blocks
were independent of each other, a record would fall into one of m = ceil(n/k)^r combinations at random, and

    s = m (1 - (1 - 1/m)^n),      k' = n / s

distinct rows were to be expected. Protected data should do better than that: their blocks are correlated.

The bounds printed in [1]_, m (1 - e^{-n/m}) + 0.1839 <= s <= m (1 - e^{-n/m}) + 0.3678 (with the exponent corrected from -m/n), hold
for n = m only; they are offered for reproduction.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), section 3.1.1.

Examples
--------
>>> import tsveil as tv
>>> released = tv.Dataset.from_arrays({"x": [[1.0], [1.0], [2.0], [2.0]], "y": [[5.0], [6.0], [5.0], [5.0]]})
>>> real_anonymity(released, ["x"])
2.0
>>> round(real_anonymity(released), 3)
1.333
>>> round(expected_anonymity(380, 25, 2), 4)
1.9178
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tsveil.attack.files import HasData, released_data
from tsveil.core.errors import ParameterError, Problems, some
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.counting import classes_of_rows, shared_by, shares_of

#: what the printed bounds add to the expected number of distinct rows
PRINTED = (0.1839, 0.3678)


def real_anonymity(released: Dataset | HasData, known: Sequence[str] | None = None) -> float:
    """K' over the known blocks and columns, named in any order; all columns when left out.

    Examples
    --------
    >>> import tsveil as tv
    >>> released = tv.Dataset.from_arrays({"x": [[1.0, 3.0], [1.0, 4.0], [1.0, 4.0]]})
    >>> real_anonymity(released, ["0"]), real_anonymity(released, ["x"])
    (3.0, 1.5)
    """
    data = released_data(released)
    if data.person:
        found = shares_of(classes_of_rows(data.values[:, _columns(data, known)]), data.persons)
        scores = np.bincount(data.persons, weights=found.share[found.of_row]) / np.bincount(data.persons)
        return 1 / float(scores.mean())
    # A row that s records share counts 1/s for each of them: the sum is the number of distinct rows.
    distinct = round(float((1.0 / shared_by(data.values[:, _columns(data, known)])).sum()))
    return data.n / distinct


def expected_anonymity(n: int, k: int, r: int) -> float:
    """K' to be expected of n records in r blocks with groups of k, if the blocks were independent.

    Examples
    --------
    >>> expected_anonymity(100, 5, 1) > 5, round(expected_anonymity(100, 5, 10), 6)
    (True, 1.0)
    """
    m = _combinations(n, k, r)
    if m == 1:
        return float(n)
    if math.isinf(m):
        return 1.0
    return n / (-m * math.expm1(n * math.log1p(-1 / m)))


def printed_anonymity(n: int, k: int, r: int) -> tuple[float, float]:
    """The printed lower and upper bound of the expected k'.

    Examples
    --------
    >>> [round(bound, 4) for bound in printed_anonymity(380, 25, 2)]
    [1.9158, 1.9176]
    """
    m = _combinations(n, k, r)
    s = float(n) if math.isinf(m) else -m * math.expm1(-n / m)
    return n / (s + PRINTED[1]), n / (s + PRINTED[0])


def _combinations(n: int, k: int, r: int) -> float:
    """ceil(n/k)^r, infinite when it is beyond all numbers."""
    wrong = [
        f"The {name!r} parameter of the expected anonymity must be an integer of at least 1. Got {value!r}."
        for name, value in (("n", n), ("k", k), ("r", r))
        if not isinstance(value, int | np.integer) or value < 1
    ]
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)
    try:
        return float(-(-int(n) // int(k))) ** int(r)
    except OverflowError:
        return math.inf


def _columns(data: Dataset, known: Sequence[str] | None) -> Indices:
    if known is None:
        return np.arange(len(data.columns))
    blocks = {block.name for block in data.blocks}
    problems = Problems("real anonymity cannot be computed", ParameterError)
    chosen: list[int] = []
    for name in known:
        if name in data.columns:
            chosen.append(data.columns.index(name))
        elif name in blocks:
            span = data.span(name)
            chosen += range(span.start, span.stop)
        else:
            problems.add(f"there is no block or column {name!r}")
            problems.hint(f"blocks: {some(sorted(blocks))}; columns: {some(data.columns)}")
    if not chosen and not problems:
        problems.add("no column is known")
    problems.raise_if_any()
    return np.array(sorted(set(chosen)), dtype=np.int64)
