"""Aggregates whose state is the list of all values: quantiles, and the list itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import polars as pl

from cauce.operators.aggregates.base import Batch, OfColumn, Types, is_number, list_of
from cauce.operators.exact import interpolate


@dataclass(frozen=True)
class _AllValues(OfColumn):
    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(name).explode().drop_nulls()]

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {name: pl.lit([], dtype=types[name])}


@dataclass(frozen=True)
class Quantile(_AllValues):
    """A quantile with linear interpolation between ranks, as NumPy's default; null if there are no values."""

    q: float = 0.5

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).drop_nulls().cast(pl.Float64).alias(name)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return pl.Series(name, [_quantile(values, self.q) for values in states[name]], dtype=pl.Float64)

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Float64()

    def accepts(self, dtype: pl.DataType) -> bool:
        return is_number(dtype)

    def __str__(self) -> str:
        return f"quantile({self.column}, {self.q})"


@dataclass(frozen=True)
class QuantileDisc(_AllValues):
    """The first value, in ascending order, up to which the share of values is at least q; null if there are none."""

    q: float = 0.5

    @property
    def label(self) -> str:
        return "quantile_disc"

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).drop_nulls().alias(name)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        # In decimal arithmetic: 0.7 of 10 values are exactly 7.
        places = [max(math.ceil(Decimal(str(self.q)) * size) - 1, 0) for size in states[name].list.len()]
        ordered = states[name].list.sort()
        return ordered.list.get(pl.Series(places, dtype=pl.Int64), null_on_oob=True)

    def __str__(self) -> str:
        return f"quantile_disc({self.column}, {self.q})"


@dataclass(frozen=True)
class Collect(_AllValues):
    """The non-null values as an ascending list."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).drop_nulls().alias(name)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return states[name].list.sort()

    def dtype(self, types: Types) -> pl.DataType:
        return list_of(super().dtype(types))


def _quantile(values: pl.Series | None, q: float) -> float | None:
    if values is None or values.is_empty():
        return None
    ordered = values.sort().to_numpy()
    # The difference of two floats of opposite signs may exceed the largest float.
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.quantile(ordered, q))
    return found if np.isfinite(found) or not np.isfinite(ordered).all() else interpolate(ordered.tolist(), q)
