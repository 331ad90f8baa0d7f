"""A worker among jobs: fair to all of them, undisturbed by those that fail, holding no more than its share."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from cauce.errors import FabricLost, JobFailed
from cauce.fabric.memory import MemoryFabric, NoFaults, Store
from cauce.plan import INTEGER, TEXT, Dataset, Integer, Relation, Table, Text, count
from cauce.plan.physical import Plan
from cauce.wire.manifest import Manifest
from cauce.wire.service import SERVICE
from cauce.worker.client import Collect, Upload, create
from cauce.worker.job import Memory, Prepared, prepare
from cauce.worker.loop import Ending, Worker, ending_of
from cauce.worker.raw import dump_part
from cauce.worker.tasks import FoldTask, Step
from cauce.worker.topology import FOLDS, JOB_LOG, SOURCES, Topology


def spoil(values: pl.Series) -> pl.Series:
    if (values == "boom").any():
        raise ZeroDivisionError("a query divides by zero")
    return values


def shop(folder: Path, rows: int, kind: str = "tea") -> Prepared:
    folder.mkdir()
    (folder / "sales.csv").write_text("kind,amount\n" + f"{kind},1\n" * rows)
    sales = Table("sales", "sales.csv", {"kind": Text(), "amount": Integer()})
    dataset = Dataset("shop", (sales,))

    @dataset.query(kind=TEXT, sales=INTEGER)
    def q1() -> Relation:
        """How many of each kind"""
        checked = sales.with_columns(kind=pl.col("kind").map_batches(spoil, return_dtype=pl.String))
        return checked.group_by("kind").agg(sales=count()).sort("kind")

    return prepare(dataset, folder)


class Cluster:
    """Jobs on one store, all of their parts said."""

    def __init__(self) -> None:
        self.store = Store()
        self.plans: dict[str, Plan] = {}
        self.sinks: dict[str, Memory] = {}
        self.collects: dict[str, Collect] = {}

    def add(self, job: str, prepared: Prepared, part_bytes: int = 30, workers: int = 1, lanes: int = 2) -> None:
        fabric = MemoryFabric(self.store)
        topology = Topology(prepared.plan, lanes)
        digest = prepared.plan.digest
        create(fabric, Manifest(job, "shop", ("q1",), {}, 2, lanes, digest, workers), topology)
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


def test_a_job_that_fails_leaves_the_others_alone(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("bad", shop(tmp_path / "bad", 5, "boom"))
    cluster.add("good", shop(tmp_path / "good", 5))
    worker = cluster.worker()
    run_until(worker, cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    with pytest.raises(JobFailed, match=r"scan sales, lane 0.*a query divides by zero"):
        cluster.done("bad")


class Failing(NoFaults):
    """Loses what is said to some logs, for a while."""

    def __init__(self, times: int, *logs: str) -> None:
        self.times = times
        self._logs = logs

    def before(self, step: str, where: str) -> None:
        if step == "append" and self.times > 0 and any(log in where for log in self._logs):
            self.times -= 1
            raise FabricLost(f"{where} is not confirmed")


@pytest.mark.parametrize("logs", [("edge",), ("edge", "journal"), ("home",)])
def test_what_the_fabric_failed_is_not_blamed_for_deaths(tmp_path: Path, logs: tuple[str, ...]) -> None:
    cluster = Cluster()
    cluster.add("j", shop(tmp_path / "j", 20))
    faults = Failing(30, *logs)
    worker = Worker(MemoryFabric(cluster.store, faults), plans=cluster.plans)
    for _ in range(1_000):
        worker.step()
    assert not faults.times
    run_until(worker, cluster, "j")
    assert cluster.rows("j") == [("tea", 20)]


def test_nobody_works_on_a_job_that_has_ended(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("over", shop(tmp_path / "over", 500))
    worker = cluster.worker()
    for _ in range(20):
        worker.step()
    assert worker.held()
    fabric = MemoryFabric(cluster.store)
    fabric.append("over", JOB_LOG, [Ending("cancelled").dump(99)])
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


def test_what_is_given_back_goes_to_the_next(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.add("job", shop(tmp_path / "job", 400))
    first, second = cluster.worker(), cluster.worker()
    for _ in range(60):
        first.step()
    first.give_all_back()
    assert not cluster.store.jobs["job"].holders
    run_until(second, cluster, "job")
    assert cluster.rows("job") == [("tea", 400)]


def ending(store: Store, job: str) -> Ending:
    found = ending_of(list(MemoryFabric(store).read(job, JOB_LOG, {}, 1 << 20).records))
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
        b"",
        b"{}",
        b"[" * 100_000,
        Manifest("bad", "unheard of", (), {}, 2, 1, "").dump(),
        Manifest("bad", "coffee", ("q99",), {}, 2, 1, "").dump(),
        Manifest("bad", "/no/such/file.py", (), {}, 2, 1, "").dump(),
        Manifest("bad", "coffee", (), {"unheard": "of"}, -1, -1, "").dump(),
    ],
)
def test_a_job_that_cannot_be_planned_fails_and_leaves_the_others_alone(tmp_path: Path, manifest: bytes) -> None:
    cluster = Cluster()
    MemoryFabric(cluster.store).create_job("bad", manifest)
    cluster.add("good", shop(tmp_path / "good", 5))
    worker = cluster.worker()
    run_until(worker, cluster, "good")
    assert cluster.rows("good") == [("tea", 5)]
    assert ending(cluster.store, "bad").state == "failed"


def test_a_dataset_whose_file_raises_fails_its_job_alone(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemError('boom')\n")
    cluster = Cluster()
    MemoryFabric(cluster.store).create_job("bad", Manifest("bad", str(tmp_path / "own.py"), (), {}, 2, 1, "").dump())
    cluster.worker().step()
    assert "boom" in ending(cluster.store, "bad").cause


def test_what_belongs_to_the_service_is_no_job(tmp_path: Path) -> None:
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
    MemoryFabric(cluster.store).append("over", JOB_LOG, [Ending("done").dump(99)])
    monkeypatch.setattr(Manifest, "plan", lambda self: pytest.fail("planned"))
    assert not Worker(MemoryFabric(cluster.store)).step()


def test_a_panic_of_a_library_ends_its_job_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    """A job whose client has said the parts of the second lane only, and may send more."""
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
    return len(MemoryFabric(cluster.store).read(job, "home.reports-sales", {}, 1 << 20).records)


def test_a_lane_that_has_parts_is_read_though_another_waits_for_its_client(tmp_path: Path) -> None:
    cluster = Cluster()
    waiting_lanes(cluster, "job", shop(tmp_path / "job", 100))
    worker = cluster.worker()
    for _ in range(200):
        worker.step()
    assert reported(cluster, "job") > 5


def test_it_is_read_even_if_another_job_keeps_the_worker_busy(tmp_path: Path) -> None:
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
    taken = [lease for queue in (SOURCES, FOLDS) for lease in iter(partial(other.take, "job", queue), None)]
    for _ in range(20):
        worker.step()
    assert not worker.held()
    assert reported(cluster, "job") == before
    for lease in taken:
        lease.give_back()
    run_until(worker, cluster, "job")
    assert cluster.rows("job") == [("tea", 400)]
