"""The report is finished here: what only a person knows of a release, the section [context] of its plan, as a form.

The answers stand in the plan, so the release is made once more with them; its seed is the same, and so are the published data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tsveil.core.errors import InputError, TsveilError
from tsveil.report.context import QUESTIONS
from tsveil.web import forms
from tsveil.web.answers import see_other
from tsveil.web.studies import Study

if TYPE_CHECKING:
    from tsveil.web.pages import App

#: characters of an answer, and of the title
LONGEST, TITLE = 4000, 200


@dataclass
class ContextPages:
    """The form about the context of a release."""

    app: App

    def routes(self, at: str) -> list[Route]:
        """The form, and what takes it."""
        return [
            Route(f"{at}/context", self.show, methods=["GET"]),
            Route(f"{at}/context", self.app.form_handler(self.keep), methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """The questions with the answers so far."""
        study = self.app._study(request)
        return self._page(request, study, {**study.context, "title": study.title})

    def _page(
        self, request: Request, study: Study, answers: dict[str, str], error: TsveilError | None = None
    ) -> Response:
        shown: dict[str, Any] = {"questions": QUESTIONS, "answers": answers, "error": error, "longest": LONGEST}
        step = "download" if self.app._outcome(study) is not None else "compare"
        return self.app._step(request, "context.html.j2", study, step, status=400 if error else 200, **shown)

    async def keep(self, request: Request, form: forms.Form) -> Response:
        """Keep the answers; a release that was made is made again with them."""
        app = self.app
        study = app._study(request)
        typed = {name: _text(form, name) for name in (*QUESTIONS, "title")}
        outcome = app._outcome(study)
        answers = {name: text for name, text in typed.items() if text and name != "title"}
        changed = (answers, typed["title"]) != (study.context, study.title)
        try:
            _check_lengths(typed)
            if changed and outcome is not None:
                app._data(study)
        except TsveilError as error:
            return self._page(request, study, typed, error)
        if changed:
            if outcome is not None:
                app._forget(study, "releases")
            study.context, study.title = answers, typed["title"]
            app.studies.save(study)
            if study.after and outcome is not None:
                app.over_time.start(study)
            elif outcome is not None:
                app._add("release", study, key=study.picked, allow=outcome["allowed"])
        return see_other(f"/s/{study.id}/{'download' if outcome is None or not changed else 'compare?picked'}")


def _text(form: forms.Form, name: str) -> str:
    """An answer as a plan has it: browsers end lines in another way."""
    return forms.first(form, name).replace("\r\n", "\n")


def _check_lengths(typed: dict[str, str]) -> None:
    """Refuse what is longer than a report can show."""
    most = {name: TITLE if name == "title" else LONGEST for name in typed}
    label = {"title": "Title", **{name: question.label for name, question in QUESTIONS.items()}}
    too_long = [
        f"{label[name]}: {len(text):,} characters, at most {most[name]:,}"
        for name, text in typed.items()
        if len(text) > most[name]
    ]
    if too_long:
        raise InputError(
            "\n".join(["some answers are too long; put the text into a document and name it here", *too_long])
        )
