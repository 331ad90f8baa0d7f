"""A doctor in a cluster: commands of deposed leaders, other hosts, exits and their causes."""

from __future__ import annotations

from cauce.doctor.model.actions import Exit, MonitorExit, RecordEvent, Send, Signal, StartProcess
from cauce.doctor.model.desired_state import RING, RUNNING, DesiredEntry
from cauce.doctor.model.messages import (
    Ack,
    Cause,
    Coordinator,
    Epoch,
    ExitReport,
    Generation,
    Heartbeat,
    Kill,
    Launch,
    Leader,
    ObservedProcess,
    ProcessList,
)
from cauce.doctor.supervision.reconciler import IMMEDIATE_RESTARTS, MAX_WORK_BACKOFF_S
from cauce.worker.events import Assignment
from tests.doctor.harness import TIMING, DoctorHarness, only

FIRST = Generation(launch=1)
WORK = Assignment("maria", "maria.books", "lane 1")


def follower(host: str = "", **more: object) -> DoctorHarness:
    """doctor-1, which follows doctor-2 in epoch 5."""
    counts = {("doctor", host): 2, ("worker", host): 1}
    names = [f"doctor-1@{host}" if host else "doctor-1", f"doctor-2@{host}" if host else "doctor-2"]
    one = DoctorHarness(counts, name=names[0], host=host, doctors=names, **more)  # type: ignore[arg-type]
    one.receive(names[1], Coordinator(Epoch(5, names[1])))
    return one


def test_commands_of_a_deposed_leader_are_answered_with_the_current_leader() -> None:
    one = follower()
    old = Epoch(4, "doctor-2")
    for command in (
        Launch(old, "worker-1", Generation(old, 1)),
        Kill(old, "worker-1", FIRST, "kill"),
    ):
        acts = one.receive("doctor-2", command)
        assert only(acts, StartProcess) == []
        assert only(acts, Signal) == []
        assert [send.message for send in only(acts, Send)] == [Leader(Epoch(5, "doctor-2"), "doctor-2")]


def test_a_duplicate_launch_is_executed_once() -> None:
    one = follower()
    epoch = Epoch(5, "doctor-2")
    command = Launch(epoch, "worker-1", Generation(epoch, 1))
    forks = [fork for _ in range(3) for fork in only(one.receive("doctor-2", command), StartProcess)]
    assert len(forks) == 1


def test_a_duplicate_child_does_not_count_as_an_exit() -> None:
    one = follower()
    epoch = Epoch(5, "doctor-2")
    born = Generation(epoch, 1)
    one.receive("doctor-2", Launch(epoch, "worker-1", born))
    one.core.process_started("worker-1", born, pid=70, start=7)
    one.core.duplicate_exited("worker-1", born, pid=70)
    one.core.processes_observed(one.time, [])
    instance = one.core.processes.find("worker-1", born)
    assert instance is not None
    assert instance.alive
    one.beat("worker-1", born, pid=60, start=6)
    assert instance.pid == 60
    # A late report of the duplicate must not clear the known pid.
    one.core.duplicate_exited("worker-1", born, pid=70)
    assert instance.pid == 60


def test_a_launch_of_a_stopped_process_is_rejected() -> None:
    one = follower()
    one.desire(DesiredEntry("hold.worker-1", "stopped", 1, "x"))
    epoch = Epoch(5, "doctor-2")
    assert only(one.receive("doctor-2", Launch(epoch, "worker-1", Generation(epoch, 1))), StartProcess) == []


def test_messages_of_an_older_generation_of_a_doctor_are_ignored() -> None:
    one = follower()
    one.beat("doctor-2", Generation(launch=9))
    one.receive("doctor-2", Coordinator(Epoch(8, "doctor-2")), FIRST)
    assert one.core.bully.epoch == Epoch(5, "doctor-2")


def test_an_older_generation_gets_the_reply_at_its_own_address() -> None:
    one = follower()
    epoch = Epoch(5, "doctor-2")
    one.beat("worker-1", Generation(epoch, 2))
    acts = one.receive("worker-1", only_beat(Generation(epoch, 1)), Generation(epoch, 1))
    (send,) = [send for send in only(acts, Send) if isinstance(send.message, Ack)]
    assert isinstance(send.message, Ack)
    assert send.message.newest == Generation(epoch, 2)
    assert send.address == "at-worker-1"


def only_beat(generation: Generation) -> Heartbeat:
    return Heartbeat("", generation, 7, 8, 1)


def test_a_superseded_doctor_exits() -> None:
    one = follower()
    acts = one.receive("doctor-2", Ack(Epoch(5, "doctor-2"), Generation(Epoch(5, "doctor-2"), 3)))
    assert [leave.old for leave in only(acts, Exit)] == [True]


def test_the_exit_of_a_leader_is_recorded_by_its_successor() -> None:
    one = follower()
    one.beat("doctor-2", FIRST)
    acts = one.core.exited(one.time, "doctor-2", FIRST, Cause(-9))
    assert one.core.leads
    notes = [(note.what, note.name) for note in only(acts, RecordEvent)]
    assert ("elected", "doctor-1") in notes
    assert ("crashed", "doctor-2") in notes
    assert ("restarted", "doctor-2") in notes


def test_the_record_waits_for_a_late_cause_but_the_restart_does_not() -> None:
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    instance = one.newest("worker-1")
    one.beat("worker-1", instance)
    acts = one.core.exited(one.time, "worker-1", instance)
    assert len(only(acts, StartProcess)) == 1
    assert "crashed" not in [note.what for note in only(acts, RecordEvent)]
    acts = one.receive("doctor-9", ExitReport("worker-1", instance, Cause(-11)))
    notes = [(note.what, note.reason) for note in only(acts, RecordEvent)]
    assert notes[0] == ("crashed", "killed by SIGSEGV")
    assert only(acts, RecordEvent)[0].code == -11
    assert [what for what, _ in notes] == ["crashed", "detected", "restarted"]


def test_an_exit_without_a_cause_is_recorded_as_unknown() -> None:
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    instance = one.newest("worker-1")
    one.beat("worker-1", instance, work=WORK)
    one.core.exited(one.time, "worker-1", instance)
    (crashed,) = [note for note in only(one.wait(1.0), RecordEvent) if note.what == "crashed"]
    assert (crashed.reason, crashed.held) == ("exit code unknown: its parent process had exited", WORK)


def test_recovery_is_recorded_with_its_duration() -> None:
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    one.beat("worker-1", one.newest("worker-1"))
    one.crash("worker-1")
    one.wait(0.5)
    (note,) = [
        note for note in only(one.beat("worker-1", one.newest("worker-1")), RecordEvent) if note.what == "recovered"
    ]
    assert note.after_s is not None
    assert 0.4 < note.after_s < 0.7


def test_no_reason_of_an_event_names_the_job_of_its_process() -> None:
    """The job is in fields of its own, so that it can be hidden from other owners."""
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    one.beat("worker-1", one.newest("worker-1"), work=WORK, busy=True)
    one.wait(TIMING.hung + 1.0)
    for _ in range(IMMEDIATE_RESTARTS + 3):
        one.crash("worker-1")
        one.wait(MAX_WORK_BACKOFF_S + 0.5)
        one.beat("worker-1", one.newest("worker-1"), work=WORK)
    events = [each for each in only(one.acts, RecordEvent) if each.name == "worker-1"]
    assert {each.what for each in events} >= {"hung", "crashed", "detected", "restarted", "recovered", "backoff"}
    assert {each.held.job for each in events if each.what in ("hung", "recovered", "backoff")} == {WORK.job}
    assert not [each for each in events if WORK.owner in each.reason or "books" in each.reason]


def elsewhere() -> DoctorHarness:
    """doctor-1@a leads; host b has a doctor and a worker."""
    counts = {("doctor", "a"): 1, ("doctor", "b"): 1, ("worker", "b"): 1}
    one = DoctorHarness(counts, name="doctor-1@a", host="a", doctors=["doctor-1@a", "doctor-1@b"])
    one.wait(2.0)
    assert one.core.leads
    return one


def test_a_launch_on_another_host_is_sent_to_its_doctor() -> None:
    one = elsewhere()
    assert only(one.acts, StartProcess) == []
    one.beat("doctor-1@b", FIRST, host="b")
    one.receive("doctor-1@b", ProcessList("b", [ObservedProcess("doctor-1@b", FIRST, 3, 4)]))
    asked = [send for send in only(one.wait(0.1), Send) if isinstance(send.message, Launch)]
    assert [(send.to, send.message.name) for send in asked if isinstance(send.message, Launch)] == [
        ("doctor-1@b", "worker-1@b")
    ]
    # The request was lost: retried.
    one.beat("doctor-1@b", FIRST, host="b")
    assert [send for send in only(one.wait(0.8), Send) if isinstance(send.message, Launch)]


def test_nothing_is_started_on_a_host_before_its_process_list_is_known() -> None:
    one = elsewhere()
    one.beat("doctor-1@b", FIRST, host="b")
    assert not [send for send in only(one.wait(1.0), Send) if isinstance(send.message, Launch)]


def test_only_workers_of_an_unreachable_host_are_started_here() -> None:
    one = elsewhere()
    acts = one.wait(one.core.reconciler.timing.lost + 1.0)
    assert [fork.name for fork in only(acts, StartProcess)] == ["worker-1@b"]


def test_a_process_missing_from_its_hosts_list_has_exited() -> None:
    one = elsewhere()
    instance = Generation(Epoch(1, "doctor-1@a"), 7)
    one.beat("doctor-1@b", FIRST, host="b")
    one.beat("worker-1@b", instance, host="b")
    one.wait(3.0)
    one.receive("doctor-1@b", ProcessList("b", [ObservedProcess("doctor-1@b", FIRST, 3, 4)]))
    found = one.core.processes.find("worker-1@b", instance)
    assert found is not None
    assert not found.alive


def test_an_unconfirmed_launch_does_not_supersede_a_running_instance() -> None:
    """The launch was requested, never executed, and the process was started by another one of its host."""
    one = elsewhere()
    one.beat("doctor-1@b", FIRST, host="b")
    one.receive("doctor-1@b", ProcessList("b", [ObservedProcess("doctor-1@b", FIRST, 3, 4)]))
    one.wait(0.1)
    asked = one.newest("worker-1@b")
    came = Generation(launch=77)
    assert came < asked
    acts = one.beat("worker-1@b", came, host="b")
    (ack,) = [send.message for send in only(acts, Send) if isinstance(send.message, Ack)]
    assert ack.newest == came


def test_no_launch_is_requested_from_an_exited_doctor() -> None:
    one = elsewhere()
    one.beat("doctor-1@b", FIRST, host="b")
    one.receive("doctor-1@b", ProcessList("b", [ObservedProcess("doctor-1@b", FIRST, 3, 4)]))
    one.receive("worker-1@b", ExitReport("doctor-1@b", FIRST, Cause(-9)))
    before = len(only(one.acts, Send))
    one.wait(1.0)
    launches = [send for send in only(one.acts, Send)[before:] if isinstance(send.message, Launch)]
    assert launches == []


def test_a_doctor_monitors_all_processes_in_star_mode_and_doctors_in_ring_mode() -> None:
    instance = Generation(Epoch(1, "doctor-9"), 1)
    star = follower()
    assert [follow.name for follow in only(star.beat("worker-1", instance), MonitorExit)] == ["worker-1"]
    ring = follower(watch=RING)
    assert only(ring.beat("worker-1", instance), MonitorExit) == []
    assert [follow.name for follow in only(ring.beat("doctor-2", Generation(launch=2)), MonitorExit)] == ["doctor-2"]


def test_in_ring_mode_the_leader_assigns_the_predecessor() -> None:
    one = DoctorHarness({("doctor", ""): 1, ("worker", ""): 2}, watch=RING)
    one.wait(1.0)
    for name in ("worker-1", "worker-2"):
        one.beat(name, one.newest(name))
    acts = one.beat("worker-2", one.newest("worker-2"))
    (ack,) = [send.message for send in only(acts, Send) if isinstance(send.message, Ack)]
    assert ack.watch is not None
    assert ack.watch.name == "worker-1"
    assert ack.watch.successor == "doctor-1"


def test_a_heartbeat_after_a_wrong_exit_report_marks_it_alive() -> None:
    one = DoctorHarness({("doctor", ""): 1})
    one.wait(1.0)
    instance = Generation(Epoch(1, "doctor-1"), 1)
    one.beat("worker-1@x", instance, host="x")
    one.receive("doctor-9", ExitReport("worker-1@x", instance, Cause(None, "reported by mistake")))
    one.beat("worker-1@x", instance, host="x")
    found = one.core.processes.find("worker-1@x", instance)
    assert found is not None
    assert not found.alive
    one.wait(4.0)
    one.beat("worker-1@x", instance, host="x")
    assert found.alive


def test_an_entry_is_forwarded_before_it_is_acted_upon() -> None:
    one = follower()
    one.beat("worker-1", Generation(Epoch(5, "doctor-2"), 1))
    acts = one.desire(DesiredEntry(RUNNING, "no", 2, "x"))
    kinds = [type(act) for act in acts]
    assert kinds.index(Send) < kinds.index(Signal)


def test_a_doctor_exits_last() -> None:
    one = follower()
    instance = Generation(Epoch(5, "doctor-2"), 1)
    one.beat("worker-1", instance)
    assert only(one.desire(DesiredEntry(RUNNING, "no", 2, "x")), Exit) == []
    one.core.exited(one.time, "worker-1", instance, Cause(0))
    assert [leave.old for leave in only(one.wait(0.1), Exit)] == [False]
