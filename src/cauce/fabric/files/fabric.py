"""A fabric on a local file system, for the processes of one machine. Any of them may be killed at any time.

    root/fabric.json                                the format version
    root/jobs/<job>/manifest.json
    root/jobs/<job>/logs/<log>/<segment>
    root/jobs/<job>/leases/<queue>/<index>-<task>
    root/jobs/<job>/trimmed                         the remaining logs of a trimmed job
    root/trash/                                     jobs being built, jobs being removed

No operation may recreate the directory of a deleted job.

Supports Linux with local file systems only: macOS has no fdatasync, and its fsync does not flush the disk's cache;
Windows has no flock; on NFS flock is emulated, locks may outlive their machine, and directory times lag behind.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar
from weakref import WeakSet

from cauce.errors import FabricError
from cauce.fabric.contract import Append, Batch, Position
from cauce.fabric.files.disk import Descriptors, fabric_error, is_out_of_files
from cauce.fabric.files.frames import frame_of
from cauce.fabric.files.jobs import SCRATCH, Identity, JobFolders
from cauce.fabric.files.lease import FilesLease, LeaseQueue
from cauce.fabric.files.log import SegmentReader, SegmentWriter
from cauce.fabric.names import Log, check_name, is_service_log, job_gone
from cauce.fabric.records import Record
from cauce.process.limits import file_limit

_WRITING = 200
_READING = 300
_TRIED = 100
"""Cached descriptors of each kind at a limit of 1024 open files. Leaves room for held leases."""
_USUAL_LIMIT = 1024
_MAX_FACTOR = 8
"""Maximum factor by which the caches grow with a higher limit: each thread of a gateway has its own fabric."""
_CHECK_S = 1.0
"""Interval of checks for jobs that other processes trimmed."""
T = TypeVar("T")


class _Job:
    """Cached state of a job. It is dropped when the job is deleted or replaced by another of the same name."""

    def __init__(self, folder: str, identity: Identity, *, trimmed: bool) -> None:
        self.folder = folder
        self.identity = identity
        self.trimmed = trimmed
        """Whether it was trimmed when first seen: then no file of a removed log is open here."""
        self.readers: dict[Log, SegmentReader] = {}
        self.writers: dict[Log, SegmentWriter] = {}
        self.queues: dict[str, LeaseQueue] = {}


class FilesFabric:
    """One process's view of a root directory; not thread-safe. Confirmed records survive the crash of any process, and
    with durability "power" also a loss of power."""

    def __init__(self, root: Path, *, durability: Literal["process", "power"] = "process") -> None:
        self._power = durability == "power"
        self._writing = Descriptors(_kept(_WRITING), os.O_WRONLY | os.O_APPEND)
        self._reading = Descriptors(_kept(_READING), os.O_RDONLY)
        self._tried = Descriptors(_kept(_TRIED), os.O_RDWR | os.O_APPEND)
        self._known: dict[str, _Job] = {}
        self._listed: list[str] = []
        self._next_check = 0.0
        self._folders = JobFolders(os.path.realpath(root), self._reading, power=self._power)
        self.sweep()
        _all_fabrics.add(self)

    def create_job(self, job: str, manifest: bytes) -> bytes:
        return self._with_descriptors(lambda: self._folders.create(job, manifest))

    def jobs(self) -> list[str]:
        return [name for name in self._all_names() if not is_service_log(name)]

    def service_logs(self) -> list[str]:
        return [name for name in self._all_names() if is_service_log(name)]

    def _all_names(self) -> list[str]:
        names = self._with_descriptors(self._folders.in_order)
        if names is not self._listed:
            # Close files of jobs that other processes deleted: an open file keeps its disk space.
            for gone in self._known.keys() - set(names):
                self._forget(gone)
            self._listed = names
        self._with_descriptors(self._forget_trimmed)
        return names

    def _forget_trimmed(self) -> None:
        """Closes files of jobs that other processes trimmed, once per job: an open file keeps its disk space."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_S
        for job, known in list(self._known.items()):
            if not known.trimmed and self._is_trimmed(known):
                self._forget(job)

    def _is_trimmed(self, known: _Job) -> bool:
        """False for an unreadable job: it must not block other jobs, and dropping it would release leases of running
        tasks. The error is raised where the job is used."""
        try:
            return self._folders.kept_logs(known.folder) is not None
        except FabricError as problem:
            if is_out_of_files(problem):
                raise
            return False

    def manifest(self, job: str) -> bytes | None:
        return self._with_descriptors(lambda: self._folders.manifest(job))

    def trim(self, job: str, keep: Sequence[Log]) -> None:
        held = self._find(job)
        if held is not None:
            self._folders.trim(held.folder, keep)
            # An open file keeps its disk space.
            self._forget(job)

    def scratch(self, job: str) -> Path:
        return Path(self._folders.folder(job), SCRATCH)

    def delete_job(self, job: str) -> None:
        self._folders.delete(job)
        self._forget(job)

    def sweep(self) -> None:
        self._folders.sweep()

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        self._with_descriptors(lambda: self._append(job, log, records))

    def _append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        frames = [frame_of(each) for each in records]
        while True:
            held = self._find(job)
            if held is None:
                raise job_gone(job)
            if not frames:
                return
            writer = held.writers.get(log)
            if writer is None:
                left = self._folders.kept_logs(held.folder)
                if left is not None and log not in left:
                    return
                writer = held.writers[log] = SegmentWriter(
                    f"{held.folder}/logs/{log.encode()}", self._writing, power=self._power
                )
            try:
                writer.append(frames)
                return
            except OSError as problem:
                if isinstance(problem, FileNotFoundError) and self._folders.kept_logs(held.folder) is not None:
                    # The job was trimmed concurrently. Retry: the log was kept or removed.
                    self._forget(job)
                elif not self._has_changed(held, job, problem):
                    raise fabric_error(problem, f"appending to log {log} of job {job}", held.folder) from problem

    def append_all(self, job: str, appends: Sequence[Append]) -> None:
        for log, records in appends:
            self.append(job, log, records)

    def read_barrier(self, job: str | None = None, *logs: Log) -> None:
        """Nothing to do: reads of a local file system are always current."""

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        return self._with_descriptors(lambda: self._read(job, log, position, limit_bytes))

    def _read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        held = self._find(job)
        if held is None:
            return Batch([], position)
        reader = held.readers.get(log)
        if reader is None:
            reader = held.readers[log] = SegmentReader(
                f"{held.folder}/logs/{log.encode()}", self._reading, power=self._power
            )
        try:
            return reader.read(position, limit_bytes)
        except OSError as problem:
            raise fabric_error(problem, f"reading log {log} of job {job}", held.folder) from problem

    def enqueue(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        self._with_descriptors(lambda: self._enqueue(job, queue, tasks))

    def _enqueue(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        check_name("queue", queue)
        for task in tasks:
            check_name("task", task)
        while (held := self._find(job)) is not None:
            try:
                if self._folders.kept_logs(held.folder) is None:
                    self._queue(held, queue).enqueue(tasks)
                return
            except OSError as problem:
                if not self._has_changed(held, job, problem):
                    raise fabric_error(problem, f"enqueueing tasks of job {job}", held.folder) from problem

    def acquire(self, job: str, queue: str) -> FilesLease | None:
        return self._with_descriptors(lambda: self._acquire(job, queue))

    def _acquire(self, job: str, queue: str) -> FilesLease | None:
        check_name("queue", queue)
        held = self._find(job)
        if held is None:
            return None
        try:
            return self._queue(held, queue).acquire()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise fabric_error(problem, f"acquiring a lease of job {job}", held.folder) from problem

    def close(self) -> None:
        """Releases all leases and closes all files."""
        for job in list(self._known):
            self._forget(job)
        for descriptors in (self._writing, self._reading, self._tried):
            descriptors.clear()

    def _with_descriptors(self, step: Callable[[], T]) -> T:
        """Runs a step. If the limit of open files is reached, clears the descriptor caches and retries once. The retry
        is safe: files are opened before anything is written."""
        try:
            return step()
        except FabricError as problem:
            if not is_out_of_files(problem):
                raise
        for descriptors in (self._writing, self._reading, self._tried):
            descriptors.clear()
        return step()

    def _queue(self, held: _Job, queue: str) -> LeaseQueue:
        known = held.queues.get(queue)
        if known is None:
            folder = f"{held.folder}/leases/{queue}"
            known = held.queues[queue] = LeaseQueue(folder, self._reading, self._tried, power=self._power)
        return known

    def _find(self, job: str) -> _Job | None:
        """The job's current state; None if it does not exist. Checked at each step, since other processes delete jobs,
        and cached state must not be used for a new job of the same name."""
        known = self._known.get(job)
        folder = known.folder if known is not None else self._folders.folder(job)
        identity = self._folders.identity(folder)
        if known is not None and known.identity == identity:
            return known
        self._forget(job)
        if identity is None:
            return None
        self._known[job] = _Job(folder, identity, trimmed=self._folders.kept_logs(folder) is not None)
        return self._known[job]

    def _has_changed(self, held: _Job, job: str, problem: OSError) -> bool:
        """Whether a directory was missing because the job was deleted or replaced. Only then may a step be retried or
        skipped: records of an existing job must never be dropped."""
        return isinstance(problem, FileNotFoundError) and self._find(job) is not held

    def _forget(self, job: str) -> None:
        known = self._known.pop(job, None)
        if known is None:
            return
        for queue in known.queues.values():
            queue.release_all()
        for descriptors in (self._writing, self._reading, self._tried):
            descriptors.drop_under(known.folder)


def _kept(usual: int) -> int:
    """Cache size for the current limit of open files."""
    return max(usual * min(file_limit(), _MAX_FACTOR * _USUAL_LIMIT) // _USUAL_LIMIT, 1)


_all_fabrics: WeakSet[FilesFabric] = WeakSet()


def _close_in_child() -> None:
    """In a forked child: closes segments and leases of the parent. Otherwise a segment would have two writers, and a
    lease would outlive its holder."""
    for fabric in list(_all_fabrics):
        fabric.close()


os.register_at_fork(after_in_child=_close_in_child)
