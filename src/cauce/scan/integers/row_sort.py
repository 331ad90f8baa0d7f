"""Sorts rows of integers by all columns: each row becomes one number of up to 64 bits, with a field for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cauce.scan.integers.columns import Values
from cauce.scan.integers.groups import Keys, sorted_keys

_BITS = 64


@dataclass(frozen=True)
class _Field:
    """The difference of a value to `low`, or of `high` to the value."""

    low: int
    high: int
    descending: bool

    @classmethod
    def of(cls, values: Values, descending: bool) -> _Field:
        return cls(int(values.min()), int(values.max()), descending)

    @property
    def bits(self) -> int:
        return (self.high - self.low).bit_length()

    def differences(self, values: Values) -> Keys:
        # Modulo 2**64, so that the differences are exact.
        given = values.astype(np.int64, copy=False).view(np.uint64)
        return _word(self.high) - given if self.descending else given - _word(self.low)

    def values(self, differences: Keys) -> Values:
        found = _word(self.high) - differences if self.descending else differences + _word(self.low)
        return found.view(np.int64)


def _word(value: int) -> np.uint64:
    return np.uint64(value & ((1 << _BITS) - 1))


def sort_values(columns: Sequence[Values], descending: Sequence[bool]) -> list[Values] | None:
    """The rows in the order of their columns, the first one first; None if a row needs more than 64 bits."""
    fields = [_Field.of(*each) for each in zip(columns, descending, strict=True)]
    total = sum(field.bits for field in fields)
    if total > _BITS:
        return None
    keys = np.zeros(len(columns[0]), np.uint64)
    for field, values in zip(fields, columns, strict=True):
        if field.bits:
            keys = keys << np.uint64(field.bits % _BITS) | field.differences(values)
    keys = sorted_keys(keys, total)
    made: list[Values] = []
    for field in reversed(fields):
        mask = np.uint64((1 << field.bits) - 1)
        made.append(field.values(keys & mask))
        keys = keys >> np.uint64(field.bits) if field.bits < _BITS else keys
    return made[::-1]
