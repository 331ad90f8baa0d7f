"""Doctors under thousands of simulated schedules. Planted bugs prove that these tests can fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cauce.doctor.election import bully
from cauce.doctor.election.bully import Bully, ElectionState
from cauce.doctor.heartbeat.schedule import HeartbeatSchedule
from cauce.doctor.model import process_table
from cauce.doctor.model.actions import Action, Send
from cauce.doctor.model.clock import PauseAwareClock
from cauce.doctor.model.messages import Ack, Coordinator, Epoch
from cauce.doctor.model.process_table import Instance
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision import core, health, reconciler
from cauce.doctor.supervision.health import Health, HealthState
from cauce.doctor.supervision.reconciler import Reconciler
from cauce.lab.chaos.doctors import play
from tests.simulation.occurrence import missing

GROUPS, MORE_GROUPS = 3, 40
SCHEDULES_IN_A_GROUP = 50
MOST_SCHEDULES = 150
Patch = pytest.MonkeyPatch


def problems(seeds: range) -> list[str]:
    outcomes = [play(seed) for seed in seeds]
    return [
        f"seed {each.seed} ({each.what}): {each.problem}; again with: ./cauce chaos doctors --seed {each.seed}"
        for each in outcomes
        if each.problem
    ]


def test_quick_schedules_recover() -> None:
    assert not problems(range(10))


def test_schedule_is_deterministic() -> None:
    first, second = play(7), play(7)
    assert first.faults
    assert first == second


@pytest.mark.slow
def test_all_fault_kinds_occur() -> None:
    kinds = (
        "is killed",
        "but one of its host",
        "is stopped for",
        "hangs",
        "partition:",
        "the operator stops",
        "starts",
        "crashes",
    )
    assert not missing(kinds, (fault for seed in range(60) for fault in play(seed).faults))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_one_leader_and_one_instance_of_each_process_after_faults(group: int) -> None:
    start = 1_000 + group * SCHEDULES_IN_A_GROUP
    assert not problems(range(start, start + SCHEDULES_IN_A_GROUP))


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS, MORE_GROUPS))
def test_more_schedules_recover(group: int) -> None:
    start = 1_000 + group * SCHEDULES_IN_A_GROUP
    assert not problems(range(start, start + SCHEDULES_IN_A_GROUP))


def no_epochs(patch: Patch) -> None:
    """Every winner of an election uses the same epoch."""

    def win(self: Bully, now: float) -> list[Send]:
        self.epoch = Epoch(1, "")
        self.state, self._announced = ElectionState.LEADING, now
        return [Send(peer, Coordinator(self.epoch)) for peer in sorted(self._peers)]

    patch.setattr(Bully, "_win", win)


def no_timeout_for_ok(patch: Patch) -> None:
    """A doctor waits for ever for higher doctors, even for those that have exited."""
    tick = Bully.tick

    def waiting(self: Bully, now: float) -> list[Send]:
        return [] if self.state is ElectionState.ELECTING else tick(self, now)

    patch.setattr(Bully, "tick", waiting)


def silence_of_a_leader_is_ignored(patch: Patch) -> None:
    """Only an exit that the kernel reports causes an election."""
    tick = Bully.tick

    def trusting(self: Bully, now: float) -> list[Send]:
        return [] if self.state is ElectionState.FOLLOWING else tick(self, now)

    patch.setattr(Bully, "tick", trusting)


def higher_doctor_takes_over_from_a_leader(patch: Patch) -> None:
    """A higher doctor that returns takes over although there is a leader."""
    announced = Bully._leader_announced

    def bullying(self: Bully, now: float, sender: str, epoch: Epoch, leader: str) -> list[Send]:
        replies = announced(self, now, sender, epoch, leader)
        lower = self.state is ElectionState.FOLLOWING and bully.order_of(leader) < bully.order_of(self.own_name)
        return self._win(now) if lower else replies

    patch.setattr(Bully, "_leader_announced", bullying)


def leader_ignores_later_epochs(patch: Patch) -> None:
    """A leader ignores epochs later than its own."""
    announced = Bully._leader_announced

    def proud(self: Bully, now: float, sender: str, epoch: Epoch, leader: str) -> list[Send]:
        return [] if self.leads else announced(self, now, sender, epoch, leader)

    patch.setattr(Bully, "_leader_announced", proud)
    patch.setattr(Bully, "note_epoch", lambda self, epoch: None)


def superseded_process_continues(patch: Patch) -> None:
    """A process that is superseded by a newer generation does not exit."""
    answered = HeartbeatSchedule._acknowledged

    def stubborn(self: HeartbeatSchedule, sender: str, ack: Ack, now: float) -> list[Action]:
        return [] if ack.newest > self.who.generation else answered(self, sender, ack, now)

    patch.setattr(HeartbeatSchedule, "_acknowledged", stubborn)
    patch.setattr(process_table.ProcessTable, "superseded", lambda self: iter(()))


def no_process_starts_a_doctor(patch: Patch) -> None:
    patch.setattr(HeartbeatSchedule, "_start_doctor", lambda self: [])


def hung_processes_are_not_killed(patch: Patch) -> None:
    assessed = health.assess

    def kind(instance: Instance, now: float, timing: Timing, reached: float, since: float = 0.0) -> Health:
        found = assessed(instance, now, timing, reached, since)
        return Health(HealthState.HEALTHY) if found.state is HealthState.HUNG else found

    patch.setattr(reconciler, "assess", kind)


def processes_stopped_by_an_operator_are_restarted(patch: Patch) -> None:
    reconcile = Reconciler.reconcile

    def eager(self: Reconciler, now: float, epoch: Epoch) -> list[Action]:
        acts = reconcile(self, now, epoch)
        for name in self.desired.state.held:
            instance = self.processes.newest(name)
            if instance is None or not instance.alive:
                acts += self._launch(name, now, epoch)
        return acts

    patch.setattr(Reconciler, "reconcile", eager)


def deposed_leader_starts_processes(patch: Patch) -> None:
    """A leader does not learn that others were elected after it: processes that it starts are superseded at once."""
    patch.setattr(Bully, "note_epoch", lambda self, epoch: None)


def own_pause_counts_as_silence_of_others(patch: Patch) -> None:
    """A clock that includes pauses of its own doctor: all other processes seem to have been silent for as long."""
    patch.setattr(core, "PauseAwareClock", lambda stride: PauseAwareClock(1e9))
    patch.setattr(reconciler, "assess", lambda instance, now, timing, *_: _silence_is_a_hang(instance, now))


def _silence_is_a_hang(instance: Instance, now: float) -> Health:
    quiet = now - instance.last_heartbeat_at()
    return Health(HealthState.HUNG, quiet > 3.0, "silent") if quiet > 3.0 else Health(HealthState.HEALTHY)


def no_restart_backoff(patch: Patch) -> None:
    patch.setattr(reconciler, "backoff_s", lambda crashes, max_s: 0.0)


def crashing_process_is_never_restarted(patch: Patch) -> None:
    patch.setattr(reconciler, "backoff_s", lambda crashes, max_s: 0.0 if crashes < 5 else 1e9)


def start_by_an_operator_keeps_the_backoff(patch: Patch) -> None:
    patch.setattr(Reconciler, "cancel_backoff", lambda self, name, now: None)


BUGS = [
    no_epochs,
    no_timeout_for_ok,
    silence_of_a_leader_is_ignored,
    higher_doctor_takes_over_from_a_leader,
    leader_ignores_later_epochs,
    superseded_process_continues,
    no_process_starts_a_doctor,
    hung_processes_are_not_killed,
    processes_stopped_by_an_operator_are_restarted,
    deposed_leader_starts_processes,
    own_pause_counts_as_silence_of_others,
    no_restart_backoff,
    crashing_process_is_never_restarted,
    start_by_an_operator_keeps_the_backoff,
]


@pytest.mark.slow
@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_planted_bug_is_detected(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert any(play(seed).problem for seed in range(MOST_SCHEDULES))
