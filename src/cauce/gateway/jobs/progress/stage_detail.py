"""One stage of a job in detail: the counters of each of its tasks, and the task that holds the others up.

A pure function of the job's logs. Sent on request for one stage: a plan may have thousands of tasks.
"""

from __future__ import annotations

from statistics import median

import msgspec

from cauce.api.jobs import ENDED
from cauce.gateway.errors import BadRequest
from cauce.gateway.jobs.progress.history import Gain
from cauce.gateway.jobs.progress.timeline import stage_title
from cauce.gateway.jobs.read_model import JobView
from cauce.job.topology import TaskSpec
from cauce.plan.explain import steps_of

SLOW_TIMES = 1.5
"""A task is slow if it was busy this many times as long as the median of its stage, and"""
SLOW_S = 0.05
"""at least this many seconds longer."""


class TaskBody(msgspec.Struct, frozen=True):
    """A lane of a scan, or a partition of another stage. Rows, bytes and seconds are totals of all workers that have
    run it, repeated work included. `rows` and `bytes` are those read from the table; `records_in` counts the batches
    read from other stages. `peak_bytes` is the most input that it was seen to hold in memory."""

    index: int
    state: str
    busy_s: float
    waiting_s: float
    rows: int
    bytes: int
    records_in: int
    rows_out: int
    bytes_out: int
    held_bytes: int
    peak_bytes: int
    spilled_bytes: int


class StageDetailBody(msgspec.Struct, frozen=True):
    """`unit` names its tasks: lane or partition. `slow` is the index of the task that was busy for much longer than the
    others, if there is one. `steps` describes the computation of each of its outputs."""

    job: str
    number: int
    name: str
    unit: str
    steps: list[str]
    tasks: list[TaskBody]
    slow: int | None
    median_busy_s: float


def stage_detail(view: JobView, job: str, number: int) -> StageDetailBody:
    stages = view.topology.plan.stages
    if not 0 <= number < len(stages):
        raise BadRequest(f"job {job} has no stage {number}; its stages are 0 to {len(stages) - 1}")
    stage = stages[number]
    totals = view.history.totals()
    tasks = [_task(view, task, totals.get(task.number, Gain())) for task in view.topology.tasks if task.stage is stage]
    middle = median([task.busy_s for task in tasks]) if tasks else 0.0
    unit = "lane" if stage.table is not None else "partition"
    slow = _slow(tasks, middle)
    return StageDetailBody(job, number, stage_title(stage), unit, steps_of(stage), tasks, slow, round(middle, 4))


def _task(view: JobView, task: TaskSpec, total: Gain) -> TaskBody:
    progress = view.history.progress.get(task.number)
    return TaskBody(
        task.index,
        _state(view, task.number),
        round(total.busy_s, 4),
        round(total.waiting_s, 4),
        total.read.rows,
        total.read.bytes,
        sum(progress.taken.values()) if progress is not None else 0,
        sum(flow.rows for flow in total.sent.values()),
        sum(flow.bytes for flow in total.sent.values()),
        progress.held_bytes if progress is not None and view.state not in ENDED else 0,
        progress.peak_bytes if progress is not None else 0,
        progress.spilled_bytes if progress is not None else 0,
    )


def _state(view: JobView, number: int) -> str:
    progress = view.history.progress.get(number)
    if number in view.failed_tasks():
        return "failed"
    if view.state == "done" or (progress is not None and progress.finished):
        return "finished"
    if view.state in ENDED:
        return "stopped"
    return "running" if progress is not None else "idle"


def _slow(tasks: list[TaskBody], middle: float) -> int | None:
    """With two tasks the median is their mean, so that one of them is slow only if it took three times the other."""
    if len(tasks) < 2:
        return None
    longest = max(tasks, key=lambda task: (task.busy_s, -task.index))
    slow = longest.busy_s >= SLOW_TIMES * middle and longest.busy_s - middle >= SLOW_S
    return longest.index if slow else None
