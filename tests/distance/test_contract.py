"""The contract of every registered distance; a new distance gets these tests for free. The last ones add distances and use them everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import naive_series as naive
import tsveil as tv
from plugin.moving_average import MovingAverage
from tsveil.attack.choose import links_by_attack
from tsveil.cli import main
from tsveil.core.errors import ParameterError
from tsveil.core.registry import DISTANCES
from tsveil.core.types import Array, ArrayLike
from tsveil.distance.base import Distance
from tsveil.protect.microaggregation import Microaggregation

every = pytest.mark.parametrize("name", [*DISTANCES, MovingAverage.name])


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The distance of another package."""
    monkeypatch.setitem(DISTANCES.__dict__, "_others", ({MovingAverage.name: MovingAverage}, {}))


TWINS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "euclidean": lambda x, v: math.sqrt(sum((a - b) ** 2 for a, b in zip(x, v, strict=True))),
    "sts": lambda x, v: naive.sts(x, v, range(len(x))),
    "dtw": naive.dtw,
}


def curves(n: int = 12, points: int = 7, seed: int = 1) -> Array:
    """Random walks, of which two are equal."""
    rows = np.random.default_rng(seed).normal(size=(n, points)).cumsum(axis=1)
    rows[3] = rows[8]
    return rows


@every
def test_it_declares_itself(name: str) -> None:
    kind = DISTANCES[name]
    assert issubclass(kind, Distance)
    assert DISTANCES.faults(kind, name) == []
    assert kind.plain_name()
    assert all(p.doc and p.words and p.accepts(p.default) for p in kind.parameters())


@every
def test_it_refuses_bad_parameters(name: str) -> None:
    kind = DISTANCES[name]
    for p in kind.parameters():
        for wrong in (-1, True, "?", 0.5, object()):
            if not p.accepts(wrong):
                with pytest.raises(ParameterError) as error:
                    kind(**{p.name: wrong})
                message = f"The {p.name!r} parameter of {kind.label or kind.__name__} must be {p.words}. Got {wrong!r}."
                assert str(error.value) == message
    with pytest.raises(ParameterError, match="it has no parameter 'nonsense'"):
        DISTANCES.make(name, {"nonsense": 1})


@every
def test_it_is_a_distance(name: str) -> None:
    distance, rows = DISTANCES.make(name), curves()
    for x in rows:
        assert distance.between(x, x) == 0.0
        for v in rows:
            assert distance.between(x, v) == distance.between(v, x) >= 0.0


@pytest.mark.parametrize("name", list(TWINS))
def test_it_agrees_with_its_slow_twin(name: str) -> None:
    distance, rows = DISTANCES.make(name), curves()
    for x in rows:
        expected = [TWINS[name](x.tolist(), v.tolist()) for v in rows]
        assert [distance.between(x, v) for v in rows] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_all_distances_of_tsveil_have_a_twin() -> None:
    assert set(TWINS) == set(DISTANCES.own)


@every
def test_one_and_many_are_compared_as_two(name: str) -> None:
    distance, rows = DISTANCES.make(name), curves()
    for x in rows[:4]:
        assert distance.to_all(x, rows).tolist() == [distance.between(x, v) for v in rows]


@every
@pytest.mark.parametrize("times", [None, [0.0, 1.0, 3.0, 4.0, 4.5, 6.0, 9.0]])
def test_its_embedding_agrees_with_pairs(name: str, times: list[float] | None) -> None:
    distance, rows = DISTANCES.make(name), curves()
    space = distance.embedding(rows, times)
    assert (space is not None) == distance.embeds()
    if space is not None:
        found = [[np.linalg.norm(a - b) for b in space] for a in space]
        assert np.allclose(found, [[distance.between(x, v, times) for v in rows] for x in rows], rtol=1e-12)


@every
def test_series_are_linked_to_the_nearest(name: str) -> None:
    rng = np.random.default_rng(5)
    x = curves(10)
    y = x + rng.normal(0, 0.4, x.shape)
    original, released = (tv.Dataset.from_arrays({"load": rows}) for rows in (x, y))
    found = tv.attack.series(original, released, distance=name, normalise="none")
    distance = DISTANCES.make(name).at_length(x.shape[1])
    apart = np.array([distance.to_all(row, y) for row in x])
    assert found.link.tolist() == apart.argmin(axis=1).tolist()
    assert found.attack == f"{distance.words} linkage, 1 of 1 series known"


# -- distances of other packages --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Level(Distance):
    """The difference of the means: a distance with an embedding."""

    name: ClassVar[str] = "level"
    summary: ClassVar[str] = "of the means"
    reference: ClassVar[str] = "none"

    def embedding(self, rows: Array, times: ArrayLike | None = None) -> Array:
        return np.asarray(rows.mean(axis=1, keepdims=True))


@dataclass(frozen=True, kw_only=True)
class SlowWarping(Distance):
    """Time warping again, as one who knows no kernels would write it: a distance without an embedding."""

    name: ClassVar[str] = "slow-warping"
    summary: ClassVar[str] = "of the best alignment"
    reference: ClassVar[str] = "none"

    def between(self, x: ArrayLike, v: ArrayLike, times: ArrayLike | None = None) -> float:
        return naive.dtw(np.asarray(x).tolist(), np.asarray(v).tolist(), 1)


class Nothing(Distance):
    """A distance that defines neither."""

    name: ClassVar[str] = "nothing"
    summary: ClassVar[str] = "of nothing"
    reference: ClassVar[str] = "none"


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Level, SlowWarping):
        monkeypatch.setitem(DISTANCES.own, kind.name, f"{__name__}:{kind.__name__}")


@pytest.mark.usefixtures("more")
def test_a_new_distance_with_an_embedding_works_everywhere() -> None:
    x = curves(12)
    data = tv.Dataset.from_arrays({"load": x})
    order = x.mean(axis=1).argsort()
    for made in (tv.MDAV(k=3, distance="level"), tv.VMDAV(k=3, distance="level")):
        assert isinstance(made, Microaggregation)
        release = made.protect(data, seed=1)
        assert release.verify().holds
        # Groups by the mean are runs in the order of the means.
        published = release.data.values[order, 0]
        assert len(np.unique(published)) == 1 + np.count_nonzero(np.diff(published))
    shifted = tv.Dataset.from_arrays({"load": x[:, ::-1]})
    linked = tv.attack.series(data, shifted, distance="level", normalise="none")
    assert linked.correct == len(x) - 1  # two records are equal, and each is linked right with a chance of one half
    assert linked.attack.startswith("level linkage")


@pytest.mark.usefixtures("more")
def test_a_new_distance_without_one_links_series_and_is_refused_for_groups() -> None:
    x = curves(9)
    y = x + np.random.default_rng(2).normal(0, 0.5, x.shape)
    original, released = (
        tv.Dataset.from_arrays({"load": rows[:, :4], "gas": rows[:, 3:]}, times=range(4)) for rows in (x, y)
    )
    for options in ({}, {"blocking": 4}, {"one_to_one": True}):
        slow = tv.attack.series(original, released, distance="slow-warping", **options)
        fast = tv.attack.series(original, released, distance="dtw", radius=1, **options)
        assert slow.link.tolist() == fast.link.tolist()
        assert slow.hit.tolist() == fast.hit.tolist()
    with pytest.raises(
        ParameterError, match=r"'distance' parameter of MDAV must be one of 'euclidean', 'sts', 'level'"
    ):
        tv.MDAV(distance="slow-warping")
    with pytest.raises(ParameterError, match=r"The 'radius' parameter is for distance='dtw' only"):
        tv.attack.series(original, released, distance="slow-warping", radius=2)


@pytest.mark.usefixtures("more")
def test_the_attack_command_takes_a_new_distance() -> None:
    x = curves(9)
    original, released = (tv.Dataset.from_arrays({"load": rows}) for rows in (x, x[:, ::-1]))
    for name in ("level", "slow-warping"):
        found = links_by_attack(original, released, distance=name)
        assert list(found) == [name]
        assert found[name].link.tolist() == tv.attack.series(original, released, distance=name).link.tolist()
    around = links_by_attack(original, released, distance="level", blocking=3)
    assert around["level"].approximate
    with pytest.raises(ParameterError, match="the attack 'values' is not the one by the distance 'level'"):
        links_by_attack(original, released, distance="level", only="values")
    # The choices are read when the command is used, and not when it is made.
    shown = CliRunner().invoke(main, ["attack", "--help"]).output
    assert {"level", "slow-warping", MovingAverage.name} <= set(DISTANCES)
    assert f"[{'|'.join(DISTANCES)}]" in "".join(shown.split())


def test_a_distance_that_defines_nothing_is_refused() -> None:
    assert DISTANCES.faults(Nothing, "nothing") == ["it has to define embedding, or between if there is none"]
