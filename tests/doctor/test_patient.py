"""The side of heartbeats that every process has."""

from __future__ import annotations

from cauce.doctor.acts import Act, Follow, Leave, Rouse, Send
from cauce.doctor.messages import Ack, Beat, Died, Epoch, Incarnation, Watch
from cauce.doctor.patient import Facts, Patient
from cauce.doctor.timing import Timing
from tests.doctor.one import only

LIFE = Incarnation(Epoch(2, "doctor-1"), 4)
DOCTORS = {"doctor-1": "a", "doctor-2": "b"}
TIMING = Timing()


def patient() -> Patient:
    return Patient("worker-1", "", LIFE, 10, 11, 0, dict(DOCTORS), TIMING)


def live(of: Patient, seconds: float, start: float = 0.0) -> list[Act]:
    acts: list[Act] = []
    time_s = start
    while time_s < start + seconds:
        acts += of.tick(time_s, Facts(progress=3, work="a job"))
        time_s += 0.05
    return acts


def test_beats_go_to_all_doctors_and_say_what_it_works_on() -> None:
    sends = only(live(patient(), 1.0), Send)
    assert {send.to for send in sends} == {"doctor-1", "doctor-2"}
    beat = sends[0].message
    assert isinstance(beat, Beat)
    assert (beat.work, beat.progress, beat.incarnation) == ("a job", 3, LIFE)
    assert len(sends) == 4


def test_a_later_incarnation_makes_it_leave() -> None:
    of = patient()
    live(of, 0.1)
    acts = of.hear("doctor-2", Ack(Epoch(), Incarnation(Epoch(3, "doctor-2"), 1)))
    assert [leave.old for leave in only(acts, Leave)] == [True]


def test_its_own_or_an_earlier_one_does_not() -> None:
    of = patient()
    for newest in (LIFE, Incarnation(Epoch(1, "doctor-9"), 99)):
        assert of.hear("doctor-1", Ack(Epoch(), newest)) == []


def test_without_any_doctor_it_starts_one() -> None:
    assert [rouse.doctor for rouse in only(live(patient(), 8.0), Rouse)] == ["doctor-1"]


def test_while_doctors_answer_it_starts_none() -> None:
    of = patient()
    acts: list[Act] = []
    for second in range(20):
        acts += live(of, 1.0, float(second))
        of.hear("doctor-2", Ack(Epoch(), LIFE))
    assert only(acts, Rouse) == []


def test_a_pause_of_its_own_is_not_held_against_the_doctors() -> None:
    of = patient()
    live(of, 0.5)
    of.hear("doctor-1", Ack(Epoch(), LIFE))
    assert only(of.tick(600.0, Facts()), Rouse) == []


def watching() -> Patient:
    of = patient()
    live(of, 0.5)
    watch = Watch("gateway-2", Incarnation(launch=3), "", 77, 78, "worker-2", "there")
    (follow,) = only(of.hear("doctor-1", Ack(Epoch(2, "doctor-1"), LIFE, {}, watch)), Follow)
    assert (follow.pid, follow.start) == (77, 78)
    return of


def test_in_a_ring_its_beats_go_to_its_successor_and_seldom_to_doctors() -> None:
    sends = only(live(watching(), 4.0, 0.5), Send)
    beats = [send for send in sends if isinstance(send.message, Beat)]
    assert sum(send.to == "worker-2" for send in beats) == 8
    assert sum(send.to == "doctor-1" for send in beats) <= 3


def test_in_a_ring_it_reports_an_end_until_it_gets_another_to_look_after() -> None:
    of = watching()
    first = only(of.ended("gateway-2", Incarnation(launch=3)), Send)
    assert {send.to for send in first} == {"doctor-1", "doctor-2"}
    again = [send.message for send in only(live(of, 1.0, 1.0), Send) if isinstance(send.message, Died)]
    assert len(again) >= 2
    assert not again[0].silent
    of.hear("doctor-1", Ack(Epoch(2, "doctor-1"), LIFE, {}, Watch("gateway-2", Incarnation(launch=4), "", 80, 81)))
    assert not [send for send in only(live(of, 1.0, 3.0), Send) if isinstance(send.message, Died)]


def test_in_a_ring_it_reports_silence_as_silence() -> None:
    told = [send.message for send in only(live(watching(), 6.0, 0.5), Send) if isinstance(send.message, Died)]
    assert told
    assert all(died.silent for died in told)


def test_an_old_leader_does_not_say_whom_to_look_after() -> None:
    of = watching()
    of.hear("doctor-2", Ack(Epoch(1, "doctor-2"), LIFE, {}, None))
    assert of.watch is not None
