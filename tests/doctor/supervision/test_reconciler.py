"""Reconciliation: which processes are started, terminated, restarted with backoff or left alone."""

from __future__ import annotations

import pytest

from cauce.doctor.model.actions import RecordDesired, RecordEvent, Signal, StartProcess
from cauce.doctor.model.desired_state import RUNNING, STOPPED, DesiredEntry, count_key, hold_key
from cauce.doctor.model.messages import Cause, Generation, ObservedProcess
from cauce.doctor.model.status import ProcessStatus
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision.reconciler import MAX_LAST_WORKER_BACKOFF_S, MAX_WORK_BACKOFF_S, backoff_s
from cauce.doctor.supervision.status_builder import rows_of
from cauce.worker.events import EXIT_FULL, EXIT_OLD, Assignment
from tests.doctor.harness import DoctorHarness, only

WORK = Assignment("maria", "maria.books", "lane 3")
WORKERS = {("doctor", ""): 1, ("worker", ""): 2}


def started(workers: int = 2) -> DoctorHarness:
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): workers})
    one.wait(1.0)
    for number in range(1, workers + 1):
        one.beat(f"worker-{number}", one.newest(f"worker-{number}"))
    one.wait(0.1)
    return one


def test_each_desired_process_is_started_once() -> None:
    one = DoctorHarness(WORKERS)
    one.wait(3.0)
    assert sorted(fork.name for fork in only(one.acts, StartProcess)) == ["worker-1", "worker-2"]


def test_nothing_is_started_before_the_desired_state_is_known() -> None:
    one = DoctorHarness()
    one.wait(3.0)
    assert one.core.leads
    assert only(one.acts, StartProcess) == []


def test_a_crashed_process_is_restarted_at_once_with_a_newer_generation() -> None:
    one = started()
    before = one.newest("worker-1")
    (fork,) = only(one.crash("worker-1"), StartProcess)
    assert fork.name == "worker-1"
    assert fork.generation > before
    assert fork.restarts == 1


def test_a_process_stopped_by_an_operator_stays_stopped() -> None:
    one = started()
    (signal,) = only(one.desire(DesiredEntry(hold_key("worker-1"), STOPPED, 1, "x")), Signal)
    assert (signal.name, signal.how) == ("worker-1", "term")
    assert only(one.crash("worker-1", 0), StartProcess) == []
    assert only(one.wait(30.0), StartProcess) == []
    assert [fork.name for fork in only(one.desire(DesiredEntry(hold_key("worker-1"), "", 2, "x")), StartProcess)] == [
        "worker-1"
    ]


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    one = started()
    one.desire(DesiredEntry(hold_key("worker-1"), STOPPED, 1, "x"))
    assert [signal.how for signal in only(one.wait(one.core.reconciler.timing.stop + 0.3), Signal)] == ["kill"]


def test_scaling_down_terminates_the_last_process() -> None:
    one = started()
    (signal,) = only(one.desire(DesiredEntry(count_key("worker"), "1", 2, "x")), Signal)
    assert signal.name == "worker-2"
    one.crash("worker-2", 0)
    assert only(one.wait(5.0), StartProcess) == []


def crash(one: DoctorHarness, times: int, code: int = -9) -> list[float]:
    """Crashes worker-1 right after each start. Returns the backoff before each restart."""
    pauses: list[float] = []
    for _ in range(times):
        one.beat("worker-1", one.newest("worker-1"))
        one.crash("worker-1", code)
        crashed = one.time
        while not one.alive("worker-1"):
            one.wait(0.1)
        pauses.append(round(one.time - crashed, 1))
    return pauses


def row(one: DoctorHarness, name: str) -> ProcessStatus:
    return next(each for each in rows_of(one.core) if each.name == name)


def test_the_backoff_doubles_with_each_crash_up_to_a_limit() -> None:
    assert [backoff_s(crashes, 60.0) for crashes in range(1, 12)] == [0, 0, 0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff_s(10_000, 60.0) == 60.0


def test_a_process_that_keeps_crashing_is_always_restarted() -> None:
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 1}, timing=Timing(backoff=2.0))
    one.wait(1.0)
    pauses = crash(one, 12)
    assert pauses[:5] == pytest.approx([0, 0, 0.5, 1, 2], abs=0.11)
    assert pauses[5:] == pytest.approx([2] * 7, abs=0.11)
    assert only(one.acts, RecordDesired) == []


def test_the_last_worker_of_a_service_has_a_short_backoff() -> None:
    one = started(1)
    pauses = crash(one, 12)
    assert pauses[:5] == pytest.approx([0, 0, 0.5, 1, 2], abs=0.11)
    assert pauses[5:] == pytest.approx([MAX_LAST_WORKER_BACKOFF_S] * 7, abs=0.11)
    one.beat("worker-1", one.newest("worker-1"))
    one.crash("worker-1")
    assert row(one, "worker-1").restart_in_s == MAX_LAST_WORKER_BACKOFF_S


def test_a_worker_in_backoff_is_started_when_it_becomes_the_last() -> None:
    one = started(2)
    crash(one, 7)
    one.beat("worker-2", one.newest("worker-2"))
    one.beat("worker-1", one.newest("worker-1"))
    one.crash("worker-1")
    assert only(one.wait(MAX_LAST_WORKER_BACKOFF_S + 0.5), StartProcess) == []
    one.desire(DesiredEntry(hold_key("worker-2"), STOPPED, 1, "x"))
    assert [fork.name for fork in only(one.crash("worker-2", 0), StartProcess)] == ["worker-1"]


def test_the_last_gateway_has_the_full_backoff() -> None:
    one = DoctorHarness({("doctor", ""): 1, ("gateway", ""): 1})
    one.wait(1.0)
    for _ in range(7):
        one.beat("gateway-1", one.newest("gateway-1"))
        one.crash("gateway-1")
        one.wait(8.1)
    one.crash("gateway-1")
    assert row(one, "gateway-1").restart_in_s == 16.0


def test_crashes_at_work_on_a_job_have_a_short_backoff() -> None:
    one = started(2)
    pauses: list[float] = []
    for _ in range(20):
        one.beat("worker-2", one.newest("worker-2"))
        one.beat("worker-1", one.newest("worker-1"), work=WORK)
        one.crash("worker-1")
        crashed = one.time
        while not one.alive("worker-1"):
            one.wait(0.1)
        pauses.append(round(one.time - crashed, 1))
    assert pauses == pytest.approx([0, 0, 0.5] + [MAX_WORK_BACKOFF_S] * 17, abs=0.11)
    assert only(one.acts, RecordDesired) == []
    assert one.core.desired.state.held == {}


def test_crashes_at_work_do_not_count_as_crashes_at_the_start() -> None:
    one = started(2)
    for _ in range(10):
        one.beat("worker-1", one.newest("worker-1"), work=WORK)
        one.crash("worker-1")
        one.wait(1.2)
    one.beat("worker-1", one.newest("worker-1"))
    assert len(only(one.crash("worker-1"), StartProcess)) == 1


def test_kills_of_a_healthy_process_never_delay_its_restart() -> None:
    one = started(1)
    for _ in range(20):
        for _ in range(6):
            one.beat("worker-1", one.newest("worker-1"))
            one.wait(1.0)
        assert len(only(one.crash("worker-1"), StartProcess)) == 1
    assert [note for note in only(one.acts, RecordEvent) if note.what == "backoff"] == []


def test_time_before_ready_does_not_reset_the_backoff() -> None:
    one = started(1)
    for _ in range(2):
        one.wait(10.0)
        one.beat("worker-1", one.newest("worker-1"), ready=False)
        one.crash("worker-1")
    one.wait(10.0)
    assert only(one.crash("worker-1"), StartProcess) == []


def test_a_healthy_run_resets_the_backoff() -> None:
    one = started(1)
    assert crash(one, 4)[-1] >= 0.9
    for _ in range(6):
        one.beat("worker-1", one.newest("worker-1"))
        one.wait(1.0)
    assert len(only(one.crash("worker-1"), StartProcess)) == 1
    assert row(one, "worker-1").crashes == 1


def test_a_delayed_restart_is_shown_with_its_reason() -> None:
    one = started(2)
    crash(one, 6)
    one.beat("worker-1", one.newest("worker-1"))
    one.crash("worker-1")
    shown = row(one, "worker-1")
    assert (shown.state, shown.crashes, shown.restart_in_s) == ("restarting", 7, 8.0)
    assert shown.reason == "it crashed 7 times, last: killed by SIGKILL"
    notes = [note for note in only(one.acts, RecordEvent) if note.what == "backoff"]
    assert notes[-1].reason == "restarting in 8 s: it crashed 7 times, last: killed by SIGKILL"
    one.wait(8.1)
    assert (row(one, "worker-1").state, row(one, "worker-1").restart_in_s) == ("starting", None)


def test_a_start_by_an_operator_resets_the_backoff() -> None:
    one = started(1)
    crash(one, 6)
    assert only(one.crash("worker-1"), StartProcess) == []
    assert [fork.name for fork in only(one.desire(DesiredEntry(hold_key("worker-1"), "", 1, "x")), StartProcess)] == [
        "worker-1"
    ]
    assert crash(one, 2) == [0.0, 0.0]


def test_a_duplicate_start_does_not_reset_the_backoff_again() -> None:
    one = started(1)
    start = DesiredEntry(hold_key("worker-1"), "", 1, "x")
    one.desire(start)
    crash(one, 6)
    one.crash("worker-1")
    assert only(one.desire(start), StartProcess) == []
    assert row(one, "worker-1").state == "restarting"


@pytest.mark.parametrize("code", [EXIT_FULL, EXIT_OLD])
def test_a_full_disk_and_an_old_generation_do_not_count_as_crashes(code: int) -> None:
    one = started(1)
    assert max(crash(one, 7, code)) <= one.core.reconciler.timing.full + 0.2
    assert one.core.processes.history("worker-1").crashes == 0


def test_a_late_cause_can_uncount_a_crash() -> None:
    one = started(1)
    instance = one.newest("worker-1")
    one.core.exited(one.time, "worker-1", instance)
    assert one.core.processes.history("worker-1").crashes == 1
    one.core.exited(one.time, "worker-1", instance, Cause(EXIT_FULL))
    assert one.core.processes.history("worker-1").crashes == 0


def test_a_process_that_found_the_disk_full_is_restarted_after_a_delay() -> None:
    one = started(1)
    assert only(one.crash("worker-1", EXIT_FULL), StartProcess) == []
    assert len(only(one.wait(one.core.reconciler.timing.full + 0.2), StartProcess)) == 1


def test_a_hung_process_writes_its_stack_before_it_is_killed() -> None:
    timing = Timing(hung=5.0)
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 1}, timing=timing)
    one.wait(1.0)
    one.beat("worker-1", one.newest("worker-1"), work=WORK)
    acts = one.wait(7.0)
    assert [signal.how for signal in only(acts, Signal)][:2] == ["stack", "kill"]
    (note,) = [note for note in only(acts, RecordEvent) if note.what == "hung"]
    assert note.held == WORK
    assert WORK.job not in note.reason


def test_a_stopped_process_is_killed_and_replaced() -> None:
    one = started(1)
    instance = one.newest("worker-1")
    for _ in range(120):
        one.core.processes_observed(
            one.time,
            [
                ObservedProcess("doctor-1", one.core.who.generation, 1, 1),
                ObservedProcess("worker-1", instance, 50, 60, "T"),
            ],
        )
        one.wait(0.1)
    assert next(signal.how for signal in only(one.acts, Signal)) == "kill"
    (fork,) = only(one.crash("worker-1"), StartProcess)
    assert fork.generation > instance
    assert "stopped by a signal" in one.core.processes.history("worker-1").why


def test_a_process_not_started_by_a_leader_is_not_terminated() -> None:
    one = started(1)
    one.beat("worker-1@elsewhere", Generation(launch=5), host="elsewhere")
    one.wait(5.0)
    assert [signal for signal in only(one.acts, Signal) if "elsewhere" in signal.name] == []


def test_stopping_the_service_terminates_all_and_starts_none() -> None:
    one = started()
    acts = one.desire(DesiredEntry(RUNNING, "no", 2, "x"))
    assert sorted(signal.name for signal in only(acts, Signal)) == ["worker-1", "worker-2"]
    assert only(one.crash("worker-1", 0), StartProcess) == []
