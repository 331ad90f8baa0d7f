"""The notice that no worker runs: what each worker is doing instead, and the command that starts them. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from cauce.doctor.names import host_of
from cauce.doctor.view import RESTARTING, Row

AT_WORK = ("running", "starting")
STARTABLE = ("stopped", RESTARTING)
"""States that an operator's `cauce start` ends."""


class NoWorker(msgspec.Struct, frozen=True):
    """No worker runs. `text` names each worker, its state and the command that starts them. `can_start`: whoever reads
    this may start them with PUT /v1/cluster/workers."""

    text: str
    can_start: bool = False


def no_worker(rows: Iterable[Row], doctor: str, folder: str) -> NoWorker | None:
    """As the doctor sees the processes of a service that is not being stopped; None if a worker runs or starts."""
    workers = [row for row in rows if row.role == "worker"]
    if any(row.state in AT_WORK for row in workers):
        return None
    if not workers:
        told = "no worker is running: the service has 0 workers"
        return NoWorker(f"{told}; add some with {_scale(doctor, folder)}", can_start=True)
    startable = [row.name for row in workers if row.state in STARTABLE]
    told = f"no worker is running: {_states(workers)}"
    if not startable:
        return NoWorker(told)
    them = "it" if len(startable) == 1 else "them"
    return NoWorker(f"{told}; start {them} with ./cauce start {' '.join(startable)} --dir {folder}", can_start=True)


def no_report(silent_s: float, folder: str, fabric: str = "") -> NoWorker:
    """Where no doctor tells of the workers: none has reported on a job for so long."""
    where = f"--dir {folder}" + (f" --fabric {fabric}" if fabric else "")
    told = f"no worker has reported on this job within {silent_s:.0f} s"
    return NoWorker(f"{told}; if none is running, start one with ./cauce worker {where}")


def worker_count() -> int:
    """How many workers a service has that was not told otherwise."""
    return os.cpu_count() or 1


def _scale(doctor: str, folder: str) -> str:
    host = f"@{host_of(doctor)}" if host_of(doctor) else ""
    return f"./cauce scale workers{host}={worker_count()} --dir {folder}"


def _states(workers: Sequence[Row]) -> str:
    groups = [(state, [row.name for row in rows]) for state, rows in groupby(workers, key=_state)]
    return ", ".join(f"{_joined(names)} {'is' if len(names) == 1 else 'are'} {state}" for state, names in groups)


def _state(row: Row) -> str:
    if row.restart_in_s is not None:
        return f"restarting in {max(row.restart_in_s, 1):.0f} s ({row.why})"
    return row.state


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
