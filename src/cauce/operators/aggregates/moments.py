"""Variance, standard deviation, covariance and correlation, exact until the last division.

The state is exact sums of the values and of their products, as integers. A column counts in units: of 2**-1074 for
floats, of the last decimal for decimals, of 1 for integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from cauce.operators.aggregates.base import Aggregate, Batch, Types, is_number
from cauce.operators.aggregates.sums import join_groups
from cauce.operators.exact import FLOAT_UNIT_EXPONENT, WHOLE, float_parts
from cauce.operators.wide_sum import units_of

Moment = Literal["var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "corr"]

_SAFE = 2**53
_HALF = 27
_FLOAT = -1
"""The scale of a column of floats; other columns have their number of decimals."""


@dataclass(frozen=True)
class Sums:
    """Exact sums over rows in which no value is null. `finite` is false if a value was NaN or infinite."""

    n: int = 0
    x: int = 0
    y: int = 0
    xx: int = 0
    yy: int = 0
    xy: int = 0
    x_scale: int = 0
    y_scale: int = 0
    finite: bool = True

    def __add__(self, other: Sums) -> Sums:
        if not other.n:
            return self
        if not self.n:
            return other
        return Sums(
            self.n + other.n,
            self.x + other.x,
            self.y + other.y,
            self.xx + other.xx,
            self.yy + other.yy,
            self.xy + other.xy,
            self.x_scale,
            self.y_scale,
            self.finite and other.finite,
        )

    def dump(self) -> bytes:
        numbers = (self.n, self.x, self.y, self.xx, self.yy, self.xy, self.x_scale, self.y_scale, int(self.finite))
        return " ".join(format(number, "x") for number in numbers).encode()

    @classmethod
    def load(cls, dump: bytes) -> Sums:
        n, x, y, xx, yy, xy, x_scale, y_scale, finite = (int(each, 16) for each in dump.decode().split())
        return cls(n, x, y, xx, yy, xy, x_scale, y_scale, bool(finite))


@dataclass(frozen=True)
class Moments(Aggregate):
    """A moment of one column, or of two; null if there are too few rows."""

    moment: Moment
    x: str
    y: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.x,) if self.y is None else (self.x, self.y)

    @property
    def label(self) -> str:
        return self.moment

    def over(self, names: Mapping[str, str], where: str) -> Aggregate:
        return replace(self, x=names[self.x], y=None if self.y is None else names[self.y])

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        keys = list(batch.keys)
        rows = batch.frame.select(*keys, *dict.fromkeys(self.columns)).drop_nulls(list(self.columns))
        found = _sums_of(rows.select(keys), rows[self.x], None if self.y is None else rows[self.y])
        dumps = pl.Series(name, [each.dump() for each in found.values()], dtype=pl.Binary)
        states = pl.DataFrame(list(found), schema={key: rows.schema[key] for key in keys}, orient="row").hstack([dumps])
        filled = pl.col(name).fill_null(pl.lit(Sums().dump()))
        batch.finish.append(lambda groups: join_groups(groups, states, keys).with_columns(filled))
        return []

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        batch.finish.append(lambda groups: groups.with_columns(_merged(groups[name])))
        return [pl.col(name)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return pl.Series(name, [_value(self.moment, Sums.load(dump)) for dump in states[name]], dtype=pl.Float64)

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {name: pl.lit(Sums().dump())}

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Float64()

    def accepts(self, dtype: pl.DataType) -> bool:
        return is_number(dtype)


def _merged(states: pl.Series) -> pl.Series:
    """`states` has a list of states for each group."""
    merged = [sum(map(Sums.load, of_group), Sums()).dump() for of_group in states]
    return pl.Series(states.name, merged, dtype=pl.Binary)


# Values.


def _value(moment: Moment, sums: Sums) -> float | None:
    if sums.n < (2 if moment.endswith("_samp") else 1):
        return None
    if not sums.finite:
        return math.nan
    if moment == "corr":
        return _correlation(sums)
    if moment.startswith("covar"):
        spread, unit = sums.n * sums.xy - sums.x * sums.y, _unit(sums.x_scale) * _unit(sums.y_scale)
    else:
        spread, unit = sums.n * sums.xx - sums.x**2, _unit(sums.x_scale) ** 2
    rows = sums.n * (sums.n - 1 if moment.endswith("_samp") else sums.n)
    value = _quotient(spread, rows * unit)
    return math.sqrt(value) if moment.startswith("stddev") else value


def _correlation(sums: Sums) -> float:
    together = sums.n * sums.xy - sums.x * sums.y
    alone = (sums.n * sums.xx - sums.x**2) * (sums.n * sums.yy - sums.y**2)
    if not alone:
        return math.nan
    size = math.sqrt(_quotient(together**2, alone))
    return -size if together < 0 else size


def _unit(scale: int) -> int:
    """How many units are 1."""
    return 1 << FLOAT_UNIT_EXPONENT if scale == _FLOAT else 10**scale


def _quotient(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


# Sums.


@dataclass(frozen=True)
class _Parts:
    """Non-null numbers as mantissa * 2**shift units with mantissas of 53 bits; as integers if one is larger."""

    mantissa: pl.Series
    shift: pl.Series
    scale: int
    finite: pl.Series
    whole: list[int] | None = None


def _parts_of(values: pl.Series) -> _Parts:
    if values.dtype.is_float():
        parts = float_parts(values)
        shift = parts["exponent"].cast(pl.Int64) + FLOAT_UNIT_EXPONENT
        return _Parts(parts["mantissa"], shift, _FLOAT, parts["flag"] == 0)
    scale = values.dtype.scale if isinstance(values.dtype, pl.Decimal) else 0
    mantissa = values.to_physical().cast(pl.Int64, strict=False)
    ends = [abs(end) for end in (mantissa.min(), mantissa.max()) if isinstance(end, int)]
    small = not mantissa.null_count() and max(ends, default=0) < _SAFE
    zeros = pl.repeat(0, len(values), dtype=pl.Int64, eager=True)
    true = pl.repeat(True, len(values), dtype=pl.Boolean, eager=True)
    return _Parts(mantissa, zeros, scale, true, None if small else units_of(values))


def _sums_of(keys: pl.DataFrame, x: pl.Series, y: pl.Series | None) -> dict[tuple[object, ...], Sums]:
    """The sums of each group of rows."""
    left = _parts_of(x)
    right = left if y is None else _parts_of(y)
    finite = left.finite & right.finite
    groups = keys.with_columns(pl.Series("#finite", finite)).group_by(keys.columns, maintain_order=True)
    heads = groups.agg(pl.len().alias("#n"), pl.col("#finite").all())
    found = {
        tuple(row[:-2]): Sums(row[-2], x_scale=left.scale, y_scale=right.scale, finite=row[-1]) for row in heads.rows()
    }
    pairs: dict[str, tuple[_Parts, _Parts | None]] = {"x": (left, None), "xx": (left, left)}
    if y is not None:
        pairs |= {"y": (right, None), "yy": (right, right), "xy": (left, right)}
    for field, (a, b) in pairs.items():
        for key, total in _products(keys, a, b):
            found[key] = replace(found[key], **{field: getattr(found[key], field) + total})
    return found


def _products(keys: pl.DataFrame, a: _Parts, b: _Parts | None) -> Iterable[tuple[tuple[object, ...], int]]:
    """Parts of the sums of a * b (of a alone, if b is None), each with the key of its group."""
    if a.whole is not None or (b is not None and b.whole is not None):
        yield from _products_of_large(keys, a, b)
        return
    shift = a.shift if b is None else a.shift + b.shift
    rows = keys.with_columns(shift.alias("#shift"), *_halves("a", a.mantissa), *_halves("b", (b or a).mantissa))
    high, low = (pl.col("#ah"), pl.col("#al"))
    terms = [high * 0, high, low]
    if b is not None:
        terms = [high * pl.col("#bh"), high * pl.col("#bl") + low * pl.col("#bh"), low * pl.col("#bl")]
    sums = [term.cast(WHOLE).sum().alias(f"#{number}") for number, term in enumerate(terms)]
    for *key, power, top, middle, bottom in rows.group_by([*keys.columns, "#shift"]).agg(sums).rows():
        yield tuple(key), ((top << 2 * _HALF) + (middle << _HALF) + bottom) << power


def _halves(name: str, mantissa: pl.Series) -> list[pl.Series]:
    """A mantissa as high * 2**27 + low: products of halves fit in 64 bits."""
    low = mantissa % (1 << _HALF)
    return [((mantissa - low) // (1 << _HALF)).alias(f"#{name}h"), low.alias(f"#{name}l")]


def _products_of_large(keys: pl.DataFrame, a: _Parts, b: _Parts | None) -> Iterable[tuple[tuple[object, ...], int]]:
    first, second = _integers(a), [1] * keys.height if b is None else _integers(b)
    for key, one, other in zip(keys.iter_rows(), first, second, strict=True):
        yield key, one * other


def _integers(parts: _Parts) -> list[int]:
    if parts.whole is not None:
        return parts.whole
    return [mantissa << shift for mantissa, shift in zip(parts.mantissa, parts.shift, strict=True)]
