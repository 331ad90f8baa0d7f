"""Task statistics of a worker: measured by the given clock, with unique record identities."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from cauce.errors import FabricFull, FabricLost
from cauce.fabric.contract import START
from cauce.fabric.memory import MemoryFabric
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record
from cauce.job.manifest import MemoryShares, load_manifest
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG, Topology
from cauce.worker.loop import Worker
from cauce.worker.stats import MOST_SHARE, STATS_LOG, Clocks, Stats, StatsRecord, load_stats
from cauce.worker.tasks.task import Task
from tests.worker.test_loop import Cluster, run_until, shop


@dataclass
class Time:
    """A clock that advances by a hundredth of a second whenever it is read."""

    now: float = 100.0
    step_s: float = 0.01

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now


@dataclass
class World:
    cluster: Cluster = field(default_factory=Cluster)
    time: Time = field(default_factory=Time)

    def add(self, job: str, folder: Path, rows: int, owner: str = "maria") -> None:
        self.cluster.add(job, shop(folder, rows))
        stored = self.cluster.store.jobs[job]
        stored.manifest = msgspec.structs.replace(load_manifest(stored.manifest), owner=owner).dump()

    def worker(self, fabric: MemoryFabric | None = None) -> Worker:
        own = fabric or MemoryFabric(self.cluster.store)
        return Worker(own, plans=self.cluster.plans, stats=Stats(own, Clocks(self.time, self.time)))

    def records(self, job: str) -> list[Record]:
        return list(MemoryFabric(self.cluster.store).read(job, STATS_LOG, START, 1 << 30).records)

    def stats(self, job: str) -> list[StatsRecord]:
        return [load_stats(each.body) for each in self.records(job)]

    def end(self, job: str, worker: Worker) -> None:
        """Runs a job, records its end like a gateway, and lets the worker read it."""
        run_until(worker, self.cluster, job)
        MemoryFabric(self.cluster.store).append(job, JOB_LOG, [Outcome("done").dump(99)])
        for _ in range(20):
            worker.step()


def test_statistics_are_complete_at_the_end(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50)
    world.end("job", world.worker())
    topology = Topology(world.cluster.plans["job"], 2)
    last = world.stats("job")[-1].tasks
    assert set(last) == {task.number for task in topology.tasks}
    assert all(numbers.finished and numbers.busy_s > 0 for numbers in last.values())
    lanes = [numbers for number, numbers in last.items() if topology.tasks[number].stage.table is not None]
    assert sum(numbers.read.rows for numbers in lanes) == 50
    for number, numbers in last.items():
        for edge, flow in numbers.sent.items():
            assert numbers.made[edge] == flow.records, topology.tasks[number]
    made = sum(count for numbers in last.values() for count in numbers.made.values())
    taken = sum(count for numbers in last.values() for count in numbers.taken.values())
    assert made == taken > 0


@pytest.fixture
def unthrottled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifts the time limit for statistics: reading the test's clock takes time, so it would be exceeded."""
    monkeypatch.setattr("cauce.worker.stats.MOST_SHARE", 1e9)


@pytest.mark.usefixtures("unthrottled")
def test_totals_only_grow_and_identities_are_unique(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 400)
    world.end("job", world.worker())
    records, stats = world.records("job"), world.stats("job")
    assert len(stats) > 3
    assert len({(each.producer, each.seq) for each in records}) == len(records)
    assert {each.kind for each in records} == {Kind.DATA}
    for before, after in pairwise(stats):
        assert after.at > before.at
        for number, numbers in before.tasks.items():
            assert after.tasks[number].busy_s >= numbers.busy_s
            assert after.tasks[number].waiting_s >= numbers.waiting_s
            assert after.tasks[number].read.rows >= numbers.read.rows


@pytest.mark.usefixtures("unthrottled")
@pytest.mark.parametrize("fold_bytes", [1, 1 << 20])
def test_memory_and_temporary_files_of_tasks_are_published(tmp_path: Path, fold_bytes: int) -> None:
    world = World()
    world.add("job", tmp_path / "job", 400)
    stored = world.cluster.store.jobs["job"]
    shares = MemoryShares(fold_bytes, 1 << 30)
    stored.manifest = msgspec.structs.replace(load_manifest(stored.manifest), memory=shares).dump()
    world.end("job", world.worker())
    published = world.stats("job")
    held = [numbers.held_bytes for each in published for numbers in each.tasks.values()]
    last = published[-1].tasks.values()
    assert not any(numbers.held_bytes for numbers in last)
    if fold_bytes == 1:
        assert sum(numbers.spilled_bytes for numbers in last) > 0
    else:
        assert max(held) > 0
        assert not any(numbers.spilled_bytes for numbers in last)


def test_busy_and_waiting_time_do_not_exceed_the_elapsed_time(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 200)
    began = world.time.now
    world.end("job", world.worker())
    passed_s = world.time.now - began
    last = world.stats("job")[-1].tasks
    assert sum(numbers.busy_s for numbers in last.values()) <= passed_s
    assert all(numbers.busy_s + numbers.waiting_s <= passed_s for numbers in last.values())


def test_two_workers_have_different_ids(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 200)
    first, second = world.worker(), world.worker()
    for _ in range(2_000):
        first.step()
        second.step()
    assert len({stats.worker_id for stats in world.stats("job")}) == 2
    assert len({each.producer for each in world.records("job")}) == 2


def test_a_run_without_an_owner_appends_no_statistics(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50, owner="")
    world.end("job", world.worker())
    assert world.stats("job") == []


def test_an_idle_job_appends_no_statistics(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50)
    worker = world.worker()
    world.end("job", worker)
    before = len(world.stats("job"))
    world.time.now += 1000
    for _ in range(100):
        worker.step()
    assert len(world.stats("job")) == before


@pytest.mark.usefixtures("unthrottled")
def test_the_interval_grows_with_the_age_of_a_job(tmp_path: Path) -> None:
    world = World(time=Time(step_s=0.5))
    world.add("job", tmp_path / "job", 3_000)
    worker = world.worker()
    for _ in range(100):
        worker.step()
    young = world.stats("job")
    world.time.now += 100_000
    for _ in range(600):
        worker.step()
    old = world.stats("job")[len(young) + 1 :]
    assert min(after.at - before.at for before, after in pairwise(young)) < 10
    assert min(after.at - before.at for before, after in pairwise(old)) > 190


class Slow(MemoryFabric):
    """Takes a second to append each statistics record."""

    time: Time
    taken_s = 0.0

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        super().append(job, log, records)
        if log == STATS_LOG:
            self.time.now += 1.0
            self.taken_s += 1.0


@pytest.mark.slow
def test_statistics_take_little_time_on_a_slow_fabric(tmp_path: Path) -> None:
    world = World(time=Time(step_s=0.5))
    for job in ("one", "two"):
        world.add(job, tmp_path / job, 3_000)
    slow = Slow(world.cluster.store)
    slow.time = world.time
    worker = world.worker(slow)
    began = world.time.now
    for _ in range(5_000):
        worker.step()
    # At the end of each job a last record is always appended.
    assert 0 < slow.taken_s - 2 <= MOST_SHARE * (world.time.now - began) + 1
    assert all(world.stats(job) for job in ("one", "two"))


class Failing(MemoryFabric):
    """Fails to append statistics: the disk is full, or the confirmation is lost."""

    problem: type[FabricFull] | type[FabricLost] = FabricFull

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        if log == STATS_LOG:
            raise self.problem("as the test wants it")
        super().append(job, log, records)


@pytest.mark.parametrize("problem", [FabricFull, FabricLost])
def test_work_continues_if_statistics_cannot_be_appended(
    tmp_path: Path, problem: type[FabricFull] | type[FabricLost]
) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50)
    fabric = Failing(world.cluster.store)
    fabric.problem = problem
    world.end("job", world.worker(fabric))
    assert world.cluster.rows("job") == [("tea", 50)]
    assert world.stats("job") == []


def test_a_finished_task_is_not_kept_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[weakref.ref[Task]] = []
    plain = Task.__init__

    def noted(task: Task, *arguments: object) -> None:
        plain(task, *arguments)  # type: ignore[arg-type]
        tasks.append(weakref.ref(task))

    monkeypatch.setattr(Task, "__init__", noted)
    world = World()
    world.add("job", tmp_path / "job", 50)
    worker = world.worker()
    run_until(worker, world.cluster, "job")
    for _ in range(20):
        worker.step()
    gc.collect()
    assert tasks
    assert [task for task in tasks if task() is not None] == []
