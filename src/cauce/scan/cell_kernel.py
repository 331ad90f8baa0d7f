"""What every cell kernel shares: the shape of its input, the states of a cell, and the way back to Polars.

A kernel reads cells where they lie in the buffer and must never write to its input.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.native import Array
from cauce.scan.arrow import arrow_series

NULL, PARSED, BAD, ODD = range(4)
"""States of a cell. ``ODD``: the kernel is not sure, the slow path of its module decides."""

AHEAD = 16
"""How many rows before its turn a cell is brought near: cells lie far apart, and memory is slow."""

Bytes = npt.NDArray[np.uint8]
Starts = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.int32]
States = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

# Read-only, so that a buffer over `bytes` or a memory map enters without a copy.
BYTES = Array("uint8", read=True)
STARTS = Array("int64", read=True)
LENGTHS = Array("int32", read=True)
STATES = Array("uint8")


def to_series(
    arrow_type: pa.DataType,
    values: npt.NDArray[np.generic],
    state: States,
    children: list[pa.Array] | None = None,
) -> pl.Series:
    """The column whose value buffer is ``values``, null wherever a cell was not parsed. Copies nothing."""
    parsed = state == PARSED
    validity = None if parsed.all() else pa.py_buffer(np.packbits(parsed, bitorder="little"))
    buffers = [validity, pa.py_buffer(values)]
    # Not `pa.array`: it would import pandas where that is installed.
    array = pa.Array.from_buffers(arrow_type, len(state), buffers, children=children)
    return arrow_series(array)
