"""Projections: the attributes of a record in one number, by which records can be sorted.

    pcp       the first principal component: sum_j a_j z_j, where a has length 1 and gives the sum the largest variance
    zscores   sum_j z_j
    owa, choquet, sugeno, twofold   an aggregation function of the attributes, each ranged to 0..1 (see `transform.aggregation`)

with z_j = (x_j - mean_j) / sd_j. (The source [1]_ divides z-scores by the variance; the standard deviation is meant.) The principal
component can also be taken of the ranged attributes (x_j - min_j) / (max_j - min_j), as in example 2.3 there.

The sign of a principal component is arbitrary; it is fixed so that the largest loading in size is positive (the first one among
equals), and loadings are rounded to 12 decimals, since the last bits vary between machines. Sums run in the order of the columns:
equal records have equal projections, to the bit.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), sections 2.4.2 and 3.2.

Examples
--------
>>> import numpy as np
>>> x = np.array([[1.0, 40.0], [2.0, 10.0], [3.0, 10.0]])
>>> project(x, "zscores").round(3)
array([ 0.155, -0.577,  0.423])
>>> project(x, "pcp").round(3)
array([-1.524,  0.408,  1.115])
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.transform.aggregation import Quantifier, choquet, exponent, owa, sugeno, twofold
from tsveil.transform.normalise import normalise

Projection = Literal["pcp", "zscores", "sugeno", "owa", "choquet", "twofold"]
Scale = Literal["auto", "standardise", "range"]

#: decimals of a loading that do not depend on the machine
DECIMALS = 12


def project(
    x: Array,
    how: Projection = "pcp",
    *,
    like: Array | None = None,
    scale: Scale = "auto",
    quantifier: Quantifier | None = None,
) -> Array:
    """One number per record of x.

    Means, deviations, ranges and loadings are those of `like` (x itself when left out): an intruder who projects the original by what
    the release shows passes the release here. `scale` is how attributes are made comparable: by default standardised for pcp
    and zscores, ranged for aggregation functions. The aggregation functions take the `quantifier` Q (Q(x) = x when left out).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 3.0], [4.0, 1.0], [8.0, 5.0]])
    >>> project(x, "owa")
    array([0.25, 0.25, 1.  ])
    >>> project(np.array([[4.0, 3.0]]), "owa", like=x)
    array([0.5])
    """
    if how not in get_args(Projection):
        words = ", ".join(repr(choice) for choice in get_args(Projection))
        raise ParameterError(f"The 'how' parameter of project must be one of {words}. Got {how!r}.")
    standardised = scale == "standardise" or (scale == "auto" and how in ("pcp", "zscores"))
    reference, z = normalise(x if like is None else like, x, "component" if standardised else "ranging")
    loadings = first_component(reference) if how == "pcp" else None
    return project_comparable(z, how, quantifier or exponent(1.0), loadings)


def project_comparable(z: Array, how: Projection, quantifier: Quantifier, loadings: Array | None = None) -> Array:
    """One number for each record of comparable attributes; `loadings` are those of the principal component."""
    match how:
        case "zscores":
            return weighted_sum(z, np.ones(z.shape[1]))
        case "pcp":
            assert loadings is not None
            return weighted_sum(z, loadings)
        case "owa":
            return owa(z, quantifier)
        case "choquet":
            return choquet(z, quantifier)
        case "sugeno":
            return sugeno(z, quantifier)
        case "twofold":
            return twofold(z, quantifier, quantifier)


def first_component(z: Array) -> Array:
    """The loadings of the first principal component of a table, of length 1, their sign and last digits fixed.

    Examples
    --------
    >>> import numpy as np
    >>> first_component(np.array([[-1.0, 1.0], [0.0, 0.0], [1.0, -1.0]])).round(3)
    array([ 0.707, -0.707])
    """
    centred = z - z.mean(axis=0)
    return loadings_of(centred.T @ centred)


def loadings_of(products: Array) -> Array:
    """The same from the sums of products of all pairs of centred columns, or a multiple of them."""
    loadings: Array = np.linalg.eigh(products)[1][:, -1].round(DECIMALS)
    size = np.abs(loadings)
    # Two standardised columns always have loadings of one size: rounding must not choose the sign.
    first = int(np.argmax(size >= size.max() * (1 - 1e-9)))
    return loadings if loadings[first] > 0 else -loadings


def weighted_sum(z: Array, weights: Array) -> Array:
    """The sum of the columns times their weights, in their order."""
    total = np.zeros(len(z))
    for column, weight in zip(z.T, weights, strict=True):
        total += weight * column
    return total
