"""A release: protected records, what they promise, and what must stay private.

    folder/
      published/   data.csv or data.parquet (data/part-00000.csv ... where there are many), README.md, report.html, datapackage.json, croissant.json     may be passed on
      private/     id_map groups suppressed risk attribute_disclosure (.csv, or folders of parts), release.json, report.html,
                   ledger.json and ledger.parquet (what the next release of the same persons has to know)                         must not

The records lie in a store, in memory or in a folder, wherever they were protected. What was written is read back and verified before the folder
takes its final name (`tsveil.release.publish`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tsveil.assess.protected import AppliedMethod, ProtectedRecords
from tsveil.core.errors import InputError
from tsveil.core.notebook import table_in_html
from tsveil.core.params import Parameters
from tsveil.core.randomness import secret_numbers
from tsveil.core.toml import toml_text
from tsveil.core.types import Array, Indices
from tsveil.data.column_types import with_types
from tsveil.data.dataset import Dataset
from tsveil.data.pieces import make_store
from tsveil.data.records import in_published_order
from tsveil.data.source import Source
from tsveil.data.write import as_frame, words_as_text
from tsveil.guarantee.base import Promise
from tsveil.release.ledger import Ledger, has_ledger, ledger_facts, ledger_in, read_ledger
from tsveil.release.publish import publish


@dataclass(frozen=True, eq=False, repr=False)
class Release(ProtectedRecords):
    """Protected records with their guarantee; made by a method's `protect`."""

    #: what it continues: a release, its folder or its ledger
    after: Release | Ledger | str | Path | None = None
    #: the folders to which it was written, the last one last
    places: list[Path] = field(default_factory=list)

    # -- what the next release of the same persons has to know ----------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """What the next release has to know of this one and of those before."""
        if self.places:
            return read_ledger(self.places[-1])
        if not has_ledger(self.store):
            raise InputError(
                "no other release can continue this one: its method keeps no groups of persons, or the records have no identifier (id=, or person=)"
            )
        names = [in_published_order(self.store, at) for at in range(self.contents.files)]
        frames = []
        for one in names:
            table = one.published
            assert isinstance(table, Dataset)
            frames.append(pl.DataFrame({"number": one.numbers[one.rows], "identifier": table.ids}))
        return ledger_in(self.store, pl.concat(frames))

    @property
    def _folder_before(self) -> Path | None:
        """The folder of the release that this one continues."""
        if isinstance(self.after, str | Path):
            return Path(self.after)
        if isinstance(self.after, Release) and self.after.places:
            return self.after.places[-1]
        if self.after is None:
            return None
        raise InputError(
            "the release that this one continues was not written, so its ledger cannot name it\n  options: write that one first, or pass its folder as after="
        )

    # -- as a frame -----------------------------------------------------------------------------------------------------

    def to_polars(self) -> pl.DataFrame:
        """What is published, as a frame of polars: rows in random order, fresh identifiers, columns as in the file.

        The promise is not checked here: `verify` does that, and `write` refuses what does not keep it.

        Returns
        -------
        polars.DataFrame
            A row per record, or per record and time if the data were read like this; envelopes with their bounds.

        Examples
        --------
        >>> import tsveil as tv
        >>> data = tv.Dataset.from_arrays({"load": [[1.0, 2.0], [3.0, 4.0]]})
        >>> tv.MDAV(k=2).protect(data).to_polars().drop("id").rows()
        [(2.0, 3.0), (2.0, 3.0)]
        """
        tables = [self.published(at) for at in range(self.contents.files)]
        frames = [as_frame(one) if isinstance(one, Dataset) else one.to_frame() for one in tables]
        return with_types(pl.concat([words_as_text(one) for one in frames]), self.original.layout.types)

    def to_pandas(self) -> Any:
        """What is published, as a frame of pandas; see `to_polars`.

        Returns
        -------
        pandas.DataFrame
            The same rows and columns.

        Raises
        ------
        InputError
            If pandas or pyarrow is not installed.

        Examples
        --------
        >>> import tsveil as tv
        >>> data = tv.Dataset.from_arrays({"load": [[1.0, 2.0], [3.0, 4.0]]})
        >>> tv.MDAV(k=2).protect(data).to_pandas()["0"].tolist()
        [2.0, 2.0]
        """
        try:
            return self.to_polars().to_pandas()
        except ImportError as error:
            raise InputError(
                f"the release cannot be given as a frame of pandas: {error}\n  options: pip install pandas pyarrow, or to_polars()"
            ) from error

    # -- its folder -----------------------------------------------------------------------------------------------------

    def write(self, folder: str | Path, **options: Any) -> Path:
        """Write published/ and private/ with their reports into a folder, all or nothing.

        Where the data were read from a file, private/plan.toml is a plan that would make the release again.

        Parameters
        ----------
        folder
            Where to; a folder that exists is refused unless overwrite=True.
        options
            Those of `tsveil.release.publish.publish`: `format` ("csv", "parquet" and so on), `overwrite`, `allow` (names of checks that may fail; `allow_unverified` stands for the promise), `strict`, `limits` and `intruder` (what the verdict goes by), `formulas="keep"` (no apostrophe before names and texts of CSV files that a spreadsheet would run), `measures` (the options of measuring), `title` and `context` of the reports, and `extra` text files by their path.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        GuaranteeError
            If the promise does not hold, or another check fails that is not allowed.
        OutputError
            If the folder exists, or cannot be written.
        """
        origin = self.original.origin
        if origin is not None:
            plan = self._plan(Path(folder), options)
            extra = {"private/plan.toml": plan} if plan else {}
            options |= {"source": Path(origin.path).name, "digest": origin.digest}
            options["extra"] = {**extra, **options.get("extra", {})}
        if (before := self._folder_before) is not None:
            from tsveil.release.together import earlier_releases

            options = {"together_with": earlier_releases(before), **options}
        publish(self, folder, after=before, **options)
        self.places.append(Path(folder).absolute())
        return Path(folder)

    def _plan(self, folder: Path, options: dict[str, Any]) -> str:
        """The plan that would make this release again, as TOML; empty if it was read with what no plan can say, such as times in an array."""
        origin = self.original.origin
        assert origin is not None
        defaults = (
            {p.name: p.default for p in type(self.method).parameters()} if isinstance(self.method, Parameters) else {}
        )
        changed = {name: value for name, value in self.method.settings().items() if defaults.get(name) != value}
        output = {key: options[key] for key in ("format", "formulas", "title") if options.get(key)}
        if (before := self._folder_before) is not None:
            facts = ledger_facts(self.store)
            output |= {"after": str(before.absolute()), "ids": facts.ids, "regroup": facts.regroup}
        context = options.get("context")
        tables = {
            "input": {"path": origin.path, **origin.options},
            "method": {"name": self.method.name, **changed},
            "output": {"folder": str(folder.absolute()), **output},
            "evaluate": dict(options.get("measures") or {}),
            "context": msgspec.to_builtins(context) if context else {},
        }
        try:
            return toml_text(tables) + "\n"
        except TypeError:
            return ""

    def _repr_html_(self) -> str:
        """What was done and is promised, for notebooks; nothing is checked for that, and the seed is not shown."""
        rows = [("method", str(self.method)), ("records protected", f"{self.contents.n:,}"), ("records suppressed", f"{self.contents.suppressed:,}")]  # fmt: skip
        rows += (
            [("promise, not checked here", self.guarantee.words)] if self.guarantee.claims else [("promise", "none")]
        )
        rows += [("does not cover", self.guarantee.limits)] if self.guarantee.limits else []
        return table_in_html("Release", (), [*rows, *(("warning", text) for text in self.warnings)])

    def __repr__(self) -> str:
        gone = f" ({len(self.suppressed)} suppressed)" if self.envelopes and len(self.suppressed) else ""
        return f"Release: {self.method}; {self.contents.n} records{gone}; {self.guarantee.short}"


def release_of(
    original: Dataset,
    made: Array,
    order: Indices,
    *,
    method: AppliedMethod,
    guarantee: Promise,
    seed: int,
    **more: Any,
) -> Release:
    """A release from what a method made of data in memory, in the order of the data."""
    source = method.published_source(Source.of(original))
    suppressed = int(np.isnan(made).all(axis=1).sum()) if original.masked else 0
    store = make_store(
        source, original.values, made, original.others, order, whole=source.integers, suppressed=suppressed
    )
    store.put("names", secret_numbers(seed, original.n))
    if original.person:
        store.put("persons", original.persons)
    return Release(original, store, method, guarantee, seed, **more)
