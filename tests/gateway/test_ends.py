"""How jobs end, what is left of them, and for how long."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.errors import FabricLost
from cauce.fabric.contract import Fabric
from cauce.fabric.files import FilesFabric
from cauce.gateway.errors import JobExistsOtherwise, JobOver, NoSuchJob, TooEarly, Unavailable
from cauce.gateway.jobs import Jobs, register
from cauce.gateway.model import JobRequest, PartBody
from cauce.worker.loop import Ending
from cauce.worker.topology import JOB_LOG
from tests.e2e.comparing import assert_same
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send


def begin(jobs: Jobs, sent: Sent, job: str = JOB) -> None:
    """Half of an upload."""
    jobs.create(OWNER, job, sent.request)
    for table, seq, body in sent.each()[::2]:
        jobs.put_part(OWNER, job, table, seq, body)


def test_a_cancelled_job_leaves_nothing(world: World, sent: Sent) -> None:
    jobs, worker = world.gateway(), world.worker()
    begin(jobs, sent)
    for _ in range(40):
        worker.step()
    assert worker.held()
    status = jobs.cancel(OWNER, JOB)
    assert (status.state, status.ended) == ("cancelled", world.clock.now)
    assert world.left() == []
    for gateway in (jobs, world.gateway()):
        world.clock.now += 1
        assert gateway.cancel(OWNER, JOB) == status
        assert gateway.status(OWNER, JOB) == status
        assert gateway.list(OWNER) == [status]
        assert "cancelled" in gateway.why(OWNER, JOB)
    for _ in range(20):
        worker.step()
    assert not worker.held()
    assert world.left() == []


def test_a_done_job_may_be_cancelled_too(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    run_to_end(jobs, world.worker())
    assert jobs.cancel(OWNER, JOB).state == "cancelled"
    assert world.left() == []
    with pytest.raises(JobOver):
        jobs.result(OWNER, JOB, "q1", None, 10)


def test_only_the_job_that_is_cancelled_is_touched(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs, worker = world.gateway(), world.worker()
    send(jobs, sent, "job-1")
    send(jobs, sent, "job-1.2")
    send(jobs, sent, "job-1", owner="local-2")
    for _ in range(100):
        worker.step()
    jobs.cancel(OWNER, "job-1")
    for owner, job in ((OWNER, "job-1.2"), ("local-2", "job-1")):
        run_to_end(jobs, worker, job, owner)
        assert_same(answers(jobs, job, owner), wanted)


def test_what_was_cancelled_is_not_created_again(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    begin(jobs, sent)
    cancelled = jobs.cancel(OWNER, JOB)
    assert world.gateway().create(OWNER, JOB, sent.request) == (cancelled, False)
    with pytest.raises(JobExistsOtherwise):
        jobs.create(OWNER, JOB, JobRequest("coffee"))
    assert world.left() == []
    world.clock.now += 86_401
    jobs.sweep()
    with pytest.raises(NoSuchJob):
        jobs.status(OWNER, JOB)
    assert jobs.create(OWNER, JOB, JobRequest("coffee"))[1]


class Dying:
    """A fabric on which deleting a job fails."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    def delete_job(self, job: str) -> None:
        raise FabricLost("dead")

    def __getattr__(self, name: str) -> object:
        return getattr(self._fabric, name)


def test_a_cancel_that_was_only_said_is_done_by_another_gateways_sweep(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    begin(jobs, sent)
    with pytest.raises(Unavailable):
        world.gateway(Dying(world.fabric())).cancel(OWNER, JOB)  # type: ignore[arg-type]
    assert world.left() != []
    assert [status.state for status in jobs.list(OWNER)] == ["cancelled"]
    jobs.sweep()
    assert world.left() == []
    assert jobs.status(OWNER, JOB).state == "cancelled"


def test_a_receiving_job_expires_when_nothing_comes(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    begin(jobs, sent)
    start = world.clock.now
    world.clock.now = start + 590
    jobs.put_part(OWNER, JOB, *sent.each()[1])
    assert jobs.status(OWNER, JOB).expires == start + 590 + 600
    world.clock.now = start + 1100
    assert jobs.sweep() == []
    world.clock.now = start + 1191
    assert world.gateway().sweep() == [f"{OWNER}.{JOB}"]
    assert jobs.sweep() == []
    assert world.left() == []
    status = jobs.status(OWNER, JOB)
    assert (status.state, status.code) == ("expired", "expired")
    assert "600 s" in status.cause
    with pytest.raises(JobOver):
        jobs.put_part(OWNER, JOB, *sent.each()[0])
    assert world.events[-1] == ("expired", JOB)


def test_a_created_job_expires_too_and_a_running_one_does_not(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, "idle", sent.request)
    send(jobs, sent, "running")
    world.clock.now += 100_000
    assert jobs.sweep() == [f"{OWNER}.idle"]
    assert jobs.status(OWNER, "running").state == "running"
    assert jobs.status(OWNER, "running").expires is None


def test_answers_are_kept_for_a_day_after_the_end(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    world.clock.now += 5
    ended = run_to_end(jobs, world.worker()).ended
    assert ended == world.clock.now
    world.clock.now += 86_399
    assert jobs.sweep() == []
    other = world.gateway()
    assert other.status(OWNER, JOB).ended == ended
    assert_same(answers(other), wanted)
    world.clock.now += 2
    assert other.sweep() == [f"{OWNER}.{JOB}"]
    assert world.left() == []
    assert "done" in jobs.status(OWNER, JOB).cause


def test_a_done_job_keeps_its_answers_and_nothing_else(world: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs, worker = world.gateway(), world.worker()
    send(jobs, sent)
    run_to_end(jobs, worker)
    for _ in range(20):
        worker.step()
    assert not worker.held()
    if world.root is not None:
        folder = world.root / "jobs" / f"{OWNER}.{JOB}"
        logs = {path.name for path in (folder / "logs").iterdir()}
        assert not any(log.startswith(("raw-", "journal.")) for log in logs)
        assert {JOB_LOG, "home.answer-q4", "home.reports-books", "home.reports-reviews"} <= logs
        assert {"control.receipts-books", "control.receipts-reviews"} <= logs
        assert list((folder / "leases").iterdir()) == []
        assert list((world.root / "trash").iterdir()) == []
    jobs.create(OWNER, JOB, sent.request)
    assert not worker.step()
    assert_same(answers(world.gateway()), wanted)


def test_a_job_that_fails_says_why_and_is_released(world: World, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import polars as pl\n"
        "from cauce.plan import *\n"
        "t = Table('t', 't.csv', {'a': Text()})\n"
        "dataset = Dataset('own', (t,))\n"
        "def boom(values):\n"
        "    raise ZeroDivisionError('a query divides by zero')\n"
        "@dataset.query(a=TEXT)\n"
        "def q1():\n"
        "    return t.with_columns(a=pl.col('a').map_batches(boom, return_dtype=pl.String)).in_input_order()\n"
    )
    registered = register([tmp_path / "own.py"])
    assert list(registered) == ["own"]
    jobs = Jobs(world.fabric(), world.limits, world.clock, datasets=registered)
    status, _ = jobs.create(OWNER, JOB, JobRequest("own"))
    assert status.dataset == "own"
    jobs.put_part(OWNER, JOB, "t", 0, PartBody(b"a\n1\n", "csv"))
    status = run_to_end(jobs, world.worker())
    assert (status.state, status.code) == ("failed", "job-failed")
    assert "divides by zero" in status.cause
    assert "divides by zero" in jobs.why(OWNER, JOB)
    with pytest.raises(JobOver):
        jobs.put_part(OWNER, JOB, "t", 1, PartBody(b"a\n2\n", "csv"))
    with pytest.raises(JobOver):
        jobs.complete(OWNER, JOB, "t", 1)
    assert not jobs.put_part(OWNER, JOB, "t", 0, PartBody(b"a\n1\n", "csv"))
    assert jobs.result(OWNER, JOB, "q1", None, 5).next is None
    world.clock.now += 86_401
    assert jobs.sweep() == [f"{OWNER}.{JOB}"]
    assert world.left() == []


def test_a_job_that_is_done_stays_done_whatever_a_late_worker_says(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    done = run_to_end(jobs, world.worker())
    world.fabric().append(f"{OWNER}.{JOB}", JOB_LOG, [Ending("failed", "late").dump(7)])
    assert jobs.status(OWNER, JOB) == done
    assert world.gateway().status(OWNER, JOB) == done


def test_of_two_notes_of_an_end_the_first_counts(world: World, sent: Sent) -> None:
    jobs, other = world.gateway(), world.gateway()
    send(jobs, sent)
    worker = world.worker()
    while worker.step():
        pass
    fabric = world.fabric()
    fabric.append(f"{OWNER}.{JOB}", JOB_LOG, [Ending("done", at=world.clock.now + 9).dump(1)])
    fabric.append(f"{OWNER}.{JOB}", JOB_LOG, [Ending("done", at=world.clock.now + 3).dump(1)])
    assert jobs.status(OWNER, JOB).ended == other.status(OWNER, JOB).ended == world.clock.now + 3


def test_answers_come_by_page_and_cursor(lone: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs, worker = lone.gateway(), lone.worker()
    jobs.create(OWNER, JOB, sent.request)
    with pytest.raises(TooEarly):
        jobs.answer(OWNER, JOB, "q1")
    with pytest.raises(TooEarly):
        jobs.rejects_csv(OWNER, JOB)
    for table, seq, body in sent.each():
        jobs.put_part(OWNER, JOB, table, seq, body)
    for table, bodies in sent.tables.items():
        jobs.complete(OWNER, JOB, table, len(bodies))
    rows: list[object] = []
    at: str | None = "0.0"
    while at is not None:
        worker.step()
        page = lone.gateway().result(OWNER, JOB, "q2", at, 1)
        assert page.rows.height <= 1
        rows += page.rows.rows()
        at = page.next
    assert rows == pl.concat(jobs.answer(OWNER, JOB, "q2").pages).rows()
    assert len(rows) == 3


def test_rejects_come_by_page_and_cursor(lone: World, sent: Sent) -> None:
    jobs, worker = lone.gateway(), lone.worker()
    send(jobs, sent)
    rejects: list[object] = []
    at: str | None = "0.0"
    while at is not None:
        worker.step()
        page = lone.gateway().rejects(OWNER, JOB, at, 2)
        assert page.rows.height <= 2
        rejects += page.rows.rows()
        at = page.next
    assert len(rejects) == sum(table.rejects for table in jobs.status(OWNER, JOB).tables.values()) > 10
    assert rejects == jobs.rejects(OWNER, JOB, None, 1000).rows.rows()


def test_a_status_says_what_a_job_waits_for(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    assert "no part of" in jobs.why(OWNER, JOB)
    jobs.put_part(OWNER, JOB, *sent.each()[0])
    assert "to complete table" in jobs.why(OWNER, JOB)
    send(jobs, sent)
    assert "waits for" in jobs.why(OWNER, JOB)
    run_to_end(jobs, world.worker())
    assert "is done" in jobs.why(OWNER, JOB)


def test_a_status_costs_little_when_nothing_has_changed(tmp_path: Path, sent: Sent) -> None:
    """Counted in reads of logs, not in time."""
    fabric = FilesFabric(tmp_path)
    world = World(lambda: FilesFabric(tmp_path), tmp_path)
    jobs = world.gateway(fabric)
    send(jobs, sent)
    run_to_end(jobs, world.worker())
    reads: list[str] = []
    read = fabric.read
    fabric.read = lambda job, log, *rest: (reads.append(log), read(job, log, *rest))[1]  # type: ignore[method-assign]
    for _ in range(10):
        jobs.status(OWNER, JOB)
    assert reads == []
    world.close()
