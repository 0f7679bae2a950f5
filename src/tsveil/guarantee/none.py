"""No promise: for methods that make records harder to link and guarantee nothing. What is left of the risk is known by attack only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tsveil.core.params import param, text
from tsveil.guarantee.base import Promise, Status, Verdict, Verification
from tsveil.guarantee.chunks import Chunks


@dataclass(frozen=True)
class NoGuarantee(Promise):
    """Nothing is promised, for a reason that is given.

    Examples
    --------
    >>> NoGuarantee("Only extreme values are hidden.").words
    'No guarantee. Only extreme values are hidden.'
    """

    name: ClassVar[str] = "none"
    plain: ClassVar[str] = "no guarantee"
    summary: ClassVar[str] = "nothing is promised: the risk is known by attack only"
    reference: ClassVar[str] = "none"
    claims: ClassVar[bool] = False

    reason: str = param(
        "This method makes records harder to link, but promises nothing.", text(), "why nothing is promised"
    )

    @property
    def words(self) -> str:
        """The absence of a promise, in words."""
        return f"No guarantee. {self.reason}"

    @property
    def short(self) -> str:
        """For tables."""
        return "none"

    def verify(self, published: object) -> Verdict:
        """Nothing was claimed, so there is nothing to check."""
        return Verdict(Status.NONE_CLAIMED, self.words)

    def verify_chunks(self, chunks: Chunks) -> Verification:
        """Nothing is read either."""
        return Verification(self.verify(None))
