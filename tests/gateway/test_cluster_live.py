"""What the cluster's page tells to whom: a job exists only for its owner, in whatever is said of processes too."""

from __future__ import annotations

from pathlib import Path

from cauce.doctor.events import Event
from cauce.doctor.view import Row
from cauce.gateway.cluster_live import LOG_BYTES, _end_of, event_for, row_for

WORKER = Row(
    "worker-1", "worker", "running", pid=7, work="maria.books-1: scan reviews, lane 0", why="x; it held maria.b: y"
)
DEATH = Event(
    1.0, "died", "worker-1", why="killed by SIGKILL; it held maria.books-1: scan", last="job done job=books-1"
)


def test_who_sits_at_the_machine_sees_all() -> None:
    assert row_for("local", WORKER) == WORKER
    assert event_for("local", DEATH) == DEATH


def test_an_owner_sees_its_own_work_and_not_that_of_others() -> None:
    assert row_for("maria", WORKER) == WORKER
    assert "books-1" not in str(row_for("juan", WORKER))
    assert "maria" not in str(row_for("juan", WORKER))
    # A name that begins like another's is another.
    assert row_for("mar", WORKER).work == ""


def test_what_doctors_do_is_no_secret() -> None:
    doctor = Row("doctor-1", "doctor", "running", pid=7, work="follows doctor-3")
    assert row_for("juan", doctor) == doctor


def test_a_death_is_told_with_its_cause_and_without_what_it_held() -> None:
    told = event_for("juan", DEATH)
    assert (told.why, told.last) == ("killed by SIGKILL", "")
    assert (told.what, told.name, told.at) == ("died", "worker-1", 1.0)


def test_of_a_long_log_the_end_is_shown_from_a_whole_line_on(tmp_path: Path) -> None:
    log = tmp_path / "worker-1.log"
    assert _end_of(log) == ""
    log.write_text("short\n")
    assert _end_of(log) == "short\n"
    lines = [f"line {number}\n" for number in range(20_000)]
    log.write_text("".join(lines))
    end = _end_of(log)
    assert len(end) <= LOG_BYTES
    assert "".join(lines).endswith(end)
    assert end.startswith("line ")
