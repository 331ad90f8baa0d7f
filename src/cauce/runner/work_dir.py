"""The work directory that holds the logs of a run: locked by one run at a time, removed after success."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

from cauce.errors import UsageError
from cauce.fabric.files.version import FILE
from cauce.process.private_files import FILE_MODE, LOCK, claim, is_claimed, remove_claimed, sync_directory

NAME = ".cauce-work"
_JOBS, _REMOVED_JOBS = "jobs", "jobs.removed"
CONTENT = (_REMOVED_JOBS, _JOBS, "trash", FILE)
"""Entries of the fabric in it, and a directory of jobs that is being removed: a run removes nothing else."""
_ADVICE = "choose another directory with --out or --work"


TINY_BYTES = 4 << 20
"""Below this, a run needs no workers: to start them takes longer than to read the files again after a crash."""
_LISTED = 1_000
"""A directory with more entries is not searched for large files."""


def work_folder_exists(within: Path) -> bool:
    return os.path.lexists(within / NAME)


def is_tiny(data: Path) -> bool:
    """Whether all files in a directory together have fewer bytes than TINY_BYTES."""
    found, size = 0, 0
    for folder, folders, names in os.walk(data):
        found += len(folders) + len(names)
        if found > _LISTED:
            return False
        for name in names:
            with suppress(OSError):
                size += os.stat(os.path.join(folder, name)).st_size
        if size >= TINY_BYTES:
            return False
    return True


class WorkFolder:
    """A directory of our own inside a user's directory, locked by one run at a time and removed after success. Never
    touches other files in it or beside it, and refuses a symbolic link or a directory that is not ours."""

    def __init__(self, within: Path, *, durable: bool = False) -> None:
        path = within / NAME
        self.fresh = not os.path.lexists(path)
        try:
            # Before acquiring the lock, which creates a file: a directory that is not ours must stay unchanged.
            claim(path, _ADVICE, durable=durable)
            self._lock = _locked(path)
            # An earlier run may have removed the directory while we waited for the lock.
            claim(path, _ADVICE, durable=durable)
        except BlockingIOError:
            raise UsageError(
                f"another run is already working in {path}; wait until it ends, or choose another directory with --out"
            ) from None
        except OSError as problem:
            raise UsageError(
                f"cannot create the work directory {path}: {problem.strerror}; choose a writable directory "
                "with --out or --work"
            ) from None
        self.path = path.resolve()
        self._durable = durable

    def remove(self) -> None:
        if is_claimed(self.path):
            self._retire_jobs()
        remove_claimed(self.path, CONTENT)

    def _retire_jobs(self) -> None:
        """Renames the directory of jobs: if the removal is interrupted, the next run must not resume half of a job."""
        shutil.rmtree(self.path / _REMOVED_JOBS, ignore_errors=True)
        with suppress(FileNotFoundError):
            os.rename(self.path / _JOBS, self.path / _REMOVED_JOBS)
            if self._durable:
                sync_directory(self.path)

    def close(self) -> None:
        os.close(self._lock)


def _locked(path: Path) -> int:
    """Acquires the lock and returns its descriptor. Raises BlockingIOError if another process holds it."""
    while True:
        fd = os.open(path / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                return fd
        except BaseException:
            os.close(fd)
            raise
        # A finished run deleted the file after we opened it: another run would lock a new file. Retry.
        os.close(fd)
