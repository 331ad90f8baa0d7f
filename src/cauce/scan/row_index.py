"""Where the rows of a part begin, with their keys in one column, so that a later pass over the table reads only the
lines of the keys that it looks up. An index is a cache: it holds nothing that the part does not hold."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.block import Block, Rows

_MOST_BYTES = 2**32
_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Lines:
    """Ranges of the bytes of a part."""

    start: npt.NDArray[np.int64]
    length: npt.NDArray[np.int32]


@dataclass(frozen=True)
class RowIndex:
    """A row ends where the next one begins: the bounds have one entry more than there are rows."""

    bounds: npt.NDArray[np.uint32]
    keys: npt.NDArray[Any]

    @staticmethod
    def of(block: Block, starts: npt.NDArray[np.int64], size: int, column: str) -> RowIndex | None:
        """None if a row cannot be used or has no integer in this column."""
        if block.usable(frozenset([column])) is not None or not block.whole or size >= _MOST_BYTES:
            return None
        keys = block.column(column, None)
        if keys.dtype != pl.Int64 or keys.null_count() or len(keys) != len(starts) or not len(keys):
            return None
        values = keys.to_numpy()
        if _INT32.min <= values.min() and values.max() <= _INT32.max:
            values = values.astype(np.int32)
        return RowIndex(np.append(starts, size).astype(np.uint32), values)

    @property
    def rows(self) -> int:
        return len(self.keys)

    def column(self, name: str) -> pl.DataFrame:
        """The keys of all rows."""
        return pl.DataFrame([pl.Series(name, self.keys.astype(np.int64))])

    def lines(self, rows: Rows) -> Lines:
        """The lines of these rows."""
        start = self.bounds[rows].astype(np.int64)
        return Lines(start, (self.bounds[rows + 1] - start).astype(np.int32))

    def save(self, path: Path) -> None:
        """Atomically. Best effort: without an index, the next pass reads the whole part."""
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor, partial = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    for array in (self.bounds, self.keys, self._checksum):
                        np.save(file, array)
                os.replace(partial, path)
            except OSError:
                os.unlink(partial)

    @staticmethod
    def load(path: Path) -> RowIndex | None:
        """None if there is no index, or a damaged one: a power failure may leave a file without its content."""
        try:
            with path.open("rb") as file:
                bounds, keys, checksum = (np.load(file, allow_pickle=False) for _ in range(3))
        except (OSError, ValueError, EOFError):
            return None
        found = RowIndex(bounds, keys)
        return found if np.array_equal(found._checksum, checksum) else None

    @property
    def _checksum(self) -> npt.NDArray[np.uint32]:
        return np.array([crc32(self.keys.data, crc32(self.bounds.data))], np.uint32)
