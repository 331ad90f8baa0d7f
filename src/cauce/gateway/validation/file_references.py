"""Resolves files that parts reference by path: only below allowed directories, never files of the service itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cauce.gateway.errors import BadPart
from cauce.gateway.limits import ServiceLimits
from cauce.scan.files.nofollow import open_nofollow
from cauce.scan.parts import FileState


class FoundFile(NamedTuple):
    path: str
    """The real path, with symbolic links resolved."""
    state: FileState


def find_file(path: str, limits: ServiceLimits) -> FoundFile:
    """The current state of a file. The error for a path outside does not reveal whether the file exists."""
    real = "" if "\0" in path or not os.path.isabs(path) else os.path.realpath(path)
    if not real or not _containing(real, limits.references) or _containing(real, limits.private):
        raise BadPart("refers to a file that is not below a directory that this service may read")
    try:
        found = _state_of(real)
    except OSError as problem:
        raise BadPart(f"refers to a file that cannot be read: {problem.strerror}") from problem
    if not stat.S_ISREG(found.st_mode):
        raise BadPart("refers to something that is not a regular file")
    return FoundFile(real, FileState.of(found))


def _containing(real: str, directories: Iterable[Path]) -> list[str]:
    """The directories, with links resolved, that contain a path."""
    resolved = (os.path.realpath(directory) for directory in directories)
    return [directory for directory in resolved if os.path.commonpath([real, directory]) == directory]


def _state_of(real: str) -> os.stat_result:
    """Stats the file without following links created after the check (TOCTOU)."""
    opened = open_nofollow(real)
    try:
        return os.fstat(opened)
    finally:
        os.close(opened)
