"""Group-bys in three steps: `partial` on a batch, `merge` of partials in any order, `final` at the end.

Merging is commutative and associative and loses nothing, so a group-by may be cut into batches at will.
Rows whose key is null belong to no group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cauce.operators.exact import WHOLE, FloatSum, divide, float_parts, interpolate, one_zero
from cauce.operators.late import pick
from cauce.operators.order import POSITION, sort_by
from cauce.operators.wide_sum import is_wide, sums_fit, wide_means, wide_sums, wide_values

ALL = "#all"
"""The key, one for all rows, of a group-by without keys; the frame given to `partial` must have it."""


_MANY_ROWS = 100_000


@dataclass(frozen=True)
class Aggregate:
    """One output of a group-by. `columns` are what it reads."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows; with a column, how many of its values are not null."""

    column: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)


@dataclass(frozen=True)
class OfColumn(Aggregate):
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class Sum(OfColumn):
    """The exact sum; of no values, zero; null where it needs more than 38 digits.

    Integers give an Int128. Floats give the exact sum rounded once.
    """


@dataclass(frozen=True)
class Mean(OfColumn):
    """The exact sum divided once by the count of values that are not null; of no values, null."""


@dataclass(frozen=True)
class Min(OfColumn):
    pass


@dataclass(frozen=True)
class Max(OfColumn):
    pass


@dataclass(frozen=True)
class First(OfColumn):
    """The value (or null) of the row that stands first in the input."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, POSITION)


@dataclass(frozen=True)
class Quantile(OfColumn):
    """Linear interpolation between ranks, as NumPy's default; of no values, null."""

    q: float = 0.5


@dataclass(frozen=True)
class Collect(OfColumn):
    """The values that are not null, as an ascending list."""


@dataclass(frozen=True)
class CountDistinct(OfColumn):
    """How many different values; the planner makes it two group-bys."""


@dataclass(frozen=True)
class Mode(OfColumn):
    """The most frequent values, all of them on a tie, as an ascending list; the planner makes it two group-bys."""


@dataclass(frozen=True)
class ModeCount(OfColumn):
    """How often the most frequent value occurs."""


Aggregates = Mapping[str, Aggregate]


def _position(name: str) -> str:
    return f"{name}#position"


def _count(name: str) -> str:
    return f"{name}#count"


def _high(name: str) -> str:
    """The column beside a wide sum that holds what is above its base (see wide_sum.py)."""
    return f"{name}#high"


def _is_float(frame: pl.DataFrame, column: str) -> bool:
    return frame.schema[column].is_float()


def partial(frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates) -> pl.DataFrame:
    """One row for each group of this batch, in the order in which the groups first occur."""
    keys = keys or (ALL,)
    if any(frame.get_column(key).null_count() for key in keys):
        frame = frame.drop_nulls(list(keys))
    frame = _canonical(frame)
    expressions: list[pl.Expr] = []
    floats: list[tuple[str, str]] = []
    wide: list[tuple[str, str]] = []
    for name, aggregate in aggregates.items():
        match aggregate:
            case Count(column=None):
                expressions.append(pl.len().cast(pl.Int64).alias(name))
            case Count(column=str(column)):
                expressions.append(pl.col(column).count().cast(pl.Int64).alias(name))
            case Sum(column) | Mean(column):
                if _is_float(frame, column):
                    floats.append((name, column))
                elif is_wide(frame.schema[column]):
                    expressions += _wide_sum(frame, column, name, fits := sums_fit(frame, keys, column))
                    wide += [] if fits else [(name, column)]
                else:
                    expressions.append(_whole_sum(frame, column).alias(name))
                if isinstance(aggregate, Mean):
                    expressions.append(pl.col(column).count().cast(pl.Int64).alias(_count(name)))
            case Min(column):
                expressions.append(pl.col(column).min().alias(name))
            case Max(column):
                expressions.append(pl.col(column).max().alias(name))
            case First(column):
                expressions += _first(column, POSITION, name)
            case Quantile(column):
                expressions.append(pl.col(column).drop_nulls().cast(pl.Float64).alias(name))
            case Collect(column):
                expressions.append(pl.col(column).drop_nulls().alias(name))
            case _:
                raise TypeError(f"{aggregate!r} has no partial form")
    grouped = _group(frame, keys, expressions)
    for name, column in floats:
        sums = _float_sums(frame, keys, column, name)
        grouped = grouped.join(sums, on=list(keys), how="left", maintain_order="left")
    for name, column in wide:
        grouped = _replace_sums(grouped, frame.select(*keys, pl.col(column).alias(name)), keys, name)
    return pick(grouped, [*keys, *_partial_columns(aggregates, grouped)])


def _canonical(frame: pl.DataFrame) -> pl.DataFrame:
    """0.0 and -0.0 are one key and one value, so that no group shows whichever came first."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return frame.with_columns(one_zero(pl.col(name)).alias(name) for name in floats)


def _partial_columns(aggregates: Aggregates, grouped: pl.DataFrame) -> list[str]:
    columns: list[str] = []
    for name, aggregate in aggregates.items():
        columns.append(name)
        if _high(name) in grouped.columns:
            columns.append(_high(name))
        if isinstance(aggregate, Mean):
            columns.append(_count(name))
        if isinstance(aggregate, First):
            columns.append(_position(name))
    return columns


def _whole_sum(frame: pl.DataFrame, column: str) -> pl.Expr:
    """A sum of integers of up to 64 bits: in 64 bits where it cannot overflow, and always handed on in 128."""
    values = frame.get_column(column).cast(pl.Int64, strict=False)
    ends = (values.min(), values.max())
    peak = max((abs(end) for end in ends if isinstance(end, int)), default=0)
    if peak * frame.height < 2**63 and values.null_count() == frame.get_column(column).null_count():
        return pl.col(column).cast(pl.Int64).sum().cast(WHOLE)
    return pl.col(column).cast(WHOLE).sum()


def _wide_sum(frame: pl.DataFrame, column: str, name: str, fits: bool) -> list[pl.Expr]:
    """Both halves of a sum of 128-bit values; where it might not fit, in a form that `_replace_sums` replaces."""
    dtype = frame.schema[column]
    low = pl.col(column).sum() if fits else pl.lit(0)
    above = pl.col(_high(column)).sum() if _high(column) in frame.columns else pl.lit(0, dtype=pl.Int64)
    kept = pl.Decimal(38, dtype.scale) if isinstance(dtype, pl.Decimal) else WHOLE
    return [low.cast(kept).alias(name), above.alias(_high(name))]


def _replace_sums(grouped: pl.DataFrame, values: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """The groups with the exact sums of `name`. `values` has the keys, the values and, where they are sums
    themselves, their high halves."""
    sums = wide_sums(values, keys, name, _high(name))
    return grouped.drop(name, _high(name)).join(sums, on=list(keys), how="left", maintain_order="left")


def _first(column: str, position: str, name: str) -> list[pl.Expr]:
    at = pl.col(position).arg_min()
    return [
        pl.col(column).get(at, null_on_oob=True).alias(name),
        pl.col(position).min().alias(_position(name)),
    ]


def _group(frame: pl.DataFrame, keys: Sequence[str], expressions: list[pl.Expr]) -> pl.DataFrame:
    return frame.group_by(list(keys), maintain_order=True).agg(expressions)


def _merge_groups(frame: pl.DataFrame, keys: Sequence[str], expressions: list[pl.Expr]) -> pl.DataFrame:
    """As ``_group``, but in no order: what is merged is put in order at the end."""
    if frame.height < _MANY_ROWS:
        return _group(frame, keys, expressions)
    # The streaming engine takes half the time for many groups.
    return frame.lazy().group_by(list(keys)).agg(expressions).collect(engine="streaming")


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


def merge(frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates) -> pl.DataFrame:
    """Partials of any number of batches, put one under the other, become one row for each group."""
    keys = keys or (ALL,)
    expressions: list[pl.Expr] = []
    wide: list[str] = []
    for name, aggregate in aggregates.items():
        match aggregate:
            case Count():
                expressions.append(pl.col(name).sum())
            case Sum() | Mean():
                if _high(name) in frame.columns:
                    expressions += _wide_sum(frame, name, name, fits := sums_fit(frame, keys, name))
                    wide += [] if fits else [name]
                else:
                    expressions.append(pl.col(name) if frame.schema[name] == pl.Binary else pl.col(name).sum())
                if isinstance(aggregate, Mean):
                    expressions.append(pl.col(_count(name)).sum())
            case Min():
                expressions.append(pl.col(name).min())
            case Max():
                expressions.append(pl.col(name).max())
            case First():
                expressions += _first(name, _position(name), name)
            case Quantile() | Collect():
                expressions.append(pl.col(name).explode().drop_nulls())
            case _:
                raise TypeError(f"{aggregate!r} has no merge")
    merged = _merge_groups(frame, keys, expressions)
    for name in wide:
        merged = _replace_sums(merged, frame.select(*keys, name, _high(name)), keys, name)
    for name in aggregates:
        if merged.schema[name] == pl.List(pl.Binary):
            totals = [FloatSum.merge(dumps).dump() for dumps in merged[name]]
            merged = merged.with_columns(pl.Series(name, totals, dtype=pl.Binary))
    return pick(merged, [*keys, *_partial_columns(aggregates, merged)])


def final(frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates) -> pl.DataFrame:
    """The aggregates' values from merged partials, ordered by key; without keys, always one row."""
    if not keys and frame.is_empty():
        frame = _of_nothing(frame, aggregates)
    values: list[pl.Series] = [frame[key] for key in keys]
    for name, aggregate in aggregates.items():
        state = frame[name]
        high = frame[_high(name)] if _high(name) in frame.columns else None
        match aggregate:
            case Sum():
                value = _sum_value(state, high)
            case Mean():
                value = _mean_value(state, high, frame[_count(name)])
            case Quantile(q=q):
                value = pl.Series(name, [_quantile(values_, q) for values_ in state], dtype=pl.Float64)
            case Collect():
                value = state.list.sort()
            case _:
                value = state
        values.append(value.alias(name))
    result = pl.DataFrame(values)
    return sort_by(result, [pl.col(key) for key in keys], [False] * len(keys)) if keys else result


def _of_nothing(frame: pl.DataFrame, aggregates: Aggregates) -> pl.DataFrame:
    """The partial row of no rows at all."""
    values: dict[str, pl.Expr] = {}
    for name, aggregate in aggregates.items():
        dtype = frame.schema[name]
        if isinstance(aggregate, Count | Sum | Mean):
            values[name] = pl.lit(FloatSum().dump()) if dtype == pl.Binary else pl.lit(0).cast(dtype)
        if _high(name) in frame.columns:
            values[_high(name)] = pl.lit(0, dtype=pl.Int64)
        if isinstance(aggregate, Quantile | Collect):
            values[name] = pl.lit([], dtype=dtype)
        if isinstance(aggregate, Mean):
            values[_count(name)] = pl.lit(0).cast(pl.Int64)
    nulls = frame.clear(n=1)
    return nulls.with_columns(**values)


def _sum_value(state: pl.Series, high: pl.Series | None) -> pl.Series:
    if state.dtype == pl.Binary:
        return pl.Series([FloatSum.merge([dump]).value() for dump in state], dtype=pl.Float64)
    return state if high is None else wide_values(state, high)


def _mean_value(state: pl.Series, high: pl.Series | None, count: pl.Series) -> pl.Series:
    if state.dtype != pl.Binary:
        return divide(state, count) if high is None else wide_means(state, high, count)
    means = [FloatSum.merge([dump]).mean(n) for dump, n in zip(state, count, strict=True)]
    return pl.Series(means, dtype=pl.Float64)


def _quantile(values: pl.Series | None, q: float) -> float | None:
    if values is None or values.is_empty():
        return None
    ordered = values.sort().to_numpy()
    # The distance between two floats of opposite signs may be beyond the largest float.
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.quantile(ordered, q))
    return found if np.isfinite(found) or not np.isfinite(ordered).all() else interpolate(ordered.tolist(), q)
