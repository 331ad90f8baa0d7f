"""The first k rows in an order, of all rows or per key. Mergeable: the top k of a union of top-k results is exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from cauce.operators.equal_join import equal_join
from cauce.operators.order import SortKey, sort_rows, with_key_columns

_MANY_ROWS = 5_000
_LAST = "#last"

Ties = Literal["cut", "all"]


def top_k(
    frame: pl.DataFrame,
    k: int,
    by: Sequence[SortKey],
    per: Sequence[str] = (),
    ties: Ties = "cut",
    *,
    nulls: bool = False,
) -> pl.DataFrame:
    """With ties="all", also keeps rows that tie with the k-th on `by`. Rows with a null key in `per` are dropped,
    unless `nulls`."""
    if per and not nulls:
        frame = frame.drop_nulls(list(per))
    if by and frame.height > _MANY_ROWS:
        frame = _cut(frame, k, by[0], per)
    ordered = sort_rows(frame, [*(SortKey(key) for key in per), *by])
    if ties == "all":
        return _with_ties(ordered, k, by, per)
    if per:
        return ordered.group_by(list(per), maintain_order=True).head(k).select(frame.columns)
    return ordered.head(k)


def _is_whole(dtype: pl.DataType) -> bool:
    """Whether the type is numeric and has no NaN."""
    return dtype.is_integer() or dtype.is_temporal()


def _cut(frame: pl.DataFrame, k: int, key: SortKey, per: Sequence[str]) -> pl.DataFrame:
    """Drops rows that the first key alone rules out: sorting all rows would take far longer."""
    if not isinstance(key.what, str) or key.nulls_first or k == 0 or not _is_whole(frame.schema[key.what]):
        return frame
    value = pl.col(key.what)
    best = value.drop_nulls().top_k(k) if key.descending else value.drop_nulls().bottom_k(k)
    # With fewer than k values, no row can be ruled out. Null counts as the last value.
    last = pl.when(value.count() >= k).then(best.min() if key.descending else best.max())
    if per:
        lasts = frame.group_by(list(per)).agg(last.alias(_LAST))
        kept = equal_join(frame, lasts, per, "left", nulls_equal=True)
    else:
        kept = frame.with_columns(last.alias(_LAST))
    within = value >= pl.col(_LAST) if key.descending else value <= pl.col(_LAST)
    return kept.filter(pl.col(_LAST).is_null() | within.fill_null(False)).drop(_LAST)


def _with_ties(ordered: pl.DataFrame, k: int, by: Sequence[SortKey], per: Sequence[str]) -> pl.DataFrame:
    keyed, names = with_key_columns(ordered, by)
    groups: list[str | pl.Expr] = [*per] or [pl.lit(0)]
    place = pl.int_range(pl.len())
    keyed = keyed.with_columns(place.over(groups).alias("#place"))
    first_equal = pl.col("#place").min().over([*groups, *names])
    return keyed.filter(first_equal < k).select(ordered.columns)
