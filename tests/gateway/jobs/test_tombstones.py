"""Cancellation and expiry of jobs, their tombstones, and retention."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.api.jobs import JobRequest
from cauce.api.names import LOCAL
from cauce.datasets.registry import Registry
from cauce.errors import FabricFull, FabricLost
from cauce.fabric.contract import Fabric
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.names import is_service_log
from cauce.gateway.errors import JobExistsOtherwise, JobOver, NoSuchJob, TooEarly
from cauce.gateway.jobs import tombstones
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.jobs.tombstones import Tombstone, TombstoneStore
from cauce.gateway.model import PartBody
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from cauce.worker.job_table import Host
from cauce.worker.loop import Worker
from tests.e2e.comparing import assert_same
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, run_to_end, send


def begin(jobs: Jobs, sent: Sent, job: str = JOB) -> None:
    """Starts an upload and leaves it incomplete."""
    jobs.create(OWNER, job, sent.request)
    for table, seq, body in sent.each()[::2]:
        jobs.uploads.put_part(OWNER, job, table, seq, body)


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


def test_a_cancelled_job_is_not_created_again(world: World, sent: Sent) -> None:
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


def test_an_interrupted_cancel_is_completed_by_the_sweep_of_another_gateway(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    begin(jobs, sent)
    with pytest.raises(FabricLost):
        world.gateway(Dying(world.fabric())).cancel(OWNER, JOB)  # type: ignore[arg-type]
    assert world.left() != []
    assert [status.state for status in jobs.list(OWNER)] == ["cancelled"]
    jobs.sweep()
    assert world.left() == []
    assert jobs.status(OWNER, JOB).state == "cancelled"


def test_a_receiving_job_without_new_parts_expires(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    begin(jobs, sent)
    start = world.clock.now
    world.clock.now = start + 590
    jobs.uploads.put_part(OWNER, JOB, *sent.each()[1])
    assert jobs.status(OWNER, JOB).expires == start + 590 + 600
    other = world.gateway()
    assert other.sweep() == []
    world.clock.now = start + 1100
    assert jobs.sweep() == []
    world.clock.now = start + 1191
    assert other.sweep() == [f"{OWNER}.{JOB}"]
    assert jobs.sweep() == []
    assert world.left() == []
    status = jobs.status(OWNER, JOB)
    assert (status.state, status.code) == ("expired", "expired")
    assert "600 s" in status.cause
    with pytest.raises(JobOver):
        jobs.uploads.put_part(OWNER, JOB, *sent.each()[0])
    assert world.events[-1] == ("expired", JOB)


def test_a_created_job_expires_too_and_a_running_one_does_not(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, "idle", sent.request)
    send(jobs, sent, "running")
    jobs.sweep()
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
    other = world.gateway()
    other.sweep()
    world.clock.now += 86_399
    assert jobs.sweep() == []
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
        assert {JOB_LOG.encode(), "home.answer-q4", "home.reports-books", "home.reports-reviews"} <= logs
        assert {"control.receipts-books", "control.receipts-reviews"} <= logs
        assert list((folder / "leases").iterdir()) == []
        assert list((world.root / "trash").iterdir()) == []
    jobs.create(OWNER, JOB, sent.request)
    assert not worker.step()
    assert_same(answers(world.gateway()), wanted)


def test_a_failed_job_reports_its_cause_and_is_released(world: World, tmp_path: Path) -> None:
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
    registered = world.datasets = Registry([tmp_path / "own.py"])
    jobs = world.gateway()
    status, _ = jobs.create(OWNER, JOB, JobRequest("own"))
    assert status.dataset == "own"
    jobs.uploads.put_part(OWNER, JOB, "t", 0, PartBody(b"a\n1\n", "csv"))
    status = run_to_end(jobs, Worker(world.fabric(), host=Host(datasets=registered)))
    assert (status.state, status.code) == ("failed", "job-failed")
    assert "divides by zero" in status.cause
    assert "divides by zero" in jobs.why(OWNER, JOB)
    with pytest.raises(JobOver):
        jobs.uploads.put_part(OWNER, JOB, "t", 1, PartBody(b"a\n2\n", "csv"))
    with pytest.raises(JobOver):
        jobs.uploads.complete(OWNER, JOB, "t", 1)
    assert not jobs.uploads.put_part(OWNER, JOB, "t", 0, PartBody(b"a\n1\n", "csv"))
    assert jobs.result(OWNER, JOB, "q1", None, 5).next is None
    jobs.sweep()
    world.clock.now += 86_401
    assert jobs.sweep() == [f"{OWNER}.{JOB}"]
    assert world.left() == []


def test_a_done_job_stays_done_if_a_late_worker_reports_a_failure(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    done = run_to_end(jobs, world.worker())
    world.fabric().append(f"{OWNER}.{JOB}", JOB_LOG, [Outcome("failed", "late").dump(7)])
    assert jobs.status(OWNER, JOB) == done
    assert world.gateway().status(OWNER, JOB) == done


def test_the_first_of_two_recorded_ends_counts(world: World, sent: Sent) -> None:
    jobs, other = world.gateway(), world.gateway()
    send(jobs, sent)
    worker = world.worker()
    while worker.step():
        pass
    fabric = world.fabric()
    fabric.append(f"{OWNER}.{JOB}", JOB_LOG, [Outcome("done", at=world.clock.now + 9).dump(1)])
    fabric.append(f"{OWNER}.{JOB}", JOB_LOG, [Outcome("done", at=world.clock.now + 3).dump(1)])
    assert jobs.status(OWNER, JOB).ended == other.status(OWNER, JOB).ended == world.clock.now + 3


def test_answers_come_by_page_and_cursor(lone: World, sent: Sent, wanted: dict[str, bytes]) -> None:
    jobs, worker = lone.gateway(), lone.worker()
    jobs.create(OWNER, JOB, sent.request)
    with pytest.raises(TooEarly):
        jobs.answer(OWNER, JOB, "q1")
    with pytest.raises(TooEarly):
        jobs.rejects_csv(OWNER, JOB)
    for table, seq, body in sent.each():
        jobs.uploads.put_part(OWNER, JOB, table, seq, body)
    for table, bodies in sent.tables.items():
        jobs.uploads.complete(OWNER, JOB, table, len(bodies))
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


def test_why_names_the_input_that_a_job_waits_for(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    assert "no part of" in jobs.why(OWNER, JOB)
    jobs.uploads.put_part(OWNER, JOB, *sent.each()[0])
    assert "to complete table" in jobs.why(OWNER, JOB)
    send(jobs, sent)
    assert "waits for" in jobs.why(OWNER, JOB)
    run_to_end(jobs, world.worker())
    assert "is done" in jobs.why(OWNER, JOB)


def test_an_unchanged_status_needs_few_reads(tmp_path: Path, sent: Sent) -> None:
    """Measured in log reads, not in time."""
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


@pytest.mark.parametrize("seconds", [601, 86_400 * 3])
def test_a_clock_that_is_set_forward_expires_no_upload(world: World, sent: Sent, seconds: float) -> None:
    jobs = world.gateway()
    begin(jobs, sent)
    jobs.sweep()
    world.clock.jump(seconds)
    assert jobs.sweep() == []
    assert world.gateway().sweep() == []
    jobs.uploads.put_part(OWNER, JOB, *sent.each()[1])
    assert jobs.status(OWNER, JOB).state == "receiving"


def test_a_clock_that_is_set_forward_removes_no_answers(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    run_to_end(jobs, world.worker())
    jobs.sweep()
    world.clock.jump(86_401)
    world.clock.now += 3600
    assert jobs.sweep() == []
    assert jobs.status(OWNER, JOB).state == "done"


def test_a_restarted_gateway_observes_an_upload_for_the_whole_idle_limit(world: World, sent: Sent) -> None:
    begin(world.gateway(), sent)
    world.clock.jump(10_000)
    jobs = world.gateway()
    assert jobs.sweep() == []
    world.clock.now += 599
    assert jobs.sweep() == []
    world.clock.now += 2
    assert jobs.sweep() == [f"{OWNER}.{JOB}"]


def stone(number: int, ended: float, owner: str = OWNER) -> Tombstone:
    return Tombstone(f"job-{number}", owner, "books", ["q1"], {}, "cancelled", "cancelled", "cancelled", ended, ended)


def test_the_oldest_tombstones_are_dropped_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "MOST", 10)
    one, other = TombstoneStore(world.fabric()), TombstoneStore(world.fabric())
    now = world.clock.now
    for number in range(95):
        (one, other)[number % 2].add(stone(number, now))
        one.sweep(now)
    # The newest bucket is half full, and the one before it is kept.
    assert {job for _, job in one.all(now)} == {f"job-{number}" for number in range(80, 95)}
    assert one.all(now) == other.all(now) == TombstoneStore(world.fabric()).all(now)
    assert len(world.fabric().service_logs()) == 2
    one.sweep(now + 3 * 86_400)
    assert world.fabric().service_logs() == []


def test_an_owner_displaces_no_tombstones_of_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "MOST", 10)
    monkeypatch.setattr(tombstones, "SHARE", 4)
    one, other = TombstoneStore(world.fabric()), TombstoneStore(world.fabric())
    now = world.clock.now
    one.add(stone(0, now, "eva"))
    for number in range(95):
        (one, other)[number % 2].add(stone(number, now))
        one.sweep(now)
    other.add(stone(1, now, "eva"))
    found = one.all(now)
    assert {job for owner, job in found if owner == "eva"} == {"job-0", "job-1"}
    # Its share, and the newest overflow tombstones: a full bucket and a partial one.
    assert {job for owner, job in found if owner == OWNER} == {
        f"job-{number}" for number in (*range(4), *range(84, 95))
    }
    assert found == other.all(now) == TombstoneStore(world.fabric()).all(now)
    one.sweep(now + 3 * 86_400)
    assert world.fabric().service_logs() == []


def test_jobs_and_tombstones_are_listed_by_pages(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    for number in range(7):
        world.clock.now += number % 2
        jobs.create(OWNER, f"job-{number}", sent.request)
        if number % 3 == 0:
            jobs.cancel(OWNER, f"job-{number}")
    jobs.create("eva", "hers", sent.request)
    found, cursor = [], None
    while True:
        page = jobs.list_page(OWNER, cursor, 3)
        found.append([status.job for status in page.jobs])
        cursor = page.next
        if cursor is None:
            break
    assert found == [["job-0", "job-1", "job-2"], ["job-3", "job-4", "job-5"], ["job-6"]]
    assert [status.job for status in jobs.list(OWNER)] == [f"job-{number}" for number in range(7)]


def test_the_operator_lists_the_jobs_of_all_owners_by_pages(world: World, sent: Sent) -> None:
    """Jobs of two owners with the same id, created at the same instant, are two places of the list."""
    jobs = world.gateway()
    for owner in ("eva", LOCAL, "ana"):
        jobs.create(owner, "same", sent.request)
    jobs.cancel("eva", "same")
    found, cursor = [], None
    while True:
        page = jobs.list_page(LOCAL, cursor, 1, all_owners=True)
        found += [(status.owner, status.job, status.state) for status in page.jobs]
        assert page.owner == LOCAL
        cursor = page.next
        if cursor is None:
            break
    assert found == [("ana", "same", "created"), ("eva", "same", "cancelled"), (LOCAL, "same", "created")]
    assert [status.owner for status in jobs.list(LOCAL, all_owners=True)] == ["ana", "eva", LOCAL]
    assert [status.owner for status in jobs.list("eva", all_owners=True)] == ["eva"]


class Full:
    """A fabric without space for tombstones while it has jobs of clients, or while `full` is set."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.full = False

    def create_job(self, job: str, manifest: bytes) -> bytes:
        if is_service_log(job) and (self.full or self._fabric.jobs()):
            raise FabricFull("no space left")
        return self._fabric.create_job(job, manifest)

    def __getattr__(self, name: str) -> object:
        return getattr(self._fabric, name)


def test_a_job_is_cancelled_without_space_for_its_tombstone(world: World, sent: Sent) -> None:
    jobs = world.gateway(Full(world.fabric()))  # type: ignore[arg-type]
    begin(jobs, sent)
    assert jobs.cancel(OWNER, JOB).state == "cancelled"
    assert world.left() == []
    assert world.gateway().status(OWNER, JOB).state == "cancelled"


def test_a_pending_tombstone_is_appended_when_there_is_space(world: World, sent: Sent) -> None:
    full = Full(world.fabric())
    jobs = world.gateway(full)  # type: ignore[arg-type]
    begin(jobs, sent)
    full.full = True
    cancelled = jobs.cancel(OWNER, JOB)
    assert jobs.create(OWNER, JOB, sent.request) == (cancelled, False)
    with pytest.raises(NoSuchJob):
        world.gateway().status(OWNER, JOB)
    full.full = False
    jobs.sweep()
    assert world.gateway().status(OWNER, JOB) == cancelled


def test_a_pending_tombstone_does_not_end_a_job_created_since(world: World, sent: Sent) -> None:
    full = Full(world.fabric())
    jobs = world.gateway(full)  # type: ignore[arg-type]
    begin(jobs, sent)
    full.full = True
    jobs.cancel(OWNER, JOB)
    assert world.gateway().create(OWNER, JOB, sent.request)[1]
    full.full = False
    jobs.sweep()
    assert jobs.status(OWNER, JOB).state == "created"
