"""The answer of a query whose rows exceed the memory: sorted in temporary files, sent page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from cauce.plan.evaluate import Evaluator, Received, Stream, answer, shaped
from cauce.plan.nodes import Concat, Node, Receive, Sort
from cauce.plan.nodes.base import Narrow
from cauce.plan.nodes.inputs import received_by
from cauce.plan.physical import Result
from cauce.worker.memory.external_sort import ExternalSort
from cauce.worker.memory.ranges import EdgeRange, Range, collect_all
from cauce.worker.memory.spill import Spill
from cauce.worker.tasks.outputs import PageOutput
from cauce.worker.tasks.pieces import with_shared
from cauce.worker.tasks.split_fold import received_in_pieces, whole_input
from cauce.worker.tasks.task import Task

_SAVED_PAGES = 100
"""Pages between two records of the progress."""


def send_at_once(task: Task, shared: Received, output: PageOutput) -> bool:
    """Sends all pages of an answer if its input fits into the memory; else returns false."""
    result = task.spec.stage.result
    assert result is not None
    frames = collect_all(whole_input(task), task.context.budget.fold_bytes)
    if frames is None:
        return False
    output.add(answer(result, with_shared(shared, frames)))
    return True


def send_sorted(task: Task, spill: Spill, shared: Received, output: PageOutput, save: Callable[[int], None]) -> None:
    """Sends all pages of an answer. `save` stores durably how many pages are in the log."""
    result = task.spec.stage.result
    assert result is not None
    saved = output.pages
    for frame in _sorted(task, spill, shared, result).sorted():
        output.add(shaped(result, frame))
        if output.pages - saved >= _SAVED_PAGES:
            task.flush()
            save(output.pages)
            saved = output.pages


def _sorted(task: Task, spill: Spill, shared: Received, result: Result) -> ExternalSort:
    node, by = (result.node.child, result.node.by) if isinstance(result.node, Sort) else (result.node, ())
    found = whole_input(task)
    if _is_by_row(node, found):
        # The rows are sorted by all columns, so the order in which they are read has no effect.
        streams = {each.edge.number: _as_read(each) for each in found}
        received = Received(shared.frames, {**shared.streams, **streams}, shared.slice_cells)
    else:
        received = received_in_pieces(task, spill, found, shared, "answer", (node,))
    evaluator = Evaluator(received)
    sorter = ExternalSort(spill, "sorted", by, task.context.budget.fold_bytes // 2)
    for rows in evaluator.pieces(node):
        sorter.add(node.output(rows))
    return sorter


def _is_by_row(node: Node, found: Range) -> bool:
    """Whether the output for each row of these inputs is independent of their other rows."""
    edges = {each.edge.number for each in found if each.edge.merge is None}
    if len(edges) < len(found):
        return False
    if isinstance(node, Receive):
        return node.edge in edges
    if isinstance(node, Concat):
        return all(_is_by_row(child, found) for child in node.inputs)
    first, *others = node.inputs or (None,)
    alone = all(received.edge not in edges for other in others for received in received_by(other))
    return isinstance(node, Narrow) and first is not None and alone and _is_by_row(first, found)


def _as_read(found: EdgeRange) -> Stream:
    def read() -> Iterator[pl.DataFrame]:
        return (frame for _, frame in found.read())

    return read
