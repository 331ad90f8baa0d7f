"""What the workers said of a job's tasks, put together: who was busy when, and what went over each edge.

The outcome depends on the set of records alone, not on their order: they are read only when somebody looks, and then
those of one worker may all come before those of another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from cauce.fabric.contract import Fabric, Position
from cauce.wire.records import Kind
from cauce.worker.stats import STATS_LOG, StatsRecord, TaskNumbers, load_stats
from cauce.worker.work import Flow

_READ_BYTES = 4 << 20
_REDRAW_SHARE = 0.01
_SPANS_A_LIFE = 512
"""Beyond so many, those of a worker are put together in pairs: what is long ago is known more coarsely."""


@dataclass(frozen=True)
class Gain:
    """What a task gained in a span."""

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
    """A stretch of a worker's life, and what its tasks gained in it."""

    start: float
    end: float
    gains: dict[int, Gain]

    def share_in(self, start: float, end: float) -> float:
        """How much of it lies between two moments."""
        if self.end <= self.start:
            return 1.0 if start < self.end <= end else 0.0
        return max(0.0, min(self.end, end) - max(self.start, start)) / (self.end - self.start)


@dataclass(frozen=True)
class Stand:
    """How far a task was by the last word of whoever held it."""

    at: float
    made: dict[int, int]
    taken: dict[int, int]
    finished: bool


@dataclass
class _Life:
    """What one worker said. Its records come in their order; one that comes again is passed over."""

    at: float = 0.0
    last: dict[int, TaskNumbers] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def take(self, said: StatsRecord) -> None:
        gains = {number: _gain(self.last.get(number), numbers) for number, numbers in said.tasks.items()}
        # What the first record tells lies in the time that it tells of.
        longest_s = max((gain.busy_s + gain.waiting_s for gain in gains.values()), default=0.0)
        self.spans.append(Span(self.at or said.at - longest_s, said.at, gains))
        self.at = said.at
        self.last.update(said.tasks)
        if len(self.spans) > _SPANS_A_LIFE:
            self.spans = _coarser(self.spans)


class HistoryBody(msgspec.Struct, frozen=True):
    """How busy each stage was, as a share of the time of its tasks, in equal stretches between two moments."""

    start: float
    end: float
    busy: list[list[float]]


class History:
    def __init__(self) -> None:
        self.stands: dict[int, Stand] = {}
        self._lives: dict[str, _Life] = {}
        self._position: Position = {}
        self._drawn: tuple[float, int, HistoryBody] | None = None

    def advance(self, fabric: Fabric, job: str) -> None:
        while True:
            batch = fabric.read(job, STATS_LOG, self._position, _READ_BYTES)
            if batch.position == self._position:
                return
            self._position = batch.position
            for each in batch.records:
                if each.kind == Kind.DATA:
                    self.take(load_stats(each.body))

    def take(self, said: StatsRecord) -> None:
        life = self._lives.setdefault(said.life, _Life())
        if said.at <= life.at:
            return
        life.take(said)
        for number, numbers in said.tasks.items():
            known = self.stands.get(number)
            if known is None or known.at <= said.at:
                finished = numbers.finished or (known is not None and known.finished)
                self.stands[number] = Stand(said.at, numbers.made, numbers.taken, finished)
            elif numbers.finished:
                self.stands[number] = replace(known, finished=True)

    @property
    def spans(self) -> list[Span]:
        return [span for life in self._lives.values() for span in life.spans]

    @property
    def extent(self) -> tuple[float, float] | None:
        """From the first to the last moment that something was said of."""
        lives = self._lives.values()
        return (min(life.spans[0].start for life in lives), max(life.at for life in lives)) if lives else None

    def totals(self) -> dict[int, Gain]:
        """What each task gained in all, whoever held it, repetitions included."""
        found: dict[int, Gain] = {}
        for life in self._lives.values():
            for number, numbers in life.last.items():
                found[number] = found.get(number, Gain()).plus(_gain(None, numbers))
        return found

    def gained(self, start: float, end: float) -> dict[int, Gain]:
        """What each task gained between two moments, as if each span were even."""
        found: dict[int, Gain] = {}
        for life in self._lives.values():
            for span in reversed(life.spans):
                if span.end <= start:
                    break
                share = span.share_in(start, end)
                for number, gain in span.gains.items() if share > 0.0 else ():
                    found[number] = found.get(number, Gain()).plus(_scaled(gain, share))
        return found

    def once(self, end: float, draw: Callable[[], HistoryBody]) -> HistoryBody:
        """What was drawn last, as long as little has been added to it: a long history takes long to draw."""
        size = sum(len(life.spans) for life in self._lives.values())
        if self._drawn is not None:
            drawn_to, drawn_size, body = self._drawn
            if (drawn_size == size and drawn_to == end) or 0 <= end - drawn_to < _REDRAW_SHARE * (end - body.start):
                return body
        self._drawn = (end, size, draw())
        return self._drawn[2]

    def busy(self, start: float, end: float, buckets: int) -> dict[int, list[float]]:
        """Seconds of work of each task in each of so many equal stretches."""
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
    """The newest stay as they are: they are what is looked at closely."""
    keep = _SPANS_A_LIFE // 4
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
