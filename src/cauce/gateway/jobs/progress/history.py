"""Aggregates the statistics that workers publish: when each task was busy, and the flow over each edge.

The outcome depends only on the set of records, not on the order in which those of different workers are read. They are
read on demand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from cauce.fabric.contract import Fabric
from cauce.fabric.records import Kind
from cauce.job.log_reader import LogReader
from cauce.worker.counters import Flow
from cauce.worker.stats import STATS_LOG, StatsRecord, TaskNumbers, load_stats

_REDRAW_SHARE = 0.01
_SPANS_PER_WORKER = 512
"""Beyond this number, old spans of a worker are merged in pairs: old history has a coarser resolution."""


@dataclass(frozen=True)
class Gain:
    """The increase of a task's counters in a span."""

    busy_s: float = 0.0
    waiting_s: float = 0.0
    read: Flow = field(default_factory=Flow)
    sent: dict[int, Flow] = field(default_factory=dict)

    def plus(self, other: Gain) -> Gain:
        sent = dict(self.sent)
        for edge, flow in other.sent.items():
            sent[edge] = _sum(sent.get(edge, Flow()), flow)
        return Gain(self.busy_s + other.busy_s, self.waiting_s + other.waiting_s, _sum(self.read, other.read), sent)


@dataclass(frozen=True)
class Span:
    """A time interval of a worker, and the increase of its tasks' counters in it."""

    start: float
    end: float
    gains: dict[int, Gain]

    def share_in(self, start: float, end: float) -> float:
        """The share of the span that lies between two times."""
        if self.end <= self.start:
            return 1.0 if start < self.end <= end else 0.0
        return max(0.0, min(self.end, end) - max(self.start, start)) / (self.end - self.start)


@dataclass(frozen=True)
class TaskProgress:
    """The progress of a task, by the latest record of any worker that leased it."""

    at: float
    made: dict[int, int]
    taken: dict[int, int]
    finished: bool
    held_bytes: int = 0
    spilled_bytes: int = 0
    peak_bytes: int = 0
    """The largest `held_bytes` of any record."""


@dataclass
class _WorkerStats:
    """The statistics of one worker instance. Its records arrive in order; duplicates are skipped."""

    at: float = 0.0
    last: dict[int, TaskNumbers] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def take(self, stats: StatsRecord) -> None:
        gains = {number: _gain(self.last.get(number), numbers) for number, numbers in stats.tasks.items()}
        # The first record has no predecessor: its span is as long as the longest time it reports.
        longest_s = max((gain.busy_s + gain.waiting_s for gain in gains.values()), default=0.0)
        self.spans.append(Span(self.at or stats.at - longest_s, stats.at, gains))
        self.at = stats.at
        self.last.update(stats.tasks)
        if len(self.spans) > _SPANS_PER_WORKER:
            self.spans = _coarser(self.spans)


class HistoryBody(msgspec.Struct, frozen=True):
    """The busy share of each stage's task time, in equal intervals between `start` and `end`."""

    start: float
    end: float
    busy: list[list[float]]


class History:
    def __init__(self) -> None:
        self.progress: dict[int, TaskProgress] = {}
        self._workers: dict[str, _WorkerStats] = {}
        self._reader = LogReader(STATS_LOG)
        self._drawn: tuple[float, int, HistoryBody] | None = None

    def advance(self, fabric: Fabric, job: str) -> None:
        for each in self._reader.records(fabric, job):
            if each.kind == Kind.DATA:
                self.take(load_stats(each.body))

    def take(self, stats: StatsRecord) -> None:
        worker = self._workers.setdefault(stats.worker_id, _WorkerStats())
        if stats.at <= worker.at:
            return
        worker.take(stats)
        for number, numbers in stats.tasks.items():
            known = self.progress.get(number)
            peak = max(numbers.held_bytes, known.peak_bytes if known is not None else 0)
            if known is None or known.at <= stats.at:
                finished = numbers.finished or (known is not None and known.finished)
                held = 0 if finished else numbers.held_bytes
                self.progress[number] = TaskProgress(
                    stats.at, numbers.made, numbers.taken, finished, held, numbers.spilled_bytes, peak
                )
            else:
                finished = numbers.finished or known.finished
                held = 0 if finished else known.held_bytes
                self.progress[number] = replace(known, finished=finished, held_bytes=held, peak_bytes=peak)

    @property
    def held_bytes(self) -> int:
        """Input that its tasks hold in the memory of workers."""
        return sum(each.held_bytes for each in self.progress.values())

    @property
    def spilled_bytes(self) -> int:
        """What its tasks have written to temporary files."""
        return sum(each.spilled_bytes for each in self.progress.values())

    @property
    def spans(self) -> list[Span]:
        return [span for worker in self._workers.values() for span in worker.spans]

    @property
    def extent(self) -> tuple[float, float] | None:
        """The start of the first span and the end of the last one."""
        workers = self._workers.values()
        return (
            (min(worker.spans[0].start for worker in workers), max(worker.at for worker in workers))
            if workers
            else None
        )

    def totals(self) -> dict[int, Gain]:
        """The counters of each task, summed over all workers, repeated work included."""
        found: dict[int, Gain] = {}
        for worker in self._workers.values():
            for number, numbers in worker.last.items():
                found[number] = found.get(number, Gain()).plus(_gain(None, numbers))
        return found

    def gained(self, start: float, end: float) -> dict[int, Gain]:
        """The increase of each task's counters between two times, interpolated within spans."""
        found: dict[int, Gain] = {}
        for worker in self._workers.values():
            for span in reversed(worker.spans):
                if span.end <= start:
                    break
                share = span.share_in(start, end)
                for number, gain in span.gains.items() if share > 0.0 else ():
                    found[number] = found.get(number, Gain()).plus(_scaled(gain, share))
        return found

    def once(self, end: float, draw: Callable[[], HistoryBody]) -> HistoryBody:
        """Caches the last drawing until the history has grown by 1 %: a long history takes long to draw."""
        size = sum(len(worker.spans) for worker in self._workers.values())
        if self._drawn is not None:
            drawn_to, drawn_size, body = self._drawn
            if (drawn_size == size and drawn_to == end) or 0 <= end - drawn_to < _REDRAW_SHARE * (end - body.start):
                return body
        self._drawn = (end, size, draw())
        return self._drawn[2]

    def busy(self, start: float, end: float, buckets: int) -> dict[int, list[float]]:
        """Busy seconds of each task in each of `buckets` equal intervals."""
        step_s = max(end - start, 1e-9) / buckets
        found: dict[int, list[float]] = {}
        for span in self.spans:
            first = min(max(int((span.start - start) / step_s), 0), buckets - 1)
            last = min(max(int((span.end - start) / step_s), 0), buckets - 1)
            for bucket in range(first, last + 1):
                share = span.share_in(start + bucket * step_s, start + (bucket + 1) * step_s)
                for number, gain in span.gains.items():
                    found.setdefault(number, [0.0] * buckets)[bucket] += gain.busy_s * share
        return found


def _gain(before: TaskNumbers | None, after: TaskNumbers) -> Gain:
    before = before or TaskNumbers()
    sent = {edge: flow.minus(before.sent.get(edge, Flow())) for edge, flow in after.sent.items()}
    return Gain(
        max(after.busy_s - before.busy_s, 0.0),
        max(after.waiting_s - before.waiting_s, 0.0),
        after.read.minus(before.read),
        {edge: flow for edge, flow in sent.items() if flow.records},
    )


def _coarser(spans: list[Span]) -> list[Span]:
    """Merges old spans in pairs. The newest keep their resolution."""
    keep = _SPANS_PER_WORKER // 4
    old, new = spans[:-keep], spans[-keep:]
    return [*(_joined(old[at : at + 2]) for at in range(0, len(old), 2)), *new]


def _joined(spans: list[Span]) -> Span:
    gains: dict[int, Gain] = {}
    for span in spans:
        for number, gain in span.gains.items():
            gains[number] = gains.get(number, Gain()).plus(gain)
    return Span(spans[0].start, spans[-1].end, gains)


def _scaled(gain: Gain, share: float) -> Gain:
    return Gain(
        gain.busy_s * share,
        gain.waiting_s * share,
        _part(gain.read, share),
        {edge: _part(flow, share) for edge, flow in gain.sent.items()},
    )


def _part(flow: Flow, share: float) -> Flow:
    return Flow(round(flow.records * share), round(flow.rows * share), round(flow.bytes * share))


def _sum(one: Flow, other: Flow) -> Flow:
    return Flow(one.records + other.records, one.rows + other.rows, one.bytes + other.bytes)
