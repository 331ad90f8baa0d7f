"""The words in which a query is declared: relations, and the aggregates of a group-by.

Every method returns a new relation and computes nothing. Expressions are Polars expressions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregate import (
    Aggregate,
    Collect,
    Count,
    CountDistinct,
    First,
    Max,
    Mean,
    Min,
    Mode,
    ModeCount,
    Quantile,
    Sum,
)
from cauce.operators.join import How
from cauce.operators.order import POSITION, Ratio, SortKey, desc, sort_keys
from cauce.operators.top_k import Ties
from cauce.plan import nodes
from cauce.scan.kinds import Kind
from cauce.scan.tables import Column, TableSpec

IntoExpr = str | pl.Expr
By = str | Ratio | SortKey


def _expressions(positional: Sequence[IntoExpr], named: Mapping[str, object]) -> tuple[pl.Expr, ...]:
    """A text names a column, as in Polars; other values are literals."""
    return (
        *(_expression(each) for each in positional),
        *(_expression(each).alias(name) for name, each in named.items()),
    )


def _expression(value: object) -> pl.Expr:
    if isinstance(value, pl.Expr):
        return value
    return pl.col(value) if isinstance(value, str) else pl.lit(value)


def _check_row_by_row(expressions: Sequence[pl.Expr]) -> None:
    """An expression sees a part of the rows at a time: one that looks beyond its row would depend on the cut."""
    for each in expressions:
        if not _is_row_by_row(each):
            raise PlanError(
                f"{each} looks at more than one row; use group_by(...).agg(...), agg(...) or top_k(...) for that"
            )


def _is_row_by_row(expression: pl.Expr) -> bool:
    meta = expression.meta
    try:
        looks_beyond = meta.is_scalar() or not meta.is_row_separable()
    except pl.exceptions.PolarsError:
        # A function in Python, or one on the elements of a list: only its author can know.
        looks_beyond = False
    if looks_beyond and (meta.root_names() or str(expression) == "len()"):
        return False
    return all(map(_is_row_by_row, meta.pop()))


class Relation:
    """A bag of rows with named columns."""

    def __init__(self, node: nodes.Node) -> None:
        self.node = node

    @property
    def columns(self) -> tuple[str, ...]:
        return self.node.names

    def filter(self, *predicates: pl.Expr) -> Relation:
        """Rows for which every predicate is true. They are tried in turn: put the cheap ones first."""
        self._check(name for each in predicates for name in each.meta.root_names())
        _check_row_by_row(predicates)
        return Relation(nodes.Filter(self.node, predicates))

    def with_columns(self, **named: Any) -> Relation:
        expressions = _expressions((), named)
        self._check(name for each in expressions for name in each.meta.root_names())
        _check_row_by_row(expressions)
        return Relation(nodes.WithColumns(self.node, expressions))

    def select(self, *columns: IntoExpr, **named: Any) -> Relation:
        expressions = _expressions(columns, named)
        self._check(name for each in expressions for name in each.meta.root_names())
        _check_row_by_row(expressions)
        return Relation(nodes.Select(self.node, expressions))

    def explode(self, column: str) -> Relation:
        """One row for each element of a list; none for an empty or missing list."""
        self._check([column])
        return Relation(nodes.Explode(self.node, column))

    def join(
        self,
        other: Relation,
        on: str | Sequence[str],
        how: How = "inner",
        strategy: nodes.Strategy | None = None,
    ) -> Relation:
        """Rows with their partners in `other`; null keys have none.

        With strategy "broadcast" the other side goes whole to every worker; with "partition" both sides are
        sent where their key belongs. Left open, a side made of small tables, of a top_k or of a global
        aggregate is broadcast.
        """
        keys = (on,) if isinstance(on, str) else tuple(on)
        self._check(keys)
        other._check(keys)
        clash = (set(self.columns) & set(other.columns)) - set(keys)
        if clash and how not in ("semi", "anti"):
            raise PlanError(f"both sides of a join on {', '.join(keys)} have {_list(clash)}: rename one of them")
        chosen = strategy or ("broadcast" if _is_small(other.node) else "partition")
        return Relation(nodes.Join(self.node, other.node, keys, how, chosen))

    def with_scalars(self, scalars: Relation) -> Relation:
        """Every row beside the one row of a global aggregate (`relation.agg(...)`)."""
        clash = set(self.columns) & set(scalars.columns)
        if clash:
            raise PlanError(f"a scalar has the name of a column: {_list(clash)}")
        return Relation(nodes.Scalars(self.node, scalars.node))

    def group_by(self, *keys: str) -> Grouped:
        self._check(keys)
        return Grouped(self, keys)

    def agg(self, **aggregates: Aggregate) -> Relation:
        """One row for all rows."""
        return Grouped(self, ()).agg(**aggregates)

    def distinct(self, *columns: str) -> Relation:
        """The different rows of these columns (of all, if none is named), leaving out nulls."""
        self._check(columns)
        return Grouped(self, columns or self.columns).agg()

    def top_k(self, k: int, by: By | Sequence[By], per: str | Sequence[str] = (), ties: Ties = "cut") -> Relation:
        """The first k rows in the order of `by`, of each key `per` if given; with ties="all" those tied with
        the k-th too."""
        keys = sort_keys([by] if isinstance(by, str | Ratio | SortKey) else by)
        groups = (per,) if isinstance(per, str) else tuple(per)
        self._check([*groups, *(name for key in keys for name in key.columns)])
        return Relation(nodes.TopK(self.node, k, keys, groups, ties))

    def concat(self, other: Relation) -> Relation:
        if self.columns != other.columns:
            raise PlanError(f"concat needs equal columns, not {_list(self.columns)} and {_list(other.columns)}")
        return Relation(nodes.Concat(self.node, other.node))

    def sort(self, *by: By) -> Relation:
        """The order in which a query's answer is written. Nothing may follow it."""
        keys = sort_keys(by)
        self._check(name for key in keys for name in key.columns)
        return Relation(nodes.Sort(self.node, keys))

    def in_input_order(self) -> Relation:
        """Write the answer in the order of the input, page by page while the input still comes in."""
        return self.sort(POSITION)

    def _check(self, names: Any) -> None:
        unknown = [name for name in dict.fromkeys(names) if name not in self.columns and name != POSITION]
        if unknown:
            raise PlanError(f"no column {_list(unknown)} here; there are {_list(self.columns)}")


class Table(Relation):
    """A table of a dataset, ready to be queried.

    >>> Table("stores", "stores/stores.csv", {"store_id": Identifier(), "store_name": Text()}, small=True)
    """

    def __init__(
        self,
        name: str,
        files: str | Sequence[str],
        columns: Mapping[str, Kind | Column],
        *,
        required: Sequence[str] = (),
        delimiter: str = ",",
        null: str | None = None,
        small: bool = False,
    ) -> None:
        patterns = (files,) if isinstance(files, str) else tuple(files)
        made = {
            each: column if isinstance(column, Column) else Column(each, column) for each, column in columns.items()
        }
        missing = [each for each in required if each not in made]
        if missing:
            raise PlanError(f"table {name}: required names no column of it: {_list(missing)}")
        check_name("table", name)
        self.spec = TableSpec(name, patterns, made, tuple(required), delimiter, null, small)
        super().__init__(nodes.Scan(self.spec))


def check_name(what: str, name: str) -> None:
    """Names become names of logs and files: they are kept to what every store takes."""
    if not _NAME.fullmatch(name):
        raise PlanError(f"{what} {name!r}: a name has letters, digits, _ and -, and at most 60 of them")


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}")


class Grouped:
    def __init__(self, relation: Relation, keys: Sequence[str]) -> None:
        self._relation = relation
        self._keys = tuple(keys)

    def agg(self, **aggregates: Aggregate) -> Relation:
        self._relation._check(name for each in aggregates.values() for name in each.columns)
        simple = {name: each for name, each in aggregates.items() if not isinstance(each, _BY_VALUE)}
        base = Relation(nodes.GroupBy(self._relation.node, self._keys, simple))
        if len(simple) == len(aggregates):
            return base
        # Without keys and plain aggregates the base would be one row without columns, which no frame can have.
        sides = [base] if simple or self._keys else []
        for column in dict.fromkeys(each.column for each in aggregates.values() if isinstance(each, _BY_VALUE)):
            wanted = {
                name: each for name, each in aggregates.items() if isinstance(each, _BY_VALUE) and each.column == column
            }
            sides.append(self._by_value(column, wanted))
        counts = {
            name: pl.col(name).fill_null(0)
            for name, each in aggregates.items()
            if isinstance(each, CountDistinct | ModeCount)
        }
        return reduce(self._beside, sides).with_columns(**counts).select(*self._keys, *aggregates)

    def _by_value(self, column: str, wanted: Mapping[str, Aggregate]) -> Relation:
        """Aggregates that need every different value: first a count of each, then of those what is asked."""
        source = self._relation.with_columns(**{_VALUE: pl.col(column)})
        counted = nodes.GroupBy(source.node, (*self._keys, _VALUE), {_TIMES: Count()}, self._keys)
        sides: list[Relation] = []
        distinct = {name: Count() for name, each in wanted.items() if isinstance(each, CountDistinct)}
        if distinct:
            sides.append(Relation(nodes.GroupBy(counted, self._keys, distinct)))
        modes: dict[str, Aggregate] = {
            name: Collect(_VALUE) if isinstance(each, Mode) else Max(_TIMES)
            for name, each in wanted.items()
            if not isinstance(each, CountDistinct)
        }
        if modes:
            top = nodes.TopK(counted, 1, (desc(_TIMES),), self._keys, "all")
            sides.append(Relation(nodes.GroupBy(top, self._keys, modes)))
        return reduce(self._beside, sides)

    def _beside(self, left: Relation, right: Relation) -> Relation:
        return left.join(right, self._keys, "left", "partition") if self._keys else left.with_scalars(right)


_BY_VALUE = (CountDistinct, Mode, ModeCount)
_VALUE = "#value"
_TIMES = "#times"


def _is_small(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Scan):
        return node.table.small
    if isinstance(node, nodes.TopK | nodes.GroupBy) and not (node.per if isinstance(node, nodes.TopK) else node.keys):
        return True
    return all(_is_small(child) for child in node.inputs)


def _list(names: Any) -> str:
    return ", ".join(sorted(map(str, names)))


def count(column: str | None = None) -> Count:
    return Count(column)


def total(column: str) -> Sum:
    return Sum(column)


def mean(column: str) -> Mean:
    return Mean(column)


def least(column: str) -> Min:
    return Min(column)


def greatest(column: str) -> Max:
    return Max(column)


def first(column: str) -> First:
    return First(column)


def quantile(column: str, q: float) -> Quantile:
    return Quantile(column, q)


def count_distinct(column: str) -> CountDistinct:
    return CountDistinct(column)


def mode(column: str) -> Mode:
    return Mode(column)


def mode_count(column: str) -> ModeCount:
    return ModeCount(column)
