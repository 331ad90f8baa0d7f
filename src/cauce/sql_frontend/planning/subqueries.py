"""Replaces subqueries in expressions by joins. A correlated subquery is computed once for all rows: the conditions that
read the outer query become conditions of the join."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from cauce.sql_frontend.binding.scope import Names
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.functions.kernel import GuardedKernel
from cauce.sql_frontend.functions.table import Arguments, Function
from cauce.sql_frontend.planning.correlation import Conditions, Correlation, of_one_query, position
from cauce.sql_frontend.planning.steps import mapped, with_inputs
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import (
    Aggregate,
    AggregateCall,
    Call,
    Case,
    Column,
    Constant,
    Expr,
    Filter,
    Join,
    Limit,
    OuterColumn,
    Project,
    Step,
    SubqueryExpr,
    columns_of,
    substitute,
    transform,
    walk,
)
from cauce.sql_frontend.types import BIGINT, BOOLEAN


@dataclass(frozen=True)
class AtMostOne(GuardedKernel):
    """A value of a subquery, whose number of rows must not exceed one."""

    def compute(self, *columns: pl.Series) -> pl.Series:
        values, counts, guard = columns
        if self.bad_rows(counts > 1, guard).any():
            raise self.fail("a subquery used as a value gives more than one row; use an aggregate or LIMIT 1")
        return values


def _single(args: Arguments) -> pl.Expr:
    return args.run(AtMostOne(args.where), args[0], args[1].fill_null(0), args.guard)


_AT_MOST_ONE = Function("at most one row", ("ANY", "BIGINT"), BIGINT, _single, checks=True)


@dataclass
class Decorrelator:
    """Rewrites the steps of one statement."""

    names: Names

    def __post_init__(self) -> None:
        self._correlation = Correlation(self.names)

    def step(self, step: Step) -> Step:
        """The step without subqueries in its expressions."""
        made = with_inputs(step, [self.step(each) for each in step.inputs()])
        if not any(isinstance(each, SubqueryExpr) for expr in made.expressions() for each in walk(expr)):
            return made
        match made:
            case Filter():
                return self._filter(made)
            case Join():
                raise StatementError("a subquery in ON is not supported; use it in WHERE", position(made))
        assert hasattr(made, "child")
        child, changed = made.child, {}
        for expr in made.expressions():
            for sub in _subqueries(expr):
                if sub not in changed:
                    child, changed[sub] = self._attach(child, sub)
        over = mapped(made, lambda expr: _replaced(expr, changed))
        return replace(over, child=child)  # type: ignore[call-arg]

    def _filter(self, step: Filter) -> Step:
        plain = tuple(each for each in step.conditions if not _subqueries(each))
        child = Filter(step.child, plain) if plain else step.child
        columns = child.columns
        for condition in step.conditions:
            if _subqueries(condition):
                child = self._condition(child, condition)
        return (
            child if child.columns == columns else Project(child, tuple((n, Column(t, n)) for n, t in columns.items()))
        )

    def _condition(self, child: Step, condition: Expr) -> Step:
        inner, negated = _unnegated(condition)
        if isinstance(inner, SubqueryExpr) and inner.kind != "scalar":
            inner = replace(inner, query=self.step(inner.query))
            if inner.kind == "exists":
                return self._exists(child, inner, negated)
            return self._not_in(child, inner) if negated else self._in(child, inner)
        changed: dict[SubqueryExpr, Expr] = {}
        for sub in _subqueries(condition):
            child, changed[sub] = self._attach(child, sub)
        return Filter(child, (_replaced(condition, changed),))

    # Conditions.

    def _exists(self, child: Step, sub: SubqueryExpr, negated: bool) -> Step:
        query = _without_limit(sub.query)
        if _is_one_row(query):
            return Filter(child, (Constant(BOOLEAN, not negated),))
        rows, conditions = self._correlation.pull(query, child)
        if negated:
            return Join(child, rows, "anti", tuple(map(_inside, of_one_query(conditions))))
        # Conditions on the queries around alone hold for all rows of the subquery or for none.
        outside = tuple(_inside(each) for each in conditions if not columns_of(each))
        inside = of_one_query([each for each in conditions if columns_of(each)])
        joined = Join(child, rows, "semi", tuple(map(_inside, inside)))
        return Filter(joined, outside) if outside else joined

    def _in(self, child: Step, sub: SubqueryExpr) -> Step:
        self._correlation.one_row = _peeled(sub.query, sub.outputs[0])[1]
        rows, conditions = self._correlation.pull(sub.query, child)
        same = self._same(sub, rows)
        return Join(child, rows, "semi", (*same, *map(_inside, of_one_query(conditions))))

    def _same(self, sub: SubqueryExpr, rows: Step) -> list[Expr]:
        kinds = rows.columns
        return [
            ops.compare("=", operand, Column(kinds[name], name), sub.at)
            for operand, name in zip(sub.operands, sub.outputs, strict=True)
        ]

    def _not_in(self, child: Step, sub: SubqueryExpr) -> Step:
        """True if nothing matches and no comparison is NULL."""
        if len(sub.operands) != 1:
            raise StatementError("NOT IN with several columns is not supported; use NOT EXISTS", sub.at)
        rows, conditions = self._correlation.pull(sub.query, child)
        left = Join(child, rows, "anti", (*self._same(sub, rows), *map(_inside, of_one_query(conditions))))
        counted, total, present = self._counted(sub, rows, conditions, left)
        none = ops.compare("=", total, Constant(BIGINT, 0), sub.at)
        known = ops.negation(ops.is_null(sub.operands[0]))
        filled = ops.compare("=", total, present, sub.at)
        return Filter(counted, (Call(BOOLEAN, ops.OR, (none, ops.conjunction([known, filled]))),))

    def _counted(self, sub: SubqueryExpr, rows: Step, conditions: Conditions, child: Step) -> tuple[Step, Expr, Expr]:
        """The rows beside the number of rows of the subquery and the number of those without NULL."""
        output = Column(rows.columns[sub.outputs[0]], sub.outputs[0])
        total, present = self.names.fresh("rows"), self.names.fresh("present")
        calls = (
            (total, AggregateCall(BIGINT, "count")),
            (present, AggregateCall(BIGINT, "count", (output,))),
        )
        joined = self._aggregated(child, rows, conditions, calls)
        zero = Constant(BIGINT, 0)
        return joined, ops.coalesce(Column(BIGINT, total), zero), ops.coalesce(Column(BIGINT, present), zero)

    def _aggregated(
        self,
        child: Step,
        rows: Step,
        conditions: Conditions,
        calls: tuple[tuple[str, AggregateCall], ...],
    ) -> Step:
        """Aggregates of a subquery's rows beside the rows that they belong to."""
        if not conditions:
            return Join(child, Aggregate(rows, (), calls), "left", ())
        groups, conditions = self._correlation.grouped(Aggregate(rows, (), calls), of_one_query(conditions), child)
        return Join(child, groups, "left", tuple(map(_inside, conditions)))

    # Values.

    def _attach(self, child: Step, sub: SubqueryExpr) -> tuple[Step, Expr]:
        """The rows with the columns of a subquery, and the expression of its value."""
        sub = replace(sub, query=self.step(sub.query))
        match sub.kind:
            case "scalar":
                return self._scalar(child, sub)
            case "exists":
                return self._mark_exists(child, sub)
        return self._mark_in(child, sub)

    def _mark_exists(self, child: Step, sub: SubqueryExpr) -> tuple[Step, Expr]:
        query = _without_limit(sub.query)
        if _is_one_row(query):
            return child, Constant(BOOLEAN, True)
        rows, conditions = self._correlation.pull(query, child)
        name = self.names.fresh("rows")
        joined = self._aggregated(child, rows, conditions, ((name, AggregateCall(BIGINT, "count")),))
        count = ops.coalesce(Column(BIGINT, name), Constant(BIGINT, 0))
        return joined, ops.compare(">", count, Constant(BIGINT, 0), sub.at)

    def _mark_in(self, child: Step, sub: SubqueryExpr) -> tuple[Step, Expr]:
        if len(sub.operands) != 1:
            raise StatementError("IN with several columns is supported only as a condition of WHERE", sub.at)
        rows, conditions = self._correlation.pull(sub.query, child)
        counted, total, present = self._counted(sub, rows, conditions, child)
        mark = self.names.fresh("matches")
        same = [_outside(each, set(child.columns)) for each in self._same(sub, rows)]
        joined = self._aggregated(counted, rows, [*same, *conditions], ((mark, AggregateCall(BIGINT, "count")),))
        matched = ops.negation(ops.is_null(Column(BIGINT, mark)))
        empty = ops.compare("=", total, Constant(BIGINT, 0), sub.at)
        filled = ops.compare("=", total, present, sub.at)
        unknown = Call(BOOLEAN, ops.OR, (ops.is_null(sub.operands[0]), ops.negation(filled)))
        value = Case(
            BOOLEAN,
            (
                (matched, Constant(BOOLEAN, True)),
                (empty, Constant(BOOLEAN, False)),
                (unknown, Constant(BOOLEAN, None)),
            ),
            Constant(BOOLEAN, False),
            at=sub.at,
        )
        return joined, value

    def _scalar(self, child: Step, sub: SubqueryExpr) -> tuple[Step, Expr]:
        value, below = _peeled(sub.query, sub.outputs[0])
        if isinstance(below, Aggregate) and not below.keys and below.sets is None:
            self._correlation.one_row = below
            rows, conditions = self._correlation.pull(below, child)
            joined = Join(child, rows, "left", tuple(map(_inside, of_one_query(conditions))))
            counts = {
                name: ops.coalesce(Column(call.type, name), Constant(call.type, 0))
                for name, call in below.aggregates
                if conditions and call.name in ("count", "count_if", "approx_count_distinct")
            }
            return joined, _inside(substitute(value, counts))
        return self._row_value(child, sub)

    def _row_value(self, child: Step, sub: SubqueryExpr) -> tuple[Step, Expr]:
        rows, conditions = self._correlation.pull(sub.query, child)
        output = Column(rows.columns[sub.outputs[0]], sub.outputs[0])
        value, count = self.names.fresh("value"), self.names.fresh("rows")
        calls = (
            (value, AggregateCall(output.type, "any_value", (output,))),
            (count, AggregateCall(BIGINT, "count")),
        )
        joined = self._aggregated(child, rows, conditions, calls)
        made = Call(output.type, _AT_MOST_ONE, (Column(output.type, value), Column(BIGINT, count)), at=sub.at)
        return joined, made


def _subqueries(expr: Expr) -> list[SubqueryExpr]:
    return [each for each in walk(expr) if isinstance(each, SubqueryExpr)]


def _replaced(expr: Expr, values: dict[SubqueryExpr, Expr]) -> Expr:
    return transform(expr, lambda each: values.get(each) if isinstance(each, SubqueryExpr) else None)


def _unnegated(condition: Expr) -> tuple[Expr, bool]:
    negated = False
    while isinstance(condition, Call) and condition.function is ops.NOT:
        condition, negated = condition.arguments[0], not negated
    return condition, negated


def _inside(expr: Expr) -> Expr:
    """Outer columns as columns of the joined rows; those of queries further out are one query nearer."""

    def change(each: Expr) -> Expr | None:
        if not isinstance(each, OuterColumn):
            return None
        return Column(each.type, each.name, at=each.at) if each.depth == 1 else replace(each, depth=each.depth - 1)

    return transform(expr, change)


def _outside(expr: Expr, names: set[str]) -> Expr:
    """The columns of the outer rows as outer columns."""
    return transform(
        expr, lambda e: OuterColumn(e.type, e.name, at=e.at) if isinstance(e, Column) and e.name in names else None
    )


def _without_limit(step: Step) -> Step:
    """For EXISTS, an order and a limit of at least one row do not matter."""
    if isinstance(step, Limit) and not step.offset and step.limit:
        return _without_limit(step.child)
    return step


def _is_one_row(step: Step) -> bool:
    if isinstance(step, Project):
        return _is_one_row(step.child)
    return isinstance(step, Aggregate) and not step.keys and step.sets is None


def _peeled(step: Step, output: str) -> tuple[Expr, Step]:
    """The expression of a column over the step below its projections."""
    value: Expr = Column(step.columns[output], output)
    while isinstance(step, Project):
        value = substitute(value, dict(step.items))
        step = step.child
    return value, step
