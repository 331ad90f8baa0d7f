"""Folds whose input the fabric has lost before it was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Log, Position
from cauce.fabric.memory import MemoryFabric, NoFaults, Store
from cauce.fabric.records import Kind, Record, record
from cauce.job.completion import Names
from cauce.job.log_reader import LogReader
from cauce.worker.loop import Worker
from cauce.worker.tasks.lost_records import PASSES, LossCheck, RepeatedReads
from tests.e2e.hostile_rows import write_hostile_rows
from tests.gateway.serving import JOB, OWNER, Sent, World, cut, run_to_end, send

LOG = Log("edge")


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def world(store: Store) -> World:
    return World(lambda: MemoryFabric(store))


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    write_hostile_rows("books", tmp_path, 3, 60)
    return cut("books", tmp_path, 900, queries=["q3"])


class LosesRecord(NoFaults):
    """Loses the first record between two stages, after it was confirmed and before it is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.log: Log | None = None

    def after(self, step: str, where: str) -> None:
        (job,) = self._store.jobs.values()
        for log, by_writer in job.logs.items() if step == "append" and self.log is None else ():
            for records in by_writer.values():
                if where.endswith(f"/{log}") and "edge" in log.group and records[-1].kind == Kind.DATA:
                    records.pop()
                    self.log = log
                    return


def test_a_job_that_lost_a_record_between_stages_fails_and_names_the_log(
    world: World, store: Store, sent: Sent
) -> None:
    gateway = world.gateway()
    send(gateway, sent)
    faults = LosesRecord(store)
    status = run_to_end(gateway, Worker(MemoryFabric(store, faults)))
    assert faults.log is not None
    assert (status.state, status.code) == ("failed", "corrupt")
    assert f"log {faults.log} of job {OWNER}.{JOB} does not hold all records" in (status.cause or "")


class Scripted(MemoryFabric):
    """Counts read barriers."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.barriers = 0

    def read_barrier(self, job: str | None = None, *logs: Log) -> None:
        self.barriers += 1
        super().read_barrier(job, *logs)


def closed(*present: int, count: int) -> tuple[Scripted, Names, LogReader]:
    """An input of one producer that was read to its end: it has closed its output with a count."""
    fabric = Scripted(Store())
    fabric.create_job("j", b"")
    fabric.append("j", LOG, [*(data(seq) for seq in present), record(Kind.END, 0, count)])
    names, reader = Names("here", [0, 1]), LogReader(LOG)
    read_on(fabric, names, reader)
    return fabric, names, reader


def data(seq: int) -> Record:
    return record(Kind.DATA, 0, seq, b"%d" % seq)


def read_on(fabric: Scripted, names: Names, reader: LogReader) -> None:
    list(names.fresh(reader.records(fabric, "j")))


def test_records_count_as_lost_after_two_barriers_and_a_read_from_the_start() -> None:
    fabric, names, reader = closed(0, 2, count=3)
    check, positions = LossCheck(), list[Position]()
    for _ in range(PASSES):
        assert check.reads_again(fabric, "j", names, reader)
        positions.append(reader.position)
        read_on(fabric, names, reader)
    assert fabric.barriers == PASSES
    assert [each.is_start for each in positions] == [False, True]
    with pytest.raises(CorruptRecord, match=r"log edge.* of job j .*0 \(2 of 3 records\).*run the job again"):
        check.reads_again(fabric, "j", names, reader)


@pytest.mark.parametrize("passes", range(1, PASSES + 1))
def test_records_that_are_visible_late_are_not_lost(passes: int) -> None:
    fabric, names, reader = closed(0, 2, count=3)
    check = LossCheck()
    for _ in range(passes):
        assert check.reads_again(fabric, "j", names, reader)
    fabric.append("j", LOG, [data(1)])
    read_on(fabric, names, reader)
    assert not check.reads_again(fabric, "j", names, reader)


def test_a_producer_that_closed_its_output_during_the_check_is_not_judged_by_it() -> None:
    fabric, names, reader = closed(0, 2, count=3)
    check = LossCheck()
    for _ in range(PASSES):
        assert check.reads_again(fabric, "j", names, reader)
        read_on(fabric, names, reader)
    fabric.append("j", LOG, [data(1), record(Kind.END, 1, 1)])
    read_on(fabric, names, reader)
    assert check.reads_again(fabric, "j", names, reader)


def test_an_input_that_is_still_open_is_not_checked() -> None:
    fabric, names, reader = closed(0, 1, count=2)
    assert not names.complete
    assert not LossCheck().reads_again(fabric, "j", names, reader)
    assert not fabric.barriers


def test_records_that_repeated_reads_do_not_find_count_as_lost() -> None:
    _, names, _ = closed(0, 2, count=3)
    reads = RepeatedReads()
    for _ in range(PASSES):
        reads.failed(LOG, "j", names)
    with pytest.raises(CorruptRecord, match=r"log edge.* of job j "):
        reads.failed(LOG, "j", names)


def test_a_read_that_finds_all_records_ends_the_count() -> None:
    _, names, _ = closed(0, 2, count=3)
    reads = RepeatedReads()
    for _ in range(PASSES + 1):
        reads.failed(LOG, "j", names)
        reads.succeeded()
