"""What processes of a cluster say to each other by datagram. Any of it may be lost, doubled, late or out of order."""

from __future__ import annotations

from typing import Literal

import msgspec


class Epoch(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A term of office. It bears its leader's name, so that no two leaders ever share one."""

    number: int = 0
    doctor: str = ""

    def __str__(self) -> str:
        return f"{self.number}"


class Incarnation(msgspec.Struct, frozen=True, order=True, array_like=True):
    """One life of a named process: which launch of which epoch. Of two, the later one is to go on."""

    epoch: Epoch = Epoch()
    launch: int = 0

    def __str__(self) -> str:
        return f"{self.epoch.number}.{self.epoch.doctor}.{self.launch}"


def incarnation_of(text: str) -> Incarnation:
    number, doctor, launch = text.split(".")
    return Incarnation(Epoch(int(number), doctor), int(launch))


class Cause(msgspec.Struct, frozen=True, array_like=True):
    """Why a process ended, as far as it is known. `code` is negative for a signal."""

    code: int | None = None
    why: str = ""
    last: str = ""
    """The last lines of its log."""

    @property
    def known(self) -> bool:
        return self.code is not None or bool(self.why)


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class Election(Message, frozen=True):
    """To all doctors higher than the sender: whoever lives takes over."""

    epoch: Epoch


class Ok(Message, frozen=True):
    """From a higher doctor: I live, wait for me."""

    epoch: Epoch


class Coordinator(Message, frozen=True):
    """The sender has won an election."""

    epoch: Epoch


class Leader(Message, frozen=True):
    """Who leads, as the sender knows first hand; nobody, where `doctor` is empty. `asking` wants the same back."""

    epoch: Epoch
    doctor: str = ""
    asking: bool = False


class Beat(Message, frozen=True):
    """A sign of life from the loop that does the work, to all doctors of its cluster."""

    host: str
    incarnation: Incarnation
    pid: int
    start: int
    """The kernel's time of its start: with the pid it names a process for ever."""
    seq: int = 0
    ready: bool = True
    busy: bool = False
    progress: int = 0
    work: str = ""
    rss: int = 0
    restarts: int = 0
    epoch: Epoch = Epoch()
    """The latest that its sender has heard of."""


class Watch(msgspec.Struct, frozen=True, array_like=True):
    """In a ring: whom to look after, and where to."""

    name: str
    incarnation: Incarnation
    host: str
    pid: int
    start: int
    successor: str = ""
    """Who looks after the reader, and its address."""
    address: str = ""


class Ack(Message, frozen=True):
    """The answer to a beat. If `newest` is later than the reader's own incarnation, the reader is to leave at once."""

    epoch: Epoch
    newest: Incarnation
    doctors: dict[str, str] = {}
    """Addresses of all doctors."""
    watch: Watch | None = None


class Died(Message, frozen=True):
    """The sender knows that a process has ended, or has not heard of it for too long (`silent`)."""

    name: str
    incarnation: Incarnation
    cause: Cause = Cause()
    silent: bool = False


class Launch(Message, frozen=True):
    """From the leader to a doctor of another host."""

    epoch: Epoch
    name: str
    incarnation: Incarnation
    restarts: int = 0


class Kill(Message, frozen=True):
    """From the leader to a doctor of another host. `how` is one of `term`, `kill` and `stack`."""

    epoch: Epoch
    name: str
    incarnation: Incarnation
    how: Literal["term", "kill", "stack"]
    why: str = ""


class Seen(msgspec.Struct, frozen=True, array_like=True):
    name: str
    incarnation: Incarnation
    pid: int
    start: int
    state: str = ""
    """As the kernel shows it: T is stopped."""
    rss: int = 0
    cpu_s: float = 0.0


class Census(Message, frozen=True):
    """Everybody who lives on the sender's host, told to doctors of other hosts."""

    host: str
    lives: list[Seen]
