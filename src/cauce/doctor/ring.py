"""Who looks after whom in a ring: each process after the one before it by name, the first after the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cauce.doctor.desired import RING, Desired
from cauce.doctor.lives import Roster
from cauce.doctor.messages import Incarnation, Watch
from cauce.doctor.names import in_order


@dataclass(frozen=True)
class Place:
    predecessor: str
    successor: str


def places(names: Iterable[str]) -> dict[str, Place]:
    """Nobody looks after itself: one alone has no place."""
    order = in_order(names)
    if len(order) < 2:
        return {}
    return {name: Place(order[number - 1], order[(number + 1) % len(order)]) for number, name in enumerate(order)}


def watch_of(name: str, desired: Desired, roster: Roster, addresses: Mapping[str, str]) -> Watch | None:
    """Whom a process is to look after, and who after it; None where nobody does."""
    if desired.watch != RING or not desired.wants(name):
        return None
    place = places(each for each in desired.names if desired.wants(each)).get(name)
    if place is None:
        return None
    life = roster.newest(place.predecessor)
    after = place.successor, addresses.get(place.successor, "")
    if life is None:
        return Watch(place.predecessor, Incarnation(), "", 0, 0, *after)
    return Watch(life.name, life.incarnation, life.host, life.pid, life.start, *after)
