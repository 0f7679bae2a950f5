"""Which attacks are run: those that fit a release, for its score card, and those that the attack command tries on two files.

Examples
--------
>>> import tsveil as tv
>>> from tsveil.data.dataset import Block
>>> release = Shape(200, [Block("person", ("age", "pay"))])
>>> [attack.describe() for attack in fitting(release, tv.RankSwap(p=5))]
['linkage by distance', 'linkage by probability, within 10 ranks', 'linkage by conditional probability, within 10 ranks', 'linkage by ranks, within 10', 'linkage by likely moves', 'linkage by swap chase, within 10', 'linkage one to one']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tsveil.attack.base import Attack, DoesNotFitError, LeavesTraces, Shape
from tsveil.attack.files import Direction, HasData, known_columns, released_data
from tsveil.attack.links import Links
from tsveil.attack.pieces import measurable
from tsveil.core.errors import ParameterError
from tsveil.core.registry import ATTACKS, DISTANCES
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset


def fitting(release: Shape, method: LeavesTraces | None = None) -> list[Attack]:
    """The attacks to run on a release of this method; all of them when it is None or declares nothing."""
    return [attack for attack in _that_fit(release, method) if attack.takes_gaps or not release.gaps]


def not_tried(release: Shape, method: LeavesTraces | None = None) -> list[str]:
    """The attacks that would be run on this release if its records had no gaps, in plain words.

    Examples
    --------
    >>> from tsveil.data.dataset import Block
    >>> not_tried(Shape(200, [Block("person", ("age", "pay"))], gaps=True))[0]
    'linkage by distance (it does not know gaps)'
    """
    if not release.gaps:
        return []
    return [f"{one.plain} (it does not know gaps)" for one in _that_fit(release, method) if not one.takes_gaps]


def _that_fit(release: Shape, method: LeavesTraces | None) -> list[Attack]:
    traces = None if method is None else method.traces(release)
    found = (attack.fit(release, traces) for attack in ATTACKS.values())
    return [attack for attack in found if attack is not None]


def links_by_attack(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    only: str | None = None,
    distance: str | None = None,
    one_to_one: bool = False,
    blocking: int | None = None,
    direction: Direction = "original",
    other: Dataset | None = None,
) -> dict[str, Links]:
    """Attack by name -> its links, each with everything that the intruder knows; `only` names one of them, or `distance` does for series.

    `one_to_one`, `blocking` and `direction` are options of the linkages by distance, and only these run then. `other` is a file of another period, which is all that the intruder knows then.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> links_by_attack(data, tv.MDAV(k=2).protect(data))
    {'values': Links: ..., 'shape': Links: ..., 'mahalanobis': Links: ..., 'one-to-one': Links: ...}
    """
    options: dict[str, Any] = {"one_to_one": True} if one_to_one else {}
    options |= {} if blocking is None else {"blocking": blocking}
    options |= {} if direction == "original" else {"direction": direction}
    options |= {} if other is None else {"other": other}
    attacks: dict[str, type[Attack]] = {name: attack for name, attack in ATTACKS.items() if attack.takes(original)}
    if distance is not None:
        only = _by_distance(attacks, distance, only)
    if only is not None and only not in attacks:
        raise ParameterError(f"there is no attack {only!r} for these data\n  attacks available: {', '.join(attacks)}")
    able = [name for name, attack in attacks.items() if set(options) <= set(attack.options)]
    if only is not None and only not in able:
        raise ParameterError(
            f"the attack {only!r} does not know {' and '.join(options)}; of these attacks {', '.join(able)} does"
        )
    beyond = left_out(original, known)
    shape = Shape(original.n, measurable(original.blocks), bool(original.person), original.masked)
    if original.masked:
        attacks = {name: attack for name, attack in attacks.items() if attack.takes_gaps}
        if only is not None and only not in attacks:
            raise ParameterError(
                f"the attack {only!r} does not know gaps (missing='mask')\n  attacks that do: {', '.join(attacks)}"
            )
        able = [name for name in able if name in attacks]
    of_persons = [name for name, attack in attacks.items() if shape.persons and attack.fit(shape, None) is not None]
    wanted = (
        [only]
        if only
        else [
            name
            for name in able
            if name not in beyond
            and (attacks[name].usual or name in of_persons or shape.gaps)
            and (known is None or not attacks[name].of_labels)
        ]
    )
    if not wanted:
        asked = ["a file of another period" if name == "other" else f"{name!r}" for name in options]
        advice = "leave it out" if len(asked) == 1 else "leave one of them out"
        raise ParameterError(f"no attack on these data takes {' and '.join(asked)}: {advice}")
    protected = released_data(released)
    given: dict[str, Any] = {"known": known, "truth": truth, **options}
    if distance is not None and attacks[wanted[0]].distance != distance:
        return {distance: attacks[wanted[0]]().links(original, protected, distance=distance, **given)}
    found: dict[str, Links] = {}
    for name in wanted:
        try:
            found[name] = attacks[name]().links(original, protected, **given)
        except DoesNotFitError:
            # With none of the usual attacks there would be no answer: the last of them says why.
            if only is not None or (name == wanted[-1] and not found):
                raise
    return found


def left_out(original: Dataset, known: Sequence[str] | None = None) -> dict[str, int]:
    """The usual attacks that take fewer attributes than are known, and how many they take."""
    numbers = len(known_columns(original, known)) if known is None else len(known)
    both = sum(len(block) for block in original.blocks if block.times is None)
    counts = {name: both if attack.of_labels else numbers for name, attack in ATTACKS.items()}
    return {
        name: attack.most
        for name, attack in ATTACKS.items()
        if attack.usual and attack.takes(original) and counts[name] > (attack.most or counts[name])
    }


def _by_distance(attacks: dict[str, type[Attack]], distance: str, only: str | None) -> str:
    """The attack that compares series by a distance; the first that takes any, for a distance without an attack of its own."""
    names = {attack.distance: name for name, attack in attacks.items() if attack.distance}
    if not names:
        raise ParameterError(f"The 'distance' option of an attack is for time series. Got {distance!r}.")
    if distance not in DISTANCES:
        raise ParameterError(f"there is no distance {distance!r}\n  distances available: {', '.join(DISTANCES)}")
    if only not in (None, names.get(distance)):
        raise ParameterError(
            f"the attack {only!r} is not the one by the distance {distance!r}: say one of the two only"
        )
    return names.get(distance) or next(iter(names.values()))
