"""What of the cluster is told to whom: a job exists only for its owner, in whatever is said of processes too."""

from __future__ import annotations

from cauce.doctor.events import Event
from cauce.doctor.view import Row
from cauce.gateway.discretion import events_for, rows_for

WORKER = Row(
    "worker-1", "worker", "running", pid=7, work="maria.books-1: scan reviews, lane 0", why="x; it held maria.b: y"
)
DEATH = Event(
    1.0, "died", "worker-1", why="killed by SIGKILL; it held maria.books-1: scan", last="job done job=books-1"
)


def seen_by(owner: str, row: Row) -> Row:
    (shown,) = rows_for(owner, [row])
    return shown


def told_to(owner: str, event: Event) -> Event:
    (shown,) = events_for(owner, [event])
    return shown


def test_who_sits_at_the_machine_sees_all() -> None:
    assert seen_by("local", WORKER) == WORKER
    assert told_to("local", DEATH) == DEATH


def test_an_owner_sees_its_own_work_and_not_that_of_others() -> None:
    assert seen_by("maria", WORKER) == WORKER
    assert "books-1" not in str(seen_by("juan", WORKER))
    assert "maria" not in str(seen_by("juan", WORKER))
    # A name that begins like another's is another.
    assert seen_by("mar", WORKER).work == ""


def test_what_doctors_do_is_no_secret() -> None:
    doctor = Row("doctor-1", "doctor", "running", pid=7, work="follows doctor-3")
    assert seen_by("juan", doctor) == doctor


def test_a_death_is_told_with_its_cause_and_without_what_it_held() -> None:
    told = told_to("juan", DEATH)
    assert (told.why, told.last) == ("killed by SIGKILL", "")
    assert (told.what, told.name, told.at) == ("died", "worker-1", 1.0)
