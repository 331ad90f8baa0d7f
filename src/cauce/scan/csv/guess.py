"""Splits a file into ranges without reading it: probes the bytes around each intended boundary for the start of a
record.

A guess may be wrong in a file made to mislead. Therefore the reader of each range reports whether it ended at a record
boundary. The first range begins after the header; if every range ends at a boundary, then every range also began at
one, and the split is one that a sequential parse could have made.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from cauce.errors import WrongSplit
from cauce.scan.csv.cut import Header, Range
from cauce.scan.csv.kernel import FAULTS, POSITION, QUOTED_LIMIT, ROWS, count_lines, scan
from cauce.scan.csv.located import WINDOW_BYTES, delimiter_byte, quote_byte
from cauce.scan.native.simd import SPARE_BYTES, Bytes

UNKNOWN_LINE = 0
"""The first line of a guessed range: unknown, because lines were not counted."""

_PROBES = 2**16, 2**19, 2**22
_RECORDS = 8
"""A boundary is accepted if this many consecutive records have the right number of cells."""
_CANDIDATES = 2_000
_LF = 10


def guess_ranges(path: str, header: Header, *, delimiter: str, part_bytes: int, quote: str = '"') -> Iterator[Range]:
    """Ranges of equal size after the header, of about ``part_bytes`` or less. Raises WrongSplit if nothing looks like a
    record."""
    marks, width = (delimiter_byte(delimiter), quote_byte(quote)), len(header.cells)
    size = os.path.getsize(path)
    start = header.end
    range_bytes = equal_bytes(size - start, part_bytes)
    with open(path, "rb", buffering=0) as file:
        while start < size:
            target = start + range_bytes
            end = size if target >= size else boundary(file, target, size, marks, width)
            yield Range(start, end, UNKNOWN_LINE)
            start = end


def equal_bytes(total: int, most: int) -> int:
    """The size of the fewest equal ranges of at most so many bytes: a short one at the end of each file would give the
    lanes of a table unequal shares."""
    count = -(-total // max(most, 1))
    return max(-(-total // max(count, 1)), 1)


def boundary(file: io.FileIO, target: int, size: int, marks: tuple[int, int], width: int) -> int:
    """The first offset at or after the target where records seem to begin. ``marks`` are delimiter and quote."""
    for probe in _PROBES:
        # From the byte before the target: if that ends a line, a record may begin at the target itself.
        first = target - 1
        data = os.pread(file.fileno(), probe, first)
        buffer = np.zeros(len(data) + SPARE_BYTES, np.uint8)
        buffer[: len(data)] = np.frombuffer(data, np.uint8)
        final = first + len(data) >= size
        feeds: list[int] = np.flatnonzero(buffer[: len(data)] == _LF)[:_CANDIDATES].tolist()
        for feed in feeds:
            place = feed + 1
            if first + place == size:
                return size
            seems = _seems_record(buffer, place, len(data), final, marks, width)
            if seems is None:
                # The rest of the probe is too short to decide: use a longer one.
                break
            if seems:
                return first + place
    raise WrongSplit(f"{file.name} has nothing after byte {target} that looks like its records")


def _seems_record(
    buffer: Bytes, place: int, length: int, final: bool, marks: tuple[int, int], width: int
) -> bool | None:
    none = np.empty((0, 0), np.int64), np.empty((0, 0), np.int32), np.empty((0, 0), np.uint8)
    rows, fault = np.empty(_RECORDS, np.int64), np.empty(1, np.int64)
    state = np.zeros(5, np.int64)
    state[POSITION] = place
    slots = np.full(width, -1, np.int64)
    delimiter, quote = marks
    scan(
        buffer,
        length,
        final,
        length,
        delimiter,
        quote,
        QUOTED_LIMIT,
        True,
        slots,
        rows,
        *none,
        fault,
        fault.copy(),
        state,
    )
    found = int(state[ROWS])
    if state[FAULTS] or not _balanced(buffer, [*rows[:found].tolist(), int(state[POSITION])], marks[1]):
        return False
    if found == _RECORDS or final:
        return True
    return None


def _balanced(buffer: Bytes, bounds: list[int], quote: int) -> bool:
    """Whether every record has an even number of quotes. The tail of a quoted text, mistaken for a record, has not."""
    return all(np.count_nonzero(buffer[begin:end] == quote) % 2 == 0 for begin, end in pairwise(bounds))


class LineCounts:
    """Counts the lines before an offset in a file. For ascending offsets it reads each byte once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}
        self._buffer = np.empty(0, np.uint8)

    def before(self, path: str, place: int) -> int:
        at, lines = self._known.get(path, (0, 0))
        if place < at:
            at, lines = 0, 0
        if self._buffer.size == 0:
            self._buffer = np.zeros(WINDOW_BYTES + SPARE_BYTES, np.uint8)
        with open(path, "rb", buffering=0) as file:
            while at < place:
                got = os.preadv(file.fileno(), [self._buffer[: min(WINDOW_BYTES, place - at)].data], at)
                if got == 0:
                    break
                lines += count_lines(self._buffer, 0, got)
                at += got
        self._known[path] = place, lines
        return lines
