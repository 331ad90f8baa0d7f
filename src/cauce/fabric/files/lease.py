"""A queue as a directory of lease files. A lease is an `flock`, which the kernel releases when its holder exits.

The state of a lease is in its own file, written by its holder: one byte per acquisition, and one more when the task is
finished. So a stale holder cannot finish a task of a later job with the same name.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress

from cauce.fabric.files.disk import Descriptors, Listing, fabric_error
from cauce.process.private_files import DIRECTORY_MODE, create, sync_directory

_TAKEN = b"t"
_DONE = b"D"
_INDEX_DIGITS = 8


class FilesLease:
    def __init__(self, queue: LeaseQueue, name: str, fd: int) -> None:
        self._queue = queue
        self._name = name
        self._fd: int | None = fd

    @property
    def task(self) -> str:
        return _task_of(self._name)

    @property
    def lost(self) -> bool:
        """True only if the file was unlinked: the kernel keeps the lock while this process runs."""
        return self._fd is not None and not os.fstat(self._fd).st_nlink

    def complete(self) -> None:
        if self._fd is None:
            return
        # Mark as finished before the release: otherwise another process could acquire it in between. If the write
        # fails, the lease is still held and `complete` may be retried.
        try:
            os.write(self._fd, _DONE)
            if self._queue.power:
                os.fdatasync(self._fd)
        except OSError as problem:
            raise fabric_error(problem, f"finishing task {self.task}", self._queue.folder) from problem
        self._queue.finished.add(self._name)
        self.release()

    def release(self) -> None:
        """Closes the file without unlocking it: in a forked child, unlocking would release the parent's lease."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
            self._queue.held.pop(self._name, None)


class LeaseQueue:
    """One process's view of a queue. `tried` caches descriptors of lease files that other processes hold."""

    def __init__(self, folder: str, folders: Descriptors, tried: Descriptors, *, power: bool) -> None:
        self.folder = folder
        self.power = power
        self.finished: set[str] = set()
        self.held: dict[str, FilesLease] = {}
        self._tried = tried
        self._listing = Listing(folder, folders)

    def acquire(self) -> FilesLease | None:
        """Raises FileNotFoundError if the queue does not exist."""
        for name in self._listing.names():
            if name in self.finished or name in self.held:
                continue
            lease = self._try(name)
            if lease is not None:
                return lease
        return None

    def _try(self, name: str) -> FilesLease | None:
        path = f"{self.folder}/{name}"
        fd = self._tried.get(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        try:
            # Checked under the lock: the previous holder could finish the task until then.
            found = os.fstat(fd)
            size = found.st_size
            # No link left: the job was trimmed.
            if not found.st_nlink or (size and os.pread(fd, 1, size - 1) == _DONE):
                self.finished.add(name)
                self._tried.drop(path)
                return None
            os.write(fd, _TAKEN)
            lease = FilesLease(self, name, fd)
        except BaseException:
            # Closing releases the lock. Otherwise the lease would stay locked, unused, until this process exits.
            self._tried.drop(path)
            raise
        self.held[name] = lease
        self._tried.release(path)
        return lease

    def enqueue(self, tasks: Sequence[str]) -> None:
        """Raises FileNotFoundError if the job was deleted."""
        with suppress(FileExistsError):
            os.mkdir(self.folder, DIRECTORY_MODE)
        if self.power:
            sync_directory(os.path.dirname(self.folder))
        if set(tasks) <= {_task_of(name) for name in os.listdir(self.folder)}:
            if self.power:
                # Another process may have created them and not synced yet, or crashed before.
                sync_directory(self.folder)
            return
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Serialised: two concurrent calls must not create two files, hence two holders, for one task.
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._add(fd, tasks)
        finally:
            os.close(fd)

    def _add(self, folder_fd: int, tasks: Sequence[str]) -> None:
        names = sorted(os.listdir(folder_fd))
        offered = {_task_of(name) for name in names}
        index = int(names[-1][:_INDEX_DIGITS]) + 1 if names else 0
        for task in dict.fromkeys(tasks):
            if task in offered:
                continue
            # Relative to the locked directory, even if the job was deleted and created again.
            name = f"{index:0{_INDEX_DIGITS}d}-{task}"
            os.close(create(name, dir_fd=folder_fd))
            index += 1
        if self.power:
            os.fsync(folder_fd)

    def release_all(self) -> None:
        for lease in list(self.held.values()):
            lease.release()


def _task_of(name: str) -> str:
    return name[_INDEX_DIGITS + 1 :]
