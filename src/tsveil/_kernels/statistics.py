"""Statistics of single series."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices

#: a standard deviation below this share of the largest value is rounding
CONSTANT = 1e-12


@kernel
def autocorrelations(X: Array, lags: Indices, factors: Array) -> Array:
    """The autocorrelation of every row at every lag, times the lag's factor; zero for constant rows at lags above 0."""
    n, T = X.shape
    out = np.zeros((n, len(lags)))
    z = np.empty(T)
    for i in range(n):
        # Shifted by the first value (offsets cost no digits) and divided by the largest (squares stay in range).
        largest = 0.0
        widest = 0.0
        for t in range(T):
            z[t] = X[i, t] - X[i, 0]
            largest = max(largest, abs(X[i, t]))
            widest = max(widest, abs(z[t]))
        total = 0.0
        for t in range(T):
            if widest > 0.0:
                z[t] /= widest
            total += z[t]
        mean = total / T
        squares = 0.0
        for t in range(T):
            z[t] -= mean
            squares += z[t] * z[t]
        constant = widest * np.sqrt(squares / T) <= CONSTANT * largest
        for k in range(len(lags)):
            lag = lags[k]
            if lag == 0:
                out[i, k] = 1.0
            elif not constant:
                products = 0.0
                for t in range(T - lag):
                    products += z[t] * z[t + lag]
                out[i, k] = products / squares * factors[k]
    return out
