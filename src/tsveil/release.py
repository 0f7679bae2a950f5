"""A release: protected data, what it promises, and what must stay private.

    folder/
      published/   data.csv or data.parquet, README.md         may leave the house
      private/     id_map.csv groups.csv risk.csv attribute_disclosure.csv release.json   must not

Published rows are shuffled and carry fresh random identifiers: the position of a record in a file identifies it. What was
written is read back and verified before the folder takes its final name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl

from tsveil._types import Indices
from tsveil.attack.attribute import AttributeDisclosure, attribute
from tsveil.data.dataset import Block, Dataset
from tsveil.data.formulas import harmless_dataset, with_names_of
from tsveil.data.published import read_like
from tsveil.data.write import complete_folder, write_table
from tsveil.errors import GuaranteeError
from tsveil.guarantee.base import Guarantee, Verdict
from tsveil.measure.evaluate import evaluate
from tsveil.measure.scorecard import Scorecard
from tsveil.randomness import secret_names, secret_order
from tsveil.technique import Technique

#: what happens to texts that a spreadsheet would take for formulas
Formulas = Literal["keep", "neutralise"]
#: the file by which a folder is known as a release
MARKER = "private/release.json"


class AppliedMethod(Protocol):
    """The method that made a release, as far as a release needs to know it."""

    @property
    def name(self) -> str:
        """Its key in the registry."""

    @property
    def summary(self) -> str:
        """One line that says what it does."""

    @property
    def reference(self) -> str:
        """Where it was published."""

    @property
    def techniques(self) -> tuple[Technique, ...]:
        """What ISO/IEC 20889 calls it, the main technique first."""

    def settings(self) -> dict[str, Any]:
        """Its parameters."""


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Protected data with its guarantee; made by a method's `protect`."""

    original: Dataset
    #: the protected data, row by row aligned with the original
    data: Dataset
    method: AppliedMethod
    guarantee: Guarantee
    #: block -> group of each record
    groups: Mapping[str, Indices]
    #: the secret from which order and identifiers follow
    seed: int
    warnings: tuple[str, ...] = ()
    #: block -> figures of the run
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def verify(self) -> Verdict:
        """Check the promise on the protected values alone."""
        return self.guarantee.verify(self.data)

    def evaluate(self, **options: Any) -> Scorecard:
        """Measure loss and risk; the options are those of `tsveil.evaluate`."""
        return evaluate(self.original, self, **options)

    def attribute_disclosure(self) -> AttributeDisclosure:
        """The confidential values that groups of equal published records give away; private."""
        return attribute(self)

    def published(self) -> tuple[Dataset, Indices]:
        """The data as published, shuffled and renamed, and the original row of each published one."""
        order = secret_order(self.seed, self.data.n)
        names = pl.Series(self.data.id or free_name(_taken(self.data)), secret_names(self.seed, self.data.n))
        shuffled = self.data.take(order)
        confidential = shuffled.others.select(list(self.data.confidential)).get_columns()
        return replace(shuffled, others=pl.DataFrame([names, *confidential]), id=names.name), order

    def write(
        self,
        folder: str | Path,
        *,
        format: Literal["csv", "parquet"] | None = None,
        overwrite: bool = False,
        allow_unverified: bool = False,
        card: Scorecard | None = None,
        extra: Mapping[str, str] | None = None,
        formulas: Formulas = "keep",
    ) -> Path:
        """Write published/ and private/ into a folder, all or nothing, and give its path.

        `card` is the score card if it was computed already; `extra` holds further text files by their path in the folder
        (reports, the plan). `formulas="neutralise"` puts an apostrophe before names and texts of the published CSV file that a
        spreadsheet would run. A release whose guarantee does not hold is refused unless `allow_unverified`.
        """
        verdict = self.verify()
        refuse_unverified(verdict, allow_unverified)
        # Short series are no reason to refuse a release: forecasts they are too short for are left out, and the card says so.
        card = card or (self.evaluate(models="fitting") if self.original.series else self.evaluate())
        published, order = self.published()
        with complete_folder(Path(folder), overwrite=overwrite, marker=MARKER) as place:
            public, private = place / "published", place / "private"
            public.mkdir()
            private.mkdir(mode=0o700)  # for its owner only
            harmless = formulas == "neutralise" and (format or published.layout.format) == "csv"
            content = harmless_dataset(published) if harmless else published
            path = write_table(content, public, "data", format)
            # The promise is about the file, so the file is what is checked last; it speaks of columns by their own names.
            written = with_names_of(published, read_like(path, content, own=True))
            refuse_unverified(self.guarantee.verify(written), allow_unverified)
            about = readme(
                path.name, self.data.n, self.data.blocks, self.data.confidential, self.method, self.guarantee, verdict
            )
            (public / "README.md").write_text(about, encoding="utf-8")
            self._write_private(private, published, order, verdict, card)
            for name, text in (extra or {}).items():
                (place / name).write_text(text, encoding="utf-8")
        return Path(folder)

    def _write_private(
        self, private: Path, published: Dataset, order: Indices, verdict: Verdict, card: Scorecard
    ) -> None:
        ids = self.original.ids
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        released = published.ids[place.tolist()]
        pl.DataFrame({"original": ids, "released": released, "published_row": place + 1}).write_csv(
            private / "id_map.csv"
        )
        if self.groups:
            pl.DataFrame({"original": ids, **self._group_columns()}).write_csv(private / "groups.csv")
        if "risk" in card.per_record.columns:  # of a sample of targets there is no risk of the others
            card.per_record.write_csv(private / "risk.csv")
        given_away = self.attribute_disclosure()
        if self.data.confidential:
            given_away.listed(ids).write_csv(private / "attribute_disclosure.csv")
        facts = {
            "method": self.method.name,
            "settings": self.method.settings(),
            "guarantee": verdict.guarantee,
            "verdict": verdict.status,
            "witness": verdict.witness,
            "seed": str(self.seed),
            "warnings": list(self.warnings),
            "facts": {block: dict(facts) for block, facts in self.facts.items()},
            "scores": card.to_dict(),
            "attribute_disclosure": given_away.counts,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        (private / "release.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    def _group_columns(self) -> dict[str, Indices]:
        """A column per block, or per column of a block whose columns were grouped one by one."""
        found: dict[str, Indices] = {}
        for name, labels in self.groups.items():
            if labels.ndim == 1:
                found[f"group of {name}"] = labels
            else:
                found |= {f"group of {c}": labels[:, at] for at, c in enumerate(self.data.block_named(name).columns)}
        return found

    def __repr__(self) -> str:
        return f"Release: {self.method}; {self.data.n} records; {self.guarantee.short}"


def readme(
    file: str,
    n: int,
    blocks: Sequence[Block],
    confidential: Sequence[str],
    method: AppliedMethod,
    guarantee: Guarantee,
    verdict: Verdict,
) -> str:
    """What the users of the data should know; nothing private."""
    settings = ", ".join(f"{name} = {value}" for name, value in method.settings().items() if value is not None)
    listed = "\n".join(
        f"- {block.name}: {'time series of ' + str(len(block)) + ' points' if block.is_series else str(len(block)) + ' attributes'}"
        f" ({block.columns[0]} to {block.columns[-1]}), protected"
        for block in blocks
    )
    carried = "".join(f"- {name}: carried unchanged\n" for name in confidential)
    # The witness stays private: it names rows in the order of the original file.
    unverified = (
        f"\n**WARNING: THE GUARANTEE WAS NOT VERIFIED: {verdict.status.upper()}.**\n" if verdict.blocks_release else ""
    )
    return (
        f"# Protected data\n\n`{file}` holds {n} records whose values were protected before publication. The values are not the "
        f"original ones, rows are in random order, and identifiers were replaced by random ones.\n{unverified}\n"
        f"## Method\n\n{method.name} ({settings}): {method.summary}.\n\nReference: {method.reference}.\n\n"
        f"## Guarantee\n\n{guarantee.words} {guarantee.limits}\n\nVerification of this file: {verdict.status}.\n\n"
        f"## Columns\n\n{listed}\n{carried}\n"
        "Made with tsveil.\n"
    )


def refuse_unverified(verdict: Verdict, allow_unverified: bool) -> None:
    """Stop a release whose promise is broken or undecided, unless it was asked for all the same."""
    if verdict.blocks_release and not allow_unverified:
        raise GuaranteeError(
            f"the release was not written, because its guarantee is {verdict.status}\n{verdict}\n"
            "  options: other parameters, or --allow-unverified (allow_unverified=True) to write it all the same"
        )


def free_name(taken: Collection[str | None]) -> str:
    """A name for the identifier column of data that had none."""
    return next(name for name in ("id", "record", "record_id", "released_id") if name not in taken)


def _taken(data: Dataset) -> set[str | None]:
    return {*data.columns, *data.confidential, data.layout.time, data.layout.variable, *data.layout.values}
