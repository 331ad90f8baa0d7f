"""Limits of the kernel under which a service is started."""

from __future__ import annotations

import resource

FEW_FILES = 400
"""The soft limit of open files that the service inherits: 190 open jobs reach 1024, and one tenant may have 100."""


def with_open_files(command: list[str], limit: int) -> list[str]:
    """The command under a soft limit of open files. The limit of this process stays: it may have more files open."""
    return ["sh", "-c", f'ulimit -S -n {limit}; exec "$@"', "sh", *command]


def allow_many_files() -> None:
    """Raises the limit of this process, for tests that hold many connections open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * FEW_FILES), hard))
