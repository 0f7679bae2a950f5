"""tsveil: protect time series and numerical microdata, attack the result, and measure it.

    import tsveil as tv

    data = tv.read("meters.csv")
    release = tv.MDAV(k=5).protect(data)
    print(release.verify())
    print(tv.evaluate(data, release))
    release.write("release")

The names below are the public ones. They are loaded when first used, so that `import tsveil` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tsveil import attack, distance
    from tsveil.core import errors
    from tsveil.data.dataset import Block, Dataset
    from tsveil.data.examples import example
    from tsveil.data.read import read
    from tsveil.guarantee.base import Verdict
    from tsveil.guarantee.k_anonymity import KAnonymity
    from tsveil.guarantee.kp import KPAnonymity, verify_kp
    from tsveil.guarantee.nlk import verify_nlk
    from tsveil.measure.evaluate import evaluate
    from tsveil.measure.queries import Queries
    from tsveil.measure.scorecard import Scorecard
    from tsveil.plan.compare import compare
    from tsveil.plan.plan import Plan
    from tsveil.plan.run import estimate, run
    from tsveil.protect.anonymise import anonymise
    from tsveil.protect.envelopes import KAnonymousEnvelopes
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
    from tsveil.release.release import Release
    from tsveil.report.comparison import Comparison
    from tsveil.study.choice import Recommendation
    from tsveil.study.study import Study
    from tsveil.study.sweep import sweep

#: public name -> module that defines it, or the module itself
_PLACES = {
    "Block": "tsveil.data.dataset",
    "Comparison": "tsveil.report.comparison",
    "Dataset": "tsveil.data.dataset",
    "compare": "tsveil.plan.compare",
    "KAnonymity": "tsveil.guarantee.k_anonymity",
    "KAnonymousEnvelopes": "tsveil.protect.envelopes",
    "KP": "tsveil.protect.kp",
    "KPAnonymity": "tsveil.guarantee.kp",
    "Queries": "tsveil.measure.queries",
    "verify_kp": "tsveil.guarantee.kp",
    "MDAV": "tsveil.protect.mdav",
    "Plan": "tsveil.plan.plan",
    "Release": "tsveil.release.release",
    "SensitiveMDAV": "tsveil.protect.sensitive",
    "Scorecard": "tsveil.measure.scorecard",
    "VMDAV": "tsveil.protect.vmdav",
    "Verdict": "tsveil.guarantee.base",
    "OptimalUnivariate": "tsveil.protect.univariate",
    "Projected": "tsveil.protect.projected",
    "Mic1D": "tsveil.protect.mic1d",
    "NLK": "tsveil.protect.nlk",
    "Noise": "tsveil.protect.noise",
    "verify_nlk": "tsveil.guarantee.nlk",
    "RankSwap": "tsveil.protect.rank_swap",
    "RankSwapBuckets": "tsveil.protect.rank_swap_buckets",
    "RankSwapDistribution": "tsveil.protect.rank_swap_distribution",
    "anonymise": "tsveil.protect.anonymise",
    "attack": "tsveil.attack",
    "distance": "tsveil.distance",
    "errors": "tsveil.core.errors",
    "estimate": "tsveil.plan.run",
    "evaluate": "tsveil.measure.evaluate",
    "example": "tsveil.data.examples",
    "read": "tsveil.data.read",
    "Recommendation": "tsveil.study.choice",
    "Study": "tsveil.study.study",
    "run": "tsveil.plan.run",
    "sweep": "tsveil.study.sweep",
}

#: the public names that are modules
_MODULES = {"attack", "distance", "errors"}

__all__ = [
    "KP",
    "MDAV",
    "NLK",
    "VMDAV",
    "Block",
    "Comparison",
    "Dataset",
    "KAnonymity",
    "KAnonymousEnvelopes",
    "KPAnonymity",
    "Mic1D",
    "Noise",
    "OptimalUnivariate",
    "Plan",
    "Projected",
    "Queries",
    "RankSwap",
    "RankSwapBuckets",
    "RankSwapDistribution",
    "Recommendation",
    "Release",
    "Scorecard",
    "SensitiveMDAV",
    "Study",
    "Verdict",
    "__version__",
    "anonymise",
    "attack",
    "compare",
    "distance",
    "errors",
    "estimate",
    "evaluate",
    "example",
    "read",
    "run",
    "sweep",
    "verify_kp",
    "verify_nlk",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tsveil' has no attribute {name!r}")
    module = importlib.import_module(_PLACES[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
