"""What an intruder can do: one file per attack, all called as `attack(original, released, known=..., ...) -> Links`.

An attack sees two files and what a method declares that it leaves behind. Nothing here protects, or knows a single method.
"""

from tsveil.attack.alignment import alignment
from tsveil.attack.attribute import attribute
from tsveil.attack.column_sides import column_sides
from tsveil.attack.conditional import conditional
from tsveil.attack.distance import distance
from tsveil.attack.fuzzy import fuzzy
from tsveil.attack.interval import interval
from tsveil.attack.likelihood import likelihood
from tsveil.attack.likely_moves import likely_moves
from tsveil.attack.mahalanobis import mahalanobis
from tsveil.attack.probabilistic import probabilistic
from tsveil.attack.profile import profile
from tsveil.attack.profile_learned import profile_learned
from tsveil.attack.projected import projected
from tsveil.attack.projection_sides import projection_sides
from tsveil.attack.rank_swap import rank_swap
from tsveil.attack.releases import releases
from tsveil.attack.series import series
from tsveil.attack.swap_chase import swap_chase

__all__ = [
    "alignment",
    "attribute",
    "column_sides",
    "conditional",
    "distance",
    "fuzzy",
    "interval",
    "likelihood",
    "likely_moves",
    "mahalanobis",
    "probabilistic",
    "profile",
    "profile_learned",
    "projected",
    "projection_sides",
    "rank_swap",
    "releases",
    "series",
    "swap_chase",
]
