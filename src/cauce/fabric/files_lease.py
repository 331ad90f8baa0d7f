"""A queue as a folder of lease files, each held by an `flock`: the kernel lets go of it when its holder dies.

All that is known of a lease stands in its own file, written by its holder: one byte for each time it was taken, and
one more when the task is finished. So nobody can finish a task of another job that has got the same name since.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress

from cauce.fabric.files_disk import Descriptors, Listing, sync_folder, told

_TAKEN = b"t"
_DONE = b"D"
_INDEX_DIGITS = 8


class FilesLease:
    def __init__(self, queue: LeaseQueue, name: str, fd: int, attempt: int) -> None:
        self._queue = queue
        self._name = name
        self._fd: int | None = fd
        self.attempt = attempt

    @property
    def task(self) -> str:
        return _task_of(self._name)

    @property
    def lost(self) -> bool:
        """Never while the file has its name: the kernel keeps the lock for as long as we live."""
        return self._fd is not None and not os.fstat(self._fd).st_nlink

    def done(self) -> None:
        if self._fd is None:
            return
        # First finished, then free: the other way round somebody could take it in between. If the byte cannot be
        # written, the lease is still ours and this may be called again.
        try:
            os.write(self._fd, _DONE)
            if self._queue.power:
                os.fdatasync(self._fd)
        except OSError as problem:
            raise told(problem, f"finishing task {self.task}", self._queue.folder) from problem
        self._queue.finished.add(self._name)
        self.give_back()

    def give_back(self) -> None:
        """Closes and does not unlock: in a forked child, unlocking would take the lease from the parent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
            self._queue.held.pop(self._name, None)


class LeaseQueue:
    """What one process knows of a queue. The descriptors are of lease files that were tried and not got."""

    def __init__(self, folder: str, folders: Descriptors, tried: Descriptors, *, power: bool) -> None:
        self.folder = folder
        self.power = power
        self.finished: set[str] = set()
        self.held: dict[str, FilesLease] = {}
        self._tried = tried
        self._listing = Listing(folder, folders)

    def take(self) -> FilesLease | None:
        """Raises FileNotFoundError if there is no such queue."""
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
            # Only now: before we had the lock, its holder could still finish the task.
            found = os.fstat(fd)
            size = found.st_size
            # Without a name it is no lease any more: the job was trimmed.
            if not found.st_nlink or (size and os.pread(fd, 1, size - 1) == _DONE):
                self.finished.add(name)
                self._tried.drop(path)
                return None
            os.write(fd, _TAKEN)
            lease = FilesLease(self, name, fd, size + 1)
        except BaseException:
            # Closing lets go of the lock: a lease we do not know we hold would be nobody's for as long as we live.
            self._tried.drop(path)
            raise
        self.held[name] = lease
        self._tried.release(path)
        return lease

    def offer(self, tasks: Sequence[str]) -> None:
        """Raises FileNotFoundError if the job's folder is gone."""
        with suppress(FileExistsError):
            os.mkdir(self.folder)
        if self.power:
            sync_folder(os.path.dirname(self.folder))
        if set(tasks) <= {_task_of(name) for name in os.listdir(self.folder)}:
            return
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # One at a time: two who add different tasks must not give one of them two files, hence two holders.
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
            # Within the folder we hold locked, even if the job has been deleted and created anew meanwhile.
            name = f"{index:0{_INDEX_DIGITS}d}-{task}"
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder_fd))
            index += 1
        if self.power:
            os.fsync(folder_fd)

    def let_go(self) -> None:
        for lease in list(self.held.values()):
            lease.give_back()


def _task_of(name: str) -> str:
    return name[_INDEX_DIGITS + 1 :]
