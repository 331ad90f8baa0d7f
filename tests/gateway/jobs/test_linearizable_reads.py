"""Requests about one job are linearizable: what one gateway has shown, every other one shows from then on, also if it
has read the job before and its reads lag as far as the contract of the fabric allows."""

from __future__ import annotations

import pytest

from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.errors import JobOver
from cauce.gateway.jobs.job_service import Jobs
from tests.gateway.lagging import SlowFabric
from tests.gateway.serving import JOB, OWNER, Sent, World, run_to_end, send


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def world(store: Store) -> World:
    return World(lambda: MemoryFabric(store))


@pytest.fixture
def slow(world: World, store: Store, sent: Sent) -> Jobs:
    """A gateway that has read the job, all of whose parts were sent to another one."""
    send(world.gateway(), sent)
    slow = world.gateway(SlowFabric(store, jobs_too=True))
    assert slow.status(OWNER, JOB).state == "running"
    return slow


def cancel_elsewhere(world: World, slow: Jobs) -> None:
    world.gateway().cancel(OWNER, JOB)
    assert slow.status(OWNER, JOB, consistent=False).state == "running", "this gateway does not lag"


def test_a_cancelled_job_is_shown_as_cancelled(world: World, slow: Jobs) -> None:
    cancel_elsewhere(world, slow)
    assert slow.status(OWNER, JOB).state == "cancelled"


def test_why_shows_that_a_job_was_cancelled(world: World, slow: Jobs) -> None:
    cancel_elsewhere(world, slow)
    assert "was cancelled" in slow.why(OWNER, JOB)


def test_a_second_cancellation_shows_the_first(world: World, slow: Jobs) -> None:
    status = world.gateway().cancel(OWNER, JOB)
    world.clock.now += 5
    assert slow.cancel(OWNER, JOB) == status


def test_creating_a_cancelled_job_again_shows_its_end(world: World, slow: Jobs, sent: Sent) -> None:
    cancel_elsewhere(world, slow)
    status, created = slow.create(OWNER, JOB, sent.request)
    assert (status.state, created) == ("cancelled", False)


@pytest.mark.parametrize(
    "read",
    [
        lambda jobs: jobs.result(OWNER, JOB, "q1", None, 10),
        lambda jobs: jobs.answer(OWNER, JOB, "q1"),
        lambda jobs: jobs.rejects(OWNER, JOB, None, 10),
        lambda jobs: jobs.rejects_csv(OWNER, JOB),
        lambda jobs: jobs.uploads.held(OWNER, JOB, "books"),
        lambda jobs: jobs.uploads.parts(OWNER, JOB, "books", 0, 10),
    ],
    ids=["result", "answer", "rejects", "rejects_csv", "held", "parts"],
)
def test_a_cancelled_job_has_no_results_and_no_parts(world: World, slow: Jobs, read: object) -> None:
    cancel_elsewhere(world, slow)
    with pytest.raises(JobOver, match="cancelled"):
        read(slow)  # type: ignore[operator]


def test_a_done_job_is_shown_as_done(world: World, slow: Jobs) -> None:
    status = run_to_end(world.gateway(), world.worker())
    assert slow.status(OWNER, JOB, consistent=False).state == "running", "this gateway does not lag"
    assert slow.status(OWNER, JOB) == status


def test_rows_that_one_gateway_has_shown_are_shown_by_another(world: World, slow: Jobs, sent: Sent) -> None:
    other = world.gateway()
    run_to_end(other, world.worker())
    pages = {query: other.result(OWNER, JOB, query, None, 10).rows for query in sent.queries}
    assert any(map(len, pages.values()))
    for query, rows in pages.items():
        assert slow.result(OWNER, JOB, query, None, 10).rows.equals(rows)
    assert slow.rejects(OWNER, JOB, None, 10).rows.equals(other.rejects(OWNER, JOB, None, 10).rows)


def test_a_job_that_was_created_again_is_shown_as_new(world: World, slow: Jobs, sent: Sent) -> None:
    other = world.gateway()
    other.cancel(OWNER, JOB)
    world.clock.now += 86_401
    created = other.create(OWNER, JOB, sent.request)
    assert created[1]
    assert slow.status(OWNER, JOB) == created[0]
