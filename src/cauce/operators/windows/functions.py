"""Window functions that number rows or pick a row, one class each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cauce.operators.aggregates.base import UNKNOWN, Types
from cauce.operators.late import Rows
from cauce.operators.windows.frames import WindowRows


@dataclass(frozen=True)
class WindowFunction:
    """Base class. A subclass is a frozen dataclass of its parameters."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return ()

    @property
    def label(self) -> str:
        """Its name in queries."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")

    def values(self, window: WindowRows) -> pl.Series:
        """One value for each sorted row."""
        raise NotImplementedError

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Int64()

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether it supports values of this type."""
        return True

    def __str__(self) -> str:
        return f"{self.label}({', '.join(self.columns)})"


@dataclass(frozen=True)
class RowNumber(WindowFunction):
    """The number of the row in its partition, from 1."""

    def values(self, window: WindowRows) -> pl.Series:
        return pl.Series(window.numbers + 1)


@dataclass(frozen=True)
class Rank(WindowFunction):
    """The number of the first row that ties with this one."""

    def values(self, window: WindowRows) -> pl.Series:
        return pl.Series(_ranks(window))


@dataclass(frozen=True)
class DenseRank(WindowFunction):
    """The number of different keys up to this row."""

    def values(self, window: WindowRows) -> pl.Series:
        rows = np.arange(window.rows.height, dtype=np.int64)
        groups = np.cumsum(rows == window.peer_first)
        return pl.Series(groups - groups[window.first] + 1, dtype=pl.Int64)


@dataclass(frozen=True)
class PercentRank(WindowFunction):
    """(rank - 1) / (rows - 1), and 0 in a partition of one row."""

    def values(self, window: WindowRows) -> pl.Series:
        return pl.Series((_ranks(window) - 1) / np.maximum(window.sizes - 1, 1))

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Float64()


@dataclass(frozen=True)
class CumeDist(WindowFunction):
    """The share of the rows of the partition up to this row and its ties."""

    def values(self, window: WindowRows) -> pl.Series:
        return pl.Series((window.peer_last - window.first) / window.sizes)

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Float64()


@dataclass(frozen=True)
class Ntile(WindowFunction):
    """The number of the row's bucket, of `buckets` of sizes that differ by one at most, the larger ones first."""

    buckets: int

    def values(self, window: WindowRows) -> pl.Series:
        size, larger = window.sizes // self.buckets, window.sizes % self.buckets
        in_larger = larger * (size + 1)
        rows = window.numbers
        later = larger + (rows - in_larger) // np.maximum(size, 1)
        return pl.Series(np.where(rows < in_larger, rows // (size + 1), later) + 1)


@dataclass(frozen=True)
class _OfColumn(WindowFunction):
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def dtype(self, types: Types) -> pl.DataType:
        return types.get(self.column, UNKNOWN)


@dataclass(frozen=True)
class Lag(_OfColumn):
    """The value of the row `offset` rows before (after, if negative); `default` if there is none."""

    offset: int = 1
    default: Any = None
    ignore_nulls: bool = False

    @property
    def label(self) -> str:
        return "lag" if self.offset >= 0 else "lead"

    def values(self, window: WindowRows) -> pl.Series:
        at = np.arange(window.rows.height, dtype=np.int64) - self.offset
        if self.ignore_nulls and self.offset:
            at = self._filled(window)
        inside = (at >= window.first) & (at < window.last)
        found = _picked(window, self.column, at, inside)
        if self.default is None or found.is_empty():
            return found
        return found.set(pl.Series(~inside), pl.Series([self.default], dtype=found.dtype, strict=False).item())

    def _filled(self, window: WindowRows) -> Rows:
        """For each row, the row at distance `offset` when rows with null are skipped."""
        filled = _Filled.of(window.rows[self.column])
        rows = np.arange(window.rows.height, dtype=np.int64)
        number = filled.before[rows] - self.offset if self.offset > 0 else filled.before[rows + 1] - 1 - self.offset
        return filled.row(number)


@dataclass(frozen=True)
class FirstValue(_OfColumn):
    """The value of the first row of the frame."""

    ignore_nulls: bool = False

    def values(self, window: WindowRows) -> pl.Series:
        return _nth(window, self.column, 1, self.ignore_nulls)


@dataclass(frozen=True)
class LastValue(_OfColumn):
    """The value of the last row of the frame."""

    ignore_nulls: bool = False

    def values(self, window: WindowRows) -> pl.Series:
        at = window.high - 1
        if self.ignore_nulls:
            filled = _Filled.of(window.rows[self.column])
            at = filled.row(filled.before[window.high] - 1)
        return _picked(window, self.column, at, (at >= window.low) & (window.high > window.low))


@dataclass(frozen=True)
class NthValue(_OfColumn):
    """The value of the n-th row of the frame, from 1."""

    n: int
    ignore_nulls: bool = False

    def values(self, window: WindowRows) -> pl.Series:
        return _nth(window, self.column, self.n, self.ignore_nulls)


@dataclass(frozen=True)
class _Filled:
    """The rows with a value. `before[i]` is the number of them before row i; its last entry is their total."""

    rows: Rows
    before: Rows

    @classmethod
    def of(cls, values: pl.Series) -> _Filled:
        present = values.is_not_null().to_numpy()
        before = np.append(0, np.cumsum(present)).astype(np.int64)
        return cls(np.flatnonzero(present).astype(np.int64), before)

    def row(self, numbers: Rows) -> Rows:
        """The rows with these numbers among those with a value; -1 or a number past the end if out of range."""
        ends = np.concatenate([[-1], self.rows, [len(self.before)]]).astype(np.int64)
        return ends[np.clip(numbers + 1, 0, len(ends) - 1)]


def _nth(window: WindowRows, column: str, n: int, ignore_nulls: bool) -> pl.Series:
    at = window.low + n - 1
    if ignore_nulls:
        filled = _Filled.of(window.rows[column])
        at = filled.row(filled.before[window.low] + n - 1)
    return _picked(window, column, at, at < window.high)


def _ranks(window: WindowRows) -> Rows:
    return window.peer_first - window.first + 1


def _picked(window: WindowRows, column: str, at: Rows, exists: np.ndarray[Any, np.dtype[np.bool_]]) -> pl.Series:
    """The values of the rows at these positions; null where there is none."""
    index = pl.Series(at).set(pl.Series(~exists), None)
    return window.rows.select(pl.col(column).gather(index)).to_series() if len(index) else window.rows[column]
