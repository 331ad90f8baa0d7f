"""The timeline of the cluster: events of processes, in one log per day on the fabric.

Leaders append to it, so events are ordered by epoch and, within an epoch, by the leader's counter. Two concurrent
leaders may both record an exit: duplicates are dropped on read.
"""

from __future__ import annotations

import signal
import time

import msgspec

from cauce.fabric.contract import Fabric
from cauce.fabric.names import Log, service_log_name
from cauce.fabric.records import CLIENT, Kind, record
from cauce.job.crashes import Cause
from cauce.job.log_reader import LogReader
from cauce.job.service_logs import append_to_service_log
from cauce.worker.events import EXIT_MEMORY

DAY_S = 86_400.0
KEPT_DAYS = 7
_PREFIX = service_log_name("events", "")
_LOG = Log("events")
_ONCE = ("crashed", "detected", "exited")
_POLL_S = 0.02
_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)
"""Signals raised by a fault of the process itself."""
_CAUSES: dict[int | None, Cause] = {EXIT_MEMORY: "memory", **{-each: "fault" for each in _FAULTS}}


class Event(msgspec.Struct, frozen=True):
    """`what` is one of elected, started, restarted, recovered, crashed, detected, exited, paused, hung, lost, backoff.

    `reason` never names a job. `owner`, `job` and `work` are the work that the process held, visible to that owner and
    operators; `last` is the end of its log, for operators. `code` is the exit code of a process that crashed, negative
    for a signal, if known.
    """

    at: float
    what: str
    name: str
    epoch: int = 0
    count: int = 0
    by: str = ""
    generation: str = ""
    reason: str = ""
    owner: str = ""
    job: str = ""
    work: str = ""
    last: str = ""
    after_s: float | None = None
    code: int | None = None

    @property
    def order(self) -> tuple[int, int, str]:
        return self.epoch, self.count, self.by


class EventLog:
    """Reader and writer of the timeline."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._days: dict[int, _Day] = {}

    def append(self, event: Event) -> None:
        entry = record(Kind.DATA, CLIENT, 0, msgspec.json.encode(event))
        append_to_service_log(self._fabric, f"{_PREFIX}{_day_of(event.at)}", _LOG, [entry])

    def read(self, *, consistent: bool = False) -> list[Event]:
        """All retained events, in order. `consistent`: a linearizable read, which includes every confirmed event."""
        if consistent:
            self._fabric.read_barrier()
            for name in self._homes().values():
                self._fabric.read_barrier(name, _LOG)
        self._days = {number: self._days.get(number) or _Day(name) for number, name in self._homes().items()}
        found = [event for each in self._days.values() for event in each.advance(self._fabric)]
        return _deduplicated(sorted(found, key=lambda event: event.order))

    def _homes(self) -> dict[int, str]:
        names = [name for name in self._fabric.service_logs() if name.startswith(_PREFIX)]
        return {int(day): name for name in names if (day := name.removeprefix(_PREFIX)).isdigit()}

    def sweep(self, now: float) -> None:
        """Deletes days past their retention."""
        for day, name in self._homes().items():
            if day < _day_of(now) - KEPT_DAYS:
                self._fabric.delete_job(name)


class _Day:
    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self._reader = LogReader(_LOG)
        self._events: list[Event] = []

    def advance(self, fabric: Fabric) -> list[Event]:
        for batch in self._reader.batches(fabric, self._job_id):
            self._events += [msgspec.json.decode(each.body, type=Event) for each in batch.records]
        return self._events


def recorded_cause(fabric: Fabric, worker: str, now: float, within_s: float) -> Cause:
    """The cause of a process's exit as recorded by leaders today or yesterday; empty if the process itself did not
    cause it. Waits up to `within_s` for the record: a lease is released before a doctor detects the exit of its holder.
    `worker` is a result of `generation_name`."""
    days = [_Day(f"{_PREFIX}{_day_of(now) - ago}") for ago in (0, 1)]
    deadline = time.monotonic() + within_s
    while True:
        events = [event for day in days for event in day.advance(fabric)]
        cause = _cause_among([each for each in events if generation_name(each.name, each.generation) == worker])
        if cause is not None:
            return cause
        if time.monotonic() >= deadline:
            return ""
        time.sleep(_POLL_S)


def _cause_among(events: list[Event]) -> Cause | None:
    """From the events of one process; None if its exit is not recorded. Of two records, a known cause wins."""
    if any(event.what == "hung" for event in events):
        return "hung"
    ends = [_CAUSES.get(event.code, "") for event in events if event.what in ("crashed", "exited")]
    return next(filter(None, ends), "") if ends else None


def generation_name(name: str, generation: object) -> str:
    return f"{name} {generation}"


def _deduplicated(events: list[Event]) -> list[Event]:
    seen: set[tuple[str, str, str]] = set()
    kept: list[Event] = []
    for event in events:
        key = event.what, event.name, event.generation
        if event.what not in _ONCE or key not in seen:
            kept.append(event)
        seen.add(key)
    return kept


def _day_of(moment: float) -> int:
    return int(moment // DAY_S)
