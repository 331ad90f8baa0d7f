"""Doctors under thousands of simulated schedules, and proof that these can fail: by bugs planted on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cauce.chaos.doctors import play
from cauce.doctor import bully, core, judge, keeper, lives
from cauce.doctor.acts import Act, Send
from cauce.doctor.bully import Bully, Stand
from cauce.doctor.clock import AttentiveClock
from cauce.doctor.judge import State, Verdict
from cauce.doctor.keeper import Keeper
from cauce.doctor.lives import Life
from cauce.doctor.messages import Ack, Coordinator, Epoch
from cauce.doctor.patient import Patient
from cauce.doctor.timing import Timing

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


def test_a_few_schedules_end_well() -> None:
    assert not problems(range(20))


def test_a_schedule_is_the_same_each_time() -> None:
    first, second = play(7), play(7)
    assert first.faults
    assert first == second


@pytest.mark.slow
def test_all_kinds_of_faults_happen() -> None:
    told = "\n".join(fault for seed in range(60) for fault in play(seed).faults)
    for kind in (
        "is killed",
        "but one of its host",
        "is stopped for",
        "hangs",
        "cut:",
        "the operator stops",
        "starts",
        "crashes",
    ):
        assert kind in told


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_there_is_one_leader_again_and_everybody_runs_once(group: int) -> None:
    start = 1_000 + group * SCHEDULES_IN_A_GROUP
    assert not problems(range(start, start + SCHEDULES_IN_A_GROUP))


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS, MORE_GROUPS))
def test_the_same_in_many_more_schedules(group: int) -> None:
    start = 1_000 + group * SCHEDULES_IN_A_GROUP
    assert not problems(range(start, start + SCHEDULES_IN_A_GROUP))


def no_epochs(patch: Patch) -> None:
    """Whoever wins calls its term by the same number as all before."""

    def win(self: Bully, now: float) -> list[Send]:
        self.epoch = Epoch(1, "")
        self.stand, self._announced = Stand.LEADING, now
        return [Send(peer, Coordinator(self.epoch)) for peer in sorted(self._peers)]

    patch.setattr(Bully, "_win", win)


def no_timeout_for_ok(patch: Patch) -> None:
    """Who has asked higher doctors waits for them for ever, the dead ones too."""
    tick = Bully.tick

    def waiting(self: Bully, now: float) -> list[Send]:
        return [] if self.stand is Stand.ELECTING else tick(self, now)

    patch.setattr(Bully, "tick", waiting)


def silence_of_a_leader_is_not_noticed(patch: Patch) -> None:
    """Only a death that the kernel tells of makes an election."""
    tick = Bully.tick

    def trusting(self: Bully, now: float) -> list[Send]:
        return [] if self.stand is Stand.FOLLOWING else tick(self, now)

    patch.setattr(Bully, "tick", trusting)


def flapping(patch: Patch) -> None:
    """A higher doctor that comes back takes over, though there is a leader."""
    told = Bully._told

    def bullying(self: Bully, now: float, sender: str, epoch: Epoch, leader: str) -> list[Send]:
        replies = told(self, now, sender, epoch, leader)
        lower = self.stand is Stand.FOLLOWING and bully.order_of(leader) < bully.order_of(self.me)
        return self._win(now) if lower else replies

    patch.setattr(Bully, "_told", bullying)


def old_leader_stays(patch: Patch) -> None:
    """A leader does not care for epochs after its own."""
    told = Bully._told

    def proud(self: Bully, now: float, sender: str, epoch: Epoch, leader: str) -> list[Send]:
        return [] if self.leads else told(self, now, sender, epoch, leader)

    patch.setattr(Bully, "_told", proud)
    patch.setattr(Bully, "note", lambda self, epoch: None)


def old_incarnation_stays(patch: Patch) -> None:
    """Who hears that a later incarnation has taken its place goes on all the same."""
    answered = Patient._answered

    def stubborn(self: Patient, sender: str, ack: Ack, now: float) -> list[Act]:
        return [] if ack.newest > self.incarnation else answered(self, sender, ack, now)

    patch.setattr(Patient, "_answered", stubborn)
    patch.setattr(lives.Roster, "old", lambda self: iter(()))


def nobody_wakes_a_doctor(patch: Patch) -> None:
    patch.setattr(Patient, "_start_doctor", lambda self: [])


def the_hung_are_left_alone(patch: Patch) -> None:
    verdict = judge.judge

    def kind(life: Life, now: float, timing: Timing, reached: float, since: float = 0.0) -> Verdict:
        found = verdict(life, now, timing, reached, since)
        return Verdict(State.HEALTHY) if found.state is State.HUNG else found

    patch.setattr(keeper, "judge", kind)


def stopped_by_an_operator_is_undone(patch: Patch) -> None:
    plan = Keeper.plan

    def eager(self: Keeper, now: float, epoch: Epoch) -> list[Act]:
        acts = plan(self, now, epoch)
        for name in self.wishes.desired.held:
            life = self.roster.newest(name)
            if life is None or not life.alive:
                acts += self._launch(name, now, epoch)
        return acts

    patch.setattr(Keeper, "plan", eager)


def starts_what_is_old_already(patch: Patch) -> None:
    """A leader does not notice that others were elected after it: what it starts is old before it is born."""
    patch.setattr(Bully, "note", lambda self, epoch: None)


def impatient_with_the_silent(patch: Patch) -> None:
    """A clock that runs on while its doctor is stopped: everybody else seems to have been silent for as long."""
    patch.setattr(core, "AttentiveClock", lambda stride: AttentiveClock(1e9))
    patch.setattr(keeper, "judge", lambda life, now, timing, *_: _silence_is_death(life, now))


def _silence_is_death(life: Life, now: float) -> Verdict:
    quiet = now - life.last_sign()
    return Verdict(State.HUNG, quiet > 3.0, "silent") if quiet > 3.0 else Verdict(State.HEALTHY)


def crashes_are_followed_by_restarts_without_pause(patch: Patch) -> None:
    patch.setattr(keeper, "pause_after", lambda crashes, longest_s: 0.0)


def a_process_that_keeps_crashing_is_given_up(patch: Patch) -> None:
    patch.setattr(keeper, "pause_after", lambda crashes, longest_s: 0.0 if crashes < 5 else 1e9)


def an_operator_must_wait_for_the_next_restart(patch: Patch) -> None:
    patch.setattr(Keeper, "retry", lambda self, name, now: None)


BUGS = [
    no_epochs,
    no_timeout_for_ok,
    silence_of_a_leader_is_not_noticed,
    flapping,
    old_leader_stays,
    old_incarnation_stays,
    nobody_wakes_a_doctor,
    the_hung_are_left_alone,
    stopped_by_an_operator_is_undone,
    starts_what_is_old_already,
    impatient_with_the_silent,
    crashes_are_followed_by_restarts_without_pause,
    a_process_that_keeps_crashing_is_given_up,
    an_operator_must_wait_for_the_next_restart,
]


@pytest.mark.slow
@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_caught(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert any(play(seed).problem for seed in range(MOST_SCHEDULES))
