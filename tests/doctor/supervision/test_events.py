"""Stored events of the timeline, and the exit causes derived from them."""

from __future__ import annotations

import signal

import msgspec
import pytest

from cauce.doctor.supervision import events
from cauce.doctor.supervision.events import DAY_S, Event, EventLog, generation_name, recorded_cause
from cauce.fabric.memory import MemoryFabric, Store
from cauce.worker.events import EXIT_FAILED, EXIT_MEMORY

NOW = 10 * DAY_S
WORKER = generation_name("worker-1", "1.doctor-1.2")


@pytest.fixture
def fabric() -> MemoryFabric:
    return MemoryFabric(Store())


def ended(what: str = "crashed", code: int | None = None, at: float = NOW, generation: str = "1.doctor-1.2") -> Event:
    return Event(at, what, "worker-1", generation=generation, code=code)


def test_a_reason_of_an_older_version_that_names_a_job_is_ignored() -> None:
    kept = b'{"at":1.0,"what":"crashed","name":"worker-1","why":"killed by SIGKILL; it held maria.books: scan"}'
    assert msgspec.json.decode(kept, type=Event) == Event(1.0, "crashed", "worker-1")


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (ended(code=-signal.SIGSEGV), "fault"),
        (ended(code=-signal.SIGBUS), "fault"),
        (ended(code=-signal.SIGILL), "fault"),
        (ended(code=-signal.SIGFPE), "fault"),
        (ended(code=-signal.SIGABRT, at=NOW - DAY_S), "fault"),
        (ended(code=EXIT_MEMORY), "memory"),
        (ended("hung"), "hung"),
        (ended(code=-signal.SIGKILL), ""),
        (ended(code=EXIT_FAILED), ""),
        (ended(), ""),
        (ended(code=-signal.SIGSEGV, generation="1.doctor-1.1"), ""),
        (ended(code=-signal.SIGSEGV, at=NOW - 2 * DAY_S), ""),
    ],
)
def test_only_an_exit_caused_by_the_process_itself_has_a_cause(fabric: MemoryFabric, found: Event, cause: str) -> None:
    EventLog(fabric).append(found)
    assert recorded_cause(fabric, WORKER, NOW, 0.0) == cause


def test_of_two_records_of_an_exit_the_one_with_a_cause_wins(fabric: MemoryFabric) -> None:
    log = EventLog(fabric)
    log.append(ended())
    log.append(ended(code=-signal.SIGSEGV))
    assert recorded_cause(fabric, WORKER, NOW, 0.0) == "fault"


def test_a_late_record_is_waited_for(fabric: MemoryFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    late = [ended("started"), ended(code=-signal.SIGSEGV)]
    monkeypatch.setattr(events.time, "sleep", lambda _: EventLog(fabric).append(late.pop(0)))
    assert recorded_cause(fabric, WORKER, NOW, 3600.0) == "fault"
    assert late == []
