"""The worker loop: acquires leases, runs their tasks in turn in small steps, and releases finished ones.

It may crash between any two steps: it must hold no state that other workers cannot rebuild from the logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from cauce.errors import CauceError, FabricFull, FabricLost, JobGone
from cauce.fabric.contract import Fabric
from cauce.job.job_log import JobLog
from cauce.job.manifest import Manifest
from cauce.job.topology import Topology
from cauce.plan.physical import Plan
from cauce.worker.events import NO_WORK, Assignment
from cauce.worker.job_table import OF_ONE_JOB, Host, JobTable, Setup
from cauce.worker.leases import Leases
from cauce.worker.memory.account import MemoryAccount
from cauce.worker.open_job import HeldTask, OpenJob
from cauce.worker.stats import Stats
from cauce.worker.stepper import Stepper
from cauce.worker.tasks.activity import Activity, attempt
from cauce.worker.tasks.job_context import Budget, JobContext
from cauce.worker.tasks.limits import Limits
from cauce.worker.tasks.task import Step, Task
from cauce.worker.turns import Turns

SLICE_S = 0.05
"""How long a step runs before it is suspended, so that tasks of other owners can run."""
ROUND_S = 0.1
"""Maximum duration of a round with work in it: new jobs are found only between rounds."""
MOST_SUSPENDED = 4
"""Maximum number of suspended steps, each of a different owner: a suspended step keeps its memory."""


SPILLING_COST = 3.0
"""How often the time of a job counts that exceeds its memory: it slows down itself rather than jobs of other owners,
which get three quarters of the time while they have work."""


class Worker:
    """Works in rounds: find jobs, acquire some leases, then run one step of every task held."""

    def __init__(
        self,
        fabric: Fabric,
        limits: Limits | None = None,
        plans: Mapping[str, Plan] | None = None,
        stats: Stats | None = None,
        host: Host | None = None,
    ) -> None:
        """`plans` are those of jobs that were planned in this process. Without `stats` and without a clock of the host,
        no clock is read unless an error occurs."""
        host = host or Host()
        setup = Setup(fabric, limits or Limits(), plans or {}, stats, host)
        self._fabric = fabric
        self._host = host
        self._limits = setup.limits
        self.account = MemoryAccount(setup.limits.collected_bytes)
        """The memory that its tasks hold."""
        self._stats = stats
        self._activity = Activity(self._wait_until_alone)
        self._clock = host.clock
        self._turns: Turns[HeldTask] = Turns()
        self._round_due = 0.0
        self._running: HeldTask | None = None
        """The task whose step runs now."""
        self._slice_start = 0.0
        self._stepper = Stepper()
        """Runs the current or next step."""
        self._suspended: dict[str, tuple[Stepper, HeldTask]] = {}
        """By owner. Until these steps have returned, no other task of their owners runs, and the state of their jobs in
        this worker does not change."""
        self._most_suspended = MOST_SUSPENDED
        self._table = JobTable(setup, self._make_context, self._suspended)
        self._leases = Leases(setup, self._table)
        self.steps = 0
        """Task steps since the start: it grows while the loop runs."""
        self._moved_owners: set[str] = set()
        """Owners whose tasks found work in this round."""

    def _make_context(self, manifest: Manifest, topology: Topology, log: JobLog) -> JobContext:
        job, shares = manifest.job, manifest.memory
        budget = Budget(
            shares.fold_bytes,
            shares.whole_bytes,
            shares.broadcast_bytes,
            self.account,
            lambda spec: self._host.spill(job, spec),
        )
        return JobContext(self._fabric, job, topology, self._buffer, self._limits, log, self._activity, budget)

    @property
    def taken(self) -> int:
        """Leases acquired since the start."""
        return self._leases.taken

    @property
    def moved(self) -> bool:
        """Whether the current round has found work."""
        return bool(self._moved_owners)

    def step(self) -> bool:
        """Runs one small step. False if a whole round has found no work."""
        if self._clock is None or not self.moved or self._clock() < self._round_due:
            turn = self._turns.next()
            if turn is not None:
                self._run(*turn)
                return True
        moved = self._resume_next() or self.moved
        self._moved_owners.clear()
        self._table.find()
        self._leases.record_aborts()
        if self._stats is not None:
            self._stats.append_due()
        if moved:
            self._leases.release_surplus()
        took = self._leases.acquire(idle=not moved)
        self._start_round()
        return moved or took

    def _start_round(self) -> None:
        """Gives every task one turn, except those of owners with a suspended step and those that wait for input and
        were polled a moment ago."""
        now = self._now()
        jobs = self._table.unsuspended().values()
        held = (each for job in jobs for each in job.in_turn() if each.poll_due <= now)
        self._turns.refill(((each.job.manifest.owner, each) for each in held), self._suspended)
        self._round_due = now + ROUND_S

    def _now(self) -> float:
        return 0.0 if self._clock is None else self._clock()

    def _run(self, owner: str, held: HeldTask) -> None:
        """Runs one step of a task, or its first slice, if it is still held and may run."""
        if owner in self._suspended or held.job.over or held not in held.job.held[held.queue]:
            return
        self.steps += 1
        if self._charged(owner, held, lambda: self._start_step(owner, held)):
            self._moved_owners.add(owner)
        if owner in self._suspended and held.task.is_suspect:
            self._resume_alone(owner)

    def _resume_next(self) -> bool:
        """Runs a slice of one suspended step, unless another owner that has work has used less time."""
        if not self._suspended:
            return False
        owner = self._turns.next_of([*self._suspended, *self._moved_owners])
        return owner in self._suspended and self._resume(owner)

    def _charged(self, owner: str, held: HeldTask, run: Callable[[], bool]) -> bool:
        self._running, self._slice_start = held, self._now()
        try:
            return run()
        finally:
            used = 1.0 if self._clock is None else self._clock() - self._slice_start
            # Without an owner it is the only job of a local run.
            self._turns.charge(owner, used * (SPILLING_COST if owner and held.job.spills else 1.0))
            self._running = None

    def _start_step(self, owner: str, held: HeldTask) -> bool:
        if self._clock is None or not owner:
            # Without an owner it is the only job of a local run: there are no other owners to suspend it for.
            return self._step_task(held)
        try:
            return self._stepper.run(lambda: self._step_task(held))
        finally:
            self._keep_suspended(owner, held, Stepper())

    def _resume(self, owner: str) -> bool:
        stepper, held = self._suspended.pop(owner)
        spare, self._stepper = self._stepper, stepper
        try:
            attempt(held.task.resume)
            return self._charged(owner, held, stepper.resume)
        finally:
            self._keep_suspended(owner, held, spare)

    def _keep_suspended(self, owner: str, held: HeldTask, spare: Stepper) -> None:
        """Called after a step was started or resumed. If it is suspended, the spare stepper runs the next step."""
        if self._stepper.suspended:
            self._suspended[owner] = self._stepper, held
            held.task.suspend()
            self._stepper = spare
        else:
            spare.close()

    def yield_to_others(self) -> None:
        """Called between slices of long work. Suspends a step that has used up its slice until the next turn of its
        owner. Never suspends a library thread, which other steps may need, nor a suspect task, which runs alone."""
        if self._clock is None or not self._stepper.is_current_thread:
            return
        if self._running is not None and self._running.task.is_suspect:
            return
        if self._clock() - self._slice_start >= SLICE_S and len(self._suspended) < self._most_suspended:
            self._stepper.suspend()

    def _wait_until_alone(self) -> None:
        """Called within the step of a suspect task: returns when all other suspended steps have returned. While these
        are completed, none of them waits for another."""
        if self._suspended and self._most_suspended and self._stepper.is_current_thread:
            self._stepper.suspend()

    def _resume_alone(self, last: str) -> None:
        """Completes all suspended steps. The step of the `last` owner runs when all others have returned."""
        most, self._most_suspended = self._most_suspended, 0
        try:
            for owner in [*(each for each in self._suspended if each != last), last]:
                self._resume(owner)
        finally:
            self._most_suspended = most

    @property
    def leases(self) -> int:
        """The number of leases held."""
        return self._leases.count

    def held(self) -> list[tuple[str, str]]:
        """Job and task of every lease held, for display."""
        return [
            (job.manifest.job, str(held.task.spec))
            for job in self._table.jobs.values()
            for queue in job.held.values()
            for held in queue
        ]

    def assignment(self) -> Assignment:
        """For display: the running task, or the first that is held, and the number of others."""
        running = [self._running] if self._running is not None else []
        held = [*running, *(each for job in self._table.jobs.values() for each in job.all_held())]
        if not held:
            return NO_WORK
        others = len({id(each) for each in held}) - 1
        manifest = held[0].job.manifest
        more = f", and {others} more" if others else ""
        held_mb = self.account.held // 1_000_000
        memory = f"; {held_mb} MB of input held" if held_mb else ""
        return Assignment(manifest.owner, manifest.job, f"{held[0].task.spec}{more}{memory}")

    def release_all_leases(self) -> None:
        """Completes suspended steps and releases every lease, so that others can acquire them at once."""
        self._most_suspended = 0
        for owner in list(self._suspended):
            with suppress(CauceError, OSError):
                self._resume(owner)
        for job in self._table.jobs.values():
            self._table.release_all(job)
        self._table.jobs.clear()

    def _step_task(self, held: HeldTask) -> bool:
        """Runs one step. True if there was work; an error counts as work."""
        moved = True
        with self._table.confined(held.job.manifest.job):
            moved = self._step_held(held.job, held.queue, held)
        return moved  # noqa: RET504  (an error within the block is not raised)

    def _step_held(self, job: OpenJob, queue: str, held: HeldTask) -> bool:
        if held.lease.lost:
            # Another worker may run it: our output would be identical, but the work would be done twice.
            self._leases.drop(held)
            return True
        milestones, news = job.context.milestones, job.context.news
        try:
            outcome = self._step(job, held.task)
            held.moved = outcome is not Step.WAITING
            self._schedule_polls(held, news=job.context.news != news)
            if outcome is Step.FINISHED:
                held.lease.complete()
                job.held[queue].remove(held)
        except (FabricFull, JobGone):
            raise
        except FabricLost:
            # It is unknown whether the append succeeded: the next holder of the lease appends it again.
            self._leases.drop(held)
            held.lease.release()
            return True
        except OF_ONE_JOB as problem:
            self._table.handle_failure(job, held, problem)
            return True
        if job.context.milestones != milestones:
            self._table.progressed(job.manifest.job)
        return outcome is not Step.WAITING

    def _schedule_polls(self, held: HeldTask, *, news: bool) -> None:
        """Called after a step. All tasks of the job are polled at once if there is news that they may wait for. Most
        steps of folds only read their own input."""
        if news:
            for each in held.job.all_held():
                each.poll_now()
        elif held.moved:
            held.poll_now()
        elif self._clock is not None:
            held.back_off(self._clock())

    def _step(self, job: OpenJob, task: Task) -> Step:
        """Runs a step. Jobs of a service, which have an owner, have statistics."""
        if self._stats is None or not job.manifest.owner:
            return task.step()
        return self._stats.step(job.manifest.job, task)

    def _buffer(self, size: int) -> npt.NDArray[np.uint8]:
        return self._stepper.buffer(size)
