"""A hash table of integers: numbers different keys in the order of their first occurrence."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.integers.scatter import mixed_number
from cauce.scan.native import I8, VOID, Array, kernel
from cauce.scan.native.simd import prefetch

Keys = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64]
Table = npt.NDArray[np.int32]

_AHEAD = 16
"""Prefetch distance in rows: the table is larger than the caches."""
_SEED = secrets.randbits(63)
"""Of this process: nobody can choose keys that collide. The keys of one partition, whose hashes are alike, do not."""


@kernel(I8, Array("int64", read=True), Array("int32"), Array("int64"), Array("int64"), I8)
def _fill(keys: Keys, table: Table, known: Keys, numbers: Numbers, seed: int) -> int:
    """Writes the number of each key, and each different key to `known`. Returns how many there are."""
    mask = np.uint64(table.size - 1)
    count = 0
    for i in range(keys.size):
        ahead = min(i + _AHEAD, keys.size - 1)
        near: Any = np.int64(mixed_number(np.uint64(keys[ahead] ^ seed)) & mask)
        prefetch(table, near)
        slot = mixed_number(np.uint64(keys[i] ^ seed)) & mask
        while table[slot] != 0 and known[table[slot] - 1] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] == 0:
            known[count] = keys[i]
            count += 1
            table[slot] = count
        numbers[i] = table[slot] - 1
    return count


@kernel(VOID, Array("int64", read=True), Array("int32", read=True), Array("int64", read=True), I8, Array("int64"), I8)
def _find(keys: Keys, table: Table, known: Keys, absent: int, numbers: Numbers, seed: int) -> None:
    mask = np.uint64(table.size - 1)
    for i in range(keys.size):
        ahead = min(i + _AHEAD, keys.size - 1)
        near: Any = np.int64(mixed_number(np.uint64(keys[ahead] ^ seed)) & mask)
        prefetch(table, near)
        slot = mixed_number(np.uint64(keys[i] ^ seed)) & mask
        while table[slot] != 0 and known[table[slot] - 1] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        numbers[i] = absent if table[slot] == 0 else table[slot] - 1


class KeyTable:
    """`size` different keys, numbered from 0; `own` are the numbers of the given ones. They do not depend on the
    seed."""

    def __init__(self, keys: Keys, seed: int = _SEED) -> None:
        self._seed = seed
        self._table = np.zeros(1 << max((2 * len(keys) - 1).bit_length(), 4), np.int32)
        known = np.empty(len(keys), np.int64)
        self.own: Numbers = np.empty(len(keys), np.int64)
        self.size = int(_fill(keys, self._table, known, self.own, seed))
        self._known = known[: self.size]

    def find(self, keys: Keys) -> Numbers:
        """The number of each key; `size` if it is absent."""
        numbers = np.empty(len(keys), np.int64)
        _find(keys, self._table, self._known, self.size, numbers, self._seed)
        return numbers
