"""The pages: six steps from a file to a release.

Every page is made on the server and works without scripts; a script only moves the bar while a job runs, and brings the map to life. What
changes something is a form with the session's token. Ids that come in are looked up in tables; nothing else of a request finds a
file.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from jinja2 import Environment
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tsveil import __version__
from tsveil.core.errors import TsveilError
from tsveil.report.context import QUESTIONS
from tsveil.report.pages import percent, templates
from tsveil.web import forms, uploads
from tsveil.web.answers import see_other as _see
from tsveil.web.compare import ComparePages
from tsveil.web.context import ContextPages
from tsveil.web.gate import csrf_is_right
from tsveil.web.jobs import Job, Jobs, Kind
from tsveil.web.load_step import LoadStep, described_columns, kept_beside
from tsveil.web.method_step import MethodStep, in_order, load_methods, with_words
from tsveil.web.over_time import OverTimePages
from tsveil.web.people import PeoplePages
from tsveil.web.studies import Studies, Study

#: step -> its title
STEPS = {
    "load": "Load",
    "risk": "Risk",
    "methods": "Methods",
    "run": "Run",
    "compare": "Compare",
    "download": "Download",
}
#: the options of reading that the form shows
ROLES = (
    "id",
    "person",
    "leave_out",
    "numbers",
    "categories",
    "blocks",
    "confidential",
    "time",
    "time_format",
    "variable",
    "value",
    "missing",
    "separator",
    "decimal",
    "header",
    "sheet",
    "table",
    "query",
    "resample",
    "split",
)
#: what a form may be long
FORM = 2_000_000
#: download -> its place in the folder of a release, its name for the browser, its type
FILES = {
    "release": ("release.zip", "release.zip", "application/zip"),
    "data": ("release/published/{data}", "{data}", "application/octet-stream"),
    "public-report": ("release/published/report.html", "public-report.html", "text/html"),
    "private-report": ("release/private/report.html", "private-report.html", "text/html"),
    "plan": ("plan.toml", "plan.toml", "application/toml"),
}
#: file for the browser -> its package, its place there, its type; the map comes from the reports
ASSETS = {
    "style.css": ("tsveil.web", "static/style.css", "text/css"),
    "app.js": ("tsveil.web", "static/app.js", "text/javascript"),
    "results.css": ("tsveil.web", "static/results.css", "text/css"),
    "people.js": ("tsveil.web", "static/people.js", "text/javascript"),
    "compare.js": ("tsveil.web", "static/compare.js", "text/javascript"),
    "map.css": ("tsveil.report", "templates/risk_map.css", "text/css"),
    "map.js": ("tsveil.report", "templates/risk_map.js", "text/javascript"),
}


def own_templates() -> Environment:
    """The templates of the app, with what all of them use."""
    pages = templates("tsveil.web")
    pages.globals |= {"steps": STEPS, "version": __version__}
    pages.filters["percent"] = whole_percent
    pages.filters["figure"] = percent  # what was measured, to the digit that the reports print
    pages.filters["listed"] = lambda values: ", ".join(
        "" if v is None else f"{v:g}" if isinstance(v, float) else str(v) for v in values
    )
    pages.filters["statement"] = statement
    pages.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
    return pages


def statement(question: str) -> str:
    """An answer that a question offers, to be chosen: without the "Or" that joins it to the others.

    Examples
    --------
    >>> statement("Or leave them out?")
    'Leave them out?'
    """
    text = question.removeprefix("Or ")
    return text[0].upper() + text[1:]


def whole_percent(value: float | None) -> str:
    """A percentage as in the reports, but limits that a person typed as whole numbers stay whole; a dash for none.

    Examples
    --------
    >>> [whole_percent(value).split() for value in (None, 10.0, 34.5678)]
    [['–'], ['10', '%'], ['34.6', '%']]
    """
    return "–" if value is None else percent(value).replace(".0\N{NO-BREAK SPACE}", "\N{NO-BREAK SPACE}")


class DrainingResponse(Response):
    """An answer to an upload that is refused: sent at once; then what still comes is thrown away for a moment.

    A browser that is cut off in the middle of an upload shows an error of its own instead of the answer.
    """

    def __init__(self, answer: Response, most: int = 4 * uploads.LARGEST, seconds: float = 5.0) -> None:
        super().__init__(answer.body, answer.status_code, dict(answer.headers) | {"Connection": "close"})
        self._most, self._seconds = most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, then drain."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        try:
            async with asyncio.timeout(self._seconds):
                more, size = True, 0
                while more and size < self._most:
                    message = await receive()
                    size += len(message.get("body", b""))
                    more = message["type"] == "http.request" and message.get("more_body", False)
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b""})


@dataclass
class App:
    """The app over its studies and jobs."""

    studies: Studies
    #: a file that was named when the server was started, and the release that its own will continue
    given: Path | None = None
    after: Path | None = None
    demo: bool = False
    largest: int = uploads.LARGEST

    def __post_init__(self) -> None:
        self.jobs = Jobs()
        self._pages = own_templates()
        self.step_5 = ComparePages(self)
        self.over_time = OverTimePages(self)
        #: where a newcomer is sent
        self.first = "/"

    # -- the frame ------------------------------------------------------------------------------------------------------

    def asgi(self) -> Starlette:
        """The app with its routes."""
        get, post = ["GET"], ["POST"]
        at = "/s/{id}"
        routes = [
            Route("/", self.home, methods=get),
            Route("/static/{name}", self.asset, methods=get),
            Route("/upload", self.upload, methods=post),
            Route("/demo", self.form_handler(self.start_demo), methods=post),
            Route("/given", self.form_handler(self.start_given_file), methods=post),
            Route("/jobs/{id}/events", self.events, methods=get),
            Route("/jobs/{id}/stop", self.form_handler(self.stop), methods=post),
            *(Route(f"{at}/{step}", getattr(self, step), methods=get) for step in STEPS),
            Route(f"{at}/look", self.form_handler(self.look_again), methods=post),
            *LoadStep(self).routes(at),
            *MethodStep(self).routes(at),
            Route(f"{at}/confirm", self.form_handler(self.confirm), methods=post),
            Route(f"{at}/sweep", self.form_handler(self.start_sweep), methods=post),
            *self.step_5.routes(at),
            *PeoplePages(self).routes(at),
            *ContextPages(self).routes(at),
            *self.over_time.routes(at),
            Route(f"{at}/delete", self.form_handler(self.delete), methods=post),
            Route(f"{at}/files/{{name}}", self.file, methods=get),
            Route(f"{at}/view/{{name}}", self.view, methods=get),
        ]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            worker = asyncio.create_task(self.jobs.run())
            loading = asyncio.create_task(asyncio.to_thread(load_methods))
            self._start()
            try:
                yield
            finally:
                self.jobs.close()
                await worker
                await loading

        handlers: dict[Any, Callable[[Request, Exception], Response]] = {
            HTTPException: self._not_here,
            Exception: self._server_error,
        }
        return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)

    def _start(self) -> None:
        """Begin with the file or the demo that was asked for on the command line."""
        if self.given is not None:
            study = self._new_given(self.given)
        elif self.demo:
            study = self._new_demo()
        else:
            return
        self.first = f"/s/{study.id}/load"

    def message(self, status: int, title: str, words: str, back: str = "") -> HTMLResponse:
        """A page with a few words; the style needs the session, so those who have none see it plain."""
        return self._page("message.html.j2", status, title=title, words=words.splitlines(), back=back)

    def _page(self, template: str, status: int = 200, **shown: Any) -> HTMLResponse:
        return HTMLResponse(self._pages.get_template(template).render(shown), status)

    def _not_here(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        words = {404: "There is no such page.", 405: "This page does not take that."}.get(status, "This does not work.")
        return self.message(status, "Not found" if status == 404 else "Not possible", words, "/")

    def _server_error(self, request: Request, error: Exception) -> Response:
        # What happened is printed in the terminal; a visitor learns nothing of the inside.
        return self.message(500, "Something went wrong", "See the terminal for details.", "/")

    def form_handler(
        self, handler: Callable[[Request, forms.Form], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler for a form: the form is read up to a limit, its token checked, and its errors shown."""

        async def handle(request: Request) -> Response:
            body = b""
            try:
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > FORM:
                        return DrainingResponse(self.message(413, "Too much", "The form is too long.", "/"))
            except ClientDisconnect:
                return self.message(400, "Interrupted", "The form did not arrive whole.", "/")
            try:
                form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20_000)
            except ValueError:
                return self.message(400, "Too much", "The form has too many fields.", "/")
            if not csrf_is_right(request.scope, forms.first(form, "csrf")):
                return self.message(
                    403, "Out of date", "The form did not come from a page of this session. Load the page again.", "/"
                )
            try:
                return await handler(request, form)
            except TsveilError as error:
                return self.message(400, "This cannot be used", str(error), _came_from(request))

        return handle

    def _study(self, request: Request) -> Study:
        study = self.studies.get(request.path_params["id"])
        if study is None:
            raise HTTPException(404)
        return study

    # -- jobs -----------------------------------------------------------------------------------------------------------

    def _add(self, kind: Kind, study: Study, **more: Any) -> Job:
        task = {
            "place": str(self.studies.place(study)),
            "data": str(self._data(study)),
            "name": study.name,
            "path": study.path,
            "source": study.source,
            "input": study.input,
            "title": study.title,
            "context": study.context,
            "after": study.after,
            "seed": study.seed,
            "largest": self.largest,
            "limits": msgspec.to_builtins(study.limits),
            "beside": {name: str(path) for name, path in self.studies.beside(study).items()},
        }
        return self.jobs.add(kind, study.id, task | more)

    def _data(self, study: Study) -> Path:
        """The data of a study, or an error that says where they are."""
        data = self.studies.data(study)
        if data is None:
            raise TsveilError(
                "the data are not here any more: they were removed when the server was stopped\n  load the file again as a new study"
            )
        return data

    def _new(self, name: str, source: Any, data: Path, path: str, after: str = "") -> Study:
        study = self.studies.new(name, source, data, path, after)
        self._add("look", study)
        return study

    def _new_given(self, file: Path) -> Study:
        return self._new(file.name, "file", file, str(file), str(self.after) if self.after else "")

    def _new_demo(self) -> Study:
        return self._new("load_curves.csv", "demo", self.studies.upload_place(), "load_curves.csv")

    async def events(self, request: Request) -> Response:
        """The progress of a job, as it happens."""
        job = self.jobs.get(request.path_params["id"])
        if job is None:
            raise HTTPException(404)
        return StreamingResponse(
            self._progress(job), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    async def _progress(self, job: Job) -> AsyncIterator[str]:
        while not self.jobs.ending.is_set():
            changed = job.changed
            yield f"data: {msgspec.json.encode(job.describe() | {'ahead': self.jobs.ahead(job)}).decode()}\n\n"
            if job.over:
                return
            waits = [asyncio.create_task(changed.wait()), asyncio.create_task(self.jobs.ending.wait())]
            # Also while the work says nothing new, so that the page shows for how long.
            await asyncio.wait(waits, timeout=1, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
            await asyncio.sleep(0.1)  # many small steps are told together

    async def stop(self, request: Request, form: forms.Form) -> Response:
        """Stop a job."""
        job = self.jobs.get(request.path_params["id"])
        if job is None:
            raise HTTPException(404)
        study = self.studies.get(job.study)
        cut = job.kind == "sweep" and job.process is not None and not job.over
        self.jobs.stop(job)
        if cut and study is not None:
            self._add("conclude", study, methods=study.tried)  # shows what was finished, once the run has ended
        steps = {
            "look": "load",
            "risk": "risk",
            "sweep": "run",
            "conclude": "compare",
            "release": "compare",
            "continue": "compare",
        }
        step = steps[job.kind]
        return _see(f"/s/{job.study}/{step}")

    # -- the steps ------------------------------------------------------------------------------------------------------

    async def home(self, request: Request) -> Response:
        """Step 1 without a file yet, and what was studied before."""
        studies = [(study, self._steps_so_far(study)[-1]) for study in self.studies.all()]
        return self._step(
            request,
            "home.html.j2",
            None,
            "load",
            studies=studies,
            given=self.given,
            largest=self.largest,
            endings=uploads.ENDINGS,
        )

    def _steps_so_far(self, study: Study) -> list[str]:
        """The steps that can be opened."""
        place = self.studies.place(study)
        steps = ["load"]
        if study.confirmed:
            steps += ["risk", "methods"]
        if study.methods:
            steps.append("run")
        if (place / "result.json").is_file() or (study.after and study.picked):
            steps.append("compare")
        if study.picked and self._outcome_path(study, study.picked).is_file():
            steps.append("download")
        return steps

    def _step(
        self,
        request: Request,
        template: str,
        study: Study | None,
        step: str,
        job: Job | None = None,
        status: int = 200,
        **shown: Any,
    ) -> Response:
        return self._page(
            template,
            status,
            csrf=request.scope["session"].csrf,
            study=study,
            step=step,
            reached=self._steps_so_far(study) if study else ["load"],
            job=job,
            busy=job is not None and not job.over,
            ahead=self.jobs.ahead(job) if job else 0,
            data_here=study is None or self.studies.data(study) is not None,
            **shown,
        )

    async def upload(self, request: Request) -> Response:
        """Take a file."""
        return await self.receive(request)

    async def receive(self, request: Request, after: str = "") -> Response:
        """Take a file, for a release that may continue another one."""
        target = self.studies.upload_place()
        try:
            name, _ = await uploads.receive_file(request, target, self.largest)
        except TsveilError as error:
            return self.refused_upload(error, "/")
        return _see(f"/s/{self._new(name, 'upload', target, name, after).id}/load")

    def refused_upload(self, error: TsveilError, back: str) -> Response:
        """The answer to an upload that did not arrive, or that is not taken."""
        if isinstance(error, uploads.TooLargeError):
            status, title = 413, "The file is too large"
        elif isinstance(error, uploads.ForgedError):
            status, title = 403, "Out of date"
        else:
            status, title = 400, "The file did not arrive"
        return DrainingResponse(self.message(status, title, str(error), back))

    async def start_demo(self, request: Request, form: forms.Form) -> Response:
        """Take the bundled example."""
        return _see(f"/s/{self._new_demo().id}/load")

    async def start_given_file(self, request: Request, form: forms.Form) -> Response:
        """Take the file that was named at the start, once more."""
        if self.given is None:
            raise HTTPException(404)
        return _see(f"/s/{self._new_given(self.given).id}/load")

    async def load(self, request: Request) -> Response:
        """Step 1: what is in the file."""
        study = self._study(request)
        look = self.studies.read_result(study, "look.json")
        return self.load_page(request, study, look)

    def load_page(
        self,
        request: Request,
        study: Study,
        look: Any,
        typed: forms.Form | None = None,
        error: TsveilError | None = None,
        chosen: Mapping[str, str] | None = None,
        typed_numbers: Mapping[str, str] | None = None,
    ) -> Response:
        """What was found, with its roles: those that were found, or those that were chosen and refused."""
        shown: dict[str, Any] = {"look": look, "rows": [], "options": {}, "carriable": [], "error": error}
        shown["typed_numbers"] = typed_numbers or {}
        job = self.jobs.latest(study.id, "look")
        if look is not None:
            columns = look["columns"]
            refused = job is not None and job.state == "failed" and "layout" in study.input
            options = dict.fromkeys(ROLES) | (study.input if refused else {"layout": look["layout"]} | look["options"])
            rows = forms.block_rows(options, columns)
            if typed is not None:
                typed_options, rows = forms.typed_roles(typed)
                options |= typed_options
            inside = {name for row in rows for name in _between(row, columns)}
            named = {*inside, options["id"], *(options["person"] or ())}
            carriable = [name for name in columns if name not in named or name in (options["confidential"] or ())]
            shown |= {
                "rows": rows,
                "options": options,
                "rows_as": forms.rows_as(options),
                "carriable": carriable[: forms.OFFERED],
                "changed": refused or typed is not None,
                **described_columns(look, options, list(self.studies.beside(study)), chosen),
            }
        return self._step(request, "load.html.j2", study, "load", job, 400 if error else 200, **shown)

    async def look_again(self, request: Request, form: forms.Form) -> Response:
        """Step 1: other roles, or answers to questions."""
        study = self._study(request)
        look = self.studies.read_result(study, "look.json")
        if look is None:
            raise HTTPException(404)
        if "layout" in form:
            try:
                wanted = kept_beside(look["options"], forms.roles(form, look["columns"]))
            except TsveilError as error:
                return self.load_page(request, study, look, form, error)
        else:
            wanted = forms.add_answers(form, look, study.input)
        return self.look_with(study, wanted)

    def look_with(self, study: Study, wanted: dict[str, Any]) -> Response:
        """Look at the file again, with other options of reading."""
        self._forget(study, "risk.json", "result.json", "sweep.toml", "sweep", "releases")
        self._add("look", study, input=wanted)
        study.input, study.confirmed, study.methods, study.added, study.picked = wanted, False, {}, [], ""
        self.studies.save(study)
        return _see(f"/s/{study.id}/load")

    def _forget(self, study: Study, *names: str) -> None:
        for job in self.jobs.of(study.id):
            if job.kind != "look":
                self.jobs.stop(job)
        self.studies.forget(study, *names)

    async def confirm(self, request: Request, form: forms.Form) -> Response:
        """Step 1: the roles are right."""
        study = self._study(request)
        look = self.studies.read_result(study, "look.json")
        if look is None or not look["ready"]:
            raise TsveilError("the file cannot be used as it is\n  say what to do about its problems first")
        if not study.confirmed:
            study.input = look["options"]
            self._add("risk", study)
            study.confirmed = True
            self.studies.save(study)
        return _see(f"/s/{study.id}/risk")

    async def risk(self, request: Request) -> Response:
        """Step 2: the data as they are."""
        study = self._study(request)
        found = self.studies.read_result(study, "risk.json")
        return self._step(request, "risk.html.j2", study, "risk", self.jobs.latest(study.id, "risk"), risk=found)

    async def methods(self, request: Request) -> Response:
        """Step 3: what to try."""
        study = self._study(request)
        look = self.studies.read_result(study, "look.json")
        if look is None or not study.confirmed:
            return _see(f"/s/{study.id}/load")
        if study.after:
            return await self.over_time.ask(request, study)
        return self._methods_page(request, study, look)

    def _methods_page(
        self,
        request: Request,
        study: Study,
        look: dict[str, Any],
        typed: forms.Form | None = None,
        error: TsveilError | None = None,
    ) -> Response:
        """The methods as they were chosen, or as they were typed and refused."""
        first, more, others = in_order(look["methods"])
        first, more = (with_words(part, look["described"], typed, study.methods) for part in (first, more))
        shown: dict[str, Any] = {"first": first, "more": more, "others": others, "typed": typed, "error": error}
        return self._step(request, "methods.html.j2", study, "methods", status=400 if error else 200, **shown)

    async def start_sweep(self, request: Request, form: forms.Form) -> Response:
        """Step 3: try it."""
        study = self._study(request)
        look = self.studies.read_result(study, "look.json")
        if look is None or not study.confirmed or study.after:
            raise HTTPException(404)
        try:
            chosen, limits = forms.methods(form, look["methods"]), forms.limits(form, study.limits)
        except TsveilError as error:
            return self._methods_page(request, study, look, form, error)
        title = forms.first(form, "title")[:200]
        result = self.studies.read_result(study, "result.json")
        if result is not None and result["complete"] and chosen == study.methods and not _worth_another_try(result):
            return self.step_5.change_limits(study, limits, title)
        self._data(study)  # before anything is forgotten
        if (title, limits) != (study.title, study.limits):  # they stand in the plan and in the reports of a release
            self._forget(study, "releases")
        study.methods, study.limits, study.title, study.picked = chosen, limits, title, ""
        self._forget(study, "result.json")
        self._add("sweep", study, methods=study.tried)
        self.studies.save(study)
        return _see(f"/s/{study.id}/run")

    async def run(self, request: Request) -> Response:
        """Step 4: how far it is."""
        study = self._study(request)
        job = self.jobs.latest(study.id, "sweep", "conclude")
        result = self.studies.read_result(study, "result.json")
        look = self.studies.read_result(study, "look.json") or {}
        plain = {method["name"]: method["plain"] for method in look.get("methods", ())}
        return self._step(request, "run.html.j2", study, "run", job, result=result, plain=plain)

    async def compare(self, request: Request) -> Response:
        """Step 5: what was found."""
        return await self.step_5.show(request)

    def _outcome_path(self, study: Study, key: str) -> Path:
        return self.studies.place(study) / "releases" / key / "outcome.json"

    def _outcome(self, study: Study) -> Any:
        return self.studies.read_result(study, f"releases/{study.picked}/outcome.json") if study.picked else None

    async def download(self, request: Request) -> Response:
        """Step 6: take it."""
        study = self._study(request)
        outcome = self._outcome(study)
        if outcome is None:
            return _see(f"/s/{study.id}/compare")
        place = self._outcome_path(study, study.picked).parent
        plan = (place / "plan.toml").read_text(encoding="utf-8")
        shown = {"outcome": outcome, "plan": plan, "place": str(place), "questions": len(QUESTIONS)}
        return self._step(request, "download.html.j2", study, "download", **shown)

    async def delete(self, request: Request, form: forms.Form) -> Response:
        """Remove a study and everything in it."""
        study = self._study(request)
        self.studies.check_not_continued(study)
        for job in self.jobs.of(study.id):
            self.jobs.stop(job)
            if job.process is not None:
                await job.process.wait()
        self.studies.delete(study)
        return _see("/")

    # -- files ----------------------------------------------------------------------------------------------------------

    async def asset(self, request: Request) -> Response:
        """A script or a style of our own."""
        name = request.path_params["name"]
        if name not in ASSETS:
            raise HTTPException(404)
        package, place, kind = ASSETS[name]
        return Response(resources.files(package).joinpath(place).read_bytes(), media_type=kind)

    def _file(self, request: Request) -> tuple[Path, str, str]:
        study, name = self._study(request), request.path_params["name"]
        outcome = self._outcome(study)
        if name == "demo-data" and study.source == "demo" and (data := self.studies.data(study)) is not None:
            return data, study.name, "text/csv"
        if name == "sweep-plan" and (plan := self.studies.place(study) / "sweep.toml").is_file():
            return plan, "sweep.toml", "application/toml"
        if name not in FILES or outcome is None:
            raise HTTPException(404)
        path, shown, kind = FILES[name]
        folder = self._outcome_path(study, study.picked).parent
        if name == "data" and (packed := folder / outcome["data"]).is_file():  # a folder, which was packed
            return packed, outcome["data"], "application/zip"
        return folder / path.format(data=outcome["data"]), shown.format(data=outcome["data"]), kind

    async def file(self, request: Request) -> Response:
        """A download."""
        path, name, kind = self._file(request)
        return FileResponse(path, media_type=kind, filename=name)

    async def view(self, request: Request) -> Response:
        """A report to look at: in a sandbox, with no scripts, and no styles but those it was made with."""
        if not request.path_params["name"].endswith("-report"):
            raise HTTPException(404)
        path, _, _ = self._file(request)
        page = path.read_text(encoding="utf-8")
        styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in styles)
        policy = f"sandbox; default-src 'none'; style-src {hashes}; frame-ancestors 'none'"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def _worth_another_try(result: dict[str, Any]) -> bool:
    """Whether something failed that was not foreseen, want of memory for one: it may go well another time."""
    return any((row["problem"] or "").startswith("unexpected ") for row in result["rows"])


def _between(row: dict[str, str], columns: list[str]) -> list[str]:
    if row["from"] not in columns or row["to"] not in columns:
        return []
    return columns[columns.index(row["from"]) : columns.index(row["to"]) + 1]


def _came_from(request: Request) -> str:
    """The page with the form, to go back to."""
    path = urlsplit(request.headers.get("referer", "")).path
    return path if re.fullmatch(r"(/[\w-]+)+", path) else "/"
