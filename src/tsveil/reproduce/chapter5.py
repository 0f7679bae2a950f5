"""Chapter 5 of the thesis: linking two files that have no attribute in common, by aggregation functions.

Each data set is parted into two files of different attributes; of 100 random records as many are linked as the tables say, in the
mean of 10 draws.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from tsveil.attack.fuzzy import Aggregation, Family, Linkage, Normalise, fuzzy, representatives
from tsveil.attack.links import chance_of_links
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.reproduce.experiment import Experiment, Rows, row_keys
from tsveil.reproduce.printed import Row, example_table, printed_tables
from tsveil.reproduce.source import Source

DRAWS, RECORDS = 10, 100

FAMILIES: dict[str, Family] = {"e": "exponent", "s": "sigmoid", "t": "threshold"}
AGGREGATIONS: dict[str, Aggregation] = {"OWA": "owa", "SI": "sugeno", "TI": "twofold"}
NORMALISED: dict[str, Normalise] = {"N1": "ranging", "N2": "standardise"}
LINKAGES: dict[str, Linkage] = {"DB-RL": "distance", "P-RL": "probabilistic"}

#: data set -> its file and the columns of its two parts (section 5.2.1)
PARTS: dict[str, tuple[str, str, str]] = {
    "Abalone": ("abalone.csv", "Height Whole_weight Viscera_weight", "Length Diameter Shucked_weight Shell_weight"),
    "Ionosphere": ("ionosphere.csv", "V5 V7 V9 V11 V13 V20", "V15 V17 V19 V21 V23 V30"),
    "Census": (
        "census.csv",
        "AFNLWGT EMCONTRB PEARNVAL POTHVAL PTOTVAL TAXINC WSALVAL",
        "AGI ERNVAL FEDTAX FICA INTVAL STATETAX",
    ),
    # V2 to V32 of the UCI file, which begins with a number: the diagnosis and the 30 attributes
    "WDBC": ("wdbc.csv", "V2 V4 V6 V8 V10 V12 V13 V18 V20 V26 V29 V32", "V5 V9 V15 V16 V19 V22 V25 V27 V28 V30"),
    "Iris": ("iris.csv", "sepal_length petal_length", "sepal_width petal_width"),
    "Housing": ("boston.csv", "INDUS RM AGE RAD", "NOX TAX MEDV"),
    "Dermatology": (
        "dermatology.csv",
        "polygonal_papules follicular_papules oral_mucosal_involvement knee_and_elbow_involvement scalp_involvement "
        "melanin_incontinence exocytosis focal_hypergranulosis follicular_horn_plug",
        "clubbing_of_the_rete_ridges elongation_of_the_rete_ridges thinning_of_the_suprapapillary_epidermis "
        "vacuolisation_and_damage_of_basal_layer saw_tooth_appearance_of_retes perifollicular_parakeratosis band_like_infiltrate",
    ),
    "Water-Treatment": (
        "water_treatment.csv",
        "PH-E DBO-E SS-E SSV-E SED-E COND-E DBO-D SSV-D DBO-S RD-DBO-S RD-DQO-S",
        "PH-P DBO-P SS-P SSV-P SED-P COND-P PH-D DQO-D COND-D SS-S SED-S COND-S RD-DBO-G RD-DQO-G",
    ),
}


def representative_values(source: Source) -> Rows:
    """Table 5.2: the OWA of ten records for ten exponents."""
    found = representatives(np.array(example_table("004-fuzzy")), "owa", "exponent")
    columns = printed_tables()["004-5.2"].columns
    return {(f"r{i}",): dict(zip(columns, row, strict=True)) for i, row in enumerate(found.tolist(), 1)}


def chances_of_guessing(source: Source) -> Rows:
    """Table 5.3: the chance of r right links among 100 records."""
    return {
        (r,): {"exactly": chance_of_links(int(r), 100, exactly=True), "at-least": chance_of_links(int(r), 100)}
        for (r,) in row_keys("004-5.3")
    }


def two_parts(source: Source, name: str) -> tuple[Array, Array]:
    """The two files of a data set."""
    file, one, other = PARTS[name]

    def read() -> tuple[Array, Array]:
        if name == "WDBC":
            frame = _with_short_names(source.frame(file, ["diagnosis"]))
        else:
            frame = source.frame(file, [*one.split(), *other.split()])
        first, second = (frame.select(part.split()).cast(pl.Float64).to_numpy() for part in (one, other))
        return first, second

    return source.once(("parts", name), read)


def _with_short_names(frame: pl.DataFrame) -> pl.DataFrame:
    numbers = [name for name in frame.columns if name != "diagnosis"]
    named = {"V2": frame["diagnosis"] == "M"} | {f"V{i}": frame[name] for i, name in enumerate(numbers, 3)}
    return pl.DataFrame(named)


def right_links(source: Source, name: str, norm: str, linkage: str, aggregation: str, families: str) -> float:
    """The mean number of right links among 100 random records."""
    one, other = two_parts(source, name)
    found = []
    for seed in range(DRAWS):
        rows = np.random.default_rng(seed).choice(len(one), RECORDS, replace=False)
        a, b = (_file(part, table[rows]) for part, table in (("a", one), ("b", other)))
        links = fuzzy(
            a,
            b,
            aggregation=AGGREGATIONS[aggregation],
            quantifier=FAMILIES[families[0]],
            second=FAMILIES[families[-1]],
            normalise=NORMALISED[norm],
            linkage=LINKAGES[linkage],
        )
        found.append(links.correct)
    return float(np.mean(found))


def _file(part: str, table: Array) -> Dataset:
    names = [f"{part}{j}" for j in range(table.shape[1])]
    frame = pl.DataFrame(table, schema=names, orient="row", nan_to_null=True)
    return Dataset.from_frame(frame, blocks={part: names}, times={part: None}, missing="keep")


def links_without_common_attributes(table: str, name: str, source: Source) -> Rows:
    """Tables 5.4 to 5.7; columns whose quantifiers are not known are left out."""
    rows = {}
    for row in row_keys(table):
        known = [column for column in printed_tables()[table].columns if column[-1] in FAMILIES]
        rows[row] = {column: right_links(source, name, *row, *column.split("-")) for column in known}
    return rows


def remarks(source: Source) -> Rows:
    """What the text says about the files without a table: the best of OWA and Sugeno with any quantifier and scale."""
    rows: dict[Row, dict[str, float]] = {}
    for (name,) in row_keys("004-5.text"):
        rates = [
            right_links(source, name, norm, "DB-RL", aggregation, family)
            for norm in NORMALISED
            for aggregation in ("OWA", "SI")
            for family in FAMILIES
        ]
        rows[name,] = {"links": max(rates)}
    return rows


_DRAWN = f"mean of {DRAWS} draws of {RECORDS} records; the drawn records normalised, each file by itself"

EXPERIMENTS = (
    Experiment("004-5.2", "OWA with Q(x) = x^(i/5)", representative_values),
    Experiment("004-5.3", "the formula of proposition 4", chances_of_guessing),
    *(
        Experiment(table, _DRAWN, partial(links_without_common_attributes, table, name), (PARTS[name][0],))
        for table, name in (
            ("004-5.4", "Abalone"),
            ("004-5.5", "Ionosphere"),
            ("004-5.6", "Census"),
            ("004-5.7", "WDBC"),
        )
    ),
    Experiment(
        "004-5.text",
        f"{_DRAWN}; the best of OWA and Sugeno by distance",
        remarks,
        tuple(PARTS[name][0] for name in ("Iris", "Housing", "Dermatology", "Water-Treatment")),
    ),
)
