"""Opens files without following symbolic links, so that write access to a folder cannot redirect a reader."""

from __future__ import annotations

import os

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking: a pipe without a writer must not block the reader."""


def open_nofollow(path: str) -> int:
    """A read-only descriptor of the file at an absolute path. Opens each folder of the path separately: a symbolic link
    anywhere in the path is an error (ENOTDIR or ELOOP)."""
    *folders, file = path.removeprefix(os.sep).split(os.sep)
    at = os.open(os.sep, _FOLDER)
    try:
        for name in folders:
            below = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(file, _FILE, dir_fd=at)
    finally:
        os.close(at)
