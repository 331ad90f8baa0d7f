"""Temporary files of a fold that exceeds its share of the memory.

They are a cache: all of it can be computed again from the logs, so a crash may leave any of it behind, and no other
process reads it.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from cauce.errors import FabricFull
from cauce.fabric.files.disk import unique_name

_LENGTH = struct.Struct("<Q")


class Spill(Protocol):
    """Named sequences of byte strings."""

    written_bytes: int
    """All that was appended so far."""

    def append(self, name: str, data: bytes) -> int:
        """Appends to a sequence. Returns the offset, for `read_at`."""

    def read(self, name: str) -> Iterator[bytes]:
        """The byte strings of a name in their order; none if there is no such name."""

    def read_at(self, name: str, offset: int) -> bytes: ...

    def read_within(self, name: str, offset: int, start: int, size: int) -> bytes:
        """So many bytes of the byte string at the offset, from `start` on."""

    def remove(self, name: str) -> None: ...

    def close(self) -> None:
        """Removes everything."""


class MemorySpill:
    """In memory, for simulations: it disappears with its process."""

    def __init__(self) -> None:
        self.written_bytes = 0
        self._parts: dict[str, list[bytes]] = {}

    def append(self, name: str, data: bytes) -> int:
        parts = self._parts.setdefault(name, [])
        parts.append(data)
        self.written_bytes += len(data)
        return len(parts) - 1

    def read(self, name: str) -> Iterator[bytes]:
        yield from self._parts.get(name, ())

    def read_at(self, name: str, offset: int) -> bytes:
        return self._parts[name][offset]

    def read_within(self, name: str, offset: int, start: int, size: int) -> bytes:
        return self._parts[name][offset][start : start + size]

    def remove(self, name: str) -> None:
        self._parts.pop(name, None)

    def close(self) -> None:
        self._parts.clear()


class FileSpill:
    """A directory of files, created by the first append. Files of earlier holders of the same task are removed:
    one that still runs without its lease fails and is dropped."""

    def __init__(self, parent: Path, task: str) -> None:
        self.written_bytes = 0
        self._parent = parent
        self._task = task
        self._folder = parent / f"{task}-{unique_name()}"
        self._reading: tuple[str, int] | None = None
        """The descriptor of the file that was read last: a range is read in many small pieces."""
        self._removal = weakref.finalize(self, _remove, self._folder, parent)
        """Also if the task is dropped."""

    def append(self, name: str, data: bytes) -> int:
        try:
            return self._write(name, data)
        except OSError as problem:
            if problem.errno in (errno.ENOSPC, errno.EDQUOT):
                raise FabricFull(
                    f"no space left for temporary files in {self._parent}; free some space there, and the job continues"
                ) from problem
            raise

    def _write(self, name: str, data: bytes) -> int:
        if not self._folder.is_dir():
            self._parent.mkdir(mode=0o700, exist_ok=True)
            for left in self._parent.glob(f"{self._task}-*"):
                shutil.rmtree(left, ignore_errors=True)
            self._folder.mkdir(mode=0o700)
        with open(self._folder / name, "ab") as file:
            offset = file.tell()
            file.write(_LENGTH.pack(len(data)))
            file.write(data)
        self.written_bytes += len(data)
        return offset

    def read(self, name: str) -> Iterator[bytes]:
        path = self._folder / name
        if not path.exists():
            return
        with path.open("rb") as file:
            while header := file.read(_LENGTH.size):
                yield file.read(_LENGTH.unpack(header)[0])

    def read_at(self, name: str, offset: int) -> bytes:
        with open(self._folder / name, "rb") as file:
            file.seek(offset)
            return file.read(_LENGTH.unpack(file.read(_LENGTH.size))[0])

    def read_within(self, name: str, offset: int, start: int, size: int) -> bytes:
        if self._reading is None or self._reading[0] != name:
            self._stop_reading()
            self._reading = (name, os.open(self._folder / name, os.O_RDONLY | os.O_CLOEXEC))
        return os.pread(self._reading[1], size, offset + _LENGTH.size + start)

    def _stop_reading(self) -> None:
        if self._reading is not None:
            os.close(self._reading[1])
            self._reading = None

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        self._stop_reading()
        self._removal()


def _remove(folder: Path, parent: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.rmdir(parent)


def spill_folder(scratch: Path | None, job: str) -> Path:
    """The directory for temporary files of a job: the fabric's own, which is removed with the job, or the system's."""
    if scratch is not None:
        return scratch
    return Path(tempfile.gettempdir(), f"cauce-spill-{os.getuid()}-{job}")
