"""Part uploads: duplicates, out of order, concurrent clients, wrong numbers, after the end of the job."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cauce.api.jobs import JobRequest
from cauce.errors import FabricLost
from cauce.fabric.contract import Fabric
from cauce.fabric.names import Log
from cauce.fabric.records import Record
from cauce.gateway.errors import (
    BadPart,
    BadRequest,
    CountDiffers,
    JobExistsOtherwise,
    JobOver,
    NoSuchJob,
    NoSuchTable,
    PartDiffers,
    PartsMissing,
    TableComplete,
)
from cauce.gateway.model import PartBody
from tests.e2e.comparing import assert_same
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send

HEADER = b"Title,authors,publisher,publishedDate,categories\n"
ONE = JobRequest("books", ["q1"])
PART = PartBody(HEADER + b"T,['A'],P,1995,['X']\n", "csv")
OTHER = replace(PART, data=PART.data + b"U,['A'],P,1995,['X']\n")


def test_a_duplicate_part_is_stored_once(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    for table, seq, body in sent.each():
        assert jobs.uploads.put_part(OWNER, JOB, table, seq, body)
        assert not jobs.uploads.put_part(OWNER, JOB, table, seq, body)
        assert not world.gateway().uploads.put_part(OWNER, JOB, table, seq, body)
    for table, bodies in sent.tables.items():
        held = jobs.uploads.held(OWNER, JOB, table)
        assert (held.count, held.ranges) == (len(bodies), [(0, len(bodies) - 1)])
        assert held.bytes == sum(len(body.data) for body in bodies)
        assert jobs.uploads.complete(OWNER, JOB, table, len(bodies))
        assert not jobs.uploads.complete(OWNER, JOB, table, len(bodies))
    run_to_end(jobs, world.worker())
    assert_same(answers(jobs), wanted)


def test_parts_in_any_order_through_any_gateway(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    gateways = [world.gateway() for _ in range(3)]
    chance = random.Random(4)
    gateways[0].create(OWNER, JOB, sent.request)
    parts = sent.each()
    chance.shuffle(parts)
    for table, seq, body in parts:
        assert chance.choice(gateways).uploads.put_part(OWNER, JOB, table, seq, body)
    for table, bodies in sent.tables.items():
        chance.choice(gateways).uploads.complete(OWNER, JOB, table, len(bodies))
    run_to_end(gateways[0], world.worker())
    assert_same(answers(gateways[1]), wanted)


def test_different_content_under_the_same_number_is_rejected(world: World) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, ONE)
    assert jobs.uploads.put_part(OWNER, JOB, "books", 0, PART)
    for gateway in (jobs, world.gateway()):
        with pytest.raises(PartDiffers):
            gateway.uploads.put_part(OWNER, JOB, "books", 0, OTHER)
    assert jobs.uploads.held(OWNER, JOB, "books").count == 1


class Losing:
    """A fabric that loses one confirmation of a log, after or before the record is written."""

    def __init__(self, inner: Fabric, log: str, *, written: bool) -> None:
        self._inner = inner
        self._log = log
        self._written = written
        self.lost = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def append(self, job: str, log: Log, records: list[Record]) -> None:
        if log.group.startswith(self._log) and not self.lost:
            self.lost += 1
            if self._written:
                self._inner.append(job, log, records)
            raise FabricLost("no confirmation received")
        self._inner.append(job, log, records)


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("log", ["raw", "control"])
def test_a_part_without_acknowledgement_can_be_retried(
    world: World, sent: Sent, wanted: dict[str, bytes], log: str, written: bool
) -> None:
    losing = Losing(world.fabric(), log, written=written)
    jobs = world.gateway(losing)  # type: ignore[arg-type]
    jobs.create(OWNER, JOB, sent.request)
    for table, seq, body in sent.each():
        try:
            jobs.uploads.put_part(OWNER, JOB, table, seq, body)
        except FabricLost:
            # Retry through another gateway, which has no state of the first attempt.
            world.gateway().uploads.put_part(OWNER, JOB, table, seq, body)
    assert losing.lost == 1
    for table, bodies in sent.tables.items():
        assert jobs.uploads.held(OWNER, JOB, table).count == len(bodies)
        jobs.uploads.complete(OWNER, JOB, table, len(bodies))
    run_to_end(jobs, world.worker())
    assert_same(answers(jobs), wanted)


def test_completing_a_table_with_the_wrong_count_is_rejected(world: World) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, ONE)
    with pytest.raises(BadRequest):
        jobs.uploads.complete(OWNER, JOB, "books", 0)
    with pytest.raises(PartsMissing):
        jobs.uploads.complete(OWNER, JOB, "books", 1)
    for seq in (0, 1, 3):
        jobs.uploads.put_part(OWNER, JOB, "books", seq, PART)
    with pytest.raises(PartsMissing, match="2"):
        jobs.uploads.complete(OWNER, JOB, "books", 4)
    with pytest.raises(CountDiffers):
        jobs.uploads.complete(OWNER, JOB, "books", 2)
    jobs.uploads.put_part(OWNER, JOB, "books", 2, PART)
    assert jobs.uploads.complete(OWNER, JOB, "books", 4)
    for gateway in (jobs, world.gateway()):
        with pytest.raises(CountDiffers):
            gateway.uploads.complete(OWNER, JOB, "books", 5)
        assert gateway.uploads.held(OWNER, JOB, "books").complete == 4


def test_new_parts_after_completion_are_rejected(world: World) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, ONE)
    jobs.uploads.put_part(OWNER, JOB, "books", 0, PART)
    jobs.uploads.complete(OWNER, JOB, "books", 1)
    for gateway in (jobs, world.gateway()):
        assert not gateway.uploads.put_part(OWNER, JOB, "books", 0, PART)
        with pytest.raises(TableComplete):
            gateway.uploads.put_part(OWNER, JOB, "books", 1, PART)


def test_parts_after_the_end_of_the_job_are_rejected(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    assert run_to_end(jobs, world.worker()).state == "done"
    table = next(iter(sent.tables))
    with pytest.raises((JobOver, TableComplete)):
        jobs.uploads.put_part(OWNER, JOB, table, 100_000, PART)


def test_a_second_job_under_the_same_id_is_rejected(world: World) -> None:
    first, second = world.gateway(), world.gateway()
    assert first.create(OWNER, JOB, ONE)[1]
    assert not second.create(OWNER, JOB, ONE)[1]
    with pytest.raises(JobExistsOtherwise):
        second.create(OWNER, JOB, JobRequest("books", ["q2"]))
    with pytest.raises(JobExistsOtherwise):
        second.create(OWNER, JOB, JobRequest("movies"))
    assert second.create("eva", JOB, JobRequest("movies"))[1]
    assert first.status(OWNER, JOB).dataset == "books"


def test_parts_for_unknown_jobs_and_tables_are_rejected(lone: World) -> None:
    jobs = lone.gateway()
    with pytest.raises(NoSuchJob):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, PART)
    jobs.create(OWNER, JOB, ONE)
    with pytest.raises(NoSuchTable):
        jobs.uploads.put_part(OWNER, JOB, "films", 0, PART)
    with pytest.raises(NoSuchJob):
        jobs.uploads.put_part("eva", JOB, "books", 0, PART)
    for seq in (-1, 10**9):
        with pytest.raises(BadRequest):
            jobs.uploads.put_part(OWNER, JOB, "books", seq, PART)


def test_a_wrong_digest_is_rejected(lone: World) -> None:
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, ONE)
    with pytest.raises(BadPart, match="digest"):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, replace(PART, digest="0" * 64))
    assert jobs.uploads.held(OWNER, JOB, "books").count == 0
