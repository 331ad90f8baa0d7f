"""Arithmetic that is exact or an error: integers and decimals check their range, floats follow IEEE 754."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from cauce.scan.integers.narrow import ADD, MULTIPLY, SUBTRACT, Narrow, decimals
from cauce.sql_frontend.functions.kernel import GuardedKernel, Kernel
from cauce.sql_frontend.types import SqlType

_WIDE_LIMIT = 2**127
NARROW_LIMIT = 2**63
NARROW = {"add": ADD, "subtract": SUBTRACT, "multiply": MULTIPLY}
"""Operations that are computed in 64 bits where all values fit."""
MANY = 1_000
"""Fewer rows are not worth a kernel, least of all the constants of a statement."""
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
_SIGN = {"add": "+", "subtract": "-", "multiply": "*", "divide": "//", "modulo": "%"}


def limits(kind: SqlType) -> tuple[int, int]:
    """The smallest and largest value; of a decimal, in units of its last digit."""
    if kind.name == "DECIMAL":
        return -(10**kind.precision) + 1, 10**kind.precision - 1
    return -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1


def units(values: pl.Series) -> pl.Series:
    """Integers or decimals as 128-bit integers, decimals in units of their last digit."""
    if isinstance(values.dtype, pl.Decimal):
        return values.to_physical()
    return values.cast(pl.Int128)


def from_units(values: pl.Series, kind: SqlType) -> pl.Series:
    if kind.name == "DECIMAL":
        return values.to_frame("u").select(pl.col("u").reinterpret(dtype=kind.dtype)).to_series()
    return values.cast(kind.dtype)


def whole(value: int) -> pl.Series:
    """A constant beside 128-bit columns: Polars does not take Python's integers there."""
    return pl.Series([value], dtype=pl.Int128)


def ends(values: pl.Series) -> tuple[int, int]:
    """The smallest and largest value; zeros if there are none."""
    low, high = values.min(), values.max()
    return (int(low), int(high)) if low is not None and high is not None else (0, 0)  # type: ignore[arg-type]


def scale_up(values: pl.Series, places: int) -> pl.Series | None:
    """Values times a power of ten; None if one does not fit into 128 bits."""
    if places <= 0:
        return values
    factor = 10**places
    low, high = ends(values)
    if max(-low, high) * factor >= _WIDE_LIMIT:
        return None
    return values * whole(factor)


@dataclass(frozen=True)
class Checked(GuardedKernel):
    """Adds, subtracts, multiplies, divides (towards zero) or takes the remainder of integers or decimals."""

    operation: str
    kind: SqlType

    def compute(self, *columns: pl.Series) -> pl.Series:
        left, right, guard = columns
        narrow = self._of_integers(left, right)
        if narrow is None and len(left) >= MANY:
            narrow = self._narrow(left, right)
        if narrow is not None:
            return narrow
        a, b = self._aligned(left), self._aligned(right)
        if self.operation in ("divide", "modulo"):
            zero = right.cast(pl.Float64) == 0
            if self.bad_rows(zero & left.is_not_null(), guard).any():
                raise self.fail("division by zero")
            b = None if b is None else b.set((b == whole(0)).fill_null(False), None)
        if a is not None and b is not None and self._fits(a, b, _WIDE_LIMIT - 1):
            return self._finish(_OPERATIONS[self.operation](a, b), guard)
        return self._row_by_row(units(left), units(right), guard, self.scale_of(left), self.scale_of(right))

    def _of_integers(self, left: pl.Series, right: pl.Series) -> pl.Series | None:
        """The result for integers, by 64-bit arithmetic; None if some value might exceed its range, or if a divisor is
        not positive."""
        if any(dtype not in _INTEGERS for dtype in (left.dtype, right.dtype, self.kind.dtype)):
            return None
        a, b = left.cast(pl.Int64), right.cast(pl.Int64)
        ends_a, ends_b = ends(a), ends(b)
        low, high = limits(self.kind)
        if any(not low <= each <= high for each in bounds(self.operation, ends_a, ends_b)):
            return None
        if self.operation in ("divide", "modulo"):
            return _divided(self.operation, a, ends_a[0], b, ends_b).cast(self.kind.dtype) if ends_b[0] > 0 else None
        return _OPERATIONS[self.operation](a, b).cast(self.kind.dtype)

    def _narrow(self, left: pl.Series, right: pl.Series) -> pl.Series | None:
        """The result, by 64-bit arithmetic; None if some value might exceed its range, or is null."""
        dtype, operation = self.kind.dtype, NARROW.get(self.operation)
        if operation is None or not isinstance(dtype, pl.Decimal):
            return None
        a, b = Narrow.of(left), Narrow.of(right)
        if a is None or b is None:
            return None
        places = [0 if operation == MULTIPLY else self.kind.scale - self.scale_of(each) for each in (left, right)]
        scales = [10 ** max(each, 0) for each in places]
        inputs = [a.scaled_ends(scales[0]), b.scaled_ends(scales[1])]
        outputs = bounds(self.operation, *inputs)
        low, high = limits(self.kind)
        fit = all(abs(end) < NARROW_LIMIT for end in (*inputs[0], *inputs[1], *outputs, *scales))
        if not fit or min(outputs) < low or max(outputs) > high:
            return None
        return decimals(a, scales[0], b, scales[1], operation, dtype)

    def scale_of(self, values: pl.Series) -> int:
        return values.dtype.scale if isinstance(values.dtype, pl.Decimal) else 0

    def _aligned(self, values: pl.Series) -> pl.Series | None:
        if self.operation == "multiply":
            return units(values)
        return scale_up(units(values), self.kind.scale - self.scale_of(values))

    def _fits(self, a: pl.Series, b: pl.Series, limit: int) -> bool:
        found = bounds(self.operation, ends(a), ends(b))
        return all(-limit <= each <= limit for each in found)

    def _finish(self, values: pl.Series, guard: pl.Series) -> pl.Series:
        low, high = limits(self.kind)
        smallest, largest = ends(values)
        if smallest < low or largest > high:
            bad = (values < whole(low)) | (values > whole(high))
            if self.bad_rows(bad, guard).any():
                raise self._overflow()
            values = values.set(bad.fill_null(False), None)
        return from_units(values, self.kind)

    def _overflow(self) -> Exception:
        return self.fail(f"overflow in {_SIGN[self.operation]} of {self.kind}; cast to a wider type first")

    def _row_by_row(self, a: pl.Series, b: pl.Series, guard: pl.Series, sa: int, sb: int) -> pl.Series:
        low, high = limits(self.kind)
        made: list[int | None] = []
        up = (0, 0) if self.operation == "multiply" else (self.kind.scale - sa, self.kind.scale - sb)
        for x, y, on in zip(a, b, guard, strict=True):
            value = None if x is None or y is None else _exact(self.operation, x * 10 ** up[0], y * 10 ** up[1])
            if value is not None and not low <= value <= high:
                if on:
                    raise self._overflow()
                value = None
            made.append(value)
        return from_units(pl.Series(made, dtype=pl.Int128), self.kind)


def bounds(operation: str, a: tuple[int, int], b: tuple[int, int]) -> list[int]:
    """Bounds of the results of an operation on values within these bounds."""
    match operation:
        case "add":
            return [a[0] + b[0], a[1] + b[1]]
        case "subtract":
            return [a[0] - b[1], a[1] - b[0]]
        case "multiply":
            return [x * y for x in a for y in b]
    return [*a]


def _exact(operation: str, x: int, y: int) -> int | None:
    match operation:
        case "add":
            return x + y
        case "subtract":
            return x - y
        case "multiply":
            return x * y
    if y == 0:
        return None
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient if operation == "divide" else x - quotient * y


def _divided(operation: str, a: pl.Series, lowest: int, b: pl.Series, ends_b: tuple[int, int]) -> pl.Series:
    """A quotient or remainder of 64-bit integers. Divisors are positive; there are no values below `lowest`."""
    # Polars divides by a constant several times as fast.
    by = ends_b[0] if ends_b[0] == ends_b[1] and not b.null_count() else b
    if lowest >= 0:
        return a // by if operation == "divide" else a % by
    # Polars rounds down. That of a negative value is 1 too low, and its remainder one divisor too high.
    inexact = ((a < 0) & (a % by != 0)).cast(pl.Int64)
    return a // by + inexact if operation == "divide" else a % by - inexact * by


def _remainder(a: pl.Series, b: pl.Series) -> pl.Series:
    """The remainder of a division towards zero: it has the sign of the dividend."""
    rest = a - (a // b) * b
    zero = whole(0)
    return rest - b.zip_with((rest != zero) & ((a < zero) != (b < zero)), b * zero)


def _quotient(a: pl.Series, b: pl.Series) -> pl.Series:
    """Division towards zero."""
    floor = a // b
    inexact = (floor * b != a) & ((a < whole(0)) != (b < whole(0)))
    return floor + inexact.cast(pl.Int128)


_OPERATIONS: dict[str, Callable[[pl.Series, pl.Series], pl.Series]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _quotient,
    "modulo": _remainder,
}


@dataclass(frozen=True)
class Negate(GuardedKernel):
    kind: SqlType

    def compute(self, *columns: pl.Series) -> pl.Series:
        values, guard = columns
        made = units(values)
        made = made * whole(0) - made
        if self.kind.name != "DECIMAL" and made.len():
            high = whole(limits(self.kind)[1])
            if self.bad_rows(made > high, guard).any():
                raise self.fail(f"overflow in - of {self.kind}; cast to a wider type first")
            made = made.set((made > high).fill_null(False), None)
        return from_units(made, self.kind)


@dataclass(frozen=True)
class Divide(Kernel):
    """The quotient of floats. Not by Polars: it multiplies by the inverse of a constant, which rounds twice."""

    def compute(self, *columns: pl.Series) -> pl.Series:
        left, right = columns
        with np.errstate(all="ignore"):
            made = pl.Series(left.to_numpy() / right.to_numpy())
        return with_nulls(made, left.is_null() | right.is_null())


@dataclass(frozen=True)
class FloatModulo(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        left, right = columns
        with np.errstate(all="ignore"):
            made = pl.Series(np.fmod(left.to_numpy(), right.to_numpy()))
        return with_nulls(made, left.is_null() | right.is_null())


def with_nulls(values: pl.Series, nulls: pl.Series) -> pl.Series:
    return values.to_frame("v").with_columns(nulls.alias("n")).select(pl.when(~pl.col("n")).then("v")).to_series()


def to_float(values: pl.Series) -> pl.Series:
    """Integers and decimals as the floats that DuckDB converts them to."""
    if not isinstance(values.dtype, pl.Decimal):
        return values.cast(pl.Float64)
    whole, scale = values.to_physical(), values.dtype.scale
    low, high = ends(whole)
    if scale == 0 or max(-low, high) <= 2**53:
        made = pl.Series(whole.cast(pl.Float64).to_numpy() / float(10**scale))
        return with_nulls(made, values.is_null())
    floats = [None if each is None else _decimal_to_float(each, scale) for each in whole]
    return pl.Series(floats, dtype=pl.Float64)


def _decimal_to_float(value: int, scale: int) -> float:
    if -(2**53) <= value <= 2**53:
        return float(value / 10**scale)
    power: int = 10**scale
    whole = abs(value) // power * (1 if value >= 0 else -1)
    return float(whole) + float(value - whole * power) / float(power)
