"""The leader's plan: who is started, ended, parked and left alone."""

from __future__ import annotations

import pytest

from cauce.doctor.acts import Fork, Note, Record, Signal
from cauce.doctor.desired import PARKED, RUNNING, STOPPED, Wish, count_key, hold_key
from cauce.doctor.messages import Incarnation, Seen
from cauce.doctor.timing import Timing
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


def die_at_once(one: One, times: int, code: int = -9) -> None:
    for _ in range(times):
        one.beat("worker-1", one.newest("worker-1"))
        one.die("worker-1", code)
        # Longer than the longest pause before a start.
        one.wait(3.0)


def test_five_deaths_in_a_row_park_a_process_visibly() -> None:
    one = started(1)
    die_at_once(one, 5)
    (wish,) = [record.wish for record in only(one.acts, Record)]
    assert (wish.key, wish.value) == (hold_key("worker-1"), PARKED)
    assert "5 times" in wish.why
    assert "SIGKILL" in wish.why
    assert [note.what for note in only(one.acts, Note)].count("parked") == 1
    forks = len(only(one.acts, Fork))
    one.wait(60.0)
    assert len(only(one.acts, Fork)) == forks


def test_four_deaths_do_not() -> None:
    one = started(1)
    die_at_once(one, 4)
    one.wait(5.0)
    assert only(one.acts, Record) == []


def test_healthy_time_alone_makes_deaths_older() -> None:
    one = started(1)
    die_at_once(one, 4)
    # Not a minute of being dead or starting …
    one.wait(70.0)
    assert one.core.roster.past("worker-1").recent(60.0) == 4
    # … but a minute of health.
    for _ in range(65):
        one.beat("worker-1", one.newest("worker-1"))
        one.wait(1.0)
    die_at_once(one, 1)
    assert only(one.acts, Record) == []
    assert one.core.roster.past("worker-1").recent(60.0) == 1


@pytest.mark.parametrize("code", [EXIT_FULL, EXIT_OLD])
def test_a_full_disk_and_an_old_incarnation_are_no_deaths(code: int) -> None:
    one = started(1)
    die_at_once(one, 7, code)
    assert only(one.acts, Record) == []


def test_who_found_the_disk_full_is_started_after_a_pause() -> None:
    one = started(1)
    assert only(one.die("worker-1", EXIT_FULL), Fork) == []
    assert len(only(one.wait(one.core.keeper.timing.full + 0.2), Fork)) == 1


def test_quick_deaths_are_followed_by_growing_pauses() -> None:
    one = started(1)
    waits: list[float] = []
    for _ in range(4):
        one.die("worker-1")
        begun, forks = one.time, len(only(one.acts, Fork))
        while len(only(one.acts, Fork)) == forks and one.time - begun < 5 and one.newest("worker-1"):
            life = one.core.roster.newest("worker-1")
            if life is not None and life.alive:
                break
            one.wait(0.1)
        waits.append(round(one.time - begun, 1))
    assert waits == sorted(waits)
    assert waits[0] == 0.0
    assert waits[-1] >= 0.9


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
