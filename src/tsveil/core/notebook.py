"""Small tables for notebooks, by which objects show themselves: plain HTML without scripts or styles, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table_in_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption.

    Parameters
    ----------
    caption
        One sentence above the table.
    head
        The names of the columns; none for a table without.
    rows
        The cells, as text.

    Returns
    -------
    str
        A piece of HTML.

    Examples
    --------
    >>> table_in_html("Two & one", ["what"], [["<b>"]])
    '<table><caption>Two &amp; one</caption><thead><tr><th>what</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    top = f"<thead>{_row('th', head)}</thead>" if head else ""
    body = "".join(_row("td", row) for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{top}<tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
