"""A gateway that is new to a job tells no less of it than another one has told before."""

from __future__ import annotations

import pytest

from cauce.fabric.contract import Batch, Position
from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.errors import TooEarly
from cauce.gateway.jobs import Jobs
from cauce.gateway.model import JobRequest
from tests.e2e.comparing import assert_same
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send


class SlowFabric(MemoryFabric):
    """Shows of a log what its own process has said, and what was there when it last caught up with that log."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._seen: dict[tuple[str, str], dict[str, int]] = {}

    def catch_up(self, job: str | None = None, *logs: str) -> None:
        held = self._store.jobs.get(str(job))
        for log in logs if held is not None else ():
            said = held.logs.get(log, {})
            self._seen[str(job), log] = {writer: len(records) for writer, records in said.items()}

    def read(self, job: str, log: str, position: Position, limit_bytes: int) -> Batch:
        held = self._store.jobs.get(job)
        logs = held.logs if held is not None else {}
        whole, seen = logs.get(log, {}), self._seen.get((job, log), {})
        logs[log] = {
            writer: records if writer == self._writer else records[: seen.get(writer, 0)]
            for writer, records in whole.items()
        }
        try:
            return super().read(job, log, position, limit_bytes)
        finally:
            logs[log] = whole


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def world(store: Store) -> World:
    return World(lambda: MemoryFabric(store))


def late(world: World, store: Store) -> Jobs:
    return world.gateway(SlowFabric(store))


def test_a_job_that_is_done_is_done_at_first_sight(
    world: World, store: Store, sent: Sent, wanted: dict[str, bytes]
) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    status = run_to_end(jobs, world.worker())
    assert late(world, store).status(OWNER, JOB) == status
    assert late(world, store).list(OWNER) == [status]
    assert "is done" in late(world, store).why(OWNER, JOB)
    assert_same(answers(late(world, store)), wanted)


def test_parts_and_tables_are_known_at_first_sight(world: World, store: Store, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    status = jobs.status(OWNER, JOB)
    assert status.state == "running"
    assert late(world, store).status(OWNER, JOB) == status
    created, new = late(world, store).create(OWNER, JOB, JobRequest(sent.dataset, sent.queries))
    assert (created, new) == (status, False)


def test_a_job_that_was_cancelled_is_so_at_first_sight(world: World, store: Store, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    status = jobs.cancel(OWNER, JOB)
    assert late(world, store).list(OWNER) == [status]
    assert late(world, store).status(OWNER, JOB) == status


def test_nothing_is_called_too_early_that_was_there(world: World, store: Store, sent: Sent) -> None:
    """Also by a gateway that had looked before."""
    jobs, slow = world.gateway(), late(world, store)
    send(jobs, sent)
    assert slow.status(OWNER, JOB).state == "running"
    with pytest.raises(TooEarly):
        slow.answer(OWNER, JOB, "q1")
    with pytest.raises(TooEarly):
        slow.rejects_csv(OWNER, JOB)
    run_to_end(jobs, world.worker())
    assert slow.status(OWNER, JOB).state == "running"
    assert list(slow.rejects_csv(OWNER, JOB))
    assert list(slow.answer(OWNER, JOB, "q1").pages)


def test_nobody_expires_a_job_whose_client_another_gateway_hears(world: World, store: Store, sent: Sent) -> None:
    """Whether it sees the job for the first time or has looked before."""
    jobs, slow = world.gateway(), late(world, store)
    jobs.create(OWNER, JOB, sent.request)
    assert slow.sweep() == []
    for seq, body in enumerate(sent.tables["books"][:3]):
        world.clock.now += world.limits.receiving_seconds * 0.9
        jobs.put_part(OWNER, JOB, "books", seq, body)
    assert slow.sweep() == []
    assert late(world, store).sweep() == []
    assert jobs.status(OWNER, JOB).state == "receiving"
    world.clock.now += world.limits.receiving_seconds * 1.1
    assert slow.sweep() == [f"{OWNER}.{JOB}"]
