"""A prefork server created by forking this process: its libraries are already loaded, so its workers start half a
second earlier. It has the part of the interface of ``subprocess.Popen`` that the worker pool uses.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence

from cauce.process.isolation import may_fork
from cauce.process.starting import fork

__all__ = ["ForkedServer", "may_fork"]

_POLL_S = 0.005


class ForkedServer:
    def __init__(self, arguments: Sequence[str]) -> None:
        from cauce.runner import prefork

        input_end, our_input = os.pipe()
        our_output, output_end = os.pipe()

        def run() -> int:
            os.dup2(input_end, 0)
            os.dup2(output_end, 1)
            # The child must not keep files of the parent open, least of all the lock of its work directory.
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            return prefork.main(arguments)

        self.pid = fork(run)
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
                raise subprocess.TimeoutExpired("cauce prefork server", timeout or 0.0)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
