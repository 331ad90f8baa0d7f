"""Timeline of a job, derived from its logs, so that it is available after the job has ended."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from cauce.gateway.jobs.read_model import JobView
from cauce.gateway.public_text import without_folders
from cauce.plan.physical import Stage


class TimelineEvent(msgspec.Struct, frozen=True):
    at: float
    what: str
    about: str


def stage_title(stage: Stage) -> str:
    """The name of a stage for people: a table is called as in statements."""
    return stage.name if stage.table is None else stage.name.replace(stage.table.name, stage.table.shown, 1)


def timeline_events(view: JobView) -> list[TimelineEvent]:
    """The events of a job, by time."""
    return sorted(_all(view), key=lambda each: each.at)


def _all(view: JobView) -> Iterator[TimelineEvent]:
    yield TimelineEvent(view.manifest.created, "created", "")
    for table, receipts in view.receipts.items():
        if receipts.first_at:
            yield TimelineEvent(receipts.first_at, "first part", f"of {table}")
        if receipts.complete is not None and receipts.completed_at:
            parts = f"{receipts.complete} part{'' if receipts.complete == 1 else 's'}"
            yield TimelineEvent(receipts.completed_at, "completed", f"{table} with {parts}")
    for stage, at in finish_times(view) if view.plan_problem() is None else ():
        yield TimelineEvent(at, "finished", stage_title(stage))
    if view.outcome is not None:
        yield TimelineEvent(view.outcome.at, view.state, without_folders(view.outcome.cause))


def finish_times(view: JobView) -> list[tuple[Stage, float]]:
    """When each stage finished. Workers report it some time later, so that a stage may be reported after one that reads
    all its output, or after the end of the job: then it counts from that time."""
    plan = view.topology.plan
    ended = math.inf if view.outcome is None else view.outcome.at
    # By edge: when its reader finished.
    read: dict[int, float] = {}
    found: list[tuple[Stage, float]] = []
    for stage in reversed(plan.stages):
        at = min(_reported(view, stage), ended, *(read.get(edge.number, math.inf) for edge in stage.sends))
        read |= dict.fromkeys(set(stage.receives) - plan.optional_edges, at)
        if at < math.inf and _reported(view, stage) < math.inf:
            found.append((stage, at))
    return found[::-1]


def _reported(view: JobView, stage: Stage) -> float:
    """When workers had reported all tasks of a stage as finished; infinity if they have not."""
    tasks = [task.number for task in view.topology.tasks if task.stage is stage]
    progress = [view.history.progress.get(task) for task in tasks]
    reported = [each.at for each in progress if each is not None and each.finished]
    return max(reported) if reported and len(reported) == len(tasks) else math.inf
