"""What the files fabric asks of the operating system: errors in our words, kept descriptors, cheap listings.

Nothing here knows what the files hold.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections import OrderedDict

from cauce.errors import FabricError, FabricFull

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_ADVICE = {
    errno.EMFILE: "raise the number of files a process may open (ulimit -n)",
    errno.ENFILE: "raise the number of files this machine may open (fs.file-max)",
    errno.EACCES: "give this user the right to read and write there",
    errno.EPERM: "give this user the right to read and write there",
    errno.EROFS: "choose a folder on a disk that can be written to",
    errno.EIO: "check the disk",
}

_SETTLED_NS = 2_000_000_000
"""A folder may change twice within one tick of its clock, and the second change then leaves no trace in its time.
Ticks are milliseconds on the usual file systems and two seconds on the coarsest."""


def told(problem: OSError, doing: str, folder: str) -> FabricError:
    """An operating system's error in our words: what happened, to what, and what to do next."""
    cause = problem.strerror or type(problem).__name__
    if problem.errno in _FULL:
        return FabricFull(
            f"no space left in {folder} ({cause}) while {doing}; free some space there or delete jobs no longer "
            "needed, then run the same again: everything confirmed before is kept"
        )
    advice = _ADVICE.get(problem.errno or 0, "see that the folder is there and is left alone by other programs")
    return FabricError(f"{doing}: {cause} in {problem.filename or folder}; {advice}")


def unique_name() -> str:
    """A name nobody has used or will use; by name is by age, as far as clocks agree."""
    return f"{time.time_ns():016x}-{os.getpid():x}-{secrets.token_hex(4)}"


def sync_folder(path: str) -> None:
    """What was created in or moved to a folder outlives a loss of power only after this."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Descriptors:
    """Open files by path. The ones used longest ago are closed when there are too many, and opened again at need."""

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
        """The same for a file that must not be there yet."""
        return self._keep(path, os.open(path, self._flags | os.O_CREAT | os.O_EXCL, 0o644))

    def _keep(self, path: str, fd: int) -> int:
        self._open[path] = fd
        if len(self._open) > self._limit:
            os.close(self._open.popitem(last=False)[1])
        return fd

    def release(self, path: str) -> int:
        """It is the caller's from now on, to be closed by the caller."""
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
    """The names in a folder, sorted. It is listed again only when it may have changed."""

    def __init__(self, folder: str, descriptors: Descriptors) -> None:
        self._folder = folder
        self._descriptors = descriptors
        self._names: list[str] = []
        self._changed_ns = -1
        self._settled = False

    def names(self) -> list[str]:
        """The same list object as the last time if nothing has changed. Raises where there is no such folder."""
        now_ns = time.time_ns()
        # The time is looked at before the names: what is created in between changes the time once more.
        changed_ns = os.fstat(self._descriptors.get(self._folder)).st_mtime_ns
        if changed_ns != self._changed_ns or not self._settled:
            names = sorted(os.listdir(self._folder))
            if names != self._names or changed_ns != self._changed_ns:
                self._names = names
            self._changed_ns = changed_ns
            self._settled = now_ns - changed_ns > _SETTLED_NS
        return self._names
