"""Protection as a step of a pipeline of scikit-learn, by the function for frames. The library itself is not needed, and nothing else here knows of it."""

from tsveil.sklearn.anonymiser import Anonymiser

__all__ = ["Anonymiser"]
