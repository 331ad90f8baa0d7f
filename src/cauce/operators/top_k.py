"""The first k rows in an order, of all rows or of each key; cutting a union of such cuts again loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from cauce.operators.order import SortKey, sort_rows, with_key_columns

Ties = Literal["cut", "all"]


def top_k(
    frame: pl.DataFrame, k: int, by: Sequence[SortKey], per: Sequence[str] = (), ties: Ties = "cut"
) -> pl.DataFrame:
    """With ties="all", rows that tie with the k-th on `by` stay too. A null key in `per` belongs to no group."""
    if per:
        frame = frame.drop_nulls(list(per))
    ordered = sort_rows(frame, [*(SortKey(key) for key in per), *by])
    if ties == "all":
        return _with_ties(ordered, k, by, per)
    if per:
        return ordered.group_by(list(per), maintain_order=True).head(k).select(frame.columns)
    return ordered.head(k)


def _with_ties(ordered: pl.DataFrame, k: int, by: Sequence[SortKey], per: Sequence[str]) -> pl.DataFrame:
    keyed, names, _ = with_key_columns(ordered, by)
    groups: list[str | pl.Expr] = [*per] or [pl.lit(0)]
    place = pl.int_range(pl.len())
    keyed = keyed.with_columns(place.over(groups).alias("#place"))
    first_equal = pl.col("#place").min().over([*groups, *names])
    return keyed.filter(first_equal < k).select(ordered.columns)
