"""Desired state of a cluster: entries written by operators, each under a key; the latest entry per key wins.

Merging entries is commutative and idempotent, so they can be read from the fabric and received by datagram in any
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from cauce.doctor.model.messages import Message
from cauce.doctor.model.names import ROLES, Role, in_order, is_name, name_of, order_of

RUNNING = "running"
WATCH = "watch"
STAR, RING = "star", "ring"
STOPPED = "stopped"
MOST = 1000
"""Limit of processes of one role on one host."""


class DesiredEntry(msgspec.Struct, frozen=True, array_like=True):
    """A desired-state entry. The highest `number` of a key wins; `by` breaks ties."""

    key: str
    value: str
    number: int
    by: str
    why: str = ""
    at: float = 0.0

    @property
    def order(self) -> tuple[int, str, str]:
        return self.number, self.by, self.value


class DesiredUpdate(Message, frozen=True):
    """Entries of an operator, sent to the doctors for low latency. They are on the fabric as well."""

    entries: list[DesiredEntry]


def count_key(role: Role, host: str = "") -> str:
    return f"count.{role}@{host}"


def hold_key(name: str) -> str:
    return f"hold.{name}"


def released(entry: DesiredEntry) -> str:
    """The name of the process that this entry releases from its hold; empty for any other entry."""
    what, _, name = entry.key.partition(".")
    return name if what == "hold" and not entry.value and is_name(name) else ""


class DesiredEntries:
    """All known entries by key, and the desired state that results from them."""

    def __init__(self) -> None:
        self.latest: dict[str, DesiredEntry] = {}
        self.state = DesiredState()

    def add(self, entries: Iterable[DesiredEntry]) -> list[DesiredEntry]:
        """Merges entries and returns those that were newer than the known ones."""
        changed: list[DesiredEntry] = []
        for entry in entries:
            known = self.latest.get(entry.key)
            if known is None or known.order < entry.order:
                self.latest[entry.key] = entry
                changed.append(entry)
        if changed:
            self.state = _state_of(self.latest)
        return changed

    def next(self, key: str, value: str, by: str, why: str = "", at: float = 0.0) -> DesiredEntry:
        """A new entry that supersedes all known entries of its key."""
        known = self.latest.get(key)
        return DesiredEntry(key, value, known.number + 1 if known is not None else 1, by, why, at)


@dataclass(frozen=True)
class DesiredState:
    running: bool = False
    known: bool = False
    """Whether the desired state has been read. Until then no process may be started or stopped."""
    counts: Mapping[tuple[Role, str], int] = field(default_factory=dict)
    held: Mapping[str, DesiredEntry] = field(default_factory=dict)
    """Processes stopped by an operator: included in the counts, but must not run."""
    watch: str = STAR
    names: tuple[str, ...] = ()
    """All processes within the counts, held or not, sorted."""

    def should_run(self, name: str) -> bool:
        """Whether the process should run."""
        return self.running and name not in self.held and self.is_counted(name)

    def is_counted(self, name: str) -> bool:
        role, number, host = order_of(name)
        return number <= self.counts.get((role, host), 0)

    def doctors(self) -> list[str]:
        return [name for name in self.names if order_of(name)[0] == "doctor"]


def _state_of(latest: Mapping[str, DesiredEntry]) -> DesiredState:
    counts: dict[tuple[Role, str], int] = {}
    held: dict[str, DesiredEntry] = {}
    for key, entry in latest.items():
        what, _, of = key.partition(".")
        role, _, host = of.partition("@")
        if what == "count" and entry.value.isdigit():
            known: Role | None = next((each for each in ROLES if each == role), None)
            if known is not None:
                counts[known, host] = min(int(entry.value), MOST)
        elif what == "hold" and entry.value == STOPPED and is_name(of):
            held[of] = entry
    names = in_order(name_of(role, n + 1, host) for (role, host), count in counts.items() for n in range(count))
    running = latest.get(RUNNING)
    watch = latest.get(WATCH)
    return DesiredState(
        running is not None and running.value == "yes",
        running is not None,
        counts,
        held,
        RING if watch is not None and watch.value == RING else STAR,
        tuple(names),
    )
