"""Integer keys of a build side. Those in a range that is not much larger than their number, such as running numbers,
are looked up in an array, by subtraction; others in a hash table. Rows without a match are dropped first, by a set of
bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.operators.late import Rows
from cauce.scan.arrow import index_series
from cauce.scan.integers.groups import grouped_rows
from cauce.scan.integers.key_bits import FEW_BITS, KeyBits
from cauce.scan.integers.key_table import KeyTable

_SLOTS_PER_KEY = 8
_FEW_SLOTS = 1 << 20
"""Ranges up to this size are always accepted: their arrays are small."""
_BITS_PER_KEY = 128

_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


Counts = npt.NDArray[np.int32]


@dataclass(frozen=True)
class KeyCombination:
    """One number for several integer keys, within the ranges of those of a build side."""

    names: tuple[str, ...]
    lows: tuple[int, ...]
    spans: tuple[int, ...]

    @staticmethod
    def of(frame: pl.DataFrame, names: Sequence[str]) -> KeyCombination | None:
        """None if some keys are no integers, or the combinations of their ranges exceed 62 bits."""
        columns = [frame.get_column(name) for name in names]
        if frame.is_empty() or any(each.dtype not in _INTEGERS for each in columns):
            return None
        lows = [int(each.min()) for each in columns]  # type: ignore[arg-type]
        spans = [int(each.max()) - low + 1 for each, low in zip(columns, lows, strict=True)]  # type: ignore[arg-type]
        return KeyCombination(tuple(names), tuple(lows), tuple(spans)) if prod(spans) < 1 << 62 else None

    def keys(self, frame: pl.DataFrame) -> pl.Series:
        """The number of each row; -1 if a key is null or outside its range."""
        made = np.zeros(frame.height, np.int64)
        outside = np.zeros(frame.height, np.bool_)
        for name, low, span in zip(self.names, self.lows, self.spans, strict=True):
            column = frame.get_column(name)
            # Those outside, and nulls, have the number after the last one.
            distance = _distances(column, np.array([low], np.int64).view(np.uint64), span)
            outside |= distance == span
            made = made * span + distance
        made[outside] = -1
        return pl.Series(made)


class IntegerKeys:
    """The keys of the rows of a build side, without nulls. Each key has a slot; a key without one, and a null, has the
    slot after the last one."""

    def __init__(self, keys: pl.Series, low: int, span: int) -> None:
        """The keys are from `low` to before `low + span`."""
        self._keys = keys
        self._low = low
        self._span = span

    @staticmethod
    def of(keys: pl.Series) -> IntegerKeys | None:
        """None if these are not integers."""
        if keys.dtype not in _INTEGERS or keys.is_empty():
            return None
        low, high = int(keys.min()), int(keys.max())  # type: ignore[arg-type]
        span = high - low + 1
        dense = span <= max(_SLOTS_PER_KEY * len(keys), _FEW_SLOTS)
        return DenseKeys(keys, low, span) if dense else HashedKeys(keys, low, span)

    @property
    def size(self) -> int:
        """The number of slots."""
        raise NotImplementedError

    @property
    def _own(self) -> Rows:
        """The slots of the rows."""
        raise NotImplementedError

    def slots(self, keys: pl.Series) -> Rows:
        raise NotImplementedError

    @cached_property
    def counts(self) -> Counts:
        """The number of rows of each slot. Of 32 bits: there may be many more slots than rows."""
        return np.bincount(self._own, minlength=self.size + 1).astype(np.int32)

    @cached_property
    def most(self) -> int:
        """The maximum number of rows of a slot."""
        return int(self.counts.max())

    @cached_property
    def order(self) -> Rows:
        """Row numbers grouped by slot, ascending in each."""
        return grouped_rows(np.ascontiguousarray(self._own), self.firsts)

    @cached_property
    def firsts(self) -> Counts:
        """The index in `order` of the first row of each slot."""
        return np.cumsum(self.counts, dtype=np.int32) - self.counts

    @cached_property
    def _row_of(self) -> Counts:
        rows = np.full(self.size + 1, -1, np.int32)
        rows[self._own] = np.arange(len(self._own), dtype=np.int32)
        return rows

    @cached_property
    def _bits(self) -> KeyBits | None:
        few_bits = self._span <= max(_BITS_PER_KEY * len(self._keys), FEW_BITS)
        return KeyBits(_integers(self._keys), self._low, self._span) if few_bits else None

    def matching(self, keys: pl.Series) -> Rows:
        """The numbers of the keys that have a match; a null has none."""
        if self._bits is None:
            return np.flatnonzero(self.counts[self.slots(keys)]).astype(np.int64)
        found = self._bits.select(_integers(keys))
        return found[~keys.is_null().to_numpy()[found]] if keys.null_count() else found

    def rows(self, keys: pl.Series) -> tuple[Rows, Rows]:
        """The numbers of the keys that have a match, and that of the row with each of them. Only if keys are unique."""
        left = self.matching(keys)
        return left, self._row_of[self.slots(_chosen(keys, left))].astype(np.int64)

    def pairs(self, keys: pl.Series, *, keep_all: bool) -> tuple[Rows, Rows]:
        """All pairs of matching rows, as row numbers of the left and of the right side. With `keep_all`, a left row
        without a match has one pair, whose right number is -1."""
        if keep_all:
            return self._pairs(keys, keep_all=True)
        chosen = self.matching(keys)
        left, right = self._pairs(_chosen(keys, chosen), keep_all=False)
        return chosen[left], right

    def _pairs(self, keys: pl.Series, *, keep_all: bool) -> tuple[Rows, Rows]:
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

    @property
    def size(self) -> int:
        return self._span

    @cached_property
    def _own(self) -> Rows:
        return self.slots(self._keys)

    def slots(self, keys: pl.Series) -> Rows:
        low = np.array([self._low], np.int64).view(np.uint64)
        return _distances(keys, low, self._span)


def _distances(keys: pl.Series, low: npt.NDArray[np.uint64], size: int) -> Rows:
    values = _integers(keys)
    # Unsigned arithmetic wraps around, so that a key below the range becomes a large number.
    slots: Rows = np.minimum(values.view(np.uint64) - low, np.uint64(size)).view(np.int64)
    if keys.null_count():
        slots[keys.is_null().to_numpy()] = size
    return slots


class HashedKeys(IntegerKeys):
    """Slots in the order of the first occurrence of each key."""

    @cached_property
    def _table(self) -> KeyTable:
        return KeyTable(_integers(self._keys))

    @property
    def size(self) -> int:
        return self._table.size

    @property
    def _own(self) -> Rows:
        return self._table.own

    def slots(self, keys: pl.Series) -> Rows:
        slots = self._table.find(_integers(keys))
        if keys.null_count():
            slots[keys.is_null().to_numpy()] = self.size
        return slots


def _integers(keys: pl.Series) -> Rows:
    """The keys as 64-bit integers; those under a null are 0."""
    short = keys if keys.dtype in _INTEGERS else keys.cast(pl.Int64)
    filled = short.fill_null(0) if short.null_count() else short
    return np.ascontiguousarray(filled.rechunk().to_numpy(), np.int64)


def _chosen(keys: pl.Series, rows: Rows) -> pl.Series:
    return keys if len(rows) == len(keys) else keys[index_series(rows)]
