"""The numbers of the rows for which a column of booleans is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.native import I8, Array, kernel

Bits = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

_BITS = Array("uint8", read=True)


@kernel(I8, _BITS, I8, I8, Array("int64"))
def _true_rows(bits: Bits, offset: int, size: int, rows: Rows) -> Any:
    """Writes the numbers of the bits that are set, from `offset` on. Returns how many there are."""
    count: Any = 0
    i = 0
    # Up to a whole byte, byte by byte, and the rest.
    while i < size and (i + offset) & 7:
        rows[count] = i
        count += np.int64(bits[(i + offset) >> 3] >> ((i + offset) & 7)) & 1
        i += 1
    while i + 8 <= size:
        byte = np.int64(bits[(i + offset) >> 3])
        if byte:
            for bit in range(8):
                rows[count] = i + bit
                count += byte >> bit & 1
        i += 8
    while i < size:
        rows[count] = i
        count += np.int64(bits[(i + offset) >> 3] >> ((i + offset) & 7)) & 1
        i += 1
    return count


def true_rows(mask: pl.Series) -> Rows:
    """The numbers of the rows that are true, ascending; a null is not."""
    known = mask.fill_null(False) if mask.null_count() else mask
    array = known.rechunk().to_arrow()
    rows = np.empty(len(array) + 8, np.int64)
    count = int(_true_rows(np.frombuffer(array.buffers()[1], np.uint8), array.offset, len(array), rows))
    # A view would keep the memory of all rows.
    return rows[:count] if 2 * count > len(array) else rows[:count].copy()
