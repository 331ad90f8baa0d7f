"""The notice that no worker runs: what each worker is doing instead, and the command that starts them. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby

from cauce.api.jobs import NoWorker
from cauce.doctor.model.names import host_of
from cauce.doctor.model.status import RESTARTING, ProcessStatus

CRASH_LOOP = 3
"""A starting worker with this many consecutive crashes does not count as available."""
STARTABLE = ("stopped", RESTARTING)
"""States that `cauce start` ends."""


def no_worker(rows: Iterable[ProcessStatus], doctor: str, folder: str) -> NoWorker | None:
    """The notice for a service that is not being stopped; None if a worker runs or starts. `rows` are its processes."""
    workers = [row for row in rows if row.role == "worker"]
    if any(row.state == "running" or (row.state == "starting" and row.crashes < CRASH_LOOP) for row in workers):
        return None
    if not workers:
        problem = "no worker is running: the service has 0 workers"
        return NoWorker(f"{problem}; add some with {_scale(doctor, folder)}", can_start=True)
    startable = [row.name for row in workers if row.state in STARTABLE]
    problem = f"no worker is running: {_states(workers)}"
    if not startable:
        return NoWorker(problem)
    them = "it" if len(startable) == 1 else "them"
    return NoWorker(f"{problem}; start {them} with ./cauce start {' '.join(startable)} --dir {folder}", can_start=True)


def no_report(silent_s: float, folder: str, fabric: str = "") -> NoWorker:
    """The notice where no doctor monitors the workers: no progress report on a job for `silent_s`."""
    where = f"--dir {folder}" + (f" --fabric {fabric}" if fabric else "")
    problem = f"no worker has reported on this job within {silent_s:.0f} s"
    return NoWorker(f"{problem}; if none is running, start one with ./cauce worker {where}")


def worker_count() -> int:
    """The default number of workers."""
    return os.cpu_count() or 1


def _scale(doctor: str, folder: str) -> str:
    host = f"@{host_of(doctor)}" if host_of(doctor) else ""
    return f"./cauce scale workers{host}={worker_count()} --dir {folder}"


def _states(workers: Sequence[ProcessStatus]) -> str:
    groups = [(state, [row.name for row in rows]) for state, rows in groupby(workers, key=_state)]
    return ", ".join(f"{_joined(names)} {'is' if len(names) == 1 else 'are'} {state}" for state, names in groups)


def _state(row: ProcessStatus) -> str:
    if row.restart_in_s is not None:
        return f"restarting in {max(row.restart_in_s, 1):.0f} s ({row.reason})"
    if row.state == "starting":
        return f"starting again after {row.crashes} crashes ({row.reason})"
    return row.state


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
