"""Aggregates, one class per kind, and the group-by that computes them. A new kind is a new class."""

from cauce.operators.aggregates.base import Aggregate, Aggregates, Batch, OfColumn
from cauce.operators.aggregates.by_value import ByValue, CountDistinct, Mode, ModeCount
from cauce.operators.aggregates.count import Count
from cauce.operators.aggregates.extremes import All, Any, First, Max, Min
from cauce.operators.aggregates.group_by import ALL, are_added, final, merge, merge_rows, partial
from cauce.operators.aggregates.lists import Collect, Quantile, QuantileDisc
from cauce.operators.aggregates.modifiers import Filtered, OfDistinct
from cauce.operators.aggregates.moments import Moment, Moments
from cauce.operators.aggregates.ordered import FirstBy, ListOf, Ordered, StringAgg
from cauce.operators.aggregates.sums import Mean, NullableSum, Sum

__all__ = [
    "ALL",
    "Aggregate",
    "Aggregates",
    "All",
    "Any",
    "Batch",
    "ByValue",
    "Collect",
    "Count",
    "CountDistinct",
    "Filtered",
    "First",
    "FirstBy",
    "ListOf",
    "Max",
    "Mean",
    "Min",
    "Mode",
    "ModeCount",
    "Moment",
    "Moments",
    "NullableSum",
    "OfColumn",
    "OfDistinct",
    "Ordered",
    "Quantile",
    "QuantileDisc",
    "StringAgg",
    "Sum",
    "are_added",
    "final",
    "merge",
    "merge_rows",
    "partial",
]
