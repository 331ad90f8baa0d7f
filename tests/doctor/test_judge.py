"""Verdicts: dead, hung, paused, lost, and nothing of these."""

from __future__ import annotations

from dataclasses import replace

from cauce.doctor.judge import State, Verdict, judge
from cauce.doctor.lives import Life
from cauce.doctor.messages import Incarnation, Seen
from cauce.doctor.timing import Timing

TIMING = Timing()
NOW = 1000.0


def life(**more: object) -> Life:
    made = Life("worker-1", Incarnation(), "", NOW - 500, heard=NOW - 0.1, progressed=NOW, ready=True)
    return replace(made, **more)  # type: ignore[arg-type]


def verdict(of: Life, reached: float = NOW, since: float = 0.0) -> Verdict:
    return judge(of, NOW, TIMING, reached, since)


def test_who_was_just_heard_is_healthy() -> None:
    assert verdict(life()).state is State.HEALTHY


def test_silence_for_less_than_a_hang_is_no_reason() -> None:
    assert not verdict(life(heard=NOW - TIMING.hung + 1)).treat


def test_a_loop_that_is_silent_for_too_long_hangs() -> None:
    found = verdict(life(heard=NOW - TIMING.hung - 1, work="job a"))
    assert found.state is State.HUNG
    assert found.treat
    assert "job a" in found.why


def test_work_without_progress_is_a_hang_and_idleness_is_none() -> None:
    assert verdict(life(busy=True, progressed=NOW - TIMING.hung - 1)).state is State.HUNG
    assert verdict(life(busy=False, progressed=NOW - TIMING.hung - 1)).state is State.HEALTHY


def test_a_short_stop_is_shown_and_a_long_one_treated() -> None:
    assert verdict(life(stopped=NOW - 1)) == Verdict(State.PAUSED, False, "it was stopped by a signal for 1 s")
    assert verdict(life(stopped=NOW - TIMING.paused - 1)).treat


def test_who_was_launched_has_time_for_its_first_sign_of_life() -> None:
    assert verdict(life(heard=None, began=NOW - 5)).state is State.STARTING
    assert verdict(life(heard=None, began=NOW - TIMING.start - 1)).treat


def test_silence_of_another_host_is_loss_and_not_a_hang() -> None:
    silent = life(host="b", heard=NOW - 100)
    assert verdict(silent, reached=NOW - 100).state is State.LOST
    # The doctors there are heard again: only now does its silence begin to count.
    assert verdict(silent, reached=NOW, since=NOW - 1).state is State.HEALTHY


def test_a_ring_need_not_be_silent_to_the_leader_for_a_loss() -> None:
    assert verdict(life(host="b", suspected=True), reached=NOW - 6).state is State.LOST
    assert verdict(life(host="b", suspected=True), reached=NOW).state is State.HEALTHY


def test_who_speaks_is_not_stopped_any_more() -> None:
    of = life()
    of.look(Seen("worker-1", Incarnation(), 1, 1, "T"), NOW - 50)
    assert verdict(of).state is State.PAUSED
    of.look(Seen("worker-1", Incarnation(), 1, 1, "S"), NOW)
    assert verdict(of).state is State.HEALTHY
