"""Where the red team finds more than the report says: case and rung -> both rates. An entry goes when the product has an attack that is as good."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

BEATEN: Mapping[str, str] = {
    "mic1d(kappa=1500) skewed-1000 person": "sides finds 49.8 %, the report says 46.1 %: at 99.9 % at least 0.8 points more",
    "projected() census-whole person": "rebuilt_projection finds 7.0 %, the report says 3.3 %: at 99.9 % at least 2.7 points more",
    "nlk(n=1,l=3,k=30) walks-4 person": "sides finds 97.5 %, the report says 90.1 %: at 99.9 % at least 1.9 points more",
    "nlk(n=1,l=3,k=30) walks-4 share": "matched_sides finds 97.5 %, the report says 92.9 %: at 99.9 % at least 0.2 points more",
    "projected() walks-24 share": "fitted_borders finds 16.8 %, the report says 11.8 %: at 99.9 % at least 3.1 points more",
    "projected() census person": "rebuilt_projection finds 10.8 %, the report says 7.7 %: at 99.9 % at least 1.0 points more",
    "projected() census share": "fitted_borders finds 12.8 %, the report says 7.7 %: at 99.9 % at least 3.2 points more",
    "projected(projection=zscores) census share": "fitted_borders finds 15.5 %, the report says 5.7 %: at 99.9 % at least 7.9 points more",
    "mic1d(kappa=400) skewed person": "sides finds 64.9 %, the report says 58.6 %: at 99.9 % at least 0.3 points more",
    "mic1d(kappa=400) skewed share": "matched_sides finds 72.1 %, the report says 58.6 %: at 99.9 % at least 7.0 points more",
    "rank-swap(p=10.0) skewed part": "likeliest_move finds 33.0 %, the report says 27.7 %: at 99.9 % at least 3.0 points more",
    "rank-swap(p=10.0) skewed person": "likeliest_move finds 72.8 %, the report says 67.0 %: at 99.9 % at least 2.1 points more",
    "rank-swap(p=10.0) tied part": "likeliest_move finds 27.0 %, the report says 18.8 %: at 99.9 % at least 5.1 points more",
    "rank-swap(p=10.0) tied person": "likeliest_move finds 61.4 %, the report says 48.4 %: at 99.9 % at least 7.1 points more",
    "rank-swap(p=10.0) tied share": "chain_of_trades finds 63.1 %, the report says 54.3 %: at 99.9 % at least 2.5 points more",
    "rank-swap(p=10.0) tied file": "chain_of_trades finds 65.3 %, the report says 59.1 %: at 99.9 % at least 0.3 points more",
    "rank-swap(p=30.0) walks-8 part": "likeliest_move_rare_row finds 19.2 %, the report says 7.3 %: at 99.9 % at least 7.4 points more",
    "rank-swap(p=30.0) walks-8 person": "likeliest_move_rare_row finds 33.5 %, the report says 7.3 %: at 99.9 % at least 19.6 points more",
    "rank-swap(p=10.0) census part": "likeliest_move finds 35.4 %, the report says 29.4 %: at 99.9 % at least 3.8 points more",
    "rank-swap(p=10.0) census person": "likeliest_move_rare_row finds 74.9 %, the report says 67.0 %: at 99.9 % at least 4.0 points more",
    "rank-swap-distribution(p=10.0) skewed part": "likeliest_move finds 18.3 %, the report says 11.6 %: at 99.9 % at least 4.2 points more",
    "rank-swap-distribution(p=10.0) skewed person": "likeliest_move finds 42.1 %, the report says 29.9 %: at 99.9 % at least 6.7 points more",
    "rank-swap-distribution(p=10.0) skewed share": "chain_of_trades finds 95.8 %, the report says 44.6 %: at 99.9 % at least 45.8 points more",
    "rank-swap-distribution(p=20.0) walks-8 person": "likeliest_move_rare_row finds 28.7 %, the report says 11.8 %: at 99.9 % at least 10.3 points more",
    "rank-swap-distribution(p=20.0) walks-8 share": "chain_of_trades finds 96.8 %, the report says 92.3 %: at 99.9 % at least 0.6 points more",
    "rank-swap-distribution(p=10.0) census part": "likeliest_move finds 20.5 %, the report says 14.2 %: at 99.9 % at least 3.7 points more",
    "rank-swap-distribution(p=10.0) census person": "likeliest_move finds 45.4 %, the report says 35.7 %: at 99.9 % at least 4.3 points more",
    "rank-swap-distribution(p=10.0) census share": "chain_of_trades finds 97.2 %, the report says 41.7 %: at 99.9 % at least 50.3 points more",
    "rank-swap-buckets(buckets=20) skewed part": "likeliest_move finds 27.5 %, the report says 21.2 %: at 99.9 % at least 4.1 points more",
    "rank-swap-buckets(buckets=20) skewed person": "likeliest_move finds 51.7 %, the report says 41.7 %: at 99.9 % at least 5.5 points more",
    "rank-swap-buckets(buckets=20) skewed share": "chain_of_trades finds 93.8 %, the report says 49.8 %: at 99.9 % at least 38.5 points more",
    "rank-swap-buckets(buckets=5) walks-8 part": "likeliest_move_rare_row finds 15.5 %, the report says 9.0 %: at 99.9 % at least 2.6 points more",
    "rank-swap-buckets(buckets=5) walks-8 person": "likeliest_move_rare_row finds 25.8 %, the report says 9.0 %: at 99.9 % at least 11.0 points more",
    "rank-swap-buckets(buckets=5) walks-8 share": "chain_of_trades finds 97.0 %, the report says 91.0 %: at 99.9 % at least 2.0 points more",
    "rank-swap-buckets(buckets=20) census part": "likeliest_move finds 29.5 %, the report says 23.4 %: at 99.9 % at least 3.9 points more",
    "rank-swap-buckets(buckets=20) census person": "likeliest_move finds 51.9 %, the report says 42.8 %: at 99.9 % at least 4.5 points more",
    "rank-swap-buckets(buckets=20) census share": "chain_of_trades finds 95.9 %, the report says 43.4 %: at 99.9 % at least 46.9 points more",
    "mdav persons told file": "one_answer_for_all finds 25.0 %, the report says 24.8 %: at 99.9 % at least 0.0 points more",
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
