"""The answer of a query whose rows exceed the memory: sorted in temporary files, sent page by page."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from cauce.plan.evaluate import Evaluator, Received, answer, shaped
from cauce.plan.nodes import Sort
from cauce.plan.physical import Result
from cauce.worker.memory.external_sort import ExternalSort
from cauce.worker.memory.ranges import Range, collect_all
from cauce.worker.memory.spill import Spill
from cauce.worker.tasks.outputs import PageOutput
from cauce.worker.tasks.split_fold import received_in_pieces
from cauce.worker.tasks.task import Task

_SAVED_PAGES = 100
"""Pages between two records of the progress."""


def send_sorted(
    task: Task,
    spill: Spill,
    found: Range,
    shared: dict[int, pl.DataFrame],
    output: PageOutput,
    save: Callable[[int], None],
) -> None:
    """Sends all pages of an answer. `save` stores durably how many pages are in the log."""
    result, fold_bytes = task.spec.stage.result, task.context.budget.fold_bytes
    assert result is not None
    frames = collect_all(found, fold_bytes)
    if frames is not None:
        output.add(answer(result, Received({**shared, **frames})))
        return
    saved = output.pages
    for frame in _sorted(task, spill, found, shared, result).sorted():
        output.add(shaped(result, frame))
        if output.pages - saved >= _SAVED_PAGES:
            task.flush()
            save(output.pages)
            saved = output.pages


def _sorted(task: Task, spill: Spill, found: Range, shared: dict[int, pl.DataFrame], result: Result) -> ExternalSort:
    node, by = (result.node.child, result.node.by) if isinstance(result.node, Sort) else (result.node, ())
    received = received_in_pieces(task, spill, found, shared, "answer", (node,))
    evaluator = Evaluator(received)
    sorter = ExternalSort(spill, "sorted", by, task.context.budget.fold_bytes // 2)
    for rows in evaluator.pieces(node):
        sorter.add(node.output(rows))
    return sorter
