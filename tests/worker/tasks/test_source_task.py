"""Lanes whose log has lost records."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.fabric.memory import MemoryFabric, NoFaults, Store
from cauce.fabric.records import Kind
from cauce.worker.loop import Worker
from tests.e2e.hostile_rows import write_hostile_rows
from tests.gateway.serving import JOB, OWNER, Sent, World, cut, run_to_end, send


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def world(store: Store) -> World:
    return World(lambda: MemoryFabric(store))


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    write_hostile_rows("books", tmp_path, 3, 60)
    return cut("books", tmp_path, 900, queries=["q1"])


def lose_part(store: Store, seq: int) -> str:
    """Removes a part from the log that holds it, as a power failure of the broker's nodes may; returns the log."""
    (job,) = store.jobs.values()
    for log, by_writer in job.logs.items():
        for records in by_writer.values():
            for each in records:
                if log.group.startswith("raw-") and each.kind == Kind.DATA and each.seq == seq:
                    records.remove(each)
                    return str(log)
    raise AssertionError("no such part")


@pytest.mark.parametrize("seq", [0, 1])
def test_a_job_that_lost_a_part_fails_and_names_the_log(world: World, store: Store, sent: Sent, seq: int) -> None:
    gateway = world.gateway()
    send(gateway, sent)
    log = lose_part(store, seq)
    status = run_to_end(gateway, world.worker())
    assert (status.state, status.code) == ("failed", "corrupt")
    assert f"log {log} of job {OWNER}.{JOB} holds " in (status.cause or "")


class PartsLate(NoFaults):
    """Shows parts only after a read barrier."""

    def reveal(self, where: str, count: int) -> int:
        return 0 if "raw-" in where and count > 1 else count


def test_a_lane_that_sees_the_number_of_parts_first_reads_them_after_a_barrier(
    world: World, store: Store, sent: Sent
) -> None:
    first, second = world.gateway(), world.gateway()
    first.create(OWNER, JOB, sent.request)
    for table, seq, body in sent.each():
        first.uploads.put_part(OWNER, JOB, table, seq, body)
    for table, bodies in sent.tables.items():
        second.uploads.complete(OWNER, JOB, table, len(bodies))
    status = run_to_end(first, Worker(MemoryFabric(store, PartsLate())))
    assert status.state == "done", status.cause
