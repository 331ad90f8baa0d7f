"""Aggregates over the distinct values of a column. They have no state: the plan first counts each value, and then
aggregates these counts, or only those of the most frequent values."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates.base import Aggregate, OfColumn, Types, list_of
from cauce.operators.aggregates.count import Count
from cauce.operators.aggregates.extremes import Max
from cauce.operators.aggregates.lists import Collect

VALUE = "#value"
TIMES = "#times"
"""The columns of the counted values."""


@dataclass(frozen=True)
class ByValue(OfColumn):
    """Base class. If `most_frequent`, only the most frequent values are aggregated, all of them on a tie."""

    @property
    def has_state(self) -> bool:
        return False

    @property
    def most_frequent(self) -> bool:
        return False

    @property
    def of_counts(self) -> Aggregate:
        """The aggregate to compute over the counted values."""
        raise NotImplementedError

    @property
    def zero_if_none(self) -> bool:
        """Whether the result for a group without values is zero instead of null."""
        return True

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Int64()


@dataclass(frozen=True)
class CountDistinct(ByValue):
    """The number of distinct values."""

    @property
    def label(self) -> str:
        return "n_unique"

    @property
    def of_counts(self) -> Aggregate:
        return Count()


@dataclass(frozen=True)
class ModeCount(ByValue):
    """The number of occurrences of the most frequent value."""

    @property
    def label(self) -> str:
        return "mode_count"

    @property
    def most_frequent(self) -> bool:
        return True

    @property
    def of_counts(self) -> Aggregate:
        return Max(TIMES)


@dataclass(frozen=True)
class Mode(ByValue):
    """The most frequent values, all of them on a tie, as an ascending list."""

    @property
    def most_frequent(self) -> bool:
        return True

    @property
    def of_counts(self) -> Aggregate:
        return Collect(VALUE)

    @property
    def zero_if_none(self) -> bool:
        return False

    def dtype(self, types: Types) -> pl.DataType:
        return list_of(OfColumn.dtype(self, types))
