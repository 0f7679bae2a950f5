"""The report of a release in many files: what was promised and checked, what was lost and what still leaks, and how the run went.

No picture of single records: whoever protects millions looks at figures first. The public page has what may be published; the private one adds the
input, the run and the warnings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tsveil.data.dataset import Block
from tsveil.errors import some
from tsveil.guarantee.base import Guarantee, Verdict
from tsveil.measure.kp import MEANINGS, IntervalCard
from tsveil.measure.scorecard import Scorecard
from tsveil.release import AppliedMethod
from tsveil.report.assessment import BANNERS
from tsveil.report.pages import page, percent

#: figures that sum others up
TOTALS = ("IL", "DR", "score")


def large_report(
    *,
    method: AppliedMethod,
    guarantee: Guarantee,
    verdict: Verdict,
    card: Scorecard | IntervalCard,
    n: int,
    blocks: Sequence[Block],
    confidential: Sequence[str],
    public: bool,
    title: str = "",
    source: str = "",
    files: int = 1,
    warnings: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
) -> str:
    """The report as the text of an HTML page; `source`, `warnings` and `facts` are shown to the owner only."""
    banner = BANNERS[verdict.status]
    by_known = {} if isinstance(card, IntervalCard) else card.by_known
    known = list(zip(*by_known.values(), strict=False))
    return page(
        "large.html.j2",
        {
            "public": public,
            "title": title or f"Protected {'time series' if any(b.is_series for b in blocks) else 'records'}",
            "banner": (banner[0], banner[1].format(guarantee.short)),
            "guarantee": guarantee,
            "verdict": verdict,
            "method": method,
            "settings": {name: value for name, value in method.settings().items() if value is not None},
            "n": n,
            "files": files,
            "blocks": [
                (b.name, "time series" if b.is_series else "attributes", len(b), b.columns[0], b.columns[-1])
                for b in blocks
            ],
            "confidential": some(confidential) if confidential else "",
            "figures": _figures(card),
            "options": card.options,
            "by_known": {"names": list(by_known), "rows": known} if len(known) > 1 else None,
            "source": "" if public else source,
            "warnings": [] if public else list(warnings),
            "facts": {} if public else _facts(facts or {}),
        },
    )


def _figures(card: Scorecard | IntervalCard) -> list[dict[str, Any]]:
    if isinstance(card, IntervalCard):
        return [
            {
                "name": label,
                "title": label,
                "meaning": meaning,
                "text": f"{card[name]:,.2f} {unit}".strip(),
                "bar": None,
                "total": False,
            }
            for name, (label, unit, meaning) in MEANINGS.items()
            if name in card
        ]
    return [
        {
            "name": name,
            "title": label,
            "meaning": meaning,
            "text": percent(card[name]),
            "bar": min(100.0, max(0.0, card[name])),
            "kind": "loss" if name.startswith(("IL", "PIL")) else "risk",
            "total": name in TOTALS,
        }
        for name, (label, meaning) in card.meanings.items()
        if name in card
    ]


def _facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Figures of the run, those of a part in one line each."""

    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {shown(one)}" for name, one in value.items())
        if isinstance(value, float):
            return f"{value:,.6g}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    return {name: shown(value) for name, value in facts.items()}
