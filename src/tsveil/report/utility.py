"""What users of the data lose: the losses of the score card, series by series, and record by record."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from tsveil.report import figures
from tsveil.report.linkage import bar
from tsveil.report.pages import percent, section
from tsveil.report.subject import Subject

#: part of the score card -> its title, a sentence, and the figure that sums it up
PARTS: dict[str, tuple[str, str, str]] = {
    "loss": ("Information loss", "What users of the data lose.", "IL"),
    "labels": ("Loss of labels", "What users lose of columns and series of labels.", ""),
    "inference": ("Disclosed values", "What the published values say about the true ones.", ""),
    "both": ("Risk and loss together", "Every gain on one side has its price on the other.", "score"),
}
#: figures of what the published file says of single values
INFERENCE = ("ID", "LU", "OID")
#: series that have a row of their own in tables
SERIES_LISTED = 20


def card_part(card: Any, key: str) -> dict[str, Any]:
    """A part of the score card; linkages are in none of them."""
    title, note, total = PARTS[key]
    shown = [name for name in card.meanings if name in card and name not in card.by_known and _part_of(name) == key]
    return {
        "key": key,
        "title": title,
        "note": note,
        "figures": [
            {
                "name": name,
                "title": card.meanings[name].title,
                "meaning": card.meanings[name].sentence,
                "value": card[name],
                "bar": bar(card[name]),
                "total": name == total,
            }
            for name in shown
        ],
    }


def _part_of(figure: str) -> str:
    if figure.startswith(("IL", "PIL")):
        return "loss"
    if figure.startswith(("LL", "SL", "SH")):
        return "labels"
    if figure.startswith("KU"):
        return "singling out"
    return "inference" if figure in INFERENCE else "both"


def losses(subject: Subject) -> Markup | None:
    """What is lost, as far as it was measured."""
    if not len(subject.card):
        return None
    if subject.release.envelopes:
        return section("envelope_losses", rows=_of_envelopes(subject))
    card = subject.card
    series, of_labels = _numbers_and_labels(card)
    drawn = [_loss_figure(subject, column, title) for column, title in LOSSES.items()]
    return section(
        "losses",
        series_count=len(subject.release.data.series),
        part=card_part(card, "loss"),
        of_labels=card_part(card, "labels"),
        per_series=_each(card, series, "Series"),
        more_series=max(len(series) - SERIES_LISTED, 0),
        per_label=_each(card, of_labels, "Column"),
        more_labels=max(len(of_labels) - SERIES_LISTED, 0),
        loss_figures=[one for one in drawn if one is not None],
    )


def printed_card(card: Any, *, envelopes: bool) -> list[tuple[str, str, str]]:
    """Title, value and meaning of each figure of the score card, with the digits of the reports.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> printed_card(tv.evaluate(data, data), envelopes=False)[0][:2]
    ('loss in statistics', '0\xa0%')
    """
    return [
        (title, _of_envelope(value, unit) if envelopes or unit != "%" else percent(value), sentence)
        for _, value, (title, unit, sentence) in card.rows()
    ]


def _of_envelope(value: float, unit: str) -> str:
    return f"{value:,.{0 if value >= 1000 else 2}f}{unit and ' ' + unit}"


def _numbers_and_labels(card: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures of each series of numbers, and of each column or series of labels."""
    labels = {name: own for name, own in card.per_series.items() if "LL1" in own}
    return {name: own for name, own in card.per_series.items() if name not in labels}, labels


def _of_envelopes(subject: Subject) -> list[tuple[str, str, str]]:
    """Title, value and meaning of each figure; how many records are suppressed is for the owner only."""
    rows = []
    for name, value, (title, unit, sentence) in subject.card.rows():
        if not name.startswith("breach_") and not (subject.public and name == "suppressed"):
            rows.append((title, _of_envelope(value, unit), sentence))
    return rows


def _each(card: Any, every: dict[str, Any], what: str) -> dict[str, Any] | None:
    """The figures of each series, or of each column, where there are several."""
    if len(every) < 2:
        return None
    shown = dict(list(every.items())[:SERIES_LISTED])
    names = [name for name in card.meanings if any(name in row for row in shown.values())]
    heads = [Markup('{} <span class="symbol">{}</span>').format(card.meanings[name].title, name) for name in names]
    return {
        "columns": [(what, ""), *((head, "number") for head in heads)],
        "rows": [
            [series, *(percent(own[name]) if name in own else "–" for name in names)] for series, own in shown.items()
        ],
    }


#: what is kept of each record -> the title of its picture
LOSSES = {"loss": "Loss of each record", "loss_of_labels": "Loss of each record in its labels"}


def _loss_figure(subject: Subject, column: str, title: str) -> figures.Figure | None:
    if column not in subject.card.per_record.columns:
        return None
    loss = subject.card.per_record[column].to_numpy()
    middle, most = np.nanquantile(loss, [0.5, 0.9])
    return figures.histogram(
        loss,
        ink="loss",
        title=title,
        caption=f"Half of the records lose less than {middle:.0f} %, nine in ten less than {most:.0f} %.",
        axis="information loss of a record, %" if column == "loss" else "mean distance of its labels, %",
        public=subject.public,
    )
