"""Task statistics that a worker appends for display: busy and waiting seconds, input and output counts.

No answer depends on them. A record that cannot be appended is skipped, and its identity is never reused: it consists of
a random id of the worker process and a running number.
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
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, record
from cauce.job.topology import CONTROL
from cauce.process.telemetry.traces import PartName, Traces
from cauce.worker.counters import Flow, Work
from cauce.worker.tasks.source_task import SourceTask
from cauce.worker.tasks.task import Step, Task

STATS_LOG = Log(CONTROL, "stats")
INTERVAL_S = 1.0
FIRST_S, YOUNG_SHARE, OLD_SHARE = 0.2, 0.2, 0.002
"""The interval between records grows with the age of a job, so that their number grows with the logarithm of its
age."""
CHECK_S = 0.02
MOST_SHARE = 0.005
"""The largest share of a worker's time spent on statistics, independent of the number of jobs and the fabric."""
_PRODUCERS = 1 << 31

Counts = tuple[dict[int, int], dict[int, int]]
"""Records that a task has sent to its edges, and read from them."""


class TaskNumbers(msgspec.Struct, frozen=True, omit_defaults=True):
    """Totals of one task in one worker process. `made` and `taken` are the records that the task has sent to its edges
    and read from them, over all its holders."""

    busy_s: float = 0.0
    waiting_s: float = 0.0
    read: Flow = Flow()
    sent: dict[int, Flow] = {}
    made: dict[int, int] = {}
    taken: dict[int, int] = {}
    finished: bool = False
    held_bytes: int = 0
    """Input that the task holds in memory."""
    spilled_bytes: int = 0
    """What it has written to temporary files."""


class StatsRecord(msgspec.Struct, frozen=True):
    """Statistics of a job from one worker process, whose random id is `worker_id`."""

    worker_id: str = msgspec.field(name="life")
    at: float
    tasks: dict[int, TaskNumbers]


def load_stats(data: bytes) -> StatsRecord:
    return msgspec.msgpack.decode(data, type=StatsRecord)


@dataclass(frozen=True)
class Clocks:
    """`elapsed` is monotonic; `wall` is the time of day."""

    elapsed: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


class _Timed:
    """The statistics of a task. Holds only a weak reference to the task, which may be large."""

    def __init__(self, task: Task) -> None:
        self.busy_s = 0.0
        self.waiting_s = 0.0
        self.finished = False
        self.changed = True
        self.waits_since: float | None = None
        """When its last step found nothing to do; None if it found something."""
        self._work = Work()
        self._counts: Counts = ({}, {})
        self._spilled_bytes = 0
        self.hold(task)

    def hold(self, task: Task) -> None:
        """Attaches another holder of the same task in this process, which continues the totals."""
        task.done.follow(self._work)
        self._work = task.done
        self._task = weakref.ref(task)
        self.waits_since = None

    def holds(self, task: Task) -> bool:
        return self._task() is task

    def read_counts(self) -> None:
        """Reads the counts that only the task object has."""
        task = self._task()
        if task is not None:
            taken = {number: intake.names.count for number, intake in task.intakes.items()}
            self._counts = (_made(task), taken)
            self._spilled_bytes = task.spilled_bytes

    def numbers(self) -> TaskNumbers:
        self.read_counts()
        task = self._task()
        made, taken = self._counts
        return TaskNumbers(
            round(self.busy_s, 4),
            round(self.waiting_s, 4),
            self._work.read,
            dict(self._work.sent),
            made,
            taken,
            self.finished,
            0 if task is None or self.finished else task.held_bytes,
            self._spilled_bytes,
        )


@dataclass
class _JobStats:
    since: float
    tasks: dict[int, _Timed] = field(default_factory=dict)
    appended_at: float = 0.0
    appended: int = 0

    @property
    def due_at(self) -> float:
        age_s = self.appended_at - self.since
        return self.appended_at + max(min(FIRST_S + YOUNG_SHARE * age_s, INTERVAL_S), OLD_SHARE * age_s)


class Stats:
    def __init__(self, fabric: Fabric, clocks: Clocks | None = None, traces: Traces | None = None) -> None:
        self._fabric = fabric
        self._traces = traces
        self._clocks = clocks or Clocks()
        self._worker_id = secrets.token_hex(8)
        self._producer = int(self._worker_id, 16) % _PRODUCERS
        self._jobs: dict[str, _JobStats] = {}
        self._free_at = 0.0

    def step(self, job: str, task: Task) -> Step:
        """Runs and times one step of a task. The time after a step without work counts as waiting."""
        timed = self._timed(job, task)
        started = self._clocks.elapsed()
        if timed.waits_since is not None:
            timed.waiting_s += started - timed.waits_since
        read = task.done.read
        outcome = task.step()
        now = self._clocks.elapsed()
        if outcome is Step.WAITING:
            timed.waiting_s += now - started
            timed.waits_since = now
            return outcome
        timed.busy_s += now - started
        timed.waits_since = None
        timed.changed = True
        if self._traces is not None and task.done.read.records > read.records:
            self._trace(self._traces, job, task, now - started, task.done.read.rows - read.rows)
        if outcome is Step.FINISHED:
            timed.finished = True
            timed.read_counts()
        return outcome

    def _trace(self, traces: Traces, job: str, task: Task, took_s: float, rows: int) -> None:
        stage = task.spec.stage
        assert stage.table is not None
        end = self._clocks.wall()
        traces.read(PartName(job, stage.table.name, task.done.last_part), stage.name, end - took_s, end, rows)

    def append_due(self) -> None:
        """Called between steps: appends the record of the most overdue job. If none is due, it only reads the clock."""
        if not self._jobs:
            return
        now = self._clocks.elapsed()
        if now < self._free_at:
            return
        self._free_at = now + CHECK_S
        job, stats = max(self._jobs.items(), key=lambda each: now - each[1].due_at)
        if stats.due_at <= now:
            self._append(job, stats, now)
            spent_s = self._clocks.elapsed() - now
            self._free_at = max(self._free_at, now + spent_s / MOST_SHARE)

    def end(self, job: str) -> None:
        """Appends the last record of a job that has ended for this worker, and forgets the job."""
        stats = self._jobs.pop(job, None)
        if stats is not None:
            self._append(job, stats, self._clocks.elapsed())

    def _timed(self, job: str, task: Task) -> _Timed:
        stats = self._jobs.get(job)
        if stats is None:
            now = self._clocks.elapsed()
            stats = self._jobs[job] = _JobStats(now, appended_at=now)
        timed = stats.tasks.get(task.spec.number)
        if timed is None:
            timed = stats.tasks[task.spec.number] = _Timed(task)
        elif not timed.holds(task):
            timed.hold(task)
        return timed

    def _append(self, job: str, stats: _JobStats, now: float) -> None:
        stats.appended_at = now
        changed = {number: timed for number, timed in stats.tasks.items() if timed.changed}
        if not changed:
            return
        # Waiting tasks are included only if another task has changed: an idle job appends nothing.
        totals = {number: timed.numbers() for number, timed in stats.tasks.items()}
        for timed in changed.values():
            timed.changed = False
        body = msgspec.msgpack.encode(StatsRecord(self._worker_id, self._clocks.wall(), totals))
        stats.appended += 1
        try:
            self._fabric.append(job, STATS_LOG, [record(Kind.DATA, self._producer, stats.appended, body)])
        except FabricError:
            # The work itself meets the same error and handles it.
            return


def _made(task: Task) -> dict[int, int]:
    """A lane sends one record per completed part to every partition of its edges; a fold sends its output at once."""
    if isinstance(task, SourceTask):
        parts = len(task.state.done) if task.state is not None else 0
        return {edge.number: parts * task.context.topology.width(edge) for edge in task.spec.stage.sends}
    return {number: flow.records for number, flow in task.done.sent.items()}
