"""Which processes there should be: wishes of operators, each under a key, of which the last counts.

Wishes may be read in any order and twice: what they add up to is the same. So they can lie in a log of the fabric and
travel by datagram at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from cauce.doctor.messages import Message
from cauce.doctor.names import ROLES, Role, in_order, is_name, name_of, order_of

RUNNING = "running"
WATCH = "watch"
STAR, RING = "star", "ring"
STOPPED = "stopped"
MOST = 1000
"""Processes of one role on one host."""


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """`number` and, between equals, `by` say which wish of a key is the last one."""

    key: str
    value: str
    number: int
    by: str
    why: str = ""
    at: float = 0.0

    @property
    def order(self) -> tuple[int, str, str]:
        return self.number, self.by, self.value


class Wished(Message, frozen=True):
    """Wishes of an operator, for doctors to know at once. They lie on the fabric too."""

    wishes: list[Wish]


def count_key(role: Role, host: str = "") -> str:
    return f"count.{role}@{host}"


def hold_key(name: str) -> str:
    return f"hold.{name}"


def released(wish: Wish) -> str:
    """The process that a wish wants started; empty for any other wish."""
    what, _, name = wish.key.partition(".")
    return name if what == "hold" and not wish.value and is_name(name) else ""


class Wishes:
    """All that were heard of, by key."""

    def __init__(self) -> None:
        self.latest: dict[str, Wish] = {}
        self.desired = Desired()

    def add(self, wishes: Iterable[Wish]) -> list[Wish]:
        """Those that changed anything."""
        changed: list[Wish] = []
        for wish in wishes:
            known = self.latest.get(wish.key)
            if known is None or known.order < wish.order:
                self.latest[wish.key] = wish
                changed.append(wish)
        if changed:
            self.desired = _desired(self.latest)
        return changed

    def next(self, key: str, value: str, by: str, why: str = "", at: float = 0.0) -> Wish:
        """A wish that comes after all that are known of its key."""
        known = self.latest.get(key)
        return Wish(key, value, known.number + 1 if known is not None else 1, by, why, at)


@dataclass(frozen=True)
class Desired:
    running: bool = False
    known: bool = False
    """Whether anybody has wished anything yet: until then nobody is to be started or ended."""
    counts: Mapping[tuple[Role, str], int] = field(default_factory=dict)
    held: Mapping[str, Wish] = field(default_factory=dict)
    """Processes that an operator stopped: they do not run though they are counted."""
    watch: str = STAR
    names: tuple[str, ...] = ()
    """Everybody who is counted, held or not, in order."""

    def wants(self, name: str) -> bool:
        """Whether the process should run."""
        return self.running and name not in self.held and self.counted(name)

    def counted(self, name: str) -> bool:
        role, number, host = order_of(name)
        return number <= self.counts.get((role, host), 0)

    def doctors(self) -> list[str]:
        return [name for name in self.names if order_of(name)[0] == "doctor"]


def _desired(latest: Mapping[str, Wish]) -> Desired:
    counts: dict[tuple[Role, str], int] = {}
    held: dict[str, Wish] = {}
    for key, wish in latest.items():
        what, _, of = key.partition(".")
        role, _, host = of.partition("@")
        if what == "count" and wish.value.isdigit():
            known: Role | None = next((each for each in ROLES if each == role), None)
            if known is not None:
                counts[known, host] = min(int(wish.value), MOST)
        elif what == "hold" and wish.value == STOPPED and is_name(of):
            held[of] = wish
    names = in_order(name_of(role, n + 1, host) for (role, host), count in counts.items() for n in range(count))
    running = latest.get(RUNNING)
    watch = latest.get(WATCH)
    return Desired(
        running is not None and running.value == "yes",
        running is not None,
        counts,
        held,
        RING if watch is not None and watch.value == RING else STAR,
        tuple(names),
    )
