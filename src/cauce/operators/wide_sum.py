"""Sums of 128-bit values (decimals, and integers that are sums or products themselves), exact at any size.

Such a sum is kept in two columns, ``low`` in the type of the values and ``high`` in 64 bits, and its units (the
whole count of the last decimal) are ``low + high * 10**37``. On nearly all data ``high`` is zero and ``low`` the
plain sum; only where 128 bits might not be enough is a sum computed in parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction

import polars as pl

from cauce.operators.exact import WHOLE, divide

BASE = 10**37
"""What one unit of ``high`` stands for."""

LIMIT = 10**38
"""A value has fewer units than this: 38 digits. A sum that has more becomes null."""

_SPLIT = 10**19
_EXACT = Context(prec=80)


def is_wide(dtype: pl.DataType) -> bool:
    """Whether a sum of values of this type might need more than 128 bits."""
    return isinstance(dtype, pl.Decimal) or dtype == pl.Int128


def sums_fit(frame: pl.DataFrame, keys: Sequence[str], column: str) -> bool:
    """Whether the sums of every group of a frame surely have at most 38 digits."""
    units = frame.get_column(column).to_physical()
    ends = [end for end in (units.min(), units.max()) if isinstance(end, int)]
    if max((abs(end) for end in ends), default=0) * frame.height < LIMIT:
        return True
    sizes = frame.select(*keys, units.cast(pl.Float64).abs().alias(column)).group_by(list(keys)).sum()[column]
    return bool((sizes < 0.99 * LIMIT).all())


def wide_sums(frame: pl.DataFrame, keys: Sequence[str], column: str, high: str) -> pl.DataFrame:
    """The keys, and the sum of a column in its two halves; the column may have a high half already."""
    units = frame.get_column(column).to_physical()
    split = pl.Series([_SPLIT], dtype=WHOLE)
    above = frame.get_column(high) if high in frame.columns else pl.repeat(0, frame.height, dtype=pl.Int64, eager=True)
    parts = frame.select(list(keys)).with_columns(
        (units.cast(WHOLE) // split).alias("#upper"), (units.cast(WHOLE) % split).alias("#lower"), above.alias("#high")
    )
    sums = parts.group_by(list(keys), maintain_order=True).agg(pl.col("#upper", "#lower", "#high").sum())
    totals = [
        upper * _SPLIT + lower + more * BASE for upper, lower, more in sums.select("#upper", "#lower", "#high").rows()
    ]
    return sums.select(list(keys)).with_columns(
        _series(column, [total % BASE for total in totals], frame.schema[column]),
        pl.Series(high, [total // BASE for total in totals], dtype=pl.Int64),
    )


def wide_values(low: pl.Series, high: pl.Series) -> pl.Series:
    """The sums as plain values; null where one needs more than 38 digits."""
    if not (high != 0).any():
        return low
    return _series(low.name, [each if abs(each) < LIMIT else None for each in _totals(low, high)], low.dtype)


def wide_means(low: pl.Series, high: pl.Series, count: pl.Series) -> pl.Series:
    """The exact sums, each divided once by its count, as floats; null where the count is zero."""
    if not (high != 0).any():
        return divide(low, count)
    unit = 10 ** _scale(low.dtype)
    means = [Fraction(total, n * unit) if n else None for total, n in zip(_totals(low, high), count, strict=True)]
    floats = [None if mean is None else mean.numerator / mean.denominator for mean in means]
    return pl.Series(low.name, floats, dtype=pl.Float64)


def _totals(low: pl.Series, high: pl.Series) -> list[int]:
    return [units + more * BASE for units, more in zip(low.to_physical(), high, strict=True)]


def _scale(dtype: pl.DataType) -> int:
    return dtype.scale if isinstance(dtype, pl.Decimal) else 0


def _series(name: str, units: Iterable[int | None], dtype: pl.DataType) -> pl.Series:
    if not isinstance(dtype, pl.Decimal):
        return pl.Series(name, units, dtype=WHOLE)
    values = [None if each is None else Decimal(each).scaleb(-dtype.scale, _EXACT) for each in units]
    return pl.Series(name, values, dtype=pl.Decimal(38, dtype.scale))
