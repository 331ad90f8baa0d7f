"""The rows that a window function sees: partitions, peers and frames, as positions in the sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np
import polars as pl

from cauce.operators.late import Rows
from cauce.operators.order import SortKey, sort_rows, with_key_columns

Unit = Literal["rows", "range", "groups"]


@dataclass(frozen=True)
class Frame:
    """A frame from `start` to `end`, relative to the current row: negative is preceding, positive is following, 0 is
    the current row (except with rows, all its peers), None is the start or the end of the partition.

    Other bounds count rows, groups of peers, or are differences of the order key in a range: numbers, or timedeltas for
    dates and times."""

    unit: Unit
    start: Any
    end: Any


WHOLE_PARTITION = Frame("rows", None, None)
UP_TO_PEERS = Frame("range", None, 0)


@dataclass(frozen=True)
class WindowRows:
    """Sorted rows. For each row, the positions of the first row and of the one after the last row of its partition,
    of its peers (rows that tie with it), and of its frame."""

    rows: pl.DataFrame
    first: Rows
    last: Rows
    peer_first: Rows
    peer_last: Rows
    low: Rows
    high: Rows
    is_whole: bool
    """Whether every frame is the whole partition."""

    @property
    def numbers(self) -> Rows:
        """The position of each row in its partition, from 0."""
        return np.arange(self.rows.height, dtype=np.int64) - self.first

    @property
    def sizes(self) -> Rows:
        """The number of rows in the partition of each row."""
        return self.last - self.first


def sorted_windows(
    frame: pl.DataFrame, partition_by: Sequence[str], order_by: Sequence[SortKey], window: Frame | None
) -> WindowRows:
    """The rows in the order of a window. Without a frame, it is that of SQL: up to the peers of the current row, or
    the whole partition if the window has no order."""
    rows = sort_rows(frame, [*(SortKey(key) for key in partition_by), *order_by])
    keyed, order = with_key_columns(rows, order_by)
    new_partition = _changes(keyed, partition_by)
    first, last = _bounds(new_partition)
    peer_first, peer_last = _bounds(new_partition | _changes(keyed, list(order)))
    chosen = window or (UP_TO_PEERS if order_by else WHOLE_PARTITION)
    bounds = _Bounds(first, last, peer_first, peer_last)
    low, high = _frame_bounds(bounds, chosen, rows, order_by)
    low = np.clip(low, first, last)
    high = np.maximum(np.clip(high, first, last), low)
    is_whole = bool((low == first).all() and (high == last).all())
    return WindowRows(rows, first, last, peer_first, peer_last, low, high, is_whole)


@dataclass(frozen=True)
class _Bounds:
    first: Rows
    last: Rows
    peer_first: Rows
    peer_last: Rows


def _changes(frame: pl.DataFrame, columns: Iterable[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows differ from the previous one in some column. Null equals null. The first row always differs."""
    changed = np.zeros(frame.height, dtype=np.bool_)
    changed[:1] = True
    for column in columns:
        values = frame.get_column(column)
        changed |= values.ne_missing(values.shift(1)).to_numpy()
    return changed


def _bounds(starts: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[Rows, Rows]:
    """For each row, the start of its group and the start of the next one."""
    at = np.flatnonzero(starts).astype(np.int64)
    sizes = np.diff(np.append(at, len(starts)))
    return np.repeat(at, sizes), np.repeat(at + sizes, sizes)


def _frame_bounds(bounds: _Bounds, window: Frame, rows: pl.DataFrame, by: Sequence[SortKey]) -> tuple[Rows, Rows]:
    match window.unit:
        case "rows":
            return _rows_frame(bounds, window)
        case "groups":
            return _groups_frame(bounds, window)
        case "range":
            return _range_frame(bounds, window, rows, by)
        case unknown:
            assert_never(unknown)


def _groups_frame(bounds: _Bounds, window: Frame) -> tuple[Rows, Rows]:
    """Groups of peers are numbered; the bounds of a frame are those of the groups with the wanted numbers."""
    starts = np.unique(bounds.peer_first)
    group = np.searchsorted(starts, bounds.peer_first)
    edges = np.concatenate([starts, [len(bounds.first)]]).astype(np.int64)
    low = bounds.first if window.start is None else edges[np.clip(group + window.start, 0, len(starts))]
    high = bounds.last if window.end is None else edges[np.clip(group + window.end + 1, 0, len(starts))]
    return low, high


def _rows_frame(bounds: _Bounds, window: Frame) -> tuple[Rows, Rows]:
    rows = np.arange(len(bounds.first), dtype=np.int64)
    low = bounds.first if window.start is None else rows + window.start
    high = bounds.last if window.end is None else rows + window.end + 1
    return low, high


def _range_frame(bounds: _Bounds, window: Frame, rows: pl.DataFrame, by: Sequence[SortKey]) -> tuple[Rows, Rows]:
    low = bounds.first if window.start is None else bounds.peer_first
    high = bounds.last if window.end is None else bounds.peer_last
    if window.start or window.end:
        assert isinstance(by[0].what, str)
        values = rows.get_column(by[0].what).to_list()
        if window.start:
            low = _distant(values, bounds, window.start, by[0].descending, low)
        if window.end:
            high = _distant(values, bounds, window.end, by[0].descending, high, after=True)
    return low, high


def _distant(
    values: list[Any], bounds: _Bounds, offset: Any, descending: bool, of_null: Rows, after: bool = False
) -> Rows:
    """For each row, the first position in its partition whose key is at least (`after`: more than) its own plus the
    offset. Rows without a key see only their peers."""
    found = of_null.copy()
    precedes = _precedes(descending, after)
    at = 0
    for row, value in enumerate(values):
        if value is None:
            continue
        if row == bounds.first[row] or values[row - 1] is None:
            at = int(bounds.first[row])
            while values[at] is None:
                at += 1
        limit = value - offset if descending else value + offset
        while at < bounds.last[row] and values[at] is not None and precedes(values[at], limit):
            at += 1
        found[row] = at
    return found


def _precedes(descending: bool, after: bool) -> Callable[[Any, Any], bool]:
    if descending:
        return (lambda key, limit: bool(key >= limit)) if after else (lambda key, limit: bool(key > limit))
    return (lambda key, limit: bool(key <= limit)) if after else (lambda key, limit: bool(key < limit))
