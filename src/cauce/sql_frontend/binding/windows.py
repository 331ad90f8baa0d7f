"""Binds window functions: partition, order and frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from cauce.sql_frontend.binding import aggregates
from cauce.sql_frontend.binding.positions import at, only, text_of
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import AggregateCall, Bound, Constant, Expr, Frame, WindowCall
from cauce.sql_frontend.types import BIGINT, DOUBLE, INTERVAL, SqlType

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.expressions import ExpressionBinder


@dataclass(frozen=True)
class WindowFunction:
    name: str
    least: int
    most: int
    result: Callable[[Sequence[SqlType]], SqlType]
    doc: str
    example: str


def _whole(types: Sequence[SqlType]) -> SqlType:
    return BIGINT


def _first(types: Sequence[SqlType]) -> SqlType:
    return types[0]


def _double(types: Sequence[SqlType]) -> SqlType:
    return DOUBLE


_FUNCTIONS = (
    WindowFunction(
        "row_number", 0, 0, _whole, "The number of the row in its partition, from 1.", "row_number() OVER (ORDER BY x)"
    ),
    WindowFunction(
        "rank", 0, 0, _whole, "The number of rows before, plus 1; ties are equal.", "rank() OVER (ORDER BY x)"
    ),
    WindowFunction(
        "dense_rank", 0, 0, _whole, "The number of different values before, plus 1.", "dense_rank() OVER (ORDER BY x)"
    ),
    WindowFunction("percent_rank", 0, 0, _double, "(rank - 1) / (rows - 1).", "percent_rank() OVER (ORDER BY x)"),
    WindowFunction(
        "cume_dist", 0, 0, _double, "The share of rows up to the last tie.", "cume_dist() OVER (ORDER BY x)"
    ),
    WindowFunction(
        "ntile", 1, 1, _whole, "The number of the row's bucket among n of equal size.", "ntile(2) OVER (ORDER BY x)"
    ),
    WindowFunction(
        "lag", 1, 3, _first, "The value some rows before (1), or a default (NULL).", "lag(x) OVER (ORDER BY x)"
    ),
    WindowFunction(
        "lead", 1, 3, _first, "The value some rows after (1), or a default (NULL).", "lead(x, 1, 0) OVER (ORDER BY x)"
    ),
    WindowFunction(
        "first_value", 1, 1, _first, "The value of the first row of the frame.", "first_value(x) OVER (ORDER BY x)"
    ),
    WindowFunction(
        "last_value", 1, 1, _first, "The value of the last row of the frame.", "last_value(x) OVER (ORDER BY x)"
    ),
    WindowFunction(
        "nth_value", 2, 2, _first, "The value of the n-th row of the frame.", "nth_value(x, 2) OVER (ORDER BY x)"
    ),
)
WINDOW_FUNCTIONS = {function.name: function for function in _FUNCTIONS}


def bind_window(binder: ExpressionBinder, node: exp.Window) -> Expr:
    where = at(node)
    if not binder.windows:
        raise StatementError(f"window functions are not allowed in {binder.clause}; use a subquery or QUALIFY", where)
    inner = replace(binder, windows=False)
    made = _call(inner, node.this, where)
    spec = _definition(binder, node)
    partition = tuple(inner.bind_all(spec.args.get("partition_by") or []))
    order = spec.args.get("order")
    items = () if order is None else tuple(aggregates.sort_item(inner, each) for each in order.expressions)
    return replace(made, partition=partition, order=items, frame=_frame(inner, spec))


def _definition(binder: ExpressionBinder, node: exp.Window) -> exp.Window:
    """The window's definition, with that of its named window."""
    only(node, "a window", "this", "partition_by", "order", "spec", "alias", "over")
    alias = node.args.get("alias")
    if alias is None:
        return node
    known = binder.named_windows.get(alias.name.lower())
    if known is None:
        raise StatementError(f"there is no window {alias.name}; define it with WINDOW {alias.name} AS (...)", at(alias))
    base = _definition(binder, known)
    merged, own = base.copy(), node.copy()
    merged.set("alias", None)
    for key in ("partition_by", "order", "spec"):
        if own.args.get(key):
            merged.set(key, own.args[key])
    return merged


def _call(binder: ExpressionBinder, node: exp.Expr, where: int) -> WindowCall:
    ignore = isinstance(node, exp.IgnoreNulls)
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in WINDOW_FUNCTIONS:
        made = _window_function(binder, node)
    elif isinstance(node, exp.Anonymous) and str(node.this).lower() in ("first", "last"):
        renamed = exp.Anonymous(this=f"{str(node.this).lower()}_value", expressions=node.expressions)
        renamed.meta.update(node.meta)
        made = _window_function(binder, renamed)
    else:
        made = _aggregate(binder, node, where)
    return replace(made, ignore_nulls=ignore)


def _window_function(binder: ExpressionBinder, node: exp.Anonymous) -> WindowCall:
    function = WINDOW_FUNCTIONS[str(node.this).lower()]
    arguments = binder.bind_all(node.expressions)
    if not function.least <= len(arguments) <= function.most:
        raise StatementError(f"{function.name} has a wrong number of arguments; write {function.example}", at(node))
    kind = function.result([each.type for each in arguments])
    if function.name in ("lag", "lead"):
        return _shift(function.name, arguments, at(node))
    if function.name in ("ntile", "nth_value"):
        number = _whole_number(arguments[-1], function.name, 1)
        return WindowCall(kind, function.name, tuple(arguments[:-1]), parameters=(number,), at=at(node))
    return WindowCall(kind, function.name, tuple(arguments), at=at(node))


def _shift(name: str, arguments: list[Expr], where: int) -> WindowCall:
    offset = _whole_number(arguments[1], name) if len(arguments) > 1 else 1
    values = [arguments[0], *arguments[2:]]
    made, kind = ops.unified(values, where, name)
    return WindowCall(kind, name, tuple(folded(each) for each in made), parameters=(offset,), at=where)


def _whole_number(value: Expr, what: str, least: int | None = None) -> int:
    if (
        not isinstance(value, Constant)
        or not isinstance(value.value, int)
        or (least is not None and value.value < least)
    ):
        raise StatementError(f"{what} needs a constant whole number", value.at)
    return int(value.value)


def _aggregate(binder: ExpressionBinder, node: exp.Expr, where: int) -> WindowCall:
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Anonymous) and name not in aggregates.AGGREGATES:
        raise StatementError(f"{name} is not a window function", where)
    if not isinstance(node, exp.Anonymous | exp.Filter):
        raise StatementError(f"{text_of(node)[:40]} is not a window function", where)
    bound = _bound_aggregate(binder, node)
    return WindowCall(
        bound.type,
        bound.name,
        bound.arguments,
        condition=bound.condition,
        distinct=bound.distinct,
        parameters=bound.parameters,
        at=where,
    )


def _bound_aggregate(binder: ExpressionBinder, node: exp.Expr) -> AggregateCall:
    """An aggregate over a window: its argument may hold aggregates of the groups."""
    outer = replace(binder, aggregates=True)
    outer.inner = lambda: replace(binder, clause="a window function")  # type: ignore[method-assign]
    bound = outer.bind(node)
    assert isinstance(bound, AggregateCall)
    return bound


def _frame(binder: ExpressionBinder, node: exp.Window) -> Frame | None:
    spec = node.args.get("spec")
    if spec is None:
        return None
    only(spec, "a frame", "kind", "start", "start_side", "end", "end_side")
    unit = str(spec.args.get("kind") or "ROWS").lower()
    start = _bound(binder, spec.args.get("start"), spec.args.get("start_side"), node)
    end = _bound(binder, spec.args.get("end"), spec.args.get("end_side"), node) if spec.args.get("end") else "current"
    _check_bounds(start, end, node)
    units: dict[str, Literal["rows", "range", "groups"]] = {"rows": "rows", "range": "range", "groups": "groups"}
    return Frame(units[unit], start, end)


def _check_bounds(start: Bound, end: Bound, node: exp.Window) -> None:
    """A frame begins before it ends, as far as the words say; the numbers may make it empty."""
    if start == "end" or end == "start" or _side(start) > _side(end):
        raise StatementError("the frame ends before it begins", at(node))


def _side(bound: Bound) -> int:
    """-1 before the current row, 0 at it, 1 after it."""
    word = bound if isinstance(bound, str) else bound[0]
    return {"start": -1, "preceding": -1, "current": 0, "following": 1, "end": 1}[word]


def _bound(binder: ExpressionBinder, value: Any, side: Any, node: exp.Window) -> Bound:
    direction = str(side or "").upper()
    if str(value).upper() == "UNBOUNDED":
        return "start" if direction == "PRECEDING" else "end"
    if str(value).upper() == "CURRENT ROW":
        return "current"
    if direction not in ("PRECEDING", "FOLLOWING"):
        raise StatementError("a bound of a frame needs PRECEDING or FOLLOWING", at(node))
    bound = binder.bind(value)
    if not isinstance(bound, Constant) or not (bound.type.is_number or bound.type == INTERVAL):
        raise StatementError("a frame needs a constant number or INTERVAL", at(node))
    return ("preceding" if direction == "PRECEDING" else "following", bound.value)
