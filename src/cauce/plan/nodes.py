"""The nodes of a plan: frozen descriptions of what to compute, equal when their keys are.

A node does nothing and holds no data. Its key digests its kind, its parameters and its inputs, so that equal
sub-plans are found by comparing keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import polars as pl

from cauce.operators.aggregate import Aggregate
from cauce.operators.join import How
from cauce.operators.order import SortKey
from cauce.operators.top_k import Ties
from cauce.scan.tables import TableSpec

Strategy = Literal["broadcast", "partition"]
Exprs = tuple[pl.Expr, ...]


@dataclass(frozen=True, eq=False)
class Node:
    """A step of a plan. Subclasses give the columns that come out of it, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        raise NotImplementedError

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(value for value in self._values() if isinstance(value, Node))

    def _values(self) -> Iterator[object]:
        for each in fields(self):
            yield getattr(self, each.name)

    @cached_property
    def key(self) -> str:
        parts = [self.own, *(child.key for child in self.inputs)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    @cached_property
    def digest(self) -> str:
        """As `key`, but the same in every process: of a function in Python it sees only that there is one."""
        values = (value for value in self._values() if not isinstance(value, Node))
        parts = [type(self).__name__, *(_render(value, portable=True) for value in values)]
        parts += [child.digest for child in self.inputs]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    @cached_property
    def own(self) -> str:
        """What the node is by itself, its inputs apart."""
        values = (value for value in self._values() if not isinstance(value, Node))
        parts = [type(self).__name__, *(_render(value) for value in values)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _render(value: object, portable: bool = False) -> str:
    """A text that differs wherever two parameters differ."""
    if isinstance(value, pl.Expr):
        # A function is serialised with what it holds, and sets are in no order that two processes share.
        if portable and "python_udf" in str(value):
            return str(value)
        return hashlib.sha256(value.meta.serialize()).hexdigest()
    if isinstance(value, TableSpec):
        return value.name
    if isinstance(value, tuple):
        return "(" + ",".join(_render(item, portable) for item in value) + ")"
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(str, value))) + "}"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{name}:{_render(item, portable)}" for name, item in value.items()) + "}"
    return repr(value)


@dataclass(frozen=True, eq=False)
class SameColumns(Node):
    """A step that gives the columns it gets."""

    child: Node

    @property
    def names(self) -> tuple[str, ...]:
        return self.child.names


@dataclass(frozen=True, eq=False)
class Chosen(Node):
    """A step that gives some of the columns it gets."""

    child: Node
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns


@dataclass(frozen=True, eq=False)
class Grouping(Node):
    """A step that gives keys and aggregates."""

    child: Node
    keys: tuple[str, ...]
    aggregates: Mapping[str, Aggregate]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.keys, *self.aggregates)


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """Rows of a table. `used` decides which rows take part: one whose cell in a used column does not parse is
    left out (None: not decided yet). `position` says whether a later step needs the rows' places."""

    table: TableSpec
    used: frozenset[str] | None = None
    position: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.table.columns if self.used is None or name in self.used)


@dataclass(frozen=True, eq=False)
class Filter(SameColumns):
    predicates: Exprs


@dataclass(frozen=True, eq=False)
class WithColumns(Node):
    child: Node
    expressions: Exprs

    @property
    def names(self) -> tuple[str, ...]:
        added = [expression.meta.output_name() for expression in self.expressions]
        return tuple(dict.fromkeys([*self.child.names, *added]))


@dataclass(frozen=True, eq=False)
class Select(Node):
    child: Node
    expressions: Exprs
    keep_position: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(expression.meta.output_name() for expression in self.expressions)


@dataclass(frozen=True, eq=False)
class Explode(Node):
    child: Node
    column: str
    carried: tuple[str, ...] | None = None
    """The other columns that a later step needs (None: not decided yet)."""

    @property
    def names(self) -> tuple[str, ...]:
        if self.carried is None:
            return self.child.names
        return tuple(name for name in self.child.names if name == self.column or name in self.carried)


@dataclass(frozen=True, eq=False)
class Join(Node):
    left: Node
    right: Node
    on: tuple[str, ...]
    how: How
    strategy: Strategy

    @property
    def names(self) -> tuple[str, ...]:
        if self.how in ("semi", "anti"):
            return self.left.names
        added = [name for name in self.right.names if name not in self.on]
        return (*self.left.names, *added)


@dataclass(frozen=True, eq=False)
class Scalars(Node):
    """Every row of `left` beside the one row of `right`."""

    left: Node
    right: Node

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.left.names, *self.right.names)


@dataclass(frozen=True, eq=False)
class GroupBy(Grouping):
    """`partition_by` are the keys that decide where a group is computed (a part of `keys`)."""

    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TopK(SameColumns):
    k: int
    by: tuple[SortKey, ...]
    per: tuple[str, ...]
    ties: Ties


@dataclass(frozen=True, eq=False)
class Concat(Node):
    first: Node
    second: Node
    columns: tuple[str, ...] | None = None
    """Those that a later step needs, of what each side gives (None: not decided yet)."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.first.names if self.columns is None else self.columns


@dataclass(frozen=True, eq=False)
class Sort(SameColumns):
    """Only as the last step of a query: rows in between are a bag."""

    by: tuple[SortKey, ...]


# Steps that only the planner makes.


@dataclass(frozen=True, eq=False)
class Receive(Node):
    """What an edge brings."""

    edge: int
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns


@dataclass(frozen=True, eq=False)
class Distinct(Chosen):
    """The different rows of this batch: less to send, never a promise over batches."""


@dataclass(frozen=True, eq=False)
class Partial(Grouping):
    """The first half of a group-by, on one batch."""


@dataclass(frozen=True, eq=False)
class Final(Grouping):
    """The values of merged partials."""


@dataclass(frozen=True, eq=False)
class Pick(Chosen):
    """Just these columns, as they are, to be sent."""
