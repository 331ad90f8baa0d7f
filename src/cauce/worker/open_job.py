"""A job that a worker has opened, and the tasks it holds leases of: its fair share, its backoff after crashes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cauce.fabric.contract import Lease
from cauce.job.manifest import Manifest
from cauce.job.topology import FOLDS, SOURCES, TaskSpec
from cauce.plan.physical import Stage
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.task import Task

CRASH_PAUSE_S, MOST_CRASH_PAUSE_S = 1.0, 5.0
"""Backoff for a job that has crashed workers without progress: per consecutive crash, and at most."""
FIRST_POLL_S, SHORT_POLL_S, LONGEST_POLL_S = 0.0005, 0.01, 2.0
"""Interval at which a task that waits for input is polled: at first, after a tenth of a second, and after three
minutes. Between these it is one hundredth of the time that the task has waited."""


@dataclass(eq=False)
class HeldTask:
    job: OpenJob
    queue: str
    lease: Lease
    task: Task
    moved: bool = True
    """Whether its last step found work; initially true."""
    poll_s: float = FIRST_POLL_S
    poll_due: float = 0.0
    """When to run its next step, by the clock of the worker."""

    def back_off(self, now: float) -> None:
        """Called after a step that found no work: the interval to the next one grows."""
        self.poll_due = now + self.poll_s
        self.poll_s = min(self.poll_s * (1.3 if self.poll_s < SHORT_POLL_S else 1.01), LONGEST_POLL_S)

    def poll_now(self) -> None:
        self.poll_s, self.poll_due = FIRST_POLL_S, 0.0


@dataclass(eq=False)
class OpenJob:
    manifest: Manifest
    context: JobContext
    held: dict[str, list[HeldTask]] = field(default_factory=lambda: {SOURCES: [], FOLDS: []})
    over: bool = False
    crashes: int = 0
    """Consecutive crashes as last seen by this worker, and when it first saw that number."""
    crashes_since: float = 0.0
    declined_until: float = 0.0
    """Until then a busy worker acquires no further fold, by its clock."""

    def backoff_over(self, now: float) -> bool:
        """Whether its tasks may be acquired: after consecutive crashes, a backoff lets a worker run other jobs before
        it may crash again."""
        crashes, _ = self.context.log.crashes.longest()
        if crashes != self.crashes:
            self.crashes, self.crashes_since = crashes, now
        return now - self.crashes_since >= min(crashes * CRASH_PAUSE_S, MOST_CRASH_PAUSE_S)

    @property
    def spills(self) -> bool:
        """Whether a task held here has exceeded its memory and writes temporary files."""
        return any(held.task.spilled_bytes for held in self.held[FOLDS])

    def all_held(self) -> list[HeldTask]:
        return [held for queue in self.held.values() for held in queue]

    def in_turn(self) -> list[HeldTask]:
        """All held tasks in the order in which they should run: folds before lanes, since these have more input, and
        first of all the folds that lanes of some worker wait for."""
        before_scans = self.context.topology.before_scans
        folds = sorted(self.held[FOLDS], key=lambda held: held.task.spec.stage not in before_scans)
        return [*folds, *self.held[SOURCES]]

    def share(self, queue: str) -> int:
        """Leases to hold unless idle: one lane, since only one runs at a time, and a fair share of the folds."""
        if queue == SOURCES:
            return 1
        return -(-self.context.topology.fold_count // max(self.manifest.workers, 1))

    def beyond_share(self, queue: str) -> list[HeldTask]:
        """Leases that were acquired when idle and can be released at no cost. Keeps the first ones, since later ones
        may wait for them, but prefers a lane that has parts to one that waits for its client."""
        if queue == FOLDS:
            return self._folds_beyond_share()
        ordered = sorted(self.held[queue], key=lambda held: (not held.moved, held.task.spec.number))
        return [held for held in ordered[self.share(queue) :] if held.task.fresh]

    def _folds_beyond_share(self) -> list[HeldTask]:
        kept: list[HeldTask] = []
        surplus: list[HeldTask] = []
        for held in sorted(self.held[FOLDS], key=lambda held: (held.task.fresh, held.task.spec.number)):
            beyond = len(kept) >= self.share(FOLDS) or self._has_share_of(held.task.spec.stage, kept)
            (surplus if beyond and held.task.fresh else kept).append(held)
        return surplus

    def is_beyond_share(self, spec: TaskSpec) -> bool:
        """Whether a fold should be left to other workers: this one has its share of the partitions of the stage. The
        partitions of a stage run at the same time, so one worker must not hold all of them."""
        return spec.stage.table is None and self._has_share_of(spec.stage, self.held[FOLDS])

    def _has_share_of(self, stage: Stage, held: Iterable[HeldTask]) -> bool:
        most = -(-stage.partitions // max(self.manifest.workers, 1))
        return sum(each.task.spec.stage is stage for each in held) >= most

    def needs_more(self, queue: str) -> bool:
        """Whether to acquire one more although other jobs have work: below the share, or if all lanes held wait for
        their client while others may have parts."""
        held = self.held[queue]
        return len(held) < self.share(queue) or (queue == SOURCES and not any(each.moved for each in held))
