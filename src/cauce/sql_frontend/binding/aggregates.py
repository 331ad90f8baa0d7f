"""Binds aggregate functions: their arguments, DISTINCT, FILTER, ORDER BY, and the type of their result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal as PyDecimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from cauce.sql_frontend.binding.positions import at, only, text_of
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import AggregateCall, Constant, Expr, SortItem
from cauce.sql_frontend.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, NULL, VARCHAR, SqlType, decimal, list_of

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.expressions import ExpressionBinder


@dataclass(frozen=True)
class AggregateFunction:
    """`parameters` is the number of constant arguments after the values. `wants` is the type of its values: a type
    name, NUMBER, or ANY."""

    name: str
    values: int
    result: Callable[[Sequence[SqlType]], SqlType]
    doc: str
    example: str
    wants: str = "ANY"
    parameters: int = 0
    optional: int = 0
    ordered: bool = False
    """Whether ORDER BY inside the call is allowed."""


def _sum_type(types: Sequence[SqlType]) -> SqlType:
    kind = types[0]
    if kind.is_float:
        return DOUBLE
    return decimal(38, kind.scale) if kind.name == "DECIMAL" else HUGEINT


def _first_type(types: Sequence[SqlType]) -> SqlType:
    return types[0]


def _constant_type(kind: SqlType) -> Callable[[Sequence[SqlType]], SqlType]:
    return lambda types: kind


def _continuous_type(types: Sequence[SqlType]) -> SqlType:
    return DOUBLE


_double = _constant_type(DOUBLE)

_FUNCTIONS = (
    AggregateFunction(
        "count",
        1,
        _constant_type(BIGINT),
        "The number of values that are not NULL; of rows for `count(*)`.",
        "count(x)",
    ),
    AggregateFunction("sum", 1, _sum_type, "The exact sum; NULL if there are no values.", "sum(x)", "SUM"),
    AggregateFunction("avg", 1, _double, "The mean: the exact sum, divided once.", "avg(x)", "SUM"),
    AggregateFunction("min", 1, _first_type, "The smallest value.", "min(x)"),
    AggregateFunction("max", 1, _first_type, "The largest value.", "max(x)"),
    AggregateFunction("median", 1, _continuous_type, "The middle value, interpolated.", "median(x)", "NUMBER"),
    AggregateFunction(
        "quantile_cont", 1, _continuous_type, "An interpolated quantile.", "quantile_cont(x, 0.25)", "NUMBER", 1
    ),
    AggregateFunction("quantile_disc", 1, _first_type, "The value at a quantile.", "quantile_disc(x, 0.25)", "ANY", 1),
    AggregateFunction("mode", 1, _first_type, "The most frequent value, the smallest of several.", "mode(x)"),
    AggregateFunction("stddev_samp", 1, _double, "The standard deviation of a sample.", "stddev_samp(x)", "DOUBLE"),
    AggregateFunction("stddev_pop", 1, _double, "The standard deviation of all values.", "stddev_pop(x)", "DOUBLE"),
    AggregateFunction("var_samp", 1, _double, "The variance of a sample.", "var_samp(x)", "DOUBLE"),
    AggregateFunction("var_pop", 1, _double, "The variance of all values.", "var_pop(x)", "DOUBLE"),
    AggregateFunction("corr", 2, _double, "The correlation of two values.", "corr(x, y)", "DOUBLE"),
    AggregateFunction("covar_samp", 2, _double, "The covariance of a sample.", "covar_samp(x, y)", "DOUBLE"),
    AggregateFunction("covar_pop", 2, _double, "The covariance of all values.", "covar_pop(x, y)", "DOUBLE"),
    AggregateFunction("any_value", 1, _first_type, "Some value that is not NULL: the smallest.", "any_value(x)"),
    AggregateFunction(
        "first", 1, _first_type, "The first value in the given order.", "first(x ORDER BY x)", ordered=True
    ),
    AggregateFunction("last", 1, _first_type, "The last value in the given order.", "last(x ORDER BY x)", ordered=True),
    AggregateFunction(
        "string_agg",
        1,
        _constant_type(VARCHAR),
        "The texts joined by a separator.",
        "string_agg(s, ', ' ORDER BY s)",
        "VARCHAR",
        1,
        1,
        True,
    ),
    AggregateFunction(
        "list", 1, lambda types: list_of(types[0]), "A list of the values.", "list(x ORDER BY x)", ordered=True
    ),
    AggregateFunction(
        "count_if",
        1,
        _constant_type(HUGEINT),
        "The number of rows where a condition is true.",
        "count_if(x > 1)",
        "BOOLEAN",
    ),
    AggregateFunction(
        "bool_and",
        1,
        _constant_type(BOOLEAN),
        "Whether a condition is true for all values.",
        "bool_and(x > 0)",
        "BOOLEAN",
    ),
    AggregateFunction(
        "bool_or",
        1,
        _constant_type(BOOLEAN),
        "Whether a condition is true for some value.",
        "bool_or(x > 2)",
        "BOOLEAN",
    ),
    AggregateFunction("arg_min", 2, _first_type, "The value where another one is smallest.", "arg_min(s, x)"),
    AggregateFunction("arg_max", 2, _first_type, "The value where another one is largest.", "arg_max(s, x)"),
    AggregateFunction(
        "approx_count_distinct",
        1,
        _constant_type(BIGINT),
        "The number of distinct values; exact here.",
        "approx_count_distinct(x)",
    ),
)

_ALIASES = {
    "mean": "avg",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "group_concat": "string_agg",
    "listagg": "string_agg",
    "array_agg": "list",
    "countif": "count_if",
    "argmin": "arg_min",
    "argmax": "arg_max",
    "min_by": "arg_min",
    "max_by": "arg_max",
    "arbitrary": "first",
    "every": "bool_and",
    "quantile": "quantile_disc",
    "percentile_cont": "quantile_cont",
    "percentile_disc": "quantile_disc",
}

AGGREGATES: dict[str, AggregateFunction] = {function.name: function for function in _FUNCTIONS}
AGGREGATES |= {alias: AGGREGATES[name] for alias, name in _ALIASES.items()}


def bind_aggregate(
    binder: ExpressionBinder,
    node: exp.Anonymous,
    condition: exp.Expr | None = None,
    order: Sequence[exp.Ordered] = (),
) -> Expr:
    name, where = str(node.this).lower(), at(node)
    if not binder.aggregates:
        raise StatementError(f"the aggregate {name} is not allowed in {binder.clause}", where)
    given, distinct, inside = _arguments(node)
    inner = binder.inner()
    if name in ("grouping", "grouping_id"):
        return AggregateCall(BIGINT, "grouping", tuple(inner.bind_all(given)), at=where)
    filtered = None if condition is None else ops.truth(inner.bind(condition), "FILTER")
    items = tuple(sort_item(inner, each) for each in (*inside, *order))
    if name == "count" and (not given or isinstance(given[0], exp.Star)):
        if distinct:
            raise StatementError("count(DISTINCT *) is not supported; count the rows of SELECT DISTINCT", where)
        return AggregateCall(BIGINT, "count", (), condition=filtered, at=where)
    function = AGGREGATES[name]
    if items and not function.ordered:
        items = ()
    return _call(function, inner.bind_all(given), distinct, filtered, items, where)


def _arguments(node: exp.Anonymous) -> tuple[list[exp.Expr], bool, list[exp.Ordered]]:
    """The arguments without DISTINCT and ORDER BY."""
    given = list(node.expressions)
    order: list[exp.Ordered] = []
    if given and isinstance(given[-1], exp.Order):
        order = given[-1].expressions
        given[-1] = given[-1].this
    distinct = bool(given) and isinstance(given[0], exp.Distinct)
    if distinct:
        given = [*given[0].expressions, *given[1:]]
        if given and isinstance(given[-1], exp.Order):
            order = given[-1].expressions
            given[-1] = given[-1].this
    return given, distinct, order


def _call(
    function: AggregateFunction,
    arguments: list[Expr],
    distinct: bool,
    condition: Expr | None,
    order: tuple[SortItem, ...],
    where: int,
) -> Expr:
    most = function.values + function.parameters
    if function.name == "count" and distinct and len(arguments) > 1:
        raise StatementError("count(DISTINCT a, b) is not supported; count the rows of SELECT DISTINCT a, b", where)
    if not most - function.optional <= len(arguments) <= most:
        raise StatementError(
            f"{function.name} takes {most} argument{'s' * (most != 1)}, as in {function.example}", where
        )
    values = tuple(_value(function, each) for each in arguments[: function.values])
    parameters = tuple(_parameter(function, each) for each in arguments[function.values :])
    kind = function.result([each.type for each in values])
    return AggregateCall(kind, function.name, values, distinct, condition, order, parameters, at=where)


def _value(function: AggregateFunction, value: Expr) -> Expr:
    if value.type == NULL:
        value = Constant(_TYPE_OF_NULL.get(function.wants, INTEGER), None, at=value.at)
    if function.wants == "ANY" or value.type.name == function.wants:
        return value
    if function.wants == "SUM" and (value.type.is_number or value.type == BOOLEAN):
        return value if value.type.is_number else folded(ops.cast(value, INTEGER))
    if function.wants == "NUMBER" and value.type.is_number:
        return value
    if function.wants == "DOUBLE" and value.type.is_number:
        return folded(ops.cast(value, DOUBLE))
    if function.wants == "VARCHAR":
        return folded(ops.cast(value, VARCHAR))
    wanted = "a number" if function.wants in ("SUM", "NUMBER", "DOUBLE") else f"a {function.wants}"
    raise StatementError(f"{function.name} needs {wanted}, not {value.type}; add a CAST", value.at)


_TYPE_OF_NULL = {"DOUBLE": DOUBLE, "VARCHAR": VARCHAR, "BOOLEAN": BOOLEAN}


def _parameter(function: AggregateFunction, value: Expr) -> Any:
    if not isinstance(value, Constant):
        raise StatementError(f"the last argument of {function.name} must be a constant", value.at)
    if function.name.startswith("quantile"):
        if not isinstance(value.value, int | float | PyDecimal) or not 0 <= value.value <= 1:
            raise StatementError(f"the quantile of {function.name} must be a number from 0 to 1", value.at)
        return float(value.value)
    if not isinstance(value.value, str):
        raise StatementError(f"the separator of {function.name} must be a text", value.at)
    return value.value


def bind_filtered(binder: ExpressionBinder, node: exp.Filter) -> Expr:
    inner = node.this
    condition = node.expression.this
    if isinstance(inner, exp.WithinGroup):
        return bind_within_group(binder, inner, condition)
    if not isinstance(inner, exp.Anonymous) or str(inner.this).lower() not in AGGREGATES:
        raise StatementError(f"FILTER needs an aggregate, not {text_of(inner)[:40]}", at(node))
    return bind_aggregate(binder, inner, condition)


def bind_within_group(binder: ExpressionBinder, node: exp.WithinGroup, condition: exp.Expr | None = None) -> Expr:
    """percentile_cont(0.5) WITHIN GROUP (ORDER BY x)."""
    inner, order = node.this, node.expression.expressions
    name = str(inner.this).lower() if isinstance(inner, exp.Anonymous) else text_of(inner)
    if name not in (
        "percentile_cont",
        "percentile_disc",
        "quantile_cont",
        "quantile_disc",
        "mode",
        "string_agg",
        "listagg",
    ):
        raise StatementError(f"WITHIN GROUP is not supported for {name}", at(node))
    if len(order) != 1:
        raise StatementError("WITHIN GROUP needs ORDER BY with one value", at(node))
    if name in ("string_agg", "listagg"):
        return bind_aggregate(binder, inner, condition, order)
    descending = bool(order[0].args.get("desc"))
    made = exp.Anonymous(this=name, expressions=[order[0].this, *inner.expressions])
    made.meta.update(inner.meta)
    bound = bind_aggregate(binder, made, condition)
    assert isinstance(bound, AggregateCall)
    if descending:
        bound = replace(bound, parameters=tuple(1 - each for each in bound.parameters))
        if bound.name == "quantile_disc":
            raise StatementError("ORDER BY ... DESC is not supported for percentile_disc; use 1 - fraction", at(node))
    return bound


def sort_item(binder: ExpressionBinder, node: exp.Ordered) -> SortItem:
    only(node, "ORDER BY", "this", "desc", "nulls_first")
    return SortItem(binder.bind(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
