"""Hash joins of batches with a complete build side. A null key matches nothing, or another null if they are equal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from cauce.errors import PlanError
from cauce.operators.equal_join import equal_join
from cauce.operators.integer_build import IntegerKeys, KeyCombination
from cauce.operators.late import Late, Rows, without
from cauce.scan.csv.lookup import TextSet

LookupJoin = Literal["inner", "left", "semi", "anti"]
"""Joins that look up the rows of one side in the other. The planner expresses all kinds of joins by these."""
_ROW = "#row"


class Build:
    """The complete build side of a join, prepared once and probed by many batches."""

    def __init__(self, frame: pl.DataFrame, on: Sequence[str], nulls_equal: bool = False) -> None:
        self.on = list(on)
        self.frame = frame
        self.nulls_equal = nulls_equal
        drops = not nulls_equal and any(frame.get_column(name).null_count() for name in self.on)
        self._keyed = frame.drop_nulls(self.on) if drops else frame
        self.others = without(self._keyed, self.on)
        only = self._only
        self._texts = TextSet(self.keys.to_series()) if only is not None and only.dtype == pl.String else None

    @property
    def _only(self) -> pl.Series | None:
        """The key, if it is a single one."""
        return self._keyed.get_column(self.on[0]) if len(self.on) == 1 and not self.nulls_equal else None

    @cached_property
    def _integers(self) -> IntegerKeys | None:
        if self._only is not None:
            return IntegerKeys.of(self._only)
        return None if self._combination is None else IntegerKeys.of(self._combination.keys(self._keyed))

    @cached_property
    def _combination(self) -> KeyCombination | None:
        """How several integer keys become one."""
        return None if self.nulls_equal or len(self.on) == 1 else KeyCombination.of(self._keyed, self.on)

    def _integer_keys(self, frame: pl.DataFrame) -> pl.Series:
        """The key of each row, if `_integers` has those of the right side."""
        return frame.get_column(self.on[0]) if self._combination is None else self._combination.keys(frame)

    @cached_property
    def keys(self) -> pl.DataFrame:
        return self._keyed.select(self.on).unique(maintain_order=True)

    @cached_property
    def unique(self) -> bool:
        return self.keys.height == self._keyed.height if self._integers is None else self._integers.most <= 1

    @property
    def _key_count(self) -> int:
        """Keys are numbered from 0 to before this."""
        return self.keys.height if self._integers is None else self._integers.size

    def matching(self, rows: Late) -> Rows:
        """The indexes of the rows that have a match."""
        if self._integers is not None:
            return self._integers.matching(self._integer_keys(rows.frame(self.on)))
        if self._texts is not None:
            return np.flatnonzero(rows.find(self.on[0], self._texts))
        keys = rows.frame(self.on).with_row_index(_ROW)
        found = equal_join(keys, self.keys, self.on, "semi", nulls_equal=self.nulls_equal)
        return _indexes(found)

    def matched(self, rows: Late) -> Late:
        """The rows that have a match. A key that is a text is taken from the right side: it need not be built, and its
        number is known."""
        if self._integers is not None or self._texts is None:
            return rows.take(self.matching(rows))
        found = rows.find(self.on[0], self._texts)
        index = np.flatnonzero(found)
        return rows.matched(index, self.keys, found[index].astype(np.int64) - 1)

    def beside(self, rows: Late) -> Late | None:
        """Fast inner join by a unique key, a text or integers: matches are gathered by row number. None if the
        join has another shape."""
        if not self.others.width or not self.unique:
            return None
        if self._integers is not None:
            index, numbers = self._integers.rows(self._integer_keys(rows.frame(self.on)))
        elif self._texts is not None:
            found = rows.find(self.on[0], self._texts)
            index = np.flatnonzero(found)
            numbers = found[index].astype(np.int64) - 1
        else:
            return None
        return rows.joined(index, self.others, numbers)

    def pairs(self, rows: Late, *, keep_all: bool) -> Late | None:
        """Fast join by integer keys. With `keep_all`, rows without a match are kept. None for other keys."""
        if self._integers is None:
            return None
        left, right = self._integers.pairs(self._integer_keys(rows.frame(self.on)), keep_all=keep_all)
        return rows.take(left, gather(self.others, right))

    # Used only if a join may become far larger than its sides.

    def groups(self, frame: pl.DataFrame) -> Rows:
        """The key number of each row of a frame; one past the last if the row matches no key."""
        if self._integers is not None:
            slots = self._integers.slots(self._integer_keys(frame))
            return np.where(self._integers.counts[slots] > 0, slots, self._integers.size)
        numbered = self.keys.with_row_index(_ROW)
        keys = frame.select(self.on)
        found = equal_join(keys, numbered, self.on, "left", nulls_equal=self.nulls_equal)
        return found[_ROW].cast(pl.Int64).fill_null(self.keys.height).to_numpy()

    @cached_property
    def _groups(self) -> Rows:
        return self.groups(self._keyed)

    @cached_property
    def counts(self) -> Rows:
        """The number of rows of each key."""
        return np.bincount(self._groups, minlength=self._key_count).astype(np.int64)

    @cached_property
    def order(self) -> Rows:
        """Row numbers grouped by key, without null keys."""
        return np.argsort(self._groups, kind="stable").astype(np.int64)

    @cached_property
    def most(self) -> int:
        """The maximum number of rows of a key."""
        if self._integers is not None:
            return self._integers.most
        return 1 if self.unique else int(self._keyed.group_by(self.on).len()["len"].max() or 1)  # type: ignore[arg-type]

    @cached_property
    def _row_cells(self) -> Rows:
        return list_cells(self.others)

    @cached_property
    def cells(self) -> Rows:
        """The total number of list elements in the rows of each key."""
        return np.bincount(self._groups, self._row_cells, self._key_count).astype(np.int64)

    @cached_property
    def widest(self) -> int:
        """The maximum number of list elements of a row."""
        has_lists = any(isinstance(dtype, pl.List) for dtype in self.others.dtypes)
        return int(self._row_cells.max(initial=0)) if has_lists else 0


def gather(frame: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """The rows of a frame with these numbers; a row of nulls for -1."""
    if not frame.width or not len(rows) or rows.min() >= 0:
        return frame[rows]
    index = pl.Series(rows)
    return frame.select(pl.all().gather(index.set(index < 0, None)))


def list_cells(frame: pl.DataFrame) -> Rows:
    """The total number of list elements of each row."""
    total = np.zeros(frame.height, dtype=np.int64)
    for column in frame:
        if isinstance(column.dtype, pl.List):
            total += column.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    return total


def _indexes(frame: pl.DataFrame) -> Rows:
    return frame[_ROW].to_numpy().astype(np.int64)


def join(left: Late, right: Build, how: LookupJoin) -> Late:
    """Joins in the order of the left side; the matches of one row keep the order of the right side."""
    if how == "anti":
        found = np.zeros(left.height, dtype=np.bool_)
        found[right.matching(left)] = True
        return left.take(np.flatnonzero(~found).astype(np.int64))
    adds_nothing = how == "inner" and right.frame.width == len(right.on) and right.unique
    if how == "semi" or adds_nothing:
        return right.matched(left)
    if how == "inner" and (beside := right.beside(left)) is not None:
        return beside
    if (pairs := right.pairs(left, keep_all=how == "left")) is not None:
        return pairs
    if how == "inner":
        left = left.take(right.matching(left))
    keys = left.frame(right.on).with_row_index(_ROW)
    how_polars: Literal["inner", "left"] = "left" if how == "left" else "inner"
    joined = equal_join(keys, right.frame, right.on, how_polars, nulls_equal=right.nulls_equal, order="left_right")
    return left.take(_indexes(joined), joined.drop([_ROW, *right.on]))


def attach_scalars(left: Late, scalars: pl.DataFrame, *, optional: bool = False) -> Late:
    """Every row extended by the single row of `scalars`; if it is `optional` and missing, by nulls."""
    if optional and scalars.is_empty():
        scalars = scalars.clear(1)
    if optional and scalars.height > 1:
        raise PlanError(
            "the relation given to with_scalars has more than one row; use agg(...) or limit(1) to make it one"
        )
    if scalars.height != 1:
        raise ValueError(f"a scalar side must have one row, this one has {scalars.height}")
    # A series of one value: `lit` would turn a list into one row per element.
    values = [pl.lit(scalars[name]).first().alias(name) for name in scalars.columns]
    return left.with_columns(values)
