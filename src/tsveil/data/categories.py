"""Categories: columns whose values are labels instead of numbers, with an order or a tree above them if they have one.

A column of categories lies among the values of a `Dataset` as codes: the code of a label is its place among the labels of the column.
So a record stays one row of numbers, and whatever only looks for equal rows needs to know nothing of categories.

- *nominal*: labels without an order (tariff, type of dwelling); two labels are equal or not. A published value may be '*', which stands for all
  of them; its code is the number of labels.
- *ordinal*: labels in an order (education, size class); the order is declared, or that of the data type.
- *hierarchy*: labels below others (postcode, town, region), from a CSV file with a line per label: the label, its parent, the parent
  of that one, and so on up to the root. The labels of the inner nodes come after those of the leaves, so that a published value
  can be an inner node.

A categorical series (the states of a device) has the same labels at all times.

Where cells may be *empty*, an empty cell is a value of its own, with the code after all others: local suppression publishes such cells, and
`{"kind": "nominal", "empty": True}` reads them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.core.types import AnyArray, Array, Indices

Kind = Literal["nominal", "ordinal", "hierarchy"]
#: the node above all others where a hierarchy has several topmost ones, or none was given
EVERYTHING = "*"
_KINDS = ("nominal", "ordinal", "hierarchy")


class Categories(msgspec.Struct, frozen=True):
    """The labels of a column, in the order of their codes.

    Examples
    --------
    >>> sizes = Categories("ordinal", ("small", "medium", "large"))
    >>> sizes.codes(pl.Series(["large", None, "small"])).tolist()
    [2.0, nan, 0.0]
    >>> sizes.texts(np.array([1.0, np.nan])).to_list()
    ['medium', None]
    """

    kind: Kind
    labels: tuple[str, ...]
    #: hierarchy: the place of each label's parent among the labels; -1 at the root
    parents: tuple[int, ...] = ()
    #: the type of the column in the file, by its name in polars: labels go back as this where all published ones can
    type: str = "String"
    #: whether an empty cell is a value of its own
    empty: bool = False

    @property
    def leaves(self) -> int:
        """The number of labels that records may have; those of inner nodes come after them."""
        return _leaves(self)

    @property
    def every(self) -> str:
        """What is published where a nominal label stands for all: '*', or more stars where that is a label itself."""
        return next(text for stars in count(1) if (text := EVERYTHING * stars) not in self.labels)

    @property
    def shown(self) -> list[str]:
        """What may be published, in the order of the codes."""
        return [*self.labels, self.every] if self.kind == "nominal" else list(self.labels)

    @property
    def empty_code(self) -> int:
        """The code of an empty cell, where there may be any: the one after all that may be published."""
        return len(self.labels) + (self.kind == "nominal")

    @property
    def above_all(self) -> int:
        """The code of what stands above all labels: '*', or the root of a hierarchy; an order has nothing above it."""
        return self.parents.index(-1) if self.kind == "hierarchy" else len(self.labels)

    @property
    def height(self) -> int:
        """The number of steps from the deepest leaf to the root; 1 without a hierarchy."""
        return int(self.paths.shape[1]) - 1

    @property
    def paths(self) -> Indices:
        """For each label the nodes from the root down to it, filled up with itself below: two labels have in common what is equal.

        Labels without a hierarchy hang below one root, whose number is that of the labels.
        """
        return _paths(self)

    @property
    def fixed_type(self) -> bool:
        """Whether the type of the column in the file does not depend on its labels: numbers and truth values."""
        return self.type not in ("String", "Categorical", "Enum", "Null")

    def codes(self, labels: pl.Series) -> Array:
        """The codes of some labels, as texts; NaN for what is no label of these, and for what is missing unless cells may be empty."""
        places = pl.LazyFrame({"label": self.shown}, schema={"label": pl.String}).with_row_index("code")
        written = as_labels(labels)
        texts = pl.LazyFrame({"label": written})
        found = texts.join(places, on="label", how="left", maintain_order="left").select("code").collect()["code"]
        codes: Array = found.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        if self.empty:
            codes[written.is_null().to_numpy()] = self.empty_code
        return codes

    def texts(self, codes: AnyArray) -> pl.Series:
        """The labels of some codes; null where a code is missing, or that of an empty cell."""
        absent = np.isnan(codes) | (codes == self.empty_code) if self.empty else np.isnan(codes)
        texts = pl.Series(self.shown, dtype=pl.String).gather(np.where(absent, 0, codes).astype(np.int64))
        return texts.set(pl.Series(absent), None) if absent.any() else texts

    def column(self, name: str, codes: AnyArray) -> pl.Series:
        """The labels of some codes as the file had them: whole numbers and truth values as such, where all of these labels are.

        A type that lists its labels lists those of these codes only: the others may be labels of records that are not published.

        Examples
        --------
        >>> sizes = Categories("ordinal", ("S", "M", "L"), (), "Enum")
        >>> sizes.column("size", np.array([2.0, 0.0])).dtype
        Enum(categories=['S', 'L'])
        """
        texts = self.texts(codes).alias(name)
        kind = getattr(pl, self.type, pl.String)
        if kind == pl.Enum:
            used = np.unique(codes[texts.is_not_null().to_numpy()]).astype(int)
            return texts.cast(pl.Enum([self.shown[code] for code in used]))
        if kind == pl.Categorical:
            return texts
        if kind == pl.Boolean:
            return texts == "true" if texts.drop_nulls().is_in(["true", "false"]).all() else texts
        if kind().is_numeric():
            numbers = texts.cast(kind, strict=False)
            return numbers if numbers.null_count() == texts.null_count() else texts
        return texts


#: how a caller describes a column: "nominal", "ordinal", its order as a list, {"hierarchy": a file, or {label: its ancestors}}, any of them with
#: "empty": true in a mapping where cells may be empty; or `Categories`, also in plain values
CategorySpec = str | Sequence[str] | Mapping[str, Any] | Categories


@lru_cache(maxsize=256)
def _leaves(categories: Categories) -> int:
    inner = set(categories.parents)
    return next((at for at in range(len(categories.labels)) if at in inner), len(categories.labels))


@lru_cache(maxsize=256)
def _paths(categories: Categories) -> Indices:
    many = len(categories.labels)
    if not categories.parents:
        return np.column_stack([np.full(many, many), np.arange(many)])
    ways = []
    for label in range(many):
        way = [label]
        while categories.parents[way[-1]] >= 0:
            way.append(categories.parents[way[-1]])
        ways.append(way[::-1])
    depth = max(map(len, ways))
    found = np.array([[*way, *[way[-1]] * (depth - len(way))] for way in ways], dtype=np.int64)
    found.setflags(write=False)
    return found


def with_absolute_paths(categories: Mapping[str, CategorySpec], base: Path) -> dict[str, CategorySpec]:
    """The same descriptions with the files of hierarchies by their absolute paths; relative ones count from `base`."""
    return {
        name: {**spec, "hierarchy": str((base / spec["hierarchy"]).absolute())}
        if isinstance(spec, Mapping) and isinstance(spec.get("hierarchy"), str | Path)
        else spec
        for name, spec in categories.items()
    }


def as_labels(column: pl.Series) -> pl.Series:
    """A column of any type that has labels as texts: 1 as '1', true as 'true'; null where nothing is written."""
    if column.dtype == pl.Boolean:
        return pl.Series(column.name, ["true" if value else "false" if value is not None else None for value in column])
    texts = column.cast(pl.String)
    return texts.set(texts == "", None) if (texts == "").any() else texts


def categories_of(columns: Sequence[pl.Series], spec: CategorySpec, what: str, problems: Problems) -> Categories | None:
    """The categories of a column, or of the columns of one series, as a caller has described them; problems are noted.

    Labels without a declared order come in that of the data type, or sorted.

    Examples
    --------
    >>> problems = Problems("the frame cannot be used")
    >>> categories_of([pl.Series(["b", "a", "b"])], "nominal", "column 'x'", problems)
    Categories(kind='nominal', labels=('a', 'b'), parents=(), type='String', empty=False)
    >>> categories_of([pl.Series(["b", "", None])], {"kind": "nominal", "empty": True}, "column 'x'", problems).codes(pl.Series(["b", None]))
    array([0., 2.])
    """
    if isinstance(spec, Categories):
        return spec
    if isinstance(spec, Mapping) and "labels" in spec:
        return msgspec.convert(spec, Categories)
    options = _options(spec, what, problems)
    if options is None:
        return None
    if wrong := [column for column in columns if not may_be_labels(column.dtype)]:
        problems.add(f"{what} holds values of type {wrong[0].dtype}, and categories are texts, numbers or truth values")
        return None
    type = str(columns[0].dtype.base_type())
    every = pl.concat([as_labels(column).rename("label") for column in columns]).drop_nulls().unique()
    seen = sorted(every.to_list(), key=int) if _are_whole(every) else every.sort().to_list()
    ordered = _natural_order(columns[0].dtype, seen)
    if options["kind"] == "hierarchy":
        found = _tree(options["hierarchy"], what, problems)
        if found is None:
            return None
        found = msgspec.structs.replace(found, type=type, empty=options["empty"])
        return _check_known(found, seen, what, problems)
    order = [str(label) for label in options["order"]] if "order" in options else ordered
    if options["kind"] == "ordinal" and order is None:
        problems.add(f"{what} is ordinal, and its order is not known")
        problems.hint(f"options: its labels as a list, from the lowest to the highest: {some(seen, 20)}")
        return None
    if order is not None and len(set(order)) < len(order):
        problems.add(f"the order of {what} names a label twice: {some([x for x in order if order.count(x) > 1])}")
        return None
    if not (order or seen or options["empty"]):
        problems.add(f"{what} has no label at all")
        return None
    found = Categories(options["kind"], tuple(order or seen), (), type, options["empty"])
    return _check_known(found, seen, what, problems)


def may_be_labels(dtype: pl.DataType) -> bool:
    """Whether values of a type can be labels."""
    return dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null) or dtype.is_numeric()


def _are_whole(labels: pl.Series) -> bool:
    """Whether all labels are whole numbers from 0 on, written in the shortest way."""
    return bool(len(labels) and labels.str.contains(r"^(0|[1-9]\d*)$").all())


def _natural_order(dtype: pl.DataType, seen: Sequence[str]) -> list[str] | None:
    """The order of the labels of a type, or of whole numbers; None if there is none."""
    if isinstance(dtype, pl.Enum):
        return list(dtype.categories.to_list())
    if dtype.is_integer():
        return sorted(seen, key=int)
    whole = _are_whole(pl.Series(seen, dtype=pl.String))
    return list(seen) if dtype == pl.Boolean or whole else None


def _options(spec: Any, what: str, problems: Problems) -> dict[str, Any] | None:
    """A description in its full form."""
    options = {"kind": spec} if isinstance(spec, str) else dict(spec) if isinstance(spec, Mapping) else {}
    if isinstance(spec, (list, tuple)):
        options = {"order": spec}
    if "kind" not in options:
        options["kind"] = "hierarchy" if "hierarchy" in options else "ordinal" if "order" in options else None
    empty = options.setdefault("empty", False)
    strange = [key for key in options if key not in ("kind", "order", "hierarchy", "empty")]
    no_tree = (options["kind"] == "hierarchy") != ("hierarchy" in options)
    if options["kind"] not in _KINDS or strange or no_tree or not isinstance(empty, bool):
        problems.add(
            f"the categories of {what} must be 'nominal', 'ordinal', a list of labels in their order, or {{'hierarchy': a CSV file}}. Got {spec!r}."
        )
        return None
    return options


def _check_known(categories: Categories, seen: Iterable[str], what: str, problems: Problems) -> Categories | None:
    """Every label of the data must be one that was declared."""
    known = set(categories.labels[: categories.leaves])
    if unknown := [label for label in seen if label not in known]:
        where = "a leaf of its hierarchy" if categories.kind == "hierarchy" else "in its order"
        problems.add(f"{what} has labels that are not {where}: {some(unknown)}")
        problems.hint("options: add these labels there, or correct them in the data")
        return None
    return categories


def _tree(given: Any, what: str, problems: Problems) -> Categories | None:
    """The categories of a hierarchy: a CSV file, or each label with its ancestors from the parent to the root."""
    if isinstance(given, Mapping):
        lines = [[str(label), *(str(node) for node in above)] for label, above in given.items()]
    else:
        try:
            lines = _lines(Path(given))
        except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
            problems.add(f"the hierarchy of {what} cannot be read: {getattr(error, 'strerror', None) or error}")
            return None
    lines = [[cell for cell in line if cell] for line in lines]
    lines = [line for line in lines if line]
    leaves = list(dict.fromkeys(line[0] for line in lines))
    above: dict[str, str] = {}
    wrong: list[str] = []
    tops: dict[str, None] = {}
    for line in lines:
        for child, parent in pairwise(line):
            if above.setdefault(child, parent) != parent:
                wrong.append(f"{child!r} is below {above[child]!r} and below {parent!r}")
        tops[line[-1]] = None
    inner = list(dict.fromkeys(node for line in lines for node in line[1:]))
    if both := sorted(set(inner) & set(leaves)):
        wrong.append(f"{some(both)} is a label of its own and the parent of others")
    if not wrong:
        roots = [top for top in tops if top not in above]
        if len(roots) != 1 or roots[0] in leaves:
            inner = [node for node in inner if node != EVERYTHING] + [EVERYTHING]
            above |= {top: EVERYTHING for top in roots if top != EVERYTHING}
        if looped := [leaf for leaf in leaves if _has_loop(leaf, above)]:
            wrong.append(f"{some(looped)} is above itself")
    if not leaves:
        wrong.append("there is no line in it")
    if wrong:
        for text in list(dict.fromkeys(wrong))[:5]:
            problems.add(f"the hierarchy of {what} is no tree: {text}")
        return None
    labels = (*leaves, *inner)
    place = {label: at for at, label in enumerate(labels)}
    return Categories("hierarchy", labels, tuple(place[above[label]] if label in above else -1 for label in labels))


def _has_loop(node: str, above: Mapping[str, str]) -> bool:
    """Whether the way up from a node comes back to where it was."""
    seen = {node}
    while node in above:
        node = above[node]
        if node in seen:
            return True
        seen.add(node)
    return False


def _lines(path: Path) -> list[list[str]]:
    """The lines of a hierarchy file; separated by semicolons if the first line has more of them than commas."""
    text = path.read_text(encoding="utf-8-sig")
    first = text.split("\n", 1)[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    return [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), delimiter=separator)]


def read_hierarchy(path: str | Path) -> Categories:
    """The categories of a hierarchy in a CSV file: a line per label, with the label, its parent, the parent of that one, up to the root.

    Lines may have different lengths. Without a common root the topmost nodes hang below '*'.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "towns.csv"
    >>> _ = path.write_text("Lyon,France\\nNice,France\\nRome,Italy\\n")
    >>> found = read_hierarchy(path)
    >>> found.labels, found.parents, found.height
    (('Lyon', 'Nice', 'Rome', 'France', 'Italy', '*'), (3, 3, 4, 5, 5, -1), 2)
    """
    problems = Problems(f"{Path(path).name} cannot be used")
    found = _tree(path, Path(path).name, problems)
    problems.raise_if_any()
    if found is None:
        raise InputError(f"{Path(path).name} cannot be used")
    return found
