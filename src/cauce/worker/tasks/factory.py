"""Creates the task of a lease."""

from __future__ import annotations

from cauce.job.topology import TaskSpec
from cauce.worker.tasks.fold_task import FoldTask
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.source_task import SourceTask
from cauce.worker.tasks.task import Task


def make_task(context: JobContext, spec: TaskSpec) -> Task:
    return SourceTask(context, spec) if spec.stage.table is not None else FoldTask(context, spec)
