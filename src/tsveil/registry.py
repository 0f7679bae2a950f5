"""Every method by name. A new method is a new file in protect/ and one line here.

The command line, plans, the docs, the sweep and the contract tests all read this table, so nothing else has to be touched. Methods
of other packages join it through an entry point (`tsveil.plugins`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tsveil.errors import ParameterError
from tsveil.plugins import Broken, methods_of_others
from tsveil.protect.base import Method
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.intervals import IntervalMethod
from tsveil.protect.kp import KP
from tsveil.protect.mdav import MDAV
from tsveil.protect.mic1d import Mic1D
from tsveil.protect.nlk import NLK
from tsveil.protect.noise import Noise
from tsveil.protect.projected import Projected
from tsveil.protect.rank_swap import RankSwap
from tsveil.protect.rank_swap_buckets import RankSwapBuckets
from tsveil.protect.rank_swap_distribution import RankSwapDistribution
from tsveil.protect.sensitive import SensitiveMDAV
from tsveil.protect.univariate import OptimalUnivariate
from tsveil.protect.vmdav import VMDAV

#: name -> method
METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        MDAV,
        VMDAV,
        SensitiveMDAV,
        NLK,
        OptimalUnivariate,
        Projected,
        Mic1D,
        RankSwap,
        RankSwapDistribution,
        RankSwapBuckets,
        Noise,
    )
}

#: name -> method that publishes intervals instead of values; its releases are `IntervalRelease`
INTERVAL_METHODS: dict[str, type[IntervalMethod]] = {method.name: method for method in (KP, KAnonymousEnvelopes)}

_OTHERS, _broken = methods_of_others({*METHODS, *INTERVAL_METHODS})

#: every method by name: those above, and those of other packages that are installed
ALL_METHODS: dict[str, type[Method]] = {**METHODS, **INTERVAL_METHODS, **_OTHERS}

#: methods of other packages that cannot be used, and why
BROKEN: dict[str, Broken] = _broken


def method(name: str, settings: Mapping[str, Any] | None = None) -> Method:
    """The method with this name and these parameters.

    Examples
    --------
    >>> method("mdav", {"k": 3}).settings()["k"]
    3
    >>> method("mdva")
    Traceback (most recent call last):
    tsveil.errors.ParameterError: there is no method 'mdva'
      methods available: mdav, ...
    """
    if name in BROKEN and name not in ALL_METHODS:
        raise ParameterError(f"{BROKEN[name]}\n  options: repair or remove that package, or another method")
    if name not in ALL_METHODS:
        raise ParameterError(f"there is no method {name!r}\n  methods available: {', '.join(ALL_METHODS)}")
    return ALL_METHODS[name].from_settings(settings or {})


def recommended(name: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings given, completed by those that we recommend where the defaults keep to the published method.

    Examples
    --------
    >>> recommended("mdav", {"k": 7})
    {'refine': 'swap', 'k': 7}
    >>> recommended("mdav", {"variant": "paper"})
    {'variant': 'paper'}
    """
    return ALL_METHODS[name].advised(given or {}) if name in ALL_METHODS else dict(given or {})
