"""Exact arithmetic: order-independent sums of floats, correctly rounded division, half-even rounding.

Nothing here may round twice: a result is either exact or one rounding away from the exact value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]

FLOAT_UNIT_EXPONENT = 1074
"""Every finite float64 is an integer multiple of 2**-1074."""

WHOLE = pl.Int128()
"""The type in which integers are summed and divided: it holds the sum of any number of 64-bit integers."""

_ONE = 1 << FLOAT_UNIT_EXPONENT
_SAFE = 2**53
_FAST_PLACES = 4


def divide(numerator: pl.Series, denominator: pl.Series) -> pl.Series:
    """The quotient of integers or decimals as the nearest float64; null if either is null or the denominator is 0."""
    fast = _divide_small(numerator, denominator)
    if fast is not None:
        return fast
    quotients = [
        None if a is None or not b else _nearest(Fraction(a), Fraction(b))
        for a, b in zip(numerator, denominator, strict=True)
    ]
    return pl.Series(numerator.name, quotients, dtype=pl.Float64)


def _nearest(a: Fraction, b: Fraction) -> float:
    quotient = a / b
    return quotient.numerator / quotient.denominator


def _divide_small(numerator: pl.Series, denominator: pl.Series) -> pl.Series | None:
    """Fast path for nearly all data: IEEE division rounds correctly if both sides are integers below 2**53."""
    above, below = _small_whole(numerator), _small_whole(denominator)
    if above is None or below is None:
        return None
    (a, a_unit), (b, b_unit) = above, below
    # Before the units are made equal, which could wrap around, and after it.
    if max(_peak(a), _peak(b)) >= _SAFE:
        return None
    if a_unit < b_unit:
        a = a * (b_unit // a_unit)
    elif b_unit < a_unit:
        b = b * (a_unit // b_unit)
    if max(_peak(a), _peak(b)) >= _SAFE:
        return None
    b = b.set(b == 0, None)
    quotient = (a.cast(pl.Float64) / b.cast(pl.Float64)).alias(numerator.name)
    # 0 / -5 is -0.0 here but 0.0 as a fraction.
    return quotient.set(quotient == 0, 0.0)


def _small_whole(values: pl.Series) -> tuple[pl.Series, int] | None:
    """Values as Int64 multiples of 1/unit, or None if some do not fit."""
    if values.dtype.is_integer():
        whole = values.cast(pl.Int64, strict=False)
        return (whole, 1) if whole.null_count() == values.null_count() else None
    if not isinstance(values.dtype, pl.Decimal):
        return None
    if _peak(values) >= 10**14:
        return None
    unit = 10**_FAST_PLACES
    scaled = (values * pl.Series([unit], dtype=pl.Decimal(38, 0))).cast(pl.Decimal(38, values.dtype.scale))
    whole = scaled.cast(pl.Int64)
    if not (whole.cast(scaled.dtype) == scaled).fill_null(True).all():
        return None
    return whole, unit


def _peak(values: pl.Series) -> int:
    """The integer part of the largest absolute value."""
    ends: list[int] = [int(end) for end in (values.min(), values.max()) if isinstance(end, int | Decimal)]
    return max((abs(end) for end in ends), default=0)


def one_zero(values: pl.Expr) -> pl.Expr:
    """Replaces -0.0 by 0.0: the two are equal, but print and hash differently."""
    return pl.when(values == 0).then(0.0).otherwise(values)


def fraction_ranks(quotient: pl.Series, numerator: pl.Series, denominator: pl.Series) -> pl.Series:
    """Ranks of the exact fractions among rows with equal rounded quotients (0 if a quotient is unique)."""
    ranks = np.zeros(len(quotient), dtype=np.int64)
    tied = quotient.is_duplicated() & quotient.is_not_null()
    where = tied.arg_true().to_list()
    groups: dict[float, list[tuple[Fraction, int]]] = {}
    for row in where:
        groups.setdefault(quotient[row], []).append((Fraction(numerator[row]) / Fraction(denominator[row]), row))
    for members in groups.values():
        order = {value: rank for rank, value in enumerate(sorted({value for value, _ in members}))}
        for value, row in members:
            ranks[row] = order[value]
    return pl.Series("rank", ranks)


def divide_half_even(numerator: pl.Series, denominator: pl.Series) -> pl.Series:
    """The quotient of integers, rounded half-even to an integer."""
    rounded = [
        None if a is None or not b else round(Fraction(int(a), int(b)))
        for a, b in zip(numerator, denominator, strict=True)
    ]
    return pl.Series(numerator.name, rounded, dtype=WHOLE)


def interpolate(low: Floats, high: Floats, shares: Floats) -> Floats:
    """The values that divide the ways from `low` to `high` by these shares, as NumPy interpolates quantiles."""
    # The difference of two floats of opposite signs may exceed the largest float.
    with np.errstate(over="ignore", invalid="ignore"):
        way = high - low
        values = np.where(shares < 0.5, low + way * shares, high - way * (1 - shares))
    for row in np.flatnonzero(np.isfinite(low) & np.isfinite(high) & ~np.isfinite(values)):
        exact = Fraction(low[row]) + (Fraction(high[row]) - Fraction(low[row])) * Fraction(shares[row])
        values[row] = exact.numerator / exact.denominator
    return values


class FloatSum:
    """An exact sum of floats as one big integer in units of 2**-1074, with flags for NaN and the infinities."""

    __slots__ = ("flags", "units")

    def __init__(self, units: int = 0, flags: int = 0) -> None:
        self.units = units
        self.flags = flags

    def add_scaled(self, mantissa: int, exponent: int) -> None:
        self.units += mantissa << (exponent + FLOAT_UNIT_EXPONENT)

    def dump(self) -> bytes:
        size = (self.units.bit_length() + 8) // 8
        return bytes([self.flags]) + self.units.to_bytes(size, "little", signed=True)

    @staticmethod
    def merge(dumps: Iterable[bytes]) -> FloatSum:
        total = FloatSum()
        for dump in dumps:
            total.flags |= dump[0]
            total.units += int.from_bytes(dump[1:], "little", signed=True)
        return total

    def value(self) -> float:
        if self.flags & 1 or self.flags & 6 == 6:
            return math.nan
        if self.flags:
            return math.inf if self.flags & 2 else -math.inf
        try:
            return self.units / _ONE
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf

    def mean(self, count: int) -> float | None:
        """The sum as a float divided by a count; the exact quotient if the sum exceeds the largest float."""
        if not count:
            return None
        total = self.value()
        return self.units / (count * _ONE) if math.isinf(total) and not self.flags else total / count


def float_parts(values: pl.Series) -> pl.DataFrame:
    """Columns mantissa (Int64), exponent (Int32) and flag (Int8) with value = mantissa * 2**exponent."""
    raw = values.cast(pl.Float64).fill_null(0.0).to_numpy()
    finite = np.isfinite(raw)
    fraction, exponent = np.frexp(np.where(finite, raw, 0.0))
    # Below 2**-1021 a float has fewer than 53 bits, so it is still an integer multiple of 2**-1074.
    shift = np.minimum(53, exponent + FLOAT_UNIT_EXPONENT)
    mantissa = np.ldexp(fraction, shift).astype(np.int64)
    flag = np.select([np.isnan(raw), raw == np.inf, raw == -np.inf], [1, 2, 4], 0).astype(np.int8)
    return pl.DataFrame(
        {
            "mantissa": mantissa,
            "exponent": (exponent - shift).astype(np.int32),
            "flag": flag,
        }
    )
