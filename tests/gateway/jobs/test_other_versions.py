"""Jobs that another version of Cauce has planned: its workers and gateways continue them, others leave them alone."""

from __future__ import annotations

import msgspec
import pytest

from cauce.api.jobs import JobStatus
from cauce.gateway.errors import Unavailable
from cauce.gateway.jobs.job_end import NEEDED_PROGRAM_S
from cauce.job import manifest
from cauce.job.manifest import load_manifest
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send

NAME = f"{OWNER}.{JOB}"
OTHER = "Cauce 99.0.0 with Polars 99.0.0"
IDLE_STEPS = 20


@pytest.fixture
def other_version(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Makes every process that works from now on one of another version, until it is undone."""
    monkeypatch.setattr(manifest, "PROGRAM", OTHER)
    return monkeypatch


@pytest.fixture
def sent_before(world: World, sent: Sent, request: pytest.FixtureRequest) -> pytest.MonkeyPatch:
    """A job that is sent before the upgrade; afterwards all processes have another version."""
    send(world.gateway(), sent)
    changed: pytest.MonkeyPatch = request.getfixturevalue("other_version")
    return changed


def decline(world: World) -> None:
    worker = world.worker()
    for _ in range(IDLE_STEPS):
        assert not worker.step()


def status_after(world: World, seconds: float) -> JobStatus:
    """What one gateway shows that sweeps before and after a time without work."""
    jobs = world.gateway()
    jobs.sweep()
    world.clock.now += seconds
    jobs.sweep()
    return jobs.status(OWNER, JOB)


def test_a_worker_of_another_version_leaves_the_job_to_workers_of_its_own(
    world: World, sent_before: pytest.MonkeyPatch, wanted: dict[str, bytes]
) -> None:
    decline(world)
    assert world.gateway().status(OWNER, JOB).state == "running"
    sent_before.undo()
    jobs = world.gateway()
    assert run_to_end(jobs, world.worker()).state == "done"
    assert answers(jobs) == wanted


def test_a_gateway_of_another_version_refuses_parts_until_one_of_the_right_version_answers(
    world: World, sent: Sent, other_version: pytest.MonkeyPatch
) -> None:
    other_version.undo()
    world.gateway().create(OWNER, JOB, sent.request)
    table, seq, body = sent.each()[0]
    other_version.setattr(manifest, "PROGRAM", OTHER)
    with pytest.raises(Unavailable, match="was planned by Cauce"):
        world.gateway().uploads.put_part(OWNER, JOB, table, seq, body)
    other_version.undo()
    world.gateway().uploads.put_part(OWNER, JOB, table, seq, body)


@pytest.mark.usefixtures("sent_before")
def test_why_names_the_version_that_the_job_waits_for(world: World) -> None:
    decline(world)
    assert "waits for a worker of Cauce" in world.gateway().why(OWNER, JOB)


@pytest.mark.usefixtures("sent_before")
def test_a_job_without_a_worker_of_its_version_fails_after_a_time(world: World) -> None:
    decline(world)
    assert status_after(world, NEEDED_PROGRAM_S - 1).state == "running"
    status = status_after(world, NEEDED_PROGRAM_S + 1)
    assert (status.state, status.code) == ("failed", "mismatch")
    assert "no worker of that version" in status.cause


def test_a_job_that_a_worker_of_its_version_works_on_does_not_fail(world: World, sent: Sent) -> None:
    send(world.gateway(), sent)
    assert status_after(world, NEEDED_PROGRAM_S + 1).state == "running"


def test_a_worker_leaves_a_job_of_a_version_that_recorded_none(world: World, sent: Sent) -> None:
    jobs, fabric = world.gateway(), world.fabric()
    jobs.create(OWNER, "made", sent.request)
    stored = fabric.manifest(f"{OWNER}.made")
    assert stored is not None
    jobs.cancel(OWNER, "made")
    old = msgspec.structs.replace(load_manifest(stored), job=NAME, version=2, program="", digest="another plan")
    fabric.create_job(NAME, old.dump())
    decline(world)
    assert jobs.status(OWNER, JOB).state == "created"
