"""Cuts a file into ranges without reading it: looks around each place where a range should end for what can only
be the start of a record.

A guess may be wrong, in a file that was made to mislead. So whoever reads a range says whether its end turned out to
be the end of a record. The first range begins where the header ends; if every range ends well, every one of them
began where a record begins, and the cuts are those that a reading of the whole file could have made.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from cauce.errors import CutWrongly
from cauce.native.lanes import SPARE_BYTES, Bytes
from cauce.scan.cut import Header, Range
from cauce.scan.kernel import FAULTS, POSITION, QUOTED_LIMIT, ROWS, count_lines, scan
from cauce.scan.located import WINDOW_BYTES, delimiter_byte

UNKNOWN_LINE = 0
"""The first line of a range that was guessed: nobody has counted."""

_PROBES = 2**16, 2**19, 2**22
_RECORDS = 8
"""So many records in a row with the right number of cells are taken for records."""
_CANDIDATES = 2_000
_LF, _QUOTE = 10, 34


def guess_ranges(path: str, header: Header, *, delimiter: str, part_bytes: int) -> Iterator[Range]:
    """The records after the header in ranges of about ``part_bytes``; raises where nothing looks like a record."""
    width = len(header.cells)
    size = os.path.getsize(path)
    start = header.end
    with open(path, "rb", buffering=0) as file:
        while start < size:
            target = start + max(part_bytes, 1)
            end = size if target >= size else _boundary(file, target, size, delimiter, width)
            yield Range(start, end, UNKNOWN_LINE)
            start = end


def _boundary(file: io.FileIO, target: int, size: int, delimiter: str, width: int) -> int:
    """The first place at or after the target where records seem to begin."""
    byte = delimiter_byte(delimiter)
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
            seems = _seems_record(buffer, place, len(data), final, byte, width)
            if seems is None:
                # The rest of the probe is too little to tell: a longer one.
                break
            if seems:
                return first + place
    raise CutWrongly(f"{file.name} has nothing after byte {target} that looks like its records")


def _seems_record(buffer: Bytes, place: int, length: int, final: bool, delimiter: int, width: int) -> bool | None:
    none = np.empty((0, 0), np.int64), np.empty((0, 0), np.int32), np.empty((0, 0), np.uint8)
    rows, fault = np.empty(_RECORDS, np.int64), np.empty(1, np.int64)
    state = np.zeros(5, np.int64)
    state[POSITION] = place
    slots = np.full(width, -1, np.int64)
    scan(buffer, length, final, length, delimiter, QUOTED_LIMIT, True, slots, rows, *none, fault, fault.copy(), state)
    found = int(state[ROWS])
    if state[FAULTS] or not _balanced(buffer, [*rows[:found].tolist(), int(state[POSITION])]):
        return False
    if found == _RECORDS or final:
        return True
    return None


def _balanced(buffer: Bytes, bounds: list[int]) -> bool:
    """Whether every record has an even number of quotes. The end of a quoted text, taken for a record, has one more."""
    return all(np.count_nonzero(buffer[begin:end] == _QUOTE) % 2 == 0 for begin, end in pairwise(bounds))


class LineCounts:
    """How many lines lie before a place in a file; asked for ascending places, it reads each byte once."""

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
