"""Record linkage without common attributes: records are compared by how large their values are on the whole.

The two files hold the same people with different attributes (net income here, income tax there). Each file is normalised column by
column, and every record is replaced by k representatives, aggregations of its values that treat all attributes alike,

    a' = (C_1(a), ..., C_k(a))        C_i = OWA, Sugeno or twofold integral with the quantifier of the i-th parameter

which exist for any number of attributes. On these common columns the files are linked by distance or probabilistically. It works as
far as large values in one file go with large values in the other.

Missing values: a record is aggregated over the values that it has. Standardised values are used as they are, also by the Sugeno and
twofold integrals, which are meant for values in 0..1.

The defaults are what the literature found best on average.

References
----------
.. [1] V. Torra, J. Nin, Record linkage for database integration using fuzzy integrals, International Journal of Intelligent
   Systems 23 (2008) 715-734.
.. [2] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), chapter 5.

Examples
--------
The second file has the values of the first in other columns:

>>> import numpy as np, tsveil as tv
>>> a = np.array([[0.2, 0.4, 0.2, 0.4], [0.1, 0.2, 0.1, 0.2], [0.5, 0.6, 0.5, 0.1], [0.8, 0.4, 0.4, 0.7], [0.9, 0.2, 0, 0]])
>>> original = tv.Dataset.from_arrays({"a": a})
>>> released = tv.Dataset.from_arrays({"b": a[:, [3, 0, 2, 1]]})
>>> tv.attack.fuzzy(original, released, quantifier="exponent", normalise="none")
Links: owa exponent linkage by distance, 4 and 4 attributes: 5.0 of 5 records re-identified (100.0 %)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from tsveil.attack.agreement import heaviest_links
from tsveil.attack.base import OnRequest
from tsveil.attack.files import (
    Files,
    HasData,
    Ties,
    known_columns,
    mean_and_deviation,
    on_one_scale,
    own_rows,
    persons_of,
    released_data,
    wrong_choices,
)
from tsveil.attack.links import Links
from tsveil.attack.nearest_columns import nearest
from tsveil.core.errors import InputError, ParameterError, Problems, some
from tsveil.core.params import one_of, param
from tsveil.core.types import Array
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.transform.aggregation import QUANTIFIERS, owa, sugeno, twofold
from tsveil.transform.normalise import Scaling

Aggregation = Literal["owa", "sugeno", "twofold"]
Family = Literal["exponent", "sigmoid", "threshold"]
Normalise = Literal["standardise", "ranging", "none"]
Linkage = Literal["distance", "probabilistic"]

#: family of quantifiers -> the parameters of its representatives
ALPHAS: dict[str, tuple[float, ...]] = {
    "exponent": tuple(i / 5 for i in range(1, 11)),
    "sigmoid": tuple(i / 10 for i in range(10)),
    "threshold": tuple(i / 10 for i in range(10)),
}


def fuzzy(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    published: Sequence[str] | None = None,
    truth: Truth = None,
    aggregation: Aggregation = "owa",
    quantifier: Family = "threshold",
    second: Family = "threshold",
    normalise: Normalise = "standardise",
    linkage: Linkage = "distance",
    scaling: Scaling = "original",
    ties: Ties = "expected",
) -> Links:
    """Link two files by representatives of their records.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes of the original that are used; all by default.
    published
        The attributes of the release that are used; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    aggregation
        What represents the values of a record.
    quantifier
        The family of quantifiers; of the twofold integral that of its Sugeno part.
    second
        The family of the Choquet part of the twofold integral.
    normalise
        How columns are made comparable.
    linkage
        How representatives are linked: by "distance" or "probabilistic".
    scaling
        By which file's mean and deviation values are scaled: "original", or each file by its "own".
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.

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
    problems = Problems("the fuzzy attack cannot run", ParameterError)
    problems.found += wrong_choices(
        aggregation=(aggregation, Aggregation), quantifier=(quantifier, Family), second=(second, Family),
        normalise=(normalise, Normalise), linkage=(linkage, Linkage), ties=(ties, Ties),
    )  # fmt: skip
    problems.raise_if_any()
    protected = released_data(released)
    ours, theirs = known_columns(original, known), known_columns(protected, published)
    tables = []
    for data, names, whose in ((original, ours, "the original"), (protected, theirs, "the release")):
        table = data.values[:, [data.columns.index(name) for name in names]]
        empty = np.flatnonzero(np.isnan(table).all(axis=1))
        if len(empty):
            raise InputError(
                f"{whose} has records without any value: {some((empty + 1).tolist())}\n  options: leave these records out"
            )
        tables.append(representatives(normalise_columns(table, normalise), aggregation, quantifier, second))
    a, b = tables
    names = tuple(f"{aggregation} {alpha:g}" for alpha in ALPHAS[quantifier])
    pair = Files(names, a, b, own_rows(original, protected, truth), protected, persons_of(original))
    if linkage == "distance":
        found = nearest(pair, *on_one_scale(a, b, scaling), "euclidean", ties)
    else:
        found = heaviest_links(pair, ties=ties)
    how = f"{aggregation} {quantifier}" + (f"/{second}" if aggregation == "twofold" else "")
    by = "by distance" if linkage == "distance" else "by probability"
    return replace(found, attack=f"{how} linkage {by}, {len(ours)} and {len(theirs)} attributes")


def representatives(
    table: Array, aggregation: Aggregation = "owa", quantifier: Family = "threshold", second: Family = "threshold"
) -> Array:
    """The aggregations of each record, a column per parameter of the quantifier; over the values that it has.

    Examples
    --------
    >>> import numpy as np
    >>> representatives(np.array([[0.2, 0.4, 0.2, 0.4]]), "owa", "exponent").round(2)
    array([[0.37, 0.35, 0.33, 0.31, 0.3 , 0.29, 0.28, 0.27, 0.26, 0.25]])
    """
    columns = []
    for alpha, beta in zip(ALPHAS[quantifier], ALPHAS[second], strict=True):
        Q = QUANTIFIERS[quantifier](alpha)
        if aggregation == "owa":
            columns.append(owa(table, Q))
        elif aggregation == "sugeno":
            columns.append(sugeno(table, Q))
        else:
            columns.append(twofold(table, Q, QUANTIFIERS[second](beta)))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def normalise_columns(table: Array, how: Normalise) -> Array:
    """Each column by itself, over the values present: standardised, or ranged to 0..1; zeros where nothing varies.

    Examples
    --------
    >>> import numpy as np
    >>> normalise_columns(np.array([[1.0], [np.nan], [3.0]]), "ranging").ravel()
    array([ 0., nan,  1.])
    """
    if how == "none":
        return table
    out = np.full(table.shape, np.nan)
    for j in range(table.shape[1]):
        there = ~np.isnan(table[:, j])
        if not there.any():
            continue
        present = table[there, j]
        if how == "ranging":
            middle, width = present.min(), present.max() - present.min()
        else:
            mean, deviation = mean_and_deviation(present[:, None])
            middle, width = mean[0], deviation[0]
        out[there, j] = (present - middle) / width if width > 0 else 0.0
    return out


@dataclass(frozen=True, kw_only=True)
class Fuzzy(OnRequest):
    """Linkage of files without common attributes, which knows less than is known of files that have some: run only when asked for."""

    name: ClassVar[str] = "fuzzy"
    figure: ClassVar[str] = "FLD"
    plain: ClassVar[str] = "linkage without common attributes"
    summary: ClassVar[str] = "Share that an intruder links right who compares how large values are on the whole."
    reference: ClassVar[str] = "Torra and Nin 2008"
    on_files: ClassVar[Callable[..., Links] | None] = partial(fuzzy)
    common_columns: ClassVar[bool] = False

    aggregation: Aggregation = param("owa", one_of(*get_args(Aggregation)), "what represents the values of a record")
    quantifier: Family = param("threshold", one_of(*get_args(Family)), "the family of quantifiers")
    second: Family = param("threshold", one_of(*get_args(Family)), "that of the Choquet part of the twofold integral")
    normalise: Normalise = param("standardise", one_of(*get_args(Normalise)), "how columns are made comparable")
    linkage: Linkage = param("distance", one_of(*get_args(Linkage)), "how representatives are linked")
