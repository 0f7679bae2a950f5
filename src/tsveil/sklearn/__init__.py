"""Protection as a step of a scikit-learn pipeline: a thin adapter of `tsveil.anonymise`. scikit-learn itself is not needed, and nothing else in tsveil knows of it."""

from tsveil.sklearn.anonymiser import Anonymiser

__all__ = ["Anonymiser"]
