"""Aggregates that depend on an order of the rows: the first or last value, lists and joined texts.

Rows that tie in the order are ordered by the value itself, so the result never depends on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import Aggregate, Batch, OfColumn, Types, list_of
from cauce.operators.order import SortKey

_GROUP = "#group"


@dataclass(frozen=True)
class Ordered(OfColumn):
    """Base class. If `where` is given, only the rows count in which that column is not null."""

    order_by: tuple[SortKey, ...] = ()
    where: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        filtered = () if self.where is None else (self.where,)
        return (self.column, *_names(self.order_by), *filtered)

    def over(self, names: Mapping[str, str], where: str) -> Aggregate:
        missing = [name for name in _names(self.order_by) if name not in names]
        if missing:
            raise PlanError(f"{self.label} of distinct values may be ordered by {self.column} only, not {missing[0]}")
        order = tuple(replace(key, what=names[str(key.what)]) for key in self.order_by)
        return replace(self, column=names[self.column], order_by=order, where=where)

    def state(self, name: str) -> tuple[str, ...]:
        return (name, *self._keys(name))

    def _keys(self, name: str) -> list[str]:
        """The state columns of the order keys."""
        return [f"{name}#by{number}" for number in range(len(self.order_by))]

    def _rows(self, column: str) -> pl.Expr:
        values = pl.col(column)
        return values if self.where is None else values.filter(pl.col(self.where).is_not_null())

    def __str__(self) -> str:
        order = f" by {', '.join(map(str, self.order_by))}" if self.order_by else ""
        return f"{self.label}({self.column}{order})"


@dataclass(frozen=True)
class FirstBy(Ordered):
    """The value (or null) of the first row in an order; of the last one if `last`."""

    last: bool = False

    @property
    def label(self) -> str:
        return "last" if self.last else "first"

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        read = [self._rows(column) for column in (self.column, *_names(self.order_by))]
        found = [] if self.where is None else [pl.col(self.where).is_not_null().any().alias(_found(name))]
        return [*self._best(read, name), *found]

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        # Without a filter every state is of some row. With one, a state of no row is null in all columns.
        states = [pl.col(column) for column in super().state(name)]
        if self.where is None:
            return self._best(states, name)
        found = pl.col(_found(name))
        return [*self._best([each.filter(found) for each in states], name), found.any()]

    def _best(self, columns: list[pl.Expr], name: str) -> list[pl.Expr]:
        value, *keys = columns
        directions = [key.descending != self.last for key in self.order_by]
        nulls_last = [key.nulls_first == self.last for key in self.order_by]
        return [
            each.sort_by([*keys, value], descending=[*directions, self.last], nulls_last=[*nulls_last, True])
            .first()
            .alias(column)
            for each, column in zip(columns, self.state(name), strict=False)
        ]

    def state(self, name: str) -> tuple[str, ...]:
        return super().state(name) if self.where is None else (*super().state(name), _found(name))


@dataclass(frozen=True)
class _Collected(Ordered):
    """Base class of aggregates of all values in order: the state is the values and their order keys, as lists."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        read = (self.column, *_names(self.order_by))
        return [self._rows(column).alias(state) for column, state in zip(read, self.state(name), strict=True)]

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(column).explode(empty_as_null=False) for column in self.state(name)]

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {column: pl.lit([], dtype=types[column]) for column in self.state(name)}

    def _in_order(self, states: pl.DataFrame, name: str) -> pl.DataFrame:
        """The values of all groups with the numbers of their groups, in order."""
        columns = list(self.state(name))
        lists = states.select(columns).with_row_index(_GROUP)
        rows = lists.explode(columns, empty_as_null=False)
        keys = self._keys(name)
        return rows.sort(
            [_GROUP, *keys, name],
            descending=[False, *(key.descending for key in self.order_by), False],
            nulls_last=[True, *(not key.nulls_first for key in self.order_by), True],
            maintain_order=True,
        )

    def _beside(self, groups: pl.DataFrame, count: int, name: str) -> pl.Series:
        """One value for each group; null for groups without rows."""
        numbers = pl.DataFrame({_GROUP: range(count)}, schema={_GROUP: groups.schema[_GROUP]})
        return numbers.join(groups, on=_GROUP, how="left", maintain_order="left")[name]


@dataclass(frozen=True)
class ListOf(_Collected):
    """All values, null included, as a list; null if there are no rows."""

    @property
    def label(self) -> str:
        return "list"

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        rows = self._in_order(states, name)
        lists = rows.group_by(_GROUP, maintain_order=True).agg(pl.col(name))
        return self._beside(lists, states.height, name)

    def dtype(self, types: Types) -> pl.DataType:
        return list_of(OfColumn.dtype(self, types))


@dataclass(frozen=True)
class StringAgg(_Collected):
    """The non-null values as texts, joined with a separator; null if there are none."""

    separator: str = ","

    @property
    def label(self) -> str:
        return "string_agg"

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        rows = self._in_order(states, name).filter(pl.col(name).is_not_null())
        text = pl.col(name).cast(pl.String).str.join(self.separator)
        return self._beside(rows.group_by(_GROUP, maintain_order=True).agg(text), states.height, name)

    def dtype(self, types: Types) -> pl.DataType:
        return pl.String()


def _names(order_by: tuple[SortKey, ...]) -> tuple[str, ...]:
    return tuple(name for key in order_by for name in key.columns)


def _found(name: str) -> str:
    return f"{name}#found"
