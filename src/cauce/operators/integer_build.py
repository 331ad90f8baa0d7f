"""Integer keys of a build side. Those in a range that is not much larger than their number, such as running numbers,
are looked up in an array, by subtraction; others in a hash table. A side of keys alone is a set of bits."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.operators.late import Rows
from cauce.scan.integers.key_bits import KeyBits
from cauce.scan.integers.key_table import KeyTable

_SLOTS_PER_KEY = 8
_FEW_SLOTS = 1 << 20
"""Ranges up to this size are always accepted: their arrays are small."""

_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


Counts = npt.NDArray[np.int32]


class IntegerKeys:
    """The keys of the rows of a build side, without nulls. Each key has a slot; a key without one, and a null, has the
    slot after the last one."""

    def __init__(self, own: Rows, size: int) -> None:
        """`own` are the slots of the rows."""
        self.size = size
        self._own = own
        self.counts: Counts = np.bincount(own, minlength=size + 1).astype(np.int32)
        """The number of rows of each slot. Of 32 bits: there may be many more slots than rows."""
        self.most = int(self.counts.max())

    @staticmethod
    def of(keys: pl.Series) -> IntegerKeys | None:
        """None if these are not integers."""
        if keys.dtype not in _INTEGERS or keys.is_empty():
            return None
        low, high = int(keys.min()), int(keys.max())  # type: ignore[arg-type]
        size = high - low + 1
        if size <= max(_SLOTS_PER_KEY * len(keys), _FEW_SLOTS):
            return DenseKeys(keys, low, size)
        return HashedKeys(keys)

    def slots(self, keys: pl.Series) -> Rows:
        raise NotImplementedError

    @cached_property
    def order(self) -> Rows:
        """Row numbers grouped by slot, ascending in each."""
        return np.argsort(self._own, kind="stable").astype(np.int64)

    @cached_property
    def firsts(self) -> Counts:
        """The index in `order` of the first row of each slot."""
        return np.cumsum(self.counts, dtype=np.int32) - self.counts

    @cached_property
    def _row_of(self) -> Counts:
        rows = np.full(self.size + 1, -1, np.int32)
        rows[self._own] = np.arange(len(self._own), dtype=np.int32)
        return rows

    def rows(self, keys: pl.Series) -> Rows:
        """The number of the row with each key, -1 if there is none. Only if keys are unique."""
        return self._row_of[self.slots(keys)].astype(np.int64)

    def pairs(self, keys: pl.Series, *, keep_all: bool) -> tuple[Rows, Rows]:
        """All pairs of matching rows, as row numbers of the left and of the right side. With `keep_all`, a left row
        without a match has one pair, whose right number is -1."""
        slots = self.slots(keys)
        counts = self.counts[slots]
        repeats = np.maximum(counts, 1) if keep_all else counts
        left = np.repeat(np.arange(len(slots), dtype=np.int64), repeats)
        starts = np.cumsum(repeats) - repeats
        places = self.firsts[slots][left] + np.arange(len(left)) - starts[left]
        # The place of a key without a match may be after the last row.
        right = self.order[np.minimum(places, len(self.order) - 1)]
        return left, np.where(counts[left] > 0, right, -1) if keep_all else right


class DenseKeys(IntegerKeys):
    """The slot of a key is its distance from the smallest one."""

    def __init__(self, keys: pl.Series, low: int, size: int) -> None:
        self._low = np.array([low], np.int64).view(np.uint64)
        super().__init__(_distances(keys, self._low, size), size)

    def slots(self, keys: pl.Series) -> Rows:
        return _distances(keys, self._low, self.size)


def _distances(keys: pl.Series, low: npt.NDArray[np.uint64], size: int) -> Rows:
    values = keys.cast(pl.Int64).fill_null(0).to_numpy()
    # Unsigned arithmetic wraps around, so that a key below the range becomes a large number.
    slots: Rows = np.minimum(values.view(np.uint64) - low, np.uint64(size)).view(np.int64)
    if keys.null_count():
        slots[keys.is_null().to_numpy()] = size
    return slots


class IntegerMembers:
    """The keys of a build side as a set: which rows have one of them. It takes far less memory than their slots."""

    def __init__(self, bits: KeyBits) -> None:
        self._bits = bits

    @staticmethod
    def of(keys: pl.Series) -> IntegerMembers | None:
        """None if these are not integers, or too far apart."""
        if keys.dtype not in _INTEGERS or keys.is_empty():
            return None
        bits = KeyBits.of(_integers(keys))
        return None if bits is None else IntegerMembers(bits)

    def rows(self, keys: pl.Series) -> Rows:
        """The indexes of the keys that are in the set; a null never is."""
        found = self._bits.rows(_integers(keys))
        return found[~keys.is_null().to_numpy()[found]] if keys.null_count() else found


class HashedKeys(IntegerKeys):
    """Slots in the order of the first occurrence of each key."""

    def __init__(self, keys: pl.Series) -> None:
        self._table = KeyTable(_integers(keys))
        super().__init__(self._table.own, self._table.size)

    def slots(self, keys: pl.Series) -> Rows:
        slots = self._table.find(_integers(keys))
        if keys.null_count():
            slots[keys.is_null().to_numpy()] = self.size
        return slots


def _integers(keys: pl.Series) -> Rows:
    return np.ascontiguousarray(keys.cast(pl.Int64).fill_null(0).rechunk().to_numpy())
