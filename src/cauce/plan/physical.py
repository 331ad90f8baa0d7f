"""The physical plan of a job: its stages and the edges between them.

A source stage runs once per part of its table. Any other stage runs once per partition, when all its input edges
are complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from cauce.plan.nodes import Join, KeyFilter, Mergeable, Node, Receive, Scan, Select, Sort, Spread
from cauce.plan.nodes.base import Gathers
from cauce.plan.outputs import Output
from cauce.scan.tables import TableSpec


@dataclass(frozen=True, eq=False)
class Edge:
    """`merge` is the step that combines received rows as they arrive (None: they are kept as they are).
    `stays` is true if every row is already in the partition that the edge would send it to."""

    number: int
    spread: Spread
    keys: tuple[str, ...]
    node: Node
    merge: Mergeable | None = None
    stays: bool = False


@dataclass(frozen=True)
class Lookup:
    """A join that keeps only the rows of a scan that have a match in an input, by a column of its table."""

    column: str
    edge: int


@dataclass(frozen=True, eq=False)
class Stage:
    """`level` orders the passes over a table; `partitions` is 0 for a source stage, which runs per part.
    `report_rejects` are the columns whose unreadable cells it reports, besides malformed records (None: no report)."""

    name: str
    table: TableSpec | None
    level: int
    partitions: int
    sends: tuple[Edge, ...]
    result: Result | None = None
    report_rejects: frozenset[str] | None = None

    @cached_property
    def receives(self) -> tuple[int, ...]:
        """Numbers of the edges that this stage reads."""
        found = {node.edge for root in self.roots for node in walk(root) if isinstance(node, Receive)}
        return tuple(sorted(found))

    @property
    def roots(self) -> tuple[Node, ...]:
        return tuple(edge.node for edge in self.sends) + ((self.result.node,) if self.result else ())

    @property
    def unsorted_roots(self) -> tuple[Node, ...]:
        """The roots without the sort of an answer, which may take place in temporary files."""
        return tuple(root.child if isinstance(root, Sort) else root for root in self.roots)

    def can_stream(self, edges: Collection[int]) -> bool:
        """Whether the rows of these inputs may come in pieces."""
        try:
            for root in self.unsorted_roots:
                root.streams(edges)
        except Gathers:
            return False
        return True

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        found = {node.key: node for root in self.roots for node in walk(root) if isinstance(node, Scan)}
        return tuple(found.values())

    @cached_property
    def lookups(self) -> frozenset[Lookup]:
        """The first steps of a scan stage, if it uses no row that has no match in one of them; else empty."""
        try:
            return frozenset(found for root in self.roots for found in _lookups(root))
        except _UsesAllRows:
            return frozenset()

    @cached_property
    def read_columns(self) -> frozenset[str]:
        """Columns of the table that this stage locates."""
        used = frozenset[str]().union(*(scan.used or frozenset() for scan in self.scans))
        return used | (self.report_rejects or frozenset())


@dataclass(frozen=True, eq=False)
class Result:
    """The final step of a query: its sorted rows, projected to the output columns."""

    query: str
    node: Node
    columns: dict[str, Output]
    ordered: bool


@dataclass(frozen=True, eq=False)
class Plan:
    dataset: str
    digest: str
    stages: tuple[Stage, ...]
    partitions: int

    @cached_property
    def edges(self) -> dict[int, Edge]:
        return {edge.number: edge for stage in self.stages for edge in stage.sends}

    @cached_property
    def optional_edges(self) -> frozenset[int]:
        """Edges that only filters read, which a stage can do without."""
        roots = [root for stage in self.stages for root in stage.roots]
        filters = [node for root in roots for node in walk(root) if isinstance(node, KeyFilter)]
        found = {each.right.edge for each in filters if isinstance(each.right, Receive)}
        return frozenset(found.difference(*map(_needed_edges, roots)))

    @cached_property
    def tables(self) -> tuple[TableSpec, ...]:
        return tuple({stage.table.name: stage.table for stage in self.stages if stage.table}.values())

    @cached_property
    def results(self) -> dict[str, Result]:
        return {stage.result.query: stage.result for stage in self.stages if stage.result}

    def columns_looked_up(self, stage: Stage) -> frozenset[str]:
        """The columns by which later passes over its table choose their rows, if this is the first pass."""
        if stage.table is None or stage.report_rejects is None:
            return frozenset()
        later = (each for each in self.stages if each.table is not None and each.table.name == stage.table.name)
        return frozenset(lookup.column for each in later if each is not stage for lookup in each.lookups)

    def used_columns(self, table: str) -> frozenset[str]:
        """Columns of a table that some query uses, not counting the table's required columns."""
        of_table = [stage for stage in self.stages if stage.table is not None and stage.table.name == table]
        return frozenset[str]().union(*(stage.read_columns for stage in of_table))


class _UsesAllRows(Exception):
    """A step reads rows of a table that were not looked up."""


def _lookups(node: Node) -> Iterator[Lookup]:
    if isinstance(node, Scan):
        raise _UsesAllRows
    if isinstance(node, Join) and node.how in ("inner", "semi") and not node.nulls_equal and len(node.on) == 1:
        (column,) = node.on
        if isinstance(node.right, Receive) and _is_column_of_scan(node.left, column):
            yield Lookup(column, node.right.edge)
            return
    for child in node.inputs:
        yield from _lookups(child)


def _is_column_of_scan(node: Node, column: str) -> bool:
    """Whether the rows are those of a scan, and the column one of its table. The steps between cannot fail: they only
    choose columns."""
    while isinstance(node, Select) and all(each.meta.is_column() for each in node.expressions):
        node = node.child
    return isinstance(node, Scan) and not node.position and column in node.names


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.inputs:
        yield from walk(child)


def _needed_edges(node: Node) -> Iterator[int]:
    """Edges that are read other than as the keys of a filter."""
    if isinstance(node, Receive):
        yield node.edge
    for child in (node.left,) if isinstance(node, KeyFilter) else node.inputs:
        yield from _needed_edges(child)
