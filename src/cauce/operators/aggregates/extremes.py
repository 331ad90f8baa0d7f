"""The smallest, the largest and the first value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates.base import UNKNOWN, Aggregate, Batch, OfColumn, Types
from cauce.operators.order import POSITION

_BOOLEANS = ("booleans", 'compute them before, as in with_columns(large=pl.col("n") > 100)')


@dataclass(frozen=True)
class Min(OfColumn):
    """The smallest value; null if there are no values."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).min().alias(name)]

    def of_row(self, types: Types, name: str) -> list[pl.Expr] | None:
        return [pl.col(self.column).alias(name)]

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(name).min()]


@dataclass(frozen=True)
class Max(OfColumn):
    """The largest value; null if there are no values."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).max().alias(name)]

    def of_row(self, types: Types, name: str) -> list[pl.Expr] | None:
        return [pl.col(self.column).alias(name)]

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(name).max()]


class _OfBooleans(OfColumn):
    def accepts(self, dtype: pl.DataType) -> bool:
        return dtype in (pl.Boolean, UNKNOWN)

    @property
    def needs(self) -> tuple[str, str]:
        return _BOOLEANS


@dataclass(frozen=True)
class All(_OfBooleans, Min):
    """Whether all non-null values are true; null if there are none."""


@dataclass(frozen=True)
class Any(_OfBooleans, Max):
    """Whether some value is true; null if there are no non-null values."""


@dataclass(frozen=True)
class First(OfColumn):
    """The value (or null) of the first row in input order."""

    position: str = POSITION

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.position)

    def over(self, names: Mapping[str, str], where: str) -> Aggregate:
        return First(names[self.column], names[self.position])

    def state(self, name: str) -> tuple[str, ...]:
        return (name, _position(name))

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return _first(self.column, self.position, name)

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return _first(name, _position(name), name)

    def __str__(self) -> str:
        return f"first({self.column})"


def _position(name: str) -> str:
    return f"{name}#position"


def _first(column: str, position: str, name: str) -> list[pl.Expr]:
    at = pl.col(position).arg_min()
    return [
        pl.col(column).get(at, null_on_oob=True).alias(name),
        pl.col(position).min().alias(_position(name)),
    ]
