"""Step 3 in words: which methods are shown first, and what each promises with the values that are set.

The promises are those of the methods themselves, asked of the values in the form; nothing of the data is read for that but how many records and which
blocks there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tsveil.core.errors import InputError
from tsveil.data.dataset import Block, Dataset
from tsveil.web import forms

if TYPE_CHECKING:
    from tsveil.web.pages import App

#: methods that are shown before the others
FIRST = 4


@dataclass(frozen=True)
class Described:
    """What a promise depends on, of data that are not here."""

    n: int
    blocks: tuple[Block, ...]
    confidential: tuple[str, ...]
    person: tuple[str, ...]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Described:
        """As `describe` gave it."""
        blocks = tuple(
            Block(
                block["name"],
                tuple(block["columns"]),
                times=None if block["times"] is None else [],  # type: ignore[arg-type]
                categories=() if block["labels"] else None,
            )
            for block in found["blocks"]
        )
        return cls(found["n"], blocks, tuple(found["confidential"]), tuple(found["person"]))


def describe(data: Dataset) -> dict[str, Any]:
    """What a promise depends on, in plain values."""
    return {
        "n": data.n,
        "blocks": [
            {
                "name": block.name,
                "columns": list(block.columns),
                "times": None if block.times is None else True,
                "labels": block.categories is not None,
            }
            for block in data.blocks
        ],
        "confidential": list(data.confidential),
        "person": list(data.person),
    }


def in_order(
    methods: Sequence[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """The methods that are shown first, the others that fit the data, and those that do not."""
    fitting = [method for method in methods if not method["problem"]]
    fitting.sort(key=lambda method: (not method["starting"], not method["promises"]))
    return fitting[:FIRST], fitting[FIRST:], [method for method in methods if method["problem"]]


def load_methods() -> None:
    """Load the methods, so that the first page of methods does not wait for it."""
    from tsveil.core.registry import METHODS

    for name in METHODS:
        METHODS[name]


def in_words(method: Mapping[str, Any], grid: Mapping[str, Sequence[Any]], described: Mapping[str, Any]) -> list[str]:
    """What a method promises with the values that are set: with the first of each; and with the last of each what is different then."""
    from tsveil.core.registry import METHODS

    kind = METHODS[method["name"]]
    data = Described.of(described)
    found: list[str] = []
    told: set[str] = set()
    for at in (0, -1):
        values = {name: several[at] for name, several in grid.items() if several}
        words = kind.from_settings(values).guarantee(data).words
        new = [sentence for sentence in _sentences(words) if sentence not in told]
        told.update(new)
        shown = ", ".join(f"{name} = {_plain(value)}" for name, value in values.items() if value is not None)
        if new:
            found.append(f"With {shown}: {' '.join(new)}" if shown else words)
    return found


def _sentences(words: str) -> list[str]:
    """The sentences of a promise.

    Examples
    --------
    >>> _sentences("No guarantee. About 0.5 % of a value remain.")
    ['No guarantee.', 'About 0.5 % of a value remain.']
    """
    return re.split(r"(?<=\.) (?=[A-Z])", words)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def set_values(
    method: Mapping[str, Any], typed: forms.Form | None, chosen: Mapping[str, Any] | None
) -> dict[str, list[Any]]:
    """The values of the parameters of a method as the page shows them: as they were typed, chosen before, or proposed."""
    if typed is not None:
        return dict(forms.methods({**typed, "method": [method["name"]]}, [method])[method["name"]])
    if chosen is not None:
        return dict(chosen)
    return {parameter["name"]: parameter["tried"] for parameter in method["parameters"] if parameter["main"]}


class MethodStep:
    """The words of step 3 for values that are being typed."""

    def __init__(self, app: App) -> None:
        self._app = app

    def routes(self, at: str) -> list[Route]:
        """Where a script asks for the words."""
        return [Route(f"{at}/promise/{{method}}", self.promise, methods=["GET"])]

    async def promise(self, request: Request) -> Response:
        """What a method promises with the values that are typed, or what is wrong with them."""
        study = self._app.studies.get(request.path_params["id"])
        look = None if study is None else self._app.studies.read_result(study, "look.json")
        wanted = request.path_params["method"]
        method = next(
            (one for one in (look or {}).get("methods", ()) if one["name"] == wanted and not one["problem"]), None
        )
        if look is None or method is None:
            raise HTTPException(404)
        query = request.query_params
        typed = {name: query.getlist(name) for name in query}
        try:
            words = in_words(method, set_values(method, typed, None), look["described"])
        except InputError as error:
            return JSONResponse({"words": [], "problem": error.problems[0]})
        return JSONResponse({"words": words, "problem": ""})


def with_words(
    methods: Sequence[dict[str, Any]],
    described: Mapping[str, Any],
    typed: forms.Form | None,
    chosen: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The methods with what they promise; nothing is said where what was typed cannot be used."""
    found = []
    for method in methods:
        try:
            words = in_words(method, set_values(method, typed, chosen.get(method["name"])), described)
        except InputError:
            words = []
        found.append({**method, "said": words})
    return found
