"""Runs a command in a real pseudo-terminal, as a person does, and keeps everything that it wrote there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ESCAPE = re.compile(rb"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


@dataclass(frozen=True)
class Session:
    """What a command wrote to its terminal, and how it ended."""

    code: int
    raw: bytes

    @property
    def text(self) -> str:
        """Without colours and cursor movements."""
        return _ESCAPE.sub(b"", self.raw).decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")

    @property
    def last_lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()][-5:]

    @property
    def cursor_shown(self) -> bool:
        return self.raw.rfind(b"\x1b[?25l") <= self.raw.rfind(b"\x1b[?25h")

    @property
    def on_main_screen(self) -> bool:
        return self.raw.rfind(b"\x1b[?1049h") <= self.raw.rfind(b"\x1b[?1049l")


class Terminal:
    """A command at work in a pseudo-terminal of `width` columns. Keys may be sent, output awaited."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        width: int = 80,
        term: str = "xterm-256color",
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self._process = subprocess.Popen(
            arguments,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env={**kept, "TERM": term, **(environment or {})},
            cwd=cwd,
            preexec_fn=_control_terminal,
        )
        os.close(inner)
        self._raw = bytearray()

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def wait_for(self, text: str, timeout_s: float = 60) -> None:
        """Until `text` has been written; fails with everything that was written instead."""
        deadline = time.monotonic() + timeout_s
        while text not in Session(0, bytes(self._raw)).text:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} was not printed; this was:\n{Session(0, bytes(self._raw)).text}")

    def end(self, timeout_s: float = 120) -> Session:
        """Reads on until the command has ended."""
        deadline = time.monotonic() + timeout_s
        while self._read(deadline):
            pass
        try:
            code = self._process.wait(max(deadline - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not end; it wrote:\n{Session(0, bytes(self._raw)).text[-3000:]}") from None
        os.close(self._fd)
        return Session(code, bytes(self._raw))

    def read_for(self, seconds: float) -> None:
        """Keeps what is written for so long; fails if the command ends before."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        assert time.monotonic() >= deadline, f"it ended early; it wrote:\n{Session(0, bytes(self._raw)).text[-3000:]}"

    def kill_if_alive(self) -> None:
        if self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self, deadline: float) -> bool:
        """Whether the terminal is still open and there is time left."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if not select.select([self._fd], [], [], left)[0]:
            return False
        try:
            more = os.read(self._fd, 65536)
        except OSError:  # Linux's way to say that nobody has the other side open any more.
            return False
        self._raw += more
        return bool(more)


def run_in_terminal(arguments: Sequence[str], *, timeout_s: float = 120, **options: object) -> Session:
    return Terminal(arguments, **options).end(timeout_s)  # type: ignore[arg-type]


def cauce(*arguments: str) -> list[str]:
    """The command line of Cauce, as `./cauce` runs it once its environment is set up."""
    return [sys.executable, "-P", "-m", "cauce", *arguments]


def _control_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
