"""(k,P)-anonymity: time and losses on real sales (811 products, 52 weeks), and time for 20,000 series of 48 points.

    python benchmarks/kp.py [records]

Kernels are compiled first; the best of three rounds counts. Pattern losses compare words of 5 letters with the midlines
of envelopes without patterns (k-envelopes) by the same formula. The limits are those of a public implementation on 51
weeks: value loss 12,250 and 15,195, 4 to 20 seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from tsveil.data.dataset import Dataset
from tsveil.measure.envelope_loss import pattern_loss
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.intervals import IntervalMethod
from tsveil.protect.kp import KP
from tsveil.transform.sax import sax

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "sales_weekly.csv"
ROUNDS = 3
WORD_LENGTH = 5
METHODS: tuple[IntervalMethod, ...] = (
    KP(k=10, P=3, word_length=WORD_LENGTH),
    KP(k=10, P=3, word_length=WORD_LENGTH, levels="paper"),
    KAnonymousEnvelopes(k=10),
    KP(k=20, P=5, word_length=WORD_LENGTH),
    KP(k=20, P=5, word_length=WORD_LENGTH, levels="paper"),
    KAnonymousEnvelopes(k=20),
)


def seconds(work: Callable[[], object]) -> float:
    """The least time on the clock."""
    work()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        rounds.append(time.perf_counter() - start)
    return min(rounds)


def on_sales() -> None:
    frame = pl.read_csv(REAL)
    data = Dataset.from_frame(frame, id="product", blocks={"sales": {"from": "W0", "to": "W51", "kind": "series"}})
    x = data.block("sales")
    print("Weekly sales, 811 x 52. Targets: below 0.5 s; value loss below 11,500 for (10,3) and 15,000 for (20,5)\n")
    print(
        "| method | s | value loss | pattern loss: means | differences | signs | NCP % | suppressed | range error % | breach % |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for method in METHODS:
        taken = seconds(lambda method=method: method.protect(data))  # type: ignore[misc]
        release = method.protect(data)
        card = release.evaluate()
        losses = " | ".join(
            f"{pattern_loss(x[release.rows], release.table, features=features, word_length=WORD_LENGTH).sum():.1f}"
            for features in ("means", "differences", "signs")
        )
        worst = card.figures.get("breach_both", card["breach_values"])
        print(
            f"| {method.name} {release.guarantee.short}{', paper levels' * ('paper' in str(method))} | {taken:.3f} | {card['value_loss']:,.0f} | {losses} "
            f"| {card['ncp']:.1f} | {card['suppressed']:.0f} | {card['range_error']:.1f} | {worst:.1f} |"
        )


def on_walks(n: int) -> None:
    x = np.random.default_rng(1).normal(size=(n, 48)).cumsum(axis=1)
    data = Dataset.from_arrays({"walk": x})
    release = KP().protect(data)
    print(f"\nRandom walks, {n:,} x 48\n\n| step | s |\n| --- | ---: |")
    print(f"| protect, (10,3) (target for 20,000: below 10 s) | {seconds(lambda: KP().protect(data)):.2f} |")
    print(f"| verify | {seconds(release.verify):.2f} |")
    print(f"| evaluate | {seconds(release.evaluate):.2f} |")
    many = np.random.default_rng(2).normal(size=(100_000, 48)).cumsum(axis=1)
    print(f"| SAX, 100,000 x 48 to 8 letters (target: below 0.5 s) | {seconds(lambda: sax(many, 8, 8)):.3f} |")


def main(n: int = 20_000) -> None:
    if REAL.exists():
        on_sales()
    on_walks(n)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
