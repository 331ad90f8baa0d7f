"""Processes as the kernel of this host shows them. Nobody is signalled whose time of start is not the one meant: a
pid may be another's by now."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_STATE, _USER, _SYSTEM, _START, _RSS = 0, 11, 12, 19, 21
"""Places in /proc/PID/stat, counted behind the name."""


@dataclass(frozen=True)
class Shown:
    state: str
    start: int
    rss: int
    cpu_s: float
    """Of processor time, since its start."""


def shown(pid: int) -> Shown | None:
    """None for a process that is gone or only waits to be buried."""
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
    """The kernel's time of a process's start; 0 if it is gone."""
    found = shown(pid)
    return found.start if found is not None else 0


def own_pid() -> int:
    return os.getpid()


def own_rss() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def lives(pid: int, start: int) -> bool:
    found = shown(pid)
    return found is not None and found.start == start


def open_pidfd(pid: int, start: int) -> int | None:
    """A descriptor that becomes readable when this very process ends; None if it has ended already."""
    try:
        fd = os.pidfd_open(pid)
    except (ProcessLookupError, PermissionError):
        return None
    # Looked at only now: the descriptor holds on to whoever has the pid, and this says who that is.
    if lives(pid, start):
        return fd
    os.close(fd)
    return None


def is_readable(fd: int) -> bool:
    """Whether a descriptor, of any number, has something to say now."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def send_signal(pid: int, start: int, number: signal.Signals) -> bool:
    """Whether this very process was there to be signalled."""
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


def reap(pid: int) -> int | None:
    """How a child of ours ended: its exit code, or a signal as a negative number. None if it is none of ours."""
    with suppress(ChildProcessError):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
    return None
