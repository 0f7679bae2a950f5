"""Where the red team finds more than the report says: case and rung -> both rates. An entry goes when the product has an attack that is as good."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

BEATEN: Mapping[str, str] = {
    "projected() census-whole person": "rebuilt_projection finds 7.0 %, the report says 3.3 %: at 99.9 % at least 2.7 points more",
    "projected() walks-24 share": "fitted_borders finds 16.8 %, the report says 11.8 %: at 99.9 % at least 3.1 points more",
    "projected() census person": "rebuilt_projection finds 10.8 %, the report says 7.7 %: at 99.9 % at least 1.0 points more",
    "projected() census share": "fitted_borders finds 12.8 %, the report says 7.7 %: at 99.9 % at least 3.2 points more",
    "projected(projection=zscores) census share": "fitted_borders finds 15.5 %, the report says 5.7 %: at 99.9 % at least 7.9 points more",
}

#: points beyond the interval below which another machine's rounding may decide
CLOSE = 1.0


def marks_for(case: str) -> list[Any]:
    """The mark of a case that is beaten: it must go as soon as the report is as good, unless the difference is a close one."""
    reason = BEATEN.get(case)
    if reason is None:
        return []
    points = re.search(r"at least ([0-9.]+) points more", reason)
    assert points is not None, reason
    return [pytest.mark.xfail(strict=float(points[1]) >= CLOSE, reason=reason)]
