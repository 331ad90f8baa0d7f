"""Leader election: the winner, leader changes, and messages of deposed leaders."""

from __future__ import annotations

from cauce.doctor.election.bully import Bully, ElectionState
from cauce.doctor.model.actions import Send
from cauce.doctor.model.messages import Coordinator, Election, Epoch, Leader, Ok
from cauce.doctor.model.timing import Timing

TIMING = Timing()
NAMES = ["doctor-1", "doctor-2", "doctor-3"]


class Room:
    """Doctors connected by a network without delay, except those in `away`."""

    def __init__(self, names: list[str] = NAMES) -> None:
        self.now = 0.0
        self.doctors = {name: Bully(name, NAMES, TIMING, 0.0) for name in names}
        self.away: set[str] = set()
        for name, doctor in self.doctors.items():
            self.carry(name, doctor.start(0.0))

    def carry(self, sender: str, sends: list[Send]) -> None:
        for send in sends:
            if send.to in self.doctors and not {sender, send.to} & self.away:
                self.carry(send.to, self.doctors[send.to].receive(self.now, sender, send.message))

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += TIMING.tick
            for name, doctor in self.doctors.items():
                if name not in self.away:
                    self.carry(name, doctor.tick(self.now))

    def leaders(self) -> set[str]:
        return {doctor.leader for name, doctor in self.doctors.items() if name not in self.away}


def test_the_highest_doctor_is_elected_if_there_is_no_leader() -> None:
    room = Room()
    room.wait(2.0)
    assert room.leaders() == {"doctor-3"}


def test_a_single_doctor_elects_itself() -> None:
    room = Room(["doctor-1"])
    room.wait(2.0)
    assert room.leaders() == {"doctor-1"}


def test_a_silent_leader_is_replaced_after_a_timeout() -> None:
    room = Room()
    room.wait(1.0)
    room.away.add("doctor-3")
    room.wait(TIMING.leader_silence + TIMING.ok + TIMING.coordinator + 1.0)
    assert room.leaders() == {"doctor-2"}


def test_a_leader_known_to_have_exited_is_replaced_at_once() -> None:
    room = Room()
    room.wait(1.0)
    room.away.add("doctor-3")
    for name in ("doctor-1", "doctor-2"):
        room.carry(name, room.doctors[name].peer_exited(room.now, "doctor-3"))
    assert room.leaders() == {"doctor-2"}


def test_a_higher_doctor_that_returns_follows_the_current_leader() -> None:
    room = Room(["doctor-1", "doctor-2"])
    room.wait(2.0)
    assert room.leaders() == {"doctor-2"}
    before = room.doctors["doctor-2"].epoch
    late = room.doctors["doctor-3"] = Bully("doctor-3", NAMES, TIMING, room.now)
    room.carry("doctor-3", late.start(room.now))
    room.wait(5.0)
    assert room.leaders() == {"doctor-2"}
    assert late.epoch == before


def test_of_two_leaders_the_one_with_the_higher_epoch_stays() -> None:
    room = Room()
    room.wait(1.0)
    room.away.add("doctor-3")
    room.wait(5.0)
    old, new = room.doctors["doctor-3"], room.doctors["doctor-2"]
    assert old.leads
    assert new.leads
    assert new.epoch > old.epoch
    room.away.clear()
    room.wait(1.0)
    assert room.leaders() == {"doctor-2"}
    assert old.state is ElectionState.FOLLOWING


def test_concurrent_winners_get_different_epochs() -> None:
    one, other = (
        Bully("doctor-1", NAMES, TIMING, 0.0, Epoch(4, "x")),
        Bully("doctor-2", NAMES, TIMING, 0.0, Epoch(4, "x")),
    )
    one._win(0.0)
    other._win(0.0)
    assert one.epoch.number == other.epoch.number == 5
    assert one.epoch != other.epoch


def test_a_lower_doctor_waits_for_a_higher_one_that_answers() -> None:
    lower = Bully("doctor-1", NAMES, TIMING, 0.0)
    lower.tick(TIMING.listen)
    assert lower.state is ElectionState.ELECTING
    lower.receive(0.7, "doctor-2", Ok(Epoch()))
    assert lower.state is ElectionState.WAITING
    lower.receive(0.8, "doctor-2", Coordinator(Epoch(1, "doctor-2")))
    assert lower.leader == "doctor-2"


def test_a_higher_doctor_that_answered_and_exited_is_not_waited_for() -> None:
    lower = Bully("doctor-1", ["doctor-1", "doctor-2"], TIMING, 0.0)
    lower.tick(TIMING.listen)
    lower.receive(0.7, "doctor-2", Ok(Epoch()))
    lower.peer_exited(0.71, "doctor-2")
    assert lower.leads


def test_an_election_message_makes_a_higher_doctor_start_its_own() -> None:
    higher = Bully("doctor-2", ["doctor-1", "doctor-2"], TIMING, 0.0)
    replies = higher.receive(0.1, "doctor-1", Election(Epoch(3, "doctor-1")))
    assert [type(each.message) for each in replies] == [Ok]
    assert higher.tick(TIMING.listen)
    assert higher.leads
    assert higher.epoch > Epoch(3, "doctor-1")


def test_a_leader_that_other_doctors_hear_is_not_replaced() -> None:
    """The link between two doctors is broken, and a third one reaches both."""
    cut_off = Bully("doctor-3", NAMES, TIMING, 0.0)
    cut_off.receive(0.0, "doctor-1", Leader(Epoch(1, "doctor-1"), "doctor-1"))
    now = TIMING.leader_silence + 0.1
    asked = cut_off.tick(now)
    assert all(isinstance(each.message, Leader) and each.message.asking for each in asked)
    cut_off.receive(now + 0.01, "doctor-2", Leader(Epoch(1, "doctor-1"), "doctor-1"))
    cut_off.tick(now + TIMING.ok)
    assert cut_off.leader == "doctor-1"


def test_a_relayed_announcement_does_not_revive_an_exited_leader() -> None:
    doctor = Bully("doctor-2", NAMES, TIMING, 0.0)
    doctor.receive(0.0, "doctor-3", Leader(Epoch(1, "doctor-3"), "doctor-3"))
    doctor.peer_exited(0.1, "doctor-3")
    doctor.receive(0.2, "doctor-1", Leader(Epoch(1, "doctor-3"), "doctor-3"))
    assert doctor.leader == "doctor-2"


def test_a_leader_that_learns_of_a_higher_epoch_starts_an_election() -> None:
    leader = Bully("doctor-1", ["doctor-1"], TIMING, 0.0)
    leader.tick(TIMING.listen)
    assert leader.leads
    leader.note_epoch(Epoch(9, "doctor-2"))
    leader.tick(1.0)
    leader.tick(2.0)
    assert leader.leads
    assert leader.epoch.number == 10


def test_messages_of_unknown_doctors_are_ignored() -> None:
    doctor = Bully("doctor-1", NAMES, TIMING, 0.0)
    assert doctor.receive(0.0, "doctor-9", Coordinator(Epoch(7, "doctor-9"))) == []
    assert doctor.leader == ""
