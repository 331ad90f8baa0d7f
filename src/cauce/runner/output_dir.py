"""Writes answer files: one command at a time, and each file gets its final name when it is complete."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from cauce.errors import UsageError
from cauce.process.private_files import FILE_MODE, create

DIRECTORY_LOCK = ".cauce-lock"
USUAL_MODE = 0o666
"""Before the umask: answers have the permissions of ordinary user files."""
_UNFINISHED = r"\.{name}\.[0-9a-f]{{16}}\.part"


class Holder(msgspec.Struct, frozen=True):
    """The command that holds the lock, as recorded in the lock file."""

    pid: int = 0
    command: str = "another command"


class OutputLock:
    """An exclusive lock on a directory, or on one file in it, until it is closed. Raises a UsageError if another
    command holds it. Commands that write different files of a directory do not exclude each other, but a command that
    writes to the whole directory excludes all of them. Only their owner can open lock files, so that no other user can
    block a command."""

    def __init__(self, locks: ExitStack) -> None:
        self._locks = locks

    @classmethod
    def of_directory(cls, out: Path, command: str) -> OutputLock:
        with ExitStack() as locks, _write_errors(out):
            # A file there is named by the error of the lock.
            with suppress(FileExistsError, NotADirectoryError):
                out.mkdir(parents=True, exist_ok=True)
            locks.enter_context(_locked(out / DIRECTORY_LOCK, out, command))
            return cls(locks.pop_all())

    @classmethod
    def of_file(cls, out: Path, command: str) -> OutputLock:
        with ExitStack() as locks, _write_errors(out):
            # The lock of another user is ignored: we never remove that user's files.
            with suppress(PermissionError):
                locks.enter_context(_locked(out.parent / DIRECTORY_LOCK, out.parent, command, shared=True))
            locks.enter_context(_locked(out.with_name(f".{out.name}.lock"), out, command))
            return cls(locks.pop_all())

    def close(self) -> None:
        self._locks.close()

    def __enter__(self) -> OutputLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


@contextmanager
def _write_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise UsageError(
            f"cannot write to {out}: {problem.strerror} ({problem.filename}); choose a writable directory with --out"
        ) from None


@contextmanager
def _locked(path: Path, what: Path, command: str, *, shared: bool = False) -> Iterator[None]:
    """Holds a lock file, which is removed at the end unless others share it. Raises a UsageError that names the
    command that holds the lock."""
    fd = _acquire(path, what, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    try:
        # Used only in error messages of other commands: a full disk must not fail this one.
        with suppress(OSError):
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(Holder(os.getpid(), command)), 0)
        yield
    finally:
        # Removed while locked, so that the next command does not open a file that is about to be deleted.
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                path.unlink()
        os.close(fd)


def _acquire(path: Path, what: Path, operation: int) -> int:
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, operation | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                return fd
        except BlockingIOError:
            holder = _holder(fd)
            os.close(fd)
            raise UsageError(
                f"another command is writing to {what}: {holder.command} (pid {holder.pid}); "
                "wait until it ends, or choose another place with --out"
            ) from None
        # Deleted meanwhile by a command that has exited: another command would lock a new file. Retry.
        os.close(fd)


def _holder(fd: int) -> Holder:
    try:
        return msgspec.json.decode(os.pread(fd, 1 << 16, 0), type=Holder)
    except msgspec.MsgspecError:
        return Holder()


class NewFile:
    """A file that is written under a unique temporary name in the same directory and renamed when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        self.file = open(create(self._part, os.O_RDWR, USUAL_MODE), "w+b")  # noqa: SIM115

    def finish(self) -> None:
        self.file.close()
        self._part.replace(self._path)

    def abandon(self) -> None:
        # Closing flushes, which may fail; the error that led here is the one to report.
        with suppress(OSError, ValueError):
            self.file.close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)


def remove_unfinished(path: Path) -> None:
    """Removes temporary files of this file that killed commands have left. The caller must hold the lock."""
    pattern = re.compile(_UNFINISHED.format(name=re.escape(path.name)))
    for name in os.listdir(path.parent):
        if pattern.fullmatch(name):
            with suppress(FileNotFoundError, PermissionError):
                (path.parent / name).unlink()


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A NewFile as a context manager, abandoned on an exception. The caller must hold the lock."""
    remove_unfinished(path)
    made = NewFile(path)
    try:
        yield made.file
        made.finish()
    except BaseException:
        made.abandon()
        raise
