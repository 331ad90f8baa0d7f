"""The number of leases that a worker holds, published in a file for tools that inject faults or measure recovery."""

from __future__ import annotations

import os
from pathlib import Path

LEASE_COUNTS_VARIABLE = "CAUCE_LEASE_COUNTS"
"""The folder of these files. Workers publish nothing if it is not set."""
_BYTES = 4


class LeaseCountFile:
    """The file of this process, named by its pid."""

    def __init__(self) -> None:
        folder = os.environ.get(LEASE_COUNTS_VARIABLE)
        self._file: int | None = None
        if folder:
            self._file = os.open(Path(folder, str(os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, count: int) -> None:
        if self._file is not None:
            os.pwrite(self._file, count.to_bytes(_BYTES, "little"), 0)


def lease_count(folder: Path, pid: int) -> int | None:
    """The number that a process published last; None if it has published none."""
    try:
        data = (folder / str(pid)).read_bytes()
    except FileNotFoundError:
        return None
    return int.from_bytes(data, "little") if len(data) == _BYTES else None
