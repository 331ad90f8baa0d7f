"""A real service, `cauce serve`, as processes of its own on a free port; they do not outlive the block."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from tests.cli.running import COLOURS
from tests.service.running import end_service

READY_S = 120.0
END_S = 30.0


class Real:
    def __init__(self, folder: Path, *options: str, command: str = "serve") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log"
        environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
        with_us = ["--end-with", str(os.getpid())] if command == "serve" else []
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "cauce",
                    command,
                    "--dir",
                    str(folder / "service"),
                    "--port",
                    "0",
                    *options,
                    *with_us,
                ],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.url = ""

    def __enter__(self) -> Real:
        assert self.process.stdout is not None
        output = b""
        due = time.monotonic() + READY_S
        while (found := re.search(rb"(https?://[^\s]+)\n", output)) is None:
            readable, _, _ = select.select([self.process.stdout], [], [], due - time.monotonic())
            more = os.read(self.process.stdout.fileno(), 4096) if readable else b""
            if not more:
                self._end()
                raise AssertionError(f"the service did not start: {output!r} {self.log_text()}")
            output += more
        self.url = found[1].decode()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._end()

    def log_text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                end_service(self.folder / "service")
        assert self.process.stdout is not None
        self.process.stdout.close()
