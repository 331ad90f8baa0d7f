"""A nursery that is this process forked: it has nothing to load, so its workers begin half a second earlier.

It offers what a ``subprocess.Popen`` offers, as far as a crew uses it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

_POLL_S = 0.005


_AT_LOADING = {"jemalloc_bg_thd", "polars-ooc-clea"}
"""Threads that the libraries start when they are loaded, as the kernel names them. They know of forks; a nursery has
them too, and forks all the same."""


def may_fork() -> bool:
    """Whether this process has no thread but its first and those that came with the libraries.

    What another one held at a fork would never be let go in the child: a library that has been used, Polars before
    all, would wait for its own threads for ever.
    """
    tasks = Path("/proc/self/task")
    if not tasks.is_dir() or threading.active_count() > 1:
        return False
    try:
        others = [task for task in tasks.iterdir() if task.name != str(os.getpid())]
        return all((task / "comm").read_text().strip() in _AT_LOADING for task in others)
    except OSError:
        return False


class Forked:
    def __init__(self, arguments: Sequence[str]) -> None:
        from cauce.worker import nursery

        input_end, our_input = os.pipe()
        our_output, output_end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.dup2(input_end, 0)
                os.dup2(output_end, 1)
                # What the parent has open, the lock of its work folder before all, is the parent's alone.
                os.closerange(3, os.sysconf("SC_OPEN_MAX"))
                code = nursery.main(arguments)
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(input_end)
        os.close(output_end)
        self.stdin = os.fdopen(our_input, "wb")
        self.stdout = os.fdopen(our_output, "rb")
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("cauce nursery", timeout or 0.0)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
