"""Directories and files that belong to Cauce: private to their owner whatever the umask, replaced atomically, and
removed only if a tag shows that Cauce created them.

Answers are not among them: they belong to the user and have the user's usual permissions.
"""

from __future__ import annotations

import errno
import os
import pwd
import secrets
import shlex
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from cauce.errors import FabricFull, UsageError

DIRECTORY_MODE, FILE_MODE = 0o700, 0o600
UMASK = 0o077
"""For processes in which libraries create files as well, without a mode of ours."""

TAG = "CAUCE"
"""The file that marks a directory as created by Cauce, and so as one that Cauce may remove."""
LOCK = "lock"
_TAG_CONTENT = b"Created by Cauce, which removes this directory when it is done with it. Layout 1.\n"
_EXCLUSIVE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_directory(path: Path) -> None:
    """Creates a private directory; missing parents get the usual permissions. An existing directory is not changed.
    Raises a UsageError for a file or a symbolic link."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, DIRECTORY_MODE)
        found = os.lstat(path)
    except (FileExistsError, NotADirectoryError):
        raise _in_the_way(path) from None
    if stat.S_ISLNK(found.st_mode):
        raise UsageError(f"{path} is a symbolic link, which is not followed; move it away")
    if not stat.S_ISDIR(found.st_mode):
        raise _in_the_way(path)


def _in_the_way(path: Path) -> UsageError:
    return UsageError(f"cannot create the directory {path}: a file is in the way; move it away")


def too_wide(path: Path) -> str | None:
    """A warning if other users have access to a directory that should be private; None otherwise."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if not mode & UMASK:
        return None
    closing = shlex.join(["chmod", "-R", "go=", str(path)])
    return f"other users may read {path} (its mode is {mode:o}); make it private with: {closing}"


def check_acting_user(path: Path) -> None:
    """Raises if root acts in a directory of another user: that user could not read files that root creates there."""
    with suppress(FileNotFoundError):
        owner = os.stat(path).st_uid
        if os.geteuid() == 0 != owner:
            name = _user_name(owner)
            raise UsageError(f"{path} belongs to user {name}; run this command as that user: sudo -u {name} …")


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"


def create(path: str | Path, flags: int = os.O_WRONLY, mode: int = FILE_MODE, *, dir_fd: int | None = None) -> int:
    """Creates a file and returns its descriptor. Raises FileExistsError if a file or a link of that name exists."""
    return os.open(path, flags | _EXCLUSIVE, mode, dir_fd=dir_fd)


def replace_file(path: Path, data: bytes, mode: int = FILE_MODE, *, durable: bool = False) -> None:
    """Replaces a file atomically: readers see the old content or the new one. With `durable` it survives a loss of
    power."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(create(fresh, mode=FILE_MODE), "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
    if durable:
        sync_directory(path.parent)


def sync_directory(path: str | Path) -> None:
    """Syncs a directory, so that names created in it or moved to it survive a loss of power."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_with_parents(path: Path) -> None:
    """Syncs a directory and all its parents, whichever process created them."""
    for directory in (path, *path.parents):
        try:
            sync_directory(directory)
        except OSError as problem:
            # If a parent cannot be opened or synced, we have not created anything in it.
            if directory == path or problem.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.EROFS):
                raise


def claim(path: Path, advice: str, *, durable: bool = False) -> None:
    """Creates a directory that Cauce may remove, or checks that an existing one is such a directory. Raises a
    UsageError, with nothing changed, for a link, for a directory of another user, and for one without the tag that
    is not empty. With `durable` the tag survives a loss of power if the directory does."""
    try:
        make_directory(path)
    except UsageError as problem:
        raise UsageError(f"{problem}, or {advice}") from None
    owner = os.lstat(path).st_uid
    if owner != os.geteuid():
        raise UsageError(f"{path} belongs to user {_user_name(owner)}; {advice}")
    if not is_claimed(path):
        if set(os.listdir(path)) - {TAG, LOCK}:
            raise UsageError(
                f"{path} was not created by this version of Cauce (it has no valid file {TAG}) and contains other "
                f"files; move it away, or {advice}"
            )
        _tag(path / TAG, durable=durable)


def is_claimed(path: Path) -> bool:
    try:
        return (path / TAG).read_bytes() == _TAG_CONTENT
    except OSError:
        return False


def _tag(path: Path, *, durable: bool) -> None:
    """Writes the tag file. Replaces a partial one, which a killed process may have left."""
    with suppress(FileNotFoundError):
        path.unlink()
    try:
        with suppress(FileExistsError), open(create(path), "wb") as file:
            file.write(_TAG_CONTENT)
            if durable:
                file.flush()
                os.fsync(file.fileno())
                sync_directory(path.parent)
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise FabricFull(
            f"no space left in {path.parent} ({problem.strerror}); free some space there, then run the same again"
        ) from None


def remove_claimed(path: Path, names: Collection[str]) -> None:
    """Removes these names from a claimed directory, and the directory if nothing else is in it."""
    if path.is_symlink() or not is_claimed(path):
        return
    for name in names:
        entry = path / name
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    if set(os.listdir(path)) <= {TAG, LOCK}:
        for name in (TAG, LOCK):
            (path / name).unlink(missing_ok=True)
        # Not empty: another process has claimed the directory in the meantime.
        with suppress(OSError):
            path.rmdir()
