"""Months of moments, by a table of days: Polars computes the calendar of every row."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

_DAY_US = 86_400_000_000
_MOST_DAYS = 40_000


def months(moment: str) -> pl.Expr:
    """The number of the month of a column of moments: its year times 12, and 0 for January to 11 for December."""
    return pl.col(moment).map_batches(_months, return_dtype=pl.Int32, is_elementwise=True)


def _months(moments: pl.Series) -> pl.Series:
    if not len(moments) or moments.null_count():
        return _computed(moments)
    days = moments.to_physical().to_numpy() // _DAY_US
    first, last = int(days.min()), int(days.max())
    if last - first >= _MOST_DAYS:
        return _computed(moments)
    return pl.Series(moments.name, _table(first, last)[days - first])


def _computed(moments: pl.Series) -> pl.Series:
    return (moments.dt.year() * 12 + (moments.dt.month().cast(pl.Int32) - 1)).alias(moments.name)


@lru_cache(maxsize=64)
def _table(first: int, last: int) -> npt.NDArray[np.int32]:
    days = pl.Series(np.arange(first, last + 1, dtype=np.int32)).cast(pl.Date)
    return _computed(days).to_numpy()
