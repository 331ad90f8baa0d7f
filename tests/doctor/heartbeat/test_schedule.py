"""The heartbeat state machine of a process."""

from __future__ import annotations

from cauce.doctor.heartbeat.schedule import HeartbeatReport, HeartbeatSchedule
from cauce.doctor.model.actions import Action, Exit, MonitorExit, Send, StartDoctor
from cauce.doctor.model.messages import Ack, Epoch, ExitReport, Generation, Heartbeat, ProcessIdentity, RingAssignment
from cauce.doctor.model.timing import Timing
from cauce.worker.events import Assignment
from tests.doctor.harness import only

FIRST = Generation(Epoch(2, "doctor-1"), 4)
DOCTORS = {"doctor-1": "a", "doctor-2": "b"}
TIMING = Timing()


def heartbeat() -> HeartbeatSchedule:
    return HeartbeatSchedule(ProcessIdentity("worker-1", "", FIRST, 10, 11), dict(DOCTORS), TIMING)


def live(of: HeartbeatSchedule, seconds: float, start: float = 0.0) -> list[Action]:
    acts: list[Action] = []
    time_s = start
    while time_s < start + seconds:
        acts += of.tick(time_s, HeartbeatReport(progress=3, work=Assignment(task="a job")))
        time_s += 0.05
    return acts


def test_heartbeats_go_to_all_doctors_and_contain_the_work() -> None:
    sends = only(live(heartbeat(), 1.0), Send)
    assert {send.to for send in sends} == {"doctor-1", "doctor-2"}
    beat = sends[0].message
    assert isinstance(beat, Heartbeat)
    assert (beat.work, beat.progress, beat.generation) == (Assignment(task="a job"), 3, FIRST)
    assert len(sends) == 4


def test_a_newer_generation_makes_it_exit() -> None:
    of = heartbeat()
    live(of, 0.1)
    acts = of.receive("doctor-2", Ack(Epoch(), Generation(Epoch(3, "doctor-2"), 1)))
    assert [leave.old for leave in only(acts, Exit)] == [True]


def test_its_own_or_an_older_generation_does_not_make_it_exit() -> None:
    of = heartbeat()
    for newest in (FIRST, Generation(Epoch(1, "doctor-9"), 99)):
        assert of.receive("doctor-1", Ack(Epoch(), newest)) == []


def test_it_starts_a_doctor_if_none_responds() -> None:
    assert [rouse.doctor for rouse in only(live(heartbeat(), 8.0), StartDoctor)] == ["doctor-1"]


def test_it_starts_no_doctor_while_doctors_respond() -> None:
    of = heartbeat()
    acts: list[Action] = []
    for second in range(20):
        acts += live(of, 1.0, float(second))
        of.receive("doctor-2", Ack(Epoch(), FIRST))
    assert only(acts, StartDoctor) == []


def test_its_own_pause_does_not_count_as_silence_of_the_doctors() -> None:
    of = heartbeat()
    live(of, 0.5)
    of.receive("doctor-1", Ack(Epoch(), FIRST))
    assert only(of.tick(600.0, HeartbeatReport()), StartDoctor) == []


def watching() -> HeartbeatSchedule:
    of = heartbeat()
    live(of, 0.5)
    watch = RingAssignment("gateway-2", Generation(launch=3), "", 77, 78, "worker-2", "there")
    (follow,) = only(of.receive("doctor-1", Ack(Epoch(2, "doctor-1"), FIRST, {}, watch)), MonitorExit)
    assert (follow.pid, follow.start) == (77, 78)
    return of


def test_in_ring_mode_heartbeats_go_to_the_successor_and_rarely_to_doctors() -> None:
    sends = only(live(watching(), 4.0, 0.5), Send)
    beats = [send for send in sends if isinstance(send.message, Heartbeat)]
    assert sum(send.to == "worker-2" for send in beats) == 8
    assert sum(send.to == "doctor-1" for send in beats) <= 3


def test_in_ring_mode_it_reports_an_exit_until_it_gets_a_new_predecessor() -> None:
    of = watching()
    first = only(of.exited("gateway-2", Generation(launch=3)), Send)
    assert {send.to for send in first} == {"doctor-1", "doctor-2"}
    again = [send.message for send in only(live(of, 1.0, 1.0), Send) if isinstance(send.message, ExitReport)]
    assert len(again) >= 2
    assert not again[0].silent
    of.receive(
        "doctor-1", Ack(Epoch(2, "doctor-1"), FIRST, {}, RingAssignment("gateway-2", Generation(launch=4), "", 80, 81))
    )
    assert not [send for send in only(live(of, 1.0, 3.0), Send) if isinstance(send.message, ExitReport)]


def test_in_ring_mode_a_timeout_is_reported_as_silence() -> None:
    reports = [send.message for send in only(live(watching(), 6.0, 0.5), Send) if isinstance(send.message, ExitReport)]
    assert reports
    assert all(crashed.silent for crashed in reports)


def test_a_deposed_leader_cannot_change_the_ring() -> None:
    of = watching()
    of.receive("doctor-2", Ack(Epoch(1, "doctor-2"), FIRST, {}, None))
    assert of.watch is not None
