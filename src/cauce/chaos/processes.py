"""The processes of a run as the kernel shows them: who they are, what they hold, and what is done to them."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from cauce.worker.process import HOLDS

PROC = Path("/proc")


@dataclass(frozen=True)
class Seen:
    pid: int
    role: str
    leases: int
    """Those it says it holds: more than none means that it has work."""


def family(root: int) -> list[Seen]:
    """A process and all below it, with their roles, as far as they still live."""
    found: list[Seen] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop(0)
        title = title_of(pid)
        if title is None:
            continue
        name, _, leases = title.partition(HOLDS)
        found.append(Seen(pid, _role(name), int(leases) if leases.isdigit() else 0))
        waiting += _children(pid)
    return found


def title_of(pid: int) -> str | None:
    """What `ps` shows; None for a process that is gone or only waits to be buried."""
    try:
        state = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
        title = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else title


def _role(title: str) -> str:
    if title.startswith("cauce worker"):
        return title
    return "nursery" if title.startswith("cauce nursery") else "run"


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def kill(pid: int) -> bool:
    """Whether there was somebody to kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def pause(pid: int) -> bool:
    return _signal(pid, signal.SIGSTOP)


def resume(pid: int) -> bool:
    return _signal(pid, signal.SIGCONT)


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
