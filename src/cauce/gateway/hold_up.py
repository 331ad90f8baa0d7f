"""The one sentence that says what holds a job up: the same for `cauce why`, for the API and for the dashboard."""

from __future__ import annotations

from cauce.gateway.graph import EdgeBody, GraphBody, StageBody
from cauce.gateway.model import JobStatus
from cauce.gateway.view import JobView

_NOTABLE = 0.05
"""A stage that is at work less than this share of the time holds nobody up."""


def hold_up(view: JobView, graph: GraphBody, job: str) -> str:
    """Of a job that is running. Where workers have told of their work, the busiest stage that is not finished; else
    what the first missing answer waits for."""
    open_stages = [stage for stage in graph.stages if stage.finished < stage.tasks and stage.busy >= _NOTABLE]
    if not open_stages:
        return f"job {job} is at work: {view.waits_for()}"
    slowest = max(open_stages, key=lambda stage: (stage.busy, -stage.number))
    return f"job {job} is at work: {slowest.name} holds it up, {_words(slowest, graph.edges)}"


def with_notice(status: JobStatus, said: str) -> str:
    """The sentence on a job, together with the notice that no worker runs."""
    if status.no_worker is None:
        return said
    if status.state == "running":
        return f"job {status.job} waits for a worker: {status.no_worker.text}"
    return f"{said}; {status.no_worker.text}"


def _words(stage: StageBody, edges: list[EdgeBody]) -> str:
    busy = f"busy {stage.busy:.0%} of the time of its {_counted(stage.tasks, 'task')}".replace("%", " %")
    waiting = [edge for edge in edges if edge.to_stage == stage.number and edge.backlog]
    if not waiting:
        return f"{busy}, with nothing waiting before it"
    most = max(waiting, key=lambda edge: edge.backlog_bytes)
    source = f"table {most.from_table}" if most.from_table is not None else f"edge {most.id.partition('-')[0]}"
    size = f"{most.backlog_bytes / 1e6:.1f} MB"
    return f"{busy}, with {_counted(most.backlog, most.unit)} ({size}) of {source} waiting before it"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"
