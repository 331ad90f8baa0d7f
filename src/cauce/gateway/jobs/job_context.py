"""The resources that all steps on jobs use: those of one thread of a gateway, and the state that its threads share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.fabric.contract import Fabric
from cauce.gateway.jobs.idleness import Idleness
from cauce.gateway.jobs.read_model import JobListener, Views
from cauce.gateway.jobs.statuses import Statuses
from cauce.gateway.jobs.tombstones import Tombstone, TombstoneStore
from cauce.gateway.limits import ServiceLimits


@dataclass
class SharedState:
    """State that all threads of a gateway share: the stored bytes of all open jobs as of the last sweep, the idle time
    of jobs, and tombstones that are pending because the fabric had no space."""

    held_bytes: int = 0
    idleness: Idleness = field(default_factory=Idleness)
    tombstones: dict[tuple[str, str], Tombstone] = field(default_factory=dict)


@dataclass(frozen=True)
class JobContext:
    fabric: Fabric
    limits: ServiceLimits
    clock: Callable[[], float]
    views: Views
    statuses: Statuses
    tombstones: TombstoneStore
    shared: SharedState
    notify: JobListener
