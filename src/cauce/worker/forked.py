"""A nursery that is this process forked: it has nothing to load, so its workers begin half a second earlier.

It offers what a ``subprocess.Popen`` offers, as far as a crew uses it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from cauce.plan.isolation import may_fork

__all__ = ["Forked", "may_fork"]

_POLL_S = 0.005


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
