"""Joins and explodes in slices of bounded size, with the same rows in the same order as in one piece.

Used when the result is far larger than the inputs. Size is counted in cells: a row, or an element of a list in it.
Lists are copied with their rows, texts are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cauce.operators.join import Build, LookupJoin, gather, join, list_cells
from cauce.operators.late import Late, Rows

SLICE_CELLS = 1 << 20
"""Maximum cells of a slice. A single row with more is a slice of its own."""

_FEW_MATCHES = 16
"""A join with at most this many matches per row is at most this many times larger than its left side."""
_FEW_SLICES = 8
"""If a join with few matches has at most this many slices, counting its rows first does not pay."""


@dataclass(frozen=True)
class Expansion:
    """Pairs row i of `left` with the rows `order[firsts[i] : firsts[i] + counts[i]]` of `others`."""

    left: Late
    others: pl.DataFrame
    order: Rows
    """Row numbers of `others`; -1 stands for a row of nulls."""
    firsts: Rows
    counts: Rows
    left_cells: Rows
    cells: Rows
    """Cells of all output rows of each left row."""
    slice_cells: int

    def __iter__(self) -> Iterator[Late]:
        starts = np.cumsum(self.counts) - self.counts
        for start, end in self._ranges(starts):
            yield self._slice(starts, start, end)

    def _ranges(self, starts: Rows) -> Iterator[tuple[int, int]]:
        """Row ranges of the result, split between rows of the left side where possible."""
        ends = np.cumsum(self.cells)
        row = 0
        while row < len(ends):
            before = int(ends[row - 1]) if row else 0
            after = int(np.searchsorted(ends, before + self.slice_cells, "right"))
            if after > row:
                end = int(starts[after - 1] + self.counts[after - 1])
                yield int(starts[row]), end
                row = after
                continue
            step = max(self.slice_cells // (1 + int(self.left_cells[row])), 1)
            first, last = int(starts[row]), int(starts[row] + self.counts[row])
            yield from ((start, min(start + step, last)) for start in range(first, last, step))
            row += 1

    def _slice(self, starts: Rows, start: int, end: int) -> Late:
        first = int(np.searchsorted(starts, start, "right")) - 1
        last = int(np.searchsorted(starts, end, "left"))
        ends = np.minimum(starts[first:last] + self.counts[first:last], end)
        sizes = np.maximum(ends - np.maximum(starts[first:last], start), 0)
        index = np.repeat(np.arange(first, last, dtype=np.int64), sizes)
        matches = self.order[self.firsts[index] + np.arange(start, end) - starts[index]]
        return self.left.take(index, gather(self.others, matches))


def expanding_join(
    left: Late, columns: Sequence[str], right: Build, how: LookupJoin, slice_cells: int
) -> Expansion | None:
    """The join in slices; None if its result fits in one slice. `columns` of the left side are built once, before
    their rows are repeated."""
    if how in ("semi", "anti") or _certainly_small(left.height, right, slice_cells):
        return None
    rows = left if how == "left" else left.take(right.matching(left))
    built = rows.frame([*columns, *right.on])
    groups = right.groups(built)
    # A row without a match gets the group after the last one: no rows, or one of nulls.
    counts = np.append(right.counts, 1 if how == "left" else 0)[groups]
    left_cells = list_cells(built)
    cells = counts * (1 + left_cells) + np.append(right.cells, 0)[groups]
    if cells.sum() <= slice_cells:
        return None
    firsts = np.append(np.cumsum(right.counts) - right.counts, len(right.order))[groups]
    order = np.append(right.order, -1)
    return Expansion(Late(built), right.others, order, firsts, counts, left_cells, cells, slice_cells)


LEFT_ROW = "#left"
"""The number of a row of the left side."""


def residual_join(
    left: Late,
    columns: Sequence[str],
    blocks: Iterable[Build],
    how: LookupJoin,
    predicates: Sequence[pl.Expr],
    cells: int,
) -> Iterator[Late]:
    """Joins rows with those of the right side, given in one or several blocks, that have equal keys and satisfy
    predicates on both sides, in slices of at most `cells` cells. Rows of the left side without a match come last. The
    column `LEFT_ROW` numbers the rows of the left side."""
    numbered = left.beside(pl.DataFrame({LEFT_ROW: np.arange(left.height, dtype=np.int64)}))
    found = np.zeros(left.height, dtype=np.bool_)
    others = pl.DataFrame()
    for right in blocks:
        others = right.others.clear()
        expansion = expanding_join(numbered, [*columns, LEFT_ROW], right, "inner", cells)
        for pairs in [join(numbered, right, "inner")] if expansion is None else expansion:
            kept = pairs.filter(predicates)
            found[kept.frame([LEFT_ROW]).to_series().to_numpy()] = True
            if how in ("inner", "left"):
                yield kept
    if how != "inner":
        chosen = np.flatnonzero(found if how == "semi" else ~found).astype(np.int64)
        yield numbered.take(chosen, others.clear(len(chosen)) if how == "left" else None)


def batched(pieces: Iterable[Late], columns: Callable[[Late], Sequence[str]], rows: int) -> Iterator[Late]:
    """Pieces that are put together until they have so many rows."""
    held: list[Late] = []
    for piece in pieces:
        held.append(piece)
        if sum(each.height for each in held) >= rows:
            yield _together(held, columns)
            held = []
    if held:
        yield _together(held, columns)


def _together(pieces: Sequence[Late], columns: Callable[[Late], Sequence[str]]) -> Late:
    return pieces[0] if len(pieces) == 1 else Late(pl.concat([each.frame(columns(each)) for each in pieces]))


def in_left_order(pieces: Iterable[Late], columns: Sequence[str]) -> Late:
    """All rows of a residual join, in the order of the left side; the matches of one row keep their order."""
    joined = pl.concat([each.frame([*columns, LEFT_ROW]) for each in pieces])
    return Late(joined.sort(LEFT_ROW, maintain_order=True).drop(LEFT_ROW))


def _certainly_small(height: int, right: Build, slice_cells: int) -> bool:
    """Cheap upper bound: whether the join of `height` rows fits in one slice or adds no rows."""
    rows = height * right.most
    few = right.unique or (right.most <= _FEW_MATCHES and rows <= _FEW_SLICES * slice_cells)
    return few and rows * right.widest <= slice_cells


def expanding_explode(rows: Late, column: str, carried: Sequence[str], slice_cells: int) -> Expansion | None:
    """The explode in slices; None if its result fits in one slice. It can be far larger than its input only if other
    list columns are carried along."""
    beside = rows.frame([name for name in carried if name != column])
    left_cells = list_cells(beside)
    if not left_cells.any():
        return None
    lists = rows.frame([column])
    counts = list_cells(lists)
    cells = counts * (1 + left_cells)
    if cells.sum() <= slice_cells:
        return None
    elements = lists.filter(pl.Series(counts > 0)).explode(column)
    order = np.arange(elements.height, dtype=np.int64)
    return Expansion(Late(beside), elements, order, np.cumsum(counts) - counts, counts, left_cells, cells, slice_cells)
