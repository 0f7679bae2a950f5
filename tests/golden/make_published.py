"""Writes tests/golden/published.json: what the code of a checkout publishes and measures in the cases of tests/published_cases.py.

    PYTHONPATH=CHECKOUT/src:tests python tests/golden/make_published.py [--draws] [--out FILE]

It is run in the top folder of the project; CHECKOUT is any checkout of it, `.` for this one. Every case is run with two seeds, to see that
those marked `draws`, and no others, depend on it. With --draws only the cases that draw, and figures measured by random queries, are made
anew; the others stay as they are stored, for they must not move. Prints which of the stored values have changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import tsveil
from published_cases import ASKED, CASES, DATA, FIGURES, SEED, data_hash, figures, published_hash

STORED = Path(__file__).with_name("published.json")
#: significant digits of stored figures, three more than are compared
DIGITS = 12


def made() -> dict[str, dict[str, Any]]:
    """All that is stored."""
    hashes = {name: published_hash(case) for name, case in CASES.items()}
    depends = {name for name, case in CASES.items() if published_hash(case, SEED + 1) != hashes[name]}
    if wrong := sorted(depends ^ {name for name, case in CASES.items() if case.draws}):
        raise SystemExit("`draws` is wrong for: " + "; ".join(wrong))
    cards = {name: figures(case) for name, case in FIGURES.items()}
    return {
        "data": {name: data_hash(name) for name in DATA},
        "published": hashes,
        "figures": {
            name: {figure: float(f"{value:.{DIGITS}g}") for figure, value in card.items()}
            for name, card in cards.items()
        },
    }


def only_drawn(new: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What is stored, with what draws made anew."""
    hashes = {name: new["published"][name] if CASES[name].draws else old["published"][name] for name in CASES}
    cards = {
        name: {
            figure: value if FIGURES[name].draws or figure in ASKED else old["figures"][name][figure]
            for figure, value in new["figures"][name].items()
        }
        for name in FIGURES
    }
    return {"data": old["data"], "published": hashes, "figures": cards}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", action="store_true", help="make only those anew that depend on random numbers")
    parser.add_argument("--out", type=Path, default=STORED, help="where to write")
    options = parser.parse_args()
    print(f"the code of {Path(tsveil.__file__).parents[1]}")
    old = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    content = made()
    for section, found in content.items():
        for name, value in found.items():
            if name in (before := old.get(section, {})) and before[name] != value:
                print(f"moved: {section}: {name}")
    if options.draws:
        content = only_drawn(content, old)
    options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    drawn = sum(case.draws for case in CASES.values())
    print(f"{len(CASES)} cases, {drawn} of them draw; figures of {len(FIGURES)} releases")


if __name__ == "__main__":
    main()
