"""A run on this machine: creates the job in a work directory, supervises its workers and collects the answers.

The work directory holds all state: a run that was killed resumes when the same command is run again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cauce.errors import CorruptRecord, JobFailed, WrongSplit
from cauce.fabric.factory import open_fabric
from cauce.job.manifest import PROGRAM, Manifest, MemoryShares
from cauce.job.topology import Topology
from cauce.process.memory_limit import MemoryBudget
from cauce.runner.answers import Answers
from cauce.runner.in_process import LITTLE_BYTES, Settings
from cauce.runner.local_client import Collect, Sink, Upload, Watch, check_logs, create
from cauce.runner.sinks import Memory, Prepared, Silent, run_in_memory
from cauce.runner.work_dir import WorkFolder
from cauce.runner.worker_pool import WorkerPool
from cauce.scan.parts import TableFile
from cauce.scan.reader import cuts_hold, part_bytes_for

PAUSE_S, LONGEST_PAUSE_S = 0.005, 0.05
POLL_SHARE = 0.02
"""The share of a core that waiting for answers may take: looking at the logs of many queries takes milliseconds, and
the workers need the cores."""

UPLOAD_S = 0.02
"""How long to append parts before the logs of the answers are looked at again."""

STILL_S = 30.0
"""A run without progress for this long reports what it waits for."""


LANES_A_WORKER = 2
"""A worker that has completed a lane scans the next one of the table, and so waits less for slower workers."""


@dataclass(frozen=True)
class RunSettings:
    workers: int
    part_bytes: int | None = None
    memory: MemoryBudget | None = None
    """Of each worker; None: no limit."""
    guess: bool = True
    """Whether parts are cut at guessed record boundaries. A wrong guess raises ``WrongSplit``."""
    lanes_a_worker: int = LANES_A_WORKER
    """On a broker, where every lane is a stream of its own, 1."""

    @property
    def lanes(self) -> int:
        # One worker has nobody to share a table with.
        return self.workers * self.lanes_a_worker if self.workers > 1 else 1


def job_name(prepared: Prepared, settings: RunSettings) -> str:
    """Deterministic for the same queries on the same files, so that a run can be resumed."""
    parts = [prepared.plan.digest, str(settings.part_bytes), str(settings.workers), str(settings.lanes)]
    parts.append(str(settings.guess))
    parts.append(str(MemoryShares.of(settings.memory)))
    for table, files in sorted(prepared.files.items()):
        for file in files:
            changed = os.stat(file.path).st_mtime_ns
            parts.append(f"{table} {file.path} {file.bytes} {changed}")
    return f"run-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"


def has_exact_run(prepared: Prepared, pool: WorkerPool, settings: RunSettings) -> bool:
    """Whether an earlier run here guessed record boundaries wrongly and restarted with exact ones, to be resumed."""
    fabric = open_fabric(pool.fabric, pool.durability)
    try:
        return job_name(prepared, replace(settings, guess=False)) in fabric.jobs()
    finally:
        fabric.close()


def run_with_workers(prepared: Prepared, pool: WorkerPool, sink: Sink, watch: Watch, settings: RunSettings) -> None:
    """Runs the job until it is complete. The caller starts and stops the worker pool. Deletes all other jobs on its
    fabric; the job itself stays there until the caller has stored the answers and removes it."""
    job = job_name(prepared, settings)
    fabric = open_fabric(pool.fabric, pool.durability)
    topology = Topology(prepared.plan, settings.lanes)
    manifest = Manifest(
        job,
        prepared.plan.dataset,
        tuple(prepared.plan.results),
        dict(prepared.parameters),
        prepared.plan.partitions,
        settings.lanes,
        prepared.plan.digest,
        settings.workers,
        memory=MemoryShares.of(settings.memory),
        sql=prepared.sql,
        program=PROGRAM,
        large=prepared.large,
    )
    pool.give_plan(lambda: manifest.dump_plan(prepared.plan))
    for other in fabric.jobs():
        if other != job:
            fabric.delete_job(other)
    create(fabric, manifest, topology)
    sizes = {
        table: settings.part_bytes or _usual_part_bytes(files, settings) for table, files in prepared.files.items()
    }
    upload = Upload(fabric, job, topology, prepared.files, sizes, watch=watch, guess=settings.guess)
    collect = Collect(fabric, job, topology, sink, watch)
    try:
        _drive(upload, collect, pool, watch, lambda: check_logs(fabric, job, topology))
    except (JobFailed, CorruptRecord, WrongSplit) as problem:
        # Its logs record the failure or are damaged: if kept, the job would fail again without a retry.
        fabric.delete_job(job)
        if isinstance(problem, JobFailed) and settings.guess and not _cuts_hold(prepared, settings):
            raise WrongSplit("the job failed on parts that do not end at record boundaries") from problem
        raise
    finally:
        fabric.close()


def _cuts_hold(prepared: Prepared, settings: RunSettings) -> bool:
    """Whether all parts were cut at record boundaries, so that a failure is due to the data."""
    for table in prepared.plan.tables:
        files = prepared.files[table.name]
        if not cuts_hold(files, table, settings.part_bytes or _usual_part_bytes(files, settings)):
            return False
    return True


def _usual_part_bytes(files: list[TableFile], settings: RunSettings) -> int:
    most = settings.memory.part_bytes if settings.memory is not None else None
    return part_bytes_for(files, settings.workers, most)


def run_for_answers(
    prepared: Prepared, workers: int, watch: Watch | None = None, memory: MemoryBudget | None = None
) -> Answers:
    """Returns the answers as frames. Small inputs run in this process, others with workers in a temporary folder."""
    watch = watch or Silent()
    if sum(prepared.bytes.values()) < LITTLE_BYTES:
        return run_in_memory(prepared, Settings(memory=memory), watch)
    with tempfile.TemporaryDirectory(prefix="cauce-") as folder:
        work = WorkFolder(Path(folder))
        worker_bytes = memory.worker_bytes if memory is not None else 0
        pool = WorkerPool(f"files:{work.path}", workers, prepared.source, worker_bytes=worker_bytes)
        try:
            pool.start()
            settings = RunSettings(workers, memory=memory)
            try:
                sink = Memory()
                run_with_workers(prepared, pool, sink, watch, settings)
            except WrongSplit:
                sink = Memory()
                run_with_workers(prepared, pool, sink, watch, replace(settings, guess=False))
        finally:
            pool.kill()
            work.close()
    return sink.answers(prepared.plan)


def run_in_this_process(prepared: Prepared, watch: Watch, memory: MemoryBudget | None = None) -> Answers:
    """Runs without worker processes, for a plan that they cannot build. Logs are in files, to bound memory."""
    with tempfile.TemporaryDirectory(prefix="cauce-") as folder:
        return run_in_memory(prepared, Settings(work=Path(folder), memory=memory), watch)


def _drive(upload: Upload, collect: Collect, pool: WorkerPool, watch: Watch, check: Callable[[], None]) -> None:
    uploading = True
    moved_at = time.monotonic()
    while not collect.complete:
        for event in pool.watch():
            watch.event(event, pool.restarts)
        uploading = uploading and upload_some(upload)
        looked_at = time.thread_time()
        if collect.step() or uploading:
            moved_at = time.monotonic()
            continue
        looked_s = time.thread_time() - looked_at
        if time.monotonic() - moved_at > STILL_S:
            check()
            watch.still(collect.missing_input())
            moved_at = time.monotonic()
        time.sleep(pause_s(looked_s))


def upload_some(upload: Upload, clock: Callable[[], float] = time.monotonic) -> bool:
    """Appends records for a moment. False when everything has been appended. Parts of files that are read in place take
    less time to append than the logs of the answers take to look at."""
    until = clock() + UPLOAD_S
    while upload.step():
        if clock() >= until:
            return True
    return False


def pause_s(looked_s: float) -> float:
    """How long to wait after looking at the logs took so much processor time."""
    return min(max(PAUSE_S, looked_s / POLL_SHARE), LONGEST_PAUSE_S)
