"""Window functions, named as in SQL, and their frames.

    sales.window(partition_by="shop", order_by="day", total=window.sum("paid"), place=window.rank())

Each function checks its arguments and computes nothing.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from cauce.errors import PlanError
from cauce.operators import windows
from cauce.operators.aggregates import Aggregate, Count, CountDistinct, Max, Mean, Min, NullableSum, OfDistinct
from cauce.operators.windows import Frame, WindowFunction
from cauce.plan.checks.arguments import checked, column_name, instance, shown_value, text, whole_number

__all__ = [
    "count",
    "cume_dist",
    "dense_rank",
    "first_value",
    "groups",
    "lag",
    "last_value",
    "lead",
    "max",
    "mean",
    "min",
    "nth_value",
    "ntile",
    "over",
    "percent_rank",
    "range",
    "rank",
    "row_number",
    "rows",
    "sum",
]


@checked
def rows(start: int | None = None, end: int | None = 0) -> Frame:
    """A frame of rows around the current one: negative is before, positive is after, None is without bound.

    >>> sales.window(order_by="day", frame=window.rows(-6, 0), week=window.sum("paid"))
    """
    _check_whole_bounds("rows", start, end)
    return Frame("rows", start, end)


@checked
def groups(start: int | None = None, end: int | None = 0) -> Frame:
    """A frame of groups of rows that tie: negative is before the group of the current row, positive after, None is
    without bound.

    >>> sales.window(order_by="day", frame=window.groups(-1, 0), two_days=window.sum("paid"))
    """
    _check_whole_bounds("groups", start, end)
    return Frame("groups", start, end)


@checked
def range(start: Any = None, end: Any = 0) -> Frame:
    """A frame of rows whose order key differs from the current one by at most this much: numbers, or timedeltas for
    dates and times. 0 are the rows that tie with the current one.

    >>> sales.window(order_by="day", frame=window.range(-timedelta(days=6), 0), week=window.sum("paid"))
    """
    for name, bound in (("start", start), ("end", end)):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float | Decimal | timedelta)):
            raise PlanError(f"range: {name} must be a number, a timedelta or None, not {shown_value(bound)}")
    return Frame("range", start, end)


@checked
def row_number() -> WindowFunction:
    """The number of the row, from 1; rows that tie are ordered by their remaining columns.

    >>> sales.window(partition_by="shop", order_by="day", n=window.row_number())
    """
    return windows.RowNumber()


@checked
def rank() -> WindowFunction:
    """The number of the first row that ties with this one.

    >>> sales.window(order_by=desc("paid"), place=window.rank())
    """
    return windows.Rank()


@checked
def dense_rank() -> WindowFunction:
    """The number of different keys up to this row.

    >>> sales.window(order_by=desc("paid"), place=window.dense_rank())
    """
    return windows.DenseRank()


@checked
def percent_rank() -> WindowFunction:
    """(rank - 1) / (rows - 1), as a float.

    >>> sales.window(order_by="paid", share=window.percent_rank())
    """
    return windows.PercentRank()


@checked
def cume_dist() -> WindowFunction:
    """The share of rows up to this one and its ties, as a float.

    >>> sales.window(order_by="paid", share=window.cume_dist())
    """
    return windows.CumeDist()


@checked
def ntile(buckets: int) -> WindowFunction:
    """The number of the row's bucket, of buckets of nearly equal size.

    >>> sales.window(order_by="paid", quarter=window.ntile(4))
    """
    whole_number("ntile: buckets", buckets, 1)
    return windows.Ntile(buckets)


@checked
def lag(column: str, offset: int = 1, default: Any = None, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the row `offset` rows before; `default` if there is none.

    >>> sales.window(partition_by="shop", order_by="day", before=window.lag("paid"))
    """
    whole_number("lag: offset", offset, 0)
    _check_flag("lag", ignore_nulls)
    return windows.Lag(_of("lag", column), offset, default, ignore_nulls)


@checked
def lead(column: str, offset: int = 1, default: Any = None, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the row `offset` rows after; `default` if there is none.

    >>> sales.window(partition_by="shop", order_by="day", after=window.lead("paid"))
    """
    whole_number("lead: offset", offset, 0)
    _check_flag("lead", ignore_nulls)
    return windows.Lag(_of("lead", column), -offset, default, ignore_nulls)


@checked
def first_value(column: str, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the first row of the frame; with `ignore_nulls`, of the first row that has a value.

    >>> sales.window(partition_by="shop", order_by="day", opening=window.first_value("paid"))
    """
    _check_flag("first_value", ignore_nulls)
    return windows.FirstValue(_of("first_value", column), ignore_nulls)


@checked
def last_value(column: str, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the last row of the frame, which ends with the current row's ties by default.

    >>> sales.window(order_by="day", frame=window.rows(None, None), latest=window.last_value("paid"))
    """
    _check_flag("last_value", ignore_nulls)
    return windows.LastValue(_of("last_value", column), ignore_nulls)


@checked
def nth_value(column: str, n: int, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the n-th row of the frame, from 1; null if there is none.

    >>> sales.window(partition_by="shop", order_by="day", second=window.nth_value("paid", 2))
    """
    whole_number("nth_value: n", n, 1)
    _check_flag("nth_value", ignore_nulls)
    return windows.NthValue(_of("nth_value", column), n, ignore_nulls)


@checked
def count(column: str | None = None) -> WindowFunction:
    """The number of rows of the frame; with a column, the number of its non-null values.

    >>> sales.window(partition_by="shop", sales=window.count())
    """
    return windows.OverFrame(Count(None if column is None else _of("count", column)))


@checked
def sum(column: str) -> WindowFunction:
    """The exact sum of the frame; null if it has no values.

    >>> sales.window(partition_by="shop", order_by="day", total=window.sum("paid"))
    """
    return windows.OverFrame(NullableSum(_of("sum", column)))


@checked
def mean(column: str) -> WindowFunction:
    """The exact sum of the frame divided once by the number of values, as a float.

    >>> sales.window(order_by="day", frame=window.rows(-6, 0), usual=window.mean("paid"))
    """
    return windows.OverFrame(Mean(_of("mean", column)))


@checked
def min(column: str) -> WindowFunction:
    """The smallest value of the frame.

    >>> sales.window(partition_by="shop", lowest=window.min("paid"))
    """
    return windows.OverFrame(Min(_of("min", column)))


@checked
def max(column: str) -> WindowFunction:
    """The largest value of the frame.

    >>> sales.window(partition_by="shop", highest=window.max("paid"))
    """
    return windows.OverFrame(Max(_of("max", column)))


@checked
def over(aggregate: Aggregate) -> WindowFunction:
    """Any other aggregate of the frame, also of distinct values. Without an order it is computed once for each
    partition; otherwise for every frame.

    >>> sales.window(partition_by="shop", usual=window.over(agg.median("paid")))
    """
    instance("over", aggregate, Aggregate, 'an aggregate, such as agg.median("paid")')
    distinct = isinstance(aggregate, OfDistinct | CountDistinct)
    of: Aggregate = aggregate
    if isinstance(aggregate, OfDistinct):
        of = aggregate.of
    elif isinstance(aggregate, CountDistinct):
        of = Count(aggregate.column)
    if not of.has_state:
        raise PlanError(f"over: {aggregate} is not supported in a window, nor is an aggregate with a condition")
    return windows.OverFrame(of, distinct)


def _check_whole_bounds(function: str, start: object, end: object) -> None:
    for name, bound in (("start", start), ("end", end)):
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
            raise PlanError(f"{function}: {name} must be a whole number or None, not {shown_value(bound)}")


def _check_flag(function: str, ignore_nulls: object) -> None:
    instance(f"{function}: ignore_nulls", ignore_nulls, bool, "True or False")


def _of(function: str, column: str) -> str:
    column_name(function, column)
    text(function, column, "column")
    return column
