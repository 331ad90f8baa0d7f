"""Aggregates over frames: whole partitions as a group-by, other frames as a sliding window.

Sums are exact: a value that leaves the frame is subtracted from an exact sum. Aggregates without
subtraction are recomputed for every frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from cauce.operators.aggregates import Aggregate, Count, Max, Mean, Min, NullableSum, Sum, final, partial
from cauce.operators.aggregates.base import Types
from cauce.operators.exact import FLOAT_UNIT_EXPONENT, FloatSum, float_parts
from cauce.operators.late import Rows
from cauce.operators.wide_sum import from_units, units_of
from cauce.operators.windows.frames import WindowRows
from cauce.operators.windows.functions import WindowFunction

_ROW = "#row"
_SLICE_ROWS = 1 << 20


@dataclass(frozen=True)
class OverFrame(WindowFunction):
    """An aggregate of the rows of each frame, or of their distinct values."""

    aggregate: Aggregate
    distinct: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.aggregate.columns

    @property
    def label(self) -> str:
        return self.aggregate.label

    def dtype(self, types: Types) -> pl.DataType:
        return self.aggregate.dtype(types)

    def accepts(self, dtype: pl.DataType) -> bool:
        return self.aggregate.accepts(dtype)

    def values(self, window: WindowRows) -> pl.Series:
        if window.rows.is_empty() or window.is_whole:
            return _of_partitions(self, window)
        match None if self.distinct else self.aggregate:
            case Count(column):
                return pl.Series(_counts(window, column))
            case Min(column) | Max(column):
                return _extremes(window, column, largest=isinstance(self.aggregate, Max))
            case Sum(column) as summed:
                return _sums(summed, window, column)
        return _of_each_frame(self, window)


def _of_partitions(function: OverFrame, window: WindowRows) -> pl.Series:
    return _grouped(function, window.rows.select(function.columns), window.first)[window.first]


def _grouped(function: OverFrame, rows: pl.DataFrame, groups: Rows) -> _ByGroup:
    keyed = pl.DataFrame([pl.Series(_ROW, groups), *rows])
    aggregates = {"value": function.aggregate}
    chosen = keyed.unique(maintain_order=True) if function.distinct else keyed
    return _ByGroup(final(partial(chosen, [_ROW], aggregates), [_ROW], aggregates))


@dataclass(frozen=True)
class _ByGroup:
    """The values of groups, by number."""

    values: pl.DataFrame

    def __getitem__(self, groups: Rows) -> pl.Series:
        return pl.DataFrame({_ROW: groups}).join(self.values, on=_ROW, how="left", maintain_order="left")["value"]


def _of_each_frame(function: OverFrame, window: WindowRows) -> pl.Series:
    """Each frame is a group of its own, in slices of bounded size."""
    pieces = [_of_slice(function, window, start, end) for start, end in _slices(window.high - window.low)]
    return pl.concat(pieces)


def _slices(sizes: Rows) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + _SLICE_ROWS, "right")), start + 1)
        yield start, end
        start = end


def _of_slice(function: OverFrame, window: WindowRows, start: int, end: int) -> pl.Series:
    low, sizes = window.low[start:end], (window.high - window.low)[start:end]
    numbers = np.repeat(np.arange(start, end, dtype=np.int64), sizes)
    before = np.cumsum(sizes) - sizes
    at = np.repeat(low - before, sizes) + np.arange(int(sizes.sum()), dtype=np.int64)
    found = _grouped(function, window.rows.select(function.columns)[at], numbers)[np.arange(start, end)]
    return found.fill_null(0) if function.aggregate.zero_if_none else found


def _counts(window: WindowRows, column: str | None) -> Rows:
    if column is None:
        return window.high - window.low
    filled = np.append(0, np.cumsum(window.rows[column].is_not_null().to_numpy())).astype(np.int64)
    return filled[window.high] - filled[window.low]


def _extremes(window: WindowRows, column: str, largest: bool) -> pl.Series:
    """The smallest or largest value of each frame: the candidates of a frame are kept in a monotonic queue."""
    ranks = window.rows[column].rank("dense", descending=largest).to_list()
    found: list[int | None] = []
    queue: deque[int] = deque()
    at = 0
    for low, high, first in zip(window.low.tolist(), window.high.tolist(), window.first.tolist(), strict=True):
        if first > at or (queue and queue[0] < first):
            queue.clear()
            at = max(at, first)
        for row in range(max(at, low), high):
            if ranks[row] is not None:
                while queue and ranks[queue[-1]] >= ranks[row]:
                    queue.pop()
                queue.append(row)
        at = max(at, high)
        while queue and queue[0] < low:
            queue.popleft()
        found.append(queue[0] if queue and low < high else None)
    return window.rows.select(pl.col(column).gather(pl.Series(found, dtype=pl.Int64))).to_series()


def _sums(aggregate: Sum, window: WindowRows, column: str) -> pl.Series:
    values = window.rows[column]
    counts = _counts(window, column)
    sums = _float_sums(window, values) if values.dtype.is_float() else _whole_sums(window, values)
    if type(aggregate) is Mean:
        return _means(sums, counts, values)
    found = sums.values(values.dtype)
    return found.set(pl.Series(counts < aggregate.min_count), None) if isinstance(aggregate, NullableSum) else found


@dataclass(frozen=True)
class _Sums:
    """Exact sums: `units` in units of the type, or of 2**-1074 for floats, with the flags of a FloatSum."""

    units: list[int]
    flags: list[int] | None

    def values(self, dtype: pl.DataType) -> pl.Series:
        if self.flags is None:
            return from_units("value", self.units, dtype)
        pairs = zip(self.units, self.flags, strict=True)
        return pl.Series([FloatSum(units, flags).value() for units, flags in pairs], dtype=pl.Float64)


def _means(sums: _Sums, counts: Rows, values: pl.Series) -> pl.Series:
    scale = values.dtype.scale if isinstance(values.dtype, pl.Decimal) else 0
    if sums.flags is None:
        means = [units / (n * 10**scale) if n else None for units, n in zip(sums.units, counts.tolist(), strict=True)]
    else:
        flagged = zip(sums.units, sums.flags, counts.tolist(), strict=True)
        means = [FloatSum(units, flags).mean(n) for units, flags, n in flagged]
    return pl.Series(means, dtype=pl.Float64)


def _whole_sums(window: WindowRows, values: pl.Series) -> _Sums:
    before = [0]
    for each in units_of(values):
        before.append(before[-1] + each)
    return _Sums([before[high] - before[low] for low, high in _pairs(window)], None)


def _pairs(window: WindowRows) -> Iterator[tuple[int, int]]:
    return zip(window.low.tolist(), window.high.tolist(), strict=True)


def _float_sums(window: WindowRows, values: pl.Series) -> _Sums:
    """Moves one exact sum along the rows: it would take much memory to keep one for each row."""
    parts = float_parts(values)
    mantissas, exponents = parts["mantissa"].to_list(), parts["exponent"].to_list()
    flags = np.stack([parts["flag"].to_numpy() == flag for flag in (1, 2, 4)]).astype(np.int64)
    seen = np.concatenate([np.zeros((3, 1), dtype=np.int64), np.cumsum(flags, axis=1)], axis=1)
    inside = seen[:, window.high] - seen[:, window.low] > 0
    all_flags = (inside * np.array([[1], [2], [4]])).sum(axis=0).tolist()
    units: list[int] = []
    total = start = end = 0
    for low, high in _pairs(window):
        if low >= end or low < start:
            total, start, end = 0, low, low
        for row in range(end, high):
            total += mantissas[row] << (exponents[row] + FLOAT_UNIT_EXPONENT)
        for row in range(start, low):
            total -= mantissas[row] << (exponents[row] + FLOAT_UNIT_EXPONENT)
        start, end = low, max(end, high)
        units.append(total)
    return _Sums(units, all_flags)
