"""Helpers to rebuild steps: with other inputs, with other expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cauce.sql_frontend import tree
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.tree import Call, Column, Expr, Step
from cauce.sql_frontend.types import SqlType


def with_inputs(step: Step, inputs: Sequence[Step]) -> Step:
    """The step over other inputs of the same columns."""
    if not inputs or all(a is b for a, b in zip(step.inputs(), inputs, strict=True)):
        return step
    if isinstance(step, tree.Join | tree.SetOperation):
        return replace(step, left=inputs[0], right=inputs[1])
    if isinstance(step, tree.KeyFilter):
        return replace(step, child=inputs[0], keys=inputs[1])
    return replace(step, child=inputs[0])  # type: ignore[call-arg]


def mapped(step: Step, change: Callable[[Expr], Expr]) -> Step:
    """The step with every expression changed."""
    match step:
        case tree.Filter() | tree.Join():
            return replace(step, conditions=tuple(map(change, step.conditions)))
        case tree.Project():
            return replace(step, items=tuple((name, change(expr)) for name, expr in step.items))
        case tree.Aggregate():
            keys = tuple((name, change(expr)) for name, expr in step.keys)
            calls = tuple((name, change(call)) for name, call in step.aggregates)
            return replace(step, keys=keys, aggregates=calls)  # type: ignore[arg-type]
        case tree.Window():
            return replace(step, calls=tuple((name, change(call)) for name, call in step.calls))  # type: ignore[misc]
        case tree.Distinct():
            order = tuple(replace(item, expr=change(item.expr)) for item in step.order)
            return replace(step, on=tuple(map(change, step.on)), order=order)
        case tree.Limit():
            return replace(step, order=tuple(replace(item, expr=change(item.expr)) for item in step.order))
    return step


def equality(condition: Expr) -> tuple[Expr, Expr] | None:
    """Both sides of an equality."""
    if isinstance(condition, Call) and condition.function is ops.COMPARISONS["="]:
        return condition.arguments[0], condition.arguments[1]
    return None


def keep(step: Step) -> tuple[tuple[str, Expr], ...]:
    """Items of a projection that keep all columns."""
    return tuple((name, Column(kind, name)) for name, kind in step.columns.items())


def column(name: str, kind: SqlType) -> Column:
    return Column(kind, name)
