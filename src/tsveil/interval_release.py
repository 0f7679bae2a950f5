"""A release of intervals: envelopes of time series with their patterns, what it promises, and what must stay private.

    folder/
      published/   data.csv or data.parquet, README.md                       may leave the house
      private/     id_map.csv groups.csv suppressed.csv risk.csv attribute_disclosure.csv release.json   must not

The published table has the layout of `tsveil.data.intervals`: lo_T and hi_T for every time point, pattern and level,
and the carried columns. Rows are shuffled and have no identifier. What was written is read back and verified before the
folder takes its final name.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> from tsveil.protect.kp import KP
>>> rng = np.random.default_rng(1)
>>> release = KP(k=4, P=2).protect(tv.Dataset.from_arrays({"load": rng.normal(size=(40, 12)).cumsum(axis=1)}))
>>> release.verify().holds
True
>>> release.query.range_count({0: (-1, 1)}).most <= 40
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from tsveil._types import Array, Indices
from tsveil.attack.attribute import AttributeDisclosure, attribute
from tsveil.data.dataset import Block, Dataset
from tsveil.data.formulas import harmless_frame
from tsveil.data.intervals import IntervalTable, read_intervals
from tsveil.data.write import complete_folder, write_frame
from tsveil.errors import OutputError
from tsveil.guarantee.base import Verdict
from tsveil.guarantee.kp import EnvelopeAnonymity, KPAnonymity
from tsveil.measure.kp import Features, IntervalCard, evaluate_intervals
from tsveil.measure.queries import Queries
from tsveil.randomness import secret_order
from tsveil.release import MARKER, AppliedMethod, Formulas, refuse_unverified


@dataclass(frozen=True, eq=False, repr=False)
class IntervalRelease:
    """Published envelopes with their guarantee; made by the `protect` of KP and KAnonymousEnvelopes."""

    original: Dataset
    #: what is published, in the order of the original
    table: IntervalTable
    #: the original row of each published record; the others are suppressed
    rows: Indices
    #: the group of each published record
    groups: Indices
    method: AppliedMethod
    guarantee: KPAnonymity | EnvelopeAnonymity
    #: the secret from which the order of rows follows
    seed: int
    warnings: tuple[str, ...] = ()
    #: figures of the run
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of published records."""
        return self.table.n

    @property
    def block(self) -> Block:
        """The series that is published."""
        return self.original.blocks[0]

    @property
    def lo(self) -> Array:
        """The lower bounds, published records by time points."""
        return self.table.lo

    @property
    def hi(self) -> Array:
        """The upper bounds."""
        return self.table.hi

    @property
    def words(self) -> tuple[str, ...] | None:
        """The pattern of each published record."""
        return self.table.words

    @property
    def levels(self) -> Indices | None:
        """The level of each pattern."""
        return self.table.levels

    @property
    def confidential(self) -> pl.DataFrame:
        """The carried columns of the published records."""
        return self.table.others

    @property
    def suppressed(self) -> Indices:
        """The original rows that are not published."""
        return np.setdiff1d(np.arange(self.original.n), self.rows)

    @property
    def own(self) -> Indices:
        """The row of `table` that belongs to each original record; -1: suppressed."""
        own = np.full(self.original.n, -1, dtype=np.int64)
        own[self.rows] = np.arange(self.n)
        return own

    @property
    def query(self) -> Queries:
        """Queries on what is published; rows are those of the published file."""
        return Queries(self.table.take(secret_order(self.seed, self.n)))

    def verify(self) -> Verdict:
        """Check the promise on the published table alone."""
        return self.guarantee.verify(self.table)

    def evaluate(self, *, features: Features = "means", seed: int = 0) -> IntervalCard:
        """Measure losses, query errors and breach probabilities.

        `features` is what the pattern loss compares; the seed chooses the queries.
        """
        return evaluate_intervals(
            self.original.block(self.block.name), self.table, self.own, self.original.ids, features=features, seed=seed
        )

    def attribute_disclosure(self) -> AttributeDisclosure:
        """The confidential values that groups of equal published records give away; private."""
        return attribute(self.table)

    def published(self) -> tuple[pl.DataFrame, Indices]:
        """The table as published, shuffled and without identifiers, and the original row of each published one."""
        order = secret_order(self.seed, self.n)
        return self.table.take(order).to_frame(whole=self.original.integers), self.rows[order]

    def write(
        self,
        folder: str | Path,
        *,
        format: Literal["csv", "parquet"] | None = None,
        overwrite: bool = False,
        allow_unverified: bool = False,
        card: IntervalCard | None = None,
        extra: Mapping[str, str] | None = None,
        formulas: Formulas = "keep",
    ) -> Path:
        """Write published/ and private/ into a folder, all or nothing, and give its path.

        `card` holds the figures if they were computed already; `extra` holds further text files by their path in the
        folder; `formulas="neutralise"` puts an apostrophe before names and texts of the published CSV file that a spreadsheet
        would run. A release whose guarantee does not hold is refused unless `allow_unverified`.
        """
        if not self.n:
            raise OutputError(
                f"there is nothing to publish: all {self.original.n} records were suppressed\n  options: a smaller k or P, a shorter word"
            )
        verdict = self.verify()
        refuse_unverified(verdict, allow_unverified)
        card = card or self.evaluate()
        frame, original = self.published()
        layout = self.original.layout
        with complete_folder(Path(folder), overwrite=overwrite, marker=MARKER) as place:
            public, private = place / "published", place / "private"
            public.mkdir()
            private.mkdir(mode=0o700)
            path = public / f"data.{format or layout.format}"
            harmless = formulas == "neutralise" and path.suffix == ".csv"
            write_frame(harmless_frame(frame) if harmless else frame, path, layout)
            # The promise is about the file, so the file is what is checked last.
            written = read_intervals(path, separator=layout.separator, decimal=layout.decimal)
            refuse_unverified(self.guarantee.verify(written), allow_unverified)
            (public / "README.md").write_text(self._readme(verdict, path.name), encoding="utf-8")
            self._write_private(private, original, verdict, card)
            for name, text in (extra or {}).items():
                (place / name).write_text(text, encoding="utf-8")
        return Path(folder)

    def _write_private(self, private: Path, original: Indices, verdict: Verdict, card: IntervalCard) -> None:
        ids = self.original.ids
        place = np.empty(self.original.n, dtype=np.int64)
        place[original] = np.arange(1, self.n + 1)
        chosen = ids[self.rows.tolist()]
        pl.DataFrame({"original": chosen, "published_row": place[self.rows]}).write_csv(private / "id_map.csv")
        patterns = {} if self.words is None else {"pattern": self.words, "level": self.levels}
        pl.DataFrame({"original": chosen, "group": self.groups, **patterns}).write_csv(private / "groups.csv")
        pl.DataFrame({"original": ids[self.suppressed.tolist()]}).write_csv(private / "suppressed.csv")
        card.per_record.write_csv(private / "risk.csv")
        given_away = self.attribute_disclosure()
        if self.confidential.columns:
            given_away.listed(chosen).write_csv(private / "attribute_disclosure.csv")
        facts = {
            "method": self.method.name,
            "settings": self.method.settings(),
            "guarantee": verdict.guarantee,
            "verdict": verdict.status,
            "witness": verdict.witness,
            "seed": str(self.seed),
            "warnings": list(self.warnings),
            "facts": dict(self.facts),
            "scores": card.to_dict(),
            "attribute_disclosure": given_away.counts,
            "homogeneous": {name: {"classes": c, "records": r} for name, (c, r) in card.homogeneous.items()},
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        (private / "release.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    def _readme(self, verdict: Verdict, file: str) -> str:
        """What the users of the data should know; nothing private."""
        settings = ", ".join(f"{name} = {value}" for name, value in self.method.settings().items() if value is not None)
        first, last = self.table.labels[0], self.table.labels[-1]
        # The witness stays private: it names rows of the original file.
        unverified = (
            f"\n**WARNING: THE GUARANTEE WAS NOT VERIFIED: {verdict.status.upper()}.**\n"
            if verdict.blocks_release
            else ""
        )
        columns = (
            f"- `lo_{first}`, `hi_{first}` to `lo_{last}`, `hi_{last}`: at each of the {len(self.table.labels)} time points, the record's value lies "
            "between the two, both included\n"
        )
        if self.words is not None:
            columns += (
                f"- `pattern`: the shape of the record's series as a SAX word. The series is scaled to mean 0 and standard deviation 1, cut into "
                f"{len(self.words[0])} segments of equal length, and the mean of each becomes a letter\n"
                "- `level`: how many letters the word chooses from, with the same chance for each under the normal distribution: at level 4 the letters "
                "a to d mean below -0.674, -0.674 to 0, 0 to 0.674, above 0.674\n"
            )
        columns += "".join(f"- `{name}`: carried unchanged\n" for name in self.confidential.columns)
        return (
            f"# Protected time series\n\n`{file}` holds {self.n} records. Instead of values it holds intervals, which a group of records has in common. "
            f"Rows are in random order and have no identifiers.\n{unverified}\n"
            f"## Method\n\n{self.method.name} ({settings}): {self.method.summary}.\n\nReference: {self.method.reference}.\n\n"
            f"## Guarantee\n\n{self.guarantee.words} {self.guarantee.limits}\n\nVerification of this file: {verdict.status}.\n\n"
            f"## Columns\n\n{columns}\n"
            "Made with tsveil.\n"
        )

    def __repr__(self) -> str:
        gone = f" ({len(self.suppressed)} suppressed)" if len(self.suppressed) else ""
        return f"IntervalRelease: {self.method}; {self.n} records{gone}; {self.guarantee.short}"
