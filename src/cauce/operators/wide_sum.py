"""Sums of 128-bit values (decimals, and integers that are sums or products themselves), exact at any size.

A sum has two columns: ``low``, of the type of the values, and ``high``, of 64 bits. In units of the last decimal it
is ``low + high * 10**37``. For nearly all data ``high`` is zero and ``low`` is the plain sum; a sum is split only
if it might exceed 128 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction

import polars as pl

from cauce.operators.exact import WHOLE, divide

BASE = 10**37
"""The weight of one unit of ``high``."""

LIMIT = 10**38
"""Exclusive upper bound of a value's units (38 digits). A larger sum becomes null."""

_SPLIT = 10**19
_EXACT = Context(prec=80)


def is_wide(dtype: pl.DataType) -> bool:
    """Whether a sum of values of this type might need more than 128 bits."""
    return isinstance(dtype, pl.Decimal) or dtype == pl.Int128


def sums_fit(frame: pl.DataFrame, keys: Sequence[str], column: str) -> bool:
    """Whether the sum of every group, or without keys of any groups, is guaranteed to have at most 38 digits."""
    units = frame.get_column(column).to_physical()
    ends = [end for end in (units.min(), units.max()) if isinstance(end, int)]
    if max((abs(end) for end in ends), default=0) * frame.height < LIMIT:
        return True
    if not keys:
        return False
    sizes = frame.select(*keys, units.cast(pl.Float64).abs().alias(column)).group_by(list(keys)).sum()[column]
    return bool((sizes < 0.99 * LIMIT).all())


def wide_sums(frame: pl.DataFrame, keys: Sequence[str], column: str, high: str) -> pl.DataFrame:
    """The keys and the two columns of each group's sum. The input column may already have a ``high`` column."""
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
    """The sums as plain values; null if a sum needs more than 38 digits."""
    if not (high != 0).any():
        return low
    return _series(low.name, [each if abs(each) < LIMIT else None for each in _totals(low, high)], low.dtype)


def wide_means(low: pl.Series, high: pl.Series, count: pl.Series) -> pl.Series:
    """The exact sums, each divided once by its count, as floats; null if the count is zero."""
    if not (high != 0).any():
        return divide(low, count)
    unit = 10 ** _scale(low.dtype)
    means = [Fraction(total, n * unit) if n else None for total, n in zip(_totals(low, high), count, strict=True)]
    floats = [None if mean is None else mean.numerator / mean.denominator for mean in means]
    return pl.Series(low.name, floats, dtype=pl.Float64)


def units_of(values: pl.Series) -> list[int]:
    """Integers, booleans or decimals as integers in units of their last decimal; null is 0."""
    whole = values if isinstance(values.dtype, pl.Decimal) else values.cast(WHOLE)
    return whole.to_physical().fill_null(0).to_list()


def from_units(name: str, units: Iterable[int], dtype: pl.DataType) -> pl.Series:
    """Sums of values of this type, given in units of the last decimal; null if a sum needs more than 38 digits."""
    return _series(name, [each if abs(each) < LIMIT else None for each in units], dtype)


def _totals(low: pl.Series, high: pl.Series) -> list[int]:
    return [units + more * BASE for units, more in zip(low.to_physical(), high, strict=True)]


def _scale(dtype: pl.DataType) -> int:
    return dtype.scale if isinstance(dtype, pl.Decimal) else 0


def _series(name: str, units: Iterable[int | None], dtype: pl.DataType) -> pl.Series:
    if not isinstance(dtype, pl.Decimal):
        return pl.Series(name, units, dtype=WHOLE)
    values = [None if each is None else Decimal(each).scaleb(-dtype.scale, _EXACT) for each in units]
    return pl.Series(name, values, dtype=pl.Decimal(38, dtype.scale))
