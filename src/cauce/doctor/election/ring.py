"""Ring mode: each process monitors its predecessor in name order; the first monitors the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cauce.doctor.model.desired_state import RING, DesiredState
from cauce.doctor.model.messages import Generation, RingAssignment
from cauce.doctor.model.names import in_order
from cauce.doctor.model.process_table import ProcessTable


@dataclass(frozen=True)
class Neighbours:
    """Neighbours of a process in the ring."""

    predecessor: str
    successor: str


def neighbours(names: Iterable[str]) -> dict[str, Neighbours]:
    """The neighbours of each process. Empty for fewer than two: no process monitors itself."""
    order = in_order(names)
    if len(order) < 2:
        return {}
    return {name: Neighbours(order[number - 1], order[(number + 1) % len(order)]) for number, name in enumerate(order)}


def ring_assignment(
    name: str, desired: DesiredState, processes: ProcessTable, addresses: Mapping[str, str]
) -> RingAssignment | None:
    """The predecessor that a process monitors and the successor that monitors it; None outside ring mode."""
    if desired.watch != RING or not desired.should_run(name):
        return None
    found = neighbours(each for each in desired.names if desired.should_run(each)).get(name)
    if found is None:
        return None
    instance = processes.newest(found.predecessor)
    after = found.successor, addresses.get(found.successor, "")
    if instance is None:
        return RingAssignment(found.predecessor, Generation(), "", 0, 0, *after)
    return RingAssignment(instance.name, instance.generation, instance.host, instance.pid, instance.start, *after)
