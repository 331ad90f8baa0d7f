"""Pulls conditions that read the outer query out of a correlated subquery, so that it runs once for all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cauce.sql_frontend.binding.scope import Names
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.planning.steps import equality, keep, mapped, with_inputs
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import (
    Aggregate,
    Call,
    Column,
    Distinct,
    Expr,
    Filter,
    Join,
    Limit,
    OuterColumn,
    Project,
    Scan,
    Step,
    Values,
    Window,
    columns_of,
    outer_columns,
    outer_of_step,
    transform,
)
from cauce.sql_frontend.types import BOOLEAN

Conditions = list[Expr]


@dataclass
class Correlation:
    names: Names
    one_row: Step | None = None
    """A global aggregate whose absent group counts as NULL, which is right for it."""

    def pull(self, query: Step, outer: Step) -> tuple[Step, Conditions]:
        """A query without outer columns, and the conditions that it had on them."""
        made, conditions = self._pull(query, outer)
        left = [each for each in outer_of_step(made) if each.depth == 1]
        if left:
            raise StatementError(
                f"the outer column {left[0].name} is used here in a way that is not supported; use a join", left[0].at
            )
        return _nearer(made), conditions

    def _pull(self, step: Step, outer: Step) -> tuple[Step, Conditions]:
        if not any(each.depth == 1 for each in outer_of_step(step)):
            return step, []
        match step:
            case Filter():
                return self._pull_filter(step, outer)
            case Project():
                child, conditions = self._pull(step.child, outer)
                return Project(child, _with_columns(step.items, conditions, child)), conditions
            case Aggregate():
                child, conditions = self._pull(step.child, outer)
                if not step.keys and step is not self.one_row:
                    raise StatementError(
                        "a correlated aggregate is supported only as the whole value of a subquery", position(step)
                    )
                return self.grouped(replace(step, child=child), conditions, outer)
            case Join():
                return self._pull_join(step, outer)
            case Distinct() if not step.on:
                child, conditions = self._pull(step.child, outer)
                return Distinct(child), conditions
            case Limit() | Window():
                return self._pull_per_group(step, outer)
            case Scan() | Values():
                return step, []
        at = outer_of_step(step)[0].at
        raise StatementError("a correlated subquery with this shape is not supported; write it as a join", at)

    def _pull_filter(self, step: Filter, outer: Step) -> tuple[Step, Conditions]:
        child, conditions = self._pull(step.child, outer)
        own = [each for each in step.conditions if not _reads_outer(each)]
        conditions += [each for each in step.conditions if _reads_outer(each)]
        return (Filter(child, tuple(own)) if own else child), conditions

    def _pull_join(self, step: Join, outer: Step) -> tuple[Step, Conditions]:
        left, conditions = self._pull(step.left, outer)
        if step.how != "inner":
            return replace(step, left=left), conditions
        right, more = self._pull(step.right, outer)
        own = tuple(each for each in step.conditions if not _reads_outer(each))
        moved = [each for each in step.conditions if _reads_outer(each)]
        return Join(left, right, "inner", own), [*conditions, *more, *moved]

    def _pull_per_group(self, step: Limit | Window, outer: Step) -> tuple[Step, Conditions]:
        """LIMIT and windows of a correlated subquery apply to the rows of each outer row."""
        child, conditions = self._pull(step.child, outer)
        child, keys, conditions = self._keyed(child, conditions, outer)
        if isinstance(step, Limit):
            if step.offset or step.limit is None:
                raise StatementError("OFFSET in a correlated subquery is not supported", outer_of_step(step)[0].at)
            return replace(step, child=child, per=tuple(keys)), conditions
        own = tuple(Column(child.columns[key], key) for key in keys)
        calls = tuple((name, replace(call, partition=(*call.partition, *own))) for name, call in step.calls)
        return replace(step, child=child, calls=calls), conditions

    def grouped(self, step: Aggregate, conditions: Conditions, outer: Step) -> tuple[Step, Conditions]:
        """Aggregates for each combination of values that the conditions compare with outer columns."""
        if step.sets is not None:
            raise StatementError("grouping sets in a correlated subquery are not supported", position(step))
        child, names, changed = self._keyed(step.child, conditions, outer)
        known = {name for name, _ in step.keys}
        keys = tuple((name, Column(child.columns[name], name)) for name in names if name not in known)
        return replace(step, child=child, keys=(*step.keys, *keys)), changed

    def _keyed(self, child: Step, conditions: Conditions, outer: Step) -> tuple[Step, list[str], Conditions]:
        """Turns the conditions into equalities of a key column with an outer expression."""
        names: list[str] = []
        changed: Conditions = []
        rest: Conditions = []
        for condition in conditions:
            sides = _separated(condition)
            if sides is None:
                rest.append(condition)
                continue
            inner, outside = sides
            if isinstance(inner, Column):
                name = inner.name
            else:
                name = self.names.fresh("key")
                child = Project(child, (*keep(child), (name, inner)))
            names.append(name)
            changed.append(ops.compare("=", Column(inner.type, name), outside, condition.at))
        if rest:
            child, more, equalities = self._domain(child, rest, outer)
            names += more
            changed += equalities
        return child, list(dict.fromkeys(names)), changed

    def _domain(self, child: Step, conditions: Conditions, outer: Step) -> tuple[Step, list[str], Conditions]:
        """Joins with the distinct values of the outer columns, for conditions that are not equalities."""
        wanted = list({each.name: each for expr in conditions for each in outer_columns(expr)}.values())
        unknown = [each for each in wanted if each.name not in outer.columns]
        if unknown:
            raise StatementError(
                f"the outer column {unknown[0].name} is used here in a way that is not supported", unknown[0].at
            )
        copies = {each.name: self.names.fresh(each.name) for each in wanted}
        values = Distinct(Project(outer, tuple((copies[each.name], Column(each.type, each.name)) for each in wanted)))
        on = tuple(_copied(each, copies) for each in conditions)
        same = ops.COMPARISONS["is not distinct from"]
        equalities: Conditions = [
            Call(BOOLEAN, same, (Column(each.type, copies[each.name]), each), at=each.at) for each in wanted
        ]
        return Join(child, values, "inner", on), list(copies.values()), equalities


def position(step: Step) -> int:
    return min((each.at for each in step.expressions()), default=0)


def _reads_outer(expr: Expr) -> bool:
    return any(each.depth == 1 for each in outer_columns(expr))


def of_one_query(conditions: Conditions) -> Conditions:
    """Refuses conditions that compare with columns of a query further out."""
    for each in (column for condition in conditions for column in outer_columns(condition)):
        if each.depth > 1:
            raise StatementError(f"column {each.name} belongs to a query two levels out; write a join instead", each.at)
    return conditions


def _copied(expr: Expr, copies: dict[str, str]) -> Expr:
    return transform(expr, lambda e: Column(e.type, copies[e.name], at=e.at) if isinstance(e, OuterColumn) else None)


def _nearer_expr(expr: Expr) -> Expr:
    """Decrements the depth of columns that belong to queries further out."""

    def change(each: Expr) -> Expr | None:
        return replace(each, depth=each.depth - 1) if isinstance(each, OuterColumn) and each.depth > 1 else None

    return transform(expr, change)


def _nearer(step: Step) -> Step:
    if not outer_of_step(step):
        return step
    return mapped(with_inputs(step, [_nearer(each) for each in step.inputs()]), _nearer_expr)


def _separated(condition: Expr) -> tuple[Expr, Expr] | None:
    """The inner and the outer side of an equality; None for another condition."""
    sides = equality(condition)
    if sides is None:
        return None
    for inner, outside in (sides, sides[::-1]):
        if not _reads_outer(inner) and columns_of(inner) and not columns_of(outside) and _reads_outer(outside):
            return inner, outside
    return None


def _with_columns(
    items: tuple[tuple[str, Expr], ...], conditions: Conditions, child: Step
) -> tuple[tuple[str, Expr], ...]:
    """Items with the columns that the conditions read."""
    made = dict(items)
    kinds = child.columns
    for name in sorted({name for condition in conditions for name in columns_of(condition)}):
        if name in made and made[name] != Column(kinds[name], name):
            raise StatementError(f"column {name} is used in two ways in a subquery; give it another name", 0)
        made.setdefault(name, Column(kinds[name], name))
    return tuple(made.items())
