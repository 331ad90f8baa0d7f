"""A worker: takes leases, runs their tasks in turn by small steps, and lets go of what is finished.

It holds nothing that others could not find in the logs; it may die between any two steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt

from cauce.errors import CauceError, FabricFull, FabricLost, JobFailed
from cauce.fabric.contract import Fabric, Lease, Position
from cauce.plan.physical import Plan
from cauce.scan.memory import large_buffer
from cauce.wire.manifest import Manifest, load_manifest
from cauce.wire.records import Kind, Record, record
from cauce.worker.tasks import JobContext, Limits, Step, Task, make_task
from cauce.worker.topology import FOLDS, JOB_LOG, SOURCES, Topology

_STATE_BYTES = 1 << 20


class Ending(msgspec.Struct, frozen=True):
    """How a job ended, as its own log says it."""

    state: str
    cause: str = ""
    code: str = ""

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
        them."""
        ordered = sorted(self.held[queue], key=lambda held: held.task.spec.number)
        return [held for held in ordered[self.share(queue) :] if held.task.fresh]


class Worker:
    """Steps through rounds: look for jobs, take a lease or two, then one step of every task held."""

    def __init__(self, fabric: Fabric, limits: Limits | None = None, plans: Mapping[str, Plan] | None = None) -> None:
        """`plans` are those of jobs that were planned in this very process."""
        self._fabric = fabric
        self._limits = limits or Limits()
        self._plans = plans or {}
        self._jobs: dict[str, _Job] = {}
        self._refused: set[str] = set()
        self._round: list[tuple[_Job, str, _Held]] = []
        self._moved = False
        self._held_buffer: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    def step(self) -> bool:
        """One small step. False if a whole round has found nothing to do."""
        while self._round:
            job, queue, held = self._round.pop()
            if not job.over and held in job.held[queue]:
                self._moved |= self._step_task(job, queue, held)
                return True
        moved, self._moved = self._moved, False
        self._look()
        if moved:
            self._shed()
        took = self._take_all(idle=not moved)
        self._round = [
            (job, queue, held) for job in self._jobs.values() for queue in (FOLDS, SOURCES) for held in job.held[queue]
        ]
        self._round.reverse()
        return moved or took

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
        try:
            outcome = held.task.step()
            if outcome is Step.FINISHED:
                held.lease.done()
                job.held[queue].remove(held)
        except FabricFull:
            raise
        except FabricLost:
            # Whether it was said is not known: whoever takes the lease next says it again.
            job.held[queue].remove(held)
            held.lease.give_back()
            return True
        except CauceError as problem:
            self._fail(job, held, problem)
            return True
        except Exception as problem:  # noqa: BLE001  (whatever a query or a library raises ends its job, not ours)
            # In one line: a library's words may come with a drawing of the expression.
            told = JobFailed(f"{held.task.spec}: {type(problem).__name__}: {' '.join(str(problem).split())}")
            self._fail(job, held, told)
            return True
        return outcome is not Step.WAITING

    def _fail(self, job: _Job, held: _Held, problem: CauceError) -> None:
        ending = Ending("failed", str(problem), problem.code)
        self._fabric.append(job.manifest.job, JOB_LOG, [ending.dump(held.task.spec.number)])
        self._drop(job)

    def _drop(self, job: _Job) -> None:
        job.over = True
        for queue in job.held.values():
            for held in queue:
                held.lease.give_back()
            queue.clear()

    def _look(self) -> None:
        """Finds new jobs, and those that have ended or gone."""
        there = self._fabric.jobs()
        for gone in [name for name in self._jobs if name not in there]:
            del self._jobs[gone]
        for name in there:
            if name not in self._jobs and name not in self._refused:
                self._open(name)
        for name, job in self._jobs.items():
            if job.over:
                continue
            batch = self._fabric.read(name, JOB_LOG, job.position, _STATE_BYTES)
            job.position = batch.position
            if ending_of(list(batch.records)) is not None:
                self._drop(job)

    def _open(self, name: str) -> None:
        data = self._fabric.manifest(name)
        if data is None:
            return
        manifest = load_manifest(data)
        try:
            plan = self._plans.get(name) or manifest.plan()
        except CauceError:
            self._refused.add(name)
            raise
        context = JobContext(self._fabric, name, Topology(plan, manifest.lanes), self._buffer, self._limits)
        self._jobs[name] = _Job(manifest, context)

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
                if job.over or not (idle or len(job.held[queue]) < job.share(queue)):
                    continue
                lease = self._fabric.take(name, queue)
                if lease is not None:
                    spec = job.context.topology.by_name[lease.task]
                    job.held[queue].append(_Held(lease, make_task(job.context, spec)))
                    took = True
        return took

    def _buffer(self, size: int) -> npt.NDArray[np.uint8]:
        if self._held_buffer.size < size:
            self._held_buffer = large_buffer(size + size // 8)
        return self._held_buffer
