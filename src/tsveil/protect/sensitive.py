"""p-sensitive k-anonymity: groups of at least k records that hold at least p different values of each confidential column.

k-anonymity hides which record of a group is a person's, but if all members share a confidential value, that value is disclosed all the
same. Here a group takes its nearest records in order until it has k members and p values of each named column. Groups are
seeded as in MDAV (a pair while at least 3k records remain, one more while 2k remain); what is left at the end is the last group if it
has k members and p values, and otherwise each of its records joins the group with the nearest mean.

Guarantee: k-anonymity of each record (or block, with `grouping="per-block"`), with p different values of each named column in each group.

References
----------
.. [1] T. Truta, B. Vinay, Privacy protection: p-sensitive k-anonymity property, PDM 2006.
.. [2] J. Domingo-Ferrer, F. Sebe, A. Solanas, Microaggregation heuristics for p-sensitive k-anonymity, UNECE/Eurostat 2007.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
>>> data = tv.Dataset.from_arrays({"x": curves}, confidential={"ill": ["no", "no", "yes", "no", "no", "yes"]})
>>> release = tv.SensitiveMDAV(k=2, p=2).protect(data)
>>> release.groups["x"]
array([0, 0, 0, 1, 1, 1])
>>> release.verify().holds
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.params import at_least, optional, param, text
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.k_anonymity import Scope
from tsveil.guarantee.p_sensitive import PSensitive
from tsveil.protect.base import SIZES, Described, Part, whole_records
from tsveil.protect.microaggregation import Microaggregation
from tsveil.protect.mixed import Mixed, sensitive_groups
from tsveil.protect.survey import Survey


@dataclass(frozen=True, kw_only=True)
class SensitiveMDAV(Microaggregation):
    """Groups of at least k similar records with at least p values of each confidential column."""

    name: ClassVar[str] = "p-sensitive"
    plain: ClassVar[str] = "hide each record among similar ones that do not all share their secret"
    summary: ClassVar[str] = "like mdav, and every group holds at least p different values of each confidential column"
    reference: ClassVar[str] = "Truta and Vinay 2006; Domingo-Ferrer, Sebe and Solanas 2007"
    looks_at_carried: ClassVar[bool] = True

    p: int = param(2, at_least(2), "how many different values of each confidential column a group must hold")
    columns: str | None = param(
        None, optional(text()), "the confidential columns, separated by commas; all of them when left out"
    )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes, where something is carried."""
        return [{"k": list(SIZES), "p": [2]}] if data.confidential else []

    def guarantee(self, data: Described) -> PSensitive:
        """p-sensitive k-anonymity."""
        scope: Scope = "record" if whole_records(self.grouping, data) else "block"
        return PSensitive(self.k, self.p, self._columns(data), scope=scope, blocks=len(data.blocks))

    def check(self, survey: Survey) -> None:
        """The named columns must exist and have p values at all."""
        super().check(survey)
        for column in self._columns(survey):
            values = survey.different[column]
            if values < self.p:
                raise ParameterError(
                    f"The 'p' parameter of SensitiveMDAV must be at most the number of different values in {column!r} ({values}). Got {self.p}."
                )

    def mixed_part_size(self, n: int, columns: int) -> int | None:
        """All records are one part, for a part of them may lack values."""
        return None

    def group(self, space: Array, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """Groups that grow until they are various enough; all records are one part, for a part of them may lack values."""
        from tsveil._kernels import vmdav

        codes = self._carried_codes(part)
        return vmdav.sensitive_groups(space, self.k, self.p, codes, codes.max(axis=0) + 1, counter), {}

    def group_mixed(self, mixed: Mixed, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """The same by mixed distances."""
        codes = self._carried_codes(part)

        def various(rows: Indices) -> bool:
            return all(len(np.unique(column[rows])) >= self.p for column in codes.T)

        return sensitive_groups(mixed, self.k, various, counter), {}

    def _carried_codes(self, part: Part) -> Indices:
        """The values of the confidential columns, as numbers from 0."""
        columns = self._columns(part.survey)
        return np.ascontiguousarray(np.stack([codes_of(part.carried[name]) for name in columns], axis=1))

    def _columns(self, data: Described) -> tuple[str, ...]:
        if not data.confidential:
            raise InputError(
                "p-sensitive k-anonymity needs a confidential column, and these data carry none\n  options: name it, or use mdav"
            )
        if self.columns is None:
            return data.confidential
        named = tuple(name.strip() for name in self.columns.split(","))
        if unknown := [name for name in named if name not in data.confidential]:
            raise InputError(
                f"{', '.join(map(repr, unknown))} is not a confidential column\n  confidential columns: {', '.join(data.confidential)}"
            )
        return named


def codes_of(column: pl.Series) -> Indices:
    """A column's values as numbers from 0; a missing value is a value of its own."""
    return column.cast(pl.String).fill_null("\0").rank("dense").to_numpy().astype(np.int64) - 1
