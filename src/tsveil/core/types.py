"""The array types that the whole package speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: values: float64
Array = npt.NDArray[np.float64]
#: row numbers, group labels, counts: int64
Indices = npt.NDArray[np.int64]
#: yes or no per element
Mask = npt.NDArray[np.bool_]
#: anything numpy can read as an array
ArrayLike = npt.ArrayLike
AnyArray = npt.NDArray[Any]
