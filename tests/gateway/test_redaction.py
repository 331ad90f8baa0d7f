"""Redaction of the cluster's state: a job is visible only to its owner, in rows and events."""

from __future__ import annotations

import msgspec
import pytest

from cauce.doctor.model.status import ProcessStatus
from cauce.doctor.supervision.events import Event
from cauce.gateway.redaction import events_for, rows_for

WORKER = ProcessStatus(
    "worker-1",
    "worker",
    "hung",
    pid=7,
    owner="maria",
    job="maria.books-1",
    work="scan reviews, lane 0",
    reason="it has work and made no progress for 60 s",
)
DEATH = Event(
    1.0,
    "crashed",
    "worker-1",
    reason="killed by SIGKILL",
    owner="maria",
    job="maria.books-1",
    work="scan reviews, lane 0",
    last="job done job=books-1",
)


def row_for(owner: str, row: ProcessStatus) -> ProcessStatus:
    (shown,) = rows_for(owner, [row])
    return shown


def event_for(owner: str, event: Event) -> Event:
    (shown,) = events_for(owner, [event])
    return shown


def test_the_local_user_sees_everything() -> None:
    assert row_for("local", WORKER) == WORKER
    assert event_for("local", DEATH) == DEATH


def test_an_owner_sees_the_work_on_their_jobs() -> None:
    assert row_for("maria", WORKER) == WORKER
    assert event_for("maria", DEATH) == msgspec.structs.replace(DEATH, last="")


@pytest.mark.parametrize("reader", ["juan", "mar", "maria.books-1", ""])
def test_others_see_the_reason_and_nothing_of_the_work(reader: str) -> None:
    row, event = row_for(reader, WORKER), event_for(reader, DEATH)
    for secret in ("maria", "books-1", "scan", "lane"):
        assert secret not in str(row)
        assert secret not in str(event)
    assert (row.reason, event.reason) == (WORKER.reason, DEATH.reason)
    assert (event.what, event.name, event.at) == ("crashed", "worker-1", 1.0)


def test_work_on_a_job_without_an_owner_is_shown_to_local_users_only() -> None:
    ownerless = msgspec.structs.replace(WORKER, owner="")
    assert row_for("", ownerless).work == ""
    assert row_for("local", ownerless).work == WORKER.work


def test_tasks_of_doctors_are_shown_to_all_owners() -> None:
    doctor = ProcessStatus("doctor-1", "doctor", "running", pid=7, work="follows doctor-3")
    assert row_for("juan", doctor) == doctor


def test_reasons_name_folders_only_to_the_local_user() -> None:
    reason = "dataset '/srv/my data/shop.py' cannot be loaded"
    row, event = (msgspec.structs.replace(each, reason=reason) for each in (WORKER, DEATH))
    assert (row_for("local", row).reason, event_for("local", event).reason) == (reason, reason)
    for reader in ("maria", "juan"):
        shown = "dataset 'shop.py' cannot be loaded"
        assert (row_for(reader, row).reason, event_for(reader, event).reason) == (shown, shown)
