"""Many jobs one after the other in the same processes: when they are over, nothing of them is left."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from cauce.datasets import load
from cauce.datasets.synth import generate
from cauce.fabric.files import FilesFabric
from cauce.wire.manifest import Manifest
from cauce.worker.client import Collect, Upload, create
from cauce.worker.crew import Crew
from cauce.worker.job import Answers, Memory, Prepared, prepare, run_in_memory
from cauce.worker.topology import Topology
from tests.chaos.running import until

FIRST = 20
"""After so many, libraries have allocated what they keep."""

WORKERS = 2
SLACK_BYTES = 20_000_000
SLACK_SHARE = 0.2
LONGEST_JOB_S = 60.0


@dataclass(frozen=True)
class Held:
    """What all processes together hold after a job."""

    files: int
    descriptors: int
    memory_bytes: list[int]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def crew(root: Path) -> Iterator[Crew]:
    started = Crew(f"files:{root}", WORKERS)
    started.start()
    try:
        yield started
    finally:
        started.stop()


Rows = dict[str, list[tuple[object, ...]]]


def rows_of(answers: Answers) -> Rows:
    return {query: frame.rows() for query, frame in answers.items()}


def run_job(number: int, prepared: Prepared, fabric: FilesFabric, crew: Crew) -> Rows:
    job = f"job-{number:04d}"
    plan = prepared.plan
    topology = Topology(plan, WORKERS)
    manifest = Manifest(
        job, prepared.dataset, tuple(plan.results), dict(prepared.parameters), plan.partitions, WORKERS, plan.digest
    )
    create(fabric, manifest, topology)
    sink = Memory()
    upload = Upload(fabric, job, topology, prepared.files, part_bytes=20_000)
    collect = Collect(fabric, job, topology, sink)
    began = time.monotonic()
    while not collect.complete:
        crew.watch()
        uploading = upload.step()
        if not collect.step() and not uploading:
            assert time.monotonic() - began < LONGEST_JOB_S, collect.waits_for()
            time.sleep(0.001)
    fabric.delete_job(job)
    return rows_of(sink.answers(plan))


def held(root: Path, crew: Crew) -> Held:
    """Looks when the workers have seen that the job is gone: none of their descriptors leads there any more."""
    processes = [psutil.Process(pid) for pid in (os.getpid(), crew.nursery_pid, *crew.pids.values())]
    assert len(processes) == 2 + WORKERS
    until("the last job was let go", lambda: not any(_leads_to_a_job(each.pid) for each in processes))
    return Held(
        sum(1 for _ in root.rglob("*")),
        sum(each.num_fds() for each in processes),
        # Resident, not private: pages shared with the nursery become private by being counted, and are not new.
        [each.memory_info().rss for each in processes],
    )


def _leads_to_a_job(pid: int) -> bool:
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            if "/jobs/job-" in os.readlink(entry.path) or "/trash/" in os.readlink(entry.path):
                return True
        except FileNotFoundError:
            continue
    return False


@pytest.mark.parametrize("jobs", [pytest.param(30, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.soak)])
def test_many_jobs_leave_nothing_behind(tmp_path: Path, root: Path, crew: Crew, jobs: int) -> None:
    generate("books", tmp_path / "data", scale=0.0001, seed=3)
    prepared = prepare(load("books"), tmp_path / "data", ["q1", "q2", "q3", "q4"])
    fabric = FilesFabric(root)
    wanted = rows_of(run_in_memory(prepared))
    assert any(wanted.values())
    for number in range(FIRST):
        assert run_job(number, prepared, fabric, crew) == wanted
    early = held(root, crew)
    for number in range(FIRST, jobs):
        assert run_job(number, prepared, fabric, crew) == wanted
    late = held(root, crew)
    assert crew.restarts == 0, "a worker died, and what it had gathered with it"
    assert fabric.jobs() == []
    assert late.files == early.files
    assert late.descriptors <= early.descriptors
    for before, after in zip(early.memory_bytes, late.memory_bytes, strict=True):
        assert after - before < max(SLACK_BYTES, before * SLACK_SHARE), (early, late)
    fabric.close()
