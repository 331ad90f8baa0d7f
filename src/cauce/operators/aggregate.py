"""Group-bys in three steps: `partial` on a batch, `merge` of partials in any order, `final` at the end.

Merging is commutative and associative and loses nothing, so a group-by may be cut into batches at will.
Rows whose key is null belong to no group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import polars as pl

from cauce.errors import JobFailed
from cauce.operators.exact import WHOLE, FloatSum, divide, float_parts, one_zero
from cauce.operators.late import pick
from cauce.operators.order import POSITION, sort_by

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
    """The exact sum; of no values, zero. Floats give the exact sum rounded once."""


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
    for name, aggregate in aggregates.items():
        match aggregate:
            case Count(column=None):
                expressions.append(pl.len().cast(pl.Int64).alias(name))
            case Count(column=str(column)):
                expressions.append(pl.col(column).count().cast(pl.Int64).alias(name))
            case Sum(column) | Mean(column):
                if _is_float(frame, column):
                    floats.append((name, column))
                else:
                    _check_size(frame, keys, column)
                    expressions.append(_exact_sum(frame, column).alias(name))
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
    return pick(grouped, [*keys, *_partial_columns(aggregates)])


def _canonical(frame: pl.DataFrame) -> pl.DataFrame:
    """0.0 and -0.0 are one key and one value, so that no group shows whichever came first."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return frame.with_columns(one_zero(pl.col(name)).alias(name) for name in floats)


def _partial_columns(aggregates: Aggregates) -> list[str]:
    columns: list[str] = []
    for name, aggregate in aggregates.items():
        columns.append(name)
        if isinstance(aggregate, Mean):
            columns.append(_count(name))
        if isinstance(aggregate, First):
            columns.append(_position(name))
    return columns


def _exact_sum(frame: pl.DataFrame, column: str) -> pl.Expr:
    dtype = frame.schema[column]
    return (pl.col(column) if isinstance(dtype, pl.Decimal) else pl.col(column).cast(WHOLE)).sum()


def _check_size(frame: pl.DataFrame, keys: Sequence[str], column: str) -> None:
    """Polars adds decimals in 128 bits that wrap around: a sum that might is refused."""
    dtype = frame.schema[column]
    if not isinstance(dtype, pl.Decimal) or frame.is_empty():
        return
    limit = 10.0 ** (38 - dtype.scale)
    ends = [float(end) for end in (frame[column].min(), frame[column].max()) if isinstance(end, Decimal)]
    if max((abs(end) for end in ends), default=0.0) * frame.height < limit:
        return
    sizes = frame.group_by(list(keys)).agg(pl.col(column).cast(pl.Float64).abs().sum())[column]
    if (sizes >= 0.99 * limit).any():
        raise JobFailed(f"the sum of {column} needs more than 38 digits: leave its largest values out")


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
    for name, aggregate in aggregates.items():
        match aggregate:
            case Count():
                expressions.append(pl.col(name).sum())
            case Sum() | Mean():
                _check_size(frame, keys, name)
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
    for name in aggregates:
        if merged.schema[name] == pl.List(pl.Binary):
            totals = [FloatSum.merge(dumps).dump() for dumps in merged[name]]
            merged = merged.with_columns(pl.Series(name, totals, dtype=pl.Binary))
    return merged


def final(frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates) -> pl.DataFrame:
    """The aggregates' values from merged partials, ordered by key; without keys, always one row."""
    if not keys and frame.is_empty():
        frame = _of_nothing(frame, aggregates)
    values: list[pl.Series] = [frame[key] for key in keys]
    for name, aggregate in aggregates.items():
        state = frame[name]
        match aggregate:
            case Sum():
                value = _sum_value(state)
            case Mean():
                value = _mean_value(state, frame[_count(name)])
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
        if isinstance(aggregate, Quantile | Collect):
            values[name] = pl.lit([], dtype=dtype)
        if isinstance(aggregate, Mean):
            values[_count(name)] = pl.lit(0).cast(pl.Int64)
    nulls = frame.clear(n=1)
    return nulls.with_columns(**values)


def _sum_value(state: pl.Series) -> pl.Series:
    if state.dtype == pl.Binary:
        return pl.Series([FloatSum.merge([dump]).value() for dump in state], dtype=pl.Float64)
    if state.dtype != WHOLE:
        return state
    sums = state.cast(pl.Int64, strict=False)
    if sums.null_count() > state.null_count():
        raise JobFailed(f"a sum of {state.name} needs more than 64 bits: leave its largest values out")
    return sums


def _mean_value(state: pl.Series, count: pl.Series) -> pl.Series:
    if state.dtype != pl.Binary:
        return divide(state, count)
    means = [FloatSum.merge([dump]).value() / n if n else None for dump, n in zip(state, count, strict=True)]
    return pl.Series(means, dtype=pl.Float64)


def _quantile(values: pl.Series | None, q: float) -> float | None:
    if values is None or values.is_empty():
        return None
    return float(np.quantile(values.sort().to_numpy(), q))
