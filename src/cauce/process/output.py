"""Standard error that never raises: a full disk or a closed pipe must not end a process that writes a log line. Lines
that cannot be written are dropped and counted."""

from __future__ import annotations

import io
import json
import os
import sys

STDERR = 2


class LossyOutput(io.RawIOBase):
    """Writes to a descriptor. The first successful write after a failure also reports the number of lost lines."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.lost = 0
        """Lines lost since the last successful write."""
        self._cause = ""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def write(self, data: object) -> int:
        text = bytes(data)  # type: ignore[call-overload]
        notice = self._notice() if self.lost else b""
        try:
            _write_all(self._fd, notice + text)
            self.lost = 0
        except OSError as problem:
            self.lost += text.count(b"\n")
            self._cause = problem.strerror or type(problem).__name__
        return len(text)

    def _notice(self) -> bytes:
        fields = {"event": "log lines lost", "level": "warning", "lines": self.lost, "cause": self._cause}
        return json.dumps(fields).encode() + b"\n"


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def never_fail_on_output() -> None:
    """Makes standard error of this process and its forks drop lines instead of raising."""
    if sys.stderr is None:
        _open_nothing()
    elif isinstance(getattr(sys.stderr, "buffer", None), LossyOutput):
        return
    sys.stderr = io.TextIOWrapper(
        LossyOutput(STDERR),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )


def _open_nothing() -> None:
    """Standard error was closed at the start: its descriptor number must not be reused for a file."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    if nothing != STDERR:
        os.dup2(nothing, STDERR)
        os.close(nothing)
