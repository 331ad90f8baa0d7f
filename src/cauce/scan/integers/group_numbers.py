"""Numbers groups in the order of their first row, and adds the values of each group."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.native import I8, VOID, Array, kernel

Values = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]


@kernel(I8, Array("int64", read=True), I8, Array("int32"), Array("int32"), Array("int64"))
def _number(keys: Values, low: int, group_of: Numbers, numbers: Numbers, firsts: Values) -> Any:
    """Writes the group of each row, and the first row of each group. Returns how many groups there are."""
    count: Any = 0
    for i in range(keys.size):
        slot = keys[i] - low
        group = group_of[slot]
        if group < 0:
            group = count
            group_of[slot] = group
            firsts[group] = i
            count += 1
        numbers[i] = group
    return count


@kernel(VOID, Array("int64", read=True), Array("int32", read=True), Array("int64"))
def _add(values: Values, numbers: Numbers, sums: Values) -> None:
    for i in range(values.size):
        sums[numbers[i]] += values[i]


@kernel(VOID, Array("uint64", 2, read=True), Array("int32", read=True), Array("uint64", 2))
def _add_wide(values: Words, numbers: Numbers, sums: Words) -> None:
    """128-bit two's complement, as rows of low and high half."""
    for i in range(numbers.size):
        group = numbers[i]
        low = sums[group, 0] + values[i, 0]
        high = sums[group, 1] + values[i, 1]
        if low < values[i, 0]:
            high += np.uint64(1)
        sums[group, 0] = low
        sums[group, 1] = high


@kernel(VOID, Array("int32", read=True), Array("int64"))
def _count(numbers: Numbers, counts: Values) -> None:
    for i in range(numbers.size):
        counts[numbers[i]] += 1


@dataclass(frozen=True)
class Groups:
    """The group of each row, and the first row of each group."""

    numbers: Numbers
    firsts: Values
    _sums: dict[int, tuple[Values, Values]] = field(default_factory=dict)
    """By the id of the values, which are kept so that it stays theirs."""

    @cached_property
    def sizes(self) -> Values:
        """The number of rows of each group."""
        counts = np.zeros(len(self.firsts), np.int64)
        _count(self.numbers, counts)
        return counts

    def sums(self, values: Values) -> Values:
        """The sum of the values of each group; integers of 128 bits are rows of a low and a high half. The caller knows
        that none overflows."""
        if id(values) not in self._sums:
            self._sums[id(values)] = values, self._added(values)
        return self._sums[id(values)][1]

    def _added(self, values: Values) -> Values:
        if values.ndim > 1:
            wide = np.zeros((len(self.firsts), 2), np.uint64)
            _add_wide(np.ascontiguousarray(values).view(np.uint64), self.numbers, wide)
            return wide.view(np.int64)
        if len(self.firsts) == 1:
            return np.array([values.sum()], np.int64)
        sums = np.zeros(len(self.firsts), np.int64)
        _add(np.ascontiguousarray(values), self.numbers, sums)
        return sums


def group_rows(keys: Values, low: int, size: int) -> Groups:
    """Rows with equal keys are a group. All keys are from `low` on, in a range of `size` numbers."""
    group_of = np.full(size, -1, np.int32)
    numbers, firsts = np.empty(len(keys), np.int32), np.empty(min(size, len(keys)), np.int64)
    count = int(_number(np.ascontiguousarray(keys), low, group_of, numbers, firsts))
    return Groups(numbers, firsts[:count])
