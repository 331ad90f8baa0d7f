"""Locates the cells of chosen columns in a part: offsets only, so text that a filter drops costs nothing.

A part is parsed as if it were a whole file; ``cut`` returns only ranges for which that is correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cauce.scan.csv.kernel import (
    FAULTS,
    FULL,
    MORE,
    POSITION,
    QUOTED_LIMIT,
    ROWS,
    STATUS,
    number_lines,
    scan,
)
from cauce.scan.csv.plain import scan_plain, scratch
from cauce.scan.native.simd import SPARE_BYTES, Bytes, Ints

PART_LIMIT = 2**31 - 1
"""Maximum bytes of a part: the length of a cell has 32 bits."""

WINDOW_BYTES = 2**20
"""Window size for a sequential pass over a file: fits in the processor's cache."""

QUOTES = ('"', "'", "")
"""The characters that may enclose a cell; none if empty."""

_TYPICAL_ROW_BYTES = 64
_FEW = 1024
_MOST_GROWTH = 16.0
_LEAST_QUOTED_BYTES = 2**14
_MOST_QUOTED_BYTES = 2**24

_Array = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint8]
_Arrays = tuple[Ints, Ints, NDArray[np.int32], NDArray[np.uint8], Ints, Ints]


@dataclass(frozen=True)
class Located:
    """The good records of a part, in order, and its faults.

    A cell is ``length`` bytes from ``start``, without its outer quotes; ``escaped`` if it contains doubled ones.
    The first axis is the column, in the requested order; each column is contiguous.
    """

    rows: int
    record_start: Ints
    start: Ints
    length: NDArray[np.int32]
    escaped: NDArray[np.uint8]
    fault_offset: Ints
    fault_cells: Ints
    """The number of cells that a rejected record has, or ``BROKEN`` for one faulty line."""
    whole: bool = True


def padded(data: bytes | bytearray | memoryview) -> Bytes:
    """A copy of ``data`` with the spare bytes that the kernels need after it."""
    buffer = np.zeros(len(data) + SPARE_BYTES, np.uint8)
    buffer[: len(data)] = np.frombuffer(data, np.uint8)
    return buffer


def delimiter_byte(delimiter: str) -> int:
    """The delimiter as a byte. Raises ValueError for a character that cannot separate cells."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ValueError(f"a delimiter is one ASCII character other than quote, CR and LF, not {delimiter!r}")
    return ord(delimiter)


def quote_byte(quote: str) -> int:
    """The quote as a byte; NUL, which no text contains, if there is none."""
    if quote not in QUOTES:
        raise ValueError(f"a quote is one of {', '.join(map(repr, QUOTES))}, not {quote!r}")
    return ord(quote or "\0")


def locate(
    buffer: Bytes,
    length: int,
    *,
    delimiter: str,
    width: int,
    columns: Sequence[int],
    limit: int = QUOTED_LIMIT,
    open_end: bool = False,
    quote: str = '"',
) -> Located:
    """Locates the cells of ``columns`` in the first ``length`` bytes, where a record has ``width`` cells.

    With ``open_end`` more bytes follow in the file, and ``whole`` says whether the part ends at a record boundary.
    """
    scanner = Scanner(
        buffer, length, delimiter=delimiter, width=width, columns=columns, limit=limit, open_end=open_end, quote=quote
    )
    rows, faults = length // _TYPICAL_ROW_BYTES + _FEW, _FEW
    arrays = room(len(columns), rows, faults)
    while not scanner.scan_to(length, arrays):
        found, faulty = scanner.rows, scanner.faults
        # Estimates the remaining rows from those already read, plus a tenth.
        growth = min(1.1 * length / scanner.position, _MOST_GROWTH)
        rows, faults = max(rows, int(found * growth) + _FEW), max(faults, int(faulty * growth) + _FEW)
        kept, arrays = _trimmed(arrays, found, faulty), room(len(columns), rows, faults)
        copies: Iterable[tuple[_Array, _Array]] = zip(_trimmed(arrays, found, faulty), kept, strict=True)
        for new, old in copies:
            new[...] = old
    return scanner.located(arrays)


class Scanner:
    """Reads the records of a part from the first to the last, in several steps. Arguments are those of ``locate``."""

    def __init__(
        self,
        buffer: Bytes,
        length: int,
        *,
        delimiter: str,
        width: int,
        columns: Sequence[int],
        limit: int = QUOTED_LIMIT,
        open_end: bool = False,
        quote: str = '"',
    ) -> None:
        if length > PART_LIMIT or length + SPARE_BYTES > buffer.size:
            raise ValueError(
                f"{length} bytes of a buffer of {buffer.size}: parts are under 2 GiB, with {SPARE_BYTES} spare"
            )
        if len(set(columns)) != len(columns) or not set(columns) <= set(range(width)):
            raise ValueError(f"columns must differ and be below {width}: {list(columns)}")
        self._buffer = buffer
        self._length = length
        self._limit = limit
        self._delimiter, self._quote = delimiter_byte(delimiter), quote_byte(quote)
        self._width = width
        self._places = np.array(columns, np.int64)
        self._slots = np.full(width, -1, np.int64)
        self._slots[list(columns)] = np.arange(len(columns))
        self._separators, self._firsts = scratch()
        self._state = np.zeros(5, np.int64)
        self._final = not open_end
        self._cut_off = False
        self._quoted_bytes = _LEAST_QUOTED_BYTES

    @property
    def position(self) -> int:
        return int(self._state[POSITION])

    @property
    def rows(self) -> int:
        """The records in the arrays."""
        return int(self._state[ROWS])

    @property
    def faults(self) -> int:
        return int(self._state[FAULTS])

    def clear(self) -> None:
        """Fills the arrays from their start again."""
        self._state[ROWS] = self._state[FAULTS] = 0

    def located(self, arrays: _Arrays) -> Located:
        """The records in the arrays."""
        return Located(self.rows, *_trimmed(arrays, self.rows, self.faults), whole=not self._cut_off)

    def scan_to(self, target: int, arrays: _Arrays) -> bool:
        """Reads records until one ends at or after `target`. False if an array is full before that."""
        while self.position < target:
            self._scan_plain(target, arrays)
            if self._state[STATUS] != FULL:
                self._scan(min(self.position + self._quoted_bytes, target), arrays)
            if self._state[STATUS] == FULL:
                return False
        return True

    def _scan_plain(self, target: int, arrays: _Arrays) -> None:
        before = self.position
        scan_plain(
            self._buffer, self._length, target, self._delimiter, self._quote, self._width, self._places,
            self._separators, self._firsts, *arrays, self._state,
        )  # fmt: skip
        # Where quotes are frequent, the fast path is tried less and less.
        is_plain = self.position - before > self._quoted_bytes
        self._quoted_bytes = _LEAST_QUOTED_BYTES if is_plain else min(2 * self._quoted_bytes, _MOST_QUOTED_BYTES)

    def _scan(self, target: int, arrays: _Arrays) -> None:
        scan(
            self._buffer, self._length, self._final, target, self._delimiter, self._quote, self._limit, True,
            self._slots, *arrays, self._state,
        )  # fmt: skip
        if self._state[STATUS] == MORE:
            # The part ends within a record: it is read as if the file ended there.
            self._final = self._cut_off = True


def line_of(buffer: Bytes, offsets: Ints, first_line: int) -> Ints:
    """The physical line of each offset in a part that begins on ``first_line``; one pass to the last one."""
    order = np.argsort(offsets, kind="stable")
    lines = np.empty(offsets.size, np.int64)
    number_lines(buffer, np.ascontiguousarray(offsets[order], np.int64), first_line, lines)
    unsorted = np.empty_like(lines)
    unsorted[order] = lines
    return unsorted


def room(columns: int, rows: int, faults: int) -> _Arrays:
    """Arrays for the kernel to fill. They start small: an upper bound for any input would be many times too large."""
    return (
        np.empty(rows, np.int64),
        np.empty((columns, rows), np.int64),
        np.empty((columns, rows), np.int32),
        np.empty((columns, rows), np.uint8),
        np.empty(faults, np.int64),
        np.empty(faults, np.int64),
    )


def _trimmed(arrays: _Arrays, rows: int, faults: int) -> _Arrays:
    record_start, start, length, escaped, fault_offset, fault_cells = arrays
    by_row = record_start[:rows], start[:, :rows], length[:, :rows], escaped[:, :rows]
    return *by_row, fault_offset[:faults], fault_cells[:faults]
