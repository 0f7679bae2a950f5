"""A guarantee says in words what a release promises and checks it on published values; a verdict is what the check found.

A verifier sees nothing but the published table: no group labels, no original. It shares no code with the methods whose
releases it judges, so a mistake in a method cannot hide in its verifier.

`verify` takes a table in memory, `verify_chunks` a table in chunks; for the same rows both say the same. A guarantee that only has `verify` is checked
on the whole table in either case. One that counts chunk by chunk is a `Counted` guarantee (`tsveil.guarantee.verify`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tsveil.data.dataset import Dataset
from tsveil.guarantee import chunks as published_chunks
from tsveil.guarantee.chunks import Chunk, Chunks, opened_chunk


class Status(StrEnum):
    """The four possible outcomes of a verification."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    NONE_CLAIMED = "none-claimed"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a verification.

    Examples
    --------
    >>> verdict = Verdict(Status.VIOLATED, "3-anonymity", "block 'load': rows 4, 9 share their values with 1 other record")
    >>> verdict.holds
    False
    >>> print(verdict)
    VIOLATED: 3-anonymity
      block 'load': rows 4, 9 share their values with 1 other record
    """

    status: Status
    #: the promise, in words
    guarantee: str
    #: why it fails or could not be decided: the records, the knowledge, the leak
    witness: str = ""
    #: what was found on the way, such as the smallest group
    details: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the promise was checked and is kept."""
        return self.status is Status.HOLDS

    @property
    def blocks_release(self) -> bool:
        """Whether a release with this verdict must not be written without being asked."""
        return self.status in (Status.VIOLATED, Status.UNKNOWN)

    def __str__(self) -> str:
        lines = [f"{self.status.upper()}: {self.guarantee}"]
        lines += [f"  {self.witness}"] if self.witness else []
        return "\n".join(lines + [f"  {detail}" for detail in self.details])


@dataclass(frozen=True)
class Verified:
    """A verdict, and what else was found on the way."""

    verdict: Verdict
    #: envelopes: carried column -> (classes with one value only, the records in them)
    homogeneous: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: what the records of a class have in common, in words
    shared: str = ""


class Guarantee(ABC):
    """What a method promises of its releases."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The promise in one or two sentences that a lawyer can read."""

    @property
    def short(self) -> str:
        """The promise in a few words, for tables."""
        return self.words

    @property
    def limits(self) -> str:
        """What the promise does not cover, in a sentence or two."""
        return ""

    @abstractmethod
    def verify(self, published: Dataset) -> Verdict:
        """Check the promise on published values."""

    def verify_chunks(self, chunks: Chunks) -> Verified:
        """Check the promise on a table in chunks; here they are brought together, if they are not too many for that."""
        found: list[Chunk] = []
        cells = 0
        for place in chunks.places:
            found.append(opened_chunk(place))
            cells += found[-1].n * (len(chunks.schema.numbers) + len(chunks.schema.carried))
            if cells > published_chunks.TOGETHER:
                return Verified(
                    Verdict(
                        Status.UNKNOWN,
                        self.words,
                        "this promise can only be checked on the whole table at once, and the table has more than "
                        f"{published_chunks.TOGETHER} cells",
                    )
                )
        if problem := chunks.problem([one.n for one in found], [one.lost for one in found]):
            return Verified(Verdict(Status.VIOLATED, self.words, problem))
        return Verified(self.verify(chunks.whole(found)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class NoGuarantee(Guarantee):
    """For methods that perturb without a promise: the risk is known by attack only."""

    reason: str = "This method makes records harder to link, but promises nothing."

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

    def verify_chunks(self, chunks: Chunks) -> Verified:
        """Nothing is read either."""
        return Verified(self.verify(None))
