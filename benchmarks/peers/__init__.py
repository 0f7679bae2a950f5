"""Loops in C++ that do the same work as a kernel: what the benchmarks compare with."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tsveil.core.types import Array, Indices

#: no fused multiply-add: it would round otherwise than the definition does
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


def build(name: str) -> ctypes.CDLL | None:
    """The compiled file `name`.cpp of this folder; None, with a message, where there is no compiler."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        print(f"not compared with peers/{name}.cpp: no C++ compiler is installed (g++ or clang++)")
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{name}.so"
        source = Path(__file__).with_name(f"{name}.cpp")
        subprocess.run([compiler, *FLAGS, "-o", str(library), str(source)], check=True)
        return ctypes.CDLL(str(library))


def mdav(library: ctypes.CDLL, Z: Array, k: int) -> Indices:
    """The groups of MDAV by the loop in mdav.cpp."""
    labels = np.full(len(Z), -1, dtype=np.int64)
    library.mdav(
        Z.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(len(Z)),
        ctypes.c_int64(Z.shape[1]),
        ctypes.c_int64(k),
        labels.ctypes.data_as(ctypes.c_void_p),
    )
    return labels
