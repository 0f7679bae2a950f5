"""The two files of an attack, brought to the same columns: what the intruder knows, and what was released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np

from tsveil.attack.links import whose
from tsveil.core.errors import InputError, ParameterError, Problems, some
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth, released_names
from tsveil.data.dataset import Dataset
from tsveil.transform.normalise import Scaling, ruler_of

#: from here on the steps of a column are those of its last decimal, plus the number of decimals; powers of two are far below
DECIMAL = 4096
#: the powers of ten for the numbers of decimals that are looked for, all exact, and how many values of a column are looked at before all others
TENS, SAMPLE = np.array([float(10**decimals) for decimals in range(16)]), 64
#: what is linked to what: each original record to a released one, or each released record to an original one, as some of the literature does
Direction = Literal["original", "released"]
#: the words for the second
FROM_RELEASE = " from the release"

#: how a tie among t released records counts: 1/t, or the lowest row is taken
Ties = Literal["expected", "first"]


class HasColumns(Protocol):
    """Data in columns, which blocks hold."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""

    @property
    def blocks(self) -> Sequence[Any]:
        """The blocks, which have names and columns."""


class HasData(Protocol):
    """A release: something that holds the protected data set."""

    @property
    def data(self) -> Dataset:
        """The protected data, row by row aligned with the original."""


def released_data(released: Dataset | HasData) -> Dataset:
    """The data set of a release, or the data set itself."""
    return released if isinstance(released, Dataset) else released.data


@dataclass(frozen=True, eq=False)
class Files:
    """The known columns of both files."""

    names: tuple[str, ...]
    #: original records by known columns
    a: Array
    #: released records by known columns
    b: Array
    #: the released row that was made of each original record; -1: not released
    own: Indices
    #: the released data
    released: Dataset
    #: whose each original record is, where persons may have several
    persons: Indices | None = None

    def describe(self, attack: str) -> str:
        """The attack and what was known, in words."""
        known = len(self.names)
        return f"{attack}, {known} attribute{'s' * (known != 1)} known"

    def reverse(self) -> Files:
        """The files in exchanged roles: whose original record each released one is."""
        own, persons = reversed_own(self.own, self.persons, len(self.b))
        return Files(self.names, self.b, self.a, own, self.released, persons)


def reversed_own(own: Indices, persons: Indices | None, released: int) -> tuple[Indices, Indices | None]:
    """The original row of each released one (-1: none), and whose it is, from the released row of each original one.

    Examples
    --------
    >>> reversed_own(np.array([2, -1, 0]), None, 3)
    (array([ 2, -1,  0]), None)
    """
    found = np.full(released, -1, dtype=np.int64)
    linked = np.flatnonzero(own >= 0)
    found[own[linked]] = linked
    return found, None if persons is None else whose(own, persons, released)[1]


def files(
    original: Dataset,
    released: Dataset | HasData,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    *,
    gaps: bool = False,
) -> Files:
    """The columns that the intruder knows (columns or whole blocks by name; all by default) in both files; with `gaps` values may be missing."""
    protected = released_data(released)
    names = known_columns(original, known)
    problems = Problems("the attack cannot run")
    if not names:
        problems.add("all columns hold labels, and this attack looks at numbers")
    theirs = {name: at for at, name in enumerate(protected.columns)}
    absent = [name for name in names if name not in theirs]
    if absent:
        problems.add(f"the release has no column {some(absent)}")
        problems.hint(f"columns of the release: {some(protected.columns, 20)}")
    problems.raise_if_any()
    ours = {name: at for at, name in enumerate(original.columns)}
    a = np.ascontiguousarray(original.values[:, [ours[name] for name in names]])
    b = np.ascontiguousarray(protected.values[:, [theirs[name] for name in names]])
    for table, side in ((a, "the original"), (b, "the release")):
        empty = [bool(np.isnan(column).any()) for column in table.T]
        if any(empty) and not gaps:
            problems.add(f"{side} has missing values in {some([n for n, g in zip(names, empty, strict=True) if g])}")
            problems.hint("options: read the data with missing='drop', or leave these columns out of known=...")
    problems.raise_if_any()
    return Files(names, a, b, own_rows(original, protected, truth), protected, persons_of(original))


def persons_of(original: Dataset) -> Indices | None:
    """Whose each record is, if that is declared."""
    return original.persons if original.person else None


def refuse_together(attack: str, *, one_to_one: bool, blocking: int | None, direction: Direction) -> None:
    """Refuse options of a linkage by distance that exclude each other."""
    problems = Problems(f"the {attack} attack cannot run", ParameterError)
    problems.found += wrong_choices(direction=(direction, Direction))
    if one_to_one and blocking is not None:
        problems.add(f"The {attack} attack takes either 'one_to_one' or 'blocking', not both.")
    if direction == "released" and (one_to_one or blocking is not None):
        problems.add(f"The {attack} attack takes direction='released' without 'one_to_one' and 'blocking'.")
    problems.raise_if_any()


def refuse_persons(persons: Indices | None, what: str) -> None:
    """Refuse what cannot count the records of a person."""
    if persons is not None:
        raise ParameterError(
            f"{what} looks for single records, and here several may belong to one person (person=)\n"
            "  options: leave it out, or the persons"
        )


def known_columns(data: HasColumns, known: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of numbers that are meant by names of columns and blocks, in the order given; all when left out."""
    labels = {column for block in data.blocks if block.categories is not None for column in block.columns}
    if known is None:
        return tuple(column for column in data.columns if column not in labels)
    if isinstance(known, str):
        raise ParameterError(f"The 'known' parameter of an attack must be a list of names. Got {known!r}.")
    columns = set(data.columns)
    blocks = {block.name: block.columns for block in data.blocks}
    problems = Problems("the attack cannot run", ParameterError)
    names: list[str] = []
    for name in known:
        if name in columns:
            names.append(name)
        elif name in blocks:
            names.extend(blocks[name])
        else:
            problems.add(f"there is no column or block {name!r}")
            problems.hint(f"columns available: {some(data.columns, 20)}")
    if own := [name for name in names if name in labels]:
        problems.add(f"column {some(own)} holds labels, and what is known can be chosen among numbers only")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problems.add(f"known more than once: {some(twice)}")
    if not names and not problems:
        problems.add("the intruder must know at least one attribute")
    problems.raise_if_any()
    return tuple(names)


def wrong_choices(attack: str = "", **given: tuple[object, Any]) -> list[str]:
    """What to say of parameters that are none of their choices."""
    of = attack and f" of the {attack} attack"
    return [
        f"The {name!r} parameter{of} must be one of {', '.join(map(repr, get_args(kind)))}. Got {value!r}."
        for name, (value, kind) in given.items()
        if value not in get_args(kind)
    ]


def checked_counts(counts: Sequence[int] | None, most: int) -> list[int]:
    """Increasing numbers of known attributes (or blocks); 1, 2, ..., all unless given."""
    if counts is None:
        return list(range(1, most + 1))
    wanted = sorted({int(count) for count in counts})
    if not wanted or wanted[0] < 1 or wanted[-1] > most:
        raise ParameterError(
            f"The 'counts' parameter of an attack must be numbers of known attributes from 1 to {most}. Got {list(counts)}."
        )
    return wanted


def own_rows(original: Dataset, released: Dataset, truth: Truth) -> Indices:
    """The released row of each original record; -1 where the truth names none that was released.

    Examples
    --------
    >>> import tsveil as tv
    >>> original = tv.Dataset.from_arrays({"x": [[1.0], [2.0]]}, ids=["a", "b"])
    >>> released = tv.Dataset.from_arrays({"x": [[2.5]]}, ids=["r2"])
    >>> own_rows(original, released, {"b": "r2"})
    array([-1,  0])
    """
    if truth is None:
        if original.n != released.n:
            raise InputError(
                f"the original has {original.n} records and the release {released.n}, so rows cannot be aligned by position\n"
                "  options: give the truth (truth=... or --truth FILE), which links original and released ids"
            )
        return np.arange(original.n, dtype=np.int64)
    names = released_names(original, truth)
    places = {str(name): row for row, name in enumerate(released.ids.to_list())}
    own = np.array([places.get(names.get(str(name), ""), -1) for name in original.ids.to_list()], dtype=np.int64)
    if (own < 0).all():
        raise InputError(
            "none of the original records has a released record in the truth\n"
            "  options: check that the truth belongs to these two files and that both have their id columns"
        )
    return own


# -- scales -----------------------------------------------------------------------------------------------------------


def on_one_scale(a: Array, b: Array, scaling: Scaling = "original") -> tuple[Array, Array, Array]:
    """Both files and a factor per column, so that (a - b) * factor is the standardised difference.

    With the original's mean and deviation for both files the mean cancels, and differences are taken between raw values: 5
    is then exactly as far from 4 as from 6, and no tie depends on rounding. The factor is 0 where the original is constant.
    With `scaling="own"` each file is standardised by itself first. Sums run over sorted values, so the order of the
    records changes nothing. Columns of decimals are measured in steps of their last decimal, and others multiplied by a power of two, so huge
    and tiny values do no harm (`in_steps`).

    Examples
    --------
    >>> import numpy as np
    >>> on_one_scale(np.array([[4.0], [5.0], [6.0]]), np.array([[4.0], [4.0], [6.0]]))[2]
    array([1.])
    """
    if scaling not in get_args(Scaling):
        raise ParameterError(f"The 'scaling' parameter of an attack must be 'original' or 'own'. Got {scaling!r}.")
    if scaling == "own":
        return standardise(a, a), standardise(b, b), np.ones(a.shape[1])
    power, factor = scale_of(a, b)
    return in_steps(a, power), in_steps(b, power), factor


def scale_of(a: Array, b: Array) -> tuple[Indices, Array]:
    """For each column the steps in which both files are measured (see `in_steps`), and then one over the original's deviation (0: constant)."""
    decimals = decimals_of(a, b)
    widest = np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
    power = np.where(widest > 0, -np.frexp(widest)[1], 0)
    power = np.where(decimals >= 0, DECIMAL + decimals, power)
    steps = in_steps(a, power)
    _, deviation = mean_and_deviation(steps)
    for at in np.flatnonzero(decimals >= 0).tolist():
        deviation[at] = _exact_deviation(steps[:, at], float(deviation[at]))
    factor = np.zeros(a.shape[1])
    np.divide(1.0, deviation, out=factor, where=deviation > 0)
    return power, factor


def in_steps(values: Array, power: Indices | int) -> Array:
    """Values of columns as whole numbers of their last decimal, where `power` says how many decimals they have (from `DECIMAL` on); others times two to this power.

    Decimals are rarely numbers of a computer: 0.3 is nearer to 0.2 than to 0.4 there. Whole numbers are, and so are their differences: 3 is as far from 2 as from 4.

    Examples
    --------
    >>> import numpy as np
    >>> in_steps(np.array([[0.3, 0.5]]), np.array([DECIMAL + 1, -1]))
    array([[3.  , 0.25]])
    """
    power = np.asarray(power)
    decimal = power >= DECIMAL
    if not decimal.any():
        return np.asarray(np.ldexp(values, power))
    whole = np.rint(values * TENS[np.where(decimal, power - DECIMAL, 0)])
    return np.where(decimal, whole, np.ldexp(values, np.where(decimal, 0, power)))


def decimals_of(*tables: Array) -> Indices:
    """For each column the least number of decimals with which all its values are written in full; -1 where these are too many for whole numbers of 53 bits.

    A number that was read from d decimals is the one nearest to k / 10^d, which is what the division gives, because both are exact.

    Examples
    --------
    >>> import numpy as np
    >>> decimals_of(np.array([[0.25, 3.0, 1 / 3]]), np.array([[0.5, 4.0, 0.0]]))
    array([ 2,  0, -1])
    """
    found = np.full(tables[0].shape[1], -1, dtype=np.int64)
    for at in range(len(found)):
        columns = [table[:, at] for table in tables]
        few = np.concatenate([column[:SAMPLE] for column in columns])
        for decimals in range(len(TENS)):
            if _has_decimals(few, decimals) and all(_has_decimals(column, decimals) for column in columns):
                found[at] = decimals
                break
    return found


def _has_decimals(values: Array, decimals: int) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values * TENS[decimals])
        return bool(((np.abs(whole) < 2.0**53) & (whole / TENS[decimals] == values)).all())


def _exact_deviation(whole: Array, rounded: float) -> float:
    """The deviation of whole numbers from their exact sums, if these are no more than 63 bits: equal spreads are then equal to the bit."""
    n, low = len(whole), whole.min()
    wide = float(whole.max() - low)
    if n < 2 or n * wide * wide >= 2.0**62:
        return rounded
    steps = (whole - low).astype(np.int64)
    total, squares = int(steps.sum()), int((steps * steps).sum())
    return math.sqrt((n * squares - total * total) / (n * (n - 1)))


def relative(factor: Array) -> Array:
    """The factors of columns divided by the first that is not zero.

    Who is nearest depends on ratios alone, and attributes of equal spread then have the factor 1: a tie between their
    differences is a tie, and not a matter of rounding.

    Examples
    --------
    >>> import numpy as np
    >>> relative(np.array([0.0, 0.3, 0.3, 0.6]))
    array([0., 1., 1., 2.])
    """
    positive = factor[factor > 0]
    return factor / positive[0] if len(positive) else factor


def standardise(x: Array, by: Array) -> Array:
    """The columns of x with the mean and the deviation of another table; zeros where that is constant."""
    mean, deviation = mean_and_deviation(by)
    out: Array = np.zeros_like(x)
    np.divide(x - mean, deviation, out=out, where=deviation > 0)
    return out


def mean_and_deviation(x: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (ddof 1) of each column; neither the order of the records nor the other columns change a bit."""
    ruler = ruler_of(x, "component")
    return np.ravel(ruler.low + ruler.width * ruler.mean), np.ravel(ruler.width * ruler.deviation)
