"""Compiled loops: arrays in, arrays out, no Python objects, no input or output. The only place that knows numba."""
