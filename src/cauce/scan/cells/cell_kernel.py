"""Shared by all cell kernels: the input types, the states of a cell, and the conversion to Polars.

A kernel reads cells in place in the buffer and must never write to its input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.arrow import arrow_series
from cauce.scan.native import Array
from cauce.scan.native.kernel import inline_piece
from cauce.scan.native.simd import prefetch

NULL, PARSED, BAD, ODD = range(4)
"""States of a cell. ``ODD``: the kernel cannot decide; the slow path of its module does."""

AHEAD = 16
"""Prefetch distance in rows: cells are far apart, and memory is slow."""

Bytes = npt.NDArray[np.uint8]
Starts = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.int32]
States = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

# Read-only, so that a buffer over `bytes` or a memory map is accepted without a copy.
BYTES = Array("uint8", read=True)
STARTS = Array("int64", read=True)
LENGTHS = Array("int32", read=True)
STATES = Array("uint8")


@inline_piece
def is_empty(buf: Any, start: Any, length: Any, state: Any, i: Any) -> Any:
    """Whether cell ``i`` is empty. Sets its state to ``NULL``, or to ``BAD`` until it is parsed."""
    prefetch(buf, start[min(i + AHEAD, len(start) - 1)])
    state[i] = BAD if length[i] else NULL
    return length[i] == 0


def to_series(
    arrow_type: pa.DataType,
    values: npt.NDArray[np.generic],
    state: States,
    children: list[pa.Array] | None = None,
) -> pl.Series:
    """The column whose value buffer is ``values``, null if a cell was not parsed. Copies nothing."""
    parsed = state == PARSED
    validity = None if parsed.all() else pa.py_buffer(np.packbits(parsed, bitorder="little"))
    buffers = [validity, pa.py_buffer(values)]
    # Not `pa.array`, which would import pandas if it is installed.
    array = pa.Array.from_buffers(arrow_type, len(state), buffers, children=children)
    return arrow_series(array)
