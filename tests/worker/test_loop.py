"""A worker with several jobs: fair scheduling, isolation of failures, and a bounded share of the leases."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import msgspec
import polars as pl
import pytest

from cauce.datasets.registry import Registry
from cauce.errors import FabricError, FabricFull, FabricLost, JobFailed
from cauce.fabric.contract import START, Batch, Position
from cauce.fabric.memory import MemoryFabric, MemoryLease, NoFaults, Store
from cauce.fabric.names import SERVICE, Log
from cauce.fabric.records import Kind, Record, record
from cauce.job.crashes import PROVEN, Cause, Scene, Start
from cauce.job.job_log import JobLog, MissingDataset
from cauce.job.manifest import Manifest
from cauce.job.outcome import Outcome, Outcomes
from cauce.job.part_codec import dump_part
from cauce.job.topology import FOLDS, JOB_LOG, SOURCES, Topology
from cauce.plan import INTEGER, TEXT, Dataset, Integer, Relation, Table, Text, agg
from cauce.plan.physical import Plan
from cauce.runner.local_client import Collect, Upload, create
from cauce.runner.sinks import Memory, Prepared, prepare
from cauce.scan.parts import Part
from cauce.worker.edge_input import Collected, Intake
from cauce.worker.job_table import Host
from cauce.worker.journal import Journal, JournalState
from cauce.worker.loop import SLICE_S, SPILLING_COST, Worker
from cauce.worker.open_job import CRASH_PAUSE_S, FIRST_POLL_S, LONGEST_POLL_S, HeldTask, OpenJob
from cauce.worker.set_aside import SetAside
from cauce.worker.tasks.fold_task import FoldTask
from cauce.worker.tasks.limits import Limits
from cauce.worker.tasks.source_task import SourceTask
from cauce.worker.tasks.task import Step, Task
from cauce.worker.turns import Turns
from tests.datasets.test_load import SHOP


def spoil(values: pl.Series) -> pl.Series:
    if (values == "boom").any():
        raise ZeroDivisionError("a query divides by zero")
    if (values == "exit").any():
        sys.exit("a query ends its process")
    return values


def shop(folder: Path, rows: int, kind: str = "tea") -> Prepared:
    folder.mkdir()
    (folder / "sales.csv").write_text("kind,amount\n" + f"{kind},1\n" * rows)
    return prepare(shop_dataset(), folder)


def shop_dataset() -> Dataset:
    sales = Table("sales", "sales.csv", {"kind": Text(), "amount": Integer()})
    dataset = Dataset("shop", (sales,))

    @dataset.query(kind=TEXT, sales=INTEGER)
    def q1() -> Relation:
        """How many of each kind"""
        checked = sales.with_columns(kind=pl.col("kind").map_batches(spoil, return_dtype=pl.String))
        return checked.group_by("kind").agg(sales=agg.count()).sort("kind")

    return dataset


class Cluster:
    """Jobs on one store, with all of their parts appended."""

    def __init__(self) -> None:
        self.store = Store()
        self.plans: dict[str, Plan] = {}
        self.sinks: dict[str, Memory] = {}
        self.collects: dict[str, Collect] = {}

    def add(
        self, job: str, prepared: Prepared, part_bytes: int = 30, workers: int = 1, lanes: int = 2, owner: str = ""
    ) -> None:
        fabric = MemoryFabric(self.store)
        topology = Topology(prepared.plan, lanes)
        digest = prepared.plan.digest
        create(fabric, Manifest(job, "shop", ("q1",), {}, 2, lanes, digest, workers, owner=owner), topology)
        upload = Upload(fabric, job, topology, prepared.files, part_bytes)
        while upload.step():
            pass
        self.plans[job] = prepared.plan
        self.sinks[job] = Memory()
        self.collects[job] = Collect(fabric, job, topology, self.sinks[job])

    def worker(self) -> Worker:
        return Worker(MemoryFabric(self.store), plans=self.plans)

    def done(self, job: str) -> bool:
        while self.collects[job].step():
            pass
        return self.collects[job].complete

    def rows(self, job: str) -> list[tuple[str, int]]:
        return self.sinks[job].answers(self.plans[job])["q1"].rows()  # type: ignore[return-value]


def run_until(worker: Worker, cluster: Cluster, job: str, most: int = 5_000) -> int:
    for steps in range(most):
        worker.step()
        if cluster.done(job):
            return steps
    raise AssertionError(f"{job} is not done after {most} steps")


def test_a_small_job_does_not_wait_for_a_large_one(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("large", shop(tmp_path / "large", 3_000))
    cluster.add("small", shop(tmp_path / "small", 4))
    worker = cluster.worker()
    assert run_until(worker, cluster, "small") < 200
    assert not cluster.done("large")
    assert cluster.rows("small") == [("tea", 4)]


def test_a_failed_job_does_not_affect_the_others(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("bad", shop(tmp_path / "bad", 5, "boom"))
    cluster.add("good", shop(tmp_path / "good", 5))
    worker = cluster.worker()
    run_until(worker, cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    with pytest.raises(JobFailed, match=r"scan sales, lane 0.*a query divides by zero"):
        cluster.done("bad")


def test_a_function_that_exits_fails_only_its_job(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("bad", shop(tmp_path / "bad", 5, kind="exit"))
    cluster.add("good", shop(tmp_path / "good", 5))
    run_until(cluster.worker(), cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    with pytest.raises(JobFailed, match=r"calls sys\.exit.*raise an exception instead"):
        cluster.done("bad")


class Failing(NoFaults):
    """Fails appends to some logs, a limited number of times."""

    def __init__(self, times: int, *logs: str) -> None:
        self.times = times
        self._logs = logs

    def before(self, step: str, where: str) -> None:
        if step == "append" and self.times > 0 and any(log in where for log in self._logs):
            self.times -= 1
            raise FabricLost(f"{where} is not confirmed")


@pytest.mark.parametrize("logs", [("edge",), ("edge", "journal"), ("home",)])
def test_fabric_errors_do_not_count_as_crashes(tmp_path: Path, logs: tuple[str, ...]) -> None:
    cluster = Cluster()
    cluster.add("j", shop(tmp_path / "j", 20))
    faults = Failing(30, *logs)
    worker = Worker(MemoryFabric(cluster.store, faults), plans=cluster.plans)
    for _ in range(1_000):
        worker.step()
    assert not faults.times
    run_until(worker, cluster, "j")
    assert cluster.rows("j") == [("tea", 20)]


def test_workers_skip_a_job_that_has_ended(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("over", shop(tmp_path / "over", 500))
    worker = cluster.worker()
    for _ in range(20):
        worker.step()
    assert worker.held()
    fabric = MemoryFabric(cluster.store)
    fabric.append("over", JOB_LOG, [Outcome("cancelled").dump(99)])
    for _ in range(50):
        worker.step()
    assert not worker.held()
    assert not cluster.store.jobs["over"].holders


def test_a_deleted_job_is_forgotten(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("gone", shop(tmp_path / "gone", 500))
    worker = cluster.worker()
    for _ in range(20):
        worker.step()
    MemoryFabric(cluster.store).delete_job("gone")
    for _ in range(50):
        worker.step()
    assert not worker.held()
    assert not worker.step()


def test_two_workers_share_the_lanes(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 400), workers=2)
    first, second = cluster.worker(), cluster.worker()
    for _ in range(60):
        first.step()
    for _ in range(60):
        first.step()
        second.step()
    lanes = [[task for _, task in worker.held() if "lane" in task] for worker in (first, second)]
    assert sorted(map(len, lanes)) == [1, 1]


def test_two_workers_share_the_partitions_of_each_stage(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 4000), workers=2)
    first, second = cluster.worker(), cluster.worker()
    for _ in range(10):
        first.step()
    for _ in range(10):
        first.step()
        second.step()
    held = [[task for _, task in worker.held() if "group by" in task] for worker in (first, second)]
    assert sorted(map(len, held)) == [1, 1]


def test_a_worker_without_others_runs_all_partitions_of_a_stage(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 400), workers=2)
    run_until(cluster.worker(), cluster, "job")
    assert cluster.rows("job") == [("tea", 400)]


def test_a_released_lease_goes_to_the_next_worker(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 400))
    first, second = cluster.worker(), cluster.worker()
    for _ in range(60):
        first.step()
    first.release_all_leases()
    assert not cluster.store.jobs["job"].holders
    run_until(second, cluster, "job")
    assert cluster.rows("job") == [("tea", 400)]


def ending(store: Store, job: str) -> Outcome:
    found = Outcomes(MemoryFabric(store).read(job, JOB_LOG, START, 1 << 20).records).effective
    assert found is not None
    return found


def test_another_plan_is_refused(tmp_path: Path) -> None:
    store = Store()
    manifest = Manifest("job", "coffee", ("q1",), {}, 2, 1, "another digest")
    MemoryFabric(store).create_job("job", manifest.dump())
    Worker(MemoryFabric(store)).step()
    assert ending(store, "job").code == "mismatch"
    assert "same version" in ending(store, "job").cause


@pytest.mark.parametrize(
    "manifest",
    [
        Manifest("bad", "coffee", ("q99",), {}, 2, 1, "").dump(),
        Manifest("bad", "coffee", (), {"unheard": "of"}, -1, -1, "").dump(),
    ],
)
def test_a_job_that_cannot_be_planned_fails_without_affecting_the_others(tmp_path: Path, manifest: bytes) -> None:
    cluster = Cluster()
    MemoryFabric(cluster.store).create_job("bad", manifest)
    cluster.add("good", shop(tmp_path / "good", 5))
    worker = cluster.worker()
    run_until(worker, cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    assert ending(cluster.store, "bad").state == "failed"


@pytest.mark.parametrize("manifest", [b"", b"{}", b"[" * 100_000, b"\0" * 100, b'{"version": 99}'])
def test_a_job_whose_manifest_cannot_be_read_is_skipped(tmp_path: Path, manifest: bytes) -> None:
    cluster = Cluster()
    MemoryFabric(cluster.store).create_job("bad", manifest)
    cluster.add("good", shop(tmp_path / "good", 5))
    run_until(cluster.worker(), cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    assert cluster.store.jobs["bad"].logs == {}


def test_a_job_whose_dataset_is_missing_is_set_aside_and_not_failed(tmp_path: Path) -> None:
    cluster = Cluster()
    fabric = MemoryFabric(cluster.store)
    fabric.create_job("foreign", Manifest("foreign", "shop", ("q1",), {}, 2, 1, "").dump())
    worker = Worker(MemoryFabric(cluster.store))
    for _ in range(5):
        assert not worker.step()
    records = fabric.read("foreign", JOB_LOG, START, 1 << 20).records
    assert [each.kind for each in records] == [Kind.DATASET_MISSING]
    assert msgspec.json.decode(records[0].body, type=MissingDataset).dataset == "shop"


def test_a_job_that_was_set_aside_resumes_when_the_file_declares_its_dataset(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(SHOP % "another")
    cluster = Cluster()
    fabric = MemoryFabric(cluster.store)
    fabric.create_job("late", Manifest("late", "wanted", ("q1",), {}, 2, 1, "not of this plan").dump())
    worker = Worker(MemoryFabric(cluster.store), host=Host(datasets=Registry([file])))
    worker.step()
    file.write_text(SHOP % "wanted")
    worker.step()
    assert ending(cluster.store, "late").code == "mismatch"


def test_a_dataset_whose_file_raises_fails_only_its_job(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("raise SystemError('boom')\n")
    cluster = Cluster()
    MemoryFabric(cluster.store).create_job("bad", Manifest("bad", "own", (), {}, 2, 1, "").dump())
    Worker(MemoryFabric(cluster.store), host=Host(datasets=Registry([file]))).step()
    assert "boom" in ending(cluster.store, "bad").cause


def test_logs_of_the_service_are_not_jobs(tmp_path: Path) -> None:
    cluster = Cluster()
    fabric = MemoryFabric(cluster.store)
    for name in (SERVICE, f"{SERVICE}-20000"):
        fabric.create_job(name, b"")
    worker = cluster.worker()
    for _ in range(3):
        assert not worker.step()
    assert not any(job.logs for job in cluster.store.jobs.values())


def test_a_job_that_had_ended_before_is_not_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.add("over", shop(tmp_path / "over", 5))
    MemoryFabric(cluster.store).append("over", JOB_LOG, [Outcome("done").dump(99)])
    monkeypatch.setattr(Manifest, "plan", lambda self, datasets: pytest.fail("planned"))
    assert not Worker(MemoryFabric(cluster.store)).step()


def test_a_panic_of_a_library_fails_only_its_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 5))
    monkeypatch.setattr(FoldTask, "work", panic)
    worker = cluster.worker()
    for _ in range(200):
        worker.step()
    assert "PanicException" in ending(cluster.store, "job").cause


def panic(task: FoldTask, past: object) -> Step:
    raise pl.exceptions.PanicException("boom")


def waiting_lanes(cluster: Cluster, job: str, prepared: Prepared) -> None:
    """A job whose client has appended only the parts of the second lane, and may send more."""
    fabric = MemoryFabric(cluster.store)
    topology = Topology(prepared.plan, 2)
    create(fabric, Manifest(job, "shop", ("q1",), {}, 2, 2, prepared.plan.digest, 1), topology)
    upload = Upload(fabric, job, topology, prepared.files, 30)
    (table,) = prepared.plan.tables
    for part in upload.parts(table):
        if part.seq % 2:
            fabric.append(job, topology.raw_log(table, 1), [dump_part(part)])
    cluster.plans[job] = prepared.plan


def reported(cluster: Cluster, job: str) -> int:
    return len(MemoryFabric(cluster.store).read(job, Log("home", "reports-sales"), START, 1 << 20).records)


def test_a_lane_that_has_parts_is_read_though_another_waits_for_its_client(tmp_path: Path) -> None:
    cluster = Cluster()
    waiting_lanes(cluster, "job", shop(tmp_path / "job", 100))
    worker = cluster.worker()
    for _ in range(200):
        worker.step()
    assert reported(cluster, "job") > 5


def test_a_lane_that_has_parts_is_read_even_if_another_job_keeps_the_worker_busy(tmp_path: Path) -> None:
    cluster = Cluster()
    waiting_lanes(cluster, "job", shop(tmp_path / "job", 100))
    cluster.add("large", shop(tmp_path / "large", 3_000))
    worker = cluster.worker()
    for _ in range(300):
        worker.step()
    assert not cluster.done("large")
    assert reported(cluster, "job") > 5


def test_a_task_whose_lease_is_lost_is_dropped_before_its_next_step(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 400))
    fabric, other = MemoryFabric(cluster.store), MemoryFabric(cluster.store)
    worker = Worker(fabric, plans=cluster.plans)
    for _ in range(20):
        worker.step()
    assert worker.held()
    before = reported(cluster, "job")
    cluster.store.release(fabric)
    taken = [lease for queue in (SOURCES, FOLDS) for lease in iter(partial(other.acquire, "job", queue), None)]
    for _ in range(20):
        worker.step()
    assert not worker.held()
    assert reported(cluster, "job") == before
    for lease in taken:
        lease.release()
    run_until(worker, cluster, "job")
    assert cluster.rows("job") == [("tea", 400)]


class Ticking:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class CountingFabric(MemoryFabric):
    """Counts the leases of folds that were acquired."""

    folds = 0

    def acquire(self, job: str, queue: str) -> MemoryLease | None:
        lease = super().acquire(job, queue)
        self.folds += queue == FOLDS and lease is not None
        return lease


def test_a_fold_that_is_left_to_others_is_not_acquired_at_every_step(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    cluster.add("job", shop(tmp_path / "job", 4000), workers=2)
    fabric = CountingFabric(cluster.store)
    worker = Worker(fabric, plans=cluster.plans, host=Host(clock=clock))
    for _ in range(100):
        worker.step()
    kept = sum("group by" in task for _, task in worker.held())
    assert kept == 1
    assert fabric.folds < 10
    clock.now += 10.0
    before = fabric.folds
    worker.step()
    assert fabric.folds == before + 1


def test_a_long_step_lets_tasks_of_other_owners_run(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    cluster.add("large", shop(tmp_path / "large", 100), owner="heavy")
    cluster.add("small", shop(tmp_path / "small", 4), owner="light")
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    done_within: list[bool] = []

    def long_work(task: SourceTask) -> None:
        for _ in range(100):
            clock.now += SLICE_S
            worker.yield_to_others()
        done_within.append(cluster.done("small"))

    interrupt_first(worker, "large", long_work)
    while not done_within:
        worker.step()
    assert done_within == [True]
    run_until(worker, cluster, "large")
    assert cluster.rows("large") == [("tea", 100)]


def test_the_time_of_a_job_that_exceeds_its_memory_counts_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.add("large", shop(tmp_path / "large", 4), owner="heavy")
    cluster.add("small", shop(tmp_path / "small", 4), owner="light")
    monkeypatch.setattr(FoldTask, "spilled_bytes", property(lambda task: task.context.job == "large"))
    charged: set[tuple[str, float]] = set()
    charge = Turns.charge

    def record_charge(turns: Turns[object], owner: str, cost: float) -> None:
        charged.add((owner, cost))
        charge(turns, owner, cost)

    monkeypatch.setattr(Turns, "charge", record_charge)
    worker = cluster.worker()
    run_until(worker, cluster, "small")
    run_until(worker, cluster, "large")
    assert {cost for owner, cost in charged if owner == "light"} == {1.0}
    assert ("heavy", SPILLING_COST) in charged


def test_a_crash_after_a_suspension_is_attributed_to_the_resumed_task(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    cluster.add("large", shop(tmp_path / "large", 100), owner="heavy")
    cluster.add("small", shop(tmp_path / "small", 4), owner="light")
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    left_open: list[int] = []

    def look() -> None:
        left_open.append(len(starts_left_open(cluster.store, cluster.plans["large"], "large")))

    def long_work(task: SourceTask) -> None:
        task.began(0, "a part")
        look()
        while not cluster.done("small"):
            clock.now += SLICE_S
            worker.yield_to_others()
        look()

    interrupt_first(worker, "large", long_work)
    while len(left_open) < 2:
        worker.step()
    assert left_open == [1, 1]


class OutOfMemory:
    """A witness that attributes every exit to lack of memory."""

    def scene(self) -> Scene:
        return Scene(worker="w")

    def cause(self, scene: Scene) -> Cause:
        return "memory"


@pytest.mark.parametrize("slices", [{"lethal": 1, "good": 9}, {"lethal": 9, "good": 1}], ids=["own", "other"])
def test_only_the_job_that_takes_the_memory_is_quarantined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slices: dict[str, int]
) -> None:
    """A step of the other job runs at the same time. The kernel kills the process a given number of slices after the
    memory was allocated."""
    cluster, clock = Cluster(), Ticking()
    for job in ("good", "lethal"):
        cluster.add(job, shop(tmp_path / job, 4), owner=job)
    scan = SourceTask._process
    taken: list[str] = []
    workers: list[Worker] = []

    def long_work(task: SourceTask, part: Part, past: JournalState, position: Position) -> None:
        job = task.context.job
        task.began(part.seq, "part")
        if job == "lethal":
            taken.append(job)
        since = 0
        for _ in range(10):
            clock.now += SLICE_S
            workers[-1].yield_to_others()
            since += bool(taken)
            if since == slices[job]:
                raise Killed
        scan(task, part, past, position)

    def end() -> bool:
        """Runs a worker until it is killed or both jobs have ended."""
        fabric, limits = MemoryFabric(cluster.store), Limits(lethal_attempts=10)
        host = Host(witness=OutOfMemory(), clock=clock)
        workers.append(Worker(fabric, limits, plans=cluster.plans, host=host))
        taken.clear()
        try:
            while not (cluster.done("good") and has_ended(cluster.store, "lethal")):
                if not workers[-1].step():
                    clock.now += 1.0
        except Killed:
            cluster.store.release(fabric)
            return False
        return True

    monkeypatch.setattr(SourceTask, "_process", long_work)
    monkeypatch.setattr("cauce.worker.open_job.CRASH_PAUSE_S", 0.0)
    crashes = next(number for number in range(50) if end())
    assert cluster.rows("good") == [("tea", 4)]
    assert "lethal is quarantined" in ending(cluster.store, "lethal").cause
    assert PROVEN <= crashes <= 2 * (PROVEN + 1), "at each of two lanes, those alone and one beside another's"


def has_ended(store: Store, job: str) -> bool:
    return Outcomes(MemoryFabric(store).read(job, JOB_LOG, START, 1 << 20).records).effective is not None


def test_a_start_records_whether_steps_of_others_are_suspended(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    for owner in ("one", "other"):
        cluster.add(owner, shop(tmp_path / owner, 4), owner=owner)
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    shared: list[tuple[str, list[bool]]] = []

    def look(job: str) -> None:
        left_open = starts_left_open(cluster.store, cluster.plans[job], job)
        shared.append((job, [start.scene.shared for _, start in left_open]))

    def long_work(task: SourceTask) -> None:
        task.began(0, "a part")
        look(task.context.job)
        clock.now += SLICE_S
        worker.yield_to_others()
        look(task.context.job)

    for owner in ("one", "other"):
        interrupt_first(worker, owner, long_work)
    while len(shared) < 4:
        worker.step()
    first, second = shared[0][0], shared[1][0]
    assert {first, second} == {"one", "other"}
    assert shared[:2] == [(first, [False]), (second, [True])]
    assert shared[2:] == [(first, [True]), (second, [False])]


def test_a_crash_is_not_counted_for_a_suspended_step_unless_memory_is_the_cause(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    for owner in ("one", "other"):
        cluster.add(owner, shop(tmp_path / owner, 4), owner=owner)
    fabric = MemoryFabric(cluster.store)
    worker = Worker(fabric, plans=cluster.plans, host=Host(clock=clock))
    running: list[str] = []

    def long_work(task: SourceTask) -> None:
        task.began(0, "a part")
        if running:
            running.append(task.context.job)
            raise Killed
        running.append(task.context.job)
        clock.now += SLICE_S
        worker.yield_to_others()

    for owner in ("one", "other"):
        interrupt_first(worker, owner, long_work)
    with pytest.raises(Killed):
        run_until(worker, cluster, "other")
    suspended, lethal = running
    cluster.store.release(fabric)
    for witness, wanted in ((None, {lethal}), (OutOfMemory(), {suspended, lethal})):
        logs = {job: JobLog(MemoryFabric(cluster.store), job, 10, witness=witness) for job in running}
        for job, log in logs.items():
            log.report(0, starts_left_open(cluster.store, cluster.plans[job], job))
        assert {job for job, log in logs.items() if log.crashes.in_a_row()} == wanted
        assert not any(each.proven for log in logs.values() for each in log.crashes.in_a_row())


def starts_left_open(store: Store, plan: Plan, job: str) -> list[tuple[int, Start]]:
    """Starts in the journals of a job that are neither completed nor aborted."""
    fabric, topology = MemoryFabric(store), Topology(plan, 2)
    pasts = [Journal(fabric, job, spec.journal, spec.number).replay() for spec in topology.by_name.values()]
    return [each for past in pasts if past is not None for each in past.open]


def test_no_task_of_an_owner_with_a_suspended_step_runs(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    for job in ("first", "second"):
        cluster.add(job, shop(tmp_path / job, 4), owner="one")
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    steps: list[int] = []

    def long_work(task: SourceTask) -> None:
        before = worker.steps
        clock.now += 10 * SLICE_S
        worker.yield_to_others()
        steps.append(worker.steps - before)

    interrupt_first(worker, "first", long_work)
    while not steps:
        worker.step()
    assert steps == [0]


def test_long_steps_of_two_owners_take_turns(tmp_path: Path) -> None:
    """A step that was suspended for another one does not wait until that one has returned."""
    cluster, clock = Cluster(), Ticking()
    for owner in ("one", "other"):
        cluster.add(owner, shop(tmp_path / owner, 4), owner=owner)
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    slices: list[str] = []

    def long_work(task: SourceTask) -> None:
        for _ in range(10):
            slices.append(task.context.job)
            clock.now += SLICE_S
            worker.yield_to_others()

    for owner in ("one", "other"):
        interrupt_first(worker, owner, long_work)
    while len(slices) < 20:
        worker.step()
    runs = [len(list(run)) for _, run in groupby(slices)]
    assert len(runs) > 15
    for owner in ("one", "other"):
        run_until(worker, cluster, owner)


@pytest.mark.parametrize("problem", [FabricError("damaged"), FabricLost("gone"), OSError(errno.EIO, "no")])
def test_a_step_resumes_even_if_its_resumption_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    cluster, worker = suspended_once(tmp_path, monkeypatch, problem)
    run_until(worker, cluster, "job")
    assert cluster.rows("job") == [("tea", 4)]


def test_a_full_fabric_ends_the_worker_also_when_a_step_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, worker = suspended_once(tmp_path, monkeypatch, FabricFull("full"))
    with pytest.raises(FabricFull):
        step_for_ever(worker)


def suspended_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception) -> tuple[Cluster, Worker]:
    """A worker whose first step is suspended once; to record its resumption raises the problem."""
    cluster, clock = Cluster(), Ticking()
    cluster.add("job", shop(tmp_path / "job", 4), owner="one")
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))

    def long_work(task: SourceTask) -> None:
        clock.now += SLICE_S
        worker.yield_to_others()

    def fail(task: Task) -> None:
        raise problem

    interrupt_first(worker, "job", long_work)
    monkeypatch.setattr(Task, "resume", fail)
    return cluster, worker


def test_a_worker_that_ends_completes_its_suspended_steps(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    cluster.add("large", shop(tmp_path / "large", 100), owner="heavy")
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    slices: list[int] = []

    def long_work(task: SourceTask) -> None:
        for number in range(10):
            slices.append(number)
            clock.now += SLICE_S
            worker.yield_to_others()

    interrupt_first(worker, "large", long_work)
    while not slices:
        worker.step()
    assert slices == [0]
    worker.release_all_leases()
    assert slices == list(range(10))
    run_until(cluster.worker(), cluster, "large")


def test_a_worker_that_ends_completes_steps_that_would_wait_to_be_alone(tmp_path: Path) -> None:
    cluster, clock = Cluster(), Ticking()
    for owner in ("one", "other"):
        cluster.add(owner, shop(tmp_path / owner, 4), owner=owner)
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    started: list[str] = []
    returned: list[str] = []

    def long_work(task: SourceTask) -> None:
        started.append(task.context.job)
        clock.now += SLICE_S
        worker.yield_to_others()
        task.is_suspect = True
        task.began(0, "a part")
        returned.append(task.context.job)

    for owner in ("one", "other"):
        interrupt_first(worker, owner, long_work)
    while len(started) < 2:
        worker.step()
    assert returned == []
    worker.release_all_leases()
    assert sorted(returned) == ["one", "other"]


def interrupt_first(worker: Worker, job: str, work: Callable[[SourceTask], None]) -> None:
    """The first step of a lane of the job does this work as well."""
    waiting = [work]

    def step(task: SourceTask, plain: Callable[[SourceTask], Step] = SourceTask.step) -> Step:
        if task.context.job == job and waiting:
            waiting.pop()(task)
        return plain(task)

    original = worker._step  # the seam between the loop and its tasks
    worker._step = lambda held_job, task: (  # type: ignore[method-assign,assignment]
        step(task) if isinstance(task, SourceTask) and task.context.job == job else original(held_job, task)
    )


class Broken(MemoryFabric):
    """Fails operations on one job, a limited number of times or always."""

    def __init__(self, store: Store, job: str, step: str, number: int, times: int = 1 << 30) -> None:
        super().__init__(store)
        self._job = job
        self._step = step
        self._number = number
        self.times = times

    def _fail(self, job: str, step: str) -> None:
        if job == self._job and step == self._step and self.times > 0:
            self.times -= 1
            raise FabricError(f"{step}: {os.strerror(self._number)}") from OSError(self._number, "no")

    def manifest(self, job: str) -> bytes | None:
        self._fail(job, "manifest")
        return super().manifest(job)

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        self._fail(job, f"read {log.encode().partition('-')[0]}")
        return super().read(job, log, position, limit_bytes)

    def acquire(self, job: str, queue: str) -> MemoryLease | None:
        self._fail(job, "take")
        return super().acquire(job, queue)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("step", ["manifest", "read control.job", "take", "read raw"])
def test_a_system_error_at_one_job_does_not_affect_the_others(tmp_path: Path, step: str, number: int) -> None:
    cluster = Cluster()
    cluster.add("bad", shop(tmp_path / "bad", 5))
    cluster.add("good", shop(tmp_path / "good", 5))
    asides: list[SetAside] = []
    worker = Worker(
        Broken(cluster.store, "bad", step, number), plans=cluster.plans, host=Host(on_set_aside=asides.append)
    )
    run_until(worker, cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    assert {each.job for each in asides} == {"bad"}
    assert not cluster.done("bad"), "it is tried again later, and has not failed"
    assert not [job for job, _ in worker.held() if job == "bad"]


def test_a_job_that_was_set_aside_resumes_after_a_transient_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cauce.worker.set_aside.FIRST_S", 0.0)
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 5))
    broken = Broken(cluster.store, "job", "read raw", errno.EIO, times=3)
    run_until(Worker(broken, plans=cluster.plans), cluster, "job")
    assert broken.times == 0
    assert cluster.rows("job") == [("tea", 5)]


def test_a_job_fails_after_a_persistent_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cauce.worker.set_aside.FIRST_S", 0.0)
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 5))
    worker = Worker(Broken(cluster.store, "job", "read raw", errno.EIO), plans=cluster.plans)
    for _ in range(200):
        worker.step()
    assert "Input/output error" in ending(cluster.store, "job").cause


def test_a_job_with_a_corrupt_log_does_not_affect_the_others(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("bad", shop(tmp_path / "bad", 5))
    cluster.add("good", shop(tmp_path / "good", 5))
    MemoryFabric(cluster.store).append("bad", JOB_LOG, [record(Kind.STATE, 1, 0, b"no JSON")])
    run_until(cluster.worker(), cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]


def test_the_lease_limit_holds_and_every_job_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cauce.worker.leases.ROTATE_S", 0.0)
    cluster = Cluster()
    for number in range(6):
        waiting_lanes(cluster, f"waits-{number}", shop(tmp_path / f"waits-{number}", 0))
    cluster.add("late", shop(tmp_path / "late", 5))
    worker = Worker(MemoryFabric(cluster.store), Limits(leases=4), plans=cluster.plans)
    most = 0
    for _ in range(5_000):
        worker.step()
        most = max(most, worker.leases)
        if cluster.done("late"):
            break
    assert cluster.rows("late") == [("tea", 5)]
    assert most <= 5, "one more where both queues of a job are taken from"


class Killed(BaseException):
    """The worker process is killed here."""


def workers_until_the_end(cluster: Cluster, job: str, limits: Limits | None = None, most: int = 50) -> int:
    """Runs workers one after another until the job has ended; returns how many were killed."""
    for deaths in range(most):
        fabric = MemoryFabric(cluster.store)
        worker = Worker(fabric, limits, plans=cluster.plans)
        try:
            for _ in range(300):
                worker.step()
        except Killed:
            cluster.store.release(fabric)
            continue
        return deaths
    raise AssertionError(f"{most} workers were killed, and job {job} goes on")


def test_a_fold_that_kills_its_worker_while_it_reads_input_fails_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(collected: Collected, name: tuple[int, int], frame: pl.DataFrame, weight: int) -> None:
        raise Killed

    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 5))
    monkeypatch.setattr(Collected, "add", crash)
    # The lanes make progress in between; crashes of a fold count nevertheless.
    assert workers_until_the_end(cluster, "job", Limits(read_bytes=1)) <= 6
    assert "has killed its worker" in ending(cluster.store, "job").cause
    assert "partition" in ending(cluster.store, "job").cause


def test_a_lane_that_kills_its_worker_while_it_reads_a_broadcast_side_fails_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Collected.add

    def crash(collected: Collected, name: tuple[int, int], frame: pl.DataFrame, weight: int) -> None:
        if collected.edge.spread == "broadcast":
            raise Killed
        plain(collected, name, frame, weight)

    (tmp_path / "sales.csv").write_text("kind,amount\ntea,1\n")
    (tmp_path / "kinds.csv").write_text("kind,name\ntea,Tea\n")
    cluster = Cluster()
    cluster.add("job", prepare(joined_dataset(), tmp_path))
    monkeypatch.setattr(Collected, "add", crash)
    assert workers_until_the_end(cluster, "job", Limits(read_bytes=1)) <= 2 * PROVEN
    assert "lane" in ending(cluster.store, "job").cause


def joined_dataset() -> Dataset:
    sales = Table("sales", "sales.csv", {"kind": Text(), "amount": Integer()})
    kinds = Table("kinds", "kinds.csv", {"kind": Text(), "name": Text()})
    dataset = Dataset("shop", (sales, kinds))

    @dataset.query(name=TEXT, sales=INTEGER)
    def q1() -> Relation:
        """How many of each kind, by its name"""
        joined = sales.join(kinds, on="kind", strategy="broadcast")
        return joined.group_by("name").agg(sales=agg.count()).sort("name")

    return dataset


def test_a_fold_that_kills_its_worker_while_it_restores_a_snapshot_fails_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(intake: Intake, data: bytes) -> None:
        raise Killed

    cluster, limits = Cluster(), Limits(read_bytes=1, snapshot_bytes=1)
    cluster.add("job", shop(tmp_path / "job", 50))
    fabric = MemoryFabric(cluster.store)
    worker = Worker(fabric, limits, plans=cluster.plans)
    snapshots: list[int] = []
    plain = Journal.snapshot
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "snapshot", lambda journal, body: (plain(journal, body), snapshots.append(len(body))))
        while not snapshots:
            worker.step()
    cluster.store.release(fabric)
    monkeypatch.setattr(Intake, "restore", crash)
    assert workers_until_the_end(cluster, "job", limits) <= 2 * PROVEN
    assert "partition" in ending(cluster.store, "job").cause


def test_partitions_that_each_kill_their_worker_fail_their_job_after_three_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(task: FoldTask, past: object) -> Step:
        task.began(0, str(task.spec))
        raise Killed

    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "sales.csv").write_text("kind,amount\n" + "".join(f"k{row},1\n" for row in range(64)))
    prepared = prepare(shop_dataset(), folder, partitions=8)
    cluster = Cluster()
    cluster.add("job", prepared)
    monkeypatch.setattr(FoldTask, "work", crash)
    assert workers_until_the_end(cluster, "job") == 3
    assert "job job is quarantined" in ending(cluster.store, "job").cause


def test_a_worker_backs_off_from_a_job_that_has_crashed_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(task: FoldTask, past: object) -> Step:
        task.began(0, str(task.spec))
        raise Killed

    cluster, clock = Cluster(), Ticking()
    cluster.add("job", shop(tmp_path / "job", 4))
    monkeypatch.setattr(FoldTask, "work", crash)
    for _ in range(2):
        fabric = MemoryFabric(cluster.store)
        worker = Worker(fabric, plans=cluster.plans, host=Host(clock=clock))
        with pytest.raises(Killed):
            step_for_ever(worker)
        cluster.store.release(fabric)
    worker = Worker(MemoryFabric(cluster.store), plans=cluster.plans, host=Host(clock=clock))
    for _ in range(100):
        worker.step()
    assert not worker.held()
    clock.now += CRASH_PAUSE_S
    with pytest.raises(Killed):
        step_for_ever(worker)


def step_for_ever(worker: Worker) -> None:
    while True:
        worker.step()


def test_a_worker_killed_while_a_fold_only_waits_is_not_counted(tmp_path: Path) -> None:
    cluster = Cluster()
    waiting_lanes(cluster, "job", shop(tmp_path / "job", 100))
    for _ in range(12):
        fabric = MemoryFabric(cluster.store)
        worker = Worker(fabric, Limits(read_bytes=1), plans=cluster.plans)
        for _ in range(1_000):
            worker.step()
        assert any("partition" in task for _, task in worker.held())
        cluster.store.release(fabric)
    records = MemoryFabric(cluster.store).read("job", JOB_LOG, START, 1 << 20).records
    assert not [each for each in records if each.kind in (Kind.CRASH, Kind.STATE)]


def test_a_task_whose_lease_is_released_is_not_counted(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 400))
    for _ in range(10):
        worker = cluster.worker()
        for _ in range(40):
            worker.step()
        worker.release_all_leases()
    run_until(cluster.worker(), cluster, "job")
    records = MemoryFabric(cluster.store).read("job", JOB_LOG, START, 1 << 20).records
    assert not [each for each in records if each.kind == Kind.CRASH]


def test_a_crash_is_not_attributed_to_a_job_that_is_only_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    waiting_lanes(cluster, "held", shop(tmp_path / "held", 100))
    cluster.add("fatal", shop(tmp_path / "fatal", 5))
    scan = SourceTask._process

    def crash(task: SourceTask, part: Part, past: JournalState, position: Position) -> None:
        if task.context.job == "fatal":
            task.began(part.seq, "part")
            raise Killed
        scan(task, part, past, position)

    monkeypatch.setattr(SourceTask, "_process", crash)
    workers_until_the_end(cluster, "fatal", Limits(read_bytes=1))
    assert ending(cluster.store, "fatal").state == "failed"
    records = MemoryFabric(cluster.store).read("held", JOB_LOG, START, 1 << 20).records
    assert not [each for each in records if each.kind in (Kind.CRASH, Kind.STATE)]


class DeletedMeanwhile(MemoryFabric):
    """Another process deletes the job before an append of this one."""

    victim = ""

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        if job == self.victim:
            MemoryFabric(self._store).delete_job(job)
        super().append(job, log, records)


def test_a_job_that_is_deleted_during_a_step_is_dropped_quietly(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("gone", shop(tmp_path / "gone", 400))
    cluster.add("job", shop(tmp_path / "job", 400))
    asides: list[SetAside] = []
    fabric = DeletedMeanwhile(cluster.store)
    worker = Worker(fabric, plans=cluster.plans, host=Host(on_set_aside=asides.append))
    for _ in range(4):
        worker.step()
    assert {job for job, _ in worker.held()} == {"gone", "job"}
    fabric.victim = "gone"
    run_until(worker, cluster, "job")
    assert cluster.rows("job") == [("tea", 400)]
    assert {job for job, _ in worker.held()} <= {"job"}
    assert "gone" not in cluster.store.jobs
    assert asides == []


def test_a_task_that_waits_for_input_is_polled_at_growing_intervals(tmp_path: Path) -> None:
    """Its job holds no more work until the client sends parts: busy jobs beside it must not keep polling it."""
    cluster, clock = Cluster(), Ticking()
    prepared = shop(tmp_path / "waits", 4)
    topology = Topology(prepared.plan, 2)
    manifest = Manifest("waits", "shop", ("q1",), {}, 2, 2, prepared.plan.digest, 1, owner="one")
    create(MemoryFabric(cluster.store), manifest, topology)
    worker = Worker(MemoryFabric(cluster.store), plans={"waits": prepared.plan}, host=Host(clock=clock))
    while worker.step():
        pass
    for _ in range(1_500):
        clock.now += LONGEST_POLL_S
        while worker.step():
            pass
    before = worker.steps
    for _ in range(100):
        clock.now += LONGEST_POLL_S / 100
        while worker.step():
            pass
    assert worker.leases > 0
    assert worker.steps - before <= 2 * worker.leases


@pytest.mark.parametrize("news", [True, False])
def test_a_task_is_polled_at_once_when_another_of_its_job_has_news(news: bool) -> None:
    job = OpenJob(cast(Any, None), cast(Any, None))
    one, other = (HeldTask(job, FOLDS, cast(Any, None), cast(Any, None)) for _ in range(2))
    job.held[FOLDS] += [one, other]
    for _ in range(5):
        one.back_off(7.0)
    assert one.poll_due > 7.0
    assert one.poll_s > FIRST_POLL_S
    worker = Worker(MemoryFabric(Store()), host=Host(clock=Ticking()))
    other.moved = True
    other.back_off(7.0)
    worker._schedule_polls(other, news=news)
    assert (other.poll_s, other.poll_due) == (FIRST_POLL_S, 0.0)
    assert (one.poll_due == 0.0) is news
