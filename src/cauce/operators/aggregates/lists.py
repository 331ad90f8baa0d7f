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
class Picked:
    """For each group: the values at two ranks, the largest value, and the number of values."""

    low: pl.Series
    high: pl.Series
    largest: pl.Series
    counts: pl.Series


@dataclass(frozen=True)
class Ranked(_AllValues):
    """Base class of aggregates that depend on the values at two ranks and on the largest value, in ascending order.

    When all values of a group are known, its state may be trimmed to these three; another column then has the number of
    all values. Trimmed states cannot be merged."""

    q: float = 0.5

    def ranks(self, count: int) -> tuple[int, int]:
        """The two ranks, from 0, among so many values."""
        raise NotImplementedError

    def count_column(self, name: str) -> str:
        """The column of a trimmed state with the number of all values."""
        return f"{name}#count"

    def _pick(self, states: pl.DataFrame, name: str) -> Picked:
        counts = states.get_column(self.count_column(name), default=None)
        if counts is not None:
            low, high, largest = (states[name].list.get(place) for place in range(3))
            return Picked(low, high, largest, counts)
        ordered, counts = states[name].list.sort(), states[name].list.len()
        ranks = [self.ranks(count) if count else (0, 0) for count in counts.fill_null(0)]
        low, high = (
            ordered.list.get(pl.Series([each[end] for each in ranks], dtype=pl.Int64), null_on_oob=True)
            for end in range(2)
        )
        return Picked(low, high, ordered.list.last(), counts)


@dataclass(frozen=True)
class Quantile(Ranked):
    """A quantile with linear interpolation between ranks, as NumPy's default; null if there are no values."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).drop_nulls().cast(pl.Float64).alias(name)]

    def ranks(self, count: int) -> tuple[int, int]:
        low = math.floor((count - 1) * self.q)
        return low, min(low + 1, count - 1)

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        picked = self._pick(states, name)
        places = (picked.counts.fill_null(0).to_numpy().astype(np.int64) - 1) * self.q
        low, high = picked.low.to_numpy(), picked.high.to_numpy()
        values = pl.Series(name, interpolate(low, high, places - np.floor(places)), dtype=pl.Float64)
        # NaN is the largest value of all.
        return pl.select(
            pl.when(picked.low.is_null()).then(None).when(picked.largest.is_nan()).then(math.nan).otherwise(values)
        ).to_series()

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Float64()

    def accepts(self, dtype: pl.DataType) -> bool:
        return is_number(dtype)

    def __str__(self) -> str:
        return f"quantile({self.column}, {self.q})"


@dataclass(frozen=True)
class QuantileDisc(Ranked):
    """The first value, in ascending order, up to which the share of values is at least q; null if there are none."""

    @property
    def label(self) -> str:
        return "quantile_disc"

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).drop_nulls().alias(name)]

    def ranks(self, count: int) -> tuple[int, int]:
        # In decimal arithmetic: 0.7 of 10 values are exactly 7.
        place = max(math.ceil(Decimal(str(self.q)) * count) - 1, 0)
        return place, place

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return self._pick(states, name).low

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
