"""What still leaks: how releases of series, of attributes and of envelopes are attacked, and what score follows.

Linkages are averaged over how much the intruder knows: the number of known series, from one to all, or of known attributes. Envelopes are attacked
by whoever knows a whole series. The formulas of the scores stand in `measure.score`.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009) 1663-1677.
.. [2] J. Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata, in
   Confidentiality, Disclosure and Data Access, North-Holland (2001) 111-133.
.. [3] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tsveil.attack.base import Attack, Finding, Knowledge, LeavesTraces, OnRequest, OtherPeriod, Rung, Settings, Shape
from tsveil.attack.candidates import marks, number_marks
from tsveil.attack.choose import fitting, not_tried
from tsveil.attack.files import Ties, checked_counts, known_columns
from tsveil.attack.interval import PERCENTS
from tsveil.attack.kp import Fitting, Piece, links_of, merged_fits, merged_touches, targets_of
from tsveil.attack.labels import labelled
from tsveil.attack.links import Links
from tsveil.attack.periods import periods_in_words
from tsveil.attack.pieces import Pieces, Side
from tsveil.attack.run import AttackResults, chances_of, risks_of, run_attacks
from tsveil.attack.targets import checked_targets, in_words
from tsveil.core.errors import InputError
from tsveil.core.params import Check, Parameters, one_of, param
from tsveil.core.registry import ATTACKS
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.store import Store, open_store
from tsveil.engine.base import Engine, Result, Task
from tsveil.guarantee.counting import shares_of
from tsveil.measure.base import Kind, Meaning, Schema
from tsveil.measure.score import LINKAGES, MEANINGS, Score, combine_rates, risk_and_score
from tsveil.transform.exact import parts, total
from tsveil.transform.normalise import How, Scaling

By = Literal["attributes", "blocks"]


@dataclass(frozen=True, eq=False)
class Risks:
    """What the attacks on a release found."""

    #: the figures of the attacks, and those that combine them with the measures
    figures: dict[str, float]
    meanings: dict[str, Meaning]
    #: how the release was attacked; what was left out
    options: dict[str, str]
    notes: dict[str, str]
    #: piece -> columns of the card that say something of each record
    columns: Callable[[int], dict[str, AnyArray]]
    by_known: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    links: Mapping[str, Links] = field(default_factory=dict)
    #: what each attack found at each rung
    ladder: Sequence[Finding] = ()


class Release(NamedTuple):
    """A release to be attacked: where its records are, and the method that made it, if that is known."""

    store: Store
    schema: Schema
    engine: Engine
    method: LeavesTraces | None = None
    #: blocks that are not measured
    left_out: Sequence[str] = ()


def _is_number_of_targets(value: Any) -> bool:
    return value is None or value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)


@dataclass(frozen=True, kw_only=True)
class Risk(Parameters, ABC):
    """How releases of one kind are attacked; its parameters are options of `tsveil.evaluate`."""

    label: ClassVar[str] = "evaluate"
    #: what is attacked, in words
    words: ClassVar[str]
    #: figure -> what it means; those of attacks first
    meanings: ClassVar[Mapping[str, Meaning]]
    #: whether figures go by short names, and those that sum up a release
    short_names: ClassVar[bool] = True
    main: ClassVar[tuple[str, ...]] = ("IL", "DR", "score")

    targets: int | Literal["all"] | None = param(
        None,
        Check("'all' or an integer of at least 1", _is_number_of_targets, int),
        "the number of records that are attacked, or of persons where these may have several; left out: as many as are affordable",
    )

    @abstractmethod
    def attack(self, release: Release, figures: Mapping[str, float]) -> Risks:
        """Attack a release, of which the measures have found these figures."""


# -- values -----------------------------------------------------------------------------------------------------------


def _notes(release: Release, found: AttackResults) -> dict[str, str]:
    """Which records were attacked, and what was left out."""
    files = release.schema.files
    what = "persons" if files.persons else "records"
    targets = in_words(files.people, found.targets, what)
    if not files.aligned:
        both = int((release.store.get("own") >= 0).sum())
        known = f"{files.n} known, {files.m} released, {both} in both"
        targets = known if targets == "all records" else f"{known}; {targets}"
    missing = [*release.left_out, *found.not_measured]
    return {
        "targets": targets,
        **({"skipped": "; ".join(found.skipped)} if found.skipped else {}),
        **({"not measured": ", ".join(missing)} if missing else {}),
    }


def _chances(release: Release, found: AttackResults, at: int) -> dict[str, AnyArray]:
    """The risk and the chance of each linkage for each original record of a piece, if all records were targets; and the risk at each rung."""
    rows = release.schema.files.range("original", at)
    chances = chances_of(release.store, found.places, *rows)
    risk: dict[str, Array] = {"risk": np.max(list(chances.values()), axis=0)} if chances else {}
    linked = {f"linked_by_{figure}": chance for figure, chance in chances.items()}
    return {**risk, **linked, **risks_of(release.store, found, *rows)}


def _meaning(attack: Attack | type[Attack]) -> Meaning:
    """What the figure of an attack means."""
    return Meaning(attack.plain, "%", attack.summary)


def _of_attacks(*, series: bool) -> dict[str, Meaning]:
    """What the figures of all attacks on series, or on attributes, mean; those that run only on request, or with many persons known, have none in a card."""
    kinds: list[type[Attack]] = [kind for kind in ATTACKS.values() if not issubclass(kind, OnRequest)]
    in_cards = [kind for kind in kinds if kind.rung in (Rung.PART, Rung.PERSON)]
    return {kind.figure: _meaning(kind) for kind in in_cards if kind.of_series in (series, None) and not kind.of_labels}


@dataclass(frozen=True, kw_only=True)
class ValueRisk(Risk, ABC):
    """What the attacks on releases of values have in common."""

    ties: Ties = param("expected", one_of("expected", "first"), "how ties count in a linkage")
    scaling: Scaling = param(
        "original", one_of("original", "own"), "by which file's mean and deviation values are scaled"
    )


@dataclass(frozen=True, kw_only=True)
class SeriesRisk(ValueRisk):
    """Linkages by values and by shape, and by what is made for the method."""

    words: ClassVar[str] = "time series"
    meanings: ClassVar[Mapping[str, Meaning]] = {
        **_of_attacks(series=True),
        "DR1": MEANINGS["DR1"]._replace(
            sentence="The re-identification risk that counts: the better of the two linkages."
        ),
        "ID": MEANINGS["ID"],
        "DR": MEANINGS["DR"],
        "score": MEANINGS["score"]._replace(
            sentence=f"{MEANINGS['score'].sentence} The raw file itself scores about 50."
        ),
    }
    #: the linkages that DR1 is made of
    counted: ClassVar[tuple[str, ...]] = ("EULD", "STSLD")
    #: and where records have gaps
    with_gaps: ClassVar[tuple[str, ...]] = ("GVLD", "GPLD")

    dr1: Literal["max", "mean"] = param("max", one_of("max", "mean"), "whether the better linkage or their mean counts")
    normalise: How = param(
        "global",
        one_of("global", "per-record", "component", "ranging", "none"),
        "how series are normalised before linking",
    )
    other_period: OtherPeriod | None = param(
        None,
        Check(
            "a data set of another period, or left out",
            lambda value: value is None or isinstance(value, OtherPeriod),
            OtherPeriod,
        ),
        "what the intruder knows of times that are not published",
    )

    def attack(self, release: Release, figures: Mapping[str, float]) -> Risks:
        """The two linkages of series, and what is made for the method, which does not enter DR1 but may be the best attack."""
        files = release.schema.files
        blocks = [list(range(len(files.columns))[files.span(block.name)]) for block in files.series]
        ends = np.cumsum([len(block) for block in files.series]).tolist()
        known = Knowledge([at for places in blocks for at in places], ends, blocks, list(range(1, len(blocks) + 1)))
        shape = Shape(files.m, files.series, files.people < files.n, files.values > 0)
        attacks = fitting(shape, release.method)
        how = Settings(self.ties, self.scaling, self.normalise, checked_targets(self.targets), self.other_period)
        found = run_attacks(release.store, files, release.engine, attacks, known, how)
        found.not_measured += not_tried(shape, release.method)
        risks = found.risks
        counted = self.with_gaps if shape.gaps else self.counted
        linked = combine_rates([risks[figure] for figure in counted if figure in risks], self.dr1)
        meanings = {attack.figure: _meaning(attack) for attack in attacks} | dict(self.meanings)
        if self.dr1 == "mean":
            mean = "The re-identification risk that counts: here the mean of the two linkages."
            meanings["DR1"] = meanings["DR1"]._replace(sentence=mean)
        return Risks(
            {**risks, **risk_and_score(figures["IL"], linked, figures["ID"])},
            meanings,
            {name: getattr(self, name) for name in ("ties", "dr1", "normalise", "scaling")},
            {**_notes(release, found), "other period": periods_in_words(files, self.other_period)},
            lambda at: _chances(release, found, at),
            found.by_known,
            ladder=found.ladder,
        )


def _are_names(value: Any) -> bool:
    return value is None or (isinstance(value, Sequence) and not isinstance(value, str))


@dataclass(frozen=True, kw_only=True)
class AttributeRisk(ValueRisk):
    """All linkages that fit the method, and interval disclosure by ranks."""

    words: ClassVar[str] = "attributes"
    meanings: ClassVar[Mapping[str, Meaning]] = {
        **_of_attacks(series=False),
        **MEANINGS,
        "ID": MEANINGS["ID"]._replace(
            sentence="Share of values whose rank lies within 1 to 10 % of the published one's, so that publishing discloses them."
        ),
    }

    score: Score = param("max", one_of(*LINKAGES), "the linkages that DR1 is made of")
    known: Sequence[str] | None = param(
        None,
        Check("a list of attributes or blocks, or left out", _are_names, str),
        "what the intruder knows, all by default",
    )
    counts: Sequence[int] | None = param(
        None, Check("a list of numbers, or left out", lambda value: value is None or not isinstance(value, str), str),
        "how many of these he knows, 1, 2, ... all by default",
    )  # fmt: skip
    by: By = param("attributes", one_of("attributes", "blocks"), "what is counted")

    def attack(self, release: Release, figures: Mapping[str, float]) -> Risks:
        """All attacks that fit the method; every attack when it is not known."""
        files = release.schema.files
        rounds = Rounds.of(files, known_columns(files, self.known), self.counts, self.by)
        places = {name: at for at, name in enumerate(files.columns)}
        known = Knowledge(
            [places[name] for name in rounds.names],
            rounds.columns,
            [[places[name] for name in part] for part in rounds.parts],
            rounds.blocks,
        )
        shape = Shape(files.m, files.blocks, files.people < files.n, files.values > 0)
        attacks = fitting(shape, release.method)
        there = {attack.figure for attack in attacks}
        wanted = LINKAGES[self.score]
        attacks += [attack for attack in fitting(shape) if attack.figure in wanted and attack.figure not in there]
        how = Settings(self.ties, self.scaling, targets=checked_targets(self.targets))
        columns = range(len(files.columns))
        found = run_attacks(release.store, files, release.engine, attacks, known, how, intervals=columns)
        found.not_measured += not_tried(shape, release.method)
        if missing := [figure for figure in wanted if figure not in found.by_known]:
            raise InputError(
                f"the {self.score!r} score needs {', '.join(missing)}, which could not be computed: {'; '.join(found.skipped)}\n"
                "  options: fewer known attributes (known=..., counts=...), or score='max'"
            )
        risks = found.risks
        strongest = max(risks, key=risks.__getitem__)
        linked = combine_rates([risks[figure] for figure in wanted], "mean") if wanted else risks[strongest]
        both = files.n if files.aligned else int((release.store.get("own") >= 0).sum())
        values = files.values or both * len(columns)
        disclosed = 100 * sum(found.disclosed.values()) / (values * len(PERCENTS))

        def of_records(at: int) -> dict[str, AnyArray]:
            start, stop = files.range("original", at)
            widths = [release.store.get(f"disclosed-{column}")[start:stop] for column in columns]
            share = 100.0 * np.asarray(np.sum(widths, axis=0, dtype=np.int64)) / (len(widths) * len(PERCENTS))
            return _chances(release, found, at) | {"values_disclosed": share}

        return Risks(
            {**risks, **risk_and_score(figures["IL"], linked, disclosed)},
            dict(self.meanings),
            {
                "score": self.score,
                "known": rounds.in_words(),
                "ties": self.ties,
                "scaling": self.scaling,
                "strongest": next(attack.describe() for attack in attacks if attack.figure == strongest),
            },
            _notes(release, found),
            of_records,
            found.by_known,
            ladder=found.ladder,
        )


@dataclass(frozen=True)
class Rounds:
    """What the intruder knows of attributes, round by round."""

    #: all known columns, block after block if blocks are counted
    names: tuple[str, ...]
    #: those of each block
    parts: tuple[tuple[str, ...], ...]
    #: numbers of known columns
    columns: tuple[int, ...]
    #: numbers of known blocks, for the attacks that need whole blocks
    blocks: tuple[int, ...]
    by: By

    @classmethod
    def of(cls, data: Pieces, names: Sequence[str], counts: Sequence[int] | None, by: By) -> Rounds:
        """The rounds for these known columns: all counts of them, or of blocks, by default."""
        home = {column: block.name for block in data.blocks for column in block.columns}
        parts: dict[str, list[str]] = {}
        for name in names:
            parts.setdefault(home[name], []).append(name)
        known = tuple(map(tuple, parts.values()))
        if by == "attributes":
            wanted = checked_counts(counts, len(names))
            return cls(tuple(names), known, tuple(wanted), tuple(range(1, len(parts) + 1)), by)
        wanted = checked_counts(counts, len(parts))
        ends = np.cumsum([len(part) for part in parts.values()])
        ordered = tuple(name for part in parts.values() for name in part)
        return cls(ordered, known, tuple(int(ends[count - 1]) for count in wanted), tuple(wanted), by)

    def in_words(self) -> str:
        """The numbers known."""
        numbers = self.columns if self.by == "attributes" else self.blocks
        whole = numbers == tuple(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 1
        return (f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))) + f" {self.by}"


# -- envelopes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EnvelopeRisk(Risk):
    """The breach probabilities of `tsveil.attack.kp`, worst and mean."""

    words: ClassVar[str] = "envelopes"
    short_names: ClassVar[bool] = False
    main: ClassVar[tuple[str, ...]] = ("value_loss", "pattern_loss")
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "breach_values": Meaning("breach by values, worst", "%", "The highest chance of finding a person's record by the values, without the patterns."),
        "breach_values_mean": Meaning("breach by values, mean", "%", "The same, on average over all persons."),
        "breach_pattern": Meaning("breach by pattern, worst", "%", "The highest chance of finding a person's record by the shape of the series."),
        "breach_pattern_mean": Meaning("breach by pattern, mean", "%", "The same, on average over all persons."),
        "breach_both": Meaning("breach by both, worst", "%", "The highest chance for an intruder who knows all values, and so the shape: the one that counts."),
        "breach_both_mean": Meaning("breach by both, mean", "%", "The same, on average over all persons."),
        "breach_bounds": Meaning("breach by bounds, worst", "%", "The highest chance for an intruder who knows all values and prefers the finest patterns and the envelopes with bounds among these values, which are exact values of their members."),
        "breach_bounds_mean": Meaning("breach by bounds, mean", "%", "The same, on average over all persons."),
    }  # fmt: skip

    def attack(self, release: Release, figures: Mapping[str, float]) -> Risks:
        """By values, by pattern, by both and by bounds; there is nothing to attack where nothing is published."""
        store, n = release.store, release.schema.n
        targets = targets_of(n, checked_targets(self.targets))
        links = _link_targets(release, targets) if release.schema.files.m else {}
        found: dict[str, float] = {}
        for name, link in links.items():
            found[f"breach_{name}"] = 100 * float(link.probability.max())
            found[f"breach_{name}_mean"] = 100 * total(parts(link.probability)) / len(link.probability)
        chances = {f"linked_by_{name}": np.full(n, np.nan) for name in links}
        for chance, link in zip(chances.values(), links.values(), strict=True):
            chance[targets] = 100 * link.probability

        def of_records(at: int) -> dict[str, AnyArray]:
            records = store.get(f"piece-{at}.records")
            own = {name: chance[records] for name, chance in chances.items()}
            return {"suppressed": np.asarray(store.get(f"piece-{at}.own") < 0), **own}

        some = f"a random sample of {len(targets):,} of {n:,} records, each linked against the whole release"
        words = "all records" if len(targets) == n else f"{some}; the worst is the worst of these"
        return Risks(
            found,
            dict(self.meanings),
            {},
            {"targets": words} if links else {},
            of_records,
            links=links,
        )


def _link_targets(release: Release, targets: AnyArray) -> dict[str, Links]:
    """What the attacks on envelopes conclude for each target, in the order of the original."""
    store, schema = release.store, release.schema
    store.put("targets", targets)
    pieces = range(schema.pieces)
    todo = [{"store": store.handle, "at": at, "pieces": schema.pieces, "words": schema.words} for at in pieces]
    release.engine.map(link_piece, todo, "Linking by values and patterns")
    before = np.cumsum([0, *schema.files.released[:-1]])
    found, touched, own, records = [], [], [], []
    for other in pieces:
        found.append(merged_fits((store.get(f"fits-{at}-{other}") for at in pieces), before.tolist()))
        touched.append(merged_touches((store.get(f"touched-{at}-{other}") for at in pieces), before.tolist()))
        rows = _targets_in(store, other)
        row = store.get(f"piece-{other}.own")[rows]
        own.append(np.where(row >= 0, row + before[other], -1))
        records.append(store.get(f"piece-{other}.records")[rows])
    order = np.argsort(np.concatenate(records))
    fits, bounds = np.concatenate(found, axis=2)[:, :, order], np.concatenate(touched, axis=1)[:, order]
    return links_of(fits, bounds, np.concatenate(own)[order], schema.files.m)


def link_piece(task: Task) -> Result:
    """Keep how many published records of one piece fit each target."""
    store, at = open_store(task["store"]), int(task["at"])
    piece = Piece.load(store, at, words=task["words"])
    fits = Fitting(piece)
    for other in range(int(task["pieces"])):
        rows = _targets_in(store, other)
        own = piece.own[rows] if other == at else np.full(len(rows), -1)
        x = np.asarray(store.get(f"piece-{other}.x")[rows])
        store.put(f"fits-{at}-{other}", fits.of(x, own))
        store.put(f"touched-{at}-{other}", fits.touched(x, own))
    return {}


def _targets_in(store: Store, at: int) -> AnyArray:
    """The rows of a piece that are targets."""
    return np.flatnonzero(np.isin(store.get(f"piece-{at}.records"), store.get("targets")))


# -- categories -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CategoryRisk(ValueRisk):
    """Linkages of whole records, of which some columns hold labels; who is alone with a combination of labels; and which ranks of ordinals are disclosed."""

    words: ClassVar[str] = "categories"
    main: ClassVar[tuple[str, ...]] = ("LL1", "LDLD")
    meanings: ClassVar[Mapping[str, Meaning]] = {
        **{
            kind.figure: _meaning(kind)
            for kind in ATTACKS.values()
            if kind.of_labels and kind.rung in (Rung.PART, Rung.PERSON)
        },
        "KU1": Meaning(
            "unique by labels, original",
            "%",
            "Share of the persons who are alone with their combination of labels in the original file.",
        ),
        "KU2": Meaning(
            "unique by labels, release",
            "%",
            "Share of the published persons who are alone with their combination of labels in the published file.",
        ),
        "OID": Meaning(
            "ordinals disclosed",
            "%",
            "Share of ordinal labels whose rank lies within 1 to 10 % of the published one's, so that publishing discloses them.",
        ),
    }

    def attack(self, release: Release, figures: Mapping[str, float]) -> Risks:
        """All attacks on labels that fit; those by agreement look at columns that are no series."""
        store, files = release.store, release.schema.files
        if not files.blocks:  # labels with gaps, and nothing else
            return Risks({}, {}, {}, {"not measured": ", ".join(release.left_out)}, lambda at: {})
        shape = Shape(files.m, files.blocks, files.people < files.n, files.values > 0)
        how = Settings(self.ties, self.scaling, targets=checked_targets(self.targets))
        ordinals = [
            at
            for one in labelled(files.blocks)
            if one.categories is not None and one.categories.kind == "ordinal"
            for at in one.columns
        ]
        found, without = AttackResults(), list[str]()
        attacks = [one for one in fitting(shape, release.method) if one.of_labels]
        for number, one in enumerate(attacks):
            known = one.knowledge(files)
            if not known.counts:
                without.append(one.plain)
                continue
            own = run_attacks(store, files, release.engine, [one], known, how, intervals=() if number else ordinals)
            found.add(own)
        if without:
            found.skipped.append(f"{' and '.join(without)} (all labels are in series)")
        both = files.n if files.aligned else int((store.get("own") >= 0).sum())
        disclosed = (
            {"OID": 100 * sum(found.disclosed.values()) / (both * len(ordinals) * len(PERCENTS))} if ordinals else {}
        )
        unique = dict(zip(("KU1", "KU2"), unique_by_labels(store, files), strict=True))
        return Risks(
            {**found.risks, **unique, **disclosed},
            dict(self.meanings),
            {"ties": self.ties},
            _notes(release, found),
            lambda at: _chances(release, found, at),
            found.by_known,
            ladder=found.ladder,
        )


def unique_by_labels(store: Store, files: Pieces) -> tuple[float, float]:
    """The share of the persons, in percent, with a record whose combination of labels no other person has: in the original, and in the release.

    The labels are those of all columns that are no series, or of the series if there are no others.
    """
    own = labelled(files.blocks)
    keys = [at for one in own if not one.in_time for at in one.columns] or [at for one in own for at in one.columns]
    persons = np.asarray(store.get("persons"))[files.numbers(store)] if files.persons else np.arange(files.n)
    owners = files.owners(store)
    owners = np.where(
        owners >= 0, owners, persons.max() + 1 + np.arange(files.m)
    )  # nobody else's, if it is not known whose
    shares = []
    sides: tuple[tuple[Side, tuple[int, ...], Indices], ...] = (
        ("original", files.original, persons),
        ("released", files.released, owners),
    )
    for side, sizes, whose in sides:
        every = np.concatenate([marks(files.table(store, side, at, keys)) for at in range(len(sizes))])
        classes = shares_of(number_marks(every)[0], whose)
        alone = classes.share[classes.of_row] == 1
        shares.append(100 * len(np.unique(whose[alone])) / len(np.unique(whose)))
    return shares[0], shares[1]


#: what is published -> how it is attacked
RISKS: dict[Kind, type[Risk]] = {
    "series": SeriesRisk,
    "attributes": AttributeRisk,
    "envelopes": EnvelopeRisk,
    "categories": CategoryRisk,
}
