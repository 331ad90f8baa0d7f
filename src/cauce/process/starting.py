"""Starts processes: modules of this package with the same interpreter, and forks of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

FORK_FAILED = 70


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module, never one of the same name in the current directory (`-P`)."""
    return [sys.executable, "-P", "-m", module, *arguments]


def fork(body: Callable[[], int]) -> int:
    """Runs `body` in a child process, which exits with the code that it returns. Returns the pid of the child."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = FORK_FAILED
        try:
            code = body()
        except BaseException:  # noqa: BLE001  (reported, and ends the child)
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            # Skip exit handlers: they belong to the parent.
            os._exit(code)
    return pid
