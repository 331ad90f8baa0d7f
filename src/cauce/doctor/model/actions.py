"""Actions that the core of a doctor requests. The doctor process or a simulation executes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cauce.doctor.model.desired_state import DesiredEntry
from cauce.doctor.model.messages import Generation, Message
from cauce.worker.events import NO_WORK, Assignment

SignalKind = Literal["term", "kill", "stack"]
"""SIGTERM; SIGKILL; write a stack dump to the log, before a kill."""


@dataclass(frozen=True)
class Send:
    """Send a datagram. `address` is set for a reply: it goes to the sender, whichever process has the name now."""

    to: str
    message: Message
    address: str = ""


@dataclass(frozen=True)
class StartProcess:
    """Start a process on this host."""

    name: str
    generation: Generation
    restarts: int


@dataclass(frozen=True)
class Signal:
    """Send a signal to a process on this host."""

    name: str
    generation: Generation
    how: SignalKind


@dataclass(frozen=True)
class MonitorExit:
    """Get notified when this process of this host exits."""

    name: str
    generation: Generation
    pid: int
    start: int


@dataclass(frozen=True)
class RecordEvent:
    """An event for the timeline. `at` is its time by the doctor's clock; None means now. `reason` never names a job:
    only `held` does, which is visible to the job's owner alone. `code` is that of `Cause`."""

    what: str
    name: str
    generation: Generation | None = None
    reason: str = ""
    held: Assignment = NO_WORK
    last: str = ""
    after_s: float | None = None
    at: float | None = None
    code: int | None = None


@dataclass(frozen=True)
class RecordDesired:
    """Append a desired-state entry made by a doctor to the log that also holds those of operators."""

    entry: DesiredEntry


@dataclass(frozen=True)
class StartDoctor:
    """No doctor has responded: start this one."""

    doctor: str


@dataclass(frozen=True)
class Exit:
    """This process itself must exit now. `old`: a newer generation replaces it."""

    old: bool
    why: str


Action = Send | StartProcess | Signal | MonitorExit | RecordEvent | RecordDesired | StartDoctor | Exit
