"""The parts of a method, found from the whole table at once: no chunks, no store."""

from __future__ import annotations

import numpy as np

from tsveil._types import Indices
from tsveil.data.dataset import Dataset
from tsveil.protect.base import Method
from tsveil.protect.partition import Unit, joined
from tsveil.protect.survey import Survey, of_columns, of_squares, with_deviations, with_means
from tsveil.protect.work import survey_of


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
        runs = joined(counts, method.least(unit)) if len(counts) > 1 else [(0, 1)]
        found.append((unit, [np.flatnonzero((leaf >= first) & (leaf < last)) for first, last in runs]))
    return found
