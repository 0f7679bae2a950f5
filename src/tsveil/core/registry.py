"""Every method, promise, attack, measure and distance by name: five kinds, one table each.

A new one is a new file and one line here; one of another package is one line in the pyproject.toml of that package,

    [project.entry-points."tsveil.methods"]
    my-method = "my_package.my_method:MyMethod"

where the group is `tsveil.` and the plural of the kind, and the key is the name. The command line, plans, reports, studies, the web app, the docs and
the contract tests read these tables and nothing else.

Places are written as text and loaded when they are asked for, so that this module stands below all packages that it names. A package that cannot
be loaded, or whose class does not fit, is left out with a message; it never stops the others, and never takes the place of one of tsveil's own.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tsveil.core.declaration import Declaration
from tsveil.core.errors import ParameterError


@dataclass(frozen=True)
class UnusableOffer:
    """What another package offers and cannot be used."""

    kind: str
    name: str
    package: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r} of the package {self.package} cannot be used: {'; '.join(self.reasons)}"


class Registry(Mapping[str, Any]):
    """All classes of one kind by name: tsveil's own first, then those of other packages.

    Examples
    --------
    >>> METHODS["mdav"].__name__, "mdav" in METHODS
    ('MDAV', True)
    """

    def __init__(self, kind: str, base: str, own: Mapping[str, str]) -> None:
        self.kind, self.base, self.own = kind, base, own

    @property
    def group(self) -> str:
        """The group of entry points in which packages name theirs."""
        return f"tsveil.{self.kind}s"

    def __getitem__(self, name: str) -> Any:
        return object_at(self.own[name]) if name in self.own else self._others[0][name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.own, *self._others[0]])

    def __len__(self) -> int:
        return len(self.own) + len(self._others[0])

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._others[0]

    @property
    def unusable_offers(self) -> dict[str, UnusableOffer]:
        """What other packages offer and cannot be used, and why."""
        return self._others[1]

    def make(self, name: str, settings: Mapping[str, Any] | None = None) -> Any:
        """The one with this name and these parameters.

        Examples
        --------
        >>> METHODS.make("mdav", {"k": 3}).settings()["k"]
        3
        >>> METHODS.make("mdva")
        Traceback (most recent call last):
        tsveil.core.errors.ParameterError: there is no method 'mdva'
          methods available: mdav, ...
        """
        if name in self:
            return self[name].from_settings(settings or {})
        if name in self.unusable_offers:
            raise ParameterError(
                f"{self.unusable_offers[name]}\n  options: repair or remove that package, or another {self.kind}"
            )
        raise ParameterError(f"there is no {self.kind} {name!r}\n  {self.kind}s available: {', '.join(self)}")

    @cached_property
    def _others(self) -> tuple[dict[str, Any], dict[str, UnusableOffer]]:
        """Those of installed packages by name, and those that cannot be used."""
        found: dict[str, Any] = {}
        broken: dict[str, UnusableOffer] = {}
        offers: dict[tuple[str, str], EntryPoint] = {}
        for offer in entry_points(group=self.group):
            # A folder that is on the path twice offers the same thing twice.
            offers.setdefault((offer.name, offer.value), offer)
        for _, offer in sorted(offers.items()):
            made: Any = None
            if offer.name in self.own or offer.name in found:
                reasons = [f"there is a {self.kind} of this name already"]
            else:
                try:
                    made = offer.load()
                    reasons = self.faults(made, offer.name)
                except (Exception, SystemExit) as error:  # whatever a stranger's module does, the others must go on
                    reasons = [f"{offer.value} cannot be loaded ({type(error).__name__}: {error})"]
            if reasons:
                package = offer.dist.name if offer.dist else offer.value.partition(".")[0]
                broken[offer.name] = UnusableOffer(self.kind, offer.name, package, tuple(reasons))
            else:
                found[offer.name] = made
        return found, broken

    def faults(self, offered: Any, name: str) -> list[str]:
        """What is wrong with a class that wants to be the one of this name; nothing: it can be used.

        Examples
        --------
        >>> METHODS.faults(dict, "strange")
        ['it must be a class derived from tsveil.protect.base.Method']
        """
        base: type[Declaration] = object_at(self.base)
        if not (inspect.isclass(offered) and issubclass(offered, base)):
            return [f"it must be a class derived from {self.base.replace(':', '.')}"]
        wrong = []
        if missing := [word for word in dir(offered) if getattr(getattr(offered, word), "__isabstractmethod__", False)]:
            wrong.append(f"it has to define {', '.join(missing)}")
        if (own := getattr(offered, "name", None)) != name:
            wrong.append(f"its name must be {name!r}, as its entry point says, and is {own!r}")
        wrong += [
            f"it needs a {word}, a text of one line"
            for word in ("summary", "reference")
            if not isinstance(text := getattr(offered, word, None), str) or not text.strip() or "\n" in text
        ]
        wrong += offered.faults()
        if not wrong:
            try:
                offered()
            except Exception as error:
                wrong.append(f"it cannot be made with its default parameters ({type(error).__name__}: {error})")
        return wrong


def object_at(place: str) -> Any:
    """What stands at a place, written as module:name.

    Examples
    --------
    >>> object_at("tsveil.core.errors:InputError").__name__
    'InputError'
    """
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


METHODS = Registry(
    "method",
    "tsveil.protect.base:Method",
    {
        "mdav": "tsveil.protect.mdav:MDAV",
        "v-mdav": "tsveil.protect.vmdav:VMDAV",
        "p-sensitive": "tsveil.protect.sensitive:SensitiveMDAV",
        "nlk": "tsveil.protect.nlk:NLK",
        "optimal-univariate": "tsveil.protect.univariate:OptimalUnivariate",
        "projected": "tsveil.protect.projected:Projected",
        "mic1d": "tsveil.protect.mic1d:Mic1D",
        "rank-swap": "tsveil.protect.rank_swap:RankSwap",
        "rank-swap-distribution": "tsveil.protect.rank_swap_distribution:RankSwapDistribution",
        "rank-swap-buckets": "tsveil.protect.rank_swap_buckets:RankSwapBuckets",
        "noise": "tsveil.protect.noise:Noise",
        "kp": "tsveil.protect.kp:KP",
        "k-envelopes": "tsveil.protect.envelopes:KAnonymousEnvelopes",
        "local-suppression": "tsveil.protect.local_suppression:LocalSuppression",
    },
)

PROMISES = Registry(
    "promise",
    "tsveil.guarantee.base:Promise",
    {
        "k-anonymity": "tsveil.guarantee.k_anonymity:KAnonymity",
        "p-sensitive": "tsveil.guarantee.p_sensitive:PSensitive",
        "key-anonymity": "tsveil.guarantee.key_anonymity:KeyAnonymity",
        "nlk": "tsveil.guarantee.nlk:NLKAnonymity",
        "kp": "tsveil.guarantee.kp:KPAnonymity",
        "envelopes": "tsveil.guarantee.envelopes:EnvelopeAnonymity",
        "none": "tsveil.guarantee.none:NoGuarantee",
    },
)

DISTANCES = Registry(
    "distance",
    "tsveil.distance.base:Distance",
    {
        "euclidean": "tsveil.distance.euclidean:Euclidean",
        "sts": "tsveil.distance.sts:STS",
        "dtw": "tsveil.distance.dtw:DTW",
    },
)

MEASURES = Registry(
    "measure",
    "tsveil.measure.base:Measure",
    {
        "interval-disclosure": "tsveil.measure.interval_disclosure:IntervalDisclosure",
        "series-loss": "tsveil.measure.series_loss:SeriesLoss",
        "attribute-loss": "tsveil.measure.attribute_loss:AttributeLoss",
        "label-loss": "tsveil.measure.label_loss:LabelLoss",
        "state-loss": "tsveil.measure.state_loss:StateLoss",
        "envelope-loss": "tsveil.measure.envelope_loss:EnvelopeLoss",
        "class-sizes": "tsveil.measure.class_sizes:ClassSizes",
        "envelope-queries": "tsveil.measure.envelope_queries:EnvelopeQueries",
    },
)

ATTACKS = Registry(
    "attack",
    "tsveil.attack.base:Attack",
    {
        "values": "tsveil.attack.series:Values",
        "shape": "tsveil.attack.series:Shapes",
        "distance": "tsveil.attack.distance:NearestRecord",
        "probabilistic": "tsveil.attack.probabilistic:Probabilistic",
        "conditional": "tsveil.attack.conditional:Conditional",
        "rank_swap": "tsveil.attack.rank_swap:RankLinkage",
        "alignment": "tsveil.attack.alignment:Alignment",
        "column_sides": "tsveil.attack.column_sides:ColumnSides",
        "projected": "tsveil.attack.projected:NearestProjection",
        "projection_sides": "tsveil.attack.projection_sides:ProjectionSides",
        "mahalanobis": "tsveil.attack.mahalanobis:Mahalanobis",
        "likelihood": "tsveil.attack.likelihood:Likelihood",
        "most_ranks": "tsveil.attack.rank_swap:MostRanks",
        "most_ranks_wide": "tsveil.attack.rank_swap:MostRanksWide",
        "one_answer": "tsveil.attack.one_answer:OneAnswer",
        "likely_moves": "tsveil.attack.likely_moves:LikelyMoves",
        "swap_chase": "tsveil.attack.swap_chase:SwapChase",
        "one-to-one": "tsveil.attack.assignment:Assignment",
        "profile": "tsveil.attack.profile:NearestProfile",
        "profile-learned": "tsveil.attack.profile_learned:LearnedProfile",
        "warping": "tsveil.attack.series:Warping",
        "common-points": "tsveil.attack.masked:NearestWithGaps",
        "gap-pattern": "tsveil.attack.masked:PatternOfGaps",
        "fuzzy": "tsveil.attack.fuzzy:Fuzzy",
        "mixed-distance": "tsveil.attack.mixed:NearestMixed",
        "mixed-one-to-one": "tsveil.attack.mixed_assignment:MixedAssignment",
        "fullest-keys": "tsveil.attack.fullest_keys:FullestKeys",
        "labels-probabilistic": "tsveil.attack.label_agreement:LabelProbabilistic",
        "labels-conditional": "tsveil.attack.label_agreement:LabelConditional",
        "releases": "tsveil.attack.releases:Releases",
    },
)


def starting() -> str:
    """The method to start with: the first of the table, which is known without loading it (`Method.starting` says which others are such choices).

    Examples
    --------
    >>> starting()
    'mdav'
    """
    return next(iter(METHODS.own))
