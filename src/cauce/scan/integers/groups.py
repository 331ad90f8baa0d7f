"""Sorts integer keys by their digits, and sums the values of equal ones.

The groups are in ascending order of the keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cauce.scan.integers.columns import Values
from cauce.scan.native import I8, VOID, Array, kernel

Keys = npt.NDArray[np.uint64]
Order = npt.NDArray[np.int32]

_DIGIT_BITS = 11
_DIGITS = 1 << _DIGIT_BITS
_KEYS = Array("uint64")
_ORDER = Array("int32")


@kernel(VOID, _KEYS, _ORDER, _KEYS, _ORDER, Array("int64"), I8)
def _sort_pass(
    keys: Keys, order: Order, to_keys: Keys, to_order: Order, counts: npt.NDArray[np.int64], shift: int
) -> None:
    """One pass of a radix sort, stable, by the digit at this bit."""
    mask = np.uint64(_DIGITS - 1)
    counts[:] = 0
    for i in range(keys.size):
        counts[np.int64(keys[i] >> np.uint64(shift) & mask)] += 1
    total = 0
    for digit in range(_DIGITS):
        count = counts[digit]
        counts[digit] = total
        total += count
    for i in range(keys.size):
        place = np.int64(keys[i] >> np.uint64(shift) & mask)
        at = counts[place]
        counts[place] = at + 1
        to_keys[at] = keys[i]
        to_order[at] = order[i]


@kernel(VOID, _KEYS, _KEYS, Array("int64"), I8)
def _sort_keys_pass(keys: Keys, to_keys: Keys, counts: npt.NDArray[np.int64], shift: int) -> None:
    mask = np.uint64(_DIGITS - 1)
    counts[:] = 0
    for i in range(keys.size):
        counts[np.int64(keys[i] >> np.uint64(shift) & mask)] += 1
    total = 0
    for digit in range(_DIGITS):
        count = counts[digit]
        counts[digit] = total
        total += count
    for i in range(keys.size):
        place = np.int64(keys[i] >> np.uint64(shift) & mask)
        at = counts[place]
        counts[place] = at + 1
        to_keys[at] = keys[i]


@kernel(I8, Array("uint64", read=True), Array("int32"))
def _run_starts(keys: Keys, starts: Order) -> int:
    """Writes where each run of equal keys starts; returns the number of runs."""
    count = 0
    for i in range(keys.size):
        if i == 0 or keys[i] != keys[i - 1]:
            starts[count] = i
            count += 1
    return count


@kernel(VOID, Array("int64", read=True), Array("int32", read=True), Array("int32", read=True), Array("int64"))
def _sum_runs(values: Values, order: Order, starts: Order, sums: Values) -> None:
    for group in range(starts.size):
        end = starts[group + 1] if group + 1 < starts.size else order.size
        total = np.int64(0)
        for i in range(starts[group], end):
            total += values[order[i]]
        sums[group] = total


@kernel(VOID, Array("int64", read=True), Array("int32"), Array("int64"))
def _place_rows(slots: Values, ends: Order, rows: Values) -> None:
    for i in range(slots.size):
        at = ends[slots[i]]
        ends[slots[i]] = at + 1
        rows[at] = i


def grouped_rows(slots: Values, firsts: Order) -> Values:
    """The numbers of the rows, those of the first slot first, ascending in each. `firsts` is where each slot starts."""
    rows = np.empty(len(slots), np.int64)
    _place_rows(slots, firsts.copy(), rows)
    return rows


def sorted_order(keys: Keys, bits: int) -> tuple[Keys, Order]:
    """The sorted keys and the numbers of their rows; equal keys in the order of their rows. No key has more bits."""
    keys = keys.copy()
    order = np.arange(len(keys), dtype=np.int32)
    to_keys, to_order = np.empty_like(keys), np.empty_like(order)
    counts = np.empty(_DIGITS, np.int64)
    for shift in range(0, bits, _DIGIT_BITS):
        _sort_pass(keys, order, to_keys, to_order, counts, shift)
        keys, to_keys, order, to_order = to_keys, keys, to_order, order
    return keys, order


def sorted_keys(keys: Keys, bits: int) -> Keys:
    """The keys in ascending order; no key has more bits. Overwrites the given ones."""
    to_keys, counts = np.empty_like(keys), np.empty(_DIGITS, np.int64)
    for shift in range(0, bits, _DIGIT_BITS):
        _sort_keys_pass(keys, to_keys, counts, shift)
        keys, to_keys = to_keys, keys
    return keys


def run_starts(keys: Keys) -> Order:
    starts = np.empty(len(keys), np.int32)
    return starts[: _run_starts(keys, starts)].copy()


def sum_runs(values: Values, order: Order, starts: Order) -> Values:
    """The sum of the values of each run. The caller knows that none overflows."""
    sums = np.empty(len(starts), np.int64)
    _sum_runs(values, order, starts, sums)
    return sums


def combined_keys(columns: Sequence[Values]) -> tuple[Keys, int] | None:
    """One number for each row, in the order of its keys, and the bits that it needs; None if these exceed 63."""
    made: Keys | None = None
    size = 1
    for values in columns:
        low, high = int(values.min()), int(values.max())
        span = high - low + 1
        size *= span
        if size >= 1 << 63:
            return None
        wide = values.astype(np.int64, copy=False).view(np.uint64) - np.uint64(low & ((1 << 64) - 1))
        made = wide if made is None else made * np.uint64(span) + wide
    assert made is not None
    return made, (size - 1).bit_length()
