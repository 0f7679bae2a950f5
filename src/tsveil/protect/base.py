"""What every protection method is: parameters, a promise, and a way to turn a data set into a release.

A method is a frozen dataclass derived from `Method` in a file of its own. Most methods treat the blocks one after the
other and only write `protect_block`; one that needs all blocks at once overrides `protect_blocks`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil._types import Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError, ParameterError
from tsveil.guarantee.base import Guarantee
from tsveil.params import Parameters, one_of, param
from tsveil.randomness import fresh_seed, generator
from tsveil.release import Release
from tsveil.technique import Technique

#: a carried column in which more than this share of the records stand alone gets a warning
RARE = 0.05
#: differences of larger values may be infinite
LARGEST = 1e300


@dataclass(frozen=True)
class Protected:
    """A block after protection."""

    values: Array
    #: the group of each record, (n,), or of each value when columns are grouped one by one, (n, columns); None without groups
    groups: Indices | None = None
    #: what the owner should know of this run
    warnings: tuple[str, ...] = ()
    #: figures of the run for the report: name -> value
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method(Parameters, ABC):
    """Base of all protection methods."""

    #: the key in the registry, plans and on the command line
    name: ClassVar[str]
    #: one line that says what it does
    summary: ClassVar[str]
    #: where it was published
    reference: ClassVar[str]
    #: what ISO/IEC 20889 calls it, the main technique first
    techniques: ClassVar[tuple[Technique, ...]]
    #: whether it protects time series, attributes or both
    takes: ClassVar[frozenset[str]] = frozenset({"series", "attributes"})

    rounding: Literal["none", "input"] = param(
        "none", one_of("none", "input"), "round published values to the decimals of the input's columns", last=True
    )

    @abstractmethod
    def guarantee(self, data: Dataset) -> Guarantee:
        """What a release of this data promises."""

    def check(self, data: Dataset) -> None:
        """Refuse data that the method cannot protect; called before any work."""

    def check_all(self, data: Dataset) -> None:
        """Refuse data that no method of this kind, or this method, can protect."""
        if data.missing and bool(np.isnan(data.values).any()):
            raise InputError(
                f"{self._label()} cannot protect missing values\n  options: read the data with missing='drop' or missing='interpolate'"
            )
        kinds = {"series" if block.is_series else "attributes" for block in data.blocks}
        if not kinds <= self.takes:
            raise InputError(
                f"{self._label()} protects {' and '.join(sorted(self.takes))}; this data set has {' and '.join(sorted(kinds))}"
            )
        if float(np.abs(data.values).max()) > LARGEST:
            raise InputError(
                f"{self._label()} cannot protect values beyond {LARGEST:g}: their differences may leave the range of numbers\n"
                "  options: rescale the data first"
            )
        self.check(data)

    def protect_block(self, values: Array, block: Block, rng: np.random.Generator) -> Protected:
        """Protect one block by itself; a method overrides this or `protect_blocks`."""
        raise InputError(f"{self._label()} does not protect blocks one by one")

    def protect_blocks(self, data: Dataset, rng: np.random.Generator) -> dict[str, Protected]:
        """Protect all blocks; by default one after the other."""
        return {block.name: self.protect_block(data.block(block.name), block, rng) for block in data.blocks}

    def protect(self, data: Dataset, *, seed: int | None = None) -> Release:
        """Protect a data set.

        The seed matters for methods that draw at random, and for the order and identifiers of a written release. Leave it out
        except in tests: it is then drawn from the operating system and kept on the private side.
        """
        self.check_all(data)
        seed = fresh_seed() if seed is None else seed
        parts = self.protect_blocks(data, generator(seed))
        values = np.hstack([parts[block.name].values for block in data.blocks])
        if self.rounding == "input":
            values = as_precise_as(values, data.values)
        # Adding zero turns -0.0 into 0.0: the two are equal numbers, but would be published as different texts.
        return Release(
            original=data,
            data=data.with_values(values + 0.0),
            method=self,
            guarantee=self.guarantee(data),
            groups={name: part.groups for name, part in parts.items() if part.groups is not None},
            seed=seed,
            warnings=tuple(dict.fromkeys([*(w for p in parts.values() for w in p.warnings), *linking_columns(data)])),
            facts={name: part.facts for name, part in parts.items() if part.facts},
        )


def as_precise_as(values: Array, original: Array) -> Array:
    """Each column rounded to the number of decimals that its original values have; a column with more than 12 is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> as_precise_as(np.array([[1.26, 3.5]]), np.array([[1.5, 4.0]]))
    array([[1.3, 4. ]])
    """
    rounded = values.copy()
    for column in range(values.shape[1]):
        decimals = decimals_of(original[:, column])
        if decimals is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                nearest = np.round(values[:, column], decimals)
            # A value too large to be shifted by its decimals has none.
            rounded[:, column] = np.where(np.isfinite(nearest), nearest, values[:, column])
    return rounded


def decimals_of(column: Array) -> int | None:
    """The number of decimals that the values of a column have; None for more than 12.

    Examples
    --------
    >>> import numpy as np
    >>> decimals_of(np.array([1.5, 2.25])), decimals_of(np.array([1 / 3]))
    (2, None)
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a value too large to be shifted by 12 digits has no decimals
        return next((d for d in range(13) if np.array_equal(np.round(column, d), column)), None)


def check_k(method: str, k: int, n: int) -> None:
    """A group needs k records, so there must be k."""
    if k > n:
        raise ParameterError(f"The 'k' parameter of {method} must be at most the number of records ({n}). Got {k}.")


def linking_columns(data: Dataset) -> list[str]:
    """A warning for each carried column whose values are so rare that they identify records by themselves."""
    alone = {name: int(data.others[name].is_unique().sum()) for name in data.confidential}
    return [linking_warning(name, count, data.n) for name, count in alone.items() if count > data.n * RARE]


def linking_warning(name: str, alone: int, n: int) -> str:
    """What is to be said of a carried column in which so many of n records have a value of their own."""
    return (
        f"the carried column {name!r} has a value of its own in {alone} of {n} records: whoever knows it can link by it"
    )
