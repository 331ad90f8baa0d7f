"""Aggregates of some rows or of distinct values. They have no state: the plan replaces them by plain aggregates."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates.base import Aggregate, Types
from cauce.operators.aggregates.by_value import VALUE, ByValue


@dataclass(frozen=True, eq=False)
class Filtered(Aggregate):
    """An aggregate of the rows for which a predicate is true."""

    of: Aggregate
    where: pl.Expr

    @property
    def predicates(self) -> tuple[pl.Expr, ...]:
        return (self.where,)

    @property
    def has_state(self) -> bool:
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.of.columns, *self.where.meta.root_names())


@dataclass(frozen=True)
class OfDistinct(ByValue):
    """An aggregate of the distinct values of its column."""

    of: Aggregate

    @property
    def predicates(self) -> tuple[pl.Expr, ...]:
        return self.of.predicates

    @property
    def label(self) -> str:
        return self.of.label

    @property
    def of_counts(self) -> Aggregate:
        return self.of.over({self.column: VALUE}, VALUE)

    @property
    def zero_if_none(self) -> bool:
        return self.of.zero_if_none

    def dtype(self, types: Types) -> pl.DataType:
        return self.of.dtype(types)

    def accepts(self, dtype: pl.DataType) -> bool:
        return self.of.accepts(dtype)
