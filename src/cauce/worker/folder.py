"""The folder in which a run keeps its logs: one run at a time, and gone when all has ended well."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from cauce.errors import UsageError

NAME = ".cauce-work"


class WorkFolder:
    """A folder of our own within a user's, for one run at a time; removed when its last job has ended well. What
    else lies beside it is never touched."""

    def __init__(self, within: Path) -> None:
        path = within / NAME
        try:
            self.fresh = not path.exists()
            path.mkdir(parents=True, exist_ok=True)
            self.path = path.resolve()
            self._lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as problem:
            raise UsageError(
                f"cannot create the work directory {path}: {problem.strerror}; choose a directory that can be written, "
                "with --out or --work"
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise UsageError(
                f"another run is already working in {path}; wait until it ends, or choose another directory with --out"
            ) from None

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        os.close(self._lock)
