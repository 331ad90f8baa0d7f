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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNSET = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables of this process that would change what a command writes to its terminal."""
AFTER_S = 0.2
"""How long output may come after the end of a command: something that it left behind may keep the terminal open."""
_COLOUR = re.compile(rb"\x1b\[[0-9;:]*m")
_ESCAPE = re.compile(rb"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


@dataclass(frozen=True)
class Session:
    """The output of a command to its terminal, and its exit code."""

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
    def coloured(self) -> bool:
        """Whether there are codes for colours. Bold and other styles, which NO_COLOR allows, are not counted."""
        codes = [code for found in _COLOUR.findall(self.raw) for code in re.split(rb"[;:]", found[2:-1])]
        return any(code.isdigit() and int(code) >= 30 for code in codes)

    @property
    def cursor_shown(self) -> bool:
        return self.raw.rfind(b"\x1b[?25l") <= self.raw.rfind(b"\x1b[?25h")

    @property
    def on_main_screen(self) -> bool:
        entered, left = self.raw.rfind(b"\x1b[?1049h"), self.raw.rfind(b"\x1b[?1049l")
        # Without an alternate screen to leave, this would move the cursor.
        return left < 0 if entered < 0 else entered <= max(left, self.raw.rfind(b"\x1b[?1047l"))


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
        kept = {name: value for name, value in os.environ.items() if name not in UNSET and "CAUCE" not in name}
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
        while text not in self.text:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} was not printed; this was:\n{self.text}")

    def wait_for_raw(self, codes: bytes, timeout_s: float = 60) -> None:
        """Until these bytes have been written, such as a code that moves the cursor."""
        deadline = time.monotonic() + timeout_s
        while codes not in self._raw:
            if not self._read(deadline):
                raise AssertionError(f"{codes!r} was not written; this was:\n{bytes(self._raw)!r}")

    def end(self, timeout_s: float = 120) -> Session:
        """Reads on until the command has ended."""
        deadline = time.monotonic() + timeout_s
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read(min(deadline, time.monotonic() + AFTER_S))
        while self._read(time.monotonic() + AFTER_S):
            pass
        try:
            code = self._process.wait(max(deadline - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not end; it wrote:\n{self.text[-3000:]}") from None
        os.close(self._fd)
        return Session(code, bytes(self._raw))

    @property
    def text(self) -> str:
        return Session(0, bytes(self._raw)).text

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
        with suppress(ProcessLookupError):
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
        except OSError:  # On Linux: the other side is closed.
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
