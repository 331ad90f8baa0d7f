"""Acquires and releases leases: which, how many, and when. Runs no task."""

from __future__ import annotations

import time

from cauce.errors import CauceError, FabricLost
from cauce.job.topology import FOLDS, SOURCES
from cauce.worker.job_table import JobTable, Setup
from cauce.worker.open_job import HeldTask, OpenJob
from cauce.worker.tasks.factory import make_task
from cauce.worker.tasks.task import Task

ROTATE_S = 1.0
"""How often a worker at its lease limit releases leases of waiting tasks, so that every job is served."""
DECLINE_S = 0.2
"""Backoff after a lease was declined: the same one is the first of its queue until another worker acquires it."""


class Leases:
    """The leases of a worker: one lane and a fair share of the folds of each job, and more when it is idle."""

    def __init__(self, setup: Setup, table: JobTable) -> None:
        self._fabric = setup.fabric
        self._limits = setup.limits
        self._clock = setup.host.clock
        self._table = table
        self._rotated_at = 0.0
        self.taken = 0
        """Leases acquired since the start."""
        self._to_abort: list[Task] = []
        """Tasks lost by a fabric error. Before acquiring others, record that they did not crash this worker."""

    @property
    def count(self) -> int:
        """The number of leases held."""
        return sum(len(held) for job in self._table.jobs.values() for held in job.held.values())

    def drop(self, held: HeldTask) -> None:
        """The lease is lost, or its task cannot continue after a fabric error: the next holder repeats the step."""
        held.job.held[held.queue].remove(held)
        self._to_abort.append(held.task)

    def record_aborts(self) -> None:
        while self._to_abort:
            try:
                self._to_abort[0].abort()
            except FabricLost:
                return
            except (CauceError, OSError):
                # Its job is damaged: nothing can be recorded, and the next step meets the same error.
                pass
            self._to_abort.pop(0)

    def release_surplus(self) -> None:
        """Called when busy: releases leases beyond the share for other workers."""
        for name, job in self._table.unsuspended().items():
            with self._table.confined(name):
                for queue in (SOURCES, FOLDS):
                    for held in job.beyond_share(queue):
                        self._release(job, queue, held)

    def _release(self, job: OpenJob, queue: str, held: HeldTask) -> None:
        held.task.release()
        job.held[queue].remove(held)
        held.lease.release()

    def acquire(self, *, idle: bool) -> bool:
        """Acquires at most one lease from each queue of each job; beyond the share only when idle."""
        before = self.taken
        most = before + self._limits.leases - self.count
        for name, job in self._table.unsuspended().items():
            if self.taken >= most:
                self._rotate()
                break
            with self._table.confined(name):
                for queue in (SOURCES, FOLDS):
                    if not job.over and (idle or self._needs_more(job, queue)) and self._may_acquire(job):
                        self._acquire(name, job, queue, idle=idle)
        return self.taken > before

    def _needs_more(self, job: OpenJob, queue: str) -> bool:
        declined = queue == FOLDS and self._clock is not None and self._clock() < job.declined_until
        return job.needs_more(queue) and not declined

    def _may_acquire(self, job: OpenJob) -> bool:
        return self._clock is None or job.backoff_over(self._clock())

    def _acquire(self, name: str, job: OpenJob, queue: str, *, idle: bool) -> None:
        lease = self._fabric.acquire(name, queue)
        if lease is None:
            return
        spec = job.context.topology.by_name[lease.task]
        if not idle and job.is_beyond_share(spec):
            lease.release()
            if self._clock is not None:
                job.declined_until = self._clock() + DECLINE_S
            return
        job.held[queue].append(HeldTask(job, queue, lease, make_task(job.context, spec)))
        self.taken += 1

    def _rotate(self) -> None:
        """Called at the lease limit. Releases waiting tasks that cost nothing to hand over, and moves the jobs with the
        most leases to the end of the order."""
        now = time.monotonic()
        if now - self._rotated_at < ROTATE_S:
            return
        self._rotated_at = now
        for name, job in self._table.unsuspended().items():
            with self._table.confined(name):
                for queue in (SOURCES, FOLDS):
                    for held in [each for each in job.held[queue] if not each.moved and each.task.fresh]:
                        self._release(job, queue, held)
        self._table.jobs = dict(sorted(self._table.jobs.items(), key=lambda item: len(item[1].all_held())))
