"""The interface of a fabric: logs and leases. Three implementations pass one conformance suite.

Delivery is at least once: `append` may raise after the record was appended, and `read` may return a record twice or
records of different writers in any order. Callers must deduplicate by record identity.

Visibility. A fabric object always reads its own appends, and everything that was in that log before them. Appends,
creations and deletions by other fabric objects become visible to it after any delay, or at once by a read barrier.
Nothing that was visible to it becomes invisible, and there is no order between different logs.

Errors. Each one says what its caller must do:

    FabricLost      it is unknown whether a write was stored: repeat it, or leave it to the next holder of the lease
    FabricFull      no space is left: stop the worker; a gateway refuses the request
    JobGone         the job was deleted: drop it, append nothing more, record no failure
    CorruptRecord   stored data is damaged: fail the job
    OtherVersion    another version of the program wrote it: leave the job to a process of that version
    FabricError     any other failure: if an OSError caused it, retry with a backoff; otherwise fail the job

Threads. A fabric object is used by one thread at a time. Each thread that works concurrently opens its own.

Forks. A forked child owns nothing of its parent's: it closes files and connections of the fabrics it inherited without
ending the parent's leases, and writes no segment of the parent's. In the child, a lease of the parent has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from cauce.fabric.names import Log
from cauce.fabric.position import START, Position
from cauce.fabric.records import Record

__all__ = ["START", "Append", "Batch", "Durability", "Fabric", "Lease", "Log", "Position"]

Durability = Literal["process", "power"]
"""Failures that confirmed records survive: the crash of any process, or also a loss of power."""

Append = tuple[Log, Sequence[Record]]
"""A log and the records to append to it."""


@dataclass(frozen=True)
class Batch:
    """Records read from a log, and the position after them."""

    records: Sequence[Record]
    position: Position


class Lease(Protocol):
    """The exclusive right to run a task. It ends with `complete`, `release`, or the crash of its holder."""

    @property
    def task(self) -> str: ...

    def complete(self) -> None:
        """Marks the task as completed: the lease is never granted again."""

    @property
    def lost(self) -> bool:
        """Whether another process may have acquired the lease, because the lock or connection behind it was lost.
        Continuing is safe but duplicates work."""

    def release(self) -> None:
        """Releases the lease: any process may acquire it immediately."""


class Fabric(Protocol):
    """Logs are named within a job and are created by their first append.

    A log belongs to a log group (see `Log`). A fabric may store the logs of a group together, which is cheaper to
    create and more expensive to read one by one. Logs of different groups with the same name are different logs."""

    def create_job(self, job: str, manifest: bytes) -> bytes:
        """Registers a job. Idempotent: returns the manifest of the first call."""

    def jobs(self) -> list[str]:
        """Jobs that have been created and not deleted, oldest first. Without the service's own logs."""

    def service_logs(self) -> list[str]:
        """Names of the service's own logs that have been created and not deleted, oldest first. Such a name is used
        like that of a job, but there is no work on it. See `names.service_log_name`."""

    def manifest(self, job: str) -> bytes | None:
        """The job's manifest; None if the job does not exist."""

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        """Returns when all records are confirmed. If it raises, any of them may have been appended or not. Raises
        JobGone if the job does not exist; while it is being deleted, records may also be confirmed and deleted."""

    def append_all(self, job: str, appends: Sequence[Append]) -> None:
        """Appends to several logs of a job and waits for all confirms. Order is kept within each log."""

    def read_barrier(self, job: str | None = None, *logs: Log) -> None:
        """Everything confirmed to any process before this call is visible after it. Covers jobs and manifests, or the
        records of `logs` if a job is given. Call it before an error that reports absence."""

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        """Returns records after a position, at least one if one is visible. Does not wait for more. A job that does not
        exist has none."""

    def enqueue(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        """Enqueues tasks in this order. Idempotent for each task. Does nothing if the job does not exist."""

    def acquire(self, job: str, queue: str) -> Lease | None:
        """Acquires the lease of the first visible task of a queue that is neither completed nor held; None if there is
        none."""

    def trim(self, job: str, keep: Sequence[Log]) -> None:
        """For a job that has ended: deletes all its leases and all its logs except `keep`. Later appends to other logs
        and later tasks are discarded. Idempotent."""

    def scratch(self, job: str) -> Path | None:
        """A directory of this host for temporary files of a job, which is deleted with the job; it may not exist yet.
        None if the fabric has no directory on this host."""

    def delete_job(self, job: str) -> None:
        """Deletes the job, its logs and its leases. Idempotent, also after a partial deletion."""

    def close(self) -> None:
        """Releases all leases and everything else that the object holds. Confirmed records stay."""
