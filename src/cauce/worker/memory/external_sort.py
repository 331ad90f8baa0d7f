"""Sorts any number of rows in bounded memory: sorted runs in temporary files, merged by ranges of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from cauce.job.frames import dump_frame, load_frame
from cauce.operators.order import SortKey, sort_rows
from cauce.operators.weight import weigh
from cauce.process.progress import tick
from cauce.worker.memory.spill import Spill

_BLOCK, _MARKER = "#block", "#marker"
_RUN_BLOCKS = 128
"""Blocks of a run: the first row of each is a sample."""
_RANGE_BLOCKS = 64
"""A range of values has about this many blocks, and at most one more of each run."""


@dataclass(frozen=True)
class _Block:
    offset: int
    is_last: bool
    """Whether it is the last one of its run."""


class ExternalSort:
    """Rows in the order of `sort_rows`. Holds about twice `run_bytes` of them at a time."""

    def __init__(self, spill: Spill, name: str, by: Sequence[SortKey], run_bytes: int) -> None:
        self._spill = spill
        self._name = name
        self._by = by
        self._run_bytes = run_bytes
        self._held: list[pl.DataFrame] = []
        self._held_bytes = 0
        self._blocks: list[_Block] = []
        self._firsts: list[pl.DataFrame] = []

    def add(self, frame: pl.DataFrame) -> None:
        self._held.append(frame)
        self._held_bytes += weigh(frame)
        if self._held_bytes > self._run_bytes:
            self._write_run()

    def _write_run(self) -> None:
        rows = sort_rows(pl.concat(self._held), self._by)
        self._held, self._held_bytes = [], 0
        size = max(-(-rows.height // _RUN_BLOCKS), 1)
        for start in range(0, rows.height, size):
            block = rows.slice(start, size)
            offset = self._spill.append(self._name, dump_frame(block))
            self._blocks.append(_Block(offset, start + size >= rows.height))
            # A copy: a slice would keep the whole run in memory.
            self._firsts.append(load_frame(dump_frame(block.head(1))))
            tick()

    def sorted(self) -> Iterator[pl.DataFrame]:
        """All rows in order."""
        if not self._blocks:
            yield sort_rows(pl.concat(self._held), self._by)
            return
        if self._held_bytes:
            self._write_run()
        samples = _Samples(pl.concat(self._firsts), self._by)
        for low, high in samples.bounds():
            yield from self._constant(samples, low)
            loaded = [load_frame(self._spill.read_at(self._name, self._blocks[each].offset))
                      for each in self._overlapping(samples, low, high)]  # fmt: skip
            if loaded:
                yield self._between(pl.concat(loaded), samples.row(low), samples.row(high))
            tick()

    def _constant(self, samples: _Samples, low: int | None) -> Iterator[pl.DataFrame]:
        """Blocks of rows that all equal the lower bound: there may be any number of them."""
        for number, block in enumerate(self._blocks):
            if self._is_constant(samples, number, low):
                yield load_frame(self._spill.read_at(self._name, block.offset))

    def _is_constant(self, samples: _Samples, number: int, low: int | None) -> bool:
        if low is None or self._blocks[number].is_last:
            return False
        return samples.groups[number] == samples.groups[number + 1] == samples.group_at(low)

    def _overlapping(self, samples: _Samples, low: int | None, high: int | None) -> Iterator[int]:
        """Numbers of the blocks with rows from the lower bound on and before the upper one."""
        for number, block in enumerate(self._blocks):
            starts_before = high is None or samples.ranks[number] < high
            ends_after = low is None or block.is_last or samples.ranks[number + 1] >= low
            if starts_before and ends_after and not self._is_constant(samples, number, low):
                yield number

    def _between(self, rows: pl.DataFrame, low: pl.DataFrame | None, high: pl.DataFrame | None) -> pl.DataFrame:
        """The rows that are not before `low` and before `high`, in order."""
        marked = [rows.with_columns(pl.lit(1, dtype=pl.Int8).alias(_MARKER))]
        marked += [
            each.with_columns(pl.lit(0, dtype=pl.Int8).alias(_MARKER)) for each in (low, high) if each is not None
        ]
        ordered = sort_rows(pl.concat(marked), self._by)
        marks = (ordered[_MARKER] == 0).arg_true().to_list()
        first = marks[0] + 1 if low is not None else 0
        last = marks[-1] if high is not None else ordered.height
        return ordered.slice(first, last - first).drop(_MARKER)


class _Samples:
    """The first rows of all blocks, and their order."""

    def __init__(self, firsts: pl.DataFrame, by: Sequence[SortKey]) -> None:
        numbered = firsts.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_BLOCK))
        # Equal rows are in the order of their blocks.
        self._ordered = sort_rows(numbered, by)
        order = self._ordered[_BLOCK].to_list()
        columns = [pl.col(name).ne_missing(pl.col(name).shift()) for name in firsts.columns]
        changes = self._ordered.select(pl.any_horizontal(columns)).to_series()
        self._group_of_rank: list[int] = changes.cast(pl.Int64).cum_sum().to_list()
        self.ranks = [0] * len(order)
        self.groups = [0] * len(order)
        """Equal rows have the same group."""
        for rank, number in enumerate(order):
            self.ranks[number] = rank
            self.groups[number] = self._group_of_rank[rank]

    def group_at(self, rank: int) -> int:
        return self._group_of_rank[rank]

    def row(self, rank: int | None) -> pl.DataFrame | None:
        return None if rank is None else self._ordered.slice(rank, 1).drop(_BLOCK)

    def bounds(self) -> Iterator[tuple[int | None, int | None]]:
        """Ranges of values, as the ranks of their first samples: none is within equal rows."""
        starts = [self._group_of_rank.index(self._group_of_rank[rank])
                  for rank in range(_RANGE_BLOCKS, len(self.ranks), _RANGE_BLOCKS)]  # fmt: skip
        kept: list[int | None] = [None, *(start for start in dict.fromkeys(starts) if start), None]
        yield from pairwise(kept)
