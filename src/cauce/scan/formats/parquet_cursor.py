"""Rows of a large row group in slices. A row group can be decoded only from its first row on; so the position after a
slice is kept, and the next slice of the same file continues there instead of decoding all rows before it again.

Memory holds one batch of rows and a page of each column, never a whole row group. The cursor is a cache: the rows are
those that a new one would read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

_BUFFER_BYTES = 2**20
"""Read at once from each column."""
_MOST_BATCH_ROWS = 2**16


class Cursor:
    """Reads rows in ascending order."""

    def __init__(self, path: str, headers: Sequence[str], start: int, batch_rows: int) -> None:
        import pyarrow.parquet

        self.identity = identity_of(path, headers)
        self._file = pyarrow.parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        group, self._next = group_of(self._file.metadata, start)
        groups = list(range(group, self._file.metadata.num_row_groups))
        size = max(min(batch_rows, _MOST_BATCH_ROWS), 1)
        self._batches: Iterator[pa.RecordBatch] = self._file.iter_batches(
            batch_size=size, row_groups=groups, columns=list(headers), use_threads=False
        )
        self._held: pa.RecordBatch | None = None

    @property
    def first(self) -> int:
        """The number of the first row that it can still read."""
        return self._next - (self._held.num_rows if self._held is not None else 0)

    def read(self, start: int, end: int) -> pa.Table:
        """The rows from `start` to before `end`; `start` must not be before `first`."""
        kept: list[pa.RecordBatch] = []
        while self.first < end:
            if self._held is None:
                self._held = next(self._batches)
                self._next += self._held.num_rows
            low, high = max(start - self.first, 0), min(end - self.first, self._held.num_rows)
            if high > low:
                kept.append(self._held.slice(low, high - low))
            if self._next > end:
                break
            self._held = None
        return pa.Table.from_batches(kept)

    def close(self) -> None:
        self._file.close()


def identity_of(path: str, headers: Sequence[str]) -> tuple[object, ...]:
    """Equal for equal rows: another file in its place, or other columns, are different."""
    found = os.stat(path)
    return path, found.st_ino, found.st_size, found.st_mtime_ns, tuple(headers)


def group_of(meta: Any, row: int) -> tuple[int, int]:
    """The row group that holds a row, and the number of its first row."""
    first = 0
    for group in range(meta.num_row_groups):
        rows = meta.row_group(group).num_rows
        if row < first + rows:
            return group, first
        first += rows
    return meta.num_row_groups, first


class _Kept(threading.local):
    cursor: Cursor | None = None


_kept = _Kept()


def read_slice(path: str, headers: Sequence[str], start: int, end: int) -> pa.Table:
    """The rows from `start` to before `end`, which exist. Continues with the cursor of the slice read before, if it is
    not past these rows."""
    cursor, _kept.cursor = _kept.cursor, None
    if cursor is not None and (cursor.identity != identity_of(path, headers) or cursor.first > start):
        cursor.close()
        cursor = None
    if cursor is None:
        cursor = Cursor(path, headers, start, end - start)
    table = cursor.read(start, end)
    # Not kept after an error.
    _kept.cursor = cursor
    return table
