"""Numbers equal keys from 0, in the order of their first rows.

Keys are words of 64 bits, or short texts: those that a view of Arrow holds itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.integers.group_numbers import Groups
from cauce.scan.native import VOID, Array, kernel
from cauce.scan.native.kernel import inline_piece

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]

_FIRST_SLOTS = 1 << 12
_GROWTH = 8
_AT, _COUNT = 0, 1
_MIX_0, _MIX_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_WORDS, _TWO_WORDS = Array("uint64", read=True), Array("uint64", 2, read=True)
_NUMBERS, _ROWS = Array("int32"), Array("int64")


@inline_piece
def _mixed(key: Any) -> Any:
    hashed = key * _MIX_0
    return (hashed ^ hashed >> _HALF) * _MIX_1


@kernel(VOID, _WORDS, _NUMBERS, _NUMBERS, _ROWS, _ROWS)
def _number_words(keys: Words, table: Numbers, numbers: Numbers, firsts: Rows, state: Rows) -> None:
    """Continues at row ``state[_AT]`` until half of the table is used. An entry of it is a number plus 1."""
    mask = np.uint64(table.size - 1)
    count = state[_COUNT]
    most = table.size // 2
    row = state[_AT]
    while row < keys.size and count < most:
        key = keys[row]
        hashed = _mixed(key)
        slot = (hashed ^ hashed >> _HALF) & mask
        while True:
            entry: Any = np.int64(table[slot])
            if entry == 0:
                table[slot] = count + 1
                firsts[count] = row
                numbers[row] = count
                count += 1
                break
            if keys[firsts[entry - 1]] == key:
                numbers[row] = entry - 1
                break
            slot = (slot + np.uint64(1)) & mask
        row += 1
    state[_AT] = row
    state[_COUNT] = count


@kernel(VOID, _TWO_WORDS, _NUMBERS, _NUMBERS, _ROWS, _ROWS)
def _number_views(keys: Words, table: Numbers, numbers: Numbers, firsts: Rows, state: Rows) -> None:
    """As ``_number_words``, for keys of two words."""
    mask = np.uint64(table.size - 1)
    count = state[_COUNT]
    most = table.size // 2
    row = state[_AT]
    while row < keys.shape[0] and count < most:
        head, tail = keys[row, 0], keys[row, 1]
        hashed = _mixed(_mixed(head) ^ tail)
        slot = (hashed ^ hashed >> _HALF) & mask
        while True:
            entry: Any = np.int64(table[slot])
            if entry == 0:
                table[slot] = count + 1
                firsts[count] = row
                numbers[row] = count
                count += 1
                break
            known = firsts[entry - 1]
            if keys[known, 0] == head and keys[known, 1] == tail:
                numbers[row] = entry - 1
                break
            slot = (slot + np.uint64(1)) & mask
        row += 1
    state[_AT] = row
    state[_COUNT] = count


def number_keys(keys: Words) -> Groups:
    """Rows with equal keys have the same number. Keys are words, or rows of two words."""
    number: Callable[..., None] = _number_words if keys.ndim == 1 else _number_views
    height = len(keys)
    numbers, state = np.empty(height, np.int32), np.zeros(2, np.int64)
    slots = _FIRST_SLOTS
    table, firsts = np.zeros(slots, np.int32), np.empty(slots // 2, np.int64)
    while True:
        number(keys, table, numbers, firsts, state)
        if state[_AT] == height:
            return Groups(numbers, firsts[: state[_COUNT]].copy())
        slots *= _GROWTH
        table, known = np.zeros(slots, np.int32), firsts
        firsts = np.empty(slots // 2, np.int64)
        # The known keys again, with the same numbers.
        number(np.ascontiguousarray(keys[known]), table, np.empty(len(known), np.int32), firsts, np.zeros(2, np.int64))
        firsts[: len(known)] = known
