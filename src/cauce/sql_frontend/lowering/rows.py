"""Lowers steps to relations: one method per kind of step. Equal steps give equal relations."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from cauce.plan import nodes
from cauce.plan.relation import Relation
from cauce.sql_frontend.catalogue import Catalogue
from cauce.sql_frontend.lowering.aggregates import lower_aggregate
from cauce.sql_frontend.lowering.conditions import cheapest_first
from cauce.sql_frontend.lowering.joins import ONE, JoinSides, lower_join
from cauce.sql_frontend.lowering.sets import lower_set_operation
from cauce.sql_frontend.lowering.sorting import sort_keys
from cauce.sql_frontend.lowering.windows import lower_window
from cauce.sql_frontend.planning.sizes import Sizes
from cauce.sql_frontend.translate import Translator, Where
from cauce.sql_frontend.tree import (
    Aggregate,
    Column,
    Distinct,
    Expr,
    Filter,
    Join,
    KeyFilter,
    Limit,
    Project,
    Scan,
    SetOperation,
    Step,
    Unnest,
    Values,
    Window,
)
from cauce.sql_frontend.types import TINYINT, SqlType


@dataclass
class Lowering:
    catalogue: Catalogue
    where: Where
    sizes: Sizes
    _done: dict[int, tuple[Step, Relation]] = field(default_factory=dict)

    def relation(self, step: Step) -> Relation:
        if id(step) not in self._done:
            self._done[id(step)] = (step, self._lower(step))
        return self._done[id(step)][1]

    def expression(self, expr: Expr) -> pl.Expr:
        return Translator(self.where)(expr)

    def _lower(self, step: Step) -> Relation:
        match step:
            case Scan():
                return self._scan(step, ())
            case Filter(child=Scan() | KeyFilter() as rows):
                return self._scan(rows, step.conditions)
            case KeyFilter():
                return self._scan(step, ())
            case Filter():
                return self.relation(step.child).filter(*map(self.expression, cheapest_first(step.conditions)))
            case Project(child=Join() as join) if _keeps_names(step):
                return self._join(join, tuple(step.columns))
            case Project():
                return self._project(step)
            case Join():
                return self._join(step, tuple(step.columns))
            case Aggregate():
                return lower_aggregate(step, self.relation(step.child), self.expression)
            case Distinct():
                return self._distinct(step)
            case SetOperation():
                return lower_set_operation(step, self.relation(step.left), self.relation(step.right))
            case Limit():
                return self._limit(step)
            case Unnest():
                return self.relation(step.child).explode(step.column)
            case Values():
                return self._values(step)
            case Window():
                return self._window(step)
        raise TypeError(f"{type(step).__name__} is not a step")

    def _scan(self, step: Scan | KeyFilter, conditions: tuple[Expr, ...]) -> Relation:
        """Filters run on the table's own columns: only then are the other columns decoded for fewer rows."""
        scan, filters = _scan_of(step)
        table = self.catalogue.find(scan.table)
        assert table is not None
        read = {unique: _cell(table.table, column, kind) for column, unique, kind in scan.names}
        relation: Relation = table.table
        for each in filters:
            column = next(name for name, unique, _ in scan.names if unique == each.column)
            (key,) = each.keys.columns
            keys = self.relation(each.keys).select(pl.col(key).alias(column))
            relation = Relation(nodes.KeyFilter(relation.node, keys.node, (column,), "semi", "broadcast"))
        if conditions:
            translate = Translator(self.where, read)
            relation = relation.filter(*(translate(each) for each in cheapest_first(conditions)))
        if not read:
            return relation.select(**{ONE: pl.lit(1, dtype=pl.Int8)})
        return Relation(nodes.Convert(relation.node, tuple(_named(name, expr) for name, expr in read.items())))

    def _join(self, step: Join, columns: tuple[str, ...]) -> Relation:
        rows = [self.sizes.rows(side) for side in (step.right, step.left)]
        sides = JoinSides(self.relation(step.left), self.relation(step.right), *rows)
        return lower_join(step, sides, self.expression, columns)

    def _project(self, step: Project) -> Relation:
        child = self.relation(step.child)
        if not step.items:
            return child.select(**{ONE: pl.lit(1, dtype=pl.Int8)})
        return select(child, {name: self.expression(expr) for name, expr in step.items})

    def _distinct(self, step: Distinct) -> Relation:
        child = self.relation(step.child)
        if not step.on:
            return child.distinct(nulls=True)
        keys = [each.name for each in step.on if isinstance(each, Column)]
        return child.top_k(1, by=sort_keys(step.order, ()), per=keys, nulls=True)

    def _limit(self, step: Limit) -> Relation:
        child = self.relation(step.child)
        if step.limit == 0:
            return child.filter(pl.lit(False))
        by = sort_keys(step.order, step.visible or tuple(step.columns))
        if step.per:
            assert step.limit is not None
            return child.top_k(step.limit, by=by, per=step.per, nulls=True)
        return child.limit(step.limit, by=by, offset=step.offset)

    def _values(self, step: Values) -> Relation:
        names = step.names or ((ONE, TINYINT),)
        rows = step.rows if step.names else tuple((1,) for _ in step.rows)
        return Relation(nodes.Values(tuple((name, kind.dtype) for name, kind in names), rows))

    def _window(self, step: Window) -> Relation:
        return lower_window(step, self.relation(step.child), self.expression)


def _scan_of(step: Step) -> tuple[Scan, list[KeyFilter]]:
    """The scan below filters by keys, and these."""
    filters: list[KeyFilter] = []
    while isinstance(step, KeyFilter):
        filters.append(step)
        step = step.child
    assert isinstance(step, Scan)
    return step, filters


def _keeps_names(step: Project) -> bool:
    """Whether it only drops columns."""
    return bool(step.items) and all(isinstance(expr, Column) and expr.name == name for name, expr in step.items)


def _cell(table: Relation, column: str, kind: SqlType) -> pl.Expr:
    """A column of a table as its SQL type."""
    found = table.node.schema[column]
    value = pl.col(column)
    if found == kind.dtype:
        return value
    if kind.name == "DECIMAL" and found.is_integer():
        # A fixed number is stored in units of its last decimal.
        return value.cast(pl.Int128).reinterpret(dtype=kind.dtype)
    return value.cast(kind.dtype)


def select(relation: Relation, items: dict[str, pl.Expr]) -> Relation:
    """The named expressions. Plain columns keep their name, so that they are decoded late."""
    return relation.select(*(_named(name, expr) for name, expr in items.items()))


def _named(name: str, expr: pl.Expr) -> pl.Expr:
    return pl.col(name) if expr.meta.eq(pl.col(name)) else expr.alias(name)
