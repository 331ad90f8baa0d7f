"""Joins of frames in which NaN equals NaN, as in groups.

Polars merges columns that it knows to be sorted, a single row among them, and NaN then matches nothing. So a float is
compared by two columns: its value, and whether it is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

Order = Literal["left", "left_right"]


def equal_join(
    left: pl.DataFrame,
    right: pl.DataFrame,
    on: Sequence[str],
    how: Literal["inner", "left", "semi"],
    *,
    nulls_equal: bool,
    order: Order = "left",
) -> pl.DataFrame:
    """The columns of the left frame, then those of the right one that are not keys."""
    floats = [name for name in on if left.schema[name].is_float()]
    if not floats:
        return left.join(right, on=list(on), how=how, nulls_equal=nulls_equal, maintain_order=order)
    compared = [each for name in floats for each in (f"#value {name}", f"#nan {name}")]
    joined = _comparable(left, floats).join(
        _comparable(right, floats).drop(floats),
        on=[*(name for name in on if name not in floats), *compared],
        how=how,
        nulls_equal=nulls_equal,
        maintain_order=order,
    )
    return joined.drop(compared)


def _comparable(frame: pl.DataFrame, floats: Sequence[str]) -> pl.DataFrame:
    values = [pl.col(name).fill_nan(0.0).alias(f"#value {name}") for name in floats]
    return frame.with_columns(*values, *(pl.col(name).is_nan().alias(f"#nan {name}") for name in floats))
