"""The processes of a run: their roles, the number of their leases, and signals to them."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from cauce.process.lease_count import lease_count
from cauce.process.table import children_of, command_line, send_signal_to_pid

RUN, PREFORK_SERVER, WORKER = ROLES = ("run", "prefork server", "worker")
"""By depth in the process tree: a run starts its prefork server, which forks the workers."""
WORKER_DEPTH = 2


@dataclass(frozen=True)
class Seen:
    pid: int
    role: str
    leases: int
    """Above zero it has work."""


def family(root: int, lease_counts: Path) -> list[Seen]:
    """A process and its descendants that are alive, with their roles. `lease_counts` is the folder in which its workers
    publish the number of their leases."""
    found: list[Seen] = []
    waiting = [(root, 0)]
    while waiting:
        pid, depth = waiting.pop(0)
        if not command_line(pid):
            continue
        found.append(Seen(pid, ROLES[min(depth, WORKER_DEPTH)], lease_count(lease_counts, pid) or 0))
        waiting += [(child, depth + 1) for child in children_of(pid)]
    return found


def kill(pid: int) -> bool:
    """Sends SIGKILL; returns whether the process existed."""
    return send_signal_to_pid(pid, signal.SIGKILL)


def pause(pid: int) -> bool:
    return send_signal_to_pid(pid, signal.SIGSTOP)


def resume(pid: int) -> bool:
    return send_signal_to_pid(pid, signal.SIGCONT)
