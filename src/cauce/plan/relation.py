"""The words in which a query is declared: relations, and the aggregates of a group-by.

Every method returns a new relation and computes nothing. Expressions are Polars expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import polars as pl

from cauce.errors import PlanError, did_you_mean
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
from cauce.plan.arguments import checked, column_name, instance, listed, one_of, shown_value, text
from cauce.plan.arguments import whole_number as check_whole_number
from cauce.plan.mistakes import GROUPED_HINTS, RELATION_HINTS, remember_place, unknown_method
from cauce.plan.table_arguments import check_columns, check_name, check_reading, patterns_of
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


def _check_expressions(method: str, expressions: Sequence[pl.Expr]) -> None:
    """Names must be different, and each expression must look at one row at a time."""
    names = [each.meta.output_name(raise_if_undetermined=False) for each in expressions]
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise PlanError(f"{method} gives the name {listed(twice)} to more than one column; name each: new_name=...")
    _check_row_by_row(expressions)


def _check_predicates(predicates: Sequence[object]) -> None:
    for each in predicates:
        if isinstance(each, bool):
            raise PlanError(
                f'filter takes conditions on columns, not {each}; write filter(pl.col("name") == ...), '
                "not a comparison of texts"
            )
        if not isinstance(each, pl.Expr):
            raise PlanError(f'filter takes conditions such as pl.col("n") > 1, not {shown_value(each)}')
    if not predicates:
        raise PlanError('filter needs a condition, such as pl.col("n") > 1')


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
        remember_place(node)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            unknown_method(self, name, RELATION_HINTS, self.__dict__["node"].names if "node" in self.__dict__ else ())

    def __getitem__(self, column: Any) -> NoReturn:
        raise PlanError(f'a relation has no [...]; for a column write pl.col("{column}"), for several select(...)')

    @property
    def columns(self) -> tuple[str, ...]:
        return self.node.names

    @checked
    def filter(self, *predicates: pl.Expr) -> Relation:
        """Rows for which every predicate is true. They are tried in turn: put the cheap ones first."""
        _check_predicates(predicates)
        self._check(name for each in predicates for name in each.meta.root_names())
        _check_row_by_row(predicates)
        return Relation(nodes.Filter(self.node, predicates))

    @checked
    def with_columns(self, **named: Any) -> Relation:
        expressions = _expressions((), named)
        self._check(name for each in expressions for name in each.meta.root_names())
        _check_expressions("with_columns", expressions)
        return Relation(nodes.WithColumns(self.node, expressions))

    @checked
    def select(self, *columns: IntoExpr, **named: Any) -> Relation:
        for each in columns:
            instance("select: a column", each, (str, pl.Expr), 'a name or an expression, such as "n" or pl.col("n")')
        expressions = _expressions(columns, named)
        if not expressions:
            raise PlanError('select needs a column, such as select("n")')
        self._check(name for each in expressions for name in each.meta.root_names())
        _check_expressions("select", expressions)
        return Relation(nodes.Select(self.node, expressions))

    @checked
    def explode(self, column: str) -> Relation:
        """One row for each element of a list; none for an empty or missing list."""
        self._check_names("explode", [column])
        return Relation(nodes.Explode(self.node, column))

    @checked
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
        instance("join: the other side", other, Relation, 'a relation, as in join(other, on="key")')
        one_of("how", how, get_args(How), _NO_SUCH_JOIN if how in ("full", "outer", "right", "cross") else "")
        if strategy is not None:
            one_of("strategy", strategy, get_args(nodes.Strategy))
        keys = _names("join: on", on)
        if not keys:
            raise PlanError('join: on needs a column, such as on="key"')
        self._check_names("join: on", keys)
        other._check_names("join: on", keys, "on the other side")
        clash = (set(self.columns) & set(other.columns)) - set(keys)
        if clash and how not in ("semi", "anti"):
            raise PlanError(f"both sides of a join on {', '.join(keys)} have {_list(clash)}: rename one of them")
        chosen = strategy or ("broadcast" if _is_small(other.node) else "partition")
        return Relation(nodes.Join(self.node, other.node, keys, how, chosen))

    @checked
    def with_scalars(self, scalars: Relation) -> Relation:
        """Every row beside the one row of a global aggregate (`relation.agg(...)`)."""
        instance(
            "with_scalars: its argument", scalars, Relation, "a relation of one row, such as orders.agg(n=count())"
        )
        if not _is_one_row(scalars.node):
            raise PlanError("with_scalars needs a relation of one row: the outcome of agg(...) without group_by")
        clash = set(self.columns) & set(scalars.columns)
        if clash:
            raise PlanError(f"a scalar has the name of a column: {_list(clash)}")
        return Relation(nodes.Scalars(self.node, scalars.node))

    @checked
    def group_by(self, *keys: str) -> Grouped:
        if not keys:
            raise PlanError("group_by needs a column; for one row of all rows write agg(n=count()) alone")
        self._check_names("group_by", keys)
        return Grouped(self, keys)

    @checked
    def agg(self, **aggregates: Aggregate) -> Relation:
        """One row for all rows."""
        if not aggregates:
            raise PlanError("agg needs an aggregate, such as agg(n=count())")
        return Grouped(self, ()).agg(**aggregates)

    @checked
    def distinct(self, *columns: str) -> Relation:
        """The different rows of these columns (of all, if none is named), leaving out nulls."""
        self._check_names("distinct", columns)
        return Grouped(self, columns or self.columns).agg()

    @checked
    def top_k(self, k: int, by: By | Sequence[By], per: str | Sequence[str] = (), ties: Ties = "cut") -> Relation:
        """The first k rows in the order of `by`, of each key `per` if given; with ties="all" those tied with
        the k-th too."""
        check_whole_number("top_k: k", k, 1)
        one_of("ties", ties, get_args(Ties))
        keys = self._sort_keys("top_k: by", by)
        if not keys:
            raise PlanError('top_k: by needs a column, such as by=desc("n")')
        groups = _names("top_k: per", per)
        self._check_names("top_k: per", groups)
        return Relation(nodes.TopK(self.node, k, keys, groups, ties))

    @checked
    def concat(self, other: Relation) -> Relation:
        instance("concat: its argument", other, Relation, "a relation")
        if self.columns != other.columns:
            raise PlanError(f"concat needs equal columns, not {_list(self.columns)} and {_list(other.columns)}")
        return Relation(nodes.Concat(self.node, other.node))

    @checked
    def sort(self, *by: By) -> Relation:
        """The order in which a query's answer is written. Nothing may follow it."""
        if not by:
            raise PlanError('sort needs a column, such as sort("n") or sort(desc("n"))')
        return Relation(nodes.Sort(self.node, self._sort_keys("sort", by)))

    @checked
    def in_input_order(self) -> Relation:
        """Write the answer in the order of the input, page by page while the input still comes in."""
        return self.sort(POSITION)

    def _sort_keys(self, method: str, by: object) -> tuple[SortKey, ...]:
        alone = isinstance(by, str | Ratio | SortKey | pl.Expr) or not isinstance(by, Sequence)
        given: Any = [by] if alone else by
        for each in given:
            if not isinstance(each, Ratio | SortKey):
                column_name(method, each)
        keys = sort_keys(given)
        self._check(name for key in keys for name in key.columns)
        return keys

    def _check_names(self, method: str, names: Sequence[object], where: str = "here") -> None:
        for each in names:
            column_name(method, each)
        self._check(names, where)
        twice = sorted({str(each) for each in names if names.count(each) > 1})
        if twice:
            raise PlanError(f"{method} names {listed(twice)} twice")

    def _check(self, names: Any, where: str = "here") -> None:
        unknown = [name for name in dict.fromkeys(names) if name not in self.columns and name != POSITION]
        if unknown:
            hint = did_you_mean(unknown[0], self.columns)
            there = "there are" if where == "here" else "it has"
            raise PlanError(f"no column {_list(unknown)} {where}; {there} {_list(self.columns)}{hint}")


class Table(Relation):
    """A table of a dataset, ready to be queried.

    >>> Table("stores", "stores/stores.csv", {"store_id": Identifier(), "store_name": Text()}, small=True)
    """

    @checked
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
        check_name("table", name)
        patterns = patterns_of(name, files)
        check_columns(name, columns)
        check_reading(name, delimiter, null, small)
        made = {
            each: column if isinstance(column, Column) else Column(each, column) for each, column in columns.items()
        }
        needed = _names(f"table {name}: required", required)
        missing = [each for each in needed if each not in made]
        if missing:
            hint = did_you_mean(missing[0], made)
            raise PlanError(f"table {name}: required names no column of it: {_list(missing)}{hint}")
        self.spec = TableSpec(name, patterns, made, needed, delimiter, null, small)
        super().__init__(nodes.Scan(self.spec))


class Grouped:
    def __init__(self, relation: Relation, keys: Sequence[str]) -> None:
        self._relation = relation
        self._keys = tuple(keys)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            unknown_method(self, name, GROUPED_HINTS, ())

    @checked
    def agg(self, **aggregates: Aggregate) -> Relation:
        self._check_aggregates(aggregates)
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

    def _check_aggregates(self, aggregates: Mapping[str, object]) -> None:
        for name, each in aggregates.items():
            if name in self._keys:
                raise PlanError(f"agg: {name} is a key of the group_by already; give the aggregate another name")
            if not isinstance(each, Aggregate):
                raise PlanError(f"agg: {name}={shown_value(each)} is not an aggregate; {_aggregate_hint(name, each)}")

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


def _aggregate_hint(name: str, given: object) -> str:
    """What to write instead of something that is no aggregate."""
    if isinstance(given, pl.Expr):
        roots, called = given.meta.root_names(), str(given).rsplit(".", 1)[-1].split("(")[0]
        if not roots:
            return f"write {name}=count()"
        return f'write {name}={_OF_POLARS.get(called, "total")}("{roots[0]}")'
    if given in _FUNCTIONS:
        return f"write {name}={given.__name__}(...), with parentheses"
    own = "; min, max and sum are Python's own functions" if isinstance(given, str) else ""
    return f'write {name}=count(), {name}=total("column"), {name}=greatest("column") and the like{own}'


_OF_POLARS = {
    "sum": "total",
    "mean": "mean",
    "min": "least",
    "max": "greatest",
    "first": "first",
    "count": "count",
    "len": "count",
    "n_unique": "count_distinct",
    "mode": "mode",
}
"""Aggregates under the names that Polars has for them."""

_NO_SUCH_JOIN = "; right, full and cross joins do not exist yet: swap the sides of a left join instead of right"

_BY_VALUE = (CountDistinct, Mode, ModeCount)
_VALUE = "#value"
_TIMES = "#times"


def _is_one_row(node: nodes.Node) -> bool:
    match node:
        case nodes.GroupBy(keys=keys):
            return not keys
        case nodes.WithColumns(child) | nodes.Select(child):
            return _is_one_row(child)
        case nodes.Scalars(left, right):
            return _is_one_row(left) and _is_one_row(right)
    return False


def _names(what: str, given: object) -> tuple[str, ...]:
    """Names of columns, of which one may stand alone."""
    if isinstance(given, str):
        return (given,)
    if isinstance(given, pl.Expr) or not isinstance(given, Sequence):
        column_name(what, given)
    assert isinstance(given, Sequence)
    for each in given:
        column_name(what, each)
    return tuple(given)


def _is_small(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Scan):
        return node.table.small
    if isinstance(node, nodes.TopK | nodes.GroupBy) and not (node.per if isinstance(node, nodes.TopK) else node.keys):
        return True
    return all(_is_small(child) for child in node.inputs)


def _list(names: Any) -> str:
    return ", ".join(sorted(map(str, names)))


@checked
def count(column: str | None = None) -> Count:
    """How many rows; with a column, how many of its values are not null."""
    return Count(None if column is None else _of("count", column))


@checked
def total(column: str) -> Sum:
    """The exact sum; of no values, zero."""
    return Sum(_of("total", column))


@checked
def mean(column: str) -> Mean:
    """The exact sum divided once by the number of values, as a float."""
    return Mean(_of("mean", column))


@checked
def least(column: str) -> Min:
    """The smallest value."""
    return Min(_of("least", column))


@checked
def greatest(column: str) -> Max:
    """The largest value."""
    return Max(_of("greatest", column))


@checked
def first(column: str) -> First:
    """The value of the row that stands first in the input."""
    return First(_of("first", column))


@checked
def quantile(column: str, q: float) -> Quantile:
    """The value at a share `q` of the ranks, from 0 to 1, as a float."""
    if not isinstance(q, int | float) or isinstance(q, bool) or not 0 <= q <= 1:
        raise PlanError(f"quantile: q must be a number from 0 to 1, not {shown_value(q)}")
    return Quantile(_of("quantile", column), q)


@checked
def count_distinct(column: str) -> CountDistinct:
    """How many different values."""
    return CountDistinct(_of("count_distinct", column))


@checked
def mode(column: str) -> Mode:
    """The most frequent values, all of them on a tie, as a list."""
    return Mode(_of("mode", column))


@checked
def mode_count(column: str) -> ModeCount:
    """How often the most frequent value occurs."""
    return ModeCount(_of("mode_count", column))


def _of(function: str, column: str) -> str:
    column_name(function, column)
    text(function, column, "column")
    return column


_FUNCTIONS = (count, total, mean, least, greatest, first, quantile, count_distinct, mode, mode_count)
