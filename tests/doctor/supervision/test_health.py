"""Health states: exited, hung, paused, lost, running."""

from __future__ import annotations

from cauce.doctor.model.messages import Generation, ObservedProcess
from cauce.doctor.model.process_table import HeartbeatState, Instance, Observation
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision.health import Health, HealthState, assess
from cauce.worker.events import NO_WORK, Assignment

TIMING = Timing()
NOW = 1000.0


def instance(
    *,
    host: str = "",
    started_at: float = NOW - 500,
    heard_at: float | None = NOW - 0.1,
    progress_at: float = NOW,
    busy: bool = False,
    work: Assignment = NO_WORK,
    timeout_reported: bool = False,
    stopped_since: float | None = None,
) -> Instance:
    heartbeat = HeartbeatState(
        at=heard_at, ready=True, busy=busy, progress_at=progress_at, work=work, timeout_reported=timeout_reported
    )
    observed = Observation(stopped_since=stopped_since)
    return Instance("worker-1", Generation(), host, started_at, heartbeat=heartbeat, observed=observed)


def health(of: Instance, reached: float = NOW, since: float = 0.0) -> Health:
    return assess(of, NOW, TIMING, reached, since)


def test_a_process_with_a_recent_heartbeat_is_healthy() -> None:
    assert health(instance()).state is HealthState.HEALTHY


def test_silence_below_the_timeout_needs_no_action() -> None:
    assert not health(instance(heard_at=NOW - TIMING.hung + 1)).needs_action


def test_silence_beyond_the_timeout_is_a_hang() -> None:
    found = health(instance(heard_at=NOW - TIMING.hung - 1, work=Assignment("maria", "maria.a", "scan")))
    assert found.state is HealthState.HUNG
    assert found.needs_action
    assert "maria.a" not in found.why


def test_work_without_progress_is_a_hang_but_idling_is_not() -> None:
    assert health(instance(busy=True, progress_at=NOW - TIMING.hung - 1)).state is HealthState.HUNG
    assert health(instance(busy=False, progress_at=NOW - TIMING.hung - 1)).state is HealthState.HEALTHY


def test_a_stopped_process_needs_action_after_a_timeout() -> None:
    assert health(instance(stopped_since=NOW - 1)) == Health(
        HealthState.PAUSED, False, "it was stopped by a signal for 1 s"
    )
    assert health(instance(stopped_since=NOW - TIMING.paused - 1)).needs_action


def test_a_launched_process_has_a_timeout_for_its_first_heartbeat() -> None:
    assert health(instance(heard_at=None, started_at=NOW - 5)).state is HealthState.STARTING
    assert health(instance(heard_at=None, started_at=NOW - TIMING.start - 1)).needs_action


def test_a_process_on_an_unreachable_host_is_lost_not_hung() -> None:
    silent = instance(host="b", heard_at=NOW - 100)
    assert health(silent, reached=NOW - 100).state is HealthState.LOST
    # The host is reachable again: its silence counts from now on.
    assert health(silent, reached=NOW, since=NOW - 1).state is HealthState.HEALTHY


def test_in_ring_mode_a_process_with_a_reported_timeout_on_an_unreachable_host_is_lost() -> None:
    assert health(instance(host="b", timeout_reported=True), reached=NOW - 6).state is HealthState.LOST
    assert health(instance(host="b", timeout_reported=True), reached=NOW).state is HealthState.HEALTHY


def test_a_process_that_continues_is_healthy_again() -> None:
    of = instance()
    of.observe(ObservedProcess("worker-1", Generation(), 1, 1, "T"), "", NOW - 50)
    assert health(of).state is HealthState.PAUSED
    of.observe(ObservedProcess("worker-1", Generation(), 1, 1, "S"), "", NOW)
    assert health(of).state is HealthState.HEALTHY
