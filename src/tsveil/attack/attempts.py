"""All attacks that fit two files, each with everything the intruder knows: what the attack command shows."""

from __future__ import annotations

from collections.abc import Sequence

from tsveil.attack.fits import ATTACKS
from tsveil.attack.links import Links
from tsveil.attack.probabilistic import MOST
from tsveil.attack.series import Distance, HasData, released_data, series
from tsveil.data.align import Truth, aligned
from tsveil.data.dataset import Dataset
from tsveil.errors import ParameterError

#: name -> distance of the time series linkage
SERIES: dict[str, Distance] = {"values": "euclidean", "shape": "sts"}


def attempts(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    only: str | None = None,
) -> dict[str, Links]:
    """Attack by name -> its links; `only` names one of them.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> attempts(data, tv.MDAV(k=2).protect(data))
    {'values': Links: ..., 'shape': Links: ...}
    """
    names = list(SERIES) if original.series else list(ATTACKS)
    if only is not None and only not in names:
        raise ParameterError(f"there is no attack {only!r} for these data\n  attacks available: {', '.join(names)}")
    wanted = [only] if only else names
    if original.series:
        rows = aligned(original, released_data(released), truth)
        return {name: series(original, rows, distance=SERIES[name], known=known) for name in wanted}
    if only is None and len(known or original.columns) > MOST:
        wanted.remove(
            "probabilistic"
        )  # it compares patterns of agreement, and their number doubles with each attribute
    return {name: ATTACKS[name].function(original, released, known=known, truth=truth) for name in wanted}
