"""`tsveil.anonymise` with the methods that scikit-learn expects of a step: get_params, set_params, fit, transform, fit_transform.

Nothing is learned from one frame and used for another: each frame is protected by itself, as `sklearn.preprocessing.Normalizer` treats each row by itself. Rows come out in random
order, so targets that stand beside the frame would belong to other rows; they are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
import polars as pl

from tsveil.core.errors import ParameterError, some
from tsveil.data.frames import BlockSpec, Times
from tsveil.data.gaps import Missing
from tsveil.protect.anonymise import anonymise


class Anonymiser:
    """A step that gives a frame back in which every row of values is shared by at least k records.

    A two-dimensional array of numbers is a wide frame, all columns of which are protected together, and an array comes back. Frames need the same roles as for `tsveil.anonymise`.

    Parameters
    ----------
    k
        The fewest records that share a row of values.
    id, time, value, blocks, times, confidential, leave_out, time_format, missing, seed
        As for `tsveil.anonymise`. They are checked when a frame is protected. Of arrays no column has a name, so only `k` and `seed` matter.

    Examples
    --------
    >>> import numpy as np
    >>> step = Anonymiser(k=2, seed=1)
    >>> step.fit_transform(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 3.],
           [2., 3.]])
    >>> step.set_params(k=3).get_params()["k"]
    3
    """

    def __init__(
        self,
        *,
        k: int = 5,
        id: str | None = None,
        time: str | None = None,
        value: str | Sequence[str] | None = None,
        blocks: Mapping[str, BlockSpec] | None = None,
        times: Times = None,
        confidential: str | Sequence[str] = (),
        leave_out: str | Sequence[str] = (),
        time_format: str | None = None,
        missing: Missing = "refuse",
        seed: int | None = None,
    ) -> None:
        self.k, self.id, self.time, self.value = k, id, time, value
        self.blocks, self.times, self.confidential, self.leave_out = blocks, times, confidential, leave_out
        self.time_format, self.missing, self.seed = time_format, missing, seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as they were given.

        Parameters
        ----------
        deep
            Of no effect: no parameter has parameters of its own.

        Returns
        -------
        dict
            Name to value.
        """
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **given: Any) -> Self:
        """Change parameters.

        Parameters
        ----------
        given
            Names and values.

        Returns
        -------
        Anonymiser
            This one.

        Raises
        ------
        ParameterError
            If there is no such parameter.
        """
        known = self.get_params()
        if unknown := [name for name in given if name not in known]:
            raise ParameterError(f"Anonymiser has no parameter {some(unknown)}\n  its parameters: {', '.join(known)}")
        for name, value in given.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing: each frame is protected by itself.

        Parameters
        ----------
        X
            A frame, which is not looked at.
        y
            None; targets are refused.

        Returns
        -------
        Anonymiser
            This one.

        Raises
        ------
        ParameterError
            If there are targets.
        """
        _refuse_targets(y)
        return self

    def transform(self, X: Any) -> Any:
        """A frame or array after protection.

        Parameters
        ----------
        X
            A frame as `tsveil.anonymise` takes it, or a two-dimensional array of numbers.

        Returns
        -------
        Any
            The same kind of frame, or an array.

        Raises
        ------
        InputError
            If the frame, its columns or k cannot be used.
        GuaranteeError
            If what was made does not keep its promise.
        """
        options = self.get_params()
        if not isinstance(X, np.ndarray):
            return anonymise(X, **options)
        if X.ndim != 2 or X.dtype.kind not in "fiu":
            raise ParameterError(
                f"the array must have two dimensions and hold numbers. Got {X.ndim} of type {X.dtype}."
            )
        names = [f"column {at + 1}" for at in range(X.shape[1])]
        named = {name: value for name, value in options.items() if name not in ("k", "seed", "missing")}
        given = [name for name, value in named.items() if value is not None and value != ()]
        if given:
            raise ParameterError(
                f"{some(given)} names columns, and those of an array have no names\n  options: a frame"
            )
        blocks = {"columns": {"columns": names, "kind": "attributes"}}
        frame = pl.DataFrame({name: X[:, at] for at, name in enumerate(names)})
        return anonymise(frame, blocks=blocks, k=self.k, missing=self.missing, seed=self.seed).to_numpy()

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The same as `transform`.

        Parameters
        ----------
        X
            A frame or array.
        y
            None; targets are refused.

        Returns
        -------
        Any
            The same kind of frame, or an array.

        Raises
        ------
        ParameterError
            If there are targets.
        InputError
            If the frame, its columns or k cannot be used.
        GuaranteeError
            If what was made does not keep its promise.
        """
        return self.fit(X, y).transform(X)

    def __repr__(self) -> str:
        defaults = signature(type(self)).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"Anonymiser({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of every step."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(string=True),
            requires_fit=False,
            non_deterministic=True,
        )


def _refuse_targets(y: Any) -> None:
    if y is not None:
        raise ParameterError(
            "rows come out in random order, so targets (y) would belong to other rows\n"
            "  options: make them a column of the frame and name it in confidential=, which carries it unchanged"
        )
