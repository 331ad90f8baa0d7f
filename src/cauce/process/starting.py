"""Starts processes: modules of this package with the same interpreter, and forks of this process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from cauce.process.signals import signals_blocked, signals_deferred

FORK_FAILED = 70
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module, never one of the same name in the current directory (`-P`)."""
    return [sys.executable, "-P", "-m", module, *arguments]


def fork(body: Callable[[], int]) -> int:
    """Runs `body` in a child process, which exits with the code that it returns. Returns the pid of the child.

    The child ignores SIGINT, and SIGTERM ends it without a message, until `body` decides otherwise: Ctrl-C reaches
    the whole process group, and only the parent reports it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with signals_deferred(*_INTERRUPTS), signals_blocked(*_INTERRUPTS):
        pid = os.fork()
        if pid == 0:
            _run_child(body)
    return pid


def _run_child(body: Callable[[], int]) -> NoReturn:
    code = FORK_FAILED
    try:
        # They are blocked until now, so that no handler of the parent runs here.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        code = body()
    except BaseException:  # noqa: BLE001  (reported, and ends the child)
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        # Skip exit handlers: they belong to the parent.
        os._exit(code)
