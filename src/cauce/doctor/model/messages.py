"""Datagrams between the processes of a cluster. Each may be lost, duplicated, delayed or reordered."""

from __future__ import annotations

from typing import Literal

import msgspec

from cauce.worker.events import NO_WORK, Assignment


class Epoch(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A leader epoch (term). It contains the leader's name, so that no two leaders ever share an epoch."""

    number: int = 0
    doctor: str = ""

    def __str__(self) -> str:
        return f"{self.number}"


class Generation(msgspec.Struct, frozen=True, order=True, array_like=True):
    """Identifies one instance of a named process: the epoch and the launch number in it. The newest instance wins."""

    epoch: Epoch = Epoch()
    launch: int = 0

    def __str__(self) -> str:
        return f"{self.epoch.number}.{self.epoch.doctor}.{self.launch}"


def generation_of(text: str) -> Generation:
    number, doctor, launch = text.split(".")
    return Generation(Epoch(int(number), doctor), int(launch))


class ProcessIdentity(msgspec.Struct, frozen=True):
    """One instance of a process: its name and generation, and where it runs."""

    name: str
    host: str
    generation: Generation
    pid: int
    start: int
    """Start time as the kernel reports it: unique together with the pid."""
    restarts: int = 0


class Cause(msgspec.Struct, frozen=True, array_like=True):
    """Why a process exited, as far as known. `code` is negative for a signal. `why` never names a job."""

    code: int | None = None
    why: str = ""
    last: str = ""
    """The last lines of its log."""

    @property
    def known(self) -> bool:
        return self.code is not None or bool(self.why)


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class Hello(Message, frozen=True):
    """Reply to a datagram addressed to another session: it was dropped. The stamp of this reply has the current
    session; the receiver may resend the datagram with this number."""

    number: int


class Election(Message, frozen=True):
    """To all doctors higher than the sender: start an election. Any that is alive takes over."""

    epoch: Epoch


class Ok(Message, frozen=True):
    """Reply of a higher doctor: it is alive and takes over the election."""

    epoch: Epoch


class Coordinator(Message, frozen=True):
    """The sender has won the election."""

    epoch: Epoch


class Leader(Message, frozen=True):
    """The leader that the sender follows or is; `doctor` is empty if it knows none. `asking` requests a reply."""

    epoch: Epoch
    doctor: str = ""
    asking: bool = False


class Heartbeat(Message, frozen=True):
    """A heartbeat, sent by the main loop of a process to all doctors of its cluster."""

    host: str
    generation: Generation
    pid: int
    start: int
    """Start time as the kernel reports it: unique together with the pid."""
    seq: int = 0
    ready: bool = True
    busy: bool = False
    progress: int = 0
    work: Assignment = NO_WORK
    rss: int = 0
    restarts: int = 0
    epoch: Epoch = Epoch()
    """The highest epoch known to the sender."""


class RingAssignment(msgspec.Struct, frozen=True, array_like=True):
    """Ring mode: the process to monitor, and the successor to send heartbeats to."""

    name: str
    generation: Generation
    host: str
    pid: int
    start: int
    successor: str = ""
    """The process that monitors the receiver, and its address."""
    address: str = ""


class Ack(Message, frozen=True):
    """The reply to a heartbeat. If `newest` is newer than the receiver's own generation, the receiver must exit."""

    epoch: Epoch
    newest: Generation
    doctors: dict[str, str] = {}
    """Addresses of all doctors."""
    watch: RingAssignment | None = None


class ExitReport(Message, frozen=True):
    """Report that a process has exited, or (`silent`) that its heartbeats have timed out."""

    name: str
    generation: Generation
    cause: Cause = Cause()
    silent: bool = False


class Launch(Message, frozen=True):
    """Request of the leader to a doctor of another host to start a process."""

    epoch: Epoch
    name: str
    generation: Generation
    restarts: int = 0


class Kill(Message, frozen=True):
    """Request of the leader to a doctor of another host to signal a process."""

    epoch: Epoch
    name: str
    generation: Generation
    how: Literal["term", "kill", "stack"]
    why: str = ""


class ObservedProcess(msgspec.Struct, frozen=True, array_like=True):
    name: str
    generation: Generation
    pid: int
    start: int
    state: str = ""
    """Process state as in /proc: T is stopped."""
    rss: int = 0
    cpu_s: float = 0.0


class ProcessList(Message, frozen=True):
    """All live processes of the sender's host, sent to doctors of other hosts."""

    host: str
    processes: list[ObservedProcess]
