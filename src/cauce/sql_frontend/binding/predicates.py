"""Binds conditions: AND, OR, NOT, comparisons, IN, BETWEEN, IS, EXISTS; and subqueries in expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from cauce.sql_frontend.binding.positions import at, only, text_of
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import Call, Expr, SubqueryExpr
from cauce.sql_frontend.types import BOOLEAN

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.expressions import ExpressionBinder

COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "is not distinct from",
    exp.NullSafeNEQ: "is distinct from",
}


def junction(binder: ExpressionBinder, node: exp.Connector) -> Expr:
    name = "AND" if isinstance(node, exp.And) else "OR"
    parts = [ops.truth(binder.bind(each), name) for each in node.flatten()]
    made = ops.AND if isinstance(node, exp.And) else ops.OR
    return Call(BOOLEAN, made, tuple(parts), at=at(node))


def negation(binder: ExpressionBinder, node: exp.Not) -> Expr:
    return ops.negation(ops.truth(binder.bind(node.this), "NOT"))


def comparison(binder: ExpressionBinder, node: exp.Binary) -> Expr:
    left, right = node.this, node.expression
    sign = COMPARISONS[type(node)]
    if isinstance(right, exp.Any | exp.All) or isinstance(left, exp.Any | exp.All):
        return _quantified(binder, node, sign)
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
        return _tuples(binder, sign, left, right)
    return ops.compare(sign, binder.bind(left), binder.bind(right), at(node))


def _tuples(binder: ExpressionBinder, sign: str, left: exp.Tuple, right: exp.Tuple) -> Expr:
    if sign not in ("=", "<>") or len(left.expressions) != len(right.expressions):
        raise StatementError(
            "rows can only be compared with = and <>, and need the same number of values on both sides", at(left)
        )
    pairs = [
        ops.compare("=", binder.bind(a), binder.bind(b), at(a))
        for a, b in zip(left.expressions, right.expressions, strict=True)
    ]
    made = ops.conjunction(pairs)
    return made if sign == "=" else ops.negation(made)


def _quantified(binder: ExpressionBinder, node: exp.Binary, sign: str) -> Expr:
    """= ANY is IN, <> ALL is NOT IN."""
    right = node.expression
    if isinstance(right, exp.Any) and sign == "=":
        return _in_query(binder, node.this, right.this, at(node))
    if isinstance(right, exp.All) and sign == "<>":
        return ops.negation(_in_query(binder, node.this, right.this, at(node)))
    word = "ANY" if isinstance(right, exp.Any) else "ALL"
    raise StatementError(
        f"{sign} {word} is not supported; compare with (SELECT min(...)) or (SELECT max(...))", at(node)
    )


def is_(binder: ExpressionBinder, node: exp.Is) -> Expr:
    value = binder.bind(node.this)
    match node.expression:
        case exp.Null():
            return ops.is_null(value)
        case exp.Boolean(this=wanted):
            value = ops.truth(value, "IS")
            tested = value if wanted else ops.negation(value)
            return Call(BOOLEAN, ops.IS_TRUE, (tested,), at=at(node))
    raise StatementError(f"{text_of(node)} is not supported", at(node))


def between(binder: ExpressionBinder, node: exp.Between) -> Expr:
    only(node, "BETWEEN", "this", "low", "high")
    value, low, high = binder.bind(node.this), binder.bind(node.args["low"]), binder.bind(node.args["high"])
    where = at(node)
    return ops.conjunction([ops.compare(">=", value, low, where), ops.compare("<=", value, high, where)])


def in_(binder: ExpressionBinder, node: exp.In) -> Expr:
    only(node, "IN", "this", "expressions", "query")
    query = node.args.get("query")
    if query is not None:
        return _in_query(binder, node.this, query, at(node))
    if not node.expressions:
        raise StatementError("IN takes a list or a query in parentheses, as in IN (1, 2)", at(node))
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        return _in_query(binder, node.this, node.expressions[0], at(node))
    if isinstance(node.this, exp.Tuple):
        if not all(isinstance(each, exp.Tuple) for each in node.expressions):
            raise StatementError("IN compares rows with rows, as in (a, b) IN ((1, 2), (3, 4))", at(node))
        rows = [_tuples(binder, "=", node.this, each) for each in node.expressions]
        return rows[0] if len(rows) == 1 else Call(BOOLEAN, ops.OR, tuple(rows), at=at(node))
    return ops.in_list(binder.bind(node.this), binder.bind_all(node.expressions), at(node))


def _in_query(binder: ExpressionBinder, left: exp.Expr, query: exp.Expr, where: int) -> Expr:
    operands = binder.bind_all(left.expressions if isinstance(left, exp.Tuple) else [left])
    bound = binder.queries.subquery(query, binder.scope)
    if len(operands) != len(bound.outputs):
        raise StatementError(
            f"IN has {len(operands)} values on the left, but the subquery has {len(bound.outputs)} columns", where
        )
    return SubqueryExpr(
        BOOLEAN, "in", bound.step, tuple(operands), tuple(each.unique for each in bound.outputs), at=where
    )


def exists(binder: ExpressionBinder, node: exp.Exists) -> Expr:
    bound = binder.queries.subquery(node.this, binder.scope)
    return SubqueryExpr(BOOLEAN, "exists", bound.step, (), tuple(each.unique for each in bound.outputs), at=at(node))


def scalar(binder: ExpressionBinder, node: exp.Query) -> Expr:
    bound = binder.queries.subquery(node, binder.scope)
    if len(bound.outputs) != 1:
        raise StatementError(f"a subquery used as a value must have one column, not {len(bound.outputs)}", at(node))
    output = bound.outputs[0]
    return SubqueryExpr(output.type, "scalar", bound.step, (), (output.unique,), at=at(node))
