"""A set of integers as one bit for each number of their range: to find the rows whose key is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.native import I8, VOID, Array, kernel

Keys = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_MOST_BITS_PER_KEY = 128
_FEW_BITS = 1 << 23
"""Ranges up to this size are always accepted: 1 MB."""


@kernel(VOID, Array("int64", read=True), I8, Array("uint64"))
def _set(keys: Keys, low: int, bits: Bits) -> None:
    for i in range(keys.size):
        distance = np.uint64(keys[i]) - np.uint64(low)
        bits[distance >> np.uint64(6)] |= np.uint64(1) << (distance & np.uint64(63))


@kernel(I8, Array("int64", read=True), I8, I8, Array("uint64", read=True), Array("int64"))
def _find(keys: Keys, low: int, size: int, bits: Bits, rows: Rows) -> int:
    """Writes the rows whose key is in the set. Returns how many there are."""
    count: Any = 0
    for i in range(keys.size):
        # Unsigned arithmetic wraps around, so that a key below the range becomes a large number.
        distance = min(np.uint64(keys[i]) - np.uint64(low), np.uint64(size))
        rows[count] = i
        count += np.int64(bits[distance >> np.uint64(6)] >> (distance & np.uint64(63)) & np.uint64(1))
    return count  # type: ignore[no-any-return]


class KeyBits:
    """The bit after the last one is never set: that of all keys outside the range."""

    def __init__(self, keys: Keys, low: int, size: int) -> None:
        self._low, self._size = low, size
        self._bits = np.zeros((size >> 6) + 1, np.uint64)
        _set(keys, low, self._bits)

    @staticmethod
    def of(keys: Keys) -> KeyBits | None:
        """None if the keys are too far apart."""
        low, high = int(keys.min()), int(keys.max())
        size = high - low + 1
        return KeyBits(keys, low, size) if size <= max(_MOST_BITS_PER_KEY * len(keys), _FEW_BITS) else None

    def rows(self, keys: Keys) -> Rows:
        """The indexes of the keys that are in the set."""
        found = np.empty(len(keys), np.int64)
        return found[: _find(keys, self._low, self._size, self._bits, found)]
