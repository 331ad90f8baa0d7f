"""Exact sums and means of integers and decimals of any size, and of floats, rounded once.

The state of a sum is an integer or a decimal, with a second column if 128 bits might not be enough (see
wide_sum.py). For floats it is the bytes of a FloatSum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates.base import UNKNOWN, Addend, Batch, OfColumn, RowValues, Types, is_number
from cauce.operators.aggregates.count import counted
from cauce.operators.equal_join import equal_join
from cauce.operators.exact import WHOLE, FloatSum, divide, float_parts
from cauce.operators.wide_sum import is_wide, sums_fit, wide_means, wide_sums, wide_values


@dataclass(frozen=True)
class Sum(OfColumn):
    """The exact sum; zero if there are no values, null if it needs more than 38 digits.

    The sum of integers is an Int128. The sum of floats is the exact sum, rounded once.
    """

    @property
    def zero_if_none(self) -> bool:
        return True

    def state(self, name: str) -> tuple[str, ...]:
        return (name, _high(name))

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        dtype = batch.frame.schema[self.column]
        if dtype.is_float():
            keys, sums = list(batch.keys), _float_sums(batch.frame, batch.keys, self.column, name)
            batch.finish.append(lambda groups: join_groups(groups, sums, keys))
            return []
        if is_wide(dtype):
            return _wide_sum(batch, self.column, name)
        return [_whole_sum(batch.frame, self.column).alias(name)]

    def of_row(self, types: Types, name: str) -> list[pl.Expr] | None:
        dtype = types[self.column]
        if isinstance(dtype, pl.Decimal):
            value = pl.col(self.column).cast(pl.Decimal(38, dtype.scale)).fill_null(0)
            return [value.alias(name), pl.lit(0, dtype=pl.Int64).alias(_high(name))]
        if dtype.is_float() or is_wide(dtype) or dtype == pl.UInt64:
            return None
        return [pl.col(self.column).cast(pl.Int64).fill_null(0).cast(WHOLE).alias(name)]

    def addends(self, rows: RowValues, name: str) -> dict[str, Addend] | None:
        values, dtype = rows.of(self.column), rows.dtype(self.column)
        if values is None or dtype == pl.Int128:
            return None
        if isinstance(dtype, pl.Decimal):
            return {name: Addend(pl.Decimal(38, dtype.scale), values), _high(name): Addend(pl.Int64())}
        return {name: Addend(WHOLE, values)}

    def adds(self, types: Types, name: str) -> bool:
        return isinstance(types[name], pl.Decimal) or (types[name] == WHOLE and _high(name) not in types)

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        if _high(name) in batch.frame.columns:
            return _wide_sum(batch, name, name)
        if batch.frame.schema[name] != pl.Binary:
            return [pl.col(name).sum()]
        batch.finish.append(lambda groups: groups.with_columns(_merged_floats(groups[name])))
        return [pl.col(name)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        state, high = states[name], _high_of(states, name)
        if state.dtype == pl.Binary:
            return pl.Series(name, [FloatSum.merge([dump]).value() for dump in state], dtype=pl.Float64)
        return state if high is None else wide_values(state, high)

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        dtype = types[name]
        state = {name: pl.lit(FloatSum().dump()) if dtype == pl.Binary else pl.lit(0).cast(dtype)}
        if _high(name) in types:
            state[_high(name)] = pl.lit(0, dtype=pl.Int64)
        return state

    def dtype(self, types: Types) -> pl.DataType:
        dtype = super().dtype(types)
        if dtype == UNKNOWN:
            return UNKNOWN
        if dtype.is_float():
            return pl.Float64()
        return pl.Decimal(38, dtype.scale) if isinstance(dtype, pl.Decimal) else WHOLE

    def accepts(self, dtype: pl.DataType) -> bool:
        return is_number(dtype) or dtype == pl.Boolean


@dataclass(frozen=True)
class Mean(Sum):
    """The exact sum divided once by the number of non-null values; null if there are none."""

    @property
    def zero_if_none(self) -> bool:
        return False

    def state(self, name: str) -> tuple[str, ...]:
        return (*super().state(name), _count(name))

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [*super().partial(batch, name), pl.col(self.column).count().cast(pl.Int64).alias(_count(name))]

    def of_row(self, types: Types, name: str) -> list[pl.Expr] | None:
        sums = super().of_row(types, name)
        counted = pl.col(self.column).is_not_null().cast(pl.Int64).alias(_count(name))
        return None if sums is None else [*sums, counted]

    def addends(self, rows: RowValues, name: str) -> dict[str, Addend] | None:
        sums = super().addends(rows, name)
        return None if sums is None else {**sums, _count(name): counted(rows, self.column)}

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [*super().merge(batch, name), pl.col(_count(name)).sum()]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        state, high, count = states[name], _high_of(states, name), states[_count(name)]
        if state.dtype != pl.Binary:
            return divide(state, count) if high is None else wide_means(state, high, count)
        means = [FloatSum.merge([dump]).mean(n) for dump, n in zip(state, count, strict=True)]
        return pl.Series(name, means, dtype=pl.Float64)

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {**super().empty(types, name), _count(name): pl.lit(0).cast(pl.Int64)}

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Float64()


@dataclass(frozen=True)
class NullableSum(Mean):
    """The exact sum; null if there are fewer values than `min_count`, as SQL requires with 1."""

    min_count: int = 1

    @property
    def label(self) -> str:
        return "sum"

    @property
    def zero_if_none(self) -> bool:
        return False

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return Sum.final(self, states, name).set(states[_count(name)] < self.min_count, None)

    def dtype(self, types: Types) -> pl.DataType:
        return Sum.dtype(self, types)


def _count(name: str) -> str:
    return f"{name}#count"


def _high(name: str) -> str:
    """The name of the ``high`` column of a wide sum."""
    return f"{name}#high"


def _high_of(states: pl.DataFrame, name: str) -> pl.Series | None:
    return states[_high(name)] if _high(name) in states.columns else None


def _whole_sum(frame: pl.DataFrame, column: str) -> pl.Expr:
    """A sum of integers of up to 64 bits: computed in 64 bits if it cannot overflow, always returned as 128."""
    values = frame.get_column(column).cast(pl.Int64, strict=False)
    ends = (values.min(), values.max())
    peak = max((abs(end) for end in ends if isinstance(end, int)), default=0)
    if peak * frame.height < 2**63 and values.null_count() == frame.get_column(column).null_count():
        return pl.col(column).cast(pl.Int64).sum().cast(WHOLE)
    return pl.col(column).cast(WHOLE).sum()


def _wide_sum(batch: Batch, column: str, name: str) -> list[pl.Expr]:
    """Both columns of a sum of 128-bit values. If it might not fit, placeholders that `finish` replaces."""
    frame, fits = batch.frame, sums_fit(batch.frame, batch.keys, column)
    if not fits:
        halves = [pl.col(column).alias(name), *([pl.col(_high(name))] if _high(name) in frame.columns else [])]
        values = frame.select(*batch.keys, *halves)
        batch.finish.append(lambda groups: _replace_sums(groups, values, batch.keys, name))
    dtype = frame.schema[column]
    low = pl.col(column).sum() if fits else pl.lit(0)
    above = pl.col(_high(column)).sum() if _high(column) in frame.columns else pl.lit(0, dtype=pl.Int64)
    kept = pl.Decimal(38, dtype.scale) if isinstance(dtype, pl.Decimal) else WHOLE
    return [low.cast(kept).alias(name), above.alias(_high(name))]


def _replace_sums(groups: pl.DataFrame, values: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """The groups with the exact sums of `name`. `values` has the keys, the values and, if these are sums themselves,
    their ``high`` columns."""
    sums = wide_sums(values, keys, name, _high(name))
    return join_groups(groups.drop(name, _high(name)), sums, keys)


def join_groups(groups: pl.DataFrame, sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The groups with their sums; null is a key like any other."""
    return equal_join(groups, sums, keys, "left", nulls_equal=True)


def _float_sums(frame: pl.DataFrame, keys: Sequence[str], column: str, name: str) -> pl.DataFrame:
    parts = pl.concat([frame.select(list(keys)), float_parts(frame[column])], how="horizontal")
    by = [*keys, "exponent"]
    sums = parts.group_by(by, maintain_order=True).agg(
        pl.col("mantissa").cast(WHOLE).sum(), pl.col("flag").bitwise_or()
    )
    totals: dict[tuple[object, ...], FloatSum] = {}
    for row in sums.iter_rows(named=True):
        total = totals.setdefault(tuple(row[key] for key in keys), FloatSum())
        total.add_scaled(int(row["mantissa"]), row["exponent"])
        total.flags |= row["flag"]
    schema = {key: frame.schema[key] for key in keys}
    dumps = pl.Series(name, [total.dump() for total in totals.values()], dtype=pl.Binary)
    return pl.DataFrame(list(totals), schema=schema, orient="row").hstack([dumps])


def _merged_floats(dumps: pl.Series) -> pl.Series:
    return pl.Series(dumps.name, [FloatSum.merge(each).dump() for each in dumps], dtype=pl.Binary)
