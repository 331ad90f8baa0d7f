"""Splits CSV input into parts at record boundaries, in one sequential pass.

It never guesses: every part begins where the sequential parse of the whole input begins a record.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cauce.errors import JobFailed, WrongColumns
from cauce.scan.csv.kernel import BROKEN, DOOMED, LINES, POSITION, QUOTED_LIMIT, count_lines, scan, skim
from cauce.scan.csv.located import PART_LIMIT, WINDOW_BYTES, delimiter_byte, locate, padded, quote_byte
from cauce.scan.memory import large_buffer
from cauce.scan.native.simd import SPARE_BYTES

MOST_COLUMNS = 10_000
_HEADER_BYTES = 2**14
"""The first window of a header. It grows if the header is longer."""
_BOM = b"\xef\xbb\xbf"
_NO_INTS = np.empty(0, np.int64)
_NO_CELLS = np.empty((0, 0), np.int64), np.empty((0, 0), np.int32), np.empty((0, 0), np.uint8)

ReadInto = Callable[[memoryview], int | None]


@dataclass(frozen=True)
class Header:
    """The first record: its cells, the offset after it, and the number of physical lines before that offset."""

    cells: tuple[str, ...]
    end: int
    lines: int


@dataclass(frozen=True)
class Range:
    """The bytes [start, end) of a file, and the physical line on which they begin, counted from 1. A range of a stream
    has its bytes in `data`, because they cannot be read again."""

    start: int
    end: int
    first_line: int
    data: bytes | None = None


def read_header(
    source: str | os.PathLike[str] | bytes,
    delimiter: str,
    *,
    quote: str = '"',
    named: bool = True,
    name: str = "the data",
) -> Header:
    """The header of a file, or of bytes that contain at least the whole header. Unless ``named``, the first record is
    not a header: the columns are called column0, column1, …. Errors call bytes by their ``name``."""
    if isinstance(source, bytes):
        return _Cutter(io.BytesIO(source).readinto, delimiter, quote=quote).header(name, named)
    with open(source, "rb", buffering=0) as file:
        return _Cutter(file.readinto, delimiter, window_bytes=_HEADER_BYTES, quote=quote).header(
            os.fspath(source), named
        )


def cut_ranges(
    path: str | os.PathLike[str],
    *,
    delimiter: str,
    part_bytes: int,
    limit: int = QUOTED_LIMIT,
    window_bytes: int = WINDOW_BYTES,
    quote: str = '"',
    named: bool = True,
) -> Iterator[Range]:
    """Ranges of the records after the header: ``part_bytes`` each, extended to the end of the last record."""
    with open(path, "rb", buffering=0) as file:
        cutter = _Cutter(file.readinto, delimiter, limit, window_bytes, quote)
        cutter.header(os.fspath(path), named)
        yield from cutter.ranges(part_bytes)


def begins_record(
    path: str | os.PathLike[str], *, delimiter: str, places: Iterable[int], quote: str = '"', named: bool = True
) -> bool:
    """Whether a record begins, or the file ends, at each of these ascending offsets. Reads up to the last one."""
    with open(path, "rb", buffering=0) as file:
        cutter = _Cutter(file.readinto, delimiter, quote=quote)
        cutter.header(os.fspath(path), named)
        return all(cutter.go_to(place) == place for place in places)


def cut_stream(
    chunks: Iterator[bytes],
    *,
    delimiter: str,
    part_bytes: int,
    name: str = "the stream",
    limit: int = QUOTED_LIMIT,
    window_bytes: int = WINDOW_BYTES,
    quote: str = '"',
    named: bool = True,
) -> Iterator[Header | Range]:
    """The header of a stream, then its records in the same ranges as ``cut_ranges`` of a file."""
    cutter = _Cutter(_readinto(chunks), delimiter, limit, window_bytes, quote)
    yield cutter.header(name, named)
    for part in cutter.ranges(part_bytes, hold=True):
        yield replace(part, data=cutter.held(part.start, part.end))


class _Cutter:
    """The sequential parser: a window over the input, and the offset in it where the next record begins.

    A part that begins and ends at record starts of this parse has the same records and faults when it is parsed
    alone. Proof: a record depends only on the bytes from its start on, so only a record for which this parse read
    beyond the part's end could differ. That record was a fault (a good record ends within the part), and it was
    inside quotes at every LF that it crossed (otherwise it would have ended there). The part's last byte is such
    an LF. So in the part alone its quotes are not closed before the end: it is a fault too, on the same line, and
    parsing resumes at the same line.
    """

    def __init__(
        self,
        read_into: ReadInto,
        delimiter: str,
        limit: int = QUOTED_LIMIT,
        window_bytes: int = WINDOW_BYTES,
        quote: str = '"',
    ) -> None:
        self.position = 0
        self.line = 1
        self._read_into = read_into
        self._delimiter = delimiter
        self._quote = quote
        self._limit = limit
        size = max(window_bytes, len(_BOM)) + SPARE_BYTES
        # A huge page would take longer to clear than a header to read.
        self._buffer = np.zeros(size, np.uint8) if window_bytes <= _HEADER_BYTES else large_buffer(size)
        self._base = 0
        self._length = 0
        self._final = False
        self._doomed = 0

    def header(self, name: str, named: bool = True) -> Header:
        """Reads the first record. The position is then after it; unless ``named``, at its start."""
        self._refill(0)
        if self.held(0, len(_BOM)) == _BOM:
            self.position = len(_BOM)
        while True:
            start, line = self.position, self.line
            self._advance(start + 1, hold_from=start)
            if self.position == start:
                raise WrongColumns(f"{name} is empty: it needs a first line with the names of its columns")
            record = self.held(start, self.position)
            cells = _cells(record, self._delimiter, self._quote, name)
            if cells and not named:
                self.position, self.line = start, line
                return Header(tuple(f"column{number}" for number in range(len(cells))), start, line - 1)
            if cells and not any(cells):
                raise WrongColumns(f"the first line of {name} has only empty cells: it must name the columns")
            if cells:
                return Header(cells, self.position, self.line - record.endswith(b"\n"))

    def ranges(self, part_bytes: int, *, hold: bool = False) -> Iterator[Range]:
        """The rest of the input in ranges; with ``hold``, a range's bytes stay in memory until the next range."""
        while True:
            start, line = self.position, self.line
            self._advance(start + max(part_bytes, 1), hold_from=start if hold else None)
            if self.position == start:
                return
            if self.position - start > PART_LIMIT:
                raise _too_long(line)
            yield Range(start, self.position, line)

    def go_to(self, target: int) -> int:
        """Advances to the first record start at or after ``target`` (not before the position) and returns it."""
        self._advance(target, hold_from=None)
        return self.position

    def held(self, start: int, end: int) -> bytes:
        """The bytes between two offsets, as far as they are in the window."""
        return self._buffer[start - self._base : min(end - self._base, self._length)].tobytes()

    def _advance(self, target: int, hold_from: int | None) -> None:
        """Advances to the first record start at or after ``target``, or to the end of the input."""
        while True:
            if self.position >= self._doomed:
                self._skim(target)
            end = self._base + self._length
            if self.position >= target or (self._final and self.position >= end):
                return
            # One record, or all records up to the end of the known faults.
            if not self._scan(min(max(self.position + 1, self._doomed), target)):
                self._refill(self.position if hold_from is None else hold_from)

    def _skim(self, target: int) -> None:
        """Skips good records, as far as they are in the window."""
        state = np.array([self.position - self._base, self.line], np.int64)
        byte = delimiter_byte(self._delimiter)
        skim(self._buffer, self._length, target - self._base, byte, quote_byte(self._quote), self._limit, state)
        self.position = self._base + int(state[POSITION])
        self.line = int(state[LINES])

    def _scan(self, target: int) -> bool:
        """Skips records of any kind. False if the window does not contain one complete record."""
        before = self.position - self._base
        state = np.zeros(5, np.int64)
        state[POSITION] = before
        state[DOOMED] = self._doomed - self._base
        scan(
            self._buffer, self._length, self._final, target - self._base, delimiter_byte(self._delimiter),
            quote_byte(self._quote), self._limit, False, _NO_INTS, _NO_INTS, *_NO_CELLS, _NO_INTS, _NO_INTS, state,
        )  # fmt: skip
        after = int(state[POSITION])
        self.line += count_lines(self._buffer, before, after)
        self.position = self._base + after
        self._doomed = self._base + int(state[DOOMED])
        return after > before

    def _refill(self, hold_from: int) -> None:
        """Drops the bytes before ``hold_from`` and reads until the window is full."""
        dropped = hold_from - self._base
        self._length -= dropped
        self._buffer[: self._length] = self._buffer[dropped : dropped + self._length]
        self._base = hold_from
        if self._length > PART_LIMIT:
            raise _too_long(self.line)
        # At least half of the window is new each time: a long record is not rescanned for a few more bytes.
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
        f"no record ends within 2 GiB of line {line}, the maximum size of a part: "
        "look there for stray quotes, or ask for smaller parts"
    )


def _cells(record: bytes, delimiter: str, quote: str, name: str) -> tuple[str, ...]:
    """The cells of a record; empty if the line is empty."""
    buffer = padded(record)
    mark = quote.encode()
    probe = locate(buffer, len(record), delimiter=delimiter, width=1, columns=(), quote=quote)
    if probe.fault_cells.size and probe.fault_cells[0] == BROKEN:
        raise WrongColumns(
            f"the first line of {name}, which names its columns, has broken quotes: "
            "after a closing quote only a delimiter or the end of the line may follow"
        )
    width = int(probe.fault_cells[0]) if probe.fault_cells.size else probe.rows
    if width > MOST_COLUMNS:
        raise WrongColumns(f"the first line of {name} names {width} columns; at most {MOST_COLUMNS} are allowed")
    found = locate(buffer, len(record), delimiter=delimiter, width=width, columns=range(width), quote=quote)
    raw = [
        record[start : start + length].replace(mark + mark, mark) if escaped else record[start : start + length]
        for start, length, escaped in zip(found.start.flat, found.length.flat, found.escaped.flat, strict=True)
    ]
    return _names(raw)


def _names(cells: Sequence[bytes]) -> tuple[str, ...]:
    """Names of columns in UTF-8. Where one of them is not, all are in Windows-1252, as spreadsheets write them."""
    try:
        return tuple(cell.decode() for cell in cells)
    except UnicodeDecodeError:
        return tuple(cell.decode("cp1252", "replace") for cell in cells)


def _readinto(chunks: Iterator[bytes]) -> ReadInto:
    """A function like a file's ``readinto`` over chunks of any size; it returns 0 at the end."""
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
