"""The jobs that a worker knows: finds, opens, sets aside, fails and drops them. Runs no task."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import polars as pl

from cauce.datasets.registry import Registry, Stamp
from cauce.errors import (
    CauceError,
    CorruptRecord,
    DatasetMissing,
    FabricFull,
    FabricLost,
    JobFailed,
    JobGone,
    OtherVersion,
    PlanMismatch,
)
from cauce.fabric.contract import Fabric
from cauce.fabric.records import CLIENT
from cauce.job.job_log import JobLog, MissingDataset, Witness
from cauce.job.manifest import OLDER_PROGRAM, Manifest, load_manifest
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG, TaskSpec, Topology
from cauce.plan.physical import Plan
from cauce.worker.memory.spill import MemorySpill, Spill
from cauce.worker.open_job import HeldTask, OpenJob
from cauce.worker.set_aside import SetAside, is_transient
from cauce.worker.stats import Stats
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.limits import Limits

_NO_TASK = CLIENT - 1
"""Producer number of an outcome that was not recorded by a task."""
_NO_DATASET = CLIENT - 2
"""Producer number of the record that a worker does not have a job's dataset."""
_OTHER_PROGRAM = CLIENT - 3
"""Producer number of the record that a worker has other versions of Cauce or Polars than the job."""

OF_ONE_JOB = (Exception, pl.exceptions.PanicException, SystemExit)
"""Exceptions that functions of a query, libraries or damaged files may raise in the work on one job. A function that
calls `sys.exit` fails its job, not the worker."""


@dataclass(frozen=True)
class Host:
    """The environment of a worker in its process. `on_set_aside` is called for each job that is set aside. Without a
    `clock` every step costs the same and none is suspended, as a simulation needs it."""

    datasets: Registry = field(default_factory=Registry)
    witness: Witness | None = None
    on_set_aside: Callable[[SetAside], None] = lambda aside: None
    clock: Callable[[], float] | None = None
    spill: Callable[[str, TaskSpec], Spill] = lambda job, spec: MemorySpill()
    """Makes the temporary files of a task of a job."""


@dataclass(frozen=True)
class Setup:
    """The arguments of a worker. `plans` are those of jobs that were planned in this process."""

    fabric: Fabric
    limits: Limits
    plans: Mapping[str, Plan]
    stats: Stats | None
    host: Host


class JobTable:
    """The jobs of a worker: found, opened, set aside after errors, dropped when they have ended or were deleted. The
    jobs of owners in `suspended` do not change."""

    def __init__(
        self, setup: Setup, make_context: Callable[[Manifest, Topology, JobLog], JobContext], suspended: Container[str]
    ) -> None:
        self._fabric = setup.fabric
        self._limits = setup.limits
        self._plans = setup.plans
        self._stats = setup.stats
        self._host = setup.host
        self._make_context = make_context
        self._suspended = suspended
        self.jobs: dict[str, OpenJob] = {}
        self._over: set[str] = set()
        """Jobs that are never opened: ended already, or with a manifest that this process cannot read or plan."""
        self._without_dataset: dict[str, tuple[Stamp, ...]] = {}
        """Jobs whose dataset this process lacks, with the state of the dataset files at that time."""
        self._aside: dict[str, SetAside] = {}

    def find(self) -> None:
        """Finds new, ended and deleted jobs, except those of owners with a suspended step."""
        existing = dict.fromkeys(self._fabric.jobs())
        for deleted in [name for name in self.unsuspended() if name not in existing]:
            self._end_stats(deleted)
            del self.jobs[deleted]
        self._over.intersection_update(existing)
        for deleted in [name for name in self._aside if name not in existing]:
            del self._aside[deleted]
        self._recheck_datasets(existing)
        for name in existing:
            if name not in self.jobs and self._may_open(name):
                with self.confined(name):
                    self._open(name)
        for name, job in self.unsuspended().items():
            if not job.over:
                with self.confined(name):
                    self._read_log(name, job)

    def unsuspended(self) -> dict[str, OpenJob]:
        """The jobs of all owners without a suspended step."""
        return {name: job for name, job in self.jobs.items() if job.manifest.owner not in self._suspended}

    def _recheck_datasets(self, existing: Collection[str]) -> None:
        """Retries jobs without a dataset once a dataset file has changed."""
        if self._without_dataset:
            state = self._host.datasets.state
            kept = {name: seen for name, seen in self._without_dataset.items() if name in existing and seen == state}
            self._without_dataset = kept

    def _may_open(self, name: str) -> bool:
        if name in self._over or name in self._without_dataset:
            return False
        aside = self._aside.get(name)
        return aside is None or time.monotonic() >= aside.due

    def _read_log(self, name: str, job: OpenJob) -> None:
        """Reads the job log. Drops a job that has ended, and fails one that has crashed too many workers."""
        log = job.context.log
        if not log.read():
            return
        problem = log.crashes.verdict() if log.outcome is None else None
        if problem is not None:
            self._end(name, _NO_TASK, problem)
        if problem is not None or log.outcome is not None:
            self._drop(job)

    def _open(self, name: str) -> None:
        data = self._fabric.manifest(name)
        if data is None:
            return
        # Checked before planning: where answers are retained for a day, most jobs have ended.
        log = JobLog(self._fabric, name, self._limits.lethal_attempts, self._limits.run_id, self._host.witness)
        log.read()
        if log.outcome is not None:
            self._over.add(name)
            return
        try:
            manifest = load_manifest(data, name)
        except (CorruptRecord, OtherVersion):
            # Gateways report it. Recording a failure would stop workers that can read it.
            self._over.add(name)
            return
        try:
            plan = self._plans.get(name) or manifest.plan(self._host.datasets)
            topology = Topology(plan, manifest.lanes, manifest.on)
        except DatasetMissing:
            lacking = manifest.sql.declared if manifest.sql is not None else manifest.dataset
            self._fabric.append(name, JOB_LOG, [MissingDataset(lacking).dump(_NO_DATASET)])
            self._without_dataset[name] = self._host.datasets.state
            return
        except PlanMismatch as problem:
            self._decline(manifest, problem)
            return
        except OF_ONE_JOB as problem:
            if is_transient(problem):
                raise
            failure = JobFailed(f"job {name} cannot be planned: {_described(problem)}")
            self._end(name, _NO_TASK, problem if isinstance(problem, CauceError) else failure)
            self._over.add(name)
            return
        self.jobs[name] = OpenJob(manifest, self._make_context(manifest, topology, log))

    def _decline(self, manifest: Manifest, problem: PlanMismatch) -> None:
        """Leaves a job of other versions to workers that have them; gateways fail it if there are none. With the same
        versions no worker has its plan: the code of the dataset has changed."""
        self._over.add(manifest.job)
        if manifest.of_this_program:
            self._end(manifest.job, _NO_TASK, problem)
            return
        needed = MissingDataset(manifest.dataset, manifest.program or OLDER_PROGRAM)
        self._fabric.append(manifest.job, JOB_LOG, [needed.dump(_OTHER_PROGRAM)])

    @contextmanager
    def confined(self, name: str) -> Iterator[None]:
        """Confines an error within the block to this job, which is set aside for a time, or dropped if it was deleted.
        Other jobs continue."""
        try:
            yield
        except (FabricLost, FabricFull):
            raise
        except JobGone:
            self._close(name)
            self._end_stats(name)
        except OF_ONE_JOB as problem:
            self.set_aside(name, problem)

    def _close(self, name: str) -> None:
        """Releases all that this worker holds of a job. It may be opened again."""
        job = self.jobs.pop(name, None)
        if job is not None:
            job.over = True
            self.release_all(job)
            job.context.release()

    def set_aside(self, name: str, problem: BaseException) -> None:
        self._close(name)
        aside = SetAside(name, problem, self._aside.get(name), time.monotonic())
        self._aside[name] = aside
        self._host.on_set_aside(aside)

    def _fail(self, job: OpenJob, held: HeldTask, problem: CauceError) -> None:
        self._end(job.manifest.job, held.task.spec.number, problem)
        self._drop(job)

    def _end(self, name: str, producer: int, problem: CauceError) -> None:
        outcome = Outcome("failed", str(problem), problem.code)
        self._fabric.append(name, JOB_LOG, [outcome.dump(producer)])

    def _drop(self, job: OpenJob) -> None:
        job.over = True
        self._end_stats(job.manifest.job)
        job.context.release()
        for queue in job.held.values():
            for held in queue:
                held.lease.release()
            queue.clear()

    def handle_failure(self, job: OpenJob, held: HeldTask, problem: BaseException) -> None:
        """Handles a failed step: transient errors are retried with backoff, others fail the job."""
        aside = self._aside.get(job.manifest.job)
        if is_transient(problem) and (aside is None or aside.may_retry):
            self.set_aside(job.manifest.job, problem)
            return
        if isinstance(problem, CauceError):
            self._fail(job, held, problem)
            return
        self._fail(job, held, JobFailed(f"{held.task.spec}: {_described(problem)}"))

    def release_all(self, job: OpenJob) -> None:
        """Releases all leases of a job, even if its files are damaged or the abort of its tasks cannot be recorded."""
        for held in job.all_held():
            with suppress(CauceError, OSError):
                held.task.release()
            with suppress(CauceError, OSError):
                held.lease.release()

    def progressed(self, name: str) -> None:
        """The job has made durable progress: its next error starts a new backoff."""
        self._aside.pop(name, None)

    def _end_stats(self, name: str) -> None:
        if self._stats is not None:
            self._stats.end(name)


def _described(problem: BaseException) -> str:
    """The error in one line: the message of a library may contain a drawing of the expression."""
    if isinstance(problem, SystemExit):
        return f"a function of the query calls sys.exit({problem.code!r}); raise an exception instead"
    return f"{type(problem).__name__}: {' '.join(str(problem).split())}"
