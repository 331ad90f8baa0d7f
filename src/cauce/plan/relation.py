"""Relations, the API in which queries are declared.

Every method returns a new relation and computes nothing. Expressions are Polars expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import polars as pl

from cauce.errors import PlanError, did_you_mean
from cauce.operators.aggregates import Aggregate
from cauce.operators.order import POSITION, Ratio, SortKey, sort_keys
from cauce.operators.top_k import Ties
from cauce.operators.windows import Frame, WindowFunction
from cauce.plan import nodes
from cauce.plan.aggregation import Groups
from cauce.plan.checks.arguments import checked, column_name, instance, listed, one_of, shown_value
from cauce.plan.checks.arguments import whole_number as check_whole_number
from cauce.plan.checks.mistakes import GROUPED_HINTS, RELATION_HINTS, remember_place, unknown_method
from cauce.plan.checks.table_arguments import check_columns, check_name, check_reading, patterns_of
from cauce.plan.joins import How, JoinOptions, join
from cauce.plan.set_operations import Operation, set_operation
from cauce.scan.cells.kinds import Kind
from cauce.scan.tables import Column, TableSpec

IntoExpr = str | pl.Expr
By = str | Ratio | SortKey


def _expressions(positional: Sequence[IntoExpr], named: Mapping[str, object]) -> tuple[pl.Expr, ...]:
    """Converts arguments to expressions: a text names a column, as in Polars; other values are literals."""
    return (
        *(_expression(each) for each in positional),
        *(_expression(each).alias(name) for name, each in named.items()),
    )


def _expression(value: object) -> pl.Expr:
    if isinstance(value, pl.Expr):
        return value
    return pl.col(value) if isinstance(value, str) else pl.lit(value)


def _check_expressions(method: str, expressions: Sequence[pl.Expr]) -> None:
    """Raises PlanError if two expressions have the same name, or if one depends on more than one row."""
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
    """Expressions run on batches: one that reads other rows would depend on the batch boundaries."""
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
        # A Python function, or one on the elements of a list: only its author knows.
        looks_beyond = False
    if looks_beyond and (meta.root_names() or str(expression) == "len()"):
        return False
    return all(map(_is_row_by_row, meta.pop()))


class Relation:
    """An unordered multiset of rows with named columns."""

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
        """The names of its columns, in order."""
        return self.node.names

    @checked
    def filter(self, *predicates: pl.Expr) -> Relation:
        """Rows for which every predicate is true. Predicates run in the given order: put cheap ones first.

        >>> orders.filter(pl.col("paid") > 10, pl.col("city") == "Lima")
        """
        _check_predicates(predicates)
        self._check(name for each in predicates for name in each.meta.root_names())
        _check_row_by_row(predicates)
        return Relation(nodes.Filter(self.node, predicates))

    @checked
    def with_columns(self, **named: Any) -> Relation:
        """Adds columns, or replaces those of the same name.

        >>> orders.with_columns(total=pl.col("price") * pl.col("quantity"))
        """
        expressions = _expressions((), named)
        self._check(name for each in expressions for name in each.meta.root_names())
        _check_expressions("with_columns", expressions)
        return Relation(nodes.WithColumns(self.node, expressions))

    @checked
    def select(self, *columns: IntoExpr, **named: Any) -> Relation:
        """Only these columns, given by name or as expressions; keywords rename.

        >>> orders.select("order_id", customer="customer_id", cents=pl.col("paid") * 100)
        """
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
        """One row for each element of a list; none for an empty or missing list.

        >>> books.explode("authors").group_by("authors").agg(books=agg.count())
        """
        self._check_names("explode", [column])
        return Relation(nodes.Explode(self.node, column))

    @checked
    def join(
        self,
        other: Relation,
        on: str | Sequence[str] = (),
        how: How = "inner",
        strategy: nodes.Strategy | None = None,
        *,
        where: pl.Expr | Sequence[pl.Expr] = (),
        nulls_equal: bool = False,
    ) -> Relation:
        """Joins with `other` on equal keys; null keys match nothing, unless `nulls_equal`.

        `how` is inner, left, right, full, semi, anti or cross. `where` are further conditions on a pair of rows, as in
        SQL's `ON a = b AND x < y`: an outer join keeps rows without a match. Without `on`, every pair is compared, and
        the other side should be small.

        With strategy "broadcast" every worker receives the whole other side; with "partition" both sides are
        partitioned by key. By default, a side derived from small tables, a top_k or a global aggregate is
        broadcast.

        >>> orders.join(stores, on="store_id", how="left")
        >>> orders.join(prices, on="item", where=pl.col("day") >= pl.col("valid_from"))
        """
        instance("join: the other side", other, Relation, 'a relation, as in join(other, on="key")')
        one_of("how", how, get_args(How), '; write how="full"' if str(how) == "outer" else "")
        if strategy is not None:
            one_of("strategy", strategy, get_args(nodes.Strategy))
        instance("join: nulls_equal", nulls_equal, bool, "True or False")
        keys, conditions = _names("join: on", on), _conditions("join: where", where)
        self._check_join(other, keys, how, conditions)
        return Relation(join(self.node, other.node, JoinOptions(keys, how, strategy, conditions, nulls_equal)))

    def _check_join(self, other: Relation, keys: tuple[str, ...], how: How, conditions: tuple[pl.Expr, ...]) -> None:
        if how == "cross" and (keys or conditions):
            raise PlanError('a cross join has no keys and conditions; write how="inner"')
        if how != "cross" and not keys and not conditions:
            raise PlanError('join: on needs a column, such as on="key"')
        self._check_names("join: on", keys)
        other._check_names("join: on", keys, "on the other side")
        clash = (set(self.columns) & set(other.columns)) - set(keys)
        if clash and (how not in ("semi", "anti") or conditions):
            on = f" on {', '.join(keys)}" if keys else ""
            raise PlanError(f"both sides of a join{on} have {_list(clash)}: rename one of them")
        read = [name for each in conditions for name in each.meta.root_names()]
        Relation._check_in(read, (*self.columns, *other.columns), "on either side")
        _check_row_by_row(conditions)

    @checked
    def with_scalars(self, scalars: Relation, *, optional: bool = False) -> Relation:
        """Adds the columns of a relation of one row, such as a global aggregate, to every row.

        With `optional`, as for a scalar subquery of SQL: the row may be missing, and its columns are null then; more
        than one row is an error when the job runs.

        >>> orders.with_scalars(orders.agg(mean=agg.mean("paid"))).filter(pl.col("paid") > pl.col("mean"))
        """
        instance(
            "with_scalars: its argument", scalars, Relation, "a relation of one row, such as orders.agg(n=agg.count())"
        )
        instance("with_scalars: optional", optional, bool, "True or False")
        one_row = scalars.node.is_one_row
        if not one_row and not optional:
            raise PlanError("with_scalars needs a relation of one row: the result of agg(...) without group_by")
        clash = set(self.columns) & set(scalars.columns)
        if clash:
            raise PlanError(f"a scalar has the name of a column: {_list(clash)}")
        # Two rows suffice to find that there is more than one.
        row = scalars.node if one_row else nodes.TopK(scalars.node, 2, (), (), "cut")
        return Relation(nodes.Scalars(self.node, row, optional and not one_row))

    @checked
    def group_by(self, *keys: str, nulls: bool = False) -> Grouped:
        """Groups of rows with equal keys. Rows with a null key are dropped; with `nulls`, null is a key like any
        other, as in SQL.

        >>> orders.group_by("customer").agg(orders=agg.count(), spent=agg.sum("paid"))
        """
        instance("group_by: nulls", nulls, bool, "True or False")
        if not keys:
            raise PlanError("group_by needs a column; for one row of all rows write agg(n=agg.count()) alone")
        self._check_names("group_by", keys)
        return Grouped(self, keys, nulls)

    @checked
    def agg(self, **aggregates: Aggregate) -> Relation:
        """One row for all rows.

        >>> orders.agg(orders=agg.count(), spent=agg.sum("paid"))
        """
        if not aggregates:
            raise PlanError("agg needs an aggregate, such as agg(n=agg.count())")
        return Grouped(self, ()).agg(**aggregates)

    @checked
    def distinct(self, *columns: str, nulls: bool = False) -> Relation:
        """The distinct rows of these columns (default: all), without rows that have nulls in them. With `nulls`, null
        is a value like any other, as in SQL.

        >>> orders.distinct("customer", "city")
        """
        instance("distinct: nulls", nulls, bool, "True or False")
        self._check_names("distinct", columns)
        return Grouped(self, columns or self.columns, nulls).agg()

    @checked
    def top_k(
        self,
        k: int,
        by: By | Sequence[By],
        per: str | Sequence[str] = (),
        ties: Ties = "cut",
        *,
        nulls: bool = False,
    ) -> Relation:
        """The first k rows in the order of `by`, per value of `per` if given. With ties="all", also the rows tied
        with the k-th. Rows with a null in `per` are dropped, unless `nulls`.

        >>> orders.top_k(3, by=desc("paid"), per="city")
        """
        check_whole_number("top_k: k", k, 1)
        one_of("ties", ties, get_args(Ties))
        keys = self._sort_keys("top_k: by", by)
        if not keys:
            raise PlanError('top_k: by needs a column, such as by=desc("n")')
        groups = _names("top_k: per", per)
        self._check_names("top_k: per", groups)
        instance("top_k: nulls", nulls, bool, "True or False")
        return Relation(nodes.TopK(self.node, k, keys, groups, ties, nulls))

    @checked
    def window(
        self,
        *,
        partition_by: str | Sequence[str] = (),
        order_by: By | Sequence[By] = (),
        frame: Frame | None = None,
        **functions: WindowFunction,
    ) -> Relation:
        """Adds columns of window functions: values computed from the rows with the same partition keys, in the given
        order. Null is a key like any other. The default frame is that of SQL: up to the current row and its ties, or
        the whole partition without an order.

        >>> sales.window(partition_by="shop", order_by="day", n=window.row_number(), total=window.sum("paid"))
        """
        keys = _names("window: partition_by", partition_by)
        self._check_names("window: partition_by", keys)
        order = self._sort_keys("window: order_by", order_by)
        if frame is not None:
            instance("window: frame", frame, Frame, "window.rows(...) or window.range(...)")
            _check_frame(frame, order)
        self._check_functions(functions)
        return Relation(nodes.Window(self.node, keys, order, frame, functions))

    def _check_functions(self, functions: Mapping[str, object]) -> None:
        if not functions:
            raise PlanError("window needs a function, such as n=window.row_number()")
        for name, each in functions.items():
            example = f"a window function, such as {name}=window.row_number()"
            instance(f"window: {name}", each, WindowFunction, example)
            if name in self.columns:
                raise PlanError(f"window: {name} is a column already; give the function another name")
            assert isinstance(each, WindowFunction)
            self._check(each.columns)

    @checked
    def limit(self, n: int | None, by: By | Sequence[By] = (), *, offset: int = 0) -> Relation:
        """The first n rows after `offset` in the order of `by` (None: all), as SQL's LIMIT and OFFSET. Ties are
        ordered by the remaining columns, so that the rows are always the same.

        >>> orders.limit(10, by=desc("paid"), offset=20)
        """
        if n is not None:
            check_whole_number("limit: n", n, 0)
        check_whole_number("limit: offset", offset, 0)
        keys = self._sort_keys("limit: by", by)
        first = self.node if n is None else nodes.TopK(self.node, n + offset, keys, (), "cut")
        return Relation(nodes.Limit(first, keys, offset, n) if offset else first)

    @checked
    def concat(self, other: Relation) -> Relation:
        """The rows of both relations, which must have the same columns in the same order: SQL's UNION ALL.

        >>> online.concat(in_store)
        """
        return self._combine("concat", other, "union", False)

    @checked
    def union(self, other: Relation, *, distinct: bool = True) -> Relation:
        """The distinct rows of both relations; null is a value like any other.

        >>> online.select("customer").union(in_store.select("customer"))
        """
        return self._combine("union", other, "union", distinct)

    @checked
    def intersect(self, other: Relation, *, distinct: bool = True) -> Relation:
        """The distinct rows that are in both relations. Without `distinct`, each as often as in the relation that has
        fewer of it: SQL's INTERSECT ALL.

        >>> online.select("customer").intersect(in_store.select("customer"))
        """
        return self._combine("intersect", other, "intersect", distinct)

    @checked
    def difference(self, other: Relation, *, distinct: bool = True) -> Relation:
        """The distinct rows that are not in the other relation: SQL's EXCEPT. Without `distinct`, each row of the
        other relation removes one equal row: EXCEPT ALL.

        >>> online.select("customer").difference(in_store.select("customer"))
        """
        return self._combine("difference", other, "difference", distinct)

    def _combine(self, method: str, other: Relation, operation: Operation, distinct: bool) -> Relation:
        instance(f"{method}: its argument", other, Relation, "a relation")
        instance(f"{method}: distinct", distinct, bool, "True or False")
        if self.columns != other.columns:
            raise PlanError(f"{method} needs equal columns, not {_list(self.columns)} and {_list(other.columns)}")
        return Relation(set_operation(self.node, other.node, operation, distinct))

    @checked
    def sort(self, *by: By) -> Relation:
        """Sets the order of the query's result. Must be the last step.

        >>> orders.sort(desc("paid"), "order_id")
        """
        if not by:
            raise PlanError('sort needs a column, such as sort("n") or sort(desc("n"))')
        return Relation(nodes.Sort(self.node, self._sort_keys("sort", by)))

    @checked
    def in_input_order(self) -> Relation:
        """Writes the result in input order, page by page while input still arrives.

        >>> orders.filter(pl.col("paid") > 100).in_input_order()
        """
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
        self._check_in(names, self.columns, where)

    @staticmethod
    def _check_in(names: Any, columns: Sequence[str], where: str) -> None:
        unknown = [name for name in dict.fromkeys(names) if name not in columns and name != POSITION]
        if unknown:
            hint = did_you_mean(unknown[0], columns)
            there = "it has" if where == "on the other side" else "there are"
            raise PlanError(f"no column {_list(unknown)} {where}; {there} {_list(columns)}{hint}")


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

    @classmethod
    def of_spec(cls, spec: TableSpec) -> Table:
        """A table that is described already, by a schema."""
        table = cls.__new__(cls)
        table.spec = spec
        Relation.__init__(table, nodes.Scan(spec))
        return table


class Grouped:
    """The groups of a relation; `agg` computes one row of each."""

    def __init__(self, relation: Relation, keys: Sequence[str], nulls: bool = False) -> None:
        self._relation = relation
        self._keys = tuple(keys)
        self._nulls = nulls

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            unknown_method(self, name, GROUPED_HINTS, ())

    @checked
    def agg(self, **aggregates: Aggregate) -> Relation:
        """One row per group: its keys and the named aggregates.

        >>> orders.group_by("customer").agg(orders=agg.count(), spent=agg.sum("paid"))
        """
        self._check_aggregates(aggregates)
        _check_row_by_row([each for aggregate in aggregates.values() for each in aggregate.predicates])
        self._relation._check(name for each in aggregates.values() for name in each.columns)
        groups = Groups(self._relation.node, self._keys, self._nulls)
        return Relation(groups.aggregate(aggregates))

    def _check_aggregates(self, aggregates: Mapping[str, object]) -> None:
        for name, each in aggregates.items():
            if name in self._keys:
                raise PlanError(f"agg: {name} is a key of the group_by already; give the aggregate another name")
            if not isinstance(each, Aggregate):
                raise PlanError(f"agg: {name}={shown_value(each)} is not an aggregate; {_aggregate_hint(name, each)}")


def _aggregate_hint(name: str, given: object) -> str:
    """A hint for an argument that is not an aggregate."""
    if isinstance(given, pl.Expr):
        roots, called = given.meta.root_names(), str(given).rsplit(".", 1)[-1].split("(")[0]
        if not roots:
            return f"write {name}=agg.count()"
        return f'write {name}=agg.{called if called in _OF_POLARS else "sum"}("{roots[0]}")'
    if callable(given):
        return f"write {name}=agg.{getattr(given, '__name__', 'count')}(...), with parentheses"
    return f'write {name}=agg.count(), {name}=agg.sum("column"), {name}=agg.max("column") and the like'


_OF_POLARS = ("sum", "mean", "min", "max", "first", "count", "n_unique", "mode", "median", "quantile")
"""Aggregates that have the same name in Polars."""


def _check_frame(frame: Frame, order: Sequence[SortKey]) -> None:
    if frame.unit == "range" and (frame.start or frame.end) and len(order) != 1:
        raise PlanError("window: a range with a distance needs exactly one column in order_by")


def _conditions(what: str, given: object) -> tuple[pl.Expr, ...]:
    """Conditions; a single one may be given without a list."""
    several = [given] if isinstance(given, pl.Expr) or not isinstance(given, Sequence) else given
    for each in several:
        instance(what, each, pl.Expr, 'conditions such as pl.col("a") < pl.col("b")')
    return tuple(several)


def _names(what: str, given: object) -> tuple[str, ...]:
    """Column names; a single name may be given without a list."""
    if isinstance(given, str):
        return (given,)
    if isinstance(given, pl.Expr) or not isinstance(given, Sequence):
        column_name(what, given)
    assert isinstance(given, Sequence)
    for each in given:
        column_name(what, each)
    return tuple(given)


def _list(names: Any) -> str:
    return ", ".join(sorted(map(str, names)))
