"""What a worker says of its tasks for people to look at: seconds at work and waiting, what came in and went out.

No answer depends on it. What could not be said is left out, and never said again in other words under the same name:
each record is named by the worker's own life and a running number.
"""

from __future__ import annotations

import secrets
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from cauce.errors import FabricError
from cauce.fabric.contract import Fabric
from cauce.wire.records import Kind, record
from cauce.wire.traces import PartName, Traces
from cauce.worker.tasks import SourceTask, Step, Task
from cauce.worker.topology import CONTROL
from cauce.worker.work import Flow, Work

STATS_LOG = f"{CONTROL}.stats"
SAY_S = 1.0
FIRST_S, YOUNG_SHARE, OLD_SHARE = 0.2, 0.2, 0.002
"""A job that has just begun, and may soon be over, is told of more often; a long one less: what is said of a job grows
with the logarithm of its age."""
LOOK_S = 0.02
MOST_SHARE = 0.005
"""The most of a worker's time that is spent on saying this, however many jobs there are and however slow the fabric."""
_LIVES = 1 << 31

Counts = tuple[dict[int, int], dict[int, int]]
"""Records that a task has put on its edges, and read of them."""


class TaskNumbers(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one task in one worker, from the beginning. `made` and `taken` are how many records the task as a whole has
    put on its edges and read of them, whoever held it."""

    busy_s: float = 0.0
    waiting_s: float = 0.0
    read: Flow = Flow()
    sent: dict[int, Flow] = {}
    made: dict[int, int] = {}
    taken: dict[int, int] = {}
    finished: bool = False


class StatsRecord(msgspec.Struct, frozen=True):
    """The tasks of a job that have changed since the last one of this life."""

    life: str
    at: float
    tasks: dict[int, TaskNumbers]


def load_stats(data: bytes) -> StatsRecord:
    return msgspec.msgpack.decode(data, type=StatsRecord)


@dataclass(frozen=True)
class Clocks:
    """`elapsed` only goes forward; `wall` is what people's clocks show."""

    elapsed: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


class _Timed:
    """The numbers of a task. The task itself, which may hold much, is not kept alive by it."""

    def __init__(self, task: Task) -> None:
        self.busy_s = 0.0
        self.waiting_s = 0.0
        self.finished = False
        self.changed = True
        self.waits_since: float | None = None
        """When it last found nothing to do; None if it found something."""
        self._work = Work()
        self._counts: Counts = ({}, {})
        self.hold(task)

    def hold(self, task: Task) -> None:
        """Another holder of the same task in this process goes on with its numbers."""
        task.done.follow(self._work)
        self._work = task.done
        self._task = weakref.ref(task)
        self.waits_since = None

    def holds(self, task: Task) -> bool:
        return self._task() is task

    def look(self) -> None:
        """Takes down what only the task itself can tell."""
        task = self._task()
        if task is not None:
            taken = {number: intake.names.count for number, intake in task.intakes.items()}
            self._counts = (_made(task), taken)

    def numbers(self) -> TaskNumbers:
        self.look()
        busy_s, waiting_s = round(self.busy_s, 4), round(self.waiting_s, 4)
        return TaskNumbers(busy_s, waiting_s, self._work.read, dict(self._work.sent), *self._counts, self.finished)


@dataclass
class _JobStats:
    since: float
    tasks: dict[int, _Timed] = field(default_factory=dict)
    said_at: float = 0.0
    said: int = 0

    @property
    def due_at(self) -> float:
        age_s = self.said_at - self.since
        return self.said_at + max(min(FIRST_S + YOUNG_SHARE * age_s, SAY_S), OLD_SHARE * age_s)


class Stats:
    def __init__(self, fabric: Fabric, clocks: Clocks | None = None, traces: Traces | None = None) -> None:
        self._fabric = fabric
        self._traces = traces
        self._clocks = clocks or Clocks()
        self._life = secrets.token_hex(8)
        self._producer = int(self._life, 16) % _LIVES
        self._jobs: dict[str, _JobStats] = {}
        self._free_at = 0.0

    def step(self, job: str, task: Task) -> Step:
        """One step of a task, timed. From one that found nothing to the next, it counts as waiting."""
        timed = self._timed(job, task)
        began = self._clocks.elapsed()
        if timed.waits_since is not None:
            timed.waiting_s += began - timed.waits_since
        read = task.done.read
        outcome = task.step()
        now = self._clocks.elapsed()
        if outcome is Step.WAITING:
            timed.waiting_s += now - began
            timed.waits_since = now
            return outcome
        timed.busy_s += now - began
        timed.waits_since = None
        timed.changed = True
        if self._traces is not None and task.done.read.records > read.records:
            self._trace(self._traces, job, task, now - began, task.done.read.rows - read.rows)
        if outcome is Step.FINISHED:
            timed.finished = True
            timed.look()
        return outcome

    def _trace(self, traces: Traces, job: str, task: Task, took_s: float, rows: int) -> None:
        stage = task.spec.stage
        assert stage.table is not None
        end = self._clocks.wall()
        traces.read(PartName(job, stage.table.name, task.done.last_part), stage.name, end - took_s, end, rows)

    def say_due(self) -> None:
        """Called between steps: says what is most overdue, of one job. Costs a look at the clock if nothing is."""
        if not self._jobs:
            return
        now = self._clocks.elapsed()
        if now < self._free_at:
            return
        self._free_at = now + LOOK_S
        job, stats = max(self._jobs.items(), key=lambda each: now - each[1].due_at)
        if stats.due_at <= now:
            self._say(job, stats, now)
            spent_s = self._clocks.elapsed() - now
            self._free_at = max(self._free_at, now + spent_s / MOST_SHARE)

    def end(self, job: str) -> None:
        """The job is over for this worker: the last is said, and all forgotten."""
        stats = self._jobs.pop(job, None)
        if stats is not None:
            self._say(job, stats, self._clocks.elapsed())

    def _timed(self, job: str, task: Task) -> _Timed:
        stats = self._jobs.get(job)
        if stats is None:
            now = self._clocks.elapsed()
            stats = self._jobs[job] = _JobStats(now, said_at=now)
        timed = stats.tasks.get(task.spec.number)
        if timed is None:
            timed = stats.tasks[task.spec.number] = _Timed(task)
        elif not timed.holds(task):
            timed.hold(task)
        return timed

    def _say(self, job: str, stats: _JobStats, now: float) -> None:
        stats.said_at = now
        changed = {number: timed for number, timed in stats.tasks.items() if timed.changed}
        if not changed:
            return
        # Those that only wait are told of beside those that moved: a job in which nothing moves says nothing.
        told = {number: timed.numbers() for number, timed in stats.tasks.items()}
        for timed in changed.values():
            timed.changed = False
        body = msgspec.msgpack.encode(StatsRecord(self._life, self._clocks.wall(), told))
        stats.said += 1
        try:
            self._fabric.append(job, STATS_LOG, [record(Kind.DATA, self._producer, stats.said, body)])
        except FabricError:
            # What matters meets the same, and deals with it.
            return


def _made(task: Task) -> dict[int, int]:
    """A lane puts one record on every partition of its edges for each part done; a fold says all of its own at once."""
    if isinstance(task, SourceTask):
        parts = len(task.past.done) if task.past is not None else 0
        return {edge.number: parts * task.context.topology.width(edge) for edge in task.spec.stage.sends}
    return {number: flow.records for number, flow in task.done.sent.items()}
