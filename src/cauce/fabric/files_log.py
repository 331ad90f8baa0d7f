"""A log as a folder of segments: one for each writing process, appended to by it alone and read by everybody.

A segment is never written to again after a write has failed, so that a torn frame stands at the end or nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Batch, Position
from cauce.fabric.files_disk import Descriptors, Listing, sync_folder, unique_name
from cauce.fabric.files_frames import HEADER_BYTES, frame_bytes, last_whole, unframe
from cauce.wire.records import Record

_ZEROS_READ_BYTES = 1 << 20


class LogWriter:
    """This process's segment of a log."""

    def __init__(self, folder: str, descriptors: Descriptors, *, power: bool) -> None:
        self._folder = folder
        self._descriptors = descriptors
        self._power = power
        self._segment: str | None = None
        self._size = 0

    def append(self, frames: Sequence[bytes]) -> None:
        """Raises FileNotFoundError, with nothing written, if the job's folder is gone."""
        segment = self._segment or self._create()
        fd = self._descriptors.get(segment)
        data = memoryview(b"".join(frames))
        written = 0
        try:
            while written < len(data):
                written += os.write(fd, data[written:])
            if self._power:
                os.fdatasync(fd)
        except BaseException:
            # An interrupt too may leave less in the file than we know of.
            self._abandon(segment, fd, frames)
            raise
        self._size += len(data)

    def _create(self) -> str:
        segment = f"{self._folder}/{unique_name()}"
        try:
            self._descriptors.create(segment)
        except FileNotFoundError:
            # One level only: where the job is gone, this raises, and does not bring its folder back.
            with suppress(FileExistsError):
                os.mkdir(self._folder)
            self._descriptors.create(segment)
        if self._power:
            # The folder as well, whoever has made it: what we confirm must last.
            sync_folder(os.path.dirname(self._folder))
            sync_folder(self._folder)
        self._segment = segment
        return segment

    def _abandon(self, segment: str, fd: int, frames: Sequence[bytes]) -> None:
        """Gives back the room of a torn frame, and no more: whole ones may have been read already."""
        # If the cutting fails, the torn frame stays where it is, and readers stop before it.
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


class LogReader:
    """What all processes have written to a log."""

    def __init__(self, folder: str, descriptors: Descriptors, *, power: bool) -> None:
        self._folder = folder
        self._descriptors = descriptors
        self._power = power
        self._listing = Listing(folder, descriptors)
        self._awaited: dict[str, tuple[int, int]] = {}
        """Of a segment with an unfinished frame: where that begins, and the size below which it is no use to look."""

    def read(self, position: Position, limit_bytes: int) -> Batch:
        records: list[Record] = []
        reached = dict(position)
        left = limit_bytes
        for name in self._names():
            start = position.get(name, 0)
            end = self._read_segment(name, start, left, records)
            if end > start:
                reached[name] = end
                left -= end - start
                if left <= 0:
                    break
        return Batch(records, reached)

    def _names(self) -> list[str]:
        try:
            return self._listing.names()
        except FileNotFoundError:
            return []

    def _read_segment(self, name: str, start: int, left: int, records: list[Record]) -> int:
        """Adds whole records to the list; returns where the last one ends."""
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
                f"{path}: has {size} bytes, and {start} had been read: it was cut behind our back; "
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
            # Its writer may not have come to this yet, and what has been used must not be lost again.
            os.fdatasync(fd)
        return end


def _read_frames(fd: int, path: str, start: int, size: int, left: int, records: list[Record]) -> tuple[int, int]:
    """Where the last whole frame ends that was read, and up to where the next one goes, as far as is known.

    Reads and does not map: a writer may cut a torn end off, and touching a mapping of it would kill us.
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
    """A crash of the machine may leave zeros at the end of a file; records behind zeros are another thing."""
    while at < size:
        data = os.pread(fd, min(size - at, _ZEROS_READ_BYTES), at)
        if data.strip(b"\0"):
            raise CorruptRecord(f"{where}: zeros where a record should be; restore the file or run the job again")
        if not data:
            return
        at += len(data)
