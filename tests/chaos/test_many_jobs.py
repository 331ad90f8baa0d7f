"""Many jobs in sequence in the same processes: afterwards no resource of them is left."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from cauce.datasets import load
from cauce.fabric.files.fabric import FilesFabric
from cauce.job.manifest import Manifest
from cauce.job.topology import Topology
from cauce.lab.generators import generate
from cauce.runner.local_client import Collect, Upload, create
from cauce.runner.sinks import Answers, Memory, Prepared, prepare, run_in_memory
from cauce.runner.worker_pool import WorkerPool
from tests.chaos.running import until

FIRST = 20
"""After this many jobs, libraries have allocated their permanent memory."""

WORKERS = 2
SLACK_BYTES = 20_000_000
SLACK_SHARE = 0.2
LONGEST_JOB_S = 60.0


@dataclass(frozen=True)
class Held:
    """Resources that all processes together hold after a job."""

    files: int
    descriptors: int
    memory_bytes: list[int]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def pool(root: Path) -> Iterator[WorkerPool]:
    started = WorkerPool(f"files:{root}", WORKERS, "books")
    started.start()
    try:
        yield started
    finally:
        started.stop()


Rows = dict[str, list[tuple[object, ...]]]


def rows_of(answers: Answers) -> Rows:
    return {query: frame.rows() for query, frame in answers.items()}


def run_job(number: int, prepared: Prepared, fabric: FilesFabric, pool: WorkerPool) -> Rows:
    job = f"job-{number:04d}"
    plan = prepared.plan
    topology = Topology(plan, WORKERS)
    manifest = Manifest(
        job, plan.dataset, tuple(plan.results), dict(prepared.parameters), plan.partitions, WORKERS, plan.digest
    )
    create(fabric, manifest, topology)
    sink = Memory()
    upload = Upload(fabric, job, topology, prepared.files, part_bytes=20_000)
    collect = Collect(fabric, job, topology, sink)
    began = time.monotonic()
    while not collect.complete:
        pool.watch()
        uploading = upload.step()
        if not collect.step() and not uploading:
            assert time.monotonic() - began < LONGEST_JOB_S, collect.missing_input()
            time.sleep(0.001)
    fabric.delete_job(job)
    return rows_of(sink.answers(plan))


def held(root: Path, pool: WorkerPool) -> Held:
    """Waits until the workers have closed all files of the job, then measures."""
    processes = [psutil.Process(pid) for pid in (os.getpid(), pool.server_pid, *pool.pids.values())]
    assert len(processes) == 2 + WORKERS
    until("the last job was let go", lambda: not any(_holds_a_job_of(root, each.pid) for each in processes))
    return Held(
        sum(1 for _ in root.rglob("*")),
        sum(each.num_fds() for each in processes),
        # Resident, not private memory: pages shared with the prefork server become private when they are touched.
        [each.memory_info().rss for each in processes],
    )


def _holds_a_job_of(root: Path, pid: int) -> bool:
    """Counts only below this root: other tests in this process may have left files open elsewhere."""
    jobs = (f"{root}/jobs/job-", f"{root}/trash/")
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(entry.path).startswith(jobs):
                return True
        except FileNotFoundError:
            continue
    return False


@pytest.mark.parametrize("jobs", [pytest.param(30, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.soak)])
def test_many_jobs_leak_no_resources(tmp_path: Path, root: Path, pool: WorkerPool, jobs: int) -> None:
    generate("books", tmp_path / "data", scale=0.0001, seed=3)
    prepared = prepare(load("books"), tmp_path / "data", ["q1", "q2", "q3", "q4"])
    fabric = FilesFabric(root)
    wanted = rows_of(run_in_memory(prepared))
    assert any(wanted.values())
    for number in range(FIRST):
        assert run_job(number, prepared, fabric, pool) == wanted
    early = held(root, pool)
    for number in range(FIRST, jobs):
        assert run_job(number, prepared, fabric, pool) == wanted
    late = held(root, pool)
    assert pool.restarts == 0, "a worker died, and what it had gathered with it"
    assert fabric.jobs() == []
    assert late.files == early.files
    assert late.descriptors <= early.descriptors
    for before, after in zip(early.memory_bytes, late.memory_bytes, strict=True):
        assert after - before < max(SLACK_BYTES, before * SLACK_SHARE), (early, late)
    fabric.close()
