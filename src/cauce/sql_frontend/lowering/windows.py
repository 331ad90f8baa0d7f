"""Lowers window functions: calls with the same partition, order and frame are computed together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import polars as pl

from cauce.operators.order import SortKey
from cauce.operators.windows import Frame as PlanFrame
from cauce.operators.windows import WindowFunction
from cauce.plan import agg, window
from cauce.plan.relation import Relation
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import Bound, Column, Constant, Expr, Frame, SortItem, Window, WindowCall

Translate = Callable[[Expr], pl.Expr]


def lower_window(step: Window, child: Relation, translate: Translate) -> Relation:
    inputs = _Inputs(translate, {})
    groups: dict[tuple[Any, ...], dict[str, WindowFunction]] = {}
    for name, call in step.calls:
        definition = (
            tuple(inputs.column(each) for each in call.partition),
            tuple(inputs.sort_key(item) for item in call.order),
            _frame(call),
        )
        groups.setdefault(definition, {})[name] = _function(call, inputs)
    made = child.with_columns(**inputs.added) if inputs.added else child
    for (partition, order, frame), functions in groups.items():
        made = made.window(partition_by=partition, order_by=order, frame=frame, **functions)
    results = [pl.col(name).cast(call.type.dtype).alias(name) for name, call in step.calls]
    return made.select(*child.columns, *results)


@dataclass
class _Inputs:
    """The expressions that windows read, as columns."""

    translate: Translate
    added: dict[str, pl.Expr]

    def column(self, expr: Expr, condition: Expr | None = None) -> str:
        if isinstance(expr, Column) and condition is None:
            return expr.name
        value = self.translate(expr)
        if condition is not None:
            value = pl.when(self.translate(condition)).then(value)
        name = f"window:{len(self.added)}"
        self.added[name] = value
        return name

    def sort_key(self, item: SortItem) -> SortKey:
        return SortKey(self.column(item.expr), item.descending, item.nulls_first)


def _frame(call: WindowCall) -> PlanFrame | None:
    frame = call.frame
    if frame is None or call.name in _WITHOUT_FRAME:
        return None
    start, end = _bound(frame.start, frame, call), _bound(frame.end, frame, call)
    make = {"rows": window.rows, "range": window.range, "groups": window.groups}[frame.unit]
    return make(start, end)


_WITHOUT_FRAME = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")


def _bound(bound: Bound, frame: Frame, call: WindowCall) -> Any:
    if bound in ("start", "end"):
        return None
    if bound == "current":
        return 0
    assert isinstance(bound, tuple)
    direction, value = bound
    if isinstance(value, tuple):
        months, days, micros = value
        if months or frame.unit != "range":
            raise StatementError("a frame bound may be an interval only with RANGE, in days or shorter units", call.at)
        value = timedelta(days=days, microseconds=micros)
    elif frame.unit != "range" and not isinstance(value, int):
        raise StatementError("a ROWS or GROUPS frame takes whole numbers", call.at)
    if frame.unit == "range" and len(call.order) != 1:
        raise StatementError("a RANGE frame with a distance needs ORDER BY with one value", call.at)
    return -value if direction == "preceding" else value


def _function(call: WindowCall, inputs: _Inputs) -> WindowFunction:
    if call.ignore_nulls:
        raise StatementError("IGNORE NULLS is not supported; filter the rows in a subquery", call.at)
    plain = _PLAIN.get(call.name)
    if plain is not None:
        return plain()
    if call.name == "ntile":
        return window.ntile(call.parameters[0])
    if call.name == "count" and not call.arguments:
        if call.condition is None:
            return window.count()
        return window.count(inputs.column(Constant(call.type, 1), call.condition))
    column = inputs.column(call.arguments[0], call.condition)
    if call.name in ("lag", "lead"):
        return _shift(call, column)
    if call.name == "nth_value":
        return window.nth_value(column, call.parameters[0])
    of_column = (_OF_DISTINCT if call.distinct else _OF_COLUMN).get(call.name)
    if of_column is None:
        raise StatementError(f"{call.name} is not supported as a window function", call.at)
    return of_column(column)


def _shift(call: WindowCall, column: str) -> WindowFunction:
    default = call.arguments[1] if len(call.arguments) > 1 else Constant(call.type, None)
    if not isinstance(default, Constant):
        raise StatementError(f"the default of {call.name} must be a constant; use coalesce", call.at)
    offset = call.parameters[0] if call.name == "lag" else -call.parameters[0]
    if offset < 0:
        return window.lead(column, -offset, default.value)
    return window.lag(column, offset, default.value)


_PLAIN: dict[str, Callable[[], WindowFunction]] = {
    "row_number": window.row_number,
    "rank": window.rank,
    "dense_rank": window.dense_rank,
    "percent_rank": window.percent_rank,
    "cume_dist": window.cume_dist,
}
_OF_COLUMN: dict[str, Callable[[str], WindowFunction]] = {
    "first_value": window.first_value,
    "last_value": window.last_value,
    "count": window.count,
    "sum": window.sum,
    "avg": window.mean,
    "min": window.min,
    "max": window.max,
    "any_value": window.min,
    "bool_and": lambda column: window.over(agg.all(column)),
    "bool_or": lambda column: window.over(agg.any(column)),
    "stddev_samp": lambda column: window.over(agg.std(column)),
    "stddev_pop": lambda column: window.over(agg.std(column, ddof=0)),
    "var_samp": lambda column: window.over(agg.var(column)),
    "var_pop": lambda column: window.over(agg.var(column, ddof=0)),
    "median": lambda column: window.over(agg.median(column)),
}
_OF_DISTINCT: dict[str, Callable[[str], WindowFunction]] = {
    "count": lambda column: window.over(agg.n_unique(column)),
    "sum": lambda column: window.over(agg.sum(column, min_count=1, distinct=True)),
    "avg": lambda column: window.over(agg.mean(column, distinct=True)),
    "min": window.min,
    "max": window.max,
}
