"""What a worker says of its tasks: timed by the clock it is given, named so that nothing is said twice."""

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
from cauce.fabric.memory import MemoryFabric
from cauce.wire.manifest import load_manifest
from cauce.wire.records import Kind, Record
from cauce.worker.loop import Ending, Worker
from cauce.worker.stats import MOST_SHARE, STATS_LOG, Clocks, Stats, StatsRecord, load_stats
from cauce.worker.tasks import Task
from cauce.worker.topology import JOB_LOG, Topology
from tests.worker.test_loop import Cluster, run_until, shop


@dataclass
class Time:
    """Each look at the clock takes a hundredth of a second."""

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
        return list(MemoryFabric(self.cluster.store).read(job, STATS_LOG, {}, 1 << 30).records)

    def said(self, job: str) -> list[StatsRecord]:
        return [load_stats(each.body) for each in self.records(job)]

    def end(self, job: str, worker: Worker) -> None:
        """Runs a job, notes its end as a gateway does, and lets the worker see it."""
        run_until(worker, self.cluster, job)
        MemoryFabric(self.cluster.store).append(job, JOB_LOG, [Ending("done").dump(99)])
        for _ in range(20):
            worker.step()


def test_all_work_is_told_by_the_end(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50)
    world.end("job", world.worker())
    topology = Topology(world.cluster.plans["job"], 2)
    last = world.said("job")[-1].tasks
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
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the test's clock takes time: without this, most of it would be spent on saying so."""
    monkeypatch.setattr("cauce.worker.stats.MOST_SHARE", 1e9)


@pytest.mark.usefixtures("talkative")
def test_numbers_only_grow_and_names_are_never_used_twice(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 400)
    world.end("job", world.worker())
    records, said = world.records("job"), world.said("job")
    assert len(said) > 3
    assert len({(each.producer, each.seq) for each in records}) == len(records)
    assert {each.kind for each in records} == {Kind.DATA}
    for before, after in pairwise(said):
        assert after.at > before.at
        for number, numbers in before.tasks.items():
            assert after.tasks[number].busy_s >= numbers.busy_s
            assert after.tasks[number].waiting_s >= numbers.waiting_s
            assert after.tasks[number].read.rows >= numbers.read.rows


def test_busy_and_waiting_are_no_more_than_the_time_there_was(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 200)
    began = world.time.now
    world.end("job", world.worker())
    passed_s = world.time.now - began
    last = world.said("job")[-1].tasks
    assert sum(numbers.busy_s for numbers in last.values()) <= passed_s
    assert all(numbers.busy_s + numbers.waiting_s <= passed_s for numbers in last.values())


def test_two_workers_are_told_apart(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 200)
    first, second = world.worker(), world.worker()
    for _ in range(2_000):
        first.step()
        second.step()
    assert len({said.life for said in world.said("job")}) == 2
    assert len({each.producer for each in world.records("job")}) == 2


def test_a_run_without_an_owner_says_nothing(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50, owner="")
    world.end("job", world.worker())
    assert world.said("job") == []


def test_a_job_in_which_nothing_moves_says_nothing_more(tmp_path: Path) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50)
    worker = world.worker()
    world.end("job", worker)
    before = len(world.said("job"))
    world.time.now += 1000
    for _ in range(100):
        worker.step()
    assert len(world.said("job")) == before


@pytest.mark.usefixtures("talkative")
def test_a_long_job_is_told_of_less_often(tmp_path: Path) -> None:
    world = World(time=Time(step_s=0.5))
    world.add("job", tmp_path / "job", 3_000)
    worker = world.worker()
    for _ in range(100):
        worker.step()
    young = world.said("job")
    world.time.now += 100_000
    for _ in range(600):
        worker.step()
    old = world.said("job")[len(young) + 1 :]
    assert min(after.at - before.at for before, after in pairwise(young)) < 10
    assert min(after.at - before.at for before, after in pairwise(old)) > 190


class Slow(MemoryFabric):
    """Takes a second for each record of what is said of tasks."""

    time: Time
    taken_s = 0.0

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        super().append(job, log, records)
        if log == STATS_LOG:
            self.time.now += 1.0
            self.taken_s += 1.0


@pytest.mark.slow
def test_on_a_slow_fabric_little_time_is_spent_on_it(tmp_path: Path) -> None:
    world = World(time=Time(step_s=0.5))
    for job in ("one", "two"):
        world.add(job, tmp_path / job, 3_000)
    slow = Slow(world.cluster.store)
    slow.time = world.time
    worker = world.worker(slow)
    began = world.time.now
    for _ in range(5_000):
        worker.step()
    # At the end of each job the last word is said in any case.
    assert 0 < slow.taken_s - 2 <= MOST_SHARE * (world.time.now - began) + 1
    assert all(world.said(job) for job in ("one", "two"))


class Failing(MemoryFabric):
    """Has no room for what is said of tasks, or loses the confirmation."""

    problem: type[FabricFull] | type[FabricLost] = FabricFull

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        if log == STATS_LOG:
            raise self.problem("as the test wants it")
        super().append(job, log, records)


@pytest.mark.parametrize("problem", [FabricFull, FabricLost])
def test_work_goes_on_where_nothing_can_be_said(tmp_path: Path, problem: type[FabricFull] | type[FabricLost]) -> None:
    world = World()
    world.add("job", tmp_path / "job", 50)
    fabric = Failing(world.cluster.store)
    fabric.problem = problem
    world.end("job", world.worker(fabric))
    assert world.cluster.rows("job") == [("tea", 50)]
    assert world.said("job") == []


def test_a_task_that_is_over_is_not_kept_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
