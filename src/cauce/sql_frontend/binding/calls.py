"""Binds function calls: chooses the overload that the arguments convert to at the lowest cost, and converts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from cauce.errors import did_you_mean
from cauce.sql_frontend.binding import aggregates, windows
from cauce.sql_frontend.binding.positions import at, text_of
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.functions.catalogue import TABLE
from cauce.sql_frontend.functions.table import Function
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import Call, Case, Constant, Expr
from cauce.sql_frontend.types import BIGINT, DOUBLE, INTEGER, NULL, VARCHAR, SqlType, conversion_cost, list_of

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.expressions import ExpressionBinder


def function(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Binds a call written as `name(...)`: a function of the table, an aggregate, or one with rules of its own."""
    name = str(node.this).lower()
    where = at(node)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(binder, node)
    if name in aggregates.AGGREGATES or name in ("count", "grouping", "grouping_id"):
        return aggregates.bind_aggregate(binder, node)
    if name in windows.WINDOW_FUNCTIONS:
        raise StatementError(f"{name} needs a window: write {name}(...) OVER (ORDER BY ...)", where)
    if any(isinstance(each, exp.Lambda) for each in node.expressions):
        raise StatementError(
            f"lambda functions, as in {name}(...), are not supported; use unnest and a subquery", where
        )
    for each in node.expressions:
        if isinstance(each, exp.Star | exp.Distinct | exp.Order | exp.PropertyEQ | exp.Kwarg):
            raise StatementError(f"{text_of(each)[:40]} is not allowed in {name}(...)", where)
    return call(name, binder.bind_all(node.expressions), where)


def call(name: str, arguments: Sequence[Expr], where: int) -> Expr:
    """A call of a function of the table with bound arguments."""
    overloads = TABLE.by_name.get(name)
    if overloads is None:
        known = [*TABLE.by_name, *aggregates.AGGREGATES, *windows.WINDOW_FUNCTIONS]
        hint = _NO_SUCH.get(name) or did_you_mean(name, known) or "; see docs/sql.md for the functions that exist"
        raise StatementError(f"there is no function {name}{hint}", where)
    chosen = min(
        (
            (cost, number, function)
            for number, function in enumerate(overloads)
            if (cost := _cost(function, arguments)) is not None
        ),
        default=None,
        key=lambda each: each[:2],
    )
    if chosen is None:
        given = ", ".join(str(each.type) for each in arguments)
        wanted = " or ".join(each.signature for each in overloads[:4])
        raise StatementError(f"{name}({given}) does not exist; expected {wanted}; add a CAST", where)
    return folded(_applied(chosen[2], arguments, where))


def coalesce(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    values = binder.bind_all(node.expressions)
    if not values:
        raise StatementError("coalesce needs an argument", at(node))
    if len(values) == 1:
        return values[0]
    made, kind = ops.unified(values, at(node), "coalesce", to_text=True)
    made = [folded(each) for each in made]
    branches = tuple((ops.negation(ops.is_null(each)), each) for each in made[:-1])
    return Case(kind, branches, made[-1], at=at(node))


def nullif(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    if len(node.expressions) != 2:
        raise StatementError("nullif takes two arguments", at(node))
    first, second = binder.bind_all(node.expressions)
    same = folded(ops.compare("=", first, second, at(node)))
    return Case(first.type, ((same, Constant(first.type, None)),), first, at=at(node))


def typeof(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    if len(node.expressions) != 1:
        raise StatementError("typeof takes one argument", at(node))
    kind = binder.bind(node.expressions[0]).type
    return Constant(VARCHAR, '"NULL"' if kind == NULL else str(kind), at=at(node))


def try_(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    raise StatementError("TRY is not supported; use TRY_CAST, or CASE to avoid the error", at(node))


def volatile(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    name = str(node.this) if isinstance(node, exp.Anonymous) else text_of(node)
    raise StatementError(
        f"{name} gives another value on every run; give the value as a parameter or a literal", at(node)
    )


def _cost(function: Function, arguments: Sequence[Expr]) -> int | None:
    expected = function.expected(len(arguments))
    if expected is None:
        return None
    total = 0
    for wanted, given in zip(expected, arguments, strict=True):
        cost = 0 if wanted == "SAME" else conversion_cost(given.type, wanted)
        if cost is None and isinstance(given, Constant) and given.literal and given.type == VARCHAR:
            cost = 20 if wanted in SqlType.DTYPES or wanted == "NUMBER" else None
        if cost is None and wanted == "LIST" and given.type.element is not None:
            cost = 0
        if cost is None:
            return None
        total += cost
    return total


def _applied(function: Function, arguments: Sequence[Expr], where: int) -> Expr:
    """The call with its arguments converted to the parameters."""
    expected = function.expected(len(arguments)) or ()
    made = list(arguments)
    same = [index for index, wanted in enumerate(expected) if wanted == "SAME"]
    if same:
        unified, _ = ops.unified([made[index] for index in same], where, function.name, to_text=True)
        for index, expr in zip(same, unified, strict=True):
            made[index] = folded(expr)
    for index, wanted in enumerate(expected):
        if wanted in SqlType.DTYPES and made[index].type.name != wanted:
            made[index] = folded(ops.cast(made[index], SqlType(wanted)))
        elif wanted == "NUMBER" and not made[index].type.is_number:
            made[index] = folded(ops.cast(made[index], DOUBLE))
        elif wanted == "INTEGRAL" and not made[index].type.is_integer:
            made[index] = folded(ops.cast(made[index], BIGINT))
        elif wanted == "LIST" and made[index].type == NULL:
            made[index] = Constant(list_of(INTEGER), None, at=made[index].at)
    kind = function.result_type([each.type for each in made])
    if function.refine is not None:
        kind = function.refine(kind, [each.value if isinstance(each, Constant) else None for each in made])
    return Call(kind, function, tuple(made), at=where)


_VOLATILE = (
    "now",
    "random",
    "today",
    "current_date",
    "current_timestamp",
    "get_current_timestamp",
    "get_current_time",
    "transaction_timestamp",
    "uuid",
    "gen_random_uuid",
    "setseed",
)
_SPECIAL: dict[str, Callable[[ExpressionBinder, exp.Anonymous], Expr]] = {
    "coalesce": coalesce,
    "ifnull": coalesce,
    "nvl": coalesce,
    "nullif": nullif,
    "typeof": typeof,
    "try": try_,
    **dict.fromkeys(_VOLATILE, volatile),
}

_NO_SUCH = {
    "unnest": "; unnest is supported in FROM: SELECT ... FROM t, unnest(t.list) AS u(value)",
    "to_char": "; write strftime(time, format)",
    "getdate": "; give the date as a parameter",
    "len": "; write length(text)",
    "charindex": "; write strpos(text, part)",
    "isnull": "; write coalesce(a, b)",
    "iff": "; write if(condition, a, b)",
    "decode": "; write CASE",
}
