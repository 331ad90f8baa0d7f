"""Joins of rows with a complete other side. A null key matches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from cauce.operators.late import Late, Rows
from cauce.scan.lookup import TextSet

How = Literal["inner", "left", "semi", "anti"]
_ROW = "#row"


class Build:
    """The complete side of a join, prepared once and probed by many batches."""

    def __init__(self, frame: pl.DataFrame, on: Sequence[str]) -> None:
        self.on = list(on)
        self.frame = frame
        self.keys = frame.select(self.on).unique(maintain_order=True).drop_nulls()
        one_text = len(self.on) == 1 and frame.schema[self.on[0]] == pl.String
        self._texts = TextSet(self.keys.to_series()) if one_text else None
        keyed = frame.drop_nulls(self.on)
        self._others = keyed.drop(self.on)
        self.unique = self.keys.height == keyed.height

    def matching(self, rows: Late) -> Rows:
        """Which of the rows have a partner."""
        if self._texts is not None:
            return np.flatnonzero(rows.find(self.on[0], self._texts)).astype(np.int64)
        keys = rows.frame(self.on).with_row_index(_ROW)
        return _indexes(keys.join(self.keys, on=self.on, how="semi", maintain_order="left"))

    def beside(self, rows: Late) -> Late | None:
        """An inner join by one text that no two rows share: the partners are gathered by their numbers. None where
        it is not of that kind."""
        if self._texts is None or not self.unique or not self._others.width:
            return None
        numbers = rows.find(self.on[0], self._texts)
        index = np.flatnonzero(numbers).astype(np.int64)
        if len(index) == rows.height:
            return rows.beside(self._others[numbers - 1])
        return rows.take(index, self._others[numbers[index] - 1])


def _indexes(frame: pl.DataFrame) -> Rows:
    return frame[_ROW].to_numpy().astype(np.int64)


def join(left: Late, right: Build, how: How) -> Late:
    """Rows in the order of the left side, partners of one row in the order of the right side."""
    if how == "anti":
        found = np.zeros(left.height, dtype=np.bool_)
        found[right.matching(left)] = True
        return left.take(np.flatnonzero(~found).astype(np.int64))
    if how == "inner" and (beside := right.beside(left)) is not None:
        return beside
    if how != "left":
        left = left.take(right.matching(left))
    if how == "semi" or (how == "inner" and right.unique and right.frame.width == len(right.on)):
        return left
    keys = left.frame(right.on).with_row_index(_ROW)
    how_polars: Literal["inner", "left"] = "left" if how == "left" else "inner"
    joined = keys.join(right.frame, on=right.on, how=how_polars, maintain_order="left_right")
    return left.take(_indexes(joined), joined.drop([_ROW, *right.on]))


def attach_scalars(left: Late, scalars: pl.DataFrame) -> Late:
    """Every row beside the one row of `scalars`."""
    if scalars.height != 1:
        raise ValueError(f"a scalar side must have one row, this one has {scalars.height}")
    # A series of one value, as a list given to `lit` would become a row for each of its elements.
    values = [pl.lit(scalars[name]).first().alias(name) for name in scalars.columns]
    return left.with_columns(values)
