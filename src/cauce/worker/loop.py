"""A worker: takes leases, runs their tasks in turn by small steps, and lets go of what is finished.

It holds nothing that others could not find in the logs; it may die between any two steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.errors import CauceError, CorruptRecord, FabricFull, FabricLost, JobFailed
from cauce.fabric.contract import Fabric, Lease, Position
from cauce.plan.physical import Plan
from cauce.scan.memory import large_buffer
from cauce.wire.manifest import Manifest, load_manifest
from cauce.wire.records import CLIENT, Kind, Record, record
from cauce.wire.service import is_of_service
from cauce.worker.journal import Journal
from cauce.worker.stats import Stats
from cauce.worker.tasks import JobContext, Limits, Step, Task, make_task
from cauce.worker.topology import FOLDS, JOB_LOG, SOURCES, Topology

_STATE_BYTES = 1 << 20
_NO_TASK = CLIENT - 1
"""The producer of an end that no task came to."""


class Ending(msgspec.Struct, frozen=True):
    """How a job ended, as its own log says it."""

    state: str
    cause: str = ""
    code: str = ""
    at: float = 0.0
    """When it was noted, by who has a clock."""

    def dump(self, producer: int) -> Record:
        return record(Kind.STATE, producer, 0, msgspec.json.encode(self))


def ending_of(records: list[Record]) -> Ending | None:
    """The first end that stands in a job's log: a job ends once."""
    ends = [each for each in records if each.kind == Kind.STATE]
    return msgspec.json.decode(ends[0].body, type=Ending) if ends else None


@dataclass
class _Held:
    lease: Lease
    task: Task
    moved: bool = True
    """Whether its last step found anything to do; before the first, that is hoped."""


@dataclass
class _Job:
    manifest: Manifest
    context: JobContext
    held: dict[str, list[_Held]] = field(default_factory=lambda: {SOURCES: [], FOLDS: []})
    position: Position = field(default_factory=dict)
    over: bool = False

    def share(self, queue: str) -> int:
        """How many to hold unless idle: one lane, since only one can be worked on, and a fair part of the folds."""
        if queue == SOURCES:
            return 1
        folds = len(self.context.topology.queue(FOLDS))
        return -(-folds // max(self.manifest.workers, 1))

    def beyond_share(self, queue: str) -> list[_Held]:
        """What was taken when idle and can go to others at no cost. The first ones stay: later ones may wait for
        them. But a lane that has parts stays before one that waits for its client, or neither would be read."""
        ordered = sorted(
            self.held[queue], key=lambda held: (queue == SOURCES and not held.moved, held.task.spec.number)
        )
        return [held for held in ordered[self.share(queue) :] if held.task.fresh]

    def wants(self, queue: str) -> bool:
        """Whether to take one more though other jobs keep us busy: below our share, or where all lanes we hold wait
        for their client while others may have parts."""
        held = self.held[queue]
        return len(held) < self.share(queue) or (queue == SOURCES and not any(each.moved for each in held))


class Worker:
    """Steps through rounds: look for jobs, take a lease or two, then one step of every task held."""

    def __init__(
        self,
        fabric: Fabric,
        limits: Limits | None = None,
        plans: Mapping[str, Plan] | None = None,
        stats: Stats | None = None,
    ) -> None:
        """`plans` are those of jobs that were planned in this very process. Without `stats` no clock is looked at."""
        self._fabric = fabric
        self._limits = limits or Limits()
        self._plans = plans or {}
        self._stats = stats
        self._jobs: dict[str, _Job] = {}
        self._over: set[str] = set()
        """Jobs that had ended before we knew anything else of them."""
        self._round: list[tuple[_Job, str, _Held]] = []
        self.taken = 0
        """Leases, since the beginning."""
        self.steps = 0
        """Of tasks, since the beginning: that it grows shows that the loop turns."""
        self._moved = False
        self._broken_off: list[Journal] = []
        """Of tasks that the fabric failed: before we take others, it is to be told that they did not kill us."""
        self._held_buffer: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    @property
    def moved(self) -> bool:
        """Whether the present round has found anything to do."""
        return self._moved

    def step(self) -> bool:
        """One small step. False if a whole round has found nothing to do."""
        while self._round:
            job, queue, held = self._round.pop()
            if not job.over and held in job.held[queue]:
                self.steps += 1
                self._moved |= self._step_task(job, queue, held)
                return True
        moved, self._moved = self._moved, False
        self._look()
        self._tell_broken_off()
        if self._stats is not None:
            self._stats.say_due()
        if moved:
            self._shed()
        took = self._take_all(idle=not moved)
        self._round = [
            (job, queue, held) for job in self._jobs.values() for queue in (FOLDS, SOURCES) for held in job.held[queue]
        ]
        self._round.reverse()
        return moved or took

    @property
    def leases(self) -> int:
        """How many are held."""
        return sum(len(held) for job in self._jobs.values() for held in job.held.values())

    def held(self) -> list[tuple[str, str]]:
        """Job and task of every lease held, for people."""
        return [
            (job.manifest.job, str(held.task.spec))
            for job in self._jobs.values()
            for queue in job.held.values()
            for held in queue
        ]

    def give_all_back(self) -> None:
        """Ends in good order: everything held can be taken by others at once."""
        for job in self._jobs.values():
            for queue in job.held.values():
                for held in queue:
                    held.lease.give_back()
        self._jobs.clear()

    def _step_task(self, job: _Job, queue: str, held: _Held) -> bool:
        if held.lease.lost:
            # Somebody else may be at it: what we say would be the same, but the work is theirs.
            job.held[queue].remove(held)
            self._broken_off.append(held.task.journal)
            return True
        try:
            outcome = self._step(job, held.task)
            held.moved = outcome is not Step.WAITING
            if outcome is Step.FINISHED:
                held.lease.done()
                job.held[queue].remove(held)
        except FabricFull:
            raise
        except FabricLost:
            # Whether it was said is not known: whoever takes the lease next says it again.
            job.held[queue].remove(held)
            self._broken_off.append(held.task.journal)
            held.lease.give_back()
            return True
        except CauceError as problem:
            self._fail(job, held, problem)
            return True
        except (Exception, pl.exceptions.PanicException) as problem:  # noqa: BLE001  (a query's or a library's)
            # In one line: a library's words may come with a drawing of the expression.
            told = JobFailed(f"{held.task.spec}: {type(problem).__name__}: {' '.join(str(problem).split())}")
            self._fail(job, held, told)
            return True
        return outcome is not Step.WAITING

    def _step(self, job: _Job, task: Task) -> Step:
        """Jobs of a service, which have an owner, are told of while they run."""
        if self._stats is None or not job.manifest.owner:
            return task.step()
        return self._stats.step(job.manifest.job, task)

    def _fail(self, job: _Job, held: _Held, problem: CauceError) -> None:
        self._end(job.manifest.job, held.task.spec.number, problem)
        self._drop(job)

    def _end(self, name: str, producer: int, problem: CauceError) -> None:
        ending = Ending("failed", str(problem), problem.code)
        self._fabric.append(name, JOB_LOG, [ending.dump(producer)])

    def _drop(self, job: _Job) -> None:
        job.over = True
        if self._stats is not None:
            self._stats.end(job.manifest.job)
        job.context.let_go()
        for queue in job.held.values():
            for held in queue:
                held.lease.give_back()
            queue.clear()

    def _look(self) -> None:
        """Finds new jobs, and those that have ended or gone."""
        there = dict.fromkeys(self._fabric.jobs())
        for gone in [name for name in self._jobs if name not in there]:
            if self._stats is not None:
                self._stats.end(gone)
            del self._jobs[gone]
        self._over.intersection_update(there)
        for name in there:
            if name not in self._jobs and name not in self._over and not is_of_service(name):
                self._open(name)
        for name, job in self._jobs.items():
            if not job.over and self._read_end(name, job.position):
                self._drop(job)

    def _read_end(self, name: str, position: Position) -> bool:
        """Whether the job's log tells of its end. Moves the position on."""
        try:
            batch = self._fabric.read(name, JOB_LOG, position, _STATE_BYTES)
        except CorruptRecord:
            # Whether it has ended cannot be known, nor said: who waits for it meets the same.
            return True
        position.update(batch.position)
        return ending_of(list(batch.records)) is not None

    def _open(self, name: str) -> None:
        data = self._fabric.manifest(name)
        if data is None:
            return
        # Those that have ended are many where answers are kept for a day, and are not worth a plan.
        position: Position = {}
        if self._read_end(name, position):
            self._over.add(name)
            return
        try:
            manifest = load_manifest(data)
            topology = Topology(self._plans.get(name) or manifest.plan(), manifest.lanes)
        except (Exception, pl.exceptions.PanicException) as problem:  # noqa: BLE001  (a user's own file may raise it)
            told = JobFailed(f"job {name} cannot be planned: {type(problem).__name__}: {problem}")
            self._end(name, _NO_TASK, problem if isinstance(problem, CauceError) else told)
            self._over.add(name)
            return
        context = JobContext(self._fabric, name, topology, self._buffer, self._limits)
        self._jobs[name] = _Job(manifest, context, position=position)

    def _tell_broken_off(self) -> None:
        while self._broken_off:
            try:
                self._broken_off[0].break_off()
            except FabricLost:
                return
            self._broken_off.pop(0)

    def _shed(self) -> None:
        """With work at hand, lets go of what others could be doing."""
        for job in self._jobs.values():
            for queue in (SOURCES, FOLDS):
                for held in job.beyond_share(queue):
                    job.held[queue].remove(held)
                    held.lease.give_back()

    def _take_all(self, *, idle: bool) -> bool:
        """At most one lease from each queue of each job; beyond our share only when nothing else can be done."""
        took = False
        for name, job in self._jobs.items():
            for queue in (SOURCES, FOLDS):
                if job.over or not (idle or job.wants(queue)):
                    continue
                lease = self._fabric.take(name, queue)
                if lease is not None:
                    spec = job.context.topology.by_name[lease.task]
                    job.held[queue].append(_Held(lease, make_task(job.context, spec)))
                    took = True
                    self.taken += 1
        return took

    def _buffer(self, size: int) -> npt.NDArray[np.uint8]:
        if self._held_buffer.size < size:
            self._held_buffer = large_buffer(size + size // 8)
        return self._held_buffer
