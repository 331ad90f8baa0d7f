"""File system access of the files fabric: error messages, a descriptor cache, cached directory listings.

Independent of the content of the files.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections import OrderedDict

from cauce.errors import FabricError, FabricFull
from cauce.process.private_files import create

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_ADVICE = {
    errno.EMFILE: "raise the number of files a process may open (ulimit -n)",
    errno.ENFILE: "raise the number of files this machine may open (fs.file-max)",
    errno.EACCES: "give this user read and write permission there",
    errno.EPERM: "give this user read and write permission there",
    errno.EROFS: "choose a directory on a writable file system",
    errno.EIO: "check the disk",
}

_SETTLED_NS = 2_000_000_000
"""A directory may change twice within one tick of the file system's clock, and the second change is then not visible
in its modification time. Ticks are milliseconds on common file systems and up to two seconds on others."""


def fabric_error(problem: OSError, doing: str, folder: str) -> FabricError:
    """Translates an operating system error: what happened, to what, and what to do."""
    cause = problem.strerror or type(problem).__name__
    if problem.errno in FULL:
        return FabricFull(
            f"no space left in {folder} ({cause}) while {doing}; free some space there or delete jobs no longer "
            "needed, then run the same again: everything confirmed before is kept"
        )
    advice = _ADVICE.get(problem.errno or 0, "check that the directory exists and that no other program changes it")
    return FabricError(f"{doing}: {cause} in {problem.filename or folder}; {advice}")


def is_out_of_files(problem: FabricError) -> bool:
    """Whether the limit of open files, of the process or of the machine, caused the error."""
    cause = problem.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE)


UNIQUE_NAME = r"[0-9a-f]{16}-[0-9a-f]+-[0-9a-f]{8}"
"""The form of names from `unique_name`."""


def unique_name() -> str:
    """A globally unique name. Names sort by age, as far as clocks agree."""
    return f"{time.time_ns():016x}-{os.getpid():x}-{secrets.token_hex(4)}"


class Descriptors:
    """LRU cache of open files by path. A file that was evicted is opened again when needed."""

    def __init__(self, limit: int, flags: int) -> None:
        self._limit = limit
        self._flags = flags | os.O_CLOEXEC
        self._open: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, path: str) -> int:
        """Valid until the next call of `get` or `create`."""
        fd = self._open.get(path)
        if fd is None:
            return self._keep(path, os.open(path, self._flags))
        self._open.move_to_end(path)
        return fd

    def create(self, path: str) -> int:
        """Like `get`, for a file that must not exist yet."""
        return self._keep(path, create(path, self._flags))

    def _keep(self, path: str, fd: int) -> int:
        self._open[path] = fd
        if len(self._open) > self._limit:
            os.close(self._open.popitem(last=False)[1])
        return fd

    def release(self, path: str) -> int:
        """Removes a descriptor from the cache without closing it: the caller owns it and must close it."""
        return self._open.pop(path)

    def drop(self, path: str) -> None:
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def drop_under(self, folder: str) -> None:
        for path in [path for path in self._open if path.startswith(folder + "/")]:
            self.drop(path)

    def clear(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


class Listing:
    """The sorted names in a directory, cached. The directory is listed again only if it may have changed."""

    def __init__(self, folder: str, descriptors: Descriptors) -> None:
        self._folder = folder
        self._descriptors = descriptors
        self._names: list[str] = []
        self._changed_ns = -1
        self._settled = False

    def names(self) -> list[str]:
        """Returns the same list object as before if nothing changed. Raises if the directory does not exist."""
        now_ns = time.time_ns()
        # The time is read before the names: an entry created in between changes the time again.
        changed_ns = os.fstat(self._descriptors.get(self._folder)).st_mtime_ns
        if changed_ns != self._changed_ns or not self._settled:
            names = sorted(os.listdir(self._folder))
            if names != self._names or changed_ns != self._changed_ns:
                self._names = names
            self._changed_ns = changed_ns
            self._settled = now_ns - changed_ns > _SETTLED_NS
        return self._names
