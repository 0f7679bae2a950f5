"""The smallest of Parquet files, byte by byte, to be damaged."""

from __future__ import annotations

import numpy as np

#: a table of one column with 1.5, 2.5 and 3.5, as another program writes it; the byte 12 is the number of values in its page
PARQUET = (
    b"PAR1\x15\0\x15<\x15<,\x15\x06\x15\0\x15\x06\x15\x06\x1c\0\0\0\x02\0\0\0\x06\x01"
    + np.array([1.5, 2.5, 3.5], "<f8").tobytes()
    + b"\x15\x04\x19,5\0\x18\x06schema\x15\x02\0\x15\n%\x02\x18\x011\0\x16\x06\x19\x1c\x19\x1c&\0\x1c\x15\n\x19%\x06\0\x19"
    b"\x18\x011\x15\0\x16\x06\x16b\x16b&\x08I\x1c\x15\0\x15\0\x15\x02\0<)\x06\x19&\0\x06\0\0\0\x16b\x16\x06&\x08\x16b\0"
    b"( parquet-cpp-arrow version 26.0.1\x19\x1c\x1c\0\0\0z\0\0\0PAR1"
)
