"""Processes of this host, from /proc. A signal is sent only if the process's start time matches, since the kernel
reuses pids."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_EXEC_S = 0.001
_STATE, _USER, _SYSTEM, _START, _RSS = 0, 11, 12, 19, 21
"""Field indexes in /proc/PID/stat, counted after the name."""


@dataclass(frozen=True)
class Shown:
    state: str
    start: int
    rss: int
    cpu_s: float
    """Processor time since its start."""


def shown(pid: int) -> Shown | None:
    """The process's state; None if it does not exist or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state = fields[_STATE].decode()
    if state in "ZX":
        return None
    cpu_s = (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
    return Shown(state, int(fields[_START]), int(fields[_RSS]) * _PAGE, cpu_s)


def start_of(pid: int) -> int:
    """The kernel's start time of a process; 0 if it does not exist."""
    found = shown(pid)
    return found.start if found is not None else 0


def command_line(pid: int) -> str:
    """The arguments or the title of a process; empty if it does not exist or is a zombie."""
    try:
        # During exec a process has no command line for a moment.
        while not (line := Path(f"/proc/{pid}/cmdline").read_bytes()):
            if shown(pid) is None:
                return ""
            time.sleep(_EXEC_S)
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return line.replace(b"\0", b" ").decode(errors="replace").strip()


def children_of(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def own_pid() -> int:
    return os.getpid()


def own_rss() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def is_running(pid: int, start: int) -> bool:
    found = shown(pid)
    return found is not None and found.start == start


def open_pidfd(pid: int, start: int) -> int | None:
    """A descriptor that becomes readable when this process exits; None if it has already exited."""
    try:
        fd = os.pidfd_open(pid)
    except (ProcessLookupError, PermissionError):
        return None
    # Checked after the open: the descriptor pins the current owner of the pid, and this verifies its identity.
    if is_running(pid, start):
        return fd
    os.close(fd)
    return None


def is_readable(fd: int) -> bool:
    """Whether a descriptor is readable now. Uses poll, since select fails for large descriptor numbers."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def send_signal(pid: int, start: int, number: signal.Signals) -> bool:
    """Sends a signal to this process only; False if it does not exist."""
    fd = open_pidfd(pid, start)
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def send_signal_to_pid(pid: int, number: signal.Signals) -> bool:
    """Sends a signal to a process that was identified just now; False if it does not exist."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def reap(pid: int) -> int | None:
    """The exit code of a child, or its signal as a negative number. None if it still runs or is not our child."""
    with suppress(ChildProcessError):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
    return None
