"""A run on this machine: creates the job in a work folder, watches its workers, and brings the answers home.

The work folder is all that a run needs: one that was killed goes on where it was when it is run again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cauce.errors import CorruptRecord, CutWrongly, JobFailed
from cauce.fabric.address import open_fabric
from cauce.scan.parts import cuts_hold, part_bytes_for
from cauce.wire.manifest import Manifest
from cauce.worker.answers import Answers
from cauce.worker.client import Collect, Sink, Upload, Watch, check_logs, create
from cauce.worker.crew import Crew
from cauce.worker.folder import WorkFolder
from cauce.worker.job import Memory, Prepared, Silent, run_in_memory
from cauce.worker.local import Settings
from cauce.worker.topology import Topology

LITTLE_BYTES = 32 << 20
"""Starting processes takes longer than reading this much."""

PAUSE_S = 0.005
STILL_S = 30.0
"""A run in which nothing has happened for so long says what it waits for."""


@dataclass(frozen=True)
class RunSettings:
    workers: int
    part_bytes: int | None = None
    guess: bool = True
    """Whether files are cut without being read first, which ends in ``CutWrongly`` where they mislead."""


def job_name(prepared: Prepared, settings: RunSettings) -> str:
    """The same for the same questions on the same files: that is what lets a run be taken up again."""
    parts = [prepared.plan.digest, str(settings.part_bytes), str(settings.workers), str(settings.guess)]
    for table, files in sorted(prepared.files.items()):
        for file in files:
            changed = os.stat(file.path).st_mtime_ns
            parts.append(f"{table} {file.path} {file.bytes} {changed}")
    return f"run-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"


def begun_exactly(prepared: Prepared, crew: Crew, settings: RunSettings) -> bool:
    """Whether a run in this place was misled before, and has begun again: then that is what to go on with."""
    fabric = open_fabric(crew.fabric, crew.durability)
    try:
        return job_name(prepared, replace(settings, guess=False)) in fabric.jobs()
    finally:
        fabric.close()


def run_with_workers(prepared: Prepared, crew: Crew, sink: Sink, watch: Watch, settings: RunSettings) -> None:
    """Runs to the end. The crew has been started by the caller, and is stopped by it; its fabric has no other jobs
    than this run's, and the job stays there until the caller, who has the answers in safety, removes it."""
    job = job_name(prepared, settings)
    fabric = open_fabric(crew.fabric, crew.durability)
    topology = Topology(prepared.plan, settings.workers)
    manifest = Manifest(
        job,
        prepared.dataset,
        tuple(prepared.plan.results),
        dict(prepared.parameters),
        prepared.plan.partitions,
        settings.workers,
        prepared.plan.digest,
        settings.workers,
    )
    for other in fabric.jobs():
        if other != job:
            fabric.delete_job(other)
    create(fabric, manifest, topology)
    upload = Upload(fabric, job, topology, prepared.files, settings.part_bytes, watch=watch, guess=settings.guess)
    collect = Collect(fabric, job, topology, sink, watch)
    try:
        _drive(upload, collect, crew, watch, lambda: check_logs(fabric, job, topology))
    except (JobFailed, CorruptRecord, CutWrongly) as problem:
        # Its end, or its damage, stands in its logs: kept, it would fail again without a try.
        fabric.delete_job(job)
        if isinstance(problem, JobFailed) and settings.guess and not _cuts_hold(prepared, settings):
            raise CutWrongly("the job failed over parts that were cut wrongly") from problem
        raise
    finally:
        fabric.close()


def _cuts_hold(prepared: Prepared, settings: RunSettings) -> bool:
    """Whether a failure is one of the data, and not of where they were cut."""
    for table in prepared.plan.tables:
        files = prepared.files[table.name]
        if not cuts_hold(files, table, settings.part_bytes or part_bytes_for(files, settings.workers)):
            return False
    return True


def run_for_answers(prepared: Prepared, workers: int, watch: Watch | None = None) -> Answers:
    """The answers as frames: of little data in this process, of more with worker processes in a folder of their own."""
    watch = watch or Silent()
    if sum(prepared.bytes.values()) < LITTLE_BYTES:
        return run_in_memory(prepared, watch=watch)
    with tempfile.TemporaryDirectory(prefix="cauce-") as folder:
        work = WorkFolder(Path(folder))
        crew = Crew(f"files:{work.path}", workers)
        try:
            crew.start()
            settings = RunSettings(workers)
            try:
                sink = Memory()
                run_with_workers(prepared, crew, sink, watch, settings)
            except CutWrongly:
                sink = Memory()
                run_with_workers(prepared, crew, sink, watch, replace(settings, guess=False))
        finally:
            crew.kill()
            work.close()
    return sink.answers(prepared.plan)


def run_in_this_process(prepared: Prepared, watch: Watch) -> Answers:
    """The answers without worker processes, for a plan that they cannot make. Logs are in files: memory stays small."""
    with tempfile.TemporaryDirectory(prefix="cauce-") as folder:
        return run_in_memory(prepared, Settings(work=Path(folder)), watch)


def _drive(upload: Upload, collect: Collect, crew: Crew, watch: Watch, check: Callable[[], None]) -> None:
    uploading = True
    moved_at = time.monotonic()
    while not collect.complete:
        for event in crew.watch():
            watch.event(event, crew.restarts)
        uploading = uploading and upload.step()
        if collect.step() or uploading:
            moved_at = time.monotonic()
            continue
        if time.monotonic() - moved_at > STILL_S:
            check()
            watch.still(collect.waits_for())
            moved_at = time.monotonic()
        time.sleep(PAUSE_S)
