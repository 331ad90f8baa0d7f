"""The processes of a run as `/proc` shows them: roles, held leases, and signals to them."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from cauce.process.table import children_of, command_line, send_signal_to_pid
from cauce.worker.process import HOLDS

RUN, PREFORK_SERVER, WORKER = ROLES = ("run", "prefork server", "worker")
"""By depth in the process tree: a run starts its prefork server, which forks the workers."""
WORKER_DEPTH = 2


@dataclass(frozen=True)
class Seen:
    pid: int
    role: str
    leases: int
    """The number of leases in its title: above zero it has work."""


def family(root: int) -> list[Seen]:
    """A process and its descendants that are alive, with their roles."""
    found: list[Seen] = []
    waiting = [(root, 0)]
    while waiting:
        pid, depth = waiting.pop(0)
        title = command_line(pid)
        if not title:
            continue
        leases = title.partition(HOLDS)[2]
        found.append(Seen(pid, ROLES[min(depth, WORKER_DEPTH)], int(leases) if leases.isdigit() else 0))
        waiting += [(child, depth + 1) for child in children_of(pid)]
    return found


def kill(pid: int) -> bool:
    """Sends SIGKILL; returns whether the process existed."""
    return send_signal_to_pid(pid, signal.SIGKILL)


def pause(pid: int) -> bool:
    return send_signal_to_pid(pid, signal.SIGSTOP)


def resume(pid: int) -> bool:
    return send_signal_to_pid(pid, signal.SIGCONT)
