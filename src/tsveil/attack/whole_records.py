"""Attacks on whole records with labels, on two files in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tsveil.attack.base import Attack, Settings
from tsveil.attack.files import HasData, Ties, persons_of, released_data
from tsveil.attack.labels import pieces_with_labels
from tsveil.attack.links import Links
from tsveil.core.errors import ParameterError
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.data.store import Memory


def links_of_whole_records(
    attack: Attack,
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    ties: Ties = "expected",
) -> Links:
    """What an intruder concludes who knows whole records with labels; with `ties="first"` an attack that would not look for it otherwise finds the lowest of equals."""
    from tsveil.attack.run import links_of_files

    if known is not None:
        raise ParameterError(
            f"the attack {attack.name} looks at whole records, so what is known cannot be chosen (known=)\n  options: leave it out"
        )
    store = Memory()
    files = pieces_with_labels(store, original, released_data(released), truth)
    known_at = attack.knowledge(files)
    whole = replace(known_at, counts=known_at.counts[-1:], block_counts=known_at.block_counts[-1:])
    settings, persons = Settings(ties, targets=0), persons_of(original)
    return links_of_files(attack, store, files, whole, settings, lambda words: f"{words}, whole records known", persons)
