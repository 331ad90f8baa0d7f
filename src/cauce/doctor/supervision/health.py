"""Health of a process: a pure function of its entry in the process table and the time. No I/O, no actions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cauce.doctor.model.process_table import Instance
from cauce.doctor.model.timing import Timing


class HealthState(Enum):
    STARTING = "starting"
    HEALTHY = "running"
    PAUSED = "paused"
    HUNG = "hung"
    LOST = "lost"
    """Its host is unreachable; whether it is alive is unknown."""
    ENDING = "ending"
    EXITED = "exited"


@dataclass(frozen=True)
class Health:
    state: HealthState
    needs_action: bool = False
    """Whether the leader must act on it now."""
    why: str = ""
    """Never names a job: the work is reported separately."""


def assess(
    instance: Instance, now: float, timing: Timing, host_heard_at: float, reachable_since: float = 0.0
) -> Health:
    """`host_heard_at` is when a doctor of its host was last heard (now, for our own host). Silence before
    `reachable_since` does not count as a timeout."""
    if not instance.alive:
        return Health(HealthState.EXITED)
    heartbeat = instance.heartbeat
    quiet = now - instance.last_heartbeat_at()
    if now - host_heard_at > timing.lost and (quiet > timing.lost or heartbeat.timeout_reported):
        return Health(HealthState.LOST, True, f"no heartbeat from it or from a doctor of its host for {quiet:.0f} s")
    if instance.termination.active:
        return Health(HealthState.ENDING, why=instance.termination.why)
    if instance.observed.stopped_since is not None:
        stopped = now - instance.observed.stopped_since
        return Health(HealthState.PAUSED, stopped > timing.paused, f"it was stopped by a signal for {stopped:.0f} s")
    quiet = now - max(instance.last_heartbeat_at(), reachable_since)
    if heartbeat.at is None:
        late = quiet > timing.start
        why = f"it sent no heartbeat for {quiet:.0f} s after its start"
        return Health(HealthState.HUNG if late else HealthState.STARTING, late, why)
    if quiet > timing.hung:
        return Health(HealthState.HUNG, True, f"its main loop sent no heartbeat for {quiet:.0f} s")
    stuck = now - max(heartbeat.progress_at, reachable_since)
    if heartbeat.busy and stuck > timing.hung:
        return Health(HealthState.HUNG, True, f"it has work and made no progress for {stuck:.0f} s")
    return Health(HealthState.HEALTHY)
