"""What a sweep found: a row per configuration, to be looked at, drawn, and chosen from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tsveil.assess.assessment import Attempt, strongest
from tsveil.assess.limits import IN_WORDS, RUNGS, Intruder, Knows
from tsveil.assess.summary import LOSS, Baseline, risk_in_words
from tsveil.core.errors import InputError
from tsveil.core.notebook import table_in_html
from tsveil.core.randomness import derived_seed, release_seed
from tsveil.study import store
from tsveil.study.choice import Recommendation, recommend, with_front
from tsveil.study.grids import Configuration


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The configurations of a sweep with their risk and loss; made by `tsveil.sweep` or `Study.load`.

    Examples
    --------
    >>> import tsveil as tv
    >>> study = tv.sweep(tv.example("food-prices"), ["mdav", "noise"], {"mdav": {"k": [2, 4]}, "noise": {"sd": [0.01]}}, seed=1)
    >>> study
    Study: 3 configurations of 2 methods, 3 on the Pareto front
    >>> print(study.recommend(max_risk=30).best["label"])
    mdav k=4
    """

    #: a row per configuration: key, method, settings (JSON), label, risk (the rate of the strongest attack), high (the end of its interval, if not everybody was
    #: attacked), loss, attack, intruder, verdict, guarantee, bound (of the risk, by the promise), stopped (by which checks), seconds, problem, figures (JSON),
    #: ladder (JSON: what all attacks find), pareto
    table: pl.DataFrame
    #: what was swept and how it was measured: data, kind, records, evaluate, intruder, baseline, version, seed (a secret), asked
    about: Mapping[str, Any]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], about: Mapping[str, Any]) -> Study:
        """From finished configurations; the order of the table is that of the registry and of the parameters.

        Parameters
        ----------
        rows
            A row for each configuration.
        about
            What the study is about, as study.json has it.

        Returns
        -------
        Study
            The study.
        """
        ordered = sorted(rows, key=lambda row: Configuration(row["method"], json.loads(row["settings"])).order)
        intruder = Intruder(**about["intruder"])
        judged = [{**row, **_found_by(intruder, row["ladder"])} for row in ordered]
        return cls(with_front(pl.DataFrame(judged, schema=store.SCHEMA)), dict(about))

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """From the folder of a sweep; of one that was stopped, what it had finished.

        Parameters
        ----------
        folder
            The folder.

        Returns
        -------
        Study
            Its table.

        Raises
        ------
        InputError
            If there is no study in it, or one of an earlier version.
        """
        folder = Path(folder)
        about = store.about_in(folder)
        if about is None:
            raise InputError(
                f"there is no study in {folder}: study.json is missing\n  options: `tsveil sweep` makes one"
            )
        if "intruder" not in about:
            raise InputError(
                f"{folder} holds a study of an earlier version, whose risk was a mean over what is known\n"
                "  options: the same sweep again; it computes everything anew"
            )
        path = folder / "study.parquet"
        if not path.is_file():
            return cls.of(store.read_results(folder).values(), about)
        try:
            table = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{path} cannot be read: {error}") from error
        if missing := [name for name in (*store.SCHEMA, "pareto") if name not in table.columns]:
            raise InputError(f"{path} is not the table of a study: it has no column {', '.join(missing)}")
        return cls(table, about)

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for is there; a sweep that was stopped has less."""
        return len(self.table) >= int(self.about["asked"])

    @property
    def definitions(self) -> tuple[str, str]:
        """What risk and loss are, in words."""
        return risk_in_words(self.intruder), LOSS[self.about["kind"]]

    @property
    def baseline(self) -> Baseline | None:
        """What is found in the original data and by guessing; studies of earlier versions do not know it."""
        return Baseline(**self.about["baseline"]) if "baseline" in self.about else None

    @property
    def intruder(self) -> Intruder:
        """Whom the risk is about."""
        return Intruder(**self.about["intruder"])

    def against(self, knows: Knows | None) -> Study:
        """The study for an intruder who knows less or more.

        Parameters
        ----------
        knows
            "file", "release", "person" and so on (`tsveil.assess.limits`); None: the study as it is.

        Returns
        -------
        Study
            The same configurations, with his risk.
        """
        if knows is None or knows == self.intruder.knows:
            return self
        about = {**self.about, "intruder": {**self.about["intruder"], "knows": knows}}
        return Study.of(self.table.drop("pareto").to_dicts(), about)

    def pareto(self) -> pl.DataFrame:
        """The front: what no other configuration beats in both risk and loss, from the least risk to the most."""
        return self.table.filter("pareto").sort("risk", "loss", maintain_order=True)

    def recommend(
        self, max_risk: float | None = None, max_loss: float | None = None, *, verified: bool = False
    ) -> Recommendation:
        """The least loss within a limit of risk, or the least risk within a limit of loss; for another intruder see `against`.

        With both limits: the least loss within both. The notes say what each intruder finds in it, and what would have been chosen against weaker ones.

        Parameters
        ----------
        max_risk
            The most risk, in percent.
        max_loss
            The most loss, in percent.
        verified
            Leave out what promises nothing.

        Returns
        -------
        Recommendation
            The configuration, or why there is none.

        Raises
        ------
        ParameterError
            If there is no limit, or one is not from 0 to 100.
        """
        found = recommend(self.table, max_risk, max_loss, verified=verified)
        if found.best is None or found.best["ladder"] is None or max_risk is None:
            return found
        return replace(
            found, notes=(_rungs_in_words(found.best), *self._against_weaker(found.best, max_risk, max_loss, verified))
        )

    def _against_weaker(
        self, best: Mapping[str, Any], max_risk: float, max_loss: float | None, verified: bool
    ) -> Iterator[str]:
        """What would have been chosen if the intruder knew less, and why it was not."""
        keys = {best["key"]}
        for knows in RUNGS[: RUNGS.index(self.intruder.knows)]:
            other = recommend(self.against(knows).table, max_risk, max_loss, verified=verified).best
            if other is None or other["key"] in keys:
                continue
            keys.add(other["key"])
            here = self.table.row(by_predicate=pl.col("key") == other["key"], named=True)
            yield (
                f"Against who knows {IN_WORDS[knows]} it would have been {other['label']}, with a risk of {other['risk']:.1f} % and a loss of {other['loss']:.1f} %. It was not chosen because "
                f"who knows {IN_WORDS[self.intruder.knows]} finds {here['risk']:.1f} % ({here['attack']})."
            )

    def map_html(self) -> str:
        """The risk-utility map as a piece of HTML.

        Its script and style are apart: `tsveil.report.risk_map.map_script` and `map_style`.
        """
        from tsveil.report.risk_map import map_html

        return map_html(self)

    def map(self, path: str | Path) -> Path:
        """Write the map.

        Parameters
        ----------
        path
            A file: .html with tooltips and score cards, .svg or .png for papers.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            If it cannot be written, or has another ending.
        """
        from tsveil.report.risk_map import write_map

        write_map(self, Path(path))
        return Path(path)

    def report(self, *, title: str = "", max_risk: float | None = None, max_loss: float | None = None) -> str:
        """The study as an HTML page with the map, the table, and what to choose within the limits.

        Parameters
        ----------
        title
            The title of the page.
        max_risk
            The most risk, in percent.
        max_loss
            The most loss, in percent.

        Returns
        -------
        str
            The page.

        Raises
        ------
        ParameterError
            If a limit is not from 0 to 100.
        """
        from tsveil.report.risk_map import study_page

        return study_page(self, title=title, max_risk=max_risk, max_loss=max_loss)

    def seed_of(self, key: str) -> int:
        """The seed with which a configuration was made; a secret, as the study's own is.

        Parameters
        ----------
        key
            The key of the configuration in the table.

        Returns
        -------
        int
            The seed.
        """
        return derived_seed(int(self.about["seed"]), f"study/{key}")

    @property
    def secret(self) -> str:
        """What makes a seed that a person chose a secret; empty where the seed stands for itself."""
        return str(self.about.get("secret", ""))

    def release_seed_of(self, key: str) -> int:
        """The seed of the release of a configuration.

        Parameters
        ----------
        key
            The key of the configuration in the table.

        Returns
        -------
        int
            The seed, a secret.
        """
        return release_seed(self.seed_of(key), self.secret)

    def _repr_html_(self) -> str:
        """The Pareto front, from the least risk to the most, for notebooks."""
        rows = [
            (row["label"], f"{row['risk']:.1f} %", f"{row['loss']:.1f} %", row["verdict"])
            for row in self.pareto().iter_rows(named=True)
        ]
        caption = " ".join([f"{self!r}.", *self.definitions])
        return table_in_html(caption, ("configuration", "risk", "loss", "promise"), rows)

    def __repr__(self) -> str:
        failed = int(self.table["problem"].is_not_null().sum())
        parts = [
            f"{len(self.table)} configurations of {self.table['method'].n_unique()} methods",
            f"{int(self.table['pareto'].sum())} on the Pareto front",
        ]
        parts += [f"{failed} could not be run"] if failed else []
        return "Study: " + ", ".join(parts)


def _rungs_in_words(row: Mapping[str, Any]) -> str:
    """The best attack of each rung."""
    best: dict[str, Attempt] = {}
    for one in (Attempt(**attempt) for attempt in json.loads(row["ladder"])):
        if one.rung not in best or one.high > best[one.rung].high:
            best[one.rung] = one
    return f"What each intruder finds: {', '.join(f'{rung} {one.rate:.1f} % ({one.attack})' for rung, one in best.items())}."


def _found_by(intruder: Intruder, ladder: str | None) -> dict[str, Any]:
    """What the strongest attack of an intruder finds, as columns of the table."""
    if ladder is None:
        return {}
    risk = strongest([Attempt(**attempt) for attempt in json.loads(ladder)], intruder)
    return {"risk": risk.rate, "high": risk.high, "attack": risk.attack, "intruder": intruder.knows}
