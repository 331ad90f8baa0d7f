"""Binds queries: SELECT, set operations, VALUES, WITH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from cauce.sql_frontend.binding.aggregates import sort_item
from cauce.sql_frontend.binding.bound import BoundQuery, Ctes
from cauce.sql_frontend.binding.expressions import ExpressionBinder
from cauce.sql_frontend.binding.positions import at, only, position_of
from cauce.sql_frontend.binding.scope import Names, Scope, Source, Visible
from cauce.sql_frontend.catalogue import Catalogue
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import Column, Constant, Expr, Limit, Project, SetOperation, SortItem, Step, Values
from cauce.sql_frontend.types import INTEGER, NULL, VARCHAR, SqlType, common


@dataclass
class QueryBinder:
    """Binds the queries of one statement."""

    catalogue: Catalogue
    parameters: Mapping[str, Constant] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    ctes: Ctes = field(default_factory=dict)

    def with_ctes(self, added: Ctes) -> QueryBinder:
        return replace(self, ctes={**self.ctes, **added})

    def subquery(self, node: exp.Expr, parent: Scope | None) -> BoundQuery:
        """A query inside another one: its order counts only with LIMIT, which is part of the rows."""
        return replace(self.bind(node, parent), order=())

    def bind(self, node: exp.Expr, parent: Scope | None) -> BoundQuery:
        binder = self._bind_with(node, parent)
        match node:
            case exp.Subquery():
                return binder._parenthesised(node, parent)
            case exp.Select():
                from cauce.sql_frontend.binding.select import SelectBinder

                return SelectBinder(binder, node, parent).bind()
            case exp.SetOperation():
                return binder._set_operation(node, parent)
            case exp.Values():
                only(node, "VALUES", "expressions", "order", "limit", "offset", "alias")
                return binder.finish(binder.values(node), node)
        raise StatementError(f"{type(node).__name__.upper()} is not supported as a query", at(node))

    def _bind_with(self, node: exp.Expr, parent: Scope | None) -> QueryBinder:
        clause = node.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive") and _is_recursive(clause):
            raise StatementError("recursive queries are not supported", at(clause))
        only(clause, "WITH", "expressions", "recursive")
        binder = self
        for cte in clause.expressions:
            only(cte, "WITH", "this", "alias", "materialized")
            bound = binder.subquery(cte.this, parent)
            bound = renamed_outputs(bound, cte.args["alias"])
            binder = binder.with_ctes({cte.alias.lower(): bound})
        return binder

    def _parenthesised(self, node: exp.Subquery, parent: Scope | None) -> BoundQuery:
        only(node, "a query in parentheses", "this", "with_", "order", "limit", "offset", "alias")
        bound = self.bind(node.this, parent)
        if any(node.args.get(key) for key in ("order", "limit", "offset")):
            return self.finish(bound, node)
        return bound

    # VALUES.

    def values(self, node: exp.Values) -> BoundQuery:
        rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in node.expressions]
        width = len(rows[0])
        binder = ExpressionBinder(Scope(), self, "VALUES")
        bound = [binder.bind_all(row) for row in rows]
        for row, source in zip(bound, rows, strict=True):
            if len(row) != width:
                raise StatementError(
                    f"all rows of VALUES must have {width} values", at(source[0]) if source else at(node)
                )
        columns = [ops.unified([row[i] for row in bound], at(node), "VALUES", to_text=True) for i in range(width)]
        kinds = [INTEGER if kind == NULL else kind for _, kind in columns]
        made = [
            [folded(ops.cast(each, kind)) for each in column] for (column, _), kind in zip(columns, kinds, strict=True)
        ]
        outputs = tuple(Visible(f"col{i}", self.names.fresh(f"col{i}"), kind) for i, kind in enumerate(kinds))
        cells = [[_constant(each) for each in column] for column in made]
        step = Values(tuple((each.unique, each.type) for each in outputs), tuple(zip(*cells, strict=True)))
        return BoundQuery(step, outputs)

    # Set operations.

    def _set_operation(self, node: exp.SetOperation, parent: Scope | None) -> BoundQuery:
        only(node, "a set operation", "this", "expression", "distinct", "with_", "order", "limit", "offset")
        left, right = self.subquery(node.this, parent), self.subquery(node.expression, parent)
        kind = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}[type(node)]
        if len(left.outputs) != len(right.outputs):
            raise StatementError(
                f"{kind.upper()} needs as many columns on both sides, not {len(left.outputs)} and {len(right.outputs)}",
                at(node.expression),
            )
        outputs = tuple(
            Visible(a.name, self.names.fresh(a.name), _common(a, b, kind, node))
            for a, b in zip(left.outputs, right.outputs, strict=True)
        )
        sides = [self._side(side, outputs) for side in (left, right)]
        step = SetOperation(sides[0], sides[1], kind, not node.args.get("distinct"))  # type: ignore[arg-type]
        return self.finish(BoundQuery(step, outputs), node)

    def _side(self, side: BoundQuery, outputs: Sequence[Visible]) -> Step:
        items = [
            (wanted.unique, ops.cast(Column(given.type, given.unique), wanted.type))
            for given, wanted in zip(side.outputs, outputs, strict=True)
        ]
        return Project(side.step, tuple(items))

    # ORDER BY and LIMIT of anything but a SELECT.

    def finish(self, bound: BoundQuery, node: exp.Expr) -> BoundQuery:
        order = node.args.get("order")
        items: list[SortItem] = []
        for each in order.expressions if order is not None else []:
            items += self._output_item(bound, each)
        return self.limited(replace(bound, order=tuple(items)), node)

    def _output_item(self, bound: BoundQuery, node: exp.Ordered) -> list[SortItem]:
        """An ORDER BY item that names output columns: by position, by name, ALL, or in an expression."""
        only(node, "ORDER BY", "this", "desc", "nulls_first")
        down, first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        if isinstance(node.this, exp.Var) and node.this.name.upper() == "ALL":
            return [SortItem(Column(each.type, each.unique), down, first) for each in bound.outputs]
        position = position_of(node.this, len(bound.outputs), "ORDER BY")
        if position is not None:
            chosen = bound.outputs[position]
            return [SortItem(Column(chosen.type, chosen.unique), down, first)]
        binder = ExpressionBinder(Scope([Source("", bound.outputs)]), self, "ORDER BY")
        item = sort_item(binder, node)
        if not isinstance(item.expr, Column):
            raise StatementError(
                "ORDER BY after a set operation takes output columns; wrap it in SELECT * FROM (...)", at(node)
            )
        return [item]

    def limited(self, bound: BoundQuery, node: exp.Expr) -> BoundQuery:
        limit, offset = self._limit_of(node)
        if limit is None and offset == 0:
            return bound
        visible = tuple(each.unique for each in bound.outputs)
        return replace(bound, step=Limit(bound.step, bound.order, limit, offset, visible))

    def _limit_of(self, node: exp.Expr) -> tuple[int | None, int]:
        limit, offset = node.args.get("limit"), node.args.get("offset")
        count: int | None = None
        if limit is not None:
            options = limit.args.get("limit_options")
            if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
                raise StatementError("LIMIT takes a number of rows, without percent and WITH TIES", at(limit))
            given = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
            count = self._number(given, "LIMIT")
        return count, (self._number(offset.expression, "OFFSET") or 0) if offset is not None else 0

    def _number(self, node: Any, what: str) -> int | None:
        bound = ExpressionBinder(Scope(), self, what).bind(node)
        if isinstance(bound, Constant) and bound.value is None:
            return None
        if not isinstance(bound, Constant) or not isinstance(bound.value, int) or bound.value < 0:
            raise StatementError(f"{what} takes a constant whole number, at least 0", at(node))
        return int(bound.value)


def renamed_outputs(bound: BoundQuery, alias: exp.Expr | None) -> BoundQuery:
    """The outputs under the column names of an alias, as in t(a, b)."""
    names = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
    if len(names) > len(bound.outputs):
        raise StatementError(
            f"the alias names {len(names)} columns, but there are {len(bound.outputs)}", at(alias or exp.Null())
        )
    made = [replace(each, name=names[i]) if i < len(names) else each for i, each in enumerate(bound.outputs)]
    return replace(bound, outputs=tuple(made))


def _is_recursive(clause: exp.Expr) -> bool:
    return any(
        table.name.lower() == cte.alias.lower() for cte in clause.expressions for table in cte.this.find_all(exp.Table)
    )


def _common(left: Visible, right: Visible, kind: str, node: exp.Expr) -> SqlType:
    found = common(left.type, right.type)
    if found is None and VARCHAR in (left.type, right.type) and not (left.type.element or right.type.element):
        found = VARCHAR
    if found is None:
        raise StatementError(
            f"{kind.upper()}: column {left.name} is {left.type} on one side and {right.type} on the other; add a CAST",
            at(node.expression),
        )
    return INTEGER if found == NULL else found


def _constant(expr: Expr) -> object:
    if not isinstance(expr, Constant):
        raise StatementError("VALUES may contain only constants", expr.at)
    return expr.value
