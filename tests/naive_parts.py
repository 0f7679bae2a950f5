"""The parts of a method, found from the whole table at once (no chunks, no store), and methods whose parts are small."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.protect import envelopes, kp, mdav, nlk, noise, projected, rank_swap, univariate, vmdav
from tsveil.protect.base import Method
from tsveil.protect.partition import Unit, join_leaves
from tsveil.protect.survey import Survey, of_columns, of_squares, with_deviations, with_means
from tsveil.protect.work import survey_of

#: where methods begin to work in parts and how large these are, and by how many columns that is counted
BORDERS: dict[ModuleType, dict[str, int]] = {
    mdav: {"EXACT_RECORDS": 1, "EXACT_VALUES": 6},
    vmdav: {"WHOLE": 1, "PART": 1},
    univariate: {"RANGE": 1},
    projected: {"VALUES": 6},
    rank_swap: {"RANGE": 1},
    noise: {"RUN": 1},
    nlk: {"WHOLE": 6, "CELLS": 6},
    kp: {"WHOLE": 1, "PART": 1},
    envelopes: {"EXACT_RECORDS": 1, "PART": 1},
}


def surveyed(method: Method, data: Dataset) -> Survey:
    """The survey of a data set with the scales that a method asks for, from the whole table."""
    survey = survey_of(data)
    scales = method.scales(survey)
    survey = with_means(survey, scales, of_columns(scales, survey, data.values))
    return with_deviations(survey, scales, of_squares(scales, survey, data.values))


def parts_of(method: Method, data: Dataset) -> list[tuple[Unit, list[Indices]]]:
    """For each unit the records of its parts: down the tree of the whole table, and leaves that are too small joined with the next."""
    survey = surveyed(method, data)
    found = []
    for unit in method.units(survey):
        if unit.size is None:
            found.append((unit, [np.arange(data.n)]))
            continue
        values = np.ascontiguousarray(data.values[:, unit.columns])
        tree = method.tree(values, unit, survey)
        leaf = method.leaf(values, np.arange(data.n), unit, survey, tree)
        counts = np.bincount(leaf, minlength=method.leaves(unit, survey, tree))
        runs = join_leaves(counts, method.least(unit)) if len(counts) > 1 else [(0, 1)]
        found.append((unit, [np.flatnonzero((leaf >= first) & (leaf < last)) for first, last in runs]))
    return found


def small_parts(context: pytest.MonkeyPatch, records: int) -> None:
    """All methods that can work in parts do so for more than this many records; values count as if there were six columns."""
    for module, names in BORDERS.items():
        for name, columns in names.items():
            context.setattr(module, name, records * columns)
