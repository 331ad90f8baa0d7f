"""A set of texts that located cells can be looked up in where they lie, without being built.

What it is not sure of (doubled quotes, bytes that may not be UTF-8) it says, for a slower look.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from cauce.scan.vector import BYTES, SPARE_BYTES, Bytes, Ints, byte_at, compiled

ABSENT, PRESENT, UNSURE = 0, 1, 2
FEW_TEXTS = 5_000

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_INTS32 = types.Array(types.int32, 1, "C", readonly=True)
_SLOTS_PER_TEXT = 4
_HEAD, _TAIL = 8, 8


class TextSet:
    """Built once, probed by many blocks."""

    def __init__(self, texts: pl.Series) -> None:
        self._texts = texts.drop_nulls().unique(maintain_order=True)
        arrow = self._texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.large_string())
        offsets, data = arrow.buffers()[1:]
        self._offsets: Ints = np.frombuffer(offsets, np.int64)[arrow.offset : arrow.offset + len(arrow) + 1].copy()
        size = int(self._offsets[-1]) if len(arrow) else 0
        self._data: Bytes = np.zeros(size + SPARE_BYTES, np.uint8)
        if size:
            self._data[:size] = np.frombuffer(data, np.uint8)[:size]
        slots = 1 << max(4, (len(arrow) * _SLOTS_PER_TEXT - 1).bit_length())
        self._table: NDArray[np.int32] = np.zeros(slots, np.int32)
        _fill(self._data, self._offsets, self._table)
        self._members: frozenset[str] | None = None

    def probe(
        self,
        buffer: Bytes,
        start: Ints,
        length: NDArray[np.int32],
        escaped: NDArray[np.uint8],
        rows: Ints | None,
    ) -> NDArray[np.uint8]:
        """For each of the rows whether its cell is in the set: absent, present, or unsure."""
        every = rows is None
        chosen = np.empty(0, np.int64) if rows is None else np.ascontiguousarray(rows, np.int64)
        found = np.empty(length.size if every else chosen.size, np.uint8)
        _probe(buffer, start, length, escaped, chosen, every, self._data, self._offsets, self._table, found)
        return found

    def has(self, texts: pl.Series) -> NDArray[np.bool_]:
        """The same for texts that have been built."""
        if len(texts) > FEW_TEXTS:
            return texts.is_in(self._texts.implode()).fill_null(False).to_numpy()
        # Polars would hash the whole set anew for a handful of texts.
        if self._members is None:
            self._members = frozenset(self._texts)
        return np.array([text in self._members for text in texts], np.bool_)


@compiled(types.uint64(BYTES, types.int64, types.int64))
def _hash(data: Bytes, start: Any, length: Any) -> Any:
    """Of the length, the first bytes and the last ones: what differs elsewhere is told apart by comparing."""
    hashed = np.uint64(14695981039346656037) ^ np.uint64(length)
    head = min(length, _HEAD)
    for i in range(head):
        hashed = (hashed ^ np.uint64(byte_at(data, start + i))) * np.uint64(1099511628211)
    for i in range(max(head, length - _TAIL), length):
        hashed = (hashed ^ np.uint64(byte_at(data, start + i))) * np.uint64(1099511628211)
    return hashed ^ (hashed >> np.uint64(29))


@compiled(types.boolean(BYTES, types.int64, BYTES, types.int64, types.int64))
def _same(one: Bytes, at: Any, other: Bytes, to: Any, length: Any) -> bool:
    for i in range(length):  # noqa: SIM110  (kernels have no generators)
        if byte_at(one, at + i) != byte_at(other, to + i):
            return False
    return True


@compiled(types.void(BYTES, _INTS, types.int32[::1]))
def _fill(data: Bytes, offsets: Ints, table: NDArray[np.int32]) -> None:
    mask = np.uint64(table.size - 1)
    for number in range(offsets.size - 1):
        slot = _hash(data, offsets[number], offsets[number + 1] - offsets[number]) & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = number + 1


@compiled(
    types.void(BYTES, _INTS, _INTS32, BYTES, _INTS, types.boolean, BYTES, _INTS, types.int32[::1], types.uint8[::1])
)
def _probe(
    buffer: Bytes,
    start: Ints,
    length: NDArray[np.int32],
    escaped: NDArray[np.uint8],
    rows: Ints,
    every: bool,
    data: Bytes,
    offsets: Ints,
    table: NDArray[np.int32],
    found: NDArray[np.uint8],
) -> None:
    mask = np.uint64(table.size - 1)
    for i in range(found.size):
        row = i if every else rows[i]
        at = start[row]
        size = np.int64(length[row])
        found[i] = ABSENT
        if size == 0:
            continue
        if escaped[row]:
            found[i] = UNSURE
            continue
        slot = _hash(buffer, at, size) & mask
        while table[slot] != 0:
            number = table[slot] - 1
            to = offsets[number]
            if offsets[number + 1] - to == size and _same(buffer, at, data, to, size):
                found[i] = PRESENT
                break
            slot = (slot + np.uint64(1)) & mask
        if found[i] == ABSENT:
            # Bytes that are no UTF-8 stand for U+FFFD, which may well be in the set.
            for k in range(size):
                if byte_at(buffer, at + k) >= 0x80:
                    found[i] = UNSURE
                    break
