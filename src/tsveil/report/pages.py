"""How every page of a report or of the web app is made from its template: everything escaped, nothing undefined, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import tsveil

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


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
    """The text of the page that a template makes of what is to be shown, the version of tsveil and the date."""
    today = datetime.now(UTC)
    made = {"version": tsveil.__version__, "date": f"{today.day} {today:%B %Y}"}
    return _reports().get_template(template).render({**made, **shown})


def section(name: str, **shown: Any) -> Markup:
    """A section of a report, to be put into its page."""
    from markupsafe import Markup

    return Markup(page(f"sections/{name}.html.j2", shown))


def as_sentence(words: str) -> str:
    """Words that stand alone.

    Examples
    --------
    >>> as_sentence("nothing remains")
    'Nothing remains.'
    """
    return f"{words[0].upper()}{words[1:]}."


def percent(value: float) -> str:
    """A percentage with the digits that matter.

    Examples
    --------
    >>> [percent(value).split() for value in (34.5678, 0.0, 0.004)]
    [['34.6', '%'], ['0', '%'], ['<', '0.1', '%']]
    """
    digits = "0" if value == 0 else "< 0.1" if 0 < value < 0.05 else f"{value:.1f}"
    return f"{digits}\N{NO-BREAK SPACE}%"
