"""The base class of all plan nodes: identity, and the questions that the phases of planning ask a node.

A node is an immutable description of a step. It holds no data; its key digests its type, parameters and inputs, so
comparing keys finds equal sub-plans. Each kind answers all questions about itself in its own class:

    schema, check                types of the output columns; mistakes in the arguments
    prune, with_partition_hint   rewrites before planning
    place                        the stage that computes it
    rows, expands, pieces        its rows, at once or in slices
    describe                     its line in `cauce explain`
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.operators.expansion import Expansion
from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner
from cauce.plan.schema import Schema
from cauce.scan.tables import TableSpec


class Gathers(Exception):
    """A step needs all its rows in memory; the message describes it."""


Exprs = tuple[pl.Expr, ...]
Wanted = frozenset[str]


@dataclass(frozen=True, eq=False)
class Node:
    """A step of a plan."""

    # Identity.

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(value for value in self._values() if isinstance(value, Node))

    def _values(self) -> Iterator[object]:
        for name in self.field_names():
            yield getattr(self, name)

    @classmethod
    @cache
    def field_names(cls) -> tuple[str, ...]:
        """Planning asks for them thousands of times, and `fields` takes microseconds."""
        return tuple(each.name for each in fields(cls))

    @cached_property
    def key(self) -> str:
        parts = [self.own, *(child.key for child in self.inputs)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    @cached_property
    def digest(self) -> str:
        """As `key`, but equal in every process: it ignores the content of Python functions."""
        values = (value for value in self._values() if not isinstance(value, Node))
        parts = [type(self).__name__, *(_render(value, portable=True) for value in values)]
        parts += [child.digest for child in self.inputs]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    @cached_property
    def own(self) -> str:
        """The node's type and parameters, without its inputs."""
        values = (value for value in self._values() if not isinstance(value, Node))
        parts = [type(self).__name__, *(_render(value) for value in values)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    # Columns and types.

    @property
    def names(self) -> tuple[str, ...]:
        """The output columns, in order."""
        raise NotImplementedError(f"{type(self).__name__} has no columns")

    @cached_property
    def schema(self) -> Schema:
        """The type of each output column, inferred without reading any file."""
        raise NotImplementedError(f"{type(self).__name__} is not a step of a declared query")

    def check(self) -> None:
        """Raises PlanError if an argument has a type that the step does not accept."""

    # Properties that other steps rely on.

    @property
    def has_position(self) -> bool:
        """Whether its rows carry their input positions."""
        return False

    @property
    def reads_parts(self) -> bool:
        """Whether its rows come directly from the parts of a table, in input order."""
        return False

    @property
    def is_one_row(self) -> bool:
        """Whether it always has exactly one row."""
        return False

    @property
    def is_small(self) -> bool:
        """Whether its rows are few enough to be broadcast."""
        return all(child.is_small for child in self.inputs)

    @property
    def has_explicit_columns(self) -> bool:
        """Whether the query names all its columns, so that a join need not drop any."""
        return False

    # Rewrites before planning.

    def prune(self, wanted: Wanted) -> Node:
        """The node with every scan below it restricted to the columns that are read.

        A column is read if an expression, key, aggregate or output of the query as written reads it. A select or an
        aggregate counts as reading every column it names: the query text, never an optimisation, decides which rows
        are dropped for unreadable cells."""
        raise PlanError(f"{type(self).__name__} is not allowed in a query")

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        """Partitions each group-by that feeds a coarser group-by or a join by the coarser keys (the hint), which
        avoids a second shuffle."""
        raise PlanError(f"{type(self).__name__} is not allowed in a query")

    # Planning.

    def place(self, planner: Planner) -> PlacedNode:
        """The stage that computes it, with edges from the stages of its inputs where rows must move."""
        raise PlanError(f"{type(self).__name__} is not allowed in a query")

    # Evaluation.

    def rows(self, evaluation: Evaluation) -> Late:
        """All its rows."""
        raise NotImplementedError(f"{type(self).__name__} cannot be evaluated")

    def filtered(self, evaluation: Evaluation, predicates: Exprs) -> Late | None:
        """Its rows for which all predicates are true, if that takes less time than to filter all of them; else None.
        Called only if it does not expand."""
        return None

    def output(self, rows: Late) -> pl.DataFrame:
        """Its rows as a frame of its output columns."""
        return rows.frame(self.names)

    def expands(self, evaluation: Evaluation) -> bool:
        """Whether it has far more rows than its inputs, so that they are computed in slices."""
        return False

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        """Its rows in slices of bounded size. Called only if it expands."""
        raise NotImplementedError(f"{type(self).__name__} does not expand")

    def streams(self, edges: Collection[int]) -> bool:
        """Whether its rows come in pieces if the inputs from these edges do. A step that merges the pieces of its input
        has few rows. Raises `Gathers` if it needs all rows of such an input at once."""
        if any(child.streams(edges) for child in self.inputs):
            raise Gathers(self.describe())
        return False

    def identity(self, evaluation: Evaluation) -> tuple[str | int, ...]:
        """Nodes of a stage with equal identities have the same rows."""
        return (self.own, *(evaluation.identity(child) for child in self.inputs))

    # Explanation.

    def describe(self) -> str:
        """Its line in an explained plan; empty if it is not worth one."""
        return ""

    def describe_side(self) -> str:
        """Its name as a side of a join."""
        return f"({self.pipeline})"

    @property
    def pipeline(self) -> str:
        """The steps from its first input up to itself."""
        steps = [step for step in reversed(list(self._steps())) if step]
        return "; ".join(steps) if steps else "as it is"

    def _steps(self) -> Iterator[str]:
        yield self.describe()
        if self.inputs:
            yield from self.inputs[0]._steps()


@dataclass(frozen=True, eq=False)
class Unary(Node):
    """A step with one input."""

    child: Node

    def keeps(self, keys: tuple[str, ...]) -> bool:
        """Whether these columns of its input are in its output, unchanged."""
        return False

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        return replace(self, child=self.child.with_partition_hint(hint if self.keeps(hint) else ()))

    def place_with_input(self, planner: Planner) -> PlacedNode:
        """Computed in the stage of its input: no row moves."""
        child = planner.place(self.child)
        keys = child.keys if self.keeps(child.keys) else ()
        return replace(child, node=replace(self, child=child.node), keys=keys)


@dataclass(frozen=True, eq=False)
class SameColumns(Unary):
    """A step whose output has the columns of its input."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.child.names

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema

    @property
    def has_position(self) -> bool:
        return self.child.has_position


@dataclass(frozen=True, eq=False)
class Chosen(Unary):
    """A step whose output has a subset of its input's columns."""

    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    def keeps(self, keys: tuple[str, ...]) -> bool:
        return set(keys) <= set(self.columns)


@dataclass(frozen=True, eq=False)
class Beside(Node):
    """A step that adds columns of a right side to rows of a left side."""

    left: Node
    right: Node

    @property
    def has_position(self) -> bool:
        return self.left.has_position

    def place_by_broadcast(self, planner: Planner) -> PlacedNode:
        """Computed in the stage of the left side, which receives the whole right side."""
        left, right = planner.place(self.left), planner.place(self.right)
        if left.placement == right.placement and left.placement.partitions == 1:
            return replace(left, node=replace(self, left=left.node, right=right.node))
        if left.placement.table is None and planner.depends(right.placement, left.placement):
            left = planner.move(left)
        received = planner.send(right, "broadcast", columns=right.node.names)
        joined = replace(self, left=left.node, right=received)
        if left.placement.table is None:
            return PlacedNode(joined, left.placement, left.keys, max(left.level, right.level))
        level = max(left.level, right.level + 1)
        return PlacedNode(joined, replace(left.placement, level=level), left.keys, level)


class Narrow(Node):
    """Mixin of steps that process each row of their first input independently of its other rows."""

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        """The output for these rows of the first input."""
        raise NotImplementedError(f"{type(self).__name__} cannot be evaluated")

    def rows(self, evaluation: Evaluation) -> Late:
        return self.apply(evaluation, evaluation.rows(self.inputs[0]))

    def expands(self, evaluation: Evaluation) -> bool:
        return evaluation.expands(self.inputs[0])

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        for rows in evaluation.pieces(self.inputs[0]):
            yield self.apply(evaluation, rows)

    def streams(self, edges: Collection[int]) -> bool:
        first, *others = self.inputs
        if any(child.streams(edges) for child in others):
            raise Gathers(self.describe())
        return first.streams(edges)


class Expanding(Narrow):
    """Mixin of narrow steps whose output may be far larger than their input."""

    def expansion(self, evaluation: Evaluation, rows: Late) -> Expansion | None:
        """The output for these rows in slices; None if it fits in one."""
        raise NotImplementedError(f"{type(self).__name__} does not expand")

    def expands(self, evaluation: Evaluation) -> bool:
        child = self.inputs[0]
        return evaluation.expands(child) or self.expansion(evaluation, evaluation.rows(child)) is not None

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        for rows in evaluation.pieces(self.inputs[0]):
            expansion = self.expansion(evaluation, rows)
            yield from [self.apply(evaluation, rows)] if expansion is None else expansion


class Merging(Node):
    """Mixin of steps that merge the pieces of their input."""

    def streams(self, edges: Collection[int]) -> bool:
        for child in self.inputs:
            child.streams(edges)
        return False


class Mergeable(Node):
    """Mixin of steps whose inputs may be combined while they arrive over an edge."""

    @property
    def may_shrink(self) -> bool:
        """Whether combined rows may become fewer when more rows are added."""
        return False

    def condense(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Received rows combined into fewer equivalent ones."""
        raise NotImplementedError(f"{type(self).__name__} merges nothing")

    def describe_merge(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} merges nothing")


def columns_with_position(node: Node) -> tuple[str, ...]:
    """The columns that a later step may read from a node, and the row position if it has one."""
    return (*node.names, POSITION) if node.has_position else node.names


def columns_of(node: Node, rows: Late) -> list[str]:
    """All output columns of a node, including the row position if its rows have one."""
    return [*node.names, *([POSITION] if rows.has_position else [])]


def refuse_position(wanted: Wanted, what: str) -> None:
    if POSITION in wanted:
        raise PlanError(f"rows have no input position after {what}; sort by columns instead")


def _render(value: object, portable: bool = False) -> str:
    """A text that is different for different parameters."""
    if value is None or isinstance(value, str | int):
        return repr(value)
    if isinstance(value, pl.Expr):
        if value.meta.is_column():
            return f"column {value.meta.output_name()!r}"
        # A serialised function includes its closure, whose sets are ordered differently in each process.
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
