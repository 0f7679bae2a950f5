"""Releases over time: the history of a release, and the next one that continues it.

A release that can be continued is one that was made here, or the one that was named when the server was started: no path comes from a request. The next one
has the roles, the method and the limits of the last; what is left to decide is whether identifiers stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tsveil.core.errors import TsveilError
from tsveil.core.registry import METHODS
from tsveil.plan.chain import History, history
from tsveil.plan.stored import plan_of_release
from tsveil.report.earlier import COLUMNS, lines
from tsveil.web import forms, uploads
from tsveil.web.answers import see_other
from tsveil.web.continued import CONTINUED
from tsveil.web.studies import Study

if TYPE_CHECKING:
    from tsveil.web.pages import App


@dataclass
class OverTimePages:
    """The pages about releases that continue each other."""

    app: App

    def routes(self, at: str) -> list[Route]:
        """The history, and the next release."""
        return [
            Route(f"{at}/history", self.history, methods=["GET"]),
            Route(f"{at}/continue", self.upload_next, methods=["POST"]),
            Route(f"{at}/next", self.app.form_handler(self.make_next), methods=["POST"]),
        ]

    # -- what there is --------------------------------------------------------------------------------------------------

    async def history(self, request: Request) -> Response:
        """The releases that the one of a study continues, and the form for the file of the next one."""
        app = self.app
        study = app._study(request)
        if app._outcome(study) is None:
            raise HTTPException(404)
        folder = app._outcome_path(study, study.picked).parent / "release"
        found, problem = await run_in_threadpool(_history_of, folder)
        shown: dict[str, Any] = {
            "columns": COLUMNS,
            "found": found,
            "problem": problem,
            "rows": [],
            "largest": app.largest,
            "endings": uploads.ENDINGS,
        }
        if found is not None:
            shown["rows"] = [
                (self._name(folder / one.path, row[0]), *row[1:])
                for one, row in zip(found.releases, lines(found.releases), strict=True)
            ]
        return app._step(request, "history.html.j2", study, "download", **shown)

    def _name(self, folder: Path, name: str) -> str:
        """What a release is called: the title or the file of its study, if it was made here."""
        place = folder.resolve()
        for study in self.app.studies.all():
            if place.is_relative_to(self.app.studies.place(study)):
                return study.title or study.name
        return name

    # -- the next one ---------------------------------------------------------------------------------------------------

    async def upload_next(self, request: Request) -> Response:
        """Take the file of the next release; its study continues the release of this one."""
        study = self.app._study(request)
        if self.app._outcome(study) is None:
            raise HTTPException(404)
        folder = self.app._outcome_path(study, study.picked).parent / "release"
        return await self.app.receive(request, str(folder))

    async def ask(self, request: Request, study: Study, error: TsveilError | None = None) -> Response:
        """What is left to decide: the plan is that of the last release."""
        folder = Path(study.after)
        found, problem = await run_in_threadpool(_history_of, folder)
        label = ""
        if found is not None:
            plan, _ = plan_of_release(folder)
            settings = dict(plan.method)
            label = str(METHODS.make(settings.pop("name"), settings))
        shown: dict[str, Any] = {
            "found": found,
            "problem": problem,
            "label": label,
            "last": self._name(folder, folder.name),
            "error": error,
        }
        return self.app._step(request, "next.html.j2", study, "methods", status=400 if error else 200, **shown)

    async def make_next(self, request: Request, form: forms.Form) -> Response:
        """Make the release that continues the last one."""
        app = self.app
        study = app._study(request)
        if not study.after or not study.confirmed:
            raise HTTPException(404)
        study.ids = "stable" if forms.first(form, "ids") == "stable" else "fresh"
        study.regroup = forms.first(form, "regroup") == "yes"
        study.title = forms.first(form, "title")[:200]
        self.start(study)
        return see_other(f"/s/{study.id}/compare")

    def start(self, study: Study) -> None:
        """Make it, or make it again."""
        app = self.app
        app._data(study)
        app._forget(study, "releases")
        study.picked = CONTINUED
        app._add("continue", study, ids=study.ids, regroup=study.regroup)
        app.studies.save(study)

    async def show(self, request: Request, study: Study) -> Response:
        """The release that was made, or how far it is."""
        app = self.app
        outcome = app._outcome(study)
        job = app.jobs.latest(study.id, "continue") if outcome is None else None
        if outcome is None and job is None:
            return see_other(f"/s/{study.id}/methods")
        last = self._name(Path(study.after), Path(study.after).name)
        return app._step(request, "continued.html.j2", study, "compare", job, outcome=outcome, last=last)


def _history_of(folder: Path) -> tuple[History | None, str]:
    """The history of a release, or why it has none."""
    try:
        return history(folder), ""
    except TsveilError as error:
        return None, str(error)
