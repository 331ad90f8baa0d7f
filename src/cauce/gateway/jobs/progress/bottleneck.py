"""One sentence that names the bottleneck of a job: the same for `cauce why`, the API and the dashboard."""

from __future__ import annotations

from cauce.api.jobs import JobStatus
from cauce.gateway.jobs.progress.plan_graph import EdgeBody, GraphBody, StageBody
from cauce.gateway.jobs.read_model import JobView

_NOTABLE = 0.05
"""A stage that is busy for a smaller share of the time is no bottleneck."""
_RECENT_S = 30.0
"""A worker that has published statistics within this time works on the job."""


def bottleneck_of(view: JobView, graph: GraphBody, job: str) -> str:
    """For a running job: the busiest unfinished stage, by the workers' statistics; without these, the input that the
    first missing answer waits for."""
    open_stages = [stage for stage in graph.stages if stage.finished < stage.tasks and stage.busy >= _NOTABLE]
    if not open_stages:
        return f"job {job} is running: {view.missing_input()}"
    slowest = max(open_stages, key=lambda stage: (stage.busy, -stage.number))
    return f"job {job} is running: {slowest.name} is the bottleneck, {_words(slowest, graph.edges)}"


def lacks_worker(view: JobView, job: str, now: float) -> str | None:
    """For a running job that this process cannot plan, that no worker has started because it lacks the dataset, or
    that no worker of its versions works on."""
    extent = view.history.extent
    if view.end.needed_program and (extent is None or now - extent[1] > _RECENT_S):
        return (
            f"job {job} waits for a worker of {view.end.needed_program}, which planned it: the workers that run have "
            "other versions; start one of that version, or cancel the job and submit it again"
        )
    if view.end.lacking and not view.started:
        return (
            f"job {job} waits for a worker that has dataset {view.end.lacking}: no worker has it; start workers with "
            "--dataset FILE"
        )
    problem = view.plan_problem()
    return f"job {job} is running: its stages are not shown, because {problem}" if problem is not None else None


def with_notice(status: JobStatus, why: str) -> str:
    """Adds the notice that no worker runs to the sentence on a job."""
    if status.no_worker is None:
        return why
    if status.state == "running":
        return f"job {status.job} waits for a worker: {status.no_worker.text}"
    return f"{why}; {status.no_worker.text}"


def _words(stage: StageBody, edges: list[EdgeBody]) -> str:
    busy = f"busy {stage.busy:.0%} of the time of its {_counted(stage.tasks, 'task')}".replace("%", " %")
    waiting = [edge for edge in edges if edge.to_stage == stage.number and edge.backlog]
    if not waiting:
        return f"{busy}, with no input queued"
    most = max(waiting, key=lambda edge: edge.backlog_bytes)
    source = f"table {most.from_table}" if most.from_table is not None else f"edge {most.id.partition('-')[0]}"
    size = f"{most.backlog_bytes / 1e6:.1f} MB"
    return f"{busy}, with {_counted(most.backlog, most.unit)} ({size}) of {source} queued"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"
