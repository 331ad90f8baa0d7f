"""A log as a directory of segments: each process appends to its own segment, and all processes read all segments.

A segment is never written to after a failed write, so that a torn frame can only be its last one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Batch, Position
from cauce.fabric.files.disk import Descriptors, Listing, unique_name
from cauce.fabric.files.frames import HEADER_BYTES, Frame, frame_bytes, last_whole, unframe
from cauce.fabric.records import Record
from cauce.process.private_files import DIRECTORY_MODE, sync_directory

_ZEROS_READ_BYTES = 1 << 20
_COPIED_BYTES = 64 << 10
_MOST_PIECES = 64
"""From this size and up to this number of pieces, writing them one by one is cheaper than copying them."""


class SegmentWriter:
    """This process's segment of a log."""

    def __init__(self, folder: str, descriptors: Descriptors, *, power: bool) -> None:
        self._folder = folder
        self._descriptors = descriptors
        self._power = power
        self._segment: str | None = None
        self._size = 0

    def append(self, frames: Sequence[Frame]) -> None:
        """Raises FileNotFoundError, with nothing written, if the job's folder is gone."""
        segment = self._segment or self._create()
        fd = self._descriptors.get(segment)
        try:
            written = _write(fd, frames)
            if self._power:
                os.fdatasync(fd)
        except BaseException:
            # BaseException: an interrupt may also leave a torn frame.
            self._abandon(segment, fd, frames)
            raise
        self._size += written

    def _create(self) -> str:
        segment = f"{self._folder}/{unique_name()}"
        try:
            self._descriptors.create(segment)
        except FileNotFoundError:
            # Not makedirs: if the job was deleted, this must raise and not recreate its directory.
            with suppress(FileExistsError):
                os.mkdir(self._folder, DIRECTORY_MODE)
            self._descriptors.create(segment)
        if self._power:
            # Also if another process created the directory: our confirm must be durable.
            sync_directory(os.path.dirname(self._folder))
            sync_directory(self._folder)
        self._segment = segment
        return segment

    def _abandon(self, segment: str, fd: int, frames: Sequence[Frame]) -> None:
        """Truncates a torn frame. Whole frames stay: they may have been read already."""
        # If truncation fails, the torn frame stays, and readers stop before it.
        with suppress(OSError):
            size = os.fstat(fd).st_size
            good = last_whole(self._size, frames, size)
            if good == 0:
                os.unlink(segment)
            elif good < size:
                os.ftruncate(fd, good)
        self._descriptors.drop(segment)
        self._segment = None
        self._size = 0


def _write(fd: int, frames: Sequence[Frame]) -> int:
    """Writes all frames; returns their length."""
    pieces = [piece for frame in frames for piece in frame]
    size = sum(map(len, pieces))
    if size < _COPIED_BYTES or len(pieces) > _MOST_PIECES:
        _write_one(fd, b"".join(pieces))
    else:
        _write_pieces(fd, [memoryview(piece) for piece in pieces if piece])
    return size


def _write_one(fd: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


def _write_pieces(fd: int, left: list[memoryview]) -> None:
    """Without copying them."""
    while left:
        written = os.writev(fd, left)
        while left and written >= len(left[0]):
            written -= len(left.pop(0))
        if written:
            left[0] = left[0][written:]


class SegmentReader:
    """Reads the segments of all processes of a log."""

    def __init__(self, folder: str, descriptors: Descriptors, *, power: bool) -> None:
        self._folder = folder
        self._descriptors = descriptors
        self._power = power
        self._listing = Listing(folder, descriptors)
        self._awaited: dict[str, tuple[int, int]] = {}
        """By segment with an incomplete frame: the frame's offset, and the file size from which it may be complete."""

    def read(self, position: Position, limit_bytes: int) -> Batch:
        records: list[Record] = []
        reached = position.encode()
        left = limit_bytes
        for name in self._names():
            start = position.offset(name)
            end = self._read_segment(name, start, left, records)
            if end > start:
                reached[name] = end
                left -= end - start
                if left <= 0:
                    break
        return Batch(records, Position(reached))

    def _names(self) -> list[str]:
        try:
            return self._listing.names()
        except FileNotFoundError:
            return []

    def _read_segment(self, name: str, start: int, left: int, records: list[Record]) -> int:
        """Adds whole records to the list; returns the offset after the last one."""
        path = f"{self._folder}/{name}"
        try:
            fd = self._descriptors.get(path)
        except FileNotFoundError:
            return start  # the job is being deleted
        size = os.fstat(fd).st_size
        if size == start:
            return start
        if size < start:
            raise CorruptRecord(
                f"{path}: has {size} bytes, and {start} had been read: another program truncated it; "
                "restore the file or run the job again"
            )
        awaited = self._awaited.get(name)
        if awaited is not None and awaited[0] == start and size < awaited[1]:
            return start
        end, needed = _read_frames(fd, path, start, size, left, records)
        if needed > size:
            self._awaited[name] = (end, needed)
        else:
            self._awaited.pop(name, None)
        if self._power and end > start:
            # The writer may not have synced yet, and a record that was read must not be lost afterwards.
            os.fdatasync(fd)
        return end


def _read_frames(fd: int, path: str, start: int, size: int, left: int, records: list[Record]) -> tuple[int, int]:
    """Returns the offset after the last whole frame read, and the offset where the next one ends, as far as known.

    Reads instead of mapping: a writer may truncate a torn frame, and access to its mapping would raise SIGBUS.
    """
    at = start
    data = memoryview(os.pread(fd, min(size - at, max(left, HEADER_BYTES)), at))
    first = at
    while True:
        if at + HEADER_BYTES > first + len(data):
            return at, at + HEADER_BYTES
        where = f"{path} at byte {at}"
        length = frame_bytes(data[at - first : at - first + HEADER_BYTES], where)
        if length == 0:
            _check_zeros(fd, at, size, where)
            return at, size + 1
        if at + length > first + len(data):
            if records or at + length > size:
                return at, at + length
            data, first = memoryview(os.pread(fd, length, at)), at
            if len(data) < length:
                return at, at + length
        records.append(unframe(data[at - first : at - first + length], where))
        at += length


def _check_zeros(fd: int, at: int, size: int, where: str) -> None:
    """Accepts zeros at the end of a file, which a crash of the machine may leave. Raises if data follows them."""
    while at < size:
        data = os.pread(fd, min(size - at, _ZEROS_READ_BYTES), at)
        if data.strip(b"\0"):
            raise CorruptRecord(f"{where}: zeros where a record should be; restore the file or run the job again")
        if not data:
            return
        at += len(data)
