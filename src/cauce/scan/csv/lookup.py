"""A set of texts that is probed with located cells in place, without building their texts.

Cells that it cannot decide (long ones with doubled quotes, invalid UTF-8) are reported as UNSURE for a slow path.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cauce.scan.arrow import index_series
from cauce.scan.csv.gather import is_utf8
from cauce.scan.csv.located import quote_byte
from cauce.scan.csv.short_text import short_views
from cauce.scan.integers.numbering import number_keys
from cauce.scan.native import BOOL, U1, VOID, Array, kernel, piece
from cauce.scan.native.simd import BYTES, SPARE_BYTES, Bytes, Ints, below, byte_at, differ_mask, prefetch, word_at

ABSENT, UNSURE = 0, -1
"""Returned in place of a text's number in the set, which is at least 1."""
FEW_TEXTS = 5_000

_INTS = Array("int64", read=True)
_INTS32 = Array("int32", read=True)
_SLOTS_PER_TEXT = 4
_ROUND = 64
_LONGEST_ESCAPED = 4096
# A slot of the hash table holds a text's number plus one, and in its upper half that of the text's hash.
_TAG = np.uint64(0xFFFFFFFF00000000)
_MIX_0, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)


Numbers = NDArray[np.int32]


class TextSet:
    """Built once, probed by many blocks."""

    def __init__(self, texts: pl.Series) -> None:
        self._texts = texts.drop_nulls().unique(maintain_order=True)
        self._offsets, self._data = _bytes_of(self._texts)
        slots = 1 << max(4, (len(self._texts) * _SLOTS_PER_TEXT - 1).bit_length())
        self._table: NDArray[np.uint64] = np.zeros(slots, np.uint64)
        _fill(self._data, self._offsets, self._table)

    def probe(
        self,
        buffer: Bytes,
        start: Ints,
        length: NDArray[np.int32],
        escaped: NDArray[np.uint8],
        rows: Ints | None,
        quote: str = '"',
    ) -> Numbers:
        """For each row, the number of its cell in the set, or ABSENT, or UNSURE."""
        every = rows is None
        chosen = np.empty(0, np.int64) if rows is None else np.ascontiguousarray(rows, np.int64)
        found = np.empty(length.size if every else chosen.size, np.int32)
        hashes, plain = np.empty(_ROUND, np.uint64), np.empty(_LONGEST_ESCAPED + SPARE_BYTES, np.uint8)
        _probe(
            buffer, start, length, escaped, chosen, every, quote_byte(quote),
            self._data, self._offsets, self._table, hashes, plain, found,
        )  # fmt: skip
        return found

    def numbers(self, texts: pl.Series) -> Numbers:
        """The same for built texts; never UNSURE."""
        if len(texts) > FEW_TEXTS:
            views = None if texts.null_count() else short_views(texts)
            if views is not None:
                numbered = number_keys(views)
                if len(numbered.firsts) <= FEW_TEXTS:
                    return self._probed(texts[index_series(numbered.firsts)])[numbered.numbers]
        return self._probed(texts)

    def _probed(self, texts: pl.Series) -> Numbers:
        offsets, data = _bytes_of(texts)
        length = np.diff(offsets).astype(np.int32)
        found = self.probe(data, offsets[:-1], length, np.zeros(len(texts), np.uint8), None)
        if self._empty_number:
            # Unlike an empty cell, a text without bytes is a text.
            found[length == 0] = self._empty_number
        if texts.null_count():
            found[texts.is_null().to_numpy()] = ABSENT
        return found

    @cached_property
    def _empty_number(self) -> int:
        """The number of the text without bytes; ABSENT if it is not in the set."""
        empty = np.flatnonzero(np.diff(self._offsets) == 0)
        return int(empty[0]) + 1 if len(empty) else ABSENT


def _bytes_of(texts: pl.Series) -> tuple[Ints, Bytes]:
    """Where each text begins, and the last one ends, in their bytes, which are followed by spare ones."""
    arrow = texts.cast(pl.String).rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    if not len(arrow):
        return np.zeros(1, np.int64), np.zeros(SPARE_BYTES, np.uint8)
    _, first, text = arrow.buffers()
    offsets = np.frombuffer(first, np.int64)[arrow.offset : arrow.offset + len(arrow) + 1].copy()
    size = int(offsets[-1])
    data = np.zeros(size + SPARE_BYTES, np.uint8)
    if size:
        data[:size] = np.frombuffer(text, np.uint8)[:size]
    return offsets, data


@piece
def _hash(data: Bytes, start: Any, length: Any) -> Any:
    """Hashes the length and the first, middle and last bytes; a comparison separates texts that differ elsewhere."""
    head = word_at(data, start)
    tail: Any = np.uint64(0)
    middle: Any = np.uint64(0)
    if length < 8:
        head &= below(length * 8)
    else:
        tail = word_at(data, start + length - 8)
        middle = word_at(data, start + length // 2 - 4)
    hashed = (head ^ np.uint64(length) * _MIX_0) * _MIX_1
    hashed = (hashed ^ hashed >> np.uint64(32) ^ tail) * _MIX_2
    hashed = (hashed ^ hashed >> np.uint64(29) ^ middle) * _MIX_1
    return hashed ^ hashed >> np.uint64(32)


@piece
def _unescape(buffer: Bytes, at: Any, size: Any, quote: Any, plain: Bytes) -> Any:
    to = 0
    end = at + size
    while at < end:
        byte = byte_at(buffer, at)
        plain[to] = byte
        to += 1
        at += 2 if byte == quote else 1
    return to


@piece
def _same(one: Bytes, at: Any, other: Bytes, to: Any, length: Any) -> bool:
    for done in range(0, length, 64):
        if differ_mask(one, at + done, other, to + done) & below(min(length - done, 64)) != np.uint64(0):
            return False
    return True


@kernel(VOID, BYTES, _INTS, Array("uint64"))
def _fill(data: Bytes, offsets: Ints, table: NDArray[np.uint64]) -> None:
    mask = np.uint64(table.size - 1)
    for number in range(offsets.size - 1):
        hashed = _hash(data, offsets[number], offsets[number + 1] - offsets[number])
        slot = hashed & mask
        while table[slot] != np.uint64(0):
            slot = (slot + np.uint64(1)) & mask
        table[slot] = hashed & _TAG | np.uint64(number + 1)


@kernel(
    VOID, BYTES, _INTS, _INTS32, BYTES, _INTS, BOOL, U1, BYTES, _INTS,
    Array("uint64"), Array("uint64"), Array("uint8"), Array("int32"),
)  # fmt: skip
def _probe(
    buffer: Bytes,
    start: Ints,
    length: NDArray[np.int32],
    escaped: NDArray[np.uint8],
    rows: Ints,
    every: bool,
    quote: int,
    data: Bytes,
    offsets: Ints,
    table: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    plain: Bytes,
    found: Numbers,
) -> None:
    """Works in rounds of ``hashes.size`` rows: prefetches the data of all rows before it compares them.

    ``plain`` is a buffer for a cell with its doubled quotes unescaped.
    """
    mask = np.uint64(table.size - 1)
    for first in range(0, found.size, hashes.size):
        last = min(first + hashes.size, found.size)
        for i in range(first, last):
            row = i if every else rows[i]
            prefetch(buffer, start[row])
            prefetch(buffer, start[row] + length[row])
        for i in range(first, last):
            row = i if every else rows[i]
            hashed = _hash(buffer, start[row], np.int64(length[row]))
            hashes[i - first] = hashed
            place: Any = np.int64(hashed & mask)
            prefetch(table, place)
        for i in range(first, last):
            entry = table[hashes[i - first] & mask]
            if entry & _TAG == hashes[i - first] & _TAG:
                near: Any = np.int64(entry & ~_TAG)
                prefetch(data, offsets[max(near - 1, 0)])
        for i in range(first, last):
            row = i if every else rows[i]
            at = start[row]
            size = np.int64(length[row])
            found[i] = ABSENT
            if size == 0:
                continue
            hashed = hashes[i - first]
            if escaped[row]:
                if size > plain.size - SPARE_BYTES:
                    found[i] = UNSURE
                    continue
                size = _unescape(buffer, at, size, quote, plain)
                hashed = _hash(plain, 0, size)
            slot = hashed & mask
            while table[slot] != np.uint64(0):
                if table[slot] & _TAG == hashed & _TAG:
                    number = np.int64(table[slot] & ~_TAG)
                    to = offsets[number - 1]
                    if offsets[number] - to == size and (
                        _same(plain, 0, data, to, size) if escaped[row] else _same(buffer, at, data, to, size)
                    ):
                        found[i] = number
                        break
                slot = (slot + np.uint64(1)) & mask
            # Invalid UTF-8 decodes to U+FFFD, which may be in the set.
            if found[i] == ABSENT and not is_utf8(buffer, at, at + length[row]):
                found[i] = UNSURE
