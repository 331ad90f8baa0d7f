"""The files of a table and their numbered parts, as data. Splitting and reading are the duty of `reader.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cauce.api.http import Compression
from cauce.scan.csv.guess import UNKNOWN_LINE

PART_BYTES = 16 * 2**20

Buffer = Callable[[int], npt.NDArray[np.uint8]]
"""Returns a byte array of at least this size; may return the same array again."""


@dataclass(frozen=True)
class FileState:
    """The state of a file when a part of it was accepted. It excludes the device number, which differs between hosts
    and containers and may change on a reboot. Links in the path are not followed, so only a mount could replace the
    file by one of another device."""

    bytes: int
    modified_ns: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileState:
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


@dataclass(frozen=True)
class TableFile:
    """A file of a table. `name` is its path below the data folder, used in rejects. With a `state`, the file is read
    only while it is in that state."""

    name: str
    path: str
    bytes: int
    state: FileState | None = None


@dataclass(frozen=True)
class Part:
    """A numbered chunk of a table: a range of a file, or inline bytes. `form` is the name of its format, which reads
    it. `start` and `end` count what the format counts: bytes of text, rows of Parquet.

    Uploaded bytes are stored as received: in one of several formats, possibly compressed, with `skip` bytes of header
    before the first record and `unpacked_bytes` in total after decompression."""

    seq: int
    file: TableFile
    header: tuple[str, ...]
    first_line: int
    start: int
    end: int
    data: bytes | None = None
    weight: int = 0
    """Bytes of the file that this part accounts for in progress reports."""
    form: str = "csv"
    compression: Compression = ""
    skip: int = 0
    unpacked_bytes: int = 0

    @property
    def guessed(self) -> bool:
        """Whether its first line is unknown; lines are then counted from its own start."""
        return self.first_line == UNKNOWN_LINE
