"""A job log holds each worker crash once, and the end of a row of crashes when the job makes progress."""

from __future__ import annotations

import pytest

from cauce.errors import JobFailed
from cauce.fabric.contract import START
from cauce.fabric.memory import MemoryFabric, Store
from cauce.fabric.names import Log
from cauce.fabric.records import Kind
from cauce.job.crashes import Cause, Scene
from cauce.job.job_log import JobLog
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from cauce.worker.journal import Journal


@pytest.fixture
def store() -> Store:
    store = Store()
    MemoryFabric(store).create_job("j", b"")
    return store


class OutOfMemory:
    """A witness that attributes every exit to lack of memory."""

    def scene(self) -> Scene:
        return Scene(worker="w")

    def cause(self, scene: Scene) -> Cause:
        return "memory"


def log_of(store: Store, attempts: int = 3) -> JobLog:
    return JobLog(MemoryFabric(store), "j", attempts)


def crash(store: Store, task: int, seq: int = 0) -> None:
    """A worker reads the log, starts work on a task, and crashes."""
    log = log_of(store)
    log.read()
    Journal(MemoryFabric(store), "j", Log("journal", str(task)), task).began(seq, f"part {seq}", log.scene())


def found(store: Store, log: JobLog, task: int) -> None:
    past = Journal(MemoryFabric(store), "j", Log("journal", str(task)), task).replay()
    assert past is not None
    log.report(task, past.open, past.snapshots)


def records(store: Store, kind: Kind) -> int:
    batch = MemoryFabric(store).read("j", JOB_LOG, START, 1 << 20)
    return len([each for each in batch.records if each.kind == kind])


def test_a_crash_found_by_several_workers_is_recorded_once(store: Store) -> None:
    crash(store, 1)
    for _ in range(3):
        found(store, log_of(store), 1)
    assert records(store, Kind.CRASH) == 1


def test_crashes_at_three_tasks_in_a_row_quarantine_the_job(store: Store) -> None:
    for task in range(2):
        crash(store, task)
        found(store, log_of(store), task)
    crash(store, 2)
    with pytest.raises(JobFailed, match=r"job j is quarantined: .* killed its worker 3 times without any progress"):
        found(store, log_of(store), 2)


def test_other_workers_read_that_a_job_is_quarantined(store: Store) -> None:
    test_crashes_at_three_tasks_in_a_row_quarantine_the_job(store)
    log = log_of(store)
    log.read()
    assert log.crashes.verdict() is not None


def test_progress_clears_known_crashes_and_is_recorded_only_if_there_are_any(store: Store) -> None:
    log = log_of(store)
    log.progressed(5)
    assert records(store, Kind.CLEARED) == 0
    crash(store, 1)
    found(store, log, 1)
    log.progressed(5)
    log.progressed(5)
    assert records(store, Kind.CLEARED) == 1
    other = log_of(store)
    other.read()
    assert other.crashes.longest() == (0, 0)


def test_the_cause_given_by_the_witness_is_recorded(store: Store) -> None:
    crash(store, 1)
    log = JobLog(MemoryFabric(store), "j", 1, None, OutOfMemory())
    with pytest.raises(JobFailed, match="for lack of memory"):
        found(store, log, 1)


def test_the_outcome_is_read_along_with_crashes(store: Store) -> None:
    crash(store, 1)
    found(store, log_of(store), 1)
    MemoryFabric(store).append("j", JOB_LOG, [Outcome("cancelled").dump(9)])
    log = log_of(store)
    log.read()
    assert log.outcome == Outcome("cancelled")
