"""Semi-join filters: rows of a table that cannot meet a row of the other side of a join are dropped while the table is
scanned, instead of after they were sent.

    orders (of three months) ⋉ lineitem          lineitem is scanned with the keys of those orders
    lineitem ⋈ orders ⋈ customer (BUILDING)      orders are scanned with the keys of those customers

The keys of a filter are broadcast. They come from a smaller table, so that no table waits for itself; only a side that
is expected to be far smaller than all tables with its keys makes a table be read a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cauce.sql_frontend.planning.sizes import BROADCAST_ROWS, Sizes
from cauce.sql_frontend.planning.steps import equality, with_inputs
from cauce.sql_frontend.tree import (
    Aggregate,
    Column,
    Distinct,
    Expr,
    Filter,
    Join,
    KeyFilter,
    Project,
    Scan,
    Step,
    Values,
    columns_of,
)

MOST_KEYS = 4_000_000
"""Keys of a filter at most, by the estimate that is rather too high: 32 MB in every worker."""

_SELECTIVE = 0.5
_FAR_FEWER = 0.25
"""A table is read again if that leaves at most this share of the keys that a filter in the first pass leaves."""

_FEW = 0.05
"""A filter in the first pass that leaves this share of the keys is good enough."""

_LARGE_TABLE = 500_000
"""Rows of a table that is rather read again than sent."""


@dataclass(frozen=True)
class Keys:
    """All values of a column of a step."""

    step: Step
    column: str

    @property
    def rows(self) -> Step:
        kind = self.step.columns[self.column]
        return Project(self.step, ((self.column, Column(kind, self.column)),))


@dataclass(frozen=True)
class SemiJoins:
    sizes: Sizes

    def between(self, leaves: Sequence[Step], conditions: Sequence[Expr]) -> list[Step]:
        """The inputs of inner joins, filtered by one another; the largest one is filtered by the joins themselves."""
        made = list(leaves)
        largest = max(range(len(leaves)), key=lambda i: (self.sizes.rows(leaves[i]), -i))
        equal = list(_equal_columns(conditions))
        ascending = sorted(range(len(leaves)), key=lambda i: (self.sizes.before_filters(leaves[i]), i))
        for number, target in enumerate(ascending):
            if target == largest:
                continue
            for source in ascending[:number]:
                own, other = set(leaves[target].columns), set(leaves[source].columns)
                for column, key in _shared(equal, own, other):
                    keys = self._best(made[target], column, [Keys(made[source], key)])
                    made[target] = made[target] if keys is None else self._pushed(made[target], column, keys)
        return made

    def of_right(self, left: Step, right: Step, conditions: Iterable[Expr]) -> Step:
        """The right side of a join that keeps no row of it without a match."""
        made = self._filtered_side(right, left, conditions)
        if self.sizes.rows(made) >= BROADCAST_ROWS:
            return made
        # It will be sent to the scan of the left side, which then cannot provide its keys.
        return self._filtered_side(right, left, conditions, again=False)

    def of_left(self, left: Step, right: Step, conditions: Iterable[Expr]) -> Step:
        """The left side of a semi join."""
        return self._filtered_side(left, right, conditions)

    def by_any_keys(self, step: Step, other: Step, conditions: Iterable[Expr], most_keys: int) -> Step:
        """A side that is filtered by the keys of a smaller one, also if no condition makes these fewer."""
        for column, key in _sides(conditions, step, other):
            tables = set(self._targets(step, column))
            for keys in self._bounds(other, key) if tables else ():
                if self.sizes.rows(keys.step) <= most_keys and self._is_earlier(keys.step, tables):
                    return self._pushed(step, column, keys)
        return step

    def _filtered_side(self, step: Step, other: Step, conditions: Iterable[Expr], *, again: bool = True) -> Step:
        """Filtered by one column: those of a key that has several depend on one another. With `again`, tables may be
        read a second time."""
        filters = []
        for column, key in _sides(conditions, step, other):
            exact = Keys(_without_lookups(other, key), key) if again else None
            keys = self._best(step, column, list(self._bounds(other, key)), exact)
            if keys is not None:
                filters.append((column, keys))
        if not filters:
            return step
        column, keys = min(filters, key=lambda each: self._cost(each[1]))
        return self._pushed(step, column, keys)

    def _best(self, step: Step, column: str, bounds: Sequence[Keys], exact: Keys | None = None) -> Keys | None:
        """The keys to filter a step by. `bounds` are supersets of the `exact` keys that are known earlier."""
        tables = set(self._targets(step, column))
        if not tables:
            return None
        usable = [each for each in bounds if self._is_selective(each) and self._is_earlier(each.step, tables)]
        best = min(usable, key=self._cost, default=None)
        if exact is None or not self._is_worth_a_pass(exact, tables):
            return best
        if best is None:
            return exact
        least = self.sizes.fraction(best.step)
        return exact if least > _FEW and self.sizes.fraction(exact.step) <= least * _FAR_FEWER else best

    def _cost(self, keys: Keys) -> tuple[float, int]:
        return self.sizes.fraction(keys.step), self.sizes.rows(keys.step)

    def _is_worth_a_pass(self, keys: Keys, tables: set[str]) -> bool:
        """Whether tables should be read again with these keys."""
        large = max(map(self._table_rows, tables)) >= _LARGE_TABLE
        return large and self._is_selective(keys) and not _reads_filtered(keys.step, tables)

    def _is_selective(self, keys: Keys) -> bool:
        return self.sizes.fraction(keys.step) <= _SELECTIVE and self.sizes.rows(keys.step) <= MOST_KEYS

    def _is_earlier(self, step: Step, tables: set[str]) -> bool:
        """Whether all its rows come from tables that are smaller than these."""
        least = min(self._table_rows(table) for table in tables)
        return all(self._table_rows(scan.table) < least for scan in _scans(step))

    def _table_rows(self, table: str) -> int:
        return self.sizes.rows(Scan(table, ()))

    # Where a filter can be applied.

    def _targets(self, step: Step, column: str) -> Iterator[str]:
        """The tables whose scan can be filtered by a column of a step."""
        if isinstance(step, Scan):
            if self._is_plain(step, column):
                yield step.table
            return
        for child, name in _inputs_with(step, column):
            yield from self._targets(child, name)

    def _is_plain(self, scan: Scan, column: str) -> bool:
        """Whether the column is the table's own, without a conversion."""
        table = self.sizes.catalogue.find(scan.table)
        ((name, kind),) = ((name, kind) for name, unique, kind in scan.names if unique == column)
        return table is not None and table.table.node.schema[name] == kind.dtype and not kind.is_float

    def _pushed(self, step: Step, column: str, keys: Keys) -> Step:
        if isinstance(step, Scan):
            if column not in step.columns or step.columns[column] != keys.step.columns[keys.column]:
                return step
            return KeyFilter(step, column, keys.rows) if step.table in set(self._targets(step, column)) else step
        if isinstance(step, KeyFilter) and column == step.column and step.keys == keys.rows:
            return step
        if isinstance(step, Join):
            sides = [step.left, step.right]
            for child, name in _inputs_with(step, column):
                at = 0 if child is step.left else 1
                sides[at] = self._pushed(sides[at], name, keys)
            return replace(step, left=sides[0], right=sides[1])
        for child, name in _inputs_with(step, column):
            return with_inputs(step, [self._pushed(child, name, keys), *step.inputs()[1:]])
        return step

    # Where keys can come from.

    def _bounds(self, step: Step, column: str) -> Iterator[Keys]:
        """Steps below, each with a column that has all values of a step's column."""
        if isinstance(step, Scan | Values | KeyFilter) or (isinstance(step, Filter) and _is_scan(step)):
            yield Keys(step, column)
            return
        for child, name in _inputs_with(step, column):
            yield from self._bounds(child, name)
        if isinstance(step, Join) and step.how == "semi":
            for own, other in _sides(step.conditions, step.left, step.right):
                if own == column:
                    yield from self._bounds(step.right, other)


def _inputs_with(step: Step, column: str) -> Iterator[tuple[Step, str]]:
    """The inputs of a step, each with its column that has the values of the step's column, where a row of the input
    with another value cannot be part of a row of the step with this one."""
    match step:
        case Filter() | KeyFilter():
            yield step.child, column
        case Project():
            found = dict(step.items)[column]
            if isinstance(found, Column):
                yield step.child, found.name
        case Aggregate() if step.sets is None:
            key = dict(step.keys).get(column)
            if isinstance(key, Column):
                yield step.child, key.name
        case Distinct() if not step.on:
            yield step.child, column
        case Join():
            yield from _sides_with(step, column)


def _sides_with(step: Join, column: str) -> Iterator[tuple[Step, str]]:
    if step.how in ("inner", "left", "semi", "anti") and column in step.left.columns:
        yield step.left, column
    if step.how != "inner":
        return
    if column in step.right.columns:
        yield step.right, column
    for left, right in _sides(step.conditions, step.left, step.right):
        if left == column:
            yield step.right, right
        elif right == column:
            yield step.left, left


def _without_lookups(step: Step, column: str) -> Step:
    """The step below joins and filters that only drop rows or add columns to them, which may take another pass."""
    while isinstance(step, Join) and step.how in ("left", "semi", "anti") and column in step.left.columns:
        step = step.left
    return step


def _is_scan(step: Step) -> bool:
    while isinstance(step, Filter | KeyFilter):
        step = step.child
    return isinstance(step, Scan)


def _scans(step: Step) -> Iterator[Scan]:
    if isinstance(step, Scan):
        yield step
    for each in step.inputs():
        yield from _scans(each)


def _reads_filtered(step: Step, tables: set[str]) -> bool:
    """Whether a step reads one of these tables in a second pass."""
    if isinstance(step, KeyFilter):
        filtered = {scan.table for scan in _scans(step.child)}
        again = {scan.table for scan in _scans(step.keys)}
        if filtered & again or (again & tables and filtered - tables):
            return True
    return any(_reads_filtered(each, tables) for each in step.inputs())


def _equal_columns(conditions: Iterable[Expr]) -> Iterator[tuple[str, str]]:
    """Pairs of columns with equal values and types, also by way of a third one."""
    classes: list[set[str]] = []
    for condition in conditions:
        sides = equality(condition)
        if sides is None or sides[0].type != sides[1].type:
            continue
        if not all(isinstance(each, Column) for each in sides):
            continue
        names = {name for each in sides for name in columns_of(each)}
        touching = [each for each in classes if each & names]
        classes = [each for each in classes if not each & names] + [names.union(*touching)]
    for each in classes:
        ordered = sorted(each)
        yield from ((a, b) for a in ordered for b in ordered if a != b)


def _shared(equal: Iterable[tuple[str, str]], own: set[str], other: set[str]) -> Iterator[tuple[str, str]]:
    return ((a, b) for a, b in equal if a in own and b in other)


def _sides(conditions: Iterable[Expr], one: Step, other: Step) -> list[tuple[str, str]]:
    """Columns of one side, each with a column of the other side that must have the same value."""
    names, others = set(one.columns), set(other.columns)
    return list(_shared(_equal_columns(conditions), names, others))
