"""The plan of a job with its progress: stages with their shares of time, edges with their flow and backlog.

A pure function of the job's logs and of the current time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from cauce.api.jobs import ENDED
from cauce.gateway.jobs.progress.history import Gain, History, HistoryBody
from cauce.gateway.jobs.progress.timeline import TimelineEvent, stage_title, timeline_events
from cauce.gateway.jobs.read_model import JobView
from cauce.job.topology import Topology
from cauce.plan.explain import queries_of
from cauce.plan.physical import Edge, Stage
from cauce.worker.counters import Flow

WINDOW_S = 5.0
"""Rates and shares of an open job cover this many last seconds."""
LATE_S = 2.5
"""Workers that make progress publish statistics more often than this."""
BUCKETS = 120


class StageBody(msgspec.Struct, frozen=True):
    """Shares of the time of all its tasks: `busy` running, `waiting` leased but without input, `idle` the rest. For a
    job that has ended they cover its whole run time. Rows and bytes are those read from the table, repeated work
    included. `failed`: one of its tasks failed the job. `held_bytes` is the input that its tasks hold in memory now,
    `spilled_bytes` what they have written to temporary files."""

    number: int
    name: str
    kind: str
    table: str | None
    queries: list[str]
    tasks: int
    finished: int
    busy: float
    waiting: float
    idle: float
    rows: int
    bytes: int
    rows_per_s: float
    bytes_per_s: float
    failed: bool = False
    held_bytes: int = 0
    spilled_bytes: int = 0


class EdgeBody(msgspec.Struct, frozen=True):
    """From an uploaded table, or from a stage, to a stage. `backlog` counts what was sent and not read yet, in `unit`s:
    parts or records. It is 0 once the job has ended."""

    id: str
    from_stage: int | None
    from_table: str | None
    to_stage: int
    spread: str
    keys: list[str]
    unit: str
    records: int
    rows: int
    bytes: int
    rows_per_s: float
    bytes_per_s: float
    backlog: int
    backlog_bytes: int


class GraphBody(msgspec.Struct, frozen=True):
    """`live` is false for a job that has ended: then rates are means over its run time."""

    job: str
    at: float
    live: bool
    why: str
    stages: list[StageBody]
    edges: list[EdgeBody]
    history: HistoryBody
    events: list[TimelineEvent] = msgspec.field(name="happenings")


class _Numbers:
    """Sums over tasks, for stages and edges."""

    def __init__(self, topology: Topology, history: History, now: float, live: bool) -> None:
        self._stage_of = {task.number: topology.plan.stages.index(task.stage) for task in topology.tasks}
        extent = history.extent or (now, now)
        self.start, self.end = extent
        window = _recent(extent, now) if live else extent
        self.seconds = max(window[1] - window[0], 0.0)
        everything = history.totals()
        recent = history.gained(*window) if live else everything
        self.total = self._by_stage(everything)
        self.recent = self._by_stage(recent)
        self.sent = _by_edge(everything)
        self.sent_recently = _by_edge(recent)

    def _by_stage(self, gained: dict[int, Gain]) -> dict[int, Gain]:
        found: dict[int, Gain] = {}
        for task, gain in gained.items():
            stage = self._stage_of.get(task)
            if stage is not None:
                found[stage] = found.get(stage, Gain()).plus(gain)
        return found

    def rate(self, amount: float) -> float:
        return round(amount / self.seconds, 1) if self.seconds else 0.0

    def share(self, seconds: float, tasks: int) -> float:
        return round(min(seconds / (self.seconds * tasks), 1.0), 4) if self.seconds and tasks else 0.0


def _recent(extent: tuple[float, float], now: float) -> tuple[float, float]:
    end = extent[1] if now - extent[1] < LATE_S else now
    return max(end - WINDOW_S, extent[0]), end


def _by_edge(gained: dict[int, Gain]) -> dict[int, Flow]:
    found: dict[int, Flow] = {}
    for gain in gained.values():
        for edge, flow in gain.sent.items():
            found[edge] = found.get(edge, Flow()).plus(flow.rows, flow.bytes, flow.records)
    return found


def graph_of(view: JobView, now: float, job: str, why: str = "") -> GraphBody:
    history = view.history
    live = view.state not in ENDED
    numbers = _Numbers(view.topology, history, now, live)
    stages = [_stage(view, history, numbers, number) for number in range(len(view.topology.plan.stages))]
    edges = [*_raw_edges(view, history, numbers), *_edges(view, history, numbers)]
    events = timeline_events(view)
    return GraphBody(job, now, live, why, stages, edges, _history(view, history, numbers, events, now), events)


def graph_without_plan(view: JobView, now: float, job: str, why: str) -> GraphBody:
    """For a job whose plan can no longer be built: no stages, only its timeline."""
    extent = view.history.extent or (now, now)
    return GraphBody(job, now, view.state not in ENDED, why, [], [], HistoryBody(*extent, []), timeline_events(view))


def _stage(view: JobView, history: History, numbers: _Numbers, number: int) -> StageBody:
    plan = view.topology.plan
    stage = plan.stages[number]
    tasks = [task.number for task in view.topology.tasks if task.stage is stage]
    total, recent = numbers.total.get(number, Gain()), numbers.recent.get(number, Gain())
    busy = numbers.share(recent.busy_s, len(tasks))
    progress = [history.progress[task] for task in tasks if task in history.progress]
    waiting = min(numbers.share(recent.waiting_s, len(tasks)), round(1.0 - busy, 4))
    return StageBody(
        number,
        stage_title(stage),
        "scan" if stage.table is not None else "answer" if stage.result is not None else "fold",
        stage.table.shown if stage.table is not None else None,
        queries_of(plan, stage),
        len(tasks),
        _finished(view, history, tasks),
        busy,
        waiting,
        round(1.0 - busy - waiting, 4),
        total.read.rows,
        total.read.bytes,
        numbers.rate(recent.read.rows),
        numbers.rate(recent.read.bytes),
        not view.failed_tasks().isdisjoint(tasks),
        0 if view.state in ENDED else sum(each.held_bytes for each in progress),
        sum(each.spilled_bytes for each in progress),
    )


def _finished(view: JobView, history: History, tasks: list[int]) -> int:
    """A job that is done has finished all its tasks, even if the last statistics of a worker were lost."""
    if view.state == "done":
        return len(tasks)
    return sum(task in history.progress and history.progress[task].finished for task in tasks)


def _raw_edges(view: JobView, history: History, numbers: _Numbers) -> Iterator[EdgeBody]:
    for number, stage in enumerate(view.topology.plan.stages):
        if stage.table is None:
            continue
        receipts = view.receipts[stage.table.name]
        recent = numbers.recent.get(number, Gain()).read
        ended = view.state in ENDED
        waiting = 0 if ended else max(receipts.count - _parts_done(view, history, stage), 0)
        size = round(receipts.bytes * waiting / max(receipts.count, 1))
        yield EdgeBody(
            f"t{number}",
            None,
            stage.table.shown,
            number,
            "raw",
            [],
            "part",
            receipts.count,
            view.reports[stage.table.name].rows,
            receipts.bytes,
            numbers.rate(recent.rows),
            numbers.rate(recent.bytes),
            waiting,
            size,
        )


def _parts_done(view: JobView, history: History, stage: Stage) -> int:
    """The first pass over a table reports each part; for later passes only statistics exist."""
    assert stage.table is not None
    if stage.report_rejects is not None:
        return len(view.reports[stage.table.name].seqs)
    made = [
        max((count // max(view.topology.width(edge), 1) for edge, count in _made(view, history, task)), default=0)
        for task in (task.number for task in view.topology.tasks if task.stage is stage)
    ]
    return sum(made)


def _made(view: JobView, history: History, task: int) -> Iterable[tuple[Edge, int]]:
    progress = history.progress.get(task)
    edges = view.topology.plan.edges
    return [(edges[number], count) for number, count in progress.made.items()] if progress is not None else []


def _edges(view: JobView, history: History, numbers: _Numbers) -> Iterator[EdgeBody]:
    stages = view.topology.plan.stages
    for sender, stage in enumerate(stages):
        for edge in stage.sends:
            total = numbers.sent.get(edge.number, Flow())
            recent = numbers.sent_recently.get(edge.number, Flow())
            for reader, other in enumerate(stages):
                if edge.number in other.receives:
                    waiting = 0 if view.state in ENDED else _backlog(view.topology, history, edge, other)
                    yield EdgeBody(
                        f"e{edge.number}-{reader}",
                        sender,
                        None,
                        reader,
                        edge.spread,
                        list(edge.keys),
                        "record",
                        total.records,
                        total.rows,
                        total.bytes,
                        numbers.rate(recent.rows),
                        numbers.rate(recent.bytes),
                        waiting,
                        round(total.bytes * waiting / max(total.records, 1)),
                    )


def _backlog(topology: Topology, history: History, edge: Edge, reader: Stage) -> int:
    """Records in the edge's logs that have not been read. A broadcast record counts as read when one reader has read
    it."""
    if edge.number in topology.streamed:
        return 0
    progress = history.progress
    made = sum(progress[task].made.get(edge.number, 0) for task in topology.producers(edge) if task in progress)
    readers = [task.number for task in topology.tasks if task.stage is reader and task.number in progress]
    taken = [progress[task].taken.get(edge.number, 0) for task in readers]
    read = max(taken, default=0) if edge.spread == "broadcast" else sum(taken)
    return max(made - read, 0)


def _history(
    view: JobView, history: History, numbers: _Numbers, events: list[TimelineEvent], now: float
) -> HistoryBody:
    start = min([numbers.start, *(each.at for each in events)])
    latest = max([numbers.end, *(each.at for each in events)])
    end = max(now if view.state not in ENDED else latest, start + 1e-3)
    return history.once(end, lambda: _buckets(view.topology, history, start, end))


def _buckets(topology: Topology, history: History, start: float, end: float) -> HistoryBody:
    busy = history.busy(start, end, BUCKETS)
    step_s = (end - start) / BUCKETS
    rows: list[list[float]] = []
    for stage in topology.plan.stages:
        tasks = [task.number for task in topology.tasks if task.stage is stage]
        lanes = [busy[task] for task in tasks if task in busy]
        whole = step_s * max(len(tasks), 1)
        rows.append([round(min(sum(column) / whole, 1.0), 3) for column in zip(*lanes, strict=True)])
    return HistoryBody(start, end, rows)
