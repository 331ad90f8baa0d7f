"""The typed tree between SQL and relations: expressions over uniquely named columns, and steps over rows.

Names are unique within a statement, so a column means the same wherever it is used. Nothing here depends on sqlglot
or on Polars expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cauce.sql_frontend.types import BIGINT, SqlType

if TYPE_CHECKING:
    from cauce.sql_frontend.functions.table import Function


@dataclass(frozen=True)
class Expr:
    """A value for each row. `at` is the offset in the statement's text that errors point to."""

    type: SqlType
    at: int = field(default=0, compare=False, kw_only=True)

    def children(self) -> tuple[Expr, ...]:
        return ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return self


@dataclass(frozen=True)
class Column(Expr):
    name: str


@dataclass(frozen=True)
class OuterColumn(Expr):
    """A column of an enclosing query; `depth` counts the queries between."""

    name: str
    depth: int = 1


@dataclass(frozen=True)
class Constant(Expr):
    """`literal`: written in the text, so it takes the type that its context wants."""

    value: Any
    literal: bool = False


@dataclass(frozen=True)
class Call(Expr):
    function: Function
    arguments: tuple[Expr, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, arguments=children)


@dataclass(frozen=True)
class Cast(Expr):
    operand: Expr
    quiet: bool = False
    """TRY_CAST: NULL instead of an error."""

    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=children[0])


@dataclass(frozen=True)
class Case(Expr):
    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr

    def children(self) -> tuple[Expr, ...]:
        return (*(each for pair in self.branches for each in pair), self.default)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        pairs = tuple(zip(children[:-1:2], children[1:-1:2], strict=True))
        return replace(self, branches=pairs, default=children[-1])


@dataclass(frozen=True)
class SortItem:
    expr: Expr
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class AggregateCall(Expr):
    """An aggregate of a group. `parameters` are constants, such as the fraction of a quantile."""

    name: str
    arguments: tuple[Expr, ...] = ()
    distinct: bool = False
    condition: Expr | None = None
    order: tuple[SortItem, ...] = ()
    parameters: tuple[Any, ...] = ()

    def children(self) -> tuple[Expr, ...]:
        condition = () if self.condition is None else (self.condition,)
        return (*self.arguments, *condition, *(item.expr for item in self.order))

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        n = len(self.arguments)
        rest = children[n:]
        condition, rest = (rest[0], rest[1:]) if self.condition is not None else (None, rest)
        order = tuple(replace(item, expr=expr) for item, expr in zip(self.order, rest, strict=True))
        return replace(self, arguments=children[:n], condition=condition, order=order)


Bound: TypeAlias = "tuple[Literal['preceding', 'following'], Any] | Literal['start', 'current', 'end']"


@dataclass(frozen=True)
class Frame:
    """The rows of a partition that a window function sees."""

    unit: Literal["rows", "range", "groups"]
    start: Bound
    end: Bound


@dataclass(frozen=True)
class WindowCall(Expr):
    name: str
    arguments: tuple[Expr, ...] = ()
    partition: tuple[Expr, ...] = ()
    order: tuple[SortItem, ...] = ()
    frame: Frame | None = None
    condition: Expr | None = None
    distinct: bool = False
    ignore_nulls: bool = False
    parameters: tuple[Any, ...] = ()

    def children(self) -> tuple[Expr, ...]:
        condition = () if self.condition is None else (self.condition,)
        return (*self.arguments, *self.partition, *condition, *(item.expr for item in self.order))

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        n, p = len(self.arguments), len(self.partition)
        rest = children[n + p :]
        condition, rest = (rest[0], rest[1:]) if self.condition is not None else (None, rest)
        order = tuple(replace(item, expr=expr) for item, expr in zip(self.order, rest, strict=True))
        return replace(self, arguments=children[:n], partition=children[n : n + p], condition=condition, order=order)


@dataclass(frozen=True)
class SubqueryExpr(Expr):
    """A query used as a value. For "in", `operands` are compared with its columns."""

    kind: Literal["scalar", "exists", "in"]
    query: Step
    operands: tuple[Expr, ...] = ()
    outputs: tuple[str, ...] = ()

    def children(self) -> tuple[Expr, ...]:
        return self.operands

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operands=children)


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child in expr.children():
        yield from walk(child)


def transform(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Replaces sub-expressions from the top; a replaced one is not visited again."""
    changed = change(expr)
    if changed is not None:
        return changed
    children = expr.children()
    made = tuple(transform(child, change) for child in children)
    return expr if all(a is b for a, b in zip(made, children, strict=True)) else expr.with_children(made)


def columns_of(expr: Expr) -> set[str]:
    return {each.name for each in walk(expr) if isinstance(each, Column)}


def outer_columns(expr: Expr) -> list[OuterColumn]:
    found = [each for each in walk(expr) if isinstance(each, OuterColumn)]
    for each in walk(expr):
        if isinstance(each, SubqueryExpr):
            found += [replace(c, depth=c.depth - 1) for c in outer_of_step(each.query) if c.depth > 1]
    return found


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replaces columns by expressions."""
    return transform(expr, lambda each: values.get(each.name) if isinstance(each, Column) else None)


# Steps.


@dataclass(frozen=True)
class Step:
    """Rows with typed columns."""

    @property
    def columns(self) -> dict[str, SqlType]:
        raise NotImplementedError

    def inputs(self) -> tuple[Step, ...]:
        return tuple(value for name in self._field_names() if isinstance(value := getattr(self, name), Step))

    @classmethod
    @cache
    def _field_names(cls) -> tuple[str, ...]:
        """Planning asks for them thousands of times, and `fields` takes microseconds."""
        return tuple(each.name for each in fields(cls))

    def expressions(self) -> tuple[Expr, ...]:
        return ()


@dataclass(frozen=True)
class Scan(Step):
    """A table; `names` maps its columns to unique names."""

    table: str
    names: tuple[tuple[str, str, SqlType], ...]
    """Column of the table, unique name, type."""

    @property
    def columns(self) -> dict[str, SqlType]:
        return {unique: kind for _, unique, kind in self.names}


@dataclass(frozen=True)
class Values(Step):
    """Constant rows. One row without columns is the input of a SELECT without FROM."""

    names: tuple[tuple[str, SqlType], ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def columns(self) -> dict[str, SqlType]:
        return dict(self.names)


class _SameColumns(Step):
    """A step that changes no columns."""

    child: Step

    @property
    def columns(self) -> dict[str, SqlType]:
        return self.child.columns


@dataclass(frozen=True)
class Filter(_SameColumns):
    child: Step
    conditions: tuple[Expr, ...]

    def expressions(self) -> tuple[Expr, ...]:
        return self.conditions


@dataclass(frozen=True)
class KeyFilter(_SameColumns):
    """Rows of a table whose `column` is among the `keys`, which have one column. A join above drops the others anyway:
    the filter only drops them earlier."""

    child: Step
    column: str
    keys: Step


@dataclass(frozen=True)
class Project(Step):
    child: Step
    items: tuple[tuple[str, Expr], ...]

    @property
    def columns(self) -> dict[str, SqlType]:
        return {name: expr.type for name, expr in self.items}

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for _, expr in self.items)


JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True)
class Join(Step):
    """Rows of both sides for which all conditions are true. Semi and anti joins keep the left columns only."""

    left: Step
    right: Step
    how: JoinKind
    conditions: tuple[Expr, ...] = ()

    @property
    def columns(self) -> dict[str, SqlType]:
        return self.left.columns if self.how in ("semi", "anti") else {**self.left.columns, **self.right.columns}

    def expressions(self) -> tuple[Expr, ...]:
        return self.conditions


@dataclass(frozen=True)
class Aggregate(Step):
    """`sets` lists the key positions of each grouping set; None means one set of all keys. `grouping_id` names a column
    with the number of the set."""

    child: Step
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    sets: tuple[tuple[int, ...], ...] | None = None
    grouping_id: str = ""

    @property
    def columns(self) -> dict[str, SqlType]:
        made = {name: expr.type for name, expr in (*self.keys, *self.aggregates)}
        return {**made, **({self.grouping_id: BIGINT} if self.grouping_id else {})}

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for _, expr in (*self.keys, *self.aggregates))


@dataclass(frozen=True)
class Window(Step):
    child: Step
    calls: tuple[tuple[str, WindowCall], ...]

    @property
    def columns(self) -> dict[str, SqlType]:
        return {**self.child.columns, **{name: call.type for name, call in self.calls}}

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(call for _, call in self.calls)


@dataclass(frozen=True)
class Distinct(_SameColumns):
    """Distinct rows; with `on`, the first row of each value of `on` in the given order."""

    child: Step
    on: tuple[Expr, ...] = ()
    order: tuple[SortItem, ...] = ()

    def expressions(self) -> tuple[Expr, ...]:
        return (*self.on, *(item.expr for item in self.order))


@dataclass(frozen=True)
class SetOperation(Step):
    """Both sides have the same column names."""

    left: Step
    right: Step
    kind: Literal["union", "intersect", "except"]
    all: bool

    @property
    def columns(self) -> dict[str, SqlType]:
        return self.left.columns


@dataclass(frozen=True)
class Limit(_SameColumns):
    """The first rows in an order; ties are broken by the columns in `visible`, in that order."""

    child: Step
    order: tuple[SortItem, ...]
    limit: int | None
    offset: int = 0
    visible: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    """Columns whose every combination of values has its own first rows."""

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(item.expr for item in self.order)


@dataclass(frozen=True)
class Unnest(Step):
    """One row per element of a list column, under the same name."""

    child: Step
    column: str
    kind: SqlType

    @property
    def columns(self) -> dict[str, SqlType]:
        return {**self.child.columns, self.column: self.kind}


@dataclass(frozen=True)
class Query:
    """A bound statement: its rows, its answer columns as (name in the answer, unique name), and its order."""

    name: str
    step: Step
    outputs: tuple[tuple[str, str], ...]
    order: tuple[SortItem, ...] = ()


def outer_of_step(step: Step) -> list[OuterColumn]:
    """The columns of enclosing queries that a query reads."""
    found: list[OuterColumn] = []
    for expr in step.expressions():
        found += outer_columns(expr)
    for child in step.inputs():
        found += outer_of_step(child)
    return found
