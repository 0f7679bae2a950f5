"""What everything in the registry declares about itself: methods, promises, attacks, measures and distances, all in the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tsveil.core.params import Parameters


@dataclass(frozen=True, kw_only=True)
class Declaration(Parameters):
    """A frozen dataclass whose fields are parameters, with a name, a summary and a reference.

    The command line, plans, reports, studies, the web app, the docs and the contract tests read these and nothing else.
    """

    #: the key in the registry, in plans and on the command line
    name: ClassVar[str]
    #: what it does, in one line
    summary: ClassVar[str]
    #: where it was published
    reference: ClassVar[str]
    #: what it is called where nobody knows the technical name; the name unless set
    plain: ClassVar[str] = ""

    @classmethod
    def plain_name(cls) -> str:
        """What it is called in plain words."""
        return cls.plain or cls.name

    @classmethod
    def description(cls) -> dict[str, Any]:
        """What listings print as JSON."""
        accepted = {p.name: {"default": p.default, "accepts": p.words, "meaning": p.doc} for p in cls.parameters()}
        return {"name": cls.name, "summary": cls.summary, "reference": cls.reference, "parameters": accepted}

    @classmethod
    def origin(cls) -> str:
        """Where it comes from, in one line of a listing."""
        return cls.reference

    @classmethod
    def faults(cls) -> list[str]:
        """What is wrong with the declaration of a class, beyond what every kind needs; for those of other packages."""
        return []
