"""Narrow operators: select and explode. Each processes one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from cauce.operators.late import Late
from cauce.operators.order import POSITION


def select(rows: Late, expressions: Sequence[pl.Expr], keep_position: bool) -> Late:
    """Projects to these columns. Plain columns are built only when they are read."""
    computed = [expression for expression in expressions if not expression.meta.is_column()]
    if not computed:
        return rows
    extra = [pl.col(POSITION)] if keep_position else []
    return Late(rows.evaluate([*expressions, *extra]))


def convert(rows: Late, expressions: Sequence[pl.Expr], keep_position: bool) -> Late:
    """As `select`, for cheap expressions of one column each: they are computed when they are read, for the rows that
    are left then."""
    kept = [each.meta.output_name() for each in expressions if each.meta.is_column()]
    computed = {each.meta.output_name(): each for each in expressions if not each.meta.is_column()}
    if not computed:
        return rows
    made = rows.converted(computed, [*kept, POSITION])
    return select(rows, expressions, keep_position) if made is None else made


def explode(rows: Late, column: str, carried: Sequence[str]) -> Late:
    """One row per element of a list column; no row for an empty or null list."""
    lists = rows.frame([column]).to_series()
    sizes = lists.list.len().fill_null(0).to_numpy()
    index = np.repeat(np.arange(rows.height, dtype=np.int64), sizes)
    filled = lists.filter(pl.Series(sizes > 0))
    elements = filled.explode().alias(column)
    others = [name for name in carried if name != column]
    base = rows.frame(others)
    frame = base[index] if others else base
    return Late(frame.hstack([elements]) if others else elements.to_frame())
