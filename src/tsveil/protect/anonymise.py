"""A frame protected in one call: the same kind of frame with the same columns, verified before it is given back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tsveil.core.errors import GuaranteeError, ParameterError
from tsveil.core.randomness import fresh_seed
from tsveil.core.registry import METHODS, starting
from tsveil.data.frames import BlockSpec, Times
from tsveil.data.gaps import Missing
from tsveil.data.native import as_polars, cluster_of_frame, like_given
from tsveil.protect.cluster_frames import protect_partitions
from tsveil.protect.frame_roles import Roles, with_given_types


def anonymise(
    frame: Any,
    *,
    id: str | None = None,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    k: int = 5,
    blocks: Mapping[str, BlockSpec] | None = None,
    times: Times = None,
    confidential: str | Sequence[str] = (),
    leave_out: str | Sequence[str] = (),
    time_format: str | None = None,
    missing: Missing = "refuse",
    seed: int | None = None,
    folder: str | Path | None = None,
) -> Any:
    """A frame in which every row of values is shared by at least k records: MDAV with its defaults.

    The frame may be of pandas, polars (lazy, too), pyarrow, DuckDB, Dask or Spark, and what comes back is of the same kind, with the columns in the same order and of
    the same types. It is read into memory, but for frames of Dask and Spark, whose rows stay with the workers (see `folder`). Before it is given back it is read again as it is and its
    promise is checked by code that knows nothing of the method.

    What changes beside the values, as in a release: records come in random order, and identifiers are fresh, because the place of a row or a name that stayed would say
    whose it is. An identifier of texts gets random names, one of numbers 1, 2, ... in the random order. Means in columns of whole numbers or decimals are rounded to what the
    column holds. Types that list labels list the published ones only. An index of pandas without a name is numbered anew, and the metadata of pyarrow stay behind.

    Each record is taken for a person of its own. Columns without a role are refused, as they would say what the others hide. No attack is run, and nothing is measured:
    `Release.write` does that. A relation of DuckDB comes back on the default connection.

    Parameters
    ----------
    frame
        The data: a row per record and time, or with `blocks` a row per record.
    id, time, value
        The columns of a long frame: the record, the time, and one or several series; unless given those that forecasting libraries use: unique_id, ds and y.
        Of a wide frame only `id`, if it has one.
    k
        The fewest records that share a published row of values.
    blocks, times
        What is protected together in a wide frame, as for `Dataset.from_frame`.
    confidential
        Columns that are carried unchanged. They are not protected, and whoever knows a rare value can link by it.
    leave_out
        Columns that do not come back.
    time_format, missing
        As for `Dataset.from_long`; missing="mask" needs a release.
    seed
        For tests only: grouping, order and names then follow from it. It is drawn from the operating system and forgotten otherwise.
    folder
        For frames of Dask and Spark: a folder that this machine and all workers see under the same path; by default the folder for temporary files. In a folder of its own there,
        which only this user may open, the workers write the frame to Parquet files, and the work is done in chunks. Everything that holds original values is removed
        before the result is given back, also when the work fails. The frame that comes back is lazy and reads the protected files there, which are removed when Python ends: whoever needs it longer
        writes it elsewhere. Only missing="refuse" is possible.

    Returns
    -------
    Any
        A new frame of the same kind.

    Raises
    ------
    InputError
        If the frame, its columns or k cannot be used; all problems at once.
    ParameterError
        If a parameter is for frames of another kind.
    EngineError
        If Dask or Spark cannot compute the frame, or its workers cannot do the work.
    GuaranteeError
        If what was made does not keep its promise; nothing is given back then.

    Examples
    --------
    >>> import polars as pl, tsveil as tv
    >>> frame = pl.DataFrame({"unique_id": ["a", "a", "b", "b"], "ds": [1, 2, 1, 2], "y": [1.0, 3.0, 2.0, 5.0]})
    >>> safe = tv.anonymise(frame, k=2)
    >>> safe.drop("unique_id").rows()
    [(1, 1.5), (2, 4.0), (1, 1.5), (2, 4.0)]
    """
    roles = Roles(
        id=id,
        time=time,
        value=value,
        blocks=blocks,
        times=times,
        confidential=confidential,
        leave_out=leave_out,
        time_format=time_format,
        missing=missing,
    )
    seed = fresh_seed() if seed is None else seed
    cluster = cluster_of_frame(frame)
    if cluster is not None:
        return protect_partitions(frame, cluster, roles, k, seed, folder)
    if folder is not None:
        raise ParameterError(
            "The 'folder' parameter of anonymise is for frames of Dask and Spark; others are protected in memory."
        )
    given = as_polars(frame)
    roles.check(given)
    data = roles.dataset(given)
    release = METHODS[starting()](k=k).protect(data, seed=seed)
    for text in release.warnings:
        warnings.warn(text, UserWarning, stacklevel=2)
    table = with_given_types(release.to_polars(), given, data, roles)
    safe = like_given(table, frame)
    verdict = release.guarantee.verify(roles.dataset(as_polars(safe)))
    if not verdict.holds:
        raise GuaranteeError(f"what was made of the frame does not keep its promise and is not given back\n{verdict}")
    return safe
