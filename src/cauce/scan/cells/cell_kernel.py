"""Shared by all cell kernels: the input types, the states of a cell, and the conversion to Polars.

A kernel reads cells in place in the buffer and must never write to its input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.arrow import arrow_series
from cauce.scan.native import VOID, Array, kernel
from cauce.scan.native.kernel import inline_piece
from cauce.scan.native.simd import prefetch
from cauce.scan.native.types import Type

F = TypeVar("F", bound=Callable[..., Any])
Value = TypeVar("Value", bound=np.generic)

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


def cell_kernel(*more: Type) -> Callable[[F], F]:
    """Declares a kernel over the cells of a column: buffer, starts, lengths, ``more``, and the state of each cell."""
    return kernel(VOID, BYTES, STARTS, LENGTHS, *more, STATES)


def parse_cells(
    parse: Callable[..., None], dtype: type[Value], buf: Bytes, start: Starts, length: Lengths, *options: Any
) -> tuple[npt.NDArray[Value], States]:
    """Runs a kernel whose last arguments are the options, a value for each cell and its state."""
    values, state = np.empty(len(start), dtype), np.empty(len(start), np.uint8)
    parse(buf, start, length, *options, values, state)
    return values, state


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
