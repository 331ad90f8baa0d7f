"""Decimals, whose type has 128 bits, as integers of 64 bits and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.arrow import arrow_series
from cauce.scan.native import BOOL, VOID, Array, kernel

Values = npt.NDArray[np.int64]


@kernel(BOOL, Array("int64", 2, read=True), Array("int64"))
def _narrow(words: Values, values: Values) -> Any:
    """Writes the low halves of 128-bit numbers. Returns whether all fit into 64 bits."""
    wide = np.int64(0)
    for i in range(values.size):
        value = words[i, 0]
        values[i] = value
        wide |= words[i, 1] ^ (value >> 63)
    return wide == 0


@kernel(VOID, Array("int64", read=True), Array("int64", 2))
def _widen(values: Values, words: Values) -> None:
    for i in range(values.size):
        words[i, 0] = values[i]
        words[i, 1] = values[i] >> 63


def words_of(column: pl.Series) -> Values:
    """The halves of the decimals of a column, the low one first; without a copy."""
    array = column.rechunk().to_arrow()
    return np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]


def narrowed(column: pl.Series) -> Values | None:
    """Decimals without nulls in units of their last digit; None if one exceeds 64 bits."""
    values = np.empty(len(column), np.int64)
    return values if not len(values) or _narrow(words_of(column), values) else None


def wide_words(values: Values) -> Values:
    """64-bit integers as 128-bit ones: a row of the low and the high half of each."""
    words = np.empty((len(values), 2), np.int64)
    _widen(np.ascontiguousarray(values, np.int64), words)
    return words


def widened(values: Values, dtype: pl.Decimal, validity: pa.Buffer | None = None) -> pl.Series:
    """The reverse of `narrowed`."""
    return decimals(wide_words(values), dtype, validity)


def decimals(words: Values, dtype: pl.Decimal, validity: pa.Buffer | None = None) -> pl.Series:
    """The reverse of `words_of`."""
    arrow = pa.decimal128(dtype.precision or 38, dtype.scale)
    return arrow_series(pa.Array.from_buffers(arrow, len(words), [validity, pa.py_buffer(words)]))
