"""How every page of a report or of the web app is made from its template: everything escaped, nothing undefined, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(package: str) -> Environment:
    """The templates of a package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _reports() -> Environment:
    made = templates("tsveil.report")
    made.filters["count"] = lambda number: f"{number:,}"
    made.filters["percent"] = percent
    return made


def page(template: str, shown: Mapping[str, Any]) -> str:
    """The text of the page that a template makes of what is to be shown."""
    return _reports().get_template(template).render(shown)


def percent(value: float) -> str:
    """A percentage with the digits that matter.

    Examples
    --------
    >>> [percent(value).split() for value in (34.5678, 0.0, 0.004)]
    [['34.6', '%'], ['0', '%'], ['<', '0.1', '%']]
    """
    digits = "0" if value == 0 else "< 0.1" if 0 < value < 0.05 else f"{value:.1f}"
    return f"{digits}\N{NO-BREAK SPACE}%"
