"""A doctor among others: commands of old leaders, other hosts, deaths and their causes."""

from __future__ import annotations

from cauce.doctor.acts import Follow, Fork, Leave, Note, Send, Signal
from cauce.doctor.desired import RING, RUNNING, Wish
from cauce.doctor.messages import (
    Ack,
    Beat,
    Cause,
    Census,
    Coordinator,
    Died,
    Epoch,
    Incarnation,
    Kill,
    Launch,
    Leader,
    Seen,
)
from tests.doctor.one import One, only

FIRST = Incarnation(launch=1)


def follower(host: str = "", **more: object) -> One:
    """doctor-1, which follows doctor-2 in epoch 5."""
    counts = {("doctor", host): 2, ("worker", host): 1}
    names = [f"doctor-1@{host}" if host else "doctor-1", f"doctor-2@{host}" if host else "doctor-2"]
    one = One(counts, name=names[0], host=host, doctors=names, **more)  # type: ignore[arg-type]
    one.hear(names[1], Coordinator(Epoch(5, names[1])))
    return one


def test_an_old_leaders_commands_are_not_obeyed_and_it_is_told_who_leads() -> None:
    one = follower()
    old = Epoch(4, "doctor-2")
    for command in (
        Launch(old, "worker-1", Incarnation(old, 1)),
        Kill(old, "worker-1", FIRST, "kill"),
    ):
        acts = one.hear("doctor-2", command)
        assert only(acts, Fork) == []
        assert only(acts, Signal) == []
        assert [send.message for send in only(acts, Send)] == [Leader(Epoch(5, "doctor-2"), "doctor-2")]


def test_a_launch_is_carried_out_once_however_often_it_is_heard() -> None:
    one = follower()
    epoch = Epoch(5, "doctor-2")
    command = Launch(epoch, "worker-1", Incarnation(epoch, 1))
    forks = [fork for _ in range(3) for fork in only(one.hear("doctor-2", command), Fork)]
    assert len(forks) == 1


def test_a_child_that_was_not_the_first_of_its_incarnation_is_no_death() -> None:
    one = follower()
    epoch = Epoch(5, "doctor-2")
    born = Incarnation(epoch, 1)
    one.hear("doctor-2", Launch(epoch, "worker-1", born))
    one.core.forked("worker-1", born, pid=70, start=7)
    one.core.twin("worker-1", born, pid=70)
    one.core.looked(one.time, [])
    life = one.core.roster.find("worker-1", born)
    assert life is not None
    assert life.alive
    one.beat("worker-1", born, pid=60, start=6)
    assert life.pid == 60
    # The child's end is told late: by then we know whom we mean.
    one.core.twin("worker-1", born, pid=70)
    assert life.pid == 60


def test_a_launch_of_what_an_operator_stopped_is_refused() -> None:
    one = follower()
    one.wish(Wish("hold.worker-1", "stopped", 1, "x"))
    epoch = Epoch(5, "doctor-2")
    assert only(one.hear("doctor-2", Launch(epoch, "worker-1", Incarnation(epoch, 1))), Fork) == []


def test_messages_of_an_earlier_life_of_a_doctor_are_not_listened_to() -> None:
    one = follower()
    one.beat("doctor-2", Incarnation(launch=9))
    one.hear("doctor-2", Coordinator(Epoch(8, "doctor-2")), FIRST)
    assert one.core.bully.epoch == Epoch(5, "doctor-2")


def test_an_older_incarnation_is_told_so_at_its_own_address() -> None:
    one = follower()
    epoch = Epoch(5, "doctor-2")
    one.beat("worker-1", Incarnation(epoch, 2))
    acts = one.hear("worker-1", only_beat(Incarnation(epoch, 1)), Incarnation(epoch, 1))
    (send,) = [send for send in only(acts, Send) if isinstance(send.message, Ack)]
    assert isinstance(send.message, Ack)
    assert send.message.newest == Incarnation(epoch, 2)
    assert send.address == "at-worker-1"


def only_beat(incarnation: Incarnation) -> Beat:
    return Beat("", incarnation, 7, 8, 1)


def test_a_doctor_that_was_replaced_leaves() -> None:
    one = follower()
    acts = one.hear("doctor-2", Ack(Epoch(5, "doctor-2"), Incarnation(Epoch(5, "doctor-2"), 3)))
    assert [leave.old for leave in only(acts, Leave)] == [True]


def test_a_dead_leader_is_noted_by_its_successor() -> None:
    one = follower()
    one.beat("doctor-2", FIRST)
    acts = one.core.exited(one.time, "doctor-2", FIRST, Cause(-9))
    assert one.core.leads
    notes = [(note.what, note.name) for note in only(acts, Note)]
    assert ("elected", "doctor-1") in notes
    assert ("died", "doctor-2") in notes
    assert ("restarted", "doctor-2") in notes


def test_a_cause_that_comes_late_is_waited_for_but_not_with_the_restart() -> None:
    one = One({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    life = one.newest("worker-1")
    one.beat("worker-1", life)
    acts = one.core.exited(one.time, "worker-1", life)
    assert len(only(acts, Fork)) == 1
    assert "died" not in [note.what for note in only(acts, Note)]
    acts = one.hear("doctor-9", Died("worker-1", life, Cause(-11)))
    told = [(note.what, note.why) for note in only(acts, Note)]
    assert told[0] == ("died", "killed by SIGSEGV")
    assert [what for what, _ in told] == ["died", "detected", "restarted"]


def test_without_a_cause_it_is_said_that_there_is_none() -> None:
    one = One({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    life = one.newest("worker-1")
    one.beat("worker-1", life, work="books: lane 1")
    one.core.exited(one.time, "worker-1", life)
    (died,) = [note for note in only(one.wait(1.0), Note) if note.what == "died"]
    assert died.why == "cause not known: its parent had died; it held books: lane 1"


def test_who_is_back_is_noted_with_how_long_it_took() -> None:
    one = One({("doctor", ""): 1, ("worker", ""): 1})
    one.wait(1.0)
    one.beat("worker-1", one.newest("worker-1"))
    one.die("worker-1")
    one.wait(0.5)
    (note,) = [note for note in only(one.beat("worker-1", one.newest("worker-1")), Note) if note.what == "caught up"]
    assert note.after_s is not None
    assert 0.4 < note.after_s < 0.7


def elsewhere() -> One:
    """doctor-1@a leads; host b has a doctor and a worker."""
    counts = {("doctor", "a"): 1, ("doctor", "b"): 1, ("worker", "b"): 1}
    one = One(counts, name="doctor-1@a", host="a", doctors=["doctor-1@a", "doctor-1@b"])
    one.wait(2.0)
    assert one.core.leads
    return one


def test_on_another_host_its_doctor_is_asked() -> None:
    one = elsewhere()
    assert only(one.acts, Fork) == []
    one.beat("doctor-1@b", FIRST, host="b")
    one.hear("doctor-1@b", Census("b", [Seen("doctor-1@b", FIRST, 3, 4)]))
    asked = [send for send in only(one.wait(0.1), Send) if isinstance(send.message, Launch)]
    assert [(send.to, send.message.name) for send in asked if isinstance(send.message, Launch)] == [
        ("doctor-1@b", "worker-1@b")
    ]
    # Lost on the way: said again.
    one.beat("doctor-1@b", FIRST, host="b")
    assert [send for send in only(one.wait(0.8), Send) if isinstance(send.message, Launch)]


def test_nothing_is_started_on_another_host_before_it_has_told_who_lives_there() -> None:
    one = elsewhere()
    one.beat("doctor-1@b", FIRST, host="b")
    assert not [send for send in only(one.wait(1.0), Send) if isinstance(send.message, Launch)]


def test_workers_of_a_host_that_is_lost_are_started_here_and_others_wait() -> None:
    one = elsewhere()
    acts = one.wait(one.core.keeper.timing.lost + 1.0)
    assert [fork.name for fork in only(acts, Fork)] == ["worker-1@b"]


def test_a_life_that_its_host_does_not_know_of_has_ended() -> None:
    one = elsewhere()
    life = Incarnation(Epoch(1, "doctor-1@a"), 7)
    one.beat("doctor-1@b", FIRST, host="b")
    one.beat("worker-1@b", life, host="b")
    one.wait(3.0)
    one.hear("doctor-1@b", Census("b", [Seen("doctor-1@b", FIRST, 3, 4)]))
    found = one.core.roster.find("worker-1@b", life)
    assert found is not None
    assert not found.alive


def test_who_was_asked_for_in_vain_does_not_drive_out_who_came_by_itself() -> None:
    """A doctor is asked to start another, dies before it does, and somebody on its host starts one."""
    one = elsewhere()
    one.beat("doctor-1@b", FIRST, host="b")
    one.hear("doctor-1@b", Census("b", [Seen("doctor-1@b", FIRST, 3, 4)]))
    one.wait(0.1)
    asked = one.newest("worker-1@b")
    came = Incarnation(launch=77)
    assert came < asked
    acts = one.beat("worker-1@b", came, host="b")
    (ack,) = [send.message for send in only(acts, Send) if isinstance(send.message, Ack)]
    assert ack.newest == came


def test_a_dead_doctor_is_not_asked_to_start_anybody() -> None:
    one = elsewhere()
    one.beat("doctor-1@b", FIRST, host="b")
    one.hear("doctor-1@b", Census("b", [Seen("doctor-1@b", FIRST, 3, 4)]))
    one.hear("worker-1@b", Died("doctor-1@b", FIRST, Cause(-9)))
    before = len(only(one.acts, Send))
    one.wait(1.0)
    launches = [send for send in only(one.acts, Send)[before:] if isinstance(send.message, Launch)]
    assert launches == []


def test_ends_on_the_own_host_are_followed_in_a_star_and_in_a_ring_those_of_doctors() -> None:
    life = Incarnation(Epoch(1, "doctor-9"), 1)
    star = follower()
    assert [follow.name for follow in only(star.beat("worker-1", life), Follow)] == ["worker-1"]
    ring = follower(watch=RING)
    assert only(ring.beat("worker-1", life), Follow) == []
    assert [follow.name for follow in only(ring.beat("doctor-2", Incarnation(launch=2)), Follow)] == ["doctor-2"]


def test_in_a_ring_the_leader_tells_each_whom_to_look_after() -> None:
    one = One({("doctor", ""): 1, ("worker", ""): 2}, watch=RING)
    one.wait(1.0)
    for name in ("worker-1", "worker-2"):
        one.beat(name, one.newest(name))
    acts = one.beat("worker-2", one.newest("worker-2"))
    (ack,) = [send.message for send in only(acts, Send) if isinstance(send.message, Ack)]
    assert ack.watch is not None
    assert ack.watch.name == "worker-1"
    assert ack.watch.successor == "doctor-1"


def test_who_was_believed_dead_and_is_heard_lives() -> None:
    one = One({("doctor", ""): 1})
    one.wait(1.0)
    life = Incarnation(Epoch(1, "doctor-1"), 1)
    one.beat("worker-1@x", life, host="x")
    one.hear("doctor-9", Died("worker-1@x", life, Cause(None, "somebody said so")))
    one.beat("worker-1@x", life, host="x")
    found = one.core.roster.find("worker-1@x", life)
    assert found is not None
    assert not found.alive
    one.wait(4.0)
    one.beat("worker-1@x", life, host="x")
    assert found.alive


def test_a_wish_is_told_on_before_it_is_acted_upon() -> None:
    one = follower()
    one.beat("worker-1", Incarnation(Epoch(5, "doctor-2"), 1))
    acts = one.wish(Wish(RUNNING, "no", 2, "x"))
    kinds = [type(act) for act in acts]
    assert kinds.index(Send) < kinds.index(Signal)


def test_a_doctor_leaves_last() -> None:
    one = follower()
    life = Incarnation(Epoch(5, "doctor-2"), 1)
    one.beat("worker-1", life)
    assert only(one.wish(Wish(RUNNING, "no", 2, "x")), Leave) == []
    one.core.exited(one.time, "worker-1", life, Cause(0))
    assert [leave.old for leave in only(one.wait(0.1), Leave)] == [False]
