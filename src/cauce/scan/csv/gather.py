"""Builds columns from located cells, for the chosen rows only.

The only place that unescapes doubled quotes and replaces invalid UTF-8 by U+FFFD.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from cauce.scan.arrow import arrow_series
from cauce.scan.csv.kernel import find
from cauce.scan.csv.located import quote_byte
from cauce.scan.native import BOOL, I8, U1, VOID, Array, kernel, piece
from cauce.scan.native.simd import (
    BYTES,
    SPARE_BYTES,
    Bytes,
    Ints,
    byte_at,
    copy_block,
    high_mask,
    next_bit,
    prefetch,
)

_AHEAD = 16
_INTS = Array("int64", read=True)
_INTS32 = Array("int32", read=True)


def gather_text(
    buffer: Bytes,
    start: Ints,
    length: NDArray[np.int32],
    escaped: NDArray[np.uint8],
    rows: Ints | None = None,
    *,
    null_text: bytes = b"",
    quote: str = '"',
) -> pl.Series:
    """The cells of ``rows`` (None: all) as text; null if a cell is empty or equals ``null_text``."""
    data, offsets = gather_bytes(buffer, start, length, escaped, rows, null_text=null_text, quote=quote)
    invalid = _invalid_cells(data, offsets)
    if invalid.size:
        data, offsets = _replaced(data, offsets, invalid)
    present = offsets[1:] > offsets[:-1]
    validity = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    # Not pa.array(ndarray), which would import pandas if it is installed.
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return arrow_series(pa.Array.from_buffers(pa.large_string(), present.size, buffers))


def gather_lines(buffer: Bytes, start: Ints, length: NDArray[np.int32]) -> tuple[Bytes, int]:
    """The bytes of these ranges one after the other, with spare bytes after them, and their number."""
    data = np.zeros(int(length.sum(dtype=np.int64)) + SPARE_BYTES, np.uint8)
    offsets = np.zeros(length.size + 1, np.int64)
    plain = np.zeros(length.size, np.uint8)
    null = np.empty(0, np.uint8)
    _copy(buffer, start, length, plain, np.empty(0, np.int64), True, quote_byte(""), null, data, offsets)
    return data, int(offsets[-1])


def gather_bytes(
    buffer: Bytes,
    start: Ints,
    length: NDArray[np.int32],
    escaped: NDArray[np.uint8],
    rows: Ints | None = None,
    *,
    null_text: bytes = b"",
    quote: str = '"',
) -> tuple[Bytes, Ints]:
    """The same cells as raw bytes: cell ``i`` is ``data[offsets[i]:offsets[i + 1]]``, empty if it is null.

    ``data`` is followed by spare bytes in its array, so that kernels may read it in vectors.
    """
    every = rows is None
    chosen = np.empty(0, np.int64) if rows is None else np.ascontiguousarray(rows, np.int64)
    offsets = np.zeros((length.size if every else chosen.size) + 1, np.int64)
    data = np.empty(_total(length, chosen, every) + SPARE_BYTES, np.uint8)
    null = np.frombuffer(null_text, np.uint8)
    _copy(buffer, start, length, escaped, chosen, every, quote_byte(quote), null, data, offsets)
    return data[: offsets[-1]], offsets


def present(buffer: Bytes, start: Ints, length: NDArray[np.int32], *, null_text: bytes = b"") -> NDArray[np.bool_]:
    """Which cells are not null, without building them."""
    filled = length > 0
    if null_text:
        alike = np.flatnonzero(length == len(null_text))
        cells = buffer[start[alike, None] + np.arange(len(null_text))]
        filled[alike] = (cells != np.frombuffer(null_text, np.uint8)).any(axis=1)
    return filled


@kernel(I8, _INTS32, _INTS, BOOL)
def _total(length: NDArray[np.int32], rows: Ints, every: bool) -> int:
    total = 0
    for i in range(length.size if every else rows.size):
        total += length[i if every else rows[i]]
    return total


@kernel(VOID, BYTES, _INTS, _INTS32, BYTES, _INTS, BOOL, U1, BYTES, Array("uint8"), Array("int64"))
def _copy(
    buffer: Bytes,
    start: Ints,
    length: NDArray[np.int32],
    escaped: NDArray[np.uint8],
    rows: Ints,
    every: bool,
    quote: int,
    null_text: Bytes,
    data: Bytes,
    offsets: Ints,
) -> None:
    to = 0
    last = offsets.size - 2
    for i in range(offsets.size - 1):
        ahead = min(i + _AHEAD, last)
        prefetch(buffer, start[ahead if every else rows[ahead]])
        row = i if every else rows[i]
        at = start[row]
        end = at + length[row]
        first = to
        while at < end:
            # Copies whole blocks: the next cell overwrites the excess.
            stop = end
            skip = 0
            if escaped[row]:
                stop = find(buffer, at, end, quote)
                if stop < end:
                    stop += 1
                    skip = 1
            for step in range(0, stop - at, 64):
                copy_block(data, to + step, buffer, at + step)
            to += stop - at
            at = stop + skip
        if null_text.size and to - first == null_text.size:
            same = True
            for k in range(null_text.size):
                same = same and data[first + k] == null_text[k]
            if same:
                to = first
        offsets[i + 1] = to


@piece
def _sequence(data: Bytes, at: int, end: int) -> int:
    """The size in bytes of the non-ASCII character at ``at``; 0 if it is not UTF-8 (Unicode, table 3-7)."""
    lead = byte_at(data, at)
    low, high = 0x80, 0xBF
    if lead < 0xC2 or lead > 0xF4:
        return 0
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if lead == 0xE0:
        low = 0xA0
    elif lead == 0xED:
        high = 0x9F
    elif lead == 0xF0:
        low = 0x90
    elif lead == 0xF4:
        high = 0x8F
    if at + size > end or not low <= byte_at(data, at + 1) <= high:
        return 0
    for k in range(2, size):
        if byte_at(data, at + k) & 0xC0 != 0x80:
            return 0
    return size


@piece
def is_utf8(data: Bytes, at: int, end: int) -> bool:
    while at < end:
        step = next_bit(high_mask(data, at), 0)
        at += step
        if step < 64 and at < end:
            taken = _sequence(data, at, end)
            if taken == 0:
                return False
            at += taken
    return True


@kernel(I8, BYTES, I8, _INTS, Array("int64"))
def _find_invalid(data: Bytes, size: int, offsets: Ints, found: Ints) -> int:
    """Writes the numbers of cells that are not UTF-8 to ``found``, as far as it has room; returns their count."""
    count = 0
    cell = 0
    at = 0
    while at < size:
        step = next_bit(high_mask(data, at), 0)
        at += step
        if step == 64 or at >= size:
            continue
        while offsets[cell + 1] <= at:
            cell += 1
        # A sequence must end within its cell: two halves in adjacent cells are not a character.
        taken = _sequence(data, at, offsets[cell + 1])
        if taken == 0:
            if count < found.size:
                found[count] = cell
            count += 1
            taken = offsets[cell + 1] - at
        at += taken
    return count


def _invalid_cells(data: Bytes, offsets: Ints) -> Ints:
    found = np.empty(0, np.int64)
    count = _find_invalid(data, data.size, offsets, found)
    if count:
        found = np.empty(count, np.int64)
        _find_invalid(data, data.size, offsets, found)
    return found


def _replaced(data: Bytes, offsets: Ints, invalid: Ints) -> tuple[Bytes, Ints]:
    """The same cells with U+FFFD where Python's decoder puts it. Slow, for the few cells that need it."""
    pieces: list[Bytes] = []
    growth = np.zeros(offsets.size, np.int64)
    done = 0
    for cell in invalid.tolist():
        begin, end = offsets[cell], offsets[cell + 1]
        text = data[begin:end].tobytes().decode("utf-8", "replace").encode()
        pieces += data[done:begin], np.frombuffer(text, np.uint8)
        growth[cell + 1] = len(text) - (end - begin)
        done = end
    pieces.append(data[done:])
    return np.concatenate(pieces), offsets + np.cumsum(growth)
