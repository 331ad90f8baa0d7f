"""Cuts CSV input into parts that end where a record ends, reading it once and in order.

It never guesses: every cut is a place where the one sequential reading of the input begins a record.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from cauce.errors import JobFailed, WrongColumns
from cauce.native.lanes import SPARE_BYTES
from cauce.scan.kernel import BROKEN, DOOMED, LINES, POSITION, QUOTED_LIMIT, count_lines, scan, skim
from cauce.scan.located import PART_LIMIT, WINDOW_BYTES, delimiter_byte, locate, padded
from cauce.scan.memory import large_buffer

MOST_COLUMNS = 10_000
_BOM = b"\xef\xbb\xbf"
_NO_INTS = np.empty(0, np.int64)
_NO_CELLS = np.empty((0, 0), np.int64), np.empty((0, 0), np.int32), np.empty((0, 0), np.uint8)

ReadInto = Callable[[memoryview], int | None]


@dataclass(frozen=True)
class Header:
    """The first record: its cells, the byte after it, and how many physical lines lie before that byte."""

    cells: tuple[str, ...]
    end: int
    lines: int


@dataclass(frozen=True)
class Range:
    """The bytes [start, end) of a file, and the physical line they begin on, the file's first being 1."""

    start: int
    end: int
    first_line: int


@dataclass(frozen=True)
class Piece:
    """A range of a stream with its bytes, for input that cannot be read a second time."""

    data: bytes
    start: int
    first_line: int


def read_header(source: str | os.PathLike[str] | bytes, delimiter: str) -> Header:
    """The header of a file, or of bytes that hold at least the whole of it."""
    if isinstance(source, bytes):
        return _Cutter(io.BytesIO(source).readinto, delimiter).header("the data")
    with open(source, "rb", buffering=0) as file:
        return _Cutter(file.readinto, delimiter).header(os.fspath(source))


def cut_ranges(
    path: str | os.PathLike[str],
    *,
    delimiter: str,
    part_bytes: int,
    limit: int = QUOTED_LIMIT,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[Range]:
    """The records of a file after its header: ranges of ``part_bytes`` and the rest of the record there."""
    with open(path, "rb", buffering=0) as file:
        cutter = _Cutter(file.readinto, delimiter, limit, window_bytes)
        cutter.header(os.fspath(path))
        yield from cutter.ranges(part_bytes)


def begins_record(path: str | os.PathLike[str], *, delimiter: str, places: Iterable[int]) -> bool:
    """Whether a record begins at each of the ascending places (or the file ends there), by reading up to the last."""
    with open(path, "rb", buffering=0) as file:
        cutter = _Cutter(file.readinto, delimiter)
        cutter.header(os.fspath(path))
        return all(cutter.go_to(place) == place for place in places)


def cut_stream(
    chunks: Iterator[bytes],
    *,
    delimiter: str,
    part_bytes: int,
    name: str = "the stream",
    limit: int = QUOTED_LIMIT,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[Header | Piece]:
    """The header of a stream, then its records in pieces cut exactly as ``cut_ranges`` would cut a file."""
    cutter = _Cutter(_readinto(chunks), delimiter, limit, window_bytes)
    yield cutter.header(name)
    for part in cutter.ranges(part_bytes, hold=True):
        yield Piece(cutter.held(part.start, part.end), part.start, part.first_line)


class _Cutter:
    """The sequential reading: a window over the input, and the place in it where the next record begins.

    A part that begins and ends where this reading begins records gives the same records and faults when
    it is read alone. What becomes of a record depends on the bytes from its start on, so only one for
    which this reading looked beyond the part's end could differ. That one was a fault here (a good record
    ends within the part), and it was inside quotes at every LF it ran over (else it had ended there). The
    part's last byte is such an LF. So in the part alone it is not closed before the end: a fault as well,
    on the same line, with the same line to resume at.
    """

    def __init__(
        self,
        read_into: ReadInto,
        delimiter: str,
        limit: int = QUOTED_LIMIT,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self.position = 0
        self.line = 1
        self._read_into = read_into
        self._delimiter = delimiter
        self._limit = limit
        self._buffer = large_buffer(max(window_bytes, len(_BOM)) + SPARE_BYTES)
        self._base = 0
        self._length = 0
        self._final = False
        self._doomed = 0

    def header(self, name: str) -> Header:
        """Read the first record, and leave the position after it."""
        self._refill(0)
        if self.held(0, len(_BOM)) == _BOM:
            self.position = len(_BOM)
        while True:
            start = self.position
            self._advance(start + 1, hold_from=start)
            if self.position == start:
                raise WrongColumns(f"{name} is empty: it needs a first line with the names of its columns")
            record = self.held(start, self.position)
            cells = _cells(record, self._delimiter, name)
            if cells:
                return Header(cells, self.position, self.line - record.endswith(b"\n"))

    def ranges(self, part_bytes: int, *, hold: bool = False) -> Iterator[Range]:
        """The rest of the input in ranges; with ``hold``, a range's bytes stay in memory until the next."""
        while True:
            start, line = self.position, self.line
            self._advance(start + max(part_bytes, 1), hold_from=start if hold else None)
            if self.position == start:
                return
            if self.position - start > PART_LIMIT:
                raise _too_long(line)
            yield Range(start, self.position, line)

    def go_to(self, target: int) -> int:
        """The first start of a record at or after the target, which is not before where the reading is."""
        self._advance(target, hold_from=None)
        return self.position

    def held(self, start: int, end: int) -> bytes:
        """The bytes of the input between two offsets, as far as they are in the window."""
        return self._buffer[start - self._base : min(end - self._base, self._length)].tobytes()

    def _advance(self, target: int, hold_from: int | None) -> None:
        """Go to the first start of a record at or after ``target``, or to the end of the input."""
        while True:
            if self.position >= self._doomed:
                self._skim(target)
            end = self._base + self._length
            if self.position >= target or (self._final and self.position >= end):
                return
            # One record, or all up to where the faults that are known of end.
            if not self._scan(min(max(self.position + 1, self._doomed), target)):
                self._refill(self.position if hold_from is None else hold_from)

    def _skim(self, target: int) -> None:
        """Over good records, as far as they are in the window."""
        state = np.array([self.position - self._base, self.line], np.int64)
        byte = delimiter_byte(self._delimiter)
        skim(self._buffer, self._length, target - self._base, byte, self._limit, state)
        self.position = self._base + int(state[POSITION])
        self.line = int(state[LINES])

    def _scan(self, target: int) -> bool:
        """Over records of any kind. False if not even one of them is all in the window."""
        before = self.position - self._base
        state = np.zeros(5, np.int64)
        state[POSITION] = before
        state[DOOMED] = self._doomed - self._base
        scan(
            self._buffer, self._length, self._final, target - self._base, delimiter_byte(self._delimiter), self._limit,
            False, _NO_INTS, _NO_INTS, *_NO_CELLS, _NO_INTS, _NO_INTS, state,
        )  # fmt: skip
        after = int(state[POSITION])
        self.line += count_lines(self._buffer, before, after)
        self.position = self._base + after
        self._doomed = self._base + int(state[DOOMED])
        return after > before

    def _refill(self, hold_from: int) -> None:
        """Drop what lies before ``hold_from`` and read on until the window is full."""
        dropped = hold_from - self._base
        self._length -= dropped
        self._buffer[: self._length] = self._buffer[dropped : dropped + self._length]
        self._base = hold_from
        if self._length > PART_LIMIT:
            raise _too_long(self.line)
        # At least half a window is new each time: a long record is not scanned again for a few bytes more.
        capacity = self._buffer.size - SPARE_BYTES
        if self._length > capacity // 2:
            self._buffer = np.concatenate([self._buffer, np.zeros(capacity, np.uint8)])
            capacity *= 2
        while not self._final and self._length < capacity:
            count = self._read_into(self._buffer.data[self._length : capacity])
            self._final = not count
            self._length += count or 0


def _too_long(line: int) -> JobFailed:
    return JobFailed(
        f"no record ends within 2 GiB of line {line}, and a part cannot be longer: "
        "look there for stray quotes, or ask for smaller parts"
    )


def _cells(record: bytes, delimiter: str, name: str) -> tuple[str, ...]:
    """The cells of a header; none if the line is empty."""
    buffer = padded(record)
    probe = locate(buffer, len(record), delimiter=delimiter, width=1, columns=())
    if probe.fault_cells.size and probe.fault_cells[0] == BROKEN:
        raise WrongColumns(
            f"the first line of {name}, which names its columns, has broken quotes: "
            "after a closing quote only a delimiter or the end of the line may follow"
        )
    width = int(probe.fault_cells[0]) if probe.fault_cells.size else probe.rows
    if width > MOST_COLUMNS:
        raise WrongColumns(
            f"the first line of {name} names {width} columns, and {MOST_COLUMNS} are the most there may be"
        )
    found = locate(buffer, len(record), delimiter=delimiter, width=width, columns=range(width))
    raw = (
        record[start : start + length].replace(b'""', b'"') if escaped else record[start : start + length]
        for start, length, escaped in zip(found.start.flat, found.length.flat, found.escaped.flat, strict=True)
    )
    cells = tuple(cell.decode("utf-8", "replace") for cell in raw)
    if cells and not any(cells):
        raise WrongColumns(f"the first line of {name} has only empty cells: it must name the columns")
    return cells


def _readinto(chunks: Iterator[bytes]) -> ReadInto:
    """Chunks of any size as what a file's ``readinto`` is; 0 means that they have come to their end."""
    rest = memoryview(b"")

    def read_into(view: memoryview) -> int:
        nonlocal rest
        while not rest:
            chunk = next(chunks, None)
            if chunk is None:
                return 0
            rest = memoryview(chunk)
        count = min(len(rest), len(view))
        view[:count] = rest[:count]
        rest = rest[count:]
        return count

    return read_into
