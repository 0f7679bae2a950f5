"""Attacks on noise: the density of the noise is known, and so is that of everybody else's rows."""

from __future__ import annotations

import numpy as np

from red_team.common import Knowledge, Published, log_mean, matched
from tsveil.core.types import Array


def noise_root(published: Published, known: Knowledge) -> Array:
    """A matrix that makes the noise of the known columns white: differences times it have variance 1 and no correlation.

    The published covariance is 1 + a^2 times the original one (its diagonal, for independent noise), and a is published.
    """
    share = float(published.settings["sd"])
    columns = list(known.columns)
    covariance = np.atleast_2d(np.cov(published.values[:, columns].T)) * share**2 / (1 + share**2)
    if not published.settings["correlated"]:
        return np.diag(1 / np.sqrt(np.maximum(np.diag(covariance), 1e-300)))
    # Columns of different blocks get independent noise.
    for at, column in enumerate(columns):
        for to, other in enumerate(columns):
            if not any(column in block and other in block for block, _ in published.blocks):
                covariance[at, to] = 0.0
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values.max() * 1e-9
    root: Array = vectors[:, kept] / np.sqrt(values[kept])
    return root


def squared(a: Array, b: Array) -> Array:
    """Squared Euclidean distances of all pairs."""
    found: Array = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return found


def likeliest_noise(published: Published, known: Knowledge) -> Array:
    """The row that needs the likeliest noise: the least Mahalanobis distance in the covariance of the noise, column by column or of the block.

    Every column is weighed by the noise it got, which a distance on one scale for all points of a series does not do.
    """
    root = noise_root(published, known)
    return -0.5 * squared(known.values @ root, published.values[:, list(known.columns)] @ root)


def bell_crowd(published: Published, known: Knowledge) -> Array:
    """Log of the density of published rows at each of them, if they are normal with their mean and covariance."""
    rows = published.values[:, list(known.columns)]
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T)))
    kept = values > values.max() * 1e-9
    found: Array = -0.5 * (((rows - rows.mean(axis=0)) @ vectors[:, kept] / np.sqrt(values[kept])) ** 2).sum(axis=1)
    return found


def kernel_crowd(published: Published, known: Knowledge) -> Array:
    """Log of the density of the other published rows around each of them: bells as wide as the noise, or wider where the rows are too few for that."""
    root = noise_root(published, known)
    rows = published.values[:, list(known.columns)] @ root
    share, d = float(published.settings["sd"]), rows.shape[1]
    # In units of the noise the rows have the deviation sqrt(1 + a^2) / a.
    width = max(1.0, np.sqrt(1 + share**2) / share * (4 / ((d + 2) * len(rows))) ** (1 / (d + 4)))
    logs = -0.5 * squared(rows, rows) / width**2
    np.fill_diagonal(logs, -np.inf)
    return log_mean(logs, axis=0, floor=-np.log(len(rows)) - 3.0)


def likeliest_noise_rare_row(published: Published, known: Knowledge) -> Array:
    """The chance of the noise over the chance that the row is somebody else's, which the density of the published rows around it tells.

    This is the rule of Bayes for who knows one person: where rows crowd, one of them is near by accident.
    """
    return likeliest_noise(published, known) - kernel_crowd(published, known)


def likeliest_noise_far_row(published: Published, known: Knowledge) -> Array:
    """As `likeliest_noise_rare_row`, with the density of a normal distribution: in many columns kernels see no neighbours.

    Rows far from the mean are nobody's by accident.
    """
    return likeliest_noise(published, known) - bell_crowd(published, known)


def matched_noise(published: Published, known: Knowledge) -> Array:
    """All known persons at once: the chance of each pair over all assignments that give nobody two rows and no row two persons.

    Taking each person's best chance finds more on average than the one likeliest assignment does.
    """
    return matched(likeliest_noise_rare_row(published, known))


def matched_far_noise(published: Published, known: Knowledge) -> Array:
    """As `matched_noise`, with the chances of `likeliest_noise_far_row`.

    Series have too many columns for kernels.
    """
    return matched(likeliest_noise_far_row(published, known))
