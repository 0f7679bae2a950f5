"""Logarithms of values, by which features of series are taken: numpy's may differ in the last bit from machine to machine."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array


@kernel
def put_logs(x: Array, y: Array) -> None:
    """Put sign(x) log(1 + |x|) into y."""
    for i in range(x.shape[0]):
        for t in range(x.shape[1]):
            y[i, t] = np.copysign(np.log1p(abs(x[i, t])), x[i, t])
