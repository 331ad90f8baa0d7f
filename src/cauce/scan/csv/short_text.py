"""Builds text columns whose cells are all short, as codes and flags are: each text is within its view of 16 bytes, and
nothing else is written or converted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from cauce.scan.arrow import arrow_series
from cauce.scan.native import BOOL, I8, Array, kernel
from cauce.scan.native.simd import BYTES, Bytes, Ints, below, prefetch, word_at

SHORT_BYTES = 12
"""The longest text that a view of Arrow holds itself."""

_AHEAD = 16
_PROBED = 100
_LENGTH = np.uint64(0xFFFFFFFF)
_HALF, _HIGH_BITS = np.uint64(32), np.uint64(0x8080808080808080)


@kernel(
    I8, BYTES, Array("int64", read=True), Array("int32", read=True), BYTES, Array("int64", read=True), BOOL,
    Array("uint64", 2), Array("uint8"),
)  # fmt: skip
def _write_views(
    buffer: Bytes,
    start: Ints,
    length: NDArray[np.int32],
    escaped: NDArray[np.uint8],
    rows: Ints,
    every: bool,
    views: NDArray[np.uint64],
    filled: NDArray[np.uint8],
) -> Any:
    """Returns the number of empty cells; -1 if a cell is longer, has doubled quotes, or is not ASCII."""
    empty = 0
    last = views.shape[0] - 1
    for i in range(views.shape[0]):
        prefetch(buffer, start[min(i + _AHEAD, last) if every else rows[min(i + _AHEAD, last)]])
        row = i if every else rows[i]
        size = length[row]
        if size > SHORT_BYTES or escaped[row]:
            return -1
        head = word_at(buffer, start[row]) & below(min(size, 8) * 8)
        tail = word_at(buffer, start[row] + 8) & below(max(size - 8, 0) * 8)
        if (head | tail) & _HIGH_BITS:
            return -1
        views[i, 0] = np.uint64(size) | (head << _HALF)
        views[i, 1] = (head >> _HALF) | (tail << _HALF)
        filled[i] = size != 0
        empty += size == 0
    return empty


def short_views(texts: pl.Series) -> NDArray[np.uint64] | None:
    """The views of texts without nulls, two words for each: equal ones are equal texts. None if some are not short."""
    array: Any = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    views = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    return None if (views[:, 0] & _LENGTH).max() > SHORT_BYTES else views


@dataclass(frozen=True)
class ShortTexts:
    """Texts as views, which of them are not empty, and the number of those that are."""

    views: NDArray[np.uint64]
    filled: NDArray[np.uint8]
    empty: int

    def series(self) -> pl.Series:
        """Null if empty."""
        validity = pa.py_buffer(np.packbits(self.filled, bitorder="little")) if self.empty else None
        buffers = [validity, pa.py_buffer(self.views)]
        return arrow_series(pa.Array.from_buffers(pa.string_view(), len(self.views), buffers))


def short_texts(
    buffer: Bytes, start: Ints, length: NDArray[np.int32], escaped: NDArray[np.uint8], rows: Ints | None = None
) -> ShortTexts | None:
    """The cells of ``rows`` (None: all); None if some are not short, plain ASCII."""
    every = rows is None
    chosen = np.empty(0, np.int64) if rows is None else np.ascontiguousarray(rows, np.int64)
    height = length.size if rows is None else chosen.size
    probed = length[:_PROBED] if rows is None else length[chosen[:_PROBED]]
    if not height or probed.max() > SHORT_BYTES:
        return None
    views, filled = np.empty((height, 2), np.uint64), np.empty(height, np.uint8)
    empty = _write_views(buffer, start, length, escaped, chosen, every, views, filled)
    return None if empty < 0 else ShortTexts(views, filled, empty)


def gather_short_text(
    buffer: Bytes, start: Ints, length: NDArray[np.int32], escaped: NDArray[np.uint8], rows: Ints | None
) -> pl.Series | None:
    """The cells of ``rows`` (None: all) as text, null if empty; None if some are not short, plain ASCII."""
    made = short_texts(buffer, start, length, escaped, rows)
    return None if made is None else made.series()
