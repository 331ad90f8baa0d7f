"""What the core of a doctor wants done. It does none of it itself: the process around it does, or a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cauce.doctor.desired import Wish
from cauce.doctor.messages import Incarnation, Message

How = Literal["term", "kill", "stack"]
"""Asked to end; ended; told to write down where it stands, before it is ended."""


@dataclass(frozen=True)
class Send:
    """`address` is given where an answer must go to its asker, whoever else has that name by now."""

    to: str
    message: Message
    address: str = ""


@dataclass(frozen=True)
class Fork:
    """Start a process on this host."""

    name: str
    incarnation: Incarnation
    restarts: int


@dataclass(frozen=True)
class Signal:
    """To a process on this host."""

    name: str
    incarnation: Incarnation
    how: How


@dataclass(frozen=True)
class Follow:
    """See at once when this process of this host ends."""

    name: str
    incarnation: Incarnation
    pid: int
    start: int


@dataclass(frozen=True)
class Note:
    """For the timeline. `at` is when it happened, by the doctor's clock, where that is not now."""

    what: str
    name: str
    incarnation: Incarnation | None = None
    why: str = ""
    last: str = ""
    after_s: float | None = None
    at: float | None = None


@dataclass(frozen=True)
class Record:
    """A wish of the doctors' own, to be kept with those of operators."""

    wish: Wish


@dataclass(frozen=True)
class Rouse:
    """No doctor is heard: start this one."""

    doctor: str


@dataclass(frozen=True)
class Leave:
    """This process itself is to end at once."""

    old: bool
    why: str


Act = Send | Fork | Signal | Follow | Note | Record | Rouse | Leave
