"""Arithmetic of decimals and integers that fit into 64 bits, as nearly all do although their type has 128."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.arrow import arrow_series
from cauce.scan.integers.wide import words_of
from cauce.scan.native import BOOL, I8, VOID, Array, kernel

Values = npt.NDArray[np.int64]

ADD, SUBTRACT, MULTIPLY = range(3)

_VALUES = Array("int64", read=True)
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


@kernel(BOOL, Array("int64", 2, read=True), Array("int64"), Array("int64"))
def _narrow(words: Values, values: Values, ends: Values) -> Any:
    """Writes the low halves of 128-bit numbers, the smallest and the largest. Returns whether all fit into 64 bits."""
    low, high, wide = ends[0], ends[1], np.int64(0)
    for i in range(values.size):
        value = words[i, 0]
        values[i] = value
        wide |= words[i, 1] ^ (value >> 63)
        low = min(low, value)
        high = max(high, value)
    ends[0], ends[1] = low, high
    return wide == 0


@kernel(VOID, _VALUES, I8, _VALUES, I8, I8, Array("int64", 2))
def _combine(a: Values, scale_a: int, b: Values, scale_b: int, operation: int, words: Values) -> None:
    """Writes 128-bit numbers. No result may exceed 64 bits."""
    for i in range(a.size):
        x, y = a[i] * scale_a, b[i] * scale_b
        value = x * y if operation == MULTIPLY else x - y if operation == SUBTRACT else x + y
        words[i, 0] = value
        words[i, 1] = value >> 63


@dataclass(frozen=True)
class Narrow:
    """Values without nulls, decimals in units of their last digit, between `low` and `high`."""

    values: Values
    low: int
    high: int

    @staticmethod
    def of(column: pl.Series) -> Narrow | None:
        """None if the column is empty, has nulls, another type, or values that exceed 64 bits."""
        if column.null_count() or column.is_empty():
            return None
        if column.dtype in _INTEGERS:
            whole = np.ascontiguousarray(column.cast(pl.Int64).rechunk().to_numpy())
            return Narrow(whole, int(whole.min()), int(whole.max()))
        if not isinstance(column.dtype, pl.Decimal):
            return None
        words = words_of(column)
        values, ends = np.empty(len(words), np.int64), words[0, :1].repeat(2)
        return Narrow(values, int(ends[0]), int(ends[1])) if _narrow(words, values, ends) else None

    def scaled_ends(self, factor: int) -> tuple[int, int]:
        return self.low * factor, self.high * factor


def decimals(a: Narrow, scale_a: int, b: Narrow, scale_b: int, operation: int, dtype: pl.Decimal) -> pl.Series:
    """The sum, difference or product of `a` times `scale_a` and `b` times `scale_b`, none of which may exceed 64
    bits, in units of the last digit of a decimal type."""
    words = np.empty((len(a.values), 2), np.int64)
    _combine(a.values, scale_a, b.values, scale_b, operation, words)
    arrow = pa.decimal128(dtype.precision or 38, dtype.scale)
    return arrow_series(pa.Array.from_buffers(arrow, len(words), [None, pa.py_buffer(words)]))
