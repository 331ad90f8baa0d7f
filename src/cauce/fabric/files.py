"""A fabric of folders and files, for the processes of one machine, each of which may be killed at any instant.

    root/jobs/<job>/manifest.json
    root/jobs/<job>/logs/<log>/<segment>
    root/jobs/<job>/leases/<queue>/<index>-<task>
    root/jobs/<job>/trimmed                         which logs are left, once the others were removed
    root/trash/                                     jobs being built, jobs being removed

Nothing that is done to a job may bring back its folder once that is gone.

Made for Linux and its local file systems. Elsewhere: macOS has no fdatasync, and its fsync does not empty the disk's
cache; Windows has no flock; on NFS flock is emulated, a lock may outlive its machine, and folders' times lag behind.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from weakref import WeakSet

from cauce.fabric.contract import Batch, Position, Saying
from cauce.fabric.files_disk import Descriptors, told
from cauce.fabric.files_frames import frame_of
from cauce.fabric.files_jobs import Identity, JobFolders
from cauce.fabric.files_lease import FilesLease, LeaseQueue
from cauce.fabric.files_log import LogReader, LogWriter
from cauce.fabric.names import check_name
from cauce.wire.records import Record

_WRITING = 200
_READING = 300
_TRIED = 100
"""How many descriptors are kept of each kind: with the leases held, well below the usual limit of 1024."""


class _Job:
    """What this process knows of a job. All of it is forgotten when the job is gone, or another bears its name."""

    def __init__(self, folder: str, identity: Identity) -> None:
        self.folder = folder
        self.identity = identity
        self.readers: dict[str, LogReader] = {}
        self.writers: dict[str, LogWriter] = {}
        self.queues: dict[str, LeaseQueue] = {}


class FilesFabric:
    """One process's view of a root folder, used by one thread. What is confirmed outlives every process, and with
    durability "power" a loss of power too."""

    def __init__(self, root: Path, *, durability: Literal["process", "power"] = "process") -> None:
        self._power = durability == "power"
        self._writing = Descriptors(_WRITING, os.O_WRONLY | os.O_APPEND)
        self._reading = Descriptors(_READING, os.O_RDONLY)
        self._tried = Descriptors(_TRIED, os.O_RDWR | os.O_APPEND)
        self._known: dict[str, _Job] = {}
        self._listed: list[str] = []
        self._folders = JobFolders(os.path.abspath(root), self._reading, power=self._power)
        self.sweep()
        _all_fabrics.add(self)

    def create_job(self, job: str, manifest: bytes) -> bytes:
        return self._folders.create(job, manifest)

    def jobs(self) -> list[str]:
        names = self._folders.in_order()
        if names is not self._listed:
            # What others have deleted is let go of here: a file that is open keeps its room on the disk.
            for gone in self._known.keys() - set(names):
                self._forget(gone)
            self._listed = names
        return list(names)

    def manifest(self, job: str) -> bytes | None:
        return self._folders.manifest(job)

    def trim(self, job: str, keep: Sequence[str]) -> None:
        for log in keep:
            check_name("log", log)
        held = self._find(job)
        if held is not None:
            self._folders.trim(held.folder, keep)
            # A file that is open keeps its room on the disk.
            self._forget(job)

    def delete_job(self, job: str) -> None:
        self._folders.delete(job)
        self._forget(job)

    def sweep(self) -> None:
        self._folders.sweep()

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        check_name("log", log)
        frames = [frame_of(each) for each in records]
        while frames and (held := self._find(job)) is not None:
            writer = held.writers.get(log)
            if writer is None:
                left = self._folders.left(held.folder)
                if left is not None and log not in left:
                    return
                writer = held.writers[log] = LogWriter(f"{held.folder}/logs/{log}", self._writing, power=self._power)
            try:
                writer.append(frames)
                return
            except OSError as problem:
                if isinstance(problem, FileNotFoundError) and self._folders.left(held.folder) is not None:
                    # Trimmed since we began: looked at anew, the log is left or is not.
                    self._forget(job)
                elif not self._has_changed(held, job, problem):
                    raise told(problem, f"appending to log {log} of job {job}", held.folder) from problem

    def append_all(self, job: str, sayings: Sequence[Saying]) -> None:
        for log, records in sayings:
            self.append(job, log, records)

    def catch_up(self, job: str | None = None, *logs: str) -> None:
        """Whoever looks at a folder sees what is in it."""

    def read(self, job: str, log: str, position: Position, limit_bytes: int) -> Batch:
        check_name("log", log)
        held = self._find(job)
        if held is None:
            return Batch([], dict(position))
        reader = held.readers.get(log)
        if reader is None:
            reader = held.readers[log] = LogReader(f"{held.folder}/logs/{log}", self._reading, power=self._power)
        try:
            return reader.read(position, limit_bytes)
        except OSError as problem:
            raise told(problem, f"reading log {log} of job {job}", held.folder) from problem

    def offer(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        check_name("queue", queue)
        for task in tasks:
            check_name("task", task)
        while (held := self._find(job)) is not None:
            try:
                if self._folders.left(held.folder) is None:
                    self._queue(held, queue).offer(tasks)
                return
            except OSError as problem:
                if not self._has_changed(held, job, problem):
                    raise told(problem, f"offering tasks of job {job}", held.folder) from problem

    def take(self, job: str, queue: str) -> FilesLease | None:
        check_name("queue", queue)
        held = self._find(job)
        if held is None:
            return None
        try:
            return self._queue(held, queue).take()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise told(problem, f"taking a task of job {job}", held.folder) from problem

    def close(self) -> None:
        """Lets go of all that is held or open; what is in the logs stays."""
        for job in list(self._known):
            self._forget(job)
        for descriptors in (self._writing, self._reading, self._tried):
            descriptors.clear()

    def _queue(self, held: _Job, queue: str) -> LeaseQueue:
        known = held.queues.get(queue)
        if known is None:
            folder = f"{held.folder}/leases/{queue}"
            known = held.queues[queue] = LeaseQueue(folder, self._reading, self._tried, power=self._power)
        return known

    def _find(self, job: str) -> _Job | None:
        """The job as it stands now. Asked at each step: others delete jobs, and to a new one of the same name nothing
        belongs that is known or open here."""
        known = self._known.get(job)
        folder = known.folder if known is not None else self._folders.folder(job)
        identity = self._folders.identity(folder)
        if known is not None and known.identity == identity:
            return known
        self._forget(job)
        if identity is None:
            return None
        self._known[job] = _Job(folder, identity)
        return self._known[job]

    def _has_changed(self, held: _Job, job: str, problem: OSError) -> bool:
        """Whether a folder was missing because the job is no longer the one we found. Only then may a step be tried
        again, or dropped: to drop records of a job that stands would be a lie."""
        return isinstance(problem, FileNotFoundError) and self._find(job) is not held

    def _forget(self, job: str) -> None:
        known = self._known.pop(job, None)
        if known is None:
            return
        for queue in known.queues.values():
            queue.let_go()
        for descriptors in (self._writing, self._reading, self._tried):
            descriptors.drop_under(known.folder)


_all_fabrics: WeakSet[FilesFabric] = WeakSet()


def _leave_to_the_parent() -> None:
    """In a forked child: open segments and leases are the parent's. Kept open here, one segment would have two
    writers, and a lease would outlive its holder."""
    for fabric in list(_all_fabrics):
        fabric.close()


os.register_at_fork(after_in_child=_leave_to_the_parent)
