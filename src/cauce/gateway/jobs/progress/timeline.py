"""Timeline of a job, derived from its logs, so that it is available after the job has ended."""

from __future__ import annotations

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
    for stage in view.topology.plan.stages if view.plan_problem() is None else ():
        tasks = [task.number for task in view.topology.tasks if task.stage is stage]
        progress = [view.history.progress[task] for task in tasks if task in view.history.progress]
        if progress and len(progress) == len(tasks) and all(each.finished for each in progress):
            yield TimelineEvent(max(each.at for each in progress), "finished", stage_title(stage))
    if view.outcome is not None:
        yield TimelineEvent(view.outcome.at, view.state, without_folders(view.outcome.cause))
