"""A set of integers as one bit for each number of their range: much smaller than a hash table, and exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.native import I8, VOID, Array, kernel

Keys = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]

FEW_BITS = 1 << 26
"""Of a set that is always worth its memory: 8 MB."""

_KEYS = Array("int64", read=True)
_ONE, _THREE, _SEVEN = np.uint64(1), np.uint64(3), np.uint64(7)


@kernel(VOID, _KEYS, I8, Array("uint8"))
def _fill(keys: Keys, low: int, bits: Bits) -> None:
    for i in range(keys.size):
        distance = np.uint64(keys[i] - low)
        bits[distance >> _THREE] |= np.uint8(_ONE << (distance & _SEVEN))


@kernel(I8, _KEYS, I8, I8, Array("uint8", read=True), Array("int64"))
def _select(keys: Keys, low: int, size: int, bits: Bits, rows: Rows) -> Any:
    """Writes the numbers of the rows whose key is in the set. Returns how many there are."""
    count: Any = 0
    for i in range(keys.size):
        # Arithmetic wraps around, so that a key below the range is at a large distance.
        distance = np.uint64(keys[i] - low)
        inside = min(distance, np.uint64(size))
        rows[count] = i
        count += np.int64((np.uint64(bits[inside >> _THREE]) >> (inside & _SEVEN)) & _ONE)
    return count


@kernel(I8, _KEYS, I8, Array("uint8"), Array("int64"))
def _first(keys: Keys, low: int, bits: Bits, rows: Rows) -> Any:
    """Writes the numbers of the rows with the first occurrence of each key. Returns how many there are."""
    count: Any = 0
    for i in range(keys.size):
        distance = np.uint64(keys[i] - low)
        byte, mask = distance >> _THREE, np.uint8(_ONE << (distance & _SEVEN))
        rows[count] = i
        count += np.int64(bits[byte] & mask == 0)
        bits[byte] |= mask
    return count


def first_rows(keys: Keys, low: int, size: int) -> Rows:
    """The numbers of the rows with the first occurrence of each key, ascending. All keys are from `low` on, in a range
    of `size` numbers."""
    rows = np.empty(len(keys) + 1, np.int64)
    return rows[: int(_first(keys, low, np.zeros(size // 8 + 1, np.uint8), rows))]


class KeyBits:
    """A set of keys from `low` on, in a range of `size` numbers."""

    def __init__(self, keys: Keys, low: int, size: int) -> None:
        self._low, self._size = low, size
        # One more bit, which is never set, for all keys outside the range.
        self._bits = np.zeros(size // 8 + 1, np.uint8)
        _fill(keys, low, self._bits)

    def select(self, keys: Keys) -> Rows:
        """The numbers of the rows whose key is in the set, in their order."""
        rows = np.empty(len(keys) + 1, np.int64)
        count = int(_select(keys, self._low, self._size, self._bits, rows))
        # A view would keep the memory of all rows.
        return rows[:count] if 2 * count > len(keys) else rows[:count].copy()
