"""What only a person knows about a release: why, for whom, and what is assumed of an intruder.

No program can find out who receives a file or who answers for it, and without that a risk cannot be judged. The plan has a
section for it; the private report shows every question, unanswered ones as "not stated". The public report shows the answers
that users of the data need, and no others: what a publisher assumes of intruders, whom they consulted and what limit they set
would help an intruder more than a user.

Examples
--------
>>> Context(purpose="research on demand").answers(public=True)
[('Purpose', 'research on demand')]
>>> Context().answers(public=False)[0]
('Purpose', '')
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Context(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """The section [context] of a plan; every field is a text that a person writes, or left empty."""

    purpose: str = ""
    legal_basis: str = ""
    controller: str = ""
    contact: str = ""
    people: str = ""
    recipients: str = ""
    access: str = ""
    other_releases: str = ""
    method_reason: str = ""
    intruders: str = ""
    knowledge: str = ""
    decided_by: str = ""
    review_date: str = ""
    #: its old place: it stands in [limits] now
    accepted_risk: float | None = None

    def __post_init__(self) -> None:
        # msgspec turns a ValueError into a message that names the place in the plan.
        if self.accepted_risk is not None and not 0 <= self.accepted_risk <= 100:
            raise ValueError(f"accepted_risk must be a number from 0 to 100. Got {self.accepted_risk:g}.")

    def answers(self, *, public: bool) -> list[tuple[str, str]]:
        """The questions about release and recipients with their answers; for the public only those that were answered."""
        asked = [name for name, question in QUESTIONS.items() if question.where == "release"]
        answers = [(QUESTIONS[name], str(getattr(self, name)).strip()) for name in asked]
        return [(question.label, text) for question, text in answers if not public or (question.public and text)]


class Question(NamedTuple):
    """A field as the plan and the report show it."""

    label: str
    #: what to write
    hint: str
    #: whether the public report shows the answer
    public: bool = False
    #: the section of the report that shows it
    where: str = "release"


#: field -> how it is asked, in the order of the report
QUESTIONS: dict[str, Question] = {
    "purpose": Question("Purpose", "what the data are released for", public=True),
    "legal_basis": Question("Legal basis", "what allows the processing and the release", public=True),
    "controller": Question("Controller", "who answers for the data", public=True),
    "contact": Question("Contact", "whom users and the people concerned can ask", public=True),
    "people": Question("People concerned", "whose data these are, all of them or a sample, and anyone who needs particular care"),
    "recipients": Question("Recipients", "who gets the data: anyone, or whom", public=True),
    "access": Question("Access and obligations", "how they get it and what they have to promise: open, under contract, in a secure room"),
    "other_releases": Question("Other releases", "earlier or parallel releases of the same or of overlapping data"),
    "decided_by": Question("Decided by", "who signs the release off"),
    "review_date": Question("To be reviewed", "when the risk is looked at again, for example 2027-11-01", public=True),
    "method_reason": Question("Why this method", "why this method and these parameters", where="technique"),
    "intruders": Question("By whom", "who might try to identify people, and what for", where="attacker"),
    "knowledge": Question("Other sources", "what else they could hold: registers, other files, observation", where="attacker"),
}  # fmt: skip


def starting_section() -> str:
    """The section of a starting plan: every field, empty, with what to write.

    Examples
    --------
    >>> print(starting_section().splitlines()[3])
    [context]
    """
    lines = [
        "# What only a person knows, for the report that a data protection officer reads. Fill in what you can: the private report",
        "# shows what is empty as not stated. Fields with (public) are shown to users of the data as well.",
        "# output.title is the name of the release.",
        "[context]",
    ]
    for name, question in QUESTIONS.items():
        lines.append(f"# {question.hint}{' (public)' * question.public}")
        lines.append(f'{name} = ""')
    return "\n".join(lines)
