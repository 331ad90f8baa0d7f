"""Quantiles of more values than the memory holds, under one key: sorts the values in temporary files, and keeps those
that the result depends on."""

from __future__ import annotations

import polars as pl

from cauce.operators.aggregates.lists import Ranked
from cauce.operators.order import SortKey
from cauce.operators.weight import weigh
from cauce.plan.nodes import Final
from cauce.process.progress import tick
from cauce.worker.edge_input import Collected
from cauce.worker.memory.external_sort import ExternalSort
from cauce.worker.memory.ranges import EdgeRange
from cauce.worker.memory.spill import Spill


def ranked_state(spill: Spill, found: EdgeRange, name: str, piece_bytes: int) -> pl.DataFrame | None:
    """The merged state of the only group of an edge, trimmed. None if the edge has no quantiles, several groups, or
    other states that exceed the memory."""
    merge = found.edge.merge
    if not isinstance(merge, Final):
        return None
    ranked = {column: each for column, each in merge.aggregates.items() if isinstance(each, Ranked)}
    if not ranked:
        return None
    sorts = {
        column: _Values(ExternalSort(spill, f"{name}.{number}", (SortKey(column),), piece_bytes // 2))
        for number, column in enumerate(ranked)
    }
    others = Collected(found.edge, piece_bytes, found.longest)
    for record, frame in found.read():
        if frame.height > 1:
            return None
        for column, values in sorts.items():
            values.add(frame[column])
        empty = [pl.lit([], dtype=frame.schema[column]).alias(column) for column in ranked]
        rest = frame.with_columns(empty)
        others.add(record, rest, weigh(rest))
        if others.weight > piece_bytes:
            return None
        tick()
    state = others.frame()
    if state.height != 1 or others.weight > piece_bytes:
        return None
    for column, each in ranked.items():
        values = sorts[column]
        kept = pl.Series(column, [values.picked(each)], dtype=state.schema[column])
        state = state.with_columns(kept, pl.lit(values.count, dtype=pl.Int64).alias(each.count_column(column)))
    return state


class _Values:
    """The values of one aggregate."""

    def __init__(self, sort: ExternalSort) -> None:
        self._sort = sort
        self.count = 0

    def add(self, lists: pl.Series) -> None:
        values = lists.explode().drop_nulls().to_frame()
        self.count += values.height
        if values.height:
            self._sort.add(values)

    def picked(self, aggregate: Ranked) -> list[object]:
        """The values that the aggregate depends on; empty if there are none."""
        if not self.count:
            return []
        wanted = [*aggregate.ranks(self.count), self.count - 1]
        found: dict[int, object] = {}
        for first, piece in self._sort.around(wanted):
            found |= {rank: piece.item(rank - first, 0) for rank in wanted if first <= rank < first + piece.height}
        return [found[rank] for rank in wanted]
