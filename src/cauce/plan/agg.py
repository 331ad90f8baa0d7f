"""The aggregates of a group-by, named as in Polars and SQL.

    sales.group_by("item").agg(sold=agg.sum("quantity"), buyers=agg.n_unique("customer"))

Each function checks its arguments and computes nothing.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Literal

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates import (
    Aggregate,
    All,
    Any,
    Count,
    CountDistinct,
    Filtered,
    First,
    FirstBy,
    ListOf,
    Max,
    Mean,
    Min,
    Mode,
    ModeCount,
    Moment,
    Moments,
    NullableSum,
    OfDistinct,
    Quantile,
    QuantileDisc,
    StringAgg,
    Sum,
)
from cauce.operators.order import POSITION, SortKey
from cauce.plan.checks.arguments import checked, column_name, instance, shown_value, text, whole_number

__all__ = [
    "all",
    "any",
    "any_value",
    "arg_max",
    "arg_min",
    "corr",
    "count",
    "cov",
    "first",
    "last",
    "list",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "mode_count",
    "n_unique",
    "quantile",
    "quantile_disc",
    "std",
    "string_agg",
    "sum",
    "var",
]

By = str | SortKey


@checked
def count(column: str | None = None, *, where: pl.Expr | None = None) -> Aggregate:
    """The number of rows; with a column, the number of its non-null values. With `where`, only of the rows for which
    it is true, as all aggregates.

    >>> orders.group_by("customer").agg(orders=agg.count(), large=agg.count(where=pl.col("paid") > 100))
    """
    return _modified("count", Count(None if column is None else _of("count", column)), where)


@checked
def sum(column: str, *, min_count: int = 0, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The exact sum; zero if there are no values. With `min_count`, null if there are fewer values; SQL's sum has
    `min_count=1`. With `distinct`, the sum of the distinct values.

    >>> orders.group_by("customer").agg(spent=agg.sum("amount"))
    """
    whole_number("sum: min_count", min_count, 0)
    made = NullableSum(_of("sum", column), min_count) if min_count else Sum(_of("sum", column))
    return _modified("sum", made, where, distinct)


@checked
def mean(column: str, *, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The exact sum divided once by the number of values, as a float.

    >>> orders.group_by("customer").agg(usual=agg.mean("amount"))
    """
    return _modified("mean", Mean(_of("mean", column)), where, distinct)


@checked
def min(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The smallest value.

    >>> orders.group_by("customer").agg(since=agg.min("day"))
    """
    return _modified("min", Min(_of("min", column)), where)


@checked
def max(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The largest value.

    >>> orders.group_by("customer").agg(latest=agg.max("day"))
    """
    return _modified("max", Max(_of("max", column)), where)


@checked
def first(column: str, order_by: By | Sequence[By] = (), *, where: pl.Expr | None = None) -> Aggregate:
    """The value of the first row in an order, by default in input order. Ties are decided by the value.

    >>> users.group_by("user_id").agg(birthdate=agg.first("birthdate"))
    """
    order = _order("first", order_by)
    made: Aggregate = FirstBy(_of("first", column), order) if order else First(_of("first", column))
    return _modified("first", made, where)


@checked
def last(column: str, order_by: By | Sequence[By] = (), *, where: pl.Expr | None = None) -> Aggregate:
    """The value of the last row in an order, by default in input order. Ties are decided by the value.

    >>> orders.group_by("customer").agg(city=agg.last("city", order_by="day"))
    """
    order = _order("last", order_by) or (SortKey(POSITION),)
    return _modified("last", FirstBy(_of("last", column), order, last=True), where)


@checked
def arg_min(column: str, by: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The value of a column where another one is smallest. Rows with a null in either are ignored.

    >>> orders.group_by("store").agg(cheapest=agg.arg_min("item", "price"))
    """
    return _at_extreme("arg_min", column, SortKey(_of("arg_min", by)), where)


@checked
def arg_max(column: str, by: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The value of a column where another one is largest. Rows with a null in either are ignored.

    >>> orders.group_by("store").agg(dearest=agg.arg_max("item", "price"))
    """
    return _at_extreme("arg_max", column, SortKey(_of("arg_max", by), descending=True), where)


@checked
def any_value(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """A non-null value, always the same one: the smallest.

    >>> orders.group_by("store_id").agg(name=agg.any_value("store_name"))
    """
    return _modified("any_value", Min(_of("any_value", column)), where)


@checked
def all(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """Whether all non-null values are true; null if there are none. SQL's bool_and.

    >>> orders.group_by("customer").agg(paid=agg.all("is_paid"))
    """
    return _modified("all", All(_of("all", column)), where)


@checked
def any(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """Whether some value is true; null if there are no non-null values. SQL's bool_or.

    >>> orders.group_by("customer").agg(late=agg.any("is_late"))
    """
    return _modified("any", Any(_of("any", column)), where)


@checked
def list(
    column: str, order_by: By | Sequence[By] = (), *, where: pl.Expr | None = None, distinct: bool = False
) -> Aggregate:
    """All values, null included, as a list in an order, by default of the values themselves.

    >>> orders.group_by("customer").agg(items=agg.list("item", order_by="day"))
    """
    return _modified("list", ListOf(_of("list", column), _order("list", order_by)), where, distinct)


@checked
def string_agg(
    column: str,
    separator: str = ",",
    order_by: By | Sequence[By] = (),
    *,
    where: pl.Expr | None = None,
    distinct: bool = False,
) -> Aggregate:
    """The non-null values joined to a text in an order, by default of the values themselves; null if there are none.

    >>> orders.group_by("customer").agg(items=agg.string_agg("item", "; ", order_by=desc("price")))
    """
    instance("string_agg: separator", separator, str, 'a text, such as ", "')
    made = StringAgg(_of("string_agg", column), _order("string_agg", order_by), separator=separator)
    return _modified("string_agg", made, where, distinct)


@checked
def var(column: str, *, ddof: int = 1, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The variance of a sample; of the population with `ddof=0`. Exact until the last division.

    >>> orders.group_by("store").agg(spread=agg.var("amount"))
    """
    return _modified("var", Moments(_moment("var", ddof), _of("var", column)), where, distinct)


@checked
def std(column: str, *, ddof: int = 1, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The standard deviation of a sample; of the population with `ddof=0`.

    >>> orders.group_by("store").agg(spread=agg.std("amount"))
    """
    return _modified("std", Moments(_moment("stddev", ddof), _of("std", column)), where, distinct)


@checked
def cov(x: str, y: str, *, ddof: int = 1, where: pl.Expr | None = None) -> Aggregate:
    """The covariance of two columns in a sample; in the population with `ddof=0`.

    >>> orders.group_by("store").agg(c=agg.cov("price", "quantity"))
    """
    return _modified("cov", Moments(_moment("covar", ddof), _of("cov", x), _of("cov", y)), where)


@checked
def corr(x: str, y: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The correlation of two columns; not a number if one is constant, as in DuckDB.

    >>> orders.group_by("store").agg(c=agg.corr("price", "quantity"))
    """
    return _modified("corr", Moments("corr", _of("corr", x), _of("corr", y)), where)


@checked
def quantile(column: str, q: float, *, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The `q`-quantile (0 to 1) as a float, linearly interpolated between ranks.

    >>> orders.group_by("store").agg(most=agg.quantile("amount", 0.9))
    """
    _check_share("quantile", q)
    return _modified("quantile", Quantile(_of("quantile", column), q), where, distinct)


@checked
def quantile_disc(column: str, q: float, *, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The first value, in ascending order, up to which the share of values is at least `q` (0 to 1).

    >>> orders.group_by("store").agg(most=agg.quantile_disc("day", 0.9))
    """
    _check_share("quantile_disc", q)
    return _modified("quantile_disc", QuantileDisc(_of("quantile_disc", column), q), where, distinct)


@checked
def median(column: str, *, where: pl.Expr | None = None, distinct: bool = False) -> Aggregate:
    """The median, as a float.

    >>> orders.group_by("store").agg(usual=agg.median("amount"))
    """
    return _modified("median", Quantile(_of("median", column), 0.5), where, distinct)


@checked
def n_unique(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The number of distinct values; null is not counted.

    >>> orders.group_by("store").agg(customers=agg.n_unique("customer"))
    """
    return _modified("n_unique", CountDistinct(_of("n_unique", column)), where)


@checked
def mode(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The most frequent values, all of them on a tie, as a list.

    >>> flights.group_by("origin").agg(fares=agg.mode("fare"))
    """
    return _modified("mode", Mode(_of("mode", column)), where)


@checked
def mode_count(column: str, *, where: pl.Expr | None = None) -> Aggregate:
    """The number of occurrences of the most frequent value.

    >>> flights.group_by("origin").agg(times=agg.mode_count("fare"))
    """
    return _modified("mode_count", ModeCount(_of("mode_count", column)), where)


def _of(function: str, column: str) -> str:
    column_name(function, column)
    text(function, column, "column")
    return column


def _check_share(function: str, q: object) -> None:
    if not isinstance(q, int | float) or isinstance(q, bool) or not 0 <= q <= 1:
        raise PlanError(f"{function}: q must be a number from 0 to 1, not {shown_value(q)}")


def _order(function: str, order_by: object) -> tuple[SortKey, ...]:
    alone = isinstance(order_by, str | SortKey | pl.Expr) or not isinstance(order_by, Sequence)
    given: Sequence[object] = [order_by] if alone else order_by  # type: ignore[assignment]
    keys = tuple(each if isinstance(each, SortKey) else SortKey(_of(function, each)) for each in given)  # type: ignore[arg-type]
    if not builtins.all(isinstance(key.what, str) for key in keys):
        raise PlanError(f"{function}: order_by takes columns, not a ratio; compute it with divide(...) before")
    return keys


def _at_extreme(function: str, column: str, by: SortKey, where: pl.Expr | None) -> Aggregate:
    present = pl.col(_of(function, column)).is_not_null() & pl.col(str(by.what)).is_not_null()
    return _modified(function, FirstBy(column, (by,)), present if where is None else present & where)


def _moment(name: Literal["var", "stddev", "covar"], ddof: int) -> Moment:
    whole_number(f"{name}: ddof", ddof, 0, 1)
    moments: dict[tuple[str, int], Moment] = {
        ("var", 1): "var_samp",
        ("var", 0): "var_pop",
        ("stddev", 1): "stddev_samp",
        ("stddev", 0): "stddev_pop",
        ("covar", 1): "covar_samp",
        ("covar", 0): "covar_pop",
    }
    return moments[name, ddof]


def _modified(function: str, of: Aggregate, where: pl.Expr | None, distinct: bool = False) -> Aggregate:
    """An aggregate of the rows for which a condition holds, and of their distinct values."""
    instance(f"{function}: distinct", distinct, bool, "True or False")
    if where is not None:
        instance(f"{function}: where", where, pl.Expr, 'a condition, such as pl.col("n") > 1')
        of = Filtered(of, where)
    return OfDistinct(of.columns[0], of) if distinct else of
