"""The first read of a job by a gateway sees everything that other gateways have reported before."""

from __future__ import annotations

import pytest

from cauce.api.jobs import JobRequest
from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.errors import TooEarly
from cauce.gateway.jobs.job_service import Jobs
from tests.e2e.comparing import assert_same
from tests.gateway.lagging import SlowFabric
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def world(store: Store) -> World:
    return World(lambda: MemoryFabric(store))


def late(world: World, store: Store) -> Jobs:
    return world.gateway(SlowFabric(store))


def test_a_done_job_is_done_at_the_first_read(world: World, store: Store, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    status = run_to_end(jobs, world.worker())
    assert late(world, store).status(OWNER, JOB) == status
    assert late(world, store).list(OWNER) == [status]
    assert "is done" in late(world, store).why(OWNER, JOB)
    assert_same(answers(late(world, store)), wanted)


def test_parts_and_tables_are_known_at_the_first_read(world: World, store: Store, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    status = jobs.status(OWNER, JOB)
    assert status.state == "running"
    assert late(world, store).status(OWNER, JOB) == status
    created, new = late(world, store).create(OWNER, JOB, JobRequest(sent.dataset, sent.queries))
    assert (created, new) == (status, False)


def test_a_cancelled_job_is_cancelled_at_the_first_read(world: World, store: Store, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    status = jobs.cancel(OWNER, JOB)
    assert late(world, store).list(OWNER) == [status]
    assert late(world, store).status(OWNER, JOB) == status


def test_a_complete_answer_is_never_too_early(world: World, store: Store, sent: Sent) -> None:
    """Also for a gateway that has read the job before."""
    jobs, slow = world.gateway(), late(world, store)
    send(jobs, sent)
    assert slow.status(OWNER, JOB).state == "running"
    with pytest.raises(TooEarly):
        slow.answer(OWNER, JOB, "q1")
    with pytest.raises(TooEarly):
        slow.rejects_csv(OWNER, JOB)
    run_to_end(jobs, world.worker())
    assert slow.list(OWNER)[0].state == "running"
    assert list(slow.rejects_csv(OWNER, JOB))
    assert list(slow.answer(OWNER, JOB, "q1").pages)


def test_a_job_whose_client_uses_another_gateway_does_not_expire(world: World, store: Store, sent: Sent) -> None:
    """Whether the gateway reads the job for the first time or has read it before."""
    jobs, slow = world.gateway(), late(world, store)
    jobs.create(OWNER, JOB, sent.request)
    assert slow.sweep() == []
    for seq, body in enumerate(sent.tables["books"][:3]):
        world.clock.now += world.limits.receiving_seconds * 0.9
        jobs.uploads.put_part(OWNER, JOB, "books", seq, body)
    assert slow.sweep() == []
    assert late(world, store).sweep() == []
    assert jobs.status(OWNER, JOB).state == "receiving"
    world.clock.now += world.limits.receiving_seconds * 1.1
    assert slow.sweep() == [f"{OWNER}.{JOB}"]
