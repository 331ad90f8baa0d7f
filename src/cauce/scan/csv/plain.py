"""The fast path of the CSV scanner, for bytes without quotes: it finds all separators of a window at once, and then
reads whole columns of it. It leaves every record with a quote, and the end of a part, to ``kernel.scan``.

It copies no cell. It reads up to 64 bytes past the given length: every buffer must have that many spare bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cauce.scan.csv.kernel import DONE, FAULTS, FULL, POSITION, ROWS, STATUS
from cauce.scan.native import I8, U1, VOID, Array, kernel
from cauce.scan.native.simd import BYTES, Bytes, Ints, below, byte_at, equal_mask, next_bit, population

WINDOW_BYTES = 2**14
"""Its separators, and the bytes themselves, stay in the first levels of the cache."""

_BLOCK_BYTES = 64
_UNROLLED = 8
_LF, _CR = 10, 13
_NONE, _ONE = np.uint64(0), np.uint64(1)
_INTS = Array("int64")
_INTS32 = Array("int32")

Ints32 = NDArray[np.int32]


def scratch() -> tuple[Ints32, Ints32]:
    """Memory for ``scan_plain``."""
    size = WINDOW_BYTES + 2 * _BLOCK_BYTES
    return np.empty(size, np.int32), np.empty(size, np.int32)


@kernel(
    VOID, BYTES, I8, I8, U1, U1, I8, Array("int64", read=True), _INTS32, _INTS32,
    _INTS, Array("int64", 2), Array("int32", 2), Array("uint8", 2), _INTS, _INTS, _INTS,
)  # fmt: skip
def scan_plain(
    buffer: Bytes,
    length: int,
    target: int,
    delimiter: int,
    quote: int,
    width: int,
    places: Ints,
    separators: Ints32,
    firsts: Ints32,
    record_start: Ints,
    cell_start: Ints,
    cell_length: Ints32,
    cell_escaped: NDArray[np.uint8],
    fault_offset: Ints,
    fault_cells: Ints,
    state: Ints,
) -> None:
    """Reads records from ``state[POSITION]``, as ``scan`` does, as long as they have no quote and a line end, and
    until a window ends at or after ``target``.

    Cell ``places[i]`` of each good record is stored in row ``i`` of the cell arrays. Its ``scratch`` holds the offsets
    of the separators of a window, and the rank of the first one of each good record.
    """
    position: Any = state[POSITION]
    rows: Any = state[ROWS]
    faults: Any = state[FAULTS]
    state[STATUS] = DONE
    going = True
    while going and position < target:
        # The offsets of all separators of the window.
        stop = min(position + WINDOW_BYTES, length)
        block: Any = position & ~63
        before: Any = below(position & 63)
        count: Any = 0
        lines: Any = 0
        while block < stop:
            within = below(min(length - block, 64)) & ~before
            before = _NONE
            if equal_mask(buffer, block, quote) & within != _NONE:
                going = False
                break
            feeds: Any = equal_mask(buffer, block, _LF) & within
            marks: Any = equal_mask(buffer, block, delimiter) & within | feeds
            lines += population(feeds)
            to: Any = np.uint64(count)
            count += population(marks)
            while marks != _NONE:
                # Without a branch for each: those after the last are overwritten.
                for i in range(_UNROLLED):
                    separators[to + np.uint64(i)] = block + next_bit(marks, 0)
                    marks &= marks - _ONE
                to += np.uint64(_UNROLLED)
            block += _BLOCK_BYTES
        # The records of the window: all of them are good if every line end is where the width expects it.
        found: Any = count // max(width, 1)
        regular = width > 1 and lines == found and found <= record_start.size - rows
        last: Any = width - 1
        while regular and last < count:
            regular = byte_at(buffer, separators[np.uint64(last)]) == _LF
            last += width
        begin = position
        if regular:
            for i in range(found):
                firsts[i] = i * width
                record_start[rows + i] = begin
                begin = separators[np.uint64(i * width + width - 1)] + 1
        else:
            rank: Any = 0
            found = 0
            for i in range(count):
                end = separators[i]
                if byte_at(buffer, end) != _LF:
                    continue
                cells = i - rank + 1
                is_blank = cells == 1 and (end == begin or (end == begin + 1 and byte_at(buffer, begin) == _CR))
                if not is_blank:
                    if rows + found == record_start.size or faults == fault_offset.size:
                        state[STATUS] = FULL
                        going = False
                        break
                    if cells == width:
                        record_start[rows + found] = begin
                        firsts[found] = rank
                        found += 1
                    else:
                        fault_offset[faults] = begin
                        fault_cells[faults] = cells
                        faults += 1
                begin = end + 1
                rank = i + 1
        going = going and begin > position
        position = begin
        # Column by column: each is written in sequence.
        for slot in range(places.size):
            cell = places[slot]
            for i in range(found):
                after = np.uint64(firsts[i] + cell)
                start: Any = record_start[rows + i]
                if cell > 0:
                    start = separators[after - _ONE] + 1
                end = separators[after]
                if cell == width - 1 and end > start and byte_at(buffer, end - 1) == _CR:
                    end -= 1
                cell_start[slot, rows + i] = start
                cell_length[slot, rows + i] = end - start
                cell_escaped[slot, rows + i] = 0
        rows += found
    state[POSITION] = position
    state[ROWS] = rows
    state[FAULTS] = faults
