"""Step 5: compare what was tried, move the limits, try one more, and choose.

The map and the table answer to the limits in the browser (`static/compare.js`); the words of the recommendation come from here, made by the
code of the reports. Limits count when they are chosen: then the release that fits is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tsveil.core.errors import InputError, TsveilError
from tsveil.data.formulas import harmless_frame
from tsveil.study.study import Study as Tried
from tsveil.web import forms
from tsveil.web.advice import advise
from tsveil.web.answers import see_other
from tsveil.web.studies import Limits, Study

if TYPE_CHECKING:
    from tsveil.web.pages import App

#: the check of the verdict that a release above the limit fails
ACCEPTED = "accepted-risk"
#: what the table for spreadsheets has of each configuration
COLUMNS = (
    "label", "method", "settings", "risk", "high", "loss", "attack", "guarantee", "verdict", "fits", "pareto", "stopped", "problem",
)  # fmt: skip


@dataclass
class ComparePages:
    """The pages and forms of step 5."""

    app: App

    def routes(self, at: str) -> list[Route]:
        """What is added to the page itself."""
        handled = self.app.form_handler
        return [
            Route(f"{at}/limits", handled(self.set_limits), methods=["POST"]),
            Route(f"{at}/pick", handled(self.pick), methods=["POST"]),
            Route(f"{at}/add", handled(self.add), methods=["POST"]),
            Route(f"{at}/advice", self.advice, methods=["GET"]),
            Route(f"{at}/compare.csv", self.table, methods=["GET"]),
        ]

    async def show(self, request: Request) -> Response:
        """What was found."""
        study = self.app._study(request)
        if study.after:
            return await self.app.over_time.show(request, study)
        if self.app.studies.read_result(study, "result.json") is None:
            return see_other(f"/s/{study.id}/run")
        return self._page(request, study)

    def _page(self, request: Request, study: Study, error: TsveilError | None = None, **typed: forms.Form) -> Response:
        """What was found, with the limits or the configuration to add as they are, or as they were typed and refused."""
        app = self.app
        result = self._result(study)
        # Advice within other limits than those that stand on the page is none.
        current = result.get("limits") == msgspec.to_builtins(study.limits)
        if current and not study.picked and result["best"]:
            study.picked = result["best"]
            app.studies.save(study)
        outcome = app._outcome(study)
        job = app.jobs.latest(study.id, "release", "conclude", "sweep")
        missing = not current or (study.picked and outcome is None)
        if job is not None and job.over and not missing and (job.kind, job.state) != ("sweep", "failed"):
            job = None  # it did what it was for
        asked = request.query_params.get("above")
        look = app.studies.read_result(study, "look.json")
        offered = [method for method in look["methods"] if not method["problem"]] if look else []
        wanted = forms.first(typed["adding"], "method") if "adding" in typed else request.query_params.get("add")
        shown: dict[str, Any] = {
            "result": result,
            "current": current,
            "outcome": outcome,
            "above": next((row for row in result["rows"] if row["key"] == asked and row["above"]), None),
            "offered": offered,
            "wanted": next((method for method in offered if method["name"] == wanted), None),
            "typed": typed.get("limits"),
            "adding": typed.get("adding"),
            "error": error,
        }
        return app._step(request, "compare.html.j2", study, "compare", job, 400 if error else 200, **shown)

    def _result(self, study: Study) -> Any:
        """What was found, or "not found"."""
        result = self.app.studies.read_result(study, "result.json")
        if result is None:
            raise HTTPException(404)
        return result

    # -- limits ---------------------------------------------------------------------------------------------------------

    async def set_limits(self, request: Request, form: forms.Form) -> Response:
        """Other limits for what was tried."""
        study = self.app._study(request)
        self._result(study)
        try:
            limits = forms.limits(form, study.limits)
        except TsveilError as error:
            return self._page(request, study, error, limits=form)
        return self.change_limits(study, limits, study.title)

    def change_limits(self, study: Study, limits: Limits, title: str) -> Response:
        """Choose again within other limits: nothing is tried again, for the figures do not depend on them."""
        app, before = self.app, self._result(study).get("limits")
        if (title, msgspec.to_builtins(limits)) != (study.title, before) or limits != study.limits:
            app._data(study)  # the release that fits is made of them, and those of other limits go
            app._forget(study, "releases")
            study.limits, study.title, study.picked = limits, title, ""
            app._add("conclude", study, methods=study.tried)
            app.studies.save(study)
        return see_other(f"/s/{study.id}/compare")

    async def advice(self, request: Request) -> Response:
        """What would be recommended within other limits: a piece of the page."""
        study = self.app._study(request)
        self._result(study)
        query = request.query_params
        form = {name: query.getlist(name) for name in query}
        try:
            limits = forms.limits(form, study.limits)
        except TsveilError as error:
            return self.app._page("advice.html.j2", 400, problem=str(error))
        folder = self.app.studies.place(study) / "sweep"
        found = await run_in_threadpool(lambda: advise(Tried.load(folder), limits))
        shown = {"advice": found["advice"], "best": found["best"], "limits": limits, "moved": limits != study.limits}
        return self.app._page("advice.html.j2", **shown, outcome=self.app._outcome(study))

    # -- the table ------------------------------------------------------------------------------------------------------

    async def table(self, request: Request) -> Response:
        """Everything that was tried, for a spreadsheet."""
        study = self.app._study(request)
        rows = self._result(study)["rows"]
        frame = pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], infer_schema_length=None)
        name = f"{study.id}-compared.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(harmless_frame(frame).write_csv(), media_type="text/csv", headers=headers)

    # -- one more -------------------------------------------------------------------------------------------------------

    async def add(self, request: Request, form: forms.Form) -> Response:
        """One more configuration; only what is not finished yet is tried."""
        app = self.app
        study = app._study(request)
        self._result(study)
        look = app.studies.read_result(study, "look.json")
        try:
            app._data(study)
            ((method, grid),) = forms.methods(
                {**form, "method": [forms.first(form, "method")]}, look["methods"]
            ).items()
            if several := [name for name, values in grid.items() if len(values) > 1]:
                raise InputError(f"one configuration has one value of each parameter. Got several of {several[0]}.")
        except TsveilError as error:
            return self._page(request, study, error, adding=form)
        if (method, grid) not in study.added:
            study.added.append((method, grid))
        app._add("sweep", study, methods=study.tried)
        app.studies.save(study)
        return see_other(f"/s/{study.id}/compare?picked")

    # -- the choice -----------------------------------------------------------------------------------------------------

    async def pick(self, request: Request, form: forms.Form) -> Response:
        """This one."""
        app = self.app
        study = app._study(request)
        key = forms.first(form, "key")
        rows = {row["key"]: row for row in self._result(study)["rows"] if row["problem"] is None}
        if key not in rows:
            raise HTTPException(404)
        above = rows[key]["above"]
        if above and forms.first(form, "allow") != ACCEPTED:
            return see_other(f"/s/{study.id}/compare?above={key}")
        if not app._outcome_path(study, key).is_file():
            app._add("release", study, key=key, allow=[ACCEPTED] if above else [])
        study.picked = key
        app.studies.save(study)
        # Not "#picked": a page that loads itself again would not leave a place within itself.
        return see_other(f"/s/{study.id}/compare?picked")
