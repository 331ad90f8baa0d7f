"""Replay protection: a datagram is processed at most once, even if it is resent or replayed.

Each process draws a random session id when it opens its socket. A datagram carries the receiver's session and a
sequence number that its sender never reuses. So a datagram from before the receiver's start has the wrong session, and
a duplicate has a known number. No clock is involved.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import msgspec

WINDOW = 256
"""How far a sequence number may lag behind the highest and still be accepted: networks reorder datagrams."""
MAX_SENDERS = 10_000
_SESSION_BITS = 63


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    session: int = 0
    """The sender's session."""
    receiver: int = 0
    """The receiver's session; 0 if the sender does not know it yet."""
    number: int = 0
    """Sequence number over all datagrams of the sender."""


class Freshness(Enum):
    NEW = "new"
    REPEATED = "repeated"
    OTHER_SESSION = "other session"


def new_session() -> int:
    return secrets.randbits(_SESSION_BITS) or 1


@dataclass
class Window:
    """Sliding window over the received sequence numbers of one sender, as a bit set."""

    highest: int = -1
    seen: int = 0

    def admit(self, number: int) -> bool:
        """Whether this number is new. A number older than the window counts as seen."""
        ahead = number - self.highest
        if ahead > 0:
            self.seen = ((self.seen << ahead) | 1) & ((1 << WINDOW) - 1) if ahead < WINDOW else 1
            self.highest = number
            return True
        bit = 1 << -ahead
        if -ahead >= WINDOW or self.seen & bit:
            return False
        self.seen |= bit
        return True


@dataclass
class Receiver:
    """Detects duplicate datagrams. At `MAX_SENDERS` it drops its state and starts a new session, which invalidates all
    earlier datagrams."""

    choose: Callable[[], int] = new_session
    session: int = 0
    _windows: dict[int, Window] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session = self.choose()

    def admit(self, stamp: Stamp) -> Freshness:
        if stamp.receiver != self.session:
            return Freshness.OTHER_SESSION
        window = self._windows.get(stamp.session)
        if window is None:
            if len(self._windows) >= MAX_SENDERS:
                self._windows.clear()
                self.session = self.choose()
                return Freshness.OTHER_SESSION
            window = self._windows[stamp.session] = Window()
        return Freshness.NEW if window.admit(stamp.number) else Freshness.REPEATED
