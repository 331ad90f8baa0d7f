"""Parts: each counts once, whatever a client or a gateway does, and every gateway tells the same."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cauce.errors import FabricLost
from cauce.fabric.contract import Fabric
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
    Unavailable,
)
from cauce.gateway.jobs import Jobs
from cauce.gateway.model import Held, JobRequest, PartBody
from cauce.wire.records import Record
from tests.e2e.comparing import assert_same
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send


def test_a_job_from_start_to_end(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs = world.gateway()
    status, created = jobs.create(OWNER, JOB, sent.request)
    assert (status.state, created) == ("created", True)
    assert status.queries == sent.queries
    assert jobs.create(OWNER, JOB, sent.request) == (status, False)
    for table, seq, body in sent.each():
        assert jobs.put_part(OWNER, JOB, table, seq, body)
    assert jobs.status(OWNER, JOB).state == "receiving"
    for table, bodies in sent.tables.items():
        assert jobs.complete(OWNER, JOB, table, len(bodies))
    assert jobs.status(OWNER, JOB).state == "running"
    status = run_to_end(jobs, world.worker())
    assert status.state == "done"
    assert status.ended == world.clock.now
    assert all(table.parts_read == table.parts == table.complete for table in status.tables.values())
    assert_same(answers(jobs), wanted)
    assert [event for event, _ in world.events] == ["created", "completed", "done"]


def test_any_gateway_tells_the_same_at_every_point(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    gateways = [world.gateway() for _ in range(3)]
    rng = random.Random(1)

    def same() -> None:
        assert len({repr(jobs.status(OWNER, JOB)) for jobs in gateways}) == 1
        assert len({repr(jobs.list(OWNER)) for jobs in gateways}) == 1
        for table in sent.tables:
            assert len({repr(jobs.held(OWNER, JOB, table)) for jobs in gateways}) == 1

    assert [jobs.create(OWNER, JOB, sent.request)[1] for jobs in gateways] == [True, False, False]
    for table, seq, body in sent.each():
        same()
        assert rng.choice(gateways).put_part(OWNER, JOB, table, seq, body)
        assert not any(jobs.put_part(OWNER, JOB, table, seq, body) for jobs in gateways)
    for table, bodies in sent.tables.items():
        same()
        rng.shuffle(gateways)
        assert [jobs.complete(OWNER, JOB, table, len(bodies)) for jobs in gateways] == [True, False, False]
    worker = world.worker()
    while worker.step():
        if rng.random() < 0.01:
            same()
    same()
    for jobs in (*gateways, world.gateway()):
        assert jobs.status(OWNER, JOB).state == "done"
        assert_same(answers(jobs), wanted)


def test_parts_may_come_in_any_order_and_tables_too(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs, worker = world.gateway(), world.worker()
    jobs.create(OWNER, JOB, sent.request)
    parts = sent.each() * 2
    random.Random(5).shuffle(parts)
    new = 0
    for table, seq, body in parts:
        new += jobs.put_part(OWNER, JOB, table, seq, body)
        worker.step()
    assert new == len(sent.each())
    for table in reversed(list(sent.tables)):
        jobs.complete(OWNER, JOB, table, len(sent.tables[table]))
    run_to_end(jobs, worker)
    assert_same(answers(jobs), wanted)


def test_another_content_under_a_number_is_refused(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs, other = world.gateway(), world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    for table, seq, body in sent.each():
        jobs.put_part(OWNER, JOB, table, seq, body)
        for differs in (
            replace(body, data=body.data + b"x,y\n"),
            replace(body, first_line=body.first_line + 1),
            replace(body, file="other.csv"),
            replace(body, columns=None),
        ):
            with pytest.raises(PartDiffers):
                other.put_part(OWNER, JOB, table, seq, differs)
    for table, bodies in sent.tables.items():
        jobs.complete(OWNER, JOB, table, len(bodies))
    run_to_end(jobs, world.worker())
    assert_same(answers(jobs), wanted)


def test_a_wrong_count_is_refused_and_the_right_one_still_taken(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    bodies = sent.tables["books"]
    assert len(bodies) > 3
    for seq in (0, 2, 3):
        jobs.put_part(OWNER, JOB, "books", seq, bodies[seq])
    assert jobs.held(OWNER, JOB, "books") == Held(
        [(0, 0), (2, 3)], 3, sum(len(bodies[seq].data) for seq in (0, 2, 3)), None
    )
    with pytest.raises(PartsMissing, match=r"1 …"):
        jobs.complete(OWNER, JOB, "books", 4)
    for count in (0, -1, 10**9):
        with pytest.raises(BadRequest):
            jobs.complete(OWNER, JOB, "books", count)
    jobs.put_part(OWNER, JOB, "books", 1, bodies[1])
    with pytest.raises(CountDiffers, match="part 3"):
        jobs.complete(OWNER, JOB, "books", 3)
    with pytest.raises(PartsMissing, match="4"):
        jobs.complete(OWNER, JOB, "books", 5)
    assert jobs.complete(OWNER, JOB, "books", 4)
    assert not jobs.complete(OWNER, JOB, "books", 4)
    with pytest.raises(CountDiffers, match="with 4 parts, not with 3"):
        jobs.complete(OWNER, JOB, "books", 3)
    assert jobs.held(OWNER, JOB, "books").complete == 4


def test_after_completion_only_what_is_held_is_taken(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    first, second = sent.tables["books"][:2]
    jobs.put_part(OWNER, JOB, "books", 0, first)
    jobs.complete(OWNER, JOB, "books", 1)
    assert not jobs.put_part(OWNER, JOB, "books", 0, first)
    for gateway in (jobs, world.gateway()):
        with pytest.raises(TableComplete):
            gateway.put_part(OWNER, JOB, "books", 1, second)
        with pytest.raises(PartDiffers):
            gateway.put_part(OWNER, JOB, "books", 0, second)


def test_a_job_that_has_ended_takes_no_parts(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    run_to_end(jobs, world.worker())
    with pytest.raises(TableComplete):
        jobs.put_part(OWNER, JOB, "books", 10_000, sent.tables["books"][0])
    assert not jobs.put_part(OWNER, JOB, "books", 0, sent.tables["books"][0])
    jobs.cancel(OWNER, JOB)
    with pytest.raises(JobOver):
        jobs.put_part(OWNER, JOB, "books", 0, sent.tables["books"][0])


def test_names_and_numbers_are_checked(lone: World, sent: Sent) -> None:
    jobs = lone.gateway()
    for job in ("", ".", "..", "../x", "a/b", "a\0", "-a", "a" * 65, "é", "a\n"):
        with pytest.raises(BadRequest):
            jobs.create(OWNER, job, sent.request)
        with pytest.raises(BadRequest):
            jobs.status(OWNER, job)
    jobs.create(OWNER, JOB, sent.request)
    body = sent.tables["books"][0]
    for table in ("", "..", "../books", "raw-books-0", "sales", "books\0"):
        with pytest.raises(NoSuchTable):
            jobs.put_part(OWNER, JOB, table, 0, body)
        with pytest.raises(NoSuchTable):
            jobs.held(OWNER, JOB, table)
    for seq in (-1, 1_000_000, 2**63):
        with pytest.raises(BadRequest):
            jobs.put_part(OWNER, JOB, "books", seq, body)
    with pytest.raises(NoSuchJob):
        jobs.put_part(OWNER, "unknown", "books", 0, body)


@pytest.mark.parametrize(
    "request_",
    [
        JobRequest("unheard"),
        JobRequest("../books"),
        JobRequest("/etc/passwd.py"),
        JobRequest("books", ["q99"]),
        JobRequest("books", [], {"sentiment": "none"}),
        JobRequest("books", [], {"x": "y"}),
    ],
)
def test_what_cannot_be_planned_is_refused(lone: World, request_: JobRequest) -> None:
    with pytest.raises(BadRequest):
        lone.gateway().create(OWNER, JOB, request_)
    assert lone.left() == []


def test_an_id_stands_for_one_job(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    for other in (
        JobRequest("books", ["q1"]),
        JobRequest("coffee"),
        JobRequest("books", sent.queries, {"sentiment": "textblob"}),
    ):
        with pytest.raises(JobExistsOtherwise):
            world.gateway().create(OWNER, JOB, other)


def test_another_owners_job_does_not_exist(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent, owner="ana")
    body = sent.tables["books"][0]
    for act in (
        lambda: jobs.status("eva", JOB),
        lambda: jobs.cancel("eva", JOB),
        lambda: jobs.held("eva", JOB, "books"),
        lambda: jobs.put_part("eva", JOB, "books", 0, body),
        lambda: jobs.complete("eva", JOB, "books", 1),
        lambda: jobs.result("eva", JOB, "q1", None, 10),
        lambda: jobs.rejects("eva", JOB, None, 10),
        lambda: jobs.why("eva", JOB),
    ):
        with pytest.raises(NoSuchJob):
            act()
    assert jobs.list("eva") == []
    status, created = jobs.create("eva", JOB, JobRequest("coffee"))
    assert (created, status.owner) == (True, "eva")
    assert [each.dataset for each in jobs.list("ana")] == ["books"]


class Failing:
    """A fabric that loses what is appended at the steps that a test chooses, before or after it is in the log."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.lose_at: set[tuple[int, bool]] = set()
        self.appended = 0

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        step, self.appended = self.appended, self.appended + 1
        if (step, False) in self.lose_at:
            raise FabricLost("no confirmation came")
        self._fabric.append(job, log, records)
        if (step, True) in self.lose_at:
            raise FabricLost("no confirmation came")

    def __getattr__(self, name: str) -> object:
        return getattr(self._fabric, name)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("step", range(3))
def test_a_gateway_that_dies_at_any_append_of_a_part_costs_a_retry(
    world: World, sent: Sent, wanted: dict[str, bytes], step: int, kept: bool
) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    worker = world.worker()
    for table, seq, body in sent.each():
        failing = Failing(world.fabric())
        failing.lose_at = {(step, kept)}
        with pytest.raises(Unavailable) as problem:
            world.gateway(failing).put_part(OWNER, JOB, table, seq, body)  # type: ignore[arg-type]
        assert problem.value.retry_after
        # The worker may have read it before anybody knows that it is held.
        for _ in range(5):
            worker.step()
        held_already = not jobs.put_part(OWNER, JOB, table, seq, body)
        assert held_already == ((step, kept) == (2, True))
        if step == 1:
            with pytest.raises(PartDiffers):
                jobs.put_part(OWNER, JOB, table, seq, replace(body, data=body.data + b"x\n"))
    for table, bodies in sent.tables.items():
        assert jobs.complete(OWNER, JOB, table, len(bodies))
    assert run_to_end(jobs, worker).state == "done"
    assert_same(answers(jobs), wanted)


def test_a_gateway_that_dies_at_any_step_of_a_completion_costs_a_retry(
    world: World, sent: Sent, wanted: dict[str, bytes]
) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    for table, seq, body in sent.each():
        jobs.put_part(OWNER, JOB, table, seq, body)
    for table, bodies in sent.tables.items():
        for step in range(3):
            failing = Failing(world.fabric())
            failing.lose_at = {(step, True)}
            with pytest.raises(Unavailable):
                world.gateway(failing).complete(OWNER, JOB, table, len(bodies))  # type: ignore[arg-type]
            # From the first word on, the table is closed to more.
            with pytest.raises(TableComplete):
                jobs.put_part(OWNER, JOB, table, len(bodies), bodies[0])
        jobs.complete(OWNER, JOB, table, len(bodies))
        assert jobs.held(OWNER, JOB, table).complete == len(bodies)
    assert run_to_end(jobs, world.worker()).state == "done"
    assert_same(answers(jobs), wanted)


class Racing:
    """A fabric on which another gateway acts just before a chosen append."""

    def __init__(self, fabric: Fabric, act: object) -> None:
        self._fabric = fabric
        self._act = act
        self.at = 0

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        if self.at == 0:
            self._act()  # type: ignore[operator]
        self.at -= 1
        self._fabric.append(job, log, records)

    def __getattr__(self, name: str) -> object:
        return getattr(self._fabric, name)


def raced(world: World, act: object, at: int) -> Jobs:
    racing = Racing(world.fabric(), act)
    racing.at = at
    return world.gateway(racing)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", range(3))
def test_two_contents_at_the_same_moment_never_both_get_in(world: World, sent: Sent, at: int) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    body = sent.tables["books"][0]
    other = replace(body, data=body.data + body.data)
    outcomes: list[bool] = []

    def act() -> None:
        try:
            outcomes.append(jobs.put_part(OWNER, JOB, "books", 0, other))
        except PartDiffers:
            outcomes.append(False)

    try:
        outcomes.append(raced(world, act, at).put_part(OWNER, JOB, "books", 0, body))
    except PartDiffers:
        outcomes.append(False)
    assert sum(outcomes) == 1


@pytest.mark.parametrize("at", range(3))
def test_a_part_and_the_end_before_it_never_both_get_in(
    world: World, sent: Sent, wanted: dict[str, bytes], at: int
) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    first, second = sent.tables["books"][:2]
    jobs.put_part(OWNER, JOB, "books", 0, first)
    outcomes: list[bool] = []

    def act() -> None:
        try:
            outcomes.append(jobs.complete(OWNER, JOB, "books", 1))
        except CountDiffers:
            outcomes.append(False)

    try:
        outcomes.append(raced(world, act, at).put_part(OWNER, JOB, "books", 1, second))
    except TableComplete:
        outcomes.append(False)
    assert sum(outcomes) == 1


def test_a_digest_that_differs_is_refused(lone: World, sent: Sent) -> None:
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, sent.request)
    body = sent.tables["books"][0]
    with pytest.raises(BadPart, match="digest"):
        jobs.put_part(OWNER, JOB, "books", 0, replace(body, digest=hashlib.sha256(b"").hexdigest()))
    assert jobs.put_part(OWNER, JOB, "books", 0, replace(body, digest=hashlib.sha256(body.data).hexdigest()))
    assert not jobs.put_part(OWNER, JOB, "books", 0, body)


def test_an_empty_table_has_one_part(world: World) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, JobRequest("books", ["q1"]))
    header = b"Title,authors,publisher,publishedDate,categories\n"
    jobs.put_part(OWNER, JOB, "books", 0, PartBody(header, "csv"))
    jobs.complete(OWNER, JOB, "books", 1)
    assert run_to_end(jobs, world.worker()).state == "done"
    page = jobs.result(OWNER, JOB, "q1", None, 10)
    assert (page.rows.height, page.next, page.complete) == (0, None, True)
    assert page.rows.columns == ["title", "authors", "publisher"]
