"""Broadcast inputs of a stage that exceed the memory: they are written to temporary files, and joined in blocks.

Whether they do depends only on their records and on the job's `broadcast_bytes`. So every holder of a task makes the
same output.
"""

from __future__ import annotations

import polars as pl

from cauce.errors import MemoryExceeded
from cauce.plan.evaluate import Received
from cauce.worker.edge_input import Intake
from cauce.worker.memory.ranges import collect_all
from cauce.worker.memory.spill import Spill
from cauce.worker.tasks.pieces import in_pieces, read_again, with_shared
from cauce.worker.tasks.task import Task


def park_large_sides(task: Task) -> None:
    """Drops the rows of the largest inputs if all of them exceed the memory. They are read again when they are
    complete. Their records are counted on."""
    sides, limit = _needed(task), _limit(task)
    if not limit or sum(each.weight for each in sides) <= limit:
        return
    for each in sides:
        if not each.parked and each.weight > limit // len(sides):
            each.park()


def has_large_sides(task: Task) -> bool:
    """Whether some of its inputs must be read again. Other tasks may have completed them."""
    park_large_sides(task)
    return any(each.parked for each in _needed(task))


def received_in_blocks(task: Task, spill: Spill) -> Received:
    """All broadcast inputs, when they are complete. If they exceed the memory together, large ones come in blocks,
    besides those that a step needs at once. Raises MemoryExceeded if these exceed it."""
    context, limit = task.context, _limit(task)
    found = [read_again(context, each.edge, 0) for each in _needed(task)]
    kept = Received(_filters(task), slice_cells=context.budget.slice_cells)
    frames = collect_all(found, limit)
    if frames is not None:
        # Another stage, which has more inputs, has parked them.
        return with_shared(kept, frames)
    stage = task.spec.stage
    blocks = [each for each in found if stage.can_stream([each.edge.number])]
    whole = collect_all([each for each in found if each not in blocks], limit)
    if whole is None or not stage.can_stream([each.edge.number for each in blocks]):
        raise _exceeded(task, limit)
    share = max(limit // len(found), 1)
    return in_pieces(spill, blocks, with_shared(kept, whole), "side", share, stage.unsorted_roots)


def _filters(task: Task) -> dict[int, pl.DataFrame]:
    """The keys of filters that were not dropped."""
    optional = task.context.topology.plan.optional_edges
    return {number: each.frame() for number, each in task.intakes.items() if number in optional and not each.parked}


def _exceeded(task: Task, limit: int) -> MemoryExceeded:
    largest = max(_needed(task), key=lambda intake: intake.weight)
    sender = next(each for each in task.context.topology.plan.stages if largest.edge in each.sends)
    return MemoryExceeded(
        f"{task.spec}: the right sides of its broadcast joins exceed the {limit // 1_000_000} MB that they may take in "
        f"each worker, and a step needs all their rows at once; the largest comes from '{sender.name}'. Join it with "
        'strategy="partition", give more with --memory, or start fewer workers'
    )


def _needed(task: Task) -> list[Intake]:
    """The broadcast inputs besides the keys of filters, which are dropped if they are too large."""
    optional = task.context.topology.plan.optional_edges
    return [each for number, each in task.intakes.items() if each.edge.spread == "broadcast" and number not in optional]


def _limit(task: Task) -> int:
    """The most that these inputs may weigh together, besides the keys of filters; 0: no limit."""
    context = task.context
    filters = context.topology.plan.optional_edges.intersection(task.spec.stage.receives)
    return context.budget.broadcast_bytes - len(filters) * context.filter_bytes
