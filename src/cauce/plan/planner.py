"""Turns the queries of a job into one DAG of stages.

    reviews ─filter─join(broadcast books)─partial count ══hash title══► merge, final ══gather══► sort, answer

A table is read once for all queries wherever their dependencies allow it; equal sub-plans are computed once;
narrow steps, broadcast joins and the first half of every aggregate run where the rows already are. The planner
does no I/O and knows no fabric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from cauce import __version__
from cauce.errors import PlanError, did_you_mean
from cauce.operators.order import POSITION
from cauce.plan import nodes
from cauce.plan.fuse import fuse_folds, in_order, merge_passes
from cauce.plan.outputs import Output
from cauce.plan.physical import Edge, Plan, Result, Spread, Stage, walk
from cauce.plan.prune import place_groups, prune
from cauce.plan.relation import Relation
from cauce.scan.tables import TableSpec


@dataclass(frozen=True)
class Home:
    """Where a node is computed: over the parts of a table (in a pass of its own `level`), or in a fold."""

    name: str
    key: str
    partitions: int
    table: TableSpec | None = None
    level: int = 0


@dataclass(frozen=True)
class Placed:
    """`keys` are what the rows are partitioned by (nothing where that is not known); `level` counts the passes
    over tables, one after the other, that must have ended before."""

    node: nodes.Node
    home: Home
    keys: tuple[str, ...] = ()
    level: int = 0


@dataclass(frozen=True)
class PlannedQuery:
    name: str
    relation: Relation
    columns: Mapping[str, Output]
    prefix: str = ""
    """What the message of an error of this query begins with."""


def make_plan(dataset: str, queries: list[PlannedQuery], partitions: int, salt: str = "") -> Plan:
    """`salt` is what else decides the answers (the dataset's own source): it goes into the digest."""
    lowering = _Lowering(partitions)
    for query in queries:
        try:
            lowering.add_query(query)
        except PlanError as problem:
            raise PlanError(f"{query.prefix}{problem}") from None
    stages = in_order(fuse_folds(merge_passes(lowering.stages())))
    plan = Plan(dataset, "", tuple(_with_rejects(stages)), partitions)
    return replace(plan, digest=_digest(plan, salt))


class _Lowering:
    """Places every node in a home and puts an edge wherever rows must move."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._placed: dict[str, Placed] = {}
        self._edges: dict[tuple[str, str, tuple[str, ...]], Edge] = {}
        self._home_of_edge: dict[int, Home] = {}
        self._results: list[Result] = []

    def add_query(self, query: PlannedQuery) -> None:
        node = query.relation.node
        by = node.by if isinstance(node, nodes.Sort) else ()
        body = node.child if isinstance(node, nodes.Sort) else node
        in_input_order = len(by) == 1 and by[0].what == POSITION and _stays_at_source(body)
        reads = frozenset(query.columns).union(*(key.columns for key in by if not in_input_order))
        unknown = sorted(reads - set(body.names) - {POSITION})
        if unknown:
            there = ", ".join(sorted(body.names))
            hint = did_you_mean(unknown[0], body.names)
            missing = ", ".join(unknown)
            raise PlanError(f"{query.name} has no column {missing} to show or to sort by; there are {there}{hint}")
        placed = self._place(place_groups(prune(body, reads)))
        columns = tuple(sorted(reads))
        edge = self._send(placed, "ordered" if in_input_order else "gather", (), columns)
        received = nodes.Receive(edge.number, columns)
        final = received if in_input_order else nodes.Sort(received, by)
        self._results.append(Result(query.name, final, dict(query.columns), in_input_order))

    def stages(self) -> list[Stage]:
        homes: dict[Home, list[Edge]] = {}
        for edge in self._edges.values():
            homes.setdefault(self._home_of_edge[edge.number], []).append(edge)
        stages = [
            Stage(home.name, home.table, home.level, home.partitions, tuple(edges)) for home, edges in homes.items()
        ]
        return stages + [Stage(f"answer {result.query}", None, 0, 1, (), result) for result in self._results]

    # Placement, one method for each shape of node.

    def _place(self, node: nodes.Node) -> Placed:
        if node.key not in self._placed:
            self._placed[node.key] = self._place_new(node)
        return self._placed[node.key]

    def _place_new(self, node: nodes.Node) -> Placed:
        match node:
            case nodes.Scan(table):
                return Placed(node, Home(f"scan {table.name}", table.name, 0, table))
            case nodes.Filter(child) | nodes.WithColumns(child) | nodes.Explode(child) | nodes.Distinct(child):
                return self._place_narrow(node, self._place(child))
            case nodes.Select(child):
                return self._place_narrow(node, self._place(child))
            case nodes.Join(strategy="partition"):
                return self._place_partitioned_join(node)
            case nodes.Join(left, right) | nodes.Scalars(left, right):
                return self._place_broadcast(node, self._place(left), self._place(right))
            case nodes.GroupBy():
                return self._place_group_by(node)
            case nodes.TopK():
                return self._place_top_k(node)
            case nodes.Concat():
                return self._place_concat(node)
        raise PlanError("sort may only be the last step of a query")

    def _place_narrow(
        self,
        node: nodes.Filter | nodes.WithColumns | nodes.Explode | nodes.Distinct | nodes.Select,
        child: Placed,
    ) -> Placed:
        keys = child.keys if _keeps(node, child.keys) else ()
        return replace(child, node=replace(node, child=child.node), keys=keys)

    def _place_broadcast(self, node: nodes.Join | nodes.Scalars, left: Placed, right: Placed) -> Placed:
        if left.home == right.home and left.home.partitions == 1:
            return replace(left, node=replace(node, left=left.node, right=right.node))
        if left.home.table is None and self._depends(right.home, left.home):
            left = self._move(left)
        edge = self._send(right, "broadcast", (), right.node.names)
        received = nodes.Receive(edge.number, right.node.names)
        joined = replace(node, left=left.node, right=received)
        if left.home.table is None:
            return Placed(joined, left.home, left.keys, max(left.level, right.level))
        level = max(left.level, right.level + 1)
        return Placed(joined, replace(left.home, level=level), left.keys, level)

    def _place_partitioned_join(self, node: nodes.Join) -> Placed:
        left, right = self._place(node.left), self._place(node.right)
        home = Home(f"join by {', '.join(node.on)}", node.key, self._partitions)
        sides = [self._receive(side, "hash", node.on) for side in (left, right)]
        joined = replace(node, left=sides[0], right=sides[1])
        return Placed(joined, home, node.on, max(left.level, right.level))

    def _place_group_by(self, node: nodes.GroupBy) -> Placed:
        child = self._place(node.child)
        partial = nodes.Partial(child.node, node.keys, node.aggregates)
        if self._is_local(child, node.keys):
            return replace(child, node=nodes.Final(partial, node.keys, node.aggregates))
        spread: Spread = "hash" if node.keys else "gather"
        edge = self._send(
            replace(child, node=partial),
            spread,
            node.partition_by,
            partial.names,
            nodes.Final(partial, node.keys, node.aggregates),
        )
        name = f"group by {', '.join(node.keys)}" if node.keys else "aggregate all"
        home = Home(name, node.key, self._partitions if node.keys else 1)
        received = nodes.Receive(edge.number, partial.names)
        return Placed(nodes.Final(received, node.keys, node.aggregates), home, node.partition_by, child.level)

    def _place_top_k(self, node: nodes.TopK) -> Placed:
        child = self._place(node.child)
        local = replace(node, child=child.node)
        if self._is_local(child, node.per):
            return replace(child, node=local)
        columns = _columns_of(local)
        edge = self._send(replace(child, node=local), "hash" if node.per else "gather", node.per, columns, local)
        per = f" of each {', '.join(node.per)}" if node.per else ""
        home = Home(f"top {node.k}{per}", node.key, self._partitions if node.per else 1)
        return Placed(replace(node, child=nodes.Receive(edge.number, columns)), home, node.per, child.level)

    def _place_concat(self, node: nodes.Concat) -> Placed:
        first, second = self._place(node.first), self._place(node.second)
        level = max(first.level, second.level)
        if first.home == second.home:
            return Placed(replace(node, first=first.node, second=second.node), first.home, level=level)
        sides = [self._receive(side, "gather", ()) for side in (first, second)]
        joined = replace(node, first=sides[0], second=sides[1])
        return Placed(joined, Home("concat", node.key, 1), level=level)

    # Homes and edges.

    def _is_local(self, child: Placed, keys: tuple[str, ...]) -> bool:
        """Whether rows with equal keys already are in one place."""
        if child.home.table is not None:
            return False
        return child.home.partitions == 1 or (bool(child.keys) and set(child.keys) <= set(keys))

    def _move(self, placed: Placed) -> Placed:
        """The same rows in a home of their own, where what depends on the old one can be brought."""
        spread: Spread = "hash" if placed.keys else "gather"
        home = Home("hold", placed.node.key, self._partitions if placed.keys else 1)
        return replace(placed, node=self._receive(placed, spread, placed.keys), home=home)

    def _receive(self, placed: Placed, spread: Spread, keys: tuple[str, ...]) -> nodes.Receive:
        columns = _columns_of(placed.node)
        return nodes.Receive(self._send(placed, spread, keys, columns).number, columns)

    def _send(
        self,
        placed: Placed,
        spread: Spread,
        keys: tuple[str, ...],
        columns: tuple[str, ...],
        merge: nodes.Final | nodes.TopK | None = None,
    ) -> Edge:
        node = placed.node
        if not isinstance(node, nodes.Partial) and columns != node.names:
            node = nodes.Pick(node, columns)
        identity = (node.key, spread, keys)
        if identity not in self._edges:
            stays = placed.home.table is None and (
                placed.home.partitions == 1 if spread == "gather" else spread == "hash" and placed.keys == keys
            )
            edge = Edge(len(self._edges), spread, keys, node, merge, stays)
            self._edges[identity] = edge
            self._home_of_edge[edge.number] = placed.home
        return self._edges[identity]

    def _depends(self, later: Home, earlier: Home) -> bool:
        """Whether what `later` computes needs what `earlier` computes (or is the same home)."""
        if later == earlier:
            return True
        sent = [edge for edge in self._edges.values() if self._home_of_edge[edge.number] == later]
        placed = [each.node for each in self._placed.values() if each.home == later]
        reads = {
            node.edge
            for root in [edge.node for edge in sent] + placed
            for node in walk(root)
            if isinstance(node, nodes.Receive)
        }
        return any(self._depends(self._home_of_edge[number], earlier) for number in reads)


def _columns_of(node: nodes.Node) -> tuple[str, ...]:
    """The columns that a later step may ask of this node, and the position where it still has one."""
    return node.names if not _has_position(node) else (*node.names, POSITION)


def _has_position(node: nodes.Node) -> bool:
    match node:
        case nodes.Scan(position=kept) | nodes.Select(keep_position=kept):
            return kept
        case nodes.Receive(columns=columns) | nodes.Pick(columns=columns):
            return POSITION in columns
        case nodes.Explode(carried=carried):
            return POSITION in (carried or ())
        case nodes.Filter(child) | nodes.WithColumns(child) | nodes.TopK(child):
            return _has_position(child)
        case nodes.Join(left) | nodes.Scalars(left):
            return _has_position(left)
    return False


def _stays_at_source(node: nodes.Node) -> bool:
    """Whether the rows of this node come straight from the parts of a table."""
    match node:
        case nodes.Scan():
            return True
        case nodes.Filter(child) | nodes.WithColumns(child) | nodes.Select(child) | nodes.Explode(child):
            return _stays_at_source(child)
        case nodes.Join(left, strategy="broadcast") | nodes.Scalars(left):
            return _stays_at_source(left)
    return False


def _keeps(node: nodes.Node, keys: tuple[str, ...]) -> bool:
    match node:
        case nodes.Filter():
            return True
        case nodes.WithColumns(expressions=expressions):
            return not set(keys) & {each.meta.output_name() for each in expressions}
        case nodes.Select(expressions=expressions):
            return set(keys) <= {each.meta.output_name() for each in expressions if each.meta.is_column()}
        case nodes.Explode(column=column):
            return column not in keys
        case nodes.Distinct(columns=columns):
            return set(keys) <= set(columns)
    return False


def _with_rejects(stages: list[Stage]) -> list[Stage]:
    """The first pass over a table reports the unreadable cells of all columns that any pass uses."""
    reported: set[str] = set()
    made: list[Stage] = []
    for stage in stages:
        if stage.table is not None and stage.table.name not in reported:
            name = stage.table.name
            reported.add(name)
            every = [each for each in stages if each.table is not None and each.table.name == name]
            used = frozenset[str]().union(*(each.read_columns for each in every))
            stage = replace(stage, report_rejects=used)
        made.append(stage)
    return made


def _digest(plan: Plan, salt: str) -> str:
    # Frames of another version of Polars may have other digests, so that its workers could not share a job.
    lines = [__version__, pl.__version__, salt, str(plan.partitions)]
    for table in plan.tables:
        lines.append(f"{table.name} {dict(table.columns)} {table.required} {table.delimiter} {table.null}")
    for stage in plan.stages:
        lines.append(f"{stage.name} {stage.level} {stage.partitions}")
        lines += [f"{edge.number} {edge.spread} {edge.keys} {edge.node.digest}" for edge in stage.sends]
        if stage.result:
            lines.append(f"{stage.result.query} {stage.result.node.digest} {stage.result.columns}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
