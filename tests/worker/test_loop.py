"""A worker among jobs: fair to all of them, undisturbed by those that fail, holding no more than its share."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.errors import JobFailed, PlanMismatch
from cauce.fabric.memory import MemoryFabric, Store
from cauce.plan import INTEGER, TEXT, Dataset, Integer, Relation, Table, Text, count
from cauce.plan.physical import Plan
from cauce.wire.manifest import Manifest
from cauce.worker.client import Collect, Upload, create
from cauce.worker.job import Memory, Prepared, prepare
from cauce.worker.loop import Ending, Worker
from cauce.worker.topology import JOB_LOG, Topology


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


def test_another_plan_is_refused(tmp_path: Path) -> None:
    store = Store()
    fabric = MemoryFabric(store)
    manifest = Manifest("job", "coffee", ("q1",), {}, 2, 1, "another digest")
    fabric.create_job("job", manifest.dump())
    with pytest.raises(PlanMismatch, match="same version"):
        Worker(MemoryFabric(store)).step()
