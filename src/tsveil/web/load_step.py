"""Step 1 as forms: what each column is, the file of a hierarchy, and what is done about gaps. Each gives other options of reading, and the file is looked at again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tsveil.core.errors import InputError, TsveilError
from tsveil.data.gaps import check_gap_options
from tsveil.web import columns, forms, uploads
from tsveil.web.cures import cure_options
from tsveil.web.studies import Study

if TYPE_CHECKING:
    from tsveil.web.pages import App

#: bytes of the file of a hierarchy: a line for each of a million labels
LARGEST_HIERARCHY = 100_000_000


class LoadStep:
    """The forms of step 1 that speak of columns and gaps."""

    def __init__(self, app: App) -> None:
        self._app = app

    def routes(self, at: str) -> list[Route]:
        """Where the forms are sent."""
        form = self._app.form_handler
        return [
            Route(f"{at}/columns", form(self.set_columns), methods=["POST"]),
            Route(f"{at}/cure", form(self.cure_gaps), methods=["POST"]),
            Route(f"{at}/hierarchy", self.take_hierarchy, methods=["POST"]),
        ]

    async def set_columns(self, request: Request, form: forms.Form) -> Response:
        """What the columns are, as it was chosen at their headers."""
        study, look = self._looked_at(request)
        chosen = chosen_roles(form, look["columns"], look["shown"])
        orders = {
            name: labels.split("\n")
            for name, labels in zip(form.get("order_column", ()), form.get("order", ()), strict=False)
        }
        orders = {name: [one for label in labels if (one := label.strip())] for name, labels in orders.items()}
        try:
            wanted = columns.with_roles(
                columns.with_kinds(look["options"], look.get("blocks", ())),
                look["columns"],
                chosen,
                list(self._app.studies.beside(study)),
                orders,
            )
        except TsveilError as error:
            return self._app.load_page(request, study, look, error=error, chosen=chosen)
        return self._app.look_with(study, wanted)

    async def cure_gaps(self, request: Request, form: forms.Form) -> Response:
        """What is done about gaps."""
        study, look = self._looked_at(request)
        option, value = forms.first(form, "option"), forms.first(form, "value")
        try:
            wanted = dict(study.input)
            if option not in ("missing", "resample", "split"):
                raise HTTPException(404)
            if option != "missing" and not (value.isdigit() and len(value) < 10):
                raise InputError(f"{option} must be a whole number. Got {value!r}.")
            wanted |= cure_options(option, value)
            check_gap_options(wanted.get("missing", "refuse"), wanted.get("resample"))
        except TsveilError as error:
            return self._app.load_page(request, study, look, error=error, typed_numbers={option: value})
        return self._app.look_with(study, wanted)

    async def take_hierarchy(self, request: Request) -> Response:
        """The file with the hierarchy of a column."""
        target = self._app.studies.upload_place()
        try:
            study, look = self._looked_at(request)
        except InputError as error:
            return self._app.refused_upload(error, "/")
        try:
            name, fields = await uploads.receive_file(request, target, min(LARGEST_HIERARCHY, self._app.largest))
        except TsveilError as error:
            return self._app.refused_upload(error, f"/s/{study.id}/load")
        name = hierarchy_name(name, study.name)
        self._app.studies.put_beside(study, name, target)
        try:
            role = {fields.get("column", ""): f"{columns.HIERARCHY}:{name}"}
            options = columns.with_kinds(look["options"], look.get("blocks", ()))
            wanted = columns.with_roles(options, look["columns"], role, [name])
        except TsveilError as error:
            return self._app.load_page(request, study, look, error=error)
        # The file may be a corrected one of the same name: it is looked at, whatever was chosen before.
        return self._app.look_with(study, wanted)

    def _looked_at(self, request: Request) -> tuple[Study, Any]:
        study = self._app.studies.get(request.path_params["id"])
        look = None if study is None else self._app.studies.read_result(study, "look.json")
        if study is None or look is None:
            raise HTTPException(404)
        if look["questions"]:
            # What is chosen at one header would settle what was guessed of all others, and then nobody would be asked about these.
            raise InputError("the file may mean several things\n  answer the question first")
        return study, look


def chosen_roles(form: forms.Form, names: Sequence[str], shown: Sequence[str]) -> dict[str, str]:
    """Column -> its role, as the headers say; the columns that are not shown have one header together.

    Examples
    --------
    >>> form = {"column": ["a", "d"], "role": ["id", "out"], "between": ["series:x"]}
    >>> chosen_roles(form, ["a", "b", "c", "d"], ["a", "d"])
    {'a': 'id', 'd': 'out', 'b': 'series:x', 'c': 'series:x'}
    """
    chosen = dict(zip(form.get("column", ()), form.get("role", ()), strict=False))
    between = forms.first(form, "between")
    if between and between != columns.AS_THEY_ARE:
        chosen |= {name: between for name in names if name not in shown}
    return chosen


def hierarchy_name(name: str, data: str) -> str:
    """The name of a hierarchy in plans: that of the upload, unless it is the name of the data.

    Examples
    --------
    >>> hierarchy_name("places.csv", "homes.csv"), hierarchy_name("plan.toml", "homes.csv"), hierarchy_name("homes.csv", "homes.csv")
    ('places.csv', 'plan.toml.csv', 'hierarchy-homes.csv')
    """
    named = name if name.lower().endswith((".csv", ".txt", ".tsv")) else f"{name}.csv"
    return f"hierarchy-{named}" if named == data else named


def described_columns(
    look: Mapping[str, Any], options: Mapping[str, Any], hierarchies: Sequence[str], chosen: Mapping[str, str] | None
) -> dict[str, Any]:
    """What the headers of the preview show: the role of each column that is shown, and those that may be chosen."""
    names, options = look["columns"], columns.with_kinds(options, look.get("blocks", ()))
    found = columns.roles_of(options, names)
    roles = found | {name: role for name, role in (chosen or {}).items() if name in found}
    categories = options.get("categories") or {}
    return {
        "roles": roles,
        "role_words": columns.choices(options, hierarchies),
        "orders": {
            name: columns.order_of(categories.get(name)) or look.get("labels", {}).get(name, [])
            for name, role in roles.items()
            if role == columns.ORDINAL
        },
        "wanting_hierarchy": next((name for name, role in roles.items() if role == columns.HIERARCHY), ""),
    }


def kept_beside(options: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the form of all roles, with the labels that it cannot show: orders and hierarchies stay as they were."""
    described = {name: spec for name, spec in (options.get("categories") or {}).items() if not isinstance(spec, str)}
    named = {**described, **wanted.get("categories", {})}
    return {**wanted, **({"categories": named} if named else {})}
