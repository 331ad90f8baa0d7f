"""Outcomes are recorded once, and a client that has read one reads the same again from every gateway."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from cauce.api.jobs import ENDED, JobStatus
from cauce.fabric.memory import MemoryFabric, Store
from cauce.fabric.records import Kind
from cauce.gateway.jobs.job_service import Jobs
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG, SHARED_GROUP
from tests.gateway.lagging import SlowFabric
from tests.gateway.serving import JOB, OWNER, Sent, World, send

NAME = f"{OWNER}.{JOB}"


def complete(world: World, sent: Sent) -> None:
    send(world.gateway(), sent)
    worker = world.worker()
    while worker.step():
        pass


def test_a_job_is_running_until_its_end_is_recorded(world: World, sent: Sent) -> None:
    complete(world, sent)
    reading, ending = world.gateway(), world.gateway()
    assert reading.status(OWNER, JOB).state == "running"
    assert world.events[-1][0] == "completed"
    ending.sweep()
    assert reading.status(OWNER, JOB).state == "done"
    assert world.events[-1] == ("done", JOB)


def test_a_read_reports_an_unrecorded_end_to_the_background_task(world: World, sent: Sent) -> None:
    complete(world, sent)
    found: list[str] = []
    jobs = Jobs(world.fabric(), world.limits, world.clock, end_found=found.append)
    jobs.status(OWNER, JOB)
    assert found == [NAME]
    jobs.record_end(NAME)
    found.clear()
    assert jobs.status(OWNER, JOB).state == "done"
    assert found == []


def test_an_end_is_recorded_once_by_two_gateways(world: World, sent: Sent) -> None:
    complete(world, sent)
    one, other = world.gateway(), world.gateway()
    assert one.status(OWNER, JOB) == other.status(OWNER, JOB)
    for jobs in (one, other, one, other):
        world.clock.now += 1
        jobs.sweep()
    assert one.status(OWNER, JOB) == other.status(OWNER, JOB)
    assert [event for event, _ in world.events].count("done") == 1


def late_failure(world: World) -> None:
    world.fabric().append(NAME, JOB_LOG, [Outcome("failed", "late", "job-failed").dump(7)])


STEPS: dict[str, Callable[[World, Jobs, Jobs], object]] = {
    "one sweeps": lambda world, one, other: one.sweep(),
    "other sweeps": lambda world, one, other: other.sweep(),
    "a worker fails late": lambda world, one, other: late_failure(world),
    "clock is set back": lambda world, one, other: setattr(world.clock, "now", world.clock.now - 5),
}


@pytest.mark.parametrize("order", list(permutations(STEPS)), ids=", ".join)
def test_an_end_that_was_shown_stays_whichever_gateway_answers(order: tuple[str, ...], sent: Sent) -> None:
    store = Store()
    world = World(lambda: SlowFabric(store))
    complete(world, sent)
    one, other = world.gateway(), world.gateway()
    shown: JobStatus | None = None
    for step in order:
        STEPS[step](world, one, other)
        for jobs in (one, other, world.gateway()):
            status = jobs.status(OWNER, JOB)
            if shown is not None and jobs not in (one, other):
                # A gateway that starts now reads after a barrier: it must know what was shown.
                assert status == shown
            if status.state in ENDED:
                assert shown in (None, status)
                shown = status
    world.close()


@pytest.mark.parametrize("kind", ["reports", "answer", "edge"])
def test_a_job_whose_output_lost_a_confirmed_record_fails_and_names_the_log(kind: str, sent: Sent) -> None:
    """As when the broker has forgotten a new stream because all its nodes were killed. Pages of an answer that needs no
    fold are in the log of an edge."""
    store = Store()
    world = World(lambda: MemoryFabric(store))
    complete(world, sent)
    logs = {log: each for log, each in store.jobs[NAME].logs.items() if log.group == SHARED_GROUP}
    log, records = next((log, each) for log, by in logs.items() if log.name.startswith(kind) for each in by.values())
    records.remove(next(each for each in records if each.kind == Kind.DATA))
    gateway = world.gateway()
    gateway.sweep()
    status = gateway.status(OWNER, JOB)
    assert (status.state, status.code) == ("failed", "corrupt")
    assert f"log {log} of job {NAME} does not hold all records that were confirmed in it" in status.cause
    assert world.gateway().status(OWNER, JOB) == status
    world.close()
