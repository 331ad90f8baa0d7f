"""Sorts any number of rows in bounded memory: sorted runs in temporary files, merged by ranges of values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.job.frames import dump_rows, load_frame
from cauce.operators.order import SortKey, sort_rows
from cauce.operators.weight import weigh
from cauce.process.progress import tick
from cauce.worker.memory.blocks import Stored, read_blocks, write_blocks
from cauce.worker.memory.spill import Spill

_BLOCK, _MARKER = "#block", "#marker"
_RUN_BLOCKS = 128
"""Blocks of a run: the first row of each is a sample."""
_RANGE_BLOCKS = 128
"""A range of values has about this many blocks, and at most one more of each run."""

Numbers = npt.NDArray[np.int64]


class ExternalSort:
    """Rows in the order of `sort_rows`. Holds about twice `run_bytes` of them at a time."""

    def __init__(self, spill: Spill, name: str, by: Sequence[SortKey], run_bytes: int) -> None:
        self._spill = spill
        self._name = name
        self._by = by
        self._run_bytes = run_bytes
        self._held: list[pl.DataFrame] = []
        self._held_bytes = 0
        self._runs: list[_Run] = []

    def add(self, frame: pl.DataFrame) -> None:
        self._held.append(frame)
        self._held_bytes += weigh(frame)
        if self._held_bytes > self._run_bytes:
            self._write_run()

    def _write_run(self) -> None:
        rows = sort_rows(pl.concat(self._held), self._by)
        self._held, self._held_bytes = [], 0
        size = max(-(-rows.height // _RUN_BLOCKS), 1)
        stored = write_blocks(self._spill, self._name, rows, size)
        tick()
        heights = [min(size, rows.height - start) for start in range(0, rows.height, size)]
        # A copy: picked rows would keep the texts of the whole run in memory.
        self._runs.append(_Run(stored, heights, load_frame(dump_rows(rows.gather_every(size)))))

    def sorted(self) -> Iterator[pl.DataFrame]:
        """All rows in order."""
        if not self._runs:
            yield sort_rows(pl.concat(self._held), self._by)
            return
        blocks = self._blocks()
        for low, high in blocks.bounds():
            yield from self._within(blocks, low, high)

    def around(self, ranks: Collection[int]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Consecutive rows in order, with the rank of the first one: all those with one of these ranks are among them.
        Reads few of the others."""
        if not self._runs:
            yield 0, sort_rows(pl.concat(self._held), self._by)
            return
        blocks = self._blocks()
        for low, high in blocks.bounds():
            first, last = blocks.rows_before(low)[0], blocks.rows_before(high)[1]
            if any(first <= rank < last for rank in ranks):
                rank = self._rank(blocks, low)
                for piece in self._within(blocks, low, high):
                    yield rank, piece
                    rank += piece.height

    def _blocks(self) -> _Blocks:
        if self._held_bytes:
            self._write_run()
        return _Blocks(self._runs, self._by)

    def _rank(self, blocks: _Blocks, low: int | None) -> int:
        """The number of rows before a bound."""
        before = blocks.rows_before(low)[0]
        loaded = self._load(blocks, blocks.across(low))
        return before + (self._between(loaded, None, blocks.row(low)).height if loaded is not None else 0)

    def _within(self, blocks: _Blocks, low: int | None, high: int | None) -> Iterator[pl.DataFrame]:
        for number in blocks.constant(low):
            yield read_blocks(self._spill, self._name, [blocks.stored[number]])
            tick()
        loaded = self._load(blocks, blocks.overlapping(low, high))
        if loaded is not None:
            yield self._between(loaded, blocks.row(low), blocks.row(high))
        tick()

    def _load(self, blocks: _Blocks, numbers: Numbers) -> pl.DataFrame | None:
        found = [blocks.stored[number] for number in numbers]
        return read_blocks(self._spill, self._name, found) if found else None

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


@dataclass(frozen=True)
class _Run:
    """Sorted rows in blocks: where they are, their numbers of rows, and the first row of each."""

    stored: list[Stored]
    heights: list[int]
    firsts: pl.DataFrame


class _Blocks:
    """The blocks of all runs, and the order of their first rows, the samples. A bound is the rank of a sample that
    differs from the one before; None is the start or the end of all rows."""

    def __init__(self, runs: Sequence[_Run], by: Sequence[SortKey]) -> None:
        self.stored = [each for run in runs for each in run.stored]
        self._heights = np.array([height for run in runs for height in run.heights])
        is_last = np.zeros(len(self.stored), dtype=bool)
        is_last[np.cumsum([len(run.stored) for run in runs]) - 1] = True
        firsts = pl.concat([run.firsts for run in runs])
        numbered = firsts.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_BLOCK))
        # Equal rows are in the order of their blocks.
        self._ordered = sort_rows(numbered, by)
        order = self._ordered[_BLOCK].to_numpy()
        columns = [pl.col(name).ne_missing(pl.col(name).shift()) for name in firsts.columns]
        changes = self._ordered.select(pl.any_horizontal(columns)).to_series()
        self._group_of_rank = changes.cast(pl.Int64).cum_sum().to_numpy()
        """Equal rows have the same group."""
        count = len(order)
        self._ranks = np.empty(count, dtype=np.int64)
        self._ranks[order] = np.arange(count)
        self._next_ranks = np.where(is_last, count, np.roll(self._ranks, -1))
        """Of the sample after each block: no row of the block is after it."""
        groups = self._group_of_rank[self._ranks]
        self._constant_group = np.where(is_last | (groups != np.roll(groups, -1)), -1, groups)
        """The group of all rows of a block, if they are equal; else -1."""

    def row(self, bound: int | None) -> pl.DataFrame | None:
        return None if bound is None else self._ordered.slice(bound, 1).drop(_BLOCK)

    def bounds(self) -> Iterator[tuple[int | None, int | None]]:
        """Ranges of values between two bounds."""
        groups = self._group_of_rank
        starts = [
            int(np.searchsorted(groups, groups[rank])) for rank in range(_RANGE_BLOCKS, len(groups), _RANGE_BLOCKS)
        ]
        kept: list[int | None] = [None, *dict.fromkeys(starts), None]
        yield from pairwise(kept)

    def constant(self, low: int | None) -> Numbers:
        """Blocks of rows that all equal the lower bound: there may be any number of them."""
        return np.flatnonzero(self._is_constant(low))

    def _is_constant(self, low: int | None) -> npt.NDArray[np.bool_]:
        equal: npt.NDArray[np.bool_] = self._constant_group == (-2 if low is None else self._group_of_rank[low])
        return equal

    def overlapping(self, low: int | None, high: int | None) -> Numbers:
        """Other blocks with rows from the lower bound on and before the upper one."""
        starts_before = self._ranks < (len(self._ranks) if high is None else high)
        ends_after = self._next_ranks >= (-1 if low is None else low)
        return np.flatnonzero(starts_before & ends_after & ~self._is_constant(low))

    def across(self, bound: int | None) -> Numbers:
        """Blocks that start before the bound and may have rows after it."""
        if bound is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero((self._ranks < bound) & (self._next_ranks >= bound))

    def rows_before(self, bound: int | None) -> tuple[int, int]:
        """At least and at most how many rows are before the bound; for None, as an upper one, all of them."""
        if bound is None:
            return 0, int(self._heights.sum())
        least = int(self._heights[self._next_ranks < bound].sum())
        return least, least + int(self._heights[self.across(bound)].sum())
