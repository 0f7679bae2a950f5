"""The names that ISO/IEC 20889 gives to de-identification techniques, so that a report can be read beside the standard.

Every method names the techniques that it combines, the main one first (`Method.techniques`). The family is the standard's; the
opinion WP216 of the European data protection authorities sorts the same techniques into randomisation and generalisation.

References
----------
.. [1] ISO/IEC 20889:2018, Privacy enhancing data de-identification terminology and classification of techniques.
.. [2] Article 29 Data Protection Working Party, Opinion 05/2014 on anonymisation techniques (WP216), 2014.

Examples
--------
>>> Technique.MICROAGGREGATION.family, Technique.MICROAGGREGATION.opinion
('randomization', 'generalisation')
>>> techniques_in_words((Technique.LOCAL_GENERALIZATION, Technique.RECORD_SUPPRESSION))
'local generalization (a generalization technique), with record suppression (a suppression technique)'
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Technique(StrEnum):
    """A technique by its name in ISO/IEC 20889."""

    MICROAGGREGATION = "microaggregation"
    NOISE_ADDITION = "noise addition"
    PERMUTATION = "permutation"
    ROUNDING = "rounding"
    LOCAL_GENERALIZATION = "local generalization"
    LOCAL_SUPPRESSION = "local suppression"
    RECORD_SUPPRESSION = "record suppression"
    AGGREGATION = "aggregation"
    SAMPLING = "sampling"
    SYNTHETIC_DATA = "synthetic data"

    @property
    def family(self) -> str:
        """The standard's family."""
        return _PLACES[self][0]

    @property
    def opinion(self) -> str:
        """Where the opinion WP216 puts it: replacing values by those of a group counts as generalisation there."""
        return _PLACES[self][1]


#: technique -> (its family in ISO/IEC 20889, its family in WP216)
_PLACES: dict[Technique, tuple[str, str]] = {
    Technique.MICROAGGREGATION: ("randomization", "generalisation"),
    Technique.NOISE_ADDITION: ("randomization", "randomisation"),
    Technique.PERMUTATION: ("randomization", "randomisation"),
    Technique.ROUNDING: ("generalization", "generalisation"),
    Technique.LOCAL_GENERALIZATION: ("generalization", "generalisation"),
    Technique.LOCAL_SUPPRESSION: ("suppression", "generalisation"),
    Technique.RECORD_SUPPRESSION: ("suppression", "generalisation"),
    Technique.AGGREGATION: ("statistical", "generalisation"),
    Technique.SAMPLING: ("statistical", "neither"),
    Technique.SYNTHETIC_DATA: ("synthetic data", "neither"),
}


def techniques_in_words(techniques: Sequence[Technique]) -> str:
    """The techniques of a method in a few words, the main one first."""
    return ", with ".join(f"{technique} (a {technique.family} technique)" for technique in techniques)
