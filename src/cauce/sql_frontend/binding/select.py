"""Binds one SELECT: FROM, WHERE, GROUP BY, HAVING, windows, QUALIFY, the select list, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from cauce.sql_frontend.binding.aggregates import sort_item
from cauce.sql_frontend.binding.bound import BoundQuery
from cauce.sql_frontend.binding.expressions import ExpressionBinder
from cauce.sql_frontend.binding.grouping import GroupBinder, Grouping
from cauce.sql_frontend.binding.positions import at, only, position_of, text_of
from cauce.sql_frontend.binding.scope import Scope, Visible
from cauce.sql_frontend.binding.sources import SourceBinder, conjuncts
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import (
    AggregateCall,
    Column,
    Constant,
    Distinct,
    Expr,
    Filter,
    Project,
    SortItem,
    Step,
    Unnest,
    Window,
    WindowCall,
    transform,
    walk,
)
from cauce.sql_frontend.types import INTEGER, NULL

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.queries import QueryBinder


@dataclass(frozen=True)
class Item:
    """A column of the select list."""

    name: str
    expr: Expr
    node: exp.Expr


@dataclass
class SelectBinder:
    queries: QueryBinder
    node: exp.Select
    parent: Scope | None
    scope: Scope = field(init=False)
    _windows: dict[WindowCall, str] = field(default_factory=dict)

    def bind(self) -> BoundQuery:
        self._check_parts()
        sources = SourceBinder(self.queries, self.parent)
        step = sources.bind(self._from(), self.node.args.get("joins") or [])
        self.scope = sources.scope
        self.scope.aliases = self._aliases()
        step = self._where(step)
        items = self._items()
        having, qualify = self._condition("having", True), self._condition("qualify", True, True)
        order = self._order(items)
        step, rewrite = self._grouped(step, items, having, qualify, order)
        items = [replace(each, expr=rewrite(each.expr)) for each in items]
        order = [replace(each, expr=rewrite(each.expr)) for each in order]
        if having is not None:
            step = Filter(step, conjuncts(rewrite(having)))
        step, items, order, condition = self._windowed(step, items, order, qualify and rewrite(qualify))
        if condition is not None:
            step = Filter(step, conjuncts(condition))
        return self._project(step, items, order)

    def _check_parts(self) -> None:
        only(
            self.node, "SELECT", "with_", "expressions", "distinct", "from_", "joins", "where", "group", "having",
            "qualify", "windows", "order", "limit", "offset", "kind",
        )  # fmt: skip
        if self.node.args.get("kind"):
            raise StatementError("SELECT AS is not supported", at(self.node))

    def _from(self) -> exp.Expr | None:
        clause = self.node.args.get("from_")
        return None if clause is None else clause.this

    def _aliases(self) -> dict[str, exp.Expr]:
        return {each.alias.lower(): each.this for each in self.node.expressions if isinstance(each, exp.Alias)}

    def _binder(self, clause: str, aggregates: bool = False, windows: bool = False) -> ExpressionBinder:
        named = {each.this.name.lower(): each for each in self.node.args.get("windows") or []}
        return ExpressionBinder(self.scope, self.queries, clause, aggregates, windows, named)

    def _where(self, step: Step) -> Step:
        where = self.node.args.get("where")
        if where is None:
            return step
        return Filter(step, conjuncts(self._binder("WHERE").truth(where.this)))

    def _condition(self, name: str, aggregates: bool, windows: bool = False) -> Expr | None:
        clause = self.node.args.get(name)
        return None if clause is None else self._binder(name.upper(), aggregates, windows).truth(clause.this)

    # The select list.

    def _items(self) -> list[Item]:
        items: list[Item] = []
        every, self.scope.aliases = self.scope.aliases, {}
        for each in self.node.expressions:
            if isinstance(each, exp.Star):
                items += self._star(each, None)
            elif isinstance(each, exp.Column) and isinstance(each.this, exp.Star):
                items += self._star(each.this, each.table)
            else:
                items.append(self._item(each))
                if each.alias:
                    # An item may use the names of those before it.
                    self.scope.aliases[each.alias.lower()] = each.this
        self.scope.aliases = every
        if not items:
            raise StatementError("SELECT needs a column", at(self.node))
        return _unique_names(items)

    def _item(self, node: exp.Expr) -> Item:
        inner = node.this if isinstance(node, exp.Alias) else node
        if _is_unnest(inner):
            value = self._binder("SELECT").bind(inner.expressions[0])
            if value.type.element is None:
                raise StatementError(f"unnest needs a list, not {value.type}", at(inner))
            return Item(node.alias or "unnest", value, inner)
        expr = self._binder("SELECT", True, True).bind(inner)
        return Item(node.alias or _name_of(inner), expr, inner)

    def _star(self, star: exp.Star, table: str | None) -> list[Item]:
        only(star, "*", "except_", "replace", "rename")
        if any(star.args.get(key) == [] for key in ("except_", "replace", "rename")):
            raise StatementError("EXCLUDE, REPLACE and RENAME need a column", at(star))
        chosen = [s for s in self.scope.sources if table is None or s.alias.lower() == table.lower()]
        if not chosen:
            raise StatementError(
                "* needs FROM" if table is None else f"there is no table {table} in this query", at(star)
            )
        found: list[Item] = []
        shown: set[str] = set()
        for source in chosen:
            for column in source.columns:
                expr: Expr = Column(column.type, column.unique, at=at(star))
                if table is None and column.unique in self.scope.hidden:
                    key = column.name.lower()
                    if key in shown:
                        continue
                    shown.add(key)
                    expr = self.scope.merged[key]
                found.append(Item(column.name, expr, star))
        return self._changed(star, found)

    def _changed(self, star: exp.Star, items: list[Item]) -> list[Item]:
        """Applies EXCLUDE, REPLACE and RENAME."""
        known = {each.name.lower() for each in items}
        excluded = {each.name.lower(): each for each in star.args.get("except_") or []}
        replaced = {each.alias.lower(): each for each in star.args.get("replace") or []}
        renamed = {each.this.name.lower(): each for each in star.args.get("rename") or []}
        for name, node in {**excluded, **replaced, **renamed}.items():
            if name not in known:
                raise StatementError(f"* has no column {name}", at(node))
        binder = self._binder("SELECT", True, True)
        made: list[Item] = []
        for each in items:
            key = each.name.lower()
            if key in excluded:
                continue
            if key in replaced:
                each = Item(each.name, binder.bind(replaced[key].this), replaced[key])
            if key in renamed:
                each = replace(each, name=renamed[key].alias or renamed[key].expression.name)
            made.append(each)
        return made

    # ORDER BY.

    def _order(self, items: Sequence[Item]) -> list[SortItem]:
        clause = self.node.args.get("order")
        if clause is None:
            return []
        return [item for each in clause.expressions for item in self._order_items(each, items)]

    def _order_items(self, node: exp.Ordered, items: Sequence[Item]) -> list[SortItem]:
        only(node, "ORDER BY", "this", "desc", "nulls_first")
        down, first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        if isinstance(node.this, exp.Var) and node.this.name.upper() == "ALL":
            return [SortItem(each.expr, down, first) for each in items]
        position = position_of(node.this, len(items), "ORDER BY")
        if position is not None:
            return [SortItem(items[position].expr, down, first)]
        if isinstance(node.this, exp.Column) and not node.this.table:
            named = [each for each in items if each.name.lower() == node.this.name.lower()]
            if named:
                return [SortItem(named[0].expr, down, first)]
        return [sort_item(self._binder("ORDER BY", True, True), node)]

    # GROUP BY.

    def _grouped(
        self,
        step: Step,
        items: Sequence[Item],
        having: Expr | None,
        qualify: Expr | None,
        order: Sequence[SortItem],
    ) -> tuple[Step, Grouping]:
        exprs = [each.expr for each in items] + [each.expr for each in order]
        exprs += [each for each in (having, qualify) if each is not None]
        clause = self.node.args.get("group")
        if clause is None and having is None and not any(map(_has_aggregate, exprs)):
            return step, Grouping.none()
        binder = GroupBinder(
            self.queries, self._binder("GROUP BY"), [(each.name, each.expr, each.node) for each in items]
        )
        return binder.bind(step, clause, exprs)

    # Windows.

    def _windowed(
        self, step: Step, items: list[Item], order: list[SortItem], qualify: Expr | None
    ) -> tuple[Step, list[Item], list[SortItem], Expr | None]:
        items = [replace(each, expr=self._without_windows(each.expr)) for each in items]
        order = [replace(each, expr=self._without_windows(each.expr)) for each in order]
        condition = None if qualify is None else self._without_windows(qualify)
        if self._windows:
            step = Window(step, tuple((name, call) for call, name in self._windows.items()))
        elif qualify is not None:
            raise StatementError("QUALIFY needs a window function; use WHERE or HAVING", at(self.node.args["qualify"]))
        return step, items, order, condition

    def _without_windows(self, expr: Expr) -> Expr:
        def change(each: Expr) -> Expr | None:
            if not isinstance(each, WindowCall):
                return None
            if each not in self._windows:
                self._windows[each] = self.queries.names.fresh(each.name)
            return Column(each.type, self._windows[each], at=each.at)

        return transform(expr, change)

    # The output.

    def _project(self, step: Step, items: Sequence[Item], order: Sequence[SortItem]) -> BoundQuery:
        outputs = [Visible(each.name, self._output_name(each), _known(each.expr).type, at(each.node)) for each in items]
        made = [(output.unique, _known(each.expr)) for output, each in zip(outputs, items, strict=True)]
        made, sorted_by = self._with_order(made, order)
        on = self._distinct_on(items, made)
        step = Project(step, tuple(made))
        for output, each in zip(list(outputs), items, strict=True):
            if _is_unnest(each.node):
                assert each.expr.type.element is not None
                step = Unnest(step, output.unique, each.expr.type.element)
                outputs[outputs.index(output)] = replace(output, type=each.expr.type.element)
        step = self._distinct(step, outputs, sorted_by, on)
        bound = BoundQuery(step, tuple(outputs), tuple(sorted_by))
        return self.queries.limited(bound, self.node)

    def _output_name(self, item: Item) -> str:
        """A plain column keeps its unique name, unless it is shown twice."""
        if isinstance(item.expr, Column) and not _is_unnest(item.node) and item.expr.name not in self._shown:
            self._shown.add(item.expr.name)
            return item.expr.name
        return self.queries.names.fresh(item.name)

    @property
    def _shown(self) -> set[str]:
        return self.__dict__.setdefault("_shown_names", set())  # type: ignore[no-any-return]

    def _with_order(
        self, made: list[tuple[str, Expr]], order: Sequence[SortItem]
    ) -> tuple[list[tuple[str, Expr]], list[SortItem]]:
        """Adds a column for each ORDER BY expression that is not shown."""
        columns = list(made)
        sorted_by: list[SortItem] = []
        for item in order:
            expr = _known(item.expr)
            if isinstance(expr, Constant):
                continue
            name = next((name for name, each in columns if each == expr), None)
            if name is None:
                if self.node.args.get("distinct") is not None and self.node.args["distinct"].args.get("on") is None:
                    raise StatementError("ORDER BY with DISTINCT takes columns of the select list only", item.expr.at)
                name = self._output_name(Item("order", expr, self.node))
                columns.append((name, expr))
            sorted_by.append(replace(item, expr=Column(expr.type, name, at=item.expr.at)))
        return columns, sorted_by

    def _distinct_on(self, items: Sequence[Item], made: list[tuple[str, Expr]]) -> tuple[Expr, ...]:
        clause = self.node.args.get("distinct")
        on = None if clause is None else clause.args.get("on")
        if on is None:
            return ()
        keys: list[Expr] = []
        for node in on.expressions if isinstance(on, exp.Tuple) else [on]:
            position = position_of(node, len(items), "DISTINCT ON")
            expr = items[position].expr if position is not None else self._binder("DISTINCT ON").bind(node)
            name = next((name for name, each in made if each == expr), None)
            if name is None:
                name = self._output_name(Item("on", expr, self.node))
                made.append((name, expr))
            keys.append(Column(expr.type, name))
        return tuple(dict.fromkeys(keys))

    def _distinct(
        self, step: Step, outputs: Sequence[Visible], order: Sequence[SortItem], on: tuple[Expr, ...]
    ) -> Step:
        clause = self.node.args.get("distinct")
        if clause is None:
            return step
        if not on:
            return Distinct(step)
        shown = tuple(SortItem(Column(each.type, each.unique)) for each in outputs)
        return Distinct(step, on, (*order, *shown))


def _has_aggregate(expr: Expr) -> bool:
    return any(isinstance(each, AggregateCall) for each in walk(expr))


def _is_unnest(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == "unnest" and len(node.expressions) == 1


def _known(expr: Expr) -> Expr:
    """NULL without a type is an INTEGER."""
    return Constant(INTEGER, None, at=expr.at) if expr.type == NULL else expr


def _name_of(node: exp.Expr) -> str:
    if isinstance(node, exp.Column):
        return node.name
    return text_of(node)[:60]


def _unique_names(items: list[Item]) -> list[Item]:
    """Numbers the second and later columns of the same name: a, a_1, a_2."""
    taken: set[str] = set()
    made: list[Item] = []
    for each in items:
        name, number = each.name, 0
        while name.lower() in taken:
            number += 1
            name = f"{each.name}_{number}"
        taken.add(name.lower())
        made.append(replace(each, name=name))
    return made
