"""All attacks that fit two files, each with everything the intruder knows: what the attack command shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tsveil.attack._files import HasData, released_data
from tsveil.attack.fits import ATTACKS
from tsveil.attack.fuzzy import fuzzy
from tsveil.attack.links import Links
from tsveil.attack.probabilistic import MOST
from tsveil.attack.series import Distance, series
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.errors import ParameterError

#: name -> distance of the time series linkage
SERIES: dict[str, Distance] = {"values": "euclidean", "shape": "sts", "warping": "dtw"}
#: links files that have no attribute in common
FUZZY = "fuzzy"
#: run only when asked for: one compares every pair at length, the other knows less than is known of files with common attributes
ASKED = ("warping", FUZZY)


def attempts(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    only: str | None = None,
    distance: Distance | None = None,
    one_to_one: bool = False,
    blocking: int | None = None,
) -> dict[str, Links]:
    """Attack by name -> its links; `only` names one of them, or `distance` does for series.

    `one_to_one` and `blocking` are options of the linkages by distance, and only these run then.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> attempts(data, tv.MDAV(k=2).protect(data))
    {'values': Links: ..., 'shape': Links: ...}
    """
    names = list(SERIES) if original.series else [*ATTACKS, FUZZY]
    options: dict[str, Any] = {"one_to_one": True} if one_to_one else {}
    options |= {} if blocking is None else {"blocking": blocking}
    able = names if original.series else ["distance"]
    if distance is not None:
        if not original.series:
            raise ParameterError(f"The 'distance' option of an attack is for time series. Got {distance!r}.")
        if distance not in SERIES.values():
            raise ParameterError(
                f"there is no distance {distance!r}\n  distances available: {', '.join(SERIES.values())}"
            )
        named = next(name for name, kind in SERIES.items() if kind == distance)
        if only not in (None, named):
            raise ParameterError(
                f"the attack {only!r} is not the one by the distance {distance!r}: say one of the two only"
            )
        only = named
    if only is not None and only not in names:
        raise ParameterError(f"there is no attack {only!r} for these data\n  attacks available: {', '.join(names)}")
    if only is not None and options and only not in able:
        raise ParameterError(
            f"the attack {only!r} does not know {' and '.join(options)}; of these attacks {', '.join(able)} does"
        )
    wanted = [only] if only else [name for name in (able if options else names) if name not in ASKED]
    tried: dict[str, Callable[..., Links]]
    if original.series:
        tried = {name: partial(series, distance=SERIES[name], **options) for name in wanted}
    else:
        if only is None and "probabilistic" in wanted and len(known or original.columns) > MOST:
            wanted.remove(
                "probabilistic"
            )  # it compares patterns of agreement: their number doubles with each attribute
        functions = {FUZZY: fuzzy, **{name: attack.function for name, attack in ATTACKS.items()}}
        tried = {name: partial(functions[name], **options) for name in wanted}
    return {name: attack(original, released_data(released), known=known, truth=truth) for name, attack in tried.items()}
