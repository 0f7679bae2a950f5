"""What every page must be, at every width and in light and dark: usable by everybody, and never wider than its window."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: a desk, a tablet, a telephone, a small one
WIDTHS = (1280, 768, 420, 320)
_WIDEST = "document.documentElement.scrollWidth"
#: what is folded up is looked at, too; the answer is what was folded
_UNFOLD = """() => {
  const folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((one) => { one.open = true; });
  window.unfolded = folded;
}"""
_FOLD = "() => window.unfolded.forEach((one) => { one.open = false; })"


def judge(page: Page, axe: str) -> list[str]:
    """What is wrong with a page, in sentences; the page is left as it was."""
    found: list[str] = []
    before = page.viewport_size
    page.wait_for_load_state("load")  # with its styles
    page.evaluate(_UNFOLD)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        widest = page.evaluate(_WIDEST)
        if widest > width:
            found.append(f"{page.title()}: {widest} px wide in a window of {width}")
    if before is not None:
        page.set_viewport_size(before)
    page.evaluate(axe)
    for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        # Colours that are still on their way from one to the other would be judged halfway.
        page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished))")
        violations: list[dict[str, Any]] = page.evaluate(
            f"axe.run(document, {json.dumps({**options, 'resultTypes': ['violations']})}).then((found) => found.violations)"
        )
        for violation in violations:
            for node in violation["nodes"]:
                found.append(
                    f"{page.title()}, {scheme}: {violation['id']}: {node['html'][:200]} {node['failureSummary']}"
                )
    page.emulate_media(color_scheme="light")
    page.evaluate(_FOLD)
    return found
