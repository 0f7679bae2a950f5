"""Linkage among the released records inside a range of each sorted column; shared by the attacks on ranks and alignments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack._files import Files, Ties, on_one_scale, relative
from tsveil.attack.links import Links
from tsveil.engine.local import map_chunks


def nearest_in_all(
    pair: Files, low: Indices, high: Indices, counts: Sequence[int], ties: Ties, attack: str, exact: bool = True
) -> list[Links]:
    """The nearest of the records that are inside the ranges of the first known columns, for the wanted numbers of them.

    `low` and `high` are positions in the sorted released columns, a row per original record. An `exact` attack never loses
    the right record, so a single candidate is certain.
    """
    from tsveil._kernels.rank_linkage import nearest_in_ranges

    most = max(counts)
    a, b, factor = on_one_scale(pair.a[:, :most], pair.b[:, :most])
    factor = relative(factor)
    places = _places(b)
    order = np.argsort(places[:, 0])
    own = np.where(pair.own >= 0, places[pair.own, 0], -1)
    low, high = (np.ascontiguousarray(bound[:, :most]) for bound in (low, high))
    candidates = np.ascontiguousarray(b[order].T)
    sorted_places = np.ascontiguousarray(places[order].T, dtype=np.int32)
    with progress.step("Linking records by ranks", total=len(a)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_ranges(
                a[i:j], low[i:j], high[i:j], candidates, sorted_places, order, factor, own[i:j], counter
            ),
            len(a),
            1024,
        )
    size, tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return [
        _links(
            pair,
            attack,
            count,
            size[:, count - 1],
            tied[:, count - 1],
            link[:, count - 1],
            hit[:, count - 1],
            ties,
            exact,
        )
        for count in counts
    ]


def nearest_in_most(
    pair: Files, low: Indices, high: Indices, counts: Sequence[int], ties: Ties, attack: str
) -> list[Links]:
    """The nearest of the records that are inside the ranges of as many of the first known columns as any record is."""
    from tsveil._kernels.rank_linkage import nearest_in_most_ranges

    def round_of(count: int) -> Links:
        a, b, factor = on_one_scale(pair.a[:, :count], pair.b[:, :count])
        factor = relative(factor)
        places = _places(b)
        order = np.ascontiguousarray(np.argsort(places, axis=0).T)
        below, above = (np.ascontiguousarray(bound[:, :count]) for bound in (low, high))
        with progress.step(f"Linking records by most ranks, {count} known", total=len(a)) as counter:
            parts = map_chunks(
                lambda i, j: nearest_in_most_ranges(
                    a[i:j], below[i:j], above[i:j], b, places, order, factor, pair.own[i:j], counter
                ),
                len(a),
                1024,
            )
        size, tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(4))
        return _links(pair, attack, count, size, tied, link, hit, ties, exact=False)

    return [round_of(count) for count in counts]


def _places(b: Array) -> Indices:
    """The position of each record in each sorted column; equal values in any order, for ranges hold all of them or none."""
    order = np.argsort(b, axis=0, kind="stable")
    places = np.empty(b.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.arange(len(b))[:, None], axis=0)
    return places


def _links(
    pair: Files, attack: str, count: int, size: Indices, tied: Indices, link: Indices, hit: Indices, ties: Ties, exact: bool = True
) -> Links:  # fmt: skip
    return Links(
        attack=pair.told(attack, count),
        candidates=size,
        link=link,
        hit=hit.astype(np.bool_),
        ties=ties,
        tied=tied,
        certain=(size == 1) & exact,
        own=pair.own,
        released=len(pair.b),
    )
