"""What a steward accepts and whom the release must withstand: the sections [limits] and [intruder] of a plan.

[intruder]
knows = "file"                 # what he knows: part, person, share or file
knows_carried = ["postcode"]   # carried columns that he knows as well
other_period = "may.csv"       # a file with values of the same persons at times that are not published

[limits]
accepted_risk = "1/5"          # the largest rate of the strongest attack: a fraction, or a number in percent
exposed = 0                    # persons who may be found with a larger chance
unique_records = 0             # records that may be unique over all protected columns
attribute_disclosure = 0       # persons whose carried value their class may disclose
subtraction = 10               # percent of the persons whose values who knows the other half may compute from published means
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Literal

import msgspec

from tsveil.core.errors import ParameterError

#: what an intruder knows, from the weakest to the strongest
Knows = Literal["part", "person", "share", "file"]
RUNGS: tuple[Knows, ...] = ("part", "person", "share", "file")
#: what any of them may know beside it
ADDED = ("other-period", "releases")
#: the same in words
IN_WORDS: dict[str, str] = {
    "part": "some values of a person",
    "person": "all protected values of a person",
    "share": "all values of half of the persons",
    "file": "the original values of everybody",
}


class Limits(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """The limits that a steward sets; what is left out is reported without a limit.

    Examples
    --------
    >>> Limits(accepted_risk="1/5").share, Limits(accepted_risk=12.5).share, Limits().share
    (Fraction(1, 5), Fraction(1, 8), None)
    """

    #: the largest share of persons that the strongest attack may find: in percent, or a fraction such as "1/5", which nobody may be above
    accepted_risk: float | str | None = None
    #: how many persons may be found with a larger chance than that
    exposed: int | None = None
    #: how many records may be unique over all their protected columns
    unique_records: int | None = None
    #: how many persons may be in classes that disclose a carried value
    attribute_disclosure: int | None = None
    #: the percent of persons whose values may be computed from published means by who knows the other half
    subtraction: float | None = None

    def __post_init__(self) -> None:
        # msgspec turns a ValueError into a message that names the place in the plan.
        share = self.share
        if share is not None and not 0 <= share <= 1:
            raise ValueError(
                f'accepted_risk must be a number from 0 to 100 (percent) or a fraction such as "1/5". Got {self.accepted_risk!r}.'
            )
        if self.subtraction is not None and not 0 <= self.subtraction <= 100:
            raise ValueError(f"subtraction must be a number from 0 to 100 (percent). Got {self.subtraction}.")
        for name in ("exposed", "unique_records", "attribute_disclosure"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} must be a number of at least 0. Got {value}.")

    @property
    def share(self) -> Fraction | None:
        """The accepted risk as an exact share, so that a rate that is counted can be compared without rounding."""
        if self.accepted_risk is None:
            return None
        try:
            if isinstance(self.accepted_risk, str):
                return Fraction(self.accepted_risk)
            return Fraction(str(self.accepted_risk)) / 100
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(
                f'accepted_risk must be a number in percent or a fraction such as "1/5". Got {self.accepted_risk!r}.'
            ) from error

    @property
    def stands_for_a_promise(self) -> bool:
        """Whether the limit is a fraction, as a promise has it: then nobody may be above it unless the plan says otherwise."""
        return isinstance(self.accepted_risk, str)

    @property
    def most_exposed(self) -> int | None:
        """How many persons may be found with a larger chance; None: they are only counted."""
        if self.exposed is not None:
            return self.exposed
        return 0 if self.stands_for_a_promise else None


class Intruder(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """Whom the release must withstand; he always knows the method and its parameters."""

    #: some values of one person, all protected values of one, all values of half of the persons, or the originals of everybody
    knows: Knows = "file"
    #: the carried columns that he knows as well
    knows_carried: list[str] = []
    #: the path of a file of another period, which is read with the options of the input; empty: a part of the published period stands in for one
    other_period: str = ""

    def reaches(self, rung: str) -> bool:
        """Whether he knows at least what an attack on a rung needs.

        Examples
        --------
        >>> Intruder(knows="person").reaches("part"), Intruder(knows="person").reaches("file")
        (True, False)
        """
        return rung in ADDED or (rung in RUNGS and RUNGS.index(rung) <= RUNGS.index(self.knows))

    def check(self, carried: Collection[str]) -> None:
        """Refuse an intruder who knows columns that are not carried."""
        if strange := [name for name in self.knows_carried if name not in carried]:
            raise ParameterError(
                f"[intruder] knows_carried names {strange[0]!r}, which is no carried column\n  carried columns: {', '.join(carried) or 'none'}"
            )
