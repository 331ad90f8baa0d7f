"""The log of a job: its outcome, and worker crashes in its tasks. Every worker reads it in every round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from cauce.fabric.contract import Fabric
from cauce.fabric.records import Kind, Record, digest_of, record
from cauce.job.crashes import Cause, Cleared, Crash, Crashes, Scene, Start
from cauce.job.log_reader import LogReader
from cauce.job.outcome import Outcome, Outcomes
from cauce.job.topology import JOB_LOG

_READ_BYTES = 1 << 20


class MissingDataset(msgspec.Struct, frozen=True):
    """A worker skipped the job because it lacks this dataset, or has other versions of Cauce or Polars than the job's
    `program`. Every such worker appends the same content."""

    dataset: str
    program: str = ""
    """The versions that the job needs, if that is why."""

    def dump(self, producer: int) -> Record:
        return record(Kind.DATASET_MISSING, producer, 0, msgspec.json.encode(self))


class Witness(Protocol):
    """Evidence of why a worker process ended."""

    def scene(self) -> Scene:
        """Context to record with a start of this process."""

    def cause(self, scene: Scene) -> Cause:
        """Why the process that recorded the scene ended."""


class NoWitness:
    def scene(self) -> Scene:
        return Scene()

    def cause(self, scene: Scene) -> Cause:
        return ""


class JobLog:
    """Reads the log of a job for one worker, and appends crashes to it."""

    def __init__(
        self, fabric: Fabric, job: str, attempts: int, run_id: str | None = None, witness: Witness | None = None
    ) -> None:
        self._fabric = fabric
        self._job = job
        self._witness = witness or NoWitness()
        self._reader = LogReader(JOB_LOG, _READ_BYTES)
        self._outcomes = Outcomes()
        self.crashes = Crashes(job, attempts, run_id)

    @property
    def outcome(self) -> Outcome | None:
        return self._outcomes.effective

    def read(self) -> bool:
        """Reads the next batch. False if there was nothing to read."""
        return self._reader.read(self._fabric, self._job, self._add)

    def _add(self, records: Iterable[Record]) -> None:
        for each in records:
            self._outcomes.add(each)
            if each.kind == Kind.CRASH:
                self.crashes.add(msgspec.json.decode(each.body, type=Crash))
            elif each.kind == Kind.CLEARED:
                self.crashes.clear(msgspec.json.decode(each.body, type=Cleared))

    def scene(self, *, shared: bool = False) -> Scene:
        """Context for a start at this time."""
        crashes, proven = self.crashes.longest()
        return msgspec.structs.replace(self._witness.scene(), crashes=crashes, proven=proven, shared=shared)

    def report(self, task: int, starts: Iterable[tuple[int, Start]], snapshots: int = 0) -> None:
        """Records open starts of a task, with their sequence numbers, as crashes. Raises if the job must be
        quarantined. Idempotent: each start counts once. A suspended start was not running when its process ended, so it
        counts only if memory was the cause."""
        found = [(seq, start) for seq, start in starts if start.which not in self.crashes]
        if found:
            while self.read():
                pass
        for seq, start in found:
            if start.which not in self.crashes:
                cause = self._witness.cause(start.scene)
                if cause == "memory" or not start.suspended:
                    self._record(Crash(task, seq, start, cause, start.snapshot < snapshots))
        problem = self.crashes.verdict() if found else None
        if problem is not None:
            raise problem

    def _record(self, crash: Crash) -> None:
        # Two workers may record the same crash with different causes: the digest covers only its identity.
        identity = int(crash.start.which, 16)
        digest = digest_of(crash.start.which.encode())
        entry = record(Kind.CRASH, crash.task, identity, msgspec.json.encode(crash), digest)
        self._fabric.append(self._job, JOB_LOG, [entry])
        self.crashes.add(crash)

    def progressed(self, task: int) -> None:
        """Ends the row of consecutive crashes, because the job has made progress."""
        row = self.crashes.in_a_row()
        if row:
            self._clear(task, Cleared(tuple(sorted(each.start.which for each in row))))

    def survived(self, task: int, start: Start) -> None:
        """Withdraws a crash: the worker that recorded the start is still running."""
        self._clear(task, Cleared((start.which,), survived=True))

    def _clear(self, task: int, cleared: Cleared) -> None:
        body = msgspec.json.encode(cleared)
        self._fabric.append(self._job, JOB_LOG, [record(Kind.CLEARED, task, digest_of(body), body)])
        self.crashes.clear(cleared)
