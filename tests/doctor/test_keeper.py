"""The leader's plan: who is started, ended, restarted after a pause and left alone."""

from __future__ import annotations

import pytest

from cauce.doctor.acts import Fork, Note, Record, Signal
from cauce.doctor.desired import RUNNING, STOPPED, Wish, count_key, hold_key
from cauce.doctor.keeper import pause_after
from cauce.doctor.messages import Cause, Incarnation, Seen
from cauce.doctor.timing import Timing
from cauce.doctor.view import Row, rows_of
from cauce.worker.events import EXIT_FULL, EXIT_OLD
from tests.doctor.one import One, only

WORKERS = {("doctor", ""): 1, ("worker", ""): 2}


def started(workers: int = 2) -> One:
    one = One({("doctor", ""): 1, ("worker", ""): workers})
    one.wait(1.0)
    for number in range(1, workers + 1):
        one.beat(f"worker-{number}", one.newest(f"worker-{number}"))
    one.wait(0.1)
    return one


def test_everybody_who_is_wanted_is_started_once() -> None:
    one = One(WORKERS)
    one.wait(3.0)
    assert sorted(fork.name for fork in only(one.acts, Fork)) == ["worker-1", "worker-2"]


def test_nothing_is_started_before_a_wish_is_known() -> None:
    one = One()
    one.wait(3.0)
    assert one.core.leads
    assert only(one.acts, Fork) == []


def test_the_dead_are_started_again_at_once_with_a_later_incarnation() -> None:
    one = started()
    before = one.newest("worker-1")
    (fork,) = only(one.die("worker-1"), Fork)
    assert fork.name == "worker-1"
    assert fork.incarnation > before
    assert fork.restarts == 1


def test_what_an_operator_stopped_is_ended_and_stays_so() -> None:
    one = started()
    (signal,) = only(one.wish(Wish(hold_key("worker-1"), STOPPED, 1, "x")), Signal)
    assert (signal.name, signal.how) == ("worker-1", "term")
    assert only(one.die("worker-1", 0), Fork) == []
    assert only(one.wait(30.0), Fork) == []
    assert [fork.name for fork in only(one.wish(Wish(hold_key("worker-1"), "", 2, "x")), Fork)] == ["worker-1"]


def test_who_does_not_end_when_asked_is_killed() -> None:
    one = started()
    one.wish(Wish(hold_key("worker-1"), STOPPED, 1, "x"))
    assert [signal.how for signal in only(one.wait(one.core.keeper.timing.stop + 0.3), Signal)] == ["kill"]


def test_fewer_are_wanted() -> None:
    one = started()
    (signal,) = only(one.wish(Wish(count_key("worker"), "1", 2, "x")), Signal)
    assert signal.name == "worker-2"
    one.die("worker-2", 0)
    assert only(one.wait(5.0), Fork) == []


def crash(one: One, times: int, code: int = -9) -> list[float]:
    """Lets worker-1 crash right after each start. The pauses before the starts that followed."""
    pauses: list[float] = []
    for _ in range(times):
        one.beat("worker-1", one.newest("worker-1"))
        one.die("worker-1", code)
        died = one.time
        while not one.alive("worker-1"):
            one.wait(0.1)
        pauses.append(round(one.time - died, 1))
    return pauses


def row(one: One, name: str) -> Row:
    return next(each for each in rows_of(one.core) if each.name == name)


def test_the_pause_before_a_restart_grows_with_each_crash_and_is_bounded() -> None:
    assert [pause_after(crashes, 60.0) for crashes in range(1, 12)] == [0, 0, 0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_after(10_000, 60.0) == 60.0


def test_a_process_that_keeps_crashing_is_restarted_for_ever() -> None:
    one = One({("doctor", ""): 1, ("worker", ""): 1}, timing=Timing(backoff=2.0))
    one.wait(1.0)
    pauses = crash(one, 12)
    assert pauses[:5] == pytest.approx([0, 0, 0.5, 1, 2], abs=0.11)
    assert pauses[5:] == pytest.approx([2] * 7, abs=0.11)
    assert only(one.acts, Record) == []


def test_kills_of_a_healthy_process_never_delay_its_restart() -> None:
    one = started(1)
    for _ in range(20):
        for _ in range(6):
            one.beat("worker-1", one.newest("worker-1"))
            one.wait(1.0)
        assert len(only(one.die("worker-1"), Fork)) == 1
    assert [note for note in only(one.acts, Note) if note.what == "backoff"] == []


def test_time_as_a_process_that_is_not_ready_does_not_count_as_health() -> None:
    one = started(1)
    for _ in range(2):
        one.wait(10.0)
        one.beat("worker-1", one.newest("worker-1"), ready=False)
        one.die("worker-1")
    one.wait(10.0)
    assert only(one.die("worker-1"), Fork) == []


def test_a_healthy_run_resets_the_pause() -> None:
    one = started(1)
    assert crash(one, 4)[-1] >= 0.9
    for _ in range(6):
        one.beat("worker-1", one.newest("worker-1"))
        one.wait(1.0)
    assert len(only(one.die("worker-1"), Fork)) == 1
    assert row(one, "worker-1").crashes == 1


def test_a_delayed_restart_is_shown_with_its_reason() -> None:
    one = started(1)
    crash(one, 6)
    one.beat("worker-1", one.newest("worker-1"))
    one.die("worker-1")
    shown = row(one, "worker-1")
    assert (shown.state, shown.crashes, shown.restart_in_s) == ("restarting", 7, 8.0)
    assert shown.why == "it crashed 7 times, last: killed by SIGKILL"
    notes = [note for note in only(one.acts, Note) if note.what == "backoff"]
    assert notes[-1].why == "restarting in 8 s: it crashed 7 times, last: killed by SIGKILL"
    one.wait(8.1)
    assert (row(one, "worker-1").state, row(one, "worker-1").restart_in_s) == ("starting", None)


def test_an_operators_start_retries_at_once_and_forgets_the_crashes() -> None:
    one = started(1)
    crash(one, 6)
    assert only(one.die("worker-1"), Fork) == []
    assert [fork.name for fork in only(one.wish(Wish(hold_key("worker-1"), "", 1, "x")), Fork)] == ["worker-1"]
    assert crash(one, 2) == [0.0, 0.0]


def test_the_same_start_heard_twice_retries_once() -> None:
    one = started(1)
    start = Wish(hold_key("worker-1"), "", 1, "x")
    one.wish(start)
    crash(one, 6)
    one.die("worker-1")
    assert only(one.wish(start), Fork) == []
    assert row(one, "worker-1").state == "restarting"


@pytest.mark.parametrize("code", [EXIT_FULL, EXIT_OLD])
def test_a_full_disk_and_an_old_incarnation_are_no_crashes(code: int) -> None:
    one = started(1)
    assert max(crash(one, 7, code)) <= one.core.keeper.timing.full + 0.2
    assert one.core.roster.past("worker-1").crashes == 0


def test_a_cause_that_is_known_late_is_no_crash_either() -> None:
    one = started(1)
    life = one.newest("worker-1")
    one.core.exited(one.time, "worker-1", life)
    assert one.core.roster.past("worker-1").crashes == 1
    one.core.exited(one.time, "worker-1", life, Cause(EXIT_FULL))
    assert one.core.roster.past("worker-1").crashes == 0


def test_who_found_the_disk_full_is_started_after_a_pause() -> None:
    one = started(1)
    assert only(one.die("worker-1", EXIT_FULL), Fork) == []
    assert len(only(one.wait(one.core.keeper.timing.full + 0.2), Fork)) == 1


def test_the_hung_leave_their_stack_before_they_are_killed() -> None:
    timing = Timing(hung=5.0)
    one = One({("doctor", ""): 1, ("worker", ""): 1}, timing=timing)
    one.wait(1.0)
    one.beat("worker-1", one.newest("worker-1"), work="books: lane 3")
    acts = one.wait(7.0)
    assert [signal.how for signal in only(acts, Signal)][:2] == ["stack", "kill"]
    (note,) = [note for note in only(acts, Note) if note.what == "hung"]
    assert "books: lane 3" in note.why


def test_the_paused_are_killed_and_replaced() -> None:
    one = started(1)
    life = one.newest("worker-1")
    for _ in range(120):
        one.core.looked(
            one.time, [Seen("doctor-1", one.core.who.incarnation, 1, 1), Seen("worker-1", life, 50, 60, "T")]
        )
        one.wait(0.1)
    assert next(signal.how for signal in only(one.acts, Signal)) == "kill"
    (fork,) = only(one.die("worker-1"), Fork)
    assert fork.incarnation > life
    assert "stopped by a signal" in one.core.roster.past("worker-1").why


def test_guests_are_nobodys_to_end() -> None:
    one = started(1)
    one.beat("worker-1@elsewhere", Incarnation(launch=5), host="elsewhere")
    one.wait(5.0)
    assert [signal for signal in only(one.acts, Signal) if "elsewhere" in signal.name] == []


def test_when_all_is_to_stop_everybody_is_ended_and_nobody_started() -> None:
    one = started()
    acts = one.wish(Wish(RUNNING, "no", 2, "x"))
    assert sorted(signal.name for signal in only(acts, Signal)) == ["worker-1", "worker-2"]
    assert only(one.die("worker-1", 0), Fork) == []
